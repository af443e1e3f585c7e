//! No operation shows or changes another organisation's things, whichever ids a request names.

use reqwest::Response;
use serde_json::{Value, json};

use super::document::{Operation, ids_of};
use super::venue::{MARK, Venue, Whose};

/// Operations whose path only says what the device believes. The answer is about the device itself.
const BELIEVED: [&str; 1] = ["POST /api/scanning/events/{id}/heartbeat"];

/// Operations that make a thing with the first organisation's name in the second organisation. They run last, because
/// the second organisation then has that thing. A check-in names a gate, so the order matters.
const NAMING: [&str; 4] = [
    "POST /api/guests/{id}/check-in",
    "POST /api/events/{id}/gates",
    "POST /api/scanning/pair",
    "POST /api/scanning/pairing-requests",
];

/// Query parameters and headers that name nothing of an organisation.
const NO_NAMES: [&str; 26] = [
    "limit",
    "cursor",
    "q",
    "mail",
    "kind",
    "action",
    "sort",
    "status",
    "state",
    "outcome",
    "conflict",
    "entered",
    "dry_run",
    "mapping",
    "mail_passes",
    "file_name",
    "progress",
    "accept",
    "decided",
    "since",
    "manifest_version",
    "wait",
    // This is a right, not a name: everybody who has it may use it.
    "token",
    "Last-Event-ID",
    "If-None-Match",
    "X-Device-Time",
];

/// The status and the text of an answer, without the names in the request.
async fn told(answer: Response, asked: &str) -> (u16, Value) {
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    assert!(!text.contains(MARK), "an answer holds the first organisation's words: {text}");
    let body: Value = serde_json::from_str(&text.replace(asked, "ASKED")).unwrap_or(Value::String(text));
    (status, body)
}

/// The comparable part of an answer. A success has new times and ids, so only its status counts; a problem counts
/// whole.
fn comparable(answer: (u16, Value)) -> (u16, Value) {
    if answer.0 < 300 { (answer.0, json!(null)) } else { answer }
}

fn values<'a>(venue: &Venue, operation: &'a Operation, one: &str, whose: Whose) -> Vec<(&'a str, String)> {
    let whose = |name: &str| if name == one { whose } else { Whose::Other };
    let all = operation.names("path").into_iter();
    all.map(|name| (name, venue.in_path(&operation.path, name, whose(name)))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_id_in_a_path_is_404_to_another_organisation_and_changes_nothing() {
    let venue = Venue::open().await;
    let before = venue.stored();
    let mut asked = 0;
    for operation in venue.document.operations() {
        for name in operation.names("path") {
            let mut answers = Vec::new();
            for whose in [Whose::Home, Whose::Nobodys] {
                let values = values(&venue, &operation, name, whose);
                let value = values.iter().find(|(one, _)| *one == name).unwrap().1.clone();
                let body = venue.body(&operation, Whose::Other, false).await;
                let request = venue.request_of(&operation, &values, body.as_ref(), Whose::Other);
                answers.push(told(request.send().await.unwrap(), &value).await);
                asked += 1;
            }
            let label = operation.label();
            let (home, nobodys) = (answers.remove(0), answers.remove(0));
            if operation.is_signed() {
                // A webhook has no session. A sender who does not know the secret is a stranger.
                assert_eq!((home.0, &home.1["code"]), (401, &json!("webhook_refused")), "{label}, {name}");
            } else if !BELIEVED.contains(&label.as_str()) {
                assert_eq!(home.0, 404, "{label}, {name}: {}", home.1);
                assert_eq!(home.1["code"], "not_found", "{label}, {name}");
            }
            assert_eq!(comparable(home), comparable(nobodys), "{label}, {name}: the same as for what never was");
        }
    }
    assert!(asked > 60, "{asked}");
    assert_eq!(venue.stored(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_id_in_a_query_is_to_another_organisation_as_one_that_never_was() {
    let venue = Venue::open().await;
    let before = venue.stored();
    let mut asked = 0;
    for operation in venue.document.operations() {
        for name in operation.names("query").into_iter().chain(operation.names("header")) {
            let label = operation.label();
            if NO_NAMES.contains(&name) {
                continue;
            }
            assert!(super::document::is_id(name), "`{name}` of {label}: say in this test what it names");
            let mut answers = Vec::new();
            for whose in [Whose::Home, Whose::Nobodys] {
                let value = venue.named(&label, name, whose).unwrap();
                let mut values = values(&venue, &operation, "", Whose::Other);
                values.push((name, value.clone()));
                let body = venue.body(&operation, Whose::Other, false).await;
                let request = venue.request(&operation, &values, body.as_ref());
                let request = request.bearer_auth(venue.credential(&operation, Whose::Other));
                answers.push(told(request.send().await.unwrap(), &value).await);
                asked += 1;
            }
            assert_eq!(answers[0], answers[1], "{label}, {name}");
            let empty = answers[0].0 == 200 && answers[0].1["items"] == json!([]);
            let named = answers[0].0 == 400 && answers[0].1["errors"][0]["path"] == json!(name);
            assert!(answers[0].0 == 404 || empty || named, "{label}, {name}: {:?}", answers[0]);
        }
    }
    assert!(asked >= 6, "{asked}");
    assert_eq!(venue.stored(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_id_in_a_body_is_to_another_organisation_as_one_that_never_was() {
    let venue = Venue::open().await;
    let before = venue.stored();
    let mut asked = 0;
    let mut operations = venue.document.operations();
    operations.sort_by_key(|one| NAMING.iter().position(|label| *label == one.label()));
    for operation in operations {
        let mut known = Vec::new();
        for most in [false, true] {
            let Some(body) = venue.body(&operation, Whose::Other, most).await else { continue };
            let ids = ids_of(&body);
            if ids == known {
                // There is no alternative here: a name that its sender chooses is new only once.
                continue;
            }
            known = ids.clone();
            for (at, name) in ids {
                if most && name == "sync_batch_id" {
                    // The sender chose this name and has just sent other content under it.
                    continue;
                }
                let label = operation.label();
                let mut answers = Vec::new();
                for whose in [Whose::Home, Whose::Nobodys] {
                    let Some(value) = venue.named(&label, &name, whose) else { continue };
                    let mut body = venue.body(&operation, Whose::Other, most).await.unwrap();
                    if operation.for_devices() {
                        venue.let_go_on().await;
                    }
                    *body.pointer_mut(&at).unwrap() = json!(value);
                    let values = values(&venue, &operation, "", Whose::Other);
                    let request = venue.request_of(&operation, &values, Some(&body), Whose::Other);
                    answers.push(comparable(told(request.send().await.unwrap(), &value).await));
                    asked += 1;
                }
                if let [home, nobodys] = &answers[..] {
                    assert_eq!(home, nobodys, "{label}, {name} at {at}: the same as for what never was");
                }
            }
        }
    }
    assert!(asked > 60, "{asked}");
    assert_eq!(venue.stored(), before);
}
