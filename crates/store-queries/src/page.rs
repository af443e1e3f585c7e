//! Pages of lists. A list is ordered by some of its columns. A cursor has the values that the last item of the page
//! before has in these columns.

use admit_app::error::{Error, Result};
use admit_app::records::{Listed, Page};
use admit_core::barcode::hex;

use crate::value::Value;

/// The least number of rows to read at a time for a page whose condition Rust checks after reading.
const CHECKED_AT_ONCE: i64 = 1_000;

/// The place where a page of a list by (number, id) begins. The list is newest first, so the page holds the items below
/// this place.
pub(crate) struct From {
    pub number: i64,
    pub id: String,
}

impl From {
    /// The place as two parameters of a statement.
    pub(crate) fn into_values(self) -> [Value<'static>; 2] {
        [self.number.into(), self.id.into()]
    }
}

/// The place where a page of a list by (text, id) begins. The list is from A to Z, so the page holds the items after
/// this place.
pub(crate) struct FromText {
    pub text: String,
    pub id: String,
}

impl FromText {
    /// The place as two parameters of a statement.
    pub(crate) fn into_values(self) -> [Value<'static>; 2] {
        [self.text.into(), self.id.into()]
    }
}

/// Reads the cursor of a list by text: `t`, the length of the id, a dot, the id, and the text in hexadecimal. Such a
/// cursor needs no escaping in a URL. Without a cursor the page begins before everything.
pub(crate) fn from_text(page: &Page) -> Result<FromText> {
    let Some(cursor) = &page.cursor else { return Ok(FromText { text: String::new(), id: String::new() }) };
    let parts = cursor.strip_prefix('t').and_then(|rest| rest.split_once('.'));
    let place = parts.and_then(|(length, rest)| rest.split_at_checked(length.parse().ok()?));
    let place = place.and_then(|(id, text)| Some(FromText { text: from_hex(text)?, id: id.to_owned() }));
    place.ok_or_else(wrong_cursor)
}

fn from_hex(text: &str) -> Option<String> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8; 2]| u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok();
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(byte).collect::<Option<Vec<u8>>>()?;
    if rest.is_empty() { String::from_utf8(bytes).ok() } else { None }
}

fn wrong_cursor() -> Error {
    Error::invalid("cursor", "must be a next_cursor that an earlier page gave")
}

/// Reads the cursor of a list by number. Without a cursor the page begins above everything.
pub(crate) fn from(page: &Page) -> Result<From> {
    let Some(cursor) = &page.cursor else { return Ok(From { number: i64::MAX, id: String::new() }) };
    let parts = cursor.split_once('.').and_then(|(number, id)| Some((number.parse().ok()?, id)));
    match parts {
        Some((number, id)) => Ok(From { number, id: id.to_owned() }),
        None => Err(wrong_cursor()),
    }
}

/// The number of rows to ask for: one more than the page holds, so that the extra row tells whether there is a next
/// page.
pub(crate) fn limit(page: &Page) -> i64 {
    i64::try_from(page.limit).unwrap_or(i64::MAX - 1).saturating_add(1)
}

/// The number of rows to read at a time for a page. If Rust checks a condition after reading, it reads more rows at
/// once, because some rows are dropped.
pub(crate) fn rows_to_read(page: &Page, checked_later: bool) -> i64 {
    if checked_later { limit(page).max(CHECKED_AT_ONCE) } else { limit(page) }
}

/// Makes a page of a list by number: removes the extra row, and names the last item as the cursor of the next page.
pub(crate) fn listed<T>(page: &Page, items: Vec<T>, place: impl Fn(&T) -> (i64, String)) -> Listed<T> {
    cut(page, items, |item| {
        let (number, id) = place(item);
        format!("{number}.{id}")
    })
}

/// Makes a page of a list by text, like [`listed`].
pub(crate) fn listed_by_text<T>(page: &Page, items: Vec<T>, place: impl Fn(&T) -> (String, String)) -> Listed<T> {
    cut(page, items, |item| {
        let (text, id) = place(item);
        format!("t{}.{id}{}", id.len(), hex(text.as_bytes()))
    })
}

fn cut<T>(page: &Page, mut items: Vec<T>, cursor: impl Fn(&T) -> String) -> Listed<T> {
    if items.len() <= page.limit {
        return Listed { items, next_cursor: None };
    }
    items.truncate(page.limit);
    let next_cursor = items.last().map(cursor);
    Listed { items, next_cursor }
}
