//! Receives a device's report about itself, every 30 s (spec §5).

use admit_core::ids::GateId;
use admit_core::limits::RING_MS;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{Cursor, Figures, HeartbeatAnswer, HeartbeatRequest};
use serde_json::json;

use super::assign::assign;
use crate::caller::DeviceCaller;
use crate::error::{Error, Result};
use crate::gates;
use crate::occupancy::area::Areas;
use crate::ports::{App, Hint, Pace, Scope, Topic, Tx, read, write};
use crate::records::{DeviceHealth, DeviceRecord, DeviceState, Head, LogRecord, NewAudit};

/// The result of a heartbeat.
#[derive(Debug, Clone)]
pub struct Heard {
    /// The answer to the device, with what it should know without asking.
    pub answer: HeartbeatAnswer,
    /// The head of the device's event at that time.
    pub head: Head,
    /// The figures that the device measured. Absent if they were counted already.
    pub figures: Option<Figures>,
    /// The version of the list by which the device decides since this heartbeat, and whose signature it verified.
    /// Absent if it did not change.
    pub verified: Option<u64>,
}

/// Stores the device's report, and answers what the device should know without asking. The report is no fact and
/// replaces the one before.
pub async fn heartbeat(app: &App, caller: &DeviceCaller, beat: HeartbeatRequest) -> Result<Heard> {
    let now = app.clock.now();
    let device_id = caller.device_id.clone();
    let scope = scope(app, caller).await?;
    let heard = write(&*app.store, scope, move |tx| {
        let device = tx.device(&device_id)?.ok_or_else(|| Error::Bug("a key without a device".into()))?;
        if device.state == DeviceState::Revoked {
            return Err(Error::denied("device_revoked", "this device was revoked"));
        }
        let figures = beat.figures.clone().filter(|figures| device.health.figures_id != Some(figures.id));
        let version = beat.manifest_version;
        let verified = (version > 0 && version != device.health.manifest_version).then_some(version);
        note(tx, &device, &beat, now)?;
        let device = moved(tx, device, beat.gate_id.as_ref())?;
        let head = tx.head(&device.event_id)?;
        let gates = gates::all(tx, &device.event_id)?;
        let area_inside = area_inside(tx, &device, &gates, now)?;
        let walk_ins = walk_ins(tx, &device, &gates)?;
        let answer = HeartbeatAnswer {
            server_time: now,
            manifest_version: tx.rules_serial(&device.event_id)?,
            event_id: device.event_id,
            gate_id: device.gate_id,
            cursor: Cursor::at(head.epoch, head.serial),
            suspended: device.state == DeviceState::Suspended,
            area_inside,
            walk_ins,
            rung_at: device.rung_at.filter(|at| now.since(*at) < RING_MS),
        };
        Ok(Heard { answer, head, figures, verified })
    })
    .await?;
    app.hints.hint(Hint {
        organization_id: caller.organization_id.clone(),
        event_id: heard.answer.event_id.clone(),
        serial: None,
        topic: Topic::Devices,
    });
    Ok(heard)
}

/// Persons added at all doors of the event. `None` unless the device's gate adds guests.
fn walk_ins(tx: &mut dyn Tx, device: &DeviceRecord, gates: &[gates::Gate]) -> Result<Option<u32>> {
    if !gates.iter().any(|gate| gate.gate_id == device.gate_id && gate.rules.walk_ins) {
        return Ok(None);
    }
    Ok(Some(u32::try_from(tx.occupancy(&device.event_id)?.walk_ins.max(0)).unwrap_or(u32::MAX)))
}

