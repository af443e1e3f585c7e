//! `/openapi.json` describes the organiser's routes.

use std::collections::BTreeSet;

use crate::server::{TestServer, json};

#[tokio::test]
async fn every_route_is_described_and_every_operation_has_a_name_of_its_own() {
    let server = TestServer::start().await;
    let document = json(server.get("/openapi.json").send().await.unwrap(), 200).await;
    for (path, methods) in [
        ("/api/session", "get post delete"),
        ("/api/members", "get post"),
        ("/api/members/{id}", "patch delete"),
        ("/api/api-tokens", "get post"),
        ("/api/api-tokens/{id}", "delete"),
        ("/api/events", "get post"),
        ("/api/events/{id}", "get patch"),
        ("/api/events/{id}/gates", "get post"),
        ("/api/events/{id}/gates/{gate_id}", "patch"),
        ("/api/events/{id}/entry-types", "get post"),
        ("/api/events/{id}/guest-lists", "get post"),
        ("/api/events/{id}/tickets", "get post"),
        ("/api/events/{id}/tickets/import", "post"),
        ("/api/events/{id}/tickets/export", "get"),
        ("/api/tickets/{id}", "get patch"),
        ("/api/events/{id}/guests", "get post"),
        ("/api/guests/{id}", "patch"),
        ("/api/events/{id}/pairing-tokens", "post"),
        ("/api/events/{id}/devices", "get"),
        ("/api/scanning/devices/{id}", "delete"),
        ("/api/events/{id}/incidents", "get"),
        ("/api/incidents/{id}", "get"),
        ("/api/incidents/{id}/resolve", "post"),
        ("/api/events/{id}/occupancy", "get"),
        ("/api/events/{id}/statistics", "get"),
        ("/api/events/{id}/scans", "get"),
        ("/api/audit", "get"),
    ] {
        for method in methods.split(' ') {
            assert!(document["paths"][path][method].is_object(), "{method} {path}");
        }
    }
    let mut names = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap_or_else(|| panic!("{method} {path} has no name"));
            assert!(names.insert(name.to_owned()), "{name} names two operations");
        }
    }
}
