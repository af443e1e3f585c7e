//! The rows of a device's journal: one JSON object each, tagged by `t`. The journal is the only truth of a device; what
//! it has ever written it must be able to read for ever. Fields are only added, never renamed; a tag that this version
//! does not know is kept and passed over.

use serde::{Deserialize, Serialize};

use super::hex;
use super::scanning::Named;
use super::text::from_json;
use super::tree::tagged;
use crate::decide::{Reason, Screen};
use crate::gate::Direction;
use crate::ids::{DeviceId, EventId, GateId, KeyId, LogId, OrganizationId, ScanId};
use crate::rule::Epoch;
use crate::scan::Scan;

tagged! { "t" "Entry":
    /// One row.
    #[derive(Debug, Clone, PartialEq)]
    pub enum Entry {
        /// This phone's identity and its log, made with an empty journal (spec §3 "Log").
        Log {
            /// Named by the phone itself, so that a pairing whose answer was lost can be repeated (spec D11).
            device_id: DeviceId,
            /// 128 random bits.
            log_id: LogId,
        },
        /// Paired: a key, and where it scans.
        Paired(Box<Paired>),
        /// The organiser sent this device to another gate or event.
        Assigned {
            /// The event that the device was sent to.
            event_id: EventId,
            /// The gate that the device was sent to.
            gate_id: GateId,
        },
        /// Staff moved this device to another gate of its event; the server learns of it by the next heartbeat.
        Moved {
            /// The gate that staff chose.
            gate_id: GateId,
        },
        /// A scan, as it was signed, and what the screen needs to show it again.
        Scan(Box<Scanned>),
        /// A receipt: the server has these scans.
        Received {
            /// Epoch of the server's ledger.
            epoch: Option<Epoch>,
            /// Serial at or below which they are stored.
            serial: u64,
            /// Ranges of `seq`, both ends included.
            seqs: Vec<(u64, u64)>,
            /// Stored, but held until the organiser counts them (spec D10, D19).
            #[serde(default)]
            held: bool,
            /// Server time of the receipt, milliseconds.
            at_ms: i64,
        },
        /// Scans the server refused for good, one by one.
        Rejected {
            /// Epoch of the server's ledger.
            epoch: Option<Epoch>,
            /// Which, and why.
            items: Vec<RejectedScan>,
        },
        /// A scan that no request gets past the server with: offered rarely, never dropped.
        Poison {
            /// Its place.
            seq: u64,
            /// The server's reason.
            reason: String,
        },
        /// The server began a new epoch: no receipt of an older one stands (spec §3).
        Epoch {
            /// The new one.
            epoch: Epoch,
        },
        /// The server's newest witness for an event, as it gave it.
        Witness {
            /// The event of the witness.
            event_id: EventId,
            /// The header's text.
            text: String,
            /// Older ones that the server has not been asked about, oldest first.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            also: Vec<String>,
        },
        /// The list scans are decided by: none older is ever taken again (trust I15).
        List {
            /// The event of the list.
            event_id: EventId,
            /// The epoch of the list.
            epoch: Epoch,
            /// Serial of the last rule change in the list.
            version: u64,
            /// Its content hash, as the list names it.
            content_hash: String,
            /// When the event ends by this list, milliseconds. Absent in rows of versions that purged nothing: the end
            /// is then unknown, and the event's scans stay.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            ends_at_ms: Option<i64>,
        },
        /// Settings of the operator.
        Settings {
            /// The name of the person who operates the device; empty for nobody. Absent where it did not change.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            operator: Option<String>,
            /// Which way a gate of both directions is used.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            direction: Option<Direction>,
        },
        /// A row of the problem list is hidden.
        Hidden {
            /// The scan.
            scan_id: ScanId,
        },
        /// True time, as well as it was known, beside the wall clock.
        Clock {
            /// Wall clock, milliseconds.
            wall_ms: i64,
            /// Estimate, milliseconds.
            at_ms: i64,
            /// ± milliseconds.
            uncertainty_ms: u64,
        },
        /// A PIN was tried.
        Pin {
            /// It was right.
            ok: bool,
            /// When, by the device's clock, milliseconds.
            at_ms: i64,
        },
        /// The organiser revoked this device (spec D10).
        Revoked {
            /// When it was learned, milliseconds.
            at_ms: i64,
        },
        /// The key is erased: the log is handed over, or no more of it is taken.
        KeyErased {
            /// When, milliseconds.
            at_ms: i64,
        },
        /// The sum of the rows up to this place. It stands in the place of the last of them. Only the first row of a
        /// journal can be one.
        Summary(Box<Summary>),
        /// Nothing: tries whether storage takes rows again.
        Probe {},
        /// Of a newer version.
        #[serde(other)]
        Unknown,
    }
}

