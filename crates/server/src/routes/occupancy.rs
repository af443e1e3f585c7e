//! `/api/events/{id}/occupancy`: who is inside now.

use std::collections::BTreeMap;

use admit_app::occupancy;
use admit_core::ids::EventId;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::user::User;
use crate::body::Path;
use crate::error::Result;
use crate::openapi::ProblemDoc;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(show))
}

/// Who is inside, and of how many.
#[derive(Serialize, ToSchema)]
struct OccupancyView {
    event_id: String,
    /// Persons inside now, within their tickets' limits.
    inside: i64,
    /// Persons inside now beyond their tickets' limits.
    inside_over: i64,
    /// Persons let in within their tickets' limits, ever.
    entered: i64,
    /// Persons let out, ever.
    exited: i64,
    /// Persons let in beyond their tickets' limits, ever.
    over: i64,
    /// Tickets with at least one person let in.
    tickets_entered: i64,
    /// Tickets.
    tickets: u64,
    /// Persons the tickets admit.
    expected: u64,
    /// Persons expected at once, where the event says so.
    capacity: Option<u32>,
    gates: Vec<GateOccupancy>,
    /// Open incidents, all kinds together.
    open_incidents: u64,
    open_by_kind: BTreeMap<&'static str, u64>,
    /// Serial of the event's last change.
    serial: u64,
}

/// Persons through one gate.
#[derive(Serialize, ToSchema)]
struct GateOccupancy {
    gate_id: String,
    name: String,
    /// `in`, `out` or `both`.
    direction: &'static str,
    /// Persons its area holds.
    capacity: Option<u32>,
    entered: i64,
    exited: i64,
}

/// Counters of an event and its gates, from one snapshot.
#[utoipa::path(get, path = "/api/events/{id}/occupancy", tag = "live",
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["read_events"]))), security(("session" = []), ("api_token" = [])), responses(
    (status = 200, description = "Now", body = OccupancyView),
    (status = 404, description = "No such event", body = ProblemDoc, content_type = "application/problem+json"),
))]
async fn show(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
) -> Result<Json<OccupancyView>> {
    let inside = occupancy::show(&state.app, &caller, event_id).await?;
    let gates = inside.gates.into_iter().map(|(gate, flow)| GateOccupancy {
        gate_id: gate.gate_id.to_string(),
        name: gate.rules.name,
        direction: gate.rules.direction.as_str(),
        capacity: gate.rules.capacity,
        entered: flow.entered,
        exited: flow.exited,
    });
    let queued = inside.open_incidents.into_iter().filter(|(kind, _)| kind.queued());
    let open_by_kind: BTreeMap<&'static str, u64> = queued.map(|(kind, count)| (kind.as_str(), count)).collect();
    Ok(Json(OccupancyView {
        event_id: inside.event.event_id.to_string(),
        inside: inside.occupancy.inside,
        inside_over: inside.occupancy.inside_over,
        entered: inside.occupancy.entered,
        exited: inside.occupancy.exited,
        over: inside.occupancy.over,
        tickets_entered: inside.occupancy.subjects,
        tickets: inside.tickets,
        expected: inside.expected_persons,
        capacity: inside.event.capacity,
        gates: gates.collect(),
        open_incidents: open_by_kind.values().sum(),
        open_by_kind,
        serial: inside.serial,
    }))
}
