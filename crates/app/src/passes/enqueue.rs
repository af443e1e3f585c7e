//! Putting a pass on its way, in the transaction of what it follows from (law 7). After the commit the caller rings the
//! bell.

use std::collections::BTreeSet;

use admit_core::event::EventStatus;
use admit_core::pass::is_token;
use admit_core::time::Timestamp;
use serde_json::json;

use super::delivery::KIND;
use super::why::{Why, why};
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

/// A guest changed by hand: their pass goes out anew, where that is to be.
pub(crate) fn enqueue_change(
    tx: &mut dyn Tx,
    before: &GuestRecord,
    after: &GuestRecord,
    now: Timestamp,
    draw: &mut Draw,
) -> Result<()> {
    let Some(why) = why(Some(before), after) else { return Ok(()) };
    let ticket = match &after.ticket_id {
        Some(ticket_id) => tx.ticket(ticket_id)?,
        None => None,
    };
    // A code that came from elsewhere has no pass.
    if !ticket.and_then(|ticket| ticket.barcode).is_some_and(|code| is_token(&code)) {
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

fn is_over(event: &EventRecord) -> bool {
    matches!(event.status, EventStatus::Ended | EventStatus::Archived)
}
