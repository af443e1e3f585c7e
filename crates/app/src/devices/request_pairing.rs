//! Pairing by way (b) of decision D11: the device shows a token, and an organiser approves it.
//!
//! Until the approval it is unknown to which organisation the device will belong. So its request is stored outside all
//! organisations, for five minutes.

use admit_core::ids::DeviceId;
use admit_core::limits::{PAIRING_REQUESTS, PAIRING_TOKEN_MS};
use admit_core::sign::token_hash;
use admit_core::time::Timestamp;

use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::pairing_tokens::create::PAIRING_TOKEN_PREFIX;
use crate::ports::App;
use crate::records::PairingRequestRecord;
use crate::scans::office::must_not_be;

/// The prefix of every claim secret's text.
pub const CLAIM_SECRET_PREFIX: &str = "admit_pc_";

/// A device's request to be paired.
#[derive(Debug, Clone)]
pub struct RequestPairing {
    /// The id that the device chose for itself.
    pub device_id: DeviceId,
    /// The name that staff give to the device. Absent if they gave none.
    pub name: Option<String>,
    /// One of `ipad`, `phone`, `desktop` and `terminal`. Absent if the device does not say it.
    pub device_type: Option<String>,
}

/// The answer to a device that asks to be paired.
#[derive(Debug, Clone)]
pub struct PairingTicket {
    /// The token for the device's QR code, which an organiser approves. Alone it gives no access.
    pub pairing_token: String,
    /// The secret that the device shows to nobody. Only token and secret together pair it.
    pub claim_secret: String,
    /// When both expire, five minutes from now.
    pub expires_at: Timestamp,
}

/// Stores a device's request to be paired. Fails with `too_many_pairing_requests` while a thousand wait. A token from
/// the organiser's screen still works meanwhile.
pub async fn request_pairing(app: &App, wish: RequestPairing) -> Result<PairingTicket> {
    must_not_be(&wish.device_id)?;
    let mut checks = Checks::default();
    let name = wish.name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    let name = name.map(|name| checks.name("name", &name)).unwrap_or_default();
    checks.finish()?;
    let now = app.clock.now();
    let expires_at = now.plus_ms(PAIRING_TOKEN_MS);
    let pairing_token = format!("{PAIRING_TOKEN_PREFIX}{}", admit_core::barcode::hex(&app.ids.random()[..16]));
    let claim_secret = format!("{CLAIM_SECRET_PREFIX}{}", admit_core::barcode::hex(&app.ids.random()));
    let request = PairingRequestRecord {
        token_hash: token_hash(&pairing_token),
        claim_hash: token_hash(&claim_secret),
        device_id: wish.device_id,
        name,
        device_type: wish.device_type.unwrap_or_else(|| "phone".into()),
        expires_at,
        created_at: now,
    };
    // Requests that just expired are kept a little longer, so that their devices get "expired" rather than "unknown".
    let forget_before = now.plus_ms(-PAIRING_TOKEN_MS);
    if app.store.insert_pairing_request(request, forget_before, PAIRING_REQUESTS).await? {
        Ok(PairingTicket { pairing_token, claim_secret, expires_at })
    } else {
        Err(Error::Later { code: "too_many_pairing_requests", retry_after_ms: PAIRING_TOKEN_MS })
    }
}
