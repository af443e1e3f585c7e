//! Finds the device by its bearer token (S1 §5.1 step 1, S2 step 10).

use admit_core::ids::DeviceId;
use admit_core::limits::KEY_OVERLAP_MS;
use admit_core::sign::token_hash;
use admit_core::time::Timestamp;

use crate::caller::DeviceCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Prefetch, Scope, Tx, read_prefetching, write};
use crate::records::{CredentialKind, DeviceKeyRecord, DeviceState, NewAudit};

fn unknown_key() -> Error {
    Error::Unauthenticated { code: "unknown_key", message: "this key is not known here: pair the device again".into() }
}

/// Finds the device of a key, and notes the key's first use. A revoked device's key is found too: each use case decides
/// what such a device may do (spec D10).
pub async fn authenticate(app: &App, api_key: &str) -> Result<DeviceCaller> {
    let hash = token_hash(api_key);
    let credential = app.store.credential(hash).await?.ok_or_else(unknown_key)?;
    if credential.kind != CredentialKind::DeviceKey {
        return Err(unknown_key());
    }
    let device_id: DeviceId =
        credential.holder.parse().map_err(|_| Error::Bug("a device key without a device".into()))?;
    let caller = DeviceCaller {
        organization_id: credential.organization_id.clone(),
        device_id: device_id.clone(),
        token_hash: hash,
        api_key: api_key.to_owned(),
    };
    let now = app.clock.now();
    let prefetch = Prefetch { devices: vec![device_id.clone()], ..Prefetch::default() };
    let key = read_prefetching(&*app.store, &caller.organization_id, prefetch, {
        let device_id = device_id.clone();
        move |tx| {
            // A key that was replaced, or was revoked before its device was paired again, does not show that the device
            // is revoked. Such a key is simply unknown, so that the device erases nothing (spec D10).
            let active = tx.device(&device_id)?.is_some_and(|device| device.state != DeviceState::Revoked);
            let key = tx.device_keys(&device_id)?.into_iter().find(|key| key.token_hash == hash);
            Ok(key.filter(|key| !active || opens(key, now)))
        }
    })
    .await?
    .ok_or_else(unknown_key)?;
    if key.first_used_at.is_none() {
        note_first_use(app, &caller, now).await?;
    }
    Ok(caller)
}

/// Whether a key gives access to a device that is not revoked.
pub(super) fn opens(key: &DeviceKeyRecord, now: Timestamp) -> bool {
    key.revoked_at.is_none() && key.replaced_at.is_none_or(|at| now < at)
}

/// Notes the first use of a key. From then on a repeated pairing no longer replaces it (spec D11), and the device's
/// former keys end at once or an hour later. They end an hour later after a rotation (spec §5), and after a pairing in
/// which the device sent its own key: the device may hold scans of S1's form that only the old bearer proves. They end
/// at once if an organiser approved a request that came without a key.
async fn note_first_use(app: &App, caller: &DeviceCaller, now: Timestamp) -> Result<()> {
    let (device_id, hash) = (caller.device_id.clone(), caller.token_hash);
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        let keys = tx.device_keys(&device_id)?;
        // The keys are read inside the write, since the key may have been revoked meanwhile.
        let key = keys.iter().find(|key| key.token_hash == hash).filter(|key| key.first_used_at.is_none());
        let Some(key) = key else { return Ok(()) };
        tx.update_device_key(&DeviceKeyRecord { first_used_at: Some(now), ..key.clone() })?;
        let way = way_of(tx, key, &device_id)?;
        let ends = if way == Way::Approved { now } else { now.plus_ms(KEY_OVERLAP_MS) };
        for old in keys.iter().filter(|old| old.key_id != key.key_id && old.revoked_at.is_none()) {
            if old.replaced_at.is_none_or(|at| ends < at) {
                tx.update_device_key(&DeviceKeyRecord { replaced_at: Some(ends), ..old.clone() })?;
            }
        }
        if way == Way::Rotated { say(tx, &device_id, key, ends) } else { Ok(()) }
    })
    .await
}

/// How a device that had a key got another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// An organiser rotated its key.
    Rotated,
    /// The device paired with its own key, or never had one.
    Itself,
    /// The device asked without a key, and an organiser approved it.
    Approved,
}

fn way_of(tx: &mut dyn Tx, key: &DeviceKeyRecord, device_id: &DeviceId) -> Result<Way> {
    let token = match key.paired_by {
        Some(paired_by) => tx.pairing_token(&paired_by)?,
        None => None,
    };
    Ok(match token {
        None => Way::Approved,
        Some(token) if token.claim_hash.is_some() => Way::Approved,
        Some(token) if token.device_id.as_ref() == Some(device_id) => Way::Rotated,
        Some(_) => Way::Itself,
    })
}

fn say(tx: &mut dyn Tx, device_id: &DeviceId, key: &DeviceKeyRecord, ends: Timestamp) -> Result<()> {
    let changes = serde_json::json!({ "key_id": key.key_id.as_str(), "former_keys_end_at": ends.to_string() });
    tx.append_audit(NewAudit {
        event_id: None,
        user_id: None,
        device_id: Some(device_id.clone()),
        action: "key_rotated",
        entity_type: "Device",
        entity_id: device_id.as_str().to_owned(),
        changes: changes.to_string(),
        metadata: "{}".to_owned(),
    })
}
