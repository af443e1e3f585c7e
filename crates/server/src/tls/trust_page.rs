//! The pages for clients without TLS: how to trust the local authority, and a redirect to https.

use axum::Router;
use axum::extract::Request;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, LOCATION};
use http::{HeaderName, HeaderValue, StatusCode};

use super::authority::Authority;

const PAGE: &str = include_str!("trust.html");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/// Answers clients without TLS. Everything but the authority's pages is redirected to https.
pub(super) fn plain(authority: Option<&Authority>) -> Router {
    authority.map(pages).unwrap_or_default().fallback(to_https)
}

/// `/trust` is the explanation, `/local-ca.crt` the authority's certificate.
pub(super) fn pages(authority: &Authority) -> Router {
    let certificate = authority.der().to_vec();
    let download = move || async move {
        let headers: [(HeaderName, &str); 3] = [
            (CONTENT_TYPE, "application/x-x509-ca-cert"),
            (CONTENT_DISPOSITION, "attachment; filename=\"admit-local-ca.crt\""),
            (CACHE_CONTROL, "no-store"),
        ];
        (headers, certificate)
    };
    let page = || async { ([(CONTENT_SECURITY_POLICY, POLICY), (CACHE_CONTROL, "no-store")], Html(PAGE)) };
    Router::new().route("/trust", get(page)).route("/local-ca.crt", get(download))
}

async fn to_https(request: Request) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let plain = |host: &&str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte));
    let Some(host) = host.filter(plain) else {
        return (StatusCode::BAD_REQUEST, "this server speaks https\n").into_response();
    };
    // A program that sent its key in the clear must get an error, not a redirect (ASVS 5 V4.1.2).
    if request.uri().path().starts_with("/api/") {
        return (
            StatusCode::FORBIDDEN,
            "this server speaks https: the key you sent went over the network in the clear\n",
        )
            .into_response();
    }
    let path = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    match HeaderValue::from_str(&format!("https://{host}{path}")) {
        Ok(there) => (StatusCode::PERMANENT_REDIRECT, [(LOCATION, there)]).into_response(),
        Err(_) => (StatusCode::BAD_REQUEST, "this server speaks https\n").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page uses the colours of the web apps, by day and by night.
    #[test]
    fn the_colours_are_those_of_the_web_apps() {
        let tokens = include_str!("../../../../web/shared/ui/tokens.css");
        let style = PAGE.split("</style>").next().unwrap();
        let colours: Vec<&str> = style.match_indices('#').map(|(at, _)| &style[at..at + 7]).collect();
        assert!(colours.len() > 8, "{colours:?}");
        for colour in colours {
            assert!(tokens.contains(colour), "{colour} is no colour of tokens.css");
        }
    }
}
