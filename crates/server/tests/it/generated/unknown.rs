//! The organiser's API refuses unknown fields and parameters on every route. Routes for devices accept them.

use admit_core::barcode::{BarcodeHash, unhex};
use admit_core::block::{self, Kept};
use admit_core::scan::{Outcome, SignatureState};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use super::document::Operation;
use super::venue::{Venue, Whose};
use crate::device::Phone;
use crate::organiser::as_owner;
use crate::server::{TestServer, json, problem};

/// The operations that a person may call, with the live stream.
fn organisers(venue: &Venue) -> Vec<Operation> {
    let all = venue.document.operations().into_iter();
    all.filter(|one| one.for_people() || one.label() == "POST /api/session").collect()
}

fn values<'a>(venue: &Venue, operation: &'a Operation) -> Vec<(&'a str, String)> {
    let names = operation.names("path").into_iter();
    names.map(|name| (name, venue.in_path(&operation.path, name, Whose::Home))).collect()
}

async fn refused(answer: Response, path: &str, label: &str) {
    let status = answer.status();
    let body: Value = answer.json().await.unwrap_or_default();
    assert_eq!((status.as_u16(), &body["code"]), (400, &json!("unknown_field")), "{label}: {body}");
    assert_eq!(body["errors"][0]["path"], path, "{label}");
    assert!(body["detail"].as_str().unwrap().contains(&format!("`{path}`")), "{label}: {body}");
}

/// Requests that are sent after all of them are made, because making a body may make a pairing token.
struct Asked(Vec<(RequestBuilder, String, String)>);

