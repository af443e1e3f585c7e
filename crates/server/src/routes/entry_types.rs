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
    /// The zone of tickets of this type.
    zone: String,
    /// The type's place in the event's order. The first type is the default.
    position: i64,
    /// The type's own re-entry mode: `never`, `after_gap`, `after_exit` or `daily`. Null if the event's mode holds.
    re_entry: Option<ReEntry>,
    /// Whether a ticket's limit holds at each gate separately.
    per_gate: bool,
    /// The most persons whom a ticket lets in altogether. Null for no such limit.
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

/// The fields to change. Absent fields keep their values. The limits belong to the zone, so entry types of one zone
/// share them.
#[derive(Deserialize, ToSchema)]
struct EntryTypePatchRequest {
    name: Option<String>,
    /// The type's own re-entry mode. Null for the event's mode.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    re_entry: Option<Option<ReEntry>>,
    /// Whether a ticket's limit holds at each gate separately.
    per_gate: Option<bool>,
    /// The most persons whom a ticket lets in altogether, 1–10,000. Null for no such limit.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    uses: Option<Option<u32>>,
}

/// The values of a new entry type.
#[derive(Deserialize, ToSchema)]
struct EntryTypeRequest {
    name: String,
    /// The zone of tickets of this type.
    zone: String,
}

/// Entry types of an event, in their order.
#[utoipa::path(get, path = "/api/events/{id}/entry-types", tag = "organisers",
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["read_events"]))), responses(
    (status = 200, description = "All entry types", body = List<EntryTypeView>),
))]
async fn list(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
) -> Result<Json<List<EntryTypeView>>> {
    let types = entry_types::list(&state.app, &caller, event_id).await?;
    Ok(Json(List::whole(types.into_iter().map(EntryTypeView::from).collect())))
}

/// Makes an entry type, as the last in the order.
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

/// Changes an entry type: its name, and how often its persons may enter.
///
/// The change holds from now on. Devices learn of it with their next list.
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
