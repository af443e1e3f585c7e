//! `/api/scanning/*`: what devices send and get (S1 §4, §8; spec §5 "Devices").

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

/// Header: the newest [`Witness`], in answers and requests.
pub const WITNESS_HEADER: &str = "x-admit-witness";
/// Header: HMAC of the body as received (spec D5).
pub const SIGNATURE_HEADER: &str = "x-signature";
/// Header: the device's wall clock at a manifest request, RFC 3339.
pub const DEVICE_TIME_HEADER: &str = "x-device-time";
/// Header: the server's time.
pub const SERVER_TIME_HEADER: &str = "x-server-time";

// ------------------------------------------------------------------------------------------------ cursor and witness

/// A place in an event's changes: the epoch and the serial, written `epoch.serial` (spec §3). Where one serial changed
/// more tickets than an answer holds, `/` and the last ticket given follow, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// The epoch the serial belongs to.
    pub epoch: Epoch,
    /// Everything up to and with this serial is known.
    pub serial: u64,
    /// Of the serial after `serial`, only the tickets up to this one are known. `None`: nothing of it is.
    pub after: Option<TicketId>,
}

impl Cursor {
    /// Everything up to and with `serial`.
    pub fn at(epoch: Epoch, serial: u64) -> Self {
        Self { epoch, serial, after: None }
    }
}

/// Why a text is not a cursor.
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

/// The server's statement about how far an event's ledger once was. Devices keep the newest and show it with every
/// request, so that a server that was rolled back finds out (spec §3 "Epoch and witness"). In a header it is one line
/// of compact JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// The server's epoch.
    pub epoch: Epoch,
    /// The event whose ledger it is.
    pub event_id: EventId,
    /// The event's head.
    pub serial: u64,
    /// Head of the event's audit chain at that serial.
    #[serde(with = "hex")]
    pub audit_head: [u8; 32],
    /// Proves that the server said so.
    #[serde(with = "hex")]
    pub mac: [u8; 32],
}

/// Why a header is not a witness.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a witness as the server gave it")]
pub struct WitnessError;

impl Witness {
    /// Makes a witness under `ADMIT_SECRET`.
    pub fn new(secret: &[u8], epoch: Epoch, event_id: &EventId, serial: u64, audit_head: [u8; 32]) -> Self {
        let mac = sign::witness_mac(secret, epoch, event_id, serial, &audit_head);
        Self { epoch, event_id: event_id.clone(), serial, audit_head, mac }
    }
    /// Whether this server's secret made it.
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

/// `POST /api/scanning/sync`. The items stay raw text: each is read alone ([`ScanV1::read`], [`ScanV2::read`]).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SyncRequest {
    /// Must be the authenticated device.
    pub device_id: DeviceId,
    /// Idempotency key of the batch (spec D2).
    pub sync_batch_id: BatchId,
    /// Absent or 1: S1's items; 2: ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<u8>,
    /// When this attempt was made, by the device's corrected clock (spec D13).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_created_at: Option<Timestamp>,
    /// S1: server time − device time, seconds. Not content (spec D2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_seconds: Option<i64>,
    /// Ours: the sender's own log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_id: Option<LogId>,
    /// Ours: highest `seq` of that log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<u64>,
    /// The scans; reading stops where there are too many.
    #[serde(deserialize_with = "scans")]
    pub scans: Vec<Box<RawValue>>,
}

fn scans<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<Box<RawValue>>, D::Error> {
    at_most(source, limits::SYNC_V2_SCANS, "scans")
}

impl SyncRequest {
    /// Whether the items are ours.
    pub fn is_ours(&self) -> bool {
        self.format == Some(2)
    }
    /// Checks the envelope against the limits in force: scans of S1's form, scans of ours.
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

/// The answer to a sync; its stored bytes are given again to a repeat (spec D2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SyncAnswer {
    /// The batch.
    pub batch_id: BatchId,
    /// Every scan now stored, new or known: receipts.
    pub processed: Vec<ScanId>,
    /// Always empty (S1's invariant 3).
    pub skipped: Vec<ScanId>,
    /// Items refused for good.
    pub rejected: Vec<Rejected>,
    /// The conflicts that this upload brought to light.
    pub conflicts: Vec<Conflict>,
    /// The present event's changes cursor after this batch.
    pub cursor: Cursor,
    /// The server's time.
    pub server_time: Timestamp,
}

