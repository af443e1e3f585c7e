//! The review: what a person decided about a scan. A fact too, with its place in the event's order (spec §4 step 1).

use crate::ids::{DeviceId, ScanId};
use crate::scan::Digest;
use crate::words::words;

words! {
    /// A person's decision about a scan.
    Decision {
        /// Count it although its authorship is unproven.
        Accept = "accept",
        /// Do not count it: the only thing that un-counts a person.
        Exclude = "exclude",
        /// Take back whatever was decided before.
        Restore = "restore",
    }
}

/// One decision about one content of one scan; of several the highest serial wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// Place in the event's order.
    pub serial: u64,
    /// Author of the scan.
    pub device_id: DeviceId,
    /// The scan.
    pub scan_id: ScanId,
    /// The content the person looked at: other content under the same id was not reviewed.
    pub digest: Digest,
    /// The decision.
    pub decision: Decision,
}

impl Review {
    /// The very content it is about.
    pub fn content(&self) -> (DeviceId, ScanId, Digest) {
        (self.device_id.clone(), self.scan_id.clone(), self.digest)
    }
}
