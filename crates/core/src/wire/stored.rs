//! The JSON of facts and findings as they are stored, and as other shapes carry them: lossless, every field by its
//! name in the model. What is read back is equal to what was written.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::hex;
use crate::barcode::BarcodeHash;
use crate::decide::{LastEntry, Reason};
use crate::event::{EventRules, EventStatus, ReEntry, StaffPin};
use crate::gate::{Direction, EntryRule, GateRules};
use crate::ids::{DeviceId, EventId, GateId, KeyId, LogId, ScanId, TicketId};
use crate::incident::{Cause, CauseScan, CauseSubject, IncidentKind, Role, Subject};
use crate::reduce::{ConflictReason, EffectiveScan, Entry, LeftOut, ScanVerdict, TicketState};
use crate::occupancy::{GateFlow, Occupancy};
use crate::rule::{Change, DeviceChange, Epoch, EventChange, GateChange, TicketChange};
use crate::scan::{Basis, ClockEvidence, Digest, Form, Judged, Method, Outcome, Override, Scan, ScanKind, Stage};
use crate::ticket::{TicketRules, TicketStatus};
use crate::time::Timestamp;

fn is_false(value: &bool) -> bool {
    !*value
}
fn is_zero(value: &u32) -> bool {
    *value == 0
}
fn none<T>(value: &Option<T>) -> bool {
    value.is_none()
}

/// Gives types of the model their JSON. Every field is named with its type, so a field added to the model does not
/// compile until its JSON is decided. The name stands twice because serde wants it as a literal.
macro_rules! json_of {
    ($($name:tt = $model:ident { $($(#[$meta:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        const _: () = {
            #[derive(Serialize, Deserialize)]
            #[serde(remote = $name)]
            struct Twin { $($(#[$meta])* $field: $type),* }
            impl Serialize for $model {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    Twin::serialize(self, serializer)
                }
            }
            impl<'de> Deserialize<'de> for $model {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    Twin::deserialize(deserializer)
                }
            }
        };
    )*};
}

json_of! {
    "TicketRules" = TicketRules {
        status: TicketStatus,
        entry_limit: u32,
        gate_ids: Vec<GateId>,
        zone: String,
        valid_from: Option<Timestamp>,
        expires_at: Option<Timestamp>,
    }
    "GateRules" = GateRules {
        name: String,
        zones: Vec<String>,
        direction: Direction,
        capacity: Option<u32>,
        names_on_devices: bool,
        entry_rules: Vec<EntryRule>,
    }
    "StaffPin" = StaffPin {
        #[serde(with = "hex")]
        salt: [u8; 16],
        #[serde(with = "hex")]
        hash: [u8; 32],
        iterations: u32,
    }
    "EventRules" = EventRules {
        name: String,
        starts_at: Timestamp,
        ends_at: Timestamp,
        status: EventStatus,
        re_entry: ReEntry,
        min_gap_seconds: u32,
        staff_pin: Option<StaffPin>,
    }
    "Override" = Override {
        by: String,
        reason: String,
    }
    "ClockEvidence" = ClockEvidence {
        wall_ms: i64,
        mono_ms: i64,
        session_id: String,
        #[serde(default, skip_serializing_if = "is_false")]
        corrected: bool,
    }
    "Basis" = Basis {
        #[serde(default)]
        within: u32,
        #[serde(default)]
        inside: u32,
        #[serde(default, skip_serializing_if = "none")]
        last_entry_at: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "none")]
        status: Option<TicketStatus>,
    }
    "Judged" = Judged {
        serial: u64,
        outcome: Outcome,
    }
    "Scan" = Scan {
        form: Form,
        scan_id: ScanId,
        device_id: DeviceId,
        #[serde(default, skip_serializing_if = "none")]
        log_id: Option<LogId>,
        #[serde(default, skip_serializing_if = "none")]
        seq: Option<u64>,
        #[serde(default, with = "hex::option", skip_serializing_if = "none")]
        prev: Option<[u8; 16]>,
        #[serde(default, skip_serializing_if = "none")]
        key_id: Option<KeyId>,
        event_id: EventId,
        gate_id: GateId,
        kind: ScanKind,
        stage: Stage,
        method: Method,
        #[serde(default, skip_serializing_if = "none")]
        barcode_hash: Option<BarcodeHash>,
        #[serde(default, skip_serializing_if = "none")]
        raw_hash: Option<BarcodeHash>,
        #[serde(default, skip_serializing_if = "none")]
        ticket_id: Option<TicketId>,
        count: u32,
        outcome: Outcome,
        opened: bool,
        #[serde(default, rename = "override", skip_serializing_if = "none")]
        override_: Option<Override>,
        #[serde(default, skip_serializing_if = "none")]
        operator: Option<String>,
        #[serde(default, skip_serializing_if = "none")]
        target_device: Option<DeviceId>,
        #[serde(default, skip_serializing_if = "none")]
        target_scan_id: Option<ScanId>,
        #[serde(default, skip_serializing_if = "is_zero")]
        keep: u32,
        at: Timestamp,
        uncertainty_ms: u64,
        #[serde(default, skip_serializing_if = "none")]
        clock: Option<ClockEvidence>,
        #[serde(default, skip_serializing_if = "none")]
        epoch: Option<Epoch>,
        manifest_version: u64,
        cursor: u64,
        #[serde(default, skip_serializing_if = "none")]
        basis: Option<Basis>,
    }
    "LastEntry" = LastEntry {
        at: Timestamp,
        gate_id: GateId,
        device_id: DeviceId,
    }
    "Entry" = Entry {
        at: Timestamp,
        uncertainty_ms: u64,
        device_id: DeviceId,
        scan_id: ScanId,
        gate_id: GateId,
        within: u32,
        over: u32,
    }
    "TicketState" = TicketState {
        within: u32,
        over: u32,
        inside_within: u32,
        inside_over: u32,
        exited: u32,
        entries: Vec<Entry>,
    }
    "ScanVerdict" = ScanVerdict {
        device_id: DeviceId,
        scan_id: ScanId,
        digest: Digest,
        at: Timestamp,
        implausible: bool,
        gate_id: GateId,
        kind: ScanKind,
        left_out: Option<LeftOut>,
        outcome: Outcome,
        reason: Option<Reason>,
        opened: bool,
        count: u32,
        within: u32,
        over: u32,
        exited: u32,
        exited_over: u32,
        conflict: bool,
        conflict_reason: Option<ConflictReason>,
        admitted_in_error: bool,
        refused_in_error: bool,
        basis_mismatch: bool,
    }
    "EffectiveScan" = EffectiveScan {
        device_id: DeviceId,
        scan_id: ScanId,
        at: Timestamp,
        uncertainty_ms: u64,
        #[serde(default, skip_serializing_if = "is_false")]
        implausible: bool,
        kind: ScanKind,
        count: u32,
        opened: bool,
        gate_id: GateId,
        #[serde(default, skip_serializing_if = "is_false")]
        s2: bool,
    }
    "CauseScan" = CauseScan {
        device_id: DeviceId,
        scan_id: ScanId,
        digest: Digest,
        role: Role,
        gate_id: GateId,
        at: Timestamp,
        uncertainty_ms: u64,
        within: u32,
        over: u32,
        reason: Option<Reason>,
        manifest_version: u64,
    }
    "Cause" = Cause {
        kind: IncidentKind,
        subject: CauseSubject,
        scans: Vec<CauseScan>,
        order_uncertain: bool,
    }
}

json_of! {
    "GateFlow" = GateFlow {
        entered: i64,
        exited: i64,
    }
    "Occupancy" = Occupancy {
        inside: i64,
        entered: i64,
        over: i64,
        exited: i64,
        subjects: i64,
        gates: BTreeMap<GateId, GateFlow>,
    }
}

impl Serialize for Subject {
    /// As [`Subject::key`].
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.key())
    }
}
impl<'de> Deserialize<'de> for Subject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::from_key(&key).ok_or_else(|| serde::de::Error::custom("must be ticket:ID or unknown:HASH"))
    }
}