/// An item refused for good: it leaves the outbox for a problem list, never the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rejected {
    /// Its id, where it could be read.
    pub scan_id: Option<String>,
    /// Place in the request, from 0.
    pub index: usize,
    /// Which field, and what would be right.
    pub reason: String,
    /// Whether the server keeps its bytes: then this is a receipt.
    pub kept: bool,
}

words! {
    /// S1's name of a finding (S1 §5.2).
    ConflictResult {
        /// Persons beyond the limit were let in.
        DoubleEntry = "DOUBLE_ENTRY",
        /// A door stayed shut for someone who was in.
        DuplicateScan = "DUPLICATE_SCAN",
    }
    /// S1's word of its severity.
    ConflictSeverity {
        /// Of `DUPLICATE_SCAN`.
        Low = "LOW",
        /// Of `DOUBLE_ENTRY`.
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

/// A finding caused by an upload (spec §5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Conflict {
    /// The uploaded scan it is about.
    pub scan_id: ScanId,
    /// Its ticket.
    pub ticket_id: Option<TicketId>,
    /// The kind of conflict.
    pub result: ConflictResult,
    /// How bad.
    pub severity: ConflictSeverity,
    /// The same in the words of the scan's record.
    pub conflict_reason: ConflictReason,
    /// The entries that hold.
    pub entry_scans: Vec<ConflictScan>,
    /// Those that came on top.
    pub double_entry_scans: Vec<ConflictScan>,
}

impl Conflict {
    /// S1's result and severity of a conflict reason.
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
    /// ± milliseconds.
    pub uncertainty_ms: u64,
    /// Number of persons.
    pub count: u32,
}

/// Members of a `device_revoked` problem (spec D10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevokedDetails {
    /// Scans kept unverified: receipts.
    pub kept: Vec<ScanId>,
    /// Items refused for good, and stored as they came.
    #[serde(default)]
    pub rejected: Vec<Rejected>,
    /// How many more the server will keep.
    pub quota_left: u64,
}

// ----------------------------------------------------------------------------------------------------------- pairing

/// `POST /api/scanning/pair` (S1 §8.1, spec D11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PairRequest {
    /// From the organiser's screen, or from this device's own request.
    pub pairing_token: String,
    /// The device's own id, kept over re-pairing.
    pub device_id: DeviceId,
    /// Only for a request the device made itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_secret: Option<String>,
    /// How staff call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The device's kind; absent from S1's clients, which do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_type: Option<DeviceType>,
    /// Version of its app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_version: Option<String>,
}

/// The answer to a pairing.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PairAnswer {
    /// The device.
    pub device_id: DeviceId,
    /// Its key, shown this once.
    pub api_key: String,
    /// The key's name, for v2 signatures.
    pub key_id: KeyId,
    /// The organisation that the device now belongs to.
    pub organization_id: OrganizationId,
    /// The event that it scans for.
    pub event_id: EventId,
    /// The gate that it scans at.
    pub gate_id: GateId,
    /// The server's epoch.
    pub epoch: Epoch,
    /// How staff call the device: as it asked, unless the server gave it the next of its gate's numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
impl fmt::Debug for PairAnswer {
    /// Without the key: it never reaches a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairAnswer")
            .field("device_id", &self.device_id)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

/// `POST /api/scanning/pairing-requests`: a device asks for itself (spec D11 way (b)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PairingAsk {
    /// The device's own id, kept over re-pairing.
    pub device_id: DeviceId,
    /// How staff call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The device's kind; absent where it does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_type: Option<DeviceType>,
}

/// The answer to it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PairingTicket {
    /// The token that the device shows as a QR code. Alone it opens nothing.
    pub pairing_token: String,
    /// The secret that the device shows to nobody.
    pub claim_secret: String,
    /// The end of both.
    pub expires_at: Timestamp,
}
impl fmt::Debug for PairingTicket {
    /// Without the secret: it never reaches a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairingTicket").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

/// Members of a `device_suspended` problem (spec D19): what of the batch is stored, and held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspendedDetails {
    /// Scans stored: receipts.
    pub kept: Vec<ScanId>,
    /// Items refused for good.
    #[serde(default)]
    pub rejected: Vec<Rejected>,
}

