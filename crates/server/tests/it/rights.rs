//! A device's right to upload, over HTTP (spec D10, D11, D19, §5 `rotate-key`).

use admit_app::epochs;
use admit_core::ids::EventId;
use admit_core::rule::Epoch;
use admit_core::scan::Outcome;
use admit_core::wire::scanning::{PairAnswer, Witness};
use admit_server::adapters::per_address::PAIRING_ASKS;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::device::Phone;
use crate::organiser::{as_owner, get, post};
use crate::server::{TestServer, json, problem};
use crate::signed::Log;

async fn ask(server: &TestServer, device: &str) -> Value {
    let body = json!({ "device_id": device, "name": "Side door", "device_type": "phone" });
    json(server.post("/api/scanning/pairing-requests").json(&body).send().await.unwrap(), 201).await
}

async fn claim(server: &TestServer, ticket: &Value, device: &str) -> Response {
    let body = json!({
        "pairing_token": ticket["pairing_token"], "claim_secret": ticket["claim_secret"], "device_id": device,
    });
    server.post("/api/scanning/pair").json(&body).send().await.unwrap()
}

fn approval(ticket: &Value) -> String {
    format!("/api/pairing-requests/{}/approve", ticket["pairing_token"].as_str().unwrap())
}

fn place(server: &TestServer) -> Value {
    json!({ "event_id": server.home.event_id, "gate_id": "main" })
}

/// spec D11 (b): 202 until an organiser approves, then 200 once, then 410.
#[tokio::test]
async fn d11_b_over_http_a_device_waits_with_202_and_is_paired_with_200_once() {
    let server = TestServer::start().await;
    let ticket = ask(&server, "d-1").await;
    let waiting = json(claim(&server, &ticket, "d-1").await, 202).await;
    assert_eq!((&waiting["status"], &waiting["expires_at"]), (&json!("waiting"), &ticket["expires_at"]));
    let shown = get(&server, approval(&ticket).trim_end_matches("/approve")).await;
    assert_eq!(
        (&shown["device_id"], &shown["name"], &shown["approved"]),
        (&json!("d-1"), &json!("Side door"), &json!(false))
    );
    let refused = as_owner(&server, &server.home, Method::POST, &approval(&ticket)).send().await.unwrap();
    assert_eq!(problem(refused, 400, "invalid_request").await["errors"][0]["path"], "event_id");
    let approved = post(&server, &approval(&ticket), place(&server), 200).await;
    assert_eq!((&approved["gate_id"], &approved["device_id"]), (&json!("main"), &json!("d-1")));
    let paired = json(claim(&server, &ticket, "d-1").await, 200).await;
    let path = format!("/api/scanning/events/{}/changes", server.home.event_id);
    let key = paired["api_key"].as_str().unwrap();
    assert_eq!(server.get(&path).bearer_auth(key).send().await.unwrap().status(), 200);
    problem(claim(&server, &ticket, "d-1").await, 410, "pairing_token_used").await;
}

/// spec D11 (b): the token without its secret is unknown; each wrong field is named.
#[tokio::test]
async fn d11_b_over_http_a_token_without_its_secret_is_404_and_wrong_fields_are_named() {
    let server = TestServer::start().await;
    let ticket = ask(&server, "d-1").await;
    post(&server, &approval(&ticket), place(&server), 200).await;
    let alone = json!({ "pairing_token": ticket["pairing_token"], "device_id": "d-1" });
    problem(server.post("/api/scanning/pair").json(&alone).send().await.unwrap(), 404, "not_found").await;
    let unknown = "/api/pairing-requests/admit_pt_unknown/approve";
    problem(
        as_owner(&server, &server.home, Method::POST, unknown).json(&place(&server)).send().await.unwrap(),
        404,
        "not_found",
    )
    .await;
    for (body, path) in [
        (json!({ "name": "x" }), "device_id"),
        (json!({ "device_id": "" }), "device_id"),
        (json!({ "device_id": "d", "device_type": "fridge" }), "device_type"),
        (json!({ "device_id": "d", "name": "x".repeat(201) }), "name"),
        (json!({ "device_id": "d", "name": "a\u{7}b" }), "name"),
    ] {
        let answer = server.post("/api/scanning/pairing-requests").json(&body).send().await.unwrap();
        assert_eq!(problem(answer, 400, "invalid_request").await["errors"][0]["path"], path, "{body}");
    }
    for (body, path) in [
        (json!({ "event_id": server.home.event_id }), "gate_id"),
        (json!({ "gate_id": "main" }), "event_id"),
        (json!({ "event_id": server.home.event_id, "gate_id": "nowhere" }), "gate_id"),
    ] {
        let ticket = ask(&server, "d-2").await;
        let answer =
            as_owner(&server, &server.home, Method::POST, &approval(&ticket)).json(&body).send().await.unwrap();
        assert_eq!(problem(answer, 400, "invalid_request").await["errors"][0]["path"], path, "{body}");
    }
}

