//! Routes for an organiser's decisions about a device's right to upload (spec D10, D19, §3 "Log", §5 `rotate-key`).
//! They give a new key, resume a suspended device, and count what is in quarantine. They also close a log that no
//! device uploads any more, and import a saved log.

use admit_app::devices::{self, ImportedLog};
use admit_core::ids::{DeviceId, EventId, LogId};
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::pairing_tokens::PairingTokenView;
use crate::auth::user::User;
use crate::body::{LinesBody, Path, Query};
use crate::error::{ApiError, Result};
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(rotate_key))
        .routes(routes!(resume))
        .routes(routes!(ring))
        .routes(routes!(accept))
        .routes(routes!(take_back))
        .routes(routes!(close_log))
        .routes(routes!(import_log))
}

/// The result of accepting a device's waiting scans.
#[derive(Serialize, ToSchema)]
struct CountedView {
    id: String,
    /// Number of scans that count now.
    counted: usize,
    /// Number of scans that still wait for review, because nothing proves that the device made them.
    waiting: usize,
}

/// The result of taking accepted scans back.
#[derive(Serialize, ToSchema)]
struct TakenBackView {
    id: String,
    /// Number of scans that counted by a person's decision and now wait for review again.
    waiting: usize,
}

/// A device that was suspended and may send scans again.
#[derive(Serialize, ToSchema)]
struct ResumedView {
    id: String,
    /// The device's new state: always `active`.
    state: &'static str,
    /// Number of held scans that count now.
    counted: usize,
    /// Number of scans that still wait for review, because nothing proves that the device made them.
    waiting: usize,
}

/// A device's log that a person closed.
#[derive(Serialize, ToSchema)]
struct ClosedLogView {
    log_id: String,
    /// The highest `seq` of the log that the device reported.
    head: u64,
    /// When the log was closed.
    closed_at: Option<Timestamp>,
}

/// A line of a saved log that was not imported.
#[derive(Serialize, ToSchema)]
struct WrongLineView {
    /// The line's number in the file, from 1.
    line: usize,
    /// The fault of the line, in words.
    message: String,
}

/// The result of importing a saved log.
#[derive(Serialize, ToSchema)]
struct ImportedLogView {
    /// Number of scans that were not stored before.
    stored: usize,
    /// Number of scans that were stored before.
    known: usize,
    /// Number of proven scans of the file that do not count until a person accepts them. Import the file again with
    /// `accept=1` to accept them.
    waiting: usize,
    /// Number of waiting scans of the file without a proof that their device made them. They stay in the review queue.
    unproven: usize,
    /// Number of scans that count because of this import.
    counted: usize,
    /// Number of lines that were not imported.
    wrong_lines: usize,
    /// The lines that were not imported, at most the first 1,000.
    errors: Vec<WrongLineView>,
}

impl From<ImportedLog> for ImportedLogView {
    fn from(one: ImportedLog) -> Self {
        let wrong = |one: devices::import_log::WrongLine| WrongLineView { line: one.line, message: one.message };
        Self {
            stored: one.stored,
            known: one.known,
            waiting: one.waiting,
            unproven: one.unproven,
            counted: one.counted,
            wrong_lines: one.wrong_lines,
            errors: one.errors.into_iter().map(wrong).collect(),
        }
    }
}

#[derive(Deserialize)]
struct ImportQuery {
    accept: Option<String>,
}

/// Makes a token that gives one device a new key.
///
/// No other device can use the token. The old key stays valid for one hour after the new key's first use.
#[utoipa::path(post, path = "/api/scanning/devices/{id}/rotate-key", tag = "organisers",
    params(("id" = String, Path, description = "Device")), extensions(("x-actions" = json!(["manage_devices"]))), responses(
    (status = 201, description = "Made", body = PairingTokenView),
    (status = 404, description = "No such device"),
    (status = 409, description = "`device_revoked`"),
))]
async fn rotate_key(
    State(state): State<AppState>,
    User(caller): User,
    Path(device_id): Path<DeviceId>,
    headers: HeaderMap,
) -> Result<(StatusCode, Json<PairingTokenView>)> {
    let made = devices::rotate_key(&state.app, &caller, device_id).await?;
    Ok((StatusCode::CREATED, Json(PairingTokenView::of(&state, &headers, made))))
}

/// The answer to a request that makes a device ring.
#[derive(Serialize, ToSchema)]
struct RingView {
    id: String,
    /// When this request made the device ring.
    rung_at: Timestamp,
}

/// Makes a device ring, so that staff find it.
///
/// The device sounds, vibrates and shows that an organiser looks for it. It learns of this by its next heartbeat,
/// within 30 seconds while it is online. If no heartbeat comes within two minutes, the device does not ring.
#[utoipa::path(post, path = "/api/scanning/devices/{id}/ring", tag = "organisers",
    params(("id" = String, Path, description = "Device")), extensions(("x-actions" = json!(["manage_devices"]))), responses(
    (status = 200, description = "The device will ring", body = RingView),
    (status = 404, description = "No such device"),
    (status = 409, description = "`device_revoked`"),
))]
async fn ring(
    State(state): State<AppState>,
    User(caller): User,
    Path(device_id): Path<DeviceId>,
) -> Result<Json<RingView>> {
    let device = devices::ring(&state.app, &caller, device_id).await?;
    let rung_at = device.rung_at.unwrap_or(device.created_at);
    Ok(Json(RingView { id: device.device_id.to_string(), rung_at }))
}

