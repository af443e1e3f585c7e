//! A device that uploads batch after batch to a server that may end at any moment. It remembers which scans have a
//! receipt.

use std::collections::BTreeSet;
use std::time::Duration;

use admit_core::scan::Outcome;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{LogStatusAnswer, SyncAnswer};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::serving::{self, Server};
use crate::signed::Log;

const SCANS: usize = 20;

pub struct Hammer {
    pub log: Log,
    barcodes: Vec<String>,
    at_ms: i64,
    /// The batch without an answer. It is sent again, unchanged, until it has one.
    pub open: Option<Value>,
    /// The `seq` numbers that a receipt named.
    pub acknowledged: BTreeSet<u64>,
}

impl Hammer {
    pub async fn pair(client: &Client, server: &Server, n: usize) -> Self {
        let (paired, barcodes) = server.pair(client, &format!("hammer-{n}")).await;
        Self {
            log: Log::new(paired, &n.to_string()),
            // All devices use the same tickets, so most scans are double entries, which cost the most.
            barcodes,
            // Scans are in the past, so that none is later than its receipt, however fast the test runs.
            at_ms: serving::now_ms() - 3_600_000,
            open: None,
            acknowledged: BTreeSet::new(),
        }
    }

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

    /// Uploads one batch, and gives status and body of the answer. `None`: there was no complete answer, because the
    /// server is gone.
    pub async fn offer(&mut self, client: &Client, url: &str) -> Option<(u16, Value)> {
        let batch = self.next_batch();
        let request = client.post(format!("{url}/api/scanning/sync")).bearer_auth(&self.log.paired.api_key);
        let answer = request.json(&batch).send().await.ok()?;
        let status = answer.status().as_u16();
        // An incomplete answer counts as none.
        let body: Value = serde_json::from_str(&answer.text().await.ok()?).ok()?;
        if status == 200 {
            let said: SyncAnswer = serde_json::from_value(body.clone()).ok()?;
            let receipts: BTreeSet<String> = said.processed.iter().map(ToString::to_string).collect();
            for scan in batch["scans"].as_array().unwrap() {
                if receipts.contains(scan["scan_id"].as_str().unwrap()) {
                    self.acknowledged.insert(scan["seq"].as_u64().unwrap());
                }
            }
            self.open = None;
        }
        Some((status, body))
    }

    /// Uploads one batch. `false`: the server is gone or stopping.
    pub async fn send(&mut self, client: &Client, url: &str) -> bool {
        match self.offer(client, url).await {
            Some((status, body)) if status < 500 => {
                assert_eq!(status, 200, "{body}");
                true
            }
            _ => false,
        }
    }

    /// The ranges of the log that the server says it lacks. `None` if it cannot answer now.
    pub async fn told_missing(&self, client: &Client, url: &str) -> Option<Vec<(u64, u64)>> {
        let request = client.post(format!("{url}/api/scanning/log-status")).bearer_auth(&self.log.paired.api_key);
        let body = json!({ "log_id": self.log.log_id, "head": self.log.seq });
        let answer = request.json(&body).send().await.unwrap();
        if answer.status() == 503 {
            return None;
        }
        assert_eq!(answer.status(), 200);
        Some(answer.json::<LogStatusAnswer>().await.unwrap().missing)
    }

    /// The ranges of the log that a running server says it lacks.
    pub async fn missing(&self, client: &Client, url: &str) -> Vec<(u64, u64)> {
        self.told_missing(client, url).await.expect("what it lacks")
    }

    /// The scans that have a receipt and that the server lacks.
    pub async fn lost(&self, client: &Client, url: &str) -> Vec<u64> {
        let missing = self.missing(client, url).await;
        let lacks = |seq: &&u64| missing.iter().any(|(from, to)| (from..=to).contains(seq));
        self.acknowledged.iter().filter(lacks).copied().collect()
    }

    /// Uploads until every batch has an answer. The server must then lack nothing.
    pub async fn hand_over(&mut self, client: &Client, url: &str) {
        while self.open.is_some() {
            assert!(self.send(client, url).await);
        }
        assert_eq!(self.missing(client, url).await, []);
        assert_eq!(self.acknowledged.len() as u64, self.log.seq);
    }
}

/// Lets the devices upload until `until`, and gives them back.
pub async fn hammer(client: &Client, url: &str, mut devices: Vec<Hammer>, until: Instant) -> Vec<Hammer> {
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

/// A random time of at most `most_ms` milliseconds. It also advances the random state.
pub fn life(random: &mut u64, most_ms: u64) -> Duration {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    Duration::from_millis(*random % most_ms)
}
