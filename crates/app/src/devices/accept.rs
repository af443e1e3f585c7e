//! Accepts, in one act, every waiting scan of a device whose author is proven, so that these scans count (spec D10,
//! D19). These are scans received while the device was revoked or suspended, and scans at or after `lost_since`. Scans
//! that no known key signed stay in the review queue, where a person decides about each.

use std::collections::BTreeSet;

use admit_core::access::Action;
use admit_core::ids::{DeviceId, EventId, ScanId};
use admit_core::review::{Decision, Review};
use admit_core::scan::{Digest, SignatureState};
use admit_core::time::Timestamp;
use serde_json::json;

use super::revoke::events_of;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Hint, Pace, Scope, Topic, Tx, read, write};
use crate::records::WaitingScan;
use crate::rules::{Brought, announce};
use crate::scans::rejudge::rejudge;
use crate::scans::reviews::note_accepted;
use crate::seeded_ids::SeededIds;

/// The result of accepting a device's waiting scans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Number of scans that count now.
    pub counted: usize,
    /// Number of scans that still wait, because nothing proves that the device made them.
    pub waiting: usize,
}

/// Accepts the waiting scans of a device whose author is proven, in every event for which it scanned. If no scan waits,
/// nothing changes.
pub async fn accept(app: &App, caller: &UserCaller, device_id: DeviceId) -> Result<Accepted> {
    caller.must(Action::Review)?;
    let (now, seeded, id) = (app.clock.now(), app.seeded_ids(), device_id.clone());
    let (_, events) = read(&*app.store, &caller.organization_id, move |tx| events_of(tx, &id)).await?;
    let scope = Scope { events: events.clone(), pace: Pace::Urgent, ..Scope::organization(&caller.organization_id) };
    let by = caller.clone();
    let (accepted, brought) = write(&*app.store, scope, move |tx| {
        tx.device(&device_id)?.ok_or_else(|| Error::not_found("device"))?;
        let (mut seeded, mut accepted, mut all) = (seeded.clone(), Accepted::default(), Vec::new());
        for event_id in &events {
            let one = accept_in(tx, &by, event_id, &device_id, None, now, &mut seeded)?;
            accepted.counted += one.accepted.counted;
            accepted.waiting += one.accepted.waiting;
            if let Some(brought) = one.brought {
                say(tx, &by, event_id, &device_id, one.accepted.counted)?;
                all.push((event_id.clone(), brought));
            }
        }
        Ok((accepted, all))
    })
    .await?;
    tell(app, caller, brought);
    Ok(accepted)
}

/// Wakes the clients that watch these events. Call it after the commit.
pub(crate) fn tell(app: &App, caller: &UserCaller, brought: Vec<(EventId, Brought)>) {
    for (event_id, brought) in brought {
        announce(app, &caller.organization_id, &event_id, &brought);
        let organization_id = caller.organization_id.clone();
        app.hints.hint(Hint { organization_id, event_id, serial: None, topic: Topic::Devices });
    }
}

pub(crate) fn say(
    tx: &mut dyn Tx,
    by: &UserCaller,
    event_id: &EventId,
    device_id: &DeviceId,
    counted: usize,
) -> Result<()> {
    let said = json!({ "counted": counted });
    tx.append_audit(line::of(by, Some(event_id), "scans_accepted", ("Device", device_id.as_str()), said))
}

/// The result of accepting a device's waiting scans in one event. `brought` holds the changes that the caller announces
/// after the commit. It is present if any scan was accepted. The caller adds the ledger's line.
pub(crate) struct AcceptedIn {
    pub accepted: Accepted,
    pub brought: Option<Brought>,
}

/// The contents of a device under these scan ids whose authorship some delivery proved.
pub(crate) fn proven_among(
    tx: &mut dyn Tx,
    event_id: &EventId,
    device_id: &DeviceId,
    scan_ids: &[ScanId],
) -> Result<BTreeSet<(ScanId, Digest)>> {
    let stored = tx.stored_ids(event_id, scan_ids)?.into_iter();
    let proven = stored
        .filter(|one| one.known.device_id == *device_id && one.signature != SignatureState::Unverified)
        .map(|one| (one.known.scan_id, one.known.digest));
    Ok(proven.collect())
}

/// Accepts a device's waiting scans of one event. If `among` is given, only the scans in `among` are accepted.
pub(crate) fn accept_in(
    tx: &mut dyn Tx,
    by: &UserCaller,
    event_id: &EventId,
    device_id: &DeviceId,
    among: Option<&BTreeSet<(ScanId, Digest)>>,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<AcceptedIn> {
    let mut waiting = tx.waiting_scans(event_id, device_id)?;
    waiting.retain(|one| among.is_none_or(|among| among.contains(&(one.scan_id.clone(), one.digest))));
    let ids: Vec<ScanId> = waiting.iter().map(|one| one.scan_id.clone()).collect();
    let proven = proven_among(tx, event_id, device_id, &ids)?;
    let before = waiting.len();
    waiting.retain(|one| proven.contains(&(one.scan_id.clone(), one.digest)));
    let accepted = Accepted { counted: waiting.len(), waiting: before - waiting.len() };
    if waiting.is_empty() {
        return Ok(AcceptedIn { accepted, brought: None });
    }
    let stamp = tx.stamp(event_id)?;
    let subjects: BTreeSet<String> = waiting.iter().map(|one| one.subject_key.clone()).collect();
    let review = |one: WaitingScan| Review {
        serial: stamp.serial,
        device_id: device_id.clone(),
        scan_id: one.scan_id,
        digest: one.digest,
        decision: Decision::Accept,
    };
    let reviews: Vec<Review> = waiting.into_iter().map(review).collect();
    tx.insert_reviews(event_id, &by.user_id, "", now, &reviews)?;
    let rejudged = rejudge(tx, event_id, &subjects, stamp, now, seeded)?;
    note_accepted(tx, event_id, &by.user_id, &subjects, stamp, now)?;
    Ok(AcceptedIn { accepted, brought: Some(Brought::of(stamp, &rejudged)) })
}
