//! Codes: from what a reader reads to the hash a list holds (spec D12).

use crate::limits::BARCODE_BYTES;
use sha2::{Digest as _, Sha256};

/// SHA-256 of a barcode's text; written `sha256:` + 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BarcodeHash(pub [u8; 32]);

/// Why a text is not a barcode hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be sha256: followed by 64 lower-case hexadecimal digits")]
pub struct BarcodeHashError;

/// Why a text cannot be a code of ours at all: the only texts shown as "not one of our codes" (spec D18).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BarcodeError {
    /// Nothing but white space.
    #[error("must not be empty")]
    Empty,
    /// More than 512 bytes.
    #[error("must be at most 512 bytes")]
    TooLong,
    /// Holds a control character.
    #[error("must not hold control characters")]
    Control,
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    // Every scan has half a dozen of these: a character at a time would show.
    let mut text = vec![0; bytes.len() * 2];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        (pair[0], pair[1]) = (DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]);
    }
    String::from_utf8(text).unwrap_or_default()
}

/// What each character is as a digit of lower-case hexadecimal; of no digit the upper bits are set.
const DIGIT_OF: [u8; 256] = {
    let mut table = [0xff; 256];
    let mut digit = 0;
    while digit < 16 {
        table[b"0123456789abcdef"[digit] as usize] = digit as u8;
        digit += 1;
    }
    table
};

/// Reads lower-case hexadecimal of exactly `N` bytes.
pub fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut out = [0; N];
    unhex_into(text, &mut out).then_some(out)
}

/// Reads lower-case hexadecimal that fills `to`; whether it does. A digit at a time is asked of a table and all are
/// judged at the end: every request and every row holds hundreds of them.
pub(crate) fn unhex_into(text: &str, to: &mut [u8]) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() != to.len() * 2 {
        return false;
    }
    let mut seen = 0;
    for (to, pair) in to.iter_mut().zip(bytes.chunks_exact(2)) {
        let (high, low) = (DIGIT_OF[usize::from(pair[0])], DIGIT_OF[usize::from(pair[1])]);
        seen |= high | low;
        *to = high << 4 | (low & 15);
    }
    seen < 16
}

impl BarcodeHash {
    /// The hash of a code's text, taken as it is.
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }
    /// The first 16 bytes: what a device's index holds.
    pub fn prefix(&self) -> [u8; 16] {
        let mut prefix = [0; 16];
        prefix.copy_from_slice(&self.0[..16]);
        prefix
    }
}
impl std::fmt::Display for BarcodeHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sha256:{}", hex(&self.0))
    }
}
impl std::fmt::Debug for BarcodeHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}
impl std::str::FromStr for BarcodeHash {
    type Err = BarcodeHashError;
    fn from_str(text: &str) -> Result<Self, BarcodeHashError> {
        text.strip_prefix("sha256:").and_then(unhex).map(Self).ok_or(BarcodeHashError)
    }
}

/// Checks a text that a ticket is given as its barcode: 1–512 bytes, no control characters, no outer white space (a
/// reader's trimming would make such a code unreadable).
pub fn check_barcode(text: &str) -> Result<(), BarcodeError> {
    if text.trim().is_empty() {
        return Err(BarcodeError::Empty);
    }
    if text.len() > BARCODE_BYTES {
        return Err(BarcodeError::TooLong);
    }
    if text.chars().any(char::is_control) {
        return Err(BarcodeError::Control);
    }
    Ok(())
}

/// The texts to try for what a reader read, in order; the first known one wins (spec D12). Trimmed, pass URLs
/// unwrapped, S2-form codes (3 or 4 groups of 4 base62) as read, dashed, undashed.
pub fn candidates(read: &str) -> Result<Vec<String>, BarcodeError> {
    let trimmed = read.trim();
    check_barcode(trimmed)?;
    let text = unwrap_pass_url(trimmed).unwrap_or_else(|| trimmed.to_owned());
    let mut list = vec![text.clone()];
    if text != trimmed {
        list.push(trimmed.to_owned());
    }
    if let Some(spelled) = dashed(&text) {
        for form in [spelled, undashed(&text)] {
            if !list.contains(&form) {
                list.push(form);
            }
        }
    }
    Ok(list)
}

