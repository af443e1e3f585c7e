//! The settings of the server, which are checked before it starts.

use admit_core::limits;
use http::HeaderMap;
use http::header::HOST;

mod fault;
mod outside;
mod proxies;

pub use fault::SettingError;
pub use outside::{Bucket, MailPlace, ObjectsPlace};
pub use proxies::TrustedProxies;

/// The settings of an installation. The binary fills them from its arguments and the environment (spec §8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `PUBLIC_URL`: scheme, host and port under which browsers and phones reach this server, without a slash at the
    /// end. `None`: the address to which a request came.
    pub public_url: Option<String>,
    /// `ADMIT_SYNCS_PER_MINUTE`: the most syncs of a device in any 60 s (S1 §7.6).
    pub syncs_per_minute: u32,
    /// The most messages of a webhook endpoint on this node in any 60 s.
    pub webhooks_per_minute: u32,
    /// `REDIS_URL`: the Redis that several nodes share. It makes answers faster and is never required.
    pub redis_url: Option<String>,
    /// Whether other nodes may write to the same database.
    pub several_nodes: bool,
    /// The time limit of a request, in milliseconds, except long polls and live streams.
    pub request_ms: u64,
    /// `SMTP_URL` and `SMTP_FROM`. `None`: passes are made, but not mailed.
    pub mail: Option<MailPlace>,
    /// `OBJECTS_URL`: where the pictures of passes are stored.
    pub objects: ObjectsPlace,
    /// `OBJECTS_PUBLIC_URL`: the public address of the pictures; `None`: this server serves them.
    pub objects_public_url: Option<String>,
    /// The address of passes if `PUBLIC_URL` is absent. The demo sets it to its own address.
    pub passes_at: Option<String>,
    /// `ADMIT_NODE`: this node's name among the nodes of one database. With it a restarted node takes its former runs
    /// back at once.
    pub node: Option<String>,
    /// `ADMIT_TRUSTED_PROXIES`: the proxies that may name the address of a client.
    pub trusted_proxies: TrustedProxies,
    /// Whether this server speaks TLS itself.
    pub tls: TlsBy,
    /// The data folder, whose disk space is checked; `None` if this server stores nothing on a disk.
    pub data_dir: Option<std::path::PathBuf>,
}

/// How this server's own listener speaks TLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TlsBy {
    /// The listener speaks no TLS; a proxy in front may.
    #[default]
    Nobody,
    /// With a certificate from files, which browsers trust.
    Files,
    /// TLS with a certificate of a local authority that this server makes. A person must make each phone trust that
    /// authority.
    LocalAuthority,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            public_url: None,
            syncs_per_minute: limits::SYNCS_PER_MINUTE,
            webhooks_per_minute: limits::WEBHOOKS_PER_MINUTE,
            redis_url: None,
            several_nodes: false,
            request_ms: 60_000,
            mail: None,
            objects: ObjectsPlace::Memory,
            objects_public_url: None,
            passes_at: None,
            node: None,
            trusted_proxies: TrustedProxies::default(),
            tls: TlsBy::Nobody,
            data_dir: None,
        }
    }
}

impl Settings {
    /// Sets `PUBLIC_URL`. It may have only scheme, host and port, because the apps are at the root.
    pub fn with_public_url(mut self, url: &str) -> Result<Self, SettingError> {
        let wrong = || SettingError {
            name: "PUBLIC_URL",
            message: format!("must be like https://tickets.example.org, without a path; it is {url:?}"),
        };
        let uri: http::Uri = url.trim().trim_end_matches('/').parse().map_err(|_| wrong())?;
        let scheme = uri.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https")).ok_or_else(wrong)?;
        let authority = uri.authority().filter(|one| !one.as_str().contains('@')).ok_or_else(wrong)?;
        if uri.path_and_query().is_some_and(|path| path.as_str() != "/") {
            return Err(wrong());
        }
        self.public_url = Some(format!("{scheme}://{}", authority.as_str().to_ascii_lowercase()));
        Ok(self)
    }
    /// Sets `REDIS_URL`. It does not connect, because the server must start without Redis.
    pub fn with_redis_url(mut self, url: &str) -> Result<Self, SettingError> {
        redis::Client::open(url).map_err(|error| SettingError {
            name: "REDIS_URL",
            message: format!("must be like redis://user:password@host:6379/0, or rediss:// for TLS: {error}"),
        })?;
        self.redis_url = Some(url.to_owned());
        Ok(self)
    }
    /// Sets `SMTP_URL` and `SMTP_FROM`. It does not connect, because mails can wait.
    pub fn with_mail(mut self, url: &str, from: Option<&str>) -> Result<Self, SettingError> {
        self.mail = Some(outside::mail(url, from)?);
        Ok(self)
    }
    /// Sets `OBJECTS_URL`: `file:` and a folder, or `s3://KEY:SECRET@bucket/prefix?endpoint=…&region=…`.
    pub fn with_objects(mut self, url: &str) -> Result<Self, SettingError> {
        self.objects = outside::objects(url)?;
        Ok(self)
    }
    /// Sets `OBJECTS_PUBLIC_URL`.
    pub fn with_objects_public_url(mut self, url: &str) -> Result<Self, SettingError> {
        self.objects_public_url = Some(outside::objects_public_url(url)?);
        Ok(self)
    }
    /// The address under which passes are shown; `None` if it is not known.
    pub fn passes_lead_to(&self) -> Option<String> {
        self.public_url.clone().or_else(|| self.passes_at.clone())
    }
    /// Whether browsers reach this server by https. Cookies then are `Secure` and have the `__Host-` prefix.
    pub fn is_https(&self) -> bool {
        match self.public_url.as_deref() {
            Some(url) => url.starts_with("https://"),
            None => self.tls != TlsBy::Nobody,
        }
    }
    /// Whether browsers should use only https from now on. Not with a local authority: a phone that does not trust it
    /// yet could not open the page that explains how.
    pub fn is_strict_https(&self) -> bool {
        self.is_https() && self.tls != TlsBy::LocalAuthority
    }
    /// The address for links: `PUBLIC_URL`, else the address to which this request came.
    pub fn base_url(&self, headers: &HeaderMap) -> String {
        if let Some(url) = &self.public_url {
            return url.clone();
        }
        let host = headers.get(HOST).and_then(|value| value.to_str().ok());
        let plain = |host: &&str| host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_:[]".contains(&b));
        let scheme = if self.is_https() { "https" } else { "http" };
        format!("{scheme}://{}", host.filter(plain).unwrap_or("127.0.0.1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_is_an_origin() {
        let origin = |url: &str| Settings::default().with_public_url(url).map(|one| one.public_url.unwrap());
        assert_eq!(origin("https://Tickets.example.org/").unwrap(), "https://tickets.example.org");
        assert_eq!(origin("http://127.0.0.1:8080").unwrap(), "http://127.0.0.1:8080");
        for wrong in ["", "tickets.example.org", "ftp://a.b", "https://a.b/admit", "https://me@a.b", "https://a.b?x"] {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn without_one_links_lead_where_the_request_came_to() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "192.168.1.5:8080".parse().unwrap());
        assert_eq!(Settings::default().base_url(&headers), "http://192.168.1.5:8080");
        headers.insert(HOST, "a/b\"<".parse().unwrap());
        assert_eq!(Settings::default().base_url(&headers), "http://127.0.0.1");
    }
}
