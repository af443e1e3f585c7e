//! `/api/scanning/*`: what devices send and receive (S1 §4, §8; spec §5 "Devices").

mod figures;
mod item;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

pub use self::figures::{Figures, MOST_BUCKETS, Observed};
pub use self::item::{Evidence, Named, Readable, ScanV1, ScanV2, SentTime, WalkInItem, raw_item};
use super::bounded::at_most;
use super::hex;
use super::ids::as_text;
use super::problem::FieldError;
use super::text::from_json;
use crate::barcode::{BarcodeHash, unhex_into};
use crate::event::EventRules;
use crate::gate::GateRules;
use crate::ids::{BatchId, DeviceId, EventId, GateId, KeyId, LogId, OrganizationId, ScanId, TicketId};
use crate::limits;
use crate::reduce::{ConflictReason, EffectiveScan, TicketState};
use crate::rule::{Epoch, whole};
use crate::sign;
use crate::ticket::TicketRules;
use crate::time::Timestamp;
use crate::words::words;

/// The header with the newest [`Witness`], in answers and requests.
pub const WITNESS_HEADER: &str = "x-admit-witness";
/// The header with the HMAC of the body as received (spec D5).
pub const SIGNATURE_HEADER: &str = "x-signature";
/// The header with the device's wall clock at a manifest request, in RFC 3339.
pub const DEVICE_TIME_HEADER: &str = "x-device-time";
/// The header with the server's time.
pub const SERVER_TIME_HEADER: &str = "x-server-time";

// ------------------------------------------------------------------------------------------------ cursor and witness

/// The point up to which a device knows an event's changes: epoch and serial, written `epoch.serial` (spec §3). If one
/// serial changed more tickets than an answer holds, `/` and the id of the answer's last ticket follow, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// The epoch to which the serial belongs.
    pub epoch: Epoch,
    /// The device knows everything up to and including this serial.
    pub serial: u64,
    /// Set if the last answer ended in the middle of the changes of the serial after `serial`: the device knows these
    /// changes for tickets up to this one. `None` if it knows none of them.
    pub after: Option<TicketId>,
}

impl Cursor {
    /// The cursor of a device that knows everything up to and including `serial`.
    pub fn at(epoch: Epoch, serial: u64) -> Self {
        Self { epoch, serial, after: None }
    }
}

/// The error for a text that is not a cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a cursor as the server gave it")]
pub struct CursorError;

crate::words::described!(Cursor, &[]);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.serial)?;
        match &self.after {
            Some(ticket_id) => write!(f, "/{}", crate::barcode::hex(ticket_id.as_str().as_bytes())),
            None => Ok(()),
        }
    }
}
impl FromStr for Cursor {
    type Err = CursorError;
    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (place, after) = text.split_once('/').map_or((text, None), |(place, after)| (place, Some(after)));
        let (epoch, serial) = place.rsplit_once('.').ok_or(CursorError)?;
        let epoch = epoch.parse().map_err(|_| CursorError)?;
        let serial = whole(serial).ok_or(CursorError)?;
        let after =
            after.map(|hex| unhex_text(hex).and_then(|id| TicketId::new(id).ok()).ok_or(CursorError)).transpose()?;
        Ok(Self { epoch, serial, after })
    }
}
fn unhex_text(hex: &str) -> Option<String> {
    let mut bytes = vec![0; hex.len() / 2];
    if unhex_into(hex, &mut bytes) { String::from_utf8(bytes).ok() } else { None }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The server's statement about where an event's ledger ended at some moment. Devices keep witnesses, and each request
/// carries one: the oldest that the server has not confirmed, otherwise the newest. So a server whose database was put
/// back to an older copy notices that (spec §3 "Epoch and witness"). In a header it is one line of compact JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// The server's epoch.
    pub epoch: Epoch,
    /// The event of the ledger.
    pub event_id: EventId,
    /// The event's head serial.
    pub serial: u64,
    /// Head of the event's audit chain at `serial`.
    #[serde(with = "hex")]
    pub audit_head: [u8; 32],
    /// The proof that the server made this statement.
    #[serde(with = "hex")]
    pub mac: [u8; 32],
}

/// The error for a header that is not a witness.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a witness as the server gave it")]
pub struct WitnessError;

