//! Changes an event. For each changed field the server stores a rule, and judges again the scans that this rule may
//! affect.

use std::collections::BTreeSet;

use admit_core::access::Action;
use admit_core::event::{BarcodeKind, EventStatus, ReEntry, StaffPin, ZoneLimits};
use admit_core::ids::EventId;
use admit_core::limits::PLAUSIBLE_MARGIN_MS;
use admit_core::rule::{Change, Effective, EventChange, When};
use admit_core::time::Timestamp;
use serde_json::{Map, Value, json};

use super::days::days;
use super::door;
use super::find;
use super::pin::staff_pin;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::passes;
use crate::ports::{App, Scope, Tx, write};
use crate::records::{AtDoor, ClockTime, EventRecord, Stamp};
use crate::rules::{all_subjects, announce, put};
use crate::scans::practice;

/// The fields to change. `None` leaves a field unchanged.
#[derive(Debug, Clone, Default)]
pub struct EventPatch {
    /// The new name; absent: unchanged.
    pub name: Option<String>,
    /// The new place; absent: unchanged.
    pub venue: Option<String>,
    /// The new IANA time zone; absent: unchanged.
    pub time_zone: Option<String>,
    /// The new start; absent: unchanged.
    pub starts_at: Option<Timestamp>,
    /// The new end; absent: unchanged.
    pub ends_at: Option<Timestamp>,
    /// The new status; absent: unchanged.
    pub status: Option<EventStatus>,
    /// The new re-entry mode; absent: unchanged.
    pub re_entry: Option<ReEntry>,
    /// Seconds that must pass before re-entry in the mode `after_gap`; absent: unchanged.
    pub min_gap_seconds: Option<u32>,
    /// When the event's days begin, on the clocks of its zone; absent: unchanged.
    pub day_starts_at: Option<ClockTime>,
    /// The new staff PIN, 4–8 digits; absent: unchanged. With `Some(None)` the PIN is removed.
    pub staff_pin: Option<Option<String>>,
    /// Persons expected at the same time; absent: unchanged. `Some(None)` means no limit.
    pub capacity: Option<Option<u32>>,
    /// Persons whom staff may add at the doors altogether; absent: unchanged. `Some(None)` means no limit.
    pub walk_ins: Option<Option<u32>>,
    /// Names of the guest fields that a verdict shows; absent: unchanged.
    pub verdict_fields: Option<Vec<String>>,
    /// Kinds of codes that cameras read in addition to QR; absent: unchanged.
    pub barcode_kinds: Option<Vec<BarcodeKind>>,
    /// Days after the event's end when guests' personal data is erased; absent: unchanged. `Some(None)` means never.
    pub retention_days: Option<Option<u32>>,
    /// Whether the practice scans of the last 12 hours were real and count from now on. Only for a draft that goes
    /// live.
    pub count_practice: bool,
}

/// Changes an event. Most changes hold from this write on. Going live also holds for the time before it. Start and end
/// always hold for all scans (spec §3). Fails with `status_order` if the event cannot go from its status to the new
/// one. A patch that changes nothing writes nothing.
pub async fn update(app: &App, caller: &UserCaller, event_id: EventId, patch: EventPatch) -> Result<EventRecord> {
    caller.must(Action::ManageEvents)?;
    let now = app.clock.now();
    let mut seeded = app.seeded_ids();
    // 1. Check what can be checked without the event. The PIN's hash is made outside the transaction, because it is
    //    slow.
    let mut checks = Checks::default();
    let patch = checked(&mut checks, patch);
    checks.finish()?;
    let pin = patch.staff_pin.as_ref().map(|pin| pin.as_deref().map(|digits| staff_pin(digits, &mut seeded)));
    let by = caller.clone();
    let id = event_id.clone();
    let (event, brought) = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let mut seeded = seeded.clone();
        // 2. Compute the new values, and what changed.
        let before = find::require(tx, &id)?;
        let after = applied(&before, &patch)?;
        if patch.count_practice && (before.status, after.status) != (EventStatus::Draft, EventStatus::Live) {
            return Err(Error::invalid("count_practice", "is for a draft that goes live"));
        }
        let mut changed = differences(&before, &after, pin.is_some());
        if patch.count_practice {
            changed.insert("count_practice".to_owned(), json!(true));
        }
        if changed.is_empty() {
            return Ok((before, None));
        }
        // 3. Store the newest values and rules, and judge the scans they touch.
        let stamp = tx.stamp(&id)?;
        tx.update_event(&after)?;
        let limits = tx.load_rules(&id, &[])?.book.event(When::Newest).map(|event| event.limits).unwrap_or_default();
        let mut subjects = touched(tx, &before, &after, &limits, stamp)?;
        if patch.count_practice {
            subjects.extend(practice::accept(tx, &id, &by.user_id, stamp, now)?);
        }
        let rules = changes(&before, &after, pin.clone(), &limits, stamp);
        let brought = put(tx, &id, stamp, rules, &subjects, now, &mut seeded)?;
        tx.append_audit(line::of(&by, Some(&id), "event_updated", ("Event", id.as_str()), Value::Object(changed)))?;
        // 4. Mail everybody who has a pass, if name, place or time changed.
        passes::enqueue_everybody(tx, &before, &after, now, &mut seeded)?;
        Ok((after, Some(brought)))
    })
    .await?;
    if let Some(brought) = brought {
        app.job_wakeup.wake();
        announce(app, &caller.organization_id, &event_id, &brought);
    }
    Ok(event)
}

