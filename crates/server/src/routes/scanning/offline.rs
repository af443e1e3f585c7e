//! `POST /api/scans/sync`: a batch of S2's form (S2 §3–§5).

use admit_app::caller::DeviceCaller;
use admit_app::scans;
use admit_core::limits::UPLOAD_S2_WEIGHT;
use admit_core::scan::Outcome;
use admit_core::wire::problem::FieldError;
use admit_core::wire::scans::ScansSyncRequest;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::sync::{ended, note_failure};
use super::{doc, upload};
use crate::auth::device::{Device, WitnessOf};
use crate::body::is_object;
use crate::error::{ApiError, Result};
use crate::events;
use crate::state::AppState;
use crate::telemetry::OutcomeLabel;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(sync))
}

/// Uploads up to 10,000 scans in S2's form, in one transaction.
///
/// Every scan is stored, and `errors` lists those that let nobody in. If one scan is malformed, the whole batch is
/// refused, and the error names the scan's path. The same batch again gets the stored answer and `message`. The same id
/// with other content gets 409 `batch_id_reused`. The request counts for the sync limit, together with
/// `/api/scanning/sync`.
#[utoipa::path(post, path = "/api/scans/sync", tag = "devices", security(("device_key" = [])),
    request_body = doc::ScansSyncRequest, responses(
    (status = 200, description = "Stored", body = doc::ScansSyncAnswer),
    (status = 400, description = "A field is wrong; `batch_too_old`"),
    (status = 401, description = "`device_mismatch`, `unknown_key`"),
    (status = 403, description = "`device_revoked` with `kept`, `rejected` and `quota_left`; `device_suspended` with `kept`"),
    (status = 409, description = "`batch_id_reused`"),
    (status = 413, description = "`body_too_large`, `body_too_deep`"),
    (status = 422, description = "`event_not_live`"),
    (status = 429, description = "`rate_limited`, with Retry-After"),
    (status = 503, description = "`busy`, with Retry-After: too many uploads are being judged"),
))]
async fn sync(State(state): State<AppState>, Device(caller): Device, request: Request) -> Result<Response> {
    let started = state.app.clock.monotonic_ms();
    let result = match upload::read(&state, &caller, request, UPLOAD_S2_WEIGHT).await {
        Ok((body, judging)) => {
            let taken = intake(&state, &caller, body).await;
            drop(judging);
            taken
        }
        // An unreadable body counts as a failed sync.
        Err(error) => Err(error),
    };
    ended(&state, &result, started);
    if let Err(error) = &result {
        note_failure(&state, &caller, error).await;
    }
    let answer = result?;
    let mut response = answer.body.into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.extensions_mut().insert(WitnessOf(answer.event_id));
    Ok(response)
}

#[tracing::instrument(target = "admit::trace", name = "upload.judge", skip_all)]
async fn intake(state: &AppState, caller: &DeviceCaller, body: Bytes) -> Result<scans::IngestAnswer> {
    events::sync_attempt(body.len() as u64);
    is_object(&body)?;
    let wrong = |error: FieldError| ApiError::field(error.path, error.message);
    let request = ScansSyncRequest::read(&body).map_err(wrong)?;
    let answer = scans::sync_offline(&state.app, caller, request).await?;
    if !answer.repeated {
        count(state, &answer);
    }
    Ok(answer)
}

/// Counts the scans for the metrics. S2's form has no outcome: a scan without an error counts as valid, one with an
/// error as not valid.
fn count(state: &AppState, answer: &scans::IngestAnswer) {
    let event_id = answer.event_id.as_str();
    for (outcome, scans) in [(Outcome::Valid, answer.processed), (Outcome::Invalid, answer.rejected)] {
        state.metrics.scans.get_or_create(&OutcomeLabel { outcome: outcome.as_str() }).inc_by(scans as u64);
        for _ in 0..scans {
            events::scan_local(event_id, Outcome::Valid.as_str());
            events::scan_judged(event_id, "device", outcome);
        }
    }
}
