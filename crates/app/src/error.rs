//! The errors of all use cases: one closed enum, with a variant for each thing that the caller should do (law 13). The
//! server converts it to problem+json in one place.

use serde_json::Value;

/// A field that is wrong, and how to correct it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field, such as `tickets[3].entry_limit`.
    pub path: String,
    /// The fault and the right value of the field, in words.
    pub message: String,
}

/// Why a use case did not do what it was asked to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The request is wrong. The caller must change it (400).
    #[error("{code}: {}", fields(errors))]
    Invalid {
        /// A stable word for programs.
        code: &'static str,
        /// The wrong fields, and how to correct them.
        errors: Vec<FieldError>,
    },
    /// The credential is missing or unknown. The caller must sign in or pair (401).
    #[error("{code}: {message}")]
    Unauthenticated {
        /// A stable word for programs.
        code: &'static str,
        /// The refusal, in plain words.
        message: String,
    },
    /// The caller is known, but not allowed to do this (403).
    #[error("{code}: {message}")]
    Denied {
        /// A stable word for programs.
        code: &'static str,
        /// The refusal, in plain words.
        message: String,
        /// Further members of the answer, such as `kept` and `quota_left` (spec D10). Absent if there are none.
        details: Option<Box<Value>>,
    },
    /// The thing does not exist, or it belongs to another organisation (404).
    #[error("no such {what}")]
    NotFound {
        /// The noun of the missing thing, such as `event`.
        what: &'static str,
    },
    /// The thing existed and has ended, such as a used or expired token (410).
    #[error("{code}: {message}")]
    Gone {
        /// A stable word for programs.
        code: &'static str,
        /// The refusal, in plain words.
        message: String,
    },
    /// The request conflicts with what is stored (409).
    #[error("{code}: {message}")]
    Conflict {
        /// A stable word for programs.
        code: &'static str,
        /// The refusal, in plain words.
        message: String,
    },
    /// The request is well-formed, but the present state does not allow it (422).
    #[error("{code}: {message}")]
    Unprocessable {
        /// A stable word for programs.
        code: &'static str,
        /// The refusal, in plain words.
        message: String,
    },
    /// The server cannot do this now. The caller should try again later. `rate_limited` is answered with 429, any other
    /// code with 503.
    #[error("{code}: try again in {retry_after_ms} ms")]
    Later {
        /// A stable word for programs.
        code: &'static str,
        /// Time to wait before the next try, in milliseconds.
        retry_after_ms: i64,
    },
    /// A fault of the server (500). The text is for the log.
    #[error("internal: {0}")]
    Bug(String),
}

fn fields(errors: &[FieldError]) -> String {
    errors.iter().map(|error| format!("{}: {}", error.path, error.message)).collect::<Vec<_>>().join("; ")
}

/// The return type of every use case.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The error for one wrong field.
    pub fn invalid(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid {
            code: "invalid_request",
            errors: vec![FieldError { path: path.into(), message: message.into() }],
        }
    }
    /// The error for a conflict with what is stored.
    pub fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::Conflict { code, message: message.into() }
    }
    /// The error for a caller who is not allowed to do this.
    pub fn denied(code: &'static str, message: impl Into<String>) -> Self {
        Self::Denied { code, message: message.into(), details: None }
    }
    /// The error for a thing that does not exist.
    pub fn not_found(what: &'static str) -> Self {
        Self::NotFound { what }
    }
}
