//! A server, and activity at its doors that changes each of its metrics.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use admit_core::scan::Outcome;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::PairAnswer;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::serving::{now_ms, said};
use crate::signed::Log;

const EMAIL: &str = "owner@watching.example";
/// The time limit until the server prints its address.
const PATIENCE: Duration = Duration::from_secs(120);
/// The tickets of the event that this test opens.
const TICKETS: usize = 400;
/// The number of rounds between two guests.
const GUEST_EVERY: usize = 4;

/// The real binary, serving.
pub struct Admit {
    url: String,
    /// The address of its metrics.
    pub metrics: String,
    token: String,
    client: Client,
    child: Child,
}

impl Admit {
    /// Starts it on an empty folder, and waits until it prints its address and that of its metrics.
    pub async fn start(folder: &Path) -> Self {
        said(&["user", "add", "--email", EMAIL, "--organization", "Watching"], folder);
        let token = said(&["token", "create", "--email", EMAIL], folder).trim().to_owned();
        let mut command = Command::new(env!("CARGO_BIN_EXE_admit"));
        for name in ["ADMIT_SECRET", "DATABASE_URL", "REDIS_URL", "ADMIT_CONFIG", "ADMIT_NODE", "SMTP_URL"] {
            command.env_remove(name);
        }
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(folder)
            .env("ADMIT_METRICS_LISTEN", "127.0.0.1:0")
            .env("ADMIT_SYNCS_PER_MINUTE", "1000000")
            .env("PUBLIC_URL", "https://tickets.example.org")
            .env("RUST_LOG", "error")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        // The two lines may come on either stream and in any order.
        let (sender, mut lines) = unbounded_channel();
        tokio::spawn(read(child.stdout.take().unwrap(), sender.clone()));
        tokio::spawn(read(child.stderr.take().unwrap(), sender));
        let mut heard = Vec::new();
        let (mut url, mut metrics) = (None, None);
        while url.is_none() || metrics.is_none() {
            let line = next(&mut lines).await.unwrap_or_else(|| panic!("it said only {heard:#?}"));
            let after = |words: &str| Some(line.split_once(words)?.1.trim().to_owned());
            (url, metrics) = (url.or(after("serving on ")), metrics.or(after("metrics on ")));
            heard.push(line);
        }
        let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
        Self { url: url.unwrap(), metrics: metrics.unwrap(), token, client, child }
    }

    /// Kills it with SIGKILL, and waits until it is gone, because its folder is removed next.
    pub async fn stop(mut self) {
        self.child.kill().await.unwrap();
    }

