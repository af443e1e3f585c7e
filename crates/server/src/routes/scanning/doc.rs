//! The wire shapes of devices as `/openapi.json` describes them. Most are core's own types, which describe themselves.
//!
//! The types below describe what core reads or writes by code of its own: items that are read one by one, and lists
//! that are written as bytes. A test compares their members with what core reads.
#![cfg_attr(not(test), expect(dead_code, reason = "described, never made: what is sent are core's types"))]
#![cfg_attr(test, allow(dead_code))]

pub use admit_core::wire::manifest::{GuestName, ManifestGate};
pub use admit_core::wire::scanning::{
    Conflict, HeartbeatAnswer, HeartbeatRequest, LogStatusAnswer, LogStatusRequest, NamedDevice, PairAnswer,
    PairRequest, PairingAsk, PairingTicket, Rejected, SyncAnswer, TimeAnswer,
};
pub use admit_core::wire::scans::{OnlineAnswer, ScanError, ScanS2, ScansSyncRequest, Summary};
use utoipa::ToSchema;

/// The answer to a device whose pairing request no organiser has approved yet.
#[derive(ToSchema)]
pub struct PairingWaiting {
    /// Always `waiting`.
    status: String,
    /// When the pairing request expires.
    expires_at: String,
}

/// An upload of scans.
#[derive(ToSchema)]
pub struct SyncRequest {
    /// The id of the device that sends the request. The request's key must belong to this device.
    device_id: String,
    /// An id that the device chooses for the batch. A repeat with the same id has no effect.
    sync_batch_id: String,
    /// The format of `scans`: 1 for S1's form, 2 for Admit's own form. 1 if absent.
    format: Option<u8>,
    /// When the device made this attempt, by its own clock.
    batch_created_at: Option<String>,
    /// For format 1: server time minus device time, in seconds.
    offset_seconds: Option<i64>,
    /// For format 2: the id of the device's log.
    log_id: Option<String>,
    /// For format 2: the highest `seq` of that log.
    head: Option<u64>,
    scans: Vec<SyncItem>,
}

/// One scan of an upload: in S1's form, or in Admit's own form with `"format": 2`. A wrong one does not stop the
/// others.
#[derive(ToSchema, serde::Deserialize)]
#[serde(untagged)]
pub enum SyncItem {
    /// A scan in Admit's own form.
    V2(Box<ScanV2>),
    /// A scan in S1's form.
    V1(ScanV1),
}

/// A scan in S1's form (S1 §4.2).
#[derive(ToSchema, serde::Deserialize)]
pub struct ScanV1 {
    scan_id: String,
    /// The ticket that the device found for the code. Absent if it found none.
    ticket_id: Option<String>,
    /// The hash of the code: `sha256:` and 64 hexadecimal digits.
    barcode_hash: String,
    /// The time by the device's clock, RFC 3339.
    scanned_at: String,
    gate_id: String,
    /// The outcome that the screen showed: `valid`, `duplicate`, `invalid`, `gate_access_denied` or `expired`.
    outcome: String,
    /// The scan's signature: `HMAC-SHA256=` and 64 hexadecimal digits.
    signature: String,
}

