//! `GET /api/events/{id}/stream`: the live view (spec §5, S2 §4 "PubSub Broadcast"; ARCHITECTURE.md §6 walk 4).

use std::collections::{BTreeMap, BTreeSet};

use admit_app::arrivals::newest;
use admit_app::error::{Error, Result as AppResult};
use admit_app::ports::{Hint, Topic, Tx, read};
use admit_app::records::DeviceState;
use admit_app::scans::announce::Ended;
use admit_app::scans::log::missing;
use admit_core::access::{Action, can};
use admit_core::gate::Direction;
use admit_core::ids::{DeviceId, EventId, OrganizationId};
use admit_core::limits::{STREAM_BATCHES, STREAM_REMEMBERED};
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

use super::arrivals::ArrivalView;
use crate::auth::user::User;
use crate::auth::{device, token};
use crate::body::Path;
use crate::encoding::AsItIs;
use crate::error::Result;
use crate::state::AppState;
use crate::stream::{Connection, Message, Reading, Source, open};
use crate::strict::RequestCheck;
use crate::telemetry::Metrics;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(stream))
}

/// A live stream of an event, as server-sent events.
///
/// The messages `occupancy`, `incidents`, `devices` and `arrivals` (the newest 20) are whole snapshots. A `batch`
/// message follows every upload. A `heartbeat` comes every 15 s.
///
/// A message's id is `epoch.serial`: the serial up to which every upload was sent. After a reconnect with
/// `Last-Event-ID`, the `batch` messages since then come first, and all snapshots follow. If the server's epoch
/// changed, a `resync` message comes before them.
///
/// The server checks the client's rights at each heartbeat and ends the stream if they are gone. Without the right to
/// read scans, a client gets `occupancy` and `heartbeat` only. A device's key gets `batch` messages about its own
/// uploads only.
///
/// In `occupancy`, `gate_occupancy` belongs to the gate of the newest upload. It is the number of persons who entered
/// there minus those who left there, and never below 0. A gate with direction `out` has no `gate_occupancy`. People may
/// leave by another gate than they came, so `total_occupancy` is the number inside.
#[utoipa::path(get, path = "/api/events/{id}/stream", tag = "live",
    params(
        ("id" = String, Path, description = "Event"),
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last message. Browsers set it when they reconnect"),
    ), extensions(("x-actions" = json!(["read_events"]))), security(("session" = []), ("api_token" = []), ("device_key" = [])), responses(
    (status = 200, description = "The stream", body = String, content_type = "text/event-stream"),
    (status = 401, description = "Not signed in"),
))]
async fn stream(
    State(state): State<AppState>,
    Path(event_id): Path<EventId>,
    connection: Option<OfConnection>,
    check: RequestCheck,
    headers: HeaderMap,
) -> Result<Response> {
    let (organization_id, viewer) = who(&state, &headers, &event_id).await?;
    if matches!(viewer, Viewer::Person { .. }) {
        check.0?;
    }
    // The subscription begins before the first snapshot is read, so no change in between is lost.
    let hints = state.live.subscribe(&organization_id, &event_id);
    let asked = event_id.clone();
    let head = read(&*state.app.store, &organization_id, move |tx| tx.head(&asked)).await?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let (told, opening) = match last.map(str::parse::<Cursor>) {
        Some(Ok(cursor)) if cursor.epoch == head.epoch => (cursor.serial.min(head.serial), Vec::new()),
        None => (head.serial, Vec::new()),
        // The id is of another epoch, or not ours. So the client's state is of no use.
        Some(_) => {
            let data = json!({ "epoch": head.epoch.to_string() }).to_string();
            (head.serial, vec![Message { event: "resync", id: None, data }])
        }
    };
    let (open_streams, shutdown) = (OpenStream::new(&state), state.shutdown.clone());
    let (epoch, said) = (head.epoch, BTreeSet::new());
    let live = Live { state, headers, organization_id, event_id, viewer, epoch, told, said, moved: None, open_streams };
    let mut response = open(live, hints, opening, connection.map(|one| one.0), shutdown).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies must not buffer the stream.
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response.extensions_mut().insert(AsItIs);
    Ok(response)
}

