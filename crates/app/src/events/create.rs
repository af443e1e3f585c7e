//! Creates an event with its default entry type and its first gates.

use admit_core::access::Action;
use admit_core::event::{EventRules, EventStatus, ReEntry, ZoneLimits};
use admit_core::gate::{Direction, EntryRule, GateRules};
use admit_core::ids::{EntryTypeId, EventId, GateId};
use admit_core::limits::{MIN_GAP_SECONDS, SET_ITEMS};
use admit_core::normalize::for_search;
use admit_core::rule::{Change, Effective, EventChange, GateChange, Rule};
use admit_core::time::Timestamp;
use serde_json::json;

use super::days::days;
use super::door;
use super::pin::staff_pin;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::ports::{App, Scope, write};
use crate::records::{AtDoor, ClockTime, EntryTypeRecord, EventRecord};

/// The name and the zone of the entry type that every event begins with.
const FIRST_ENTRY_TYPE: (&str, &str) = ("General", "general");
/// The gate that an event begins with, unless the caller names others.
const FIRST_GATE: &str = "Main entrance";
/// Longest slug made of a gate's name, in characters. A longer one is cut.
const SLUG_CHARS: usize = 60;

/// The event to create.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// The event's name.
    pub name: String,
    /// The place of the event.
    pub venue: String,
    /// The IANA time zone.
    pub time_zone: String,
    /// When the event starts.
    pub starts_at: Timestamp,
    /// When the event ends.
    pub ends_at: Timestamp,
    /// `draft` or `live`. Absent means `draft`.
    pub status: Option<EventStatus>,
    /// The re-entry mode. Absent means `never`.
    pub re_entry: Option<ReEntry>,
    /// Seconds that must pass before re-entry in the mode `after_gap`. Absent means 300.
    pub min_gap_seconds: Option<u32>,
    /// When the event's days begin. Absent means 06:00.
    pub day_starts_at: Option<ClockTime>,
    /// The staff PIN, 4–8 digits. Absent means none.
    pub staff_pin: Option<String>,
    /// Persons expected at the same time. Absent means no limit.
    pub capacity: Option<u32>,
    /// Persons whom staff may add at the doors altogether. Absent means no limit.
    pub walk_ins: Option<u32>,
    /// Days after the event's end when guests' personal data is erased. Absent means never.
    pub retention_days: Option<u32>,
    /// The settings of its devices' screens and cameras. By default there are none.
    pub at_door: AtDoor,
    /// Names of its first gates. Absent means one called "Main entrance".
    pub gates: Option<Vec<String>>,
}

/// Creates an event with the entry type "General" and its first gates. People go in and out by each gate, and it
/// admits this entry type. The first values of all of these also hold for the time before this write.
pub async fn create(app: &App, caller: &UserCaller, new: NewEvent) -> Result<EventRecord> {
    caller.must(Action::ManageEvents)?;
    let now = app.clock.now();
    let mut seeded = app.seeded_ids();
    // 1. Check.
    let event_id = EventId::new(seeded.row_id(now)).map_err(|error| Error::Bug(error.to_string()))?;
    let event = checked(&new, event_id, now)?;
    let gates = gates(new.gates.as_deref())?;
    let staff_pin = new.staff_pin.as_deref().map(|digits| staff_pin(digits, &mut seeded));
    let entry_type = EntryTypeRecord {
        entry_type_id: EntryTypeId::new(seeded.row_id(now)).map_err(|error| Error::Bug(error.to_string()))?,
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
        opened_at: Some(now).filter(|_| event.status == EventStatus::Live),
        days: days(&event, &ZoneLimits::default()),
        limits: ZoneLimits::default(),
        walk_ins: event.walk_ins,
    };
    // 2. Store event, gates, rules, entry type and line together.
    let by = caller.clone();
    let made = event.clone();
    write(&*app.store, Scope::event(&caller.organization_id, &event.event_id), move |tx| {
        tx.insert_event(&made)?;
        let stamp = tx.stamp(&made.event_id)?;
        let door = EventChange::Door(door::settings(&made));
        let names = door::zone_names([&entry_type]);
        let mut changes = vec![Change::Event(EventChange::First(first.clone())), Change::Event(door), names];
        for (gate_id, rules) in &gates {
            tx.insert_gate(&made.event_id, gate_id, now)?;
            changes.push(Change::Gate(gate_id.clone(), GateChange::First(rules.clone())));
        }
        let first = |(ordinal, change)| Rule { serial: stamp.serial, ordinal, effective_at: Effective::Start, change };
        tx.insert_rules(&made.event_id, &(0..).zip(changes).map(first).collect::<Vec<_>>())?;
        tx.insert_entry_type(&entry_type)?;
        let ids: Vec<&str> = gates.iter().map(|(gate_id, _)| gate_id.as_str()).collect();
        let said = json!({ "name": made.name, "status": made.status.as_str(), "gates": ids });
        tx.append_audit(line::of(&by, Some(&made.event_id), "event_created", ("Event", made.event_id.as_str()), said))
    })
    .await?;
    Ok(event)
}

