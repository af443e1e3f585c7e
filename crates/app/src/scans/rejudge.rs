//! Judges stored subjects again, after a change of rules or reviews: loads them, plans, and stores the difference.

use std::collections::BTreeSet;

use admit_core::ids::EventId;
use admit_core::time::Timestamp;

use super::settle::WriteContext;
pub use super::subjects::{Rejudged, reduce_stored, state_record, verdict_of};
use super::subjects::{Subjects, Touched, plan};
use super::walk_ins::Names;
use crate::error::Result;
use crate::ports::Tx;
use crate::records::Stamp;
use crate::seeded_ids::SeededIds;

/// Judges `subjects` again and writes the difference at `stamp`.
pub fn rejudge(
    tx: &mut dyn Tx,
    event_id: &EventId,
    subjects: &BTreeSet<String>,
    stamp: Stamp,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Rejudged> {
    rejudge_by(tx, subjects, &WriteContext { event_id, stamp, now }, seeded, false)
}

/// Like [`rejudge`]. With `anew` it also writes rows that are stored already and did not change, since a rebuild
/// deletes all older derived rows.
pub(super) fn rejudge_by(
    tx: &mut dyn Tx,
    subjects: &BTreeSet<String>,
    context: &WriteContext<'_>,
    seeded: &mut SeededIds,
    anew: bool,
) -> Result<Rejudged> {
    let touched = Touched::stored(subjects);
    let loaded = Subjects::load(tx, context.event_id, &touched)?;
    let (rejudged, changes) = plan(loaded, touched, &Names::new(), context, seeded, anew)?;
    changes.store(tx, context.event_id, context.stamp)?;
    Ok(rejudged)
}