/// The client's connection; absent in tests that call the router directly.
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

/// The client of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Viewer {
    /// A device, which sees only its own batches.
    Device(DeviceId),
    /// A person. With `scans` they may see scans, incidents and devices, else occupancy alone.
    Person { scans: bool },
}

/// Finds out who asks: a person who may see the event, or a device that scans for it.
async fn who(state: &AppState, headers: &HeaderMap, event_id: &EventId) -> Result<(OrganizationId, Viewer)> {
    let event_id = event_id.clone();
    if token::bearer(headers).is_some() {
        match device::authenticate(state, headers).await {
            Ok(caller) => {
                let id = caller.device_id.clone();
                read(&*state.app.store, &caller.organization_id, move |tx| {
                    let device = tx.device(&id)?.filter(|device| device.event_id == event_id);
                    match device.ok_or_else(|| Error::not_found("event"))?.state {
                        DeviceState::Revoked => Err(Error::denied("device_revoked", "this device was revoked")),
                        DeviceState::Active | DeviceState::Suspended => Ok(()),
                    }
                })
                .await?;
                return Ok((caller.organization_id, Viewer::Device(caller.device_id)));
            }
            Err(error) if error.status() == http::StatusCode::UNAUTHORIZED => {}
            Err(error) => return Err(error),
        }
    }
    let User(caller) = User::of(state, headers).await?;
    caller.must(Action::ReadEvents)?;
    read(&*state.app.store, &caller.organization_id, move |tx| {
        tx.event(&event_id)?.ok_or_else(|| Error::not_found("event")).map(|_| ())
    })
    .await?;
    Ok((caller.organization_id, Viewer::Person { scans: can(caller.role, Action::ReadScans) }))
}

/// The parts of the stream that are read and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// The uploads since the last read. This part comes first, before the snapshots. A snapshot's id is the serial up
    /// to which every upload was sent, so those uploads must be sent before it.
    Batches,
    Occupancy,
    Incidents,
    Devices,
    Arrivals,
}

/// Counts an open stream while it exists.
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
    state: AppState,
    /// The headers of the request, which name the client. With them the server checks the client's right again at each
    /// heartbeat.
    headers: HeaderMap,
    organization_id: OrganizationId,
    event_id: EventId,
    viewer: Viewer,
    epoch: Epoch,
    /// The serial up to which uploads were read from the store and sent.
    told: u64,
    /// Serials of uploads that were sent lately, from a hint or from the store, so that none is sent twice.
    said: BTreeSet<u64>,
    /// The newest summary of uploads since the last occupancy snapshot, with their scans added up.
    moved: Option<Map<String, Value>>,
    open_streams: OpenStream,
}

impl Live {
    /// Whether this client receives uploads.
    fn hears_batches(&self) -> bool {
        self.viewer != Viewer::Person { scans: false }
    }
    fn batch_message(&mut self, serial: u64, mut data: Value, at: String) -> Option<Message> {
        let topic = format!("batch:{}", data.get("batch_id")?.as_str()?);
        if !self.said.insert(serial) {
            return None;
        }
        while self.said.len() > STREAM_REMEMBERED {
            self.said.pop_first();
        }
        data["topic"] = topic.into();
        data["timestamp"] = at.into();
        let id = Some(Cursor::at(self.epoch, self.told).to_string());
        Some(Message { event: "batch", id, data: data.to_string() })
    }

