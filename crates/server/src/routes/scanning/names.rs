//! `GET …/names`: guests' names for devices at gates that allow them (spec §5).

use admit_app::manifests::{self, FetchNamesCommand};
use admit_core::ids::EventId;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use http::header::IF_NONE_MATCH;
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::doc;
use super::health::at_most;
use super::manifest::send;
use crate::auth::device::Device;
use crate::body::{Path, Query};
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(names))
}

#[derive(Debug, Deserialize)]
struct Asked {
    since: Option<u64>,
}

/// The names of ticket holders, with party size, note, flag and the fields that verdicts show.
///
/// The answer never contains e-mail or phone. Only a device at a gate with `names_on_devices` may ask. The body is
/// signed like the ticket list and has an ETag of its own. With `since` it contains only names that changed after that
/// version, as `upserts`. If the version is unknown, it contains all names.
#[utoipa::path(get, path = "/api/scanning/events/{id}/names", tag = "devices",
    params(
        ("id" = String, Path, description = "Event"),
        ("since" = Option<u64>, Query, description = "Version the device has", maximum = 9007199254740991i64),
        ("If-None-Match" = Option<String>, Header, description = "ETag of the names the device has"),
    ), security(("device_key" = [])), responses(
    (status = 200, description = "The names", body = doc::Names, headers(
        ("ETag" = String, description = "`W/\"names.epoch.version\"`"),
        ("X-Signature" = String, description = "HMAC-SHA256= and 64 hexadecimal digits"),
    )),
    (status = 304, description = "The device has the newest names"),
    (status = 403, description = "`names_not_allowed`, `device_revoked`"),
    (status = 404, description = "This device is not assigned to the event"),
))]
async fn names(
    State(state): State<AppState>,
    Device(caller): Device,
    Path(event_id): Path<EventId>,
    Query(asked): Query<Asked>,
    headers: HeaderMap,
) -> Result<Response> {
    at_most("since", asked.since.unwrap_or_default())?;
    let if_none_match = headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let command = FetchNamesCommand { if_none_match, since: asked.since };
    let fetched = manifests::fetch_names(&state.app, &caller, &event_id, command).await?;
    send(&state, fetched, &headers, event_id).await
}
