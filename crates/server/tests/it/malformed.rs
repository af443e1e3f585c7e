//! Malformed requests are answered with 4xx, as a problem that names the field; nothing is ever answered with 5xx.

use reqwest::Method;
use serde_json::{Value, json};

use crate::device::Phone;
use crate::server::TestServer;

/// The credential that a row of the table sends.
#[derive(Clone, Copy, PartialEq)]
enum As {
    Nobody,
    Device,
    User,
}

struct Row {
    what: &'static str,
    method: Method,
    path: &'static str,
    who: As,
    kind: &'static str,
    body: Vec<u8>,
    status: u16,
    /// The path in `errors`; `None` if the problem is not about a field.
    field: Option<&'static str>,
}

const JSON: &str = "application/json";
const PAIR: &str = "/api/scanning/pair";
const SYNC: &str = "/api/scanning/sync";
const BEAT: &str = "/api/scanning/events/{event}/heartbeat";
const LOG: &str = "/api/scanning/log-status";
const MANIFEST: &str = "/api/scanning/events/{event}/manifest";
const CHANGES: &str = "/api/scanning/events/{event}/changes";
const SESSION: &str = "/api/session";
const EVENTS: &str = "/api/events";
const EVENT: &str = "/api/events/{event}";
const GATES: &str = "/api/events/{event}/gates";
const TICKETS: &str = "/api/events/{event}/tickets";

fn post(what: &'static str, path: &'static str, who: As, body: impl Into<Vec<u8>>, field: &'static str) -> Row {
    Row { what, method: Method::POST, path, who, kind: JSON, body: body.into(), status: 400, field: Some(field) }
}
/// A request without a body and without a length.
fn no_body(path: &'static str, who: As) -> Row {
    Row { status: 411, field: None, ..post("no body", path, who, "", "") }
}
fn get(what: &'static str, path: &'static str, who: As, field: &'static str) -> Row {
    Row { what, method: Method::GET, path, who, kind: "", body: Vec::new(), status: 400, field: Some(field) }
}

/// A valid body with one member replaced. `Null` under `drop` removes the member.
fn but(good: &Value, member: &str, value: Value) -> Vec<u8> {
    let mut body = good.clone();
    body[member] = value;
    body.to_string().into_bytes()
}
fn without(good: &Value, member: &str) -> Vec<u8> {
    let mut body = good.clone();
    body.as_object_mut().unwrap().remove(member);
    body.to_string().into_bytes()
}

fn documents() -> Vec<Row> {
    let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
    let deep_object = format!("{}1{}", "{\"a\":".repeat(40), "}".repeat(40));
    let mut rows = vec![
        no_body(PAIR, As::Nobody),
        no_body(SYNC, As::Device),
        no_body(LOG, As::Device),
        no_body(EVENTS, As::User),
        post("white space", PAIR, As::Nobody, " \n\t ", ""),
        post("not JSON", PAIR, As::Nobody, "hello", ""),
        post("JSON cut off", PAIR, As::Nobody, "{\"pairing_token\":", ""),
        post("two documents", PAIR, As::Nobody, "{\"pairing_token\":\"x\",\"device_id\":\"d\"} {}", ""),
        post("a string for an object", PAIR, As::Nobody, "\"x\"", ""),
        post("a number for an object", PAIR, As::Nobody, "7", ""),
        post("null for an object", PAIR, As::Nobody, "null", ""),
        post(
            "bytes that are no UTF-8",
            PAIR,
            As::Nobody,
            b"{\"pairing_token\":\"\xff\xfe\",\"device_id\":\"d\"}".to_vec(),
            "",
        ),
        post("UTF-16", PAIR, As::Nobody, b"\xff\xfe{\0}\0".to_vec(), ""),
        post("a raw control character", PAIR, As::Nobody, "{\"pairing_token\":\"\u{1}\",\"device_id\":\"d\"}", ""),
        post("a lone surrogate", PAIR, As::Nobody, r#"{"pairing_token":"\ud800","device_id":"d"}"#, ""),
        post(
            "a repeated member",
            PAIR,
            As::Nobody,
            r#"{"pairing_token":"x","pairing_token":"y","device_id":"d"}"#,
            "pairing_token",
        ),
        post("white space", SYNC, As::Device, " ", ""),
        post("an array for an object", PAIR, As::Nobody, "[\"x\",\"d\"]", ""),
        post("an array for an object", SYNC, As::Device, "[\"device-a\",\"b\",2,null,null,null,null,[]]", ""),
        post("an array for an object", EVENTS, As::User, " [1]", ""),
        post("an array for an object", LOG, As::Device, "[]", ""),
    ];
    for body in [deep, deep_object] {
        let path = if body.starts_with('[') { PAIR } else { EVENTS };
        let who = if path == PAIR { As::Nobody } else { As::User };
        rows.push(Row { status: 413, field: None, ..post("too deep", path, who, body, "") });
    }
    for (path, who) in
        [(PAIR, As::Nobody), (SYNC, As::Device), (BEAT, As::Device), (SESSION, As::Nobody), (EVENTS, As::User)]
    {
        for kind in ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"] {
            rows.push(Row { status: 415, field: None, kind, ..post("another media type", path, who, "{}", "") });
        }
    }
    rows
}

