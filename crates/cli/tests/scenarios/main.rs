//! The scenarios of S1 §12.1 and §13, with separate processes. Two nodes of the real binary share one PostgreSQL and
//! one Redis. The scanners use the real engine. The network between them has faults that are drawn from a seed.

#[path = "../../../server/tests/it/private_redis.rs"]
#[allow(dead_code, reason = "each target uses its part of the harness")]
mod private_redis;
mod proxy;
mod scanner;
mod nodes;

use std::sync::atomic::Ordering;

use admit_core::wire::engine::{Input, Phase};
use reqwest::Method;
use serde_json::{Value, json};

use nodes::Venue;
use proxy::Weather;
use scanner::{Scanner, until};

fn codes(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("CODE-{n:04}")).collect()
}

async fn without_network(venue: &Venue, scanners: &mut [Scanner]) {
    venue.proxy.weather(Weather::Down);
    until(scanners, "scanners to notice", |one| !one.view().online).await;
}

async fn with_network(venue: &Venue, scanners: &mut [Scanner]) {
    venue.proxy.weather(Weather::Fair);
    scanners.iter_mut().for_each(|one| one.feed(Input::Online, &[]));
    until(scanners, "everything to be handed over", |one| one.view().unsent == 0).await;
}

/// The scans of a list, without claims whose final came: such a claim has no verdict of its own.
fn taken(scans: &Value) -> impl Iterator<Item = &Value> {
    scans["items"].as_array().unwrap().iter().filter(|scan| !scan["verdict"].is_null())
}

fn of<'a>(scans: &'a Value, device: &Scanner) -> Vec<&'a Value> {
    let id = device.view().device_id.as_ref().unwrap().as_str();
    taken(scans).filter(|scan| scan["device_id"] == id).collect()
}

/// S1 §12.1 (1): manifest download → local scans → sync → conflict detection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s1_12_1_complete_flow() {
    let codes = codes(10);
    let venue = Venue::open(&codes, 1, 1_000).await;
    let mut scanners = venue.scanners(&[0, 0, 0]).await;
    assert!(scanners.iter().all(|one| one.view().list.as_ref().is_some_and(|list| list.tickets == 10)));
    without_network(&venue, &mut scanners).await;
    for (n, scanner) in scanners.iter_mut().enumerate() {
        for code in &codes[n * 3..n * 3 + 3] {
            assert!(scanner.scan(code).opened);
        }
        assert!(scanner.scan("CODE-0009").opened, "nobody can know of the others");
    }
    with_network(&venue, &mut scanners).await;
    let scans = venue.get("/api/events/{event}/scans?limit=500").await;
    assert_eq!(scans["items"].as_array().unwrap().len(), 12);
    let inside = venue.get("/api/events/{event}/occupancy").await;
    assert_eq!((&inside["inside"], &inside["inside_over"]), (&json!(10), &json!(2)));
    let queue = venue.get("/api/events/{event}/incidents?status=open").await;
    assert_eq!(queue["items"].as_array().unwrap().len(), 1);
    assert_eq!(queue["items"][0]["kind"], "double_entry");
    venue.in_order();
}

/// S1 §12.1 (2): an earlier scan arrives in a later sync batch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s1_12_2_double_entry() {
    let venue = Venue::open(&codes(1), 2, 1_000).await;
    let mut scanners = venue.scanners(&[0, 0, 0]).await;
    without_network(&venue, &mut scanners).await;
    assert!(scanners[0].scan("CODE-0000").opened);
    // The two scans are far enough apart that the order is certain.
    let first_at = scanners[0].shown[0].at;
    loop {
        until(&mut scanners, "time to pass", |_| true).await;
        let now = admit_core::time::Timestamp::clamped(now_ms());
        if now.since(first_at) > 2_500 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await; // tidy-allow: two scans at two times
    }
    assert!(scanners[1].scan("CODE-0000").opened);
    // A request of the first scanner must not be under way when the network comes back, or it would arrive.
    until(&mut scanners, "nothing to be under way", |one| one.under_way == 0).await;
    with_network(&venue, &mut scanners[1..2]).await;
    let scans = venue.get("/api/events/{event}/scans").await;
    assert_eq!(of(&scans, &scanners[1])[0]["verdict"]["conflict_reason"], Value::Null, "alone it is the entry");
    with_network(&venue, &mut scanners).await;
    let scans = venue.get("/api/events/{event}/scans").await;
    let (early, late) = (of(&scans, &scanners[0])[0], of(&scans, &scanners[1])[0]);
    assert_eq!((&early["verdict"]["within"], &late["verdict"]["within"]), (&json!(1), &json!(0)));
    assert_eq!(late["verdict"]["conflict_reason"], "double_entry");
    venue.in_order();
}

