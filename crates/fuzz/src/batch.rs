//! Fuzz target: the bodies of requests that devices send, most of them with scans.

use std::collections::BTreeMap;

use admit_app::caller::DeviceCaller;
use admit_app::scans::decode::{Context, authors, decode};
use admit_core::ids::{DeviceId, EventId, GateId, KeyId, OrganizationId};
use admit_core::limits::{SYNC_S2_SCANS, SYNC_V1_SCANS, SYNC_V2_SCANS};
use admit_core::sign::{ApiKey, content_digest, scan_bytes, sign_v2, verify_v2};
use admit_core::time::Timestamp;
use admit_core::wire::problem;
use admit_core::wire::scanning::{
    HeartbeatRequest, LogStatusRequest, PairRequest, Readable, ScanV1, ScanV2, SyncRequest, raw_item,
};
use admit_core::wire::scans::{OnlineRequest, ScansSyncRequest};
use admit_core::wire::stored::to_text;
use serde::de::DeserializeOwned;

use crate::bytes::Bytes;
use crate::list::KEY;
use crate::phone::{EVENING, Phone};
use crate::server::Server;

/// Reads the bytes as one of the bodies that a device sends. The first byte chooses which.
pub fn batch(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    match bytes.byte() % 8 {
        0 => sync(bytes.rest()),
        1 => v1(bytes.rest()),
        2 => v2(bytes.rest()),
        3 => question(bytes.rest()),
        4 => s2(bytes.rest()),
        5 => stable::<HeartbeatRequest>(bytes.rest()),
        6 => stable::<LogStatusRequest>(bytes.rest()),
        _ => stable::<PairRequest>(bytes.rest()),
    }
}

/// Checks that a value that can be read stays equal when it is written and read again.
fn stable<T: DeserializeOwned + serde::Serialize + PartialEq + std::fmt::Debug>(json: &[u8]) {
    let Ok(value) = problem::read::<T>(json) else { return };
    let again: T = problem::read(to_text(&value).as_bytes()).expect("what was written reads");
    assert_eq!(again, value);
}

fn caller() -> DeviceCaller {
    DeviceCaller {
        organization_id: OrganizationId::new("org").expect("an id"),
        device_id: DeviceId::new("device-1").expect("an id"),
        token_hash: [0; 32],
        api_key: KEY.to_owned(),
    }
}

fn sync(json: &[u8]) {
    let Ok(request) = problem::read::<SyncRequest>(json) else { return };
    let context = Context {
        event_id: EventId::new("event").expect("an id"),
        received_at: Timestamp::clamped(EVENING),
        most: (SYNC_V1_SCANS, SYNC_V2_SCANS),
    };
    let key = ApiKey::parse(KEY).expect("a key").scan_key();
    let caller = caller();
    let keys: BTreeMap<KeyId, _> =
        authors(&request).into_iter().map(|key_id| (key_id, (caller.device_id.clone(), key))).collect();
    let Ok(batch) = decode(&request, &caller, &keys, &context) else { return };
    // `decode` either reads an item as a scan or refuses it by its index, never both and never neither.
    assert_eq!(batch.items.len() + batch.rejected.len(), request.scans.len());
    assert!(batch.rejected.iter().all(|refused| refused.index < request.scans.len()));
    for item in &batch.items {
        assert!(!request.is_ours() || item.fact.digest == content_digest(&item.fact.scan));
    }
    let again = decode(&request, &caller, &keys, &context).expect("it was read just now");
    assert_eq!(format!("{again:?}"), format!("{batch:?}"));
}

fn v1(json: &[u8]) {
    let Ok(text) = std::str::from_utf8(json) else { return };
    let _ = Readable::of(text);
    let Ok(mut item) = ScanV1::read(text) else { return };
    let before = item.verify(KEY);
    let signed_text = item.signed_text();
    item.sign(KEY);
    assert!(item.verify(KEY) && item.signed_text() == signed_text);
    let again = ScanV1::read(&to_text(&item)).expect("what was written reads");
    assert!(again.verify(KEY), "the texts that are signed are kept as sent");
    let _ = (before, item.into_scan(&caller().device_id, &EventId::new("event").expect("an id")));
}

