//! Lets an organiser approve a device that asked by itself to be paired (spec D11 way (b)).
//!
//! In this way a device also comes back that lost its key, was revoked, or was lost and found again. Its log stays the
//! same and continues.

use std::collections::BTreeSet;

use admit_core::access::Action;
use admit_core::ids::{DeviceId, EventId, GateId};
use admit_core::limits::PAIRING_TOKEN_MS;
use admit_core::sign::token_hash;
use admit_core::time::Timestamp;
use serde_json::json;

use super::revoke::{events_of, find_again};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::gates;
use crate::ports::{App, Hint, Pace, Scope, Topic, Tx, read, write};
use crate::records::{DeviceRecord, PairingRequestRecord, PairingTokenRecord};
use crate::rules::{Brought, announce};
use crate::seeded_ids::SeededIds;

/// A device that asks to be paired, as the organiser sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingRequest {
    /// The device.
    pub device_id: DeviceId,
    /// The name that the device gives itself. It may be empty.
    pub name: String,
    /// One of `ipad`, `phone`, `desktop` and `terminal`.
    pub device_type: String,
    /// When the request expires.
    pub expires_at: Timestamp,
    /// The device of the organisation that has the requesting device's id already. Absent if there is none.
    pub known: Option<DeviceRecord>,
    /// Whether somebody of this organisation has approved the request.
    pub approved: bool,
}

/// An approved request, with the place at which the device scans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approved {
    /// The request that was approved.
    pub request: PairingRequest,
    /// The event to which the device is assigned.
    pub event_id: EventId,
    /// The gate to which the device is assigned.
    pub gate_id: GateId,
}

fn unknown() -> Error {
    Error::not_found("pairing_request")
}

/// The pairing request of a token that a device shows, so that the organiser can look at it before approving. Fails
/// with 404 for an unknown token and for one that another organisation approved, and with 410 for an expired one.
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

/// Approves a pairing request for an event and a gate. If `place` is absent, a device that the organisation knows
/// returns to its last event and gate. Approving the same request again changes nothing. Approving it again for another
/// event or gate fails with `already_approved`.
///
/// A device that is marked lost is approved only if the caller says that it is `found`; otherwise the call fails with
/// `device_lost`. Its scans count from now on. The scans that it made while it was lost stay in quarantine (spec D10).
pub async fn approve_pairing(
    app: &App,
    caller: &UserCaller,
    pairing_token: &str,
    place: Option<(EventId, GateId)>,
    found: bool,
) -> Result<Approved> {
    // 1. Read the request, and find the place at which the device will scan.
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
        // Even after an approval in the last second, the device has five minutes to fetch its key.
        expires_at: now.plus_ms(PAIRING_TOKEN_MS),
        created_at: now,
        claim_hash: Some(asked.claim_hash),
    };
    // A device that was lost and found touches every event for which it ever scanned.
    let lost = request.known.as_ref().filter(|device| found && device.lost_since.is_some());
    let mut events = BTreeSet::from([event_id.clone()]);
    if let Some(id) = lost.map(|device| device.device_id.clone()) {
        events.extend(read(&*app.store, &caller.organization_id, move |tx| events_of(tx, &id)).await?.1);
    }
    let (by, seeded) = (caller.clone(), app.seeded_ids());
    let events: Vec<EventId> = events.into_iter().collect();
    let scope = Scope { events: events.clone(), pace: Pace::Usual, ..Scope::organization(&caller.organization_id) };
    let wrote = write(&*app.store, scope, move |tx| {
        if !approve(tx, &by, &record, found)? {
            return Ok(Vec::new());
        }
        take_back(tx, &by, &record, &events, now, &mut seeded.clone())
    })
    .await;
    // 2. If two organisations approve the request, the first one gets the device.
    let brought = wrote.map_err(|error| match error {
        Error::Conflict { code: "token_exists", .. } => unknown(),
        other => other,
    })?;
    for (event_id, brought) in &brought {
        announce(app, &caller.organization_id, event_id, brought);
    }
    app.hints.hint(Hint {
        organization_id: caller.organization_id.clone(),
        event_id: event_id.clone(),
        serial: None,
        topic: Topic::Devices,
    });
    Ok(Approved { request: PairingRequest { approved: true, ..request }, event_id, gate_id })
}

/// Stores the approval. Returns whether the device was marked lost and is marked found now.
fn approve(tx: &mut dyn Tx, by: &UserCaller, record: &PairingTokenRecord, found: bool) -> Result<bool> {
    if let Some(held) = tx.pairing_token(&record.token_hash)? {
        let same = (&held.event_id, &held.gate_id) == (&record.event_id, &record.gate_id);
        let message = "this device was approved for another gate already: let it show a new code";
        return if same { Ok(false) } else { Err(Error::conflict("already_approved", message)) };
    }
    events::require(tx, &record.event_id).map_err(|_| Error::invalid("event_id", "is not an event of yours"))?;
    gates::require(tx, &record.event_id, &record.gate_id)
        .map_err(|_| Error::invalid("gate_id", "is not a gate of this event"))?;
    let device_id = record.device_id.as_ref().ok_or_else(|| Error::Bug("an approval without a device".into()))?;
    let known = tx.device(device_id)?;
    let lost_since = known.as_ref().and_then(|device| device.lost_since);
    if let Some(since) = lost_since
        && !found
    {
        let message = format!(
            "this device is marked lost since {since}: approve it with found set to true if it is in your hands again; \
             what it scanned meanwhile goes on waiting for review"
        );
        return Err(Error::conflict("device_lost", message));
    }
    tx.stamp(&record.event_id)?;
    tx.insert_pairing_token(record)?;
    let mut said = json!({ "gate_id": record.gate_id.as_str(), "known": known.is_some() });
    if let Some(since) = lost_since {
        said["found_lost_since"] = json!(since.to_string());
    }
    let entity = ("Device", device_id.as_str());
    tx.append_audit(line::of(by, Some(&record.event_id), "pairing_approved", entity, said))?;
    Ok(lost_since.is_some())
}

/// Marks a lost device as found, in every event for which it scanned, and adds a line to the ledger of each. The device
/// stays revoked until it fetches its key.
fn take_back(
    tx: &mut dyn Tx,
    by: &UserCaller,
    record: &PairingTokenRecord,
    events: &[EventId],
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Vec<(EventId, Brought)>> {
    let device_id = record.device_id.as_ref().ok_or_else(|| Error::Bug("an approval without a device".into()))?;
    let device = tx.device(device_id)?.ok_or_else(|| Error::not_found("device"))?;
    let said = json!({ "lost_since": device.lost_since.map(|since| since.to_string()) });
    tx.update_device(&DeviceRecord { lost_since: None, ..device })?;
    let mut brought = Vec::new();
    for event_id in events {
        brought.push((event_id.clone(), find_again(tx, event_id, device_id, now, seeded)?));
        // In the event where the device will scan, the ledger line about the approval says so already.
        if *event_id != record.event_id {
            let entity = ("Device", device_id.as_str());
            tx.append_audit(line::of(by, Some(event_id), "device_found", entity, said.clone()))?;
        }
    }
    Ok(brought)
}
