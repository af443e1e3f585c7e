//! A new event, with its default entry type.

use admit_core::access::Action;
use admit_core::event::{EventRules, EventStatus, ReEntry};
use admit_core::ids::{EntryTypeId, EventId};
use admit_core::limits::MIN_GAP_SECONDS;
use admit_core::rule::{Change, Effective, EventChange, Rule};
use admit_core::time::Timestamp;
use serde_json::json;

use super::pin::staff_pin;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::ports::{App, Scope, write};
use crate::records::*;

/// The entry type that every event begins with.
const FIRST_ENTRY_TYPE: (&str, &str) = ("General", "general");

/// What is asked for.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// Name.
    pub name: String,
    /// Place.
    pub venue: String,
    /// IANA time zone.
    pub time_zone: String,
    /// Start.
    pub starts_at: Timestamp,
    /// End.
    pub ends_at: Timestamp,
    /// `draft` (default) or `live`.
    pub status: Option<EventStatus>,
    /// `never` by default.
    pub re_entry: Option<ReEntry>,
    /// 300 by default.
    pub min_gap_seconds: Option<u32>,
    /// 4–8 digits.
    pub staff_pin: Option<String>,
    /// Persons expected at once.
    pub capacity: Option<u32>,
}

/// Makes an event with the entry type "General"; its first values hold from the start.
pub async fn create(app: &App, caller: &UserCaller, new: NewEvent) -> Result<EventRecord> {
    caller.must(Action::ManageEvents)?;
    let now = app.clock.now();
    let mut draw = app.draw();
    // 1. Check.
    let event_id = EventId::new(draw.row_id(now)).map_err(|error| Error::Bug(error.to_string()))?;
    let event = checked(&new, event_id, now)?;
    let staff_pin = new.staff_pin.as_deref().map(|digits| staff_pin(digits, &mut draw));
    let entry_type = EntryTypeRecord {
        entry_type_id: EntryTypeId::new(draw.row_id(now)).map_err(|error| Error::Bug(error.to_string()))?,
        event_id: event.event_id.clone(),
        name: FIRST_ENTRY_TYPE.0.to_owned(),
        zone: FIRST_ENTRY_TYPE.1.to_owned(),
        position: 0,
    };
    let first = EventRules {
        name: event.name.clone(),
        starts_at: event.starts_at,
        ends_at: event.ends_at,
        status: event.status,
        re_entry: event.re_entry,
        min_gap_seconds: event.min_gap_seconds,
        staff_pin,
    };
    // 2. Event, rules, entry type and line together.
    let by = caller.clone();
    let made = event.clone();
    write(&*app.store, Scope::event(&caller.organization_id, &event.event_id), move |tx| {
        tx.insert_event(&made)?;
        let stamp = tx.stamp(&made.event_id)?;
        let change = Change::Event(EventChange::First(first.clone()));
        tx.insert_rules(
            &made.event_id,
            &[Rule { serial: stamp.serial, ordinal: 0, effective_at: Effective::Start, change }],
        )?;
        tx.insert_entry_type(&entry_type)?;
        let said = json!({ "name": made.name, "status": made.status.as_str() });
        tx.append_audit(line::of(&by, Some(&made.event_id), "event_created", ("Event", made.event_id.as_str()), said))
    })
    .await?;
    Ok(event)
}

fn checked(new: &NewEvent, event_id: EventId, now: Timestamp) -> Result<EventRecord> {
    let mut checks = Checks::default();
    let name = checks.name("name", &new.name);
    let venue = checks.line("venue", &new.venue, 0, admit_core::limits::NAME_CHARS);
    let time_zone = checks.time_zone("time_zone", &new.time_zone);
    checks.window("ends_at", Some(new.starts_at), Some(new.ends_at));
    let status = new.status.unwrap_or(EventStatus::Draft);
    if !matches!(status, EventStatus::Draft | EventStatus::Live) {
        checks.fail("status", "must be draft or live for a new event");
    }
    if let Some(digits) = &new.staff_pin {
        checks.pin("staff_pin", digits);
    }
    let capacity = checks.capacity("capacity", new.capacity);
    checks.finish()?;
    Ok(EventRecord {
        event_id,
        name,
        venue,
        time_zone,
        starts_at: new.starts_at,
        ends_at: new.ends_at,
        status,
        re_entry: new.re_entry.unwrap_or(ReEntry::Never),
        min_gap_seconds: new.min_gap_seconds.unwrap_or(MIN_GAP_SECONDS),
        has_pin: new.staff_pin.is_some(),
        capacity,
        created_at: now,
    })
}
