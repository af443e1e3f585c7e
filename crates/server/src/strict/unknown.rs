//! An unknown name in a request, with a message about it.

use super::nearest;

/// The most unknown names in one answer.
pub const LISTED: usize = 20;
/// The most characters of a sender's own name that an answer repeats.
pub const REPEATED_CHARS: usize = 80;

/// An unknown name and the name that was probably meant.
#[derive(Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The path of the name in the request.
    pub path: String,
    /// The message: the error, and the name that was probably meant.
    pub message: String,
}

impl Unknown {
    /// Describes `name` under the path `parent`. `kind` is the kind of name (field or parameter); `known` are the names
    /// that are known under `parent`.
    pub fn new(parent: &str, name: &str, kind: &str, known: &[&str]) -> Self {
        let name: String = name.chars().take(REPEATED_CHARS).collect();
        let path = if parent.is_empty() { name.clone() } else { format!("{parent}.{name}") };
        let message = format!("`{path}` is not a {kind} here. {}", nearest::advice(&name, kind, known));
        Self { path, message }
    }
}
