//! What is wrong with a setting.

/// A setting that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {message}")]
pub struct SettingError {
    /// The setting's name in the environment.
    pub name: &'static str,
    /// What is wrong and what would be right.
    pub message: String,
}
