//! The sync limit in memory: a sliding log per device (S1 §7.6, spec §5).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use admit_app::error::{Error, Result};
use admit_core::ids::{DeviceId, OrganizationId};
use admit_core::rate::{RateDecision, SlidingLog};

/// Devices remembered before the idle ones are swept out.
const SWEEP_FROM: usize = 4_096;

/// Counts the syncs of every device, both sync endpoints together.
#[derive(Debug)]
pub struct SyncLimit {
    limit: u32,
    logs: Mutex<BTreeMap<(OrganizationId, DeviceId), SlidingLog>>,
}

impl SyncLimit {
    /// At most `limit` syncs of a device in any 60 s.
    pub fn new(limit: u32) -> Self {
        Self { limit, logs: Mutex::default() }
    }
    /// Lets a sync through, or fails with `rate_limited`. `now_ms` is of a monotonic clock: a wall clock set back would
    /// hold devices up.
    pub fn take(&self, organization_id: &OrganizationId, device_id: &DeviceId, now_ms: i64) -> Result<()> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if logs.len() >= SWEEP_FROM {
            logs.retain(|_, log| !log.is_idle(now_ms));
        }
        let log = logs.entry((organization_id.clone(), device_id.clone())).or_default();
        match log.take(now_ms, self.limit) {
            RateDecision::Allowed => Ok(()),
            RateDecision::Refused { retry_after_seconds } => {
                let retry_after_ms = i64::try_from(retry_after_seconds).unwrap_or(i64::MAX / 1_000) * 1_000;
                Err(Error::Later { code: "rate_limited", retry_after_ms })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_devices_own() {
        let limit = SyncLimit::new(2);
        let org = OrganizationId::new("a").unwrap();
        let device = |text: &str| DeviceId::new(text).unwrap();
        assert!(limit.take(&org, &device("x"), 0).is_ok());
        assert!(limit.take(&org, &device("x"), 1).is_ok());
        let refused = limit.take(&org, &device("x"), 2).unwrap_err();
        assert_eq!(refused, Error::Later { code: "rate_limited", retry_after_ms: 60_000 });
        assert!(limit.take(&org, &device("y"), 2).is_ok());
        assert!(limit.take(&OrganizationId::new("b").unwrap(), &device("x"), 2).is_ok());
    }
}
