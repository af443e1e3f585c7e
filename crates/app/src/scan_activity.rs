//! Whether somebody stands at a door just now: work that may wait leaves them the machine. Without it, or with the scans
//! of another process, everything comes out the same, only sooner or later (law 15).

use std::sync::atomic::{AtomicI64, Ordering};

use admit_core::limits::DOORS_BUSY_MS;

/// When scans came in last, in this process. Times are of a monotonic clock, in milliseconds.
#[derive(Debug)]
pub struct ScanActivity {
    scanned_at_ms: AtomicI64,
}

impl Default for ScanActivity {
    fn default() -> Self {
        Self { scanned_at_ms: AtomicI64::new(i64::MIN) }
    }
}

impl ScanActivity {
    /// Scans came in.
    pub fn scanned(&self, now_ms: i64) {
        self.scanned_at_ms.store(now_ms, Ordering::Relaxed);
    }
    /// Whether more are to be expected.
    pub fn is_recent(&self, now_ms: i64) -> bool {
        now_ms.saturating_sub(self.scanned_at_ms.load(Ordering::Relaxed)) < DOORS_BUSY_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doors_are_busy_for_a_while_after_a_scan_and_not_before_the_first() {
        let activity = ScanActivity::default();
        assert!(!activity.is_recent(0));
        activity.scanned(5_000);
        assert!(activity.is_recent(5_000));
        assert!(activity.is_recent(5_000 + DOORS_BUSY_MS - 1));
        assert!(!activity.is_recent(5_000 + DOORS_BUSY_MS));
    }
}