    /// Reads the uploads since the last read from the store. Hints do not matter for the result. A lost hint delays the
    /// result, and a hint with a wrong device shows nobody that device's batch.
    async fn batches(&mut self) -> AppResult<Reading> {
        let (event_id, after) = (self.event_id.clone(), self.told);
        let device_id = match &self.viewer {
            Viewer::Device(device_id) => Some(device_id.clone()),
            Viewer::Person { .. } => None,
        };
        let (head, rows) = read(&*self.state.app.store, &self.organization_id, move |tx| {
            let head = tx.head(&event_id)?;
            Ok((head, tx.batches_after(&event_id, device_id.as_ref(), after, STREAM_BATCHES)?))
        })
        .await?;
        let more = rows.len() == STREAM_BATCHES;
        self.epoch = head.epoch;
        let mut messages = Vec::with_capacity(rows.len());
        for row in &rows {
            self.told = row.serial;
            messages.extend(self.batch_message(row.serial, Ended::of(row).message(), row.synced_at.to_string()));
        }
        if !more {
            self.told = head.serial;
        }
        Ok(Reading { messages, more })
    }

    async fn snapshot(&mut self, part: Part) -> AppResult<Message> {
        let (organization_id, event_id) = (self.organization_id.clone(), self.event_id.clone());
        let now = self.state.app.clock.now().to_string();
        let moved = if part == Part::Occupancy { self.moved.take() } else { None };
        let (event, head, data) = read(&*self.state.app.store, &self.organization_id, move |tx| {
            let (event, data) = match part {
                Part::Incidents => ("incidents", incidents(tx, &event_id, now)?),
                Part::Devices => ("devices", devices(tx, &event_id, now)?),
                Part::Arrivals => ("arrivals", arrivals(tx, &event_id, now)?),
                Part::Occupancy | Part::Batches => {
                    let topic = format!("occupancy:{organization_id}:{event_id}");
                    ("occupancy", occupancy(tx, &event_id, topic, moved.unwrap_or_default(), now)?)
                }
            };
            Ok((event, tx.head(&event_id)?, data))
        })
        .await?;
        self.epoch = head.epoch;
        let place = if self.hears_batches() { self.told } else { head.serial };
        Ok(Message { event, id: Some(Cursor::at(head.epoch, place).to_string()), data: data.to_string() })
    }

    /// Adds an upload to the summary of all uploads since the last snapshot, in S2's form.
    fn add_up(&mut self, text: &str) {
        let mut newest: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
        let before = self.moved.as_ref().and_then(|moved| moved.get("scans_added")).and_then(Value::as_u64);
        let added = newest.get("scans_added").and_then(Value::as_u64).unwrap_or(0);
        newest.insert("scans_added".into(), (added + before.unwrap_or(0)).into());
        self.moved = Some(newest);
    }
}

impl Source for Live {
    type Part = Part;

    fn parts(&self) -> Vec<Part> {
        match self.viewer {
            Viewer::Device(_) => vec![Part::Batches],
            Viewer::Person { scans: false } => vec![Part::Occupancy],
            Viewer::Person { scans: true } => {
                vec![Part::Batches, Part::Occupancy, Part::Incidents, Part::Devices, Part::Arrivals]
            }
        }
    }

    fn take(&mut self, hint: &Hint) -> (Vec<Part>, Option<Message>) {
        let (parts, message) = match (&hint.topic, &self.viewer) {
            (Topic::Batch(text), Viewer::Device(own)) => {
                let others = device_of(text).is_some_and(|device_id| device_id != *own);
                (if others { Vec::new() } else { vec![Part::Batches] }, None)
            }
            // The upload is sent at once. The next read of the store sends what no hint brought.
            (Topic::Batch(text), Viewer::Person { scans: true }) => {
                let (data, at) = (serde_json::from_str(text).unwrap_or_default(), self.state.app.clock.now());
                (vec![Part::Batches], self.batch_message(hint.serial.unwrap_or(0), data, at.to_string()))
            }
            (Topic::Occupancy(text), Viewer::Person { .. }) => {
                self.add_up(text);
                (vec![Part::Occupancy, Part::Arrivals], None)
            }
            (Topic::Incidents, _) => (vec![Part::Incidents], None),
            (Topic::Devices, _) => (vec![Part::Devices], None),
            // New rules may change every part. A client that missed hints also gets this topic.
            (Topic::Rules, _) => (self.parts(), None),
            _ => (Vec::new(), None),
        };
        let seen = self.parts();
        (parts.into_iter().filter(|part| seen.contains(part)).collect(), message)
    }

