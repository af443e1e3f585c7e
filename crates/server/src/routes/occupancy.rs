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

/// Persons inside, and how many are expected.
#[derive(Serialize, ToSchema)]
struct OccupancyView {
    event_id: String,
    /// Persons inside now, within their tickets' limits.
    inside: i64,
    /// Persons inside now beyond their tickets' limits.
    inside_over: i64,
    /// People without a ticket inside now, as staff counted them at the gates. No other figure holds them but `present`.
    without_ticket: WithoutTicketView,
    /// Persons inside now by scans and headcounts: `inside`, `inside_over` and all of `without_ticket`.
    present: i64,
    /// Recounts that hold, the newest first.
    recounts: Vec<RecountView>,
    /// Persons let in within their tickets' limits, ever.
    entered: i64,
    /// Persons let out, ever.
    exited: i64,
    /// Persons let in beyond their tickets' limits, ever.
    over: i64,
    /// Tickets with at least one person let in.
    tickets_entered: i64,
    /// Number of tickets.
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

/// People without a ticket: those who came in less those who went out.
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
    /// The gates that lead to the area.
    gate_ids: Vec<String>,
    /// Where staff counted.
    gate_id: String,
    device_id: String,
    scan_id: String,
    at: Timestamp,
    /// Persons inside then, as staff counted them.
    inside: u32,
    /// Persons inside then by scans and headcounts.
    counted: i64,
    /// Persons inside now: `inside`, plus those who went in since, less those who went out.
    now: i64,
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
    /// People without a ticket: those who came in less those who went out.
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

/// Counters of an event and its gates, from one snapshot.
#[utoipa::path(get, path = "/api/events/{id}/occupancy", tag = "live",
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["read_events"]))), responses(
    (status = 200, description = "Now", body = OccupancyView),
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
