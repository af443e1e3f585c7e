//! `GET /api/events/{id}/stream` over HTTP.

use std::sync::Arc;
use std::time::Duration;

use admit_app::ports::{Hint, Hints as _, Topic};
use admit_core::scan::{Outcome, ScanKind};
use admit_server::adapters::hints_local::Hub;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::device::Phone;
use crate::server::{PASSWORD, TestServer, serve};

/// One server-sent event as a browser would receive it.
#[derive(Debug)]
pub struct Seen {
    pub event: String,
    pub id: String,
    pub data: Value,
}

pub struct Reader {
    response: Response,
    text: String,
}

impl Reader {
    /// The next event; `None` when the stream has ended.
    pub async fn next(&mut self) -> Option<Seen> {
        loop {
            if let Some((whole, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let line = whole.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                    line.unwrap_or_default().to_owned()
                };
                let seen = Seen {
                    event: field("event"),
                    id: field("id"),
                    data: serde_json::from_str(&field("data")).unwrap(),
                };
                self.text = rest.to_owned();
                return Some(seen);
            }
            let chunk = tokio::time::timeout(Duration::from_secs(20), self.response.chunk()).await;
            match chunk.expect("the stream says nothing").ok().flatten() {
                Some(chunk) => self.text.push_str(std::str::from_utf8(&chunk).unwrap()),
                None => return None,
            }
        }
    }
    /// Reads until the message about this upload.
    pub async fn until_batch(&mut self, id: &Value) {
        while self.until("batch").await.data["batch_id"] != *id {}
    }
    /// Reads until the occupancy message after the next upload at this gate.
    pub async fn until_moved(&mut self, gate: &str) -> Value {
        loop {
            let seen = self.until("occupancy").await;
            if seen.data["gate_id"] == gate {
                return seen.data;
            }
        }
    }
    pub async fn until(&mut self, event: &str) -> Seen {
        loop {
            let seen = self.next().await.expect("the stream ended");
            if seen.event == event {
                return seen;
            }
        }
    }
}

pub async fn open(server: &TestServer, bearer: &str, last: Option<&str>) -> Reader {
    let request = server.get(&format!("/api/events/{}/stream", server.home.event_id)).bearer_auth(bearer);
    let request = match last {
        Some(id) => request.header("last-event-id", id),
        None => request,
    };
    let response = request.header("accept-encoding", "gzip, br, zstd").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert!(!response.headers().contains_key("content-encoding"), "a stream is never compressed");
    Reader { response, text: String::new() }
}

#[tokio::test]
async fn it_opens_with_whole_snapshots_and_follows_uploads() {
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let mut reader = open(&server, &server.home.token, None).await;
    for event in ["occupancy", "incidents", "devices", "arrivals"] {
        let seen = reader.next().await.unwrap();
        assert_eq!(seen.event, event);
        assert!(seen.id.contains('.'), "{}", seen.id);
    }
    let scan = phone.scan(&server.home.barcodes[0], Outcome::Valid, server.state.app.clock.now());
    let batch = phone.batch(vec![scan]);
    assert_eq!(phone.sync(&server, &batch).await.status(), 200);
    let done = reader.until("batch").await;
    assert_eq!(done.data["event"], "sync_complete");
    assert_eq!(done.data["batch_id"], batch["sync_batch_id"]);
    let moved = reader.until("occupancy").await;
    assert_eq!(moved.data["event"], "batch_sync_completed");
    assert_eq!(
        moved.data["topic"],
        format!("occupancy:{}:{}", server.home.owner.organization_id, server.home.event_id)
    );
    assert_eq!((&moved.data["scans_added"], &moved.data["total_occupancy"]), (&1.into(), &1.into()));
    let came = reader.until("arrivals").await;
    assert_eq!((&came.data["items"][0]["kind"], &came.data["items"][0]["persons"]), (&"entry".into(), &1.into()));
}

