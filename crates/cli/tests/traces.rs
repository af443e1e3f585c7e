//! A trace from a device's upload to the commit, as a collector receives it. Also what an unreachable collector costs.

#[allow(dead_code, reason = "other tests use the rest")]
mod serving;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../server/tests/it/signed.rs"]
mod signed;

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use admit_app::demo::{Seeded, seed};
use admit_app::ports::Store;
use admit_app::secret::Secret;
use admit_core::scan::Outcome;
use admit_core::time::Timestamp;
use admit_server::{AppState, Settings};
use admit_store_postgres::{Postgres, testing};
use admit_store_sqlite::Sqlite;
use axum::Router;
use axum::extract::State;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use serving::{Folder, Server, now_ms};
use signed::Log;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const DEVICE: &str = "phone-of-the-east-gate";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CAUSE: &str = "00f067aa0ba902b7";

/// The traces that a collector received.
type Got = Arc<Mutex<Vec<ExportTraceServiceRequest>>>;

/// Starts a collector on a free port, and gives its address and what it receives.
async fn collector() -> (String, Got) {
    async fn take(State(got): State<Got>, body: axum::body::Bytes) -> Vec<u8> {
        got.lock().unwrap().push(ExportTraceServiceRequest::decode(body).expect("protobuf"));
        Vec::new()
    }
    let got = Got::default();
    let router = Router::new().route("/v1/traces", post(take)).with_state(got.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (address, got)
}

/// Makes the demo's event in a store.
async fn seeded(store: Arc<dyn Store>) -> Seeded {
    let state = AppState::new(store, Secret::new(SECRET).unwrap(), Settings::default());
    let seeded = seed(&state.app).await.unwrap();
    tokio::task::spawn_blocking(move || drop(state)).await.unwrap();
    seeded
}

/// Starts `admit serve` on the demo's event, and waits until it answers.
async fn serve(client: &Client, folder: &Folder, seeded: &Seeded, settings: &[(&str, &str)]) -> Server {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_admit"));
    for name in ["DATABASE_URL", "REDIS_URL", "PUBLIC_URL", "ADMIT_CONFIG", "OTEL_RESOURCE_ATTRIBUTES"] {
        command.env_remove(name);
    }
    command
        .args(["serve", "--listen", &address.to_string(), "--data-dir"])
        .arg(&folder.0)
        .envs([("ADMIT_SECRET", SECRET), ("RUST_LOG", "info"), ("OTEL_BSP_SCHEDULE_DELAY", "50")])
        .env("NO_PROXY", "127.0.0.1")
        .envs(settings.iter().copied())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let url = format!("http://{address}");
    let told = json!({ "url": url, "event_id": seeded.event_id, "api_token": seeded.api_token, "gates": seeded.gates });
    let server = Server { child: command.spawn().unwrap(), told };
    let until = Instant::now() + Duration::from_secs(60);
    while !client.get(format!("{url}/readyz")).send().await.is_ok_and(|answer| answer.status() == 200) {
        assert!(Instant::now() < until, "it does not serve");
        tokio::time::sleep(Duration::from_millis(20)).await; // tidy-allow: the pause of a poll loop
    }
    server
}

/// Asks the server to stop, waits until it has, and gives its log and how long that took.
async fn stopped(mut server: Server) -> (String, Duration) {
    let begun = Instant::now();
    let pid = server.child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let mut log = String::new();
    let mut stderr = server.child.stderr.take().unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(30), async {
        stderr.read_to_string(&mut log).await.unwrap();
        server.child.wait().await.unwrap()
    });
    assert_eq!(ended.await.expect("it does not stop").code(), Some(0), "{log}");
    (log, begun.elapsed())
}

