//! Practice scans of the hours before doors open: lists them, and counts those that were real (decision 034).

use std::collections::BTreeSet;

use admit_core::ids::{EventId, UserId};
use admit_core::reduce::LeftOut;
use admit_core::review::{Decision, Review};
use admit_core::time::Timestamp;

use crate::error::Result;
use crate::ports::{ScanFilter, Tx};
use crate::records::{Page, ScanRow, Stamp};

/// How long ago a practice scan may have arrived to count as recent, in milliseconds. Admit assumes that nobody whom an
/// older practice scan let in is still inside.
const RECENT_MS: i64 = 12 * 3_600_000;
/// Most scans that are read. A draft event has fewer.
const MOST: usize = 20_000;
const PAGE: usize = 500;

/// Practice scans that arrived within the last 12 hours and that nobody decided about, newest first.
pub fn recent(tx: &mut dyn Tx, event_id: &EventId, now: Timestamp) -> Result<Vec<ScanRow>> {
    let since = now.plus_ms(-RECENT_MS);
    let (mut found, mut looked_at) = (Vec::new(), 0);
    let mut page = Page { limit: PAGE, cursor: None };
    loop {
        let listed = tx.scans(event_id, &ScanFilter::default(), &page)?;
        looked_at += listed.items.len();
        let old = listed.items.iter().any(|one| one.fact.received_at < since);
        found.extend(listed.items.into_iter().filter(|one| one.fact.received_at >= since && is_undecided(one)));
        match listed.next_cursor {
            Some(cursor) if !old && looked_at < MOST => page.cursor = Some(cursor),
            _ => return Ok(found),
        }
    }
}

fn is_undecided(one: &ScanRow) -> bool {
    one.fact.scan.practice && one.verdict.as_ref().is_some_and(|verdict| verdict.left_out == Some(LeftOut::Practice))
}

/// Accepts recent practice scans whose authorship is proven. Returns the subjects of these scans, which must be judged
/// again.
pub fn accept(
    tx: &mut dyn Tx,
    event_id: &EventId,
    by: &UserId,
    stamp: Stamp,
    now: Timestamp,
) -> Result<BTreeSet<String>> {
    let mut rows = recent(tx, event_id, now)?;
    rows.retain(|one| one.fact.proven());
    let accepted = |one: &ScanRow| Review {
        serial: stamp.serial,
        device_id: one.fact.scan.device_id.clone(),
        scan_id: one.fact.scan.scan_id.clone(),
        digest: one.fact.digest,
        decision: Decision::Accept,
    };
    let reviews: Vec<Review> = rows.iter().map(accepted).collect();
    tx.insert_reviews(event_id, by, "", now, &reviews)?;
    Ok(rows.into_iter().map(|one| one.subject_key).collect())
}