#[tokio::test]
async fn who_comes_back_from_another_epoch_is_told_to_begin_anew() {
    let server = TestServer::start().await;
    let id = open(&server, &server.home.token, None).await.next().await.unwrap().id;
    let mut back = open(&server, &server.home.token, Some(&id)).await;
    assert_eq!(back.next().await.unwrap().event, "occupancy", "the same epoch: snapshots at once");
    let mut cursor: admit_core::wire::scanning::Cursor = id.parse().unwrap();
    cursor.epoch.random ^= 1;
    for other in [cursor.to_string(), "nonsense".to_owned()] {
        let mut back = open(&server, &server.home.token, Some(&other)).await;
        assert_eq!(back.next().await.unwrap().event, "resync", "{other}");
        assert_eq!(back.next().await.unwrap().event, "occupancy");
    }
}

#[tokio::test]
async fn a_device_hears_of_its_own_batches_only() {
    let server = TestServer::start().await;
    let (mut a, mut b) = (Phone::pair(&server, &server.home, "a").await, Phone::pair(&server, &server.home, "b").await);
    let mut reader = open(&server, a.key(), None).await;
    let now = server.state.app.clock.now();
    let foreign = b.scan(&server.home.barcodes[0], Outcome::Valid, now);
    let foreign = b.batch(vec![foreign]);
    assert_eq!(b.sync(&server, &foreign).await.status(), 200);
    let ours = a.scan(&server.home.barcodes[1], Outcome::Valid, now);
    let ours = a.batch(vec![ours]);
    assert_eq!(a.sync(&server, &ours).await.status(), 200);
    let seen = reader.next().await.unwrap();
    assert_eq!((seen.event.as_str(), &seen.data["batch_id"]), ("batch", &ours["sync_batch_id"]));
}

#[tokio::test]
async fn a_batch_of_the_same_name_is_another_devices() {
    let server = TestServer::start().await;
    let (mut a, mut b) = (Phone::pair(&server, &server.home, "a").await, Phone::pair(&server, &server.home, "b").await);
    let mut reader = open(&server, a.key(), None).await;
    let now = server.state.app.clock.now();
    let named = |phone: &mut Phone, id: &str, code: usize| {
        let scan = phone.scan(&server.home.barcodes[code], Outcome::Valid, now);
        let mut batch = phone.batch(vec![scan]);
        batch["sync_batch_id"] = id.into();
        batch
    };
    // Both devices choose the same batch ids; `a` has used one of them already.
    for (mine, id, code) in [(true, "b1", 0), (false, "b1", 1), (true, "b2", 2)] {
        let phone = if mine { &mut a } else { &mut b };
        let batch = named(phone, id, code);
        assert_eq!(phone.sync(&server, &batch).await.status(), 200);
    }
    for id in ["b1", "b2"] {
        let seen = reader.next().await.unwrap();
        assert_eq!((seen.event.as_str(), &seen.data["batch_id"]), ("batch", &id.into()));
        assert_eq!(seen.data["device_id"], a.device_id().as_str());
    }
}

/// Uploads one scan, and gives the id of its batch.
async fn upload(server: &TestServer, phone: &mut Phone, code: usize) -> Value {
    let scan = phone.scan(&server.home.barcodes[code], Outcome::Valid, server.state.app.clock.now());
    let batch = phone.batch(vec![scan]);
    assert_eq!(phone.sync(server, &batch).await.status(), 200);
    batch["sync_batch_id"].clone()
}

#[tokio::test]
async fn what_was_uploaded_while_the_stream_was_away_is_told_when_it_is_back() {
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    for key in [phone.key().to_owned(), server.home.token.clone()] {
        let mut reader = open(&server, &key, None).await;
        let first = upload(&server, &mut phone, 0).await;
        let seen = reader.until("batch").await;
        assert_eq!(seen.data["batch_id"], first);
        drop(reader);
        let missed = [upload(&server, &mut phone, 1).await, upload(&server, &mut phone, 2).await];
        let mut back = open(&server, &key, Some(&seen.id)).await;
        let mut told = Vec::new();
        // A message that a hint brought has the id of the message before it. So its upload may come twice, but none is
        // missing.
        while told.last() != Some(&missed[1]) {
            told.push(back.until("batch").await.data["batch_id"].clone());
        }
        told.retain(|id| *id != first);
        assert_eq!(told, missed);
    }
}

