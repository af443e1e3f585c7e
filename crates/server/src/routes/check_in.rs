//! `/api/guests/{id}/check-in`: a guest is checked in from the office, without a phone.

use admit_app::guests::{self, CheckIn};
use admit_core::decide::Reason;
use admit_core::ids::{GateId, GuestId, ScanId};
use admit_core::time::Timestamp;
use admit_core::wire::check_in::CheckInAnswer;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::user::User;
use crate::body::{JsonBody, Path};
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(check_in)).routes(routes!(undo))
}

/// A check-in that a member does in the office, without a device.
#[derive(Deserialize, ToSchema)]
struct CheckInRequest {
    /// A new UUID for each check-in. A repeat with the same id gets the same answer and counts once.
    scan_id: ScanId,
    /// The gate at which the check-in counts. It must let guests in.
    gate_id: GateId,
    /// Number of persons, 1 to 10,000.
    count: u32,
    /// The reason for letting the guest in although the rules refuse them, at most 2,000 characters. If absent, the
    /// check-in of a refused guest lets nobody in.
    override_reason: Option<String>,
}

/// The result of a check-in.
#[derive(Serialize, ToSchema)]
struct CheckInView {
    /// The id of the stored scan. It undoes the check-in.
    scan_id: String,
    /// The outcome that the rules give.
    outcome: &'static str,
    /// Why the outcome is not `valid`, such as `already_scanned` or `wrong_gate`. Null if it is `valid`.
    reason: Option<&'static str>,
    /// Whether the guest was let in.
    opened: bool,
    /// Number of persons whom this check-in let in. 0 if it was refused.
    persons: u32,
    /// When the ticket last let somebody in before this check-in. Null if it never did.
    last_at: Option<Timestamp>,
    /// The name of the gate at which the ticket last let somebody in before this check-in. Null if it never did.
    last_gate: Option<String>,
}

impl From<CheckInAnswer> for CheckInView {
    fn from(one: CheckInAnswer) -> Self {
        let CheckInAnswer { scan_id, outcome, reason, opened, persons, last_at, last_gate } = one;
        let (outcome, reason) = (outcome.as_str(), reason.map(Reason::as_str));
        Self { scan_id: scan_id.to_string(), outcome, reason, opened, persons, last_at, last_gate }
    }
}

/// The check-in to undo.
#[derive(Deserialize, ToSchema)]
struct UndoCheckInRequest {
    /// The `scan_id` of a check-in that was made in the office.
    scan_id: ScanId,
}

/// The result of undoing a check-in.
#[derive(Serialize, ToSchema)]
struct UndoneCheckInView {
    /// Number of persons who no longer count as let in.
    persons: u32,
}

/// Checks a guest in by a scan of their ticket.
///
/// The server judges the scan like one at a door. A refusal is also a normal answer: nobody is let in, and the scan is
/// stored. To let the guest in nevertheless, repeat the request with a new `scan_id` and an `override_reason`.
#[utoipa::path(post, path = "/api/guests/{id}/check-in", tag = "organisers", request_body = CheckInRequest,
    params(("id" = String, Path, description = "Guest")), extensions(("x-actions" = json!(["manage_guests"]))), responses(
    (status = 200, description = "Judged and stored", body = CheckInView),
    (status = 400, description = "A field is wrong. `count` is also wrong if fewer persons may still come in"),
    (status = 404, description = "No such guest"),
    (status = 409, description = "`no_ticket`; `scan_id_reused`: another check-in has this id"),
    (status = 422, description = "`event_not_live`: the event is a draft"),
))]
async fn check_in(
    State(state): State<AppState>,
    User(caller): User,
    Path(guest_id): Path<GuestId>,
    JsonBody(request): JsonBody<CheckInRequest>,
) -> Result<Json<CheckInView>> {
    let CheckInRequest { scan_id, gate_id, count, override_reason } = request;
    let wish = CheckIn { scan_id, gate_id, count, override_reason };
    Ok(Json(guests::check_in(&state.app, &caller, guest_id, wish).await?.into()))
}

/// Undoes a check-in that was made in the office.
///
/// A repeat has no effect. A phone's scan can only be undone on the phone.
#[utoipa::path(post, path = "/api/guests/{id}/check-in/undo", tag = "organisers", request_body = UndoCheckInRequest,
    params(("id" = String, Path, description = "Guest")), extensions(("x-actions" = json!(["manage_guests"]))), responses(
    (status = 200, description = "Undone", body = UndoneCheckInView),
    (status = 404, description = "No such guest, or no such check-in from the office"),
    (status = 409, description = "`no_ticket`"),
))]
async fn undo(
    State(state): State<AppState>,
    User(caller): User,
    Path(guest_id): Path<GuestId>,
    JsonBody(request): JsonBody<UndoCheckInRequest>,
) -> Result<Json<UndoneCheckInView>> {
    let persons = guests::undo_check_in(&state.app, &caller, guest_id, request.scan_id).await?;
    Ok(Json(UndoneCheckInView { persons }))
}
