//! Credentials: which one opens which route, and the separation of two organisations.

use admit_core::scan::Outcome;
use serde_json::json;

use crate::device::Phone;
use crate::server::{PASSWORD, TestServer, json, problem};

#[tokio::test]
async fn a_device_route_wants_a_devices_key() {
    let server = TestServer::start().await;
    let path = format!("/api/scanning/events/{}/manifest", server.home.event_id);
    problem(server.get(&path).send().await.unwrap(), 401, "no_key").await;
    problem(server.get(&path).bearer_auth("nonsense").send().await.unwrap(), 401, "unknown_key").await;
    // An organiser's token is no device's key.
    problem(server.get(&path).bearer_auth(&server.home.token).send().await.unwrap(), 401, "unknown_key").await;
    let basic = server.get(&path).header("authorization", "Basic YTpi").send().await.unwrap();
    assert_eq!(basic.headers()["www-authenticate"], "Bearer realm=\"admit\"");
    problem(basic, 401, "no_key").await;
}

#[tokio::test]
async fn a_devices_key_opens_no_organisers_route() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    problem(phone.bearer(server.get("/api/events")).send().await.unwrap(), 401, "unknown_token").await;
}

#[tokio::test]
async fn another_organisations_event_is_not_there() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    for rest in ["manifest", "changes"] {
        let path = format!("/api/scanning/events/{}/{rest}", server.other.event_id);
        problem(phone.bearer(server.get(&path)).send().await.unwrap(), 404, "not_found").await;
    }
    let path = format!("/api/events/{}/stream", server.other.event_id);
    problem(phone.bearer(server.get(&path)).send().await.unwrap(), 404, "not_found").await;
    problem(server.get(&path).bearer_auth(&server.home.token).send().await.unwrap(), 404, "not_found").await;
}

#[tokio::test]
async fn pairing_needs_a_token_that_is_good_and_takes_it_once() {
    let server = TestServer::start().await;
    let pair = |token: &str, device: &str| {
        server.post("/api/scanning/pair").json(&json!({ "pairing_token": token, "device_id": device })).send()
    };
    problem(pair("admit_pt_unknown", "d-1").await.unwrap(), 404, "not_found").await;
    let token = server.pairing_token(&server.home).await;
    let first = pair(&token, "d-1").await.unwrap();
    assert!(first.headers().contains_key("x-admit-witness"));
    let first = json(first, 200).await;
    // S1 §8.1 step 6, with the additions of spec §5.
    let members: Vec<&String> = first.as_object().unwrap().keys().collect();
    let expected = ["api_key", "device_id", "epoch", "event_id", "gate_id", "key_id", "name", "organization_id"];
    assert_eq!(
        members.into_iter().collect::<std::collections::BTreeSet<_>>(),
        expected.map(String::from).iter().collect()
    );
    let home = &server.home;
    assert_eq!((&first["device_id"], &first["gate_id"]), (&json!("d-1"), &json!("main")));
    assert_eq!(first["organization_id"], json!(home.owner.organization_id));
    assert_eq!(first["event_id"], json!(home.event_id));
    // The same device pairs again before its key's first use: it gets a new key, and the former key ends.
    let second = json(pair(&token, "d-1").await.unwrap(), 200).await;
    assert_ne!(first["api_key"], second["api_key"]);
    let path = format!("/api/scanning/events/{}/changes", server.home.event_id);
    let with = |answer: &serde_json::Value| server.get(&path).bearer_auth(answer["api_key"].as_str().unwrap()).send();
    problem(with(&first).await.unwrap(), 401, "unknown_key").await;
    assert_eq!(with(&second).await.unwrap().status(), 200);
    problem(pair(&token, "d-2").await.unwrap(), 410, "pairing_token_used").await;
    // A known device's id needs its own key.
    let token = server.pairing_token(&server.home).await;
    problem(pair(&token, "d-1").await.unwrap(), 409, "device_id_taken").await;
    let own = server.post("/api/scanning/pair").bearer_auth(second["api_key"].as_str().unwrap());
    json(own.json(&json!({ "pairing_token": token, "device_id": "d-1" })).send().await.unwrap(), 200).await;
}

