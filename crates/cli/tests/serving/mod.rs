//! A server process of the real binary, and a device that is paired with it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use admit_core::wire::scanning::PairAnswer;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

/// A folder for one test, empty at first and deleted at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("admit-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running demo.
pub struct Server {
    pub child: Child,
    /// The JSON line that the demo printed.
    pub told: Value,
}

impl Server {
    /// Starts the demo, and waits until it prints its address. The folder stays from start to start.
    pub async fn start(folder: &Path) -> Self {
        Self::start_with(folder, &[]).await
    }

    /// Starts the demo with further settings, by their names in the environment.
    pub async fn start_with(folder: &Path, settings: &[(&str, String)]) -> Self {
        Self::start_by(tokio::process::Command::new(env!("CARGO_BIN_EXE_admit")), folder, settings).await
    }

    /// Starts the demo with another command, which runs the binary with the arguments that it gets.
    pub async fn start_by(mut command: tokio::process::Command, folder: &Path, settings: &[(&str, String)]) -> Self {
        let mut child = command
            .args(["demo", "--json", "--port", "0", "--data-dir"])
            .arg(folder)
            .env("ADMIT_SYNCS_PER_MINUTE", "1000000")
            .env("RUST_LOG", "error")
            .env_remove("PUBLIC_URL")
            .envs(settings.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = tokio::time::timeout(Duration::from_secs(120), lines.next_line()).await;
        let line = line.expect("the server says nothing").unwrap().expect("the server ended");
        Self { child, told: serde_json::from_str(&line).unwrap() }
    }

    pub fn url(&self) -> String {
        self.told["url"].as_str().unwrap().to_owned()
    }

    /// Kills the server with SIGKILL, and waits until it is gone.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Pairs a device at the first gate, and gives the codes of some tickets too.
    pub async fn pair(&self, client: &Client, device_id: &str) -> (PairAnswer, Vec<String>) {
        let (url, told) = (self.url(), &self.told);
        let (event, key) = (told["event_id"].as_str().unwrap(), told["api_token"].as_str().unwrap());
        let request = client.post(format!("{url}/api/events/{event}/pairing-tokens")).bearer_auth(key);
        let answer = request.json(&json!({ "gate_id": told["gates"][0] })).send().await.unwrap();
        let token: Value = answer.json().await.unwrap();
        let request = client.get(format!("{url}/api/events/{event}/tickets/export")).bearer_auth(key);
        let file = request.send().await.unwrap().text().await.unwrap();
        // The first column is the code, which has no quotes here.
        let barcodes = file.lines().skip(1).filter_map(|line| line.split(',').next()).take(500);
        let body = json!({ "pairing_token": token["pairing_token"], "device_id": device_id });
        let answer = client.post(format!("{url}/api/scanning/pair")).json(&body).send().await.unwrap();
        (answer.json().await.unwrap(), barcodes.map(str::to_owned).collect())
    }
}

pub fn now_ms() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64
}

/// Runs a command of the binary on a folder.
pub fn admit(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_admit"));
    for name in ["ADMIT_DATA_DIR", "ADMIT_SECRET", "DATABASE_URL", "PUBLIC_URL", "ADMIT_LISTEN", "ADMIT_CONFIG"] {
        command.env_remove(name);
    }
    command.args(arguments).arg("--data-dir").arg(folder).output().unwrap()
}

/// Runs a command of the binary on a folder, which must succeed, and gives its output.
pub fn said(arguments: &[&str], folder: &Path) -> String {
    let run = admit(arguments, folder);
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{arguments:?}: {out}{err}");
    out.into_owned()
}

/// Checks that the database is whole and derived rows equal the facts.
pub fn in_order(folder: &Path) {
    let database = rusqlite::Connection::open(folder.join("admit.db")).unwrap();
    let result: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(result, "ok");
    drop(database);
    said(&["rebuild", "--check"], folder);
    said(&["audit", "verify"], folder);
}
