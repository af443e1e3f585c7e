//! The short code of a ticket: the characters that people read out and type.

use crate::barcode::BarcodeHash;

/// Bytes of the hash that the short code holds.
const BYTES: usize = 5;
/// The characters of a short code (Crockford's base 32). No two of them look alike.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The first 40 bits of a code's hash, written as `K7QF-2M9D`. A phone finds the ticket by it, because the phone's list
/// contains the hash of every code. The short code does not reveal the code. In 1 of 5,000 events with 20,000 tickets,
/// two tickets share a short code. A search by that code then finds neither ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShortCode(pub [u8; BYTES]);

impl ShortCode {
    /// The short code of a code's hash.
    pub fn of(hash: &BarcodeHash) -> Self {
        let mut first = [0; BYTES];
        first.copy_from_slice(&hash.0[..BYTES]);
        Self(first)
    }

    /// Reads a typed short code, in either case, with or without blanks and hyphens. O is read as 0, I and L as 1.
    /// `None` for any other text.
    pub fn read(typed: &str) -> Option<Self> {
        let mut value: u64 = 0;
        let mut digits = 0;
        for character in typed.chars().filter(|one| !matches!(one, '-' | ' ')) {
            let digit = match character.to_ascii_uppercase() {
                'O' => 0,
                'I' | 'L' => 1,
                other => DIGITS.iter().position(|digit| char::from(*digit) == other)? as u64,
            };
            value = (value << 5) | digit;
            digits += 1;
            if digits > BYTES * 8 / 5 {
                return None;
            }
        }
        let [_, _, _, first @ ..] = value.to_be_bytes();
        (digits == BYTES * 8 / 5).then_some(Self(first))
    }

    /// Whether a hash, or a prefix of one, begins with this short code.
    pub fn begins(self, hash: &[u8]) -> bool {
        hash.starts_with(&self.0)
    }

    /// The least hash that begins with this short code.
    pub fn least(self) -> BarcodeHash {
        self.filled(0)
    }
    /// The greatest hash that begins with this short code.
    pub fn greatest(self) -> BarcodeHash {
        self.filled(u8::MAX)
    }
    fn filled(self, rest: u8) -> BarcodeHash {
        let mut hash = [rest; 32];
        hash[..BYTES].copy_from_slice(&self.0);
        BarcodeHash(hash)
    }
}

impl std::fmt::Display for ShortCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c, d, e] = self.0.map(u64::from);
        let value = a << 32 | b << 24 | c << 16 | d << 8 | e;
        for place in (0..8).rev() {
            if place == 3 {
                f.write_str("-")?;
            }
            write!(f, "{}", char::from(DIGITS[(value >> (5 * place)) as usize & 31]))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_code_is_read_as_people_type_it() {
        let hash = BarcodeHash::of("7d7e8b1c-93a4-4f02-8f2c-0a1b2c3d4e5f");
        let short = ShortCode::of(&hash);
        let written = short.to_string();
        assert_eq!((written.len(), &written[4..5]), (9, "-"));
        for typed in [
            written.clone(),
            written.replace('-', ""),
            written.to_lowercase(),
            format!(" {} ", written.replace('-', " ")),
        ] {
            assert_eq!(ShortCode::read(&typed), Some(short), "{typed}");
        }
        assert!(
            short.begins(&hash.0) && short.begins(&hash.prefix()) && (short.least()..=short.greatest()).contains(&hash)
        );
        assert_eq!(ShortCode::read("o0il-1234"), ShortCode::read("0011-1234"));
        for wrong in ["", "K7QF-2M9", "K7QF-2M9DD", "K7QF-2M9U", "K7QF_2M9D", "ÄÖÜß-1234"] {
            assert_eq!(ShortCode::read(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(first: [u8; 5]) {
            prop_assert_eq!(ShortCode::read(&ShortCode(first).to_string()), Some(ShortCode(first)));
        }
    }
}
