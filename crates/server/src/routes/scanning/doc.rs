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

/// A device that asked for itself waits for an organiser.
#[derive(ToSchema)]
pub struct PairingWaiting {
    /// `waiting`.
    status: String,
    /// The end of its code.
    expires_at: String,
}

/// An upload.
#[derive(ToSchema)]
pub struct SyncRequest {
    /// Must be the authenticated device.
    device_id: String,
    /// Idempotency key of the batch.
    sync_batch_id: String,
    /// Absent or 1: S1's items; 2: items with every field of ours.
    format: Option<u8>,
    /// When this attempt was made.
    batch_created_at: Option<String>,
    /// S1: server time − device time, seconds.
    offset_seconds: Option<i64>,
    /// Ours: the sender's log.
    log_id: Option<String>,
    /// Ours: highest `seq` of that log.
    head: Option<u64>,
    scans: Vec<SyncItem>,
}

/// An item of an upload: S1's form, or with `"format": 2` ours. Each is read alone.
#[derive(ToSchema, serde::Deserialize)]
#[serde(untagged)]
pub enum SyncItem {
    /// A scan of our form.
    V2(Box<ScanV2>),
    /// S1's.
    V1(ScanV1),
}

/// A scan in S1's form (S1 §4.2).
#[derive(ToSchema, serde::Deserialize)]
pub struct ScanV1 {
    scan_id: String,
    ticket_id: Option<String>,
    /// `sha256:` and 64 hexadecimal digits.
    barcode_hash: String,
    /// RFC 3339, the device's clock.
    scanned_at: String,
    gate_id: String,
    /// `valid`, `duplicate`, `invalid`, `gate_access_denied` or `expired`.
    outcome: String,
    /// `HMAC-SHA256=` and 64 hexadecimal digits.
    signature: String,
}

/// A scan in our form.
#[derive(ToSchema, serde::Deserialize)]
pub struct ScanV2 {
    scan_id: String,
    device_id: String,
    log_id: String,
    /// Place in the log, from 1.
    seq: u64,
    /// First 16 bytes of the digest of the scan before, hexadecimal.
    prev: String,
    key_id: String,
    event_id: String,
    gate_id: String,
    /// `entry`, `exit`, `revert` or `headcount`.
    kind: String,
    /// `claim` or `final`.
    stage: String,
    /// `qr`, `manual` or `import`.
    method: String,
    barcode_hash: Option<String>,
    raw_hash: Option<String>,
    ticket_id: Option<String>,
    /// Persons; 1 when absent.
    #[schema(minimum = 1, maximum = 10000)]
    count: Option<u32>,
    outcome: String,
    opened: bool,
    /// Taken while the list said draft: it counts nothing. False when absent.
    practice: Option<bool>,
    #[serde(rename = "override")]
    override_: Option<OverrideDoc>,
    walk_in: Option<WalkInDoc>,
    headcount: Option<HeadcountDoc>,
    operator: Option<String>,
    target_device: Option<String>,
    target_scan_id: Option<String>,
    keep: Option<u32>,
    /// Signed time, milliseconds since 1970.
    at_ms: i64,
    /// ± milliseconds.
    uncertainty_ms: u64,
    clock: ClockDoc,
    epoch: Option<String>,
    manifest_version: Option<u64>,
    cursor: Option<u64>,
    #[schema(value_type = Option<Object>)]
    basis: Option<()>,
    /// `HMAC-SHA256-V2=` and 64 hexadecimal digits.
    signature: String,
}

/// A refusal set aside by staff.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = Override)]
pub struct OverrideDoc {
    by: String,
    reason: String,
}

/// A device's raw clock evidence.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = ClockEvidence)]
pub struct ClockDoc {
    wall_ms: i64,
    mono_ms: i64,
    session_id: String,
    corrected: Option<bool>,
}

/// The changes after a cursor.
#[derive(ToSchema)]
pub struct ChangesAnswer {
    items: Vec<ChangedTicket>,
    /// The event's values, when one of them changed.
    #[schema(value_type = Option<Object>)]
    event: Option<()>,
    /// All gates, when one of them changed.
    gates: Option<Vec<ChangedGate>>,
    /// The other devices whose scans stand in `items`, as staff call them.
    devices: Option<Vec<NamedDevice>>,
    manifest_version: u64,
    /// Ask from here next.
    cursor: String,
    /// There is more: ask again at once.
    more: bool,
    /// The cursor was of another epoch: begin anew.
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
    /// The sum of the scans before those of `scans`.
    #[schema(value_type = Object)]
    prefix: (),
    /// The newest scans that count, at most 16.
    #[schema(value_type = Vec<Object>)]
    scans: (),
}

/// A gate and its newest rules.
#[derive(ToSchema)]
pub struct ChangedGate {
    gate_id: String,
    #[schema(value_type = Object)]
    rules: (),
}

