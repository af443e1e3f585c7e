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

/// The reason why no mail is sent now.
#[derive(Serialize, ToSchema)]
pub(super) struct MailProblemView {
    /// The time since which the mail server refuses all mails, or no mail server is set up.
    since: Timestamp,
    /// The mail server's last refusal, or that none is set up, in plain words. It names no guest.
    reason: String,
    /// When the server next tries to send one mail. If that works, it sends all waiting mails.
    next_at: Timestamp,
}

impl From<MailLaneRecord> for MailProblemView {
    fn from(one: MailLaneRecord) -> Self {
        Self { since: one.since, reason: one.reason, next_at: one.next_at }
    }
}

/// Whether mail can be sent.
#[derive(Serialize, ToSchema)]
struct MailHealthView {
    /// The reason why no mail is sent. Null while mail is sent.
    mail_problem: Option<MailProblemView>,
}

/// Whether mail can be sent.
///
/// While the mail server refuses every mail, all passes wait and no run uses up a try. This answer gives the reason
/// once for all of them.
#[utoipa::path(get, path = "/api/mail/health", tag = "organisers",
    extensions(("x-actions" = json!(["read_guests"]))), responses(
    (status = 200, description = "Whether mail goes out", body = MailHealthView),
))]
async fn health(State(state): State<AppState>, User(caller): User) -> Result<Json<MailHealthView>> {
    let mail_problem = passes::mail_health(&state.app, &caller).await?.map(MailProblemView::from);
    Ok(Json(MailHealthView { mail_problem }))
}
