//! `/passes?token=…`: the page of a pass, and `/qr-codes/{token}.png`, its code as a picture. A person who has the
//! token may see both. A wrong token reveals nothing, and a client that tries many must wait.

use admit_app::error::Error;
use admit_app::passes::{self, Pass};
use admit_core::pass::url;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

mod calendar;
mod page;

use crate::auth::peer::Client;
use crate::body::{Path, Query};
use crate::error::{ApiError, Result};
use crate::state::AppState;

/// The route of the page.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(show))
}

/// The routes of the picture and the calendar file. They are files like those of the web apps and not part of the
/// OpenAPI document.
pub fn pictures() -> Router<AppState> {
    Router::new().route("/qr-codes/{file}", get(picture)).route("/passes.ics", get(calendar))
}

#[derive(Default, Deserialize)]
struct PassQuery {
    token: Option<String>,
}

/// The page of a pass. It contains no script and can be printed.
#[utoipa::path(get, path = "/passes", tag = "guests", params(("token" = Option<String>, Query, description = "The pass's token")), responses(
    (status = 200, description = "The pass", body = String, content_type = "text/html"),
    (status = 404, description = "No such pass. The page reveals nothing", body = String, content_type = "text/html"),
    (status = 429, description = "Too many wrong tokens from this address", body = String, content_type = "text/html"),
    (status = 503, description = "The server cannot answer now"),
))]
async fn show(
    State(state): State<AppState>,
    client: Client,
    headers: HeaderMap,
    Query(query): Query<PassQuery>,
) -> Result<Response> {
    let token = query.token.unwrap_or_default();
    let nonce: String = state.app.ids.random().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let (status, html, wait_ms) = match look(&state, client, &token).await? {
        Looked::Pass(pass) => {
            let base = state.passes.public_url.clone().unwrap_or_else(|| state.settings.base_url(&headers));
            let code = passes::svg_path(&url(&base, &token))?;
            let html = page::pass(&pass, &code, &token, &nonce);
            note_opened(&state, *pass);
            (StatusCode::OK, html, None)
        }
        Looked::Nothing => (StatusCode::NOT_FOUND, page::unknown(&nonce), None),
        Looked::Waits(ms) => (StatusCode::TOO_MANY_REQUESTS, page::too_many(&nonce), Some(ms)),
    };
    let mut response = (status, html).into_response();
    let out = response.headers_mut();
    out.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; font-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        out.insert(CONTENT_SECURITY_POLICY, policy);
    }
    dress(out, wait_ms);
    Ok(response)
}

/// The code's picture. It is drawn for each request, so it does not depend on the object store.
async fn picture(
    State(state): State<AppState>,
    client: Client,
    headers: HeaderMap,
    Path(file): Path<String>,
) -> Result<Response> {
    let token = file.strip_suffix(".png").unwrap_or_default();
    let mut response = match look(&state, client, token).await? {
        Looked::Pass(_) => {
            let base = state.passes.public_url.clone().unwrap_or_else(|| state.settings.base_url(&headers));
            let png = passes::png(&url(&base, token))?;
            ([(CONTENT_TYPE, HeaderValue::from_static("image/png"))], png).into_response()
        }
        Looked::Nothing => ApiError::from(Error::not_found("pass")).into_response(),
        Looked::Waits(retry_after_ms) => {
            ApiError::from(Error::Later { code: "rate_limited", retry_after_ms }).into_response()
        }
    };
    dress(response.headers_mut(), None);
    Ok(response)
}

/// The event of a pass as a calendar file.
async fn calendar(
    State(state): State<AppState>,
    client: Client,
    headers: HeaderMap,
    Query(query): Query<PassQuery>,
) -> Result<Response> {
    let token = query.token.unwrap_or_default();
    let mut response = match look(&state, client, &token).await? {
        Looked::Pass(pass) => {
            let base = state.passes.public_url.clone().unwrap_or_else(|| state.settings.base_url(&headers));
            let file = calendar::calendar(&pass, &url(&base, &token), state.app.clock.now());
            ([(CONTENT_TYPE, HeaderValue::from_static("text/calendar; charset=utf-8"))], file).into_response()
        }
        Looked::Nothing => ApiError::from(Error::not_found("pass")).into_response(),
        Looked::Waits(retry_after_ms) => {
            ApiError::from(Error::Later { code: "rate_limited", retry_after_ms }).into_response()
        }
    };
    dress(response.headers_mut(), None);
    Ok(response)
}

/// Records in the background that a pass was opened, so that the guest does not wait. If the write fails, the log says
/// so, and the next request records it.
fn note_opened(state: &AppState, pass: Pass) {
    if pass.is_unopened {
        let app = state.app.clone();
        tokio::spawn(async move {
            if let Err(error) = passes::opened(&app, &pass).await {
                tracing::warn!(%error, "a pass's first opening was not noted");
            }
        });
    }
}

enum Looked {
    Pass(Box<Pass>),
    Nothing,
    /// The client must wait this many milliseconds.
    Waits(i64),
}

/// Finds the pass of a token. A network address gets a limited number of answers about wrong tokens. Right tokens are
/// always answered, because guests at the door may share an address with a person who guesses. Nobody can guess one of
/// 2¹²² tokens.
async fn look(state: &AppState, Client(address): Client, token: &str) -> Result<Looked> {
    let now_ms = state.app.clock.monotonic_ms();
    match passes::show(&state.app, token).await {
        Ok(pass) => return Ok(Looked::Pass(Box::new(pass))),
        Err(Error::NotFound { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    if let Some(wait_ms) = state.guesses.must_wait(address, now_ms) {
        return Ok(Looked::Waits(wait_ms));
    }
    state.guesses.count(address, now_ms);
    Ok(Looked::Nothing)
}

/// Adds the headers that keep a page out of search engines and caches.
fn dress(headers: &mut HeaderMap, wait_ms: Option<i64>) {
    headers.insert(HeaderName::from_static("x-robots-tag"), HeaderValue::from_static("noindex, nofollow, noarchive"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(ms) = wait_ms {
        headers.insert(RETRY_AFTER, HeaderValue::from((ms + 999) / 1_000));
    }
}
