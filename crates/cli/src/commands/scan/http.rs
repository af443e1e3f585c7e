//! Sends one request of the engine and returns its answer.

use std::time::Duration;

use admit_core::limits::BODY_DECODED_BYTES;
use anyhow::{Context as _, bail};
use reqwest::{Client, Method, redirect};

/// A request that the engine wants to send.
#[derive(Debug)]
pub struct Request {
    /// The server's origin, such as `https://tickets.example.org`.
    pub server: String,
    /// The method: `GET` or `POST`.
    pub method: String,
    /// The path and the query.
    pub path: String,
    /// Names and values of the headers.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; `None` for a request without a body.
    pub body: Option<String>,
    /// The time limit of the request, in milliseconds.
    pub timeout_ms: u64,
}

/// An answer, unchanged, from the server or a proxy. The engine judges whether it comes from Admit.
#[derive(Debug)]
pub struct Answer {
    /// The status; 0 for a redirect.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

/// A client that follows no redirects, because the engine must see the redirect of a captive portal.
pub fn client() -> anyhow::Result<Client> {
    let client = admit_server::adapters::http_client::builder()
        .redirect(redirect::Policy::none())
        .user_agent(concat!("admit-scan/", env!("CARGO_PKG_VERSION")));
    client.build().context("preparing HTTP")
}

/// Sends a request. Fails if no answer comes in time.
pub async fn send(client: &Client, request: Request) -> anyhow::Result<Answer> {
    let method = Method::from_bytes(request.method.as_bytes())?;
    let url = format!("{}{}", request.server, request.path);
    let mut sent = client.request(method, url).timeout(Duration::from_millis(request.timeout_ms));
    for (name, value) in &request.headers {
        sent = sent.header(name, value);
    }
    if let Some(body) = request.body {
        sent = sent.body(body);
    }
    let mut answer = sent.send().await?;
    if answer.status().is_redirection() {
        return Ok(Answer { status: 0, headers: Vec::new(), body: Vec::new() });
    }
    let headers = answer.headers().iter();
    let headers = headers.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
    let (status, headers) = (answer.status().as_u16(), headers.collect());
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if body.len() + chunk.len() > BODY_DECODED_BYTES {
            bail!("an answer of more than {BODY_DECODED_BYTES} bytes");
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { status, headers, body })
}