impl Witness {
    /// Makes a witness under `ADMIT_SECRET`.
    pub fn new(secret: &[u8], epoch: Epoch, event_id: &EventId, serial: u64, audit_head: [u8; 32]) -> Self {
        let mac = sign::witness_mac(secret, epoch, event_id, serial, &audit_head);
        Self { epoch, event_id: event_id.clone(), serial, audit_head, mac }
    }
    /// Whether this server's secret made the witness.
    pub fn is_ours(&self, secret: &[u8]) -> bool {
        sign::check_witness_mac(secret, self.epoch, &self.event_id, self.serial, &self.audit_head, &self.mac)
    }
}
impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}
impl FromStr for Witness {
    type Err = WitnessError;
    fn from_str(text: &str) -> Result<Self, WitnessError> {
        from_json(text.as_bytes()).map_err(|_| WitnessError)
    }
}

// -------------------------------------------------------------------------------------------------------------- sync

/// `POST /api/scanning/sync`. The items stay raw text, since each is read separately ([`ScanV1::read`],
/// [`ScanV2::read`]).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SyncRequest {
    /// The device, which must be the authenticated one.
    pub device_id: DeviceId,
    /// The idempotency key of the batch (spec D2).
    pub sync_batch_id: BatchId,
    /// Absent or 1 for items in S1's form, 2 for Admit's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<u8>,
    /// When this attempt was made, by the device's corrected clock (spec D13).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_created_at: Option<Timestamp>,
    /// S1: server time minus device time, in seconds. It is not content (spec D2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_seconds: Option<i64>,
    /// Admit's form: the sender's own log. Absent in S1's form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_id: Option<LogId>,
    /// Admit's form: the highest `seq` of that log. Absent in S1's form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<u64>,
    /// The scans. Reading stops if there are too many.
    #[serde(deserialize_with = "scans")]
    pub scans: Vec<Box<RawValue>>,
}

fn scans<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<Box<RawValue>>, D::Error> {
    at_most(source, limits::SYNC_V2_SCANS, "scans")
}

impl SyncRequest {
    /// Whether the items have Admit's form.
    pub fn is_ours(&self) -> bool {
        self.format == Some(2)
    }
    /// Checks the request's other members and the number of its scans, but not the scans. At most `most_v1` scans in
    /// S1's form are allowed, or `most_v2` in Admit's own.
    pub fn check(&self, most_v1: usize, most_v2: usize) -> Result<(), FieldError> {
        if !matches!(self.format, None | Some(1 | 2)) {
            return Err(FieldError::new("format", "must be 1 or 2"));
        }
        let most = if self.is_ours() { most_v2 } else { most_v1 };
        if self.scans.len() > most {
            return Err(FieldError::new("scans", format_args!("must hold at most {most} scans")));
        }
        if self.log_id.is_some() != self.head.is_some() {
            return Err(FieldError::new("head", "must be given together with log_id"));
        }
        if self.head.is_some_and(|head| head > limits::JSON_INTEGER) {
            return Err(FieldError::new("head", format_args!("must be at most {}", limits::JSON_INTEGER)));
        }
        Ok(())
    }
}

/// The answer to a sync. A repeated batch gets the same stored bytes (spec D2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SyncAnswer {
    /// The batch.
    pub batch_id: BatchId,
    /// Receipts: every scan of the batch that is stored now, new or known before.
    pub processed: Vec<ScanId>,
    /// Always empty (S1's invariant 3).
    pub skipped: Vec<ScanId>,
    /// Items that are refused and will not be taken later.
    pub rejected: Vec<Rejected>,
    /// The conflicts that this upload revealed.
    pub conflicts: Vec<Conflict>,
    /// The cursor of the device's event after this batch.
    pub cursor: Cursor,
    /// The server's time.
    pub server_time: Timestamp,
}

/// An item that is refused and will not be taken later. The device lists it as a problem and sends it no more. It stays
/// in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rejected {
    /// The item's id. Absent if it could not be read.
    pub scan_id: Option<String>,
    /// The item's index in the request, from 0.
    pub index: usize,
    /// The wrong field, and what it must be.
    pub reason: String,
    /// Whether the server keeps the item's bytes. If so, this is a receipt.
    pub kept: bool,
}

words! {
    /// S1's name of a finding (S1 §5.2).
    ConflictResult {
        /// Persons beyond the limit were let in.
        DoubleEntry = "DOUBLE_ENTRY",
        /// A ticket was scanned again, and the door stayed shut.
        DuplicateScan = "DUPLICATE_SCAN",
    }
    /// The severity that S1 gives to a conflict.
    ConflictSeverity {
        /// The severity of `DUPLICATE_SCAN`.
        Low = "LOW",
        /// The severity of `DOUBLE_ENTRY`.
        Critical = "CRITICAL",
    }
    /// The kind of a device.
    DeviceType {
        /// A tablet.
        Ipad = "ipad",
        /// A phone.
        Phone = "phone",
        /// A computer with a browser.
        Desktop = "desktop",
        /// The terminal scanner.
        Terminal = "terminal",
    }
}

