//! `POST /api/webhooks/guests/{endpoint}`: rows of an organiser's own table of guests (architecture §6 walk 3).

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

/// A row that changed, as Supabase's database webhooks tell it; `{"record": {…}}` alone is enough.
#[derive(ToSchema)]
#[schema(as = GuestMessage)]
#[expect(dead_code, reason = "describes `admit_core::wire::webhooks::GuestMessage`, which is what is read")]
struct GuestMessageDoc {
    /// `UPDATE` where absent; `INSERT` is the same. `DELETE` is put on record and voids nothing.
    #[schema(rename = "type")]
    change: Option<String>,
    /// The row as it is now, column by column. The endpoint's `columns` say which means what. Numbers keep every digit.
    #[schema(value_type = Option<Object>)]
    record: Option<serde_json::Value>,
    /// The row as it was: needed of a deleted one.
    #[schema(value_type = Option<Object>)]
    old_record: Option<serde_json::Value>,
    /// Place of this change in the sender's outbox: a change below one that came already is ignored.
    #[schema(minimum = 0)]
    sequence: Option<u64>,
}

/// The result of a message.
#[derive(ToSchema)]
#[schema(as = WebhookAnswer)]
#[expect(dead_code, reason = "describes `admit_core::wire::webhooks::WebhookAnswer`, which is what is sent")]
struct WebhookAnswerDoc {
    /// `created`, `updated`, `unchanged`; `ignored` where a newer change of the row came before; `recorded` of a deleted row.
    status: String,
    /// The row's id.
    external_id: String,
    /// The guest, where the row has one.
    guest_id: Option<String>,
    /// Their ticket.
    ticket_id: Option<String>,
}

/// Takes in a row of an organiser's table of guests: its guest is made, or changed, with a ticket for the party.
///
/// Signed as Standard Webhooks wants it: `webhook-id`, `webhook-timestamp` (within five minutes), `webhook-signature`. The
/// same message again gets the same bytes and has no effect; its id with another body gets 409 `webhook_id_reused`.
#[utoipa::path(post, path = "/api/webhooks/guests/{endpoint}", tag = "webhooks", security(("webhook_signature" = [])),
    params(("endpoint" = String, Path, description = "Endpoint")), request_body = GuestMessageDoc, responses(
    (status = 200, description = "Taken in", body = WebhookAnswerDoc),
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
