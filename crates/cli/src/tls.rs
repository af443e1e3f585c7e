//! TLS of the server's own listener, from settings.

use std::path::{Path, PathBuf};

use admit_server::config::TlsBy;
use admit_server::tls::Tls;
use anyhow::bail;
use clap::Args;

/// The folder of the local authority inside the data folder.
const FOLDER: &str = "tls";

/// How the server speaks TLS itself. A proxy in front may do so instead.
#[derive(Debug, Clone, Default, Args)]
pub struct TlsArgs {
    /// Certificate chain (PEM) for https without a proxy. The server reads the file again when it changes.
    #[arg(long, env = "ADMIT_TLS_CERT", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key (PEM) of the certificate.
    #[arg(long, env = "ADMIT_TLS_KEY", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Use https with a certificate from this server's own authority, for networks without internet access. Each phone
    /// must trust the authority once; the page /trust explains how.
    #[arg(long, env = "ADMIT_TLS_SELF_SIGNED", conflicts_with = "tls_cert")]
    pub tls_self_signed: bool,
    /// More host names and addresses at which clients reach a self-signed server, separated by commas.
    #[arg(long, env = "ADMIT_TLS_NAMES", value_delimiter = ',')]
    pub tls_names: Vec<String>,
}

impl TlsArgs {
    /// How the listener speaks TLS by these arguments.
    pub fn by(&self) -> TlsBy {
        match (&self.tls_cert, self.tls_self_signed) {
            (Some(_), _) => TlsBy::Files,
            (None, true) => TlsBy::LocalAuthority,
            (None, false) => TlsBy::Nobody,
        }
    }
    /// Describes the certificate that [`TlsArgs::open`] would use. It creates no authority. This command may run under
    /// another account than the server, and the server could then not read the authority's key.
    pub fn look(&self, data_dir: &Path, public_url: Option<&str>) -> anyhow::Result<Option<&'static str>> {
        if self.by() == TlsBy::LocalAuthority && !data_dir.join(FOLDER).exists() {
            return Ok(Some("the server makes its own authority at its first start"));
        }
        Ok(self.open(data_dir, public_url)?.map(|_| "the certificate and its key belong together"))
    }
    /// Reads the certificate, or opens the local authority of the data folder. `None`: the listener speaks no TLS.
    pub fn open(&self, data_dir: &Path, public_url: Option<&str>) -> anyhow::Result<Option<Tls>> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(cert), Some(key)) => return Ok(Some(Tls::from_files(cert, key)?)),
            (None, None) => {}
            _ => bail!("ADMIT_TLS_CERT and ADMIT_TLS_KEY are given together: a certificate and its private key"),
        }
        if !self.tls_self_signed {
            return Ok(None);
        }
        Ok(Some(Tls::local(&data_dir.join(FOLDER), &names(&self.tls_names, public_url))?))
    }
}

/// The names in a self-signed certificate: this machine's, the given ones, and that of `PUBLIC_URL`.
fn names(given: &[String], public_url: Option<&str>) -> Vec<String> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if let Some(host) = hostname() {
        names.push(format!("{host}.local"));
        names.push(host);
    }
    names.extend(given.iter().map(|name| name.trim().to_ascii_lowercase()).filter(|name| !name.is_empty()));
    let uri = public_url.and_then(|url| url.parse::<http::Uri>().ok());
    names.extend(uri.as_ref().and_then(http::Uri::host).map(|host| host.trim_matches(['[', ']']).to_ascii_lowercase()));
    names.sort();
    names.dedup();
    names
}

/// This machine's host name, if it is a plain one; else `None`.
fn hostname() -> Option<String> {
    #[cfg(target_os = "linux")]
    let name = rustix::system::uname().nodename().to_str().ok()?.to_ascii_lowercase();
    #[cfg(not(target_os = "linux"))]
    let name = std::env::var("HOSTNAME").ok()?.to_ascii_lowercase();
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    plain.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_names_what_was_given_and_where_links_lead() {
        let names = names(&[" Door.LAN ".into(), "10.0.0.7".into()], Some("https://venue.example:8443"));
        for name in ["localhost", "127.0.0.1", "::1", "door.lan", "10.0.0.7", "venue.example"] {
            assert!(names.iter().any(|one| one == name), "{name} in {names:?}");
        }
    }

    #[test]
    fn a_certificate_without_its_key_is_refused() {
        let args = TlsArgs { tls_cert: Some("a.pem".into()), ..TlsArgs::default() };
        assert!(args.open(Path::new("."), None).err().unwrap().to_string().contains("ADMIT_TLS_KEY"));
    }
}
