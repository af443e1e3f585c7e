//! Checks a guest in without a phone. A member does this in the organiser's app, for example when the guest's phone is
//! empty.

use admit_core::access::Action;
use admit_core::decide::Verdict;
use admit_core::event::EventStatus;
use admit_core::gate::Direction;
use admit_core::ids::{GateId, GuestId, ScanId, TicketId};
use admit_core::scan::{Outcome, Override, Scan};
use admit_core::time::Timestamp;
use admit_core::wire::check_in::CheckInAnswer;
use admit_core::wire::stored::{from_text, to_text};
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::events;
use crate::gates;
use crate::ports::{App, Pace, Scope, Tx, read, write};
use crate::records::GuestRecord;
use crate::scans::office::{self, Made};
use crate::seeded_ids::SeededIds;

/// The check-in that a member asks for.
#[derive(Debug, Clone)]
pub struct CheckIn {
    /// The id of the check-in, a new one for each check-in. A repeated request with the same id gets the stored answer
    /// and counts once.
    pub scan_id: ScanId,
    /// The gate at which the check-in counts.
    pub gate_id: GateId,
    /// Number of persons to let in.
    pub count: u32,
    /// Why the guest is let in although the rules refuse. Absent means that a refusal stays.
    pub override_reason: Option<String>,
}

/// The result of the transaction.
#[derive(Clone)]
enum Done {
    Repeated(CheckInAnswer),
    Judged(CheckInAnswer, Box<Made>),
}

/// Checks a guest in by a scan of the ticket, which the rules at the event's head judge. A refusal is an answer, and is
/// stored like a refusal at a door. The member can override the refusal by a new request with a new id and a reason.
/// Fails with `no_ticket`, with `event_not_live` for a draft, and with `scan_id_reused` if the id stands for another
/// check-in. Also fails if the member asks for more persons than may still come in.
pub async fn check_in(app: &App, caller: &UserCaller, guest_id: GuestId, wish: CheckIn) -> Result<CheckInAnswer> {
    caller.must(Action::ManageGuests)?;
    let mut checks = Checks::default();
    checks.party("count", wish.count);
    let reason = checks.note("override_reason", wish.override_reason.as_deref());
    checks.finish()?;
    let wish = CheckIn { override_reason: reason, ..wish };
    let (now, seeded) = (app.clock.now(), app.seeded_ids());
    // 1. Find the guest's event, since its head must be known before the write begins.
    let id = guest_id.clone();
    let found = read(&*app.store, &caller.organization_id, move |tx| with_ticket(tx, &id));
    let event_id = found.await?.0.event_id;
    // 2. Judge and store the scan under that head.
    let by = caller.clone();
    let scope = Scope { pace: Pace::Urgent, ..Scope::event(&caller.organization_id, &event_id) };
    let done = write(&*app.store, scope, move |tx| judge(tx, &by, &guest_id, &wish, now, &mut seeded.clone())).await?;
    // 3. Tell the clients that watch the event.
    match done {
        Done::Repeated(answer) => Ok(answer),
        Done::Judged(answer, made) => {
            office::announce(app, &caller.organization_id, &made);
            Ok(answer)
        }
    }
}