fn checked(checks: &mut Checks, patch: EventPatch) -> EventPatch {
    if let Some(Some(digits)) = &patch.staff_pin {
        checks.pin("staff_pin", digits);
    }
    EventPatch {
        name: patch.name.map(|text| checks.name("name", &text)),
        venue: patch.venue.map(|text| checks.line("venue", &text, 0, admit_core::limits::NAME_CHARS)),
        time_zone: patch.time_zone.map(|text| checks.time_zone("time_zone", &text)),
        capacity: patch.capacity.map(|capacity| checks.capacity("capacity", capacity)),
        retention_days: patch.retention_days.map(|days| checks.retention_days("retention_days", days)),
        verdict_fields: patch.verdict_fields.map(|names| checks.verdict_fields("verdict_fields", &names)),
        ..patch
    }
}

fn applied(before: &EventRecord, patch: &EventPatch) -> Result<EventRecord> {
    let after = EventRecord {
        event_id: before.event_id.clone(),
        name: patch.name.clone().unwrap_or_else(|| before.name.clone()),
        venue: patch.venue.clone().unwrap_or_else(|| before.venue.clone()),
        time_zone: patch.time_zone.clone().unwrap_or_else(|| before.time_zone.clone()),
        starts_at: patch.starts_at.unwrap_or(before.starts_at),
        ends_at: patch.ends_at.unwrap_or(before.ends_at),
        status: patch.status.unwrap_or(before.status),
        re_entry: patch.re_entry.unwrap_or(before.re_entry),
        min_gap_seconds: patch.min_gap_seconds.unwrap_or(before.min_gap_seconds),
        day_starts_at: patch.day_starts_at.unwrap_or(before.day_starts_at),
        has_pin: patch.staff_pin.as_ref().map_or(before.has_pin, Option::is_some),
        capacity: patch.capacity.unwrap_or(before.capacity),
        walk_ins: patch.walk_ins.unwrap_or(before.walk_ins),
        at_door: AtDoor {
            verdict_fields: patch.verdict_fields.clone().unwrap_or_else(|| before.at_door.verdict_fields.clone()),
            barcode_kinds: AtDoor::kinds(patch.barcode_kinds.as_ref().unwrap_or(&before.at_door.barcode_kinds)),
        },
        retention_days: patch.retention_days.unwrap_or(before.retention_days),
        created_at: before.created_at,
    };
    let mut checks = Checks::default();
    // The error names the field that was changed, so that a form shows it there.
    if patch.ends_at.is_some() {
        checks.window("ends_at", Some(after.starts_at), Some(after.ends_at));
    } else if after.ends_at <= after.starts_at {
        checks.fail("starts_at", format!("must be before {}", after.ends_at));
    }
    checks.finish()?;
    if after.status != before.status && !follows(before.status, after.status) {
        return Err(Error::conflict(
            "status_order",
            format!("an event that is {} cannot become {}", before.status, after.status),
        ));
    }
    Ok(after)
}

/// Whether an event may go from one status to another: draft → live → ended → archived. An event that was ended by
/// mistake may go live again.
fn follows(from: EventStatus, to: EventStatus) -> bool {
    use EventStatus::*;
    matches!((from, to), (Draft, Live) | (Live, Ended) | (Ended, Live) | (Ended, Archived))
}

