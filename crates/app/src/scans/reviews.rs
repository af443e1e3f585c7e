//! Decisions about scans: which of them hold, and how they are taken back.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::ids::{EventId, UserId};
use admit_core::incident::IncidentKind;
use admit_core::review::{Decision, Review};
use admit_core::time::Timestamp;

use super::rejudge::{Rejudged, rejudge};
use crate::error::Result;
use crate::ports::Tx;
use crate::records::{DecisionRecord, IncidentRecord, IncidentStatus, Resolution, Stamp};
use crate::seeded_ids::SeededIds;

/// A user's statement about scans, with its reason and time.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    /// The user who makes it.
    pub by: &'a UserId,
    /// The note that this user wrote.
    pub note: &'a str,
    /// When the user made it.
    pub at: Timestamp,
}

/// The decisions about scans of these subjects that hold now, oldest first. Of several decisions about one content only
/// the last one can hold. If it is a `restore`, no decision about the content holds.
pub fn in_force(tx: &mut dyn Tx, event_id: &EventId, subjects: &[String]) -> Result<Vec<DecisionRecord>> {
    let mut last = BTreeMap::new();
    for one in tx.decisions(event_id, subjects)? {
        // They come in the event's order, so a later decision replaces an earlier one.
        last.insert((one.subject_key.clone(), one.review.content()), one);
    }
    let mut held: Vec<DecisionRecord> = last.into_values().collect();
    held.retain(|one| one.review.decision != Decision::Restore);
    held.sort_by_key(|one| one.review.serial);
    Ok(held)
}

/// Takes these decisions back, each by a `restore`, and judges `subjects`, which the decided scans are about. Also
/// deletes the answers that these decisions gave to incidents, so that an incident whose cause holds again is open. The
/// notes of these answers stay.
pub fn take_back(
    tx: &mut dyn Tx,
    event_id: &EventId,
    said: &Said<'_>,
    decided: &[DecisionRecord],
    subjects: &BTreeSet<String>,
    stamp: Stamp,
    seeded: &mut SeededIds,
) -> Result<Rejudged> {
    let contents: BTreeSet<_> = decided.iter().map(|one| one.review.content()).collect();
    let restore = |(device_id, scan_id, digest)| Review {
        serial: stamp.serial,
        device_id,
        scan_id,
        digest,
        decision: Decision::Restore,
    };
    let reviews: Vec<Review> = contents.into_iter().map(restore).collect();
    tx.insert_reviews(event_id, said.by, said.note, said.at, &reviews)?;
    let keys: Vec<String> = subjects.iter().cloned().collect();
    let decides = |said: &Resolution| said.decision.parse().is_ok_and(|word: Decision| word != Decision::Restore);
    let answered: Vec<IncidentRecord> = tx
        .incidents_of(event_id, &keys)?
        .into_iter()
        .filter(|one| one.resolved_digest.is_some() && one.resolution.as_ref().is_some_and(decides))
        .map(|one| IncidentRecord { resolved_digest: None, serial: stamp.serial, ..one })
        .collect();
    tx.put_incidents(&answered)?;
    rejudge(tx, event_id, subjects, stamp, said.at, seeded)
}

/// Notes, on each incident that this write cleared by accepting waiting scans, who accepted them. So lists show the
/// incident among the decided ones.
pub fn note_accepted(
    tx: &mut dyn Tx,
    event_id: &EventId,
    by: &UserId,
    subjects: &BTreeSet<String>,
    stamp: Stamp,
    now: Timestamp,
) -> Result<()> {
    let keys: Vec<String> = subjects.iter().cloned().collect();
    let resolution = || Resolution {
        user_id: by.clone(),
        decision: Decision::Accept.as_str().to_owned(),
        note: String::new(),
        at: now,
    };
    let cleared = |one: &IncidentRecord| {
        one.kind == IncidentKind::UnverifiedScan && one.status == IncidentStatus::Cleared && one.serial == stamp.serial
    };
    let noted: Vec<IncidentRecord> = tx
        .incidents_of(event_id, &keys)?
        .into_iter()
        .filter(cleared)
        .map(|one| IncidentRecord { resolution: Some(resolution()), ..one })
        .collect();
    tx.put_incidents(&noted)
}
