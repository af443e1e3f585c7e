//! `/api/webhook-endpoints`: the endpoints to which an organiser's own database sends its guests.

use admit_app::records::WebhookEndpointRecord;
use admit_app::webhooks::{self, NewWebhookEndpoint, ShownSecret, WebhookEndpointPatch};
use admit_core::ids::EventId;
use admit_core::time::Timestamp;
use admit_core::wire::webhooks::WebhookColumns;
use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::List;
use crate::auth::user::User;
use crate::body::{JsonBody, Path};
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(update)).routes(routes!(rotate_secret))
}

/// Names of the columns of the organiser's table. An absent name means the usual one. Null means that the column is not
/// read.
#[derive(ToSchema)]
#[schema(as = WebhookColumns)]
#[expect(dead_code, reason = "describes `admit_core::wire::webhooks::WebhookColumns`, which is what is read and sent")]
struct ColumnsDoc {
    /// The column with the row's id, which identifies the guest in later messages. `id` if absent.
    #[schema(example = "id")]
    external_id: Option<String>,
    name: Option<String>,
    email: Option<String>,
    phone: Option<String>,
    party_size: Option<String>,
    /// The column with the guest list's name. A list that does not exist is made.
    guest_list: Option<String>,
    /// The column with the entry type's name or id.
    entry_type: Option<String>,
    /// The column with the time of the row's last change. A change older than the stored one is ignored.
    updated_at: Option<String>,
}

/// A webhook endpoint, without its secret.
#[derive(Serialize, ToSchema)]
struct WebhookEndpointView {
    id: String,
    event_id: String,
    name: String,
    /// The address to which messages are sent.
    url: String,
    #[schema(value_type = ColumnsDoc)]
    columns: WebhookColumns,
    /// Whether the endpoint accepts messages.
    enabled: bool,
    created_at: Timestamp,
    /// The time until which the former secret is still accepted. Null if there is none.
    former_secret_until: Option<Timestamp>,
    /// When the endpoint last accepted a message. Null if it never did.
    received_at: Option<Timestamp>,
    /// When the endpoint last refused a signed message. Null if it never did.
    refused_at: Option<Timestamp>,
    /// Why that message was refused. Null if none was.
    problem: Option<String>,
}

impl WebhookEndpointView {
    fn of(one: WebhookEndpointRecord, base_url: &str) -> Self {
        Self {
            url: format!("{base_url}/api/webhooks/guests/{}", one.endpoint_id),
            id: one.endpoint_id,
            event_id: one.event_id.to_string(),
            name: one.name,
            columns: one.columns,
            enabled: one.disabled_at.is_none(),
            created_at: one.created_at,
            former_secret_until: one.former.map(|(_, until)| until),
            received_at: one.health.received_at,
            refused_at: one.health.refused_at,
            problem: one.health.problem,
        }
    }
}

/// A webhook endpoint with its secret.
#[derive(Serialize, ToSchema)]
struct ShownSecretView {
    /// The secret, `whsec_…`. It is shown only in this answer.
    secret: String,
    #[serde(flatten)]
    view: WebhookEndpointView,
}

impl ShownSecretView {
    fn of(shown: ShownSecret, base_url: &str) -> Self {
        Self { secret: shown.secret.to_text(), view: WebhookEndpointView::of(shown.endpoint, base_url) }
    }
}

/// The values of a new webhook endpoint.
#[derive(Deserialize, ToSchema)]
struct WebhookEndpointRequest {
    event_id: EventId,
    /// The endpoint's purpose, in your words.
    name: String,
    #[schema(value_type = Option<ColumnsDoc>)]
    columns: Option<WebhookColumns>,
}

/// The fields to change. Absent fields keep their values. `columns` replaces all column names.
#[derive(Deserialize, ToSchema)]
struct WebhookEndpointPatchRequest {
    name: Option<String>,
    #[schema(value_type = Option<ColumnsDoc>)]
    columns: Option<WebhookColumns>,
    /// Whether the endpoint accepts messages.
    enabled: Option<bool>,
}

/// Webhook endpoints of the organisation, newest first.
#[utoipa::path(get, path = "/api/webhook-endpoints", tag = "organisers", extensions(("x-actions" = json!(["manage_tokens"]))), responses(
    (status = 200, description = "All webhook endpoints", body = List<WebhookEndpointView>),
))]
async fn list(
    State(state): State<AppState>,
    User(caller): User,
    headers: HeaderMap,
) -> Result<Json<List<WebhookEndpointView>>> {
    let base_url = state.settings.base_url(&headers);
    let endpoints = webhooks::list(&state.app, &caller).await?;
    Ok(Json(List::whole(endpoints.into_iter().map(|one| WebhookEndpointView::of(one, &base_url)).collect())))
}

/// Makes a webhook endpoint, whose messages create and change guests of one event.
#[utoipa::path(post, path = "/api/webhook-endpoints", tag = "organisers", request_body = WebhookEndpointRequest,
    extensions(("x-actions" = json!(["manage_tokens"]))), responses(
    (status = 201, description = "Made. Only this answer shows the secret", body = ShownSecretView),
    (status = 404, description = "No such event"),
    (status = 422, description = "`too_many_webhook_endpoints`"),
))]
async fn create(
    State(state): State<AppState>,
    User(caller): User,
    headers: HeaderMap,
    JsonBody(request): JsonBody<WebhookEndpointRequest>,
) -> Result<(StatusCode, Json<ShownSecretView>)> {
    let new = NewWebhookEndpoint { event_id: request.event_id, name: request.name, columns: request.columns };
    let shown = webhooks::create(&state.app, &caller, new).await?;
    Ok((StatusCode::CREATED, Json(ShownSecretView::of(shown, &state.settings.base_url(&headers)))))
}

/// Changes a webhook endpoint, or turns it off or on.
#[utoipa::path(patch, path = "/api/webhook-endpoints/{id}", tag = "organisers", request_body = WebhookEndpointPatchRequest,
    params(("id" = String, Path, description = "Webhook endpoint")), extensions(("x-actions" = json!(["manage_tokens"]))), responses(
    (status = 200, description = "Changed", body = WebhookEndpointView),
    (status = 404, description = "No such endpoint"),
))]
async fn update(
    State(state): State<AppState>,
    User(caller): User,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<WebhookEndpointPatchRequest>,
) -> Result<Json<WebhookEndpointView>> {
    let patch = WebhookEndpointPatch { name: request.name, columns: request.columns, enabled: request.enabled };
    let endpoint = webhooks::update(&state.app, &caller, &id, patch).await?;
    Ok(Json(WebhookEndpointView::of(endpoint, &state.settings.base_url(&headers))))
}

/// Gives a webhook endpoint a new secret.
///
/// The former secret stays valid for one day. An older one is refused at once.
#[utoipa::path(post, path = "/api/webhook-endpoints/{id}/rotate-secret", tag = "organisers",
    params(("id" = String, Path, description = "Webhook endpoint")), extensions(("x-actions" = json!(["manage_tokens"]))), responses(
    (status = 200, description = "Only this answer shows the new secret", body = ShownSecretView),
    (status = 404, description = "No such endpoint"),
))]
async fn rotate_secret(
    State(state): State<AppState>,
    User(caller): User,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<ShownSecretView>> {
    let shown = webhooks::rotate_secret(&state.app, &caller, &id).await?;
    Ok(Json(ShownSecretView::of(shown, &state.settings.base_url(&headers))))
}
