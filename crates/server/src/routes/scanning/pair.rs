//! `POST /api/scanning/pair` and `POST /api/scanning/pairing-requests` (S1 §8.1, spec D11).

use admit_app::devices::{self, Claimed, PairCommand, PairedDevice, RequestPairing};
use admit_app::error::Error;
use admit_core::limits::{ID_CHARS, NAME_CHARS};
use admit_core::wire::scanning::{PairAnswer, PairRequest, PairingAsk, PairingTicket};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::doc;
use crate::auth::device::{add_witness, look_at_witness};
use crate::auth::peer::Client;
use crate::auth::token;
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::events;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(pair)).routes(routes!(ask))
}

/// Pairs a device with the token from the organiser's screen, or with its own once an organiser approved it.
///
/// The key is shown this once. A repeat with the same token and device within 5 minutes, before the key's first use,
/// gets a fresh key and ends the former. A device that was paired before brings its key as bearer, or asks for itself
/// and is approved. With a token of its own it brings the claim secret too, and hears 202 until somebody approved.
#[utoipa::path(post, path = "/api/scanning/pair", tag = "devices", request_body = doc::PairRequest, responses(
    (status = 200, description = "Paired", body = doc::PairAnswer),
    (status = 202, description = "Nobody approved it yet: ask again", body = doc::PairingWaiting),
    (status = 400, description = "A field is wrong", body = crate::openapi::ProblemDoc, content_type = "application/problem+json"),
    (status = 404, description = "No such token, or not with this claim secret", body = crate::openapi::ProblemDoc, content_type = "application/problem+json"),
    (status = 409, description = "`device_id_taken`", body = crate::openapi::ProblemDoc, content_type = "application/problem+json"),
    (status = 410, description = "`pairing_token_used`, `pairing_token_expired`", body = crate::openapi::ProblemDoc, content_type = "application/problem+json"),
))]
async fn pair(
    State(state): State<AppState>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<PairRequest>,
) -> Result<Response> {
    check(&request)?;
    let claim_secret = request.claim_secret;
    let command = PairCommand {
        pairing_token: request.pairing_token,
        device_id: request.device_id,
        name: request.name,
        device_type: request.device_type.map(|one| one.as_str().to_owned()),
        api_key: token::bearer(&headers).map(str::to_owned),
    };
    // A device may come back to a server that was rolled back: its witness is looked at as on every device route.
    if let Some(organization_id) = devices::organization_of(&state.app, &command).await? {
        look_at_witness(&state, &organization_id, &headers).await?;
    }
    let claimed = match claim_secret {
        Some(secret) => devices::claim(&state.app, command, &secret).await,
        None => devices::pair(&state.app, command).await.map(Claimed::Paired),
    };
    match claimed {
        Ok(Claimed::Paired(paired)) => Ok(answer(&state, paired).await),
        Ok(Claimed::Waiting { expires_at }) => {
            let body = serde_json::json!({ "status": "waiting", "expires_at": expires_at });
            Ok((StatusCode::ACCEPTED, Json(body)).into_response())
        }
        Err(error) => {
            if let Error::Gone { code: "pairing_token_used", .. } | Error::Conflict { .. } = &error {
                tracing::warn!(event = "pairing.refused", %error, "a pairing was refused");
            }
            Err(error.into())
        }
    }
}

async fn answer(state: &AppState, paired: PairedDevice) -> Response {
    state.metrics.pairings.inc();
    events::device_paired(paired.event_id.as_str(), paired.gate_id.as_str());
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
    add_witness(state, &paired.organization_id, &paired.event_id, response.headers_mut()).await;
    response
}

fn check(request: &PairRequest) -> Result<()> {
    let texts = [
        ("pairing_token", Some(&request.pairing_token), ID_CHARS),
        ("claim_secret", request.claim_secret.as_ref(), ID_CHARS),
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

/// A device asks to be let in: it shows the token, and an organiser approves it.
///
/// The token alone opens nothing: `/api/scanning/pair` wants the claim secret with it, which the device keeps to
/// itself. Both are good for five minutes.
#[utoipa::path(post, path = "/api/scanning/pairing-requests", tag = "devices", request_body = doc::PairingAsk, responses(
    (status = 201, description = "Noted: ask `/api/scanning/pair` until somebody approved", body = doc::PairingTicket),
    (status = 400, description = "A field is wrong", body = crate::openapi::ProblemDoc, content_type = "application/problem+json"),
    (status = 429, description = "`rate_limited`: too many from this address, with Retry-After", body = crate::openapi::ProblemDoc, content_type = "application/problem+json"),
    (status = 503, description = "`too_many_pairing_requests`, with Retry-After", body = crate::openapi::ProblemDoc, content_type = "application/problem+json"),
))]
async fn ask(
    State(state): State<AppState>,
    Client(address): Client,
    JsonBody(request): JsonBody<PairingAsk>,
) -> Result<(StatusCode, Json<PairingTicket>)> {
    let wish = RequestPairing {
        device_id: request.device_id,
        name: request.name,
        device_type: request.device_type.map(|one| one.as_str().to_owned()),
    };
    let now_ms = state.app.clock.monotonic_ms();
    if let Some(retry_after_ms) = state.pairing_asks.must_wait(address, now_ms) {
        return Err(Error::Later { code: "rate_limited", retry_after_ms }.into());
    }
    state.pairing_asks.count(address, now_ms);
    let made = devices::request_pairing(&state.app, wish).await?;
    let devices::PairingTicket { pairing_token, claim_secret, expires_at } = made;
    Ok((StatusCode::CREATED, Json(PairingTicket { pairing_token, claim_secret, expires_at })))
}
