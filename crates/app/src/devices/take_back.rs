//! Takes back, in one act, what one act counted: every accepted scan of a device waits for a person again.

use std::collections::BTreeSet;

use admit_core::access::Action;
use admit_core::ids::DeviceId;
use admit_core::review::Decision;
use serde_json::json;

use super::accept::tell;
use super::revoke::events_of;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Pace, Scope, read, write};
use crate::rules::Brought;
use crate::scans::reviews::{Said, in_force, take_back as take_back_in};

/// Takes back every `accept` of this device's scans that is in force, in every event for which it scanned. It does not
/// matter who accepted, or by which act. Excluded scans stay excluded. Returns how many scans it took back. If none is
/// accepted, nothing changes.
pub async fn take_back(app: &App, caller: &UserCaller, device_id: DeviceId) -> Result<usize> {
    caller.must(Action::Review)?;
    let (now, seeded, id) = (app.clock.now(), app.seeded_ids(), device_id.clone());
    let (_, events) = read(&*app.store, &caller.organization_id, move |tx| events_of(tx, &id)).await?;
    let scope = Scope { events: events.clone(), pace: Pace::Urgent, ..Scope::organization(&caller.organization_id) };
    let by = caller.clone();
    let (count, brought) = write(&*app.store, scope, move |tx| {
        tx.device(&device_id)?.ok_or_else(|| Error::not_found("device"))?;
        let (mut seeded, mut count, mut all) = (seeded.clone(), 0, Vec::new());
        let said = Said { by: &by.user_id, note: "", at: now };
        for event_id in &events {
            // 1. Find the accepted scans of the device.
            let keys = tx.subjects_of_device(event_id, &device_id)?;
            let mut decided = in_force(tx, event_id, &keys)?;
            decided.retain(|one| one.review.device_id == device_id && one.review.decision == Decision::Accept);
            if decided.is_empty() {
                continue;
            }
            // 2. Let them wait again, judge their subjects, and write one line.
            let stamp = tx.stamp(event_id)?;
            let subjects: BTreeSet<String> = decided.iter().map(|one| one.subject_key.clone()).collect();
            let rejudged = take_back_in(tx, event_id, &said, &decided, &subjects, stamp, &mut seeded)?;
            let contents: BTreeSet<_> = decided.iter().map(|one| one.review.content()).collect();
            count += contents.len();
            let changes = json!({ "waiting": contents.len() });
            let entity = ("Device", device_id.as_str());
            tx.append_audit(line::of(&by, Some(event_id), "scans_taken_back", entity, changes))?;
            all.push((event_id.clone(), Brought::of(stamp, &rejudged)));
        }
        Ok((count, all))
    })
    .await?;
    tell(app, caller, brought);
    Ok(count)
}
