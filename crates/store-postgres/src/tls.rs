//! The address of the database, and the TLS of the connection to it.
//!
//! `sslmode` has the usual values: `disable`; `prefer` (the default: TLS if the server offers it); `require` (TLS,
//! with any server); `verify-full` (TLS, and a certificate for the host's name). The certificate must be signed by an
//! authority of `sslrootcert`, a PEM file, or by one that this machine trusts. With `sslrootcert` the certificate is checked in every mode that uses TLS.

use std::sync::Arc;

use admit_app::error::{Error, Result};
use admit_store_queries::block_index::BlockIndex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The address of the database and how to connect to it.
#[derive(Clone)]
pub(crate) struct Address {
    /// Host, user, database and further connection settings.
    pub config: Config,
    /// The TLS connector; `None` on a unix socket and with `sslmode=disable`.
    pub tls: Option<MakeRustlsConnect>,
    /// The index that says in which block each scan of the database's events is stored. All connections that are made
    /// with this address share it.
    pub index: BlockIndex,
}

/// Parses `DATABASE_URL`: a URL, or `host=… user=… dbname=…`.
pub(crate) fn address(url: &str) -> Result<Address> {
    let (rest, root_certificates) = without(url, "sslrootcert");
    let (rest, mode) = without(&rest, "sslmode");
    let mut config: Config = rest.parse().map_err(|error| {
        Error::invalid("DATABASE_URL", format!("must look like postgres://user:password@host/database: {error}"))
    })?;
    let (mode, checked) = match mode.as_deref() {
        None | Some("prefer") => (SslMode::Prefer, false),
        Some("disable") => (SslMode::Disable, false),
        Some("require") => (SslMode::Require, false),
        Some("verify-full") => (SslMode::Require, true),
        Some(other) => {
            let known = "disable, prefer, require or verify-full";
            return Err(Error::invalid("DATABASE_URL", format!("has sslmode={other}, which must be {known}")));
        }
    };
    config.ssl_mode(mode);
    let by_socket = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
    if by_socket && mode == SslMode::Require {
        return Err(Error::invalid("DATABASE_URL", "asks for TLS on a unix socket, which needs none: name a host"));
    }
    if by_socket || mode == SslMode::Disable {
        return Ok(Address { config, tls: None, index: BlockIndex::default() });
    }
    let tls = client(checked || root_certificates.is_some(), root_certificates.as_deref())?;
    Ok(Address { config, tls: Some(MakeRustlsConnect::new(tls)), index: BlockIndex::default() })
}

/// The URL without one parameter, and that parameter's value.
fn without(url: &str, name: &str) -> (String, Option<String>) {
    let is_url = url.starts_with("postgres://") || url.starts_with("postgresql://");
    let (head, parameters, between) = match url.split_once('?') {
        Some((head, parameters)) if is_url => (format!("{head}?"), parameters, '&'),
        _ if is_url => return (url.to_owned(), None),
        _ => (String::new(), url, ' '),
    };
    let mut found = None;
    let kept: Vec<&str> = parameters
        .split(between)
        .filter(|pair| match pair.split_once('=') {
            Some((key, value)) if key.trim() == name => {
                found = Some(value.trim().trim_matches('\'').replace("%2F", "/"));
                false
            }
            _ => true,
        })
        .collect();
    (head + &kept.join(&between.to_string()), found)
}

fn client(checked: bool, root_certificates: Option<&str>) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let wrong = |why: String| Error::invalid("DATABASE_URL", why);
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| Error::Bug(format!("preparing TLS: {error}")))?;
    let config = if checked {
        let mut roots = RootCertStore::empty();
        match root_certificates.filter(|file| *file != "system") {
            Some(file) => {
                let unreadable = |error| wrong(format!("names sslrootcert={file}, which cannot be read: {error}"));
                for certificate in CertificateDer::pem_file_iter(file).map_err(unreadable)? {
                    let certificate = certificate.map_err(unreadable)?;
                    roots.add(certificate).map_err(|error| wrong(format!("names sslrootcert={file}: {error}")))?;
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        if roots.is_empty() {
            return Err(wrong(
                "asks for a checked certificate, and there is no authority to check it by: \
                              name a PEM file with sslrootcert"
                    .into(),
            ));
        }
        builder.with_root_certificates(roots)
    } else {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Whoever(provider)))
    };
    Ok(config.with_no_client_auth())
}

/// The certificate check of `sslmode=require`: it accepts any server, but still verifies the signatures of the
/// handshake.
#[derive(Debug)]
struct Whoever(Arc<CryptoProvider>);

impl ServerCertVerifier for Whoever {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _between: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_taken_out_of_either_form() {
        let (rest, mode) = without("postgres://u:p@h/d?sslmode=require&application_name=x", "sslmode");
        assert_eq!((rest.as_str(), mode.as_deref()), ("postgres://u:p@h/d?application_name=x", Some("require")));
        let (rest, mode) = without("host=/run user=u sslmode='verify-full' dbname=d", "sslmode");
        assert_eq!((rest.as_str(), mode.as_deref()), ("host=/run user=u dbname=d", Some("verify-full")));
        assert_eq!(without("postgres://u@h/d", "sslmode"), ("postgres://u@h/d".to_owned(), None));
    }

    #[test]
    fn each_mode_is_what_it_says() {
        let tls = |url: &str| address(url).map(|found| (found.config.get_ssl_mode(), found.tls.is_some()));
        assert_eq!(tls("host=/run/pg user=u dbname=d"), Ok((SslMode::Prefer, false)), "a socket is private already");
        assert_eq!(tls("postgres://u@h/d"), Ok((SslMode::Prefer, true)));
        assert_eq!(tls("postgres://u@h/d?sslmode=disable"), Ok((SslMode::Disable, false)));
        assert_eq!(tls("postgres://u@h/d?sslmode=require"), Ok((SslMode::Require, true)));
        for wrong in ["nonsense", "postgres://u@h/d?sslmode=verify-ca", "postgres://u@h/d?sslrootcert=/nowhere.pem"] {
            assert!(matches!(tls(wrong), Err(Error::Invalid { .. })), "{wrong}: {:?}", tls(wrong));
        }
    }
}
