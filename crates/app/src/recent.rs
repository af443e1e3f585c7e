//! A cache of recent entries: scans of the last five minutes that opened a door (S2 §4 "Cache Layers"). Scans are added
//! after the commit, and no decision uses the cache (law 15).

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{DeviceId, EventId, GateId, OrganizationId, ScanId, TicketId};
use admit_core::time::Timestamp;

/// A stored scan that opened a door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentScan {
    /// The hash of the scan's code.
    pub barcode_hash: BarcodeHash,
    /// The ticket that the device found for the code. Absent if it found none.
    pub ticket_id: Option<TicketId>,
    /// The scan's id.
    pub scan_id: ScanId,
    /// The device that made the scan.
    pub device_id: DeviceId,
    /// The gate of the scan.
    pub gate_id: GateId,
    /// When the scan was made.
    pub at: Timestamp,
}

/// Remembers recent entries for five minutes, in this process and, if configured, in the cache of all nodes.
pub trait Recent: Send + Sync {
    /// Notes stored scans. It returns at once. If a note is lost, the scan is merely not remembered.
    fn note(&self, organization_id: &OrganizationId, event_id: &EventId, scans: Vec<RecentScan>);
}

/// An implementation that remembers nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Forgetful;

impl Recent for Forgetful {
    fn note(&self, _organization_id: &OrganizationId, _event_id: &EventId, _scans: Vec<RecentScan>) {}
}
