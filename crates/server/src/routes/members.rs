//! `/api/members`: people with a role in the organisation.

use admit_app::members::{self, NewMember};
use admit_app::records::{MemberRecord, Role};
use admit_core::access::{Action, can};
use admit_core::ids::UserId;
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::{List, blocking, word};
use crate::auth::user::User;
use crate::body::{JsonBody, Path};
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(update, delete))
}

/// A member of the organisation.
#[derive(Serialize, ToSchema)]
struct MemberView {
    /// The user's id.
    id: String,
    /// Sign-in e-mail. Null for callers who do not manage members.
    email: Option<String>,
    name: String,
    /// `owner`, `manager`, `promoter`, `door` or `viewer`. Null if the caller may neither manage members nor give them
    /// guest lists.
    role: Option<String>,
    created_at: Timestamp,
}

impl From<MemberRecord> for MemberView {
    fn from(one: MemberRecord) -> Self {
        Self {
            id: one.user_id.to_string(),
            email: Some(one.email),
            name: one.name,
            role: Some(one.role.to_string()),
            created_at: one.created_at,
        }
    }
}

/// The values of a new member.
#[derive(Deserialize, ToSchema)]
struct MemberRequest {
    /// Sign-in e-mail. No other user may have it.
    email: String,
    name: String,
    /// The first password, at least 10 characters.
    password: String,
    /// `owner`, `manager`, `promoter`, `door` or `viewer`.
    role: String,
}

/// The new role of a member.
#[derive(Deserialize, ToSchema)]
struct RoleRequest {
    /// `owner`, `manager`, `promoter`, `door` or `viewer`.
    role: String,
}

/// Members of the organisation, oldest first.
///
/// A caller who may manage members sees e-mails and roles. A caller who may give guest lists to members sees roles.
/// Other callers see names only.
#[utoipa::path(get, path = "/api/members", tag = "organisers", extensions(("x-actions" = json!([]))), responses(
    (status = 200, description = "All members", body = List<MemberView>),
))]
async fn list(State(state): State<AppState>, User(caller): User) -> Result<Json<List<MemberView>>> {
    let members = members::list(&state.app, &caller).await?;
    let (sees_addresses, sees_roles) =
        (can(caller.role, Action::ManageMembers), can(caller.role, Action::ManageGuests));
    let seen = |one: MemberRecord| {
        let view = MemberView::from(one);
        MemberView { email: view.email.filter(|_| sees_addresses), role: view.role.filter(|_| sees_roles), ..view }
    };
    Ok(Json(List::whole(members.into_iter().map(seen).collect())))
}

/// Makes a member. Owners only.
#[utoipa::path(post, path = "/api/members", tag = "organisers", request_body = MemberRequest,
    extensions(("x-actions" = json!(["manage_members"]))), responses(
    (status = 201, description = "Made", body = MemberView),
    (status = 409, description = "`email_taken`"),
))]
async fn create(
    State(state): State<AppState>,
    User(caller): User,
    JsonBody(request): JsonBody<MemberRequest>,
) -> Result<(StatusCode, Json<MemberView>)> {
    let role: Role = word("role", &request.role)?;
    let new = NewMember { email: request.email, name: request.name, password: request.password, role };
    let app = state.app.clone();
    let made = blocking(async move { members::create(&app, &caller, new).await }).await?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

/// Changes a member's role. Owners only. The last owner keeps the role.
#[utoipa::path(patch, path = "/api/members/{id}", tag = "organisers", request_body = RoleRequest,
    params(("id" = String, Path, description = "User")), extensions(("x-actions" = json!(["manage_members"]))), responses(
    (status = 200, description = "Changed", body = MemberView),
    (status = 404, description = "No such member"),
    (status = 409, description = "`last_owner`"),
))]
async fn update(
    State(state): State<AppState>,
    User(caller): User,
    Path(user_id): Path<UserId>,
    JsonBody(request): JsonBody<RoleRequest>,
) -> Result<Json<MemberView>> {
    let role: Role = word("role", &request.role)?;
    Ok(Json(members::update(&state.app, &caller, user_id, role).await?.into()))
}

/// Removes a member, and their sessions and API tokens in this organisation. Owners only. The last owner cannot be
/// removed.
#[utoipa::path(delete, path = "/api/members/{id}", tag = "organisers",
    params(("id" = String, Path, description = "User")), extensions(("x-actions" = json!(["manage_members"]))), responses(
    (status = 204, description = "Removed"),
    (status = 404, description = "No such member"),
    (status = 409, description = "`last_owner`"),
))]
async fn delete(State(state): State<AppState>, User(caller): User, Path(user_id): Path<UserId>) -> Result<StatusCode> {
    members::delete(&state.app, &caller, user_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