impl Asked {
    fn add(&mut self, request: RequestBuilder, path: &str, operation: &Operation) {
        self.0.push((request, path.to_owned(), operation.label()));
    }
    /// Sends them. Each must be refused for the field or parameter at its path, and nothing may be stored.
    async fn are_refused(self, venue: &Venue) {
        let before = venue.stored();
        for (request, path, label) in self.0 {
            refused(request.send().await.unwrap(), &path, &label).await;
        }
        assert!(venue.stored() == before, "a request that was refused changed something");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_of_the_organiser_refuses_a_parameter_that_it_does_not_know_and_does_nothing() {
    let venue = Venue::open().await;
    let mut asked = Asked(Vec::new());
    for operation in organisers(&venue) {
        let mut values = values(&venue, &operation);
        values.push(("shoe_size", "43".to_owned()));
        let body = venue.body(&operation, Whose::Home, false).await;
        asked.add(venue.request_of(&operation, &values, body.as_ref(), Whose::Home), "shoe_size", &operation);
    }
    assert!(asked.0.len() > 50, "{}", asked.0.len());
    asked.are_refused(&venue).await;
    // HEAD is refused in the same way.
    let head = venue.server.request(Method::HEAD, "/api/events?shoe_size=43").bearer_auth(&venue.server.home.token);
    assert_eq!(head.send().await.unwrap().status(), 400);
}

/// Adds an unknown field to each object of a body, one at a time. Gives the path and the body.
fn with_one_more(body: &Value) -> Vec<(String, Value)> {
    fn walk(whole: &Value, pointer: &str, path: &str, found: &mut Vec<(String, Value)>) {
        match whole.pointer(pointer).unwrap() {
            Value::Object(members) => {
                let own = if path.is_empty() { "shoe_size".to_owned() } else { format!("{path}.shoe_size") };
                let mut more = whole.clone();
                more.pointer_mut(pointer).unwrap()["shoe_size"] = json!({ "eu": 43 });
                found.push((own, more));
                for name in members.keys() {
                    let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    walk(whole, &format!("{pointer}/{name}"), &below, found);
                }
            }
            Value::Array(items) => {
                for index in 0..items.len() {
                    walk(whole, &format!("{pointer}/{index}"), &format!("{path}[{index}]"), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(body, "", "", &mut found);
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_of_the_organiser_refuses_a_field_that_it_does_not_know_at_any_depth_and_does_nothing() {
    let venue = Venue::open().await;
    let mut asked = Asked(Vec::new());
    for operation in organisers(&venue) {
        let values = values(&venue, &operation);
        if operation.body.is_none() {
            let request = venue.request_of(&operation, &values, None, Whose::Home);
            asked.add(request.json(&json!({ "shoe_size": 43 })), "shoe_size", &operation);
        }
        for most in [false, true] {
            let Some(body) = venue.body(&operation, Whose::Home, most).await else { continue };
            let bodies = with_one_more(&body);
            assert_eq!(bodies.is_empty(), body.is_string(), "{}: {body}", operation.label());
            for (path, body) in bodies {
                asked.add(venue.request_of(&operation, &values, Some(&body), Whose::Home), &path, &operation);
            }
        }
    }
    let nested = asked.0.iter().filter(|(_, path, _)| path.contains('.')).count();
    assert!(asked.0.len() > 80 && nested > 2, "{} {nested}", asked.0.len());
    asked.are_refused(&venue).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_without_a_credential_learns_nothing_of_the_names() {
    let venue = Venue::open().await;
    let answer = venue.server.get("/api/events?shoe_size=43").send().await.unwrap();
    problem(answer, 401, "not_signed_in").await;
}

/// Four mistakes that people really made in a public case, and a field that a newer app really sends.
#[tokio::test(flavor = "multi_thread")]
async fn slips_that_people_made_are_refused_with_the_name_that_was_meant() {
    let server = TestServer::start().await;
    let guests = "/api/events/{event}/guests";
    let count = |path: &'static str| {
        let request = as_owner(&server, &server.home, Method::GET, path);
        async move { json(request.send().await.unwrap(), 200).await["items"].as_array().unwrap().len() }
    };
    let (guests_before, events_before) = (count(guests).await, count("/api/events").await);

    let body = json!({ "name": "Ada Ray", "partysize": 5 });
    let answer = as_owner(&server, &server.home, Method::POST, guests).json(&body).send().await.unwrap();
    let said = problem(answer, 400, "unknown_field").await;
    assert_eq!(said["detail"], "`partysize` is not a field here. Did you mean `party_size`?");
    assert_eq!(said["errors"], json!([{ "path": "partysize", "message": said["detail"] }]));

    let body = json!({
        "name": "E", "starts_at": "2026-12-01T10:00:00Z", "ends_at": "2026-12-01T12:00:00Z", "timezone": "Europe/Berlin",
    });
    let answer = as_owner(&server, &server.home, Method::POST, "/api/events").json(&body).send().await.unwrap();
    let said = problem(answer, 400, "unknown_field").await;
    assert_eq!(said["detail"], "`timezone` is not a field here. Did you mean `time_zone`?");

    let path = "/api/events/{event}/guests?query=ada";
    let answer = as_owner(&server, &server.home, Method::GET, path).send().await.unwrap();
    let said = problem(answer, 400, "unknown_field").await;
    assert_eq!(said["detail"], "`query` is not a parameter here. Did you mean `q`?");
    assert!(said.get("items").is_none());

    assert_eq!((count(guests).await, count("/api/events").await), (guests_before, events_before), "nothing was made");
}

/// The stored scans. The bytes of a block are the longest run of hexadecimal digits in its row.
fn stored(server: &TestServer) -> Vec<Kept> {
    let blocks = server.place().rows().into_iter().filter(|row| row.starts_with("scan_blocks "));
    let scans = |row: String| {
        let runs = row.split(|c: char| !c.is_ascii_hexdigit());
        let digits = runs.max_by_key(|run| run.len()).unwrap_or_default();
        let bytes: Vec<u8> = digits
            .as_bytes()
            .chunks(2)
            .map(|pair| unhex::<1>(std::str::from_utf8(pair).unwrap()).unwrap()[0])
            .collect();
        block::read(&bytes).unwrap()
    };
    blocks.flat_map(scans).collect()
}

/// Those of these scans that are stored unchanged.
fn kept_as_sent<'a>(server: &TestServer, sent: &'a [Value]) -> Vec<&'a Value> {
    let stored = stored(server);
    let kept = |scan: &Value| stored.iter().any(|one| one.sent.as_ref() == Some(&scan.to_string()));
    sent.iter().filter(|scan| kept(scan)).collect()
}

/// A scan of a newer app has one more field, and so has its batch. The server accepts it, counts it under its
/// signature, and stores it unchanged. It stores the sent text only of a scan with an unknown field.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_newer_device_sends_is_accepted_and_kept_as_it_came() {
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "newer").await;
    let plain = phone.scan(&server.home.barcodes[1], Outcome::Valid, server.state.app.clock.now());
    let mut scan = phone.scan(&server.home.barcodes[0], Outcome::Valid, server.state.app.clock.now());
    scan["clock"]["drift_ppm"] = json!(12);
    scan["shoe_size"] = json!({ "eu": 43 });
    let sent = [plain, scan];
    let mut batch = phone.batch(sent.to_vec());
    batch["app_mood"] = json!("calm");
    let path = "/api/scanning/sync?shoe_size=43";
    let answer = json(phone.bearer(server.post(path)).json(&batch).send().await.unwrap(), 200).await;
    assert_eq!(answer["processed"].as_array().unwrap().len(), 2, "{answer}");
    let kept = stored(&server).into_iter().find(|one| one.sent.is_some()).unwrap();
    assert_eq!(kept.fact.scan.scan_id.as_str(), "device-newer-scan-2");
    assert_eq!(kept.fact.signature, SignatureState::Verified, "its signature holds");
    assert_eq!(kept_as_sent(&server, &sent), [&sent[1]]);
}

/// The same for S1's form, and for S2's form, asked online and uploaded later.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_newer_client_of_the_older_forms_sends_is_kept_as_it_came() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "older").await;
    let now = server.state.app.clock.now();
    let v1 = json!({
        "scan_id": "a", "barcode_hash": BarcodeHash::of(&server.home.barcodes[0]), "scanned_at": now, "gate_id": "main",
        "outcome": "valid", "signature": "HMAC-SHA256=00", "shoe_size": 43,
    });
    let batch = json!({ "device_id": "device-older", "sync_batch_id": "one", "scans": [v1.clone()] });
    json(phone.bearer(server.post("/api/scanning/sync")).json(&batch).send().await.unwrap(), 200).await;
    let s2 = |id: &str, code: usize| json!({ "ticket_code": server.home.barcodes[code], "scanned_at": now, "offline_id": id });
    let with = |mut scan: Value| {
        scan["shoe_size"] = json!(43);
        scan
    };
    let asked = with(s2("b", 1));
    json(phone.bearer(server.post("/api/scans")).json(&asked).send().await.unwrap(), 200).await;
    let later = [s2("c", 2), with(s2("d", 3))];
    let batch = json!({
        "batch_id": "two", "device_id": "device-older", "batch_created_at": now, "batch_size": 2, "scans": later,
    });
    json(phone.bearer(server.post("/api/scans/sync")).json(&batch).send().await.unwrap(), 200).await;
    let [plain, later] = later;
    let sent = [v1, asked, later, plain];
    assert_eq!(kept_as_sent(&server, &sent), sent[..3].iter().collect::<Vec<_>>());
}
