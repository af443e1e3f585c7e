//! Requirements of S2 that show over HTTP and that no other file tests (`docs/conformance.md`).

use reqwest::Method;
use serde_json::{Value, json};

use crate::device::Phone;
use crate::server::{TestServer, json as read, problem};

/// A batch in S2's form, as that document writes it.
fn batch(phone: &Phone, id: &str, made_at: &str, scans: &[(&str, &str, &str)]) -> Value {
    let scans: Vec<Value> =
        scans.iter().map(|(id, code, at)| json!({ "offline_id": id, "ticket_code": code, "scanned_at": at })).collect();
    json!({ "batch_id": id, "device_id": phone.device_id(), "batch_created_at": made_at, "batch_size": scans.len(),
        "scans": scans })
}

async fn send(server: &TestServer, phone: &Phone, batch: &Value) -> Value {
    let sent = phone.bearer(server.post("/api/scans/sync")).json(batch).send().await.unwrap();
    read(sent, 200).await
}

/// S2 §4 "Ticket Records Updated", §5 step 19: whether a ticket was scanned, when by the device's own time, where, and
/// how often.
#[tokio::test]
async fn s2_4_a_ticket_says_that_it_was_scanned_when_where_and_how_often() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let code = &server.home.barcodes[0];
    let list = format!("/api/events/{}/tickets?q={code}", server.home.event_id);
    let ticket = || async {
        let found = read(server.get(&list).bearer_auth(&server.home.token).send().await.unwrap(), 200).await;
        found["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|ticket| ticket["code_end"] == code[code.len() - 4..])
            .unwrap()
            .clone()
    };
    let before = ticket().await;
    assert_eq!(
        (&before["scanned"], &before["scan_count"], &before["scanned_at"]),
        (&json!(false), &json!(0), &json!(null))
    );
    let now = server.state.app.clock.now();
    let at = now.plus_ms(-3_600_000).to_string();
    send(&server, &phone, &batch(&phone, "b1", &now.to_string(), &[("s1", code, &at)])).await;
    let after = ticket().await;
    assert_eq!((&after["scanned"], &after["scan_count"]), (&json!(true), &json!(1)));
    assert_eq!((&after["scanned_at"], &after["last_gate_id"]), (&json!(at), &json!(phone.gate_id())));
    assert_eq!(after["status"], "active", "what people set is not touched by a scan (spec §3)");
    // The scan is known already, so in another batch it is not a second scan.
    send(&server, &phone, &batch(&phone, "b2", &now.to_string(), &[("s1", code, &at)])).await;
    assert_eq!(ticket().await, after);
}

/// S2 §4 "ETS", §5 steps 14 and 23: a node remembers codes that were let in lately. Spec D15: it decides nothing by
/// that.
#[tokio::test]
async fn s2_5_23_a_node_remembers_a_code_let_in_a_moment_ago_and_decides_nothing_by_it() {
    let server = TestServer::start().await;
    let (a, b) = (Phone::pair(&server, &server.home, "a").await, Phone::pair(&server, &server.home, "b").await);
    let now = server.state.app.clock.now();
    let (code, other) = (&server.home.barcodes[0], &server.home.barcodes[1]);
    let times = [now.plus_ms(-60_000).to_string(), now.plus_ms(-30_000).to_string()];
    let hot = || async {
        let text = server.state.metrics.text();
        let line = text.lines().find(|line| line.starts_with("admit_recent_duplicates_total{tier=\"hot\"}"));
        line.and_then(|line| line.rsplit(' ').next()).map_or(0, |count| count.parse::<u64>().unwrap())
    };
    let first = send(&server, &a, &batch(&a, "b1", &now.to_string(), &[("s1", code, &times[0])])).await;
    assert_eq!((hot().await, &first["summary"]["new_scans"]), (0, &json!(1)));
    let scans = [("s2", code.as_str(), times[1].as_str()), ("s3", other.as_str(), times[1].as_str())];
    let second = send(&server, &b, &batch(&b, "b2", &now.to_string(), &scans)).await;
    assert_eq!(hot().await, 1, "the second scan of the code, and only it");
    // The same code in another organisation is another key, because the key begins with the organisation (S2 §8 rule
    // 3).
    let foreign = Phone::pair(&server, &server.other, "a").await;
    send(&server, &foreign, &batch(&foreign, "b1", &now.to_string(), &[("s1", code, &times[1])])).await;
    assert_eq!(hot().await, 1);
    assert_eq!(
        second["summary"],
        json!({ "total_scans": 2, "new_scans": 1, "duplicate_scans": 1, "missing_tickets": 0,
        "invalid_tickets": 0 })
    );
}

/// S2 §3 "valid authentication token", §5 step 10, §10 "401", edge case "Device token expired": of every route that the
/// document gives to devices.
#[tokio::test]
async fn s2_5_10_every_device_route_wants_a_known_key() {
    let server = TestServer::start().await;
    let document = read(server.get("/openapi.json").send().await.unwrap(), 200).await;
    let mut asked = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let ways: Vec<&str> = operation["security"]
                .as_array()
                .into_iter()
                .flatten()
                .flat_map(|way| way.as_object().unwrap().keys())
                .map(String::as_str)
                .collect();
            if !ways.contains(&"device_key") {
                continue;
            }
            let to = path.replace("{id}", server.home.event_id.as_str());
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let request = || {
                let request = server.request(method.clone(), &to);
                if method == Method::GET { request } else { request.json(&json!({})) }
            };
            let code = if ways == ["device_key"] { "no_key" } else { "no_credential" };
            let bare = request().send().await.unwrap();
            assert_eq!(bare.status(), 401, "{method} {path}");
            if code == "no_key" {
                problem(bare, 401, code).await;
                let wrong = request().bearer_auth(format!("admit_dk_{}", "0".repeat(64)));
                problem(wrong.send().await.unwrap(), 401, "unknown_key").await;
            }
            asked.push(to);
        }
    }
    for path in ["/api/scans", "/api/scans/sync", "/api/scanning/sync"] {
        assert!(asked.iter().any(|one| one == path), "{path} in {asked:?}");
    }
}