/// spec D11 (b): a device that asks has no credential, so each address may ask only so often; other addresses are not
/// affected.
#[tokio::test]
async fn d11_b_one_address_alone_does_not_close_the_way_for_everybody() {
    let server = TestServer::start().await;
    let ask = async |from: &str| {
        let body = json!({ "device_id": "d", "name": "Side door" });
        let request = server.post("/api/scanning/pairing-requests").header("x-forwarded-for", from).json(&body);
        request.send().await.unwrap()
    };
    for _ in 0..PAIRING_ASKS {
        assert_eq!(ask("203.0.113.9").await.status(), 201);
    }
    let refused = ask("203.0.113.9").await;
    assert!(refused.headers().contains_key("retry-after"));
    problem(refused, 429, "rate_limited").await;
    assert_eq!(ask("203.0.113.10").await.status(), 201);
}

/// Each address may try only so many wrong pairing tokens. A right token works as often as there are phones.
#[tokio::test]
async fn guesses_at_pairing_tokens_are_bounded_and_a_good_one_is_not_counted() {
    let server = TestServer::start().await;
    let token = server.pairing_token_at(&server.home, "main").await;
    let look = async |token: &str, from: &str| {
        let request = server.post("/api/scanning/pairing-place").header("x-forwarded-for", from);
        request.json(&json!({ "pairing_token": token })).send().await.unwrap()
    };
    for _ in 0..PAIRING_ASKS + 1 {
        let place = json(look(&token, "203.0.113.9").await, 200).await;
        assert_eq!(place["gate_id"], "main");
    }
    for _ in 0..PAIRING_ASKS {
        problem(look("admit_pt_unknown", "203.0.113.9").await, 404, "not_found").await;
    }
    let refused = look(&token, "203.0.113.9").await;
    assert!(refused.headers().contains_key("retry-after"));
    problem(refused, 429, "rate_limited").await;
    assert_eq!(look(&token, "203.0.113.10").await.status(), 200);
}

#[tokio::test]
async fn guesses_at_pairing_itself_are_bounded_too() {
    let server = TestServer::start().await;
    let token = server.pairing_token_at(&server.home, "main").await;
    let pair = async |token: &str, from: &str| {
        let body = json!({ "pairing_token": token, "device_id": "guesser", "name": "Guesser" });
        server.post("/api/scanning/pair").header("x-forwarded-for", from).json(&body).send().await.unwrap()
    };
    for _ in 0..PAIRING_ASKS {
        problem(pair("admit_pt_unknown", "203.0.113.9").await, 404, "not_found").await;
    }
    problem(pair(&token, "203.0.113.9").await, 429, "rate_limited").await;
    assert_eq!(pair(&token, "203.0.113.10").await.status(), 200);
}

/// spec D11 (b): an approval without a body puts a known device back at its former gate.
#[tokio::test]
async fn d11_b_over_http_a_known_device_is_approved_without_a_body() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let ticket = ask(&server, phone.device_id().as_str()).await;
    let approved = as_owner(&server, &server.home, Method::POST, &approval(&ticket)).send().await.unwrap();
    assert_eq!(json(approved, 200).await["gate_id"], "main");
    let paired = json(claim(&server, &ticket, phone.device_id().as_str()).await, 200).await;
    assert_ne!(paired["api_key"].as_str().unwrap(), phone.key());
}

