//! A scan that this device made, and how far it is on its way to the server.

use crate::rule::Epoch;
use crate::scan::Scan;
use crate::wire::journal::Shown;
use crate::wire::scanning::Named;

/// The state of a scan's upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// No receipt names the scan.
    Waiting,
    /// The server had the scan in a former epoch. In the present epoch the server has not said yet whether it still has
    /// the scan.
    Asked,
    /// The server cannot read the scan, for this reason. The device offers it rarely.
    Poison(String),
    /// A receipt names the scan.
    Sent,
    /// The server has stored the scan, and holds it until the organiser counts it.
    Held,
    /// The server has refused the scan and will not take it later.
    Rejected {
        /// The server's reason.
        reason: String,
        /// Whether the server keeps the scan's bytes.
        kept: bool,
    },
}

impl Delivery {
    /// Whether no receipt names the scan.
    pub fn lacks(&self) -> bool {
        matches!(self, Self::Waiting | Self::Asked | Self::Poison(_))
    }
    /// Whether the server refused the scan for ever. The server then counts none of the persons whom the scan let in.
    pub fn is_unread(&self) -> bool {
        matches!(self, Self::Rejected { .. })
    }
}

/// A scan that this device made.
#[derive(Debug, Clone)]
pub struct OwnScan {
    /// The scan's content.
    pub scan: Scan,
    /// The scan's signature, as the journal has it.
    pub signature: String,
    /// The fields that the verdict showed.
    pub shown: Shown,
    /// The name of the guest whom the scan added. Absent if it added none.
    pub named: Option<Named>,
    /// The state of the scan's upload.
    pub delivery: Delivery,
    /// The last receipt: its epoch, and a serial at or below which the server stored the scan. Absent without a
    /// receipt.
    pub receipt: Option<(Option<Epoch>, u64)>,
    /// The number of the scan's journal row.
    pub row: u64,
    /// The state `Rejected` or `Held` that the scan had in a former epoch. The server has not said yet whether it has
    /// the scan in the new epoch. If it has, the scan returns to this state.
    pub(super) stood: Option<Delivery>,
}
