//! `POST /api/scanning/sync` over HTTP.

use std::sync::Arc;
use std::time::{Duration, Instant};

use admit_core::scan::Outcome;
use admit_server::Settings;
use admit_server::adapters::upload_room::UploadRoom;
use serde_json::json;

use crate::device::Phone;
use crate::place::Place;
use crate::server::{TestServer, json, problem};

#[tokio::test]
async fn a_repeat_gets_the_same_bytes_and_another_content_a_conflict() {
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let now = server.state.app.clock.now();
    let scan = phone.scan(&server.home.barcodes[0], Outcome::Valid, now);
    let batch = phone.batch(vec![scan.clone()]);
    let first = phone.sync(&server, &batch).await;
    assert_eq!(first.status(), 200);
    assert!(first.headers().contains_key("x-admit-witness"));
    let first = first.text().await.unwrap();
    let answer: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert_eq!(answer["processed"], json!([scan["scan_id"]]));
    assert_eq!(answer["skipped"], json!([]));
    assert_eq!(phone.sync(&server, &batch).await.text().await.unwrap(), first);
    let mut other = batch.clone();
    other["scans"] = json!([phone.scan(&server.home.barcodes[1], Outcome::Valid, now.plus_ms(10))]);
    problem(phone.sync(&server, &other).await, 409, "batch_id_reused").await;
}

#[tokio::test]
async fn two_devices_admit_one_ticket_and_the_second_upload_says_so() {
    let server = TestServer::start().await;
    let (mut a, mut b) = (Phone::pair(&server, &server.home, "a").await, Phone::pair(&server, &server.home, "b").await);
    let now = server.state.app.clock.now();
    let code = &server.home.barcodes[0];
    let (first, second) = (a.scan(code, Outcome::Valid, now.plus_ms(-9_000)), b.scan(code, Outcome::Valid, now));
    let batch = a.batch(vec![first]);
    assert_eq!(json(a.sync(&server, &batch).await, 200).await["conflicts"], json!([]));
    let batch = b.batch(vec![second]);
    let answer = json(b.sync(&server, &batch).await, 200).await;
    assert_eq!(answer["conflicts"][0]["result"], "DOUBLE_ENTRY");
    assert_eq!(answer["conflicts"][0]["severity"], "CRITICAL");
}

#[tokio::test]
async fn a_malformed_item_is_refused_alone() {
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let good = phone.scan(&server.home.barcodes[0], Outcome::Valid, server.state.app.clock.now());
    let batch = phone.batch(vec![json!({ "scan_id": "poison", "count": "x" }), good.clone(), json!(7)]);
    let answer = json(phone.sync(&server, &batch).await, 200).await;
    assert_eq!(answer["processed"], json!([good["scan_id"]]));
    assert_eq!(answer["rejected"][0]["scan_id"], "poison");
    assert_eq!(answer["rejected"][1]["index"], 2);
}

#[tokio::test]
async fn another_devices_name_in_the_body_is_refused_whole() {
    let server = TestServer::start().await;
    let (mut a, b) = (Phone::pair(&server, &server.home, "a").await, Phone::pair(&server, &server.home, "b").await);
    let batch = a.batch(vec![]);
    problem(b.sync(&server, &batch).await, 401, "device_mismatch").await;
}

#[tokio::test]
async fn the_eleventh_sync_in_a_minute_waits_and_heartbeats_do_not_count() {
    let server = TestServer::with(Settings { syncs_per_minute: 3, ..Settings::default() }).await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let mut sibling = Phone::pair(&server, &server.home, "b").await;
    for _ in 0..3 {
        let batch = phone.batch(vec![]);
        assert_eq!(phone.sync(&server, &batch).await.status(), 200);
    }
    let batch = phone.batch(vec![]);
    let refused = phone.sync(&server, &batch).await;
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    problem(refused, 429, "rate_limited").await;
    let beat = json!({ "log_id": phone.log.log_id, "head": 0, "pending": 0, "battery": 80, "manifest_version": 0 });
    let path = format!("/api/scanning/events/{}/heartbeat", phone.event_id());
    let answer = json(phone.bearer(server.post(&path)).json(&beat).send().await.unwrap(), 200).await;
    assert_eq!(answer["gate_id"], json!(phone.gate_id()));
    let batch = sibling.batch(vec![]);
    assert_eq!(sibling.sync(&server, &batch).await.status(), 200, "the limit is a device's own");
}

/// A phone gives up after 20 s and sends again. So an upload without room is answered earlier, with the time to come
/// back.
#[tokio::test]
async fn an_upload_without_room_hears_when_to_come_back_and_counts_for_nothing() {
    let place = Place::new().await;
    let mut state = place.open(Settings { syncs_per_minute: 1, ..Settings::default() }).await;
    state.uploads = Arc::new(UploadRoom::new(1, 1, Duration::from_millis(50)));
    let server = TestServer::of(place, state).await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let scan = phone.scan(&server.home.barcodes[0], Outcome::Valid, server.state.app.clock.now());
    let batch = phone.batch(vec![scan.clone()]);
    let uploads = server.state.uploads.clone();
    let others = (uploads.read(1_024, 1).await.unwrap(), uploads.judge(1_024, Instant::now()).await.unwrap());
    for _ in 0..6 {
        let refused = phone.sync(&server, &batch).await;
        let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        problem(refused, 503, "busy").await;
    }
    drop(others);
    let answer = json(phone.sync(&server, &batch).await, 200).await;
    assert_eq!(answer["processed"], json!([scan["scan_id"]]), "neither a sync of its minute, nor a failed one");
}

