//! JSON text in columns of the store: writing it, and reading it with an error that names what could not be read.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::problem;
use super::tree::Tree;

/// Why stored text is not what it should be: the database was changed by other hands, or by a newer version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("stored {what} cannot be read: {why}")]
pub struct StoredError {
    /// The kind of value that was being read.
    pub what: &'static str,
    /// The error in it, in words.
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

/// Reads JSON that a program of ours wrote. In a browser it reads by way of a tree, so each shape is compiled for one
/// source alone. This halves what a phone must fetch, and such input is small. It must never be used for a list of
/// tickets.
pub fn from_json<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    if cfg!(target_arch = "wasm32") {
        serde_json::from_slice(json).and_then(from_tree)
    } else {
        serde_json::from_slice(json)
    }
}

/// Reads a shape from JSON that is a tree already.
pub fn from_tree<T: DeserializeOwned>(tree: serde_json::Value) -> serde_json::Result<T> {
    T::deserialize(Tree(tree))
}
