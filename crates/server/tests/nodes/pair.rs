//! Two nodes on one database.

use admit_server::{AppState, Settings};
use reqwest::{RequestBuilder, Response};
use serde_json::Value;

use crate::device::Phone;
use crate::place::Place;
use crate::server::{TestServer, serve};

/// An address where no server listens.
pub const NOBODY: &str = "redis://127.0.0.1:1";

/// The first node, whose harness made the organisations, and a second node.
pub struct Pair {
    pub first: TestServer,
    pub second: AppState,
    pub second_url: String,
}

impl Pair {
    /// Two nodes with the same settings.
    pub async fn start(settings: Settings) -> Self {
        let place = Place::database().await;
        let state = place.open(settings.clone()).await;
        let first = TestServer::of(place, state).await;
        let second = first.place().open(settings).await;
        let second_url = serve(&second).await;
        Self { first, second, second_url }
    }
    /// Starts two nodes with this Redis.
    pub async fn with(redis_url: &str) -> Self {
        Self::start(Settings { redis_url: Some(redis_url.into()), several_nodes: true, ..Settings::default() }).await
    }
    /// A device's request to one of the nodes.
    pub fn ask(&self, node: usize, phone: &Phone, path: &str) -> RequestBuilder {
        self.first.client.get(format!("{}{path}", self.url(node))).bearer_auth(phone.key())
    }
    /// Uploads a batch to one of the nodes.
    pub async fn sync(&self, node: usize, phone: &Phone, batch: &Value) -> Response {
        let request = self.first.client.post(format!("{}/api/scanning/sync", self.url(node)));
        request.bearer_auth(phone.key()).json(batch).send().await.unwrap()
    }
    /// Uploads an empty batch with a new id to one of the nodes, and gives the status.
    pub async fn knock(&self, node: usize, phone: &mut Phone) -> u16 {
        let batch = phone.batch(vec![]);
        self.sync(node, phone, &batch).await.status().as_u16()
    }
    /// A node's metrics.
    pub fn metrics(&self, node: usize) -> String {
        if node == 0 { self.first.state.metrics.text() } else { self.second.metrics.text() }
    }
    pub fn url(&self, node: usize) -> &str {
        if node == 0 { &self.first.url } else { &self.second_url }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.second.shutdown.cancel();
    }
}
