//! Defines the signed bytes and what is computed over them: scan signatures v1 and v2, body signatures, keys, PIN,
//! witnesses.
//!
//! Bytes are signed as they were sent, never as re-serialised JSON. Only the string that S1 signs is built again from
//! its five values, and these are plain strings (spec D4–D6). Read this first to write another implementation, with
//! `vectors/signatures.json`.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::barcode::{hex, unhex};
use crate::event::StaffPin;
use crate::ids::EventId;
use crate::rule::Epoch;
use crate::scan::{Digest, Form, Headcount, Scan};

/// The domain of a v2 signature and of the scan key's derivation (spec D4, D6).
pub const SCAN_DOMAIN: &str = "admit.scan.v2";
/// The prefix of every device key's text. Secret scanners find a leaked key by it.
pub const API_KEY_PREFIX: &str = "admit_dk_";
/// The prefix of v2 scan signatures (spec D6).
pub const V2_PREFIX: &str = "HMAC-SHA256-V2=";
/// The prefix of v1 scan signatures and of body signatures (S1 §2.2, §4.3).
pub const V1_PREFIX: &str = "HMAC-SHA256=";

/// HMAC-SHA256 of `bytes` under `key`. The key may have any length.
pub fn hmac_sha256(key: &[u8], bytes: &[u8]) -> [u8; 32] {
    hmac_sha256_parts(key, &[bytes])
}

/// HMAC-SHA256 of the concatenation of `parts`.
pub fn hmac_sha256_parts(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Authenticator::new(key);
    parts.iter().for_each(|part| mac.update(part));
    mac.finish()
}

/// An HMAC-SHA256 in progress. A clone and its original continue separately. A manifest has two signatures over nearly
/// the same bytes, so the megabytes that both cover are hashed once.
#[derive(Clone)]
pub struct Authenticator(Hmac<Sha256>);

impl Authenticator {
    /// Begins a computation under a key of any length.
    pub fn new(key: &[u8]) -> Self {
        // RFC 2104's own preparation of the key: hashed if longer than a block, then filled up with zeros. Done here,
        // the construction cannot fail, so no error needs handling.
        let mut block = [0_u8; 64];
        if key.len() > block.len() {
            block[..32].copy_from_slice(&Sha256::digest(key));
        } else {
            block[..key.len()].copy_from_slice(key);
        }
        Self(Hmac::<Sha256>::new(&block.into()))
    }
    /// Adds bytes to the computation.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    /// The authentication code over all bytes added.
    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into_bytes().into()
    }
    /// The authentication code as the text of a body signature: `HMAC-SHA256=` and 64 hex digits (spec D5).
    pub fn signature(self) -> String {
        format!("{V1_PREFIX}{}", hex(&self.finish()))
    }
    /// Whether `signature` is the signature of the bytes added so far. Takes constant time.
    pub fn check(self, signature: &str) -> bool {
        same_text(&self.signature(), signature)
    }
}

/// Compares two texts in a time that depends only on their lengths.
fn same_text(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

// ------------------------------------------------------------------------------------------------ content of a scan

/// Writes the encoding that is hashed and signed. Texts and byte strings are a length (4 bytes, big-endian) and the
/// bytes. Integers are 8 bytes, big-endian, in two's complement. Booleans are one byte, 0 or 1. An optional value is a
/// byte 0, or a byte 1 and the value.
#[derive(Default)]
pub(crate) struct Encoder(Vec<u8>);

impl Encoder {
    pub(crate) fn with(domain: &str) -> Self {
        let mut encoder = Self(Vec::with_capacity(640));
        encoder.text(domain);
        encoder
    }
    /// Appends to the bytes that a buffer already holds.
    pub(crate) fn behind(buffer: Vec<u8>) -> Self {
        Self(buffer)
    }
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        // No text here comes near 4 GiB, since bodies are capped at 64 MiB.
        self.0.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        self.0.extend_from_slice(bytes);
    }
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
    pub(crate) fn unsigned(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }
    pub(crate) fn signed(&mut self, value: i64) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }
    pub(crate) fn flag(&mut self, value: bool) {
        self.0.push(u8::from(value));
    }
    pub(crate) fn option<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            put(self, value);
        }
    }
    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
    pub(crate) fn sha256(self) -> [u8; 32] {
        Sha256::digest(self.0).into()
    }
}

