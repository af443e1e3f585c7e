//! A device's right to upload: how it gets its key, changes it, loses it and gets it back (spec D10, D11, D19, §3
//! "Log", §5 `rotate-key`; S1 §8).

mod pairing;
mod approval;
mod rotation;
mod revocation;
mod files;
mod suspension;
mod strangers;
mod logs;

use admit_app::caller::DeviceCaller;
use admit_app::devices::{self, Claimed, PairCommand, PairedDevice, PairingTicket, RequestPairing};
use admit_app::error::Error;
use admit_app::pairing_tokens;
use admit_app::ports::read;
use admit_app::records::{DeviceKeyRecord, DeviceRecord};
use admit_core::ids::{DeviceId, KeyId};
use admit_core::scan::Scan;
use admit_core::sign::{ApiKey, sign_v2, token_hash};
use admit_core::time::Timestamp;
use admit_core::wire::scanning::ScanV2;
use serde_json::Value;

use crate::scanning::{lacking, scan_of, send, signed};
use crate::world::*;

pub const MINUTE: i64 = 60_000;

pub fn id(name: &str) -> DeviceId {
    DeviceId::new(name).unwrap()
}

pub fn token(world: &World, uses: Option<u32>) -> String {
    let made = pairing_tokens::create(&world.app, &world.owner, world.event.clone(), gate("main"), uses);
    now(made).unwrap().pairing_token
}

pub fn command(token: &str, device: &str, api_key: Option<&str>) -> PairCommand {
    PairCommand {
        pairing_token: token.into(),
        device_id: id(device),
        name: None,
        device_type: None,
        api_key: api_key.map(str::to_owned),
    }
}

pub fn pair(world: &World, token: &str, device: &str, api_key: Option<&str>) -> Result<PairedDevice, Error> {
    now(devices::pair(&world.app, command(token, device, api_key)))
}

/// The device asks to be paired.
pub fn ask(world: &World, device: &str) -> PairingTicket {
    let wish = RequestPairing { device_id: id(device), name: Some("Side door".into()), device_type: None };
    now(devices::request_pairing(&world.app, wish)).unwrap()
}

pub fn claim(world: &World, ticket: &PairingTicket, device: &str) -> Result<Claimed, Error> {
    now(devices::claim(&world.app, command(&ticket.pairing_token, device, None), &ticket.claim_secret))
}

pub fn claimed(world: &World, ticket: &PairingTicket, device: &str) -> PairedDevice {
    match claim(world, ticket, device).unwrap() {
        Claimed::Paired(paired) => paired,
        Claimed::Waiting { .. } => panic!("nobody approved it"),
    }
}

/// An organiser approves the device: for the gate `main` if `anew`, otherwise for the place where it stood.
pub fn approve(world: &World, ticket: &PairingTicket, anew: bool) -> Result<devices::Approved, Error> {
    let place = anew.then(|| (world.event.clone(), gate("main")));
    now(devices::approve_pairing(&world.app, &world.owner, &ticket.pairing_token, place, false))
}

/// An organiser approves a lost device as found, for the place where it stood.
pub fn approve_found(world: &World, ticket: &PairingTicket) -> Result<devices::Approved, Error> {
    now(devices::approve_pairing(&world.app, &world.owner, &ticket.pairing_token, None, true))
}

pub fn device(world: &World, name: &str) -> DeviceRecord {
    let id = id(name);
    now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.device(&id))).unwrap().unwrap()
}

pub fn keys(world: &World, name: &str) -> Vec<DeviceKeyRecord> {
    let id = id(name);
    now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.device_keys(&id))).unwrap()
}

/// Authenticates with a key and returns its device. The call counts as a use of the key.
pub fn caller(world: &World, api_key: &str) -> Result<DeviceCaller, Error> {
    now(devices::authenticate(&world.app, api_key))
}

pub fn paired_caller(paired: &PairedDevice) -> DeviceCaller {
    DeviceCaller {
        organization_id: paired.organization_id.clone(),
        device_id: paired.device_id.clone(),
        token_hash: token_hash(&paired.api_key),
        api_key: paired.api_key.clone(),
    }
}

/// A scan of the log `log` as an upload item, signed with the phone's key.
pub fn item(world: &World, phone: &Phone<'_>, seq: u64, code: &str, at: Timestamp, key: (&KeyId, &str)) -> Value {
    let scan = Scan { key_id: Some(key.0.clone()), ..scan_of(world, phone, &format!("s{seq}"), seq, code, at) };
    let scan_key = ApiKey::parse(key.1).unwrap().scan_key();
    serde_json::to_value(ScanV2::of(&scan, &sign_v2(&scan_key, &scan)).unwrap()).unwrap()
}

/// Uploads items as the device that holds this key.
pub fn upload(
    world: &World,
    by: &DeviceCaller,
    batch: &str,
    items: &[Value],
) -> Result<admit_app::scans::IngestAnswer, Error> {
    let body = serde_json::json!({
        "device_id": by.device_id, "sync_batch_id": batch, "format": 2, "scans": items,
    });
    let request = serde_json::from_str(&body.to_string()).unwrap();
    now(admit_app::scans::ingest_batch(&world.app, by, request))
}

pub fn revoke(world: &World, name: &str, lost_since: Option<Timestamp>) {
    now(devices::revoke(&world.app, &world.owner, id(name), lost_since)).unwrap();
}

/// The ids under `kept` in a refusal with the code `wanted`. Panics on any other result.
pub fn kept<T: std::fmt::Debug>(result: Result<T, Error>, wanted: &str) -> Value {
    match result {
        Err(Error::Denied { code, details: Some(details), .. }) if code == wanted => details["kept"].clone(),
        other => panic!("not {wanted}: {other:?}"),
    }
}
