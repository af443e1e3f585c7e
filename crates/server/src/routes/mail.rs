//! `/api/mail/health`: whether mail goes out.

use admit_app::passes;
use admit_app::records::MailLaneRecord;
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::user::User;
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(health))
}

/// Why no mail goes out.
#[derive(Serialize, ToSchema)]
pub(super) struct MailProblemView {
    /// Since when the mail server refuses the account or itself.
    since: Timestamp,
    /// The mail server's last refusal, or that none is set up, in plain words. No guest is named.
    reason: String,
    /// When one letter is tried next. Once it is taken, all that wait go out.
    next_at: Timestamp,
}

impl From<MailLaneRecord> for MailProblemView {
    fn from(one: MailLaneRecord) -> Self {
        Self { since: one.since, reason: one.reason, next_at: one.next_at }
    }
}

/// Whether mail goes out.
#[derive(Serialize, ToSchema)]
struct MailHealthView {
    /// Null while it does.
    mail_problem: Option<MailProblemView>,
}

/// Whether mail goes out. While the mail server refuses the account or itself, all passes wait: no try of a run is spent, and this
/// says why, once for all of them.
#[utoipa::path(get, path = "/api/mail/health", tag = "organisers",
    extensions(("x-actions" = json!(["read_guests"]))), responses(
    (status = 200, description = "Whether mail goes out", body = MailHealthView),
))]
async fn health(State(state): State<AppState>, User(caller): User) -> Result<Json<MailHealthView>> {
    let mail_problem = passes::mail_health(&state.app, &caller).await?.map(MailProblemView::from);
    Ok(Json(MailHealthView { mail_problem }))
}
