//! `/api/scans` and `/api/scans/sync` over the wire (S2 §3–§5).

use std::io::Write as _;

use admit_core::limits::UNKNOWN_CODES_PER_MINUTE;
use admit_core::scan::Outcome;
use admit_core::time::Timestamp;
use admit_server::Settings;
use reqwest::Response;
use serde_json::{Value, json};

use crate::device::Phone;
use crate::server::{TestServer, json, problem};

const ONLINE: &str = "/api/scans";
const BATCH: &str = "/api/scans/sync";

async fn post(server: &TestServer, phone: &Phone, path: &str, body: &Value) -> Response {
    phone.bearer(server.post(path)).json(body).send().await.unwrap()
}

fn batch(server: &TestServer, phone: &Phone, id: &str, scans: &[(&str, &str)]) -> Value {
    let now = server.state.app.clock.now().to_string();
    let scans: Vec<Value> =
        scans.iter().map(|(id, code)| json!({ "offline_id": id, "ticket_code": code, "scanned_at": now })).collect();
    json!({
        "batch_id": id, "device_id": phone.device_id(), "batch_created_at": now, "batch_size": scans.len(), "scans": scans,
    })
}

/// S2 §4 "HTTP 200 OK": the answer's members, its repeat, its conflict.
#[tokio::test]
async fn s2_4_a_batch_is_answered_repeated_and_not_confused() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let sent = batch(&server, &phone, "b", &[("o1", "CODE-0001"), ("o2", "CODE-0002"), ("o3", "FAKE")]);
    let first = post(&server, &phone, BATCH, &sent).await;
    assert!(first.headers().contains_key("x-admit-witness"));
    let first = json(first, 200).await;
    assert_eq!((&first["status"], &first["processed_count"]), (&json!("partial_success"), &json!(2)));
    assert_eq!(first["errors"], json!([{ "offline_id": "o3", "ticket_code": "FAKE", "reason": "ticket_not_found" }]));
    let again = json(post(&server, &phone, BATCH, &sent).await, 200).await;
    assert_eq!(again["message"], "Batch already synced (idempotent)");
    let mut other = batch(&server, &phone, "b", &[("o4", "CODE-0003")]);
    problem(post(&server, &phone, BATCH, &other).await, 409, "batch_id_reused").await;
    other["device_id"] = json!("device-b");
    problem(post(&server, &phone, BATCH, &other).await, 401, "device_mismatch").await;
}

/// S2 §5 step 9: a malformed scan is answered 400 with its path.
#[tokio::test]
async fn s2_5_9_a_malformed_scan_refuses_the_batch_and_is_named() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let mut sent = batch(&server, &phone, "b", &[("o1", "CODE-0001"), ("o2", "CODE-0002")]);
    sent["scans"][1]["scanned_at"] = json!("soon");
    let refused = problem(post(&server, &phone, BATCH, &sent).await, 400, "invalid_request").await;
    assert_eq!(refused["errors"][0]["path"], "scans[1].scanned_at");
    sent["scans"][1] = json!({ "scanned_at": "2026-01-01T00:00:00Z" });
    let refused = problem(post(&server, &phone, BATCH, &sent).await, 400, "invalid_request").await;
    assert_eq!(refused["errors"][0]["path"], "scans[1].ticket_code");
    let path = format!("/api/events/{}/scans", server.home.event_id);
    let listed = json(server.get(&path).bearer_auth(&server.home.token).send().await.unwrap(), 200).await;
    assert_eq!(listed["items"], json!([]), "nothing of it was taken");
}

/// S2 §5 step 10: a batch with an unknown key is answered 401.
#[tokio::test]
async fn s2_5_10_an_unknown_key_is_401() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let sent = batch(&server, &phone, "b", &[("o1", "CODE-0001")]);
    for path in [BATCH, ONLINE] {
        let unknown = server.post(path).bearer_auth("nobody's").json(&sent).send().await.unwrap();
        problem(unknown, 401, "unknown_key").await;
        let none = server.post(path).json(&sent).send().await.unwrap();
        assert_eq!(none.status(), 401);
    }
}

