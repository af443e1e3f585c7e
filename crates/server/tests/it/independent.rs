//! Checks all four signatures against Python's own `hmac`, over bytes that went over HTTP. Python verifies what the
//! server signs, and the server counts what Python signs.

use std::io::Write;
use std::process::{Command, Stdio};

use admit_app::events::{self, EventPatch};
use admit_app::gates::{self, GatePatch};
use admit_app::tickets::{self, NewGuest, NewTicket};
use admit_core::ids::GateId;
use admit_core::scan::Outcome;
use serde_json::{Value, json};

use crate::device::Phone;
use crate::server::{TestServer, json as read};

/// A script that uses the functions of the vectors' own checker.
const SCRIPT: &str = r#"
import json, sys
sys.path.insert(0, sys.argv[1])
import verify
asked = json.load(sys.stdin)
key = asked["api_key"]
body = bytes.fromhex(asked["manifest"])
manifest = json.loads(body)
holds, head, codes = verify.compact_list(bytes.fromhex(asked["compact"]), asked["compact_header"], key)
names = bytes.fromhex(asked["names"])
print(json.dumps({
    "compact_signatures": holds,
    "compact_content": [verify.content_hash(codes) == head["content_hash"] == manifest["content_hash"], len(codes)],
    "names_signatures": verify.body_signatures_hold(names, asked["names_header"], key),
    "names_content": verify.names_hash(json.loads(names)["names"], json.loads(names)["labels"]) == json.loads(names)["content_hash"],
    "signatures": verify.body_signatures_hold(body, asked["header"], key),
    "content": verify.content_hash(manifest["tickets"]) == manifest["content_hash"],
    "v1": verify.sign_v1(key, asked["v1"])[1],
    "v2": verify.sign_v2(key, asked["v2"]),
}))
"#;

fn python(asked: &Value) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/python");
    let mut child = Command::new("python3")
        .args(["-c", SCRIPT, folder])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is needed to check signatures independently (Debian: apt-get install python3)");
    child.stdin.take().unwrap().write_all(asked.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

async fn inside(server: &TestServer) -> Value {
    let path = format!("/api/events/{}/occupancy", server.home.event_id);
    read(server.get(&path).bearer_auth(&server.home.token).send().await.unwrap(), 200).await["inside"].clone()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A signed body as it was sent, with its signature.
async fn signed(server: &TestServer, phone: &Phone, what: &str, accept: &str) -> (Vec<u8>, String) {
    let path = format!("/api/scanning/events/{}/{what}", phone.event_id());
    let answer = phone.bearer(server.get(&path)).header("accept", accept).send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], accept);
    let header = answer.headers()["x-signature"].to_str().unwrap().to_owned();
    (answer.bytes().await.unwrap().to_vec(), header)
}

/// Makes a guest, and a gate that allows names.
async fn with_names(server: &TestServer) {
    let (app, owner, event_id) = (&server.state.app, &server.home.owner, &server.home.event_id);
    let fields = [("Table".to_owned(), "Größe 7".to_owned())].into();
    let note = Some("by the side door".into());
    let guest = NewGuest { name: "Zoë O'Brien".into(), note, fields, ..NewGuest::default() };
    let ticket = NewTicket { guest: Some(guest), barcode: Some("ZOE-1".into()), ..NewTicket::default() };
    tickets::create(app, owner, event_id.clone(), vec![ticket]).await.unwrap();
    let shown = EventPatch { verdict_fields: Some(vec!["Company".into(), "Table".into()]), ..EventPatch::default() };
    events::update(app, owner, event_id.clone(), shown).await.unwrap();
    let patch = GatePatch { names_on_devices: Some(true), ..GatePatch::default() };
    gates::update(app, owner, event_id.clone(), GateId::new("main").unwrap(), patch).await.unwrap();
}

#[tokio::test]
async fn python_verifies_what_we_sign_and_we_verify_what_python_signs() {
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let now = server.state.app.clock.now();
    with_names(&server).await;
    let (body, header) = signed(&server, &phone, "manifest", "application/json").await;
    let (compact, compact_header) = signed(&server, &phone, "manifest", "application/vnd.admit.manifest").await;
    let (names, names_header) = signed(&server, &phone, "names", "application/json").await;
    let hash = |n: usize| admit_core::barcode::BarcodeHash::of(&server.home.barcodes[n]).to_string();
    let mut v1 = json!({
        "scan_id": "v1-1", "ticket_id": null, "barcode_hash": hash(0), "scanned_at": now.to_string(),
        "gate_id": phone.gate_id(), "outcome": "valid",
    });
    let mut v2 = phone.scan(&server.home.barcodes[1], Outcome::Valid, now);
    let ours = v2["signature"].clone();
    let said = python(&json!({
        "api_key": phone.key(),
        "manifest": hex(&body),
        "header": header,
        "compact": hex(&compact),
        "compact_header": compact_header,
        "names": hex(&names),
        "names_header": names_header,
        "v1": v1,
        "v2": v2,
    }));
    assert_eq!((&said["signatures"], &said["content"]), (&json!(true), &json!(true)));
    assert_eq!((&said["compact_signatures"], &said["compact_content"]), (&json!(true), &json!([true, 11])));
    assert_eq!((&said["names_signatures"], &said["names_content"]), (&json!(true), &json!(true)));
    assert_eq!(said["v2"], ours);

    // A scan with a wrong signature is stored and counts nobody.
    let envelope =
        |id: &str, item: &Value| json!({ "device_id": phone.device_id(), "sync_batch_id": id, "scans": [item] });
    v1["signature"] = json!(format!("HMAC-SHA256={}", "0".repeat(64)));
    assert_eq!(phone.sync(&server, &envelope("false", &v1)).await.status(), 200);
    assert_eq!(inside(&server).await, 0);
    v1["signature"] = said["v1"].clone();
    assert_eq!(phone.sync(&server, &envelope("v1", &v1)).await.status(), 200);
    assert_eq!(inside(&server).await, 1);
    v2["signature"] = said["v2"].clone();
    let batch = phone.batch(vec![v2]);
    assert_eq!(phone.sync(&server, &batch).await.status(), 200);
    assert_eq!(inside(&server).await, 2);
}
