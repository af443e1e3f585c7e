//! `/api/guests/{id}/data` and `/api/guests/{id}/erase`: what a guest may ask for.

use admit_app::guests::{self, GuestCopy};
use admit_core::ids::GuestId;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::CONTENT_DISPOSITION;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::guests::{GuestView, MomentView, StandingGuestView};
use super::runs::RunView;
use super::tickets::{CodeView, TicketView};
use crate::auth::user::User;
use crate::body::Path;
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(copy)).routes(routes!(erase))
}

/// All stored data of one guest.
#[derive(Serialize, ToSchema)]
struct GuestDataView {
    guest: StandingGuestView,
    /// The guest's ticket. Null if they have none.
    ticket: Option<TicketView>,
    /// The code of the guest's ticket. Null if they have no ticket.
    code: Option<CodeView>,
    /// The guest's history, newest first.
    story: Vec<MomentView>,
    /// The runs that mail the guest's pass, newest first.
    mails: Vec<RunView>,
}

impl From<GuestCopy> for GuestDataView {
    fn from(one: GuestCopy) -> Self {
        let listing = one.shown.listing;
        let code = one.shown.ticket.as_ref().map(CodeView::from);
        let view = |ticket| TicketView::of((ticket, Some(listing.guest.clone()), listing.state.clone()), true);
        let ticket = one.shown.ticket.map(view);
        Self {
            ticket,
            code,
            guest: listing.into(),
            story: one.moments.into_iter().map(MomentView::from).collect(),
            mails: one.runs.into_iter().map(RunView::from).collect(),
        }
    }
}

/// All stored data of a guest, as a file for them. The audit ledger records this as `guest_data_copied`.
#[utoipa::path(get, path = "/api/guests/{id}/data", tag = "organisers",
    params(("id" = String, Path, description = "Guest")), extensions(("x-actions" = json!(["manage_guests"]))), responses(
    (status = 200, description = "The guest's data", body = GuestDataView),
    (status = 404, description = "No such guest"),
))]
async fn copy(State(state): State<AppState>, User(caller): User, Path(guest_id): Path<GuestId>) -> Result<Response> {
    let data: GuestDataView = guests::copy(&state.app, &caller, guest_id).await?.into();
    let mut response = Json(data).into_response();
    response.headers_mut().insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"guest.json\""));
    Ok(response)
}

/// Erases a guest's personal data: name, addresses, notes, fields and everything that identifies them.
///
/// Persons who were counted stay counted, and the guest's ticket stays as it is. This cannot be undone.
#[utoipa::path(post, path = "/api/guests/{id}/erase", tag = "organisers",
    params(("id" = String, Path, description = "Guest")), extensions(("x-actions" = json!(["manage_guests"]))), responses(
    (status = 200, description = "Erased", body = GuestView),
    (status = 404, description = "No such guest"),
))]
async fn erase(
    State(state): State<AppState>,
    User(caller): User,
    Path(guest_id): Path<GuestId>,
) -> Result<Json<GuestView>> {
    Ok(Json(guests::erase(&state.app, &caller, guest_id).await?.into()))
}
