//! `POST /api/scanning/sync`: scans arrive (S1 §4; ARCHITECTURE.md §6 walk 2).

use admit_app::caller::DeviceCaller;
use admit_app::{devices, scans};
use admit_core::limits::{SYNC_V1_SCANS, SYNC_V2_SCANS};
use admit_core::wire::problem;
use admit_core::wire::scanning::SyncRequest;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{doc, upload};
use crate::auth::device::{Device, WitnessOf, tell_newest};
use crate::body::is_object;
use crate::error::{ApiError, Result};
use crate::events;
use crate::state::AppState;
use crate::telemetry::{OutcomeLabel, StatusLabel};

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(sync))
}

/// Uploads scans: at most 50 in S1's form, or 1,000 with `"format": 2`.
///
/// `processed` names every scan that is stored now, whether it was new or known. That confirms the scan. A malformed
/// request is refused as a whole, and a malformed scan alone. The same batch again gets the same bytes. The same id
/// with other content gets 409 `batch_id_reused`.
#[utoipa::path(post, path = "/api/scanning/sync", tag = "devices", security(("device_key" = [])),
    request_body = doc::SyncRequest, responses(
    (status = 200, description = "Stored", body = doc::SyncAnswer),
    (status = 401, description = "`device_mismatch`"),
    (status = 403, description = "`device_revoked` with `kept`, `rejected` and `quota_left`; `device_suspended` with `kept` and `rejected`"),
    (status = 409, description = "`batch_id_reused`"),
    (status = 429, description = "`rate_limited`, with Retry-After"),
    (status = 503, description = "`busy`, with Retry-After: too many uploads are being judged"),
))]
async fn sync(State(state): State<AppState>, Device(caller): Device, request: Request) -> Result<Response> {
    let started = state.app.clock.monotonic_ms();
    let result = match upload::read(&state, &caller, request, 1).await {
        Ok((body, judging)) => {
            let taken = intake(&state, &caller, body).await;
            drop(judging);
            taken
        }
        // An unreadable body counts as a failed sync.
        Err(error) => Err(error),
    };
    if let Err(error) = &result {
        note_failure(&state, &caller, error).await;
    }
    ended(&state, &result, started);
    let answer = result?;
    let mut response = answer.body.into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(head) = &answer.head {
        tell_newest(&state, &answer.event_id, head, &mut response);
    }
    response.extensions_mut().insert(WitnessOf(answer.event_id));
    Ok(response)
}

/// Counts and logs the result of an upload. Both sync routes call it.
pub fn ended(state: &AppState, result: &Result<scans::IngestAnswer>, started_mono_ms: i64) {
    let took_ms = (state.app.clock.monotonic_ms() - started_mono_ms).max(0).unsigned_abs();
    state.metrics.sync_seconds.observe(took_ms as f64 / 1_000.0);
    let status = match result {
        Ok(_) => "success",
        Err(error) if error.code() == "busy" => "busy",
        Err(error) if error.status().is_server_error() => "failed",
        Err(_) => "refused",
    };
    state.metrics.syncs.get_or_create(&StatusLabel { status }).inc();
    match result {
        Ok(answer) => {
            let scans::IngestAnswer { processed, rejected, conflicts, repeated, .. } = answer;
            let (event_id, found) = (answer.event_id.as_str(), *conflicts as u64);
            events::sync_success(event_id, *processed as u64, *rejected as u64, found, *repeated, took_ms);
            if !repeated {
                conflicts_found(state, event_id, found);
            }
        }
        Err(error) => events::sync_failed(error.status().as_u16().into(), error.code(), took_ms),
    }
}

/// Counts and logs the conflicts that scans caused. Every route for scans calls it.
pub fn conflicts_found(state: &AppState, event_id: &str, conflicts: u64) {
    state.metrics.conflicts.inc_by(conflicts);
    if conflicts > 0 {
        events::conflict_detected(event_id, conflicts);
    }
}

/// Counts answers of 400 and 409, which indicate a broken device (spec D19). Five in a row suspend the device.
/// `/api/scanning/sync` and `/api/scans/sync` call this function.
pub async fn note_failure(state: &AppState, caller: &DeviceCaller, error: &ApiError) {
    if !matches!(error.status(), StatusCode::BAD_REQUEST | StatusCode::CONFLICT) {
        return;
    }
    if let Err(failed) = devices::failed_sync(&state.app, caller, error.code()).await {
        tracing::warn!(event = "sync.failure_not_noted", %failed, "a failed sync was not noted");
    }
}

#[tracing::instrument(target = "admit::trace", name = "upload.judge", skip_all)]
async fn intake(state: &AppState, caller: &DeviceCaller, body: Bytes) -> Result<scans::IngestAnswer> {
    events::sync_attempt(body.len() as u64);
    is_object(&body)?;
    let wrong = |error: problem::FieldError| ApiError::field(error.path, error.message);
    let request: SyncRequest = problem::read(&body).map_err(wrong)?;
    request.check(SYNC_V1_SCANS, SYNC_V2_SCANS).map_err(wrong)?;
    let answer = scans::ingest_batch(&state.app, caller, request).await?;
    if !answer.repeated {
        count(state, &answer);
    }
    Ok(answer)
}

/// Counts and logs the scans that the server did not know before this batch.
fn count(state: &AppState, answer: &scans::IngestAnswer) {
    let event_id = answer.event_id.as_str();
    for outcome in &answer.heard {
        state.metrics.scans.get_or_create(&OutcomeLabel { outcome: outcome.as_str() }).inc();
        events::scan_local(event_id, outcome.as_str());
        events::scan_judged(event_id, "device", *outcome);
    }
    let rejected = answer.rejected as u64;
    state.metrics.scans.get_or_create(&OutcomeLabel { outcome: "rejected" }).inc_by(rejected);
}
