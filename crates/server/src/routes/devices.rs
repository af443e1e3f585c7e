//! Routes of devices: `/api/events/{id}/devices` and `/api/scanning/devices/{id}`.

use admit_app::devices::{self, DevicePatch, list::Listing};
use admit_app::records::DeviceRecord;
use admit_core::ids::{DeviceId, EventId, GateId};
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::{FromRequest, Request, State};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::List;
use crate::auth::user::User;
use crate::body::{JsonBody, Path};
use crate::error::Result;
use crate::events;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(revoke, update))
}

/// A device, with its last report about itself.
#[derive(Serialize, ToSchema)]
struct DeviceView {
    id: String,
    name: String,
    /// `ipad`, `phone`, `desktop` or `terminal`.
    device_type: String,
    event_id: String,
    gate_id: String,
    /// `active`, `suspended` or `revoked`.
    state: &'static str,
    /// When the device was revoked. Null if it was not.
    revoked_at: Option<Timestamp>,
    /// The time since which an organiser believes the device lost. Null if nobody does.
    lost_since: Option<Timestamp>,
    /// When the server last heard of the device. Null if it never did.
    last_seen_at: Option<Timestamp>,
    /// When the device last sent a batch of scans. Null if it never did.
    last_sync_at: Option<Timestamp>,
    /// Number of scans that the device has not sent yet, by its own report.
    pending: u64,
    /// Battery level in percent. Null if the device did not report it.
    battery: Option<u8>,
    app_version: String,
    /// The version of the device's ticket list.
    manifest_version: u64,
    /// Server clock minus the device's clock, in milliseconds. Null if the device did not report it.
    clock_offset_ms: Option<i64>,
    /// The device's logs, including closed ones.
    logs: Vec<LogView>,
    /// Number of scans in the device's open logs that the server has not received.
    missing_count: u64,
    /// Number of the device's scans, of any event, that do not count until a person accepts them.
    waiting: u64,
    /// When another device last tried the code by which this one was paired. Null if none did. Somebody may have copied
    /// the code: find out who has it.
    code_reused_at: Option<Timestamp>,
    /// Number of syncs in a row that were refused with status 400 or 409. Five suspend the device.
    failed_syncs: u32,
    created_at: Timestamp,
}

/// A log of a device, and which of its scans the server has not received.
#[derive(Serialize, ToSchema)]
struct LogView {
    log_id: String,
    /// The highest `seq` of the log that the device reported.
    head: u64,
    /// The `seq` numbers that were not received, as ranges `[from, to]` with both ends included.
    missing: Vec<(u64, u64)>,
    /// Number of scans that were not received.
    missing_count: u64,
    /// When a person closed the log. Null while it is open.
    closed_at: Option<Timestamp>,
}

impl From<Listing> for DeviceView {
    fn from(one: Listing) -> Self {
        let log = |one: devices::list::LogListing| LogView {
            log_id: one.log.log_id.to_string(),
            head: one.log.head,
            missing: one.missing,
            missing_count: one.missing_count,
            closed_at: one.log.closed_at,
        };
        let logs: Vec<LogView> = one.logs.into_iter().map(log).collect();
        Self::of(one.device, logs, one.waiting)
    }
}

impl DeviceView {
    fn of(device: DeviceRecord, logs: Vec<LogView>, waiting: u64) -> Self {
        let health = device.health;
        Self {
            id: device.device_id.to_string(),
            name: device.name,
            device_type: device.device_type,
            event_id: device.event_id.to_string(),
            gate_id: device.gate_id.to_string(),
            state: device.state.as_str(),
            revoked_at: device.revoked_at,
            lost_since: device.lost_since,
            last_seen_at: health.last_seen_at,
            last_sync_at: health.last_sync_at,
            pending: health.pending,
            battery: health.battery,
            app_version: health.app_version,
            manifest_version: health.manifest_version,
            clock_offset_ms: health.clock_offset_ms,
            missing_count: logs.iter().filter(|log| log.closed_at.is_none()).map(|log| log.missing_count).sum(),
            waiting,
            logs,
            code_reused_at: device.code_reused_at,
            failed_syncs: health.failed_syncs,
            created_at: device.created_at,
        }
    }
}