    /// A small `admit load`, which makes its own event.
    pub fn load(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_admit"));
        command.args(["load", "--server", &self.url, "--token", &self.token]);
        command.args(["--phones", "4", "--scans", "10", "--seconds", "5"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    /// The names of the samples in the server's metrics.
    pub async fn shown_metrics(&self) -> BTreeSet<String> {
        let text = self.client.get(&self.metrics).send().await.unwrap().text().await.unwrap();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        samples.filter_map(|line| line.split(['{', ' ']).next()).map(str::to_owned).collect()
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let request = self.client.post(format!("{}{path}", self.url)).bearer_auth(&self.token);
        answered(request.json(&body), path).await
    }

    async fn pair(&self, event: &str, name: &str) -> PairAnswer {
        let token = self.post(&format!("/api/events/{event}/pairing-tokens"), json!({ "gate_id": "main" })).await;
        let body = json!({ "pairing_token": token["pairing_token"], "device_id": name });
        serde_json::from_value(self.post("/api/scanning/pair", body).await).unwrap()
    }
}

/// A live event with three phones. In each round the first uploads a scan; the second admits the same ticket again and
/// refuses a code; the third sends a heartbeat.
pub struct Doors {
    event: String,
    codes: Vec<String>,
    first: Log,
    second: Log,
    third: PairAnswer,
    rounds: usize,
}

impl Doors {
    pub async fn open(admit: &Admit) -> Self {
        let event = json!({ "name": "Night", "venue": "Harbour", "time_zone": "UTC", "status": "live",
            "starts_at": "2026-01-01T18:00:00Z", "ends_at": "2099-01-01T18:00:00Z" });
        let event = admit.post("/api/events", event).await["id"].as_str().unwrap().to_owned();
        let gate = json!({ "id": "main", "name": "Main", "zones": ["general"] });
        admit.post(&format!("/api/events/{event}/gates"), gate).await;
        let codes: Vec<String> = (0..TICKETS).map(|n| format!("WATCHED-{n:05}")).collect();
        let rows: String = codes.iter().map(|code| format!("{code},general\n")).collect();
        let path = format!("/api/events/{event}/tickets/import");
        let import = admit.client.post(format!("{}{path}", admit.url)).bearer_auth(&admit.token);
        let import = import.header("content-type", "text/csv").body(format!("barcode,zone\n{rows}"));
        assert_eq!(answered(import, &path).await["created"].as_u64(), Some(TICKETS as u64));
        let first = Log::new(admit.pair(&event, "first").await, "first");
        let second = Log::new(admit.pair(&event, "second").await, "second");
        let third = admit.pair(&event, "third").await;
        let path = format!("{}/api/scanning/events/{event}/manifest", admit.url);
        answered(admit.client.get(path).bearer_auth(&third.api_key), "the list").await;
        Self { event, codes, first, second, third, rounds: 0 }
    }

    pub async fn round(&mut self, admit: &Admit) {
        let at = Timestamp::clamped(now_ms());
        let code = &self.codes[self.rounds % self.codes.len()];
        let scan = self.first.scan(code, Outcome::Valid, at);
        upload(admit, &mut self.first, vec![scan]).await;
        let again = self.second.scan(code, Outcome::Valid, at);
        let refused = self.second.scan(code, Outcome::Duplicate, at);
        let unknown = self.second.scan("NOBODY-KNOWS", Outcome::Invalid, at);
        upload(admit, &mut self.second, vec![again, refused, unknown]).await;
        self.heartbeat(admit).await;
        if self.rounds.is_multiple_of(GUEST_EVERY) {
            // Without an e-mail address the pass is made and not mailed, so its run ends.
            let guest = json!({ "name": format!("Guest {}", self.rounds), "phone": "+351 912 345 678" });
            admit.post(&format!("/api/events/{}/guests", self.event), guest).await;
        }
        self.rounds += 1;
    }

    /// Sends a heartbeat with the phone's figures since the last one: four quick scans, one slow one, four receipts.
    async fn heartbeat(&self, admit: &Admit) {
        let figures =
            json!({ "id": now_ms(), "scan_ms": [[8, 3], [64, 1]], "sync_ms": [[1024, 4]], "list_age_ms": 2000 });
        let body = json!({ "log_id": "0123456789abcdef0123456789abcdef", "head": 0, "pending": 3, "app_version": "0.1.0",
            "manifest_version": 1, "figures": figures });
        let request = admit.client.post(format!("{}/api/scanning/events/{}/heartbeat", admit.url, self.event));
        answered(request.bearer_auth(&self.third.api_key).json(&body), "heartbeat").await;
    }
}

async fn upload(admit: &Admit, log: &mut Log, scans: Vec<Value>) {
    let batch = log.batch(scans);
    let request = admit.client.post(format!("{}/api/scanning/sync", admit.url)).bearer_auth(&log.paired.api_key);
    answered(request.json(&batch), "upload").await;
}

/// The answer to a request, which must succeed.
async fn answered(request: RequestBuilder, what: &str) -> Value {
    let answer = request.send().await.unwrap();
    let (status, body) = (answer.status(), answer.bytes().await.unwrap());
    assert!(status.is_success(), "{what}: {status} {}", String::from_utf8_lossy(&body));
    serde_json::from_slice(&body).unwrap()
}

/// Passes on a program's output until it ends, because a full pipe would stop the program.
async fn read(from: impl AsyncRead + Unpin, to: UnboundedSender<String>) {
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        // The server goes on when nobody reads its output any more.
        let _ = to.send(line);
    }
}

/// The next line; `None` if the program ended or printed nothing for too long.
async fn next(lines: &mut UnboundedReceiver<String>) -> Option<String> {
    tokio::time::timeout(PATIENCE, lines.recv()).await.ok().flatten()
}
