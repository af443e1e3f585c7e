//! The only place that makes HTTP clients, so that all of them use the same cryptography.

use std::sync::Once;

/// A builder for a client. The first call installs ring as the process's cryptography provider for TLS. `reqwest` is
/// built without a provider, because its default takes a minute to compile.
pub fn builder() -> reqwest::ClientBuilder {
    install_crypto();
    reqwest::Client::builder()
}

/// Installs ring as the process's cryptography provider, for a library that makes its own client, such as
/// `object_store`.
pub fn install_crypto() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // An error means that the process has a provider already.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