fn pairing() -> Vec<Row> {
    let good = json!({ "pairing_token": "admit_pt_x", "device_id": "d" });
    let long = "x".repeat(300);
    vec![
        post("no token", PAIR, As::Nobody, without(&good, "pairing_token"), "pairing_token"),
        post("no device", PAIR, As::Nobody, without(&good, "device_id"), "device_id"),
        post("a number for a token", PAIR, As::Nobody, but(&good, "pairing_token", json!(7)), "pairing_token"),
        post("an empty token", PAIR, As::Nobody, but(&good, "pairing_token", json!("")), "pairing_token"),
        post("a token too long", PAIR, As::Nobody, but(&good, "pairing_token", json!(long)), "pairing_token"),
        post("an empty id", PAIR, As::Nobody, but(&good, "device_id", json!("")), "device_id"),
        post("an id with a space", PAIR, As::Nobody, but(&good, "device_id", json!("a b")), "device_id"),
        post("an id too long", PAIR, As::Nobody, but(&good, "device_id", json!(long)), "device_id"),
        post("an id that is no ASCII", PAIR, As::Nobody, but(&good, "device_id", json!("é")), "device_id"),
        post("an id with a NUL", PAIR, As::Nobody, but(&good, "device_id", json!("a\0")), "device_id"),
        post("a name with a NUL", PAIR, As::Nobody, but(&good, "name", json!("a\0b")), "name"),
        post("a name too long", PAIR, As::Nobody, but(&good, "name", json!(long)), "name"),
        post("a name that is a list", PAIR, As::Nobody, but(&good, "name", json!(["a"])), "name"),
        post("an unknown kind of device", PAIR, As::Nobody, but(&good, "device_type", json!("fridge")), "device_type"),
        post("a version too long", PAIR, As::Nobody, but(&good, "app_version", json!(long)), "app_version"),
    ]
}

fn device_bodies() -> Vec<Row> {
    let sync = json!({ "device_id": "device-a", "sync_batch_id": "b", "format": 2, "scans": [] });
    let beat = json!({ "log_id": "l", "head": 0, "pending": 0 });
    let log = json!({ "log_id": "l", "head": 0 });
    let many = |n: usize| json!((0..n).map(|_| json!({})).collect::<Vec<_>>());
    let post = |what, path, body: Vec<u8>, field| post(what, path, As::Device, body, field);
    vec![
        post("no device", SYNC, without(&sync, "device_id"), "device_id"),
        post("no batch id", SYNC, without(&sync, "sync_batch_id"), "sync_batch_id"),
        post("no scans", SYNC, without(&sync, "scans"), "scans"),
        post("an object for scans", SYNC, but(&sync, "scans", json!({})), "scans"),
        post("a number for a batch id", SYNC, but(&sync, "sync_batch_id", json!(1)), "sync_batch_id"),
        post("an unknown format", SYNC, but(&sync, "format", json!(3)), "format"),
        post("a format that is text", SYNC, but(&sync, "format", json!("2")), "format"),
        post("a format too large", SYNC, but(&sync, "format", json!(300)), "format"),
        post("a negative format", SYNC, but(&sync, "format", json!(-1)), "format"),
        post("1,001 scans of ours", SYNC, but(&sync, "scans", many(1_001)), "scans"),
        post(
            "51 scans of S1's",
            SYNC,
            but(&json!({ "device_id": "device-a", "sync_batch_id": "b" }), "scans", many(51)),
            "scans",
        ),
        post("a log without its head", SYNC, but(&sync, "log_id", json!("l")), "head"),
        post("a huge head", SYNC, but(&but_value(&sync, "log_id", json!("l")), "head", json!(1e30)), "head"),
        post("a time that is none", SYNC, but(&sync, "batch_created_at", json!("soon")), "batch_created_at"),
        post("an offset with a fraction", SYNC, but(&sync, "offset_seconds", json!(1.5)), "offset_seconds"),
        post("no log", BEAT, without(&beat, "log_id"), "log_id"),
        post("no head", BEAT, without(&beat, "head"), "head"),
        post("no pending", BEAT, without(&beat, "pending"), "pending"),
        post("a negative head", BEAT, but(&beat, "head", json!(-1)), "head"),
        post("a head beyond 2^53", BEAT, but(&beat, "head", json!(u64::MAX)), "head"),
        post("a head that is text", BEAT, but(&beat, "head", json!("1")), "head"),
        post("a battery of 101 %", BEAT, but(&beat, "battery", json!(101)), "battery"),
        post("a battery of 1000 %", BEAT, but(&beat, "battery", json!(1000)), "battery"),
        post("pending beyond 2^53", BEAT, but(&beat, "pending", json!(u64::MAX)), "pending"),
        post("a version with a fraction", BEAT, but(&beat, "manifest_version", json!(1.5)), "manifest_version"),
        post("an empty log id", LOG, but(&log, "log_id", json!("")), "log_id"),
        post("a head that is true", LOG, but(&log, "head", json!(true)), "head"),
        post("a head beyond 2^53", LOG, but(&log, "head", json!(1_u64 << 60)), "head"),
    ]
}
fn but_value(good: &Value, member: &str, value: Value) -> Value {
    serde_json::from_slice(&but(good, member, value)).unwrap()
}

