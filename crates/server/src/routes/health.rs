//! `/healthz` and `/readyz`, and `/metrics` on a listener of its own: for machines that watch. They tell nothing about
//! guests.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::header::CONTENT_TYPE;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::checkup::{self, Condition, Finding};
use crate::error::{ApiError, Result};
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz))
}

/// Answers if the process is alive.
#[utoipa::path(get, path = "/healthz", tag = "watching", responses((status = 200, description = "Alive", body = String)))]
async fn healthz() -> &'static str {
    "ok\n"
}

/// The answer of `/readyz`.
#[derive(Debug, Serialize, ToSchema)]
struct Ready {
    /// Whether requests can be sent to this server: its database answers and it is not stopping.
    ready: bool,
    /// The services that this server depends on, one by one.
    checks: Vec<Check>,
}

/// The result of checking one service. `admit doctor` on the server's machine shows the details.
#[derive(Debug, Serialize, ToSchema)]
struct Check {
    /// The service: `database | clock | disk | redis | mail | objects`.
    name: &'static str,
    /// The condition of the service.
    condition: Condition,
    /// The fix for the operator. Absent if nothing is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'static str>,
}

/// Answers whether requests can be sent to this server.
///
/// The server is ready if its database answers and it is not stopping. A missing mail server or Redis does not make it
/// unready.
#[utoipa::path(get, path = "/readyz", tag = "watching", responses(
    (status = 200, description = "Ready", body = Ready),
    (status = 503, description = "Not ready"),
))]
async fn readyz(State(state): State<AppState>) -> Result<Json<Ready>> {
    let not_ready =
        |code: &'static str, detail: &str| ApiError::new(http::StatusCode::SERVICE_UNAVAILABLE, code, detail);
    if state.shutdown.is_cancelled() {
        return Err(not_ready("stopping", "the server is stopping"));
    }
    let findings = checkup::quickly(&state).await;
    if findings.iter().any(|one| one.name == "database" && one.condition == Condition::Failed) {
        return Err(not_ready("store_unavailable", "the store does not answer"));
    }
    let check = |Finding { name, condition, fix, .. }| Check { name, condition, fix };
    Ok(Json(Ready { ready: true, checks: findings.into_iter().map(check).collect() }))
}

/// The routes of the listener for metrics. It serves nothing else, and the public address does not serve them.
pub fn metrics_routes() -> Router<AppState> {
    Router::new().route("/metrics", get(metrics))
}

/// Metrics in Prometheus' text form.
async fn metrics(State(state): State<AppState>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(CONTENT_TYPE, kind)], state.metrics.text()).into_response()
}