pub(crate) fn put_headcount(to: &mut Encoder, headcount: Headcount) {
    match headcount {
        Headcount::Change { class, delta } => {
            to.text("change");
            to.text(class.as_str());
            to.signed(i64::from(delta));
        }
        Headcount::Recount { inside } => {
            to.text("recount");
            to.unsigned(u64::from(inside));
        }
    }
}

/// The signed bytes of a scan: the domain, then every field of [`Scan`] in the struct's order (spec D6). Enums are
/// their words, an epoch is its two numbers, and `at` is in milliseconds. The signature and the form are not in them. A
/// v1 batch's offset is not in them either, since `at` is the time as sent.
///
/// Fields that the server filled in because a form lacks them are not content. So the same scan has the same digest
/// whenever it arrives. In S1's form the event is left empty. In S2's form the event, the gate and the code as matched
/// are left empty; the code as read is its content.
pub fn scan_bytes(scan: &Scan) -> Vec<u8> {
    let says_event = scan.form == Form::V2;
    let says_gate = scan.form != Form::S2;
    let mut to = Encoder::with(SCAN_DOMAIN);
    to.text(scan.form.as_str());
    to.text(scan.scan_id.as_str());
    to.text(scan.device_id.as_str());
    to.option(scan.log_id.as_ref(), |to, id| to.text(id.as_str()));
    to.option(scan.seq, Encoder::unsigned);
    to.option(scan.prev.as_ref(), |to, prev| to.bytes(prev));
    to.option(scan.key_id.as_ref(), |to, id| to.text(id.as_str()));
    to.text(if says_event { scan.event_id.as_str() } else { "" });
    to.text(if says_gate { scan.gate_id.as_str() } else { "" });
    to.text(scan.kind.as_str());
    to.text(scan.stage.as_str());
    to.text(scan.method.as_str());
    to.option(scan.barcode_hash.as_ref().filter(|_| says_gate), |to, hash| to.bytes(&hash.0));
    to.option(scan.raw_hash.as_ref(), |to, hash| to.bytes(&hash.0));
    to.option(scan.ticket_id.as_ref(), |to, id| to.text(id.as_str()));
    to.unsigned(u64::from(scan.count));
    to.text(scan.outcome.as_str());
    to.flag(scan.opened);
    to.flag(scan.practice);
    to.option(scan.override_.as_ref(), |to, set_aside| {
        to.text(&set_aside.by);
        to.text(&set_aside.reason);
    });
    to.option(scan.walk_in.as_ref(), |to, walk_in| {
        to.text(&walk_in.zone);
        to.unsigned(u64::from(walk_in.party));
        to.bytes(&walk_in.name_digest);
    });
    to.option(scan.headcount, put_headcount);
    to.option(scan.operator.as_deref(), Encoder::text);
    to.option(scan.target_device.as_ref(), |to, id| to.text(id.as_str()));
    to.option(scan.target_scan_id.as_ref(), |to, id| to.text(id.as_str()));
    to.unsigned(u64::from(scan.keep));
    to.signed(scan.at.ms());
    to.unsigned(scan.uncertainty_ms);
    to.option(scan.clock.as_ref(), |to, clock| {
        to.signed(clock.wall_ms);
        to.signed(clock.mono_ms);
        to.text(&clock.session_id);
        to.flag(clock.corrected);
    });
    to.option(scan.epoch, |to, epoch| {
        to.signed(epoch.restored_at_ms);
        to.unsigned(epoch.random);
    });
    to.unsigned(scan.manifest_version);
    to.unsigned(scan.cursor);
    to.option(scan.basis.as_ref(), |to, basis| {
        to.unsigned(u64::from(basis.within));
        to.unsigned(u64::from(basis.inside));
        to.unsigned(u64::from(basis.spent));
        to.option(basis.last_entry_at, |to, at| to.signed(at.ms()));
        to.option(basis.status, |to, status| to.text(status.as_str()));
    });
    to.finish()
}

