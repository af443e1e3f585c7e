//! `GET …/changes?cursor=`: what changed, with a long poll (spec §5).

use std::sync::Arc;
use std::time::Duration;

use admit_app::changes;
use admit_app::ports::{Hint, Topic};
use admit_core::ids::EventId;
use admit_core::limits::CHANGES_WAIT_SECONDS;
use admit_core::wire::scanning::{ChangesAnswer, Cursor};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::doc;
use super::health::at_most;
use crate::auth::device::{Device, tell_newest};
use crate::body::{Path, Query};
use crate::error::{ApiError, Result};
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(changes))
}

/// The pause between a hint and the reading of the changes. A batch causes several hints, and one reading serves them
/// all.
const SETTLE: Duration = Duration::from_millis(50);

#[derive(Debug, Deserialize)]
struct Asked {
    cursor: Option<Cursor>,
    /// The version of the device's ticket list. Rule changes up to this version are not news for the device.
    #[serde(default)]
    manifest_version: u64,
    #[serde(default)]
    wait: u64,
}

/// Tickets, gates and event values that changed after a cursor, at most 1,000 tickets per answer.
///
/// With `wait` the server holds the answer back until there is news, at most for that many seconds. For a cursor of
/// another epoch the answer has `resync`.
#[utoipa::path(get, path = "/api/scanning/events/{id}/changes", tag = "devices",
    params(
        ("id" = String, Path, description = "Event"),
        ("cursor" = Option<String>, Query, description = "The `cursor` of the last answer. If absent, from the start"),
        ("manifest_version" = Option<u64>, Query, description = "Version of the device's list, if it belongs to the cursor's epoch. Ticket rules in that list are left out of the answer", maximum = 9007199254740991i64),
        ("wait" = Option<u64>, Query, description = "Seconds to wait for news, at most 25", maximum = 25),
    ), security(("device_key" = [])), responses(
    (status = 200, description = "Changes", body = doc::ChangesAnswer),
    (status = 404, description = "This device is not assigned to the event"),
))]
async fn changes(
    State(state): State<AppState>,
    Device(caller): Device,
    Path(event_id): Path<EventId>,
    Query(asked): Query<Asked>,
) -> Result<Response> {
    if asked.wait > CHANGES_WAIT_SECONDS {
        return Err(ApiError::field("wait", format!("must be 0 to {CHANGES_WAIT_SECONDS}")));
    }
    at_most("manifest_version", asked.manifest_version)?;
    let until = Instant::now() + Duration::from_secs(asked.wait);
    // The subscription begins before the first read, so no change between reading and waiting is lost.
    let mut hints = state.live.subscribe(&caller.organization_id, &event_id);
    loop {
        let command =
            changes::ChangesCommand { cursor: asked.cursor.clone(), manifest_version: asked.manifest_version };
        let changes::Polled { answer, head } = changes::poll(&state.app, &caller, &event_id, command).await?;
        let over = Instant::now() >= until || state.shutdown.is_cancelled();
        if over || is_news(&answer, asked.manifest_version) {
            let mut response = Json(answer).into_response();
            tell_newest(&state, &event_id, &head, &mut response);
            return Ok(response);
        }
        tokio::select! {
            () = tokio::time::sleep_until(until) => {}
            () = state.shutdown.cancelled() => {}
            () = stirred(&mut hints) => {
                tokio::time::sleep(SETTLE).await;
                while hints.try_recv().is_ok() {}
            }
        }
    }
}

/// Waits for a hint that may concern a device. Hints about other devices' health, about single uploads and about the
/// review queue do not concern one.
async fn stirred(hints: &mut Receiver<Arc<Hint>>) {
    loop {
        match hints.recv().await {
            Ok(hint) if matches!(hint.topic, Topic::Devices | Topic::Batch(_) | Topic::Incidents) => {}
            Ok(_) | Err(RecvError::Lagged(_)) => return,
            // A closed hub sends no more hints. The deadline still ends the wait.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// Whether the answer tells the device anything. A new cursor alone does not count. Some writes, such as a device's
/// move to another gate, raise the event's serial and change nothing for this device.
fn is_news(answer: &ChangesAnswer, manifest_version: u64) -> bool {
    !answer.items.is_empty()
        || answer.event.is_some()
        || answer.gates.is_some()
        || answer.more
        || answer.resync
        || answer.manifest_version > manifest_version
}
