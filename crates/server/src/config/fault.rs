//! Errors in a setting.

/// A setting that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {message}")]
pub struct SettingError {
    /// The setting's name in the environment.
    pub name: &'static str,
    /// The error and the right value, in words.
    pub message: String,
}
