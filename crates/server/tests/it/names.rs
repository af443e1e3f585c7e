//! The compact form of the list, and the names part, over HTTP (spec §5, D5).

use std::io::Read;

use admit_app::gates::{self, GatePatch};
use admit_app::guests::update::{GuestPatch, update};
use admit_app::tickets::{self, NewGuest, NewTicket};
use admit_core::ids::{GateId, GuestId};
use admit_core::manifest::verify::{Content, Expected, Manifest, read};
use admit_core::manifest::{Names, read_names};
use admit_core::sign::check_body_signature;
use reqwest::Response;

use crate::device::Phone;
use crate::server::{TestServer, problem};

const COMPACT: &str = "application/vnd.admit.manifest";

async fn fetch(server: &TestServer, phone: &Phone, path: &str, headers: &[(&str, &str)]) -> Response {
    let path = format!("/api/scanning/events/{}/{path}", phone.event_id());
    let request = phone.bearer(server.get(&path));
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send().await.unwrap()
}

/// The body before its content coding, its `X-Signature`, and its length as sent.
async fn decoded(answer: Response) -> (Vec<u8>, String, usize) {
    assert_eq!(answer.status(), 200);
    let signature = answer.headers()["x-signature"].to_str().unwrap().to_owned();
    let coding = answer.headers().get("content-encoding").map(|value| value.to_str().unwrap().to_owned());
    let bytes = answer.bytes().await.unwrap().to_vec();
    let sent = bytes.len();
    let body = match coding.as_deref() {
        Some("gzip") => {
            let mut plain = Vec::new();
            flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
            plain
        }
        Some("zstd") => zstd::decode_all(&bytes[..]).unwrap(),
        Some(other) => panic!("{other}"),
        None => bytes,
    };
    (body, signature, sent)
}

fn list(phone: &Phone, body: &[u8], signature: &str) -> Manifest {
    let expected = Expected { organization_id: &phone.log.paired.organization_id, event_id: phone.event_id() };
    read(body, Some(signature), phone.key(), expected).unwrap()
}

fn names(phone: &Phone, body: &[u8], signature: &str, active: Option<&Names>) -> Names {
    let expected = Expected { organization_id: &phone.log.paired.organization_id, event_id: phone.event_id() };
    read_names(body, Some(signature), phone.key(), expected, active).unwrap()
}

async fn allow(server: &TestServer, gate: &str, allowed: bool) {
    let (owner, event_id) = (&server.home.owner, server.home.event_id.clone());
    let patch = GatePatch { names_on_devices: Some(allowed), ..GatePatch::default() };
    gates::update(&server.state.app, owner, event_id, GateId::new(gate).unwrap(), patch).await.unwrap();
}

async fn guests(server: &TestServer, count: usize, flag: bool) -> Vec<GuestId> {
    let guest = |n: usize| NewGuest {
        name: format!("Guest {n}"),
        email: Some(format!("guest{n}@secret.example")),
        phone: Some("+27 21 555 0000".into()),
        party_size: Some(1 + n as u32 % 4),
        flag: flag.then(|| "vip".into()),
        ..NewGuest::default()
    };
    let zone = |n: usize| Some(if n.is_multiple_of(10) { "vip" } else { "general" }.to_owned());
    let new = (0..count).map(|n| NewTicket { guest: Some(guest(n)), zone: zone(n), ..NewTicket::default() });
    let (app, home) = (&server.state.app, &server.home);
    let made = tickets::create(app, &home.owner, home.event_id.clone(), new.collect()).await.unwrap();
    made.into_iter().map(|(_, guest)| guest.unwrap().guest_id).collect()
}

#[tokio::test]
async fn the_compact_form_is_asked_for_by_accept_and_is_the_same_list_in_every_encoding() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let plain = fetch(&server, &phone, "manifest", &[("accept", "application/json")]).await;
    assert_eq!(plain.headers()["content-type"], "application/json");
    let etag = plain.headers()["etag"].clone();
    let (body, signature, _) = decoded(plain).await;
    let plain = list(&phone, &body, &signature);
    for encoding in ["identity", "gzip", "zstd"] {
        let asked =
            [("accept", "application/vnd.admit.manifest, application/json;q=0.9"), ("accept-encoding", encoding)];
        let answer = fetch(&server, &phone, "manifest", &asked).await;
        assert_eq!((&answer.headers()["content-type"], &answer.headers()["etag"]), (&COMPACT.parse().unwrap(), &etag));
        assert!(answer.headers()["vary"].to_str().unwrap().contains("accept,"));
        let (body, signature, _) = decoded(answer).await;
        assert!(check_body_signature(phone.key(), &body, &signature), "{encoding}");
        let compact = list(&phone, &body, &signature);
        assert_eq!(compact.identity(), plain.identity());
        assert_eq!(compact.into_index(None).unwrap().len(), 10);
    }
    let same =
        fetch(&server, &phone, "manifest", &[("accept", COMPACT), ("if-none-match", etag.to_str().unwrap())]).await;
    assert_eq!(same.status(), 304);
    let index = plain.clone().into_index(None).unwrap();
    guests(&server, 1, false).await;
    let answer = fetch(&server, &phone, &format!("manifest?since={}", plain.version), &[("accept", COMPACT)]).await;
    let (body, signature, _) = decoded(answer).await;
    let delta = list(&phone, &body, &signature);
    assert!(matches!(&delta.content, Content::Delta(delta) if delta.upserts.len() == 1));
    assert_eq!(delta.into_index(Some((&index, plain.version))).unwrap().len(), 11);
}

