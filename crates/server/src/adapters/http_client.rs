//! The one way this program makes an HTTP client, so that every client has the same cryptography.

use std::sync::Once;

/// A client to be set up further. The first call chooses ring as the process's provider of cryptography for TLS:
/// `reqwest` is built without one, because its own choice takes a minute to compile.
pub fn builder() -> reqwest::ClientBuilder {
    install_crypto();
    reqwest::Client::builder()
}

/// Chooses the provider for a library that makes its own client, as `object_store` does.
pub fn install_crypto() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // An error says that the process has a provider already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
