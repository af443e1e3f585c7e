//! Turns the text that a reader reads into the hash that a list holds (spec D12).

use std::borrow::Cow;

use crate::limits::BARCODE_BYTES;
use crate::text::clean_code;
use sha2::{Digest as _, Sha256};

/// The sample code that a check of the camera shows before doors open. It is no ticket of any event, and scanning it
/// writes nothing.
pub const SAMPLE_CODE: &str = "admit-sample-ticket";

/// The SHA-256 of a barcode's text. Its text form is `sha256:` and 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BarcodeHash(pub [u8; 32]);

/// The error for a text that is not a barcode hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be sha256: followed by 64 lower-case hexadecimal digits")]
pub struct BarcodeHashError;

/// Why a text cannot be a code of Admit. Only a text with such an error is shown as "not one of our codes" (spec D18).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BarcodeError {
    /// The text is empty or only white space.
    #[error("must not be empty")]
    Empty,
    /// The text has more than 512 bytes.
    #[error("must be at most 512 bytes")]
    TooLong,
    /// The text holds a control character.
    #[error("must not hold control characters")]
    Control,
}

/// Writes bytes as lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    // Every scan has about six of these, so writing a character at a time would cost noticeable time.
    let mut text = vec![0; bytes.len() * 2];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        (pair[0], pair[1]) = (DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]);
    }
    String::from_utf8(text).unwrap_or_default()
}

/// The value of each character as a digit of lower-case hexadecimal. For any other character the upper bits are set.
const DIGIT_OF: [u8; 256] = {
    let mut table = [0xff; 256];
    let mut digit = 0;
    while digit < 16 {
        table[b"0123456789abcdef"[digit] as usize] = digit as u8;
        digit += 1;
    }
    table
};

/// Reads lower-case hexadecimal of exactly `N` bytes. `None` for any other text.
pub fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut out = [0; N];
    unhex_into(text, &mut out).then_some(out)
}

/// Reads lower-case hexadecimal into `to`. Returns false unless the text fills `to` exactly. Each digit is looked up in
/// a table and errors are checked once at the end, because every request and row holds hundreds of digits.
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
    /// The hash of a code's text, without any cleaning of the text.
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }
    /// The first 16 bytes, which a device's index holds.
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

/// Checks a text that a ticket is to get as its barcode: 1–512 bytes, no control characters, no outer white space. A
/// reader trims outer white space, so nobody could scan such a code.
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

/// The canonical text of a ticket's code, under which the ticket is stored. Invisible characters and a reader's AIM
/// prefix (`]Q1`, `]C1`) are removed. A GS1 code loses the brackets that are printed for people.
pub fn canonical(text: &str) -> Cow<'_, str> {
    let cleaned = clean_code(text);
    let bare = without_aim_prefix(&cleaned);
    match without_gs1_brackets(bare) {
        Some(plain) => plain.into(),
        None if bare.len() == cleaned.len() => cleaned,
        None => bare.to_owned().into(),
    }
}

/// The texts to look up for a text that a reader read, in order. The first known one wins (spec D12).
///
/// The order is: the canonical form; the canonical form without an ECI flag that some readers send as text
/// (`\000026CODE`); the text as it was read. Each form adds three spellings: a pass URL unwrapped to its token, and an
/// S2-form code (3 or 4 groups of 4 base62 characters) with dashes and without.
pub fn candidates(read: &str) -> Result<Vec<String>, BarcodeError> {
    let cleaned = clean_code(read);
    check_barcode(&cleaned)?;
    let first = canonical(&cleaned).into_owned();
    let without_eci = without_eci_flag(&first).map(|rest| canonical(rest).into_owned());
    let mut list = Vec::new();
    for text in std::iter::once(first).chain(without_eci).chain(std::iter::once(cleaned.into_owned())) {
        spellings(&text, &mut list);
    }
    Ok(list)
}

/// Adds the spellings of one text to the list, except those that the list has already.
fn spellings(text: &str, list: &mut Vec<String>) {
    if text.is_empty() {
        return;
    }
    let mut add = |one: String| {
        if !list.contains(&one) {
            list.push(one);
        }
    };
    let bare = unwrap_pass_url(text).unwrap_or_else(|| text.to_owned());
    add(bare.clone());
    add(text.to_owned());
    if let Some(spelled) = dashed(&bare) {
        add(spelled);
        add(undashed(&bare));
    }
    if let Some(elsewhere) = other_luma_host(&bare) {
        add(elsewhere);
    }
}

/// The same check-in address on the other of Luma's two hosts. A ticket list may name one host, and the pass that a
/// guest shows the other. `None` for other texts.
fn other_luma_host(text: &str) -> Option<String> {
    const HOSTS: [&str; 2] = ["https://lu.ma/check-in/", "https://luma.com/check-in/"];
    let (place, rest) = HOSTS.iter().enumerate().find_map(|(place, host)| Some((place, text.strip_prefix(host)?)))?;
    Some(format!("{}{rest}", HOSTS[1 - place]))
}