/// spec §5: the names part has its own tag and its own signature, holds what the door needs and never e-mail or phone.
#[tokio::test]
async fn names_are_for_gates_that_allow_them_and_hold_no_address() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let ids = guests(&server, 3, true).await;
    let refused = fetch(&server, &phone, "names", &[]).await;
    problem(refused, 403, "names_not_allowed").await;
    allow(&server, "north", true).await;
    problem(fetch(&server, &phone, "names", &[]).await, 403, "names_not_allowed").await;
    allow(&server, "main", true).await;
    for encoding in ["identity", "gzip", "zstd"] {
        let answer = fetch(&server, &phone, "names", &[("accept-encoding", encoding)]).await;
        let (body, signature, _) = decoded(answer).await;
        assert!(check_body_signature(phone.key(), &body, &signature), "{encoding}");
        let text = String::from_utf8(body.clone()).unwrap();
        assert!(!text.contains("secret.example") && !text.contains("21 555"), "{text}");
        assert_eq!(names(&phone, &body, &signature, None).by_ticket.len(), 3);
    }
    let answer = fetch(&server, &phone, "names", &[]).await;
    let etag = answer.headers()["etag"].to_str().unwrap().to_owned();
    assert!(etag.starts_with("W/\"names."), "{etag}");
    let (body, signature, _) = decoded(answer).await;
    let held = names(&phone, &body, &signature, None);
    let one = held.by_ticket.values().find(|one| one.name == "Guest 2").unwrap();
    assert_eq!((one.party_size, one.flag.as_deref(), one.note.as_deref()), (3, Some("vip"), None));

    // A scan or another gate's rule causes no new names. A guest's new name does, and it comes alone.
    allow(&server, "north", false).await;
    assert_eq!(fetch(&server, &phone, "names", &[("if-none-match", &etag)]).await.status(), 304);
    let patch = GuestPatch { name: Some("Countess".into()), ..GuestPatch::default() };
    update(&server.state.app, &server.home.owner, ids[2].clone(), patch).await.unwrap();
    let changed = fetch(&server, &phone, &format!("names?since={}", held.version), &[("if-none-match", &etag)]).await;
    let (body, signature, _) = decoded(changed).await;
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&body).unwrap()["upserts"].as_array().unwrap().len(), 1);
    let now = names(&phone, &body, &signature, Some(&held));
    assert!(now.by_ticket.len() == 3 && now.by_ticket.values().any(|one| one.name == "Countess"));
    let (body, signature, _) = decoded(fetch(&server, &phone, "names?since=999999", &[]).await).await;
    assert_eq!(names(&phone, &body, &signature, None).by_ticket, now.by_ticket, "an unknown version: all of them");

    // A device that lost the right gets no names, whatever it already has.
    allow(&server, "main", false).await;
    problem(fetch(&server, &phone, "names", &[("if-none-match", &etag)]).await, 403, "names_not_allowed").await;
    let stranger = Phone::pair(&server, &server.other, "b").await;
    let path = format!("/api/scanning/events/{}/names", phone.event_id());
    problem(stranger.bearer(server.get(&path)).send().await.unwrap(), 404, "not_found").await;
    allow(&server, "main", true).await;

    // No device gets names once the event is over: by the organiser's decision, or by its end and the hours after it.
    let event = "/api/events/{event}";
    let times = |starts: &str, ends: &str| serde_json::json!({ "starts_at": starts, "ends_at": ends });
    crate::organiser::patch(&server, event, times("2020-01-01T18:00:00Z", "2020-01-01T23:00:00Z")).await;
    problem(fetch(&server, &phone, "names", &[]).await, 403, "names_not_allowed").await;
    crate::organiser::patch(&server, event, times("2020-01-01T18:00:00Z", "2090-01-01T23:00:00Z")).await;
    assert_eq!(fetch(&server, &phone, "names", &[]).await.status(), 200);
    for status in ["ended", "archived"] {
        crate::organiser::patch(&server, event, serde_json::json!({ "status": status })).await;
        problem(fetch(&server, &phone, "names", &[("if-none-match", &etag)]).await, 403, "names_not_allowed").await;
    }
    admit_app::devices::revoke(&server.state.app, &server.home.owner, phone.device_id().clone(), None).await.unwrap();
    problem(fetch(&server, &phone, "names", &[]).await, 403, "device_revoked").await;
}

