//! Routes of events: `/api/events`.

use admit_app::events::{self, EventPatch, ListedEvent, NewEvent};
use admit_app::records::{AtDoor, ClockTime, EventFigures, EventRecord};
use admit_core::event::{BarcodeKind, EventStatus, ReEntry};
use admit_core::ids::EventId;
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::{List, PageQuery, present};
use crate::auth::user::User;
use crate::body::{JsonBody, Path, Query};
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(show, update))
}

/// An event.
#[derive(Serialize, ToSchema)]
struct EventView {
    id: String,
    name: String,
    venue: String,
    /// IANA time zone, such as `Europe/Berlin`.
    time_zone: String,
    starts_at: Timestamp,
    ends_at: Timestamp,
    /// `draft`, `live`, `ended` or `archived`.
    status: EventStatus,
    /// Re-entry mode: `never`, `after_gap`, `after_exit` or `daily`.
    re_entry: ReEntry,
    /// The least time between two entries in the mode `after_gap`, in seconds.
    min_gap_seconds: u32,
    /// The local time at which a day begins in the mode `daily`, in the event's time zone.
    #[schema(value_type = String, example = "06:00")]
    day_starts_at: ClockTime,
    /// Whether staff can override a refusal with a PIN.
    has_staff_pin: bool,
    /// Number of persons who may be inside at once; the live page shows it. Null without one.
    capacity: Option<u32>,
    /// The most persons without a ticket whom staff may add at all gates together. Null for no limit.
    walk_ins: Option<u32>,
    /// Days after the event's end until its guests' personal data is erased, 1–3,650. Null keeps the data.
    retention_days: Option<u32>,
    /// Names of the guest fields that a verdict shows, in this order.
    verdict_fields: Vec<String>,
    /// Kinds of codes that cameras read in addition to QR.
    barcode_kinds: Vec<BarcodeKind>,
    created_at: Timestamp,
}

impl From<EventRecord> for EventView {
    fn from(one: EventRecord) -> Self {
        Self {
            id: one.event_id.to_string(),
            name: one.name,
            venue: one.venue,
            time_zone: one.time_zone,
            starts_at: one.starts_at,
            ends_at: one.ends_at,
            status: one.status,
            re_entry: one.re_entry,
            min_gap_seconds: one.min_gap_seconds,
            day_starts_at: one.day_starts_at,
            has_staff_pin: one.has_pin,
            capacity: one.capacity,
            walk_ins: one.walk_ins,
            retention_days: one.retention_days,
            verdict_fields: one.at_door.verdict_fields,
            barcode_kinds: one.at_door.barcode_kinds,
            created_at: one.created_at,
        }
    }
}

/// An event with its figures.
#[derive(Serialize, ToSchema)]
struct ListedEventView {
    #[serde(flatten)]
    event: EventView,
    /// Number of persons whom the event's tickets admit.
    expected: u64,
    /// Number of persons let in, including those beyond their tickets' limits.
    admitted: u64,
    /// Number of these persons who came beyond their tickets' limits.
    over: u64,
    /// Number of open incidents in the review queue.
    open_incidents: u64,
}

impl From<ListedEvent> for ListedEventView {
    fn from(one: ListedEvent) -> Self {
        let EventFigures { expected, admitted, over, open_incidents, .. } = one.figures;
        Self { event: one.event.into(), expected, admitted, over, open_incidents }
    }
}

/// The values of a new event.
#[derive(Deserialize, ToSchema)]
struct EventRequest {
    name: String,
    venue: Option<String>,
    /// IANA time zone, such as `Europe/Berlin`. `UTC` if absent.
    time_zone: Option<String>,
    starts_at: Timestamp,
    ends_at: Timestamp,
    /// `draft` (default) or `live`.
    status: Option<EventStatus>,
    /// Re-entry mode: `never` (default), `after_gap`, `after_exit` or `daily`.
    re_entry: Option<ReEntry>,
    /// The least time between two entries in the mode `after_gap`, in seconds. 300 if absent.
    min_gap_seconds: Option<u32>,
    /// The local time at which a day begins in the mode `daily`, in the event's time zone. `06:00` if absent.
    #[schema(value_type = Option<String>, example = "06:00")]
    day_starts_at: Option<ClockTime>,
    /// The PIN with which staff can override a refusal, 4–8 digits. No PIN if absent.
    staff_pin: Option<String>,
    /// Number of persons who may be inside at once; the live page shows it. No number if null or absent.
    capacity: Option<u32>,
    /// The most persons without a ticket whom staff may add at all gates together. No limit if null or absent.
    walk_ins: Option<u32>,
    /// Days after the event's end until its guests' personal data is erased, 1–3,650. The data is kept if null or
    /// absent.
    retention_days: Option<u32>,
    /// Names of the guest fields that a verdict shows, in this order, at most 3.
    #[serde(default)]
    verdict_fields: Vec<String>,
    /// Kinds of codes that cameras read in addition to QR. None if absent: each further kind makes reading slower.
    #[serde(default)]
    barcode_kinds: Vec<BarcodeKind>,
    /// Names of the event's first gates. `["Main entrance"]` if absent, `[]` for none. They admit tickets of every
    /// entry type, in and out.
    gates: Option<Vec<String>>,
}