/// The signed list (S1 §2.2 and the members of spec §5).
#[derive(ToSchema)]
pub struct Manifest {
    event_id: String,
    event_name: String,
    manifest_version: u64,
    organization_id: String,
    /// `sha256:` over all codes.
    content_hash: String,
    starts_at: String,
    ends_at: String,
    #[schema(value_type = Option<Object>)]
    staff_pin: Option<()>,
    /// `never`, `after_gap`, `after_exit` or `daily`.
    re_entry: String,
    min_gap_seconds: u32,
    /// `draft` (scans are practice), `live`, `ended` or `archived` (nobody is let in).
    status: String,
    /// Persons whom staff may add at the doors; absent: no number.
    walk_ins: Option<u32>,
    /// Instants at which days begin; absent where nothing is daily.
    days: Option<Vec<String>>,
    /// By zone: `{re_entry, per_gate, uses}`, each absent where the event's own holds; absent without any.
    #[schema(value_type = Option<Object>)]
    limits: Option<()>,
    /// The clocks of the event's zone: `{zone, offsets: [{from, offset_s}]}`. Each offset, in seconds ahead of UTC, holds from
    /// its moment on; the first holds before that too.
    #[schema(value_type = Option<Object>)]
    clock: Option<()>,
    /// Kinds of codes that cameras read beside QR; absent where there are none.
    barcode_kinds: Option<Vec<String>>,
    /// How staff call each zone: `{zone: name}`; absent where no zone has a name.
    #[schema(value_type = Option<Object>)]
    zone_names: Option<()>,
    gates: Vec<ManifestGate>,
    /// All of them; a delta has `since`, `upserts` and `tombstones` instead.
    tickets: Option<Vec<ManifestTicket>>,
    since: Option<u64>,
    upserts: Option<Vec<ManifestTicket>>,
    tombstones: Option<Vec<String>>,
    generated_at: String,
    expires_at: String,
    offset_seconds: i64,
    epoch: String,
    serial: u64,
    /// HMAC of the body with this member cut out.
    signature: String,
}

/// A code in a list.
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
    /// `sha256:` over all names.
    content_hash: String,
    /// Labels of the guests' fields that verdicts show; absent where they show none.
    labels: Option<Vec<String>>,
    /// All of them; a delta has `since` and `upserts` instead.
    names: Option<Vec<GuestName>>,
    since: Option<u64>,
    upserts: Option<Vec<GuestName>>,
    generated_at: String,
    epoch: String,
    serial: u64,
    /// HMAC of the body with this member cut out.
    signature: String,
}

/// A guest added at the door: what is signed, and beside it the name that the signed digest is of.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = WalkIn)]
pub struct WalkInDoc {
    zone: String,
    #[schema(minimum = 1, maximum = 10000)]
    party: u32,
    /// SHA-256 of the salt and the name behind it, hexadecimal.
    name_digest: String,
    name: Option<String>,
    /// 16 random bytes, hexadecimal.
    salt: Option<String>,
}

/// Staff's count: `change` or `recount`, never both.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = Headcount)]
pub struct HeadcountDoc {
    change: Option<HeadcountChangeDoc>,
    recount: Option<RecountDoc>,
}

/// People without a ticket who came in, or went out.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = HeadcountChange)]
pub struct HeadcountChangeDoc {
    /// `staff`, `crew`, `child` or `other`.
    class: String,
    /// Persons who came in, 1 to 50; below zero, who went out.
    #[schema(minimum = -50, maximum = 50)]
    delta: i32,
}

/// Everybody in the area behind the gate.
#[derive(ToSchema, serde::Deserialize)]
#[schema(as = Recount)]
pub struct RecountDoc {
    #[schema(maximum = 1000000)]
    inside: u32,
}

/// The question: a scan in S2's form, or a signed claim of ours.
#[derive(ToSchema, serde::Deserialize)]
#[serde(untagged)]
pub enum OnlineRequest {
    /// A claim: `stage` is `claim`.
    Claim(Box<ScanV2>),
    /// S2's form.
    S2(ScanS2),
}

/// The result of a batch. A repeat brings `message` beside.
#[derive(ToSchema)]
pub struct ScansSyncAnswer {
    batch_id: String,
    /// `completed`, or `partial_success` where an error is other than `already_scanned`.
    status: String,
    /// Scans without an error.
    processed_count: u64,
    /// Scans listed in `errors`.
    error_count: u64,
    summary: Summary,
    /// The scans with an error. A listed scan is stored all the same: being listed is a receipt.
    errors: Vec<ScanError>,
    /// Times of the oldest and the newest scan.
    #[schema(min_items = 2, max_items = 2)]
    timestamp_range: Vec<String>,
    #[schema(format = DateTime)]
    timestamp: String,
    sync_duration_seconds: f64,
    /// `Batch already synced (idempotent)`, for a repeat only.
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
