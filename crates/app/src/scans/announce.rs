//! Gives hints after the commit. If a hint is lost, no data is lost. Clients that watch an event learn that a batch was
//! stored (S2 §4 "PubSub Broadcast").

use admit_core::ids::{BatchId, DeviceId, OrganizationId};
use serde_json::{Value, json};

use super::decode::Batch;
use super::intake::Arrived;
use crate::ports::{App, Hint, Topic};
use crate::recent::RecentScan;
use crate::records::BatchRecord;

/// The result of a batch, in S2's words.
#[derive(Debug, Clone, Copy)]
pub struct Ended<'a> {
    /// The device that sent the batch. The batch's id alone does not identify it, since two devices may both use `b1`.
    pub device_id: &'a DeviceId,
    /// The id of the batch.
    pub batch_id: &'a BatchId,
    /// One of `completed` and `partial_success`.
    pub status: &'a str,
    /// How many of the batch's scans are stored.
    pub processed: u64,
    /// How many of the batch's scans failed.
    pub errors: u64,
}

impl<'a> Ended<'a> {
    /// The result that the batch's row states.
    pub fn of(batch: &'a BatchRecord) -> Self {
        let BatchRecord { device_id, batch_id, status, .. } = batch;
        let (processed, errors) = (batch.processed_count.into(), batch.error_count.into());
        Self { device_id, batch_id, status, processed, errors }
    }
    /// S2's message `sync_complete`.
    pub fn message(&self) -> Value {
        json!({
            "event": "sync_complete",
            "batch_id": self.batch_id.as_str(),
            "device_id": self.device_id.as_str(),
            "status": self.status,
            "processed_count": self.processed,
            "error_count": self.errors,
        })
    }
}

/// Hints about a batch: its own topic, and what changed in each event.
pub(super) fn announce(app: &App, organization_id: &OrganizationId, ended: &Ended<'_>, parts: &[Arrived]) {
    for part in parts {
        say(app, organization_id, part, Topic::Batch(ended.message().to_string()));
        moved(app, organization_id, part, "batch_sync_completed", Some(ended.batch_id));
    }
}

/// Hints about what changed in one event. `what` is the message's `event`.
pub(super) fn moved(
    app: &App,
    organization_id: &OrganizationId,
    part: &Arrived,
    what: &str,
    batch_id: Option<&BatchId>,
) {
    let mut message = json!({ "event": what, "scans_added": part.added, "entered": part.entered });
    if let Some(batch_id) = batch_id {
        message["batch_id"] = batch_id.as_str().into();
    }
    if let Some(gate_id) = &part.gate_id {
        message["gate_id"] = gate_id.as_str().into();
    }
    say(app, organization_id, part, Topic::Occupancy(message.to_string()));
    say(app, organization_id, part, Topic::Devices);
    if part.incidents {
        say(app, organization_id, part, Topic::Incidents);
    }
}

fn say(app: &App, organization_id: &OrganizationId, part: &Arrived, topic: Topic) {
    let (organization_id, event_id) = (organization_id.clone(), part.event_id.clone());
    app.hints.hint(Hint { organization_id, event_id, serial: Some(part.serial), topic });
}

/// Adds the scans of a batch that opened a door to the recent entries (S2 §5 steps 22, 23).
pub(super) fn remember(app: &App, organization_id: &OrganizationId, part: &Batch) {
    let opened = part.items.iter().filter(|item| item.fact.opened()).map(|item| &item.fact.scan);
    let recent = opened.filter_map(|scan| {
        Some(RecentScan {
            barcode_hash: scan.barcode_hash?,
            ticket_id: scan.ticket_id.clone(),
            scan_id: scan.scan_id.clone(),
            device_id: scan.device_id.clone(),
            gate_id: scan.gate_id.clone(),
            at: scan.at,
        })
    });
    app.recent.note(organization_id, &part.event_id, recent.collect());
}
