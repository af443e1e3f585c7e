//! Events, gates, entry types, guest lists, pairing, the ledger.

use reqwest::Method;
use serde_json::{Value, json};

use super::{as_owner, get, patch, post};
use crate::server::{TestServer, json, problem};

#[tokio::test]
async fn an_event_is_made_shown_changed_and_listed() {
    let server = TestServer::start().await;
    let body = json!({
        "name": "Gala", "venue": "Hall", "time_zone": "Europe/Berlin", "starts_at": "2026-06-07T20:00:00+02:00",
        "ends_at": "2026-06-08T04:00:00Z", "staff_pin": "2468",
    });
    let made = post(&server, "/api/events", body, 201).await;
    assert_eq!(made["starts_at"], "2026-06-07T18:00:00Z", "times are answered in UTC");
    assert_eq!((&made["status"], &made["re_entry"]), (&json!("draft"), &json!("never")));
    assert_eq!((&made["has_staff_pin"], &made["min_gap_seconds"]), (&json!(true), &json!(300)));
    assert!(!made.to_string().contains("2468"));
    let path = format!("/api/events/{}", made["id"].as_str().unwrap());
    assert_eq!(get(&server, &path).await, made);
    let changed = json!({ "status": "live", "capacity": 900, "staff_pin": null, "re_entry": "after_exit" });
    let changed = patch(&server, &path, changed).await;
    assert_eq!((&changed["status"], &changed["capacity"]), (&json!("live"), &json!(900)));
    assert_eq!(changed["has_staff_pin"], json!(false));
    assert_eq!(patch(&server, &path, json!({ "capacity": null })).await["capacity"], Value::Null);
    let back = as_owner(&server, &server.home, Method::PATCH, &path).json(&json!({ "status": "draft" })).send();
    problem(back.await.unwrap(), 409, "status_order").await;
    let first = get(&server, "/api/events?limit=1").await;
    assert_eq!(first["items"][0]["name"], "Gala");
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = get(&server, &format!("/api/events?limit=1&cursor={cursor}")).await;
    assert_eq!((&second["items"][0]["name"], &second["next_cursor"]), (&json!("Festival"), &Value::Null));
}

/// A new event is ready for guests: it has one gate, which admits every entry type, also types made later.
#[tokio::test]
async fn a_new_event_has_a_gate_that_everybody_passes() {
    let server = TestServer::start().await;
    let new = |gates: Value| {
        let mut body = json!({ "name": "X", "starts_at": "2026-06-07T18:00:00Z", "ends_at": "2026-06-08T04:00:00Z" });
        if !gates.is_null() {
            body["gates"] = gates;
        }
        body
    };
    let made = post(&server, "/api/events", new(Value::Null), 201).await;
    let path = format!("/api/events/{}", made["id"].as_str().unwrap());
    let gates = get(&server, &format!("{path}/gates")).await;
    let expected = json!([{
        "id": "main-entrance", "name": "Main entrance", "zones": ["general"], "direction": "both", "capacity": null,
        "names_on_devices": true, "walk_ins": false, "entry_rules": ["check_ticket_valid", "check_not_duplicate"],
    }]);
    assert_eq!(gates["items"], expected);
    let vip = json!({ "name": "VIP", "zone": "vip" });
    post(&server, &format!("{path}/entry-types"), vip.clone(), 201).await;
    let zones = get(&server, &format!("{path}/gates")).await["items"][0]["zones"].clone();
    assert_eq!(zones, json!(["general", "vip"]), "the only gate admits every entry type");
    post(&server, &format!("{path}/gates"), json!({ "id": "side", "zones": ["general"] }), 201).await;
    post(&server, &format!("{path}/entry-types"), json!({ "name": "Crew", "zone": "crew" }), 201).await;
    let gates = get(&server, &format!("{path}/gates")).await;
    assert_eq!(gates["items"][0]["zones"], json!(["general", "vip"]), "of two gates somebody says which");

    let none = post(&server, "/api/events", new(json!([])), 201).await;
    let gates = get(&server, &format!("/api/events/{}/gates", none["id"].as_str().unwrap())).await;
    assert_eq!(gates["items"], json!([]));
    let two = post(&server, "/api/events", new(json!(["North", "South door"])), 201).await;
    let gates = get(&server, &format!("/api/events/{}/gates", two["id"].as_str().unwrap())).await;
    let ids: Vec<&Value> = gates["items"].as_array().unwrap().iter().map(|gate| &gate["id"]).collect();
    assert_eq!(ids, ["north", "south-door"]);
    let twice = as_owner(&server, &server.home, Method::POST, "/api/events").json(&new(json!(["A", "a"]))).send();
    assert_eq!(problem(twice.await.unwrap(), 400, "invalid_request").await["errors"][0]["path"], "gates[1]");
}