/// The token of a pass URL `…/passes?token=T` (other parameters may stand around it), percent-decoding not needed: our
/// tokens are UUIDs.
fn unwrap_pass_url(text: &str) -> Option<String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    let (path, query) = rest.split_once('?')?;
    if !path.trim_end_matches('/').ends_with("/passes") {
        return None;
    }
    let query = query.split('#').next().unwrap_or(query);
    let token = query.split('&').find_map(|pair| pair.strip_prefix("token="))?;
    (!token.is_empty()).then(|| token.to_owned())
}

fn undashed(text: &str) -> String {
    text.chars().filter(|c| *c != '-').collect()
}

/// The dashed spelling of an S2-form code: 12 or 16 base62 characters, given with dashes after every fourth or without.
fn dashed(text: &str) -> Option<String> {
    let plain = undashed(text);
    let is_code = matches!(plain.len(), 12 | 16) && plain.bytes().all(|b| b.is_ascii_alphanumeric());
    if !is_code {
        return None;
    }
    let groups: Vec<&str> = (0..plain.len() / 4).map(|i| &plain[i * 4..i * 4 + 4]).collect();
    let spelled = groups.join("-");
    (text == plain || text == spelled).then_some(spelled)
}

/// Whether a text has the form of an S2 ticket code (spec D12): 3 or 4 groups of 4 base62, dashed or not.
pub fn is_s2_code(text: &str) -> bool {
    dashed(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_url_is_unwrapped_and_the_url_itself_still_tried() {
        let url = "https://tickets.example/passes?lang=de&token=7d7e#x";
        assert_eq!(candidates(url).unwrap(), ["7d7e", url]);
        assert_eq!(candidates(" http://x/passes/?token=a ").unwrap()[0], "a");
        assert_eq!(candidates("https://x/other?token=a").unwrap(), ["https://x/other?token=a"]);
    }

    #[test]
    fn an_s2_code_is_tried_as_read_dashed_and_undashed() {
        assert_eq!(candidates("3KQR-7F92-4M1X").unwrap(), ["3KQR-7F92-4M1X", "3KQR7F924M1X"]);
        assert_eq!(candidates("3KQR7F924M1X").unwrap(), ["3KQR7F924M1X", "3KQR-7F92-4M1X"]);
        assert_eq!(candidates("3KQR-7F92-4M1X-ab9Z").unwrap().len(), 2);
        assert_eq!(candidates("3K-QR7F924M1X").unwrap(), ["3K-QR7F924M1X"], "dashes elsewhere are another code");
    }

    #[test]
    fn hexadecimal_is_read_as_it_is_written_and_in_no_other_form() {
        let bytes: Vec<u8> = (0..=255).collect();
        let text = hex(&bytes);
        assert_eq!(&text[..8], "00010203");
        assert_eq!(unhex::<256>(&text).map(|read| read.to_vec()), Some(bytes));
        for wrong in ["0", "000", "0g", "g0", "0A", "A0", "+0", " 0", "0\u{0}", "é"] {
            assert_eq!(unhex::<1>(wrong), None, "{wrong:?}");
        }
        assert_eq!(unhex::<0>(""), Some([]));
    }

    #[test]
    fn only_long_or_control_text_is_not_one_of_our_codes() {
        assert_eq!(candidates(&"x".repeat(513)), Err(BarcodeError::TooLong));
        assert_eq!(candidates("a\0b"), Err(BarcodeError::Control));
        assert_eq!(candidates("  "), Err(BarcodeError::Empty));
        assert!(candidates("🎟 Ünïcode").is_ok());
    }

    #[test]
    fn a_hash_reads_back_as_written() {
        let hash = BarcodeHash::of("TOKEN-A-0001");
        assert_eq!(hash.to_string().parse::<BarcodeHash>().unwrap(), hash);
        assert!("sha256:AB".parse::<BarcodeHash>().is_err());
    }
}
