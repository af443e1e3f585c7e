//! Parts of what the page draws.

use serde::{Deserialize, Serialize};

use crate::ids::ScanId;
use crate::time::Timestamp;

/// A field of a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldView {
    /// Its name.
    pub label: String,
    /// Its value; of a long one the beginning.
    pub value: String,
}

/// The list a scanner decides by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListView {
    /// Version.
    pub version: u64,
    /// Codes in it.
    pub tickets: u64,
    /// When the server made it.
    pub generated_at: Timestamp,
    /// Past this its verdicts are amber.
    pub expires_at: Timestamp,
    /// It is past it.
    pub expired: bool,
    /// When the server last said, since the app started, that this is the newest, else when it was made: its age counts
    /// from here.
    pub checked_at: Timestamp,
    /// The version of a newer one that the server spoke of: new tickets or rules, on their way here by themselves.
    #[serde(default)]
    pub newer: Option<u64>,
}

/// A scan the server refused for good; it stays in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The scan.
    pub scan_id: ScanId,
    /// The server's reason.
    pub reason: String,
    /// Whether the server keeps its bytes.
    pub kept: bool,
    /// When it was taken.
    pub at: Timestamp,
}