#[tokio::test]
async fn a_hint_that_is_lost_loses_no_batch() {
    let server = TestServer::start().await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let mut readers = [open(&server, phone.key(), None).await, open(&server, &server.home.token, None).await];
    readers[1].until("devices").await;
    // A node whose hints reach nobody.
    let mut state = server.state.clone();
    state.app.hints = Arc::new(Hub::default());
    let elsewhere = serve(&state).await;
    let hint = |topic| Hint {
        organization_id: server.home.owner.organization_id.clone(),
        event_id: server.home.event_id.clone(),
        serial: None,
        topic,
    };
    for (code, lag) in [(0, false), (1, true)] {
        let scan = phone.scan(&server.home.barcodes[code], Outcome::Valid, server.state.app.clock.now());
        let batch = phone.batch(vec![scan]);
        let request = server.client.post(format!("{elsewhere}/api/scanning/sync")).bearer_auth(phone.key());
        assert_eq!(request.json(&batch).send().await.unwrap().status(), 200);
        if lag {
            // These are more hints than a listener may fall behind, so it learns that it missed some.
            (0..1_000).for_each(|_| server.state.live.hint(hint(Topic::Devices)));
        } else {
            // The re-reading of heads found that this event has changed.
            server.state.live.hint(hint(Topic::Rules));
        }
        for reader in &mut readers {
            assert_eq!(reader.until("batch").await.data["batch_id"], batch["sync_batch_id"]);
        }
    }
}

/// The session of a new member.
async fn member(server: &TestServer, role: &str) -> (String, String) {
    let email = format!("{role}@home.example");
    let body = json!({ "email": email, "name": "Somebody", "password": PASSWORD, "role": role });
    let made = server.post("/api/members").bearer_auth(&server.home.token).json(&body).send().await.unwrap();
    let id = crate::server::json(made, 201).await["id"].as_str().unwrap().to_owned();
    let body = json!({ "email": email, "password": PASSWORD });
    let answer = server.post("/api/session").json(&body).send().await.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap();
    (id, cookie.split(';').next().unwrap().to_owned())
}

async fn open_as(server: &TestServer, cookie: &str) -> Reader {
    let request = server.get(&format!("/api/events/{}/stream", server.home.event_id)).header("cookie", cookie);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    Reader { response, text: String::new() }
}

#[tokio::test]
async fn who_may_not_read_scans_sees_occupancy_alone() {
    let server = TestServer::start().await;
    let mut phones = [Phone::pair(&server, &server.home, "a").await, Phone::pair(&server, &server.home, "b").await];
    let roles = [("promoter", false), ("door", false), ("viewer", true), ("manager", true)];
    for (nth, (role, sees)) in roles.into_iter().enumerate() {
        let mut reader = open_as(&server, &member(&server, role).await.1).await;
        let mut events = vec![reader.next().await.unwrap().event];
        // A double entry: one upload of each phone, one incident, two devices seen.
        for phone in &mut phones {
            upload(&server, phone, nth).await;
        }
        server.state.app.hints.hint(Hint {
            organization_id: server.home.owner.organization_id.clone(),
            event_id: server.home.event_id.clone(),
            serial: None,
            topic: Topic::Rules,
        });
        loop {
            let seen = reader.next().await.unwrap();
            events.push(seen.event.clone());
            if seen.event == "occupancy" && seen.data["over"] == nth + 1 {
                break;
            }
        }
        let others = ["batch", "incidents", "devices", "arrivals"].map(|one| events.iter().any(|event| event == one));
        assert_eq!(others, [sees; 4], "{role}: {events:?}");
    }
}

#[tokio::test]
async fn a_removed_members_and_a_revoked_devices_stream_ends() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let (id, cookie) = member(&server, "viewer").await;
    let mut readers = [open_as(&server, &cookie).await, open(&server, phone.key(), None).await];
    readers[0].until("devices").await;
    for path in [format!("/api/members/{id}"), format!("/api/scanning/devices/{}", phone.device_id())] {
        let gone = server.request(Method::DELETE, &path).bearer_auth(&server.home.token).send().await.unwrap();
        assert!(gone.status().is_success(), "{path}: {}", gone.status());
    }
    for reader in &mut readers {
        while let Some(seen) = reader.next().await {
            assert_ne!(seen.event, "heartbeat", "whoever may not see it is looked up before the heartbeat");
        }
    }
    let path = format!("/api/events/{}/stream", server.home.event_id);
    let again = phone.bearer(server.get(&path)).send().await.unwrap();
    crate::server::problem(again, 403, "device_revoked").await;
}

