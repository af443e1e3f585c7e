//! Finds the scans of an upload that S2 would have refused with an error. The server stores them all the same, and
//! finds the error by the reducer's verdict on each (spec §5 `errors`).

use std::collections::BTreeMap;

use admit_core::decide::Reason;
use admit_core::ids::{DeviceId, ScanId};
use admit_core::incident::Subject;
use admit_core::reduce::{Reduced, ScanVerdict};
use admit_core::scan::{Outcome, ScanKind};
use admit_core::time::Timestamp;

use super::intake::Taken;

/// S2's reason for a scan that let nobody in because all persons of the ticket had come in before.
pub(super) const AGAIN: &str = "already_scanned";

/// The verdicts on all scans of the subjects that a batch touched, by author and scan id.
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
    /// The error of a scan. For `already_scanned` it also says when the ticket last let somebody in. `None` if the scan
    /// has no error.
    pub fn of_scan(&self, device_id: &DeviceId, scan_id: &ScanId) -> Option<(&'static str, Option<Timestamp>)> {
        let (key, reduced, place) = *self.0.get(&(device_id, scan_id))?;
        error_of(key, reduced, place)
    }
}

/// The error of a scan by spec §5. It is `ticket_not_found` if the code is unknown. It is `already_scanned` if the
/// reducer counts no person of an entry within the limit. Otherwise it is the status that forbids entry, such as that
/// of a voided ticket. Findings about gates and windows are incidents, and no errors. So are all other findings about
/// exits, and about scans that wait for review.
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
