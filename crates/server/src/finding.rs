//! A finding about a service that this server depends on.

use std::sync::Mutex;

use serde::Serialize;

/// How one thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// It works.
    Ok,
    /// It is not set up, which is a choice.
    Off,
    /// Scans go on; something waits, or will fail soon.
    Warning,
    /// It has to be repaired.
    Failed,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `database | clock | disk | redis | mail | objects`, and others where `admit doctor` looks.
    pub name: &'static str,
    /// How it is.
    pub condition: Condition,
    /// The state that was seen, in one sentence.
    pub says: String,
    /// The action that would help; absent where none is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<&'static str>,
}

impl Finding {
    /// Something that works.
    pub fn ok(name: &'static str, says: impl Into<String>) -> Self {
        Self { name, condition: Condition::Ok, says: says.into(), fix: None }
    }
    /// Something that nobody set up, and the setting that would.
    pub fn off(name: &'static str, says: impl Into<String>) -> Self {
        Self { name, condition: Condition::Off, says: says.into(), fix: None }
    }
    /// Something to look at.
    pub fn warning(name: &'static str, says: impl Into<String>, fix: &'static str) -> Self {
        Self { name, condition: Condition::Warning, says: says.into(), fix: Some(fix) }
    }
    /// Something to repair.
    pub fn failed(name: &'static str, says: impl Into<String>, fix: &'static str) -> Self {
        Self { name, condition: Condition::Failed, says: says.into(), fix: Some(fix) }
    }
}

/// The last findings about distant services. A request that asks whether this server is ready must not wait for a
/// mail server.
#[derive(Debug, Default)]
pub struct Seen {
    pub(crate) last: Mutex<(Option<i64>, Vec<Finding>)>,
}
