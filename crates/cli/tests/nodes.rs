//! Two nodes of the real binary on one PostgreSQL and one Redis, under load. One node is killed with -9, and Redis is
//! flushed and stopped. Required: every acknowledged scan is stored once, and the state equals a recomputation.
//! A second test, without load, has a Redis that speaks TLS.
//!
//! `ADMIT_LOAD_SECONDS` gives the duration; 10 without it, 60 with `ADMIT_LONG`.

#[path = "../../server/tests/it/private_redis.rs"]
#[allow(dead_code, reason = "each target uses its part of the harness")]
mod private_redis;
#[path = "../../server/tests/it/signed.rs"]
mod signed;

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use admit_app::demo::{Seeded, seed};
use admit_app::ports::read;
use admit_app::secret::Secret;
use admit_core::scan::Outcome;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{PairAnswer, SyncAnswer};
use admit_server::{AppState, Settings};
use admit_store_postgres::{Options, Postgres, testing};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::process::Child;
use tokio::time::{Instant, sleep_until}; // tidy-allow: the rate of the load

use private_redis::Redis;
use signed::Log;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const DEVICES: u64 = 50;
const SCANS: usize = 10;
/// The duration of a full run, in which the 95th percentile must be below two seconds.
const WHOLE: Duration = Duration::from_secs(60);
/// The time between two batches of a device. With 50 devices there are 100 batches per second.
const TURN: Duration = Duration::from_millis(500);

/// A node, which keeps its address after a kill.
struct Node {
    address: String,
    environment: Environment,
    child: Child,
}

