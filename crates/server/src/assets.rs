//! The two embedded web apps: the organiser's at `/`, the scanner's at `/scan/`. The build compressed their files.

use std::io::Read;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Redirect, Response};
use bytes::Bytes;
use flate2::read::GzDecoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use crate::encoding::{AsItIs, accepts};
use crate::error::ApiError;

/// A file of a web app.
#[derive(Debug)]
struct File {
    /// The path below the app's own, such as `assets/index-1a2b.js`.
    name: &'static str,
    /// FNV-1a of the plain bytes, as 16 hexadecimal digits.
    hash: &'static str,
    /// The plain bytes. `None` if `gz` is there: with both, the binary would be 3 MB larger.
    plain: Option<&'static [u8]>,
    br: Option<&'static [u8]>,
    gz: Option<&'static [u8]>,
}

// `ADMIN` and `SCANNER`, written by `build.rs`.
include!(concat!(env!("OUT_DIR"), "/web.rs"));

/// The content security policy of the pages. They may only load our scripts, styles and pictures and call this server.
/// WASM needs `wasm-unsafe-eval`; cameras and QR pictures need `blob:` and `data:`. The preview of a mail is a
/// frame of this server.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
    img-src 'self' data: blob:; media-src 'self' blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; \
    frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const PERMISSIONS: &str = "camera=(self), microphone=(), geolocation=(), payment=()";

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
    let (app, name) = match path.strip_prefix("/scan/") {
        Some(rest) => (SCANNER, rest),
        None => (ADMIN, path.trim_start_matches('/')),
    };
    answer(app, name, request.headers())
}

fn answer(app: &[File], name: &str, headers: &HeaderMap) -> Response {
    let get = |name: &str| app.iter().find(|file| file.name == name);
    if let Some(found) = get(name) {
        return send(found, headers);
    }
    // A missing script must not be answered with a page, because the browser would try to run it.
    let last = name.rsplit('/').next().unwrap_or_default();
    if name.starts_with("assets/") || last.contains('.') && last != "index.html" {
        return ApiError::new(StatusCode::NOT_FOUND, "no_such_file", "there is no such file").into_response();
    }
    match get("index.html") {
        Some(found) => send(found, headers),
        None => {
            let detail = "the web app is not part of this build; `make build` builds it";
            ApiError::new(StatusCode::NOT_FOUND, "web_app_not_built", detail).into_response()
        }
    }
}

impl File {
    /// The bytes in the best-compressed form that a client accepts, with its content encoding; `None` for plain bytes.
    fn body(&self, headers: &HeaderMap) -> (Body, Option<&'static str>) {
        let forms = [("br", self.br), ("gzip", self.gz)];
        let accepted = forms.into_iter().filter(|(encoding, _)| accepts(headers, encoding));
        match accepted.filter_map(|(encoding, bytes)| Some((bytes?, encoding))).next() {
            Some((bytes, encoding)) => (bytes.into(), Some(encoding)),
            None => (self.plain().into(), None),
        }
    }
    /// The plain bytes. If only compressed forms are embedded, it unpacks one. This is rare: browsers accept
    /// compression.
    fn plain(&self) -> Bytes {
        if let Some(bytes) = self.plain {
            return Bytes::from_static(bytes);
        }
        let mut bytes = Vec::new();
        // Unpacking can't fail: the build wrote these bytes, and a test unpacks each file.
        let _ = GzDecoder::new(self.gz.unwrap_or_default()).read_to_end(&mut bytes);
        bytes.into()
    }
}

fn send(file: &File, headers: &HeaderMap) -> Response {
    // The ETag is weak, because it is the same for every encoding.
    let etag = format!("W/\"{}\"", file.hash);
    let matches = |line: &HeaderValue| line.to_str().is_ok_and(|line| line.split(',').any(|one| one.trim() == etag));
    let mut response = if headers.get_all(IF_NONE_MATCH).iter().any(matches) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let (body, encoding) = file.body(headers);
        let mut response = Response::new(body);
        if let Some(encoding) = encoding {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
            response.extensions_mut().insert(AsItIs);
        }
        response
    };
    let out = response.headers_mut();
    out.insert(CONTENT_TYPE, content_type(file.name));
    if let Ok(value) = HeaderValue::from_str(&etag) {
        out.insert(ETAG, value);
    }
    out.insert(VARY, HeaderValue::from_name(ACCEPT_ENCODING));
    // Names under assets/ contain a hash of the content, so they are cached. Every other file is requested again each
    // time.
    let forever = file.name.starts_with("assets/");
    let cache = if forever { "public, max-age=31536000, immutable" } else { "no-cache" };
    out.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    out.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    out.insert(HeaderName::from_static("permissions-policy"), HeaderValue::from_static(PERMISSIONS));
    out.insert(HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin"));
    response
}

fn content_type(name: &str) -> HeaderValue {
    HeaderValue::from_static(match name.rsplit('.').next().unwrap_or_default() {
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
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const fn file(name: &'static str, plain: &'static [u8]) -> File {
        File { name, hash: "07", plain: Some(plain), br: None, gz: None }
    }
    const FAKE: &[File] = &[
        File { br: Some(b"small"), ..file("index.html", b"<!doctype html>") },
        file("assets/app-1a2b.js", b"run()"),
        file("engine.wasm", b"\0asm"),
        file("sw.js", b"self"),
    ];

    fn asked(name: &str, encoding: &str) -> Response {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, encoding.parse().unwrap());
        answer(FAKE, name, &headers)
    }

    #[tokio::test]
    async fn a_file_that_is_embedded_compressed_is_unpacked_for_others() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(b"run()").unwrap();
        let small: &[u8] = encoder.finish().unwrap().leak();
        let app = [File { name: "app.js", hash: "07", plain: None, br: None, gz: Some(small) }];
        let mut headers = HeaderMap::new();
        let plain = answer(&app, "app.js", &headers);
        assert!(!plain.headers().contains_key(CONTENT_ENCODING));
        assert_eq!(axum::body::to_bytes(plain.into_body(), 99).await.unwrap(), "run()");
        headers.insert(ACCEPT_ENCODING, "gzip".parse().unwrap());
        let packed = answer(&app, "app.js", &headers);
        assert_eq!(packed.headers()[CONTENT_ENCODING], "gzip");
        assert_eq!(axum::body::to_bytes(packed.into_body(), 99).await.unwrap(), small);
    }

    #[test]
    fn every_embedded_file_is_once_there_and_can_be_unpacked() {
        // FNV-1a, as in `build.rs`.
        let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        for file in ADMIN.iter().chain(SCANNER) {
            assert!(file.plain.is_some() != file.gz.is_some(), "{}", file.name);
            let unpacked = file.plain().iter().fold(0xcbf2_9ce4_8422_2325, hash);
            assert_eq!(format!("{unpacked:016x}"), file.hash, "{}", file.name);
            let variant = file.name.ends_with(".br") || file.name.ends_with(".gz");
            assert!(!variant, "{} is served under its own name", file.name);
        }
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
        assert_eq!(answer(FAKE, "", &headers).status(), StatusCode::NOT_MODIFIED);
    }
}
