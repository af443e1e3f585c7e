//! `/api/events/{id}/pairing-tokens` (spec D11 way (a)).

use admit_app::pairing_tokens::{self, NewPairingToken};
use admit_core::ids::{EventId, GateId};
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::user::User;
use crate::body::{JsonBody, Path};
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(create))
}

/// The gate for which a pairing token is made, and the token's limits.
#[derive(Deserialize, ToSchema)]
struct PairingTokenRequest {
    /// The gate at which the paired devices will scan.
    gate_id: GateId,
    /// Number of devices that the token may pair. 1 if absent.
    uses: Option<u32>,
    /// How long the token is valid, in minutes, 1 to 1,440. 5 if absent. A printed sheet needs a longer time.
    minutes: Option<u32>,
}

/// A pairing token.
#[derive(Serialize, ToSchema)]
pub struct PairingTokenView {
    /// The token's text. It is shown only in this answer.
    pairing_token: String,
    /// The link for the QR code. The token is in the link's fragment, which browsers do not send to servers.
    url: String,
    expires_at: Timestamp,
}

impl PairingTokenView {
    /// A token and its link, as this request's sender reaches the server.
    pub fn of(state: &AppState, headers: &HeaderMap, made: NewPairingToken) -> Self {
        let url = format!("{}/scan/#pair={}", state.settings.base_url(headers), made.pairing_token);
        Self { pairing_token: made.pairing_token, url, expires_at: made.expires_at }
    }
}

/// Makes a pairing token. It is valid for five minutes unless the request gives another time.
#[utoipa::path(post, path = "/api/events/{id}/pairing-tokens", tag = "organisers", request_body = PairingTokenRequest,
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["manage_devices"]))), responses(
    (status = 201, description = "Made", body = PairingTokenView),
))]
async fn create(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<PairingTokenRequest>,
) -> Result<(StatusCode, Json<PairingTokenView>)> {
    let PairingTokenRequest { gate_id, uses, minutes } = request;
    let made = pairing_tokens::create_for(&state.app, &caller, event_id, gate_id, uses, minutes).await?;
    Ok((StatusCode::CREATED, Json(PairingTokenView::of(&state, &headers, made))))
}