/// The fields to change. Absent fields keep their values.
#[derive(Deserialize, ToSchema)]
struct EventPatchRequest {
    name: Option<String>,
    venue: Option<String>,
    time_zone: Option<String>,
    starts_at: Option<Timestamp>,
    ends_at: Option<Timestamp>,
    /// The new status. The order is draft → live → ended → archived; an ended event may go live again.
    status: Option<EventStatus>,
    re_entry: Option<ReEntry>,
    min_gap_seconds: Option<u32>,
    #[schema(value_type = Option<String>, example = "06:00")]
    day_starts_at: Option<ClockTime>,
    /// The PIN with which staff can override a refusal, 4–8 digits. Null removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    staff_pin: Option<Option<String>>,
    /// Number of persons who may be inside at once; the live page shows it. Null for none.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    capacity: Option<Option<u32>>,
    /// The most persons without a ticket whom staff may add at all gates together. Null for no limit.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    walk_ins: Option<Option<u32>>,
    /// Days after the event's end until its guests' personal data is erased, 1–3,650. Null keeps the data.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    retention_days: Option<Option<u32>>,
    /// Names of the guest fields that a verdict shows, in this order, at most 3.
    verdict_fields: Option<Vec<String>>,
    /// Kinds of codes that cameras read in addition to QR.
    barcode_kinds: Option<Vec<BarcodeKind>>,
    /// For a draft that gets the status `live`: true if the practice scans of the last 12 hours were real. They then
    /// count, at their own times.
    #[serde(default)]
    count_practice: bool,
}

/// Events, newest first.
#[utoipa::path(get, path = "/api/events", tag = "organisers",
    params(("limit" = Option<usize>, Query, description = "1–500, 50 by default", minimum = 1, maximum = 500), ("cursor" = Option<String>, Query)),
    extensions(("x-actions" = json!(["read_events"]))), responses(
    (status = 200, description = "A page", body = List<ListedEventView>),
))]
async fn list(
    State(state): State<AppState>,
    User(caller): User,
    Query(query): Query<PageQuery>,
) -> Result<Json<List<ListedEventView>>> {
    let listed = events::list(&state.app, &caller, query.page()?).await?;
    Ok(Json(List::of(listed, ListedEventView::from)))
}

/// Makes an event with the entry type "General" and its first gates.
#[utoipa::path(post, path = "/api/events", tag = "organisers", request_body = EventRequest,
    extensions(("x-actions" = json!(["manage_events"]))), responses(
    (status = 201, description = "Made", body = EventView),
))]
async fn create(
    State(state): State<AppState>,
    User(caller): User,
    JsonBody(request): JsonBody<EventRequest>,
) -> Result<(StatusCode, Json<EventView>)> {
    let new = NewEvent {
        name: request.name,
        venue: request.venue.unwrap_or_default(),
        time_zone: request.time_zone.unwrap_or_else(|| "UTC".to_owned()),
        starts_at: request.starts_at,
        ends_at: request.ends_at,
        status: request.status,
        re_entry: request.re_entry,
        min_gap_seconds: request.min_gap_seconds,
        day_starts_at: request.day_starts_at,
        staff_pin: request.staff_pin,
        capacity: request.capacity,
        walk_ins: request.walk_ins,
        retention_days: request.retention_days,
        at_door: AtDoor { verdict_fields: request.verdict_fields, barcode_kinds: request.barcode_kinds },
        gates: request.gates,
    };
    let made = events::create(&state.app, &caller, new).await?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

/// One event.
#[utoipa::path(get, path = "/api/events/{id}", tag = "organisers", params(("id" = String, Path, description = "Event")),
    extensions(("x-actions" = json!(["read_events"]))), responses(
    (status = 200, description = "The event", body = EventView),
))]
async fn show(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
) -> Result<Json<EventView>> {
    Ok(Json(events::show(&state.app, &caller, event_id).await?.into()))
}

/// Changes an event.
///
/// The status `live` holds from the start, as if the event had always been live. `ended` and `archived` hold from now
/// on.
#[utoipa::path(patch, path = "/api/events/{id}", tag = "organisers", request_body = EventPatchRequest,
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["manage_events"]))), responses(
    (status = 200, description = "Changed", body = EventView),
    (status = 409, description = "`status_order`"),
))]
async fn update(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    JsonBody(request): JsonBody<EventPatchRequest>,
) -> Result<Json<EventView>> {
    let patch = EventPatch {
        name: request.name,
        venue: request.venue,
        time_zone: request.time_zone,
        starts_at: request.starts_at,
        ends_at: request.ends_at,
        status: request.status,
        re_entry: request.re_entry,
        min_gap_seconds: request.min_gap_seconds,
        day_starts_at: request.day_starts_at,
        staff_pin: request.staff_pin,
        capacity: request.capacity,
        walk_ins: request.walk_ins,
        retention_days: request.retention_days,
        verdict_fields: request.verdict_fields,
        barcode_kinds: request.barcode_kinds,
        count_practice: request.count_practice,
    };
    Ok(Json(events::update(&state.app, &caller, event_id, patch).await?.into()))
}
