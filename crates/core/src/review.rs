//! The review: a person's decision about a scan. It is a fact with a serial of its event (spec §4 step 1).

use crate::ids::{DeviceId, ScanId};
use crate::scan::Digest;
use crate::words::words;

words! {
    /// A person's decision about a scan.
    Decision {
        /// Count the scan although its authorship is unproven.
        Accept = "accept",
        /// Do not count the scan. Nothing else un-counts a person.
        Exclude = "exclude",
        /// Take back the decision that was made before.
        Restore = "restore",
    }
}

/// One decision about one content of one scan. Of several decisions the one with the highest serial holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// The serial of the write that stored the review.
    pub serial: u64,
    /// The device that made the scan.
    pub device_id: DeviceId,
    /// The scan's id within its device.
    pub scan_id: ScanId,
    /// The digest of the content at which the person looked. Another content under the same id is not reviewed.
    pub digest: Digest,
    /// The decision.
    pub decision: Decision,
}

impl Review {
    /// The content that the review is about: author, scan id and digest.
    pub fn content(&self) -> (DeviceId, ScanId, Digest) {
        (self.device_id.clone(), self.scan_id.clone(), self.digest)
    }
}