#[tokio::test]
async fn what_moved_at_a_gate_is_never_fewer_than_nobody() {
    let server = TestServer::start().await;
    for (gate, direction) in [("way-out", "out"), ("both-ways", "both")] {
        let body = json!({ "id": gate, "direction": direction });
        let path = format!("/api/events/{}/gates", server.home.event_id);
        let made = server.post(&path).bearer_auth(&server.home.token).json(&body).send().await.unwrap();
        assert_eq!(made.status(), 201);
    }
    let mut reader = open(&server, &server.home.token, None).await;
    reader.until("devices").await;
    // A person who came in by the main gate leaves by another.
    let mut at_main = Phone::pair(&server, &server.home, "a").await;
    upload(&server, &mut at_main, 0).await;
    let moved = reader.until_moved("main").await;
    assert_eq!((&moved["gate_occupancy"], &moved["total_occupancy"]), (&json!(1), &json!(1)));
    for (name, gate, said) in [("b", "both-ways", json!(0)), ("c", "way-out", Value::Null)] {
        let mut phone = Phone::pair_at(&server, &server.home, name, gate).await;
        let (code, now) = (&server.home.barcodes[0], server.state.app.clock.now());
        let exit = phone.log.scan_as(code, Outcome::Valid, now, |scan| scan.kind = ScanKind::Exit);
        let batch = phone.batch(vec![exit]);
        assert_eq!(phone.sync(&server, &batch).await.status(), 200);
        let moved = reader.until_moved(gate).await;
        assert_eq!(moved["gate_occupancy"], said, "{moved}");
    }
}

#[tokio::test]
async fn streams_end_with_the_server() {
    let server = TestServer::start().await;
    let mut reader = open(&server, &server.home.token, None).await;
    reader.next().await.unwrap();
    server.state.shutdown.cancel();
    while reader.next().await.is_some() {}
}

#[tokio::test]
async fn a_client_that_does_not_read_is_closed_and_holds_nobody_up() {
    let server = TestServer::start().await;
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(1024).unwrap();
    let mut stuck = socket.connect(server.address().parse().unwrap()).await.unwrap();
    let request = format!(
        "GET /api/events/{}/stream HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        server.home.event_id,
        server.address(),
        server.home.token
    );
    stuck.write_all(request.as_bytes()).await.unwrap();
    let mut awake = open(&server, &server.home.token, None).await;
    awake.next().await.unwrap();
    // Long messages fill the socket's buffers, then the queue. Meanwhile the server answers uploads, and a client that
    // reads gets all of them.
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let filler = "x".repeat(100_000);
    let hint = |n: usize| admit_app::ports::Hint {
        organization_id: server.home.owner.organization_id.clone(),
        event_id: server.home.event_id.clone(),
        serial: Some(n as u64),
        topic: admit_app::ports::Topic::Batch(
            serde_json::json!({ "batch_id": format!("b-{n}"), "filler": filler }).to_string(),
        ),
    };
    let dropped = || server.state.metrics.streams_dropped.get();
    let (mut uploads, mut n) = (0, 100_000);
    while dropped() == 0 {
        assert!(n < 102_000, "the stuck one is not dropped");
        n += 1;
        server.state.app.hints.hint(hint(n));
        // The client that reads gets it. This also gives the other client's task its turn.
        awake.until_batch(&format!("b-{n}").into()).await;
        if n % 10 == 0 && uploads < 8 {
            let id = upload(&server, &mut phone, uploads).await;
            awake.until_batch(&id).await;
            uploads += 1;
        }
    }
    assert_eq!(dropped(), 1, "the stuck one, and only it");
    assert!(uploads > 1, "nobody uploaded while it was stuck");
    let id = upload(&server, &mut phone, uploads).await;
    awake.until_batch(&id).await;
}
