//! Reads one cell by the meaning of its column. Guards that exporters put around codes (`'0030611`) are removed. Words
//! that mean an empty cell (`n/a`) become empty text. Damage by spreadsheets is reported.

use std::borrow::Cow;

use admit_core::text::{clean_code, clean_text};
use admit_table::unguarded;

use super::column::Column;

/// The text of a cell from a person's file, cleaned as its column needs: without guards around a code, and empty
/// instead of a word that means an empty cell.
pub fn text(column: Column, raw: &str) -> Cow<'_, str> {
    let cell = match column.is_code() || matches!(column, Column::Phone | Column::PartySize) {
        true => clean_code(without_guard(raw)),
        false => clean_text(unguarded(raw)),
    };
    // In a name column such a word may be a name, so the user is asked.
    if !column.is_name() && is_empty_word(&cell) { Cow::Borrowed("") } else { cell }
}

/// The text of a cell that a webhook sent. No spreadsheet wrote it, so it has neither guards (as in `'0030611`) nor
/// words that mean an empty cell.
pub fn plain(column: Column, raw: &str) -> Cow<'_, str> {
    if column.is_code() { clean_code(raw) } else { clean_text(raw) }
}

/// Whether a cell holds one of the words that databases and spreadsheets write for an empty cell.
pub fn is_empty_word(cell: &str) -> bool {
    let words =
        ["null", "\\n", "none", "n/a", "#n/a", "nil", "nan", "(null)", "<null>", "undefined", "-", "--", "–", "—"];
    words.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// A code without the characters that exporters add so that a spreadsheet keeps leading zeros: `="0030611"`,
/// `'0030611`.
fn without_guard(raw: &str) -> &str {
    let text = raw.trim();
    let formula = text.strip_prefix("=\"").and_then(|rest| rest.strip_suffix('"'));
    let text = formula.unwrap_or(text);
    match text.strip_prefix('\'') {
        Some(rest) if !rest.is_empty() && !rest.ends_with('\'') => rest,
        _ => text,
    }
}

/// The damage that a spreadsheet did to a cell, in words that name the fix. `None` if the cell is undamaged.
pub fn damage(column: Column, text: &str) -> Option<String> {
    if is_error_cell(text) {
        return Some(format!("was damaged by a spreadsheet: {text}. Export the list anew, or correct the cell"));
    }
    if !column.is_code() && column != Column::Phone {
        return None;
    }
    let what = if column == Column::Barcode { "this code" } else { "this value" };
    if is_scientific(text) {
        return Some(format!(
            "{what} was damaged by a spreadsheet: {text}. Export the list anew and import that file unopened, or format the column as text"
        ));
    }
    let whole = text.strip_suffix(".0").or_else(|| text.strip_suffix(",0"));
    if whole.is_some_and(|whole| whole.len() >= 4 && whole.bytes().all(|byte| byte.is_ascii_digit())) {
        return Some(format!(
            "{what} was damaged by a program that took it for a number: {text}. Export the column as text"
        ));
    }
    None
}

/// Whether a cell holds a spreadsheet's error: `#NAME?`, `#REF!`, `#WERT!`, `#####`.
fn is_error_cell(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('#') else { return false };
    if rest.len() >= 2 && rest.bytes().all(|byte| byte == b'#') {
        return true;
    }
    let word = rest.strip_suffix(['!', '?']).unwrap_or_default();
    word.len() >= 2 && word.chars().all(|c| c.is_uppercase() || matches!(c, '/' | '0' | '¿' | '¡' | '_'))
}

/// Whether a cell holds a number in scientific form: `2.38202E+13`, `2,38E+13`.
fn is_scientific(text: &str) -> bool {
    let Some((mantissa, exponent)) = text.split_once(['E', 'e']) else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once(['.', ',']).unwrap_or((mantissa, "0"));
    whole.len() == 1 && digits(whole) && digits(fraction) && exponent.strip_prefix('+').is_some_and(digits)
}

/// Finds out whether a spreadsheet removed leading zeros from a column's codes, and returns their former length. `None`
/// if it removed none. The codes must all be numbers, and most must have the same length.
pub fn length_with_zeros<'a>(codes: impl Iterator<Item = &'a str> + Clone) -> Option<usize> {
    let mut by_length = std::collections::BTreeMap::new();
    for code in codes.clone().filter(|code| !code.is_empty()) {
        if !code.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *by_length.entry(code.len()).or_insert(0_usize) += 1;
    }
    let (length, most) = by_length.iter().next_back().map(|(length, count)| (*length, *count))?;
    let shorter: usize = by_length.iter().filter(|(one, _)| **one < length).map(|(_, count)| count).sum();
    // Numbers that are counted up (9, 10, 11) naturally have several lengths.
    let begins_with_zero = codes.clone().any(|code| code.len() == length && code.starts_with('0'));
    let is_long = length >= 6 && !is_counted_up(codes, length);
    let lost = shorter > 0 && most >= 3 && shorter * 2 <= most && (begins_with_zero || is_long);
    lost.then_some(length)
}

