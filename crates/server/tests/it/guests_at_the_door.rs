//! Guests at the door: the scanner's real engine against the real server (S0 "Smart merge protection", "QR Scanning").

use admit_app::gates::{self, GatePatch};
use admit_core::decide::Screen;
use admit_core::ids::GateId;
use admit_core::wire::engine::{Input, NamesView};
use reqwest::Method;
use serde_json::{Value, json};

use crate::organiser::{as_owner, get, patch, post};
use crate::scanner::{Scanner, until};
use crate::server::TestServer;

const GUESTS: &str = "/api/events/{event}/guests";

async fn venue() -> (TestServer, Vec<Value>) {
    let server = TestServer::start().await;
    let allowed = GatePatch { names_on_devices: Some(true), ..GatePatch::default() };
    let (owner, event_id) = (&server.home.owner, server.home.event_id.clone());
    gates::update(&server.state.app, owner, event_id, GateId::new("main").unwrap(), allowed).await.unwrap();
    let mut guests = Vec::new();
    for name in ["Amélie Brânză", "Łukasz Ördög", "Zoë Amell"] {
        let party = if name.starts_with("Zo") { 4 } else { 1 };
        guests.push(post(&server, GUESTS, json!({ "name": name, "party_size": party }), 201).await);
    }
    (server, guests)
}

async fn scanners<const N: usize>(server: &TestServer) -> [Scanner; N] {
    let mut n = 0;
    let mut scanners = [(); N].map(|()| {
        n += 1;
        Scanner::new(&server.url, n, 0)
    });
    for scanner in &mut scanners {
        let code = server.pairing_token(&server.home).await;
        scanner.feed(Input::Operator { name: "Sam".into() }, &[]);
        scanner.feed(Input::Pair { code, name: "Door".into() }, &[]);
    }
    until(&mut scanners, "the names", |one| one.is_ready() && one.view().names == NamesView::Held { guests: 3 }).await;
    scanners
}

fn path(guest: &Value, more: &str) -> String {
    format!("/api/guests/{}{more}", guest["id"].as_str().unwrap())
}
async fn all_sent(scanners: &mut [Scanner]) {
    until(scanners, "all to be sent", |one| one.view().unsent == 0).await;
}

/// S0: every scan and attempt in the log with user, time, token hash and outcome.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s0_every_attempt_by_code_or_by_name_is_in_the_log_with_who_when_what_and_how_it_ended() {
    let (server, guests) = venue().await;
    let mut scanners = scanners::<1>(&server).await;
    let scanner = &mut scanners[0];
    assert_eq!(scanner.pick("amelie").screen, Screen::Admit);
    assert!(!scanner.scan("nobody-knows-this").opened);
    let code = guests[1]["ticket"]["barcode"].as_str().unwrap().to_owned();
    let scanned = scanner.scan(&code);
    assert_eq!((scanned.opened, scanned.name.as_deref()), (true, Some("Łukasz Ördög")));
    all_sent(&mut scanners).await;
    let log = get(&server, "/api/events/{event}/scans?limit=50").await;
    // A claim and its final share an id, because they are one attempt.
    let finals: Vec<&Value> = log["items"].as_array().unwrap().iter().filter(|scan| scan["stage"] == "final").collect();
    assert_eq!(finals.len(), 3);
    for scan in &finals {
        assert_eq!(scan["operator"], "Sam");
        assert!(scan["at"].is_string() && scan["device_id"].is_string() && scan["received_at"].is_string());
        let by_hand = scan["method"] == "manual";
        assert_eq!(scan["barcode_hash"].is_null(), by_hand, "a hash, or no code at all: {scan}");
    }
    let mut outcomes: Vec<(&str, bool)> =
        finals.iter().map(|scan| (scan["device_outcome"].as_str().unwrap(), scan["opened"] == true)).collect();
    outcomes.sort_unstable();
    assert_eq!(outcomes, [("invalid", false), ("valid", true), ("valid", true)]);
    let story = get(&server, &path(&guests[0], "/timeline")).await;
    let first = &story["items"][0];
    assert_eq!(
        (&first["what"], &first["by"], &first["by_hand"], &first["counts"]),
        (&json!("entered"), &json!("Sam"), &json!(true), &json!(true))
    );
}