/// Decision 040: phones get the fields that the organiser chose, cut to a verdict's room, and no others.
#[tokio::test]
async fn phones_get_the_fields_that_verdicts_show_and_no_others() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    allow(&server, "main", true).await;
    let fields = serde_json::json!({ "Company": "ACME ".repeat(20), "Table": "7", "Diet": "vegan" });
    let guest = serde_json::json!({ "name": "Zoë", "fields": fields });
    let path = format!("/api/events/{}/guests", phone.event_id());
    let made = crate::organiser::post(&server, &path, guest, 201).await;
    assert_eq!(made["fields"]["Diet"], "vegan");
    let taken = |held: &Names| {
        let guest = held.by_ticket.values().find(|guest| guest.name == "Zoë").unwrap();
        held.fields(guest).map(|(label, value)| format!("{label}: {value}")).collect::<Vec<_>>()
    };
    let fetched = async |since: u64| {
        let (body, signature, _) = decoded(fetch(&server, &phone, &format!("names?since={since}"), &[]).await).await;
        (String::from_utf8(body.clone()).unwrap(), body, signature)
    };
    let (text, body, signature) = fetched(0).await;
    assert!(!text.contains("vegan") && !text.contains("ACME"), "{text}");
    let before = names(&phone, &body, &signature, None);
    let chosen = serde_json::json!({ "verdict_fields": ["Table", "Company"] });
    crate::organiser::patch(&server, "/api/events/{event}", chosen.clone()).await;
    let (text, body, signature) = fetched(before.version).await;
    assert!(text.contains("\"names\":") && !text.contains("vegan"), "all of them, as everybody changed: {text}");
    let held = names(&phone, &body, &signature, Some(&before));
    let cut = format!("Company: {}…", "ACME ".repeat(8).get(..39).unwrap());
    assert_eq!(taken(&held), ["Table: 7".to_owned(), cut]);
    // A removed field comes as a change.
    let patch = serde_json::json!({ "fields": { "Company": null, "Table": "8" } });
    let path = format!("/api/guests/{}", made["id"].as_str().unwrap());
    let changed = crate::organiser::patch(&server, &path, patch).await;
    assert_eq!(changed["fields"], serde_json::json!({ "Diet": "vegan", "Table": "8" }));
    let (text, body, signature) = fetched(held.version).await;
    assert!(text.contains("\"upserts\":"), "{text}");
    assert_eq!(taken(&names(&phone, &body, &signature, Some(&held))), ["Table: 8"]);
    let event = crate::organiser::get(&server, "/api/events/{event}").await;
    assert_eq!(event["verdict_fields"], chosen["verdict_fields"]);
}

/// The targets of docs/performance.md: 20,000 tickets in at most 1.25 MB as JSON and 0.70 MB in the compact form, 100
/// changed in 10 kB.
#[tokio::test]
async fn a_list_of_20_000_tickets_is_as_small_as_was_promised() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let mut ids = guests(&server, 10_000, false).await;
    ids.extend(guests(&server, 9_990, false).await);
    for (form, most) in [("application/json", 1_250_000), (COMPACT, 700_000)] {
        let answer = fetch(&server, &phone, "manifest", &[("accept", form), ("accept-encoding", "zstd")]).await;
        let (body, signature, sent) = decoded(answer).await;
        let list = list(&phone, &body, &signature);
        assert!(sent <= most, "{form}: {sent} bytes");
        let version = list.version;
        for id in &ids[..100] {
            let patch = GuestPatch { party_size: Some(if most > 700_000 { 5 } else { 6 }), ..GuestPatch::default() };
            update(&server.state.app, &server.home.owner, id.clone(), patch).await.unwrap();
        }
        let asked = [("accept", form), ("accept-encoding", "zstd")];
        let answer = fetch(&server, &phone, &format!("manifest?since={version}"), &asked).await;
        let (body, signature, sent) = decoded(answer).await;
        let index = list.into_index(None).unwrap();
        let delta = self::list(&phone, &body, &signature);
        assert!(matches!(&delta.content, Content::Delta(delta) if delta.upserts.len() == 100));
        assert_eq!(delta.into_index(Some((&index, version))).unwrap().len(), 20_000);
        assert!(sent <= 10_000, "100 changed as {form}: {sent} bytes");
    }
}