/// A finding that an upload caused (spec §5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Conflict {
    /// The uploaded scan that the finding is about.
    pub scan_id: ScanId,
    /// The ticket of that scan. Absent if the code is unknown.
    pub ticket_id: Option<TicketId>,
    /// The kind of conflict.
    pub result: ConflictResult,
    /// The severity of the conflict.
    pub severity: ConflictSeverity,
    /// The same kind, in the word that the scan's record uses.
    pub conflict_reason: ConflictReason,
    /// The scans that took the entry.
    pub entry_scans: Vec<ConflictScan>,
    /// The scans that let persons in beyond the limit.
    pub double_entry_scans: Vec<ConflictScan>,
}

impl Conflict {
    /// The result and the severity that S1 gives to a conflict reason.
    pub fn words(reason: ConflictReason) -> (ConflictResult, ConflictSeverity) {
        match reason {
            ConflictReason::DoubleEntry => (ConflictResult::DoubleEntry, ConflictSeverity::Critical),
            ConflictReason::DuplicateScan => (ConflictResult::DuplicateScan, ConflictSeverity::Low),
        }
    }
}

/// A scan's part in a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConflictScan {
    /// The device that made the scan.
    pub device_id: DeviceId,
    /// The scan's id.
    pub scan_id: ScanId,
    /// The gate of the scan.
    pub gate_id: GateId,
    /// When the scan was made.
    pub at: Timestamp,
    /// Half the width of the interval in which the true time lies, in milliseconds.
    pub uncertainty_ms: u64,
    /// Number of persons.
    pub count: u32,
}

/// Members of a `device_revoked` problem (spec D10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevokedDetails {
    /// Receipts: scans that the server keeps unverified.
    pub kept: Vec<ScanId>,
    /// Items that are refused. The server keeps their bytes.
    #[serde(default)]
    pub rejected: Vec<Rejected>,
    /// How many more scans the server will keep.
    pub quota_left: u64,
}

// ----------------------------------------------------------------------------------------------------------- pairing

/// `POST /api/scanning/pair` (S1 §8.1, spec D11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PairRequest {
    /// The token from the organiser's screen, or from this device's own request.
    pub pairing_token: String,
    /// The device's own id, which stays the same when it is paired again.
    pub device_id: DeviceId,
    /// The secret that belongs to the device's own pairing request. Absent if the token came from an organiser's
    /// screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_secret: Option<String>,
    /// The name that staff give to the device. Absent if they gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The device's kind. Absent from S1's clients, which do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_type: Option<DeviceType>,
    /// The version of the device's app. Absent if it does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_version: Option<String>,
}

/// The answer to a pairing.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PairAnswer {
    /// The device.
    pub device_id: DeviceId,
    /// The device's key, which the server shows only this once.
    pub api_key: String,
    /// The key's id, for v2 signatures.
    pub key_id: KeyId,
    /// The organisation that the device now belongs to.
    pub organization_id: OrganizationId,
    /// The event that it scans for.
    pub event_id: EventId,
    /// The gate that it scans at.
    pub gate_id: GateId,
    /// The server's epoch.
    pub epoch: Epoch,
    /// The name that staff use for the device. It is the name that the device asked for. If another device took that
    /// name first, it is the gate's name with the next free number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
impl fmt::Debug for PairAnswer {
    /// Leaves the key out, so that it never reaches a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairAnswer")
            .field("device_id", &self.device_id)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

/// `POST /api/scanning/pairing-requests`: a device asks to be paired (spec D11 way (b)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PairingAsk {
    /// The device's own id, which stays the same when it is paired again.
    pub device_id: DeviceId,
    /// The name that staff give to the device. Absent if they gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The device's kind. Absent if it does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_type: Option<DeviceType>,
}

/// The answer to a device that asks to be paired.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PairingTicket {
    /// The token that the device shows as a QR code. The token alone gives no access.
    pub pairing_token: String,
    /// The secret that the device shows to nobody.
    pub claim_secret: String,
    /// When the token and the secret expire.
    pub expires_at: Timestamp,
}
impl fmt::Debug for PairingTicket {
    /// Leaves the secret out, so that it never reaches a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairingTicket").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

/// Members of a `device_suspended` problem (spec D19): the scans of the batch that are stored and held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspendedDetails {
    /// Receipts: scans that are stored.
    pub kept: Vec<ScanId>,
    /// Items that are refused and will not be taken later.
    #[serde(default)]
    pub rejected: Vec<Rejected>,
}

