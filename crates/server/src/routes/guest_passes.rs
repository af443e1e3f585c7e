//! `/api/events/{id}/guests/resend`: sends the passes of many guests again.

use admit_app::guests::{self, GuestState, Resent, Wanted, Whom};
use admit_app::ports::{GuestSort, PassMail};
use admit_core::ids::{EntryTypeId, EventId, GuestId, GuestListId};
use admit_core::limits::NAME_CHARS;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::guests::one_of;
use super::shape::sought_in;
use crate::auth::user::User;
use crate::body::{JsonBody, Path};
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(resend_many))
}

/// The guests whose passes are sent again: either `guest_ids` or `filter`.
#[derive(Deserialize, ToSchema)]
struct ResendManyRequest {
    /// These guests, 1 to 500.
    #[schema(min_items = 1, max_items = 500)]
    guest_ids: Option<Vec<GuestId>>,
    /// All guests of the event that match.
    filter: Option<GuestFilterRequest>,
    /// Whether to count only, and send nothing.
    #[serde(default)]
    dry_run: bool,
}

/// A filter of guests, as in the list of guests. An absent member filters nothing.
#[derive(Deserialize, ToSchema)]
struct GuestFilterRequest {
    /// Beginnings of words of the name, in any order; or the start of an e-mail, external id or order number; or a
    /// whole ticket code.
    #[schema(max_length = 200)]
    q: Option<String>,
    /// Only guests on this list.
    guest_list_id: Option<GuestListId>,
    /// Only guests of this entry type.
    entry_type_id: Option<EntryTypeId>,
    /// Only guests in this state.
    state: Option<String>,
    /// Only guests whose newest pass is in this state.
    mail: Option<String>,
}

impl GuestFilterRequest {
    fn wanted(self) -> Result<Wanted> {
        Ok(Wanted {
            text: sought_in("filter.q", self.q, NAME_CHARS)?,
            guest_list_id: self.guest_list_id,
            entry_type_id: self.entry_type_id,
            state: one_of("filter.state", self.state, GuestState::parse, "inside, to_come, came, no_show, voided")?,
            mail: one_of("filter.mail", self.mail, PassMail::parse, "refused, waiting, sent")?,
            sort: GuestSort::Added,
        })
    }
}

/// The result, in numbers of guests. Their sum is the number of guests that the request means.
#[derive(Serialize, ToSchema)]
struct ResentView {
    /// Guests whose pass is mailed.
    mailed: usize,
    /// Guests without an e-mail address.
    no_email: usize,
    /// Guests whose code was not made here, or who have no ticket.
    code_of_another: usize,
    /// Guests whose ticket is not active.
    ticket_not_active: usize,
    /// Guests whose pass was sent again less than a minute ago.
    just_sent: usize,
    /// Ids of no guest of this event.
    not_found: usize,
}

impl From<Resent> for ResentView {
    fn from(one: Resent) -> Self {
        let Resent { mailed, no_email, code_of_another, ticket_not_active, just_sent, not_found } = one;
        Self { mailed, no_email, code_of_another, ticket_not_active, just_sent, not_found }
    }
}

/// Sends the passes of many guests again.
///
/// A pass that is on its way already is tried at once. Guests to whom nothing can be mailed are counted by reason, and
/// don't stop the others. A promoter may do this for guests of their own lists.
#[utoipa::path(post, path = "/api/events/{id}/guests/resend", tag = "organisers", request_body = ResendManyRequest,
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["manage_guests", "manage_own_guests"]))), responses(
    (status = 202, description = "The numbers of guests", body = ResentView),
    (status = 404, description = "No such event"),
    (status = 409, description = "`event_over`"),
))]
async fn resend_many(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    JsonBody(request): JsonBody<ResendManyRequest>,
) -> Result<(http::StatusCode, Json<ResentView>)> {
    let filter = request.filter.map(GuestFilterRequest::wanted).transpose()?;
    let whom = Whom { guest_ids: request.guest_ids, filter };
    let resent = guests::resend_many(&state.app, &caller, event_id, whom, request.dry_run).await?;
    Ok((http::StatusCode::ACCEPTED, Json(resent.into())))
}
