//! One full story: pair, list, scan, sync, conflict, failed sync, revoke. It keeps its secrets and names, so that
//! tests can search for them.

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use admit_core::scan::Outcome;
use admit_core::time::Timestamp;
use admit_core::wire::engine::Input;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::scanner::{Scanner, until};
use crate::serving::{self, Folder, Server};
use crate::signed::Log;

/// The guest whose name must not be in a log.
pub const GUEST: &str = "Zwetschgenberg Qanari";
pub const GUEST_EMAIL: &str = "qanari@zwetschgenberg.example";

/// A finished story, whose server still runs.
pub struct Story {
    pub folder: Folder,
    pub server: Server,
    pub client: Client,
    /// The bodies of all answers that were errors.
    pub problems: Vec<String>,
    /// Secrets, each with a description.
    pub secrets: Vec<(&'static str, String)>,
    scanner: Scanner,
}

/// The traces of the story after its server has stopped.
pub struct Told {
    pub folder: Folder,
    pub log: String,
    pub problems: Vec<String>,
    pub secrets: Vec<(&'static str, String)>,
}

impl Story {
    /// Plays the story on a new server that logs every event.
    pub async fn tell() -> Self {
        Self::tell_with(&[("RUST_LOG", "warn,admit=info,admit_server=debug".to_owned())]).await
    }

    /// Plays the story with these settings.
    pub async fn tell_with(settings: &[(&str, String)]) -> Self {
        let mut story = Self::begin(settings).await;
        let code = story.guest().await;
        story.let_in(&code).await;
        let mut log = story.pair_by_hand().await;
        story.conflict(&mut log, &code).await;
        story.fail_and_revoke(&mut log).await;
        story.guess_a_password().await;
        story
    }

