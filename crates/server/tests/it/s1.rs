//! S1's wire format, member by member (`docs/conformance.md`).

use admit_app::gates::NewGate;
use admit_app::tickets::NewTicket;
use admit_app::{gates, tickets};
use admit_core::barcode::BarcodeHash;
use admit_core::gate::EntryRule;
use admit_core::ids::GateId;
use admit_core::sign::{V1Fields, sign_v1};
use admit_core::time::Timestamp;
use serde_json::{Value, json};

use crate::device::Phone;
use crate::server::{TestServer, json as read, problem};

/// S1 §2.2: every member of the payload, by name, kind and value.
#[tokio::test]
async fn s1_2_2_the_payload_has_every_member() {
    let server = TestServer::start().await;
    let (app, home) = (&server.state.app, &server.home);
    let gate = NewGate {
        gate_id: GateId::new("north-main").unwrap(),
        name: Some("North Entrance - Main".into()),
        zones: Some(vec!["general".into(), "vip".into()]),
        direction: None,
        capacity: Some(1_000),
        names_on_devices: None,
        walk_ins: None,
        entry_rules: Some(EntryRule::ALL.to_vec()),
    };
    gates::create(app, &home.owner, home.event_id.clone(), gate).await.unwrap();
    let ends = Timestamp::parse("2099-12-07T22:00:00Z").unwrap();
    let ticket = NewTicket {
        barcode: Some("THE-SEEDS-OWN".into()),
        gate_ids: vec![GateId::new("north-main").unwrap()],
        expires_at: Some(ends),
        ..NewTicket::default()
    };
    let made = tickets::create(app, &home.owner, home.event_id.clone(), vec![ticket]).await.unwrap();
    let phone = Phone::pair(&server, home, "a").await;
    let path = format!("/api/scanning/events/{}/manifest", phone.event_id());
    let list: Value = read(phone.bearer(server.get(&path)).send().await.unwrap(), 200).await;

    assert_eq!(list["event_id"], json!(phone.event_id()));
    assert_eq!(list["event_name"], "Festival");
    assert!(list["manifest_version"].as_u64().is_some_and(|version| version > 0), "{}", list["manifest_version"]);
    for member in ["generated_at", "expires_at"] {
        let text = list[member].as_str().unwrap();
        assert!(Timestamp::parse(text).is_ok() && text.ends_with('Z'), "{member}: {text}");
    }
    assert_eq!(list["offset_seconds"], 0);
    let gate = list["gates"].as_array().unwrap().iter().find(|gate| gate["gate_id"] == "north-main").unwrap();
    assert_eq!(gate["name"], "North Entrance - Main");
    let rules = &gate["access_rules"];
    assert_eq!(rules["zones"], json!(["general", "vip"]));
    assert_eq!(rules["max_concurrent"], 1_000);
    assert_eq!(rules["entry_rules"], json!(["check_ticket_valid", "check_not_duplicate"]));
    let hash = json!(BarcodeHash::of("THE-SEEDS-OWN").to_string());
    let ticket = list["tickets"].as_array().unwrap().iter().find(|ticket| ticket["barcode_hash"] == hash).unwrap();
    assert_eq!(ticket["ticket_id"], json!(made[0].0.ticket_id));
    assert_eq!((&ticket["zone"], &ticket["gate_ids"]), (&json!("general"), &json!(["north-main"])));
    assert_eq!((&ticket["entry_limit"], &ticket["is_valid"]), (&json!(1), &json!(true)));
    assert_eq!(ticket["expires_at"], json!(ends.to_string()));
    let signature = list["signature"].as_str().unwrap().strip_prefix("HMAC-SHA256=").unwrap();
    assert!(signature.len() == 64 && signature.bytes().all(|b| b.is_ascii_hexdigit()), "{signature}");
}

