//! An endpoint's secrets: drawn here, stored sealed, and shown once.

use admit_core::time::Timestamp;
use admit_core::webhook::WebhookSecret;

use crate::error::{Error, Result};
use crate::ports::App;
use crate::records::WebhookEndpointRecord;

/// Draws a new secret.
pub(super) fn drawn(app: &App) -> Result<WebhookSecret> {
    WebhookSecret::from_bytes(app.ids.random()).map_err(|error| Error::Bug(error.to_string()))
}

/// Seals a secret for its endpoint.
pub(super) fn seal(app: &App, endpoint_id: &str, secret: &WebhookSecret) -> Result<Vec<u8>> {
    app.secret.seal(app.ids.random(), &place(endpoint_id), secret.as_bytes())
}

/// The secrets that are accepted at `now`: the present one, and for a day after a change also the former one.
pub(super) fn good(app: &App, endpoint: &WebhookEndpointRecord, now: Timestamp) -> Result<Vec<WebhookSecret>> {
    let former = endpoint.former.as_ref().filter(|(_, until)| now < *until).map(|(sealed, _)| sealed);
    let sealed = std::iter::once(&endpoint.sealed_secret).chain(former);
    let open = |sealed: &Vec<u8>| {
        let bytes = app.secret.open(&place(&endpoint.endpoint_id), sealed)?;
        WebhookSecret::from_bytes(bytes).map_err(|error| Error::Bug(error.to_string()))
    };
    sealed.map(open).collect()
}

fn place(endpoint_id: &str) -> String {
    format!("webhook {endpoint_id}")
}
