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

/// How mails look; null is the server's own.
#[derive(Serialize, ToSchema)]
struct LetterheadView {
    /// Colour of the head, `#rrggbb`.
    color: Option<String>,
    /// Subject of a first mail; `{event}` stands for the event's name.
    subject: Option<String>,
    /// Address for answers.
    reply_to: Option<String>,
}

impl From<LetterheadRecord> for LetterheadView {
    fn from(one: LetterheadRecord) -> Self {
        Self { color: one.color, subject: one.subject, reply_to: one.reply_to }
    }
}

/// The fields to change; absent fields stay, null gives back the server's own.
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

/// How mails look.
#[utoipa::path(get, path = "/api/letterhead", tag = "organisers", extensions(("x-actions" = json!(["read_events"]))),
    responses((status = 200, description = "The letterhead", body = LetterheadView)))]
async fn show(State(state): State<AppState>, User(caller): User) -> Result<Json<LetterheadView>> {
    Ok(Json(organizations::letterhead(&state.app, &caller).await?.into()))
}

/// Changes how mails look.
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