/// A batch in S1's form, as a client would write it that knows only that document.
fn seeds_own(phone: &Phone, barcode: &str, at: &str) -> Value {
    let hash = BarcodeHash::of(barcode).to_string();
    let gate_id = phone.gate_id().as_str();
    let fields =
        V1Fields { scan_id: "scan-uuid-1", ticket_id: Some("tkt-001"), barcode_hash: &hash, scanned_at: at, gate_id };
    json!({
        "device_id": phone.device_id(),
        "sync_batch_id": "batch-550e8400-e29b-41d4-a716-446655440000",
        "offset_seconds": 5,
        "scans": [{
            "scan_id": "scan-uuid-1",
            "ticket_id": "tkt-001",
            "barcode_hash": hash,
            "scanned_at": at,
            "gate_id": gate_id,
            "outcome": "valid",
            "signature": sign_v1(phone.key(), &fields),
        }],
    })
}

/// S1 §4.2, §5.1 steps 1–4: the document's own request, and its answer.
#[tokio::test]
async fn s1_4_2_the_documents_own_request_is_taken_and_answered_as_written() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "550e8400-e29b-41d4-a716-446655440000").await;
    let at = server.state.app.clock.now().plus_ms(-60_000);
    let batch = seeds_own(&phone, &server.home.barcodes[0], &at.to_string());
    let answer = read(phone.sync(&server, &batch).await, 200).await;
    assert_eq!(answer["batch_id"], batch["sync_batch_id"]);
    assert_eq!((&answer["processed"], &answer["skipped"]), (&json!(["scan-uuid-1"]), &json!([])));
    assert_eq!((&answer["rejected"], &answer["conflicts"]), (&json!([]), &json!([])));
    // It counted for the ticket of that code, five seconds later than the phone's own clock said.
    let path = format!("/api/events/{}/scans", phone.event_id());
    let scans = read(server.get(&path).bearer_auth(&server.home.token).send().await.unwrap(), 200).await;
    let stored = scans["items"][0].to_string();
    assert!(stored.contains(&at.plus_ms(5_000).to_string()), "canonical time in {stored}");
    let path = format!("/api/events/{}/occupancy", phone.event_id());
    let counted = read(server.get(&path).bearer_auth(&server.home.token).send().await.unwrap(), 200).await;
    assert_eq!(counted["inside"], 1);
}

/// S1 §4.2's table: each field of the envelope and of a scan, missing or of another kind, is refused by its name. A
/// bad field of the envelope refuses the whole request; one of a scan refuses that scan alone (spec §5).
#[tokio::test]
async fn s1_4_2_each_field_is_checked_by_its_name() {
    let server = TestServer::start().await;
    let at = server.state.app.clock.now().to_string();
    for (n, (field, wrong)) in [
        ("device_id", json!(7)),
        ("sync_batch_id", json!("")),
        ("sync_batch_id", Value::Null),
        ("offset_seconds", json!("5")),
        ("scans", json!({})),
        ("scans", json!(vec![json!({}); 51])),
    ]
    .into_iter()
    .enumerate()
    {
        // Each request comes from its own device, because five refusals in a row would suspend one (spec D19).
        let phone = Phone::pair(&server, &server.home, &format!("envelope-{n}")).await;
        let mut batch = seeds_own(&phone, &server.home.barcodes[0], &at);
        batch[field] = wrong;
        let refused = problem(phone.sync(&server, &batch).await, 400, "invalid_request").await;
        assert_eq!(refused["errors"][0]["path"], field, "{refused}");
    }
    let phone = Phone::pair(&server, &server.home, "a").await;
    let good = seeds_own(&phone, &server.home.barcodes[0], &at);
    for (n, (field, wrong)) in [
        ("scan_id", json!(1)),
        ("ticket_id", json!(["tkt-001"])),
        ("barcode_hash", json!("a3f8")),
        ("scanned_at", json!("half past seven")),
        ("gate_id", Value::Null),
        ("outcome", json!("perhaps")),
        ("signature", Value::Null),
    ]
    .into_iter()
    .enumerate()
    {
        let mut batch = good.clone();
        batch["sync_batch_id"] = json!(format!("b-{n}"));
        batch["scans"][0][field] = wrong;
        let answer = read(phone.sync(&server, &batch).await, 200).await;
        assert_eq!(answer["processed"], json!([]), "{field}");
        assert!(answer["rejected"][0]["reason"].as_str().unwrap().contains(field), "{answer}");
    }
}
