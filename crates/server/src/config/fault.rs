//! The error for a wrong setting.

/// A setting with an impossible value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {message}")]
pub struct SettingError {
    /// The setting's name in the environment.
    pub name: &'static str,
    /// The fault and the form of the right value, as a sentence.
    pub message: String,
}
