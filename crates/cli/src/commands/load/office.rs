//! The organiser's side of a load: a live event, its tickets, pairings, and the number of persons let in.

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{DeviceId, GateId, TicketId, uuid_v4};
use admit_core::limits::IMPORT_ROWS;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{PairAnswer, PairRequest};
use anyhow::{Context, bail};
use reqwest::{Client, RequestBuilder};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The gate of the event that the load makes.
pub const GATE: &str = "load";
/// The zone of its tickets.
pub const ZONE: &str = "general";

/// A server, with an API token that may make events on it.
#[derive(Debug, Clone)]
pub struct Office {
    /// The HTTP client, with one pool of connections for all phones.
    pub client: Client,
    /// The server's address without a slash at its end.
    pub server: String,
    token: String,
}

/// A ticket's id and the hash of its code.
pub type Ticket = (TicketId, BarcodeHash);

/// The members of a ticket in the list that this module needs.
#[derive(serde::Deserialize)]
struct Listed {
    ticket_id: TicketId,
    barcode_hash: BarcodeHash,
    zone: String,
    gate_ids: Vec<GateId>,
    is_valid: bool,
    valid_from: Option<Timestamp>,
    expires_at: Option<Timestamp>,
}

impl Listed {
    /// Whether the ticket's zone is its only condition. These phones admit everybody without deciding, so tickets with
    /// conditions, which only the core judges, are not used.
    fn is_plain(&self) -> bool {
        self.is_valid && self.gate_ids.is_empty() && self.valid_from.is_none() && self.expires_at.is_none()
    }
}

impl Office {
    /// An organiser of this server. It sends no request yet.
    pub fn new(server: &str, token: &str) -> anyhow::Result<Self> {
        let client = admit_server::adapters::http_client::builder().build()?;
        Ok(Self { client, server: server.trim_end_matches('/').to_owned(), token: token.to_owned() })
    }

    /// The same organiser, who reaches the server at another address.
    pub fn by_way_of(&self, server: String) -> Self {
        Self { server, ..self.clone() }
    }

    fn post(&self, path: &str) -> RequestBuilder {
        self.client.post(format!("{}{path}", self.server)).bearer_auth(&self.token)
    }

    /// Makes a live event with this many tickets, each for one person, and gives its id.
    pub async fn event(&self, tickets: usize) -> anyhow::Result<String> {
        let hours = |hours: i64| Timestamp::clamped(now_ms() + hours * 3_600_000).to_string();
        let event = json!({
            "name": format!("Load of {}", hours(0)), "venue": "", "time_zone": "UTC", "status": "live",
            "starts_at": hours(-2), "ends_at": hours(10),
        });
        let made: Value = answered(self.post("/api/events").json(&event)).await.context("making an event")?;
        let event_id = made["id"].as_str().context("an event without an id")?.to_owned();
        let gate = json!({ "id": GATE, "name": "Load", "zones": [ZONE] });
        let gates = self.post(&format!("/api/events/{event_id}/gates")).json(&gate);
        answered::<Value>(gates).await.context("making a gate")?;
        for from in (0..tickets).step_by(IMPORT_ROWS) {
            let count = IMPORT_ROWS.min(tickets - from);
            let mut sheet = "barcode,zone\n".to_owned();
            for _ in 0..count {
                sheet.push_str(&format!("{},{ZONE}\n", uuid()?));
            }
            let import = self.post(&format!("/api/events/{event_id}/tickets/import"));
            let import = import.header("content-type", "text/csv").body(sheet);
            let report: Value = answered(import).await.context("importing tickets")?;
            anyhow::ensure!(
                report["created"].as_u64() == Some(count as u64),
                "the import made other tickets: {report}"
            );
        }
        Ok(event_id)
    }

    /// Pairs phones with a gate by one token. Their names are `name` and a number.
    pub async fn pair(
        &self,
        event_id: &str,
        gate_id: &str,
        name: &str,
        phones: usize,
    ) -> anyhow::Result<Vec<PairAnswer>> {
        let asked = self.post(&format!("/api/events/{event_id}/pairing-tokens"));
        let asked = asked.json(&json!({ "gate_id": gate_id, "uses": phones }));
        let token: Value = answered(asked).await.context("asking for a pairing")?;
        let token = token["pairing_token"].as_str().context("a pairing without a token")?.to_owned();
        let mut paired = Vec::with_capacity(phones);
        for place in 1..=phones {
            let request = PairRequest {
                pairing_token: token.clone(),
                device_id: DeviceId::new(uuid()?)?,
                claim_secret: None,
                name: Some(format!("{name} {place}")),
                device_type: None,
                app_version: None,
            };
            let pair = self.client.post(format!("{}/api/scanning/pair", self.server)).json(&request);
            paired.push(answered(pair).await.context("pairing")?);
        }
        Ok(paired)
    }

    /// The event's tickets of a zone without other conditions, from the list of a phone.
    pub async fn tickets(&self, phone: &PairAnswer, zone: &str) -> anyhow::Result<Vec<Ticket>> {
        #[derive(serde::Deserialize)]
        struct List {
            tickets: Vec<Listed>,
        }
        let path = format!("{}/api/scanning/events/{}/manifest", self.server, phone.event_id);
        let list: List = answered(self.client.get(path).bearer_auth(&phone.api_key)).await.context("the list")?;
        let plain = list.tickets.into_iter().filter(|ticket| ticket.zone == zone && ticket.is_plain());
        Ok(plain.map(|ticket| (ticket.ticket_id, ticket.barcode_hash)).collect())
    }

    /// The number of persons let in so far, within their tickets' limits and beyond.
    pub async fn let_in(&self, event_id: &str) -> anyhow::Result<u64> {
        let path = format!("{}/api/events/{event_id}/occupancy", self.server);
        let inside: Value = answered(self.client.get(path).bearer_auth(&self.token)).await.context("who is in")?;
        let number = |name: &str| inside[name].as_u64().with_context(|| format!("{name} is no number"));
        Ok(number("entered")? + number("over")?)
    }
}

/// The body of a successful answer. Otherwise an error with the server's message.
pub async fn answered<T: DeserializeOwned>(request: RequestBuilder) -> anyhow::Result<T> {
    let answer = request.send().await?;
    let (status, body) = (answer.status(), answer.bytes().await?);
    if !status.is_success() {
        bail!("{status}: {}", String::from_utf8_lossy(&body));
    }
    Ok(serde_json::from_slice(&body)?)
}

/// A new UUID.
pub fn uuid() -> anyhow::Result<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    Ok(uuid_v4(random))
}

/// The present time in milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
