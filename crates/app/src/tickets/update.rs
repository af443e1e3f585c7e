//! Changes a ticket. Each changed field is a rule, and the ticket's scans are judged again.

use std::collections::BTreeSet;

use admit_core::access::Action;
use admit_core::ids::{EventId, GateId, OrganizationId, TicketId};
use admit_core::incident::Subject;
use admit_core::rule::{Change, TicketChange};
use admit_core::ticket::{TicketRules, TicketStatus};
use admit_core::time::Timestamp;
use serde_json::{Map, Value, json};

use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::passes;
use crate::ports::{App, Scope, Tx, read, write};
use crate::records::{GuestRecord, TicketRecord};
use crate::rules::{Brought, HoldsFrom, announce, put};
use crate::seeded_ids::SeededIds;

/// The fields to change. `None` leaves a field unchanged.
#[derive(Debug, Clone, Default)]
pub struct TicketPatch {
    /// The new administrative status; absent: unchanged.
    pub status: Option<TicketStatus>,
    /// Persons that the ticket admits; absent: unchanged. The guest's party size follows.
    pub entry_limit: Option<u32>,
    /// Gates at which the ticket admits; absent: unchanged. If empty, every gate that admits its zone.
    pub gate_ids: Option<Vec<GateId>>,
    /// The new zone; absent: unchanged.
    pub zone: Option<String>,
    /// The first moment at which the ticket admits; absent: unchanged. `Some(None)` removes the bound.
    pub valid_from: Option<Option<Timestamp>>,
    /// The first moment at which the ticket no longer admits; absent: unchanged. `Some(None)` removes the bound.
    pub expires_at: Option<Option<Timestamp>>,
    /// From when the changes hold: from now on, or for every scan.
    pub effective: HoldsFrom,
}

/// Changes a ticket. A patch that changes nothing writes nothing, with one exception: if the patch holds for every
/// scan, the values that it names are written even if they stay the same. A value that held only from its own time on
/// then also holds for earlier scans.
pub async fn update(app: &App, caller: &UserCaller, ticket_id: TicketId, patch: TicketPatch) -> Result<TicketRecord> {
    caller.must(Action::ManageGuests)?;
    let now = app.clock.now();
    let seeded = app.seeded_ids();
    // 1. Find the ticket's event, since its head must be known before the write begins.
    let event_id = must_hold(app, &caller.organization_id, &ticket_id).await?;
    let by = caller.clone();
    let id = event_id.clone();
    let (ticket, brought) = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let mut seeded = seeded.clone();
        // 2. Compute the new values.
        let ticket = tx.ticket(&ticket_id)?.ok_or_else(|| Error::not_found("ticket"))?;
        let mut checks = Checks::default();
        let known = tx.gate_ids(&id)?;
        let rules = applied(&mut checks, &ticket.rules, &patch, &known);
        checks.finish()?;
        // 3. Store newest values and rules, judge the scans, and write the line.
        let Some(applied) = apply(tx, &ticket, rules, &patch, now, &mut seeded)? else { return Ok((ticket, None)) };
        let held = follow(tx, &applied.ticket, now)?;
        let entity = ("Ticket", ticket_id.as_str());
        tx.append_audit(line::of(&by, Some(&id), "ticket_updated", entity, Value::Object(applied.said)))?;
        // 4. Mail an update to a party of another size. If the ticket is active again, mail what was held back.
        if let Some((before, after)) = held {
            let status = (ticket.rules.status, applied.ticket.rules.status);
            passes::enqueue_change(tx, &before, &after, status, now, &mut seeded)?;
        }
        Ok((applied.ticket, Some(applied.brought)))
    })
    .await?;
    if let Some(brought) = brought {
        app.job_wakeup.wake();
        announce(app, &caller.organization_id, &event_id, &brought);
    }
    Ok(ticket)
}

/// The event to which a ticket of this organisation belongs. Fails with `NotFound` if there is no such ticket.
async fn must_hold(app: &App, organization_id: &OrganizationId, ticket_id: &TicketId) -> Result<EventId> {
    let id = ticket_id.clone();
    let ticket = read(&*app.store, organization_id, move |tx| tx.ticket(&id)).await?;
    Ok(ticket.ok_or_else(|| Error::not_found("ticket"))?.event_id)
}

