//! `/api/pairing-requests/{token}`: devices that asked to be paired (spec D11 way (b)).

use admit_app::devices::{self, PairingRequest};
use admit_core::ids::{EventId, GateId};
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::{FromRequest, Request, State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::devices::no_body;
use crate::auth::user::User;
use crate::body::{JsonBody, Path};
use crate::error::{ApiError, Result};
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(show)).routes(routes!(approve))
}

/// A device that asks to be paired.
#[derive(Serialize, ToSchema)]
struct PairingRequestView {
    device_id: String,
    /// The name that the device gives itself. It may be empty.
    name: String,
    /// `ipad`, `phone`, `desktop` or `terminal`.
    device_type: String,
    /// When the request expires.
    expires_at: Timestamp,
    /// The state of the device, if the organisation knows it already: `active`, `suspended` or `revoked`. Absent for a
    /// new device.
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<&'static str>,
    /// The time since which the known device is believed lost. Approving it then needs `found`. Absent if it is not
    /// lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_since: Option<Timestamp>,
    /// The event to which the known device is assigned. Absent for a new device.
    #[serde(skip_serializing_if = "Option::is_none")]
    event_id: Option<String>,
    /// The gate to which the known device is assigned. Absent for a new device.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate_id: Option<String>,
    /// Whether somebody of this organisation has approved the request.
    approved: bool,
}

impl From<PairingRequest> for PairingRequestView {
    fn from(one: PairingRequest) -> Self {
        let known = one.known;
        Self {
            device_id: one.device_id.to_string(),
            name: one.name,
            device_type: one.device_type,
            expires_at: one.expires_at,
            lost_since: known.as_ref().and_then(|device| device.lost_since),
            event_id: known.as_ref().map(|device| device.event_id.to_string()),
            gate_id: known.as_ref().map(|device| device.gate_id.to_string()),
            known: known.map(|device| device.state.as_str()),
            approved: one.approved,
        }
    }
}

/// The place where an approved device will scan. For a known device, event and gate may be absent: the device then
/// keeps those that it has.
#[derive(Default, Deserialize, ToSchema)]
struct ApproveRequest {
    /// The event to scan for. Absent only for a known device.
    event_id: Option<EventId>,
    /// The gate to scan at. Absent only for a known device.
    gate_id: Option<GateId>,
    /// True if the device was believed lost and is found. Its scans count from now on. Scans from the time it was lost
    /// still wait for review.
    #[serde(default)]
    found: bool,
}

/// A device whose pairing request was approved.
#[derive(Serialize, ToSchema)]
struct ApprovedView {
    device_id: String,
    /// The name that the device gives itself. It may be empty.
    name: String,
    event_id: String,
    gate_id: String,
}

/// The pairing request behind the token that a device shows.
#[utoipa::path(get, path = "/api/pairing-requests/{token}", tag = "organisers",
    params(("token" = String, Path, description = "The token that the device shows")),
    extensions(("x-actions" = json!(["manage_devices"]))), responses(
    (status = 200, description = "The request", body = PairingRequestView),
    (status = 404, description = "No such request, or another organisation approved it"),
    (status = 410, description = "`pairing_token_expired`"),
))]
async fn show(
    State(state): State<AppState>,
    User(caller): User,
    Path(token): Path<String>,
) -> Result<Json<PairingRequestView>> {
    Ok(Json(devices::show_request(&state.app, &caller, &token).await?.into()))
}

/// Approves a device that asked to be paired.
///
/// This also works for a device that lost its key, was revoked, or is found again. Its log then continues.
#[utoipa::path(post, path = "/api/pairing-requests/{token}/approve", tag = "organisers",
    request_body(content = ApproveRequest, description = "The body is optional for a device that the organisation knows already"),
    params(("token" = String, Path, description = "The token that the device shows")),
    extensions(("x-actions" = json!(["manage_devices"]))), responses(
    (status = 200, description = "Approved. The device can now fetch its key", body = ApprovedView),
    (status = 404, description = "No such request, or another organisation approved it"),
    (status = 409, description = "`already_approved`, `device_lost`"),
    (status = 410, description = "`pairing_token_expired`"),
))]
async fn approve(
    State(state): State<AppState>,
    User(caller): User,
    Path(token): Path<String>,
    request: Request,
) -> Result<Json<ApprovedView>> {
    let body = if no_body(request.headers()) {
        ApproveRequest::default()
    } else {
        JsonBody::<ApproveRequest>::from_request(request, &state).await?.0
    };
    let place = match (body.event_id, body.gate_id) {
        (Some(event_id), Some(gate_id)) => Some((event_id, gate_id)),
        (None, None) => None,
        (Some(_), None) => return Err(ApiError::field("gate_id", "must be given together with event_id")),
        (None, Some(_)) => return Err(ApiError::field("event_id", "must be given together with gate_id")),
    };
    let approved = devices::approve_pairing(&state.app, &caller, &token, place, body.found).await?;
    tracing::info!(event = "pairing.approved", event_id = %approved.event_id, gate_id = %approved.gate_id, "approved");
    Ok(Json(ApprovedView {
        device_id: approved.request.device_id.to_string(),
        name: approved.request.name,
        event_id: approved.event_id.to_string(),
        gate_id: approved.gate_id.to_string(),
    }))
}
