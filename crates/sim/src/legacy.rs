//! S1 clients with the form v1. They send each scan more than once, each time with the clock offset measured then.

use admit_core::ids::BatchId;
use admit_core::ids::GateId;
use admit_core::sign;
use admit_core::wire::scanning::{PairRequest, SyncRequest, raw_item};

use crate::server::{Act, Reply, Request, Server};
use crate::world::{Ev, World};

impl<S: Server> World<S> {
    /// Lets the client pair, scan and send. Sometimes the client sends the same scans again, as S1's clients do after a
    /// lost answer.
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
        let Reply::Answer(answer) = self.ask(side, &wire) else { return };
        let held = &mut self.sides[side];
        for item in items {
            let scan = item.into_scan(&request.device_id, &paired.event_id);
            held.record.legacy.insert(sign::content_digest(&scan));
        }
        held.record.answered(None, &wire, &answer);
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
        let Some(token) = self.act(side, &Act::Token(gate)) else { return };
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
        if let Reply::Answer(answer) = self.ask(side, &wire) {
            self.sides[side].legacy[client].paired = serde_json::from_slice(&answer.body).ok();
        }
        if let Some(paired) = &self.sides[side].legacy[client].paired {
            // Its items were signed under a key that may belong to another device now.
            let key = paired.api_key.clone();
            self.sides[side].legacy[client].unsent.iter_mut().for_each(|item| item.sign(&key));
        }
    }
}
