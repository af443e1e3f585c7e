//! Suspicious patterns of S2 §7–§8 as causes of incidents. Functions of deliveries, not of the fold: they speak of how
//! scans arrived. None refuses anything; each puts something before a person.

use crate::ids::{BatchId, DeviceId};
use crate::incident::{Cause, CauseSubject, IncidentKind};
use crate::limits;
use crate::time::Timestamp;

/// What a batch was like when it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// Who carried it.
    pub device_id: &'a DeviceId,
    /// Its id.
    pub batch_id: &'a BatchId,
    /// Scans in it, malformed ones included.
    pub size: usize,
    /// Those of them that failed.
    pub errors: usize,
    /// Canonical time of the newest scan it was first to bring; `None` where it brought nothing new.
    pub newest: Option<Timestamp>,
    /// When it came.
    pub received_at: Timestamp,
}

/// What is suspicious of a batch: more than half of it failed, its newest scan was over 8 h old, its size is abnormal.
/// (A scan's time after its receipt, S2 §8's third, is a cause of
/// the scan's own ticket: see [`crate::reduce`]; five failures in a row are a cause of the device.)
pub fn batch_causes(delivery: &Delivery<'_>) -> Vec<Cause> {
    let late = delivery.newest.is_some_and(|newest| delivery.received_at.since(newest) > limits::DELAYED_BATCH_MS);
    let found = [
        (IncidentKind::HighErrorRate, delivery.errors.saturating_mul(2) > delivery.size),
        (IncidentKind::DelayedBatch, late),
        (IncidentKind::AbnormalBatch, delivery.size >= limits::ABNORMAL_BATCH_SCANS),
    ];
    let subject = || CauseSubject::Batch(delivery.device_id.clone(), delivery.batch_id.clone());
    found.into_iter().filter(|(_, holds)| *holds).map(|(kind, _)| plain(kind, subject())).collect()
}

/// A cause that names its subject and no scans.
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
        let delivery = Delivery { device_id: &device_id, batch_id: &batch_id, size, errors, newest, received_at };
        batch_causes(&delivery).iter().map(|cause| cause.kind.as_str()).collect()
    }

    /// S2 §7.1, §8.1: `error_count > batch_size * 0.5`.
    #[test]
    fn s2_7_1_more_than_half_in_error_is_flagged_and_half_is_not() {
        assert_eq!(kinds(4, 2, Some(0)), [""; 0]);
        assert_eq!(kinds(4, 3, Some(0)), ["high_error_rate"]);
        assert_eq!(kinds(1, 1, None), ["high_error_rate"]);
        assert_eq!(kinds(0, 0, None), [""; 0]);
    }

    /// S2 §7.2, §8.2: over 28,800 s.
    #[test]
    fn s2_7_2_a_newest_scan_over_eight_hours_old_is_flagged() {
        assert_eq!(kinds(1, 0, Some(28_800_000)), [""; 0]);
        assert_eq!(kinds(1, 0, Some(28_800_001)), ["delayed_batch"]);
        assert_eq!(kinds(1, 0, None), [""; 0], "nothing new came with it");
    }

    /// S2 §7.3: 5,000 scans and more.
    #[test]
    fn s2_7_3_five_thousand_scans_are_an_abnormal_batch() {
        assert_eq!(kinds(4_999, 0, Some(0)), [""; 0]);
        assert_eq!(kinds(5_000, 0, Some(0)), ["abnormal_batch"]);
    }
}
