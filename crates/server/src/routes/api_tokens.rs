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
    /// As whom it acts.
    user_id: String,
    /// The role that bounds what the token may do: `owner`, `manager`, `promoter`, `door` or `viewer`; never more
    /// than its user.
    role: String,
    /// From when on it opens nothing.
    expires_at: Timestamp,
    created_at: Timestamp,
    /// When it was withdrawn.
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

/// A token to be.
#[derive(Deserialize, ToSchema)]
struct ApiTokenRequest {
    /// The token's purpose, in your words.
    name: String,
    /// The role that bounds what the token may do; absent: your own role.
    role: Option<String>,
    /// From when on it opens nothing, at most two years ahead; a year from now where absent.
    expires_at: Option<Timestamp>,
}

/// A new token.
#[derive(Serialize, ToSchema)]
struct NewApiTokenView {
    /// Its text, shown this once.
    token: String,
    #[serde(flatten)]
    view: ApiTokenView,
}

/// API tokens of the organisation, newest first, withdrawn ones included.
#[utoipa::path(get, path = "/api/api-tokens", tag = "organisers", extensions(("x-actions" = json!(["manage_tokens"]))), responses(
    (status = 200, description = "All of them", body = List<ApiTokenView>),
))]
async fn list(State(state): State<AppState>, User(caller): User) -> Result<Json<List<ApiTokenView>>> {
    let tokens = api_tokens::list(&state.app, &caller).await?;
    Ok(Json(List::whole(tokens.into_iter().map(ApiTokenView::from).collect())))
}

/// Makes a token that acts as the caller.
#[utoipa::path(post, path = "/api/api-tokens", tag = "organisers", request_body = ApiTokenRequest,
    extensions(("x-actions" = json!(["manage_tokens"]))), responses(
    (status = 201, description = "Made; its text is shown this once", body = NewApiTokenView),
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
