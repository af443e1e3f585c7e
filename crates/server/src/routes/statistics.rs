//! `/api/events/{id}/statistics`: persons a minute per gate, for the last hour; `…/quarters`: a quarter hour, for the event.

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

/// The last hour.
#[derive(Serialize, ToSchema)]
struct StatisticsView {
    /// The first minute's start; there are sixty, the last is the running one.
    from: Timestamp,
    /// One item a gate and minute, by gate, then by time; zeros included.
    minutes: Vec<MinuteView>,
}

/// A minute at a gate.
#[derive(Serialize, ToSchema)]
struct MinuteView {
    /// The minute's start.
    at: Timestamp,
    gate_id: String,
    /// Persons let in.
    entered: i64,
    /// Persons let out.
    exited: i64,
    /// Scans whose door stayed shut.
    refused: i64,
}

/// An event by quarter hours.
#[derive(Serialize, ToSchema)]
struct QuartersView {
    /// One item a gate and quarter hour in which anything happened there, oldest first.
    quarters: Vec<QuarterView>,
}

/// A quarter hour at a gate.
#[derive(Serialize, ToSchema)]
struct QuarterView {
    /// Its start.
    at: Timestamp,
    gate_id: String,
    /// Persons let in.
    entered: i64,
    /// Persons let out.
    exited: i64,
    /// Scans whose door stayed shut.
    refused: i64,
}

impl From<MinuteFlow> for QuarterView {
    fn from(one: MinuteFlow) -> Self {
        let gate_id = one.gate_id.to_string();
        Self { at: one.at, gate_id, entered: one.entered, exited: one.exited, refused: one.refused }
    }
}

/// Persons a minute per gate, by the scans' own times.
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

/// Persons a quarter hour per gate, by the scans' own times, from twelve hours before the event's start on.
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
