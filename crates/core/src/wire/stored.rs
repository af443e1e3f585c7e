//! The JSON in which stores keep the types of the model, such as scans, verdicts and causes. It has every field, under
//! the field's name in the model. A value that is read back equals what was written.

mod rules;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use self::rules::{ChangeParts, change_from_parts, change_to_parts};
use super::hex;
pub use super::text::{StoredError, from_json, from_text, from_tree, to_text};
use crate::barcode::BarcodeHash;
use crate::decide::{Advice, LastEntry, Reason, Standing, Verdict};
use crate::event::{
    BarcodeKind, Days, DoorSettings, EventRules, EventStatus, Limits, Offset, ReEntry, StaffPin, ZoneClock, ZoneLimits,
    ZoneNames,
};
use crate::gate::{Direction, EntryRule, GateRules};
use crate::ids::{BatchId, DeviceId, EventId, GateId, KeyId, LogId, ScanId, TicketId};
use crate::incident::{Cause, CauseScan, CauseSubject, IncidentKind, Role, Subject};
use crate::reduce::{ConflictReason, EffectiveScan, Entry, LeftOut, ScanVerdict, TicketState};
use crate::review::{Decision, Review};
use crate::rule::Epoch;
use crate::scan::{
    Basis, ClockEvidence, Digest, Fact, Form, Headcount, Judged, Method, Outcome, Override, PersonClass, Scan,
    ScanKind, SignatureState, Stage, WalkIn,
};
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
fn offsets<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<Offset>, D::Error> {
    super::bounded::at_most(source, crate::limits::OFFSETS, "offsets")
}

/// Gives types of the model their JSON. Every field is named with its type, so a field added to the model does not
/// compile until its JSON is decided. The type's name stands twice because serde wants it as a literal.
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
        #[serde(default, skip_serializing_if = "is_false")]
        walk_ins: bool,
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
        #[serde(default, skip_serializing_if = "none")]
        opened_at: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Days::is_empty")]
        days: Days,
        #[serde(default, skip_serializing_if = "ZoneLimits::is_empty")]
        limits: ZoneLimits,
        #[serde(default, skip_serializing_if = "none")]
        walk_ins: Option<u32>,
    }
    "Limits" = Limits {
        #[serde(default, skip_serializing_if = "none")]
        re_entry: Option<ReEntry>,
        #[serde(default, skip_serializing_if = "is_false")]
        per_gate: bool,
        #[serde(default, skip_serializing_if = "none")]
        uses: Option<u32>,
    }
    "Offset" = Offset {
        from: Timestamp,
        offset_s: i32,
    }
    "ZoneClock" = ZoneClock {
        zone: String,
        #[serde(deserialize_with = "offsets")]
        offsets: Vec<Offset>,
    }
    "DoorSettings" = DoorSettings {
        #[serde(default, skip_serializing_if = "none")]
        clock: Option<ZoneClock>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        verdict_fields: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        barcode_kinds: Vec<BarcodeKind>,
        #[serde(default, skip_serializing_if = "ZoneNames::is_empty")]
        zone_names: ZoneNames,
    }
    "Override" = Override {
        by: String,
        reason: String,
    }
    "WalkIn" = WalkIn {
        zone: String,
        party: u32,
        #[serde(with = "hex")]
        name_digest: [u8; 32],
    }
    "ClockEvidence" = ClockEvidence {
        wall_ms: i64,
        mono_ms: i64,
        session_id: String,
        #[serde(default, skip_serializing_if = "is_false")]
        corrected: bool,
    }
    "Basis" = Basis {
        within: u32,
        inside: u32,
        #[serde(default, skip_serializing_if = "is_zero")]
        spent: u32,
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
        #[serde(default, skip_serializing_if = "is_false")]
        practice: bool,
        #[serde(default, rename = "override", skip_serializing_if = "none")]
        override_: Option<Override>,
        #[serde(default, skip_serializing_if = "none")]
        walk_in: Option<WalkIn>,
        #[serde(default, skip_serializing_if = "none")]
        headcount: Option<Headcount>,
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
    "Fact" = Fact {
        scan: Scan,
        digest: Digest,
        signature: SignatureState,
        #[serde(default, skip_serializing_if = "is_false")]
        withheld: bool,
        #[serde(default)]
        offset_seconds: i64,
        received_at: Timestamp,
        #[serde(default, skip_serializing_if = "none")]
        judged: Option<Judged>,
    }
    "Review" = Review {
        serial: u64,
        device_id: DeviceId,
        scan_id: ScanId,
        digest: Digest,
        decision: Decision,
    }
    "LastEntry" = LastEntry {
        at: Timestamp,
        gate_id: GateId,
        device_id: DeviceId,
    }
    "Standing" = Standing {
        used: u32,
        #[serde(default, skip_serializing_if = "is_zero")]
        spent: u32,
        inside: u32,
        last_entry: Option<LastEntry>,
    }
    "Verdict" = Verdict {
        outcome: Outcome,
        reason: Option<Reason>,
        may_admit: u32,
        last_entry: Option<LastEntry>,
        advice: Option<Advice>,
        #[serde(default, skip_serializing_if = "none")]
        places_left: Option<u32>,
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
        #[serde(default, skip_serializing_if = "none")]
        digest: Option<Digest>,
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
        #[serde(default, skip_serializing_if = "none")]
        headcount: Option<Headcount>,
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
        #[serde(default, skip_serializing_if = "is_false")]
        claim: bool,
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

json_of! {}

/// A headcount as an object with one member, `change` or `recount`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Headcount", rename_all = "snake_case")]
enum HeadcountJson {
    Change { class: PersonClass, delta: i32 },
    Recount { inside: u32 },
}
impl Serialize for Headcount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        HeadcountJson::serialize(self, serializer)
    }
}
impl<'de> Deserialize<'de> for Headcount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        HeadcountJson::deserialize(deserializer)
    }
}

impl Serialize for Subject {
    /// Writes the subject as its [`Subject::key`].
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

/// A cause's subject as an object. Identifiers may contain any punctuation, so nobody could split the subject's text
/// key into its identifiers again.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SubjectJson {
    Scans(Subject),
    Log { device_id: DeviceId, log_id: LogId },
    Device(DeviceId),
    ScanId(ScanId),
    Batch { device_id: DeviceId, batch_id: BatchId },
}
impl Serialize for CauseSubject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = match self.clone() {
            Self::Scans(subject) => SubjectJson::Scans(subject),
            Self::Log(device_id, log_id) => SubjectJson::Log { device_id, log_id },
            Self::Device(device_id) => SubjectJson::Device(device_id),
            Self::ScanId(scan_id) => SubjectJson::ScanId(scan_id),
            Self::Batch(device_id, batch_id) => SubjectJson::Batch { device_id, batch_id },
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
            SubjectJson::Batch { device_id, batch_id } => Self::Batch(device_id, batch_id),
        })
    }
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
    Cause, "cause", cause_to_json, cause_from_json;
}
