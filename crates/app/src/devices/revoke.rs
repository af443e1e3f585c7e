//! Revokes a device (spec D10). Its key then only allows handing over its log. From `lost_since` on, its scans count
//! nothing until a person accepts them.

use std::collections::BTreeSet;

use admit_core::access::Action;
use admit_core::ids::{DeviceId, EventId};
use admit_core::limits::PAGE_MAX;
use admit_core::rule::{Change, DeviceBook, DeviceChange, Effective};
use admit_core::time::Timestamp;
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Hint, Pace, Scope, Topic, Tx, read, write};
use crate::records::{DeviceKeyRecord, DeviceRecord, DeviceState, Page};
use crate::rules::{Brought, announce, put};
use crate::seeded_ids::SeededIds;

/// Revokes a device. `lost_since` is the time at which the device was lost, absent if it was not lost. Its scans at or
/// after that time count nothing until a person accepts them. Revoking the device again changes only `lost_since`, if a
/// new time is given.
pub async fn revoke(
    app: &App,
    caller: &UserCaller,
    device_id: DeviceId,
    lost_since: Option<Timestamp>,
) -> Result<DeviceRecord> {
    caller.must(Action::ManageDevices)?;
    let now = app.clock.now();
    let seeded = app.seeded_ids();
    // 1. Find every event for which the device scanned, since its loss touches scans of all of them.
    let id = device_id.clone();
    let (home, events) = read(&*app.store, &caller.organization_id, move |tx| events_of(tx, &id)).await?;
    let scope = Scope { events: events.clone(), pace: Pace::Urgent, ..Scope::organization(&caller.organization_id) };
    let by = caller.clone();
    let touched = events.clone();
    let (device, brought) = write(&*app.store, scope, move |tx| {
        let mut seeded = seeded.clone();
        // 2. Store the device and its keys.
        let before = tx.device(&device_id)?.ok_or_else(|| Error::not_found("device"))?;
        let fresh_loss = lost_since.filter(|since| before.lost_since != Some(*since));
        if before.state == DeviceState::Revoked && fresh_loss.is_none() {
            return Ok((before, Vec::new()));
        }
        let after = DeviceRecord {
            state: DeviceState::Revoked,
            revoked_at: before.revoked_at.or(Some(now)),
            lost_since: lost_since.or(before.lost_since),
            ..before
        };
        tx.update_device(&after)?;
        for key in tx.device_keys(&device_id)?.into_iter().filter(|key| key.revoked_at.is_none()) {
            tx.update_device_key(&DeviceKeyRecord { revoked_at: Some(now), ..key })?;
        }
        // 3. In each event, store the rule and judge the scans it touches. Write one line in the event of the device.
        let mut brought = Vec::new();
        if let Some(since) = fresh_loss {
            for event_id in &touched {
                brought.push((event_id.clone(), lose(tx, event_id, &device_id, since, now, &mut seeded)?));
            }
        }
        tx.stamp(&home)?;
        let said = json!({ "lost_since": after.lost_since.map(|since| since.to_string()) });
        tx.append_audit(line::of(&by, Some(&home), "device_revoked", ("Device", device_id.as_str()), said))?;
        for event_id in touched.iter().filter(|event_id| fresh_loss.is_some() && **event_id != home) {
            let said = json!({ "lost_since": after.lost_since.map(|since| since.to_string()) });
            tx.append_audit(line::of(&by, Some(event_id), "device_lost", ("Device", device_id.as_str()), said))?;
        }
        Ok((after, brought))
    })
    .await?;
    for (event_id, brought) in &brought {
        announce(app, &caller.organization_id, event_id, brought);
    }
    // A revoked device must stop letting people in at once. It learns of the revocation through the long poll it has
    // open, and only new rules end such a poll.
    for event_id in events {
        let organization_id = caller.organization_id.clone();
        app.hints.hint(Hint { organization_id, event_id, serial: None, topic: Topic::Rules });
    }
    Ok(device)
}

/// The event to which the device is assigned now, and all events that hold scans of this device.
pub(super) fn events_of(tx: &mut dyn Tx, device_id: &DeviceId) -> Result<(EventId, Vec<EventId>)> {
    let device = tx.device(device_id)?.ok_or_else(|| Error::not_found("device"))?;
    let mut events = BTreeSet::from([device.event_id.clone()]);
    let mut page = Page { limit: PAGE_MAX, cursor: None };
    loop {
        let listed = tx.events(&page)?;
        for event in listed.items {
            if !tx.subjects_of_device(&event.event_id, device_id)?.is_empty() {
                events.insert(event.event_id);
            }
        }
        page.cursor = listed.next_cursor;
        if page.cursor.is_none() {
            return Ok((device.event_id, events.into_iter().collect()));
        }
    }
}

/// Marks the device as found. Scans that it makes from now on count. Scans of the time when it was lost still wait for
/// a person.
pub(super) fn find_again(
    tx: &mut dyn Tx,
    event_id: &EventId,
    device_id: &DeviceId,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Brought> {
    let stamp = tx.stamp(event_id)?;
    let subjects: BTreeSet<String> = tx.subjects_of_device(event_id, device_id)?.into_iter().collect();
    let change = Change::Device(device_id.clone(), DeviceChange::LostSince(None));
    put(tx, event_id, stamp, vec![(Effective::At(stamp.effective_at), change)], &subjects, now, seeded)
}

fn lose(
    tx: &mut dyn Tx,
    event_id: &EventId,
    device_id: &DeviceId,
    since: Timestamp,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Brought> {
    let stamp = tx.stamp(event_id)?;
    let subjects: BTreeSet<String> = tx.subjects_of_device(event_id, device_id)?.into_iter().collect();
    // The device was lost again after it was found. Scans of its first absence still wait.
    let found = tx.load_rules(event_id, &[])?.book.device(device_id).and_then(DeviceBook::found_at);
    let effective = found.map_or(Effective::Start, |found| Effective::At(found.min(since)));
    let change = Change::Device(device_id.clone(), DeviceChange::LostSince(Some(since)));
    put(tx, event_id, stamp, vec![(effective, change)], &subjects, now, seeded)
}
