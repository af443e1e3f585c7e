//! A server whose folder and port outlive it, with one live event and one gate.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

const EMAIL: &str = "owner@scan.example";
/// The time limit of every wait.
pub const PATIENCE: Duration = Duration::from_secs(90);

pub fn admit(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_admit"));
    for name in ["ADMIT_DATA_DIR", "ADMIT_SECRET", "DATABASE_URL", "PUBLIC_URL", "ADMIT_LISTEN", "ADMIT_CONFIG"] {
        command.env_remove(name);
    }
    command.args(arguments).env("RUST_LOG", "error").kill_on_drop(true);
    command
}

pub struct Office {
    pub folder: PathBuf,
    port: u16,
    client: Client,
    token: String,
    pub event: String,
    child: Option<Child>,
}

impl Office {
    /// Starts a server whose event has the tickets of this CSV text with a header.
    pub async fn start(name: &str, sheet: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("admit-scan-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let data = folder.join("data").display().to_string();
        said(&["user", "add", "--data-dir", &data, "--email", EMAIL, "--organization", "Doors"]).await;
        let token = said(&["token", "create", "--data-dir", &data, "--email", EMAIL]).await.trim().to_owned();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
        let mut office = Self { folder, port, client, token, event: String::new(), child: None };
        office.up().await;
        let new = json!({ "name": "Night", "venue": "Harbour", "time_zone": "Europe/Berlin", "status": "live",
            "starts_at": "2026-01-01T18:00:00Z", "ends_at": "2099-01-01T18:00:00Z" });
        office.event = office.post("/api/events", new).await["id"].as_str().unwrap().to_owned();
        let gate = json!({ "id": "north", "name": "North", "zones": ["general"] });
        office.post(&format!("/api/events/{}/gates", office.event), gate).await;
        office.import(sheet).await;
        office
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
    pub async fn up(&mut self) {
        let (data, listen) = (self.folder.join("data").display().to_string(), format!("127.0.0.1:{}", self.port));
        let mut command = admit(&["serve", "--data-dir", &data, "--listen", &listen]);
        command.env("ADMIT_SYNCS_PER_MINUTE", "1000000");
        self.child = Some(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let end = Instant::now() + PATIENCE;
        while self.client.get(self.url("/readyz")).send().await.is_err() {
            assert!(Instant::now() < end, "the server does not serve");
            tokio::time::sleep(Duration::from_millis(50)).await; // tidy-allow: the pause of a poll loop
        }
    }
    /// Kills the server with SIGKILL.
    pub async fn down(&mut self) {
        self.child.take().unwrap().kill().await.unwrap();
    }

    pub async fn post(&self, path: &str, body: Value) -> Value {
        let answer = self.client.post(self.url(path)).bearer_auth(&self.token).json(&body).send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }
    pub async fn name_gate(&self, name: &str) {
        let path = self.url(&format!("/api/events/{}/gates/north", self.event));
        let sent = self.client.patch(path).bearer_auth(&self.token).json(&json!({ "name": name }));
        assert!(sent.send().await.unwrap().status().is_success());
    }
    pub async fn get(&self, path: &str) -> Value {
        let answer = self.client.get(self.url(path)).bearer_auth(&self.token).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.json().await.unwrap()
    }
    async fn import(&self, sheet: &str) {
        let tickets = sheet.matches("TICKET-").count() as u64;
        let path = self.url(&format!("/api/events/{}/tickets/import", self.event));
        let sent = self.client.post(path).bearer_auth(&self.token).header("content-type", "text/csv");
        let report: Value = sent.body(sheet.to_owned()).send().await.unwrap().json().await.unwrap();
        assert_eq!(report["created"].as_u64(), Some(tickets), "{report}");
    }

    /// The link of a new pairing code.
    pub async fn link(&self) -> String {
        let token =
            self.post(&format!("/api/events/{}/pairing-tokens", self.event), json!({ "gate_id": "north" })).await;
        format!("{}#pair={}", self.url("/scan/"), token["pairing_token"].as_str().unwrap())
    }

    /// Every scan on the server, by id and stage. A claim and its final are one scan with two stages.
    pub async fn scans(&self) -> BTreeMap<(String, String), Value> {
        let (mut found, mut cursor) = (BTreeMap::new(), String::new());
        loop {
            let page = self.get(&format!("/api/events/{}/scans?limit=500{cursor}", self.event)).await;
            for scan in page["items"].as_array().unwrap() {
                let word = |name: &str| scan[name].as_str().unwrap().to_owned();
                let before = found.insert((word("scan_id"), word("stage")), scan.clone());
                assert!(before.is_none(), "twice: {scan}");
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return found,
            }
        }
    }
    /// Persons let in within their tickets' limits, and beyond them.
    pub async fn let_in(&self) -> (u64, u64) {
        let inside = self.get(&format!("/api/events/{}/occupancy", self.event)).await;
        (inside["entered"].as_u64().unwrap(), inside["over"].as_u64().unwrap())
    }
    /// Stops the server, and checks that derived rows equal the scans.
    pub async fn in_order(&mut self) {
        self.down().await;
        said(&["rebuild", "--check", "--data-dir", &self.folder.join("data").display().to_string()]).await;
    }
    pub fn journal(&self) -> PathBuf {
        self.folder.join("door.journal")
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        drop(self.child.take());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

async fn said(arguments: &[&str]) -> String {
    let run = admit(arguments).output().await.unwrap();
    assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

/// `admit scan` on a journal.
pub fn scan(journal: &Path, arguments: &[&str]) -> Command {
    let mut command = admit(&["scan", "--journal"]);
    command.arg(journal).args(arguments);
    command
}