// ------------------------------------------------------------------------------------- heartbeat, time, log, changes

/// `POST /api/scanning/events/{id}/heartbeat`. A device sends it every 30 s while it is online.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatRequest {
    /// The device's log.
    pub log_id: LogId,
    /// The highest `seq` of that log. 0 if it is empty.
    pub head: u64,
    /// Scans no receipt names yet.
    pub pending: u64,
    /// Battery level in percent. Absent if the device does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 100))]
    pub battery: Option<u8>,
    /// The version of the device's app. Absent if it does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_version: Option<String>,
    /// The version of the list by which the device decides. 0 if it has none.
    #[serde(default)]
    pub manifest_version: u64,
    /// Server time minus the device's wall clock as the device measured it, in milliseconds. Absent if it measured
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_offset_ms: Option<i64>,
    /// The figures that only the device can measure. Absent from clients that measure none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
    /// The gate that staff chose on the device. The device sends it until the server's answer names this gate. Absent
    /// if they chose none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate_id: Option<GateId>,
}

/// The answer to a heartbeat: what the device should know without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatAnswer {
    /// The server's time.
    pub server_time: Timestamp,
    /// The event to which the device is assigned now.
    pub event_id: EventId,
    /// The gate to which the device is assigned now.
    pub gate_id: GateId,
    /// The newest list's version.
    pub manifest_version: u64,
    /// The event's newest change.
    pub cursor: Cursor,
    /// Whether the device's uploads are held until the organiser counts them (spec D19).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
    /// Persons in the area that the device's gate leads to, as the server counts them. Absent if the gate has no
    /// capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area_inside: Option<u32>,
    /// Persons without a ticket whom staff added at all doors of the event. Absent if staff at this gate may add none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk_ins: Option<u32>,
    /// When an organiser looked for this device, if that was within two minutes. The device then rings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung_at: Option<Timestamp>,
}

/// The answer to `GET /api/scanning/time`: when the request arrived and when the answer left, by the database's clock.
/// By these times a device measures the offset of its own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TimeAnswer {
    /// When the request came, milliseconds since 1970.
    pub received_at_ms: i64,
    /// When the answer left, milliseconds since 1970.
    pub sent_at_ms: i64,
    /// The same time as `sent_at_ms`, as RFC 3339.
    pub server_time: Timestamp,
}

/// `POST /api/scanning/log-status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogStatusRequest {
    /// The log.
    pub log_id: LogId,
    /// The highest `seq` of the log. 0 if it is empty.
    pub head: u64,
}

/// The part of a log that the server lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogStatusAnswer {
    /// Ranges `[from, to]` of `seq`, in rising order. Both ends are included, and ranges don't touch.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Vec<u64>>))]
    pub missing: Vec<(u64, u64)>,
}

/// `GET /api/scanning/events/{id}/changes?cursor=`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangesAnswer {
    /// Changed tickets, at most 1,000.
    pub items: Vec<ChangedTicket>,
    /// The event's values. Absent if none of them changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventRules>,
    /// All gates. Absent if none of them changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<Vec<ChangedGate>>,
    /// The other devices whose scans stand in `items`, with their names. A duplicate's screen names the device of the
    /// first entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<NamedDevice>,
    /// The newest list's version.
    pub manifest_version: u64,
    /// The cursor for the next request.
    pub cursor: Cursor,
    /// Whether there is more. If so, ask again at once.
    pub more: bool,
    /// Whether the request's cursor belongs to another epoch. If so, the device fetches the list again, drops the
    /// changes that it received before, and continues from `cursor`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resync: bool,
    /// The server's time.
    pub server_time: Timestamp,
}

/// A ticket that changed: its newest rules and the scans that count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedTicket {
    /// The ticket's id.
    pub ticket_id: TicketId,
    /// The ticket's newest rules.
    pub rules: TicketRules,
    /// The hashes of all codes of the ticket.
    pub barcode_hashes: Vec<BarcodeHash>,
    /// The sum of the older scans, which `scans` leaves out.
    pub prefix: TicketState,
    /// The newest scans that count, at most 16, in the reducer's order.
    pub scans: Vec<EffectiveScan>,
}

/// A device and the name that staff use for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NamedDevice {
    /// The device.
    pub device_id: DeviceId,
    /// The name that staff use for it.
    pub name: String,
}

/// A gate and its newest rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedGate {
    /// The gate.
    pub gate_id: GateId,
    /// The newest rules of the gate.
    pub rules: GateRules,
}

as_text! {
    as_str: ConflictResult, ConflictSeverity, DeviceType,
}
