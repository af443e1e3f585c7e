//! The recent entries (S2 §4 "Cache Layers"): noted after the commit, never asked for a decision (law 15).

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{DeviceId, EventId, GateId, OrganizationId, ScanId, TicketId};
use admit_core::time::Timestamp;

/// A scan that opened a door and is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentScan {
    /// The code.
    pub barcode_hash: BarcodeHash,
    /// The ticket, as the device knew it.
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

/// Remembers for five minutes, here and, where there is one, in the cache of all nodes.
pub trait Recent: Send + Sync {
    /// Notes stored scans. Returns at once; what gets lost is only not remembered.
    fn note(&self, organization_id: &OrganizationId, event_id: &EventId, scans: Vec<RecentScan>);
}

/// Remembers nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Forgetful;

impl Recent for Forgetful {
    fn note(&self, _organization_id: &OrganizationId, _event_id: &EventId, _scans: Vec<RecentScan>) {}
}
