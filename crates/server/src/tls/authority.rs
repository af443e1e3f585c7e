//! A local certificate authority, for networks where no public authority can issue a certificate.

use std::fs;
use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SanType,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use time::{Duration, OffsetDateTime};

use crate::config::SettingError;

const KEY_FILE: &str = "local-ca.key";
const CERT_FILE: &str = "local-ca.crt";
const NAME: &str = "Admit local authority";
/// Life of the authority, in days. A phone that trusts it once should trust it for the life of an installation.
const AUTHORITY_DAYS: i64 = 3_650;
/// Life of a certificate, in days. Apple refuses more than 825; a short life makes sure that renewal is exercised.
const CERTIFICATE_DAYS: i64 = 90;
/// How many days before its creation a certificate begins, for phones whose clock is behind.
const BEFORE_DAYS: i64 = 2;

/// The authority. Its key stays in the data folder; its certificate is what phones trust.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
}

impl Authority {
    /// Opens the authority of a folder, and creates it if it is missing. Only the folder's owner can read its key.
    pub fn open(folder: &Path) -> Result<Self, SettingError> {
        let paths = (folder.join(KEY_FILE), folder.join(CERT_FILE));
        let wrong = |path: &Path, error: &dyn std::fmt::Display| SettingError {
            name: "ADMIT_TLS_SELF_SIGNED",
            message: format!("keeps its authority in {}: {error}", path.display()),
        };
        if !paths.0.exists() {
            make(&paths).map_err(|error| wrong(&paths.0, &error))?;
        }
        let key = fs::read_to_string(&paths.0).map_err(|error| wrong(&paths.0, &error))?;
        let key = KeyPair::from_pem(&key).map_err(|error| wrong(&paths.0, &error))?;
        let pem = fs::read_to_string(&paths.1).map_err(|error| wrong(&paths.1, &error))?;
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| wrong(&paths.1, &error))?;
        let params = authority_params().map_err(|error| wrong(&paths.0, &error))?;
        Ok(Self { issuer: Issuer::new(params, key), certificate, pem })
    }
    /// The authority's certificate, as PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }
    /// The authority's certificate in DER, the form that phones import.
    pub fn der(&self) -> &[u8] {
        &self.certificate
    }
    /// Makes a certificate for these host names and this address, with its key.
    pub(super) fn certificate(
        &self,
        names: &[String],
        address: IpAddr,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), SettingError> {
        self.make_certificate(names, address).map_err(|error| SettingError {
            name: "ADMIT_TLS_NAMES",
            message: format!("must be host names and addresses, separated by commas: {error}"),
        })
    }
    fn make_certificate(
        &self,
        names: &[String],
        address: IpAddr,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), rcgen::Error> {
        let mut params = CertificateParams::new(names.to_vec())?;
        let own = SanType::IpAddress(address);
        if !params.subject_alt_names.contains(&own) {
            params.subject_alt_names.push(own);
        }
        params.distinguished_name.push(DnType::CommonName, "Admit");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        (params.not_before, params.not_after) = span(CERTIFICATE_DAYS);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let chain = vec![certificate.der().clone(), self.certificate.clone()];
        Ok((chain, PrivatePkcs8KeyDer::from(key.serialize_der()).into()))
    }
}

fn span(days: i64) -> (OffsetDateTime, OffsetDateTime) {
    let now = OffsetDateTime::now_utc();
    (now - Duration::days(BEFORE_DAYS), now + Duration::days(days))
}

fn authority_params() -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.not_before, params.not_after) = span(AUTHORITY_DAYS);
    Ok(params)
}

/// Makes an authority and writes the files of its certificate and of its key, the key last. So a process that finds the
/// key finds a complete authority.
fn make((key_path, cert_path): &(PathBuf, PathBuf)) -> std::io::Result<()> {
    let failed = |error: rcgen::Error| std::io::Error::other(error.to_string());
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = authority_params().and_then(|params| params.self_signed(&key)).map_err(failed)?;
    let folder = key_path.parent().unwrap_or(Path::new("."));
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    fs::write(cert_path, certificate.pem())?;
    let draft = key_path.with_extension("key.part");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&draft)?;
    file.write_all(key.serialize_pem().as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, key_path)
}
