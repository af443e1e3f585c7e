//! `/api/events/{id}/entry-types`.

use admit_app::entry_types::{self, NewEntryType};
use admit_app::records::EntryTypeRecord;
use admit_core::ids::EventId;
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::List;
use crate::auth::user::User;
use crate::body::{JsonBody, Path};
use crate::error::Result;
use crate::openapi::ProblemDoc;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list, create))
}

/// An entry type.
#[derive(Serialize, ToSchema)]
struct EntryTypeView {
    id: String,
    name: String,
    /// Zone its tickets get.
    zone: String,
    /// Place in the order; the first is the default.
    position: i64,
}

impl From<EntryTypeRecord> for EntryTypeView {
    fn from(one: EntryTypeRecord) -> Self {
        Self { id: one.entry_type_id.to_string(), name: one.name, zone: one.zone, position: one.position }
    }
}

/// An entry type to be.
#[derive(Deserialize, ToSchema)]
struct EntryTypeRequest {
    name: String,
    /// Zone its tickets get.
    zone: String,
}

/// Entry types of an event, in their order.
#[utoipa::path(get, path = "/api/events/{id}/entry-types", tag = "organisers",
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["read_events"]))), security(("session" = []), ("api_token" = [])), responses(
    (status = 200, description = "All of them", body = List<EntryTypeView>),
    (status = 404, description = "No such event", body = ProblemDoc, content_type = "application/problem+json"),
))]
async fn list(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
) -> Result<Json<List<EntryTypeView>>> {
    let types = entry_types::list(&state.app, &caller, event_id).await?;
    Ok(Json(List::whole(types.into_iter().map(EntryTypeView::from).collect())))
}

/// Makes an entry type, last in the order.
#[utoipa::path(post, path = "/api/events/{id}/entry-types", tag = "organisers", request_body = EntryTypeRequest,
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["manage_events"]))), security(("session" = []), ("api_token" = [])), responses(
    (status = 201, description = "Made", body = EntryTypeView),
    (status = 400, description = "A field is wrong", body = ProblemDoc, content_type = "application/problem+json"),
    (status = 409, description = "`entry_type_exists`", body = ProblemDoc, content_type = "application/problem+json"),
))]
async fn create(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    JsonBody(request): JsonBody<EntryTypeRequest>,
) -> Result<(StatusCode, Json<EntryTypeView>)> {
    let new = NewEntryType { name: request.name, zone: request.zone };
    let made = entry_types::create(&state.app, &caller, event_id, new).await?;
    Ok((StatusCode::CREATED, Json(made.into())))
}