/// Whether somebody numbered the tickets in order, so that shorter codes are smaller numbers and lost no zeros. A sign
/// of it is that the greatest code with `length - 1` digits begins with 99, as 999 comes before 1000.
fn is_counted_up<'a>(codes: impl Iterator<Item = &'a str> + Clone, length: usize) -> bool {
    let greatest = codes.filter(|code| code.len() == length - 1).max();
    greatest.is_some_and(|code| code.starts_with("99"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_and_empty_words_are_taken_off() {
        for (raw, code) in [
            ("=\"0030611\"", "0030611"),
            ("'0030614", "0030614"),
            ("0030613", "0030613"),
            ("'quoted'", "'quoted'"),
            ("\u{200b}ZW-1\u{a0}", "ZW-1"),
            ("NULL", ""),
            ("#N/A", ""),
            ("-", ""),
            ("-1", "-1"),
        ] {
            assert_eq!(text(Column::Barcode, raw), code, "{raw}");
        }
        assert_eq!(text(Column::Name, "'t Hooft"), "'t Hooft");
        assert_eq!(text(Column::Name, "NULL"), "NULL", "it may be a name");
        assert_eq!(text(Column::Email, "\u{200b}a@b\u{feff}"), "a@b");
        assert_eq!(text(Column::Note, "\\N"), "");
        assert_eq!(text(Column::Name, "'=Ana"), "=Ana", "the guard of our own export");
    }

    #[test]
    fn what_a_spreadsheet_damaged_is_no_code() {
        for damaged in
            ["2.38202E+13", "2,19E+26", "4E+12", "23820220588971.0", "#NAME?", "#REF!", "#####", "#WERT!", "#DIV/0!"]
        {
            assert!(damage(Column::Barcode, damaged).is_some_and(|words| words.contains(damaged)), "{damaged}");
        }
        for whole in ["12E5", "A2.38E+13", "2.38E13", "V1.0", "#12", "#a!", "1.0", "E+13", "##", "N°1!"] {
            assert_eq!(damage(Column::Barcode, whole), None, "{whole}");
        }
        assert_eq!(damage(Column::Name, "2.38202E+13"), None);
        assert!(damage(Column::Name, "#REF!").is_some());
    }

    #[test]
    fn codes_that_lost_their_zeros_are_shorter_than_their_neighbours() {
        let length = |codes: &[&str]| length_with_zeros(codes.iter().copied());
        assert_eq!(length(&["0030611", "30612", "0030613", "0030614"]), Some(7));
        assert_eq!(length(&["1030611", "30612", "1030613", "2030614"]), Some(7));
        assert_eq!(length(&["0030611", "0030612", "0030613"]), None);
        assert_eq!(length(&["8", "9", "10", "11", "12", "13"]), None, "numbers that are counted up");
        assert_eq!(length(&["999998", "999999", "1000000", "1000001", "1000002", "1000003"]), None);
        assert_eq!(length(&["A-1", "B-22", "C-333", "D-333"]), None);
        assert_eq!(length(&["30611", "30612", "1030613"]), None, "too few to say");
    }
}
