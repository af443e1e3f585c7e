//! Pairs a device (S1 §8.1, spec D11): the device brings a token and gets its key. The token is from the organiser's
//! screen (a), from the device's own approved request (b), or from a rotation.

use std::collections::BTreeSet;

use admit_core::ids::{DeviceId, EventId, GateId, KeyId, OrganizationId};
use admit_core::limits::PAIRING_TOKEN_MS;
use admit_core::rule::Epoch;
use admit_core::sign::{ApiKey, token_hash};
use admit_core::time::Timestamp;

use super::assign::assign;
use super::authenticate::opens;
use super::failed_sync;
use crate::error::{Error, Result};
use crate::gates;
use crate::pairing_tokens::create::{expired, used};
use crate::pairing_tokens::{made_here, next_name};
use crate::ports::{App, Hint, Scope, Topic, Tx, read, write};
use crate::records::{
    CredentialKind, DeviceHealth, DeviceKeyRecord, DeviceRecord, DeviceState, NewAudit, PairingTokenRecord,
};
use crate::scans::office::must_not_be;
use crate::secret::Secret;
use crate::seeded_ids::SeededIds;

/// The request of a device that pairs.
#[derive(Debug, Clone)]
pub struct PairCommand {
    /// The token's text.
    pub pairing_token: String,
    /// The id that the device chose for itself.
    pub device_id: DeviceId,
    /// The name that staff give to the device. Absent if they gave none.
    pub name: Option<String>,
    /// One of `ipad`, `phone`, `desktop` and `terminal`. Absent if the device does not say it.
    pub device_type: Option<String>,
    /// The key that the device has from an earlier pairing. Absent if it has none.
    pub api_key: Option<String>,
}

/// The answer to a paired device. Its key is shown only this once.
#[derive(Debug, Clone)]
pub struct PairedDevice {
    /// The device's id.
    pub device_id: DeviceId,
    /// The device's name: the one asked for, or the gate's name with the next free number, if another device took that
    /// name first.
    pub name: String,
    /// The key's text.
    pub api_key: String,
    /// The key's id.
    pub key_id: KeyId,
    /// The organisation that the device now belongs to.
    pub organization_id: OrganizationId,
    /// The event to which the device is assigned.
    pub event_id: EventId,
    /// The gate to which the device is assigned.
    pub gate_id: GateId,
    /// The server's epoch.
    pub epoch: Epoch,
}

/// The state of a device's own request (way (b)).
#[derive(Debug, Clone)]
pub enum Claimed {
    /// Nobody has approved the request yet. The device asks again.
    Waiting {
        /// When the request expires.
        expires_at: Timestamp,
    },
    /// The request was approved. Holds the key.
    Paired(PairedDevice),
}

/// The decision of the transaction. A refusal is a value and no error, so that the transaction commits the ledger's
/// line about it.
enum Decided {
    Paired { key_id: KeyId, gate_id: GateId, name: String },
    Unclaimed,
    Expired,
    UsedUp,
    Taken,
    Revoked,
}

/// A device that tries to pair with a token.
struct Attempt<'a> {
    command: &'a PairCommand,
    token_hash: [u8; 32],
    claim_hash: Option<[u8; 32]>,
    api_key: &'a ApiKey,
    /// The events with an incident about the device's suspension. Empty unless the device is revoked now, since only
    /// then does the pairing clear these incidents.
    told: &'a BTreeSet<EventId>,
    now: Timestamp,
}

/// The organisation of a pairing: that of its token, otherwise that of the key that the device brings. `None` if
/// neither is known.
pub async fn organization_of(app: &App, command: &PairCommand) -> Result<Option<OrganizationId>> {
    let texts = [Some(command.pairing_token.as_str()), command.api_key.as_deref()];
    for text in texts.into_iter().flatten() {
        if let Some(credential) = app.store.credential(token_hash(text)).await?
            && matches!(credential.kind, CredentialKind::PairingToken | CredentialKind::DeviceKey)
        {
            return Ok(Some(credential.organization_id));
        }
    }
    Ok(None)
}

/// Pairs a device. Fails with 404 for an unknown token, and with 410 for a used or expired one. A second device that
/// presents a used token causes a ledger line. Fails with 409 `device_id_taken` for a known active device that does not
/// prove itself with its own key.
pub async fn pair(app: &App, command: PairCommand) -> Result<PairedDevice> {
    settle(app, command, None).await
}

