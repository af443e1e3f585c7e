//! One closed enum of errors, by what the caller should do (law 13). The server maps it to problem+json in one place.

use serde_json::Value;

/// A field that is wrong, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field, such as `tickets[3].entry_limit`.
    pub path: String,
    /// The error and the right value, in words.
    pub message: String,
}

/// Why a use case did not do what it was asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The request is wrong: change it.
    #[error("{code}: {}", fields(errors))]
    Invalid {
        /// Stable word.
        code: &'static str,
        /// Which fields, and how to mend them.
        errors: Vec<FieldError>,
    },
    /// Nobody we know: sign in, or pair (401).
    #[error("{code}: {message}")]
    Unauthenticated {
        /// Stable word.
        code: &'static str,
        /// In plain words.
        message: String,
    },
    /// Known, but not allowed (403).
    #[error("{code}: {message}")]
    Denied {
        /// Stable word.
        code: &'static str,
        /// In plain words.
        message: String,
        /// Members the answer carries beside the problem, such as `kept` and `quota_left` (spec D10).
        details: Option<Box<Value>>,
    },
    /// No such thing, or another organisation's (404).
    #[error("no such {what}")]
    NotFound {
        /// The noun.
        what: &'static str,
    },
    /// It was there, and is over: a used or expired token (410).
    #[error("{code}: {message}")]
    Gone {
        /// Stable word.
        code: &'static str,
        /// In plain words.
        message: String,
    },
    /// It clashes with what is stored (409).
    #[error("{code}: {message}")]
    Conflict {
        /// Stable word.
        code: &'static str,
        /// In plain words.
        message: String,
    },
    /// Well-formed, but cannot be done as things stand (422).
    #[error("{code}: {message}")]
    Unprocessable {
        /// Stable word.
        code: &'static str,
        /// In plain words.
        message: String,
    },
    /// Not now: try again after this long. `rate_limited` is 429, anything else 503.
    #[error("{code}: try again in {retry_after_ms} ms")]
    Later {
        /// Stable word.
        code: &'static str,
        /// Time to wait before the next try, in milliseconds.
        retry_after_ms: i64,
    },
    /// Ours to mend (500).
    #[error("internal: {0}")]
    Bug(String),
}

fn fields(errors: &[FieldError]) -> String {
    errors.iter().map(|error| format!("{}: {}", error.path, error.message)).collect::<Vec<_>>().join("; ")
}

/// The return type of every use case.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// One wrong field.
    pub fn invalid(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid {
            code: "invalid_request",
            errors: vec![FieldError { path: path.into(), message: message.into() }],
        }
    }
    /// A clash.
    pub fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::Conflict { code, message: message.into() }
    }
    /// Not allowed.
    pub fn denied(code: &'static str, message: impl Into<String>) -> Self {
        Self::Denied { code, message: message.into(), details: None }
    }
    /// No such thing.
    pub fn not_found(what: &'static str) -> Self {
        Self::NotFound { what }
    }
}
