//! Pairing, way (a) of D11: the organiser's screen shows a token, the device brings it (S1 §8.1).

use admit_core::ids::{DeviceId, EventId, GateId, KeyId, OrganizationId};
use admit_core::limits::PAIRING_TOKEN_MS;
use admit_core::rule::{Change, DeviceChange, Effective, Epoch, Rule};
use admit_core::sign::{ApiKey, token_hash};
use admit_core::time::Timestamp;

use crate::draw::Draw;
use crate::error::{Error, Result};
use crate::ports::{App, Hint, Scope, Topic, Tx, read, write};
use crate::records::*;
use crate::secret::Secret;

/// What a device brings.
#[derive(Debug, Clone)]
pub struct PairCommand {
    /// The token as shown.
    pub pairing_token: String,
    /// The id the device chose for itself.
    pub device_id: DeviceId,
    /// How staff call it.
    pub name: Option<String>,
    /// `ipad | phone | desktop | terminal`.
    pub device_type: Option<String>,
    /// The key it already holds, if it was paired before.
    pub api_key: Option<String>,
}

/// What a paired device gets; the key is shown this once.
#[derive(Debug, Clone)]
pub struct PairedDevice {
    /// Device.
    pub device_id: DeviceId,
    /// The key's text.
    pub api_key: String,
    /// Its name.
    pub key_id: KeyId,
    /// Organisation.
    pub organization_id: OrganizationId,
    /// Event it scans for.
    pub event_id: EventId,
    /// Gate it scans at.
    pub gate_id: GateId,
    /// The server's epoch.
    pub epoch: Epoch,
}

/// What the transaction decided; a refusal is data so that its audit line commits with it.
enum Decided {
    Paired { key_id: KeyId, gate_id: GateId },
    Expired,
    UsedUp,
    Taken,
}

/// Pairs a device. 404 for an unknown token, 410 for a used or expired one (the second user is put on record), 409
/// `device_id_taken` for a known active device that does not prove itself with its own key.
pub async fn pair(app: &App, command: PairCommand) -> Result<PairedDevice> {
    let hash = token_hash(&command.pairing_token);
    let credential = app.store.credential(hash).await?;
    let credential = credential.filter(|one| one.kind == CredentialKind::PairingToken);
    let credential = credential.ok_or_else(|| Error::not_found("pairing_token"))?;
    let organization_id = credential.organization_id.clone();
    // The event stands in the token's row: its head must be known before the write begins.
    let token = read(&*app.store, &organization_id, move |tx| tx.pairing_token(&hash)).await?;
    let event_id = token.ok_or_else(|| Error::not_found("pairing_token"))?.event_id;
    let draw = app.draw();
    let api_key = ApiKey::from_random(draw.clone().bytes());
    let now = app.clock.now();
    let decided = {
        let (secret, command, event_id, api_key) =
            (app.secret.clone(), command.clone(), event_id.clone(), api_key.clone());
        write(&*app.store, Scope::event(&organization_id, &event_id), move |tx| {
            let mut draw = draw.clone();
            let _ = draw.bytes(); // The key's own.
            decide(tx, &secret, &command, hash, &api_key, now, &mut draw)
        })
        .await?
    };
    app.hints.hint(Hint {
        organization_id: organization_id.clone(),
        event_id: event_id.clone(),
        serial: None,
        topic: Topic::Devices,
    });
    let gone = |code, message: &str| Err(Error::Gone { code, message: message.into() });
    match decided {
        Decided::Expired => gone("pairing_token_expired", "this pairing code is over: ask for a new one"),
        Decided::UsedUp => gone("pairing_token_used", "this pairing code was used already: ask for a new one"),
        Decided::Taken => Err(Error::conflict(
            "device_id_taken",
            "a device of this id is paired already: bring its key, or choose another id",
        )),
        Decided::Paired { key_id, gate_id } => {
            let epoch = app.store.epoch().await?;
            let api_key = api_key.as_str().to_owned();
            Ok(PairedDevice {
                device_id: command.device_id,
                api_key,
                key_id,
                organization_id,
                event_id,
                gate_id,
                epoch,
            })
        }
    }
}

