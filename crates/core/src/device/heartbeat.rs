//! The heartbeat: this device tells its state, and learns its assignment and whether there is news (spec §5).

use super::lookup::Known;
use super::outbox::Outbox;
use super::session::Session;
use super::uplink::{Ask, Request};
use crate::ids::GateId;
use crate::limits;
use crate::time::Timestamp;
use crate::wire::journal::{Entry, Paired};
use crate::wire::scanning::{HeartbeatAnswer, HeartbeatRequest};
use crate::wire::stored::to_text;

/// The state of this device when a heartbeat left.
#[derive(Debug, Clone, Default)]
struct Beat {
    /// Whether it had a list.
    listed: bool,
    /// The gate that staff had chosen on the device, as far as this heartbeat reported it. Absent if it reported none.
    gate_id: Option<GateId>,
}

/// The meaning of a heartbeat's answer for the place of this device.
#[derive(Debug)]
pub(super) enum Place {
    /// The device stays where it is, and the server knows that.
    Same,
    /// Staff chose another gate that the server does not know of yet.
    Unreported,
    /// An organiser assigned the device to another event or gate.
    Assigned(Entry),
}

/// The heartbeats of this device.
#[derive(Debug, Default)]
pub(super) struct Heartbeat {
    /// The state when the heartbeat under way left.
    beat: Beat,
    /// The gate that staff chose on this device and that the server knows of.
    gate_told: Option<GateId>,
    /// When an organiser last asked this device to ring, as the last answer said. Absent if nobody did.
    rung_at: Option<Timestamp>,
}

impl Heartbeat {
    /// When an organiser last asked this device to ring, as the last answer said. `None` if nobody did.
    pub fn rung_at(&self) -> Option<Timestamp> {
        self.rung_at
    }
    /// Takes note that staff chose a gate, which the next heartbeat reports.
    pub fn gate_chosen(&mut self) {
        self.gate_told = None;
    }

    /// The next heartbeat: the state of this device. `None` before it is paired.
    pub fn request(&mut self, known: Known<'_>, session: &Session, out: &mut Outbox) -> Option<Request> {
        let ((_, log_id), paired) = (known.journal.identity.as_ref()?, known.paired()?);
        let path = format!("/api/scanning/events/{}/heartbeat", paired.event_id);
        let news = paired.moved && self.gate_told.as_ref() != Some(&paired.gate_id);
        let gate_id = news.then(|| paired.gate_id.clone());
        self.beat = Beat { listed: known.list().is_some(), gate_id: gate_id.clone() };
        let now_ms = session.at_ms();
        let list_age_ms = known.catalog.checked_ms().map(|at_ms| now_ms.saturating_sub(at_ms).max(0).unsigned_abs());
        let figures = out.measured().figures(session.wall_ms(), list_age_ms);
        let request = HeartbeatRequest {
            log_id: log_id.clone(),
            head: known.journal.head_seq(),
            pending: known.journal.unsent(),
            battery: session.battery(),
            app_version: session.app_version(),
            manifest_version: known.list().map_or(0, |list| list.version),
            clock_offset_ms: session.clock().offset_ms().filter(|_| session.clock().exchanged()),
            figures: Some(figures),
            gate_id,
        };
        Some(Request::post(Ask::Heartbeat, &path, to_text(&request), limits::REQUEST_MS))
    }

    /// When the next heartbeat is due after an answer. If a list came after the heartbeat left, the server is told at
    /// once.
    pub fn next_in_ms(&self, known: Known<'_>) -> i64 {
        if self.beat.listed || known.list().is_none() { limits::HEARTBEAT_MS } else { 0 }
    }

    /// Takes the server's answer to a heartbeat.
    pub fn answered(&mut self, answer: &HeartbeatAnswer, paired: Option<&Paired>) -> Place {
        self.rung_at = answer.rung_at;
        // The device reports its own choice of gate once. If somebody moves the device after that, the old choice does
        // not overrule them.
        let told = std::mem::take(&mut self.beat).gate_id;
        self.gate_told = told.or(self.gate_told.take());
        let Some(paired) = paired else { return Place::Same };
        let elsewhere = paired.event_id != answer.event_id || paired.gate_id != answer.gate_id;
        match (paired.moved, self.gate_told.as_ref() == Some(&paired.gate_id)) {
            // Staff chose a gate after the heartbeat left, so their choice is newer than the server's answer.
            (true, false) => Place::Unreported,
            (false, _) if !elsewhere => Place::Same,
            (true, true) | (false, _) => {
                let (event_id, gate_id) = (answer.event_id.clone(), answer.gate_id.clone());
                Place::Assigned(Entry::Assigned { event_id, gate_id })
            }
        }
    }
}
