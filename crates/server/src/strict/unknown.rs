//! A name that the API does not have, in words that help.

use super::nearest;

/// Most unknown names that one answer lists.
pub const LISTED: usize = 20;
/// Longest piece of a sender's own name that an answer repeats, in characters.
pub const REPEATED_CHARS: usize = 80;

/// A name that is not known, and what may have been meant.
#[derive(Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Where it stands.
    pub path: String,
    /// The error, and the name that may have been meant.
    pub message: String,
}

impl Unknown {
    /// `name` under `parent`, of a `kind` of name, beside the names that are `known` there.
    pub fn new(parent: &str, name: &str, kind: &str, known: &[&str]) -> Self {
        let name: String = name.chars().take(REPEATED_CHARS).collect();
        let path = if parent.is_empty() { name.clone() } else { format!("{parent}.{name}") };
        let message = format!("`{path}` is not a {kind} here. {}", nearest::advice(&name, kind, known));
        Self { path, message }
    }
}
