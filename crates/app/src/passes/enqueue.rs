//! Putting a pass on its way, in the transaction of what it follows from (law 7). After the commit the caller rings the
//! bell.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;
use serde_json::{Value, json};

use super::delivery::{KIND, is_over};
use super::mailing::{MailState, state_of};
use super::why::{Why, why_changed};
use crate::draw::Draw;
use crate::error::{Error, Result};
use crate::jobs;
use crate::ports::Tx;
use crate::records::*;

/// Makes a run for each of these guests (by id); tells whether there is any. Of an event that is over nothing is sent. An
/// update goes to those alone whose pass was made before: whoever brought their code along from elsewhere is not written to
/// because their name was mended.
pub(crate) fn enqueue(
    tx: &mut dyn Tx,
    event: &EventRecord,
    guests: &[(String, Why)],
    now: Timestamp,
    draw: &mut Draw,
) -> Result<bool> {
    if guests.is_empty() || is_over(event) {
        return Ok(false);
    }
    let guests = with_what_is_owed(tx, event, guests)?;
    let changed: Vec<String> =
        guests.iter().filter(|(_, why)| *why == Why::Changed).map(|(guest_id, _)| guest_id.clone()).collect();
    let known: BTreeSet<String> = match changed.is_empty() {
        true => BTreeSet::new(),
        false => tx.run_subjects(&event.event_id, KIND, Some(&changed))?.into_iter().collect(),
    };
    // Which of two runs of a guest is the later one is the order of their commits, not of their nodes' clocks.
    let created_at = tx.stamp(&event.event_id)?.effective_at;
    let runs: Vec<RunRecord> = guests
        .iter()
        .filter(|(guest_id, why)| *why != Why::Changed || known.contains(guest_id))
        .map(|(guest_id, why)| {
            let input = json!({ "why": why.as_str() }).to_string();
            RunRecord { created_at, ..jobs::fresh(draw, KIND, &event.event_id, guest_id, input, now) }
        })
        .collect();
    tx.insert_runs(&runs)?;
    Ok(!runs.is_empty())
}

/// Whose ticket is good again is sent what the newest run about them did not mail, for that run's reason: their pass, or what
/// changed while the ticket was not good. Whose newest mail went out is owed nothing, and who never had a run has their
/// code from elsewhere. A run that is still under way may have looked at the ticket before, so there is another.
fn with_what_is_owed(tx: &mut dyn Tx, event: &EventRecord, guests: &[(String, Why)]) -> Result<Vec<(String, Why)>> {
    let good_again: Vec<String> =
        guests.iter().filter(|(_, why)| *why == Why::GoodAgain).map(|(guest_id, _)| guest_id.clone()).collect();
    if good_again.is_empty() {
        return Ok(guests.to_vec());
    }
    let newest = tx.newest_runs(&event.event_id, KIND, &good_again)?;
    let owed: BTreeMap<&str, Why> = newest
        .iter()
        .filter(|run| state_of(run) != MailState::Sent)
        .map(|run| (run.subject.as_str(), reason_of(run)))
        .collect();
    let now = |(guest_id, why): &(String, Why)| match why {
        Why::GoodAgain => Some((guest_id.clone(), *owed.get(guest_id.as_str())?)),
        _ => Some((guest_id.clone(), *why)),
    };
    Ok(guests.iter().filter_map(now).collect())
}

/// Why a run was made.
pub(crate) fn reason_of(run: &RunRecord) -> Why {
    let input: Value = serde_json::from_str(&run.input).unwrap_or_default();
    input["why"].as_str().and_then(Why::parse).unwrap_or(Why::New)
}

/// A guest changed by hand, or their ticket's status (before, after): their pass goes out anew, where that is to be.
pub(crate) fn enqueue_change(
    tx: &mut dyn Tx,
    before: &GuestRecord,
    after: &GuestRecord,
    status: (TicketStatus, TicketStatus),
    now: Timestamp,
    draw: &mut Draw,
) -> Result<()> {
    let Some(why) = why_changed(Some(before), after, status) else { return Ok(()) };
    let ticket = match &after.ticket_id {
        Some(ticket_id) => tx.ticket(ticket_id)?,
        None => None,
    };
    // A code that came from elsewhere has no pass.
    if !ticket.is_some_and(|ticket| ticket.drawn) {
        return Ok(());
    }
    let event = tx.event(&after.event_id)?.ok_or_else(|| Error::not_found("event"))?;
    enqueue(tx, &event, &[(after.guest_id.to_string(), why)], now, draw).map(|_| ())
}

/// The event's name, place or time changed: everybody who has a pass is told, unless it has begun. Tells whether there is
/// anybody.
pub(crate) fn enqueue_everybody(
    tx: &mut dyn Tx,
    before: &EventRecord,
    after: &EventRecord,
    now: Timestamp,
    draw: &mut Draw,
) -> Result<bool> {
    let told = |event: &EventRecord| {
        (event.name.clone(), event.venue.clone(), event.time_zone.clone(), event.starts_at, event.ends_at)
    };
    let has_begun = now >= before.starts_at && now >= after.starts_at;
    if told(before) == told(after) || has_begun || is_over(after) {
        return Ok(false);
    }
    let everybody = tx.run_subjects(&after.event_id, KIND, None)?;
    let guests: Vec<(String, Why)> = everybody.into_iter().map(|guest_id| (guest_id, Why::Changed)).collect();
    enqueue(tx, after, &guests, now, draw)
}
