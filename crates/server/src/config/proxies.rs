//! The proxies that may name the address of a client.

use std::net::IpAddr;

use http::HeaderMap;
use ipnet::IpNet;

use super::fault::SettingError;

/// `ADMIT_TRUSTED_PROXIES`: addresses and networks of the proxies in front of this server. `X-Forwarded-For` of any
/// other sender is ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Parses a list such as `127.0.0.1, 10.0.0.0/8`. Fails on a part that is neither an address nor a network.
    pub fn read(text: &str) -> Result<Self, SettingError> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let network = |part: &str| {
            let network = part.parse::<IpNet>().or_else(|_| part.parse::<IpAddr>().map(IpNet::from));
            network.map_err(|_| SettingError {
                name: "ADMIT_TRUSTED_PROXIES",
                message: format!("must be addresses and networks such as 127.0.0.1,10.0.0.0/8; it has {part:?}"),
            })
        };
        parts.map(network).collect::<Result<_, _>>().map(Self)
    }
    /// Whether no proxy is trusted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address.to_canonical()))
    }
    /// The client's address. `peer` is the other end of the connection. If it is a trusted proxy, the client is the
    /// last address in `X-Forwarded-For` that is no trusted proxy. A host name there, or a header from anybody else,
    /// is ignored.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let lines = headers.get_all("x-forwarded-for").iter().filter_map(|line| line.to_str().ok());
        let named: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
        let mut client = peer;
        for text in named.iter().rev() {
            if !self.trusts(client) {
                break;
            }
            match text.parse::<IpAddr>() {
                Ok(address) => client = address,
                Err(_) => break,
            }
        }
        client
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(trusted: &str, peer: &str, lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("x-forwarded-for", line.parse().unwrap());
        }
        TrustedProxies::read(trusted).unwrap().client(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn nobody_is_believed_by_default() {
        assert_eq!(of("", "127.0.0.1", &["203.0.113.9"]), "127.0.0.1");
        assert_eq!(of("", "10.1.2.3", &["203.0.113.9"]), "10.1.2.3");
    }

    #[test]
    fn a_trusted_proxy_is_believed_and_a_stranger_is_not() {
        let near = "127.0.0.0/8, 10.0.0.0/8, ::1";
        assert_eq!(of(near, "127.0.0.1", &[]), "127.0.0.1");
        assert_eq!(of(near, "127.0.0.1", &["203.0.113.9"]), "203.0.113.9");
        assert_eq!(of(near, "::ffff:127.0.0.1", &["203.0.113.9"]), "203.0.113.9", "a mapped address is the address");
        assert_eq!(of(near, "10.1.2.3", &["1.1.1.1, 203.0.113.9"]), "203.0.113.9", "the last is the proxy's own word");
        assert_eq!(of(near, "127.0.0.1", &["1.1.1.1", "203.0.113.9"]), "203.0.113.9");
        assert_eq!(of(near, "127.0.0.1", &["203.0.113.9, 10.0.0.4"]), "203.0.113.9", "two proxies in a row");
        assert_eq!(of(near, "198.51.100.7", &["203.0.113.9"]), "198.51.100.7");
        assert_eq!(of(near, "127.0.0.1", &["nonsense"]), "127.0.0.1");
    }

    #[test]
    fn what_is_no_address_is_refused_by_name() {
        let told = TrustedProxies::read("10.0.0.1,caddy").unwrap_err().to_string();
        assert!(told.contains("ADMIT_TRUSTED_PROXIES") && told.contains("\"caddy\""), "{told}");
    }
}
