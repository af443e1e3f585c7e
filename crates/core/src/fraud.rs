//! Finds the suspicious patterns of S2 §7–§8 and turns them into causes of incidents. The functions look at deliveries,
//! since the patterns are about how scans arrived. No pattern refuses a scan. Each asks a person to look.

use crate::ids::{BatchId, DeviceId};
use crate::incident::{Cause, CauseSubject, IncidentKind};
use crate::limits;
use crate::time::Timestamp;

/// A batch as it arrived at the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// The device that sent the batch.
    pub device_id: &'a DeviceId,
    /// The id of the batch.
    pub batch_id: &'a BatchId,
    /// Number of scans in the batch, with malformed ones.
    pub size: usize,
    /// Number of scans in the batch that failed.
    pub errors: usize,
    /// Canonical time of the newest scan that no earlier batch had brought. `None` if the batch brought nothing new.
    pub newest: Option<Timestamp>,
    /// When the server received the batch.
    pub received_at: Timestamp,
    /// The new scans of the device lately, first without this batch and then with it. Absent for S2's form, whose
    /// batches are large by design.
    pub arrivals: Option<(Arrivals, Arrivals)>,
}

/// The new scans of a device within [`limits::ARRIVALS_MS`]. Admit's scanner sends scans one by one, or a backlog by
/// the thousand. So one of its batches says less than one of S2's form, which may have 10,000 scans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// When the first new scan came. Absent if there are none.
    pub since: Option<Timestamp>,
    /// Number of new scans.
    pub scans: u64,
    /// Number of new scans that failed.
    pub failed: u64,
}

impl Arrivals {
    /// The arrivals that still count at a moment. [`limits::ARRIVALS_MS`] after the first of them, they begin at zero
    /// again.
    pub fn at(self, now: Timestamp) -> Self {
        self.since.filter(|since| now.since(*since) < limits::ARRIVALS_MS).map_or_else(Self::default, |_| self)
    }
    /// These arrivals and the scans that came now.
    pub fn with(self, scans: u64, failed: u64, now: Timestamp) -> Self {
        let since = self.since.or(Some(now).filter(|_| scans > 0));
        Self { since, scans: self.scans.saturating_add(scans), failed: self.failed.saturating_add(failed) }
    }
    fn fail(&self) -> bool {
        self.scans >= limits::ARRIVALS_JUDGED && self.failed.saturating_mul(2) > self.scans
    }
    fn are_too_many(&self) -> bool {
        self.scans >= limits::ABNORMAL_BATCH_SCANS as u64
    }
}

/// The suspicious properties of a batch: more than half of it failed, its newest scan was over 8 h old, or its size is
/// abnormal. The share of failures and the size are also tested for the sum of the device's recent arrivals.
///
/// Two further causes are made elsewhere. [`crate::reduce`] makes a cause about a ticket if a scan's time is after its
/// arrival at the server (S2 §8). The server makes a cause about a device after five failed syncs in a row.
pub fn batch_causes(delivery: &Delivery<'_>) -> Vec<Cause> {
    let late = delivery.newest.is_some_and(|newest| delivery.received_at.since(newest) > limits::DELAYED_BATCH_MS);
    // The sum is reported only with the batch that makes it suspicious, and with no later one.
    let began = |holds: fn(&Arrivals) -> bool| {
        delivery.arrivals.is_some_and(|(before, after)| holds(&after) && !holds(&before))
    };
    let failed = delivery.errors.saturating_mul(2) > delivery.size;
    let found = [
        (IncidentKind::HighErrorRate, failed || began(Arrivals::fail)),
        (IncidentKind::DelayedBatch, late),
        (IncidentKind::AbnormalBatch, delivery.size >= limits::ABNORMAL_BATCH_SCANS || began(Arrivals::are_too_many)),
    ];
    let subject = || CauseSubject::Batch(delivery.device_id.clone(), delivery.batch_id.clone());
    found.into_iter().filter(|(_, holds)| *holds).map(|(kind, _)| plain(kind, subject())).collect()
}