/// Pairs a device that asked by itself, once an organiser has approved it. Without the claim secret the token counts as
/// unknown (404). So a person who photographs the QR code cannot pair with it.
pub async fn claim(app: &App, command: PairCommand, claim_secret: &str) -> Result<Claimed> {
    let hash = token_hash(&command.pairing_token);
    let claim_hash = token_hash(claim_secret);
    let mut command = command;
    if let Some(asked) = app.store.pairing_request(hash).await? {
        let approved = app.store.credential(hash).await?.is_some();
        let foreign = asked.claim_hash == claim_hash && asked.device_id == command.device_id;
        if !approved && !foreign {
            return Err(Error::not_found("pairing_token"));
        }
        if !approved && app.clock.now() >= asked.expires_at {
            return Err(expired());
        }
        if !approved {
            return Ok(Claimed::Waiting { expires_at: asked.expires_at });
        }
        command.name = command.name.or(Some(asked.name));
        command.device_type = command.device_type.or(Some(asked.device_type));
    }
    settle(app, command, Some(claim_hash)).await.map(Claimed::Paired)
}

async fn settle(app: &App, command: PairCommand, claim_hash: Option<[u8; 32]>) -> Result<PairedDevice> {
    must_not_be(&command.device_id)?;
    let hash = token_hash(&command.pairing_token);
    let credential = app.store.credential(hash).await?;
    let credential = credential.filter(|one| one.kind == CredentialKind::PairingToken);
    let credential = credential.ok_or_else(|| Error::not_found("pairing_token"))?;
    let organization_id = credential.organization_id.clone();
    // The token's row names the event, whose head must be known before the write begins. The same holds for events in
    // which an incident says that the device is suspended. An approval that brings a revoked device back clears that
    // incident.
    let id = command.device_id.clone();
    let (token, told) = read(&*app.store, &organization_id, move |tx| {
        let is_revoked = tx.device(&id)?.is_some_and(|device| device.state == DeviceState::Revoked);
        let told = if is_revoked { failed_sync::alerted(tx, &id)? } else { BTreeSet::new() };
        Ok((tx.pairing_token(&hash)?, told))
    })
    .await?;
    let event_id = token.ok_or_else(|| Error::not_found("pairing_token"))?.event_id;
    let mut events = told.clone();
    events.insert(event_id.clone());
    let seeded = app.seeded_ids();
    let api_key = ApiKey::from_random(seeded.clone().bytes());
    let now = app.clock.now();
    let decided = {
        let (secret, command, api_key, told) = (app.secret.clone(), command.clone(), api_key.clone(), told.clone());
        let scope = Scope { events: events.into_iter().collect(), ..Scope::organization(&organization_id) };
        write(&*app.store, scope, move |tx| {
            let mut seeded = seeded.clone();
            let _ = seeded.bytes(); // Skips the bytes of which the key was made.
            let command = &command;
            let attempt = Attempt { command, token_hash: hash, claim_hash, api_key: &api_key, told: &told, now };
            decide(tx, &secret, &attempt, &mut seeded)
        })
        .await?
    };
    app.hints.hint(Hint {
        organization_id: organization_id.clone(),
        event_id: event_id.clone(),
        serial: None,
        topic: Topic::Devices,
    });
    if matches!(decided, Decided::Paired { .. }) {
        for event_id in told {
            let organization_id = organization_id.clone();
            app.hints.hint(Hint { organization_id, event_id, serial: None, topic: Topic::Incidents });
        }
    }
    match decided {
        Decided::Unclaimed => Err(Error::not_found("pairing_token")),
        Decided::Expired => Err(expired()),
        Decided::UsedUp => Err(used()),
        Decided::Taken => Err(Error::conflict(
            "device_id_taken",
            "a device of this id is paired already: bring its key, or let an organiser approve the code it shows",
        )),
        Decided::Revoked => Err(Error::conflict(
            "device_id_taken",
            "the device of this id was revoked: an organiser may approve the code it shows, or choose another id",
        )),
        Decided::Paired { key_id, gate_id, name } => {
            let epoch = app.store.epoch().await?;
            let (device_id, api_key) = (command.device_id, api_key.as_str().to_owned());
            Ok(PairedDevice { device_id, name, api_key, key_id, organization_id, event_id, gate_id, epoch })
        }
    }
}

