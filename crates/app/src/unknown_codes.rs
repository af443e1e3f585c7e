//! Limits how many unknown codes a device is told about in any 60 s (spec §5 "Rate limit"). This number is the device's
//! allowance. Codes are counted one by one, in whatever form they came. Beyond the allowance, a device that guesses
//! codes learns nothing. A device that scans at a door is never held up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use admit_core::ids::{DeviceId, OrganizationId};
use admit_core::limits::UNKNOWN_CODES_PER_MINUTE;
use admit_core::rate::WINDOW_MS;

/// Number of remembered devices from which idle ones are dropped.
const SWEEP_FROM: usize = 4_096;

/// How long a device must wait, in milliseconds, if its allowance is used up only by codes that are being looked up.
const SOON_MS: i64 = 1_000;

type Key = (OrganizationId, DeviceId);

/// How many unknown codes of its allowance one device has used in the last 60 s.
#[derive(Debug, Default)]
struct Spent {
    /// When unknown codes came, and how many, oldest first.
    log: Vec<(i64, u32)>,
    /// Number of codes that are being looked up now. Each holds a part of the allowance.
    under_way: u32,
    /// When a person was last told that this device used up its allowance. Absent if nobody was.
    told: Option<i64>,
}

impl Spent {
    /// Drops entries that are older than 60 s. Returns how many unknown codes of the allowance are left.
    fn left(&mut self, now_ms: i64) -> u32 {
        self.log.retain(|(at, _)| at.saturating_add(WINDOW_MS) > now_ms);
        let spent = self.log.iter().fold(0_u32, |sum, (_, items)| sum.saturating_add(*items));
        UNKNOWN_CODES_PER_MINUTE.saturating_sub(spent)
    }
    /// Whether a person was told within the last minute.
    fn is_told(&self, now_ms: i64) -> bool {
        self.told.is_some_and(|at| at.saturating_add(WINDOW_MS) > now_ms)
    }
    fn is_idle(&mut self, now_ms: i64) -> bool {
        self.left(now_ms) == UNKNOWN_CODES_PER_MINUTE && self.under_way == 0 && !self.is_told(now_ms)
    }
}

/// The allowance of unknown codes of every device, in this process. Times are of a monotonic clock, in milliseconds.
#[derive(Debug, Default)]
pub struct UnknownCodes {
    devices: Mutex<BTreeMap<Key, Spent>>,
}

/// One unknown code of a device's allowance, reserved while a code is looked up. Reserving it first stops parallel
/// requests from exceeding the allowance. The task that looks the code up holds it, not the task that waits for the
/// answer. So a device that hangs up and asks again learns no more. The reserved part of the allowance is given back
/// unless the code was unknown.
#[derive(Debug)]
pub struct SetAside {
    codes: Arc<UnknownCodes>,
    key: Key,
    at_ms: i64,
    /// Whether a person must be told: this code is the last of the allowance, and nobody was told within the last
    /// minute.
    pub tells: bool,
    is_spent: bool,
}

impl SetAside {
    /// Notes whether the code was unknown. The last call counts.
    pub fn found(&mut self, unknown: bool) {
        self.is_spent = unknown;
    }
}

impl Drop for SetAside {
    fn drop(&mut self) {
        let mut devices = self.codes.lock();
        let Some(spent) = devices.get_mut(&self.key) else { return };
        spent.under_way = spent.under_way.saturating_sub(1);
        if self.is_spent {
            spent.log.push((self.at_ms, 1));
        } else if self.tells {
            spent.told = None;
        }
    }
}

/// How many unknown codes an upload uses of its device's allowance. The request holds this value, and so does the task
/// that stores the upload. A device that hangs up meanwhile can read the stored answer later, and learns from it what
/// it would have learned at once. So the allowance is used once, when the upload is settled or both have dropped this
/// value.
#[derive(Debug)]
pub struct Spending {
    codes: Arc<UnknownCodes>,
    key: Key,
    at_ms: i64,
    unknown: AtomicUsize,
}

impl Spending {
    /// Notes how many of the upload's codes were unknown: 0 if nothing is stored. A later call replaces the number.
    pub fn found(&self, unknown: usize) {
        self.unknown.store(unknown, Ordering::SeqCst);
    }
    /// Takes the unknown codes of a stored upload off the device's allowance. It is called before the device gets its
    /// answer, so that the device's next upload finds the allowance reduced.
    pub fn settle(&self) {
        self.codes.spend(&self.key.0, &self.key.1, self.unknown.swap(0, Ordering::SeqCst), self.at_ms);
    }
}

impl Drop for Spending {
    fn drop(&mut self) {
        self.settle();
    }
}

