//! `kill -9` at random moments under load (issue: "no acknowledged scan missing, `integrity_check` ok, `rebuild --check`
//! finds no difference, restart without hands"). `ADMIT_KILLS` says how often; 10 without it.

mod serving;
#[path = "../../server/tests/it/signed.rs"]
mod signed;

use std::collections::BTreeSet;
use std::time::Duration;

use admit_core::scan::Outcome;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{LogStatusAnswer, SyncAnswer};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::time::Instant;

use serving::{Folder, Server};
use signed::Log;

const DEVICES: usize = 4;
const SCANS: usize = 20;
/// How long the server is left alone after it answers, at most, milliseconds.
const LIFE_MS: u64 = 1_500;

/// A device that sends batch after batch and remembers what was receipted.
struct Hammer {
    log: Log,
    barcodes: Vec<String>,
    at_ms: i64,
    /// The batch that has no answer yet: sent again, unchanged, until it has.
    open: Option<Value>,
    acknowledged: BTreeSet<u64>,
}

impl Hammer {
    fn next_batch(&mut self) -> Value {
        if let Some(open) = &self.open {
            return open.clone();
        }
        let mut scans = Vec::new();
        for _ in 0..SCANS {
            self.at_ms += 1;
            let code = self.barcodes[self.log.seq as usize % self.barcodes.len()].clone();
            scans.push(self.log.scan(&code, Outcome::Valid, Timestamp::clamped(self.at_ms)));
        }
        let batch = self.log.batch(scans);
        self.open = Some(batch.clone());
        batch
    }

    /// Sends one batch. `false` = no answer: the server is gone.
    async fn send(&mut self, client: &Client, url: &str) -> bool {
        let batch = self.next_batch();
        let request = client.post(format!("{url}/api/scanning/sync")).bearer_auth(&self.log.paired.api_key);
        let Ok(answer) = request.json(&batch).send().await else { return false };
        let status = answer.status();
        let Ok(text) = answer.text().await else { return false };
        if status.is_server_error() {
            return false;
        }
        assert_eq!(status, 200, "{text}");
        // Half an answer is none.
        let Ok(answer) = serde_json::from_str::<SyncAnswer>(&text) else { return false };
        let receipts: BTreeSet<String> = answer.processed.iter().map(ToString::to_string).collect();
        for scan in batch["scans"].as_array().unwrap() {
            if receipts.contains(scan["scan_id"].as_str().unwrap()) {
                self.acknowledged.insert(scan["seq"].as_u64().unwrap());
            }
        }
        self.open = None;
        true
    }

    /// Places of the log that the server says it lacks.
    async fn missing(&self, client: &Client, url: &str) -> Vec<(u64, u64)> {
        let request = client.post(format!("{url}/api/scanning/log-status")).bearer_auth(&self.log.paired.api_key);
        let body = json!({ "log_id": self.log.log_id, "head": self.log.seq });
        let answer = request.json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.json::<LogStatusAnswer>().await.unwrap().missing
    }
}

async fn pair(client: &Client, server: &Server, n: usize) -> Hammer {
    let (paired, barcodes) = server.pair(client, &format!("hammer-{n}")).await;
    Hammer {
        log: Log::new(paired, &n.to_string()),
        // Every device goes through the same tickets: most scans are double entries, the dearest kind.
        barcodes,
        // In the past: a scan is never later than its receipt, however fast this runs.
        at_ms: serving::now_ms() - 3_600_000,
        open: None,
        acknowledged: BTreeSet::new(),
    }
}

/// Hammers until `until`, then returns the devices.
async fn hammer(client: &Client, url: &str, mut devices: Vec<Hammer>, until: Instant) -> Vec<Hammer> {
    let mut running = Vec::new();
    for mut device in devices.drain(..) {
        let (client, url) = (client.clone(), url.to_owned());
        running.push(tokio::spawn(async move {
            while Instant::now() < until && device.send(&client, &url).await {}
            device
        }));
    }
    for one in running {
        devices.push(one.await.unwrap());
    }
    devices
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_scan_is_missing_however_often_the_server_is_killed() {
    let kills: u64 = std::env::var("ADMIT_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let seed =
        std::env::var("ADMIT_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(u64::from(std::process::id()));
    println!("{kills} kills, ADMIT_SEED={seed}");
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let folder = Folder::new("kill");
    let client = Client::builder().no_proxy().build().unwrap();
    let mut server = Server::start(&folder.0).await;
    let mut devices = Vec::new();
    for n in 0..DEVICES {
        devices.push(pair(&client, &server, n).await);
    }
    let event = server.told["event_id"].clone();
    let mut cut_off = 0;
    for _ in 0..kills {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let life = Duration::from_millis(random % LIFE_MS);
        let url = server.url();
        // Senders go on past the kill: requests must be under way when it comes.
        let (back, ()) = tokio::join!(hammer(&client, &url, devices, Instant::now() + 2 * life), async {
            // tidy-allow: the random moment of the kill is what is tested
            tokio::time::sleep(life).await;
            server.kill().await;
        });
        devices = back;
        cut_off += devices.iter().filter(|device| device.open.is_some()).count();
        server = Server::start(&folder.0).await;
        assert_eq!(server.told["event_id"], event);
        for device in &devices {
            let missing = device.missing(&client, &server.url()).await;
            let lost: Vec<&u64> = device
                .acknowledged
                .iter()
                .filter(|seq| missing.iter().any(|(from, to)| (from..=to).contains(seq)))
                .collect();
            assert!(
                lost.is_empty(),
                "ADMIT_SEED={seed}: {} acknowledged and lost: {lost:?}",
                device.log.paired.device_id
            );
        }
    }
    // What was cut off is sent again, and then nothing is missing at all.
    let mut total = 0;
    for device in &mut devices {
        while device.open.is_some() {
            assert!(device.send(&client, &server.url()).await);
        }
        assert_eq!(device.missing(&client, &server.url()).await, []);
        assert_eq!(device.acknowledged.len() as u64, device.log.seq);
        total += device.acknowledged.len();
    }
    println!("{total} scans acknowledged, {cut_off} batches cut off by a kill");
    assert!(total > 0 && cut_off > 0, "the kills hit nothing: nothing was proven");
    server.kill().await;
    serving::in_order(&folder.0);
}