/// Moves the device to another gate of its event, if staff chose one on the device. A gate that the event does not have
/// is ignored, and the answer tells the device its gate.
fn moved(tx: &mut dyn Tx, device: DeviceRecord, chosen: Option<&GateId>) -> Result<DeviceRecord> {
    let Some(gate_id) = chosen.filter(|gate_id| **gate_id != device.gate_id) else { return Ok(device) };
    if !tx.gate_ids(&device.event_id)?.contains(gate_id) {
        return Ok(device);
    }
    let after = DeviceRecord { gate_id: gate_id.clone(), ..device.clone() };
    tx.stamp(&device.event_id)?;
    tx.update_device(&after)?;
    assign(tx, &device.device_id, &device.event_id, gate_id)?;
    let said = json!({ "gate_id": { "from": device.gate_id.as_str(), "to": gate_id.as_str() } });
    tx.append_audit(NewAudit {
        event_id: Some(device.event_id.clone()),
        user_id: None,
        device_id: Some(device.device_id.clone()),
        action: "device_moved_itself",
        entity_type: "Device",
        entity_id: device.device_id.as_str().to_owned(),
        changes: said.to_string(),
        metadata: "{}".to_owned(),
    })?;
    Ok(after)
}

/// Persons in the area that the device's gate leads to. `None` if the gate has no capacity.
fn area_inside(tx: &mut dyn Tx, device: &DeviceRecord, gates: &[gates::Gate], now: Timestamp) -> Result<Option<u32>> {
    let own = gates.iter().find(|gate| gate.gate_id == device.gate_id);
    // Without a capacity nobody needs the count.
    if own.is_none_or(|gate| gate.rules.capacity.is_none()) {
        return Ok(None);
    }
    Areas::of(tx, &device.event_id, gates, now)?.inside(tx, &device.event_id, &device.gate_id)
}

/// The scope of a write to a device's log. Batches and heartbeats both write the log's row, and they may hold the heads
/// of different events. So each write reads the device first. The store locks the device's row for that write.
pub(crate) async fn scope(app: &App, caller: &DeviceCaller) -> Result<Scope> {
    let device_id = caller.device_id.clone();
    let event_id = read(&*app.store, &caller.organization_id, move |tx| {
        Ok(tx.device(&device_id)?.ok_or_else(|| Error::Bug("a key without a device".into()))?.event_id)
    })
    .await?;
    Ok(Scope { pace: Pace::Urgent, ..Scope::event(&caller.organization_id, &event_id) })
}

fn note(tx: &mut dyn Tx, device: &DeviceRecord, beat: &HeartbeatRequest, now: Timestamp) -> Result<()> {
    tx.put_health(
        &device.device_id,
        &DeviceHealth {
            last_seen_at: Some(now),
            last_sync_at: device.health.last_sync_at,
            pending: beat.pending,
            battery: beat.battery,
            app_version: beat.app_version.clone().unwrap_or_default(),
            manifest_version: beat.manifest_version,
            clock_offset_ms: beat.clock_offset_ms,
            failed_syncs: device.health.failed_syncs,
            arrivals: device.health.arrivals,
            figures_id: beat.figures.as_ref().map(|figures| figures.id).or(device.health.figures_id),
        },
    )?;
    speak_of_head(tx, device, &beat.log_id, beat.head)
}

/// Notes the head of a device's log. Places up to the head whose scans have not arrived are missing (spec §3 "Log").
pub(crate) fn speak_of_head(
    tx: &mut dyn Tx,
    device: &DeviceRecord,
    log_id: &admit_core::ids::LogId,
    head: u64,
) -> Result<()> {
    let log = tx.log(&device.device_id, log_id)?;
    if head == 0 && log.is_none() || log.as_ref().is_some_and(|log| log.head >= head) {
        return Ok(());
    }
    let log = log.unwrap_or_else(|| LogRecord {
        device_id: device.device_id.clone(),
        log_id: log_id.clone(),
        event_id: device.event_id.clone(),
        head: 0,
        received: Vec::new(),
        closed_at: None,
    });
    // A device that reports a log has not abandoned it.
    tx.put_log(&LogRecord { head, closed_at: None, ..log })
}