fn applied(checks: &mut Checks, before: &TicketRules, patch: &TicketPatch, known: &[GateId]) -> TicketRules {
    let rules = TicketRules {
        status: patch.status.unwrap_or(before.status),
        entry_limit: patch.entry_limit.map_or(before.entry_limit, |limit| checks.party("entry_limit", limit)),
        gate_ids: match &patch.gate_ids {
            Some(gate_ids) => checks.gate_ids("gate_ids", gate_ids, known),
            None => before.gate_ids.clone(),
        },
        zone: patch.zone.as_ref().map_or_else(|| before.zone.clone(), |zone| checks.zone("zone", zone)),
        valid_from: patch.valid_from.unwrap_or(before.valid_from),
        expires_at: patch.expires_at.unwrap_or(before.expires_at),
    };
    checks.window("expires_at", rules.valid_from, rules.expires_at);
    rules
}

/// A ticket as changed, the results of the change, and what the ledger's line will say.
pub(crate) struct Applied {
    pub ticket: TicketRecord,
    pub brought: Brought,
    pub said: Map<String, Value>,
}

/// Stores a ticket's new values with their rules, and judges its scans. `None` if nothing changed. If the patch holds
/// for every scan, the fields that it names become rules even if they keep their values.
pub(crate) fn apply(
    tx: &mut dyn Tx,
    before: &TicketRecord,
    rules: TicketRules,
    patch: &TicketPatch,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Option<Applied>> {
    let event_id = &before.event_id;
    let (changes, said) = differences(&before.rules, &rules, patch);
    if changes.is_empty() {
        return Ok(None);
    }
    let stamp = tx.stamp(event_id)?;
    let effective = patch.effective.effective(stamp);
    let ticket = TicketRecord { rules, rules_serial: stamp.serial, ..before.clone() };
    tx.update_tickets(std::slice::from_ref(&ticket))?;
    let changes =
        changes.into_iter().map(|change| (effective, Change::Ticket(ticket.ticket_id.clone(), change))).collect();
    let subjects = BTreeSet::from([Subject::Ticket(ticket.ticket_id.clone()).key()]);
    let brought = put(tx, event_id, stamp, changes, &subjects, now, seeded)?;
    Ok(Some(Applied { ticket, brought, said }))
}

/// Sets the guest's party size to the ticket's limit (spec D8). Returns the guest before and after, which may be equal.
/// `None` if the ticket has no guest.
fn follow(tx: &mut dyn Tx, ticket: &TicketRecord, now: Timestamp) -> Result<Option<(GuestRecord, GuestRecord)>> {
    let ids: Vec<_> = ticket.guest_id.iter().cloned().collect();
    let Some(guest) = tx.guests_by_id(&ids)?.into_iter().next() else { return Ok(None) };
    if guest.party_size == ticket.rules.entry_limit {
        return Ok(Some((guest.clone(), guest)));
    }
    let after = GuestRecord { party_size: ticket.rules.entry_limit, updated_at: now, ..guest.clone() };
    tx.update_guests(std::slice::from_ref(&after))?;
    Ok(Some((guest, after)))
}

fn differences(
    before: &TicketRules,
    after: &TicketRules,
    patch: &TicketPatch,
) -> (Vec<TicketChange>, Map<String, Value>) {
    let widens = patch.effective == HoldsFrom::Start;
    let mut changes = Vec::new();
    let mut said = Map::new();
    if widens {
        said.insert("effective".to_owned(), json!("start"));
    }
    let mut say = |field: &str, named: bool, from: Value, to: Value| {
        let counts = from != to || widens && named;
        if counts {
            said.insert(field.to_owned(), json!({ "from": from, "to": to }));
        }
        counts
    };
    if say("status", patch.status.is_some(), json!(before.status.as_str()), json!(after.status.as_str())) {
        changes.push(TicketChange::Status(after.status));
    }
    if say("entry_limit", patch.entry_limit.is_some(), json!(before.entry_limit), json!(after.entry_limit)) {
        changes.push(TicketChange::EntryLimit(after.entry_limit));
    }
    let ids = |rules: &TicketRules| json!(rules.gate_ids.iter().map(GateId::as_str).collect::<Vec<_>>());
    if say("gate_ids", patch.gate_ids.is_some(), ids(before), ids(after)) {
        changes.push(TicketChange::GateIds(after.gate_ids.clone()));
    }
    if say("zone", patch.zone.is_some(), json!(before.zone), json!(after.zone)) {
        changes.push(TicketChange::Zone(after.zone.clone()));
    }
    let time = |at: Option<Timestamp>| json!(at.map(|at| at.to_string()));
    let from = say("valid_from", patch.valid_from.is_some(), time(before.valid_from), time(after.valid_from));
    let until = say("expires_at", patch.expires_at.is_some(), time(before.expires_at), time(after.expires_at));
    if from || until {
        changes.push(TicketChange::Window { valid_from: after.valid_from, expires_at: after.expires_at });
    }
    (changes, said)
}
