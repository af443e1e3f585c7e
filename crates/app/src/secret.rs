//! `ADMIT_SECRET`: seals each device's scan key and authenticates witnesses (spec D4).

use admit_core::sign::hmac_sha256;
use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};

use crate::error::{Error, Result};

/// The server's secret: any text of at least 32 characters. Two keys are derived from it: one seals bytes, and one
/// authenticates witnesses.
pub struct Secret {
    seal: [u8; 32],
    /// The key of witness MACs.
    witness: [u8; 32],
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// Takes the text of `ADMIT_SECRET`. Fails if it is shorter than 32 characters.
    pub fn new(text: &str) -> Result<Self> {
        if text.trim().len() < 32 {
            return Err(Error::invalid(
                "ADMIT_SECRET",
                "must have at least 32 characters; make one with: openssl rand -hex 32",
            ));
        }
        let key = text.trim().as_bytes();
        Ok(Self { seal: hmac_sha256(key, b"admit.seal.v1"), witness: hmac_sha256(key, b"admit.witness.v1") })
    }
    /// The key that authenticates witnesses (spec §3 "Epoch and witness").
    pub fn witness_key(&self) -> &[u8; 32] {
        &self.witness
    }
    /// Seals bytes. `random` is a fresh nonce, of which the first 24 bytes are used. The bytes open again only with the
    /// same `context`, so that nobody can move them to another row.
    pub fn seal(&self, random: [u8; 32], context: &str, plain: &[u8]) -> Result<Vec<u8>> {
        let mut nonce = [0; 24];
        nonce.copy_from_slice(&random[..24]);
        let payload = chacha20poly1305::aead::Payload { msg: plain, aad: context.as_bytes() };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| Error::Bug("sealing failed".into()))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }
    /// Opens bytes that [`Secret::seal`] sealed for the same context.
    pub fn open(&self, context: &str, sealed: &[u8]) -> Result<Vec<u8>> {
        let wrong =
            || Error::Bug("a sealed value does not open: ADMIT_SECRET is not the one it was sealed with".into());
        let (nonce, body) = sealed.split_first_chunk::<24>().ok_or_else(wrong)?;
        let payload = chacha20poly1305::aead::Payload { msg: body, aad: context.as_bytes() };
        self.cipher().decrypt(&XNonce::from(*nonce), payload).map_err(|_| wrong())
    }
    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&Key::from(self.seal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_only_for_its_place_and_under_its_secret() {
        let secret = Secret::new(&"a".repeat(32)).unwrap();
        let sealed = secret.seal([7; 32], "device 1", b"key").unwrap();
        assert_eq!(secret.open("device 1", &sealed).unwrap(), b"key");
        assert!(secret.open("device 2", &sealed).is_err());
        assert!(Secret::new(&"b".repeat(32)).unwrap().open("device 1", &sealed).is_err());
        assert!(Secret::new("short").is_err());
    }
}
