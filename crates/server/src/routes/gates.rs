//! Routes of gates: `/api/events/{id}/gates`.

use admit_app::gates::{self, Gate, GatePatch, NewGate};
use admit_core::gate::{Direction, EntryRule};
use admit_core::ids::{EventId, GateId};
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::{List, present};
use crate::auth::user::User;
use crate::body::{JsonBody, Path};
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(update, remove))
}

/// A gate.
#[derive(Serialize, ToSchema)]
struct GateView {
    /// The gate's id: lower-case letters and digits with dashes between them.
    id: String,
    name: String,
    /// The zones whose tickets the gate admits.
    zones: Vec<String>,
    /// The direction in which people go: `in`, `out` or `both`.
    direction: Direction,
    /// Number of persons for whom the area behind the gate has room. This is advice for staff, who may let in more.
    /// Null if not set.
    capacity: Option<u32>,
    /// Whether devices at this gate may store guests' names.
    names_on_devices: bool,
    /// Whether staff at this gate may add guests who have no ticket.
    walk_ins: bool,
    /// The checks at this gate: `check_ticket_valid` and `check_not_duplicate`.
    entry_rules: Vec<EntryRule>,
}

impl From<Gate> for GateView {
    fn from(one: Gate) -> Self {
        Self {
            id: one.gate_id.to_string(),
            name: one.rules.name,
            zones: one.rules.zones,
            direction: one.rules.direction,
            capacity: one.rules.capacity,
            names_on_devices: one.rules.names_on_devices,
            walk_ins: one.rules.walk_ins,
            entry_rules: one.rules.entry_rules,
        }
    }
}

/// The values of a new gate.
#[derive(Deserialize, ToSchema)]
struct GateRequest {
    /// The gate's id: lower-case letters and digits with dashes between them. The name `gate_id` is accepted too.
    #[serde(alias = "gate_id")]
    id: GateId,
    /// The gate's name. If absent, its id.
    name: Option<String>,
    /// The zones whose tickets the gate admits. If absent, the zones of the event's entry types.
    zones: Option<Vec<String>>,
    /// The direction in which people go: `in`, `out` or `both`. `in` if absent.
    direction: Option<Direction>,
    /// Number of persons for whom the area behind the gate has room. No number if absent.
    capacity: Option<u32>,
    /// Whether devices at this gate may store guests' names. True if absent.
    names_on_devices: Option<bool>,
    /// Whether staff at this gate may add guests who have no ticket. False if absent.
    walk_ins: Option<bool>,
    /// The checks at this gate: `check_ticket_valid` and `check_not_duplicate`. Both if absent. They cannot be changed
    /// later.
    entry_rules: Option<Vec<EntryRule>>,
}

/// The fields to change. Absent fields keep their values.
#[derive(Deserialize, ToSchema)]
struct GatePatchRequest {
    name: Option<String>,
    zones: Option<Vec<String>>,
    direction: Option<Direction>,
    /// Number of persons for whom the area behind the gate has room. Null for no number.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    capacity: Option<Option<u32>>,
    names_on_devices: Option<bool>,
    /// Whether staff at this gate may add guests who have no ticket.
    walk_ins: Option<bool>,
}

/// Gates of an event, in the order of their ids.
#[utoipa::path(get, path = "/api/events/{id}/gates", tag = "organisers", params(("id" = String, Path, description = "Event")),
    extensions(("x-actions" = json!(["read_events"]))), responses(
    (status = 200, description = "All gates", body = List<GateView>),
))]
async fn list(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
) -> Result<Json<List<GateView>>> {
    let gates = gates::list(&state.app, &caller, event_id).await?;
    Ok(Json(List::whole(gates.into_iter().map(GateView::from).collect())))
}

/// Makes a gate.
#[utoipa::path(post, path = "/api/events/{id}/gates", tag = "organisers", request_body = GateRequest,
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["manage_events"]))), responses(
    (status = 201, description = "Made", body = GateView),
    (status = 409, description = "`gate_exists`: the event has a gate with this id"),
))]
async fn create(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    JsonBody(request): JsonBody<GateRequest>,
) -> Result<(StatusCode, Json<GateView>)> {
    let new = NewGate {
        gate_id: request.id,
        name: request.name,
        zones: request.zones,
        direction: request.direction,
        capacity: request.capacity,
        names_on_devices: request.names_on_devices,
        walk_ins: request.walk_ins,
        entry_rules: request.entry_rules,
    };
    let made = gates::create(&state.app, &caller, event_id, new).await?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

/// Changes a gate. The change holds from now on.
#[utoipa::path(patch, path = "/api/events/{id}/gates/{gate_id}", tag = "organisers", request_body = GatePatchRequest,
    params(("id" = String, Path, description = "Event"), ("gate_id" = String, Path, description = "Gate")),
    extensions(("x-actions" = json!(["manage_events"]))), responses(
    (status = 200, description = "Changed", body = GateView),
    (status = 404, description = "No such gate"),
))]
async fn update(
    State(state): State<AppState>,
    User(caller): User,
    Path((event_id, gate_id)): Path<(EventId, GateId)>,
    JsonBody(request): JsonBody<GatePatchRequest>,
) -> Result<Json<GateView>> {
    let patch = GatePatch {
        name: request.name,
        zones: request.zones,
        direction: request.direction,
        capacity: request.capacity,
        names_on_devices: request.names_on_devices,
        walk_ins: request.walk_ins,
    };
    Ok(Json(gates::update(&state.app, &caller, event_id, gate_id, patch).await?.into()))
}

/// Deletes a gate that nothing uses.
#[utoipa::path(delete, path = "/api/events/{id}/gates/{gate_id}", tag = "organisers",
    params(("id" = String, Path, description = "Event"), ("gate_id" = String, Path, description = "Gate")),
    extensions(("x-actions" = json!(["manage_events"]))), responses(
    (status = 204, description = "Deleted"),
    (status = 404, description = "No such gate"),
    (status = 409, description = "`gate_in_use`: devices are paired to it, tickets are limited to it, or people were scanned at it"),
))]
async fn remove(
    State(state): State<AppState>,
    User(caller): User,
    Path((event_id, gate_id)): Path<(EventId, GateId)>,
) -> Result<StatusCode> {
    gates::remove(&state.app, &caller, event_id, gate_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
