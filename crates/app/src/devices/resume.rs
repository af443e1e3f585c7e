//! Lets a suspended device continue, and counts its held scans (spec D19).

use admit_core::access::Action;
use admit_core::ids::DeviceId;
use serde_json::json;

use super::accept::{Accepted, accept_in, tell};
use super::failed_sync::{alerted, settle};
use super::revoke::events_of;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Hint, Pace, Scope, Topic, read, write};
use crate::records::{DeviceHealth, DeviceRecord, DeviceState};

/// Resumes a suspended device. An active device stays unchanged, and none of its waiting scans is accepted. For a
/// revoked device the call fails with 409 `device_revoked`. To let it back in, an organiser approves the pairing code
/// that the device shows.
pub async fn resume(app: &App, caller: &UserCaller, device_id: DeviceId) -> Result<(DeviceRecord, Accepted)> {
    caller.must(Action::ManageDevices)?;
    let (now, seeded, id) = (app.clock.now(), app.seeded_ids(), device_id.clone());
    // The events for which the device scans or scanned, and those in which an incident says that it is suspended.
    let ((home, mut events), told) =
        read(&*app.store, &caller.organization_id, move |tx| Ok((events_of(tx, &id)?, alerted(tx, &id)?))).await?;
    events.extend(told.iter().cloned());
    events.sort();
    events.dedup();
    let scope = Scope { events: events.clone(), pace: Pace::Urgent, ..Scope::organization(&caller.organization_id) };
    let (by, cleared_in) = (caller.clone(), told.clone());
    let (device, accepted, brought) = write(&*app.store, scope, move |tx| {
        let (mut seeded, mut accepted, mut all) = (seeded.clone(), Accepted::default(), Vec::new());
        // 1. Check that the device is suspended.
        let device = tx.device(&device_id)?.ok_or_else(|| Error::not_found("device"))?;
        match device.state {
            DeviceState::Active => return Ok((device, accepted, all)),
            DeviceState::Revoked => {
                let message = "this device was revoked: let it show its own code, and approve that";
                return Err(Error::conflict("device_revoked", message));
            }
            DeviceState::Suspended => {}
        }
        let health = DeviceHealth { failed_syncs: 0, ..device.health.clone() };
        let device = DeviceRecord { state: DeviceState::Active, health, ..device };
        tx.update_device(&device)?;
        tx.put_health(&device_id, &device.health)?;
        // 2. In each event, count the held scans, clear the incident, whose cause is gone, and write one line.
        for event_id in &events {
            let one = accept_in(tx, &by, event_id, &device_id, None, now, &mut seeded)?;
            accepted.counted += one.accepted.counted;
            accepted.waiting += one.accepted.waiting;
            let is_home = *event_id == home;
            let is_told = is_home || cleared_in.contains(event_id);
            let cleared = is_told && settle(tx, event_id, &device_id, false, now, &mut seeded)?;
            if let Some(mut brought) = one.brought {
                brought.incidents |= cleared;
                all.push((event_id.clone(), brought));
            } else if !is_told {
                continue;
            }
            let said = json!({ "counted": one.accepted.counted });
            let entity = ("Device", device_id.as_str());
            tx.append_audit(line::of(&by, Some(event_id), "device_resumed", entity, said))?;
        }
        Ok((device, accepted, all))
    })
    .await?;
    let here = [Topic::Devices, Topic::Incidents].map(|topic| (device.event_id.clone(), topic));
    let elsewhere = told.into_iter().filter(|event_id| *event_id != device.event_id);
    for (event_id, topic) in here.into_iter().chain(elsewhere.map(|event_id| (event_id, Topic::Incidents))) {
        let organization_id = caller.organization_id.clone();
        app.hints.hint(Hint { organization_id, event_id, serial: None, topic });
    }
    tell(app, caller, brought);
    Ok((device, accepted))
}
