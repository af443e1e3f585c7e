//! Authentication of webhook messages. The signature of a message covers its bytes, as Standard Webhooks says (spec §5
//! "Guests and webhooks").

use admit_app::caller::WebhookCaller;
use admit_app::error::Error;
use admit_app::webhooks;
use admit_core::limits::WEBHOOK_BODY_BYTES;
use admit_core::webhook::{HeaderError, ID_HEADER, SIGNATURE_HEADER, Signed, TIMESTAMP_HEADER, body_digest};
use axum::extract::{FromRequest, FromRequestParts, Request};
use bytes::Bytes;
use http::HeaderMap;

use crate::body::{Path, signed_bytes};
use crate::error::{ApiError, Result};
use crate::state::AppState;

/// Extractor: a verified message with its endpoint and its signed bytes. It needs a path with `{endpoint}`.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// The endpoint and the message's id.
    pub caller: WebhookCaller,
    /// The body, byte for byte as it was signed.
    pub body: Bytes,
    /// The SHA-256 of the body.
    pub digest: [u8; 32],
}

impl FromRequest<AppState> for Webhook {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self> {
        let (mut parts, body) = request.into_parts();
        let Path(endpoint_id) = Path::<String>::from_request_parts(&mut parts, state).await?;
        let [id, timestamp, signature] = headers(&parts.headers)?;
        let wrong = |error: HeaderError| ApiError::field(error.header, error.message);
        let signed = Signed::read(id, timestamp, signature).map_err(wrong)?;
        let body = signed_bytes(&parts.headers, body, WEBHOOK_BODY_BYTES).await?;
        let caller = webhooks::authenticate(&state.app, &endpoint_id, &signed, &body).await?;
        let digest = body_digest(&body);
        Ok(Self { caller, body, digest })
    }
}

/// The three headers of a signature. A message without one of them is unsigned; one that occurs twice is refused.
fn headers(headers: &HeaderMap) -> Result<[&str; 3]> {
    let names = [ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER];
    let mut found = [""; 3];
    for (name, found) in names.into_iter().zip(&mut found) {
        let mut given = headers.get_all(name).iter();
        let Some(first) = given.next() else {
            let message = format!("the message has no {name}: sign it as Standard Webhooks wants it");
            return Err(Error::Unauthenticated { code: "webhook_not_signed", message }.into());
        };
        if given.next().is_some() {
            return Err(ApiError::field(name, "must be given once"));
        }
        *found = first.to_str().map_err(|_| ApiError::field(name, "must be printable ASCII"))?;
    }
    Ok(found)
}
