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

/// Where a device is to scan.
#[derive(Deserialize, ToSchema)]
struct PairingTokenRequest {
    gate_id: GateId,
    /// Devices it may pair; 1 where absent.
    uses: Option<u32>,
    /// How long it is good, in minutes, such as for a printed sheet: 1 to 1,440; 5 where absent.
    minutes: Option<u32>,
}

/// A pairing token.
#[derive(Serialize, ToSchema)]
pub struct PairingTokenView {
    /// Its text, shown this once.
    pairing_token: String,
    /// The link for the QR; the token stands in its fragment, which no server sees.
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

/// Makes a pairing token, good for five minutes where the request does not say how long.
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
