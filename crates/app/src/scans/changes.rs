//! The planned changes of a write, and the one place that stores them.

use admit_core::ids::EventId;
use admit_core::occupancy::{Occupancy, Recount};
use admit_core::reduce::ScanVerdict;

use super::walk_ins::{Made, Names};
use crate::error::Result;
use crate::ports::Tx;
use crate::records::{IncidentRecord, LogRecord, MinuteFlow, NewDelivery, NewScan, RejectedRecord, Stamp, StateRecord};

/// States with the verdicts of their scans.
type States = Vec<(StateRecord, Vec<ScanVerdict>)>;

/// The changes that follow from judging subjects.
#[derive(Debug, Default)]
pub struct SubjectChanges {
    /// Tickets for guests whom staff added at a door.
    pub(super) walk_ins: Made,
    /// States of subjects that had none.
    pub(super) first_states: States,
    /// States of all other subjects.
    pub(super) states: States,
    /// The change of the event's counters.
    pub(super) delta: Occupancy,
    /// The change of the persons per minute and gate.
    pub(super) flow: Vec<MinuteFlow>,
    /// The recounts that each of these subjects has now.
    pub(super) recounts: Vec<(String, Vec<Recount>)>,
    /// Incidents that are new or changed.
    pub(super) incidents: Vec<IncidentRecord>,
}

/// The changes of a batch in one event.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub scans: Vec<NewScan>,
    pub names: Names,
    pub deliveries: Vec<NewDelivery>,
    pub subjects: SubjectChanges,
    pub logs: Vec<LogRecord>,
    /// Incidents of logs, ids, devices and batches.
    pub incidents: Vec<IncidentRecord>,
    pub rejected: Vec<RejectedRecord>,
}

impl SubjectChanges {
    /// Stores the changes.
    pub fn store(self, tx: &mut dyn Tx, event_id: &EventId, stamp: Stamp) -> Result<()> {
        let Made { tickets, guests, rules } = &self.walk_ins;
        if !tickets.is_empty() {
            tx.insert_tickets(tickets)?;
            tx.insert_guests(guests)?;
            tx.insert_rules(event_id, rules)?;
        }
        if !self.first_states.is_empty() {
            tx.insert_states(event_id, &self.first_states)?;
        }
        if !self.states.is_empty() {
            tx.put_states(event_id, &self.states)?;
        }
        if self.delta != Occupancy::default() {
            tx.add_occupancy(event_id, &self.delta, stamp.serial)?;
        }
        if !self.flow.is_empty() {
            tx.add_flow(event_id, &self.flow)?;
        }
        if !self.recounts.is_empty() {
            tx.put_recounts(event_id, &self.recounts)?;
        }
        if !self.incidents.is_empty() {
            tx.put_incidents(&self.incidents)?;
        }
        Ok(())
    }
}

impl Changes {
    /// Stores the changes.
    pub fn store(self, tx: &mut dyn Tx, event_id: &EventId, stamp: Stamp) -> Result<()> {
        if !self.scans.is_empty() {
            tx.insert_scans(&self.scans)?;
        }
        if !self.names.is_empty() {
            tx.put_walk_in_names(event_id, &self.names.into_iter().collect::<Vec<_>>())?;
        }
        if !self.deliveries.is_empty() {
            tx.insert_deliveries(&self.deliveries)?;
        }
        self.subjects.store(tx, event_id, stamp)?;
        for log in &self.logs {
            tx.put_log(log)?;
        }
        if !self.incidents.is_empty() {
            tx.put_incidents(&self.incidents)?;
        }
        if !self.rejected.is_empty() {
            tx.insert_rejected(event_id, &self.rejected)?;
        }
        Ok(())
    }
}
