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

/// A check-in from the office.
#[derive(Deserialize, ToSchema)]
struct CheckInRequest {
    /// A new UUID for each check-in. The same again is answered again and counts once.
    scan_id: ScanId,
    /// The gate that it counts for: one that lets guests in.
    gate_id: GateId,
    /// Persons, 1 to 10,000.
    count: u32,
    /// Lets the guest in although the rules refuse them, and says why. At most 2,000 characters.
    override_reason: Option<String>,
}

/// The result of a check-in.
#[derive(Serialize, ToSchema)]
struct CheckInView {
    /// The scan that was stored; its id undoes the check-in.
    scan_id: String,
    /// The outcome by the rules.
    outcome: &'static str,
    /// The reason; absent where the outcome is `valid`: `already_scanned`, `wrong_gate`, …
    reason: Option<&'static str>,
    /// Whether the guest was let in.
    opened: bool,
    /// Persons let in by it; 0 where it was refused.
    persons: u32,
    /// When the ticket let somebody in before.
    last_at: Option<Timestamp>,
    /// Name of the gate of that entry.
    last_gate: Option<String>,
}

impl From<CheckInAnswer> for CheckInView {
    fn from(one: CheckInAnswer) -> Self {
        let CheckInAnswer { scan_id, outcome, reason, opened, persons, last_at, last_gate } = one;
        let (outcome, reason) = (outcome.as_str(), reason.map(Reason::as_str));
        Self { scan_id: scan_id.to_string(), outcome, reason, opened, persons, last_at, last_gate }
    }
}

/// Which check-in is undone.
#[derive(Deserialize, ToSchema)]
struct UndoCheckInRequest {
    /// The `scan_id` of a check-in from the office.
    scan_id: ScanId,
}

/// The result of undoing a check-in.
#[derive(Serialize, ToSchema)]
struct UndoneCheckInView {
    /// Persons who do not count any more.
    persons: u32,
}

/// Checks a guest in by a scan of their ticket, judged like one at a door. A refusal is an answer too: nobody is let in, and
/// it is on record. Asked again with a new `scan_id` and an `override_reason`, the guest is let in.
#[utoipa::path(post, path = "/api/guests/{id}/check-in", tag = "organisers", request_body = CheckInRequest,
    params(("id" = String, Path, description = "Guest")), extensions(("x-actions" = json!(["manage_guests"]))), responses(
    (status = 200, description = "Judged and stored", body = CheckInView),
    (status = 400, description = "A field is wrong; `count` also where fewer persons may still come in"),
    (status = 404, description = "No such guest"),
    (status = 409, description = "`no_ticket`; `scan_id_reused`: the id stands for another check-in"),
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

/// Undoes a check-in from the office. The same again changes nothing. A phone's scan is undone on the phone.
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
