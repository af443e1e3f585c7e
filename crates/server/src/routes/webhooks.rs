//! `POST /api/webhooks/guests/{endpoint}`: rows of an organiser's own table of guests (ARCHITECTURE.md §6 walk 3).

use admit_app::caller::WebhookCaller;
use admit_app::webhooks;
use admit_core::wire::webhooks::GuestMessage;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::webhook::Webhook;
use crate::body::{is_object, parse};
use crate::error::{ApiError, Result};
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(receive))
}

/// A changed row, in the form of Supabase's database webhooks. `{"record": {…}}` alone is enough.
#[derive(ToSchema)]
#[schema(as = GuestMessage)]
#[expect(dead_code, reason = "describes `admit_core::wire::webhooks::GuestMessage`, which is what is read")]
struct GuestMessageDoc {
    /// `INSERT`, `UPDATE` or `DELETE`. `UPDATE` if absent; `INSERT` has the same effect. `DELETE` is recorded and voids
    /// no ticket.
    #[schema(rename = "type")]
    change: Option<String>,
    /// The row's present values, by column. The endpoint's `columns` give their meanings. Numbers keep every digit.
    #[schema(value_type = Option<Object>)]
    record: Option<serde_json::Value>,
    /// The row's former values. Required for `DELETE`.
    #[schema(value_type = Option<Object>)]
    old_record: Option<serde_json::Value>,
    /// The number of this change in the sender's outbox. A change with a lower number than one already received is
    /// ignored.
    #[schema(minimum = 0)]
    sequence: Option<u64>,
}

/// The result of a message.
#[derive(ToSchema)]
#[schema(as = WebhookAnswer)]
#[expect(dead_code, reason = "describes `admit_core::wire::webhooks::WebhookAnswer`, which is what is sent")]
struct WebhookAnswerDoc {
    /// `created`, `updated`, `unchanged`, `ignored` (a newer change of the row came before) or `recorded` (the row was
    /// deleted).
    status: String,
    /// The id of the organiser's row.
    external_id: String,
    /// The guest of the row. Null if there is none.
    guest_id: Option<String>,
    /// The guest's ticket. Null if there is none.
    ticket_id: Option<String>,
}

/// Accepts a changed row of an organiser's guest table.
///
/// The server makes or changes the row's guest, with a ticket for the party. Messages are signed as Standard Webhooks
/// requires: `webhook-id`, `webhook-timestamp` (at most five minutes off) and `webhook-signature`. The same message
/// again gets the same answer and has no effect. Its id with another body gets 409 `webhook_id_reused`.
#[utoipa::path(post, path = "/api/webhooks/guests/{endpoint}", tag = "webhooks", security(("webhook_signature" = [])),
    params(("endpoint" = String, Path, description = "Endpoint")), request_body = GuestMessageDoc, responses(
    (status = 200, description = "Accepted", body = WebhookAnswerDoc),
    (status = 401, description = "`webhook_not_signed`, `webhook_refused` (no such endpoint, or a wrong signature), `webhook_too_old`, `webhook_too_new`"),
    (status = 409, description = "`webhook_id_reused`"),
    (status = 410, description = "`webhook_endpoint_disabled`"),
    (status = 429, description = "`rate_limited`, with Retry-After"),
))]
async fn receive(State(state): State<AppState>, webhook: Webhook) -> Result<Response> {
    state.webhooks.take(&webhook.caller.endpoint_id, state.app.clock.monotonic_ms())?;
    let caller = webhook.caller.clone();
    let received = match intake(&state, webhook).await {
        Ok(received) => received,
        Err(error) => {
            note_refusal(&state, &caller, &error).await;
            return Err(error);
        }
    };
    tracing::info!(
        event = "webhook.received",
        endpoint_id = caller.endpoint_id,
        repeated = received.repeated,
        "webhook"
    );
    let mut response = received.answer.into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

async fn intake(state: &AppState, webhook: Webhook) -> Result<webhooks::Received> {
    is_object(&webhook.body)?;
    let message: GuestMessage = parse(&webhook.body)?;
    Ok(webhooks::receive(&state.app, &webhook.caller, webhook.digest, message).await?)
}

/// Records a refusal at the endpoint, so that its owner sees what the sender must correct.
async fn note_refusal(state: &AppState, caller: &WebhookCaller, error: &ApiError) {
    tracing::warn!(event = "webhook.refused", endpoint_id = caller.endpoint_id, code = error.code(), "webhook");
    if !matches!(error.status(), StatusCode::BAD_REQUEST | StatusCode::CONFLICT) {
        return;
    }
    if let Err(failed) = webhooks::refused(&state.app, caller, error.code(), error.detail()).await {
        tracing::warn!(event = "webhook.refusal_not_noted", %failed, "a refused message was not noted");
    }
}