fn judge(
    tx: &mut dyn Tx,
    by: &UserCaller,
    guest_id: &GuestId,
    wish: &CheckIn,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Done> {
    let (guest, ticket_id) = with_ticket(tx, guest_id)?;
    let event_id = &guest.event_id;
    // ① Was the same check-in asked for before?
    let digest = digest(guest_id, wish);
    if let Some((known, answer)) = office::answered(tx, &wish.scan_id)? {
        if known != digest {
            let message = "this scan_id stands for another check-in: send this one under a new id";
            return Err(Error::conflict("scan_id_reused", message));
        }
        return from_text("check_in", &answer).map(Done::Repeated).map_err(|error| Error::Bug(error.to_string()));
    }
    // ② May this event have check-ins?
    if events::require(tx, event_id)?.status == EventStatus::Draft {
        let message = "the event is a draft: open its doors before guests are checked in";
        return Err(Error::Unprocessable { code: "event_not_live", message: message.into() });
    }
    let gates = gates::find::all(tx, event_id)?;
    let gate = gates.iter().find(|gate| gate.gate_id == wish.gate_id && gate.rules.direction != Direction::Out);
    gate.ok_or_else(|| Error::invalid("gate_id", "is no gate of this event that lets guests in: choose another"))?;
    // ③ Judge by the rules.
    let (head, stamp) = (tx.head(event_id)?, tx.stamp(event_id)?);
    let operator = office::operator(tx, by)?;
    let (scan_id, at) = (wish.scan_id.clone(), stamp.effective_at);
    let mut scan = office::draft(scan_id, event_id, &wish.gate_id, &ticket_id, head, at, operator.clone())?;
    scan.count = wish.count;
    let (verdict, state) = office::verdict(tx, event_id, &ticket_id, &scan)?;
    settle(&mut scan, &verdict, wish, operator)?;
    // ④ Store the scan as a fact. Its answer, its row and the ledger's line are part of the same commit.
    let last = state.entries.last();
    let gate_name = |id: &GateId| gates.iter().find(|gate| gate.gate_id == *id).map(|gate| gate.rules.name.clone());
    let answer = CheckInAnswer {
        scan_id: scan.scan_id.clone(),
        outcome: verdict.outcome,
        reason: verdict.reason,
        opened: scan.opened,
        persons: if scan.opened { scan.count } else { 0 },
        last_at: last.map(|entry| entry.at),
        last_gate: last.map(|entry| gate_name(&entry.gate_id).unwrap_or_else(|| entry.gate_id.to_string())),
    };
    let changes = json!({
        "scan_id": scan.scan_id.as_str(),
        "gate_id": scan.gate_id.as_str(),
        "outcome": scan.outcome.as_str(),
        "opened": scan.opened,
        "persons": answer.persons,
        "override": scan.override_.as_ref().map(|set_aside| set_aside.reason.as_str()),
    });
    let made = office::store(tx, scan, Some((digest, to_text(&answer))), stamp, now, seeded)?;
    tx.append_audit(line::of(by, Some(event_id), "guest_checked_in", ("Guest", guest_id.as_str()), changes))?;
    Ok(Done::Judged(answer, Box::new(made)))
}

/// A guest, with the id of the guest's ticket. Fails with `no_ticket` if there is none.
pub(super) fn with_ticket(tx: &mut dyn Tx, guest_id: &GuestId) -> Result<(GuestRecord, TicketId)> {
    let guest = tx.guests_by_id(std::slice::from_ref(guest_id))?.into_iter().next();
    let guest = guest.ok_or_else(|| Error::not_found("guest"))?;
    let without = || Error::conflict("no_ticket", "the guest has no ticket: add a guest with one instead");
    let ticket_id = guest.ticket_id.clone().ok_or_else(without)?;
    Ok((guest, ticket_id))
}

/// The digest of a check-in's content. A repeated request with the same id must have the same digest.
fn digest(guest_id: &GuestId, wish: &CheckIn) -> [u8; 32] {
    let said = json!([guest_id.as_str(), wish.gate_id.as_str(), wish.count, wish.override_reason]);
    admit_core::sign::token_hash(&said.to_string())
}

/// Writes the verdict into the scan, and whether the door opened. Fails if the verdict is valid but the member asks for
/// more persons than may still come in. Then nothing is stored, and the member must ask for fewer persons or give a
/// reason.
fn settle(scan: &mut Scan, verdict: &Verdict, wish: &CheckIn, operator: String) -> Result<()> {
    scan.outcome = verdict.outcome;
    let fits = verdict.outcome == Outcome::Valid && scan.count <= verdict.may_admit;
    let set_aside = wish.override_reason.clone().filter(|_| !fits);
    if verdict.outcome == Outcome::Valid && !fits && set_aside.is_none() {
        let message = format!("must be at most {}: so many may still come in", verdict.may_admit);
        return Err(Error::invalid("count", message));
    }
    scan.opened = fits || set_aside.is_some();
    scan.override_ = set_aside.map(|reason| Override { by: operator, reason });
    Ok(())
}
