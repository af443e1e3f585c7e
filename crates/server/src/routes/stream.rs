//! `GET /api/events/{id}/stream`: the live view (spec §5, S2 §4 "PubSub Broadcast"; architecture §5 walk 4).

use std::collections::BTreeMap;

use admit_app::error::{Error, Result as AppResult};
use admit_app::ports::{App, Hint, Topic, Tx, read};
use admit_app::scans::log::missing;
use admit_core::access::Action;
use admit_core::ids::{BatchId, DeviceId, EventId, OrganizationId};
use admit_core::rule::{Epoch, When};
use admit_core::wire::scanning::Cursor;
use axum::extract::OptionalFromRequestParts;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use http::request::Parts;
use serde_json::{Map, Value, json};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::user::User;
use crate::auth::{device, token};
use crate::body::Path;
use crate::encoding::AsItIs;
use crate::error::Result;
use crate::state::AppState;
use crate::stream::{Connection, Message, Source, open};
use crate::telemetry::Metrics;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(stream))
}

/// Live: whole snapshots of `occupancy`, `incidents` and `devices`, and a `batch` message for every upload.
///
/// Server-sent events. An event's id is `epoch.serial`; after a reconnect all snapshots come anew, after a change of
/// the server's epoch with a `resync` before them. A `heartbeat` comes every 15 s. A device's key opens it for its own
/// `batch` messages only.
#[utoipa::path(get, path = "/api/events/{id}/stream", tag = "live",
    params(
        ("id" = String, Path, description = "Event"),
        ("Last-Event-ID" = Option<String>, Header, description = "Set by browsers when they come back"),
    ), extensions(("x-actions" = json!(["read_events"]))), security(("session" = []), ("api_token" = []), ("device_key" = [])), responses(
    (status = 200, description = "The stream", body = String, content_type = "text/event-stream"),
    (status = 401, description = "Not signed in", body = crate::openapi::ProblemDoc, content_type = "application/problem+json"),
    (status = 404, description = "No such event", body = crate::openapi::ProblemDoc, content_type = "application/problem+json"),
))]
async fn stream(
    State(state): State<AppState>,
    Path(event_id): Path<EventId>,
    connection: Option<OfConnection>,
    headers: HeaderMap,
) -> Result<Response> {
    let (organization_id, device_id) = who(&state, &headers).await?;
    // Heard from before the first snapshot is read, so that nothing falls between.
    let hints = state.live.subscribe(&organization_id, &event_id);
    let asked = event_id.clone();
    let assigned = device_id.clone();
    let epoch = read(&*state.app.store, &organization_id, move |tx| {
        let event = tx.event(&asked)?.ok_or_else(|| Error::not_found("event"))?;
        if let Some(device_id) = assigned {
            let device = tx.device(&device_id)?.filter(|device| device.event_id == event.event_id);
            device.ok_or_else(|| Error::not_found("event"))?;
        }
        Ok(tx.head(&asked)?.epoch)
    })
    .await?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let opening = match last.map(str::parse::<Cursor>) {
        Some(Ok(cursor)) if cursor.epoch == epoch => Vec::new(),
        None => Vec::new(),
        // Another epoch, or nothing of ours: what the client knows is of no use.
        Some(_) => vec![Message { event: "resync", id: None, data: json!({ "epoch": epoch.to_string() }).to_string() }],
    };
    let open_streams = OpenStream::new(&state);
    let live = Live { app: state.app.clone(), organization_id, event_id, device_id, epoch, moved: None, open_streams };
    let connection = connection.map(|one| one.0);
    let mut response = open(live, hints, opening, connection, state.shutdown.clone()).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies must not gather it.
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response.extensions_mut().insert(AsItIs);
    Ok(response)
}

/// The connection, where the server takes its own (tests that call the router directly have none).
struct OfConnection(Connection);

impl OptionalFromRequestParts<AppState> for OfConnection {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        _state: &AppState,
    ) -> std::result::Result<Option<Self>, Self::Rejection> {
        Ok(parts.extensions.get::<Connection>().cloned().map(Self))
    }
}