/// The body is read, but judging is slow. The answer comes while the phone still waits, and nothing of the upload is
/// stored.
#[tokio::test]
async fn an_upload_that_is_not_judged_in_time_hears_when_to_come_back() {
    let place = Place::new().await;
    let mut state = place.open(Settings::default()).await;
    state.uploads = Arc::new(UploadRoom::new(1_024, 8, Duration::from_millis(50)));
    let server = TestServer::of(place, state).await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let scan = phone.scan(&server.home.barcodes[0], Outcome::Valid, server.state.app.clock.now());
    let batch = phone.batch(vec![scan.clone()]);
    let others = server.state.uploads.judge(8 * 1_024, Instant::now()).await.unwrap();
    let refused = phone.sync(&server, &batch).await;
    assert!(refused.headers().contains_key("retry-after"));
    problem(refused, 503, "busy").await;
    drop(others);
    let answer = json(phone.sync(&server, &batch).await, 200).await;
    assert_eq!(answer["processed"], json!([scan["scan_id"]]));
}

/// S1 §7.6: the default is ten syncs per minute.
#[tokio::test]
async fn s1_7_6_a_server_with_its_own_settings_stops_at_ten() {
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    for n in 1..=10 {
        let batch = phone.batch(vec![]);
        assert_eq!(phone.sync(&server, &batch).await.status(), 200, "{n}");
    }
    let batch = phone.batch(vec![]);
    problem(phone.sync(&server, &batch).await, 429, "rate_limited").await;
}

#[tokio::test]
async fn the_log_status_names_what_never_came() {
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let now = server.state.app.clock.now();
    let scans: Vec<_> =
        (0..5).map(|i| phone.scan(&server.home.barcodes[i], Outcome::Valid, now.plus_ms(i as i64))).collect();
    let batch = phone.batch(vec![scans[0].clone(), scans[3].clone()]);
    assert_eq!(phone.sync(&server, &batch).await.status(), 200);
    let request = phone.bearer(server.post("/api/scanning/log-status"));
    let answer = request.json(&json!({ "log_id": phone.log.log_id, "head": 7 })).send().await.unwrap();
    assert_eq!(json(answer, 200).await, json!({ "missing": [[2, 3], [5, 7]] }));
}

