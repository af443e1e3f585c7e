//! Keys that a store reads ahead.

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{DeviceId, EventId, LogId};

/// Keys of rows that an operation reads next. A use case names them in the scope before the operation runs, or by
/// the transaction's `prefetch` while it runs. A store with slow round trips reads all of them at once. This affects speed only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prefetch {
    /// Devices to look up, with their keys.
    pub devices: Vec<DeviceId>,
    /// Devices whose assignments to look up.
    pub assignments: Vec<DeviceId>,
    /// Events whose stored scans to look up.
    pub scans: Vec<EventId>,
    /// Codes of the scope's event to look up, with their tickets' rules and states.
    pub codes: Vec<BarcodeHash>,
    /// The log whose row to look up. There is at most one, since a look-up locks the row, and rows of logs must be
    /// locked in order.
    pub log: Option<(DeviceId, LogId)>,
    /// Subjects of the event, whose states and incidents to look up.
    pub subjects: Vec<String>,
    /// Runs to look up, with their steps.
    pub runs: Vec<String>,
}