    async fn read(&mut self, part: &Part) -> AppResult<Reading> {
        match part {
            Part::Batches => self.batches().await,
            part => Ok(Reading { messages: vec![self.snapshot(*part).await?], more: false }),
        }
    }

    async fn is_over(&mut self) -> bool {
        match who(&self.state, &self.headers, &self.event_id).await {
            Ok((_, viewer)) => viewer != self.viewer,
            // If the check itself fails, the stream goes on.
            Err(error) => error.status().is_client_error(),
        }
    }

    fn dropped(&mut self) {
        self.open_streams.0.streams_dropped.inc();
        tracing::warn!(event_id = %self.event_id, "a live stream's client does not keep up: closed");
    }
}

/// The device whose batch a hint is about.
fn device_of(text: &str) -> Option<DeviceId> {
    let value: Value = serde_json::from_str(text).ok()?;
    value.get("device_id")?.as_str()?.parse().ok()
}

/// S2's message: what an upload added, and the present totals. Without an upload, `event` is `snapshot`.
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
    let gate_ids = tx.gate_ids(event_id)?;
    let gates = gate_ids.iter().map(|gate_id| {
        let flow = counters.gates.get(gate_id).copied().unwrap_or_default();
        json!({ "gate_id": gate_id, "name": name(gate_id), "entered": flow.entered, "exited": flow.exited })
    });
    let gates: Vec<Value> = gates.collect();
    moved.entry("event").or_insert("snapshot".into());
    if let Some(gate) = moved.get("gate_id").and_then(Value::as_str).and_then(|text| text.parse().ok()) {
        moved.insert("gate_name".into(), name(&gate).into());
        // People leave by another gate than they came in by. So a gate that leads out would show a negative number.
        if book.gate(&gate, When::Newest).is_none_or(|gate| gate.direction != Direction::Out) {
            let flow = counters.gates.get(&gate).copied().unwrap_or_default();
            moved.insert("gate_occupancy".into(), (flow.entered - flow.exited).max(0).into());
        }
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
        "without_ticket": counters.without_ticket.total(),
        "tickets": counters.subjects,
        "gates": gates,
    });
    if let Value::Object(rest) = rest {
        moved.extend(rest);
    }
    Ok(Value::Object(moved))
}

fn incidents(tx: &mut dyn Tx, event_id: &EventId, now: String) -> AppResult<Value> {
    let mut open = tx.count_open_incidents(event_id)?;
    open.retain(|(kind, _)| kind.queued());
    let by_kind: BTreeMap<&str, u64> = open.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    Ok(
        json!({ "topic": "incidents", "timestamp": now, "open": by_kind.values().sum::<u64>(), "open_by_kind": by_kind }),
    )
}

fn arrivals(tx: &mut dyn Tx, event_id: &EventId, now: String) -> AppResult<Value> {
    let items = newest(tx, event_id, super::arrivals::DEFAULT)?.into_iter().map(ArrivalView::from);
    Ok(json!({ "topic": "arrivals", "timestamp": now, "items": items.collect::<Vec<_>>() }))
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
    fn a_hint_says_whose_batch_it_is_about() {
        assert_eq!(device_of(r#"{"batch_id":"b-1","device_id":"d"}"#).unwrap().as_str(), "d");
        assert_eq!(device_of(r#"{"batch_id":"b-1"}"#), None);
        assert_eq!(device_of("?"), None);
    }
}