/// SHA-256 of [`scan_bytes`]. Two scans have the same content if and only if their digests are equal (spec D2).
pub fn content_digest(scan: &Scan) -> Digest {
    Digest(Sha256::digest(scan_bytes(scan)).into())
}

/// The first 16 bytes of a digest. The next scan of the log holds them as `prev` (spec §3 "Log").
pub fn prev_of(digest: &Digest) -> [u8; 16] {
    let mut prev = [0; 16];
    prev.copy_from_slice(&digest.0[..16]);
    prev
}

// ------------------------------------------------------------------------------------------------------------- keys

/// A device's API key: 32 random bytes as text, shown once (spec D4). Its `Debug` form hides the text, so that no log
/// has it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// The error for a text that is not a device key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be {API_KEY_PREFIX} followed by 64 lower-case hexadecimal digits")]
pub struct ApiKeyError;

impl ApiKey {
    /// Makes a key of 32 random bytes that the caller drew.
    pub fn from_random(random: [u8; 32]) -> Self {
        Self(format!("{API_KEY_PREFIX}{}", hex(&random)))
    }
    /// Reads a key's text. Fails unless it is `admit_dk_` and 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, ApiKeyError> {
        if Self::is_key(text) { Ok(Self(text.to_owned())) } else { Err(ApiKeyError) }
    }
    /// Whether a text has the form of a device key.
    pub fn is_key(text: &str) -> bool {
        text.strip_prefix(API_KEY_PREFIX).and_then(unhex::<32>).is_some()
    }
    /// The key's text. It is the bearer token, and the key of v1 signatures and body signatures.
    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// The hash of the key's text. The server stores it and looks the key up by it (spec D4).
    pub fn sha256(&self) -> [u8; 32] {
        token_hash(&self.0)
    }
    /// The key of v2 signatures: HKDF-SHA256 of the key's text, no salt, info `admit.scan.v2`, 32 bytes (spec D4).
    pub fn scan_key(&self) -> [u8; 32] {
        // RFC 5869 with one block of output, which `hkdf` cannot refuse. Its two steps are written out so that there is
        // no error to handle: extract under 32 zero bytes, expand info ‖ 0x01.
        let extracted = hmac_sha256(&[0; 32], self.0.as_bytes());
        hmac_sha256_parts(&extracted, &[SCAN_DOMAIN.as_bytes(), &[1]])
    }
}
impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// SHA-256 of a token's text. Stores keep this hash of API tokens, device keys, sessions and pairing tokens. The tokens
/// hold at least 128 random bits, so a plain hash is enough.
pub fn token_hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

// -------------------------------------------------------------------------------------------------- scan signatures

/// Signs a scan: `HMAC-SHA256-V2=` + 64 hex digits over [`scan_bytes`] under [`ApiKey::scan_key`] (spec D6).
pub fn sign_v2(scan_key: &[u8; 32], scan: &Scan) -> String {
    format!("{V2_PREFIX}{}", hex(&hmac_sha256(scan_key, &scan_bytes(scan))))
}

/// Whether `signature` is this scan's v2 signature under this scan key. Takes constant time.
pub fn verify_v2(scan_key: &[u8; 32], scan: &Scan, signature: &str) -> bool {
    same_text(&sign_v2(scan_key, scan), signature)
}

/// The five strings that a v1 signature covers, exactly as they are sent (S1 §4.3, spec D6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct V1Fields<'a> {
    /// The text of `scan_id`.
    pub scan_id: &'a str,
    /// The text of `ticket_id`. If `None`, it is signed as `null`.
    pub ticket_id: Option<&'a str>,
    /// The text of `barcode_hash`.
    pub barcode_hash: &'a str,
    /// The text of `scanned_at`.
    pub scanned_at: &'a str,
    /// The text of `gate_id`.
    pub gate_id: &'a str,
}

