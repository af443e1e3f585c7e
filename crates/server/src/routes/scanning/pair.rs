//! `POST /api/scanning/pair`, `POST /api/scanning/pairing-place` and `POST /api/scanning/pairing-requests` (S1 §8.1,
//! spec D11).

use admit_app::devices::{self, Claimed, PairCommand, PairedDevice, RequestPairing};
use admit_app::error::Error;
use admit_app::pairing_tokens;
use admit_core::limits::{ID_CHARS, NAME_CHARS};
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{PairAnswer, PairRequest, PairingAsk, PairingTicket};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
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
    OpenApiRouter::new().routes(routes!(pair)).routes(routes!(place)).routes(routes!(ask))
}

/// Pairs a device with a token from the organiser's screen, or with its own token after an organiser's approval.
///
/// The key is shown only in this answer. Before the key's first use, the same token and device may repeat the request
/// within 5 minutes. The answer then has a new key, and the former one ends. A device that was paired before sends its
/// key as bearer, or asks for approval. With its own token a device also sends the claim secret. Until somebody
/// approves, the answer is 202.
#[utoipa::path(post, path = "/api/scanning/pair", tag = "devices", request_body = doc::PairRequest, responses(
    (status = 200, description = "Paired", body = doc::PairAnswer),
    (status = 202, description = "Nobody approved it yet: ask again", body = doc::PairingWaiting),
    (status = 404, description = "No such token, or not with this claim secret"),
    (status = 409, description = "`device_id_taken`"),
    (status = 410, description = "`pairing_token_used`, `pairing_token_expired`"),
    (status = 429, description = "`rate_limited`: too many wrong tokens from this address, with Retry-After"),
))]
async fn pair(
    State(state): State<AppState>,
    Client(address): Client,
    headers: HeaderMap,
    JsonBody(request): JsonBody<PairRequest>,
) -> Result<Response> {
    check(&request)?;
    let now_ms = state.app.clock.monotonic_ms();
    if let Some(retry_after_ms) = state.pairing_looks.must_wait(address, now_ms) {
        return Err(Error::Later { code: "rate_limited", retry_after_ms }.into());
    }
    state.pairing_looks.count(address, now_ms);
    let answer = paired(&state, &headers, request).await;
    if !answer.as_ref().is_err_and(|error| error.status() == StatusCode::NOT_FOUND) {
        state.pairing_looks.forgive(address);
    }
    answer
}

/// Pairs a device after the limit of its address was checked.
async fn paired(state: &AppState, headers: &HeaderMap, request: PairRequest) -> Result<Response> {
    let claim_secret = request.claim_secret;
    let command = PairCommand {
        pairing_token: request.pairing_token,
        device_id: request.device_id,
        name: request.name,
        device_type: request.device_type.map(|one| one.as_str().to_owned()),
        api_key: token::bearer(headers).map(str::to_owned),
    };
    // The server may have been rolled back since the device was paired. So its witness is checked, as on every device
    // route.
    if let Some(organization_id) = devices::organization_of(&state.app, &command).await? {
        look_at_witness(state, &organization_id, headers).await?;
    }
    let claimed = match claim_secret {
        Some(secret) => devices::claim(&state.app, command, &secret).await,
        None => devices::pair(&state.app, command).await.map(Claimed::Paired),
    };
    match claimed {
        Ok(Claimed::Paired(paired)) => Ok(answer(state, paired).await),
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
        name: Some(paired.name),
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
        ("claim_secret", request.claim_secret.as_ref(), ID_CHARS),
        ("name", request.name.as_ref(), NAME_CHARS),
        ("app_version", request.app_version.as_ref(), NAME_CHARS),
    ];
    for (path, text, most) in texts {
        if text.is_some_and(|text| text.chars().count() > most) {
            return Err(ApiError::field(path, format!("must be at most {most} characters")));
        }
    }
    check_token(&request.pairing_token)
}

fn check_token(pairing_token: &str) -> Result<()> {
    if pairing_token.chars().count() > ID_CHARS {
        return Err(ApiError::field("pairing_token", format!("must be at most {ID_CHARS} characters")));
    }
    if pairing_token.trim().is_empty() {
        return Err(ApiError::field("pairing_token", "must not be empty"));
    }
    Ok(())
}

/// A pairing token that a device asks about.
#[derive(Deserialize, ToSchema)]
struct PlaceRequest {
    /// The token from the organiser's screen or printed sheet.
    pairing_token: String,
}

/// The event and gate to which a token would pair a device.
#[derive(Serialize, ToSchema)]
struct PlaceView {
    event_id: String,
    event_name: String,
    gate_id: String,
    gate_name: String,
    /// A name that no device of the event has: the gate's name and a number. If another device takes it meanwhile,
    /// `/api/scanning/pair` gives the next free name.
    device_name: String,
    /// When the token expires.
    expires_at: Timestamp,
}

/// Shows the event and gate of a pairing token, and a free name for the device. It does not use the token up.
#[utoipa::path(post, path = "/api/scanning/pairing-place", tag = "devices", request_body = PlaceRequest, responses(
    (status = 200, description = "The token is valid", body = PlaceView),
    (status = 404, description = "No such token, or one of a device's own request"),
    (status = 410, description = "`pairing_token_used`, `pairing_token_expired`"),
    (status = 429, description = "`rate_limited`: too many wrong tokens from this address, with Retry-After"),
))]
async fn place(
    State(state): State<AppState>,
    Client(address): Client,
    JsonBody(request): JsonBody<PlaceRequest>,
) -> Result<Json<PlaceView>> {
    check_token(&request.pairing_token)?;
    let now_ms = state.app.clock.monotonic_ms();
    if let Some(retry_after_ms) = state.pairing_looks.must_wait(address, now_ms) {
        return Err(Error::Later { code: "rate_limited", retry_after_ms }.into());
    }
    // The attempt is counted before its result is known, so parallel attempts gain nothing. All phones of a hall share
    // an address, so a known token is not counted as a guess.
    state.pairing_looks.count(address, now_ms);
    let found = pairing_tokens::show(&state.app, &request.pairing_token).await;
    if !matches!(found, Err(Error::NotFound { .. })) {
        state.pairing_looks.forgive(address);
    }
    let found = found?;
    Ok(Json(PlaceView {
        event_id: found.event_id.to_string(),
        event_name: found.event_name,
        gate_id: found.gate_id.to_string(),
        gate_name: found.gate_name,
        device_name: found.device_name,
        expires_at: found.expires_at,
    }))
}

/// Makes a pairing request for a device. The device shows the token, and an organiser approves it.
///
/// The token alone is not enough: `/api/scanning/pair` also needs the claim secret, which the device shows to nobody.
/// Both are valid for five minutes.
#[utoipa::path(post, path = "/api/scanning/pairing-requests", tag = "devices", request_body = doc::PairingAsk, responses(
    (status = 201, description = "Stored. Ask `/api/scanning/pair` until somebody approves", body = doc::PairingTicket),
    (status = 429, description = "`rate_limited`: too many from this address, with Retry-After"),
    (status = 503, description = "`too_many_pairing_requests`, with Retry-After"),
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
