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

/// Which column of the table means what. One that is left out has its usual name; null: it is not read.
#[derive(ToSchema)]
#[schema(as = WebhookColumns)]
#[expect(dead_code, reason = "describes `admit_core::wire::webhooks::WebhookColumns`, which is what is read and sent")]
struct ColumnsDoc {
    /// The row's id, by which its guest is found again; `id` where left out.
    #[schema(example = "id")]
    external_id: Option<String>,
    name: Option<String>,
    email: Option<String>,
    phone: Option<String>,
    party_size: Option<String>,
    /// Guest list, by its name; one that is new is made.
    guest_list: Option<String>,
    /// Entry type, by its name or id.
    entry_type: Option<String>,
    /// When the row was last changed: an older change than the one known is ignored.
    updated_at: Option<String>,
}

/// A webhook endpoint, without its secret.
#[derive(Serialize, ToSchema)]
struct WebhookEndpointView {
    id: String,
    event_id: String,
    name: String,
    /// Where messages go.
    url: String,
    #[schema(value_type = ColumnsDoc)]
    columns: WebhookColumns,
    /// Whether it takes messages.
    enabled: bool,
    created_at: Timestamp,
    /// Until when the secret before is good as well.
    former_secret_until: Option<Timestamp>,
    /// When the last message was taken in.
    received_at: Option<Timestamp>,
    /// When the last signed message was refused.
    refused_at: Option<Timestamp>,
    /// Why it was.
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

/// An endpoint with its secret.
#[derive(Serialize, ToSchema)]
struct ShownSecretView {
    /// `whsec_…`, shown this once.
    secret: String,
    #[serde(flatten)]
    view: WebhookEndpointView,
}

impl ShownSecretView {
    fn of(shown: ShownSecret, base_url: &str) -> Self {
        Self { secret: shown.secret.to_text(), view: WebhookEndpointView::of(shown.endpoint, base_url) }
    }
}

/// An endpoint to be.
#[derive(Deserialize, ToSchema)]
struct WebhookEndpointRequest {
    event_id: EventId,
    /// The endpoint's purpose, in your words.
    name: String,
    #[schema(value_type = Option<ColumnsDoc>)]
    columns: Option<WebhookColumns>,
}

/// The fields to change; absent fields stay. `columns` are taken whole.
#[derive(Deserialize, ToSchema)]
struct WebhookEndpointPatchRequest {
    name: Option<String>,
    #[schema(value_type = Option<ColumnsDoc>)]
    columns: Option<WebhookColumns>,
    /// `false`: it takes nothing more, until it is `true` again.
    enabled: Option<bool>,
}

/// Webhook endpoints of the organisation, newest first.
#[utoipa::path(get, path = "/api/webhook-endpoints", tag = "organisers", extensions(("x-actions" = json!(["manage_tokens"]))), responses(
    (status = 200, description = "All of them", body = List<WebhookEndpointView>),
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

/// Makes an endpoint that brings guests of one event.
#[utoipa::path(post, path = "/api/webhook-endpoints", tag = "organisers", request_body = WebhookEndpointRequest,
    extensions(("x-actions" = json!(["manage_tokens"]))), responses(
    (status = 201, description = "Made; its secret is shown this once", body = ShownSecretView),
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

/// Changes an endpoint, or switches it off and on.
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

/// Gives an endpoint a new secret. The one before goes on being good for a day; one before that ends at once.
#[utoipa::path(post, path = "/api/webhook-endpoints/{id}/rotate-secret", tag = "organisers",
    params(("id" = String, Path, description = "Webhook endpoint")), extensions(("x-actions" = json!(["manage_tokens"]))), responses(
    (status = 200, description = "Its new secret is shown this once", body = ShownSecretView),
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
