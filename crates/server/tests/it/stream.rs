//! `GET /api/events/{id}/stream` over the wire.

use std::time::Duration;

use admit_core::scan::Outcome;
use reqwest::Response;
use serde_json::Value;
use tokio::io::AsyncWriteExt;

use crate::device::Phone;
use crate::server::TestServer;

/// One event as a browser would see it.
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
    /// The next event; `None` when the stream ended.
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
    for event in ["occupancy", "incidents", "devices"] {
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
    let theirs = b.scan(&server.home.barcodes[0], Outcome::Valid, now);
    let theirs = b.batch(vec![theirs]);
    assert_eq!(b.sync(&server, &theirs).await.status(), 200);
    let ours = a.scan(&server.home.barcodes[1], Outcome::Valid, now);
    let ours = a.batch(vec![ours]);
    assert_eq!(a.sync(&server, &ours).await.status(), 200);
    let seen = reader.next().await.unwrap();
    assert_eq!((seen.event.as_str(), &seen.data["batch_id"]), ("batch", &ours["sync_batch_id"]));
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
    // Long batch messages fill the socket's buffers, then the queue.
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
    for n in 0..2_000 {
        server.state.app.hints.hint(hint(n));
        if dropped() > 0 {
            break;
        }
        // The one who reads gets it; this also gives the other's task its turn.
        awake.until("batch").await;
    }
    assert_eq!(dropped(), 1, "the stuck one, and only it");
    server.state.app.hints.hint(hint(9_999));
    assert_eq!(awake.until("batch").await.data["event"], Value::Null);
}
