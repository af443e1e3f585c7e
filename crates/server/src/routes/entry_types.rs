//! Routes of entry types: `/api/events/{id}/entry-types`.

use admit_app::entry_types::{self, EntryType, EntryTypePatch, NewEntryType};
use admit_core::event::{Limits, ReEntry};
use admit_core::ids::{EntryTypeId, EventId};
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

/// An entry type.
#[derive(Serialize, ToSchema)]
struct EntryTypeView {
    id: String,
    name: String,
    /// Zone its tickets get.
    zone: String,
    /// Place in the order; the first is the default.
    position: i64,
    /// Its own re-entry mode: `never`, `after_gap`, `after_exit` or `daily`; null where the event's holds.
    re_entry: Option<ReEntry>,
    /// The limit of a ticket holds at each gate by itself.
    per_gate: bool,
    /// Persons that a ticket lets in in all; null without such a limit.
    uses: Option<u32>,
}

impl From<EntryType> for EntryTypeView {
    fn from(EntryType { record, limits }: EntryType) -> Self {
        Self {
            id: record.entry_type_id.to_string(),
            name: record.name,
            zone: record.zone,
            position: record.position,
            re_entry: limits.re_entry,
            per_gate: limits.per_gate,
            uses: limits.uses,
        }
    }
}

/// The limits to change; absent ones stay. They belong to the zone: entry types that share one share them.
#[derive(Deserialize, ToSchema)]
struct EntryTypePatchRequest {
    name: Option<String>,
    /// Null for the event's own mode.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    re_entry: Option<Option<ReEntry>>,
    per_gate: Option<bool>,
    /// 1–10,000; null for no such limit.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    uses: Option<Option<u32>>,
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
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["read_events"]))), responses(
    (status = 200, description = "All of them", body = List<EntryTypeView>),
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
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["manage_events"]))), responses(
    (status = 201, description = "Made", body = EntryTypeView),
    (status = 409, description = "`entry_type_exists`"),
))]
async fn create(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    JsonBody(request): JsonBody<EntryTypeRequest>,
) -> Result<(StatusCode, Json<EntryTypeView>)> {
    let new = NewEntryType { name: request.name, zone: request.zone };
    let made = entry_types::create(&state.app, &caller, event_id, new).await?;
    let made = EntryType { record: made, limits: Limits::default() };
    Ok((StatusCode::CREATED, Json(made.into())))
}

/// Changes an entry type: its name, and how often its persons may enter. It holds from now on; phones hear of it with their
/// next list.
#[utoipa::path(patch, path = "/api/events/{id}/entry-types/{entry_type_id}", tag = "organisers", request_body = EntryTypePatchRequest,
    params(("id" = String, Path, description = "Event"), ("entry_type_id" = String, Path, description = "Entry type")),
    extensions(("x-actions" = json!(["manage_events"]))), responses(
    (status = 200, description = "Changed", body = EntryTypeView),
    (status = 404, description = "No such event or entry type"),
    (status = 409, description = "`entry_type_exists`"),
))]
async fn update(
    State(state): State<AppState>,
    User(caller): User,
    Path((event_id, entry_type_id)): Path<(EventId, EntryTypeId)>,
    JsonBody(request): JsonBody<EntryTypePatchRequest>,
) -> Result<Json<EntryTypeView>> {
    let EntryTypePatchRequest { name, re_entry, per_gate, uses } = request;
    let patch = EntryTypePatch { name, re_entry, per_gate, uses };
    Ok(Json(entry_types::update(&state.app, &caller, event_id, entry_type_id, patch).await?.into()))
}