/// spec §3 "Epoch and witness": a valid witness that the ledger lacks proves a roll-back, also at `/pair`. The new
/// epoch begins before the answer.
#[tokio::test]
async fn s3_witness_a_device_that_pairs_anew_proves_a_roll_back_too() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let before = server.state.app.store.epoch().await.unwrap();
    let lost = lost_witness(&server, &server.home.event_id, before).await;
    let token = server.pairing_token(&server.home).await;
    let body = json!({ "pairing_token": token, "device_id": phone.device_id() });
    let request = phone.bearer(server.post("/api/scanning/pair")).header("x-admit-witness", lost.to_string());
    let paired: PairAnswer =
        serde_json::from_value(json(request.json(&body).send().await.unwrap(), 200).await).unwrap();
    assert!(paired.epoch > before, "the answer speaks of the new epoch already");
    assert_eq!(server.state.app.store.epoch().await.unwrap(), paired.epoch);
}

/// A valid witness of this server, about a place that its ledger lacks.
async fn lost_witness(server: &TestServer, event_id: &EventId, epoch: Epoch) -> Witness {
    let organization = &server.home.owner.organization_id;
    let held = epochs::witness(&server.state.app, organization, &server.home.event_id).await.unwrap();
    let (serial, key) = (held.serial + 7, *server.state.app.secret.witness_key());
    let mac = admit_core::sign::witness_mac(&key, epoch, event_id, serial, &held.audit_head);
    Witness { epoch, event_id: event_id.clone(), serial, audit_head: held.audit_head, mac }
}

/// An event made after the backup is lost, with the pairings of its thirty phones. Each phone brings a witness of it
/// when it pairs again, and only the first begins an epoch.
#[tokio::test]
async fn s3_witness_of_an_event_that_was_lost_begins_one_epoch_not_one_a_phone() {
    let server = TestServer::start().await;
    let before = server.state.app.store.epoch().await.unwrap();
    let lost = lost_witness(&server, &EventId::new("lost").unwrap(), before).await;
    let mut epochs = Vec::new();
    for device in ["a", "b", "c"] {
        let token = server.pairing_token(&server.home).await;
        let body = json!({ "pairing_token": token, "device_id": device });
        let request = server.post("/api/scanning/pair").header("x-admit-witness", lost.to_string());
        json(request.json(&body).send().await.unwrap(), 200).await;
        epochs.push(server.state.app.store.epoch().await.unwrap());
    }
    assert!(epochs[0] > before, "the first proves a roll-back");
    assert_eq!(epochs, [epochs[0]; 3]);
}

/// spec §5 `rotate-key`: the answer is `{pairing_token, url, expires_at}`, bound to that device. Both keys work in the
/// overlap, and scans signed under the old key verify.
#[tokio::test]
async fn rotate_key_over_http_gives_a_bound_token_and_the_old_queue_verifies() {
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let now = server.state.app.clock.now();
    let queued: Vec<Value> =
        (0..3).map(|n| phone.scan(&server.home.barcodes[n], Outcome::Valid, now.plus_ms(n as i64))).collect();
    // The key must be in use. A key that was never used ends with the next pairing (D11).
    let changes = format!("/api/scanning/events/{}/changes", server.home.event_id);
    assert_eq!(phone.bearer(server.get(&changes)).send().await.unwrap().status(), 200);
    let path = format!("/api/scanning/devices/{}/rotate-key", phone.device_id());
    let made = post(&server, &path, json!({}), 201).await;
    assert!(
        made["url"].as_str().unwrap().ends_with(&format!("/scan/#pair={}", made["pairing_token"].as_str().unwrap()))
    );
    let pair = |device: &str| {
        let body = json!({ "pairing_token": made["pairing_token"], "device_id": device });
        phone.bearer(server.post("/api/scanning/pair")).json(&body).send()
    };
    problem(pair("another").await.unwrap(), 410, "pairing_token_used").await;
    let paired: PairAnswer =
        serde_json::from_value(json(pair(phone.device_id().as_str()).await.unwrap(), 200).await).unwrap();
    let mut fresh = Phone { log: Log::new(paired, "a") };
    let batch = fresh.batch(queued);
    let answer = json(fresh.sync(&server, &batch).await, 200).await;
    assert_eq!(answer["processed"].as_array().unwrap().len(), 3);
    assert_eq!(get(&server, "/api/events/{event}/occupancy").await["inside"], 3, "proven: they count");
    let old = phone.bearer(server.get(&changes));
    assert_eq!(old.send().await.unwrap().status(), 200, "the overlap");
}

