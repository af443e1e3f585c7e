//! Routes of guest lists: `/api/events/{id}/guest-lists`.

use admit_app::guest_lists::{self, GuestListPatch, NewGuestList};
use admit_app::records::GuestListRecord;
use admit_core::ids::{EventId, GuestListId, UserId};
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::{List, present};
use crate::auth::user::User;
use crate::body::{JsonBody, Path};
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(update))
}

/// A guest list.
#[derive(Serialize, ToSchema)]
struct GuestListView {
    id: String,
    name: String,
    /// The member who fills this list. Null if nobody does.
    promoter_id: Option<String>,
    created_at: Timestamp,
}

impl From<GuestListRecord> for GuestListView {
    fn from(one: GuestListRecord) -> Self {
        Self {
            id: one.guest_list_id.to_string(),
            name: one.name,
            promoter_id: one.promoter_id.map(|id| id.to_string()),
            created_at: one.created_at,
        }
    }
}

/// The values of a new guest list.
#[derive(Deserialize, ToSchema)]
struct GuestListRequest {
    name: String,
    /// The member who fills this list. With the role `promoter` they see and fill their own lists only. Absent for
    /// none.
    promoter_id: Option<UserId>,
}

/// Guest lists of an event, oldest first. A promoter sees their own lists only.
#[utoipa::path(get, path = "/api/events/{id}/guest-lists", tag = "organisers",
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["read_events"]))), responses(
    (status = 200, description = "All guest lists", body = List<GuestListView>),
))]
async fn list(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
) -> Result<Json<List<GuestListView>>> {
    let lists = guest_lists::list(&state.app, &caller, event_id).await?;
    Ok(Json(List::whole(lists.into_iter().map(GuestListView::from).collect())))
}

/// Makes a guest list.
#[utoipa::path(post, path = "/api/events/{id}/guest-lists", tag = "organisers", request_body = GuestListRequest,
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["manage_events"]))), responses(
    (status = 201, description = "Made", body = GuestListView),
    (status = 409, description = "`guest_list_exists`"),
))]
async fn create(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    JsonBody(request): JsonBody<GuestListRequest>,
) -> Result<(StatusCode, Json<GuestListView>)> {
    let new = NewGuestList { name: request.name, promoter_id: request.promoter_id };
    let made = guest_lists::create(&state.app, &caller, event_id, new).await?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

/// The fields to change. Absent fields keep their values.
#[derive(Deserialize, ToSchema)]
struct GuestListPatchRequest {
    name: Option<String>,
    /// The member who sees and fills this list. Null for none.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    promoter_id: Option<Option<UserId>>,
}

/// Changes a guest list: its name, and the member who fills it.
#[utoipa::path(patch, path = "/api/events/{id}/guest-lists/{guest_list_id}", tag = "organisers", request_body = GuestListPatchRequest,
    params(("id" = String, Path, description = "Event"), ("guest_list_id" = String, Path, description = "Guest list")),
    extensions(("x-actions" = json!(["manage_events"]))), responses(
    (status = 200, description = "Changed", body = GuestListView),
    (status = 404, description = "No such guest list"),
    (status = 409, description = "`guest_list_exists`"),
))]
async fn update(
    State(state): State<AppState>,
    User(caller): User,
    Path((event_id, guest_list_id)): Path<(EventId, GuestListId)>,
    JsonBody(request): JsonBody<GuestListPatchRequest>,
) -> Result<Json<GuestListView>> {
    let patch = GuestListPatch { name: request.name, promoter_id: request.promoter_id };
    Ok(Json(guest_lists::update(&state.app, &caller, event_id, guest_list_id, patch).await?.into()))
}