/// The changes of an event, as the ledger states them.
fn differences(before: &EventRecord, after: &EventRecord, pin: bool) -> Map<String, Value> {
    let values = |event: &EventRecord| {
        [
            ("name", json!(event.name)),
            ("venue", json!(event.venue)),
            ("time_zone", json!(event.time_zone)),
            ("starts_at", json!(event.starts_at.to_string())),
            ("ends_at", json!(event.ends_at.to_string())),
            ("status", json!(event.status.as_str())),
            ("re_entry", json!(event.re_entry.as_str())),
            ("min_gap_seconds", json!(event.min_gap_seconds)),
            ("day_starts_at", json!(event.day_starts_at.to_string())),
            ("capacity", json!(event.capacity)),
            ("walk_ins", json!(event.walk_ins)),
            ("verdict_fields", json!(event.at_door.verdict_fields)),
            ("barcode_kinds", json!(event.at_door.barcode_kinds)),
            ("retention_days", json!(event.retention_days)),
        ]
    };
    let mut out = Map::new();
    for ((field, from), (_, to)) in values(before).into_iter().zip(values(after)) {
        if from != to {
            out.insert(field.to_owned(), json!({ "from": from, "to": to }));
        }
    }
    if pin && (before.has_pin || after.has_pin) {
        out.insert("staff_pin".to_owned(), json!(if after.has_pin { "set" } else { "taken away" }));
    }
    out
}

fn changes(
    before: &EventRecord,
    after: &EventRecord,
    pin: Option<Option<StaffPin>>,
    limits: &ZoneLimits,
    stamp: Stamp,
) -> Vec<(Effective, Change)> {
    let now = Effective::At(stamp.effective_at);
    let mut out = Vec::new();
    let mut say = |when, change| out.push((when, Change::Event(change)));
    if after.name != before.name {
        say(now, EventChange::Name(after.name.clone()));
    }
    if after.starts_at != before.starts_at {
        say(now, EventChange::StartsAt(after.starts_at));
    }
    if after.ends_at != before.ends_at {
        say(now, EventChange::EndsAt(after.ends_at));
    }
    if after.status != before.status {
        let when = if after.status == EventStatus::Live { Effective::Start } else { now };
        say(when, EventChange::Status(after.status));
    }
    if (before.status, after.status) == (EventStatus::Draft, EventStatus::Live) {
        say(now, EventChange::OpenedAt(Some(stamp.effective_at)));
    }
    let begin = days(after, limits);
    if begin != days(before, limits) {
        say(now, EventChange::Days(begin));
    }
    let told = door::settings(after);
    if told != door::settings(before) {
        say(now, EventChange::Door(told));
    }
    if after.re_entry != before.re_entry {
        say(now, EventChange::ReEntry(after.re_entry));
    }
    if after.min_gap_seconds != before.min_gap_seconds {
        say(now, EventChange::MinGapSeconds(after.min_gap_seconds));
    }
    if after.walk_ins != before.walk_ins {
        say(now, EventChange::WalkIns(after.walk_ins));
    }
    if let Some(pin) = pin {
        say(now, EventChange::StaffPin(pin));
    }
    out
}

/// The subjects whose scans a change may touch:
///
/// - all subjects, if the re-entry rules change or an ended event goes live again;
/// - those with a scan between the old and the new time, if start or end changes, since plausibility changes there;
/// - those with a scan after this write, if the status changes, since doors then open or close.
///
/// A name, a place or a PIN decides nothing about a scan.
fn touched(
    tx: &mut dyn Tx,
    before: &EventRecord,
    after: &EventRecord,
    limits: &ZoneLimits,
    stamp: Stamp,
) -> Result<BTreeSet<String>> {
    let measures = |event: &EventRecord| (event.re_entry, event.min_gap_seconds, days(event, limits));
    if measures(before) != measures(after) || (before.status.is_over() && !after.status.is_over()) {
        return all_subjects(tx, &before.event_id);
    }
    let mut out = BTreeSet::new();
    if before.status != after.status {
        let from = stamp.effective_at;
        out.extend(tx.subjects_by_time(&before.event_id, from, Timestamp::clamped(i64::MAX), true)?);
    }
    let moved = [
        (before.starts_at.plus_ms(-PLAUSIBLE_MARGIN_MS), after.starts_at.plus_ms(-PLAUSIBLE_MARGIN_MS)),
        (before.ends_at.plus_ms(PLAUSIBLE_MARGIN_MS), after.ends_at.plus_ms(PLAUSIBLE_MARGIN_MS)),
    ];
    for (old, new) in moved.into_iter().filter(|(old, new)| old != new) {
        out.extend(tx.subjects_by_time(&before.event_id, old.min(new), old.max(new), true)?);
    }
    Ok(out)
}