#[tokio::test]
async fn every_answer_to_a_device_brings_a_witness_and_a_false_one_changes_nothing() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let path = format!("/api/scanning/events/{}/changes", server.home.event_id);
    let answer = phone.bearer(server.get(&path)).send().await.unwrap();
    let witness = answer.headers()["x-admit-witness"].to_str().unwrap().to_owned();
    let epoch = server.state.app.store.epoch().await.unwrap();
    for header in [witness.clone(), "nonsense".to_owned(), witness.replace("\"serial\":", "\"serial\":9")] {
        let answer = phone.bearer(server.get(&path)).header("x-admit-witness", header).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    assert_eq!(server.state.app.store.epoch().await.unwrap(), epoch);
    let refused = phone.bearer(server.get(&format!("{path}?wait=99"))).send().await.unwrap();
    assert!(refused.headers().contains_key("x-admit-witness"), "also when the answer is a problem");
}

/// An answer with the witness of its own head brings the newest witness: the same that the ledger would give.
#[tokio::test]
async fn a_witness_that_comes_with_the_answer_is_the_newest() {
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let event = format!("/api/scanning/events/{}", server.home.event_id);
    let scan = phone.scan(&server.home.barcodes[0], Outcome::Valid, server.state.app.clock.now());
    let batch = phone.batch(vec![scan]);
    let synced = phone.sync(&server, &batch).await;
    let of_sync = newest(&server, &synced).await;
    let again = phone.sync(&server, &batch).await;
    assert_eq!(newest(&server, &again).await, of_sync, "a repeat changes nothing");
    let polled = phone.bearer(server.get(&format!("{event}/changes"))).send().await.unwrap();
    assert_eq!(newest(&server, &polled).await, of_sync);
    let beat = json!({ "log_id": phone.log.log_id, "head": 1, "pending": 0, "manifest_version": 1 });
    let heard = phone.bearer(server.post(&format!("{event}/heartbeat"))).json(&beat).send().await.unwrap();
    assert_eq!(newest(&server, &heard).await, of_sync);
}

/// The witness of an answer. It must equal the event's present witness.
async fn newest(server: &TestServer, answer: &reqwest::Response) -> String {
    assert_eq!(answer.status(), 200);
    let brought = answer.headers()["x-admit-witness"].to_str().unwrap().to_owned();
    let organization = &server.home.owner.organization_id;
    let held = admit_app::epochs::witness(&server.state.app, organization, &server.home.event_id).await.unwrap();
    assert_eq!(brought, held.to_string());
    brought
}

#[tokio::test]
async fn a_browser_signs_in_with_a_cookie_that_scripts_cannot_read() {
    let server = TestServer::start().await;
    let sign_in =
        |password: &str| server.post("/api/session").json(&json!({ "email": server.home.email, "password": password }));
    problem(sign_in("wrong").send().await.unwrap(), 401, "wrong_credentials").await;
    let answer = sign_in(PASSWORD).send().await.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(
        cookie.starts_with("admit_session=") && cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"),
        "{cookie}"
    );
    json(answer, 200).await;
    let pair = cookie.split(';').next().unwrap();
    let me = json(server.get("/api/session").header("cookie", pair).send().await.unwrap(), 200).await;
    assert_eq!((&me["email"], &me["role"]), (&json!(server.home.email), &json!("owner")));
    // Another site's page may send the cookie, but changes nothing with it.
    let forged = server.request(reqwest::Method::DELETE, "/api/session").header("cookie", pair);
    problem(forged.header("sec-fetch-site", "cross-site").send().await.unwrap(), 403, "cross_site_request").await;
    let out = server.request(reqwest::Method::DELETE, "/api/session").header("cookie", pair);
    assert_eq!(out.header("sec-fetch-site", "same-origin").send().await.unwrap().status(), 204);
    problem(server.get("/api/session").header("cookie", pair).send().await.unwrap(), 401, "unknown_token").await;
}