fn decide(tx: &mut dyn Tx, secret: &Secret, attempt: &Attempt<'_>, seeded: &mut SeededIds) -> Result<Decided> {
    let Attempt { command, now, .. } = *attempt;
    let mut token = tx.pairing_token(&attempt.token_hash)?.ok_or_else(|| Error::not_found("pairing_token"))?;
    let device = tx.device(&command.device_id)?;
    let keys = tx.device_keys(&command.device_id)?;
    // 1. Is the token good? A token that was used is refused. Only the device that used it may repeat its request, for
    //    five minutes and until it uses its key. The refusal of an expired token adds no ledger line, since otherwise
    //    anybody who once saw the code could fill the ledger.
    let over = now >= token.expires_at;
    if token.claim_hash.is_some() && token.claim_hash != attempt.claim_hash {
        return if over {
            Ok(Decided::Unclaimed)
        } else {
            refuse(tx, attempt, &token, "claim_secret", Decided::Unclaimed)
        };
    }
    let first = token.used_by.iter().find(|(device_id, _)| *device_id == command.device_id).map(|(_, at)| *at);
    let bound = token.device_id.as_ref() == Some(&command.device_id);
    let unused = keys
        .iter()
        .any(|key| key.paired_by == Some(token.token_hash) && key.first_used_at.is_none() && key.replaced_at.is_none());
    let own = command.api_key.as_deref().map(token_hash);
    let proven = keys.iter().any(|key| Some(key.token_hash) == own && opens(key, now));
    let repeat = unused && first.is_some_and(|at| now.since(at) <= PAIRING_TOKEN_MS);
    if !repeat {
        let bound_elsewhere = token.device_id.is_some() && !bound;
        // The device that used the code, and proves it, is no second user, so there is no alarm. Its id alone proves
        // nothing.
        if first.is_some() && proven {
            return Ok(Decided::UsedUp);
        }
        if first.is_some() || bound_elsewhere || token.used_by.len() >= token.uses as usize {
            return refuse(tx, attempt, &token, "pairing_token_used", Decided::UsedUp);
        }
        if over {
            return Ok(Decided::Expired);
        }
    }
    // 2. Is the id free, or the device's own? Only an organiser's approval brings a revoked device back.
    if let Some(device) = device.as_ref().filter(|device| device.state == DeviceState::Revoked) {
        let later = device.revoked_at.is_none_or(|at| token.created_at >= at);
        if !(bound && token.claim_hash.is_some() && later && device.lost_since.is_none()) {
            return refuse(tx, attempt, &token, "device_revoked", Decided::Revoked);
        }
    }
    if device.is_some() && !repeat && !proven && !bound {
        return refuse(tx, attempt, &token, "device_id_taken", Decided::Taken);
    }
    // 3. Store the key, the device and its assignment. A key in use stays until the new one is used: if this answer is
    //    lost, the device still has access. A key that was never used ends now.
    for key in keys.iter().filter(|key| key.first_used_at.is_none() && key.replaced_at.is_none()) {
        tx.update_device_key(&DeviceKeyRecord { replaced_at: Some(now), ..key.clone() })?;
        tx.delete_credential(&key.token_hash)?;
    }
    if let Some(device) = device.as_ref().filter(|device| device.state == DeviceState::Revoked) {
        begin_anew(tx, attempt, &token, device, seeded)?;
    }
    let name = put_device(tx, command, &token, device, now)?;
    assign(tx, &command.device_id, &token.event_id, &token.gate_id)?;
    let key_id = put_key(tx, secret, attempt, seeded)?;
    // 4. Note in the token which device used it.
    if !repeat {
        token.used_by.push((command.device_id.clone(), now));
        tx.update_pairing_token(&token)?;
    }
    let gate = serde_json::json!({ "gate_id": token.gate_id.as_str(), "key_id": key_id.as_str() });
    audit(tx, &token.event_id, &command.device_id, "device_paired", &gate.to_string())?;
    Ok(Decided::Paired { key_id, gate_id: token.gate_id, name })
}

/// The shortest time between two ledger lines about a refused code, in milliseconds.
const ALARM_EVERY_MS: i64 = 60_000;

/// Adds a ledger line about a refused pairing. If another device was paired by the code before, the server marks that
/// other device's record. The other device then shows an alarm to its staff. If it was marked a moment ago, nothing is
/// written.
fn refuse(
    tx: &mut dyn Tx,
    attempt: &Attempt<'_>,
    token: &PairingTokenRecord,
    reason: &'static str,
    decided: Decided,
) -> Result<Decided> {
    let owner = token.used_by.last().map(|(device_id, _)| device_id).or(token.device_id.as_ref());
    let owner = match owner {
        Some(owner) if matches!(decided, Decided::UsedUp | Decided::Unclaimed) => tx.device(owner)?,
        _ => None,
    };
    let raised = owner.as_ref().and_then(|device| device.code_reused_at);
    if raised.is_some_and(|at| attempt.now.since(at) < ALARM_EVERY_MS) {
        return Ok(decided);
    }
    let changes = serde_json::json!({ "reason": reason }).to_string();
    audit(tx, &token.event_id, &attempt.command.device_id, "pairing_refused", &changes)?;
    if let Some(device) = owner {
        tx.update_device(&DeviceRecord { code_reused_at: Some(attempt.now), ..device })?;
    }
    Ok(decided)
}