fn v2(json: &[u8]) {
    let Ok(text) = std::str::from_utf8(json) else { return };
    let Ok((scan, signature)) = ScanV2::read(text) else { return };
    let written = to_text(&ScanV2::of(&scan, &signature).expect("what reads is whole"));
    let (again, _) = ScanV2::read(&written).expect("what was written reads");
    assert_eq!((&again, scan_bytes(&again)), (&scan, scan_bytes(&scan)));
    assert!(raw_item(written).is_ok());
    let key = ApiKey::parse(KEY).expect("a key").scan_key();
    assert!(verify_v2(&key, &again, &sign_v2(&key, &scan)));
    let mut other = scan.clone();
    other.count += 1;
    assert!(!verify_v2(&key, &other, &sign_v2(&key, &scan)), "who changes a field must sign anew");
}

fn question(json: &[u8]) {
    let Ok(OnlineRequest::S2(scan)) = OnlineRequest::read(json) else { return };
    in_s2s_form(scan);
}

fn s2(json: &[u8]) {
    let Ok(batch) = ScansSyncRequest::read(json) else { return };
    assert!((1..=SYNC_S2_SCANS).contains(&batch.scans.len()));
    for scan in batch.scans {
        in_s2s_form(scan);
    }
}

fn in_s2s_form(scan: admit_core::wire::scans::ScanS2) {
    let (device, event, gate) = (caller().device_id, EventId::new("event"), GateId::new("north"));
    let spellings = scan.spellings().expect("a code that was read has spellings");
    let matched = admit_core::barcode::BarcodeHash::of(&spellings[0]);
    let (event, gate) = (event.expect("an id"), gate.expect("an id"));
    let id = scan.scan_id(&device).expect("every scan has an id");
    assert_eq!(scan.into_scan(&device, &event, &gate, matched).expect("every scan is one").scan_id, id);
}

/// Bodies as clients send them.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.scan("A-1");
    phone.scan("nobody's");
    phone.scan("P-4");
    phone.pass(20_000);
    let sent = |path: &str| phone.log.iter().rev().find(|sent| sent.is(path)).and_then(|sent| sent.body.clone());
    let ours = sent("/api/scanning/sync").expect("the phone sends its scans");
    let request: SyncRequest = serde_json::from_str(&ours).expect("a batch");
    let item = request.scans.first().expect("a scan").get().to_owned();
    let claim = item.replace("\"final\"", "\"claim\"");
    let mut first = ScanV1::read(
        r#"{"scan_id":"s-1","ticket_id":"t-A-1","barcode_hash":"sha256:5df1b5bd3c5cd2e5bb2ee5eb2e1a4f0d9a3c0f1e2d3c4b5a69788796a5b4c3d2","scanned_at":"2026-06-07T19:30:00+02:00","gate_id":"north","outcome":"valid","signature":""}"#,
    )
    .expect("a scan of S1's form");
    first.sign(KEY);
    let first = to_text(&first);
    let foreign = format!(
        r#"{{"device_id":"device-1","sync_batch_id":"b-1","batch_created_at":"2026-06-07T19:30:00Z","offset_seconds":-3,"scans":[{first},{{"scan_id":"s-2"}}]}}"#
    );
    let s2 = r#"{"batch_id":"b-2","device_id":"device-1","batch_created_at":"2026-06-07T19:30:00Z","scans":[{"ticket_code":"3KQR-7F92-4M1X","scanned_at":"2026-06-07T19:29:00Z","offline_id":"o-1"},{"ticket_code":"https://x/passes?token=a","scanned_at":"2026-06-07T19:29:30Z"}],"batch_size":2}"#;
    let heartbeat = sent("/api/scanning/devices").or_else(|| {
        let mut beats = phone.log.iter().filter(|sent| sent.path.contains("heartbeat"));
        beats.find_map(|sent| sent.body.clone())
    });
    let mut seeds = vec![
        (0, ours),
        (0, foreign),
        (1, first),
        (2, item),
        (3, claim),
        (3, r#"{"ticket_code":"A-1","scanned_at":"2026-06-07T19:29:00Z"}"#.to_owned()),
        (4, s2.to_owned()),
        (6, r#"{"log_id":"0123456789abcdef0123456789abcdef","head":3}"#.to_owned()),
        (7, sent("/api/scanning/pair").expect("the phone paired")),
    ];
    seeds.extend(heartbeat.map(|body| (5, body)));
    seeds.into_iter().map(|(form, body)| [&[form], body.as_bytes()].concat()).collect()
}
