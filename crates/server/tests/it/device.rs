//! A device paired over HTTP.

use admit_core::ids::{DeviceId, EventId, GateId, KeyId};
use admit_core::scan::Outcome;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::PairAnswer;
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

use crate::server::{self, Org, TestServer};
use crate::signed::Log;

pub struct Phone {
    pub log: Log,
}

impl Phone {
    /// Pairs a new device to an organisation's gate `main`.
    pub async fn pair(server: &TestServer, org: &Org, name: &str) -> Self {
        Self::pair_at(server, org, name, "main").await
    }
    /// Pairs a new device to another gate.
    pub async fn pair_at(server: &TestServer, org: &Org, name: &str, gate: &str) -> Self {
        let pairing_token = server.pairing_token_at(org, gate).await;
        let body = json!({ "pairing_token": pairing_token, "device_id": format!("device-{name}"), "name": name });
        let answer = server.post("/api/scanning/pair").json(&body).send().await.unwrap();
        let paired: PairAnswer = serde_json::from_value(server::json(answer, 200).await).unwrap();
        Self { log: Log::new(paired, name) }
    }
    /// Adds this device's key to a request.
    pub fn bearer(&self, request: RequestBuilder) -> RequestBuilder {
        request.bearer_auth(self.key())
    }
    /// Makes a signed entry of one person, the next scan of this device's log.
    pub fn scan(&mut self, barcode: &str, outcome: Outcome, at: Timestamp) -> Value {
        self.log.scan(barcode, outcome, at)
    }
    /// Makes a batch with a new id.
    pub fn batch(&mut self, scans: Vec<Value>) -> Value {
        self.log.batch(scans)
    }
    /// Uploads a batch.
    pub async fn sync(&self, server: &TestServer, batch: &Value) -> Response {
        self.bearer(server.post("/api/scanning/sync")).json(batch).send().await.unwrap()
    }
    pub fn key(&self) -> &str {
        &self.log.paired.api_key
    }
    pub fn device_id(&self) -> &DeviceId {
        &self.log.paired.device_id
    }
    pub fn event_id(&self) -> &EventId {
        &self.log.paired.event_id
    }
    pub fn gate_id(&self) -> &GateId {
        &self.log.paired.gate_id
    }
    pub fn key_id(&self) -> &KeyId {
        &self.log.paired.key_id
    }
}
