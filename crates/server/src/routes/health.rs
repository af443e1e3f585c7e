//! `/healthz` and `/readyz`, and `/metrics` on a listener of its own: for machines that watch. They tell nothing about guests.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::CONTENT_TYPE;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::{ApiError, Result};
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz))
}

/// The process answers.
#[utoipa::path(get, path = "/healthz", tag = "watching", responses((status = 200, description = "Alive", body = String)))]
async fn healthz() -> &'static str {
    "ok\n"
}

/// The store answers and the server is not stopping: traffic may come.
#[utoipa::path(get, path = "/readyz", tag = "watching", responses(
    (status = 200, description = "Ready", body = String),
    (status = 503, description = "Not ready", body = crate::openapi::ProblemDoc, content_type = "application/problem+json"),
))]
async fn readyz(State(state): State<AppState>) -> Result<&'static str> {
    let not_ready =
        |code: &'static str, detail: &str| ApiError::new(http::StatusCode::SERVICE_UNAVAILABLE, code, detail);
    if state.shutdown.is_cancelled() {
        return Err(not_ready("stopping", "the server is stopping"));
    }
    state.app.store.epoch().await.map_err(|_| not_ready("store_unavailable", "the store does not answer"))?;
    Ok("ready\n")
}

/// The routes of the listener for metrics: nothing else, and not on the public address.
pub fn metrics_routes() -> Router<AppState> {
    Router::new().route("/metrics", get(metrics))
}

/// Metrics in Prometheus' text form.
async fn metrics(State(state): State<AppState>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(CONTENT_TYPE, kind)], state.metrics.text()).into_response()
}
