//! The network address that a request comes from.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Once;

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{Extensions, HeaderMap};

use crate::error::ApiError;
use crate::state::AppState;

/// The other end of a connection: the client, or a proxy. The listener adds it to each request.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// Extractor: the address of the client. Behind a proxy of `ADMIT_TRUSTED_PROXIES` it is the address that the proxy
/// names.
#[derive(Debug, Clone, Copy)]
pub struct Client(pub IpAddr);

impl FromRequestParts<AppState> for Client {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        Ok(Self(client(state, &parts.extensions, &parts.headers)))
    }
}

/// The address of the client of a request.
pub fn client(state: &AppState, extensions: &Extensions, headers: &HeaderMap) -> IpAddr {
    let peer = extensions.get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.0.ip());
    let proxies = &state.settings.trusted_proxies;
    if proxies.is_empty() && peer.is_loopback() && headers.contains_key("x-forwarded-for") {
        warn_once();
    }
    proxies.client(peer, headers)
}

/// Warns once about a proxy that names clients and is not trusted. Until it is trusted, all clients behind it count as
/// one address in the limits.
fn warn_once() {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        tracing::warn!(
            event = "proxy.untrusted",
            "a proxy on this machine names the addresses of clients and is not trusted: set ADMIT_TRUSTED_PROXIES=127.0.0.1"
        );
    });
}