/// A pairing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paired {
    /// Origin of the server, where the pairing link named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// As the server knows this device.
    pub device_id: DeviceId,
    /// How staff call it.
    pub name: String,
    /// Bearer and signing key.
    pub api_key: String,
    /// Its name in signatures.
    pub key_id: KeyId,
    /// The organisation that the device belongs to.
    pub organization_id: OrganizationId,
    /// The event that it scans for.
    pub event_id: EventId,
    /// The gate that it scans at.
    pub gate_id: GateId,
    /// Epoch at pairing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// The gate was chosen on this device, and the server has not said yes yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
}

/// A journalled scan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scanned {
    /// The signed content.
    pub scan: Scan,
    /// Its signature, as sent.
    pub signature: String,
    /// The fields that its verdict showed.
    pub shown: Shown,
    /// The name of the guest whom it added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<Named>,
}

/// The fields that a verdict showed beyond its scan's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The screen of the verdict.
    pub screen: Screen,
    /// Reason, unless valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Persons who could go in.
    #[serde(default)]
    pub may_admit: u32,
    /// Party size.
    #[serde(default)]
    pub entry_limit: u32,
    /// Persons in before it.
    #[serde(default)]
    pub already_in: u32,
    /// How many more the area held, where that was fewer than could go in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places_left: Option<u32>,
    /// The server was asked first, and this is what it said (spec §5 `POST /api/scans`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirmed: bool,
}

/// The summary of rows that were purged, scans apart: they were received, and their events ended long ago.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// This phone, as it named itself.
    pub device_id: DeviceId,
    /// Its log.
    pub log_id: LogId,
    /// `seq` of the last purged scan: the next scan of the log has the one after it. 0 where none was purged yet.
    pub seq: u64,
    /// Content digest of that scan, in hexadecimal; absent where none was purged yet.
    #[serde(default, with = "hex::option", skip_serializing_if = "Option::is_none")]
    pub head: Option<[u8; 32]>,
    /// Signed time of that scan, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<i64>,
    /// The newest pairing, with event and gate as assigned since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<Paired>,
    /// The key before it, until a list under the new key is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_key: Option<String>,
    /// Revoked by the organiser.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revoked: bool,
    /// The key is erased.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub key_erased: bool,
    /// The server's epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// The summary of each event.
    #[serde(default)]
    pub events: Vec<EventSummary>,
    /// The name of the person who operates the device; empty for nobody.
    #[serde(default)]
    pub operator: String,
    /// Which way a gate of both directions is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Wrong PINs in a row.
    #[serde(default)]
    pub wrong_pins: u32,
    /// The wrong PIN that began the pause, by the device's clock, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_at_ms: Option<i64>,
    /// Newest pair of clocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockSummary>,
    /// Server time of the newest receipt, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_receipt_ms: Option<i64>,
}

/// The part of a summary about one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventSummary {
    /// The event's id.
    pub event_id: EventId,
    /// The server's witnesses, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub witnesses: Vec<String>,
    /// The newest list this device ever decided by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<ListSummary>,
    /// When it ends, milliseconds, where a list said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at_ms: Option<i64>,
    /// Persons this device let in, reverts taken off.
    #[serde(default)]
    pub admitted: u32,
}

/// Which list it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListSummary {
    /// The epoch of the list.
    pub epoch: Epoch,
    /// Serial of the last rule change in the list.
    pub version: u64,
    /// Its content hash; absent where only a scan told of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
}

/// True time, as well as it was known, beside the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSummary {
    /// Wall clock, milliseconds.
    pub wall_ms: i64,
    /// Estimate, milliseconds.
    pub at_ms: i64,
    /// ± milliseconds.
    pub uncertainty_ms: u64,
}

/// A scan the server refused for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedScan {
    /// Its place in the log.
    pub seq: u64,
    /// The server's reason.
    pub reason: String,
    /// Whether the server keeps its bytes: then it is a receipt.
    pub kept: bool,
}

/// A page of `changes` as the cache keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedPage {
    /// Cursor it was asked from; empty = the start.
    pub from: String,
    /// The answer's body.
    pub body: String,
    /// `(place, of how many)` of a page that belongs to a folded whole: counts only when all of them are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<(u64, u64)>,
    /// Of such a page: how new the rules of each item are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serials: Vec<u64>,
}

/// Reads a row. `None` = this version cannot read it.
pub fn read(text: &str) -> Option<Entry> {
    serde_json::from_slice(text.as_bytes()).ok()
}

/// Writes a row.
pub fn write(entry: &Entry) -> String {
    super::stored::to_text(entry)
}

/// Whether a row that cannot be read says it is a scan: then the log's end is not known, and no scan may be added.
pub fn is_scan(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Tag {
        t: String,
    }
    from_json::<Tag>(text.as_bytes()).is_ok_and(|tag| tag.t == "scan")
}