#[tokio::test]
async fn uploads_are_counted_by_outcome() {
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let now = server.state.app.clock.now();
    let scans = vec![
        phone.scan(&server.home.barcodes[0], Outcome::Valid, now),
        phone.scan("nobody's", Outcome::Invalid, now.plus_ms(1)),
    ];
    let batch = phone.batch(scans);
    phone.sync(&server, &batch).await;
    phone.sync(&server, &batch).await;
    let metrics = server.state.metrics.text();
    for line in [
        "admit_scans_total{outcome=\"valid\"} 1",
        "admit_scans_total{outcome=\"invalid\"} 1",
        "admit_syncs_total{status=\"success\"} 2",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    assert!(!metrics.contains(phone.device_id().as_str()) && !metrics.contains(phone.key_id().as_str()));
}

/// S1 §10.2: this counter gives the rate of conflicts. Every route for scans counts, and a repeat does not.
#[tokio::test]
async fn findings_of_uploads_are_counted() {
    let server = TestServer::start().await;
    let (mut a, mut b) = (Phone::pair(&server, &server.home, "a").await, Phone::pair(&server, &server.home, "b").await);
    let now = server.state.app.clock.now();
    let counted = async |so_many: u64| {
        let metrics = server.state.metrics.text();
        let line = format!("admit_conflicts_total {so_many}\n");
        assert!(metrics.contains(&line), "{line} in {metrics}");
    };
    let first = a.scan(&server.home.barcodes[0], Outcome::Valid, now.plus_ms(-60_000));
    let first = a.batch(vec![first]);
    assert_eq!(a.sync(&server, &first).await.status(), 200);
    counted(0).await;
    let second = b.scan(&server.home.barcodes[0], Outcome::Valid, now.plus_ms(-30_000));
    let second = b.batch(vec![second]);
    let answer = json(b.sync(&server, &second).await, 200).await;
    let found = answer["conflicts"].as_array().unwrap().len() as u64;
    assert!(found > 0, "{answer}");
    counted(found).await;
    assert_eq!(b.sync(&server, &second).await.status(), 200);
    counted(found).await;
    let scan = json!({ "ticket_code": server.home.barcodes[0], "scanned_at": now.to_string(), "offline_id": "third" });
    let body = json!({
        "batch_id": "s2", "device_id": b.device_id(), "batch_created_at": now.to_string(), "batch_size": 1,
        "scans": [scan],
    });
    json(b.bearer(server.post("/api/scans/sync")).json(&body).send().await.unwrap(), 200).await;
    let metrics = server.state.metrics.text();
    let line = metrics.lines().find(|line| line.starts_with("admit_conflicts_total ")).unwrap();
    let after: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(after > found, "S2's uploads count as well: {line}");
}

/// spec D19: a body that is refused before it is read is a failed sync. It counts in the metrics and for its device.
#[tokio::test]
async fn a_body_that_cannot_be_read_is_a_failed_sync() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    for (tries, path) in ["/api/scanning/sync", "/api/scans/sync"].iter().cycle().take(5).enumerate() {
        let broken = phone.bearer(server.post(path)).header("content-type", "application/json");
        let broken = broken.header("content-encoding", "gzip").body("no gzip at all");
        assert_eq!(broken.send().await.unwrap().status(), 400, "{path}");
        let metrics = server.state.metrics.text();
        let line = format!("admit_syncs_total{{status=\"refused\"}} {}", tries + 1);
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
    let (org, id) = (&server.home.owner.organization_id, phone.device_id().clone());
    let device =
        admit_app::ports::read(&*server.state.app.store, org, move |tx| tx.device(&id)).await.unwrap().unwrap();
    assert_eq!(device.state.as_str(), "suspended", "five in a row");
}

/// spec D19: an error of the network does not indicate a broken device. A phone at the edge of the Wi-Fi sends the
/// same upload again and again, and each breaks off in the middle.
#[tokio::test]
async fn an_upload_that_a_network_cuts_off_is_no_failed_sync() {
    use tokio::io::AsyncWriteExt;
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let refused = || async {
        let metrics = server.state.metrics.text();
        let line = metrics.lines().find(|line| line.starts_with("admit_syncs_total{status=\"refused\"}"));
        line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse::<u32>().unwrap())
    };
    for (tries, path) in ["/api/scanning/sync", "/api/scans/sync"].iter().cycle().take(6).enumerate() {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: 1000\r\n\r\n{{\"device_id\"",
            server.address(),
            phone.key()
        );
        let mut stream = tokio::net::TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        drop(stream);
        // No client is there to read the answer, so only the counter shows that the server noticed.
        while refused().await <= tries as u32 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await; // tidy-allow: a poll loop's own pause
        }
    }
    let now = server.state.app.clock.now();
    let scan = phone.scan(&server.home.barcodes[0], Outcome::Valid, now);
    let batch = phone.batch(vec![scan]);
    json(phone.sync(&server, &batch).await, 200).await;
}

#[tokio::test]
async fn the_same_ids_from_another_organisation_are_its_own() {
    let server = TestServer::start().await;
    let (mut a, mut b) =
        (Phone::pair(&server, &server.home, "x").await, Phone::pair(&server, &server.other, "x").await);
    assert_eq!(a.device_id(), b.device_id());
    let now = server.state.app.clock.now();
    let (ours, foreign) =
        (a.scan(&server.home.barcodes[0], Outcome::Valid, now), b.scan(&server.other.barcodes[0], Outcome::Valid, now));
    assert_eq!(ours["scan_id"], foreign["scan_id"]);
    let (ours, foreign) = (a.batch(vec![ours]), b.batch(vec![foreign]));
    let first = a.sync(&server, &ours).await.text().await.unwrap();
    let answer = json(b.sync(&server, &foreign).await, 200).await;
    assert_eq!(answer["conflicts"], json!([]), "no double entry: these are two tickets");
    assert_eq!(a.sync(&server, &ours).await.text().await.unwrap(), first);
    for org in [&server.home, &server.other] {
        let path = format!("/api/events/{}/occupancy", org.event_id);
        let counted = json(server.get(&path).bearer_auth(&org.token).send().await.unwrap(), 200).await;
        assert_eq!(counted["inside"], 1);
    }
}

#[tokio::test]
async fn a_revoked_device_hears_so_and_what_it_brings_is_kept_without_counting() {
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let now = server.state.app.clock.now();
    let path = format!("/api/scanning/devices/{}", phone.device_id());
    let revoke = server.request(reqwest::Method::DELETE, &path).bearer_auth(&server.home.token);
    assert!(revoke.send().await.unwrap().status().is_success());
    let list = format!("/api/scanning/events/{}/manifest", phone.event_id());
    problem(phone.bearer(server.get(&list)).send().await.unwrap(), 403, "device_revoked").await;
    let scan = phone.scan(&server.home.barcodes[0], Outcome::Valid, now);
    let batch = phone.batch(vec![scan.clone()]);
    let refused = phone.sync(&server, &batch).await;
    assert!(refused.headers().contains_key("x-admit-witness"));
    let refused = problem(refused, 403, "device_revoked").await;
    assert_eq!(refused["kept"], json!([scan["scan_id"]]));
    assert_eq!(refused["quota_left"], 19_999);
    let path = format!("/api/events/{}/occupancy", phone.event_id());
    let counted = json(server.get(&path).bearer_auth(&server.home.token).send().await.unwrap(), 200).await;
    assert_eq!(counted["inside"], 0);
}
