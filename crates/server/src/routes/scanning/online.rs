//! `POST /api/scans`: a device asks the server before its door opens (S2 §2, spec §5).

use admit_app::ports::TRACES;
use admit_app::scans;
use admit_core::scan::Outcome;
use admit_core::wire::problem::FieldError;
use admit_core::wire::scans::OnlineRequest;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, HeaderValue};
use tracing::Instrument as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::doc;
use crate::auth::device::{Device, WitnessOf, tell_newest};
use crate::body::{RawJson, is_object};
use crate::error::{ApiError, Result};
use crate::events;
use crate::state::AppState;
use crate::telemetry::OutcomeLabel;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(scan))
}

/// Asks the server about one scan, in S2's form or as a signed claim.
///
/// The server judges the scan by the present rules and stores it. The same scan again gets the first answer. The sync
/// limit does not include these requests. After too many unknown codes in a minute, every request gets 429.
#[utoipa::path(post, path = "/api/scans", tag = "devices", security(("device_key" = [])),
    request_body = doc::OnlineRequest, responses(
    (status = 200, description = "Stored, with the server's verdict", body = doc::OnlineAnswer),
    (status = 401, description = "`device_mismatch`, `unknown_key`"),
    (status = 403, description = "`device_revoked`, `device_suspended`, `device_not_assigned`"),
    (status = 404, description = "No such event"),
    (status = 422, description = "`event_not_live`"),
    (status = 429, description = "`rate_limited`, with Retry-After"),
))]
async fn scan(State(state): State<AppState>, Device(caller): Device, RawJson(body): RawJson) -> Result<Response> {
    is_object(&body)?;
    let wrong = |error: FieldError| ApiError::field(error.path, error.message);
    let request = OnlineRequest::read(&body).map_err(wrong)?;
    let span = tracing::info_span!(target: TRACES, "upload.judge");
    let answer = scans::judge_online(&state.app, &caller, request).instrument(span).await?;
    if !answer.repeated {
        let outcome = outcome_of(&answer.body);
        state.metrics.scans.get_or_create(&OutcomeLabel { outcome: outcome.as_str() }).inc();
        events::scan_judged(answer.event_id.as_str(), "server", outcome);
    }
    let mut response = answer.body.into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(head) = &answer.head {
        tell_newest(&state, &answer.event_id, head, &mut response);
    }
    response.extensions_mut().insert(WitnessOf(answer.event_id));
    Ok(response)
}

/// The outcome in an answer, as the core's type.
fn outcome_of(answer: &str) -> Outcome {
    #[derive(serde::Deserialize)]
    struct Only {
        outcome: Outcome,
    }
    serde_json::from_str::<Only>(answer).map_or(Outcome::Invalid, |only| only.outcome)
}
