//! All routes, and the frame around them: request ids, headers, limits, and problems for whatever else went wrong.
//!
//! # Adding a noun
//! 1. `routes/<noun>.rs` with `pub fn routes() -> OpenApiRouter<AppState>`: one `#[utoipa::path]` handler per verb, put
//!    in with `OpenApiRouter::new().routes(routes!(list, create))` (one `routes!` per path).
//! 2. `pub mod <noun>;` in `routes.rs`, and one `.merge(routes::<noun>::routes())` in [`organisers`] below.
//! 3. A handler takes what it needs as extractors, in this order: `State(state): State<AppState>`,
//!    [`User(caller)`](crate::auth::user::User) (or [`Device`](crate::auth::device::Device)),
//!    [`Path`](crate::body::Path), [`Query`](crate::body::Query), and last the body,
//!    [`JsonBody`](crate::body::JsonBody) or [`TableBody`](crate::body::TableBody). It calls one use case with
//!    `&state.app` and answers [`Result<Json<…>>`](crate::error::Result): `?` turns [`admit_app::error::Error`] into a
//!    problem. The names of parameters and fields that the description gives are the known ones: [`crate::strict`]
//!    refuses others.
//! 4. Limits, media types, depth, NUL and UTF-8 are the extractors' work; the meaning of a field is the use case's.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use admit_core::wire::scanning::SERVER_TIME_HEADER;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{Extensions, HeaderMap, StatusCode, Version};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, Predicate, SizeAbove};
use tower_http::csrf::{CsrfLayer, ProtectionError};
use tracing::Instrument;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::auth::peer;
use crate::encoding::AsItIs;
use crate::error::{ApiError, Busy, Refusal};
use crate::state::AppState;
use crate::strict::{self, KnownNames};
use crate::telemetry::{RequestLabel, RouteLabel};
use crate::{assets, docs, openapi, otlp, routes};

/// The smallest answer that is compressed, in bytes. Compressing a smaller answer gains nothing. Some small answers
/// contain a secret, which the length of a compressed answer could reveal.
const COMPRESS_FROM: u64 = 1024;

/// The content security policy of API answers, which allows nothing.
const API_POLICY: &str = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'";

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The routes of the organiser's API.
fn organisers() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(routes::session::routes())
        .merge(routes::members::routes())
        .merge(routes::api_tokens::routes())
        .merge(routes::events::routes())
        .merge(routes::gates::routes())
        .merge(routes::entry_types::routes())
        .merge(routes::guest_lists::routes())
        .merge(routes::tickets::routes())
        .merge(routes::guests::routes())
        .merge(routes::guest_data::routes())
        .merge(routes::guest_passes::routes())
        .merge(routes::check_in::routes())
        .merge(routes::runs::routes())
        .merge(routes::letterhead::routes())
        .merge(routes::mail::routes())
        .merge(routes::mail_templates::routes())
        .merge(routes::webhook_endpoints::routes())
        .merge(routes::pairing_tokens::routes())
        .merge(routes::devices::routes())
        .merge(routes::device_rights::routes())
        .merge(routes::pairing_requests::routes())
        .merge(routes::imports::routes())
        .merge(routes::incidents::routes())
        .merge(routes::arrivals::routes())
        .merge(routes::overview::routes())
        .merge(routes::occupancy::routes())
        .merge(routes::statistics::routes())
        .merge(routes::scans::routes())
        .merge(routes::audit::routes())
}

/// All routes under `/api`, the health routes, and their description.
fn api(state: &AppState) -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(openapi::Frame::openapi())
        .merge(routes::time::routes())
        .merge(routes::scanning::routes(state))
        .merge(organisers())
        .merge(routes::webhooks::routes())
        .merge(routes::stream::routes())
        .merge(routes::passes::routes())
        .merge(routes::health::routes())
}

/// The document of `/openapi.json`.
pub fn document(state: &AppState) -> utoipa::openapi::OpenApi {
    let mut document = api(state).into_openapi();
    openapi::finish(&mut document);
    document
}

