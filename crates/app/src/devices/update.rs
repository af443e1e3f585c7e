//! Renames a device, and moves it to another gate of its event.

use admit_core::access::Action;
use admit_core::ids::{DeviceId, GateId};
use serde_json::{Map, json};

use super::assign::assign;
use super::list::{Listing, one};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::gates;
use crate::ports::{App, Hint, Scope, Topic, read, write};
use crate::records::{DeviceRecord, DeviceState};

/// The fields to change. `None` leaves a field unchanged.
#[derive(Debug, Clone, Default)]
pub struct DevicePatch {
    /// The new name, 1–200 characters; absent: unchanged.
    pub name: Option<String>,
    /// The new gate, one of the device's event; absent: unchanged.
    pub gate_id: Option<GateId>,
}

/// Changes a device. A patch that changes nothing writes nothing. An online phone learns of another gate by its next
/// heartbeat, within 30 seconds. Until then its scans name the old gate. Fails with a field error of `gate_id` if the
/// event has no such gate. Fails with `device_is_revoked` if a revoked device is to be moved, since it must be paired
/// again.
pub async fn update(app: &App, caller: &UserCaller, device_id: DeviceId, patch: DevicePatch) -> Result<Listing> {
    caller.must(Action::ManageDevices)?;
    // 1. Check.
    let mut checks = Checks::default();
    let name = patch.name.map(|text| checks.name("name", &text));
    checks.finish()?;
    let id = device_id.clone();
    let found = read(&*app.store, &caller.organization_id, move |tx| tx.device(&id)).await?;
    let event_id = found.ok_or_else(|| Error::not_found("device"))?.event_id;
    let by = caller.clone();
    let listing = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        // 2. Compute the new values.
        let before = tx.device(&device_id)?.ok_or_else(|| Error::not_found("device"))?;
        if before.event_id != event_id {
            return Err(Error::Later { code: "busy", retry_after_ms: 1_000 }); // The device was moved at this moment.
        }
        let after = DeviceRecord {
            name: name.clone().unwrap_or_else(|| before.name.clone()),
            gate_id: patch.gate_id.clone().unwrap_or_else(|| before.gate_id.clone()),
            ..before.clone()
        };
        let mut said = Map::new();
        if after.name != before.name {
            said.insert("name".to_owned(), json!({ "from": before.name, "to": after.name }));
        }
        if after.gate_id != before.gate_id {
            if before.state == DeviceState::Revoked {
                let message = "a revoked device stays where it was: pair it again to move it";
                return Err(Error::conflict("device_is_revoked", message));
            }
            if !gates::all(tx, &event_id)?.iter().any(|gate| gate.gate_id == after.gate_id) {
                return Err(Error::invalid("gate_id", "is not a gate of this device's event"));
            }
            said.insert("gate_id".to_owned(), json!({ "from": before.gate_id.as_str(), "to": after.gate_id.as_str() }));
        }
        // 3. Store device and rule, and write the line.
        if !said.is_empty() {
            tx.stamp(&event_id)?;
            tx.update_device(&after)?;
            if after.gate_id != before.gate_id {
                assign(tx, &device_id, &event_id, &after.gate_id)?;
            }
            let entity = ("Device", device_id.as_str());
            tx.append_audit(line::of(&by, Some(&event_id), "device_updated", entity, said.into()))?;
        }
        one(tx, after)
    })
    .await?;
    let (organization_id, event_id) = (caller.organization_id.clone(), listing.device.event_id.clone());
    app.hints.hint(Hint { organization_id, event_id, serial: None, topic: Topic::Devices });
    Ok(listing)
}
