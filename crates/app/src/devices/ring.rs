//! Makes a device ring with its next heartbeat, when an organiser looks for it.

use admit_core::access::Action;
use admit_core::ids::DeviceId;
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Scope, read, write};
use crate::records::{DeviceRecord, DeviceState};

/// Notes that somebody looks for a device. The device learns of it within half a minute, if it has a network. For a
/// revoked device it fails with 409 `device_revoked`, since such a device sends no heartbeats.
pub async fn ring(app: &App, caller: &UserCaller, device_id: DeviceId) -> Result<DeviceRecord> {
    caller.must(Action::ManageDevices)?;
    let (now, id) = (app.clock.now(), device_id.clone());
    let unknown = || Error::not_found("device");
    let found = read(&*app.store, &caller.organization_id, move |tx| tx.device(&id)).await?;
    let event_id = found.ok_or_else(unknown)?.event_id;
    let by = caller.clone();
    write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let device = tx.device(&device_id)?.ok_or_else(unknown)?;
        if device.state == DeviceState::Revoked {
            return Err(Error::conflict("device_revoked", "this device was revoked: it hears of nothing any more"));
        }
        let device = DeviceRecord { rung_at: Some(now), ..device };
        tx.update_device(&device)?;
        tx.stamp(&event_id)?;
        let entity = ("Device", device_id.as_str());
        tx.append_audit(line::of(&by, Some(&event_id), "device_rung", entity, json!({})))?;
        Ok(device)
    })
    .await
}