fn queries() -> Vec<Row> {
    let row = |what, path, field| get(what, path, As::Device, field);
    vec![
        row("a version that is text", "/api/scanning/events/{event}/manifest?since=x", "since"),
        row("a negative version", "/api/scanning/events/{event}/manifest?since=-1", "since"),
        row("a huge version", "/api/scanning/events/{event}/manifest?since=99999999999999999999", "since"),
        row("a repeated version", "/api/scanning/events/{event}/manifest?since=1&since=2", "since"),
        row("a wait too long", "/api/scanning/events/{event}/changes?wait=26", "wait"),
        row("a wait that is text", "/api/scanning/events/{event}/changes?wait=ever", "wait"),
        row("a cursor that is none", "/api/scanning/events/{event}/changes?cursor=7", "cursor"),
        row("an empty cursor", "/api/scanning/events/{event}/changes?cursor=", "cursor"),
        row("a cursor cut off", "/api/scanning/events/{event}/changes?cursor=1.2.", "cursor"),
        row("an event that is no id", "/api/scanning/events/a%20b/manifest", "id"),
        row("an event that is no UTF-8", "/api/scanning/events/%ff/changes", "id"),
        get("a page of none", "/api/events?limit=0", As::User, "limit"),
        get("a page too large", "/api/events?limit=501", As::User, "limit"),
        get("a page that is text", "/api/events?limit=all", As::User, "limit"),
        get("an event that is no id", "/api/events/a%00b", As::User, "id"),
        get("a stream of no id", "/api/events/a%20b/stream", As::User, "id"),
    ]
}

fn organisers() -> Vec<Row> {
    let sign_in = json!({ "email": "a@b.example", "password": "x" });
    let event = json!({ "name": "E", "starts_at": "2026-06-07T18:00:00Z", "ends_at": "2026-06-07T23:00:00Z" });
    let gate = json!({ "id": "gate", "zones": ["general"] });
    let user = |what, path, body: Vec<u8>, field| post(what, path, As::User, body, field);
    let patch = |what, body: Value, field| Row {
        method: Method::PATCH,
        ..post(what, EVENT, As::User, body.to_string(), field)
    };
    vec![
        post("no e-mail", SESSION, As::Nobody, without(&sign_in, "email"), "email"),
        post("no password", SESSION, As::Nobody, without(&sign_in, "password"), "password"),
        post("a password that is a number", SESSION, As::Nobody, but(&sign_in, "password", json!(1)), "password"),
        post(
            "an organisation that is no id",
            SESSION,
            As::Nobody,
            but(&sign_in, "organization_id", json!("")),
            "organization_id",
        ),
        user("no name", EVENTS, without(&event, "name"), "name"),
        user("an empty name", EVENTS, but(&event, "name", json!(" ")), "name"),
        user("a name with a NUL", EVENTS, but(&event, "name", json!("a\0")), "name"),
        user("no start", EVENTS, without(&event, "starts_at"), "starts_at"),
        user("a start that is no time", EVENTS, but(&event, "starts_at", json!("7 June")), "starts_at"),
        user("a start that is a number", EVENTS, but(&event, "starts_at", json!(0)), "starts_at"),
        user("an end before the start", EVENTS, but(&event, "ends_at", json!("2026-06-07T17:00:00Z")), "ends_at"),
        user("a time zone that is none", EVENTS, but(&event, "time_zone", json!("Mars Olympus!")), "time_zone"),
        user("an unknown status", EVENTS, but(&event, "status", json!("open")), "status"),
        user("an unknown re-entry mode", EVENTS, but(&event, "re_entry", json!("sometimes")), "re_entry"),
        user("a PIN of letters", EVENTS, but(&event, "staff_pin", json!("abcd")), "staff_pin"),
        user("a PIN too short", EVENTS, but(&event, "staff_pin", json!("123")), "staff_pin"),
        user("a negative capacity", EVENTS, but(&event, "capacity", json!(-1)), "capacity"),
        patch("an unknown status", json!({ "status": "gone" }), "status"),
        patch("a name that is a number", json!({ "name": 5 }), "name"),
        user("no id", GATES, without(&gate, "id"), "id"),
        user("an unknown direction", GATES, but(&gate, "direction", json!("up")), "direction"),
        user("zones that are text", GATES, but(&gate, "zones", json!("general")), "zones"),
        user("a huge capacity", GATES, but(&gate, "capacity", json!(1e12)), "capacity"),
        user(
            "a limit of nobody",
            TICKETS,
            json!({ "zone": "general", "entry_limit": 0 }).to_string().into_bytes(),
            "entry_limit",
        ),
        user(
            "a code too long",
            TICKETS,
            json!({ "zone": "general", "barcode": "x".repeat(513) }).to_string().into_bytes(),
            "barcode",
        ),
        user(
            "an unknown status",
            TICKETS,
            json!({ "zone": "general", "status": "lost" }).to_string().into_bytes(),
            "status",
        ),
    ]
}

