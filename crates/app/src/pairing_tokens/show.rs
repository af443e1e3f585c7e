//! Shows which event and gate a pairing token belongs to, before a device pairs.

use admit_core::ids::{EventId, GateId};
use admit_core::sign::token_hash;
use admit_core::time::Timestamp;

use super::named::next_name;
use crate::error::{Error, Result};
use crate::events;
use crate::gates;
use crate::ports::{App, read};
use crate::records::{CredentialKind, DeviceState};

/// The event and gate at which a device would scan, and the name it would get.
#[derive(Debug, Clone)]
pub struct PairingPlace {
    /// The event's id.
    pub event_id: EventId,
    /// The event's name.
    pub event_name: String,
    /// The gate's id.
    pub gate_id: GateId,
    /// The gate's name.
    pub gate_name: String,
    /// A name for the device that no other device of the event has now.
    pub device_name: String,
    /// When the token expires.
    pub expires_at: Timestamp,
}

/// Shows what a token is for, without using it. Fails with 404 for an unknown token, and for the token of a device's
/// own request, which only an organiser may read. Fails with 410 `pairing_token_used` or `pairing_token_expired` for a
/// token that pairs no more devices.
pub async fn show(app: &App, pairing_token: &str) -> Result<PairingPlace> {
    // 1. Find the organisation of the token.
    let hash = token_hash(pairing_token);
    let credential = app.store.credential(hash).await?.filter(|one| one.kind == CredentialKind::PairingToken);
    let organization_id = credential.ok_or_else(|| Error::not_found("pairing_token"))?.organization_id;
    let now = app.clock.now();
    read(&*app.store, &organization_id, move |tx| {
        // 2. Check whether the token still pairs.
        let token = tx.pairing_token(&hash)?.filter(|token| token.claim_hash.is_none());
        let token = token.ok_or_else(|| Error::not_found("pairing_token"))?;
        if token.used_by.len() >= token.uses as usize {
            return Err(super::create::used());
        }
        if now >= token.expires_at {
            return Err(super::create::expired());
        }
        // 3. Read the names. If the gate was removed meanwhile, the token counts as expired.
        let event = events::require(tx, &token.event_id)?;
        let gate = gates::require(tx, &token.event_id, &token.gate_id).map_err(|_| super::create::expired())?;
        let bound = match &token.device_id {
            Some(device_id) => tx.device(device_id)?,
            None => None,
        };
        let devices = tx.devices(&token.event_id)?;
        let present = devices.iter().filter(|device| device.state != DeviceState::Revoked);
        let device_name = bound
            .map(|device| device.name)
            .unwrap_or_else(|| next_name(&gate.rules.name, present.map(|device| device.name.as_str())));
        Ok(PairingPlace {
            event_id: token.event_id.clone(),
            event_name: event.name,
            gate_id: token.gate_id,
            gate_name: gate.rules.name,
            device_name,
            expires_at: token.expires_at,
        })
    })
    .await
}