/// A form shows the field's label before the message, as in "The end" + "must be after …".
fn completes_a_sentence(said: &Value) {
    let message = said["errors"][0]["message"].as_str().unwrap();
    let verb = message.split(' ').next().unwrap();
    assert!(["must", "is", "has", "needs"].contains(&verb), "“{message}” does not go on after a field's name");
}

#[tokio::test]
async fn a_change_that_ends_an_event_before_its_start_is_said_at_the_field_that_was_changed() {
    let server = TestServer::start().await;
    let new = json!({ "name": "X", "starts_at": "2026-06-07T18:00:00Z", "ends_at": "2026-06-08T04:00:00Z" });
    let made = post(&server, "/api/events", new, 201).await;
    let path = format!("/api/events/{}", made["id"].as_str().unwrap());
    for (field, value, message) in [
        ("ends_at", "2026-06-07T17:00:00Z", "must be after 2026-06-07T18:00:00Z"),
        ("starts_at", "2026-06-08T05:00:00Z", "must be before 2026-06-08T04:00:00Z"),
    ] {
        let asked = as_owner(&server, &server.home, Method::PATCH, &path).json(&json!({ field: value }));
        let said = problem(asked.send().await.unwrap(), 400, "invalid_request").await;
        assert_eq!(said["errors"], json!([{ "path": field, "message": message }]));
        completes_a_sentence(&said);
    }
}

#[tokio::test]
async fn a_wrong_field_is_named() {
    let server = TestServer::start().await;
    let good = json!({ "name": "X", "starts_at": "2026-06-07T18:00:00Z", "ends_at": "2026-06-08T04:00:00Z" });
    let rows: &[(&str, &str, Value)] = &[
        ("/api/events", "name", json!("")),
        ("/api/events", "name", json!(7)),
        ("/api/events", "starts_at", json!("today")),
        ("/api/events", "ends_at", json!("2026-06-07T18:00:00Z")),
        ("/api/events", "time_zone", json!("Berlin")),
        ("/api/events", "status", json!("gone")),
        ("/api/events", "re_entry", json!("sometimes")),
        ("/api/events", "min_gap_seconds", json!(-1)),
        ("/api/events", "staff_pin", json!("abcd")),
        ("/api/events", "capacity", json!(0)),
        ("/api/events/{event}/gates", "id", json!("North Gate")),
        ("/api/events/{event}/gates", "id", json!("NORTH")),
        ("/api/events/{event}/gates", "direction", json!("up")),
        ("/api/events/{event}/gates", "zones", json!("general")),
        ("/api/events/{event}/gates", "zones[0]", json!([""])),
        ("/api/events/{event}/gates", "entry_rules[0]", json!(["check_shoes"])),
        ("/api/events/{event}/tickets", "entry_limit", json!(0)),
        ("/api/events/{event}/tickets", "barcode", json!("")),
        ("/api/events/{event}/tickets", "gate_ids[0]", json!(["nowhere"])),
        ("/api/events/{event}/tickets", "expires_at", json!("never")),
        ("/api/events/{event}/tickets", "guest", json!("Ana")),
        ("/api/events/{event}/guests", "party_size", json!(0)),
        ("/api/events/{event}/guests", "email", json!("nobody")),
        ("/api/events/{event}/pairing-tokens", "gate_id", json!("nowhere")),
        ("/api/events/{event}/pairing-tokens", "uses", json!(0)),
        ("/api/events/{event}/pairing-tokens", "minutes", json!(0)),
        ("/api/events/{event}/pairing-tokens", "minutes", json!(1441)),
        ("/api/members", "role", json!("king")),
        ("/api/members", "email", json!("x")),
        ("/api/members", "password", json!("short")),
    ];
    for (path, field, value) in rows {
        let mut body = match *path {
            "/api/events" => good.clone(),
            "/api/events/{event}/gates" => json!({ "id": "west" }),
            "/api/events/{event}/guests" => json!({ "name": "A" }),
            "/api/events/{event}/pairing-tokens" => json!({ "gate_id": "main" }),
            "/api/members" => json!({ "email": "a@b.example", "name": "A", "password": "long enough", "role": "door" }),
            _ => json!({}),
        };
        body[field.split('[').next().unwrap()] = value.clone();
        let answer = as_owner(&server, &server.home, Method::POST, path).json(&body).send().await.unwrap();
        let said = problem(answer, 400, "invalid_request").await;
        assert_eq!(said["errors"][0]["path"], *field, "{path} {body}: {said}");
        completes_a_sentence(&said);
    }
    for query in ["limit=0", "limit=501", "limit=x", "cursor=zzz"] {
        let answer =
            as_owner(&server, &server.home, Method::GET, &format!("/api/events?{query}")).send().await.unwrap();
        let said = problem(answer, 400, "invalid_request").await;
        assert_eq!(said["errors"][0]["path"], query.split('=').next().unwrap());
    }
}