/// Uploads one scan of a ticket with this `traceparent`, and gives the duration.
async fn upload(client: &Client, server: &Server, log: &mut Log, code: &str, traceparent: Option<&str>) -> Duration {
    let scan = log.scan(code, Outcome::Valid, Timestamp::clamped(now_ms() - 60_000));
    let batch = log.batch(vec![scan]);
    let mut request = client.post(format!("{}/api/scanning/sync", server.url())).bearer_auth(&log.paired.api_key);
    if let Some(traceparent) = traceparent {
        request = request.header("traceparent", traceparent).header("tracestate", format!("code={code}"));
    }
    let begun = Instant::now();
    let answer = request.json(&batch).send().await.unwrap();
    assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
    begun.elapsed()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The span with that name. It must begin and end inside its parent.
fn child<'a>(spans: &'a [Span], parent: &Span, name: &str) -> &'a Span {
    let found: Vec<&Span> = spans.iter().filter(|span| span.name == name).collect();
    assert_eq!(found.len(), 1, "{name} among {:?}", spans.iter().map(|span| &span.name).collect::<Vec<_>>());
    let span = found[0];
    assert_eq!(hex(&span.parent_span_id), hex(&parent.span_id), "{name} is a child of {}", parent.name);
    let inside = parent.start_time_unix_nano <= span.start_time_unix_nano
        && span.start_time_unix_nano <= span.end_time_unix_nano
        && span.end_time_unix_nano <= parent.end_time_unix_nano;
    assert!(inside, "{name} {span:?} inside {parent:?}");
    span
}

fn attributes(span: &Span) -> BTreeMap<&str, String> {
    span.attributes.iter().map(|one| (one.key.as_str(), format!("{:?}", one.value))).collect()
}

/// Checks the spans of the device's upload: one trace from the request to the commit.
fn one_trace(spans: &[Span]) {
    let root: Vec<&Span> = spans.iter().filter(|span| hex(&span.parent_span_id) == CAUSE).collect();
    assert_eq!(root.len(), 1, "one request has the device's span as its parent: {spans:?}");
    let request = root[0];
    assert_eq!(request.name, "POST /api/scanning/sync");
    let said = attributes(request);
    assert!(said["http.response.status_code"].contains("200") && said.contains_key("admit.request_id"), "{said:?}");
    child(spans, request, "device.authenticate");
    let read = child(spans, request, "upload.read");
    let judge = child(spans, request, "upload.judge");
    assert!(read.end_time_unix_nano <= judge.start_time_unix_nano);
    let write = child(spans, judge, "store.write");
    let said = attributes(write);
    assert!(said["group"].contains("IntValue(1)") && said["waited_ms"].contains("DoubleValue"), "{said:?}");
    let wait = child(spans, write, "store.wait");
    let transaction = child(spans, write, "store.transaction");
    let commit = child(spans, write, "store.commit");
    let ends = [wait, transaction, commit].map(|span| span.end_time_unix_nano);
    assert!(ends.is_sorted(), "{ends:?}");
    assert_eq!(spans.len(), 8, "{spans:?}");
}

