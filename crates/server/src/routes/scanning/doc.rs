//! The wire shapes of `admit_core::wire::{scanning, manifest}` as `/openapi.json` describes them. Core knows no OpenAPI;
//! a test compares the members of each shape with those of core's own type, so that the two cannot drift apart.
#![cfg_attr(not(test), expect(dead_code, reason = "described, never made: what is sent are core's types"))]
#![cfg_attr(test, allow(dead_code))]

use utoipa::ToSchema;

use super::doc_counted::{HeadcountDoc, WalkInDoc};

/// `POST /api/scanning/pair`.
#[derive(ToSchema)]
pub struct PairRequest {
    /// From the organiser's screen, or from the device's own request.
    pairing_token: String,
    /// The device's own id, kept over re-pairing; printable ASCII, 1–128 characters.
    device_id: String,
    /// Only for a request the device made itself: what it got with the token.
    claim_secret: Option<String>,
    /// How staff call it.
    name: Option<String>,
    /// `ipad`, `phone`, `desktop` or `terminal`.
    device_type: Option<String>,
    /// Version of its app.
    app_version: Option<String>,
}

/// The answer to a pairing.
#[derive(ToSchema)]
pub struct PairAnswer {
    device_id: String,
    /// Shown this once.
    api_key: String,
    /// The key's name, for v2 signatures.
    key_id: String,
    organization_id: String,
    event_id: String,
    gate_id: String,
    /// The server's epoch.
    epoch: String,
    /// How staff call the device: as it asked, unless another has that name and the server makes such names.
    name: String,
}

/// A device that asked for itself waits for an organiser.
#[derive(ToSchema)]
pub struct PairingWaiting {
    /// `waiting`.
    status: String,
    /// The end of its code.
    expires_at: String,
}

/// A device asks for itself.
#[derive(ToSchema)]
pub struct PairingAsk {
    /// The device's own id, kept over re-pairing; printable ASCII, 1–128 characters.
    device_id: String,
    /// How staff call it.
    name: Option<String>,
    /// `ipad`, `phone`, `desktop` or `terminal`.
    device_type: Option<String>,
}

/// The answer to a device that asks to be paired.
#[derive(ToSchema)]
pub struct PairingTicket {
    /// The token that the device shows as a QR code. Alone it opens nothing.
    pairing_token: String,
    /// The secret that the device shows to nobody.
    claim_secret: String,
    /// The end of both.
    expires_at: String,
}

/// A device tells how it is.
#[derive(ToSchema)]
pub struct HeartbeatRequest {
    log_id: String,
    /// Highest `seq` of the log; 0 = empty.
    head: u64,
    /// Scans no receipt names yet.
    pending: u64,
    /// Battery level in percent; absent where the device does not know it.
    #[schema(minimum = 0, maximum = 100)]
    battery: Option<u8>,
    app_version: Option<String>,
    /// Version of the list it decides by; 0 without one.
    manifest_version: Option<u64>,
    /// Server time − device wall clock, milliseconds.
    clock_offset_ms: Option<i64>,
    /// The figures that only the device can measure; absent from clients that measure none.
    figures: Option<Figures>,
    /// The gate of its event that staff chose on the device, until an answer names it: the server moves the device there.
    gate_id: Option<String>,
}

/// The figures that a device measured since the last heartbeat that was answered.
#[derive(ToSchema)]
pub struct Figures {
    /// Names this set of figures within the device: sent again it counts once.
    id: i64,
    /// From reading a code to the verdict on the screen: pairs of an upper bound in milliseconds, a power of two, and a count.
    scan_ms: Option<Vec<Vec<u64>>>,
    /// From a scan to the receipt that names it, likewise.
    sync_ms: Option<Vec<Vec<u64>>>,
    /// How long ago the device knew its list to be the newest, milliseconds.
    list_age_ms: Option<u64>,
}

/// The facts that a device should know without asking.
#[derive(ToSchema)]
pub struct HeartbeatAnswer {
    server_time: String,
    /// The device's event now.
    event_id: String,
    /// The device's gate now.
    gate_id: String,
    manifest_version: u64,
    cursor: String,
    /// The device's uploads are held until the organiser counts them; left out where they are not.
    suspended: Option<bool>,
    /// Persons in the gate's area now; only for a gate with a capacity.
    area_inside: Option<u32>,
    /// Persons added at all doors; only for a gate that adds guests.
    walk_ins: Option<u32>,
    /// When an organiser last looked for this device; left out after two minutes.
    rung_at: Option<String>,
}

/// The server's times, by the database's clock.
#[derive(ToSchema)]
pub struct TimeAnswer {
    /// Milliseconds since 1970.
    received_at_ms: i64,
    /// Milliseconds since 1970.
    sent_at_ms: i64,
    server_time: String,
}

/// `{log_id, head}`.
#[derive(ToSchema)]
pub struct LogStatusRequest {
    log_id: String,
    /// Highest `seq`; 0 = empty.
    head: u64,
}

