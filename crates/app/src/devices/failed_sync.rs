//! Suspends a device after five failed syncs in a row (S2 §7, spec D19). Only the answers 400 and 409 to an
//! authenticated sync count. Failures by a broken network, a limit or a wrong key are no sign of a broken device.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::ids::{DeviceId, EventId};
use admit_core::incident::{Cause, CauseSubject, IncidentKind};
use admit_core::limits::FAILED_SYNCS;
use admit_core::rule::{Change, DeviceChange};
use admit_core::time::Timestamp;
use admit_core::wire::stored;

use super::heartbeat::scope;
use crate::caller::DeviceCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Hint, Topic, Tx, write};
use crate::records::{DeviceHealth, DeviceRecord, DeviceState, IncidentRecord, IncidentStatus, NewAudit};
use crate::scans::rejudge::settle_incidents;
use crate::seeded_ids::SeededIds;

/// Notes that a sync of this device was answered 400 or 409 (`code` says why). A stored batch resets the count. The
/// fifth failure in a row suspends the device and opens an incident. A revoked device is not changed.
pub async fn failed_sync(app: &App, caller: &DeviceCaller, code: &str) -> Result<()> {
    let (now, seeded, code) = (app.clock.now(), app.seeded_ids(), code.to_owned());
    let device_id = caller.device_id.clone();
    let event_id = write(&*app.store, scope(app, caller).await?, move |tx| {
        let device = tx.device(&device_id)?.ok_or_else(|| Error::Bug("a key without a device".into()))?;
        if device.state == DeviceState::Revoked {
            return Ok(None);
        }
        let failed_syncs = device.health.failed_syncs.saturating_add(1);
        let health = DeviceHealth { last_seen_at: Some(now), failed_syncs, ..device.health.clone() };
        tx.put_health(&device_id, &health)?;
        if failed_syncs < FAILED_SYNCS || device.state != DeviceState::Active {
            return Ok(None);
        }
        suspend(tx, device, failed_syncs, &code, now, &mut seeded.clone()).map(Some)
    })
    .await?;
    if let Some(event_id) = event_id {
        for topic in [Topic::Devices, Topic::Incidents] {
            let organization_id = caller.organization_id.clone();
            app.hints.hint(Hint { organization_id, event_id: event_id.clone(), serial: None, topic });
        }
    }
    Ok(())
}

fn suspend(
    tx: &mut dyn Tx,
    device: DeviceRecord,
    failed_syncs: u32,
    code: &str,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<EventId> {
    let (event_id, device_id) = (device.event_id.clone(), device.device_id.clone());
    tx.update_device(&DeviceRecord { state: DeviceState::Suspended, ..device })?;
    settle(tx, &event_id, &device_id, true, now, seeded)?;
    tx.append_audit(NewAudit {
        event_id: Some(event_id.clone()),
        user_id: None,
        device_id: Some(device_id.clone()),
        action: "device_suspended",
        entity_type: "Device",
        entity_id: device_id.as_str().to_owned(),
        changes: serde_json::json!({ "failed_syncs": failed_syncs, "last": code }).to_string(),
        metadata: "{}".to_owned(),
    })?;
    Ok(event_id)
}

/// Events with an incident about the device's failed syncs that is not cleared. A person may have answered it or not.
/// The incident stays in the event where the device was suspended, even if the device was assigned elsewhere since.
pub(super) fn alerted(tx: &mut dyn Tx, device_id: &DeviceId) -> Result<BTreeSet<EventId>> {
    // A device fails only in events to which it was assigned, so other events need not be read.
    let stood = tx.assignments(device_id)?.into_iter().filter_map(|rule| match rule.change {
        Change::Device(_, DeviceChange::Assignment { event_id, .. }) => Some(event_id),
        _ => None,
    });
    let key = CauseSubject::Device(device_id.clone()).key();
    let mut out = BTreeSet::new();
    for event_id in stood.collect::<BTreeSet<_>>() {
        let known = tx.incidents_of(&event_id, std::slice::from_ref(&key))?;
        if known.iter().any(|one| is_of_failures(one) && one.status != IncidentStatus::Cleared) {
            out.insert(event_id);
        }
    }
    Ok(out)
}

fn is_of_failures(incident: &IncidentRecord) -> bool {
    incident.kind == IncidentKind::RepeatedFailures
}

/// Opens or clears the incident about a device's consecutive failures. All other incidents of the device stay
/// unchanged. Takes the write's serial in its event.
pub(crate) fn settle(
    tx: &mut dyn Tx,
    event_id: &EventId,
    device_id: &DeviceId,
    holds: bool,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<bool> {
    let subject = CauseSubject::Device(device_id.clone());
    let key = subject.key();
    let stamp = tx.stamp(event_id)?;
    let known = tx.incidents_of(event_id, std::slice::from_ref(&key))?;
    let (of_failures, others): (Vec<_>, Vec<_>) = known.into_iter().partition(is_of_failures);
    // The cause names no scans, so every series of failures has the same digest. A person's answer was about an earlier
    // series. If the answer stayed, the next series would open no incident.
    let answered = of_failures.into_iter().filter(|one| one.resolved_digest.is_some());
    let forgotten = answered.map(|one| IncidentRecord { resolved_digest: None, serial: stamp.serial, ..one });
    tx.put_incidents(&forgotten.collect::<Vec<_>>())?;
    let mut causes: Vec<Cause> = Vec::new();
    for held in others.iter().filter(|one| one.status != IncidentStatus::Cleared) {
        causes.push(stored::cause_from_json(&held.cause).map_err(|error| Error::Bug(error.to_string()))?);
    }
    if holds {
        let kind = IncidentKind::RepeatedFailures;
        causes.push(Cause { kind, subject, scans: Vec::new(), order_uncertain: false });
    }
    let held = BTreeMap::from([(key, causes.as_slice())]);
    Ok(settle_incidents(tx, event_id, &held, stamp, now, seeded)?.changed)
}