impl UnknownCodes {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Spent>> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// How many more unknown codes the device may be told about now.
    pub fn left(&self, organization_id: &OrganizationId, device_id: &DeviceId, now_ms: i64) -> u32 {
        let mut devices = self.lock();
        let spent = devices.get_mut(&(organization_id.clone(), device_id.clone()));
        spent.map_or(UNKNOWN_CODES_PER_MINUTE, |spent| spent.left(now_ms))
    }
    /// Reserves one unknown code of the device's allowance. `None` if nothing is left.
    pub fn set_aside(
        self: &Arc<Self>,
        organization_id: &OrganizationId,
        device_id: &DeviceId,
        now_ms: i64,
    ) -> Option<SetAside> {
        let key = (organization_id.clone(), device_id.clone());
        let mut devices = self.lock();
        let spent = Self::of(&mut devices, &key, now_ms);
        let left = spent.left(now_ms).checked_sub(spent.under_way)?.checked_sub(1)?;
        spent.under_way += 1;
        let tells = left == 0 && !spent.is_told(now_ms);
        if tells {
            spent.told = Some(now_ms);
        }
        Some(SetAside { codes: Arc::clone(self), key, at_ms: now_ms, tells, is_spent: false })
    }
    /// When the device may be told about an unknown code again, in milliseconds from now, at least 1. If the allowance
    /// is used up only by codes that are being looked up, the wait is short, so that scanning at a door is not held up.
    pub fn wait_ms(&self, organization_id: &OrganizationId, device_id: &DeviceId, now_ms: i64) -> i64 {
        let mut devices = self.lock();
        let Some(spent) = devices.get_mut(&(organization_id.clone(), device_id.clone())) else { return 1 };
        if spent.left(now_ms) > 0 {
            return SOON_MS;
        }
        let oldest = spent.log.first();
        oldest.map_or(1, |(at, _)| at.saturating_add(WINDOW_MS).saturating_sub(now_ms).clamp(1, WINDOW_MS))
    }
    /// Begins an upload. None of the device's allowance is used until the upload is stored.
    pub fn spending(
        self: &Arc<Self>,
        organization_id: &OrganizationId,
        device_id: &DeviceId,
        now_ms: i64,
    ) -> Arc<Spending> {
        let key = (organization_id.clone(), device_id.clone());
        Arc::new(Spending { codes: Arc::clone(self), key, at_ms: now_ms, unknown: AtomicUsize::new(0) })
    }
    /// Counts unknown codes of a device.
    pub fn spend(&self, organization_id: &OrganizationId, device_id: &DeviceId, items: usize, now_ms: i64) {
        let items = u32::try_from(items).unwrap_or(u32::MAX);
        if items == 0 {
            return;
        }
        let mut devices = self.lock();
        let spent = Self::of(&mut devices, &(organization_id.clone(), device_id.clone()), now_ms);
        spent.left(now_ms);
        spent.log.push((now_ms, items));
    }
    /// The entry of a device. If the server remembers too many devices, it first drops those that used no code in the
    /// last 60 s.
    fn of<'a>(devices: &'a mut BTreeMap<Key, Spent>, key: &Key, now_ms: i64) -> &'a mut Spent {
        if devices.len() >= SWEEP_FROM {
            devices.retain(|_, spent| !spent.is_idle(now_ms));
        }
        devices.entry(key.clone()).or_default()
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

    fn spend(held: impl IntoIterator<Item = SetAside>) {
        held.into_iter().for_each(|mut one| one.found(true));
    }

    #[test]
    fn what_is_set_aside_goes_back_unless_it_was_spent_and_a_person_is_told_once_a_minute() {
        let codes = Arc::new(UnknownCodes::default());
        let (org, a) = (OrganizationId::new("o").unwrap(), DeviceId::new("a").unwrap());
        let all = UNKNOWN_CODES_PER_MINUTE;
        let mut held: Vec<SetAside> = (0..all).map(|_| codes.set_aside(&org, &a, 0).unwrap()).collect();
        assert!(codes.set_aside(&org, &a, 0).is_none(), "as many at once as one by one");
        assert_eq!(held.iter().filter(|one| one.tells).count(), 1);
        assert_eq!((codes.left(&org, &a, 0), codes.wait_ms(&org, &a, 0)), (all, SOON_MS), "none is spent yet");
        let last = held.pop().unwrap();
        assert!(last.tells);
        drop(last);
        spend(held);
        assert_eq!(codes.left(&org, &a, 0), 1, "its code was known");
        let last = codes.set_aside(&org, &a, 30_000).unwrap();
        assert!(last.tells, "nobody was told yet");
        spend([last]);
        let mut told = 0;
        for second in 60..89 {
            let one = codes.set_aside(&org, &a, second * 1_000);
            told += u32::from(one.as_ref().is_some_and(|one| one.tells));
            spend(one);
        }
        assert_eq!(told, 0, "29 came back, and the person was told half a minute ago");
        assert_eq!(codes.left(&org, &a, 89_999), 0);
        let again = codes.set_aside(&org, &a, 90_000).unwrap();
        assert!(again.tells, "it goes on");
    }
}
