//! `/api/events/{id}/arrivals`: who came through a door last.

use admit_app::arrivals::{self, Arrival};
use admit_core::ids::EventId;
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::List;
use crate::auth::user::User;
use crate::body::{Path, Query};
use crate::error::{ApiError, Result};
use crate::state::AppState;

/// The number of arrivals in a list if the request names no limit.
pub(super) const DEFAULT: usize = 20;
/// Most arrivals of a list.
const MOST: usize = 100;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// An entry, an exit or a refusal at a gate.
#[derive(Serialize, ToSchema)]
pub(super) struct ArrivalView {
    /// The scan's time, corrected for the error of the device's clock.
    at: Timestamp,
    gate_id: String,
    /// The gate's name.
    gate: String,
    /// The guest who holds the ticket. Null if no guest holds it or the code is unknown.
    guest_id: Option<String>,
    /// The guest's name. Null without a guest.
    name: Option<String>,
    /// The name of the ticket's entry type. Null for an unknown code.
    entry_type: Option<String>,
    /// Number of persons let in or out. For a refusal, the number of persons asked for.
    persons: u32,
    /// `entry`, `exit` or `refused`.
    kind: &'static str,
    /// Why the server's rules refuse the scan, as a stable word, even if the device opened the door. Null if they let
    /// the persons in.
    reason: Option<&'static str>,
    /// The device's name.
    device: String,
}

impl From<Arrival> for ArrivalView {
    fn from(one: Arrival) -> Self {
        let (guest_id, name) = one.guest.unzip();
        Self {
            at: one.at,
            gate_id: one.gate_id.to_string(),
            gate: one.gate,
            guest_id: guest_id.map(|id| id.to_string()),
            name,
            entry_type: one.entry_type,
            persons: one.persons,
            kind: one.kind.as_str(),
            reason: one.reason,
            device: one.device,
        }
    }
}

#[derive(Default, Deserialize)]
struct ArrivalQuery {
    limit: Option<usize>,
}

/// The newest entries, exits and refusals, newest first by their own times.
#[utoipa::path(get, path = "/api/events/{id}/arrivals", tag = "live", params(
        ("id" = String, Path, description = "Event"),
        ("limit" = Option<usize>, Query, description = "1–100, 20 by default", minimum = 1, maximum = 100),
    ), extensions(("x-actions" = json!(["read_scans"]))), responses(
    (status = 200, description = "The newest arrivals", body = List<ArrivalView>),
))]
async fn list(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    Query(query): Query<ArrivalQuery>,
) -> Result<Json<List<ArrivalView>>> {
    let limit = query.limit.unwrap_or(DEFAULT);
    if !(1..=MOST).contains(&limit) {
        return Err(ApiError::field("limit", format!("must be 1 to {MOST}, not {limit}")));
    }
    let arrivals = arrivals::list(&state.app, &caller, event_id, limit).await?;
    Ok(Json(List::whole(arrivals.into_iter().map(ArrivalView::from).collect())))
}