/// spec D19: only the answers 400 and 409 to authenticated requests count against a device. Five in a row suspend it.
/// The server then answers its upload with 403 `device_suspended` and `kept`. One request counts the scans that were
/// kept.
#[tokio::test]
async fn d19_over_http_five_refused_syncs_suspend_and_one_click_counts_what_was_held() {
    let server = TestServer::with(admit_server::Settings { syncs_per_minute: 1_000, ..Default::default() }).await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let state = async || get(&server, "/api/events/{event}/devices").await["items"][0]["state"].clone();
    // 401, 403, 404, 413, 429 and requests that never named the device do not count against it.
    for _ in 0..6 {
        let body = json!({ "device_id": "another", "sync_batch_id": "b", "scans": [] });
        problem(phone.sync(&server, &body).await, 401, "device_mismatch").await;
        let anonymous = server.post("/api/scanning/sync").json(&json!({})).send().await.unwrap();
        problem(anonymous, 401, "no_key").await;
    }
    assert_eq!(state().await, "active");
    for n in 0..5 {
        assert_eq!(state().await, "active", "after {n}");
        problem(phone.sync(&server, &json!({ "scans": n })).await, 400, "invalid_request").await;
    }
    assert_eq!(state().await, "suspended");
    let scan = phone.scan(&server.home.barcodes[0], Outcome::Valid, server.state.app.clock.now());
    let batch = phone.batch(vec![scan.clone()]);
    let held = problem(phone.sync(&server, &batch).await, 403, "device_suspended").await;
    assert_eq!((&held["kept"], &held["rejected"]), (&json!([scan["scan_id"]]), &json!([])));
    assert_eq!(get(&server, "/api/events/{event}/occupancy").await["inside"], 0);
    let incidents = get(&server, "/api/events/{event}/incidents?status=open").await;
    let kinds: Vec<&Value> = incidents["items"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert!(kinds.contains(&&json!("repeated_failures")), "{kinds:?}");
    let path = format!("/api/scanning/devices/{}/resume", phone.device_id());
    let resumed = post(&server, &path, json!({}), 200).await;
    assert_eq!((&resumed["state"], &resumed["counted"]), (&json!("active"), &json!(1)));
    assert_eq!(get(&server, "/api/events/{event}/occupancy").await["inside"], 1);
    assert_eq!(phone.sync(&server, &batch).await.status(), 200, "its receipt, when it asks again");
}

/// spec D10: an organiser imports a saved log. The same request may accept it; D10's `accept` counts the rest.
#[tokio::test]
async fn d10_over_http_a_saved_log_is_imported_and_accepted() {
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let now = server.state.app.clock.now();
    let lines: Vec<String> = (0..3)
        .map(|n| phone.scan(&server.home.barcodes[n], Outcome::Valid, now.plus_ms(n as i64)).to_string())
        .collect();
    let device = format!("/api/scanning/devices/{}", phone.device_id());
    json(as_owner(&server, &server.home, Method::DELETE, &device).send().await.unwrap(), 200).await;
    let import = async |query: &str, text: &str, kind: &str| {
        let path = format!("/api/events/{{event}}/scans/import{query}");
        let request = as_owner(&server, &server.home, Method::POST, &path).header("content-type", kind);
        request.body(text.to_owned()).send().await.unwrap()
    };
    let kind = "application/x-ndjson";
    let first = json(import("", &lines[..2].join("\n"), kind).await, 200).await;
    assert_eq!((&first["stored"], &first["waiting"]), (&json!(2), &json!(2)));
    let second = json(import("?accept=1", &lines[..2].join("\n"), kind).await, 200).await;
    assert_eq!((&second["known"], &second["counted"]), (&json!(2), &json!(2)));
    assert_eq!(get(&server, "/api/events/{event}/occupancy").await["inside"], 2);
    json(import("", &lines[2], kind).await, 200).await;
    let waiting = async || get(&server, "/api/events/{event}/devices").await["items"][0]["waiting"].clone();
    assert_eq!(waiting().await, 1);
    assert_eq!(post(&server, &format!("{device}/accept"), json!({}), 200).await["counted"], 1);
    assert_eq!(get(&server, "/api/events/{event}/occupancy").await["inside"], 3);
    assert_eq!(waiting().await, 0);
    assert_eq!(post(&server, &format!("{device}/take-back"), json!({}), 200).await["waiting"], 3);
    assert_eq!(get(&server, "/api/events/{event}/occupancy").await["inside"], 0);
    let wrong = json(import("", "{}\nnonsense", kind).await, 200).await;
    assert_eq!((&wrong["wrong_lines"], &wrong["errors"][1]["line"]), (&json!(2), &json!(2)));
    problem(import("", "\n", kind).await, 400, "invalid_request").await;
    problem(import("?accept=maybe", &lines[0], kind).await, 400, "invalid_request").await;
    problem(import("", &lines[0], "text/plain").await, 415, "unsupported_media_type").await;
}

/// spec §3 "Log": the old log of a cleared phone stays listed until a person closes it.
#[tokio::test]
async fn s3_log_over_http_a_person_closes_an_abandoned_log() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let path = format!("/api/scanning/events/{}/heartbeat", server.home.event_id);
    let beat = json!({ "log_id": "old", "head": 4, "pending": 4 });
    json(phone.bearer(server.post(&path)).json(&beat).send().await.unwrap(), 200).await;
    let missing = async || get(&server, "/api/events/{event}/devices").await["items"][0]["missing_count"].clone();
    assert_eq!(missing().await, 4);
    let close = format!("/api/scanning/devices/{}/logs/old/close", phone.device_id());
    let closed = post(&server, &close, json!({}), 200).await;
    assert_eq!((&closed["log_id"], closed["closed_at"].is_string()), (&json!("old"), true));
    assert_eq!(missing().await, 0);
}

