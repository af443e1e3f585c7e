//! Settings of the server, checked before anything starts.

use admit_core::limits;
use http::HeaderMap;
use http::header::HOST;

mod fault;
mod outside;
mod proxies;

pub use fault::SettingError;
pub use outside::{Bucket, MailPlace, ObjectsPlace};
pub use proxies::TrustedProxies;

/// The settings of an installation. The binary fills them from the environment (spec §8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `PUBLIC_URL`: scheme, host and port under which browsers and phones reach this server, without a slash at the
    /// end. Absent: whatever address a request came to.
    pub public_url: Option<String>,
    /// `ADMIT_SYNCS_PER_MINUTE`: syncs of a device in any 60 s (S1 §7.6).
    pub syncs_per_minute: u32,
    /// Messages of a webhook endpoint that this node takes in any 60 s.
    pub webhooks_per_minute: u32,
    /// `REDIS_URL`: what the nodes share to be quick; never needed for an answer.
    pub redis_url: Option<String>,
    /// Other nodes may write to the same database.
    pub several_nodes: bool,
    /// Longest a request may take, in milliseconds; long polls and live streams aside.
    pub request_ms: u64,
    /// `SMTP_URL` and `SMTP_FROM`: without them passes are made and nothing is mailed.
    pub mail: Option<MailPlace>,
    /// `OBJECTS_URL`: where the pictures of passes are kept.
    pub objects: ObjectsPlace,
    /// `OBJECTS_PUBLIC_URL`: where everybody sees them; this server where absent.
    pub objects_public_url: Option<String>,
    /// The address of passes where `PUBLIC_URL` is absent: a demo's own address.
    pub passes_at: Option<String>,
    /// `ADMIT_NODE`: this node's name among those of one database. With one it has at once, after a crash, what it had.
    pub node: Option<String>,
    /// `ADMIT_TRUSTED_PROXIES`: who may say where a request comes from.
    pub trusted_proxies: TrustedProxies,
    /// Whether this server speaks TLS itself.
    pub tls: TlsBy,
    /// Folder of the data, for looking at the room on its disk; absent where nothing is kept on a disk of ours.
    pub data_dir: Option<std::path::PathBuf>,
}

/// How this server's own listener speaks TLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TlsBy {
    /// It does not: a proxy in front may.
    #[default]
    Nobody,
    /// With a certificate that browsers know.
    Files,
    /// With one of its own authority, which phones must come to trust.
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
    /// Reads `PUBLIC_URL`: only scheme, host and port, because the apps live at the root.
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
    /// Reads `REDIS_URL`. Whether anybody is there is not asked: the server must start without.
    pub fn with_redis_url(mut self, url: &str) -> Result<Self, SettingError> {
        redis::Client::open(url).map_err(|error| SettingError {
            name: "REDIS_URL",
            message: format!("must be like redis://user:password@host:6379/0, or rediss:// for TLS: {error}"),
        })?;
        self.redis_url = Some(url.to_owned());
        Ok(self)
    }
    /// Reads `SMTP_URL` and `SMTP_FROM`. Whether anybody is there is not asked: mails wait.
    pub fn with_mail(mut self, url: &str, from: Option<&str>) -> Result<Self, SettingError> {
        self.mail = Some(outside::mail(url, from)?);
        Ok(self)
    }
    /// Reads `OBJECTS_URL`: `file:` and a folder, or `s3://KEY:SECRET@bucket/prefix?endpoint=…&region=…`.
    pub fn with_objects(mut self, url: &str) -> Result<Self, SettingError> {
        self.objects = outside::objects(url)?;
        Ok(self)
    }
    /// Reads `OBJECTS_PUBLIC_URL`.
    pub fn with_objects_public_url(mut self, url: &str) -> Result<Self, SettingError> {
        self.objects_public_url = Some(outside::objects_public_url(url)?);
        Ok(self)
    }
    /// The address that passes lead to; absent where it is not known.
    pub fn passes_lead_to(&self) -> Option<String> {
        self.public_url.clone().or_else(|| self.passes_at.clone())
    }
    /// Whether browsers reach us by TLS: then cookies are `Secure` and take the `__Host-` prefix.
    pub fn is_https(&self) -> bool {
        match self.public_url.as_deref() {
            Some(url) => url.starts_with("https://"),
            None => self.tls != TlsBy::Nobody,
        }
    }
    /// Whether browsers should refuse to come by anything but https from now on. Not with a local authority: who has not
    /// trusted it yet could not look at the page that explains how.
    pub fn is_strict_https(&self) -> bool {
        self.is_https() && self.tls != TlsBy::LocalAuthority
    }
    /// The address to put into links: `PUBLIC_URL`, else the one this request came to.
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
