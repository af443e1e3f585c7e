//! Where a request comes from: the network address of whoever asks, as far as that can be known.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::FromRequestParts;
use http::HeaderMap;
use http::request::Parts;

use crate::error::ApiError;

/// Put into a request by whoever took its connection: the other end.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// Extractor: the address of whoever asks. Behind a proxy of our own network it is the one the proxy names last; what a
/// stranger says of itself is not believed.
#[derive(Debug, Clone, Copy)]
pub struct Client(pub IpAddr);

impl<S: Send + Sync> FromRequestParts<S> for Client {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let peer = parts.extensions.get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.0.ip());
        Ok(Self(client(peer, &parts.headers)))
    }
}

fn client(peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    if !is_near(peer.to_canonical()) {
        return peer;
    }
    let last = headers.get_all("x-forwarded-for").iter().next_back().and_then(|line| line.to_str().ok());
    let last = last.and_then(|line| line.rsplit(',').next()).map(str::trim);
    last.and_then(|text| text.parse().ok()).unwrap_or(peer)
}

/// Of this machine or a network of its own: where proxies are.
fn is_near(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => four.is_loopback() || four.is_private(),
        IpAddr::V6(six) => six.is_loopback() || six.is_unique_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_believed_and_a_stranger_is_not() {
        let of = |peer: &str, lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("x-forwarded-for", line.parse().unwrap());
            }
            client(peer.parse().unwrap(), &headers).to_string()
        };
        assert_eq!(of("127.0.0.1", &[]), "127.0.0.1");
        assert_eq!(of("127.0.0.1", &["203.0.113.9"]), "203.0.113.9");
        assert_eq!(of("10.1.2.3", &["1.1.1.1, 203.0.113.9"]), "203.0.113.9", "the last is the proxy's own word");
        assert_eq!(of("127.0.0.1", &["1.1.1.1", "203.0.113.9"]), "203.0.113.9");
        assert_eq!(of("198.51.100.7", &["203.0.113.9"]), "198.51.100.7");
        assert_eq!(of("127.0.0.1", &["nonsense"]), "127.0.0.1");
    }
}
