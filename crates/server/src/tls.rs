//! TLS on the server's own listener: a certificate from files, or one of a local authority that this server made.
//!
//! Browsers give a page the camera only over https. A venue without an internet connection has no public certificate.
//! There the server makes an authority of its own once, and each phone trusts it once. Every later certificate of that
//! authority is accepted too.

mod authority;
mod trust_page;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use axum::Router;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_util::sync::CancellationToken;

pub use authority::Authority;

use crate::config::SettingError;

/// How often the server checks whether the files have changed.
const LOOK: Duration = Duration::from_secs(15);
/// The age at which a certificate of the local authority is replaced by a new one.
const REMADE_AFTER: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The source of the certificates of connections. A clone is cheap.
#[derive(Clone)]
pub struct Tls {
    source: Arc<Source>,
}

enum Source {
    Files { cert: PathBuf, key: PathBuf, seen: Mutex<Seen>, config: RwLock<Arc<ServerConfig>> },
    Local { authority: Box<Authority>, names: Vec<String>, made: Mutex<BTreeMap<IpAddr, (Arc<ServerConfig>, Instant)>> },
}

/// Time of the last change and length of the certificate's and the key's file; `None` if a file is missing.
type Seen = [Option<(SystemTime, u64)>; 2];

impl Tls {
    /// Uses the files of `ADMIT_TLS_CERT` (the chain, PEM) and `ADMIT_TLS_KEY` (its private key, PEM). Fails, with the
    /// setting's name, if a file cannot be read or is empty, or if the two don't belong together.
    pub fn from_files(cert: &Path, key: &Path) -> Result<Self, SettingError> {
        let config = RwLock::new(read_files(cert, key)?);
        let seen = Mutex::new([changed(cert), changed(key)]);
        let source = Source::Files { cert: cert.to_owned(), key: key.to_owned(), seen, config };
        Ok(Self { source: Arc::new(source) })
    }
    /// Uses the authority in `folder`, which the first start creates. `names` are the host names under which clients
    /// reach this server. The address that a connection came to is always part of its certificate.
    pub fn local(folder: &Path, names: &[String]) -> Result<Self, SettingError> {
        let authority = Box::new(Authority::open(folder)?);
        let source = Source::Local { authority, names: names.to_vec(), made: Mutex::default() };
        Ok(Self { source: Arc::new(source) })
    }
    /// The local authority; `None` if the certificate comes from files.
    pub fn authority(&self) -> Option<&Authority> {
        match &*self.source {
            Source::Local { authority, .. } => Some(authority),
            Source::Files { .. } => None,
        }
    }
    /// The TLS settings for a connection to this address of the server.
    pub(crate) fn config(&self, address: IpAddr) -> Result<Arc<ServerConfig>, SettingError> {
        match &*self.source {
            Source::Files { config, .. } => Ok(Arc::clone(&config.read().unwrap_or_else(PoisonError::into_inner))),
            Source::Local { authority, names, made } => {
                let address = address.to_canonical();
                let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((config, at)) = made.get(&address)
                    && at.elapsed() < REMADE_AFTER
                {
                    return Ok(Arc::clone(config));
                }
                let (chain, key) = authority.certificate(names, address)?;
                let config = server_config(chain, key)?;
                made.insert(address, (Arc::clone(&config), Instant::now()));
                Ok(config)
            }
        }
    }
    /// The router for clients without TLS. It explains how to trust the local authority, or redirects to https.
    pub(crate) fn plain(&self) -> Router {
        trust_page::plain(self.authority())
    }
    /// The pages about the local authority, for clients that use https already.
    pub fn pages(&self) -> Router {
        self.authority().map(trust_page::pages).unwrap_or_default()
    }
    /// Reads the files again if they changed, and gives whether they did. If they cannot be used, the old certificate
    /// stays.
    pub fn read_again(&self) -> Result<bool, SettingError> {
        let Source::Files { cert, key, seen, config } = &*self.source else { return Ok(false) };
        let now = [changed(cert), changed(key)];
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == now {
            return Ok(false);
        }
        *config.write().unwrap_or_else(PoisonError::into_inner) = read_files(cert, key)?;
        *seen = now;
        Ok(true)
    }
    /// Reads the files again whenever they change, until `shutdown`.
    pub async fn reload(self, shutdown: CancellationToken) {
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
            match self.read_again() {
                Ok(false) => {}
                Ok(true) => tracing::info!(event = "tls.reloaded", "the certificate was read again"),
                // Perhaps only one of the two files is new yet, so the next check tries again.
                Err(error) => tracing::warn!(event = "tls.not_reloaded", %error, "the old certificate stays"),
            }
        }
    }
}

/// The time of a file's last change and its length; `None` if the file is missing.
fn changed(path: &Path) -> Option<(SystemTime, u64)> {
    let data = std::fs::metadata(path).ok()?;
    Some((data.modified().ok()?, data.len()))
}

fn read_files(cert: &Path, key: &Path) -> Result<Arc<ServerConfig>, SettingError> {
    let wrong = |name: &'static str, path: &Path, why: String| SettingError {
        name,
        message: format!("must be a PEM file; {} {why}", path.display()),
    };
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(|all| all.collect::<Result<Vec<_>, _>>())
        .map_err(|error| wrong("ADMIT_TLS_CERT", cert, format!("cannot be read: {error}")))?;
    if chain.is_empty() {
        return Err(wrong("ADMIT_TLS_CERT", cert, "holds no certificate".into()));
    }
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| wrong("ADMIT_TLS_KEY", key, format!("cannot be read: {error}")))?;
    server_config(chain, private)
}

fn server_config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>, SettingError> {
    let wrong = |error: rustls::Error| SettingError {
        name: "ADMIT_TLS_KEY",
        message: format!("must be the private key of the certificate in ADMIT_TLS_CERT: {error}"),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(wrong)?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key).map_err(wrong)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cipher_suite_is_authenticated_encryption_with_a_key_for_one_connection() {
        let folder = tempfile::tempdir().unwrap();
        let tls = Tls::local(folder.path(), &["door.lan".into()]).unwrap();
        let config = tls.config(std::net::Ipv4Addr::LOCALHOST.into()).unwrap();
        let suites = &config.crypto_provider().cipher_suites;
        assert!(!suites.is_empty());
        for suite in suites {
            let name = format!("{:?}", suite.suite());
            assert!(name.starts_with("TLS13_") || name.starts_with("TLS_ECDHE_"), "{name}");
            assert!(name.contains("GCM") || name.contains("CHACHA20_POLY1305"), "{name}");
        }
    }
}
