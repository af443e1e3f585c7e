//! The encodings of text files: detects them, and names them in reports.

use std::borrow::Cow;

use encoding_rs::{MACINTOSH, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::limits::Refused;

/// How the characters of a file are written as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, with or without a byte-order mark.
    Utf8,
    /// UTF-16, the low byte first.
    Utf16Le,
    /// UTF-16, the high byte first.
    Utf16Be,
    /// Windows-1252, which spreadsheets on Western Windows write. Latin-1 is read as this.
    Windows1252,
    /// Mac Roman, which spreadsheets on a Mac write as "CSV".
    MacRoman,
}

impl Encoding {
    /// Every encoding that is known.
    pub const ALL: [Self; 5] = [Self::Utf8, Self::Utf16Le, Self::Utf16Be, Self::Windows1252, Self::MacRoman];

    /// The name of the encoding, as people know it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Windows1252 => "Windows-1252",
            Self::MacRoman => "Mac Roman",
        }
    }
    /// The encoding with this name, as [`Encoding::name`] writes it, in any case. `None` for other names.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(name.trim()))
    }
}

/// The text of a file, and its encoding. Bytes that have no meaning in the encoding become U+FFFD. UTF-8 is only
/// detected if every byte is right.
pub(crate) fn decode(bytes: &[u8], hint: Option<Encoding>) -> Result<(Cow<'_, str>, Encoding), Refused> {
    let encoding = hint.unwrap_or_else(|| detect(bytes));
    let text = match encoding {
        Encoding::Utf8 => String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)),
        Encoding::Utf16Le => UTF_16LE.decode_with_bom_removal(bytes).0,
        Encoding::Utf16Be => UTF_16BE.decode_with_bom_removal(bytes).0,
        Encoding::Windows1252 => WINDOWS_1252.decode_without_bom_handling(bytes).0,
        Encoding::MacRoman => MACINTOSH.decode_without_bom_handling(bytes).0,
    };
    if text.contains('\0') {
        return Err(Refused::new("holds NUL bytes: it is not a text file. Save it as CSV or XLSX"));
    }
    Ok((text, encoding))
}

fn detect(bytes: &[u8]) -> Encoding {
    match bytes {
        [0xff, 0xfe, ..] => return Encoding::Utf16Le,
        [0xfe, 0xff, ..] => return Encoding::Utf16Be,
        [0xef, 0xbb, 0xbf, ..] => return Encoding::Utf8,
        _ => {}
    }
    if let Some(wide) = utf16_without_mark(bytes) {
        return wide;
    }
    if std::str::from_utf8(bytes).is_ok() {
        return Encoding::Utf8;
    }
    let windows = strangeness(&WINDOWS_1252.decode_without_bom_handling(bytes).0);
    let mac = strangeness(&MACINTOSH.decode_without_bom_handling(bytes).0);
    if mac < windows { Encoding::MacRoman } else { Encoding::Windows1252 }
}

/// Recognises UTF-16 without a byte-order mark: text of mostly Latin letters has a NUL in every second byte. `None` if
/// there is none.
fn utf16_without_mark(bytes: &[u8]) -> Option<Encoding> {
    let head = &bytes[..bytes.len().min(4_096) / 2 * 2];
    if head.len() < 4 {
        return None;
    }
    let nuls = |offset: usize| head.iter().skip(offset).step_by(2).filter(|byte| **byte == 0).count();
    let (high_first, low_first, pairs) = (nuls(0), nuls(1), head.len() / 2);
    if low_first * 2 > pairs && high_first == 0 {
        Some(Encoding::Utf16Le)
    } else if high_first * 2 > pairs && low_first == 0 {
        Some(Encoding::Utf16Be)
    } else {
        None
    }
}

/// How odd a decoded text looks: it counts symbols inside words, capitals after small letters, and control characters.
/// The right decoding of a list of names has none of them.
fn strangeness(text: &str) -> usize {
    let mut odd = 0;
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if !c.is_ascii() {
            let after = chars.peek().copied().unwrap_or(' ');
            let in_word = before.is_alphabetic() || after.is_alphabetic();
            odd += match c {
                '\u{80}'..='\u{9f}' | '\u{fffd}' => 3,
                _ if c.is_alphabetic() => {
                    let in_small_letters = before.is_lowercase() || after.is_lowercase();
                    usize::from(c.is_uppercase() && before.is_alphabetic() && in_small_letters) * 2
                }
                // These are marks that people write next to words.
                '’' | '‘' | '“' | '”' | '–' | '—' | '…' | '€' | '°' | '«' | '»' | '·' | '\u{a0}' => {
                    0
                }
                _ => usize::from(in_word) * 2,
            };
        }
        before = c;
    }
    odd
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(bytes: &[u8]) -> (String, Encoding) {
        let (text, encoding) = decode(bytes, None).unwrap();
        (text.into_owned(), encoding)
    }

    #[test]
    fn every_encoding_that_spreadsheets_write_is_detected() {
        let text = "code;name\nX-1;Jürgen Größe\nX-2;Zoë Åström, Ñandú, Élodie";
        let utf16 = |high_first: bool, mark: bool| {
            let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
            units.flat_map(|unit: u16| if high_first { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
        };
        let cases: [(Vec<u8>, Encoding); 8] = [
            (text.as_bytes().to_vec(), Encoding::Utf8),
            ([b"\xef\xbb\xbf", text.as_bytes()].concat(), Encoding::Utf8),
            (utf16(false, true), Encoding::Utf16Le),
            (utf16(true, true), Encoding::Utf16Be),
            (utf16(false, false), Encoding::Utf16Le),
            (utf16(true, false), Encoding::Utf16Be),
            (WINDOWS_1252.encode(text).0.into_owned(), Encoding::Windows1252),
            // `encoding_rs` does not write Mac Roman. The table above gives its letters.
            (mac_roman(text), Encoding::MacRoman),
        ];
        for (bytes, encoding) in cases {
            assert_eq!(detected(&bytes), (text.to_owned(), encoding));
        }
    }

    fn mac_roman(text: &str) -> Vec<u8> {
        let table: Vec<char> =
            (0..=255_u8).map(|byte| MACINTOSH.decode_without_bom_handling(&[byte]).0.chars().next().unwrap()).collect();
        text.chars().map(|c| u8::try_from(table.iter().position(|one| *one == c).unwrap()).unwrap()).collect()
    }

    #[test]
    fn one_letter_is_enough_to_tell_a_mac_from_windows() {
        assert_eq!(detected(b"name\nJos\x8e"), ("name\nJosé".into(), Encoding::MacRoman));
        assert_eq!(detected(b"name\nJos\xe9"), ("name\nJosé".into(), Encoding::Windows1252));
        assert_eq!(detected(b"name\nJ\xfcrgen"), ("name\nJürgen".into(), Encoding::Windows1252));
        assert_eq!(detected(b"name\nJ\x9frgen"), ("name\nJürgen".into(), Encoding::MacRoman));
        assert_eq!(detected(b"name\n\xd8yvind O\x92Brien"), ("name\nØyvind O’Brien".into(), Encoding::Windows1252));
    }

    #[test]
    fn what_is_no_text_is_refused() {
        assert!(decode(b"name\na\0b\0\0", None).unwrap_err().0.contains("NUL"));
    }
}
