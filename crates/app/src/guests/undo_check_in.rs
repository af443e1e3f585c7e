//! Undoes a check-in that a member made in the organiser's app. It adds a revert, as a phone does for its own scan
//! (spec D9).

use admit_core::access::Action;
use admit_core::ids::{GuestId, ScanId};
use admit_core::incident::Subject;
use admit_core::scan::{Scan, ScanKind};
use admit_core::time::Timestamp;
use serde_json::json;

use super::check_in::with_ticket;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Pace, Scope, Tx, read, write};
use crate::scans::office::{self, Made};
use crate::seeded_ids::SeededIds;

/// Undoes a check-in that let somebody in. Returns the number of persons. Undoing it again changes nothing and returns
/// the same number. Fails if the guest has no such check-in. A scan that a phone made must be undone on the phone.
pub async fn undo_check_in(app: &App, caller: &UserCaller, guest_id: GuestId, scan_id: ScanId) -> Result<u32> {
    caller.must(Action::ManageGuests)?;
    let (now, seeded) = (app.clock.now(), app.seeded_ids());
    // 1. Find the guest's event, since its head must be known before the write begins.
    let id = guest_id.clone();
    let found = read(&*app.store, &caller.organization_id, move |tx| with_ticket(tx, &id));
    let event_id = found.await?.0.event_id;
    // 2. Store the revert as a fact under that head.
    let by = caller.clone();
    let scope = Scope { pace: Pace::Urgent, ..Scope::event(&caller.organization_id, &event_id) };
    let (persons, made) =
        write(&*app.store, scope, move |tx| undo(tx, &by, &guest_id, &scan_id, now, &mut seeded.clone())).await?;
    // 3. Tell the clients that watch the event.
    if let Some(made) = made {
        office::announce(app, &caller.organization_id, &made);
    }
    Ok(persons)
}

fn undo(
    tx: &mut dyn Tx,
    by: &UserCaller,
    guest_id: &GuestId,
    scan_id: &ScanId,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<(u32, Option<Made>)> {
    let (guest, ticket_id) = with_ticket(tx, guest_id)?;
    let event_id = &guest.event_id;
    // ① Find the check-in, and whether it was undone before.
    let facts = tx.facts(event_id, &[Subject::Ticket(ticket_id.clone()).key()])?;
    let made_here = || facts.iter().map(|(_, fact)| &fact.scan).filter(|scan| office::is_office(&scan.device_id));
    let is_target = |scan: &&Scan| scan.kind == ScanKind::Entry && scan.opened && scan.scan_id == *scan_id;
    let target = made_here().find(is_target).ok_or_else(|| Error::not_found("check_in"))?;
    if made_here().any(|scan| scan.kind == ScanKind::Revert && scan.target_scan_id.as_ref() == Some(scan_id)) {
        return Ok((target.count, None));
    }
    // ② Make the revert.
    let (head, stamp) = (tx.head(event_id)?, tx.stamp(event_id)?);
    let operator = office::operator(tx, by)?;
    let revert_id = ScanId::new(seeded.uuid()).map_err(|error| Error::Bug(error.to_string()))?;
    let mut revert =
        office::draft(revert_id, event_id, &target.gate_id, &ticket_id, head, stamp.effective_at, operator)?;
    revert.kind = ScanKind::Revert;
    revert.target_device = Some(target.device_id.clone());
    revert.target_scan_id = Some(scan_id.clone());
    // ③ The ledger's line is part of the same commit.
    let changes = json!({ "scan_id": scan_id.as_str(), "persons": target.count });
    let made = office::store(tx, revert, None, stamp, now, seeded)?;
    tx.append_audit(line::of(by, Some(event_id), "check_in_undone", ("Guest", guest_id.as_str()), changes))?;
    Ok((target.count, Some(made)))
}
