//! Two processes of the binary on one PostgreSQL and one Redis, an event, and an organiser.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use admit_app::api_tokens::ApiTokenWish;
use admit_app::events::{self, NewEvent};
use admit_app::gates::{self, NewGate};
use admit_app::organizations::{self, NewOrganization};
use admit_app::secret::Secret;
use admit_app::tickets::{self, NewTicket};
use admit_app::{api_tokens, caller::UserCaller};
use admit_core::event::EventStatus;
use admit_core::ids::{EventId, GateId};
use admit_server::{AppState, Settings};
use admit_store_postgres::{Options, Postgres, testing};
use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::private_redis;
use crate::proxy::Proxy;
use crate::scanner::{Scanner, until};

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const HOUR_MS: i64 = 3_600_000;

/// The PostgreSQL of all tests here. It runs with fsync, because the server refuses one without.
fn server() -> &'static testing::Server {
    static SERVER: OnceLock<testing::Server> = OnceLock::new();
    SERVER.get_or_init(|| testing::Server::start(true))
}

/// A server process, which ends when the value is dropped.
struct Node {
    address: String,
    child: Child,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two nodes with their event and organiser.
pub struct Venue {
    nodes: Vec<Node>,
    database: String,
    syncs_per_minute: u32,
    client: Client,
    token: String,
    pub event_id: EventId,
    pub proxy: Proxy,
}

impl Venue {
    /// Opens an event with a ticket for one person for each code. The network's faults are drawn from `seed`.
    pub async fn open(codes: &[String], seed: u64, syncs_per_minute: u32) -> Self {
        let database = tokio::task::spawn_blocking(|| server().database()).await.unwrap();
        let (token, event_id) = furnish(&database, codes).await;
        let mut venue = Self {
            nodes: Vec::new(),
            database,
            syncs_per_minute,
            client: admit_server::adapters::http_client::builder().no_proxy().build().unwrap(),
            token,
            event_id,
            proxy: Proxy::start(Vec::new(), 0).await,
        };
        for _ in 0..2 {
            let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
            let child = venue.spawn(&address);
            venue.nodes.push(Node { address, child });
        }
        venue.serving().await;
        venue.proxy = Proxy::start(venue.nodes.iter().map(|node| node.address.clone()).collect(), seed).await;
        venue
    }

