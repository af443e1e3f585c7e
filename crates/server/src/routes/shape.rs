//! Shapes and helpers that the lists and patches of the organiser's routes share (spec §5).

use std::future::Future;

use admit_app::records::{Listed, Page};
use admit_core::limits::{PAGE_DEFAULT, PAGE_MAX};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::error::{ApiError, Result};

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct List<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// The value of `?cursor=` for the next page. Null on the last page.
    pub next_cursor: Option<String>,
}

impl<T> List<T> {
    /// A list that is always sent whole.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next_cursor: None }
    }
    /// A page from the store, with each item converted.
    pub fn of<R>(listed: Listed<R>, item: impl FnMut(R) -> T) -> Self {
        Self { items: listed.items.into_iter().map(item).collect(), next_cursor: listed.next_cursor }
    }
}

/// The requested page. Fails for a limit outside 1–500.
pub fn page(limit: Option<usize>, cursor: Option<String>) -> Result<Page> {
    let limit = limit.unwrap_or(PAGE_DEFAULT);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(ApiError::field("limit", format!("must be 1 to {PAGE_MAX}, not {limit}")));
    }
    Ok(Page { limit, cursor })
}

/// The query `?limit=&cursor=` of a list.
#[derive(Debug, Default, Deserialize)]
pub struct PageQuery {
    limit: Option<usize>,
    cursor: Option<String>,
}

impl PageQuery {
    /// The page asked for.
    pub fn page(self) -> Result<Page> {
        page(self.limit, self.cursor)
    }
}

/// Reads a field of a patch that may be null. An absent field is `None`, null is `Some(None)`.
pub fn present<'de, D, T>(deserializer: D) -> std::result::Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Some)
}

/// A yes-or-no parameter such as `?dry_run=1`. `1` or `true` is yes; `0`, `false` or no parameter is no.
pub fn flag(name: &str, text: Option<&str>) -> Result<bool> {
    match text {
        None | Some("0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(_) => Err(ApiError::field(name, "must be 1 or 0 (or true or false)")),
    }
}

/// The search text `?q=`, trimmed; `None` if it is empty. Fails for a text of more than `most` characters, the length
/// of the longest value that it could match. SQLite and PostgreSQL have different limits for longer texts.
pub fn sought(q: Option<String>, most: usize) -> Result<Option<String>> {
    sought_in("q", q, most)
}

/// Like [`sought`], for a text in the field `path` of a body.
pub fn sought_in(path: &str, q: Option<String>, most: usize) -> Result<Option<String>> {
    let text = q.unwrap_or_default();
    let chars = text.chars().count();
    if chars > most {
        return Err(ApiError::field(path, format!("must have at most {most} characters, not {chars}")));
    }
    let text = text.trim();
    if text.chars().any(char::is_control) {
        return Err(ApiError::field(path, "must not hold control characters"));
    }
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

/// Parses one word of a vocabulary. The error names `path`.
pub fn word<T: std::str::FromStr<Err: std::fmt::Display>>(path: &str, text: &str) -> Result<T> {
    text.parse().map_err(|error: T::Err| ApiError::field(path, error.to_string()))
}

/// Runs a use case that keeps a core busy (a password's hash, a large file) on a thread for blocking work. It finishes
/// even if the client disconnects.
pub async fn blocking<T, F>(work: F) -> Result<T>
where
    T: Send + 'static,
    F: Future<Output = admit_app::error::Result<T>> + Send + 'static,
{
    let here = tokio::runtime::Handle::current();
    let done = tokio::task::spawn_blocking(move || here.block_on(work)).await;
    let done = done.unwrap_or_else(|error| Err(admit_app::error::Error::Bug(format!("a busy task: {error}"))));
    Ok(done?)
}
