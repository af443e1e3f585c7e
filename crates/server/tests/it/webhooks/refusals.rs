//! A table of refusals: each must have its code, and nothing may be stored.

use admit_core::webhook::WebhookSecret;
use admit_core::webhook::seconds;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;

use super::{Endpoint, change, guests, row};
use crate::server::{TestServer, problem};

/// A valid message, until a row of the table changes it.
struct Message {
    path: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Message {
    fn set(&mut self, name: &'static str, value: &str) {
        self.headers.insert(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    fn add(&mut self, name: &'static str, value: &str) {
        self.headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    fn drop(&mut self, name: &'static str) {
        self.headers.remove(name);
    }
    fn get(&self, name: &str) -> String {
        self.headers[name].to_str().unwrap().to_owned()
    }
}

/// The fault, the status and code of the answer, and the function that makes the fault.
type Case = (&'static str, u16, &'static str, fn(&mut Message, &Endpoint, &TestServer));

/// Signs the message as it is now.
fn sign(message: &mut Message, endpoint: &Endpoint, ms: i64, server: &TestServer) {
    let at = server.state.app.clock.now().plus_ms(ms);
    let signature = endpoint.secret.sign(&message.get("webhook-id"), at, &message.body);
    message.set("webhook-timestamp", &seconds(at));
    message.set("webhook-signature", &signature);
}
fn body(message: &mut Message, endpoint: &Endpoint, server: &TestServer, body: impl Into<Vec<u8>>) {
    message.body = body.into();
    sign(message, endpoint, 0, server);
}

const HEADERS: &[Case] = &[
    ("no webhook-id", 401, "webhook_not_signed", |m, _, _| m.drop("webhook-id")),
    ("no webhook-timestamp", 401, "webhook_not_signed", |m, _, _| m.drop("webhook-timestamp")),
    ("no webhook-signature", 401, "webhook_not_signed", |m, _, _| m.drop("webhook-signature")),
    ("two ids", 400, "invalid_request", |m, _, _| m.add("webhook-id", "other")),
    ("two times", 400, "invalid_request", |m, _, _| m.add("webhook-timestamp", "1")),
    ("two lists of signatures", 400, "invalid_request", |m, _, _| m.add("webhook-signature", "v1,AAAA")),
    ("an empty id", 400, "invalid_request", |m, _, _| m.set("webhook-id", "")),
    ("an id with a dot", 400, "invalid_request", |m, _, _| m.set("webhook-id", "msg.1")),
    ("an id that is not ASCII", 400, "invalid_request", |m, _, _| m.set("webhook-id", "m\u{e4}")),
    ("an id of 129 characters", 400, "invalid_request", |m, _, _| m.set("webhook-id", &"x".repeat(129))),
    ("a time in words", 400, "invalid_request", |m, _, _| m.set("webhook-timestamp", "now")),
    ("a time with a fraction", 400, "invalid_request", |m, _, _| m.set("webhook-timestamp", "1614265330.5")),
    ("a time before 1970", 400, "invalid_request", |m, _, _| m.set("webhook-timestamp", "-5")),
    ("a time beyond all years", 400, "invalid_request", |m, _, _| m.set("webhook-timestamp", "999999999999")),
    ("eleven signatures", 400, "invalid_request", |m, _, _| {
        let list = format!("{} ", m.get("webhook-signature")).repeat(11);
        m.set("webhook-signature", &list);
    }),
];

const SIGNATURES: &[Case] = &[
    ("an empty list", 401, "webhook_refused", |m, _, _| m.set("webhook-signature", "")),
    ("no base64", 401, "webhook_refused", |m, _, _| m.set("webhook-signature", "v1,!!!!")),
    ("a signature of three bytes", 401, "webhook_refused", |m, _, _| m.set("webhook-signature", "v1,AAAA")),
    ("another version", 401, "webhook_refused", |m, _, _| {
        let other = m.get("webhook-signature").replace("v1,", "v2,");
        m.set("webhook-signature", &other);
    }),
    ("without a version", 401, "webhook_refused", |m, _, _| {
        let bare = m.get("webhook-signature").replace("v1,", "");
        m.set("webhook-signature", &bare);
    }),
    ("signatures with commas between", 401, "webhook_refused", |m, _, _| {
        let list = format!("v1,AAAA,{}", m.get("webhook-signature"));
        m.set("webhook-signature", &list);
    }),
    ("one letter of the signature", 401, "webhook_refused", |m, _, _| {
        let text = m.get("webhook-signature");
        let letter = if &text[3..4] == "A" { "B" } else { "A" };
        m.set("webhook-signature", &format!("v1,{letter}{}", &text[4..]));
    }),
    ("another body", 401, "webhook_refused", |m, _, _| m.body[12] ^= 1),
    ("one blank more", 401, "webhook_refused", |m, _, _| m.body.push(b' ')),
    ("another id", 401, "webhook_refused", |m, _, _| m.set("webhook-id", "other")),
    ("another time", 401, "webhook_refused", |m, _, _| {
        let at: i64 = m.get("webhook-timestamp").parse().unwrap();
        m.set("webhook-timestamp", &(at + 1).to_string());
    }),
    ("another secret", 401, "webhook_refused", |m, e, s| {
        let secret = WebhookSecret::from_bytes([7; 32]).unwrap();
        sign(m, &Endpoint { secret, id: e.id.clone(), path: e.path.clone() }, 0, s);
    }),
    ("the secret that nobody's endpoint is looked at with", 401, "webhook_refused", |m, e, s| {
        let secret = WebhookSecret::from_bytes([0; 32]).unwrap();
        sign(m, &Endpoint { secret, id: e.id.clone(), path: e.path.clone() }, 0, s);
    }),
    ("no such endpoint", 401, "webhook_refused", |m, e, _| m.path = m.path.replace(&e.id[..8], "00000000")),
    ("no such endpoint, under the secret of zeros", 401, "webhook_refused", |m, e, s| {
        let secret = WebhookSecret::from_bytes([0; 32]).unwrap();
        sign(m, &Endpoint { secret, id: e.id.clone(), path: e.path.clone() }, 0, s);
        m.path = m.path.replace(&e.id[..8], "00000000");
    }),
    ("another credential's place in the address", 401, "webhook_refused", |m, e, s| {
        m.path = m.path.replace(&e.id, &s.home.token);
    }),
    ("signed six minutes ago", 401, "webhook_too_old", |m, e, s| sign(m, e, -360_000, s)),
    ("signed six minutes ahead", 401, "webhook_too_new", |m, e, s| sign(m, e, 360_000, s)),
];

const BODIES: &[Case] = &[
    ("no body", 411, "length_required", |m, e, s| body(m, e, s, "")),
    ("a blank body", 400, "invalid_request", |m, e, s| body(m, e, s, " ")),
    ("no JSON", 400, "invalid_request", |m, e, s| body(m, e, s, "id=7")),
    ("half a document", 400, "invalid_request", |m, e, s| body(m, e, s, r#"{"record":{"id":7"#)),
    ("two documents", 400, "invalid_request", |m, e, s| body(m, e, s, r#"{"record":{"id":7}}{}"#)),
    ("no UTF-8", 400, "invalid_request", |m, e, s| body(m, e, s, b"{\"record\":{\"id\":\"\xff\"}}".to_vec())),
    ("a NUL", 400, "invalid_request", |m, e, s| body(m, e, s, "{\"record\":{\"id\":\"a\\u0000b\"}}")),
    ("an array", 400, "invalid_request", |m, e, s| body(m, e, s, "[]")),
    ("a record that is a text", 400, "invalid_request", |m, e, s| body(m, e, s, r#"{"record":"7"}"#)),
    ("no record", 400, "invalid_request", |m, e, s| body(m, e, s, r#"{"type":"INSERT","old_record":{"id":7}}"#)),
    ("no old record", 400, "invalid_request", |m, e, s| body(m, e, s, r#"{"type":"DELETE","record":{"id":7}}"#)),
    ("a type that is none", 400, "invalid_request", |m, e, s| {
        body(m, e, s, r#"{"type":"TRUNCATE","record":{"id":7}}"#)
    }),
    ("no id", 400, "invalid_request", |m, e, s| body(m, e, s, r#"{"record":{"name":"Ana"}}"#)),
    ("an id that is a list", 400, "invalid_request", |m, e, s| body(m, e, s, r#"{"record":{"id":[7]}}"#)),
    ("a wrong address", 400, "invalid_request", |m, e, s| body(m, e, s, r#"{"record":{"id":7,"email":"a@b@c"}}"#)),
    ("a party of 10,001", 400, "invalid_request", |m, e, s| body(m, e, s, r#"{"record":{"id":7,"party_size":10001}}"#)),
    ("half a person", 400, "invalid_request", |m, e, s| body(m, e, s, r#"{"record":{"id":7,"party_size":1.5}}"#)),
    ("an entry type that is not there", 400, "invalid_request", |m, e, s| {
        body(m, e, s, r#"{"record":{"id":7,"entry_type":"Roof"}}"#);
    }),
    ("a time that is none", 400, "invalid_request", |m, e, s| {
        body(m, e, s, r#"{"record":{"id":7,"updated_at":"yesterday"}}"#);
    }),
    ("a name with a line break in it", 400, "invalid_request", |m, e, s| {
        body(m, e, s, r#"{"record":{"id":7,"name":"Ana\r\nBcc: x@y.z"}}"#);
    }),
    ("a place in the outbox below zero", 400, "invalid_request", |m, e, s| {
        body(m, e, s, r#"{"record":{"id":7},"sequence":-1}"#);
    }),
    ("a thousand brackets", 413, "body_too_deep", |m, e, s| body(m, e, s, "[".repeat(1_000))),
    ("more than 256 KiB", 413, "body_too_large", |m, e, s| {
        body(m, e, s, format!(r#"{{"record":{{"id":7,"name":"{}"}}}}"#, "x".repeat(256 * 1_024)));
    }),
    ("another media type", 415, "unsupported_media_type", |m, _, _| m.set("content-type", "text/plain")),
    ("a content coding", 415, "unsupported_content_encoding", |m, _, _| m.set("content-encoding", "gzip")),
];

#[tokio::test]
async fn every_row_of_the_table_is_refused_and_leaves_nothing_behind() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let quiet = |rows: Vec<String>| -> Vec<String> {
        // The endpoint's row stores why its last signed message was refused.
        rows.into_iter().filter(|row| !row.starts_with("webhook_endpoints ")).collect()
    };
    let before = quiet(server.place().rows());
    let mut told = Vec::new();
    for (name, status, code, spoil) in HEADERS.iter().chain(SIGNATURES).chain(BODIES) {
        let mut message = Message {
            path: endpoint.path.clone(),
            headers: HeaderMap::new(),
            body: change("INSERT", &row(7, "Ana", 3), 1).to_string().into_bytes(),
        };
        message.set("content-type", "application/json");
        message.set("webhook-id", "m1");
        sign(&mut message, &endpoint, 0, &server);
        spoil(&mut message, &endpoint, &server);
        let request = server.post(&message.path).headers(message.headers).body(message.body);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status().as_u16(), *status, "{name}");
        let body = problem(answer, *status, code).await;
        if *code == "webhook_refused" {
            told.push(body.to_string());
        }
    }
    assert!(HEADERS.len() + SIGNATURES.len() + BODIES.len() >= 50);
    told.dedup();
    assert_eq!(told.len(), 1, "whoever does not know the secret is told one thing: {told:?}");
    assert_eq!(quiet(server.place().rows()), before);
    assert_eq!(guests(&server).await, []);
    // The unchanged message is accepted.
    assert_eq!(endpoint.take(&server, "m1", change("INSERT", &row(7, "Ana", 3), 1)).await, "created");
}

/// Trust §5, fault 32: a copied message has no effect while it is young, and is refused once it is old.
#[tokio::test]
async fn a_copied_message_brings_nothing() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let body = change("INSERT", &row(7, "Ana", 3), 1).to_string();
    let at = server.state.app.clock.now().plus_ms(-240_000);
    let send = || endpoint.signed(&server, "m1", at, body.as_bytes()).send();
    assert_eq!(send().await.unwrap().status(), 200, "four minutes on its way");
    let rows = server.place().rows();
    assert_eq!(send().await.unwrap().status(), 200);
    assert_eq!(server.place().rows(), rows);
}

#[tokio::test]
async fn a_huge_list_of_headers_is_no_way_around() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let list = "v1,AAAA ".repeat(1_000);
    let mut headers = HeaderMap::new();
    for (name, value) in [("webhook-id", "m1"), ("webhook-timestamp", "1"), ("webhook-signature", list.as_str())] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    }
    let request = server.post(&endpoint.path).headers(headers).json(&json!({ "record": {} }));
    problem(request.send().await.unwrap(), 400, "invalid_request").await;
}