/// spec §5 `heartbeat`: every member is bounded, and a wrong one is named.
#[tokio::test]
async fn s5_heartbeat_members_are_bounded_and_a_wrong_one_is_named() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let path = format!("/api/scanning/events/{}/heartbeat", server.home.event_id);
    let good =
        json!({ "log_id": "l", "head": 1, "pending": 1, "battery": 100, "app_version": "1.0", "manifest_version": 1 });
    json(phone.bearer(server.post(&path)).json(&good).send().await.unwrap(), 200).await;
    let cases = [
        ("battery", json!(101)),
        ("battery", json!(300)),
        ("battery", json!(-1)),
        ("app_version", json!("v".repeat(201))),
        ("app_version", json!("a\nb")),
        ("head", json!(1_u64 << 60)),
        ("head", json!(-1)),
        ("pending", json!(1_u64 << 60)),
        ("pending", json!(1.5)),
        ("manifest_version", json!(1_u64 << 60)),
        ("clock_offset_ms", json!(i64::MAX)),
        ("log_id", json!("")),
    ];
    for (field, value) in cases {
        let mut beat = good.clone();
        beat[field] = value.clone();
        let answer = phone.bearer(server.post(&path)).json(&beat).send().await.unwrap();
        assert_eq!(problem(answer, 400, "invalid_request").await["errors"][0]["path"], field, "{value}");
    }
}

/// Promise 7: another organisation's devices, logs and requests are not there.
#[tokio::test]
async fn another_organisations_device_is_not_there_for_any_act() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let ticket = ask(&server, "d-1").await;
    post(&server, &approval(&ticket), place(&server), 200).await;
    let device = format!("/api/scanning/devices/{}", phone.device_id());
    let acts = ["rotate-key", "resume", "ring", "accept", "take-back", "logs/log-a/close"]
        .map(|act| format!("{device}/{act}"));
    for path in acts.into_iter().chain([approval(&ticket)]) {
        let answer = as_owner(&server, &server.other, Method::POST, &path).send().await.unwrap();
        problem(answer, 404, "not_found").await;
        assert_eq!(server.post(&path).send().await.unwrap().status(), 401, "{path}");
    }
    let path = format!("/api/events/{}/scans/import", server.home.event_id);
    let import = as_owner(&server, &server.other, Method::POST, &path).header("content-type", "application/x-ndjson");
    problem(import.body("{}").send().await.unwrap(), 404, "not_found").await;
}