#[tokio::test]
async fn gates_entry_types_and_guest_lists_are_made_and_listed() {
    let server = TestServer::start().await;
    let gate =
        json!({ "id": "west", "name": "West", "zones": ["general", "vip"], "direction": "both", "capacity": 50 });
    let made = post(&server, "/api/events/{event}/gates", gate.clone(), 201).await;
    assert_eq!(made["entry_rules"], json!(["check_ticket_valid", "check_not_duplicate"]));
    let again = as_owner(&server, &server.home, Method::POST, "/api/events/{event}/gates").json(&gate).send();
    problem(again.await.unwrap(), 409, "gate_exists").await;
    let path = "/api/events/{event}/gates/west";
    let changed = patch(&server, path, json!({ "zones": ["vip"], "capacity": null, "names_on_devices": true })).await;
    assert_eq!((&changed["zones"], &changed["capacity"]), (&json!(["vip"]), &Value::Null));
    let listed = get(&server, "/api/events/{event}/gates").await;
    let ids: Vec<&str> = listed["items"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["main", "north", "west"]);
    post(&server, "/api/events/{event}/entry-types", json!({ "name": "VIP", "zone": "vip" }), 201).await;
    assert_eq!(get(&server, "/api/events/{event}/entry-types").await["items"][1]["zone"], "vip");
    let list = json!({ "name": "Crew", "promoter_id": server.home.owner.user_id });
    post(&server, "/api/events/{event}/guest-lists", list, 201).await;
    assert_eq!(get(&server, "/api/events/{event}/guest-lists").await["items"][0]["name"], "Crew");
}

#[tokio::test]
async fn a_pairing_link_leads_to_the_scanner_with_the_token_in_its_fragment() {
    let server = TestServer::start().await;
    let body = json!({ "gate_id": "main", "uses": 2 });
    let made = post(&server, "/api/events/{event}/pairing-tokens", body, 201).await;
    let token = made["pairing_token"].as_str().unwrap();
    assert_eq!(made["url"], format!("{}/scan/#pair={token}", server.url));
    for device in ["d-1", "d-2"] {
        let body = json!({ "pairing_token": token, "device_id": device });
        let paired = json(server.post("/api/scanning/pair").json(&body).send().await.unwrap(), 200).await;
        assert_eq!(paired["gate_id"], "main");
    }
    let devices = get(&server, "/api/events/{event}/devices").await;
    assert_eq!(devices["items"].as_array().unwrap().len(), 2);
    let place = server.post("/api/scanning/pairing-place").json(&json!({ "pairing_token": token })).send();
    problem(place.await.unwrap(), 410, "pairing_token_used").await;
    let path = "/api/scanning/devices/d-1";
    let revoked = as_owner(&server, &server.home, Method::DELETE, path).send().await.unwrap();
    assert_eq!(json(revoked, 200).await["state"], "revoked");
    let body = json!({ "lost_since": "2026-06-07T18:00:00Z" });
    let lost = as_owner(&server, &server.home, Method::DELETE, path).json(&body).send().await.unwrap();
    assert_eq!(json(lost, 200).await["lost_since"], "2026-06-07T18:00:00Z");
}

#[tokio::test]
async fn the_ledger_tells_who_did_what() {
    let server = TestServer::start().await;
    patch(&server, "/api/events/{event}", json!({ "name": "Renamed" })).await;
    let lines = get(&server, &format!("/api/audit?event_id={}&limit=1", server.home.event_id)).await;
    let line = &lines["items"][0];
    assert_eq!((&line["action"], &line["user_id"]), (&json!("event_updated"), &json!(server.home.owner.user_id)));
    assert_eq!(line["changes"]["name"], json!({ "from": "Festival", "to": "Renamed" }));
    let of_organization = get(&server, "/api/audit").await;
    assert_eq!(of_organization["items"][0]["action"], "api_token_created");
}