/// A cause's subject as an object: identifiers may hold any punctuation, so its key alone could not be read back.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SubjectJson {
    Scans(Subject),
    Log { device_id: DeviceId, log_id: LogId },
    Device(DeviceId),
    ScanId(ScanId),
}
impl Serialize for CauseSubject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = match self.clone() {
            Self::Scans(subject) => SubjectJson::Scans(subject),
            Self::Log(device_id, log_id) => SubjectJson::Log { device_id, log_id },
            Self::Device(device_id) => SubjectJson::Device(device_id),
            Self::ScanId(scan_id) => SubjectJson::ScanId(scan_id),
        };
        json.serialize(serializer)
    }
}
impl<'de> Deserialize<'de> for CauseSubject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match SubjectJson::deserialize(deserializer)? {
            SubjectJson::Scans(subject) => Self::Scans(subject),
            SubjectJson::Log { device_id, log_id } => Self::Log(device_id, log_id),
            SubjectJson::Device(device_id) => Self::Device(device_id),
            SubjectJson::ScanId(scan_id) => Self::ScanId(scan_id),
        })
    }
}

// ------------------------------------------------------------------------------------------------------------ rules

/// A rule's change as the columns of its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeParts {
    /// `ticket`, `gate`, `event` or `device`.
    pub subject_kind: &'static str,
    /// The subject's id; empty for the event, which is the row's own.
    pub subject_id: String,
    /// The field, or `first` for all first values at once.
    pub field: &'static str,
    /// Its value as JSON.
    pub value: String,
}

/// Why stored text is not what it should be: the database was changed by other hands, or by a newer version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("stored {what} cannot be read: {why}")]
pub struct StoredError {
    /// What was being read.
    pub what: &'static str,
    /// What is wrong with it.
    pub why: String,
}

/// Writes a value as the JSON text of its column.
pub fn to_text<T: Serialize>(value: &T) -> String {
    // Nothing here has a map with keys other than strings, which alone could fail.
    serde_json::to_string(value).unwrap_or_default()
}

/// Reads a column's JSON text; `what` names it in the error.
pub fn from_text<'a, T: Deserialize<'a>>(what: &'static str, text: &'a str) -> Result<T, StoredError> {
    super::problem::read(text.as_bytes()).map_err(|error| StoredError { what, why: error.to_string() })
}

macro_rules! columns {
    ($($model:ty, $what:literal, $to:ident, $from:ident;)*) => {$(
        #[doc = concat!("A ", $what, " as the JSON text of its column.")]
        pub fn $to(value: &$model) -> String {
            to_text(value)
        }
        #[doc = concat!("Reads a ", $what, " back from its column.")]
        pub fn $from(text: &str) -> Result<$model, StoredError> {
            from_text($what, text)
        }
    )*};
}
columns! {
    Scan, "scan", scan_to_json, scan_from_json;
    TicketState, "state", state_to_json, state_from_json;
    ScanVerdict, "verdict", verdict_to_json, verdict_from_json;
    Vec<EffectiveScan>, "list of scans that count", effective_to_json, effective_from_json;
    Cause, "cause", cause_to_json, cause_from_json;
    Occupancy, "part in the counters", occupancy_to_json, occupancy_from_json;
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

/// A change as the columns of its row; [`change_from_parts`] reads it back.
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

/// Reads the columns of a rule's row. Fails on a kind, field or value that this version does not know.
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
