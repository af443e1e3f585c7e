//! `/openapi.json` describes the organiser's routes, and the web apps have a committed copy of it.

use std::collections::BTreeSet;

use crate::server::{TestServer, json};

#[tokio::test]
async fn every_route_is_described_and_every_operation_has_a_name_of_its_own() {
    let server = TestServer::start().await;
    let document = json(server.get("/openapi.json").send().await.unwrap(), 200).await;
    for (path, methods) in [
        ("/api/session", "get post delete"),
        ("/api/session/password", "post"),
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
        ("/api/tickets/{id}/code", "post"),
        ("/api/guests/{id}/data", "get"),
        ("/api/guests/{id}/erase", "post"),
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
        ("/api/events/{id}/statistics/quarters", "get"),
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

/// `npm run types` generates the web apps' types from this copy, without a server. `ADMIT_WRITE_OPENAPI=1 cargo test
/// -p admit-server --test it the_committed_document` writes the copy.
#[tokio::test]
async fn the_committed_document_is_the_servers() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/shared/api/openapi.json");
    let server = TestServer::start().await;
    let document = json(server.get("/openapi.json").send().await.unwrap(), 200).await;
    let served = serde_json::to_string_pretty(&document).unwrap() + "\n";
    if std::env::var_os("ADMIT_WRITE_OPENAPI").is_some() {
        std::fs::write(path, &served).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    // The message shows the first line that differs, because the whole document has 600 kB.
    let differs = served.lines().zip(committed.lines()).position(|(new, old)| new != old);
    let line = differs.unwrap_or_else(|| served.lines().count().min(committed.lines().count())) + 1;
    assert!(
        served == committed,
        "web/shared/api/openapi.json is stale from line {line}: write it anew with \
         `ADMIT_WRITE_OPENAPI=1 cargo test -p admit-server --test it the_committed_document`"
    );
}
