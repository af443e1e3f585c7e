//! Standard Webhooks: checks who signed a message, and when (spec §5 "Guests and webhooks").
//!
//! A message has three headers. The signature is HMAC-SHA256 over `id.timestamp.body` under the endpoint's secret, with
//! the body as sent. The header with the signature may list several signatures, so that a sender can sign under an old
//! and a new secret at once.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::PAD_INDIFFERENT;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

use crate::limits::{WEBHOOK_ID_CHARS, WEBHOOK_SIGNATURES, WEBHOOK_TOLERANCE_MS};
use crate::sign::hmac_sha256_parts;
use crate::time::Timestamp;

/// The header with the message's id, which is the same at every try.
pub const ID_HEADER: &str = "webhook-id";
/// The header with the time at which this try was signed, in seconds since 1970.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// The header with the signatures, separated by spaces.
pub const SIGNATURE_HEADER: &str = "webhook-signature";
/// The prefix of a secret's text. Secret scanners find a leaked secret by it.
pub const SECRET_PREFIX: &str = "whsec_";
/// The version of the signatures that are checked. Signatures of other versions are ignored.
const VERSION: &str = "v1,";
/// How many bytes the standard allows for a secret.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// Base64 with or without padding, since senders do either.
const BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, PAD_INDIFFERENT);

/// The secret by which both sides sign.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Vec<u8>);

/// The error for a text or bytes that are not a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be whsec_ and 24 to 64 bytes as base64, as the endpoint showed it")]
pub struct SecretError;

impl std::fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

impl WebhookSecret {
    /// Makes a secret of random bytes, or of bytes that were unsealed. Fails for fewer than 24 or more than 64 bytes.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self, SecretError> {
        let bytes = bytes.into();
        if SECRET_BYTES.contains(&bytes.len()) { Ok(Self(bytes)) } else { Err(SecretError) }
    }
    /// Reads the text that [`WebhookSecret::to_text`] writes.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        let text = text.trim().strip_prefix(SECRET_PREFIX).ok_or(SecretError)?;
        Self::from_bytes(BASE64.decode(text).map_err(|_| SecretError)?)
    }
    /// The secret's text, as people and programs get it.
    pub fn to_text(&self) -> String {
        format!("{SECRET_PREFIX}{}", BASE64.encode(&self.0))
    }
    /// The secret's bytes, for sealing.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
    /// The signature header of a message signed at `at`, cut to whole seconds.
    pub fn sign(&self, id: &str, at: Timestamp, body: &[u8]) -> String {
        format!("{VERSION}{}", BASE64.encode(self.code(id, &seconds(at), body)))
    }
    fn code(&self, id: &str, timestamp: &str, body: &[u8]) -> [u8; 32] {
        hmac_sha256_parts(&self.0, &[id.as_bytes(), b".", timestamp.as_bytes(), b".", body])
    }
}

/// The text of [`TIMESTAMP_HEADER`] for a moment.
pub fn seconds(at: Timestamp) -> String {
    (at.ms() / 1_000).to_string()
}

/// SHA-256 of a body. It tells apart two messages with the same id.
pub fn body_digest(body: &[u8]) -> [u8; 32] {
    Sha256::digest(body).into()
}

/// The three headers of a message (id, time, signatures), read and within their bounds, but not yet checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed<'a> {
    id: &'a str,
    timestamp: &'a str,
    at: Timestamp,
    signatures: Vec<[u8; 32]>,
}

/// The error for a header that does not have its form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{header} {message}")]
pub struct HeaderError {
    /// The header's name.
    pub header: &'static str,
    /// The right value of the header, in words.
    pub message: String,
}

/// Why a message is refused although its headers have the right form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No signature in the header belongs to a secret that is good here.
    #[error("no signature of the list is one of this body under the endpoint's secret")]
    Wrong,
    /// The message was signed too long ago. It may be a copy that somebody replays.
    #[error("was signed more than five minutes ago: sign each try anew, and set the clock")]
    TooOld,
    /// The message's signing time lies in the future.
    #[error("was signed more than five minutes in the future: set the sender's clock")]
    TooNew,
}

