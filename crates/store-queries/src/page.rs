//! Pages of lists: the cursor names the last item by what the list is ordered by.

use admit_app::error::{Error, Result};
use admit_app::records::{Listed, Page};

/// Where a page begins: below (number, id), newest first.
pub(crate) struct From {
    pub number: i64,
    pub id: String,
}

/// Reads the cursor; the first page begins above everything.
pub(crate) fn from(page: &Page) -> Result<From> {
    let Some(cursor) = &page.cursor else { return Ok(From { number: i64::MAX, id: String::new() }) };
    let parts = cursor.split_once('.').and_then(|(number, id)| Some((number.parse().ok()?, id)));
    match parts {
        Some((number, id)) => Ok(From { number, id: id.to_owned() }),
        None => Err(Error::invalid("cursor", "must be a next_cursor that an earlier page gave")),
    }
}

/// One more row than the page holds: it tells whether there is a next page.
pub(crate) fn limit(page: &Page) -> i64 {
    i64::try_from(page.limit).unwrap_or(i64::MAX - 1).saturating_add(1)
}

/// Cuts the extra row off and names the last item as the cursor of the next page.
pub(crate) fn listed<T>(page: &Page, mut items: Vec<T>, place: impl Fn(&T) -> (i64, String)) -> Listed<T> {
    if items.len() <= page.limit {
        return Listed { items, next_cursor: None };
    }
    items.truncate(page.limit);
    let next_cursor = items.last().map(place).map(|(number, id)| format!("{number}.{id}"));
    Listed { items, next_cursor }
}
