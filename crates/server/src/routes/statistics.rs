//! `/api/events/{id}/statistics`: persons per gate and minute in the last hour. `…/quarters`: persons per gate and
//! quarter hour of the whole event.

use admit_app::occupancy;
use admit_app::records::MinuteFlow;
use admit_core::ids::EventId;
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
    OpenApiRouter::new().routes(routes!(show)).routes(routes!(quarters))
}

/// The persons who passed the gates in the last hour.
#[derive(Serialize, ToSchema)]
struct StatisticsView {
    /// The start of the first minute. There are sixty minutes; the last one is still running.
    from: Timestamp,
    /// One item per gate and minute, by gate and then by time. Minutes without persons are included.
    minutes: Vec<MinuteView>,
}

/// One minute at one gate.
#[derive(Serialize, ToSchema)]
struct MinuteView {
    /// The start of the minute.
    at: Timestamp,
    gate_id: String,
    /// Number of persons let in.
    entered: i64,
    /// Number of persons let out.
    exited: i64,
    /// Number of scans at which the door stayed shut.
    refused: i64,
}

/// The persons who passed an event's gates, by quarter hours.
#[derive(Serialize, ToSchema)]
struct QuartersView {
    /// One item per gate and quarter hour with at least one scan, oldest first.
    quarters: Vec<QuarterView>,
}

/// One quarter hour at one gate.
#[derive(Serialize, ToSchema)]
struct QuarterView {
    /// The start of the quarter hour.
    at: Timestamp,
    gate_id: String,
    /// Number of persons let in.
    entered: i64,
    /// Number of persons let out.
    exited: i64,
    /// Number of scans at which the door stayed shut.
    refused: i64,
}

impl From<MinuteFlow> for QuarterView {
    fn from(one: MinuteFlow) -> Self {
        let gate_id = one.gate_id.to_string();
        Self { at: one.at, gate_id, entered: one.entered, exited: one.exited, refused: one.refused }
    }
}

/// Persons per minute and gate in the last hour, by the scans' own times.
#[utoipa::path(get, path = "/api/events/{id}/statistics", tag = "live",
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["read_events"]))), responses(
    (status = 200, description = "The last hour", body = StatisticsView),
))]
async fn show(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
) -> Result<Json<StatisticsView>> {
    let flow = occupancy::flow(&state.app, &caller, event_id).await?;
    let minutes = flow.gates.into_iter().flat_map(|(_, minutes)| minutes).map(|one| MinuteView {
        at: one.at,
        gate_id: one.gate_id.to_string(),
        entered: one.entered,
        exited: one.exited,
        refused: one.refused,
    });
    Ok(Json(StatisticsView { from: flow.from, minutes: minutes.collect() }))
}

/// Persons per quarter hour and gate, by the scans' own times. The first quarter hour is twelve hours before the
/// event's start.
#[utoipa::path(get, path = "/api/events/{id}/statistics/quarters", tag = "live",
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["read_events"]))), responses(
    (status = 200, description = "The whole event, 32 days at most", body = QuartersView),
))]
async fn quarters(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
) -> Result<Json<QuartersView>> {
    let found = occupancy::quarters(&state.app, &caller, event_id).await?;
    Ok(Json(QuartersView { quarters: found.into_iter().map(QuarterView::from).collect() }))
}