/// A person who may look, or a device.
async fn who(state: &AppState, headers: &HeaderMap) -> Result<(OrganizationId, Option<DeviceId>)> {
    if token::bearer(headers).is_some() {
        match device::authenticate(state, headers).await {
            Ok(caller) => return Ok((caller.organization_id, Some(caller.device_id))),
            Err(error) if error.status() == http::StatusCode::UNAUTHORIZED => {}
            Err(error) => return Err(error),
        }
    }
    let User(caller) = User::of(state, headers).await?;
    caller.must(Action::ReadEvents)?;
    Ok((caller.organization_id, None))
}

/// What is read and sent whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Occupancy,
    Incidents,
    Devices,
    /// A batch that may be this device's: serial, id, message.
    Batch(u64, BatchId, String),
}

/// Counts an open stream for as long as it lives.
struct OpenStream(std::sync::Arc<Metrics>);

impl OpenStream {
    fn new(state: &AppState) -> Self {
        state.metrics.streams.inc();
        Self(state.metrics.clone())
    }
}
impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.streams.dec();
    }
}

/// One client's view of one event.
struct Live {
    app: App,
    organization_id: OrganizationId,
    event_id: EventId,
    /// Set for a device: it sees its own batches only.
    device_id: Option<DeviceId>,
    epoch: Epoch,
    /// What uploads said since the last occupancy snapshot: the newest, with their scans added up.
    moved: Option<Map<String, Value>>,
    open_streams: OpenStream,
}

impl Live {
    fn batch_message(&self, serial: u64, batch_id: &BatchId, text: &str, now: String) -> Message {
        let mut data: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
        data.insert("topic".into(), format!("batch:{batch_id}").into());
        data.insert("timestamp".into(), now.into());
        let id = Some(Cursor::at(self.epoch, serial).to_string());
        Message { event: "batch", id, data: Value::Object(data).to_string() }
    }
}

impl Source for Live {
    type Part = Part;

    fn parts(&self) -> Vec<Part> {
        if self.device_id.is_some() { Vec::new() } else { vec![Part::Occupancy, Part::Incidents, Part::Devices] }
    }

    fn take(&mut self, hint: &Hint) -> (Vec<Part>, Option<Message>) {
        if self.device_id.is_some() {
            let Topic::Batch(text) = &hint.topic else { return (Vec::new(), None) };
            let batch = batch_of(text).map(|batch_id| Part::Batch(hint.serial.unwrap_or(0), batch_id, text.clone()));
            return (batch.into_iter().collect(), None);
        }
        match &hint.topic {
            Topic::Batch(text) => {
                let now = self.app.clock.now().to_string();
                let serial = hint.serial.unwrap_or(0);
                (Vec::new(), batch_of(text).map(|batch_id| self.batch_message(serial, &batch_id, text, now)))
            }
            Topic::Occupancy(text) => {
                let mut newest: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
                let before = self.moved.as_ref().and_then(|moved| moved.get("scans_added")).and_then(Value::as_u64);
                let added = newest.get("scans_added").and_then(Value::as_u64).unwrap_or(0);
                newest.insert("scans_added".into(), (added + before.unwrap_or(0)).into());
                self.moved = Some(newest);
                (vec![Part::Occupancy], None)
            }
            Topic::Incidents => (vec![Part::Incidents], None),
            Topic::Devices => (vec![Part::Devices], None),
            // New rules may change anything that is shown.
            Topic::Rules => (self.parts(), None),
        }
    }

    async fn read(&mut self, part: &Part) -> AppResult<Option<Message>> {
        let (part, event_id, device_id) = (part.clone(), self.event_id.clone(), self.device_id.clone());
        let now = self.app.clock.now().to_string();
        if let Part::Batch(serial, batch_id, text) = part {
            let Some(device_id) = device_id else { return Ok(None) };
            let wanted = batch_id.clone();
            let own = read(&*self.app.store, &self.organization_id, move |tx| {
                let (ours, s2s) = ("sync", admit_app::scans::sync_offline::ENDPOINT);
                Ok(tx.batch(&device_id, ours, &wanted)?.is_some() || tx.batch(&device_id, s2s, &wanted)?.is_some())
            });
            return Ok(own.await?.then(|| self.batch_message(serial, &batch_id, &text, now)));
        }
        let moved = if part == Part::Occupancy { self.moved.take() } else { None };
        let organization_id = self.organization_id.clone();
        let (event, epoch, serial, data) = read(&*self.app.store, &self.organization_id, move |tx| {
            let head = tx.head(&event_id)?;
            let (event, data) = match part {
                Part::Occupancy => {
                    let topic = format!("occupancy:{organization_id}:{event_id}");
                    ("occupancy", occupancy(tx, &event_id, topic, moved.unwrap_or_default(), now)?)
                }
                Part::Incidents => ("incidents", incidents(tx, &event_id, now)?),
                Part::Devices | Part::Batch(..) => ("devices", devices(tx, &event_id, now)?),
            };
            Ok((event, head.epoch, head.serial, data))
        })
        .await?;
        self.epoch = epoch;
        Ok(Some(Message { event, id: Some(Cursor::at(epoch, serial).to_string()), data: data.to_string() }))
    }

