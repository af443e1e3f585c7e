//! Persons per quarter hour through each gate, for the whole event.

use std::collections::BTreeMap;

use admit_core::access::Action;
use admit_core::ids::EventId;
use admit_core::time::Timestamp;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::events;
use crate::ports::{App, read};
use crate::records::MinuteFlow;

const QUARTER_MS: i64 = 15 * 60_000;
/// How long before the event's start the first quarter hour begins, in milliseconds.
const BEFORE_MS: i64 = 12 * 3_600_000;
/// The most quarter hours of an event: 32 days.
const QUARTERS: i64 = 32 * 96;

/// The quarter hours in which anybody went through a gate or was refused there, by the scans' own times. They come
/// oldest first, then by gate. The moment of each entry is the start of its quarter hour.
pub async fn quarters(app: &App, caller: &UserCaller, event_id: EventId) -> Result<Vec<MinuteFlow>> {
    caller.must(Action::ReadEvents)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        let event = events::require(tx, &event_id)?;
        let first = event.starts_at.plus_ms(-BEFORE_MS).ms().div_euclid(QUARTER_MS);
        let mut sums = BTreeMap::new();
        for minute in tx.flow(&event_id, Timestamp::clamped(first * QUARTER_MS))? {
            let quarter = minute.at.ms().div_euclid(QUARTER_MS);
            if !(first..first + QUARTERS).contains(&quarter) {
                continue;
            }
            let at = Timestamp::clamped(quarter * QUARTER_MS);
            let gate_id = minute.gate_id.clone();
            let none = MinuteFlow { at, gate_id, entered: 0, exited: 0, refused: 0, without_ticket: 0 };
            let sum = sums.entry((quarter, minute.gate_id)).or_insert(none);
            sum.entered += minute.entered;
            sum.exited += minute.exited;
            sum.refused += minute.refused;
            sum.without_ticket += minute.without_ticket;
        }
        Ok(sums.into_values().collect())
    })
    .await
}