/// A cause that names its subject, and no scans.
fn plain(kind: IncidentKind, subject: CauseSubject) -> Cause {
    Cause { kind, subject, scans: Vec::new(), order_uncertain: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(size: usize, errors: usize, age_ms: Option<i64>) -> Vec<&'static str> {
        let (device_id, batch_id) = (DeviceId::new("d").unwrap(), BatchId::new("b").unwrap());
        let received_at = Timestamp::clamped(1_780_855_200_000);
        let newest = age_ms.map(|age| received_at.plus_ms(-age));
        let delivery =
            Delivery { device_id: &device_id, batch_id: &batch_id, size, errors, newest, received_at, arrivals: None };
        batch_causes(&delivery).iter().map(|cause| cause.kind.as_str()).collect()
    }

    /// S2 §7.1, §8.1: the condition is `error_count > batch_size * 0.5`.
    #[test]
    fn s2_7_1_more_than_half_in_error_is_flagged_and_half_is_not() {
        assert_eq!(kinds(4, 2, Some(0)), [""; 0]);
        assert_eq!(kinds(4, 3, Some(0)), ["high_error_rate"]);
        assert_eq!(kinds(1, 1, None), ["high_error_rate"]);
        assert_eq!(kinds(0, 0, None), [""; 0]);
    }

    /// S2 §7.2, §8.2: the limit is 28,800 s.
    #[test]
    fn s2_7_2_a_newest_scan_over_eight_hours_old_is_flagged() {
        assert_eq!(kinds(1, 0, Some(28_800_000)), [""; 0]);
        assert_eq!(kinds(1, 0, Some(28_800_001)), ["delayed_batch"]);
        assert_eq!(kinds(1, 0, None), [""; 0], "nothing new came with it");
    }

    fn arriving(before: Arrivals, after: Arrivals) -> Vec<&'static str> {
        let (device_id, batch_id) = (DeviceId::new("d").unwrap(), BatchId::new("b").unwrap());
        let (received_at, arrivals) = (Timestamp::clamped(1_780_855_200_000), Some((before, after)));
        let delivery = Delivery {
            device_id: &device_id,
            batch_id: &batch_id,
            size: 1,
            errors: 0,
            newest: Some(received_at),
            received_at,
            arrivals,
        };
        batch_causes(&delivery).iter().map(|cause| cause.kind.as_str()).collect()
    }

    /// S2 §7 for forms with small batches. A device's scans of an hour are added up, and the first batch over the limit
    /// is flagged.
    #[test]
    fn s2_7_small_batches_are_added_up_and_flagged_once() {
        let now = Timestamp::clamped(1_780_855_200_000);
        let of = |scans: u64, failed: u64| Arrivals { since: Some(now), scans, failed };
        assert_eq!(arriving(of(18, 18), of(19, 19)), [""; 0], "too few to say anything");
        assert_eq!(arriving(of(19, 10), of(20, 11)), ["high_error_rate"]);
        assert_eq!(arriving(of(20, 11), of(21, 12)), [""; 0], "said already");
        assert_eq!(arriving(of(19, 10), of(20, 10)), [""; 0], "half is not more than half");
        assert_eq!(arriving(of(4_999, 0), of(5_000, 0)), ["abnormal_batch"]);
        assert_eq!(arriving(of(5_000, 0), of(6_000, 0)), [""; 0]);
    }

    #[test]
    fn what_arrived_begins_anew_after_its_hour() {
        let now = Timestamp::clamped(1_780_855_200_000);
        let first = Arrivals::default().at(now).with(0, 0, now);
        assert_eq!(first, Arrivals::default(), "nothing came");
        let some = first.with(3, 1, now).at(now.plus_ms(3_599_999)).with(2, 1, now.plus_ms(3_599_999));
        assert_eq!(some, Arrivals { since: Some(now), scans: 5, failed: 2 });
        assert_eq!(some.at(now.plus_ms(3_600_000)), Arrivals::default());
    }

    /// S2 §7.3: the limit is 5,000 scans.
    #[test]
    fn s2_7_3_five_thousand_scans_are_an_abnormal_batch() {
        assert_eq!(kinds(4_999, 0, Some(0)), [""; 0]);
        assert_eq!(kinds(5_000, 0, Some(0)), ["abnormal_batch"]);
    }
}
