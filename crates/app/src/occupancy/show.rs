//! Shows the event's counters, gate by gate.

use admit_core::access::Action;
use admit_core::ids::EventId;
use admit_core::incident::IncidentKind;
use admit_core::occupancy::{GateFlow, Occupancy};

use crate::caller::UserCaller;
use crate::error::Result;
use crate::events;
use crate::gates::{self, Gate};
use crate::occupancy::area::{AreaRecount, Areas};
use crate::ports::{App, read};
use crate::records::EventRecord;

/// How many persons are inside, and how many are expected.
#[derive(Debug, Clone)]
pub struct Inside {
    /// The event.
    pub event: EventRecord,
    /// The event's counters.
    pub occupancy: Occupancy,
    /// Every gate with its flow. Gates without any flow are included.
    pub gates: Vec<(Gate, GateFlow)>,
    /// The recounts that hold, newest first.
    pub recounts: Vec<AreaRecount>,
    /// Number of tickets.
    pub tickets: u64,
    /// Number of persons that the tickets admit.
    pub expected_persons: u64,
    /// Numbers of open incidents, by kind.
    pub open_incidents: Vec<(IncidentKind, u64)>,
    /// The serial of the event's last change. The messages of the live stream name such serials in their ids.
    pub serial: u64,
}

/// Reads the counters in one consistent snapshot.
pub async fn show(app: &App, caller: &UserCaller, event_id: EventId) -> Result<Inside> {
    caller.must(Action::ReadEvents)?;
    let now = app.clock.now();
    read(&*app.store, &caller.organization_id, move |tx| {
        let event = events::require(tx, &event_id)?;
        let all = gates::all(tx, &event_id)?;
        let areas = Areas::of(tx, &event_id, &all, now)?;
        let recounts = areas.recounts(tx, &event_id)?;
        let occupancy = areas.all;
        let flow_of = |gate: &Gate| occupancy.gates.get(&gate.gate_id).copied().unwrap_or_default();
        let gates = all.into_iter().map(|gate| (gate.clone(), flow_of(&gate))).collect();
        let (tickets, expected_persons) = tx.count_tickets(&event_id)?;
        let open_incidents = tx.count_open_incidents(&event_id)?;
        let serial = tx.head(&event_id)?.serial;
        Ok(Inside { event, gates, recounts, tickets, expected_persons, open_incidents, serial, occupancy })
    })
    .await
}
