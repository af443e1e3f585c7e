//! `/api/events/{id}/occupancy`: the number of persons inside.

use std::collections::BTreeMap;

use admit_app::occupancy::{self, AreaRecount};
use admit_core::ids::EventId;
use admit_core::occupancy::WithoutTicket;
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::user::User;
use crate::body::Path;
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(show))
}

/// Numbers of persons inside and expected, for an event.
#[derive(Serialize, ToSchema)]
struct OccupancyView {
    event_id: String,
    /// Number of persons inside now within their tickets' limits.
    inside: i64,
    /// Number of persons inside now beyond their tickets' limits.
    inside_over: i64,
    /// People without a ticket who are inside now, as staff counted them at the gates. Of the other figures only
    /// `present` includes them.
    without_ticket: WithoutTicketView,
    /// Number of persons inside now by scans and headcounts: `inside`, `inside_over` and all of `without_ticket`
    /// together.
    present: i64,
    /// The recounts in force, newest first.
    recounts: Vec<RecountView>,
    /// Number of persons let in within their tickets' limits so far.
    entered: i64,
    /// Number of persons let out so far.
    exited: i64,
    /// Number of persons let in beyond their tickets' limits so far.
    over: i64,
    /// Number of tickets with at least one person let in.
    tickets_entered: i64,
    /// Number of tickets.
    tickets: u64,
    /// Number of persons whom the tickets admit.
    expected: u64,
    /// Number of persons who may be inside at once. Null if the event has no such number.
    capacity: Option<u32>,
    gates: Vec<GateOccupancy>,
    /// Number of open incidents of all kinds.
    open_incidents: u64,
    /// Number of open incidents by kind.
    open_by_kind: BTreeMap<&'static str, u64>,
    /// The serial of the event's last change.
    serial: u64,
}

/// Numbers of people without a ticket: those who came in minus those who went out.
#[derive(Serialize, ToSchema)]
struct WithoutTicketView {
    staff: i64,
    crew: i64,
    child: i64,
    other: i64,
}

/// A recount: staff counted everybody in an area.
#[derive(Serialize, ToSchema)]
struct RecountView {
    /// The ids of the gates that lead to the area.
    gate_ids: Vec<String>,
    /// The gate at which staff counted.
    gate_id: String,
    device_id: String,
    scan_id: String,
    /// When staff counted.
    at: Timestamp,
    /// Number of persons inside at that time, as staff counted them.
    inside: u32,
    /// Number of persons inside at that time by scans and headcounts alone.
    counted: i64,
    /// Number of persons inside now: `inside`, plus those who came in after the recount, minus those who went out after
    /// it.
    now: i64,
}

/// Numbers of persons who passed one gate.
#[derive(Serialize, ToSchema)]
struct GateOccupancy {
    gate_id: String,
    name: String,
    /// `in`, `out` or `both`.
    direction: &'static str,
    /// Number of persons for whom the area behind the gate has room. Null if not set.
    capacity: Option<u32>,
    /// Number of persons let in here so far.
    entered: i64,
    /// Number of persons let out here so far.
    exited: i64,
    /// Number of people without a ticket: those who came in by this gate minus those who went out by it.
    without_ticket: i64,
}

impl From<AreaRecount> for RecountView {
    fn from(area: AreaRecount) -> Self {
        Self {
            gate_ids: area.gate_ids.iter().map(ToString::to_string).collect(),
            gate_id: area.recount.gate_id.to_string(),
            device_id: area.recount.device_id.to_string(),
            scan_id: area.recount.scan_id.to_string(),
            at: area.recount.at,
            inside: area.recount.inside,
            counted: area.counted,
            now: area.now,
        }
    }
}

/// Counters of an event and its gates, all of the same moment.
#[utoipa::path(get, path = "/api/events/{id}/occupancy", tag = "live",
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["read_events"]))), responses(
    (status = 200, description = "The counters now", body = OccupancyView),
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
        without_ticket: flow.without_ticket,
    });
    let people = inside.occupancy.without_ticket;
    let WithoutTicket { staff, crew, child, other } = people;
    let queued = inside.open_incidents.into_iter().filter(|(kind, _)| kind.queued());
    let open_by_kind: BTreeMap<&'static str, u64> = queued.map(|(kind, count)| (kind.as_str(), count)).collect();
    Ok(Json(OccupancyView {
        event_id: inside.event.event_id.to_string(),
        inside: inside.occupancy.inside,
        inside_over: inside.occupancy.inside_over,
        without_ticket: WithoutTicketView { staff, crew, child, other },
        present: inside.occupancy.inside + inside.occupancy.inside_over + people.total(),
        recounts: inside.recounts.into_iter().map(RecountView::from).collect(),
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