/// A scan in Admit's own form.
#[derive(ToSchema, serde::Deserialize)]
pub struct ScanV2 {
    scan_id: String,
    device_id: String,
    log_id: String,
    /// The scan's place in the log, from 1.
    seq: u64,
    /// The first 16 bytes of the digest of the scan before it in the log, as 32 hexadecimal digits. Zeros for the first
    /// scan.
    prev: String,
    /// The key of the signature.
    key_id: String,
    event_id: String,
    gate_id: String,
    /// `entry`, `exit`, `revert` or `headcount`.
    kind: String,
    /// `claim` (the device asks the server first) or `final`.
    stage: String,
    /// How the device came to the ticket: `qr`, `manual` or `import`.
    method: String,
    /// The hash of the spelling of the code that matched a ticket in the list. Absent without a code.
    barcode_hash: Option<String>,
    /// The hash of the code as it was read. Absent without a code.
    raw_hash: Option<String>,
    /// The ticket that the device found for the code. Absent if it found none.
    ticket_id: Option<String>,
    /// Number of persons. 1 if absent.
    #[schema(minimum = 1, maximum = 10000)]
    count: Option<u32>,
    /// The outcome that the screen showed.
    outcome: String,
    /// Whether the door opened.
    opened: bool,
    /// Whether the scan was made while the device's list said `draft`. Such a scan counts only if a person accepts it.
    /// False if absent.
    practice: Option<bool>,
    #[serde(rename = "override")]
    override_: Option<OverrideDoc>,
    /// The guest whom staff added with this scan. Absent if they added none.
    walk_in: Option<WalkInDoc>,
    /// The people without a ticket whom staff counted. Absent unless `kind` is `headcount`.
    headcount: Option<HeadcountDoc>,
    /// The name of the person who operated the device. Absent if nobody signed on.
    operator: Option<String>,
    /// For `revert`: the device of the scan to undo. Absent otherwise.
    target_device: Option<String>,
    /// For `revert`: the id of the scan to undo. Absent otherwise.
    target_scan_id: Option<String>,
    /// For `revert`: the number of persons who stay counted. 0 if absent.
    keep: Option<u32>,
    /// The signed time, in milliseconds since 1970.
    at_ms: i64,
    /// Half the width of the interval in which the true time lies, in milliseconds.
    uncertainty_ms: u64,
    clock: ClockDoc,
    /// The epoch of `manifest_version` and `cursor`. Absent if the device knew none.
    epoch: Option<String>,
    /// The version of the device's ticket list. 0 if absent.
    manifest_version: Option<u64>,
    /// The serial of the device's changes cursor. 0 if absent.
    cursor: Option<u64>,
    #[schema(value_type = Option<Object>)]
    basis: Option<()>,
    /// The scan's signature: `HMAC-SHA256-V2=` and 64 hexadecimal digits.
    signature: String,
}

/// A refusal that staff set aside.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = Override)]
pub struct OverrideDoc {
    /// The person who set it aside.
    by: String,
    /// The person's reason.
    reason: String,
}

/// The device's clocks at the time of the scan.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = ClockEvidence)]
pub struct ClockDoc {
    /// The wall clock, in milliseconds since 1970.
    wall_ms: i64,
    /// The monotonic clock, in milliseconds.
    mono_ms: i64,
    session_id: String,
    corrected: Option<bool>,
}

/// The changes after a cursor.
#[derive(ToSchema)]
pub struct ChangesAnswer {
    items: Vec<ChangedTicket>,
    /// The event's values. Absent if none of them changed.
    #[schema(value_type = Option<Object>)]
    event: Option<()>,
    /// All gates. Absent if none of them changed.
    gates: Option<Vec<ChangedGate>>,
    /// The names of the other devices whose scans are in `items`. Absent if there are none.
    devices: Option<Vec<NamedDevice>>,
    /// The version up to which this answer contains rule changes.
    manifest_version: u64,
    /// The cursor for the next request.
    cursor: String,
    /// Whether there are more changes. If true, the device should ask again at once.
    more: bool,
    /// True if the request's cursor belongs to another epoch. The device must start without a cursor. Absent otherwise.
    resync: Option<bool>,
    server_time: String,
}

/// A ticket that changed.
#[derive(ToSchema)]
pub struct ChangedTicket {
    ticket_id: String,
    #[schema(value_type = Object)]
    rules: (),
    barcode_hashes: Vec<String>,
    /// The sum of the ticket's older scans, which `scans` leaves out.
    #[schema(value_type = Object)]
    prefix: (),
    /// The ticket's newest scans that count, at most 16.
    #[schema(value_type = Vec<Object>)]
    scans: (),
}

/// A gate with its newest rules.
#[derive(ToSchema)]
pub struct ChangedGate {
    gate_id: String,
    #[schema(value_type = Object)]
    rules: (),
}

