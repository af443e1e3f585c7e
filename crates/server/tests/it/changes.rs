//! `GET …/changes` over HTTP: changes at once, waiting, the end of a wait.

use std::time::{Duration, Instant};

use admit_app::ports::read;
use admit_app::tickets::update::{TicketPatch, update};
use admit_core::barcode::BarcodeHash;
use admit_core::ids::TicketId;
use admit_core::manifest::compact::is_compact;
use admit_core::scan::Outcome;
use admit_core::ticket::TicketStatus;
use admit_core::wire::engine::Input;
use serde_json::{Value, json};

use crate::device::Phone;
use crate::scanner::{Scanner, until};
use crate::server::{TestServer, json, problem};

async fn changes(server: &TestServer, phone: &Phone, query: &str) -> Value {
    let path = format!("/api/scanning/events/{}/changes?{query}", phone.event_id());
    json(phone.bearer(server.get(&path)).send().await.unwrap(), 200).await
}

/// Waits until a client waits for changes of the device's event.
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

/// A revoked phone would go on admitting people until it learns of the revocation, so its wait ends at once.
#[tokio::test]
async fn a_wait_ends_with_the_devices_own_revocation() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let first = changes(&server, &phone, "").await;
    let place = format!("cursor={}&manifest_version={}", first["cursor"].as_str().unwrap(), first["manifest_version"]);
    let path = format!("/api/scanning/events/{}/changes?{place}&wait=25", phone.event_id());
    let started = Instant::now();
    let (told, revoked) = tokio::join!(phone.bearer(server.get(&path)).send(), async {
        waiting(&server, &phone).await;
        let path = format!("/api/scanning/devices/{}", phone.device_id());
        server.request(reqwest::Method::DELETE, &path).bearer_auth(&server.home.token).send().await.unwrap()
    });
    assert_eq!(revoked.status(), 200);
    problem(told.unwrap(), 403, "device_revoked").await;
    assert!(started.elapsed() < Duration::from_secs(15), "the hint, not the deadline, ended the wait");
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

/// Tests the requirement that voids reach online devices within 10 s through `changes`. The test uses the scanner's
/// real engine, which only gets answers of the server. Its next verdict on the ticket is a refusal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_void_reaches_an_online_scanner_within_ten_seconds_and_the_next_scan_is_refused() {
    let server = TestServer::start().await;
    let mut scanners = [Scanner::new(&server.url, 1, 0), Scanner::new(&server.url, 2, 0)];
    for (n, scanner) in scanners.iter_mut().enumerate() {
        let code = server.pairing_token(&server.home).await;
        scanner.feed(Input::Pair { code, name: format!("Scanner {n}") }, &[]);
    }
    until(&mut scanners, "both to be ready", Scanner::is_ready).await;
    let all = server.home.event_id.clone();
    let whole = |scanner: &Scanner| scanner.caches.iter().any(|(key, _)| *key == format!("manifest:{all}"));
    until(&mut scanners, "the list", whole).await;
    let compact = |scanner: &Scanner| is_compact(&scanner.caches[&format!("manifest:{all}")]);
    assert!(scanners.iter().all(compact), "a phone takes the compact form");
    // Both requests are held open until something changes.
    let (org, event_id) = (&server.home.owner.organization_id, &server.home.event_id);
    let watched = |_: &Scanner| server.state.live.watchers(org, event_id) >= 2;
    until(&mut scanners, "both to wait for news", watched).await;

    let ticket_id = ticket_of(&server, &server.home.barcodes[0]).await;
    let voided = TicketPatch { status: Some(TicketStatus::Voided), ..TicketPatch::default() };
    let began = Instant::now();
    update(&server.state.app, &server.home.owner, ticket_id.clone(), voided).await.unwrap();
    let heard = |scanner: &Scanner| {
        let told = |(key, body): (&String, &Vec<u8>)| {
            key.starts_with("changes:") && String::from_utf8_lossy(body).contains(ticket_id.as_str())
        };
        scanner.caches.iter().any(told)
    };
    until(&mut scanners, "the void to arrive", heard).await;
    assert!(began.elapsed() < Duration::from_secs(10), "the promise, not a figure: {:?}", began.elapsed());
    for scanner in &mut scanners {
        let said = scanner.scan(&server.home.barcodes[0]);
        assert_eq!((said.opened, said.reason.as_deref()), (false, Some("ticket_voided")));
    }
}

/// The text "Already in" names place, time and device, with the name that staff gave the device.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_duplicate_names_the_device_it_came_on_first() {
    let server = TestServer::start().await;
    let mut scanners = [Scanner::new(&server.url, 1, 0), Scanner::new(&server.url, 2, 0)];
    for (scanner, name) in scanners.iter_mut().zip(["Left door", "Right door"]) {
        let code = server.pairing_token(&server.home).await;
        scanner.feed(Input::Pair { code, name: name.into() }, &[]);
    }
    until(&mut scanners, "both to be ready", Scanner::is_ready).await;
    // A scanner is ready before it has its list. Without the list it would not know the ticket.
    let list = format!("manifest:{}", server.home.event_id);
    until(&mut scanners, "the list", |scanner| scanner.caches.contains_key(&list)).await;
    let code = &server.home.barcodes[0];
    assert!(scanners[0].scan(code).opened);
    // If the list comes later than the first changes, these contain every ticket, not only this one.
    let heard = |scanner: &Scanner| {
        let told = |(key, body): (&String, &Vec<u8>)| {
            key.starts_with("changes:") && String::from_utf8_lossy(body).contains("Left door")
        };
        scanner.view().device_name == "Left door" || scanner.caches.iter().any(told)
    };
    until(&mut scanners, "the entry to be told", heard).await;
    let said = scanners[1].scan(code);
    let last = said.last_entry.unwrap();
    assert_eq!((said.outcome, last.device.as_str(), last.own), (Outcome::Duplicate, "Left door", false));
}

async fn ticket_of(server: &TestServer, barcode: &str) -> TicketId {
    let (org, event_id) = (&server.home.owner.organization_id, server.home.event_id.clone());
    let hash = BarcodeHash::of(barcode);
    let found = read(&*server.state.app.store, org, move |tx| tx.find_codes(&event_id, &[hash])).await.unwrap();
    found[0].1.clone()
}

/// The largest number is that of every JSON reader, 2^53 − 1, in a query as in a body.
#[tokio::test]
async fn a_version_beyond_what_json_carries_is_refused() {
    let server = TestServer::start().await;
    let a = Phone::pair(&server, &server.home, "a").await;
    for (rest, field) in [("changes", "manifest_version"), ("manifest", "since")] {
        for (number, good) in [((1_u64 << 53) - 1, true), (1 << 53, false), (u64::MAX, false)] {
            let path = format!("/api/scanning/events/{}/{rest}?{field}={number}", a.event_id());
            let answer = a.bearer(server.get(&path)).send().await.unwrap();
            if good {
                assert_eq!(answer.status(), 200, "{path}");
            } else {
                assert_eq!(problem(answer, 400, "invalid_request").await["errors"][0]["path"], field);
            }
        }
    }
}