/// A device that was revoked.
#[derive(Serialize, ToSchema)]
struct RevokedView {
    id: String,
    /// The device's new state: always `revoked`.
    state: &'static str,
    revoked_at: Option<Timestamp>,
    lost_since: Option<Timestamp>,
}

/// Whether a request has no body at all, which some routes allow.
pub fn no_body(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    length.is_none_or(|length| length == "0") && !headers.contains_key(TRANSFER_ENCODING)
}

/// The time since which the device is believed lost.
#[derive(Default, Deserialize, ToSchema)]
struct RevokeRequest {
    /// Scans at or after this time do not count until a person accepts them. Absent if the device is not lost.
    lost_since: Option<Timestamp>,
}

/// The fields to change. Absent fields keep their values.
#[derive(Deserialize, ToSchema)]
struct DevicePatchRequest {
    /// The name that staff use for the device.
    name: Option<String>,
    /// Another gate of the device's event. The device learns of it with its next heartbeat.
    gate_id: Option<GateId>,
}

/// Devices of an event, oldest first, with the scans that each has not sent.
#[utoipa::path(get, path = "/api/events/{id}/devices", tag = "organisers",
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["read_scans"]))), responses(
    (status = 200, description = "All devices", body = List<DeviceView>),
))]
async fn list(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
) -> Result<Json<List<DeviceView>>> {
    let listed = devices::list(&state.app, &caller, event_id).await?;
    Ok(Json(List::whole(listed.into_iter().map(DeviceView::from).collect())))
}

/// Revokes a device.
///
/// The device deletes its guest data and sends its remaining scans. Scans that arrive from now on do not count until a
/// person accepts them.
#[utoipa::path(delete, path = "/api/scanning/devices/{id}", tag = "organisers",
    request_body(content = RevokeRequest, description = "The body is optional"),
    params(("id" = String, Path, description = "Device")), extensions(("x-actions" = json!(["manage_devices"]))), responses(
    (status = 200, description = "Revoked", body = RevokedView),
    (status = 404, description = "No such device"),
))]
async fn revoke(
    State(state): State<AppState>,
    User(caller): User,
    Path(device_id): Path<DeviceId>,
    request: Request,
) -> Result<Json<RevokedView>> {
    let body = if no_body(request.headers()) {
        RevokeRequest::default()
    } else {
        JsonBody::<RevokeRequest>::from_request(request, &state).await?.0
    };
    let device = devices::revoke(&state.app, &caller, device_id, body.lost_since).await?;
    state.metrics.revocations.inc();
    events::device_revoked(device.event_id.as_str());
    Ok(Json(RevokedView {
        id: device.device_id.to_string(),
        state: device.state.as_str(),
        revoked_at: device.revoked_at,
        lost_since: device.lost_since,
    }))
}

/// Renames a device, or moves it to another gate of its event.
///
/// The device learns of the gate with its next heartbeat, within 30 seconds while it is online. Its scans until then
/// name the former gate.
#[utoipa::path(patch, path = "/api/scanning/devices/{id}", tag = "organisers", request_body = DevicePatchRequest,
    params(("id" = String, Path, description = "Device")), extensions(("x-actions" = json!(["manage_devices"]))), responses(
    (status = 200, description = "Changed", body = DeviceView),
    (status = 404, description = "No such device"),
    (status = 409, description = "`device_is_revoked`: it must be paired again before it moves"),
))]
async fn update(
    State(state): State<AppState>,
    User(caller): User,
    Path(device_id): Path<DeviceId>,
    JsonBody(request): JsonBody<DevicePatchRequest>,
) -> Result<Json<DeviceView>> {
    let patch = DevicePatch { name: request.name, gate_id: request.gate_id };
    Ok(Json(devices::update(&state.app, &caller, device_id, patch).await?.into()))
}
