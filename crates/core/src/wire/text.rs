//! JSON text in columns of the store: writing it, and reading it with an error that names what could not be read.

use serde::{Deserialize, Serialize};

use super::problem;

/// Why stored text is not what it should be: the database was changed by other hands, or by a newer version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("stored {what} cannot be read: {why}")]
pub struct StoredError {
    /// What was being read.
    pub what: &'static str,
    /// What is wrong with it.
    pub why: String,
}

/// Writes a value as the JSON text of its column.
pub fn to_text<T: Serialize>(value: &T) -> String {
    // Nothing here has a map with keys other than strings, which alone could fail.
    serde_json::to_string(value).unwrap_or_default()
}

/// Reads a column's JSON text; `what` names it in the error.
pub fn from_text<'a, T: Deserialize<'a>>(what: &'static str, text: &'a str) -> Result<T, StoredError> {
    problem::read(text.as_bytes()).map_err(|error| StoredError { what, why: error.to_string() })
}