/// Spec §5: bodies may be gzip or zstd, capped as sent and as decoded.
#[tokio::test]
async fn a_batch_may_be_compressed_and_no_bomb() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let coded = |coding: &'static str, bytes: Vec<u8>| {
        let request = phone.bearer(server.post(BATCH)).header("content-type", "application/json");
        request.header("content-encoding", coding).body(bytes).send()
    };
    let first = batch(&server, &phone, "b1", &[("o1", "CODE-0001")]).to_string();
    assert_eq!(coded("gzip", gzip(first.as_bytes())).await.unwrap().status(), 200);
    let second = batch(&server, &phone, "b2", &[("o2", "CODE-0002")]).to_string();
    assert_eq!(coded("zstd", zstd::encode_all(second.as_bytes(), 3).unwrap()).await.unwrap().status(), 200);
    let bomb = gzip(&vec![b' '; admit_core::limits::BODY_DECODED_BYTES + 1]);
    problem(coded("gzip", bomb).await.unwrap(), 413, "body_too_large").await;
    let long = vec![b' '; admit_core::limits::BODY_ENCODED_BYTES + 1];
    let request = phone.bearer(server.post(BATCH)).header("content-type", "application/json");
    problem(request.body(long).send().await.unwrap(), 413, "body_too_large").await;
}

/// Spec §5 "Rate limit": the limit counts both sync endpoints together. Requests to `/api/scans` do not count.
#[tokio::test]
async fn both_sync_endpoints_share_one_limit_and_online_scans_do_not_count() {
    let server = TestServer::with(Settings { syncs_per_minute: 2, ..Settings::default() }).await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let ours = phone.batch(vec![]);
    assert_eq!(phone.sync(&server, &ours).await.status(), 200);
    let sent = batch(&server, &phone, "b", &[("o1", "CODE-0001")]);
    assert_eq!(post(&server, &phone, BATCH, &sent).await.status(), 200);
    let refused = post(&server, &phone, BATCH, &sent).await;
    assert!(refused.headers().contains_key("retry-after"));
    problem(refused, 429, "rate_limited").await;
    let now = server.state.app.clock.now().to_string();
    let asked = json!({ "ticket_code": "CODE-0002", "scanned_at": now, "offline_id": "o2" });
    assert_eq!(json(post(&server, &phone, ONLINE, &asked).await, 200).await["outcome"], "valid");
}

/// S2 §2: a scan asked online. A repeat gets the same answer, and so does a claim in Admit's form.
#[tokio::test]
async fn s2_2_a_scan_is_judged_online() {
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let now: Timestamp = server.state.app.clock.now();
    let asked = json!({ "ticket_code": "CODE-0001", "scanned_at": now.to_string(), "offline_id": "o1" });
    let first = post(&server, &phone, ONLINE, &asked).await.text().await.unwrap();
    assert_eq!(post(&server, &phone, ONLINE, &asked).await.text().await.unwrap(), first);
    let first: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(
        (&first["outcome"], &first["may_admit"], &first["last_scan_at"]),
        (&json!("valid"), &json!(1), &Value::Null)
    );
    let again = json!({ "ticket_code": "CODE-0001", "scanned_at": now.plus_ms(5_000).to_string() });
    let second = json(post(&server, &phone, ONLINE, &again).await, 200).await;
    assert_eq!((&second["outcome"], &second["reason"]), (&json!("duplicate"), &json!("already_scanned")));
    assert_eq!((&second["last_gate_id"], &second["last_scan_at"]), (&json!("main"), &json!(now.to_string())));
    let last = phone.scan(&server.home.barcodes[1], Outcome::Valid, now);
    let refused = problem(post(&server, &phone, ONLINE, &last).await, 400, "invalid_request").await;
    assert_eq!(refused["errors"][0]["path"], "stage");
    let metrics = server.state.metrics.text();
    for line in ["admit_scans_total{outcome=\"valid\"} 1", "admit_scans_total{outcome=\"duplicate\"} 1"] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
}