impl<'a> Signed<'a> {
    /// Reads the headers. Entries of the signature list that are no `v1` signatures are ignored, as the standard asks.
    pub fn read(id: &'a str, timestamp: &'a str, signature: &'a str) -> Result<Self, HeaderError> {
        let wrong = |header, message: String| Err(HeaderError { header, message });
        let printable = id.bytes().all(|byte| (0x21..=0x7e).contains(&byte) && byte != b'.');
        if id.is_empty() || id.len() > WEBHOOK_ID_CHARS || !printable {
            let message = format!("must be 1 to {WEBHOOK_ID_CHARS} printable ASCII characters without spaces and dots");
            return wrong(ID_HEADER, message);
        }
        let digits = (1..=12).contains(&timestamp.len()) && timestamp.bytes().all(|byte| byte.is_ascii_digit());
        let at = timestamp.parse::<i64>().ok().filter(|_| digits);
        let Some(at) = at.and_then(|seconds| Timestamp::from_ms(seconds * 1_000).ok()) else {
            return wrong(TIMESTAMP_HEADER, "must be whole seconds since 1970".to_owned());
        };
        let entries = signature.split(' ').filter(|entry| !entry.is_empty());
        if entries.clone().count() > WEBHOOK_SIGNATURES {
            return wrong(SIGNATURE_HEADER, format!("must list at most {WEBHOOK_SIGNATURES} signatures"));
        }
        let of_version = entries.filter_map(|entry| entry.strip_prefix(VERSION));
        let signatures = of_version.filter_map(|text| BASE64.decode(text).ok()?.try_into().ok()).collect();
        Ok(Self { id, timestamp, at, signatures })
    }
    /// The message's id.
    pub fn id(&self) -> &'a str {
        self.id
    }
    /// Checks the message. The signature is checked first, so that a sender learns of a wrong time only if it knows the
    /// secret. The work depends only on the length of the list and of the body.
    pub fn check(&self, secrets: &[WebhookSecret], body: &[u8], now: Timestamp) -> Result<(), Refusal> {
        let mut found = Choice::from(0);
        for secret in secrets {
            let code = secret.code(self.id, self.timestamp, body);
            for signature in &self.signatures {
                found |= code.ct_eq(signature);
            }
        }
        if !bool::from(found) {
            return Err(Refusal::Wrong);
        }
        match now.since(self.at) {
            late if late > WEBHOOK_TOLERANCE_MS => Err(Refusal::TooOld),
            late if late < -WEBHOOK_TOLERANCE_MS => Err(Refusal::TooNew),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The standard's reference vector, from the tests of its libraries and of svix's
    // (https://github.com/standard-webhooks/standard-webhooks, libraries/*/tests; Apache-2.0 and MIT).
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const AT: &str = "1614265330";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const GOOD: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn now() -> Timestamp {
        Timestamp::clamped(1_614_265_330_000)
    }
    fn checked(signature: &str, body: &[u8], now: Timestamp) -> Result<(), Refusal> {
        let secrets = [WebhookSecret::parse(SECRET).unwrap()];
        Signed::read(ID, AT, signature).unwrap().check(&secrets, body, now)
    }

    #[test]
    fn the_standards_own_vector_is_signed_and_accepted() {
        assert_eq!(WebhookSecret::parse(SECRET).unwrap().sign(ID, now(), BODY), GOOD);
        assert_eq!(checked(GOOD, BODY, now()), Ok(()));
    }

    #[test]
    fn one_good_signature_of_a_list_is_enough() {
        let others = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= v2,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=";
        for list in [format!("{others} {GOOD}"), format!("{GOOD} {others}"), format!("v1a,xyz  {GOOD} v1,!! v1")] {
            assert_eq!(checked(&list, BODY, now()), Ok(()), "{list}");
        }
        assert_eq!(checked(GOOD.trim_end_matches('='), BODY, now()), Ok(()), "the padding says nothing");
        for list in [others, "", "v1,", "v1", GOOD.trim_start_matches("v1,"), &GOOD.replace("v1", "v2"), "v1,AAAA"] {
            assert_eq!(checked(list, BODY, now()), Err(Refusal::Wrong), "{list}");
        }
    }

    #[test]
    fn id_time_body_and_secret_are_all_signed() {
        let secret = WebhookSecret::parse(SECRET).unwrap();
        let other = WebhookSecret::from_bytes([7; 32]).unwrap();
        let check =
            |id, at, body, secrets: &[WebhookSecret]| Signed::read(id, at, GOOD).unwrap().check(secrets, body, now());
        assert_eq!(check(ID, AT, BODY, &[other.clone(), secret.clone()]), Ok(()), "the old secret, or the new");
        assert_eq!(check("msg_other", AT, BODY, std::slice::from_ref(&secret)), Err(Refusal::Wrong));
        assert_eq!(check(ID, "1614265331", BODY, std::slice::from_ref(&secret)), Err(Refusal::Wrong));
        assert_eq!(
            check(ID, "01614265330", BODY, std::slice::from_ref(&secret)),
            Err(Refusal::Wrong),
            "as it was sent"
        );
        assert_eq!(check(ID, AT, br#"{"test":2432232314}"#, std::slice::from_ref(&secret)), Err(Refusal::Wrong));
        assert_eq!(check(ID, AT, BODY, &[other]), Err(Refusal::Wrong));
        assert_eq!(check(ID, AT, BODY, &[]), Err(Refusal::Wrong));
    }

    #[test]
    fn five_minutes_either_way_and_not_a_second_more() {
        let at = |ms| checked(GOOD, BODY, now().plus_ms(ms));
        assert_eq!((at(300_000), at(-300_000)), (Ok(()), Ok(())));
        assert_eq!((at(300_001), at(-300_001)), (Err(Refusal::TooOld), Err(Refusal::TooNew)));
        assert_eq!(checked("v1,AAAA", BODY, now().plus_ms(360_000)), Err(Refusal::Wrong), "whose it is comes first");
    }

    #[test]
    fn odd_headers_are_named() {
        let header = |id: &str, at: &str, list: &str| Signed::read(id, at, list).unwrap_err().header;
        let (long, many) = ("x".repeat(WEBHOOK_ID_CHARS + 1), [GOOD; WEBHOOK_SIGNATURES + 1].join(" "));
        for id in ["", "a.b", "a b", "a\u{e4}", "a\n", long.as_str()] {
            assert_eq!(header(id, AT, GOOD), ID_HEADER, "{id:?}");
        }
        for at in ["", "-1", "+1", "1.5", "16142653300000", "999999999999", "now", " 1614265330"] {
            assert_eq!(header(ID, at, GOOD), TIMESTAMP_HEADER, "{at:?}");
        }
        assert_eq!(header(ID, AT, &many), SIGNATURE_HEADER);
        assert!(Signed::read(ID, AT, &[GOOD; WEBHOOK_SIGNATURES].join(" ")).is_ok());
    }

    #[test]
    fn a_secret_reads_back_and_is_never_shown() {
        let secret = WebhookSecret::from_bytes([9; 32]).unwrap();
        assert_eq!(WebhookSecret::parse(&format!(" {}\n", secret.to_text())), Ok(secret.clone()));
        assert_eq!(format!("{secret:?}"), "WebhookSecret(…)");
        let short = format!("whsec_{}", "A".repeat(8));
        for wrong in ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!", short.as_str()] {
            assert_eq!(WebhookSecret::parse(wrong), Err(SecretError), "{wrong}");
        }
    }
}