/// Removes the symbology identifiers that readers may put before a code (ISO/IEC 15424): `]`, a letter, a letter or
/// digit. If one reader passes its codes to another, both may add one. All are removed, so that the canonical form of a
/// canonical form is the same text.
fn without_aim_prefix(mut text: &str) -> &str {
    while let [b']', symbology, modifier, _, ..] = text.as_bytes()
        && symbology.is_ascii_alphabetic()
        && modifier.is_ascii_alphanumeric()
    {
        text = text[3..].trim();
    }
    text
}

/// The rest of a code after an ECI flag that a reader sent as text: a backslash and six digits. `None` without such a
/// flag.
fn without_eci_flag(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('\\')?;
    let (digits, rest) = rest.split_at_checked(6)?;
    (digits.bytes().all(|byte| byte.is_ascii_digit()) && !rest.trim().is_empty()).then(|| rest.trim())
}

/// A GS1 code in the form that a reader sends, made from the form printed for people: `(01)05000456112253(10)COV0109`.
/// `None` for other texts.
fn without_gs1_brackets(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    for part in text.strip_prefix('(')?.split('(') {
        let (identifier, value) = part.split_once(')')?;
        let is_identifier = (2..=4).contains(&identifier.len()) && identifier.bytes().all(|byte| byte.is_ascii_digit());
        if !is_identifier || value.is_empty() || value.contains(')') {
            return None;
        }
        out.push_str(identifier);
        out.push_str(value.trim());
    }
    Some(out)
}

/// The token of a pass URL `…/passes?token=T`, which may have other parameters too. Tokens are UUIDs, so nothing needs
/// percent-decoding. `None` for other texts.
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

/// The spelling with dashes of an S2-form code: 12 or 16 base62 characters, with a dash after every fourth or without.
/// `None` for other texts.
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

/// Whether a text has the form of an S2 ticket code (spec D12): 3 or 4 groups of 4 base62 characters, with dashes or
/// without.
pub fn is_s2_code(text: &str) -> bool {
    dashed(text).is_some()
}

/// Whether a text is an EAN-13: 13 digits, the last of which is the check digit.
pub fn is_ean_13(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().map_while(|c| c.to_digit(10)).collect();
    let weighted = digits.iter().zip([1, 3].into_iter().cycle()).map(|(digit, weight)| digit * weight);
    text.len() == 13 && digits.len() == 13 && weighted.sum::<u32>().is_multiple_of(10)
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
    fn an_ean_13_has_a_digit_that_checks_the_others() {
        for good in ["4006381333931", "9780306406157", "0000000000000"] {
            assert!(is_ean_13(good), "{good}");
        }
        for bad in
            ["4006381333932", "400638133393", "04006381333931", "400638133393X", "４００６３８１３３３９３１", ""]
        {
            assert!(!is_ean_13(bad), "{bad}");
        }
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
    fn whatever_a_reader_puts_around_a_code_leads_to_its_ticket() {
        let ticket = |printed: &str| canonical(printed).into_owned();
        for (printed, reads) in [
            (
                "010500045611225310COV0109",
                &[
                    "]C1010500045611225310COV0109",
                    "]Q3\u{1d}010500045611225310COV0109",
                    "(01)05000456112253(10)COV0109",
                    "]d2(01)05000456112253(10)COV0109",
                    "0105000456112253\u{1d}10COV0109",
                ][..],
            ),
            ("(01)05000456112253(10)COV0109", &["010500045611225310COV0109"]),
            ("]Q1PLAIN-77001", &["PLAIN-77001", "]Q1PLAIN-77001"]),
            (
                "PLAIN-77001",
                &[
                    "]Q1PLAIN-77001",
                    "\\000026PLAIN-77001",
                    "\\000003PLAIN-77001",
                    "]Q1\\000026PLAIN-77001",
                    "]C1 ]Q1PLAIN-77001",
                    "\u{feff}PLAIN\u{2011}77001 ",
                ],
            ),
            ("\\000026PLAIN", &["\\000026PLAIN"]),
        ] {
            for read in reads {
                assert!(candidates(read).unwrap().contains(&ticket(printed)), "{read:?} for {printed}");
            }
        }
        assert_eq!(candidates("\\000026PLAIN").unwrap()[0], "\\000026PLAIN", "a code that begins so wins");
        for plain in ["(12)", "(1)A", "()A", "(12)A)", "]", "]Q1", "]11A", "\\00026A", "\\000026"] {
            assert_eq!(canonical(plain), plain);
            assert_eq!(candidates(plain).unwrap(), [plain], "{plain}");
        }
    }

    #[test]
    fn a_pass_of_luma_is_known_under_both_of_its_hosts() {
        let (short, long) = ("https://lu.ma/check-in/evt-1?pk=g-1", "https://luma.com/check-in/evt-1?pk=g-1");
        assert_eq!(candidates(short).unwrap(), [short, long]);
        assert_eq!(candidates(long).unwrap(), [long, short]);
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
