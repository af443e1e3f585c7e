//! TLS on the server's own listener: a certificate from files, or one of a local authority that this server made.
//!
//! Browsers give a page the camera only over https. A venue without an internet connection has no public certificate.
//! There the server makes an authority of its own once, and phones trust it once. Every certificate that it makes
//! later is good.

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

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(15);
/// A certificate of the local authority is good for longer than this, and made anew after it.
const REMADE_AFTER: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Where the certificate of a connection is from. Cheap to clone.
#[derive(Clone)]
pub struct Tls {
    source: Arc<Source>,
}

enum Source {
    Files { cert: PathBuf, key: PathBuf, seen: Mutex<Seen>, config: RwLock<Arc<ServerConfig>> },
    Local { authority: Box<Authority>, names: Vec<String>, made: Mutex<BTreeMap<IpAddr, (Arc<ServerConfig>, Instant)>> },
}

/// When certificate and key were changed last, and their lengths.
type Seen = [Option<(SystemTime, u64)>; 2];

impl Tls {
    /// From `ADMIT_TLS_CERT` (the chain, PEM) and `ADMIT_TLS_KEY` (its private key, PEM). Fails, naming the setting, on
    /// files that cannot be read, hold nothing, or don't belong together.
    pub fn from_files(cert: &Path, key: &Path) -> Result<Self, SettingError> {
        let config = RwLock::new(read_files(cert, key)?);
        let seen = Mutex::new([changed(cert), changed(key)]);
        let source = Source::Files { cert: cert.to_owned(), key: key.to_owned(), seen, config };
        Ok(Self { source: Arc::new(source) })
    }
    /// From the authority kept in `folder`, which is made there at the first start. `names` are the host names under which
    /// clients reach this server; the address that a connection came to is always among them.
    pub fn local(folder: &Path, names: &[String]) -> Result<Self, SettingError> {
        let authority = Box::new(Authority::open(folder)?);
        let source = Source::Local { authority, names: names.to_vec(), made: Mutex::default() };
        Ok(Self { source: Arc::new(source) })
    }
    /// The local authority, where certificates are from one.
    pub fn authority(&self) -> Option<&Authority> {
        match &*self.source {
            Source::Local { authority, .. } => Some(authority),
            Source::Files { .. } => None,
        }
    }
    /// The TLS settings for a connection to this address of ours.
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
    /// The answers to a client that speaks HTTP without TLS: how to trust the local authority, else the address with
    /// https.
    pub(crate) fn plain(&self) -> Router {
        trust_page::plain(self.authority())
    }
    /// The page that explains the local authority, for who is there by https already.
    pub fn pages(&self) -> Router {
        self.authority().map(trust_page::pages).unwrap_or_default()
    }
    /// Reads the files again where they changed; answers whether it did. Files that cannot be used leave the old
    /// certificate.
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
                // Perhaps only one of the two is there yet: it is tried again at the next look.
                Err(error) => tracing::warn!(event = "tls.not_reloaded", %error, "the old certificate stays"),
            }
        }
    }
}

/// When a file was changed last, and its length.
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
