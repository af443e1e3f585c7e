//! `GET …/manifest`: the signed list (S1 §2, spec D5 and §5).

use admit_app::error::Error;
use admit_app::manifests::{self, FetchCommand, FetchedManifest};
use admit_core::ids::EventId;
use admit_core::manifest::compact::MEDIA_TYPE;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{DEVICE_TIME_HEADER, SIGNATURE_HEADER};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::doc;
use super::health::at_most;
use crate::auth::device::{Device, WitnessOf};
use crate::body::{Path, Query};
use crate::encoding::{AsItIs, Encoding, takes_compact};
use crate::error::{ApiError, Result};
use crate::events;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(manifest))
}

#[derive(Debug, Deserialize)]
struct Asked {
    since: Option<u64>,
}

/// The signed ticket list of a device's event: the hash of every code, gates, times and the hash of the staff PIN.
///
/// `signature`, the body's last member, is the HMAC of the body with `,"signature":"…"` cut out. The header
/// `X-Signature` is the HMAC of the whole body after content decoding. Both use the API key. With `since` the body
/// contains only changes after that version, as `upserts` and `tombstones`. If the version is unknown, it contains the
/// whole list. The header `Accept: application/vnd.admit.manifest` asks for the compact form. It has the same content
/// in half the bytes and ends in the 32 bytes of its signature.
#[utoipa::path(get, path = "/api/scanning/events/{id}/manifest", tag = "devices",
    params(
        ("id" = String, Path, description = "Event"),
        ("since" = Option<u64>, Query, description = "Version the device has", maximum = 9007199254740991i64),
        ("If-None-Match" = Option<String>, Header, description = "ETag of the list the device has"),
        ("X-Device-Time" = Option<String>, Header, description = "The device's wall clock, RFC 3339. From it the server computes `offset_seconds`"),
    ), security(("device_key" = [])), responses(
    (status = 200, description = "The list", content((doc::Manifest = "application/json"), (Vec<u8> = "application/vnd.admit.manifest")), headers(
        ("ETag" = String, description = "`W/\"epoch.version\"`"),
        ("X-Signature" = String, description = "HMAC-SHA256= and 64 hexadecimal digits"),
    )),
    (status = 304, description = "The device has the newest list"),
    (status = 403, description = "`device_revoked`"),
    (status = 404, description = "This device is not assigned to the event"),
))]
async fn manifest(
    State(state): State<AppState>,
    Device(caller): Device,
    Path(event_id): Path<EventId>,
    Query(asked): Query<Asked>,
    headers: HeaderMap,
) -> Result<Response> {
    at_most("since", asked.since.unwrap_or_default())?;
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let device_time = match text(DEVICE_TIME_HEADER) {
        Some(time) => {
            Some(Timestamp::parse(&time).map_err(|error| ApiError::field("X-Device-Time", error.to_string()))?)
        }
        None => None,
    };
    let if_none_match = text(IF_NONE_MATCH.as_str());
    let compact = takes_compact(&headers);
    let command = FetchCommand { if_none_match, since: asked.since, device_time, compact };
    let fetched = manifests::fetch(&state.app, &caller, &event_id, command).await?;
    if let FetchedManifest::Body { large, .. } = &fetched {
        state.metrics.manifests.inc();
        events::manifest_download(event_id.as_str(), large.codes as u64);
    }
    send(&state, fetched, &headers, event_id).await
}

/// Sends a signed body in an encoding that the client accepts, or 304 if the client has it already.
pub async fn send(
    state: &AppState,
    fetched: FetchedManifest,
    asked: &HeaderMap,
    event_id: EventId,
) -> Result<Response> {
    let mut response = match fetched {
        FetchedManifest::NotModified { etag } => {
            let mut response = StatusCode::NOT_MODIFIED.into_response();
            response.headers_mut().insert(ETAG, value(&etag)?);
            response
        }
        FetchedManifest::Body { etag, large, tail, signature, compact } => {
            let encoding = Encoding::of(asked);
            let squeezed = state.squeezed.clone();
            // Compressing is slow the first time, so it does not run on the threads that answer other requests.
            let body = tokio::task::spawn_blocking(move || squeezed.join(&large, &tail, encoding)).await;
            let body = body.map_err(|error| Error::Bug(error.to_string()))?;
            let body = body.map_err(|error| Error::Bug(format!("the list cannot be compressed: {error}")))?;
            let mut response = body.into_response();
            let headers = response.headers_mut();
            let media_type = if compact { MEDIA_TYPE } else { "application/json" };
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
            headers.insert(ETAG, value(&etag)?);
            headers.insert(HeaderName::from_static(SIGNATURE_HEADER), value(&signature)?);
            if let Some(word) = encoding.word() {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static(word));
            }
            response
        }
    };
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("accept, accept-encoding, authorization"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response.extensions_mut().insert(AsItIs);
    response.extensions_mut().insert(WitnessOf(event_id));
    Ok(response)
}

fn value(text: &str) -> Result<HeaderValue> {
    Ok(HeaderValue::from_str(text).map_err(|error| Error::Bug(error.to_string()))?)
}