/// The signed ticket list (S1 §2.2 and the members of spec §5).
#[derive(ToSchema)]
pub struct Manifest {
    event_id: String,
    event_name: String,
    manifest_version: u64,
    organization_id: String,
    /// A hash over all codes of the list: `sha256:` and 64 hexadecimal digits.
    content_hash: String,
    starts_at: String,
    ends_at: String,
    #[schema(value_type = Option<Object>)]
    staff_pin: Option<()>,
    /// Re-entry mode: `never`, `after_gap`, `after_exit` or `daily`.
    re_entry: String,
    /// The least time between two entries in the mode `after_gap`, in seconds.
    min_gap_seconds: u32,
    /// `draft` (scans are practice), `live`, `ended` or `archived` (nobody is let in).
    status: String,
    /// The most persons without a ticket whom staff may add at all gates together. Absent for no limit.
    walk_ins: Option<u32>,
    /// The times at which days begin. Absent if no re-entry mode is `daily`.
    days: Option<Vec<String>>,
    /// Limits by zone: `{re_entry, per_gate, uses}`. A member is absent if the event's own value holds. Absent if no
    /// zone has limits of its own.
    #[schema(value_type = Option<Object>)]
    limits: Option<()>,
    /// The event's time zone: `{zone, offsets: [{from, offset_s}]}`. Each offset, in seconds ahead of UTC, holds from
    /// its time `from` on. The first offset also holds before its time.
    #[schema(value_type = Option<Object>)]
    clock: Option<()>,
    /// Kinds of codes that cameras read in addition to QR. Absent if there are none.
    barcode_kinds: Option<Vec<String>>,
    /// The names that staff use for zones: `{zone: name}`. Absent if no zone has a name.
    #[schema(value_type = Option<Object>)]
    zone_names: Option<()>,
    gates: Vec<ManifestGate>,
    /// All codes of the list. Absent in a delta, which has `since`, `upserts` and `tombstones` instead.
    tickets: Option<Vec<ManifestTicket>>,
    /// In a delta: the version on which it is based. Absent otherwise.
    since: Option<u64>,
    /// In a delta: the new and changed codes. Absent otherwise.
    upserts: Option<Vec<ManifestTicket>>,
    /// In a delta: the removed codes. Absent otherwise.
    tombstones: Option<Vec<String>>,
    generated_at: String,
    /// From this time on, the device must treat the list as outdated.
    expires_at: String,
    /// Server time minus device time, in seconds.
    offset_seconds: i64,
    epoch: String,
    serial: u64,
    /// HMAC of the body without this member.
    signature: String,
}

/// A code in the ticket list.
#[derive(ToSchema)]
pub struct ManifestTicket {
    ticket_id: String,
    barcode_hash: String,
    zone: String,
    gate_ids: Vec<String>,
    entry_limit: u32,
    is_valid: bool,
    status: String,
    valid_from: Option<String>,
    expires_at: Option<String>,
}

/// Guests' names for devices at gates that allow them (spec §5).
#[derive(ToSchema)]
pub struct Names {
    event_id: String,
    organization_id: String,
    names_version: u64,
    /// A hash over all names: `sha256:` and 64 hexadecimal digits.
    content_hash: String,
    /// The labels of the guest fields that verdicts show. Absent if verdicts show none.
    labels: Option<Vec<String>>,
    /// All names. Absent in a delta, which has `since` and `upserts` instead.
    names: Option<Vec<GuestName>>,
    /// In a delta: the version on which it is based. Absent otherwise.
    since: Option<u64>,
    /// In a delta: the new and changed names. Absent otherwise.
    upserts: Option<Vec<GuestName>>,
    generated_at: String,
    epoch: String,
    serial: u64,
    /// HMAC of the body without this member.
    signature: String,
}

/// A guest whom staff added at the gate. The signature covers the digest of the name, not the name itself.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = WalkIn)]
pub struct WalkInDoc {
    /// The zone of the guest's ticket.
    zone: String,
    #[schema(minimum = 1, maximum = 10000)]
    party: u32,
    /// SHA-256 of the salt followed by the name, as hexadecimal digits.
    name_digest: String,
    /// The guest's name. Absent if it was erased.
    name: Option<String>,
    /// 16 random bytes, as hexadecimal digits. Absent if the name was erased.
    salt: Option<String>,
}

/// Staff's count. It has either `change` or `recount`, never both.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = Headcount)]
pub struct HeadcountDoc {
    change: Option<HeadcountChangeDoc>,
    recount: Option<RecountDoc>,
}

/// People without a ticket who came in or went out.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = HeadcountChange)]
pub struct HeadcountChangeDoc {
    /// `staff`, `crew`, `child` or `other`.
    class: String,
    /// Number of persons who came in, 1 to 50; below zero, who went out.
    #[schema(minimum = -50, maximum = 50)]
    delta: i32,
}

/// A count of everybody in the area behind the gate.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = Recount)]
pub struct RecountDoc {
    #[schema(maximum = 1000000)]
    inside: u32,
}

/// A scan that the server is asked about: in S2's form, or a signed claim in Admit's own form.
#[derive(ToSchema, serde::Deserialize)]
#[serde(untagged)]
pub enum OnlineRequest {
    /// A scan in Admit's own form whose `stage` is `claim`.
    Claim(Box<ScanV2>),
    /// A scan in S2's form.
    S2(ScanS2),
}

