//! The organiser's side over HTTP: what a web page or a program sees.

mod session;
mod setup;
mod overview;
mod tickets;
mod guests;
mod import;
mod gates;
mod live;
mod review;
mod isolation;
mod privacy;
mod cases;
mod document;

use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use crate::server::{Org, TestServer, json};

/// A request as an organisation's owner, by API token.
pub fn as_owner(server: &TestServer, org: &Org, method: Method, path: &str) -> RequestBuilder {
    server.request(method, &path.replace("{event}", org.event_id.as_str())).bearer_auth(&org.token)
}

/// `GET`, which must be 200.
pub async fn get(server: &TestServer, path: &str) -> Value {
    json(as_owner(server, &server.home, Method::GET, path).send().await.unwrap(), 200).await
}

/// `POST` of JSON, which must have this status.
pub async fn post(server: &TestServer, path: &str, body: Value, status: u16) -> Value {
    json(as_owner(server, &server.home, Method::POST, path).json(&body).send().await.unwrap(), status).await
}

/// `PATCH` of JSON, which must be 200.
pub async fn patch(server: &TestServer, path: &str, body: Value) -> Value {
    json(as_owner(server, &server.home, Method::PATCH, path).json(&body).send().await.unwrap(), 200).await
}
