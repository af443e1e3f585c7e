//! An S1 client: no engine, no log, the plain v1 form; sends each scan more than once, each time with the offset it
//! measures then.

use admit_core::barcode::BarcodeHash;
use admit_core::ids::BatchId;
use admit_core::ids::{DeviceId, GateId, ScanId, TicketId};
use admit_core::scan::Outcome;
use admit_core::sign;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{PairAnswer, PairRequest, ScanV1, SentTime, SyncRequest, raw_item};

use crate::rng::Rng;
use crate::server::{Act, Reply, Request, Server};
use crate::world::{Ev, World};

/// A client of S1's form.
#[derive(Debug)]
pub struct Client {
    device_id: DeviceId,
    paired: Option<PairAnswer>,
    unsent: Vec<ScanV1>,
    rng: Rng,
    made: u64,
}

impl Client {
    /// A client that is not paired yet.
    pub fn new(seed: u64, index: u64) -> Self {
        let device_id = DeviceId::new(format!("legacy-{index}")).unwrap_or_else(|_| unreachable!("printable"));
        Self { device_id, paired: None, unsent: Vec::new(), rng: Rng::of(seed, "legacy", index), made: 0 }
    }

    /// Scans a code at a time, by its own fast or slow clock.
    fn scan(&mut self, now_ms: i64, ticket: u64, api_key: &str) {
        self.made += 1;
        let text = Timestamp::clamped(now_ms - 3_000).to_string();
        let outcome = if self.rng.per_mille(800) { Outcome::Valid } else { Outcome::Duplicate };
        let mut item = ScanV1 {
            scan_id: ScanId::new(format!("v1-{}", self.made)).unwrap_or_else(|_| unreachable!("printable")),
            ticket_id: TicketId::new(format!("ticket-{ticket}")).ok(),
            barcode_hash: BarcodeHash::of(&format!("CODE-{ticket}")),
            scanned_at: SentTime { at: Timestamp::parse(&text).unwrap_or_default(), text },
            gate_id: GateId::new(if self.rng.per_mille(200) { "out" } else { "north" })
                .unwrap_or_else(|_| unreachable!("printable")),
            outcome,
            signature: String::new(),
        };
        item.sign(api_key);
        self.unsent.push(item);
    }
}

impl<S: Server> World<S> {
    /// The client pairs, scans, sends; now and then the same again, as S1's clients do after a lost answer.
    pub(crate) fn legacy(&mut self, side: usize, client: usize) {
        let (now_ms, chaos, tickets) = (self.now_ms, self.chaos(), self.config.tickets);
        if self.sides[side].legacy[client].paired.is_none() {
            self.pair_legacy(side, client);
        }
        let held = &mut self.sides[side].legacy[client];
        let Some(paired) = held.paired.clone() else { return };
        if chaos {
            let ticket = held.rng.below(tickets);
            held.scan(now_ms, ticket, &paired.api_key);
        }
        let sync_batch_id = BatchId::new(admit_core::ids::uuid_v4(held.rng.bytes())).ok();
        let Some(sync_batch_id) = sync_batch_id else { return };
        let request = SyncRequest {
            device_id: held.device_id.clone(),
            sync_batch_id,
            format: None,
            batch_created_at: None,
            offset_seconds: Some(3 + held.rng.between(-1, 1)),
            log_id: None,
            head: None,
            scans: held.unsent.iter().filter_map(|item| raw_item(serde_json::to_string(item).ok()?).ok()).collect(),
        };
        let items = held.unsent.clone();
        let again = held.rng.per_mille(300) && chaos;
        let wire = Request {
            method: "POST".into(),
            path: "/api/scanning/sync".into(),
            headers: vec![("authorization".into(), format!("Bearer {}", paired.api_key))],
            body: serde_json::to_string(&request).ok(),
        };
        if items.is_empty() {
            return;
        }
        let Reply::Answer(answer) = self.server.handle(now_ms, &wire) else { return };
        let held = &mut self.sides[side];
        for item in items {
            let scan = item.into_scan(&request.device_id, &paired.event_id);
            held.ledger.legacy.insert(sign::content_digest(&scan));
        }
        held.ledger.answered(None, &wire, &answer);
        match answer.status {
            200 if !again => held.legacy[client].unsent.clear(),
            401 => held.legacy[client].paired = None,
            _ => {}
        }
        if chaos {
            let at = now_ms + held.rng.between(5_000, 60_000);
            self.at(side, at, Ev::Legacy { client });
        }
    }

    fn pair_legacy(&mut self, side: usize, client: usize) {
        let Ok(gate) = GateId::new("north") else { return };
        let org = self.sides[side].org;
        let Some(token) = self.server.act(self.now_ms, org, &Act::Token(gate)) else { return };
        let device_id = self.sides[side].legacy[client].device_id.clone();
        let asked = PairRequest {
            pairing_token: token,
            device_id,
            claim_secret: None,
            name: None,
            device_type: None,
            app_version: None,
        };
        let wire = Request {
            method: "POST".into(),
            path: "/api/scanning/pair".into(),
            headers: vec![],
            body: serde_json::to_string(&asked).ok(),
        };
        if let Reply::Answer(answer) = self.server.handle(self.now_ms, &wire) {
            self.sides[side].legacy[client].paired = serde_json::from_slice(&answer.body).ok();
        }
        if let Some(paired) = &self.sides[side].legacy[client].paired {
            // Its items were signed under a key that may be another's now.
            let key = paired.api_key.clone();
            self.sides[side].legacy[client].unsent.iter_mut().for_each(|item| item.sign(&key));
        }
    }
}
