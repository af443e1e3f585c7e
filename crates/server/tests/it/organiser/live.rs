//! The live page and the review queue after phones have scanned.

use admit_core::scan::Outcome;
use reqwest::Method;
use serde_json::json;

use super::{as_owner, get, post};
use crate::device::Phone;
use crate::server::{TestServer, problem};

/// One ticket is let in on two phones, another one once.
async fn evening(server: &TestServer) {
    let now = server.state.app.clock.now();
    let mut first = Phone::pair(server, &server.home, "a").await;
    let mut second = Phone::pair(server, &server.home, "b").await;
    let scans = vec![
        first.scan(&server.home.barcodes[0], Outcome::Valid, now.plus_ms(-120_000)),
        first.scan(&server.home.barcodes[1], Outcome::Valid, now.plus_ms(-60_000)),
    ];
    let batch = first.batch(scans);
    assert_eq!(first.sync(server, &batch).await.status(), 200);
    let scans = vec![second.scan(&server.home.barcodes[0], Outcome::Valid, now.plus_ms(-30_000))];
    let batch = second.batch(scans);
    assert_eq!(second.sync(server, &batch).await.status(), 200);
}

#[tokio::test]
async fn occupancy_statistics_and_devices_follow_the_scans() {
    let server = TestServer::start().await;
    evening(&server).await;
    let inside = get(&server, "/api/events/{event}/occupancy").await;
    assert_eq!((&inside["inside"], &inside["entered"], &inside["over"]), (&json!(2), &json!(2), &json!(1)));
    assert_eq!(
        (&inside["tickets"], &inside["expected"], &inside["open_incidents"]),
        (&json!(10), &json!(10), &json!(1))
    );
    assert_eq!((&inside["gates"][0]["gate_id"], &inside["gates"][0]["entered"]), (&json!("main"), &json!(3)));
    let statistics = get(&server, "/api/events/{event}/statistics").await;
    let minutes = statistics["minutes"].as_array().unwrap();
    assert_eq!(minutes.len(), 120, "sixty minutes of two gates");
    assert_eq!(minutes.iter().map(|one| one["entered"].as_i64().unwrap()).sum::<i64>(), 3);
    let quarters = get(&server, "/api/events/{event}/statistics/quarters").await;
    let quarters = quarters["quarters"].as_array().unwrap();
    assert_eq!(quarters.iter().map(|one| one["entered"].as_i64().unwrap()).sum::<i64>(), 3);
    assert!(quarters.iter().all(|one| one["gate_id"] == "main"), "a gate where nothing happened has none");
    let devices = get(&server, "/api/events/{event}/devices").await;
    assert_eq!(
        (&devices["items"][0]["missing_count"], &devices["items"][0]["logs"][0]["head"]),
        (&json!(0), &json!(2))
    );
    let scans = get(&server, "/api/events/{event}/scans?conflict=true").await;
    assert_eq!(scans["items"].as_array().unwrap().len(), 2);
    assert_eq!(scans["items"][0]["verdict"]["conflict_reason"], "double_entry");
    let found = get(&server, "/api/events/{event}/scans?outcome=valid&device_id=device-b").await;
    assert_eq!(found["items"], json!([]), "the server says duplicate to it");
    let came = get(&server, "/api/events/{event}/tickets?entered=true").await;
    assert_eq!(came["items"].as_array().unwrap().len(), 2);
    let listed = get(&server, "/api/events").await;
    let one = &listed["items"][0];
    let figures = (&one["expected"], &one["admitted"], &one["open_incidents"]);
    assert_eq!(figures, (&json!(10), &json!(3), &json!(1)), "the list of events says the same");
}

/// Arrivals show guests by name, newest first by the scans' own times, whenever the scans arrived.
#[tokio::test]
async fn arrivals_are_told_by_name() {
    let server = TestServer::start().await;
    let ana = json!({ "name": "Ana", "party_size": 3 });
    let ana = post(&server, "/api/events/{event}/guests", ana, 201).await;
    let code = ana["ticket"]["barcode"].as_str().unwrap();
    let now = server.state.app.clock.now();
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let mut late = Phone::pair(&server, &server.home, "b").await;
    let again = phone.scan(code, Outcome::Duplicate, now.plus_ms(-10_000));
    let unknown = phone.scan("NOBODY", Outcome::Invalid, now.plus_ms(-20_000));
    let came = phone.scan(code, Outcome::Valid, now.plus_ms(-30_000));
    let batch = phone.batch(vec![came, unknown, again]);
    assert_eq!(phone.sync(&server, &batch).await.status(), 200);
    let early = late.scan(&server.home.barcodes[0], Outcome::Valid, now.plus_ms(-60_000));
    let batch = late.batch(vec![early]);
    assert_eq!(late.sync(&server, &batch).await.status(), 200);
    let arrivals = get(&server, "/api/events/{event}/arrivals").await;
    let told: Vec<_> = arrivals["items"].as_array().unwrap().iter().map(|one| (&one["kind"], &one["name"])).collect();
    let (name, none) = (json!("Ana"), json!(null));
    let (entry, refused) = (json!("entry"), json!("refused"));
    assert_eq!(told, [(&refused, &name), (&refused, &none), (&entry, &name), (&entry, &none)]);
    let first = &arrivals["items"][2];
    assert_eq!((&first["guest_id"], &first["entry_type"]), (&ana["id"], &json!("General")));
    assert_eq!((&first["gate"], &first["gate_id"], &first["persons"]), (&json!("main"), &json!("main"), &json!(1)));
    assert_eq!((&first["device"], &first["reason"], &first["at"]), (&json!("a"), &none, &json!(now.plus_ms(-30_000))));
    assert_eq!(arrivals["items"][1]["reason"], "unknown_code");
    assert_eq!((&arrivals["items"][1]["entry_type"], &arrivals["items"][3]["entry_type"]), (&none, &json!("General")));
    let two = get(&server, "/api/events/{event}/arrivals?limit=2").await;
    assert_eq!(two["items"].as_array().unwrap().as_slice(), &arrivals["items"].as_array().unwrap()[..2]);
    let most = as_owner(&server, &server.home, Method::GET, "/api/events/{event}/arrivals?limit=101").send();
    assert_eq!(problem(most.await.unwrap(), 400, "invalid_request").await["errors"][0]["path"], "limit");
}

