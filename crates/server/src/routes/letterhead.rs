//! `/api/letterhead`: how the organisation's mails look.

use admit_app::organizations::{self, LetterheadPatch};
use admit_app::records::LetterheadRecord;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::present;
use crate::auth::user::User;
use crate::body::JsonBody;
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(show, update))
}

/// The look of the organisation's mails. For a field that is null, the server uses its default.
#[derive(Serialize, ToSchema)]
struct LetterheadView {
    /// The colour of the bar at the mail's top, as `#rrggbb`.
    color: Option<String>,
    /// The subject of the first mail to a guest. `{event}` stands for the event's name.
    subject: Option<String>,
    /// The address to which guests' answers go.
    reply_to: Option<String>,
}

impl From<LetterheadRecord> for LetterheadView {
    fn from(one: LetterheadRecord) -> Self {
        Self { color: one.color, subject: one.subject, reply_to: one.reply_to }
    }
}

/// The fields to change. Absent fields keep their values. Null restores the server's default.
#[derive(Deserialize, ToSchema)]
struct LetterheadPatchRequest {
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, pattern = "^#[0-9a-fA-F]{6}$")]
    color: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    subject: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    reply_to: Option<Option<String>>,
}

/// The look of the organisation's mails.
#[utoipa::path(get, path = "/api/letterhead", tag = "organisers", extensions(("x-actions" = json!(["read_events"]))),
    responses((status = 200, description = "The letterhead", body = LetterheadView)))]
async fn show(State(state): State<AppState>, User(caller): User) -> Result<Json<LetterheadView>> {
    Ok(Json(organizations::letterhead(&state.app, &caller).await?.into()))
}

/// Changes the look of the organisation's mails.
#[utoipa::path(patch, path = "/api/letterhead", tag = "organisers", request_body = LetterheadPatchRequest,
    extensions(("x-actions" = json!(["manage_events"]))), responses(
    (status = 200, description = "Changed", body = LetterheadView),
))]
async fn update(
    State(state): State<AppState>,
    User(caller): User,
    JsonBody(request): JsonBody<LetterheadPatchRequest>,
) -> Result<Json<LetterheadView>> {
    let patch = LetterheadPatch { color: request.color, subject: request.subject, reply_to: request.reply_to };
    Ok(Json(organizations::update_letterhead(&state.app, &caller, patch).await?.into()))
}