/// The variables of a node.
type Environment = Vec<(&'static str, String)>;

fn environment(database: &str, redis: &str) -> Environment {
    vec![("DATABASE_URL", database.to_owned()), ("REDIS_URL", redis.to_owned()), ("ADMIT_SECRET", SECRET.to_owned())]
}

impl Node {
    async fn start(environment: &Environment, client: &Client) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (address, environment) = (free.to_string(), environment.clone());
        let child = Self::spawn(&address, &environment);
        let node = Self { address, environment, child };
        node.serving(client).await;
        node
    }
    fn spawn(address: &str, environment: &Environment) -> Child {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_admit"));
        for name in ["ADMIT_DATA_DIR", "PUBLIC_URL", "ADMIT_CONFIG"] {
            command.env_remove(name);
        }
        command
            .args(["serve", "--listen", address])
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .envs([("ADMIT_SYNCS_PER_MINUTE", "1000"), ("RUST_LOG", "error")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    }
    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
    async fn serving(&self, client: &Client) {
        let until = Instant::now() + Duration::from_secs(60);
        while client.get(format!("{}/readyz", self.url())).send().await.is_err() {
            assert!(Instant::now() < until, "the node does not serve");
            tokio::time::sleep(Duration::from_millis(20)).await; // tidy-allow: the pause of a poll loop
        }
    }
    /// Kills the node with SIGKILL, and starts it again.
    async fn kill_and_start(&mut self, client: &Client) {
        self.child.kill().await.unwrap();
        self.child = Self::spawn(&self.address, &self.environment);
        self.serving(client).await;
    }
}

/// A device that sends a batch in each turn. It repeats the batch until it is acknowledged, to any node that answers.
struct Sender {
    log: Log,
    barcodes: Arc<Vec<String>>,
    random: u64,
    acknowledged: BTreeSet<String>,
    took: Vec<Duration>,
    tried_again: usize,
    /// When its last batch was first sent; `None` before the first.
    last: Option<Instant>,
}

impl Sender {
    fn next_batch(&mut self) -> Value {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
        let scans = (0..SCANS).map(|n| {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let code = self.barcodes[(self.random >> 33) as usize % self.barcodes.len()].clone();
            self.log.scan(&code, Outcome::Valid, Timestamp::clamped(now + n as i64))
        });
        let scans = scans.collect();
        self.log.batch(scans)
    }
    async fn send(&mut self, client: &Client, urls: &[String], mut node: usize) {
        let batch = self.next_batch();
        let begun = Instant::now();
        self.last = Some(begun);
        loop {
            let request = client.post(format!("{}/api/scanning/sync", urls[node % urls.len()]));
            let request = request.bearer_auth(&self.log.paired.api_key).timeout(Duration::from_secs(20));
            if let Ok(answer) = request.json(&batch).send().await {
                let status = answer.status();
                assert!(status == 200 || status.is_server_error(), "{status}: {:?}", answer.text().await);
                if status == 200
                    && let Ok(answer) = answer.json::<SyncAnswer>().await
                {
                    assert_eq!(answer.processed.len(), SCANS);
                    self.acknowledged.extend(answer.processed.iter().map(ToString::to_string));
                    self.took.push(begun.elapsed());
                    return;
                }
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "no node takes the batch");
            self.tried_again += 1;
            node += 1;
            tokio::time::sleep(Duration::from_millis(20)).await; // tidy-allow: what a client waits before it tries again
        }
    }
}

/// A database with the demo's 20,000 tickets: its address, the demo's data, and every code.
async fn seeded(server: &'static testing::Server) -> (String, Seeded, Vec<String>) {
    let address = tokio::task::spawn_blocking(move || server.database()).await.unwrap();
    let url = address.clone();
    let store = tokio::task::spawn_blocking(move || Postgres::open(&url, Options::default()).unwrap()).await.unwrap();
    let state = AppState::new(Arc::new(store), Secret::new(SECRET).unwrap(), Settings::default());
    let seeded = seed(&state.app).await.unwrap();
    let event_id = seeded.event_id.clone();
    let tickets =
        read(&*state.app.store, &seeded.organization_id, move |tx| tx.manifest_rows(&event_id)).await.unwrap();
    let barcodes = tickets.into_iter().filter_map(|(_, ticket)| ticket.barcode).collect();
    tokio::task::spawn_blocking(move || drop(state)).await.unwrap();
    (address, seeded, barcodes)
}

async fn pair(client: &Client, url: &str, seeded: &Seeded, barcodes: Vec<String>) -> Vec<Sender> {
    let request = client.post(format!("{url}/api/events/{}/pairing-tokens", seeded.event_id));
    let asked = json!({ "gate_id": seeded.gates[0], "uses": DEVICES });
    let answer = request.bearer_auth(&seeded.api_token).json(&asked).send().await.unwrap();
    let token: Value = answer.json().await.unwrap();
    let barcodes = Arc::new(barcodes);
    let mut senders = Vec::new();
    for n in 0..DEVICES {
        let body = json!({ "pairing_token": token["pairing_token"], "device_id": format!("sender-{n}") });
        let answer = client.post(format!("{url}/api/scanning/pair")).json(&body).send().await.unwrap();
        let paired: PairAnswer = answer.json().await.unwrap();
        senders.push(Sender {
            log: Log::new(paired, &n.to_string()),
            barcodes: barcodes.clone(),
            random: n,
            acknowledged: BTreeSet::new(),
            took: Vec::new(),
            tried_again: 0,
            last: None,
        });
    }
    senders
}

/// Kills the first node twice; flushes Redis, stops it for a while, and starts it again.
async fn trouble(node: &mut Node, redis: &'static Redis, client: &Client, begun: Instant, lasts: Duration) {
    // tidy-allow: the moments of the trouble are what is tested
    sleep_until(begun + lasts / 5).await;
    node.kill_and_start(client).await;
    sleep_until(begun + lasts * 2 / 5).await; // tidy-allow: the same
    redis.say("FLUSHALL");
    tokio::task::spawn_blocking(move || redis.stop()).await.unwrap();
    let away = (lasts / 6).min(Duration::from_secs(10));
    tokio::time::sleep(away).await; // tidy-allow: the same
    tokio::task::spawn_blocking(move || redis.start_again()).await.unwrap();
    sleep_until(begun + lasts * 7 / 10).await; // tidy-allow: the same
    node.kill_and_start(client).await;
}

fn lasts() -> Duration {
    let told = std::env::var("ADMIT_LOAD_SECONDS").ok().and_then(|text| text.parse().ok());
    let long = std::env::var_os("ADMIT_LONG").is_some();
    told.map_or(if long { WHOLE } else { Duration::from_secs(10) }, Duration::from_secs)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_under_load_keep_every_acknowledged_scan_once() {
    let lasts = lasts();
    let (server, redis): (&'static testing::Server, &'static Redis) = tokio::task::spawn_blocking(|| {
        (&*Box::leak(Box::new(testing::Server::start(true))), &*Box::leak(Box::new(Redis::start())))
    })
    .await
    .unwrap();
    let (database, seeded, barcodes) = seeded(server).await;
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let environment = environment(&database, &redis.url());
    let mut first = Node::start(&environment, &client).await;
    let second = Node::start(&environment, &client).await;
    let senders = pair(&client, &second.url(), &seeded, barcodes).await;
    let urls = Arc::new(vec![first.url(), second.url()]);
    let begun = Instant::now() + Duration::from_millis(100);
    let mut running = Vec::new();
    for (n, mut sender) in senders.into_iter().enumerate() {
        let (client, urls) = (client.clone(), urls.clone());
        running.push(tokio::spawn(async move {
            let offset = TURN * n as u32 / DEVICES as u32;
            for turn in 0..(lasts.as_millis() / TURN.as_millis()) as u32 {
                // tidy-allow: the rate of the load
                sleep_until(begun + offset + TURN * turn).await;
                sender.send(&client, &urls, n + turn as usize).await;
            }
            sender
        }));
    }
    trouble(&mut first, redis, &client, begun, lasts).await;
    let mut senders = Vec::new();
    for one in running {
        senders.push(one.await.unwrap());
    }
    let took = begun.elapsed();
    let acknowledged: usize = senders.iter().map(|sender| sender.acknowledged.len()).sum();
    let sent: u64 = senders.iter().map(|sender| sender.log.seq).sum();
    let tried_again: usize = senders.iter().map(|sender| sender.tried_again).sum();
    let p95 = report(&senders, begun, took);
    assert!(tried_again > 0, "the kills hit nothing: nothing was proven");
    assert_eq!(acknowledged as u64, sent, "what was not acknowledged was sent again until it was");
    stored_once(&database, &seeded, sent).await;
    recomputed(&database);
    // A short run is mostly kills and outages, so only a full run must be fast.
    assert!(lasts < WHOLE || p95 < Duration::from_secs(2), "p95 is {p95:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_share_a_redis_by_tls_with_an_authority_of_its_own() {
    let services = || (&*Box::leak(Box::new(testing::Server::start(true))), Redis::start_with_tls());
    let (server, redis): (&'static testing::Server, Redis) = tokio::task::spawn_blocking(services).await.unwrap();
    let (database, seeded, barcodes) = seeded(server).await;
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let mut environment = environment(&database, &redis.tls_url());
    environment.push(("SSL_CERT_FILE", redis.authority().display().to_string()));
    let first = Node::start(&environment, &client).await;
    let second = Node::start(&environment, &client).await;
    // Only the nodes subscribe and publish; the test looks through the port without TLS.
    comes("both nodes listen", async || redis.say("CLIENT LIST TYPE pubsub").matches("psub=1").count() == 2).await;
    pair(&client, &first.url(), &seeded, barcodes).await;
    comes("a node publishes", async || redis.say("INFO commandstats").contains("cmdstat_publish:")).await;
    comes("the second node's checks find Redis", async || {
        let answer = client.get(format!("{}/readyz", second.url())).send().await.unwrap();
        let ready: Value = answer.json().await.unwrap();
        let checks = ready["checks"].as_array().unwrap();
        checks.iter().any(|check| check["name"] == "redis" && check["condition"] == "ok")
    })
    .await;
    tokio::task::block_in_place(|| drop(redis));
}

/// Waits until this holds.
async fn comes(what: &str, holds: impl AsyncFn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !holds().await {
        assert!(Instant::now() < until, "not so in time: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await; // tidy-allow: the pause of a poll loop
    }
}

/// Prints the result, and gives the 95th percentile of the time from a batch's first try to its receipt.
fn report(senders: &[Sender], begun: Instant, took: Duration) -> Duration {
    let mut times: Vec<Duration> = senders.iter().flat_map(|sender| sender.took.iter().copied()).collect();
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    let rate = |over: Duration| times.len() as f64 / over.as_secs_f64();
    // A device sends one batch at a time. While it waits for an answer, its next batch is late.
    let last = senders.iter().filter_map(|sender| sender.last).max().unwrap_or(begun);
    println!(
        "{} batches of {SCANS}: offered {:.0}/s, served {:.0}/s in {took:.1?}, tried again {} times; first try to receipt: p50 \
         {:.1?}, p95 {:.1?}, p99 {:.1?}, longest {:.1?}",
        times.len(),
        rate(last - begun),
        rate(took),
        senders.iter().map(|sender| sender.tried_again).sum::<usize>(),
        at(50),
        at(95),
        at(99),
        at(100)
    );
    at(95)
}

/// Checks that so many scans are stored as were acknowledged, so none is stored twice. Checks too that some scans of
/// one ticket were made at two doors (S1 §11.1 "conflicts under load"). [`recomputed`] then checks their verdicts.
async fn stored_once(database: &str, seeded: &Seeded, sent: u64) {
    let count = format!(
        // tidy-allow: what is in the database is looked at behind the store's back
        "SELECT set_config('app.organization_id', '{}', false); DO $$ DECLARE found TEXT; BEGIN
            SELECT COALESCE(SUM(get_byte(block, 1)), 0) INTO found FROM scan_blocks; -- tidy-allow: the second byte counts
            ASSERT found = '{sent}', found;
            SELECT COUNT(*)::text INTO found FROM incidents WHERE kind = 'double_entry'; -- tidy-allow: the same
            ASSERT found <> '0', 'no two phones let one ticket in: no conflict under load'; END $$",
        seeded.organization_id
    );
    let database = database.to_owned();
    tokio::task::spawn_blocking(move || testing::run_sql(&database, &count).unwrap()).await.unwrap();
}

/// Checks that derived rows equal a recomputation, and that the ledgers are whole.
fn recomputed(database: &str) {
    for arguments in [["rebuild", "--check"], ["audit", "verify"]] {
        let run = Command::new(env!("CARGO_BIN_EXE_admit"))
            .args(arguments)
            .envs([("DATABASE_URL", database), ("ADMIT_SECRET", SECRET)])
            .output()
            .unwrap();
        let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        assert!(run.status.success(), "{arguments:?}: {out}{err}");
        println!("{}", out.trim());
    }
}