/// S1 §12.1 (3): a device's clock is 15 s off, which the time exchange with the server corrects.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s1_12_3_clock_drift() {
    let venue = Venue::open(&codes(3), 3, 1_000).await;
    let mut scanners = venue.scanners(&[-15_000, 15_000, 0]).await;
    without_network(&venue, &mut scanners).await;
    let mut true_times = Vec::new();
    for (n, scanner) in scanners.iter_mut().enumerate() {
        true_times.push(now_ms());
        assert!(scanner.scan(&format!("CODE-000{n}")).opened);
    }
    with_network(&venue, &mut scanners).await;
    let scans = venue.get("/api/events/{event}/scans").await;
    for (scanner, true_ms) in scanners.iter().zip(true_times) {
        let scan = of(&scans, scanner)[0];
        let at = admit_core::time::Timestamp::parse(scan["at"].as_str().unwrap()).unwrap();
        let unsure = scan["uncertainty_ms"].as_i64().unwrap();
        assert!((at.ms() - true_ms).abs() <= unsure + 200, "{at} for {true_ms} ± {unsure}");
        assert!(unsure < 5_000, "and it is known well: ± {unsure}");
    }
    venue.in_order();
}

/// S1 §12.1 (4): uploads break off; the retry succeeds, and no scan is stored twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s1_12_4_network_failure() {
    let codes = codes(30);
    let venue = Venue::open(&codes, 4, 1_000).await;
    let mut scanners = venue.scanners(&[0, 0, 0]).await;
    venue.proxy.weather(Weather::Foul);
    for (n, code) in codes.iter().enumerate() {
        assert!(scanners[n % 3].scan(code).opened);
        scanners[n % 3].feed(Input::SyncNow, &[]);
        until(&mut scanners, "what came in to be taken", |_| true).await;
    }
    let enough = venue.proxy.cut.load(Ordering::Relaxed) + 10;
    let cut = venue.proxy.cut.clone();
    until(&mut scanners, "ten connections to be cut", |_| cut.load(Ordering::Relaxed) >= enough).await;
    with_network(&venue, &mut scanners).await;
    let scans = venue.get("/api/events/{event}/scans?limit=500").await;
    assert_eq!(taken(&scans).count(), 30, "each once");
    let inside = venue.get("/api/events/{event}/occupancy").await;
    assert_eq!((&inside["inside"], &inside["over"]), (&json!(30), &json!(0)));
    venue.in_order();
}

/// S1 §12.1 (5), §13.2: the version goes up, devices notice, load the new list and verify it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s1_12_5_manifest_expiry_and_s1_13_2_a_stale_manifest() {
    let venue = Venue::open(&codes(2), 5, 1_000).await;
    let mut scanners = venue.scanners(&[0, 0, 0]).await;
    without_network(&venue, &mut scanners).await;
    // A scanner that was paired later may have a newer list than the first.
    let before = scanners.iter().map(|one| one.view().list.as_ref().unwrap().version).max().unwrap();
    let made = venue.ask(Method::POST, "/api/events/{event}/tickets", Some(json!({ "barcode": "SOLD-LATE" }))).await;
    assert_eq!(made["barcode"], "SOLD-LATE");
    assert!(!scanners[0].scan("SOLD-LATE").opened, "old list, old truth");
    venue.proxy.weather(Weather::Fair);
    scanners.iter_mut().for_each(|one| one.feed(Input::Online, &[]));
    until(&mut scanners, "the new list", |one| one.view().list.as_ref().is_some_and(|list| list.version > before))
        .await;
    without_network(&venue, &mut scanners).await;
    for scanner in &mut scanners {
        scanner.start();
        assert!(scanner.is_ready(), "kept, and verified again");
    }
    assert!(scanners[1].scan("SOLD-LATE").opened);
    with_network(&venue, &mut scanners).await;
    venue.in_order();
}