async fn check(server: &TestServer, phone: &Phone, row: &Row) -> Result<(), String> {
    let path = row.path.replace("{event}", phone.event_id().as_str());
    let mut request = server.request(row.method.clone(), &path);
    request = match row.who {
        As::Nobody => request,
        As::Device => phone.bearer(request),
        As::User => request.bearer_auth(&server.home.token),
    };
    if !row.kind.is_empty() {
        request = request.header("content-type", row.kind);
    }
    if row.method != Method::GET {
        request = request.body(row.body.clone());
    }
    let answer = request.send().await.map_err(|error| error.to_string())?;
    let (status, kind) = (answer.status().as_u16(), answer.headers().get("content-type").cloned());
    let text = answer.text().await.map_err(|error| error.to_string())?;
    if status != row.status {
        return Err(format!("answered {status}, not {}: {text}", row.status));
    }
    if kind.is_none_or(|kind| kind != "application/problem+json") {
        return Err(format!("is not problem+json: {text}"));
    }
    let body: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if body["code"].as_str().is_none_or(str::is_empty) || body["status"] != row.status {
        return Err(format!("has no code: {text}"));
    }
    let Some(field) = row.field else { return Ok(()) };
    let named =
        body["errors"].as_array().into_iter().flatten().any(|error| {
            error["path"] == field && error["message"].as_str().is_some_and(|message| !message.is_empty())
        });
    if named { Ok(()) } else { Err(format!("does not name {field:?}: {text}")) }
}

#[tokio::test]
async fn every_malformed_request_is_a_problem_that_names_the_field() {
    // Every row sends its own request, so the sync limit must not interfere.
    let settings = admit_server::Settings { syncs_per_minute: 1_000, ..Default::default() };
    let server = TestServer::with(settings).await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let rows: Vec<Row> =
        [documents(), pairing(), device_bodies(), queries(), organisers()].into_iter().flatten().collect();
    assert!(rows.len() >= 60, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        if let Err(why) = check(&server, &phone, row).await {
            wrong.push(format!("{} {} ({}): {why}", row.method, row.path, row.what));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// Random bytes and random JSON at each path cause no answer above 4xx.
#[tokio::test]
async fn noise_is_never_answered_with_5xx() {
    let server = TestServer::with(admit_server::Settings { syncs_per_minute: 10_000, ..Default::default() }).await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        ":",
        ",",
        "null",
        "true",
        "-1",
        "1e999",
        "\\u0000",
        "\\ud800",
        "scans",
        "device_id",
        " ",
        "\u{0}",
        "é",
    ];
    for _ in 0..300 {
        let length = next() % 24;
        let body: String = (0..length).map(|_| pieces[(next() % pieces.len() as u64) as usize]).collect();
        for (path, who) in [
            (PAIR, As::Nobody),
            (SYNC, As::Device),
            (BEAT, As::Device),
            (LOG, As::Device),
            (MANIFEST, As::Device),
            (CHANGES, As::Device),
        ] {
            let is_get = path == MANIFEST || path == CHANGES;
            let path = path.replace("{event}", phone.event_id().as_str());
            let request = if is_get {
                let query = form_urlencoded::byte_serialize(body.as_bytes()).collect::<String>();
                server.get(&format!("{path}?since={query}&cursor={query}"))
            } else {
                server.post(&path).header("content-type", JSON).body(body.clone())
            };
            let request = if who == As::Device { phone.bearer(request) } else { request };
            let status = request.send().await.unwrap().status();
            assert!(!status.is_server_error(), "{status} for {body:?} to {path}");
        }
    }
}
