//! An organiser lets in a device that asked for itself (spec D11 way (b)).
//!
//! It is also how a device comes back that lost its key, or was revoked and found again: its log is what it was, and
//! goes on.

use admit_core::access::Action;
use admit_core::ids::{DeviceId, EventId, GateId};
use admit_core::limits::PAIRING_TOKEN_MS;
use admit_core::sign::token_hash;
use admit_core::time::Timestamp;
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::gates;
use crate::ports::{App, Hint, Scope, Topic, Tx, read, write};
use crate::records::*;

/// A device that asks to be paired, as its organiser-to-be sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingRequest {
    /// The device.
    pub device_id: DeviceId,
    /// How it calls itself; may be empty.
    pub name: String,
    /// `ipad | phone | desktop | terminal`.
    pub device_type: String,
    /// Its end.
    pub expires_at: Timestamp,
    /// The device of this id that the organisation has already.
    pub known: Option<DeviceRecord>,
    /// Somebody of this organisation approved it.
    pub approved: bool,
}

/// Where an approved device scans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approved {
    /// What was asked.
    pub request: PairingRequest,
    /// Event.
    pub event_id: EventId,
    /// Gate.
    pub gate_id: GateId,
}

fn unknown() -> Error {
    Error::not_found("pairing_request")
}

/// What stands behind a token that a device shows: for the organiser to look at before approving. 404 for an unknown
/// token and for one that another organisation approved, 410 for one that is over.
pub async fn show_request(app: &App, caller: &UserCaller, pairing_token: &str) -> Result<PairingRequest> {
    caller.must(Action::ManageDevices)?;
    let hash = token_hash(pairing_token);
    let asked = app.store.pairing_request(hash).await?.ok_or_else(unknown)?;
    let taken = app.store.credential(hash).await?;
    if taken.as_ref().is_some_and(|taken| taken.organization_id != caller.organization_id) {
        return Err(unknown());
    }
    if taken.is_none() && app.clock.now() >= asked.expires_at {
        let message = "this device's code is over: let it show a new one";
        return Err(Error::Gone { code: "pairing_token_expired", message: message.into() });
    }
    let id = asked.device_id.clone();
    let known = read(&*app.store, &caller.organization_id, move |tx| tx.device(&id)).await?;
    let PairingRequestRecord { device_id, name, device_type, expires_at, .. } = asked;
    Ok(PairingRequest { device_id, name, device_type, expires_at, known, approved: taken.is_some() })
}

/// Approves it for an event and a gate; a device that is known here may go back to where it stood (`place` absent).
/// Approving once more what is approved changes nothing; for another place it is `already_approved`. A device that is
/// marked lost is not let in (`device_lost`): its scans from then on wait for review, and new ones would too.
pub async fn approve_pairing(
    app: &App,
    caller: &UserCaller,
    pairing_token: &str,
    place: Option<(EventId, GateId)>,
) -> Result<Approved> {
    // 1. The request, and where the device is to scan.
    let request = show_request(app, caller, pairing_token).await?;
    let before = request.known.as_ref().map(|device| (device.event_id.clone(), device.gate_id.clone()));
    let (event_id, gate_id) = place.or(before).ok_or_else(|| {
        Error::invalid("event_id", "is required with gate_id: this device is new here, say where it is to scan")
    })?;
    let hash = token_hash(pairing_token);
    let asked = app.store.pairing_request(hash).await?.ok_or_else(unknown)?;
    let now = app.clock.now();
    let record = PairingTokenRecord {
        token_hash: hash,
        event_id: event_id.clone(),
        gate_id: gate_id.clone(),
        device_id: Some(asked.device_id.clone()),
        uses: 1,
        used_by: Vec::new(),
        // Whoever approves in the last second leaves the device its five minutes to fetch the key.
        expires_at: now.plus_ms(PAIRING_TOKEN_MS),
        created_at: now,
        claim_hash: Some(asked.claim_hash),
    };
    let by = caller.clone();
    let scope = Scope::event(&caller.organization_id, &event_id);
    let wrote = write(&*app.store, scope, move |tx| approve(tx, &by, &record)).await;
    // 2. Of two organisations the first one has it.
    wrote.map_err(|error| match error {
        Error::Conflict { code: "token_exists", .. } => unknown(),
        other => other,
    })?;
    app.hints.hint(Hint {
        organization_id: caller.organization_id.clone(),
        event_id: event_id.clone(),
        serial: None,
        topic: Topic::Devices,
    });
    Ok(Approved { request: PairingRequest { approved: true, ..request }, event_id, gate_id })
}

fn approve(tx: &mut dyn Tx, by: &UserCaller, record: &PairingTokenRecord) -> Result<()> {
    if let Some(held) = tx.pairing_token(&record.token_hash)? {
        let same = (&held.event_id, &held.gate_id) == (&record.event_id, &record.gate_id);
        let message = "this device was approved for another gate already: let it show a new code";
        return if same { Ok(()) } else { Err(Error::conflict("already_approved", message)) };
    }
    events::require(tx, &record.event_id).map_err(|_| Error::invalid("event_id", "is not an event of yours"))?;
    gates::require(tx, &record.event_id, &record.gate_id)
        .map_err(|_| Error::invalid("gate_id", "is not a gate of this event"))?;
    let device_id = record.device_id.as_ref().ok_or_else(|| Error::Bug("an approval without a device".into()))?;
    let known = tx.device(device_id)?;
    if let Some(since) = known.as_ref().and_then(|device| device.lost_since) {
        let message = format!(
            "this device is marked lost since {since}, and what it scans from then on waits for review: save its log \
             as a file, clear its data and pair it as a new device"
        );
        return Err(Error::conflict("device_lost", message));
    }
    tx.stamp(&record.event_id)?;
    tx.insert_pairing_token(record)?;
    let said = json!({ "gate_id": record.gate_id.as_str(), "known": known.is_some() });
    let entity = ("Device", device_id.as_str());
    tx.append_audit(line::of(by, Some(&record.event_id), "pairing_approved", entity, said))
}