    fn spawn(&self, address: &str) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_admit"));
        for name in ["ADMIT_DATA_DIR", "PUBLIC_URL", "ADMIT_CONFIG"] {
            command.env_remove(name);
        }
        let redis = tokio::task::block_in_place(|| private_redis::shared().url());
        let limit = self.syncs_per_minute.to_string();
        command
            .args(["serve", "--listen", address])
            .envs([("DATABASE_URL", self.database.as_str()), ("REDIS_URL", &redis), ("ADMIT_SECRET", SECRET)])
            .envs([("ADMIT_SYNCS_PER_MINUTE", limit.as_str()), ("RUST_LOG", "error")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    async fn serving(&self) {
        let end = Instant::now() + Duration::from_secs(60);
        for node in &self.nodes {
            while self.client.get(format!("http://{}/readyz", node.address)).send().await.is_err() {
                assert!(Instant::now() < end, "a node does not serve");
                tokio::time::sleep(Duration::from_millis(20)).await; // tidy-allow: the pause of a poll loop
            }
        }
    }

    /// Kills both nodes with SIGKILL.
    pub fn outage(&mut self) {
        for node in &mut self.nodes {
            node.child.kill().unwrap();
            node.child.wait().unwrap();
        }
    }

    /// Starts both nodes again.
    pub async fn recovers(&mut self) {
        for n in 0..self.nodes.len() {
            self.nodes[n].child = self.spawn(&self.nodes[n].address.clone());
        }
        self.serving().await;
    }

    /// Sends a request of the organiser to the first node.
    pub async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let url = format!("http://{}{}", self.nodes[0].address, path.replace("{event}", self.event_id.as_str()));
        let mut request = self.client.request(method, url).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status}: {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    pub async fn get(&self, path: &str) -> Value {
        self.ask(Method::GET, path, None).await
    }

    /// Pairs scanners at the gate, each with its own clock error, and waits until they are ready.
    pub async fn scanners(&self, wall_off_ms: &[i64]) -> Vec<Scanner> {
        let asked = json!({ "gate_id": "main", "uses": wall_off_ms.len() });
        let token = self.ask(Method::POST, "/api/events/{event}/pairing-tokens", Some(asked)).await;
        let code = token["pairing_token"].as_str().unwrap();
        let mut scanners: Vec<Scanner> =
            wall_off_ms.iter().enumerate().map(|(n, off)| Scanner::new(&self.proxy.url, n as u64 + 1, *off)).collect();
        for (n, scanner) in scanners.iter_mut().enumerate() {
            let pair = admit_core::wire::engine::Input::Pair { code: code.to_owned(), name: format!("Scanner {n}") };
            scanner.feed(pair, &[]);
        }
        until(&mut scanners, "scanners to be ready", Scanner::is_ready).await;
        scanners
    }

    /// Checks that derived rows equal a recomputation.
    pub fn in_order(&self) {
        for arguments in [["rebuild", "--check"], ["audit", "verify"]] {
            let run = Command::new(env!("CARGO_BIN_EXE_admit"))
                .args(arguments)
                .envs([("DATABASE_URL", self.database.as_str()), ("ADMIT_SECRET", SECRET)])
                .output()
                .unwrap();
            let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
            assert!(run.status.success(), "{arguments:?}: {out}{err}");
        }
    }
}

/// Makes an organisation with a live event, and gives its owner's token.
async fn furnish(database: &str, codes: &[String]) -> (String, EventId) {
    let url = database.to_owned();
    let store = tokio::task::spawn_blocking(move || {
        Postgres::open(&url, Options { require_fsync: false, ..Options::default() })
    });
    let state =
        AppState::new(Arc::new(store.await.unwrap().unwrap()), Secret::new(SECRET).unwrap(), Settings::default());
    let new = NewOrganization {
        name: "home".into(),
        email: "owner@home.example".into(),
        owner_name: "Owner".into(),
        password: "correct horse battery".into(),
    };
    let owner: UserCaller = organizations::create(&state.app, new).await.unwrap();
    let now = state.app.clock.now();
    let new = NewEvent {
        name: "Festival".into(),
        venue: "Harbour".into(),
        time_zone: "Europe/Lisbon".into(),
        starts_at: now.plus_ms(-2 * HOUR_MS),
        ends_at: now.plus_ms(10 * HOUR_MS),
        status: Some(EventStatus::Live),
        re_entry: None,
        min_gap_seconds: None,
        day_starts_at: None,
        staff_pin: None,
        capacity: None,
        retention_days: None,
        walk_ins: None,
        at_door: Default::default(),
        gates: Some(Vec::new()),
    };
    let event_id = events::create(&state.app, &owner, new).await.unwrap().event_id;
    let gate = NewGate {
        gate_id: GateId::new("main").unwrap(),
        name: None,
        zones: Some(vec!["general".into()]),
        direction: None,
        capacity: None,
        names_on_devices: None,
        walk_ins: None,
        entry_rules: None,
    };
    gates::create(&state.app, &owner, event_id.clone(), gate).await.unwrap();
    let new = codes.iter().map(|code| NewTicket { barcode: Some(code.clone()), ..NewTicket::default() }).collect();
    tickets::create(&state.app, &owner, event_id.clone(), new).await.unwrap();
    let token = api_tokens::create(&state.app, &owner, ApiTokenWish::named("test")).await.unwrap().token;
    tokio::task::spawn_blocking(move || drop(state)).await.unwrap();
    (token, event_id)
}
