//! The sync limit: a sliding log per device (S1 §7.6, spec §5), in memory, and with Redis a second one over all nodes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use admit_app::error::{Error, Result};
use admit_core::ids::{DeviceId, OrganizationId};
use admit_core::rate::{RateDecision, SlidingLog};

use super::rate_redis::SharedLog;

/// The number of remembered devices from which idle ones are removed.
const SWEEP_FROM: usize = 4_096;

type Logs = BTreeMap<(OrganizationId, DeviceId), SlidingLog>;

/// Counts the syncs of every device, at `/api/scanning/sync` and `/api/scans/sync` together.
///
/// This node always keeps its own log, so the limit also holds while Redis is unreachable or was emptied. Redis adds
/// the syncs that other nodes allowed.
#[derive(Debug)]
pub struct SyncLimit {
    limit: u32,
    logs: Mutex<Logs>,
    shared: Option<SharedLog>,
}

impl SyncLimit {
    /// A limit of `limit` syncs per device in any 60 s.
    pub fn new(limit: u32, shared: Option<SharedLog>) -> Self {
        Self { limit, logs: Mutex::default(), shared }
    }
    /// Allows a sync, or fails with `rate_limited`. `now_ms` must come from a monotonic clock, because a wall clock
    /// that is set back would delay devices.
    pub async fn take(&self, organization_id: &OrganizationId, device_id: &DeviceId, now_ms: i64) -> Result<()> {
        let id = (organization_id.clone(), device_id.clone());
        let own = self.own(&id, now_ms);
        let shared = match (&self.shared, own) {
            (Some(shared), RateDecision::Allowed) => shared.take(organization_id, device_id, self.limit).await,
            _ => None,
        };
        let decision = shared.unwrap_or(own);
        match decision {
            RateDecision::Allowed => Ok(()),
            RateDecision::Refused { retry_after_seconds } => {
                if own == RateDecision::Allowed
                    && let Some(log) = self.lock().get_mut(&id)
                {
                    // The log over all nodes refused a sync that this node had counted already.
                    log.give_back(now_ms);
                }
                let retry_after_ms = i64::try_from(retry_after_seconds).unwrap_or(i64::MAX / 1_000) * 1_000;
                Err(Error::Later { code: "rate_limited", retry_after_ms })
            }
        }
    }
    fn own(&self, id: &(OrganizationId, DeviceId), now_ms: i64) -> RateDecision {
        let mut logs = self.lock();
        if logs.len() >= SWEEP_FROM {
            logs.retain(|_, log| !log.is_idle(now_ms));
        }
        logs.entry(id.clone()).or_default().take(now_ms, self.limit)
    }
    fn lock(&self) -> MutexGuard<'_, Logs> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_limit_is_a_devices_own() {
        let limit = SyncLimit::new(2, None);
        let org = OrganizationId::new("a").unwrap();
        let device = |text: &str| DeviceId::new(text).unwrap();
        assert!(limit.take(&org, &device("x"), 0).await.is_ok());
        assert!(limit.take(&org, &device("x"), 1).await.is_ok());
        let refused = limit.take(&org, &device("x"), 2).await.unwrap_err();
        assert_eq!(refused, Error::Later { code: "rate_limited", retry_after_ms: 60_000 });
        assert!(limit.take(&org, &device("y"), 2).await.is_ok());
        assert!(limit.take(&OrganizationId::new("b").unwrap(), &device("x"), 2).await.is_ok());
    }
}