/// S1 §12.1 (6), §13.1: a lost device's key ends, its later scans wait, and a person decides.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s1_12_6_device_loss_and_s1_13_1_a_lost_or_stolen_device() {
    let venue = Venue::open(&codes(4), 6, 1_000).await;
    let mut scanners = venue.scanners(&[0, 0, 0]).await;
    assert!(scanners[0].scan("CODE-0000").opened);
    until(&mut scanners[..1], "the first scan to arrive", |one| one.view().unsent == 0).await;
    without_network(&venue, &mut scanners).await;
    assert!(scanners[0].scan("CODE-0001").opened);
    assert!(scanners[1].scan("CODE-0002").opened);
    let lost = scanners[0].view().device_id.clone().unwrap();
    venue.ask(Method::DELETE, &format!("/api/scanning/devices/{lost}"), None).await;
    venue.proxy.weather(Weather::Fair);
    scanners.iter_mut().for_each(|one| one.feed(Input::Online, &[]));
    until(&mut scanners[..1], "the lost one to hear of it", |one| one.view().phase == Phase::Revoked).await;
    assert!(scanners[0].caches.is_empty(), "guest data is gone at once");
    with_network(&venue, &mut scanners).await;
    let inside = venue.get("/api/events/{event}/occupancy").await;
    assert_eq!(inside["inside"], 2, "what came before counts, and the other device's");
    let scans = venue.get("/api/events/{event}/scans").await;
    assert_eq!(of(&scans, &scanners[0]).len(), 2, "and nothing is lost");
    let queue = venue.get("/api/events/{event}/incidents?status=open").await;
    let waiting = &queue["items"][0];
    assert_eq!(waiting["kind"], "unverified_scan", "{queue}");
    let late = scanners[0].shown[1].scan_id.as_ref().unwrap().to_string();
    let said = json!({ "decision": "accept", "note": "found", "scans": [{ "device_id": lost, "scan_id": late }] });
    let path = format!("/api/incidents/{}/resolve", waiting["id"].as_str().unwrap());
    venue.ask(Method::POST, &path, Some(said)).await;
    let inside = venue.get("/api/events/{event}/occupancy").await;
    assert_eq!(inside["inside"], 3);
    venue.in_order();
}

/// S1 §12.1 (7), §13.3: fifty devices after an outage of every node, under the limit of ten syncs a minute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s1_12_7_and_s1_13_3_mass_resync_after_a_server_outage() {
    const DEVICES: usize = 50;
    const EACH: usize = 6;
    let codes = codes(DEVICES * EACH);
    let mut venue = Venue::open(&codes, 7, 10).await;
    let mut scanners = venue.scanners(&[0; DEVICES]).await;
    venue.outage();
    for (n, scanner) in scanners.iter_mut().enumerate() {
        for code in &codes[n * EACH..(n + 1) * EACH] {
            assert!(scanner.scan(code).opened);
        }
    }
    until(&mut scanners, "every phone to have tried in vain", |one| !one.view().online && one.uploads > 0).await;
    venue.recovers().await;
    let before: Vec<usize> = scanners.iter().map(|one| one.uploads).collect();
    until(&mut scanners, "everything to be handed over", |one| one.view().unsent == 0).await;
    for (scanner, before) in scanners.iter().zip(before) {
        assert!(scanner.uploads - before <= 10, "{} uploads of one phone", scanner.uploads - before);
    }
    let inside = venue.get("/api/events/{event}/occupancy").await;
    assert_eq!((&inside["inside"], &inside["over"]), (&json!(DEVICES * EACH), &json!(0)));
    let devices = venue.get("/api/events/{event}/devices").await;
    assert!(devices["items"].as_array().unwrap().iter().all(|one| one["missing_count"] == 0));
    venue.in_order();
}

fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    since.as_millis() as i64
}
