//! Stores the runs that mail passes, in the transaction of the change that causes them (law 7). After the commit, the
//! caller wakes the job runner.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;
use serde_json::{Value, json};

use super::delivery::{KIND, is_over};
use super::delivery_reason::{DeliveryReason, reason_of_change};
use super::mailing::{MailState, state_of};
use crate::error::{Error, Result};
use crate::jobs;
use crate::ports::Tx;
use crate::records::{EventRecord, GuestRecord, RunRecord};
use crate::seeded_ids::SeededIds;

/// Makes a run that mails the pass to each of these guests (id, reason). Returns whether it made any run. For an event
/// that is over it makes none. An update goes only to guests whose pass was made before. So a guest whose code came
/// from another system gets no mail when somebody corrects the name.
pub(crate) fn enqueue(
    tx: &mut dyn Tx,
    event: &EventRecord,
    guests: &[(String, DeliveryReason)],
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<bool> {
    if guests.is_empty() || is_over(event) {
        return Ok(false);
    }
    let guests = with_what_is_owed(tx, event, guests)?;
    let changed: Vec<String> = guests
        .iter()
        .filter(|(_, why)| *why == DeliveryReason::Changed)
        .map(|(guest_id, _)| guest_id.clone())
        .collect();
    let known: BTreeSet<String> = match changed.is_empty() {
        true => BTreeSet::new(),
        false => tx.run_subjects(&event.event_id, KIND, Some(&changed))?.into_iter().collect(),
    };
    // The order of a guest's runs is the order of their commits, not of the clocks of the nodes.
    let created_at = tx.stamp(&event.event_id)?.effective_at;
    let runs: Vec<RunRecord> = guests
        .iter()
        .filter(|(guest_id, why)| *why != DeliveryReason::Changed || known.contains(guest_id))
        .map(|(guest_id, why)| {
            let input = json!({ "why": why.as_str() }).to_string();
            RunRecord { created_at, ..jobs::fresh(seeded, KIND, &event.event_id, guest_id, input, now) }
        })
        .collect();
    tx.insert_runs(&runs)?;
    Ok(!runs.is_empty())
}

/// Adds the mails that are due to guests whose ticket is active again. If the newest run of such a guest mailed
/// nothing, the guest gets that mail now, for the reason of that run. It brings the pass, or news of a change made
/// while the ticket was not active. If the newest run sent its mail, nothing is due. A guest without any run has a code
/// from another system, and gets nothing. A run that is under way may have read the ticket before it was active again,
/// so another run is added.
fn with_what_is_owed(
    tx: &mut dyn Tx,
    event: &EventRecord,
    guests: &[(String, DeliveryReason)],
) -> Result<Vec<(String, DeliveryReason)>> {
    let good_again: Vec<String> = guests
        .iter()
        .filter(|(_, why)| *why == DeliveryReason::GoodAgain)
        .map(|(guest_id, _)| guest_id.clone())
        .collect();
    if good_again.is_empty() {
        return Ok(guests.to_vec());
    }
    let newest = tx.newest_runs(&event.event_id, KIND, &good_again)?;
    let owed: BTreeMap<&str, DeliveryReason> = newest
        .iter()
        .filter(|run| state_of(run) != MailState::Sent)
        .map(|run| (run.subject.as_str(), reason_of(run)))
        .collect();
    let now = |(guest_id, why): &(String, DeliveryReason)| match why {
        DeliveryReason::GoodAgain => Some((guest_id.clone(), *owed.get(guest_id.as_str())?)),
        _ => Some((guest_id.clone(), *why)),
    };
    Ok(guests.iter().filter_map(now).collect())
}

/// The reason for which a run was made.
pub(crate) fn reason_of(run: &RunRecord) -> DeliveryReason {
    let input: Value = serde_json::from_str(&run.input).unwrap_or_default();
    input["why"].as_str().and_then(DeliveryReason::parse).unwrap_or(DeliveryReason::New)
}

/// Mails the pass again after a person changed a guest, or the status of the guest's ticket (before, after), if the
/// change is a reason to mail.
pub(crate) fn enqueue_change(
    tx: &mut dyn Tx,
    before: &GuestRecord,
    after: &GuestRecord,
    status: (TicketStatus, TicketStatus),
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<()> {
    let Some(why) = reason_of_change(Some(before), after, status) else { return Ok(()) };
    let ticket = match &after.ticket_id {
        Some(ticket_id) => tx.ticket(ticket_id)?,
        None => None,
    };
    // A code from another system has no pass.
    if !ticket.is_some_and(|ticket| ticket.drawn) {
        return Ok(());
    }
    let event = tx.event(&after.event_id)?.ok_or_else(|| Error::not_found("event"))?;
    enqueue(tx, &event, &[(after.guest_id.to_string(), why)], now, seeded).map(|_| ())
}

/// Mails everybody who has a pass after the event's name, place or time changed, unless the event has begun. Returns
/// whether anybody has a pass to mail.
pub(crate) fn enqueue_everybody(
    tx: &mut dyn Tx,
    before: &EventRecord,
    after: &EventRecord,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<bool> {
    let told = |event: &EventRecord| {
        (event.name.clone(), event.venue.clone(), event.time_zone.clone(), event.starts_at, event.ends_at)
    };
    let has_begun = now >= before.starts_at && now >= after.starts_at;
    if told(before) == told(after) || has_begun || is_over(after) {
        return Ok(false);
    }
    let everybody = tx.run_subjects(&after.event_id, KIND, None)?;
    let guests: Vec<(String, DeliveryReason)> =
        everybody.into_iter().map(|guest_id| (guest_id, DeliveryReason::Changed)).collect();
    enqueue(tx, after, &guests, now, seeded)
}