#[tokio::test]
async fn an_incident_is_looked_at_and_resolved() {
    let server = TestServer::start().await;
    evening(&server).await;
    let queue = get(&server, "/api/events/{event}/incidents?status=open").await;
    let incident = &queue["items"][0];
    assert_eq!((&incident["kind"], &incident["severity"]), (&json!("double_entry"), &json!("critical")));
    let roles: Vec<_> = incident["scans"].as_array().unwrap().iter().map(|scan| scan["role"].clone()).collect();
    assert_eq!(roles, ["entry", "double_entry"]);
    let path = format!("/api/incidents/{}", incident["id"].as_str().unwrap());
    assert_eq!(get(&server, &path).await, *incident);
    let resolve = format!("{path}/resolve");
    let wrong = |body| as_owner(&server, &server.home, Method::POST, &resolve).json(&body).send();
    for (body, field) in [
        (json!({ "decision": "forget" }), "decision"),
        (json!({ "decision": "exclude" }), "scans"),
        (json!({ "decision": "exclude", "scans": [{ "device_id": "x", "scan_id": "y" }] }), "scans[0]"),
        (json!({ "decision": "note", "scans": [{ "device_id": "x", "scan_id": "y" }] }), "scans"),
    ] {
        assert_eq!(problem(wrong(body).await.unwrap(), 400, "invalid_request").await["errors"][0]["path"], field);
    }
    let loser = &incident["scans"][1];
    let body = json!({
        "decision": "exclude", "note": "came back for a coat",
        "scans": [{ "device_id": loser["device_id"], "scan_id": loser["scan_id"] }],
    });
    let resolved = post(&server, &resolve, body.clone(), 200).await;
    assert_eq!((&resolved["status"], &resolved["resolution"]["decision"]), (&json!("cleared"), &json!("exclude")));
    let inside = get(&server, "/api/events/{event}/occupancy").await;
    assert_eq!((&inside["inside"], &inside["over"], &inside["open_incidents"]), (&json!(2), &json!(0), &json!(0)));
    problem(wrong(body).await.unwrap(), 409, "incident_cleared").await;
    // A wrong decision is listed with its scans, and can be taken back.
    let decided = get(&server, "/api/events/{event}/incidents?decided=1").await;
    assert_eq!(decided["items"], json!([resolved]));
    let said = &resolved["decided"][0];
    assert_eq!((&said["device_id"], &said["scan_id"]), (&loser["device_id"], &loser["scan_id"]));
    assert_eq!((&said["decision"], &said["note"]), (&json!("exclude"), &json!("came back for a coat")));
    assert_eq!(said["user_id"], resolved["resolution"]["user_id"]);
    let back = post(&server, &resolve, json!({ "decision": "restore" }), 200).await;
    assert_eq!((&back["status"], &back["decided"], &back["scans"]), (&json!("open"), &json!([]), &incident["scans"]));
    assert_eq!(get(&server, "/api/events/{event}/incidents?decided=1").await["items"], json!([]));
    assert_eq!(get(&server, "/api/events/{event}/occupancy").await["over"], 1);
    problem(
        as_owner(&server, &server.home, Method::GET, "/api/events/{event}/incidents?decided=maybe")
            .send()
            .await
            .unwrap(),
        400,
        "invalid_request",
    )
    .await;
    post(&server, &resolve, json!({ "decision": "note", "note": "seen" }), 200).await;
    for (status, count) in [("open", 0), ("resolved", 1), ("cleared", 0)] {
        let listed = get(&server, &format!("/api/events/{{event}}/incidents?status={status}")).await;
        assert_eq!(listed["items"].as_array().unwrap().len(), count, "{status}");
    }
}
