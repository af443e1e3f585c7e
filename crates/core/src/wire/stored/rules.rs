//! Converts a rule's change to the columns of its row, and back.

use serde::{Deserialize, Serialize};

use crate::ids::{DeviceId, EventId, GateId, TicketId};
use crate::rule::{Change, DeviceChange, EventChange, GateChange, TicketChange};
use crate::time::Timestamp;
use crate::wire::text::{StoredError, from_text, to_text};

/// A rule's change in the form of its row's columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeParts {
    /// `ticket`, `gate`, `event` or `device`.
    pub subject_kind: &'static str,
    /// The subject's id. Empty for the event, whose id the row has anyway.
    pub subject_id: String,
    /// The field's name, or `first` for all first values at once.
    pub field: &'static str,
    /// The new value as JSON.
    pub value: String,
}

#[derive(Serialize, Deserialize)]
struct Window {
    valid_from: Option<Timestamp>,
    expires_at: Option<Timestamp>,
}
#[derive(Serialize, Deserialize)]
struct Assignment {
    event_id: EventId,
    gate_id: GateId,
}

/// Converts a change to the columns of its row. [`change_from_parts`] reads it back.
pub fn change_to_parts(change: &Change) -> ChangeParts {
    let (subject_kind, subject_id, (field, value)) = match change {
        Change::Ticket(id, change) => ("ticket", id.to_string(), ticket_parts(change)),
        Change::Gate(id, change) => ("gate", id.to_string(), gate_parts(change)),
        Change::Event(change) => ("event", String::new(), event_parts(change)),
        Change::Device(id, change) => ("device", id.to_string(), device_parts(change)),
    };
    ChangeParts { subject_kind, subject_id, field, value }
}

fn ticket_parts(change: &TicketChange) -> (&'static str, String) {
    match change {
        TicketChange::First(rules) => ("first", to_text(rules)),
        TicketChange::Status(status) => ("status", to_text(status)),
        TicketChange::EntryLimit(limit) => ("entry_limit", to_text(limit)),
        TicketChange::GateIds(ids) => ("gate_ids", to_text(ids)),
        TicketChange::Zone(zone) => ("zone", to_text(zone)),
        TicketChange::Window { valid_from, expires_at } => {
            ("window", to_text(&Window { valid_from: *valid_from, expires_at: *expires_at }))
        }
    }
}

fn gate_parts(change: &GateChange) -> (&'static str, String) {
    match change {
        GateChange::First(rules) => ("first", to_text(rules)),
        GateChange::Name(name) => ("name", to_text(name)),
        GateChange::Zones(zones) => ("zones", to_text(zones)),
        GateChange::Direction(direction) => ("direction", to_text(direction)),
        GateChange::Capacity(capacity) => ("capacity", to_text(capacity)),
        GateChange::NamesOnDevices(names) => ("names_on_devices", to_text(names)),
        GateChange::WalkIns(may) => ("walk_ins", to_text(may)),
    }
}

fn event_parts(change: &EventChange) -> (&'static str, String) {
    match change {
        EventChange::First(rules) => ("first", to_text(rules)),
        EventChange::Name(name) => ("name", to_text(name)),
        EventChange::StartsAt(at) => ("starts_at", to_text(at)),
        EventChange::EndsAt(at) => ("ends_at", to_text(at)),
        EventChange::Status(status) => ("status", to_text(status)),
        EventChange::ReEntry(mode) => ("re_entry", to_text(mode)),
        EventChange::MinGapSeconds(gap) => ("min_gap_seconds", to_text(gap)),
        EventChange::StaffPin(pin) => ("staff_pin", to_text(pin)),
        EventChange::OpenedAt(at) => ("opened_at", to_text(at)),
        EventChange::Days(days) => ("days", to_text(days)),
        EventChange::Limits(limits) => ("limits", to_text(limits)),
        EventChange::WalkIns(number) => ("walk_ins", to_text(number)),
        EventChange::Door(door) => ("door", to_text(door)),
        EventChange::ZoneNames(names) => ("zone_names", to_text(names)),
    }
}

