//! JSON text in the columns of a store: writing it, and reading it with an error that says what could not be read.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::problem;
use super::tree::Tree;

/// The error for stored text that cannot be read. Somebody else changed the database, or a newer version wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("stored {what} cannot be read: {why}")]
pub struct StoredError {
    /// The kind of value that was being read.
    pub what: &'static str,
    /// The fault of the text.
    pub why: String,
}

/// Writes a value as the JSON text of its column.
pub fn to_text<T: Serialize>(value: &T) -> String {
    // Only maps with keys other than strings could fail, and there are none here.
    serde_json::to_string(value).unwrap_or_default()
}

/// Reads a column's JSON text. `what` names the value in the error.
pub fn from_text<'a, T: Deserialize<'a>>(what: &'static str, text: &'a str) -> Result<T, StoredError> {
    problem::read(text.as_bytes()).map_err(|error| StoredError { what, why: error.to_string() })
}

/// Reads JSON that a program of Admit wrote. In a browser it first parses into a tree, so that each shape is compiled
/// for only one kind of source. This halves what a phone must fetch. Use it only for small input, never for a list of
/// tickets.
pub fn from_json<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    if cfg!(target_arch = "wasm32") {
        serde_json::from_slice(json).and_then(from_tree)
    } else {
        serde_json::from_slice(json)
    }
}

/// Reads a shape from JSON that is parsed into a tree already.
pub fn from_tree<T: DeserializeOwned>(tree: serde_json::Value) -> serde_json::Result<T> {
    T::deserialize(Tree(tree))
}