fn decide(
    tx: &mut dyn Tx,
    secret: &Secret,
    command: &PairCommand,
    hash: [u8; 32],
    api_key: &ApiKey,
    now: Timestamp,
    draw: &mut Draw,
) -> Result<Decided> {
    let mut token = tx.pairing_token(&hash)?.ok_or_else(|| Error::not_found("pairing_token"))?;
    let device = tx.device(&command.device_id)?;
    let keys = tx.device_keys(&command.device_id)?;
    // 1. Is the token good? Another device, or the same one later, finds it used.
    let first = token.used_by.iter().find(|(device_id, _)| *device_id == command.device_id).map(|(_, at)| *at);
    let bound_elsewhere = token.device_id.as_ref().is_some_and(|bound| *bound != command.device_id);
    let unused_key = keys.last().is_none_or(|key| key.first_used_at.is_none());
    let repeat = first.is_some_and(|at| now.since(at) <= PAIRING_TOKEN_MS && unused_key);
    if !repeat {
        if first.is_some() || bound_elsewhere || token.used_by.len() >= token.uses as usize {
            audit(tx, &token.event_id, &command.device_id, "pairing_refused", r#"{"reason":"pairing_token_used"}"#)?;
            return Ok(Decided::UsedUp);
        }
        if now >= token.expires_at {
            return Ok(Decided::Expired);
        }
    }
    // 2. Is the id free, or the device's own?
    let own = command.api_key.as_deref().map(token_hash);
    let proven = keys.iter().any(|key| Some(key.token_hash) == own && key.revoked_at.is_none());
    let bound = token.device_id.as_ref() == Some(&command.device_id);
    let revoked = device.as_ref().is_some_and(|device| device.state == DeviceState::Revoked);
    if device.is_some() && !repeat && !proven && !bound || revoked {
        audit(tx, &token.event_id, &command.device_id, "pairing_refused", r#"{"reason":"device_id_taken"}"#)?;
        return Ok(Decided::Taken);
    }
    // 3. A key, the device, where it scans.
    for key in keys.iter().filter(|key| key.revoked_at.is_none()) {
        tx.update_device_key(&DeviceKeyRecord { revoked_at: Some(now), ..key.clone() })?;
        if repeat {
            tx.delete_credential(&key.token_hash)?;
        }
    }
    let key_id = KeyId::new(draw.row_id(now)).map_err(|error| Error::Bug(error.to_string()))?;
    put_device(tx, command, &token, device, now)?;
    assign(tx, &command.device_id, &token)?;
    let sealed_scan_key = secret.seal(draw.bytes(), key_id.as_str(), &api_key.scan_key())?;
    tx.insert_device_key(&DeviceKeyRecord {
        key_id: key_id.clone(),
        device_id: command.device_id.clone(),
        token_hash: api_key.sha256(),
        sealed_scan_key,
        created_at: now,
        first_used_at: None,
        revoked_at: None,
    })?;
    // 4. The token remembers its user.
    if !repeat {
        token.used_by.push((command.device_id.clone(), now));
        tx.update_pairing_token(&token)?;
    }
    let gate = serde_json::json!({ "gate_id": token.gate_id.as_str(), "key_id": key_id.as_str() });
    audit(tx, &token.event_id, &command.device_id, "device_paired", &gate.to_string())?;
    Ok(Decided::Paired { key_id, gate_id: token.gate_id })
}

fn put_device(
    tx: &mut dyn Tx,
    command: &PairCommand,
    token: &PairingTokenRecord,
    known: Option<DeviceRecord>,
    now: Timestamp,
) -> Result<()> {
    let short: String = command.device_id.as_str().chars().take(8).collect();
    let name = command.name.clone().filter(|name| !name.trim().is_empty());
    match known {
        Some(device) => tx.update_device(&DeviceRecord {
            name: name.unwrap_or(device.name.clone()),
            device_type: command.device_type.clone().unwrap_or(device.device_type.clone()),
            event_id: token.event_id.clone(),
            gate_id: token.gate_id.clone(),
            ..device
        }),
        None => tx.insert_device(&DeviceRecord {
            device_id: command.device_id.clone(),
            name: name.unwrap_or_else(|| format!("Scanner {short}")),
            device_type: command.device_type.clone().unwrap_or_else(|| "phone".into()),
            event_id: token.event_id.clone(),
            gate_id: token.gate_id.clone(),
            state: DeviceState::Active,
            revoked_at: None,
            lost_since: None,
            created_at: now,
            health: DeviceHealth::default(),
        }),
    }
}

/// Where a device scans is a rule: S1's scans name no event (spec §3 "Rules are facts too").
fn assign(tx: &mut dyn Tx, device_id: &DeviceId, token: &PairingTokenRecord) -> Result<()> {
    let stamp = tx.stamp(&token.event_id)?;
    let known = tx.load_rules(&token.event_id, &[])?;
    let first = known.book.device(device_id).is_none_or(|book| book.assignment.newest().is_none());
    let assignment = DeviceChange::Assignment { event_id: token.event_id.clone(), gate_id: token.gate_id.clone() };
    let rule = Rule {
        serial: stamp.serial,
        ordinal: 0,
        effective_at: if first { Effective::Start } else { Effective::At(stamp.effective_at) },
        change: Change::Device(device_id.clone(), assignment),
    };
    tx.insert_rules(&token.event_id, &[rule])
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
