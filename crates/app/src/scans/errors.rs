//! The scans of an upload that S2 would not have inserted, by the reducer's verdict on each (spec §5 `errors`).

use std::collections::BTreeMap;

use admit_core::decide::Reason;
use admit_core::ids::{DeviceId, ScanId};
use admit_core::incident::Subject;
use admit_core::reduce::{Reduced, ScanVerdict};
use admit_core::scan::{Outcome, ScanKind};
use admit_core::time::Timestamp;

use super::intake::Taken;

/// S2's reason of a scan that let nobody in because everybody was in.
pub(super) const AGAIN: &str = "already_scanned";

/// The verdicts on scans of whatever a batch touched, by author and id.
pub(super) struct Errors<'a>(BTreeMap<(&'a DeviceId, &'a ScanId), (&'a str, &'a Reduced, usize)>);

impl<'a> Errors<'a> {
    pub fn of(taken: &'a [Taken]) -> Self {
        let mut verdicts = BTreeMap::new();
        for (key, reduced) in taken.iter().flat_map(|taken| &taken.rejudged.reduced) {
            for (place, verdict) in reduced.verdicts.iter().enumerate() {
                verdicts.insert((&verdict.device_id, &verdict.scan_id), (key.as_str(), reduced, place));
            }
        }
        Self(verdicts)
    }
    /// The reason, and of one that came again when the ticket last let somebody in; `None` for a scan without fault.
    pub fn of_scan(&self, device_id: &DeviceId, scan_id: &ScanId) -> Option<(&'static str, Option<Timestamp>)> {
        let (key, reduced, place) = *self.0.get(&(device_id, scan_id))?;
        error_of(key, reduced, place)
    }
}

/// `ticket_not_found` iff the code is unknown; `already_scanned` iff the fold gives an entry no person within; else the
/// status that forbids (spec §5). Gate and window findings are incidents, not errors; so is whatever else an exit, or a
/// scan that waits for review, has to tell.
fn error_of(key: &str, reduced: &Reduced, place: usize) -> Option<(&'static str, Option<Timestamp>)> {
    let verdict = &reduced.verdicts[place];
    if matches!(Subject::from_key(key), Some(Subject::Unknown(_))) {
        return Some(("ticket_not_found", None));
    }
    if verdict.left_out.is_none() && verdict.kind == ScanKind::Entry && verdict.within == 0 {
        let counts = |one: &&ScanVerdict| one.within > 0;
        let before = reduced.verdicts[..place].iter().rev().find(counts);
        let last = before.or_else(|| reduced.verdicts.iter().find(counts));
        return Some((AGAIN, last.map(|one| one.at)));
    }
    match (verdict.outcome, verdict.reason) {
        (Outcome::Invalid, Some(reason)) if reason != Reason::UnknownCode => Some((reason.as_str(), None)),
        _ => None,
    }
}