/// The whole server: API, documents and both web apps, inside the middleware.
pub fn router(state: AppState) -> Router {
    let (routes, mut described) = api(&state).split_for_parts();
    openapi::finish(&mut described);
    let known = Arc::new(KnownNames::of(&serde_json::to_value(described).unwrap_or_default()));
    let csrf = csrf(&state);
    let compress = DefaultPredicate::new().and(SizeAbove::new(COMPRESS_FROM)).and(not_finished);
    routes
        .merge(docs::routes(document))
        .merge(routes::passes::pictures())
        .fallback(assets::serve)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn(strict::read_unread))
        .layer(Extension(known))
        .layer(csrf)
        // The preview page is outside the check. It changes nothing, and without TLS browsers name no origin for its
        // form, so the check would refuse it.
        .merge(routes::mail_templates::pages())
        .layer(CatchPanicLayer::custom(panicked))
        .layer(CompressionLayer::new().compress_when(compress))
        .layer(from_fn_with_state(state.clone(), frame))
        .with_state(state)
}

/// The router of the listener of `ADMIT_METRICS_LISTEN`, with `/metrics` alone.
pub fn metrics_router(state: AppState) -> Router {
    routes::health::metrics_routes().with_state(state)
}

/// Whether an answer should be compressed. A list is compressed already, and an image would only grow.
fn not_finished(_status: StatusCode, _version: Version, _headers: &HeaderMap, extensions: &Extensions) -> bool {
    extensions.get::<AsItIs>().is_none()
}

type CsrfAnswer = fn(ProtectionError) -> Response;

/// The check that cookies count only for requests from our own pages (`Sec-Fetch-Site`, else `Origin`).
fn csrf(state: &AppState) -> CsrfLayer<CsrfAnswer> {
    let refused: CsrfAnswer = |_| {
        let detail = "this request comes from another site's page; browsers may change things only from ours";
        ApiError::new(StatusCode::FORBIDDEN, "cross_site_request", detail).into_response()
    };
    let layer = CsrfLayer::new().with_rejection_response(refused);
    let Some(origin) = &state.settings.public_url else { return layer };
    // Behind a proxy the Host header may differ. Browsers use PUBLIC_URL, which was checked to be an origin.
    layer.clone().add_trusted_origin(origin).unwrap_or(layer)
}

async fn method_not_allowed() -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this path does not take this method")
}

fn panicked(cause: Box<dyn Any + Send + 'static>) -> Response {
    let text = cause.downcast_ref::<String>().map(String::as_str).or(cause.downcast_ref::<&str>().copied());
    ApiError::from(admit_app::error::Error::Bug(format!("panic: {}", text.unwrap_or("?")))).into_response()
}

/// The id of a request. It is unique within a process, and unlikely to equal one of another process.
fn request_id(state: &AppState) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let started = state.app.clock.now().ms() - state.app.clock.monotonic_ms();
    format!("{started:x}-{:x}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The outermost middleware: request id, span, time limit, common headers, metrics.
async fn frame(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let started = state.app.clock.monotonic_ms();
    let id = request_id(&state);
    let method = request.method().as_str().to_owned();
    let route = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!("request", id, method, route);
    let address = peer::client(&state, request.extensions(), request.headers());
    let trace = span.in_scope(|| otlp::request(&method, &route, &id, request.headers()));
    let limit = Duration::from_millis(state.settings.request_ms);
    let answering = next.run(request).instrument(trace.clone()).instrument(span.clone());
    let mut response = match tokio::time::timeout(limit, answering).await {
        Ok(response) => response,
        Err(_) => {
            let detail = "the request took too long; whether it was carried out is not known";
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", detail).into_response()
        }
    };
    let took_ms = state.app.clock.monotonic_ms() - started;
    let status = response.status();
    span.in_scope(|| {
        if is_failure(&response) {
            tracing::error!(status = status.as_u16(), took_ms, "answered");
        } else {
            tracing::debug!(status = status.as_u16(), took_ms, "answered");
        }
    });
    if let Some((refusal, code)) = response.extensions().get::<(Refusal, String)>() {
        span.in_scope(|| refusal.log(status, code, address));
    }
    otlp::answered(&trace, status, is_failure(&response));
    count(&state, method, route, status, took_ms);
    add_headers(&state, &id, response.headers_mut());
    response
}

/// Whether the answer is a failure that a person must look at.
fn is_failure(response: &Response) -> bool {
    response.status().is_server_error() && response.extensions().get::<Busy>().is_none()
}

fn count(state: &AppState, method: String, route: String, status: StatusCode, took_ms: i64) {
    const CLASSES: [&str; 6] = ["other", "1xx", "2xx", "3xx", "4xx", "5xx"];
    let status = CLASSES.get(usize::from(status.as_u16() / 100)).copied().unwrap_or("other");
    let label = RouteLabel { route: route.clone() };
    state.metrics.request_seconds.get_or_create(&label).observe(took_ms as f64 / 1_000.0);
    // The caller chooses the method's text, so all unusual methods share one label.
    let method =
        if matches!(method.as_str(), "GET" | "POST" | "PATCH" | "DELETE" | "HEAD") { method } else { "other".into() };
    state.metrics.requests.get_or_create(&RequestLabel { method, route, status }).inc();
}

fn add_headers(state: &AppState, id: &str, headers: &mut HeaderMap) {
    if let Ok(value) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, value);
    }
    if let Ok(value) = HeaderValue::from_str(&state.app.clock.now().to_string()) {
        headers.insert(HeaderName::from_static(SERVER_TIME_HEADER), value);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(X_FRAME_OPTIONS).or_insert(HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(API_POLICY));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if state.settings.is_strict_https() {
        let a_year = HeaderValue::from_static("max-age=31536000");
        headers.insert(http::header::STRICT_TRANSPORT_SECURITY, a_year);
    }
}

