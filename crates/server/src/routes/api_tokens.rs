//! `/api/api-tokens`: keys for programs.

use admit_app::api_tokens::{self, ApiTokenWish};
use admit_app::records::ApiTokenRecord;
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::{List, word};
use crate::auth::user::User;
use crate::body::{JsonBody, Path};
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(revoke))
}

/// An API token, without its text.
#[derive(Serialize, ToSchema)]
struct ApiTokenView {
    id: String,
    name: String,
    /// The id of the user as whom the token acts.
    user_id: String,
    /// The role that limits what the token may do: `owner`, `manager`, `promoter`, `door` or `viewer`. The token never
    /// may do more than its user.
    role: String,
    /// The time from which the token is refused.
    expires_at: Timestamp,
    created_at: Timestamp,
    /// When the token was withdrawn. Null if it was not.
    revoked_at: Option<Timestamp>,
}

impl From<ApiTokenRecord> for ApiTokenView {
    fn from(one: ApiTokenRecord) -> Self {
        Self {
            id: one.api_token_id,
            name: one.name,
            user_id: one.user_id.to_string(),
            role: one.role.to_string(),
            expires_at: one.expires_at,
            created_at: one.created_at,
            revoked_at: one.revoked_at,
        }
    }
}

/// The values of a new API token.
#[derive(Deserialize, ToSchema)]
struct ApiTokenRequest {
    /// The token's purpose, in your words.
    name: String,
    /// The role that limits what the token may do. If absent, your own role.
    role: Option<String>,
    /// The time from which the token is refused, at most two years from now. If absent, one year from now, or the
    /// expiry of the token that makes this request.
    expires_at: Option<Timestamp>,
}

/// A new API token and its text.
#[derive(Serialize, ToSchema)]
struct NewApiTokenView {
    /// The token's text. It is shown only in this answer.
    token: String,
    #[serde(flatten)]
    view: ApiTokenView,
}

/// API tokens of the organisation, newest first, withdrawn ones included.
#[utoipa::path(get, path = "/api/api-tokens", tag = "organisers", extensions(("x-actions" = json!(["manage_tokens"]))), responses(
    (status = 200, description = "All API tokens", body = List<ApiTokenView>),
))]
async fn list(State(state): State<AppState>, User(caller): User) -> Result<Json<List<ApiTokenView>>> {
    let tokens = api_tokens::list(&state.app, &caller).await?;
    Ok(Json(List::whole(tokens.into_iter().map(ApiTokenView::from).collect())))
}

/// Makes a token that acts as the caller.
#[utoipa::path(post, path = "/api/api-tokens", tag = "organisers", request_body = ApiTokenRequest,
    extensions(("x-actions" = json!(["manage_tokens"]))), responses(
    (status = 201, description = "Made. Only this answer shows the token's text", body = NewApiTokenView),
))]
async fn create(
    State(state): State<AppState>,
    User(caller): User,
    JsonBody(request): JsonBody<ApiTokenRequest>,
) -> Result<(StatusCode, Json<NewApiTokenView>)> {
    let role = request.role.map(|role| word("role", &role)).transpose()?;
    let wish = ApiTokenWish { name: request.name, role, expires_at: request.expires_at };
    let made = api_tokens::create(&state.app, &caller, wish).await?;
    Ok((StatusCode::CREATED, Json(NewApiTokenView { token: made.token, view: made.record.into() })))
}

/// Withdraws a token at once.
#[utoipa::path(delete, path = "/api/api-tokens/{id}", tag = "organisers",
    params(("id" = String, Path, description = "API token")), extensions(("x-actions" = json!(["manage_tokens"]))), responses(
    (status = 204, description = "Withdrawn"),
    (status = 404, description = "No such token"),
))]
async fn revoke(State(state): State<AppState>, User(caller): User, Path(id): Path<String>) -> Result<StatusCode> {
    api_tokens::revoke(&state.app, &caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