impl V1Fields<'_> {
    /// The signed text: what `JSON.stringify` makes of the five fields in S1's order.
    pub fn text(&self) -> String {
        let ticket_id = self.ticket_id.map_or_else(|| "null".to_owned(), quoted);
        format!(
            r#"{{"scan_id":{},"ticket_id":{ticket_id},"barcode_hash":{},"scanned_at":{},"gate_id":{}}}"#,
            quoted(self.scan_id),
            quoted(self.barcode_hash),
            quoted(self.scanned_at),
            quoted(self.gate_id)
        )
    }
}

/// A JSON string as `JSON.stringify` writes it. It uses the short escapes, and `\u00xx` in lower case for the other
/// control characters. All other characters stay as they are.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Signs S1's five fields under the API key's text. The result is `HMAC-SHA256=` and 64 hex digits.
pub fn sign_v1(api_key: &str, fields: &V1Fields<'_>) -> String {
    body_signature(api_key, fields.text().as_bytes())
}

/// Whether `signature` is the v1 signature of these fields under this key. Takes constant time.
pub fn verify_v1(api_key: &str, fields: &V1Fields<'_>, signature: &str) -> bool {
    same_text(&sign_v1(api_key, fields), signature)
}

// -------------------------------------------------------------------------------------------------- body signatures

/// The signature of a body under the API key's text: `HMAC-SHA256=` and 64 hex digits (spec D5).
pub fn body_signature(api_key: &str, body: &[u8]) -> String {
    let mut mac = Authenticator::new(api_key.as_bytes());
    mac.update(body);
    mac.signature()
}

/// Whether `signature` is the signature of this body under this key. Takes constant time.
pub fn check_body_signature(api_key: &str, body: &[u8], signature: &str) -> bool {
    same_text(&body_signature(api_key, body), signature)
}

// -------------------------------------------------------------------------------------------------- PIN and witness

/// PBKDF2-HMAC-SHA256 of a PIN's digits (spec D18). `iterations` below 1 count as 1.
pub fn pin_hash(digits: &str, salt: &[u8; 16], iterations: u32) -> [u8; 32] {
    pbkdf2::pbkdf2_hmac_array::<Sha256, 32>(digits.as_bytes(), salt, iterations.max(1))
}

/// Whether the digits are the staff PIN. The comparison takes constant time.
pub fn check_pin(pin: &StaffPin, digits: &str) -> bool {
    pin_hash(digits, &pin.salt, pin.iterations).ct_eq(&pin.hash).into()
}

/// The proof in a witness: an HMAC under `ADMIT_SECRET` over the epoch, the event, the serial, and the head of the
/// event's ledger at that serial. By it the server later recognises its own witness (spec §3 "Epoch and witness").
pub fn witness_mac(secret: &[u8], epoch: Epoch, event_id: &EventId, serial: u64, audit_head: &[u8; 32]) -> [u8; 32] {
    let mut to = Encoder::with("admit.witness.v1");
    to.signed(epoch.restored_at_ms);
    to.unsigned(epoch.random);
    to.text(event_id.as_str());
    to.unsigned(serial);
    to.bytes(audit_head);
    hmac_sha256(secret, &to.finish())
}

