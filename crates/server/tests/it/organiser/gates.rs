//! Gates: their names, and when they may be removed.

use admit_core::scan::Outcome;
use reqwest::Method;
use serde_json::{Value, json};

use super::{as_owner, get, patch, post};
use crate::device::Phone;
use crate::server::{TestServer, json, problem};

const GATES: &str = "/api/events/{event}/gates";

async fn remove(server: &TestServer, gate: &str) -> reqwest::Response {
    as_owner(server, &server.home, Method::DELETE, &format!("{GATES}/{gate}")).send().await.unwrap()
}
async fn gate_ids(server: &TestServer) -> Vec<Value> {
    get(server, GATES).await["items"].as_array().unwrap().iter().map(|gate| gate["id"].clone()).collect()
}

#[tokio::test]
async fn a_name_of_another_gate_is_a_wrong_field() {
    let server = TestServer::start().await;
    post(&server, GATES, json!({ "id": "side", "name": "Side door" }), 201).await;
    let twin = json!({ "id": "other", "name": " side  DOOR " });
    let wrong = as_owner(&server, &server.home, Method::POST, GATES).json(&twin).send().await.unwrap();
    assert_eq!(problem(wrong, 400, "invalid_request").await["errors"][0]["path"], "name");
    let same = json!({ "id": "side", "name": "Side door" });
    let wrong = as_owner(&server, &server.home, Method::POST, GATES).json(&same).send().await.unwrap();
    problem(wrong, 409, "gate_exists").await;
    let path = format!("{GATES}/main");
    let body = json!({ "name": "Side Door" });
    let wrong = as_owner(&server, &server.home, Method::PATCH, &path).json(&body).send().await.unwrap();
    assert_eq!(problem(wrong, 400, "invalid_request").await["errors"][0]["path"], "name");
    patch(&server, &format!("{GATES}/side"), json!({ "name": "SIDE DOOR" })).await;
}

#[tokio::test]
async fn a_gate_that_nothing_uses_is_removed_and_made_again() {
    let server = TestServer::start().await;
    post(&server, GATES, json!({ "id": "side", "name": "Side door" }), 201).await;
    assert_eq!(remove(&server, "side").await.status(), 204);
    assert_eq!(gate_ids(&server).await, ["main", "north"]);
    problem(remove(&server, "side").await, 404, "not_found").await;
    let occupancy = get(&server, "/api/events/{event}/occupancy").await;
    assert_eq!(occupancy["gates"].as_array().unwrap().len(), 2);
    let lines = get(&server, &format!("/api/audit?event_id={}", server.home.event_id)).await;
    assert_eq!(lines["items"][0]["action"], "gate_removed");
    let again = post(&server, GATES, json!({ "id": "side", "name": "Side door" }), 201).await;
    assert_eq!(again["zones"], json!(["general"]), "its first values hold again");
    assert_eq!(gate_ids(&server).await, ["main", "north", "side"]);
    assert_eq!(get(&server, GATES).await["items"][2]["zones"], json!(["general"]));
}

#[tokio::test]
async fn a_gate_in_use_says_what_uses_it() {
    let server = TestServer::start().await;
    let limited = json!([{ "gate_ids": ["main", "north"] }, { "gate_ids": ["north"] }]);
    post(&server, "/api/events/{event}/tickets", limited, 201).await;
    let why = problem(remove(&server, "north").await, 409, "gate_in_use").await;
    assert!(why["detail"].as_str().unwrap().contains("2 tickets"), "{why}");
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let scan = phone.scan(&server.home.barcodes[0], Outcome::Valid, server.state.app.clock.now());
    let batch = phone.batch(vec![scan]);
    json(phone.sync(&server, &batch).await, 200).await;
    let why = problem(remove(&server, "main").await, 409, "gate_in_use").await;
    let words = why["detail"].as_str().unwrap();
    for use_of_it in ["1 paired device", "1 ticket", "people were scanned"] {
        assert!(words.contains(use_of_it), "{use_of_it}: {words}");
    }
    assert_eq!(gate_ids(&server).await, ["main", "north"]);
}

/// A moved phone learns its new gate with its next heartbeat. A list of devices shows the new name at once.
#[tokio::test]
async fn a_device_is_renamed_and_moved() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let path = format!("/api/scanning/devices/{}", phone.device_id());
    let changed = patch(&server, &path, json!({ "name": " Side door 2 ", "gate_id": "north" })).await;
    assert_eq!((&changed["name"], &changed["gate_id"]), (&json!("Side door 2"), &json!("north")));
    let devices = get(&server, "/api/events/{event}/devices").await;
    assert_eq!(devices["items"][0], changed);
    let beat = json!({ "log_id": "log", "head": 0, "pending": 0 });
    let heartbeat = format!("/api/scanning/events/{}/heartbeat", server.home.event_id);
    let heard = json(phone.bearer(server.post(&heartbeat)).json(&beat).send().await.unwrap(), 200).await;
    assert_eq!(heard["gate_id"], "north");
    assert_eq!(patch(&server, &path, json!({ "name": "Side door 2" })).await["gate_id"], "north");
    let lines = get(&server, &format!("/api/audit?event_id={}", server.home.event_id)).await;
    let moved = lines["items"].as_array().unwrap().iter().filter(|one| one["action"] == "device_updated").count();
    assert_eq!(moved, 1, "what changes nothing leaves no trace");
    let ask = |body: Value| as_owner(&server, &server.home, Method::PATCH, &path).json(&body).send();
    for (body, field) in [(json!({ "name": " " }), "name"), (json!({ "gate_id": "nowhere" }), "gate_id")] {
        assert_eq!(problem(ask(body).await.unwrap(), 400, "invalid_request").await["errors"][0]["path"], field);
    }
    as_owner(&server, &server.home, Method::DELETE, &path).send().await.unwrap();
    problem(ask(json!({ "gate_id": "main" })).await.unwrap(), 409, "device_is_revoked").await;
    assert_eq!(ask(json!({ "name": "Gone" })).await.unwrap().status(), 200);
}
