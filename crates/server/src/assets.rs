//! The two embedded web apps: the organiser's at `/`, the scanner's at `/scan/`. The build compressed their files.

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::encoding::{AsItIs, accepts};
use crate::error::ApiError;

#[derive(RustEmbed)]
#[folder = "../../web/admin/dist/"]
struct Admin;

#[derive(RustEmbed)]
#[folder = "../../web/scanner/dist/"]
struct Scanner;

/// The content security policy of the pages. They may only load our scripts, styles and pictures and call this server.
/// WASM needs `wasm-unsafe-eval`; cameras and QR pictures need `blob:` and `data:`. The preview of a mail is a
/// frame of this server.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
    img-src 'self' data: blob:; media-src 'self' blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; \
    frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const PERMISSIONS: &str = "camera=(self), microphone=(), geolocation=(), payment=()";

/// File endings of the compressed variants, best first, with their content encodings.
const VARIANTS: [(&str, &str); 3] = [("br", "br"), ("zst", "zstd"), ("gz", "gzip")];

type Get = fn(&str) -> Option<EmbeddedFile>;

/// The router's fallback. It serves a file of an app, the app's start page for the app's own routes, or else 404.
pub async fn serve(request: Request) -> Response {
    let path = request.uri().path();
    if path == "/scan" {
        return Redirect::permanent("/scan/").into_response();
    }
    let is_api = path == "/api" || path.starts_with("/api/");
    if is_api || !matches!(*request.method(), Method::GET | Method::HEAD) {
        return ApiError::new(StatusCode::NOT_FOUND, "no_such_route", "there is nothing at this path").into_response();
    }
    let (get, file): (Get, &str) = match path.strip_prefix("/scan/") {
        Some(rest) => (Scanner::get, rest),
        None => (Admin::get, path.trim_start_matches('/')),
    };
    answer(get, file, request.headers())
}

fn answer(get: Get, file: &str, headers: &HeaderMap) -> Response {
    // A compressed variant is not served under its own name.
    let hidden = VARIANTS.iter().any(|(end, _)| file.ends_with(&format!(".{end}")));
    let found = if file.is_empty() || hidden { None } else { get(file) };
    if let Some(found) = found {
        return send(get, file, found, headers);
    }
    // A missing script must not be answered with a page, because the browser would try to run it.
    let last = file.rsplit('/').next().unwrap_or_default();
    if file.starts_with("assets/") || last.contains('.') && last != "index.html" {
        return ApiError::new(StatusCode::NOT_FOUND, "no_such_file", "there is no such file").into_response();
    }
    match get("index.html") {
        Some(found) => send(get, "index.html", found, headers),
        None => {
            let detail = "the web app is not part of this build; `make build` builds it";
            ApiError::new(StatusCode::NOT_FOUND, "web_app_not_built", detail).into_response()
        }
    }
}

fn send(get: Get, file: &str, plain: EmbeddedFile, headers: &HeaderMap) -> Response {
    let hash: String = plain.metadata.sha256_hash()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    // The ETag is weak, because it is the same for every encoding.
    let etag = format!("W/\"{hash}\"");
    let matches = |line: &HeaderValue| line.to_str().is_ok_and(|line| line.split(',').any(|one| one.trim() == etag));
    let mut response = if headers.get_all(IF_NONE_MATCH).iter().any(matches) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let chosen = VARIANTS.iter().filter(|(_, encoding)| accepts(headers, encoding));
        let variant = chosen.filter_map(|(end, encoding)| Some((get(&format!("{file}.{end}"))?, *encoding))).next();
        let (bytes, encoding) = match variant {
            Some((found, encoding)) => (found.data, Some(encoding)),
            None => (plain.data, None),
        };
        let mut response = Response::new(match bytes {
            std::borrow::Cow::Borrowed(bytes) => Body::from(bytes),
            std::borrow::Cow::Owned(bytes) => Body::from(bytes),
        });
        if let Some(encoding) = encoding {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
            response.extensions_mut().insert(AsItIs);
        }
        response
    };
    let out = response.headers_mut();
    out.insert(CONTENT_TYPE, content_type(file));
    if let Ok(value) = HeaderValue::from_str(&etag) {
        out.insert(ETAG, value);
    }
    out.insert(VARY, HeaderValue::from_name(ACCEPT_ENCODING));
    // Names under assets/ contain a hash of the content, so they are cached. Every other file is requested again each
    // time.
    let forever = file.starts_with("assets/");
    let cache = if forever { "public, max-age=31536000, immutable" } else { "no-cache" };
    out.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    out.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    out.insert(HeaderName::from_static("permissions-policy"), HeaderValue::from_static(PERMISSIONS));
    out.insert(HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin"));
    response
}

fn content_type(file: &str) -> HeaderValue {
    HeaderValue::from_static(match file.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    fn fake(file: &str) -> Option<EmbeddedFile> {
        let bytes: &'static [u8] = match file {
            "index.html" => b"<!doctype html>",
            "index.html.br" => b"small",
            "assets/app-1a2b.js" => b"run()",
            "engine.wasm" => b"\0asm",
            "sw.js" => b"self",
            _ => return None,
        };
        let metadata = rust_embed::Metadata::__rust_embed_new([7; 32], None, None, "text/plain");
        Some(EmbeddedFile { data: Cow::Borrowed(bytes), metadata })
    }

    fn asked(file: &str, encoding: &str) -> Response {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, encoding.parse().unwrap());
        answer(fake, file, &headers)
    }

    #[test]
    fn a_variant_is_served_to_those_who_take_it() {
        assert_eq!(asked("", "gzip, br").headers()[CONTENT_ENCODING], "br");
        assert!(!asked("", "gzip").headers().contains_key(CONTENT_ENCODING));
        assert_eq!(asked("index.html.br", "br").status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn only_named_assets_are_kept_for_ever() {
        assert_eq!(asked("assets/app-1a2b.js", "").headers()[CACHE_CONTROL], "public, max-age=31536000, immutable");
        for file in ["", "sw.js", "engine.wasm"] {
            assert_eq!(asked(file, "").headers()[CACHE_CONTROL], "no-cache", "{file}");
        }
        assert_eq!(asked("engine.wasm", "").headers()[CONTENT_TYPE], "application/wasm");
    }

    #[test]
    fn an_apps_own_routes_get_its_page_and_missing_files_do_not() {
        assert_eq!(asked("events/7/live", "").status(), StatusCode::OK);
        assert_eq!(asked("assets/old-9f.js", "").status(), StatusCode::NOT_FOUND);
        assert_eq!(asked("favicon.ico", "").status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn who_has_it_is_told_so() {
        let etag = asked("", "").headers()[ETAG].clone();
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, etag);
        assert_eq!(answer(fake, "", &headers).status(), StatusCode::NOT_MODIFIED);
    }
}
