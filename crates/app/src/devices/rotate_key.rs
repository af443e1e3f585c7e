//! Gives a device a new key (spec §5 `rotate-key`). A token bound to the device pairs it and gives it a pending key.
//! From the pending key's first use on, the old key works for one more hour ([`super::authenticate`]). Scans queued
//! under the old key stay proven.

use admit_core::access::Action;
use admit_core::ids::DeviceId;
use admit_core::limits::PAIRING_TOKEN_MS;
use admit_core::sign::token_hash;
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::pairing_tokens::create::{NewPairingToken, PAIRING_TOKEN_PREFIX};
use crate::ports::{App, Scope, read, write};
use crate::records::{DeviceRecord, DeviceState, PairingTokenRecord};

fn of(tx: &mut dyn crate::ports::Tx, device_id: &DeviceId) -> Result<DeviceRecord> {
    let device = tx.device(device_id)?.ok_or_else(|| Error::not_found("device"))?;
    if device.state == DeviceState::Revoked {
        let message = "this device was revoked: let it show its own code, and approve that";
        return Err(Error::conflict("device_revoked", message));
    }
    Ok(device)
}

/// Makes a token that gives this device, and no other, a new key. The old key works until the device has used the new
/// one, and one hour longer.
pub async fn rotate_key(app: &App, caller: &UserCaller, device_id: DeviceId) -> Result<NewPairingToken> {
    caller.must(Action::ManageDevices)?;
    let now = app.clock.now();
    let expires_at = now.plus_ms(PAIRING_TOKEN_MS);
    let pairing_token = format!("{PAIRING_TOKEN_PREFIX}{}", admit_core::barcode::hex(&app.ids.random()[..16]));
    let hash = token_hash(&pairing_token);
    let id = device_id.clone();
    let home = read(&*app.store, &caller.organization_id, move |tx| Ok(of(tx, &id)?.event_id)).await?;
    let by = caller.clone();
    write(&*app.store, Scope::event(&caller.organization_id, &home), move |tx| {
        let device = of(tx, &device_id)?;
        if device.event_id != home {
            return Err(Error::Later { code: "busy", retry_after_ms: 1_000 }); // The device was moved at this moment.
        }
        tx.stamp(&home)?;
        tx.insert_pairing_token(&PairingTokenRecord {
            token_hash: hash,
            event_id: home.clone(),
            gate_id: device.gate_id.clone(),
            device_id: Some(device_id.clone()),
            uses: 1,
            used_by: Vec::new(),
            expires_at,
            created_at: now,
            claim_hash: None,
        })?;
        let said = json!({ "gate_id": device.gate_id.as_str() });
        tx.append_audit(line::of(&by, Some(&home), "key_rotation_begun", ("Device", device_id.as_str()), said))
    })
    .await?;
    Ok(NewPairingToken { pairing_token, expires_at })
}