fn device_parts(change: &DeviceChange) -> (&'static str, String) {
    match change {
        DeviceChange::Assignment { event_id, gate_id } => {
            ("assignment", to_text(&Assignment { event_id: event_id.clone(), gate_id: gate_id.clone() }))
        }
        DeviceChange::LostSince(since) => ("lost_since", to_text(since)),
    }
}

/// Reads the columns of a rule's row. Fails if the kind, field or value is unknown to this version.
pub fn change_from_parts(kind: &str, subject_id: &str, field: &str, value: &str) -> Result<Change, StoredError> {
    let bad = |why: String| StoredError { what: "rule", why };
    Ok(match kind {
        "ticket" => Change::Ticket(
            TicketId::new(subject_id).map_err(|error| bad(error.to_string()))?,
            ticket_change(field, value)?,
        ),
        "gate" => {
            Change::Gate(GateId::new(subject_id).map_err(|error| bad(error.to_string()))?, gate_change(field, value)?)
        }
        "event" => Change::Event(event_change(field, value)?),
        "device" => Change::Device(
            DeviceId::new(subject_id).map_err(|error| bad(error.to_string()))?,
            device_change(field, value)?,
        ),
        _ => return Err(bad(format!("unknown subject {kind}"))),
    })
}

fn rule_value<'a, T: Deserialize<'a>>(value: &'a str) -> Result<T, StoredError> {
    from_text("rule", value)
}

fn unknown_field<T>(field: &str) -> Result<T, StoredError> {
    Err(StoredError { what: "rule", why: format!("unknown field {field}") })
}

fn ticket_change(field: &str, value: &str) -> Result<TicketChange, StoredError> {
    Ok(match field {
        "first" => TicketChange::First(rule_value(value)?),
        "status" => TicketChange::Status(rule_value(value)?),
        "entry_limit" => TicketChange::EntryLimit(rule_value(value)?),
        "gate_ids" => TicketChange::GateIds(rule_value(value)?),
        "zone" => TicketChange::Zone(rule_value(value)?),
        "window" => {
            let Window { valid_from, expires_at } = rule_value(value)?;
            TicketChange::Window { valid_from, expires_at }
        }
        _ => return unknown_field(field),
    })
}

fn gate_change(field: &str, value: &str) -> Result<GateChange, StoredError> {
    Ok(match field {
        "first" => GateChange::First(rule_value(value)?),
        "name" => GateChange::Name(rule_value(value)?),
        "zones" => GateChange::Zones(rule_value(value)?),
        "direction" => GateChange::Direction(rule_value(value)?),
        "capacity" => GateChange::Capacity(rule_value(value)?),
        "names_on_devices" => GateChange::NamesOnDevices(rule_value(value)?),
        "walk_ins" => GateChange::WalkIns(rule_value(value)?),
        _ => return unknown_field(field),
    })
}

fn event_change(field: &str, value: &str) -> Result<EventChange, StoredError> {
    Ok(match field {
        "first" => EventChange::First(rule_value(value)?),
        "name" => EventChange::Name(rule_value(value)?),
        "starts_at" => EventChange::StartsAt(rule_value(value)?),
        "ends_at" => EventChange::EndsAt(rule_value(value)?),
        "status" => EventChange::Status(rule_value(value)?),
        "re_entry" => EventChange::ReEntry(rule_value(value)?),
        "min_gap_seconds" => EventChange::MinGapSeconds(rule_value(value)?),
        "staff_pin" => EventChange::StaffPin(rule_value(value)?),
        "opened_at" => EventChange::OpenedAt(rule_value(value)?),
        "days" => EventChange::Days(rule_value(value)?),
        "limits" => EventChange::Limits(rule_value(value)?),
        "walk_ins" => EventChange::WalkIns(rule_value(value)?),
        "door" => EventChange::Door(rule_value(value)?),
        "zone_names" => EventChange::ZoneNames(rule_value(value)?),
        _ => return unknown_field(field),
    })
}

fn device_change(field: &str, value: &str) -> Result<DeviceChange, StoredError> {
    Ok(match field {
        "assignment" => {
            let Assignment { event_id, gate_id } = rule_value(value)?;
            DeviceChange::Assignment { event_id, gate_id }
        }
        "lost_since" => DeviceChange::LostSince(rule_value(value)?),
        _ => return unknown_field(field),
    })
}
