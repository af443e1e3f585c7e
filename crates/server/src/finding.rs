//! A finding about a service that this server depends on.

use std::sync::Mutex;

use serde::Serialize;

/// The state of a service that this server depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The service works.
    Ok,
    /// The service is not set up. This can be intended.
    Off,
    /// Devices can still scan, but a part of this service does not work, or will fail soon.
    Warning,
    /// The service fails and must be repaired.
    Failed,
}

/// The result of checking one service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `database | clock | disk | redis | mail | objects`, and further names in `admit doctor`.
    pub name: &'static str,
    /// The condition of the service.
    pub condition: Condition,
    /// The result of the check, as one sentence.
    pub says: String,
    /// The fix for the operator; `None` if nothing is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<&'static str>,
}

impl Finding {
    /// A finding that a service works.
    pub fn ok(name: &'static str, says: impl Into<String>) -> Self {
        Self { name, condition: Condition::Ok, says: says.into(), fix: None }
    }
    /// A finding that a service is not set up; `says` names the setting.
    pub fn off(name: &'static str, says: impl Into<String>) -> Self {
        Self { name, condition: Condition::Off, says: says.into(), fix: None }
    }
    /// A finding with a warning, and what to do.
    pub fn warning(name: &'static str, says: impl Into<String>, fix: &'static str) -> Self {
        Self { name, condition: Condition::Warning, says: says.into(), fix: Some(fix) }
    }
    /// A finding of a failure, and what to do.
    pub fn failed(name: &'static str, says: impl Into<String>, fix: &'static str) -> Self {
        Self { name, condition: Condition::Failed, says: says.into(), fix: Some(fix) }
    }
}

/// The last findings about distant services. A request to `/readyz` must not wait for a mail server.
#[derive(Debug, Default)]
pub struct Seen {
    pub(crate) last: Mutex<(Option<i64>, Vec<Finding>)>,
}