#[cfg(test)]
mod tests {
    use admit_app::secret::Secret;
    use admit_store_sqlite::Sqlite;

    use super::*;
    use crate::config::Settings;

    fn whole_document() -> utoipa::openapi::OpenApi {
        let store = Arc::new(Sqlite::memory(Default::default()).unwrap());
        document(&AppState::new(store, Secret::new(&"s".repeat(40)).unwrap(), Settings::default()))
    }

    #[test]
    fn an_upload_without_room_is_no_failure_and_a_full_disk_is_one() {
        let later = |code| ApiError::from(admit_app::error::Error::Later { code, retry_after_ms: 1 }).into_response();
        assert!(!is_failure(&later("busy")));
        for code in ["storage_full", "store_unavailable", "node_outdated"] {
            assert!(is_failure(&later(code)), "{code}");
        }
        assert!(!is_failure(&later("rate_limited")));
    }

    #[test]
    fn every_vocabulary_has_its_place_in_the_document() {
        assert_eq!(openapi::vocabularies::misplaced(&mut whole_document()), Vec::<String>::new());
    }

    #[test]
    fn bodies_of_organisers_are_closed_and_those_of_devices_are_open() {
        let document = serde_json::to_value(whole_document()).unwrap();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let is_closed = |name: &str| schemas[name]["additionalProperties"] == false;
        for name in ["GuestRequest", "TicketRequest", "EventPatchRequest", "WebhookColumns", "SignIn"] {
            assert!(is_closed(name), "{name}");
        }
        for name in ["PairRequest", "HeartbeatRequest", "ScanV1", "ScanV2", "GuestMessage", "EventView"] {
            assert!(schemas.contains_key(name) && !is_closed(name), "{name}");
        }
        // A shape that includes another's members cannot be closed.
        let whole = document.to_string();
        for (name, shape) in schemas.iter().filter(|(name, _)| is_closed(name)) {
            assert!(!whole.contains(&format!("\"allOf\":[{{\"$ref\":\"#/components/schemas/{name}\"")), "{name}");
            assert!(shape["properties"].is_object(), "{name}");
        }
    }

    #[test]
    fn every_operation_says_what_the_frame_around_it_answers() {
        let document = serde_json::to_value(whole_document()).unwrap();
        let mut seen = 0;
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let says = |status: &str| operation["responses"][status].is_object();
                let with_body = operation["requestBody"].is_object();
                assert!(says("400") || !with_body && !path.contains('{'), "{method} {path}: a wrong field is 400");
                assert!(says("401") || operation["security"].is_null(), "{method} {path}: no credential is 401");
                assert!(says("404") || !path.contains('{'), "{method} {path}: no such thing is 404");
                assert!(says("413") && says("415") || !with_body, "{method} {path}: bodies have caps and types");
                assert!(says("403") || method == "get", "{method} {path}: another site's page is 403");
                seen += 1;
            }
        }
        assert!(seen > 50, "{seen}");
        // Only roles that may read everything may see the ledger. Every member may see the members.
        assert_eq!(document["paths"]["/api/audit"]["get"]["x-roles"], serde_json::json!(["owner", "manager"]));
        assert_eq!(document["paths"]["/api/members"]["get"]["x-roles"].as_array().unwrap().len(), 5);
        let revoke = &document["paths"]["/api/scanning/devices/{id}"]["delete"]["requestBody"];
        let capacity = &document["components"]["schemas"]["GatePatchRequest"]["properties"]["capacity"];
        assert_eq!((&capacity["format"], &capacity["maximum"]), (&"int64".into(), &u32::MAX.into()), "as it is read");
        assert_ne!(revoke["required"], serde_json::json!(true), "it may be left out");
    }
}
