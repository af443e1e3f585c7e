//! `GET /api/scanning/time`: two of the four timestamps by which a device measures the offset of its clock (spec §4
//! "Time", §5).

use admit_core::wire::scanning::TimeAnswer;
use axum::Json;
use axum::extract::State;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(time))
}

/// The times when the request arrived and when the server answered, by the database's clock.
///
/// They are the second and third of the four timestamps of a clock exchange. A device takes the first when it asks, and
/// the fourth when it gets the answer, by its own clock. From the four it computes its clock's offset and the offset's
/// uncertainty. No key is needed, because a device asks before it is paired.
#[utoipa::path(get, path = "/api/scanning/time", tag = "devices", responses(
    (status = 200, description = "The server's times", body = super::scanning::doc::TimeAnswer),
))]
async fn time(State(state): State<AppState>) -> Result<Json<TimeAnswer>> {
    let asked_ms = state.app.clock.monotonic_ms();
    let server_time = state.app.store.now().await?;
    // The request arrived `waited_ms` before the database answered. The reported time must never be later than the
    // arrival.
    let waited_ms = state.app.clock.monotonic_ms() - asked_ms;
    let received_at_ms = server_time.plus_ms(-waited_ms).ms();
    Ok(Json(TimeAnswer { received_at_ms, sent_at_ms: server_time.ms(), server_time }))
}