/// S0 "Smart merge protection": a guest who was let in here stays checked in when older data of the server arrives,
/// and newer data about the guest is applied.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s0_a_guest_let_in_offline_stays_in_when_the_list_is_refreshed_and_a_void_and_a_new_name_still_arrive() {
    let (server, guests) = venue().await;
    let mut scanners = scanners::<2>(&server).await;
    // The device decides. The upload waits six seconds, and the list is refreshed meanwhile.
    let entry = scanners[0].pick("zoe");
    assert_eq!(entry.screen, Screen::AdmitParty);
    let count = Input::Count { scan_id: entry.scan_id.unwrap(), count: 3 };
    scanners[0].feed(count, &[]);
    assert_eq!(scanners[0].search("zoe")[0].already_in, 3);
    patch(&server, &path(&guests[2], ""), json!({ "name": "Zoë Newname" })).await;
    patch(&server, &path(&guests[2], ""), json!({ "ticket_status": "voided" })).await;
    until(&mut scanners, "the void", |one| one.view().list.as_ref().is_some_and(|list| list.newer.is_none())).await;
    all_sent(&mut scanners).await;
    let mut both = false;
    for _ in 0..2_000 {
        until(&mut scanners, "a moment", |_| true).await;
        let told: Vec<_> = scanners.iter_mut().map(|one| one.search("newname").into_iter().next()).collect();
        both = told.iter().all(|guest| {
            guest.as_ref().is_some_and(|it| it.already_in == 3 && it.reason.as_deref() == Some("ticket_voided"))
        });
        if both {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await; // tidy-allow: the pause of a poll loop
    }
    assert!(both, "{:?} {:?}", scanners[0].search("zo"), scanners[1].search("zo"));
    let shown = get(&server, &path(&guests[2], "")).await;
    assert_eq!((&shown["actual_count"], &shown["status"]), (&json!(3), &json!("checked_in")), "a person walked in");
}

/// S0: "Device A and Device B can scan different guests offline, sync independently, and see each other's check-ins".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s0_two_devices_let_different_guests_in_and_then_see_each_others_check_ins() {
    let (server, guests) = venue().await;
    let mut scanners = scanners::<2>(&server).await;
    assert!(scanners[0].pick("amelie").opened);
    assert!(scanners[1].pick("lukasz").opened);
    all_sent(&mut scanners).await;
    for name in ["amelie", "lukasz"] {
        let mut seen = false;
        for _ in 0..2_000 {
            until(&mut scanners, "a moment", |_| true).await;
            seen = scanners.iter_mut().all(|one| one.search(name)[0].already_in == 1);
            if seen {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await; // tidy-allow: the pause of a poll loop
        }
        assert!(seen, "{name}");
    }
    for guest in &guests[..2] {
        assert_eq!(get(&server, &path(guest, "")).await["status"], "checked_in");
    }
    assert_eq!(get(&server, "/api/events/{event}/incidents?status=open").await["items"], json!([]));
}

/// S0 "Authorization": an operator's phone reads no e-mail and no phone number, and no person without a right gets
/// names.
#[tokio::test]
async fn s0_the_door_gets_no_address_and_nobody_gets_guests_without_a_right() {
    let (server, guests) = venue().await;
    let none = server.get(&path(&guests[0], "")).send().await.unwrap();
    assert_eq!(none.status(), 401);
    let other = as_owner(&server, &server.other, Method::GET, &path(&guests[0], "")).send().await.unwrap();
    assert_eq!(other.status(), 404, "another organisation's guests are not there");
    let mut scanners = scanners::<1>(&server).await;
    let found = format!("{:?}", scanners[0].search("amelie"));
    assert!(found.contains("Amélie") && !found.contains('@'));
}

/// S0 "Token-based QR URLs": codes are random UUIDs, never counted ones.
#[tokio::test]
async fn s0_codes_are_random_and_not_numbered() {
    let (_, guests) = venue().await;
    let codes: Vec<&str> = guests.iter().map(|guest| guest["ticket"]["barcode"].as_str().unwrap()).collect();
    for code in &codes {
        assert_eq!((code.len(), &code[14..15]), (36, "4"), "a UUID of version 4: {code}");
    }
    assert_ne!(codes[0][..8], codes[1][..8]);
}