/// The result of a batch. For a repeated batch it also has `message`.
#[derive(ToSchema)]
pub struct ScansSyncAnswer {
    batch_id: String,
    /// `completed`, or `partial_success` if there is an error other than `already_scanned`.
    status: String,
    /// Number of scans without an error.
    processed_count: u64,
    /// Number of scans listed in `errors`.
    error_count: u64,
    summary: Summary,
    /// The scans with an error. These scans are stored too, and being listed confirms that.
    errors: Vec<ScanError>,
    /// The times of the oldest and the newest scan.
    #[schema(min_items = 2, max_items = 2)]
    timestamp_range: Vec<String>,
    #[schema(format = DateTime)]
    timestamp: String,
    sync_duration_seconds: f64,
    /// For a repeated batch: `Batch already synced (idempotent)`. Absent otherwise.
    message: Option<String>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use admit_core::wire::{scanning, scans};
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};
    use utoipa::PartialSchema;

    use super::*;

    fn keys(value: &Value) -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    }
    fn described<D: PartialSchema>() -> BTreeSet<String> {
        keys(&serde_json::to_value(D::schema()).unwrap()["properties"])
    }
    /// Checks an example with every member: core reads it and writes it back, and the description names the same
    /// members.
    fn same<C: Serialize + DeserializeOwned, D: PartialSchema>(example: Value) {
        let core: C = serde_json::from_value(example.clone()).unwrap_or_else(|error| panic!("{error}: {example}"));
        assert_eq!(keys(&serde_json::to_value(core).unwrap()), described::<D>(), "{}", std::any::type_name::<C>());
    }

    const HASH: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
    const TIME: &str = "2026-06-07T19:30:00Z";
    const EPOCH: &str = "1780860600000-00000000000000ab";

    #[test]
    fn requests_are_described_as_core_reads_them() {
        same::<scanning::SyncRequest, SyncRequest>(json!({
            "device_id": "d", "sync_batch_id": "b", "format": 2, "batch_created_at": TIME, "offset_seconds": 1,
            "log_id": "l", "head": 1, "scans": [],
        }));
        same::<scanning::ScanV1, ScanV1>(json!({
            "scan_id": "s", "ticket_id": "t", "barcode_hash": HASH, "scanned_at": TIME, "gate_id": "g",
            "outcome": "valid", "signature": "x",
        }));
        same::<scanning::ScanV2, ScanV2>(json!({
            "scan_id": "s", "device_id": "d", "log_id": "l", "seq": 1, "prev": "0".repeat(32), "key_id": "k",
            "event_id": "e", "gate_id": "g", "kind": "revert", "stage": "final", "method": "qr", "barcode_hash": HASH,
            "raw_hash": HASH, "ticket_id": "t", "count": 1, "outcome": "valid", "opened": true, "practice": true,
            "override": { "by": "a", "reason": "b" },
            "walk_in": { "zone": "z", "party": 1, "name_digest": "0".repeat(64), "name": "n", "salt": "0".repeat(32) },
            "headcount": { "recount": { "inside": 412 } }, "operator": "o", "target_device": "d", "target_scan_id": "s",
            "keep": 1, "at_ms": 1, "uncertainty_ms": 1,
            "clock": { "wall_ms": 1, "mono_ms": 1, "session_id": "s", "corrected": true }, "epoch": EPOCH,
            "manifest_version": 1, "cursor": 1, "basis": { "within": 1, "inside": 1 }, "signature": "x",
        }));
    }

    #[test]
    fn a_batch_of_s2s_form_is_answered_as_described_and_a_repeat_has_a_message_beside() {
        let mut members = described::<ScansSyncAnswer>();
        assert!(members.remove("message"));
        let answer = json!({
            "batch_id": "b", "status": "completed", "processed_count": 0, "error_count": 0, "summary": {
                "total_scans": 1, "new_scans": 1, "duplicate_scans": 0, "missing_tickets": 0, "invalid_tickets": 0,
            }, "errors": [], "timestamp_range": [TIME, TIME], "timestamp": TIME, "sync_duration_seconds": 0.5,
        });
        let core: scans::ScansSyncAnswer = serde_json::from_value(answer).unwrap();
        assert_eq!(keys(&serde_json::to_value(core).unwrap()), members);
    }
}