/// Spec §5 "Rate limit": a device that asks many codes in parallel learns no more than one that asks one by one, and
/// it gets an incident.
#[tokio::test]
async fn whoever_guesses_in_parallel_is_told_no_more_and_put_before_a_person() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let now = server.state.app.clock.now().to_string();
    let asked = (0..4 * UNKNOWN_CODES_PER_MINUTE).map(|n| {
        let body = json!({ "ticket_code": format!("NO-{n}"), "scanned_at": now, "offline_id": format!("g{n}") });
        let (server, phone) = (&server, &phone);
        async move { post(server, phone, ONLINE, &body).await.status().as_u16() }
    });
    let told = futures_util::future::join_all(asked).await;
    let judged = told.iter().filter(|status| **status == 200).count();
    assert_eq!(judged, UNKNOWN_CODES_PER_MINUTE as usize, "{told:?}");
    assert!(told.iter().all(|status| [200, 429].contains(status)), "{told:?}");
    let path = format!("/api/events/{}/incidents?status=open", server.home.event_id);
    let open = json(server.get(&path).bearer_auth(&server.home.token).send().await.unwrap(), 200).await;
    let alarms = open["items"].as_array().unwrap().iter().filter(|one| one["kind"] == "high_error_rate").count();
    assert_eq!(alarms, 1, "{open}");
}

/// Another organisation's tickets are unknown codes, and its events do not exist.
#[tokio::test]
async fn s2_8_a_key_opens_its_own_organisation_only() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let mut stranger = Phone::pair(&server, &server.other, "a").await;
    let sent = batch(&server, &phone, "b", &[("o1", "CODE-0001")]);
    assert_eq!(json(post(&server, &phone, BATCH, &sent).await, 200).await["status"], "completed");
    // The same device id, batch id and code in another organisation are its own batch and its own ticket.
    let answer = json(post(&server, &stranger, BATCH, &sent).await, 200).await;
    assert_eq!((&answer["status"], answer.get("message")), (&json!("completed"), None));
    stranger.log.paired.event_id = server.home.event_id.clone();
    let mut claim = stranger.scan("CODE-0002", Outcome::Valid, server.state.app.clock.now());
    claim["stage"] = json!("claim");
    let refused = post(&server, &stranger, ONLINE, &claim).await;
    assert!(matches!(refused.status().as_u16(), 400 | 404), "{}", refused.status());
    for org in [&server.home, &server.other] {
        let path = format!("/api/events/{}/occupancy", org.event_id);
        let counted = json(server.get(&path).bearer_auth(&org.token).send().await.unwrap(), 200).await;
        assert_eq!(counted["inside"], 1);
    }
}

/// S2 §5 steps 24, 25: the device receives its own batch, and the dashboard the change with its gate.
#[tokio::test]
async fn s2_5_24_25_the_live_stream_tells_of_a_batch_in_s2s_words() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let mut own = crate::stream::open(&server, phone.key(), None).await;
    let mut board = crate::stream::open(&server, &server.home.token, None).await;
    board.until("occupancy").await;
    let sent = batch(&server, &phone, "b", &[("o1", "CODE-0001"), ("o2", "FAKE")]);
    json(post(&server, &phone, BATCH, &sent).await, 200).await;
    let done = own.next().await.unwrap().data;
    let expected = [
        ("topic", json!("batch:b")),
        ("event", json!("sync_complete")),
        ("batch_id", json!("b")),
        ("status", json!("partial_success")),
        ("processed_count", json!(1)),
        ("error_count", json!(1)),
    ];
    for (member, value) in expected {
        assert_eq!(done[member], value, "{member}");
    }
    assert!(done["timestamp"].is_string());
    let moved = board.until("occupancy").await.data;
    let topic = format!("occupancy:{}:{}", server.home.owner.organization_id, server.home.event_id);
    // A person walked in with the unknown code too, so two are inside.
    let expected = [
        ("topic", json!(topic)),
        ("event", json!("batch_sync_completed")),
        ("batch_id", json!("b")),
        ("scans_added", json!(2)),
        ("gate_id", json!("main")),
        ("gate_name", json!("main")),
        ("gate_occupancy", json!(2)),
        ("total_occupancy", json!(2)),
    ];
    for (member, value) in expected {
        assert_eq!(moved[member], value, "{member}");
    }
    assert!(moved["timestamp"].is_string());
}
