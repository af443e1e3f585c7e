//! `POST …/heartbeat` and `POST /api/scanning/log-status`: a device's reports about itself and its log.

use admit_app::devices;
use admit_core::ids::EventId;
use admit_core::limits::{JSON_INTEGER, NAME_CHARS};
use admit_core::wire::scanning::{HeartbeatRequest, LogStatusAnswer, LogStatusRequest};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::doc;
use crate::auth::device::{Device, tell_newest};
use crate::body::{JsonBody, Path};
use crate::error::{ApiError, Result};
use crate::events;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(heartbeat)).routes(routes!(log_status))
}

/// A device reports its state, every 30 s while it is online.
///
/// The answer tells the device what changed for it. The path names the event to which the device was assigned, as far
/// as the device knows. The answer names the event to which it is assigned now.
#[utoipa::path(post, path = "/api/scanning/events/{id}/heartbeat", tag = "devices",
    params(("id" = String, Path, description = "Event")), security(("device_key" = [])),
    request_body = doc::HeartbeatRequest, responses(
    (status = 200, description = "The report is stored", body = doc::HeartbeatAnswer),
    (status = 403, description = "`device_revoked`"),
))]
async fn heartbeat(
    State(state): State<AppState>,
    Device(caller): Device,
    Path(_event_id): Path<EventId>,
    JsonBody(beat): JsonBody<HeartbeatRequest>,
) -> Result<Response> {
    check(&beat)?;
    let devices::Heard { answer, head, figures, verified } = devices::heartbeat(&state.app, &caller, beat).await?;
    let event_id = answer.event_id.clone();
    state.metrics.heartbeats.inc();
    if let Some(figures) = figures {
        state.metrics.add_figures(&figures);
    }
    if let Some(version) = verified {
        events::manifest_verified(event_id.as_str(), version);
    }
    let mut response = Json(answer).into_response();
    tell_newest(&state, &event_id, &head, &mut response);
    Ok(response)
}

/// The scans of a device's log that the server lacks.
///
/// A device asks for them after the server's epoch changed.
#[utoipa::path(post, path = "/api/scanning/log-status", tag = "devices", security(("device_key" = [])),
    request_body = doc::LogStatusRequest, responses(
    (status = 200, description = "Missing ranges, both ends included", body = doc::LogStatusAnswer),
))]
async fn log_status(
    State(state): State<AppState>,
    Device(caller): Device,
    JsonBody(request): JsonBody<LogStatusRequest>,
) -> Result<Json<LogStatusAnswer>> {
    at_most("head", request.head)?;
    Ok(Json(devices::log_status(&state.app, &caller, request).await?))
}

fn check(beat: &HeartbeatRequest) -> Result<()> {
    at_most("head", beat.head)?;
    at_most("pending", beat.pending)?;
    at_most("manifest_version", beat.manifest_version)?;
    if beat.battery.is_some_and(|percent| percent > 100) {
        return Err(ApiError::field("battery", "must be 0 to 100"));
    }
    if let Some(text) = &beat.app_version {
        if text.chars().count() > NAME_CHARS {
            return Err(ApiError::field("app_version", format!("must be at most {NAME_CHARS} characters")));
        }
        if text.chars().any(char::is_control) {
            return Err(ApiError::field("app_version", "must not hold control characters"));
        }
    }
    if let Some(figures) = &beat.figures {
        figures.check().map_err(|error| ApiError::field(error.path, error.message))?;
    }
    if beat.clock_offset_ms.is_some_and(|ms| ms.unsigned_abs() > JSON_INTEGER) {
        return Err(ApiError::field("clock_offset_ms", format!("must lie between -{JSON_INTEGER} and {JSON_INTEGER}")));
    }
    Ok(())
}

/// Refuses a number above 2^53 − 1, which other JSON readers would round.
pub fn at_most(path: &str, value: u64) -> Result<()> {
    if value > JSON_INTEGER { Err(ApiError::field(path, format!("must be at most {JSON_INTEGER}"))) } else { Ok(()) }
}