/// Lets a suspended device send scans again, and counts its held scans.
#[utoipa::path(post, path = "/api/scanning/devices/{id}/resume", tag = "organisers",
    params(("id" = String, Path, description = "Device")), extensions(("x-actions" = json!(["manage_devices"]))), responses(
    (status = 200, description = "The device is active again", body = ResumedView),
    (status = 404, description = "No such device"),
    (status = 409, description = "`device_revoked`"),
))]
async fn resume(
    State(state): State<AppState>,
    User(caller): User,
    Path(device_id): Path<DeviceId>,
) -> Result<Json<ResumedView>> {
    let (device, accepted) = devices::resume(&state.app, &caller, device_id).await?;
    let (counted, waiting) = (accepted.counted, accepted.waiting);
    Ok(Json(ResumedView { id: device.device_id.to_string(), state: device.state.as_str(), counted, waiting }))
}

/// Counts every proven scan of a device that waits for review.
///
/// These are scans that arrived while the device was revoked or suspended, and scans since it was lost.
#[utoipa::path(post, path = "/api/scanning/devices/{id}/accept", tag = "organisers",
    params(("id" = String, Path, description = "Device")), extensions(("x-actions" = json!(["review"]))), responses(
    (status = 200, description = "Counted", body = CountedView),
    (status = 404, description = "No such device"),
))]
async fn accept(
    State(state): State<AppState>,
    User(caller): User,
    Path(device_id): Path<DeviceId>,
) -> Result<Json<CountedView>> {
    let accepted = devices::accept(&state.app, &caller, device_id.clone()).await?;
    Ok(Json(CountedView { id: device_id.to_string(), counted: accepted.counted, waiting: accepted.waiting }))
}

/// Takes back every accepted scan of a device. These scans wait for review again.
///
/// It does not matter which person accepted a scan, or by which request.
#[utoipa::path(post, path = "/api/scanning/devices/{id}/take-back", tag = "organisers",
    params(("id" = String, Path, description = "Device")), extensions(("x-actions" = json!(["review"]))), responses(
    (status = 200, description = "Taken back", body = TakenBackView),
    (status = 404, description = "No such device"),
))]
async fn take_back(
    State(state): State<AppState>,
    User(caller): User,
    Path(device_id): Path<DeviceId>,
) -> Result<Json<TakenBackView>> {
    let waiting = devices::take_back(&state.app, &caller, device_id.clone()).await?;
    Ok(Json(TakenBackView { id: device_id.to_string(), waiting }))
}

/// Closes a log that no device will send any more.
///
/// Its missing scans stay on record, and the server no longer waits for them.
#[utoipa::path(post, path = "/api/scanning/devices/{id}/logs/{log_id}/close", tag = "organisers",
    params(("id" = String, Path, description = "Device"), ("log_id" = String, Path, description = "Log")),
    extensions(("x-actions" = json!(["manage_devices"]))), responses(
    (status = 200, description = "Closed", body = ClosedLogView),
    (status = 404, description = "No such log"),
))]
async fn close_log(
    State(state): State<AppState>,
    User(caller): User,
    Path((device_id, log_id)): Path<(DeviceId, LogId)>,
) -> Result<Json<ClosedLogView>> {
    let log = devices::close_log(&state.app, &caller, device_id, log_id).await?;
    Ok(Json(ClosedLogView { log_id: log.log_id.to_string(), head: log.head, closed_at: log.closed_at }))
}

/// Imports a log that a device saved as a file, with one scan in Admit's own form per line.
///
/// Each scan carries the signature of its device. So it is proven, whoever imports the file. A scan of a revoked or
/// suspended device waits for review. With `accept=1` the waiting scans of this file count. Importing the same file
/// twice changes nothing.
#[utoipa::path(post, path = "/api/events/{id}/scans/import", tag = "organisers",
    request_body(content = String, content_type = "application/x-ndjson"), params(
        ("id" = String, Path, description = "Event"),
        ("accept" = Option<String>, Query, description = "`1`: count the waiting scans of this file"),
    ), extensions(("x-actions" = json!(["manage_devices"]))), responses(
    (status = 200, description = "Done", body = ImportedLogView),
    (status = 400, description = "The file cannot be read"),
))]
async fn import_log(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    Query(query): Query<ImportQuery>,
    LinesBody(file): LinesBody,
) -> Result<Json<ImportedLogView>> {
    let accept = match query.accept.as_deref() {
        None | Some("0" | "false") => false,
        Some("1" | "true") => true,
        Some(_) => return Err(ApiError::field("accept", "must be 1 or 0")),
    };
    Ok(Json(devices::import_log(&state.app, &caller, event_id, &file, accept).await?.into()))
}