/// The part of a log that the server lacks.
#[derive(ToSchema)]
pub struct LogStatusAnswer {
    /// Ranges `[from, to]`, both included, rising.
    missing: Vec<Vec<u64>>,
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

/// Receipts, refusals, findings.
#[derive(ToSchema)]
pub struct SyncAnswer {
    batch_id: String,
    /// Every scan now stored, new or known.
    processed: Vec<String>,
    /// Always empty.
    skipped: Vec<String>,
    rejected: Vec<Rejected>,
    conflicts: Vec<Conflict>,
    cursor: String,
    server_time: String,
}

/// An item refused for good.
#[derive(ToSchema)]
pub struct Rejected {
    scan_id: Option<String>,
    /// Place in the request, from 0.
    index: usize,
    reason: String,
    /// Whether the server keeps its bytes: then this is a receipt.
    kept: bool,
}

/// A finding caused by an upload.
#[derive(ToSchema)]
pub struct Conflict {
    scan_id: String,
    ticket_id: Option<String>,
    /// `DOUBLE_ENTRY` or `DUPLICATE_SCAN`.
    result: String,
    /// `CRITICAL` or `LOW`.
    severity: String,
    conflict_reason: String,
    entry_scans: Vec<ConflictScan>,
    double_entry_scans: Vec<ConflictScan>,
}

/// A scan's part in a conflict.
#[derive(ToSchema)]
pub struct ConflictScan {
    device_id: String,
    scan_id: String,
    gate_id: String,
    at: String,
    uncertainty_ms: u64,
    count: u32,
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

/// A device and how staff call it.
#[derive(ToSchema)]
pub struct NamedDevice {
    device_id: String,
    name: String,
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

/// A gate in a list.
#[derive(ToSchema)]
pub struct ManifestGate {
    gate_id: String,
    name: String,
    access_rules: AccessRules,
    /// `in`, `out` or `both`.
    direction: String,
    names_on_devices: bool,
    /// Whether staff here may add guests; absent where not.
    walk_ins: Option<bool>,
}

/// S1's rules of a gate.
#[derive(ToSchema)]
pub struct AccessRules {
    zones: Vec<String>,
    max_concurrent: Option<u32>,
    entry_rules: Vec<String>,
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

/// A guest as staff see them at the door.
#[derive(ToSchema)]
pub struct GuestName {
    ticket_id: String,
    name: String,
    party_size: u32,
    note: Option<String>,
    flag: Option<String>,
    /// Values of the fields that `labels` names, one a label, empty where there is none; absent where all would be empty.
    fields: Option<Vec<String>>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use admit_core::wire::{manifest, scanning};
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
        same::<scanning::PairRequest, PairRequest>(json!({
            "pairing_token": "t", "device_id": "d", "claim_secret": "s", "name": "n", "device_type": "phone",
            "app_version": "1",
        }));
        same::<scanning::PairingAsk, PairingAsk>(json!({ "device_id": "d", "name": "n", "device_type": "phone" }));
        same::<scanning::HeartbeatRequest, HeartbeatRequest>(json!({
            "log_id": "l", "head": 1, "pending": 1, "battery": 1, "app_version": "1", "manifest_version": 1,
            "clock_offset_ms": 1, "figures": { "id": 1 },
            "gate_id": "g",
        }));
        same::<scanning::Figures, Figures>(
            json!({ "id": 1, "scan_ms": [[8, 1]], "sync_ms": [[8, 1]], "list_age_ms": 1 }),
        );
        same::<scanning::LogStatusRequest, LogStatusRequest>(json!({ "log_id": "l", "head": 1 }));
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
    fn answers_are_described_as_core_writes_them() {
        let part = json!({
            "device_id": "d", "scan_id": "s", "gate_id": "g", "at": TIME, "uncertainty_ms": 1, "count": 1,
        });
        let conflict = json!({
            "scan_id": "s", "ticket_id": "t", "result": "DOUBLE_ENTRY", "severity": "CRITICAL",
            "conflict_reason": "double_entry", "entry_scans": [part], "double_entry_scans": [],
        });
        let rejected = json!({ "scan_id": "s", "index": 0, "reason": "r", "kept": true });
        same::<scanning::ConflictScan, ConflictScan>(part);
        same::<scanning::Conflict, Conflict>(conflict.clone());
        same::<scanning::Rejected, Rejected>(rejected.clone());
        same::<scanning::SyncAnswer, SyncAnswer>(json!({
            "batch_id": "b", "processed": ["s"], "skipped": [], "rejected": [rejected], "conflicts": [conflict],
            "cursor": format!("{EPOCH}.1"), "server_time": TIME,
        }));
        same::<scanning::PairAnswer, PairAnswer>(json!({
            "device_id": "d", "api_key": "k", "key_id": "k", "organization_id": "o", "event_id": "e", "gate_id": "g",
            "epoch": EPOCH, "name": "n",
        }));
        same::<scanning::HeartbeatAnswer, HeartbeatAnswer>(json!({
            "server_time": TIME, "event_id": "e", "gate_id": "g", "manifest_version": 1, "cursor": format!("{EPOCH}.1"),
            "suspended": true, "area_inside": 7, "walk_ins": 2, "rung_at": TIME,
        }));
        same::<scanning::PairingTicket, PairingTicket>(json!({
            "pairing_token": "t", "claim_secret": "s", "expires_at": TIME,
        }));
        same::<scanning::LogStatusAnswer, LogStatusAnswer>(json!({ "missing": [[1, 2]] }));
        same::<scanning::TimeAnswer, TimeAnswer>(json!({ "received_at_ms": 1, "sent_at_ms": 1, "server_time": TIME }));
        let gate = json!({
            "gate_id": "g", "name": "n", "access_rules": { "zones": [], "max_concurrent": 1, "entry_rules": [] },
            "direction": "in", "names_on_devices": false, "walk_ins": true,
        });
        same::<manifest::AccessRules, AccessRules>(gate["access_rules"].clone());
        same::<manifest::ManifestGate, ManifestGate>(gate);
    }
}