/// Whether this server once gave this witness. Takes constant time.
pub fn check_witness_mac(
    secret: &[u8],
    epoch: Epoch,
    event_id: &EventId,
    serial: u64,
    audit_head: &[u8; 32],
    mac: &[u8; 32],
) -> bool {
    witness_mac(secret, epoch, event_id, serial, audit_head).ct_eq(mac).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hmac_agrees_with_rfc_4231() {
        let key = [0x0b; 20];
        let expected = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(hex(&hmac_sha256(&key, b"Hi There")), expected);
        let long = [0xaa; 131];
        let expected = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        assert_eq!(hex(&hmac_sha256(&long, b"Test Using Larger Than Block-Size Key - Hash Key First")), expected);
    }

    #[test]
    fn the_scan_key_is_hkdf_without_salt() {
        let key = ApiKey::from_random([7; 32]);
        let mut expected = [0; 32];
        hkdf::Hkdf::<Sha256>::new(None, key.as_str().as_bytes()).expand(b"admit.scan.v2", &mut expected).unwrap();
        assert_eq!(key.scan_key(), expected);
    }

    #[test]
    fn a_key_reads_back_as_written_and_nothing_else_is_a_key() {
        let key = ApiKey::from_random([0xab; 32]);
        assert_eq!(ApiKey::parse(key.as_str()).unwrap(), key);
        for text in ["", "admit_dk_", "admit_dk_AB", &key.as_str().to_uppercase(), &format!("{}0", key.as_str())] {
            assert_eq!(ApiKey::parse(text), Err(ApiKeyError), "{text}");
        }
        assert_eq!(format!("{key:?}"), "ApiKey(…)", "a key never reaches a log");
    }

    #[test]
    fn the_v1_text_is_what_json_stringify_writes() {
        let fields = V1Fields {
            scan_id: "s\"1\\",
            ticket_id: None,
            barcode_hash: "a\u{1}\n",
            scanned_at: "ü \u{7f}",
            gate_id: "g",
        };
        let expected = "{\"scan_id\":\"s\\\"1\\\\\",\"ticket_id\":null,\"barcode_hash\":\"a\\u0001\\n\",\"scanned_at\":\"ü \u{7f}\",\"gate_id\":\"g\"}";
        assert_eq!(fields.text(), expected);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&fields.text()).unwrap()["scan_id"], "s\"1\\");
    }

    #[test]
    fn a_v1_signature_holds_for_its_fields_and_its_key_alone() {
        let fields =
            V1Fields { scan_id: "s", ticket_id: Some("t"), barcode_hash: "h", scanned_at: "now", gate_id: "g" };
        let signature = sign_v1("key", &fields);
        assert!(verify_v1("key", &fields, &signature));
        assert!(!verify_v1("kez", &fields, &signature));
        assert!(!verify_v1("key", &V1Fields { ticket_id: None, ..fields }, &signature));
        assert!(!verify_v1("key", &fields, &signature.replace("SHA256=", "SHA256-V2=")));
        assert!(!verify_v1("key", &fields, ""));
    }

    #[test]
    fn a_body_signature_holds_for_its_body_and_its_key_alone() {
        let signature = body_signature("key", b"body");
        assert!(check_body_signature("key", b"body", &signature));
        assert!(!check_body_signature("kez", b"body", &signature));
        assert!(!check_body_signature("key", b"bodz", &signature));
        assert!(!check_body_signature("key", b"body", ""));
    }

    #[test]
    fn the_next_scans_prev_is_the_first_half_of_the_digest() {
        let digest = Digest(std::array::from_fn(|place| place as u8));
        assert_eq!(prev_of(&digest), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    }

    #[test]
    fn only_the_right_digits_open_the_pin() {
        let salt = [9; 16];
        let pin = StaffPin { salt, hash: pin_hash("4711", &salt, 1_000), iterations: 1_000 };
        assert!(check_pin(&pin, "4711"));
        assert!(!check_pin(&pin, "4712"));
        assert!(!check_pin(&pin, "04711"));
    }

    #[test]
    fn a_witness_holds_for_every_part_of_what_it_says() {
        let epoch = Epoch { restored_at_ms: 5, random: 6 };
        let event = EventId::new("e").unwrap();
        let mac = witness_mac(b"secret", epoch, &event, 7, &[8; 32]);
        assert!(check_witness_mac(b"secret", epoch, &event, 7, &[8; 32], &mac));
        assert!(!check_witness_mac(b"other", epoch, &event, 7, &[8; 32], &mac));
        assert!(!check_witness_mac(b"secret", Epoch { random: 7, ..epoch }, &event, 7, &[8; 32], &mac));
        assert!(!check_witness_mac(b"secret", epoch, &EventId::new("f").unwrap(), 7, &[8; 32], &mac));
        assert!(!check_witness_mac(b"secret", epoch, &event, 8, &[8; 32], &mac));
        assert!(!check_witness_mac(b"secret", epoch, &event, 7, &[9; 32], &mac));
    }
}
