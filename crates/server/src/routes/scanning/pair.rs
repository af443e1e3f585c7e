//! `POST /api/scanning/pair` (S1 §8.1, spec D11).

use admit_app::devices::{self, PairCommand};
use admit_core::limits::{ID_CHARS, NAME_CHARS};
use admit_core::wire::scanning::{PairAnswer, PairRequest};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::doc;
use crate::auth::device::add_witness;
use crate::auth::token;
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(pair))
}

/// Pairs a device with the token from the organiser's screen.
///
/// The key is shown this once. A repeat with the same token and device within 5 minutes, before the key's first use,
/// gets a fresh key and ends the former. A device that was paired before brings its key as bearer.
#[utoipa::path(post, path = "/api/scanning/pair", tag = "devices", request_body = doc::PairRequest, responses(
    (status = 200, description = "Paired", body = doc::PairAnswer),
    (status = 404, description = "No such token", body = crate::openapi::ProblemDoc, content_type = "application/problem+json"),
    (status = 409, description = "`device_id_taken`", body = crate::openapi::ProblemDoc, content_type = "application/problem+json"),
    (status = 410, description = "`pairing_token_used`, `pairing_token_expired`", body = crate::openapi::ProblemDoc, content_type = "application/problem+json"),
))]
async fn pair(
    State(state): State<AppState>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<PairRequest>,
) -> Result<Response> {
    check(&request)?;
    let paired = devices::pair(
        &state.app,
        PairCommand {
            pairing_token: request.pairing_token,
            device_id: request.device_id,
            name: request.name,
            device_type: request.device_type.map(|one| one.as_str().to_owned()),
            api_key: token::bearer(&headers).map(str::to_owned),
        },
    )
    .await?;
    state.metrics.pairings.inc();
    tracing::info!(event = "device.paired", event_id = %paired.event_id, gate_id = %paired.gate_id, "device paired");
    let answer = PairAnswer {
        device_id: paired.device_id,
        api_key: paired.api_key,
        key_id: paired.key_id,
        organization_id: paired.organization_id.clone(),
        event_id: paired.event_id.clone(),
        gate_id: paired.gate_id,
        epoch: paired.epoch,
    };
    let mut response = Json(answer).into_response();
    add_witness(&state, &paired.organization_id, &paired.event_id, response.headers_mut()).await;
    Ok(response)
}

fn check(request: &PairRequest) -> Result<()> {
    let texts = [
        ("pairing_token", Some(&request.pairing_token), ID_CHARS),
        ("name", request.name.as_ref(), NAME_CHARS),
        ("app_version", request.app_version.as_ref(), NAME_CHARS),
    ];
    for (path, text, most) in texts {
        if text.is_some_and(|text| text.chars().count() > most) {
            return Err(ApiError::field(path, format!("must be at most {most} characters")));
        }
    }
    if request.pairing_token.trim().is_empty() {
        return Err(ApiError::field("pairing_token", "must not be empty"));
    }
    Ok(())
}
