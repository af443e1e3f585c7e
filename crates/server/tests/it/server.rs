//! A server for each test, with its own data and port, and two organisations that use the same names.

use admit_app::api_tokens::ApiTokenWish;
use admit_app::caller::UserCaller;
use admit_app::events::{self, NewEvent};
use admit_app::gates::{self, NewGate};
use admit_app::organizations::{self, NewOrganization};
use admit_app::tickets::{self, NewTicket};
use admit_app::{api_tokens, pairing_tokens};
use admit_core::event::EventStatus;
use admit_core::ids::{EventId, GateId};
use admit_server::{AppState, Settings, listen, router};
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::Value;

use crate::place::Place;

/// A running server and its two organisations.
pub struct TestServer {
    pub url: String,
    pub client: Client,
    pub state: AppState,
    /// The first organisation. The names of its event, gates and tickets equal those of `other`.
    pub home: Org,
    pub other: Org,
    place: Place,
}

/// An organisation with a live event, two gates and ten tickets.
pub struct Org {
    pub owner: UserCaller,
    pub email: String,
    pub token: String,
    pub event_id: EventId,
    pub barcodes: Vec<String>,
}

pub const PASSWORD: &str = "correct horse battery";
const HOUR_MS: i64 = 3_600_000;

impl TestServer {
    pub async fn start() -> Self {
        Self::with(Settings::default()).await
    }

    pub async fn with(settings: Settings) -> Self {
        let place = Place::new().await;
        let state = place.open(settings).await;
        Self::of(place, state).await
    }

    /// The first server on a place.
    pub async fn of(place: Place, state: AppState) -> Self {
        let home = org(&state, "home").await;
        let other = org(&state, "other").await;
        let url = serve(&state).await;
        let client = admit_server::adapters::http_client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        Self { url, client, state, home, other, place }
    }

    /// The data, for a second node.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// A request to a path.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }
    pub fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }
    pub fn post(&self, path: &str) -> RequestBuilder {
        self.request(Method::POST, path)
    }
    /// A fresh pairing token of an organisation's gate `main`.
    pub async fn pairing_token(&self, org: &Org) -> String {
        self.pairing_token_at(org, "main").await
    }
    /// A new pairing token of an organisation for another gate.
    pub async fn pairing_token_at(&self, org: &Org, gate: &str) -> String {
        let gate_id = GateId::new(gate).unwrap();
        let made = pairing_tokens::create(&self.state.app, &org.owner, org.event_id.clone(), gate_id, None).await;
        made.unwrap().pairing_token
    }
    /// The host and port of the server.
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.state.shutdown.cancel();
    }
}

/// Serves a node's state on a free port, and gives its address.
pub async fn serve(state: &AppState) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(listen::serve(listener, router(state.clone()), state.shutdown.clone()));
    url
}

async fn org(state: &AppState, name: &str) -> Org {
    let email = format!("owner@{name}.example");
    let new = NewOrganization {
        name: name.into(),
        email: email.clone(),
        owner_name: "Owner".into(),
        password: PASSWORD.into(),
    };
    let owner = organizations::create(&state.app, new).await.unwrap();
    let now = state.app.clock.now();
    let new = NewEvent {
        name: "Festival".into(),
        venue: "Harbour".into(),
        time_zone: "Africa/Johannesburg".into(),
        starts_at: now.plus_ms(-2 * HOUR_MS),
        ends_at: now.plus_ms(10 * HOUR_MS),
        status: Some(EventStatus::Live),
        re_entry: None,
        min_gap_seconds: None,
        day_starts_at: None,
        staff_pin: Some("2468".into()),
        capacity: None,
        retention_days: None,
        walk_ins: None,
        at_door: Default::default(),
        gates: Some(Vec::new()),
    };
    let event = events::create(&state.app, &owner, new).await.unwrap();
    for slug in ["main", "north"] {
        let new = NewGate {
            gate_id: GateId::new(slug).unwrap(),
            name: None,
            zones: Some(vec!["general".into()]),
            direction: None,
            capacity: None,
            names_on_devices: Some(false),
            walk_ins: None,
            entry_rules: None,
        };
        gates::create(&state.app, &owner, event.event_id.clone(), new).await.unwrap();
    }
    let barcodes: Vec<String> = (1..=10).map(|n| format!("CODE-{n:04}")).collect();
    let new = barcodes.iter().map(|code| NewTicket { barcode: Some(code.clone()), ..NewTicket::default() });
    tickets::create(&state.app, &owner, event.event_id.clone(), new.collect()).await.unwrap();
    let token = api_tokens::create(&state.app, &owner, ApiTokenWish::named("test")).await.unwrap().token;
    Org { owner, email, token, event_id: event.event_id, barcodes }
}

/// The JSON of an answer that must have this status.
pub async fn json(response: Response, status: u16) -> Value {
    let (got, text) = (response.status().as_u16(), response.text().await.unwrap());
    assert_eq!(got, status, "{text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The problem in an answer, which must have this status and code.
pub async fn problem(response: Response, status: u16, code: &str) -> Value {
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let body = json(response, status).await;
    assert_eq!(body["code"], code, "{body}");
    assert_eq!(body["status"], status);
    assert!(body["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{body}");
    body
}