    fn dropped(&mut self) {
        self.open_streams.0.streams_dropped.inc();
        tracing::warn!(event_id = %self.event_id, "a live stream's client does not keep up: closed");
    }
}

fn batch_of(text: &str) -> Option<BatchId> {
    let value: Value = serde_json::from_str(text).ok()?;
    value.get("batch_id")?.as_str()?.parse().ok()
}

/// S2's message: what an upload added, and the totals now. Without an upload, `event` is `snapshot`.
fn occupancy(
    tx: &mut dyn Tx,
    event_id: &EventId,
    topic: String,
    mut moved: Map<String, Value>,
    now: String,
) -> AppResult<Value> {
    let counters = tx.occupancy(event_id)?;
    let book = tx.load_rules(event_id, &[])?.book;
    let name = |gate_id: &admit_core::ids::GateId| book.gate(gate_id, When::Newest).map(|gate| gate.name);
    let gates = book.gate_ids().map(|gate_id| {
        let flow = counters.gates.get(gate_id).copied().unwrap_or_default();
        json!({ "gate_id": gate_id, "name": name(gate_id), "entered": flow.entered, "exited": flow.exited })
    });
    let gates: Vec<Value> = gates.collect();
    moved.entry("event").or_insert("snapshot".into());
    if let Some(gate) = moved.get("gate_id").and_then(Value::as_str).and_then(|text| text.parse().ok()) {
        let flow = counters.gates.get(&gate).copied().unwrap_or_default();
        moved.insert("gate_name".into(), name(&gate).into());
        moved.insert("gate_occupancy".into(), (flow.entered - flow.exited).into());
    }
    let rest = json!({
        "topic": topic,
        "total_occupancy": counters.inside,
        "timestamp": now,
        "inside": counters.inside,
        "inside_over": counters.inside_over,
        "entered": counters.entered,
        "exited": counters.exited,
        "over": counters.over,
        "tickets": counters.subjects,
        "gates": gates,
    });
    if let Value::Object(rest) = rest {
        moved.extend(rest);
    }
    Ok(Value::Object(moved))
}

fn incidents(tx: &mut dyn Tx, event_id: &EventId, now: String) -> AppResult<Value> {
    let open = tx.count_open_incidents(event_id)?;
    let by_kind: BTreeMap<&str, u64> = open.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    Ok(
        json!({ "topic": "incidents", "timestamp": now, "open": by_kind.values().sum::<u64>(), "open_by_kind": by_kind }),
    )
}

fn devices(tx: &mut dyn Tx, event_id: &EventId, now: String) -> AppResult<Value> {
    let mut lacking: BTreeMap<DeviceId, u64> = BTreeMap::new();
    for log in tx.logs(event_id)?.iter().filter(|log| log.closed_at.is_none()) {
        let count: u64 = missing(log).iter().map(|(from, to)| to - from + 1).sum();
        *lacking.entry(log.device_id.clone()).or_default() += count;
    }
    let rows = tx.devices(event_id)?.into_iter().map(|device| {
        let health = device.health;
        json!({
            "id": device.device_id,
            "name": device.name,
            "gate_id": device.gate_id,
            "state": device.state.as_str(),
            "last_seen_at": health.last_seen_at,
            "last_sync_at": health.last_sync_at,
            "pending": health.pending,
            "battery": health.battery,
            "manifest_version": health.manifest_version,
            "missing_count": lacking.get(&device.device_id).copied().unwrap_or(0),
        })
    });
    Ok(json!({ "topic": "devices", "timestamp": now, "devices": rows.collect::<Vec<_>>() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_names_itself() {
        assert_eq!(batch_of(r#"{"batch_id":"b-1"}"#).unwrap().as_str(), "b-1");
        assert_eq!(batch_of("{}"), None);
        assert_eq!(batch_of("?"), None);
    }
}
