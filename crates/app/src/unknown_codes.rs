//! How many unknown codes a device may still be told about (spec §5 "Rate limit"): counted by items, whatever way they
//! came, in any 60 s. Who guesses codes learns nothing from then on; who scans at a door is never held up.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use admit_core::ids::{DeviceId, OrganizationId};
use admit_core::limits::UNKNOWN_CODES_PER_MINUTE;
use admit_core::rate::WINDOW_MS;

/// Devices remembered before the idle ones are swept out.
const SWEEP_FROM: usize = 4_096;

type Key = (OrganizationId, DeviceId);

/// The allowance of every device, in this process. Times are of a monotonic clock, in milliseconds.
#[derive(Debug, Default)]
pub struct UnknownCodes {
    /// When, and how many at once; oldest first.
    logs: Mutex<BTreeMap<Key, Vec<(i64, u32)>>>,
}

impl UnknownCodes {
    /// How many unknown codes it may still be told about.
    pub fn left(&self, organization_id: &OrganizationId, device_id: &DeviceId, now_ms: i64) -> u32 {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(log) = logs.get_mut(&(organization_id.clone(), device_id.clone())) else {
            return UNKNOWN_CODES_PER_MINUTE;
        };
        log.retain(|(at, _)| at.saturating_add(WINDOW_MS) > now_ms);
        let spent = log.iter().fold(0_u32, |sum, (_, items)| sum.saturating_add(*items));
        UNKNOWN_CODES_PER_MINUTE.saturating_sub(spent)
    }
    /// When it may be told again, in milliseconds from now; at least one.
    pub fn wait_ms(&self, organization_id: &OrganizationId, device_id: &DeviceId, now_ms: i64) -> i64 {
        let logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = logs.get(&(organization_id.clone(), device_id.clone())).and_then(|log| log.first());
        oldest.map_or(1, |(at, _)| at.saturating_add(WINDOW_MS).saturating_sub(now_ms).clamp(1, WINDOW_MS))
    }
    /// Counts unknown codes that came in.
    pub fn spend(&self, organization_id: &OrganizationId, device_id: &DeviceId, items: usize, now_ms: i64) {
        let items = u32::try_from(items).unwrap_or(u32::MAX);
        if items == 0 {
            return;
        }
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if logs.len() >= SWEEP_FROM {
            logs.retain(|_, log| log.iter().any(|(at, _)| at.saturating_add(WINDOW_MS) > now_ms));
        }
        let log = logs.entry((organization_id.clone(), device_id.clone())).or_default();
        log.retain(|(at, _)| at.saturating_add(WINDOW_MS) > now_ms);
        log.push((now_ms, items));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_is_a_devices_own_and_comes_back_after_a_minute() {
        let codes = UnknownCodes::default();
        let org = OrganizationId::new("o").unwrap();
        let (a, b) = (DeviceId::new("a").unwrap(), DeviceId::new("b").unwrap());
        assert_eq!(codes.left(&org, &a, 0), UNKNOWN_CODES_PER_MINUTE);
        codes.spend(&org, &a, 10, 0);
        codes.spend(&org, &a, 1_000_000, 5_000);
        assert_eq!((codes.left(&org, &a, 6_000), codes.left(&org, &b, 6_000)), (0, UNKNOWN_CODES_PER_MINUTE));
        assert_eq!(codes.wait_ms(&org, &a, 6_000), 54_000);
        assert_eq!(codes.left(&org, &a, 60_000), 0, "the second lot has not left the window");
        assert_eq!(codes.left(&org, &a, 65_000), UNKNOWN_CODES_PER_MINUTE);
        codes.spend(&org, &b, 0, 0);
        assert_eq!(codes.wait_ms(&org, &b, 0), 1);
    }
}