    async fn begin(settings: &[(&str, String)]) -> Self {
        static STORIES: AtomicUsize = AtomicUsize::new(0);
        let folder = Folder::new(&format!("telemetry-{}", STORIES.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir_all(&folder.0).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_admit"));
        command.stderr(Stdio::from(std::fs::File::create(folder.0.join("log")).unwrap()));
        let own = [("ADMIT_LOG", "json".to_owned()), ("ADMIT_METRICS_LISTEN", "127.0.0.1:0".to_owned())];
        let server = Server::start_by(command, &folder.0, &[&own[..], settings].concat()).await;
        let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
        let scanner = Scanner::new(&server.url(), 1, 0);
        let told = |name: &str| server.told[name].as_str().unwrap().to_owned();
        let secrets = vec![("password", told("password")), ("API token", told("api_token"))];
        Self { folder, server, client, problems: Vec::new(), secrets, scanner }
    }

    /// Sends an organiser's request. The body of an error is kept.
    pub async fn ask(&mut self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let path = path.replace("{event}", self.server.told["event_id"].as_str().unwrap());
        let token = self.server.told["api_token"].as_str().unwrap().to_owned();
        self.ask_as(&token, method, &path, body).await
    }

    /// Sends a request with this token or key.
    pub async fn ask_as(&mut self, token: &str, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut request = self.client.request(method, format!("{}{path}", self.server.url())).bearer_auth(token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        if !status.is_success() {
            self.problems.push(text.clone());
        }
        (status.as_u16(), serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// The text at a path, requested without a credential.
    pub async fn get(&self, path: &str) -> String {
        self.client.get(format!("{}{path}", self.server.url())).send().await.unwrap().text().await.unwrap()
    }

    /// Makes a guest with a ticket, and gives the code.
    async fn guest(&mut self) -> String {
        let guest = json!({ "name": GUEST, "email": GUEST_EMAIL, "note": "Qanarinote" });
        let ticket = json!({ "barcode": "QANARI-CODE-7731", "zone": "general", "guest": guest });
        let (status, made) = self.ask(Method::POST, "/api/events/{event}/tickets", Some(ticket)).await;
        assert_eq!(status, 201, "{made}");
        self.secrets.push(("barcode", "QANARI-CODE-7731".to_owned()));
        "QANARI-CODE-7731".to_owned()
    }

    async fn pairing_token(&mut self) -> String {
        let gate = self.server.told["gates"][0].clone();
        let asked = Some(json!({ "gate_id": gate }));
        let (_, token) = self.ask(Method::POST, "/api/events/{event}/pairing-tokens", asked).await;
        let token = token["pairing_token"].as_str().unwrap().to_owned();
        self.secrets.push(("pairing token", token.clone()));
        token
    }

    /// Pairs the scanner, waits for its list, and lets the guest in. The scanner uploads the scan, and a heartbeat
    /// reports it.
    async fn let_in(&mut self, code: &str) {
        let pair = Input::Pair { code: self.pairing_token().await, name: "Scanner Qanaridevice".into() };
        self.scanner.feed(pair, &[]);
        let one = std::slice::from_mut(&mut self.scanner);
        until(one, "the scanner to be ready", Scanner::is_ready).await;
        assert!(self.scanner.scan(code).opened);
        let one = std::slice::from_mut(&mut self.scanner);
        until(one, "the scan to be handed over", |one| one.view().unsent == 0).await;
        // After a network loss the scanner sends at once, instead of half a minute later.
        self.scanner.feed(Input::Online, &[]);
    }

    /// Pairs a device whose requests the test writes itself, and fetches the list.
    async fn pair_by_hand(&mut self) -> Log {
        let body = json!({ "pairing_token": self.pairing_token().await, "device_id": "qanari-by-hand" });
        let (status, paired) = self.ask_as("", Method::POST, "/api/scanning/pair", Some(body)).await;
        assert_eq!(status, 200, "{paired}");
        let log = Log::new(serde_json::from_value(paired).unwrap(), "by-hand");
        let (key, event) = (log.paired.api_key.clone(), log.paired.event_id.clone());
        self.secrets.push(("device key", key.clone()));
        let list = format!("/api/scanning/events/{event}/manifest");
        assert_eq!(self.ask_as(&key, Method::GET, &list, None).await.0, 200);
        log
    }

    /// Sends the same ticket a second time, an unknown code, and the same batch again.
    async fn conflict(&mut self, log: &mut Log, code: &str) {
        let at = Timestamp::clamped(serving::now_ms() - 60_000);
        let again = log.scan(code, Outcome::Valid, at);
        let unknown = log.scan("QANARI-UNKNOWN-9", Outcome::Invalid, at.plus_ms(5));
        let (key, batch) = (log.paired.api_key.clone(), log.batch(vec![again, unknown]));
        for _ in 0..2 {
            let sent = Some(batch.clone());
            let (status, answer) = self.ask_as(&key, Method::POST, "/api/scanning/sync", sent).await;
            assert_eq!(status, 200, "{answer}");
        }
    }

    /// Sends an upload that cannot be read, and one of a revoked device.
    async fn fail_and_revoke(&mut self, log: &mut Log) {
        let key = log.paired.api_key.clone();
        let mut wrong = log.batch(Vec::new());
        wrong["scans"] = json!("Qanari is no list");
        assert_eq!(self.ask_as(&key, Method::POST, "/api/scanning/sync", Some(wrong)).await.0, 400);
        let path = "/api/scanning/devices/qanari-by-hand";
        assert_eq!(self.ask(Method::DELETE, path, Some(json!({}))).await.0, 200);
        let late = log.batch(Vec::new());
        assert_eq!(self.ask_as(&key, Method::POST, "/api/scanning/sync", Some(late)).await.0, 403);
    }

    /// Tries to sign in with the guest's address and a password that is wrong.
    async fn guess_a_password(&mut self) {
        let (email, password) = (GUEST_EMAIL, "qanari-guessed-password");
        self.secrets.push(("guessed password", password.to_owned()));
        let body = json!({ "email": email, "password": password });
        assert_eq!(self.ask_as("", Method::POST, "/api/session", Some(body)).await.0, 401);
    }

    /// The metrics, once they contain this text; some of them are updated only from time to time.
    pub async fn metrics_with(&mut self, text: &str) -> String {
        let url = self.server.told["metrics_url"].as_str().expect("an address of metrics").to_owned();
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let metrics = self.client.get(&url).send().await.unwrap().text().await.unwrap();
            if metrics.contains(text) && metrics.contains("admit_scan_latency_seconds_count 1") {
                return metrics;
            }
            assert!(Instant::now() < end, "never {text} in {metrics}");
            // The scanner keeps running, and its heartbeat reports its measurements.
            let one = std::slice::from_mut(&mut self.scanner);
            until(one, "a moment", |_| true).await;
            tokio::time::sleep(Duration::from_millis(50)).await; // tidy-allow: the pause of a poll loop
        }
    }

    /// Stops the server, and gives its log.
    pub async fn end(mut self) -> Told {
        // The scanner's last heartbeat may still be under way.
        self.metrics_with("admit_devices{").await;
        let Self { folder, server, problems, secrets, .. } = self;
        server.kill().await;
        let log = std::fs::read_to_string(folder.0.join("log")).unwrap();
        Told { folder, log, problems, secrets }
    }
}
