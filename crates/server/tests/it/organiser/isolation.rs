//! Another organisation's things are not there over HTTP either: the answer is the same 404 as for an id that never
//! existed.

use reqwest::Method;
use serde_json::{Value, json};

use super::{as_owner, get, post};
use crate::device::Phone;
use crate::server::{TestServer, problem};

#[tokio::test]
async fn every_organisers_route_answers_a_stranger_as_if_nothing_were_there() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let guest = post(&server, "/api/events/{event}/guests", json!({ "name": "Ana" }), 201).await;
    let before = get(&server, "/api/events/{event}/tickets").await;
    let event = server.home.event_id.as_str();
    let id = |value: &Value| value.as_str().unwrap().to_owned();
    let ticket = id(&guest["ticket"]["id"]);
    let new_event = json!({ "name": "Mine now" });
    let rows: Vec<(Method, String, Option<Value>)> = vec![
        (Method::GET, format!("/api/events/{event}"), None),
        (Method::PATCH, format!("/api/events/{event}"), Some(new_event)),
        (Method::GET, format!("/api/events/{event}/gates"), None),
        (Method::POST, format!("/api/events/{event}/gates"), Some(json!({ "id": "x" }))),
        (Method::PATCH, format!("/api/events/{event}/gates/main"), Some(json!({ "zones": [] }))),
        (Method::GET, format!("/api/events/{event}/entry-types"), None),
        (Method::POST, format!("/api/events/{event}/entry-types"), Some(json!({ "name": "X", "zone": "x" }))),
        (Method::GET, format!("/api/events/{event}/guest-lists"), None),
        (Method::POST, format!("/api/events/{event}/guest-lists"), Some(json!({ "name": "X" }))),
        (Method::GET, format!("/api/events/{event}/tickets"), None),
        (Method::POST, format!("/api/events/{event}/tickets"), Some(json!({}))),
        (Method::GET, format!("/api/events/{event}/tickets/export"), None),
        (Method::GET, format!("/api/tickets/{ticket}"), None),
        (Method::PATCH, format!("/api/tickets/{ticket}"), Some(json!({ "status": "voided" }))),
        (Method::GET, format!("/api/events/{event}/guests"), None),
        (Method::POST, format!("/api/events/{event}/guests"), Some(json!({ "name": "X" }))),
        (Method::PATCH, format!("/api/guests/{}", id(&guest["id"])), Some(json!({ "name": "X" }))),
        (Method::POST, format!("/api/events/{event}/pairing-tokens"), Some(json!({ "gate_id": "main" }))),
        (Method::GET, format!("/api/events/{event}/devices"), None),
        (Method::DELETE, format!("/api/scanning/devices/{}", phone.device_id()), None),
        (Method::GET, format!("/api/events/{event}/incidents"), None),
        (Method::GET, "/api/incidents/none".into(), None),
        (Method::POST, "/api/incidents/none/resolve".into(), Some(json!({ "decision": "note" }))),
        (Method::GET, format!("/api/events/{event}/occupancy"), None),
        (Method::GET, format!("/api/events/{event}/statistics"), None),
        (Method::GET, format!("/api/events/{event}/statistics/quarters"), None),
        (Method::GET, format!("/api/events/{event}/scans"), None),
        (Method::GET, format!("/api/audit?event_id={event}"), None),
        (Method::PATCH, format!("/api/members/{}", server.home.owner.user_id), Some(json!({ "role": "viewer" }))),
        (Method::DELETE, format!("/api/members/{}", server.home.owner.user_id), None),
        (Method::POST, "/api/tickets/none/code".into(), None),
        (Method::DELETE, "/api/api-tokens/none".into(), None),
    ];
    for (method, path, body) in rows {
        let request = as_owner(&server, &server.other, method.clone(), &path);
        let request = if let Some(body) = &body { request.json(body) } else { request };
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 404, "{method} {path}");
        problem(answer, 404, "not_found").await;
        // Without a credential the answer is 401 for every id.
        let request = server.request(method.clone(), &path);
        let request = if let Some(body) = &body { request.json(body) } else { request };
        assert_eq!(request.send().await.unwrap().status(), 401, "{method} {path}");
    }
    let file = as_owner(&server, &server.other, Method::POST, &format!("/api/events/{event}/tickets/import"));
    let file = file.header("content-type", "text/csv").body("name\nX\n").send().await.unwrap();
    problem(file, 404, "not_found").await;
    assert_eq!(get(&server, "/api/events/{event}/tickets").await, before);
    assert_eq!(get(&server, "/api/events/{event}").await["name"], "Festival");
}