/// Uploads with a `traceparent`, without one, and with a malformed one. Then checks everything that was exported.
async fn from_upload_to_commit(folder: Folder, seeded: Seeded, settings: &[(&str, &str)]) {
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let (address, got) = collector().await;
    let settings = [&[("OTEL_EXPORTER_OTLP_ENDPOINT", address.as_str())], settings].concat();
    let server = serve(&client, &folder, &seeded, &settings).await;
    let (paired, codes) = server.pair(&client, DEVICE).await;
    let key = paired.api_key.clone();
    let mut log = Log::new(paired, "traced");
    let traceparent = format!("00-{TRACE}-{CAUSE}-01");
    // The first upload has one more write, because the key is marked as used.
    upload(&client, &server, &mut log, &codes[1], None).await;
    upload(&client, &server, &mut log, &codes[0], Some(&traceparent)).await;
    upload(&client, &server, &mut log, &codes[2], Some("00-not-a-trace")).await;
    let guests = format!("{}/api/events/{}/guests?limit=500", server.url(), seeded.event_id);
    let guests = client.get(guests).bearer_auth(&seeded.api_token).send().await.unwrap().text().await.unwrap();
    let guests: Value = serde_json::from_str(&guests).unwrap();
    let names: Vec<&str> = guests["items"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(!names.is_empty(), "{guests}");
    let (said, _) = stopped(server).await;

    let exported = std::mem::take(&mut *got.lock().unwrap());
    let of = |resource: &ExportTraceServiceRequest| format!("{:?}", resource.resource_spans[0].resource);
    assert!(of(&exported[0]).contains("service.name") && of(&exported[0]).contains("\"admit\""), "{exported:?}");
    let spans = exported.iter().flat_map(|one| &one.resource_spans).flat_map(|one| &one.scope_spans);
    let spans: Vec<Span> = spans.flat_map(|one| one.spans.iter().cloned()).collect();
    let ours: Vec<Span> = spans.iter().filter(|span| hex(&span.trace_id) == TRACE).cloned().collect();
    one_trace(&ours);
    let alone = |span: &&Span| span.name == "POST /api/scanning/sync" && span.parent_span_id.is_empty();
    assert_eq!(spans.iter().filter(alone).count(), 2, "without a parent, and with none that can be read: {spans:?}");
    // A write belongs to a request's trace, or is not exported.
    assert!(spans.iter().all(|span| span.name.contains("/api/") || !span.parent_span_id.is_empty()), "{spans:?}");

    let whole = format!("{exported:?}");
    let codes = codes.iter().take(3).map(String::as_str);
    for secret in codes.chain(names).chain([DEVICE, key.as_str(), seeded.api_token.as_str(), SECRET]) {
        assert!(!whole.contains(secret), "{secret} was exported");
    }
    // The log lines are the same as without traces.
    let line = said.lines().find(|line| line.contains("sync.success")).unwrap_or_else(|| panic!("{said}"));
    assert_eq!(line.matches('{').count(), 1, "one span of the log, the request: {line}");
    assert!(line.contains("request{id=") && line.contains("route=\"/api/scanning/sync\"}: admit_server::"), "{line}");
    assert!(!said.contains("store.") && !said.contains("upload."), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_is_one_trace_down_to_the_commit_of_sqlite() {
    let folder = Folder::new("traces-sqlite");
    std::fs::create_dir_all(&folder.0).unwrap();
    let store = Sqlite::open(folder.0.join("admit.db"), Default::default()).unwrap();
    let seeded = seeded(Arc::new(store)).await;
    from_upload_to_commit(folder, seeded, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_is_one_trace_down_to_the_commit_of_postgresql() {
    let opened = tokio::task::spawn_blocking(|| {
        // Admit refuses a PostgreSQL that does not flush. This one ends with the test process.
        let server: &'static testing::Server = Box::leak(Box::new(testing::Server::start(true)));
        let url = server.database();
        let store = Postgres::open(&url, Default::default()).unwrap();
        (url, store)
    });
    let (url, store) = opened.await.unwrap();
    let seeded = seeded(Arc::new(store)).await;
    from_upload_to_commit(Folder::new("traces-postgres"), seeded, &[("DATABASE_URL", &url)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_away_costs_one_line_of_the_log_and_no_time() {
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let folder = Folder::new("traces-away");
    std::fs::create_dir_all(&folder.0).unwrap();
    let seeded = seeded(Arc::new(Sqlite::open(folder.0.join("admit.db"), Default::default()).unwrap())).await;
    // One collector accepts connections and never answers; the other port has no listener.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for (n, (address, lines)) in [(silent.local_addr().unwrap(), 0..=1), (gone, 1..=1)].into_iter().enumerate() {
        let url = format!("http://{address}");
        let settings = [("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()), ("ADMIT_LOG", "json")];
        let server = serve(&client, &folder, &seeded, &settings).await;
        let (paired, codes) = server.pair(&client, &format!("{DEVICE}-{n}")).await;
        let mut log = Log::new(paired, &format!("away-{n}"));
        let mut slowest = Duration::ZERO;
        for code in &codes[10 * n..10 * n + 10] {
            slowest = slowest.max(upload(&client, &server, &mut log, code, None).await);
        }
        assert!(slowest < Duration::from_secs(2), "an upload waited {slowest:?}");
        let (said, took) = stopped(server).await;
        assert!(took < Duration::from_secs(10), "the end waited {took:?}");
        assert!(lines.contains(&said.matches("traces.not_exported").count()), "{said}");
        let line = said.lines().find(|line| line.contains("sync.success")).unwrap_or_else(|| panic!("{said}"));
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&line["spans"].as_array().unwrap().len(), &line["span"]["name"]),
            (&1, &json!("request")),
            "{line}"
        );
    }
}

#[test]
fn a_setting_that_cannot_be_is_told_with_its_name_and_the_fix() {
    let folder = Folder::new("traces-settings");
    for (arguments, told) in [
        (["--otlp-endpoint", "127.0.0.1:4318"], "OTEL_EXPORTER_OTLP_ENDPOINT must be a collector's address"),
        (["--trace-ratio", "2"], "ADMIT_TRACE_RATIO must be a number from 0 (no trace) to 1 (every trace)"),
    ] {
        let run = serving::admit(&[&["serve"], &arguments[..]].concat(), &folder.0);
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(!run.status.success() && said.contains(told), "{said}");
    }
    assert!(!folder.0.exists(), "nothing was begun");
}
