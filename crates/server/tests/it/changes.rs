//! `GET …/changes` over the wire: news at once, waiting, the end of waiting.

use std::time::{Duration, Instant};

use admit_core::scan::Outcome;
use serde_json::{Value, json};

use crate::device::Phone;
use crate::server::{TestServer, json};

async fn changes(server: &TestServer, phone: &Phone, query: &str) -> Value {
    let path = format!("/api/scanning/events/{}/changes?{query}", phone.event_id());
    json(phone.bearer(server.get(&path)).send().await.unwrap(), 200).await
}

/// Until somebody waits for news of the device's event.
async fn waiting(server: &TestServer, phone: &Phone) {
    while server.state.live.watchers(&phone.log.paired.organization_id, phone.event_id()) == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_wait_ends_with_the_news() {
    let server = TestServer::start().await;
    let (a, mut b) = (Phone::pair(&server, &server.home, "a").await, Phone::pair(&server, &server.home, "b").await);
    let first = changes(&server, &a, "").await;
    let version = first["manifest_version"].as_u64().unwrap();
    let place = format!("cursor={}&manifest_version={version}", first["cursor"].as_str().unwrap());
    let scan = b.scan(&server.home.barcodes[0], Outcome::Valid, server.state.app.clock.now());
    let batch = b.batch(vec![scan.clone()]);
    let asked = format!("{place}&wait=20");
    let started = Instant::now();
    let (news, sent) = tokio::join!(changes(&server, &a, &asked), async {
        waiting(&server, &a).await;
        b.sync(&server, &batch).await
    });
    assert_eq!(sent.status(), 200);
    assert!(started.elapsed() < Duration::from_secs(15), "the hint, not the deadline, ended the wait");
    assert_eq!(news["items"][0]["scans"][0]["scan_id"], scan["scan_id"]);
    assert_ne!(news["cursor"], first["cursor"]);
}

#[tokio::test]
async fn a_wait_without_news_ends_in_time_and_with_the_server() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let first = changes(&server, &phone, "").await;
    let place = format!("cursor={}&manifest_version={}", first["cursor"].as_str().unwrap(), first["manifest_version"]);
    let started = Instant::now();
    let quiet = changes(&server, &phone, &format!("{place}&wait=1")).await;
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
    assert_eq!(quiet["items"], json!([]));
    let asked = format!("{place}&wait=25");
    let (last, ()) = tokio::join!(changes(&server, &phone, &asked), async {
        waiting(&server, &phone).await;
        server.state.shutdown.cancel();
    });
    assert_eq!(last["items"], json!([]));
    assert!(started.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn a_cursor_of_another_epoch_begins_anew() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let first = changes(&server, &phone, "").await;
    let cursor: admit_core::wire::scanning::Cursor = first["cursor"].as_str().unwrap().parse().unwrap();
    let mut other = cursor.clone();
    other.epoch.random ^= 1;
    let answer = changes(&server, &phone, &format!("cursor={other}")).await;
    assert_eq!(answer["resync"], true);
}
