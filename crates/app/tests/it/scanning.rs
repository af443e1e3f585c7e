//! Requests of devices to the server: batches, keys, lists, changes, epochs.

mod batches;
mod told;
mod walk_ins;
mod headcounts;
mod keys;
mod lists;
mod versions;
mod damage;
mod s1;
mod small_scope;
mod hung_up;

use admit_app::error::Error;
use admit_app::ports::read;
use admit_app::scans;
use admit_core::barcode::BarcodeHash;
use admit_core::ids::*;
use admit_core::scan::*;
use admit_core::sign::{ApiKey, sign_v2};
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{ScanV2, SyncAnswer};
use serde_json::{Value, json};

use crate::world::*;

pub fn name_of_key(world: &World, phone: &Phone<'_>) -> KeyId {
    let id = phone.caller.device_id.clone();
    now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.device_keys(&id))).unwrap()[0].key_id.clone()
}

/// An opened scan in Admit's own form, not signed yet.
pub fn scan_of(world: &World, phone: &Phone<'_>, scan_id: &str, seq: u64, code: &str, at: Timestamp) -> Scan {
    Scan {
        key_id: Some(name_of_key(world, phone)),
        epoch: Some(now(world.app.store.epoch()).unwrap()),
        ..unsigned(&world.event, &phone.caller.device_id, scan_id, seq, code, at)
    }
}

/// Like [`scan_of`], without the key and the epoch, which are read from the store.
fn unsigned(event_id: &EventId, device_id: &DeviceId, scan_id: &str, seq: u64, code: &str, at: Timestamp) -> Scan {
    Scan {
        form: Form::V2,
        scan_id: scan_id.parse().unwrap(),
        device_id: device_id.clone(),
        log_id: Some("log".parse().unwrap()),
        seq: Some(seq),
        prev: Some([0; 16]),
        key_id: None,
        event_id: event_id.clone(),
        gate_id: gate("main"),
        kind: ScanKind::Entry,
        stage: Stage::Final,
        method: Method::Qr,
        barcode_hash: Some(BarcodeHash::of(code)),
        raw_hash: None,
        ticket_id: None,
        count: 1,
        outcome: Outcome::Valid,
        opened: true,
        override_: None,
        walk_in: None,
        headcount: None,
        operator: None,
        target_device: None,
        target_scan_id: None,
        keep: 0,
        at,
        uncertainty_ms: 100,
        clock: Some(ClockEvidence { wall_ms: at.ms(), mono_ms: 1, session_id: "s".into(), corrected: false }),
        epoch: None,
        manifest_version: 0,
        cursor: 0,
        practice: false,
        basis: Some(Basis::default()),
    }
}

/// The scan as an upload item, signed with the key of `signer`.
pub fn signed(signer: &Phone<'_>, scan: &Scan) -> Value {
    let key = ApiKey::parse(&signer.caller.api_key).unwrap();
    serde_json::to_value(ScanV2::of(scan, &sign_v2(&key.scan_key(), scan)).unwrap()).unwrap()
}

pub fn send_body(world: &World, phone: &Phone<'_>, body: &Value) -> Result<scans::IngestAnswer, Error> {
    let request = serde_json::from_str(&body.to_string()).unwrap();
    now(scans::ingest_batch(&world.app, &phone.caller, request))
}

/// Uploads items in Admit's own form.
pub fn send(world: &World, phone: &Phone<'_>, batch: &str, items: &[Value]) -> Result<scans::IngestAnswer, Error> {
    let body = json!({ "device_id": phone.caller.device_id, "sync_batch_id": batch, "format": 2, "scans": items });
    send_body(world, phone, &body)
}

pub fn said(answer: &scans::IngestAnswer) -> SyncAnswer {
    serde_json::from_str(&answer.body).unwrap()
}

pub fn head(world: &World) -> u64 {
    let event = world.event.clone();
    now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.head(&event))).unwrap().serial
}

/// The ranges of `seq` that the server lacks of a log whose head is `head`.
pub fn lacking(world: &World, phone: &Phone<'_>, head: u64) -> Vec<(u64, u64)> {
    let request = serde_json::from_value(json!({ "log_id": "log", "head": head })).unwrap();
    now(admit_app::devices::log_status(&world.app, &phone.caller, request)).unwrap().missing
}
