//! Finds the endpoint of a message, and checks the message's signature.

use admit_core::sign::token_hash;
use admit_core::webhook::{Refusal, Signed, WebhookSecret};

use super::secrets;
use crate::caller::WebhookCaller;
use crate::error::{Error, Result};
use crate::ports::{App, read};
use crate::records::CredentialKind;

/// Checks a message's signature over its body as sent. Fails with `webhook_refused` for an unknown endpoint and for a
/// wrong signature. Only a sender that knows the secret gets another error (`webhook_too_old`, `webhook_too_new`,
/// `webhook_endpoint_disabled`).
pub async fn authenticate(app: &App, endpoint_id: &str, signed: &Signed<'_>, body: &[u8]) -> Result<WebhookCaller> {
    let now = app.clock.now();
    let credential = app.store.credential(token_hash(endpoint_id)).await?;
    let found = match credential.filter(|one| one.kind == CredentialKind::WebhookEndpoint) {
        Some(credential) => {
            let id = credential.holder;
            let endpoint = read(&*app.store, &credential.organization_id, move |tx| tx.webhook_endpoint(&id)).await?;
            endpoint.map(|endpoint| (credential.organization_id, endpoint))
        }
        None => None,
    };
    let Some((organization_id, endpoint)) = found else {
        // An unknown endpoint takes as much work as a known one.
        let nobodys = WebhookSecret::from_bytes([0; 32]).map_err(|error| Error::Bug(error.to_string()))?;
        let _ = signed.check(&[nobodys], body, now);
        return Err(refused());
    };
    let too = |code, refusal: Refusal| Err(Error::Unauthenticated { code, message: format!("the message {refusal}") });
    match signed.check(&secrets::good(app, &endpoint, now)?, body, now) {
        Ok(()) => {}
        Err(Refusal::Wrong) => return Err(refused()),
        Err(refusal @ Refusal::TooOld) => return too("webhook_too_old", refusal),
        Err(refusal @ Refusal::TooNew) => return too("webhook_too_new", refusal),
    }
    if endpoint.disabled_at.is_some() {
        return Err(disabled());
    }
    Ok(WebhookCaller {
        organization_id,
        event_id: endpoint.event_id,
        endpoint_id: endpoint.endpoint_id,
        webhook_id: signed.id().to_owned(),
    })
}

/// The error of an endpoint that an organiser disabled.
pub(super) fn disabled() -> Error {
    let message = "this endpoint takes nothing: an organiser switched it off".to_owned();
    Error::Gone { code: "webhook_endpoint_disabled", message }
}

fn refused() -> Error {
    let message = "there is no such endpoint, or no signature is one of this body under its secret".to_owned();
    Error::Unauthenticated { code: "webhook_refused", message }
}