fn put_key(tx: &mut dyn Tx, secret: &Secret, attempt: &Attempt<'_>, seeded: &mut SeededIds) -> Result<KeyId> {
    let key_id = KeyId::new(seeded.row_id(attempt.now)).map_err(|error| Error::Bug(error.to_string()))?;
    let sealed_scan_key = secret.seal(seeded.bytes(), key_id.as_str(), &attempt.api_key.scan_key())?;
    tx.insert_device_key(&DeviceKeyRecord {
        key_id: key_id.clone(),
        device_id: attempt.command.device_id.clone(),
        token_hash: attempt.api_key.sha256(),
        sealed_scan_key,
        created_at: attempt.now,
        first_used_at: None,
        revoked_at: None,
        replaced_at: None,
        paired_by: Some(attempt.token_hash),
    })?;
    Ok(key_id)
}

fn put_device(
    tx: &mut dyn Tx,
    command: &PairCommand,
    token: &PairingTokenRecord,
    known: Option<DeviceRecord>,
    now: Timestamp,
) -> Result<String> {
    let short: String = command.device_id.as_str().chars().take(8).collect();
    let asked = command.name.clone().filter(|name| !name.trim().is_empty());
    let asked = asked.map(|name| one_of_its_own(tx, command, token, name)).transpose()?;
    let name = match (asked, &known) {
        (Some(name), _) => name,
        (None, Some(device)) => device.name.clone(),
        (None, None) => format!("Scanner {short}"),
    };
    match known {
        Some(device) => tx.update_device(&DeviceRecord {
            name: name.clone(),
            device_type: command.device_type.clone().unwrap_or(device.device_type.clone()),
            event_id: token.event_id.clone(),
            gate_id: token.gate_id.clone(),
            // A revoked device comes here only by an organiser's approval. A suspended device stays suspended.
            state: if device.state == DeviceState::Revoked { DeviceState::Active } else { device.state },
            revoked_at: None,
            code_reused_at: None,
            rung_at: None,
            ..device
        })?,
        None => tx.insert_device(&DeviceRecord {
            device_id: command.device_id.clone(),
            name: name.clone(),
            device_type: command.device_type.clone().unwrap_or_else(|| "phone".into()),
            event_id: token.event_id.clone(),
            gate_id: token.gate_id.clone(),
            state: DeviceState::Active,
            revoked_at: None,
            lost_since: None,
            created_at: now,
            code_reused_at: None,
            rung_at: None,
            health: DeviceHealth::default(),
        })?,
    }
    Ok(name)
}

/// Gives the device a name of its own. Phones that read the pairing code of one printed sheet at the same moment are
/// offered the same name. If the server made the name and another device has it, this device gets the next free number.
/// A name that staff typed is kept.
fn one_of_its_own(tx: &mut dyn Tx, command: &PairCommand, token: &PairingTokenRecord, name: String) -> Result<String> {
    let gates = gates::all(tx, &token.event_id)?;
    let gate = gates.into_iter().find(|gate| gate.gate_id == token.gate_id).map(|gate| gate.rules.name);
    let Some(gate) = gate.filter(|gate| made_here(gate, &name)) else { return Ok(name) };
    let devices = tx.devices(&token.event_id)?;
    let others = devices
        .iter()
        .filter(|device| device.device_id != command.device_id && device.state != DeviceState::Revoked)
        .map(|device| device.name.as_str());
    let others: Vec<&str> = others.collect();
    Ok(if others.contains(&name.as_str()) { next_name(&gate, others) } else { name })
}

/// Resets a revoked device that comes back. It is no longer suspended, and its earlier failures in a row don't count.
fn begin_anew(
    tx: &mut dyn Tx,
    attempt: &Attempt<'_>,
    token: &PairingTokenRecord,
    device: &DeviceRecord,
    seeded: &mut SeededIds,
) -> Result<()> {
    let device_id = &device.device_id;
    tx.put_health(device_id, &DeviceHealth { failed_syncs: 0, ..device.health.clone() })?;
    for event_id in attempt.told {
        failed_sync::settle(tx, event_id, device_id, false, attempt.now, seeded)?;
        // In the event where the device will scan, the ledger line about its pairing says so already.
        if *event_id != token.event_id {
            let to = serde_json::json!({ "event_id": token.event_id.as_str(), "gate_id": token.gate_id.as_str() });
            audit(tx, event_id, device_id, "device_returned", &to.to_string())?;
        }
    }
    Ok(())
}

fn audit(tx: &mut dyn Tx, event_id: &EventId, device_id: &DeviceId, action: &'static str, changes: &str) -> Result<()> {
    tx.stamp(event_id)?;
    tx.append_audit(NewAudit {
        event_id: Some(event_id.clone()),
        user_id: None,
        device_id: Some(device_id.clone()),
        action,
        entity_type: "Device",
        entity_id: device_id.as_str().to_owned(),
        changes: changes.to_owned(),
        metadata: "{}".to_owned(),
    })
}
