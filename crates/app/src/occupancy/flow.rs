//! Persons per minute through each gate, for the last hour.

use admit_core::access::Action;
use admit_core::ids::EventId;
use admit_core::time::Timestamp;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::events;
use crate::gates::{self, Gate};
use crate::ports::{App, read};
use crate::records::MinuteFlow;

/// Number of minutes shown.
pub const MINUTES: i64 = 60;
const MINUTE_MS: i64 = 60_000;

/// A span of minutes, with the persons through each gate.
#[derive(Debug, Clone)]
pub struct Flow {
    /// The start of the first minute. The last minute is the present one.
    pub from: Timestamp,
    /// Every gate, with one entry per minute, oldest first.
    pub gates: Vec<(Gate, Vec<MinuteFlow>)>,
}

/// The last hour, minute by minute, by the scans' own times.
pub async fn flow(app: &App, caller: &UserCaller, event_id: EventId) -> Result<Flow> {
    caller.must(Action::ReadEvents)?;
    let now = app.clock.now();
    let from = Timestamp::clamped((now.ms() / MINUTE_MS - (MINUTES - 1)) * MINUTE_MS);
    read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        let found = tx.flow(&event_id, from)?;
        let gates = gates::all(tx, &event_id)?;
        let gates = gates.into_iter().map(|gate| (gate.clone(), minutes(&gate, from, &found))).collect();
        Ok(Flow { from, gates })
    })
    .await
}

/// One entry per minute, with zeros if nothing happened. Scans that a fast clock dated after the present minute are
/// left out.
fn minutes(gate: &Gate, from: Timestamp, found: &[MinuteFlow]) -> Vec<MinuteFlow> {
    let of_gate: Vec<&MinuteFlow> = found.iter().filter(|flow| flow.gate_id == gate.gate_id).collect();
    (0..MINUTES)
        .map(|minute| {
            let at = from.plus_ms(minute * MINUTE_MS);
            let gate_id = gate.gate_id.clone();
            let mut sum = MinuteFlow { at, gate_id, entered: 0, exited: 0, refused: 0, without_ticket: 0 };
            for flow in of_gate.iter().filter(|flow| (0..MINUTE_MS).contains(&flow.at.since(at))) {
                sum.entered += flow.entered;
                sum.exited += flow.exited;
                sum.refused += flow.refused;
                sum.without_ticket += flow.without_ticket;
            }
            sum
        })
        .collect()
}
