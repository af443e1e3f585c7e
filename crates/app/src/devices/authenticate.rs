//! From the bearer to the device (S1 §5.1 step 1, S2 step 10).

use admit_core::sign::token_hash;

use crate::caller::DeviceCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Scope, read, write};
use crate::records::{CredentialKind, DeviceKeyRecord, DeviceState};

fn unknown_key() -> Error {
    Error::Unauthenticated { code: "unknown_key", message: "this key is not known here: pair the device again".into() }
}

/// Finds the device that a key opens, and notes the key's first use. A revoked key still opens its device: what it may
/// do is decided where it does it (spec D10).
pub async fn authenticate(app: &App, api_key: &str) -> Result<DeviceCaller> {
    let hash = token_hash(api_key);
    let credential = app.store.credential(hash).await?.ok_or_else(unknown_key)?;
    if credential.kind != CredentialKind::DeviceKey {
        return Err(unknown_key());
    }
    let device_id: admit_core::ids::DeviceId =
        credential.holder.parse().map_err(|_| Error::Bug("a device key without a device".into()))?;
    let caller = DeviceCaller {
        organization_id: credential.organization_id.clone(),
        device_id: device_id.clone(),
        token_hash: hash,
        api_key: api_key.to_owned(),
    };
    let key = read(&*app.store, &caller.organization_id, {
        let device_id = device_id.clone();
        move |tx| {
            // A key that a later pairing outdated is no sign that the device was revoked: it is simply not known any
            // more, and erases nothing (spec D10).
            let active = tx.device(&device_id)?.is_some_and(|device| device.state != DeviceState::Revoked);
            let key = tx.device_keys(&device_id)?.into_iter().find(|key| key.token_hash == hash);
            Ok(key.filter(|key| key.revoked_at.is_none() || !active))
        }
    })
    .await?
    .ok_or_else(unknown_key)?;
    if key.first_used_at.is_none() {
        note_first_use(app, &caller).await?;
    }
    Ok(caller)
}

/// From its first use on, a repeated pairing no longer replaces the key (spec D11).
async fn note_first_use(app: &App, caller: &DeviceCaller) -> Result<()> {
    let (now, device_id, hash) = (app.clock.now(), caller.device_id.clone(), caller.token_hash);
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        // Read here, not before: the key may have been withdrawn meanwhile.
        let key = tx.device_keys(&device_id)?.into_iter().find(|key| key.token_hash == hash);
        match key.filter(|key| key.first_used_at.is_none()) {
            Some(key) => tx.update_device_key(&DeviceKeyRecord { first_used_at: Some(now), ..key }),
            None => Ok(()),
        }
    })
    .await
}
