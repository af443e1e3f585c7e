//! Cleans text that people and programs send: no invisible characters, and one form of each letter.
//!
//! Spreadsheets, chat programs and web pages put invisible characters into a copied name or code: zero-width spaces,
//! byte-order marks, no-break spaces, non-breaking hyphens. Import, API and scanner all clean names with [`clean_text`]
//! and codes with [`clean_code`]. So two texts that look the same are equal after cleaning.

use std::borrow::Cow;

use crate::normalize::composed;

/// Whether a character shows nothing and means nothing in a name, an address or a code. The joiners U+200C and U+200D
/// are not among these characters: Persian and Hindi names are written with them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// Whether a character is white space or a control character. Some programs put a control character at the beginning or
/// end of a cell, so that a spreadsheet keeps the cell's leading zeros.
fn is_nothing(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Cleans a name, an address or another text for people. Letters are composed (NFC), invisible characters are removed,
/// and special spaces become ordinary ones. Spaces at both ends are removed. Line breaks stay.
pub fn clean_text(text: &str) -> Cow<'_, str> {
    let text = text.trim_matches(is_nothing);
    if text.is_ascii() {
        return text.into();
    }
    let plain = |c: char| if c.is_whitespace() && !c.is_control() { ' ' } else { c };
    let kept: String = text.chars().filter(|c| !is_invisible(*c)).map(plain).collect();
    let kept = kept.trim_matches(|c: char| is_nothing(c) || is_joiner(c));
    composed(kept).into()
}

/// Cleans a ticket's code as [`clean_text`] cleans a name, and removes joiners too. Hyphens and dashes that word
/// processors insert become the keyboard's hyphen. The separator (GS, `FNC1`) that readers send with GS1 codes is left
/// out.
pub fn clean_code(text: &str) -> Cow<'_, str> {
    let text = text.trim_matches(is_nothing);
    if text.is_ascii() && !text.contains(GROUP_SEPARATOR) {
        return text.into();
    }
    let dropped = |c: char| is_invisible(c) || is_joiner(c) || matches!(c, GROUP_SEPARATOR | GROUP_SEPARATOR_SYMBOL);
    let plain = |c: char| match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe63}' | '\u{ff0d}' => '-',
        _ if c.is_whitespace() && !c.is_control() => ' ',
        _ => c,
    };
    let kept: String = text.chars().filter(|c| !dropped(*c)).map(plain).collect();
    composed(kept.trim_matches(is_nothing)).into()
}

/// The character that a reader sends between the parts of a GS1 code.
const GROUP_SEPARATOR: char = '\u{1d}';
/// The visible symbol (U+241D) that some programs write in place of [`GROUP_SEPARATOR`].
const GROUP_SEPARATOR_SYMBOL: char = '\u{241d}';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_the_same_is_the_same() {
        for (written, plain) in [
            ("\u{200b}Zoë\u{feff}", "Zoë"),
            ("Zoe\u{308} \u{a0}Åström\u{2003}", "Zoë  Åström"),
            ("\u{200e}محمد\u{200f}", "محمد"),
            ("نامه\u{200c}ای", "نامه\u{200c}ای"),
            ("\u{200d}Ana\u{200c}", "Ana"),
            ("two\nlines\u{2028}", "two\nlines"),
            ("\u{a0}", ""),
        ] {
            assert_eq!(clean_text(written), plain, "{written:?}");
        }
        for (written, plain) in [
            ("\u{200b}ZW-000001", "ZW-000001"),
            ("ZW-000002\u{feff}", "ZW-000002"),
            ("\u{a0}ZW-000003 ", "ZW-000003"),
            ("ZW\u{2011}000004", "ZW-000004"),
            ("\u{1d}0105000456112253\u{1d}10COV", "010500045611225310COV"),
            ("0105000456112253␝10COV", "010500045611225310COV"),
            ("A B", "A B"),
            ("\u{1f}0030613", "0030613"),
        ] {
            assert_eq!(clean_code(written), plain, "{written:?}");
        }
    }
}