// ------------------------------------------------------------------------------------- heartbeat, time, log, changes

/// `POST /api/scanning/events/{id}/heartbeat`, every 30 s while online.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatRequest {
    /// The device's log.
    pub log_id: LogId,
    /// Its highest `seq`; 0 = empty.
    pub head: u64,
    /// Scans no receipt names yet.
    pub pending: u64,
    /// Battery level in percent; absent where the device does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 100))]
    pub battery: Option<u8>,
    /// Version of its app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_version: Option<String>,
    /// The list it decides by; 0 without one.
    #[serde(default)]
    pub manifest_version: u64,
    /// Server time − device wall clock as the device measured it, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_offset_ms: Option<i64>,
    /// The figures that only the device can measure; absent from clients that measure none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
    /// The gate that staff chose on the device, until an answer names it; absent where they chose none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate_id: Option<GateId>,
}

/// The answer to a heartbeat: what the device should know without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatAnswer {
    /// The server's time.
    pub server_time: Timestamp,
    /// The device's event now.
    pub event_id: EventId,
    /// The device's gate now.
    pub gate_id: GateId,
    /// The newest list's version.
    pub manifest_version: u64,
    /// The event's newest change.
    pub cursor: Cursor,
    /// The device's uploads are held until the organiser counts them (spec D19).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
    /// Persons in the area that the device's gate leads to, as far as the server knows; left out for a gate without a
    /// capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area_inside: Option<u32>,
    /// Persons added at all doors of the event; absent where this gate adds none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk_ins: Option<u32>,
    /// When an organiser last looked for this device, within two minutes: it makes itself noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung_at: Option<Timestamp>,
}

/// `GET /api/scanning/time`: the second and third of the four timestamps, by the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TimeAnswer {
    /// When the request came, milliseconds since 1970.
    pub received_at_ms: i64,
    /// When the answer left, milliseconds since 1970.
    pub sent_at_ms: i64,
    /// The same as RFC 3339.
    pub server_time: Timestamp,
}

/// `POST /api/scanning/log-status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogStatusRequest {
    /// The log.
    pub log_id: LogId,
    /// Its highest `seq`; 0 = empty.
    pub head: u64,
}

/// The part of a log that the server lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogStatusAnswer {
    /// Ranges `[from, to]`, both inclusive, rising, not touching.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Vec<u64>>))]
    pub missing: Vec<(u64, u64)>,
}

/// `GET /api/scanning/events/{id}/changes?cursor=`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangesAnswer {
    /// Changed tickets, at most 1,000.
    pub items: Vec<ChangedTicket>,
    /// The event's values, when one of them changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventRules>,
    /// All gates, when one of them changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<Vec<ChangedGate>>,
    /// The other devices whose scans stand in `items`, as staff call them: a duplicate says on which one it came first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<NamedDevice>,
    /// The newest list's version.
    pub manifest_version: u64,
    /// Ask from here next.
    pub cursor: Cursor,
    /// There is more: ask again at once.
    pub more: bool,
    /// The cursor asked from belongs to another epoch: fetch the list anew, drop what was learned from changes and
    /// go on from `cursor`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resync: bool,
    /// The server's time.
    pub server_time: Timestamp,
}

/// A ticket that changed: its newest rules and the scans that count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedTicket {
    /// The ticket.
    pub ticket_id: TicketId,
    /// Its newest rules.
    pub rules: TicketRules,
    /// Its codes.
    pub barcode_hashes: Vec<BarcodeHash>,
    /// The sum of the scans before those of `scans`.
    pub prefix: TicketState,
    /// The newest scans that count, at most 16, in the reducer's order.
    pub scans: Vec<EffectiveScan>,
}

/// A device and how staff call it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NamedDevice {
    /// The device.
    pub device_id: DeviceId,
    /// Its name.
    pub name: String,
}

/// A gate and its newest rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedGate {
    /// The gate.
    pub gate_id: GateId,
    /// Its newest rules.
    pub rules: GateRules,
}

macro_rules! words_as_text {
    ($($name:ident),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
words_as_text!(ConflictResult, ConflictSeverity, DeviceType);