/// The gates that a new event begins with, one for each name; without names, the standard gate. Each gets an id made of
/// its name.
fn gates(names: Option<&[String]>) -> Result<Vec<(GateId, GateRules)>> {
    let standard = [FIRST_GATE.to_owned()];
    let mut checks = Checks::default();
    let names = names.unwrap_or(&standard);
    if names.len() > SET_ITEMS {
        checks.fail("gates", format!("must have at most {SET_ITEMS} items, not {}", names.len()));
    }
    let mut gates: Vec<(GateId, GateRules)> = Vec::new();
    for (i, name) in names.iter().take(SET_ITEMS).enumerate() {
        let path = format!("gates[{i}]");
        let name = checks.name(&path, name);
        let gate_id = GateId::new(slug(&name, i)).map_err(|error| Error::Bug(error.to_string()))?;
        if gates.iter().any(|(other, _)| *other == gate_id) {
            checks.fail(path, "is the name of another gate here: give each gate its own");
        }
        let rules = GateRules {
            name,
            zones: vec![FIRST_ENTRY_TYPE.1.to_owned()],
            direction: Direction::Both,
            capacity: None,
            names_on_devices: true,
            walk_ins: false,
            entry_rules: EntryRule::ALL.to_vec(),
        };
        gates.push((gate_id, rules));
    }
    checks.finish()?;
    Ok(gates)
}

/// A gate's id: its normalized name in letters, digits and single dashes. If the name has none of these, the id is
/// `gate-` and the gate's position, from 1.
fn slug(name: &str, place: usize) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { ' ' };
    let text: String = for_search(name).chars().map(plain).collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    let slug: String = words.join("-").chars().take(SLUG_CHARS).collect();
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { format!("gate-{}", place + 1) } else { slug.to_owned() }
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
    let retention_days = checks.retention_days("retention_days", new.retention_days);
    let verdict_fields = checks.verdict_fields("verdict_fields", &new.at_door.verdict_fields);
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
        day_starts_at: new.day_starts_at.unwrap_or(ClockTime::DAY_STARTS),
        has_pin: new.staff_pin.is_some(),
        capacity,
        walk_ins: new.walk_ins,
        at_door: AtDoor { verdict_fields, barcode_kinds: AtDoor::kinds(&new.at_door.barcode_kinds) },
        retention_days,
        created_at: now,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gates_id_is_made_of_its_name() {
        for (name, id) in
            [("Main entrance", "main-entrance"), (" Süd / Tor 2 ", "sud-tor-2"), ("北門", "gate-3"), ("a--b", "a-b")]
        {
            assert_eq!(slug(name, 2), id, "{name}");
        }
        assert_eq!(slug(&"x y".repeat(80), 0).len(), SLUG_CHARS);
    }

    #[test]
    fn first_gates_are_told_apart() {
        assert_eq!(gates(None).unwrap()[0].1.name, FIRST_GATE);
        assert!(gates(Some(&[])).unwrap().is_empty());
        let twice = ["North".to_owned(), "NORTH".to_owned(), String::new()];
        let Err(Error::Invalid { errors, .. }) = gates(Some(&twice)) else { panic!("two names are wrong") };
        assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["gates[1]", "gates[2]"]);
    }
}
