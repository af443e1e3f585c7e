//! Creates a pairing token for the organiser's screen.

use admit_core::access::Action;
use admit_core::ids::{EventId, GateId};
use admit_core::limits::{PAIRING_TOKEN_MINUTES, PAIRING_TOKEN_MS, PAIRING_TOKEN_USES};
use admit_core::sign::token_hash;
use admit_core::time::Timestamp;
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::gates;
use crate::ports::{App, Scope, write};
use crate::records::PairingTokenRecord;

/// The prefix of every pairing token's text.
pub const PAIRING_TOKEN_PREFIX: &str = "admit_pt_";

/// The error for a token that has expired.
pub(crate) fn expired() -> Error {
    gone("pairing_token_expired", "this pairing code is over: ask for a new one")
}

/// The error for a token that was used by as many devices as it allows.
pub(crate) fn used() -> Error {
    gone("pairing_token_used", "this pairing code was used already: ask for a new one")
}

fn gone(code: &'static str, message: &str) -> Error {
    Error::Gone { code, message: message.into() }
}

/// A created pairing token.
#[derive(Debug, Clone)]
pub struct NewPairingToken {
    /// The token's text, for a URL's fragment. It is shown only this once.
    pub pairing_token: String,
    /// When the token expires.
    pub expires_at: Timestamp,
}

/// Creates a token that pairs `uses` devices with a gate within five minutes. If `uses` is absent, it pairs one device.
pub async fn create(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    gate_id: GateId,
    uses: Option<u32>,
) -> Result<NewPairingToken> {
    create_for(app, caller, event_id, gate_id, uses, None).await
}

/// Like [`create`], for a token that is valid for `minutes`, 1 to 1,440; if absent, for five. A pairing code on a
/// printed sheet must be valid for hours. Because the token expires and `uses` is limited, a thief of the sheet can
/// pair few devices.
pub async fn create_for(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    gate_id: GateId,
    uses: Option<u32>,
    minutes: Option<u32>,
) -> Result<NewPairingToken> {
    caller.must(Action::ManageDevices)?;
    let uses = uses.unwrap_or(1);
    if !(1..=PAIRING_TOKEN_USES).contains(&uses) {
        return Err(Error::invalid("uses", format!("must be 1 to {PAIRING_TOKEN_USES}, not {uses}")));
    }
    if let Some(minutes) = minutes.filter(|minutes| !(1..=PAIRING_TOKEN_MINUTES).contains(minutes)) {
        return Err(Error::invalid("minutes", format!("must be 1 to {PAIRING_TOKEN_MINUTES}, not {minutes}")));
    }
    let now = app.clock.now();
    let expires_at = now.plus_ms(minutes.map_or(PAIRING_TOKEN_MS, |minutes| i64::from(minutes) * 60_000));
    // 128 random bits are enough for a day, and keep the QR code small.
    let pairing_token = format!("{PAIRING_TOKEN_PREFIX}{}", admit_core::barcode::hex(&app.ids.random()[..16]));
    let record = PairingTokenRecord {
        token_hash: token_hash(&pairing_token),
        event_id: event_id.clone(),
        gate_id,
        device_id: None,
        uses,
        used_by: Vec::new(),
        expires_at,
        created_at: now,
        claim_hash: None,
    };
    let by = caller.clone();
    write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        events::require(tx, &event_id)?;
        gates::require(tx, &event_id, &record.gate_id)
            .map_err(|_| Error::invalid("gate_id", "is not a gate of this event"))?;
        tx.stamp(&event_id)?;
        tx.insert_pairing_token(&record)?;
        let said = json!({ "gate_id": record.gate_id.as_str(), "uses": record.uses, "expires_at": record.expires_at });
        tx.append_audit(line::of(&by, Some(&event_id), "pairing_token_created", ("PairingToken", ""), said))
    })
    .await?;
    Ok(NewPairingToken { pairing_token, expires_at })
}
