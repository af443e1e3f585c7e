//! The rows of a device's journal. Each is a JSON object, tagged by `t`. A device keeps its state nowhere else, so
//! every later version must read every row ever written. Fields are only added, never renamed. A row whose tag this
//! version does not know is kept and ignored.

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
    /// A row of the journal.
    #[derive(Debug, Clone, PartialEq)]
    pub enum Entry {
        /// This phone's device id and its log, written into an empty journal (spec §3 "Log").
        Log {
            /// The device id, which the phone chose at random. So a pairing whose answer was lost can be repeated (spec
            /// D11).
            device_id: DeviceId,
            /// The log's id: 128 random bits.
            log_id: LogId,
        },
        /// The device was paired: its key, and where it scans.
        Paired(Box<Paired>),
        /// The organiser assigned this device to another gate or event.
        Assigned {
            /// The event of the assignment.
            event_id: EventId,
            /// The gate of the assignment.
            gate_id: GateId,
        },
        /// Staff moved this device to another gate of its event. The next heartbeat reports this to the server.
        Moved {
            /// The gate that staff chose.
            gate_id: GateId,
        },
        /// A scan as it was signed, with what the screen needs to show it again.
        Scan(Box<Scanned>),
        /// A receipt: the server has these scans.
        Received {
            /// The epoch of the server's ledger.
            epoch: Option<Epoch>,
            /// A serial at or below which the scans are stored.
            serial: u64,
            /// Ranges of `seq`, both ends included.
            seqs: Vec<(u64, u64)>,
            /// Whether the server stores the scans without counting them, until the organiser counts them (spec D10,
            /// D19).
            #[serde(default)]
            held: bool,
            /// Server time of the receipt, in milliseconds since 1970.
            at_ms: i64,
        },
        /// Scans that the server refused and will not take later.
        Rejected {
            /// The epoch of the server's ledger.
            epoch: Option<Epoch>,
            /// The refused scans, each with its reason.
            items: Vec<RejectedScan>,
        },
        /// A scan that the server cannot read in any request. The device sends it again at long intervals and never
        /// drops it.
        Poison {
            /// The scan's place in the log.
            seq: u64,
            /// The server's reason.
            reason: String,
        },
        /// The server began a new epoch. The server must confirm again each scan that it received in an older epoch
        /// (spec §3).
        Epoch {
            /// The new epoch.
            epoch: Epoch,
        },
        /// The server's newest witness for an event, as the server wrote it.
        Witness {
            /// The event of the witness.
            event_id: EventId,
            /// The text of the header.
            text: String,
            /// Older witnesses, oldest first. The server has not confirmed them.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            also: Vec<String>,
        },
        /// The device decides scans by this list from now on, and never uses an older list again (trust I15).
        List {
            /// The event of the list.
            event_id: EventId,
            /// The epoch of the list.
            epoch: Epoch,
            /// Serial of the last rule change in the list.
            version: u64,
            /// The list's content hash, as the list names it.
            content_hash: String,
            /// When the event ends by this list, in milliseconds since 1970. Absent in rows of older versions of Admit,
            /// which purged nothing. Then the device does not know the end and purges no scan of the event.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            ends_at_ms: Option<i64>,
        },
        /// Choices of the operator.
        Settings {
            /// The name of the person who operates the device. Empty if nobody does. Absent if it did not change.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            operator: Option<String>,
            /// The direction that staff chose at a gate that leads both ways. Absent if it did not change.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            direction: Option<Direction>,
        },
        /// Staff hid a row of the problem list.
        Hidden {
            /// The scan of the hidden row.
            scan_id: ScanId,
        },
        /// The estimate of true time, together with the wall clock.
        Clock {
            /// The wall clock, in milliseconds since 1970.
            wall_ms: i64,
            /// The estimate, in milliseconds since 1970.
            at_ms: i64,
            /// Half the width of the estimate's interval, in milliseconds.
            uncertainty_ms: u64,
        },
        /// Somebody tried the PIN.
        Pin {
            /// Whether the PIN was right.
            ok: bool,
            /// When that was by the device's clock, in milliseconds since 1970.
            at_ms: i64,
        },
        /// The organiser revoked this device (spec D10).
        Revoked {
            /// When the device learned of it, in milliseconds since 1970.
            at_ms: i64,
        },
        /// The revoked device erased its key, because the server has the whole log or accepts no more of it.
        KeyErased {
            /// When that was, in milliseconds since 1970.
            at_ms: i64,
        },
        /// The sum of purged rows. This row replaces the last purged row and has its number. Only the first row of a
        /// journal can be a summary.
        Summary(Box<Summary>),
        /// An empty row, which tests whether storage takes rows again.
        Probe {},
        /// A row of a newer version.
        #[serde(other)]
        Unknown,
    }
}

/// A pairing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paired {
    /// Origin of the server. Absent if the pairing link named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The id by which the server knows this device.
    pub device_id: DeviceId,
    /// The name that staff use for it.
    pub name: String,
    /// The bearer token and signing key.
    pub api_key: String,
    /// The key's id in signatures.
    pub key_id: KeyId,
    /// The organisation that the device belongs to.
    pub organization_id: OrganizationId,
    /// The event that it scans for.
    pub event_id: EventId,
    /// The gate that it scans at.
    pub gate_id: GateId,
    /// The server's epoch at pairing. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// Whether staff chose the gate on this device and the server has not confirmed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
}

/// A scan in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scanned {
    /// The signed content of the scan.
    pub scan: Scan,
    /// The signature, as it is sent.
    pub signature: String,
    /// The fields that the scan's verdict showed.
    pub shown: Shown,
    /// The name of the guest whom the scan added. Absent if it added none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<Named>,
}

/// The fields that a verdict showed and the scan itself does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The screen of the verdict.
    pub screen: Screen,
    /// Why the outcome is not `valid`. Absent if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Persons who could go in.
    #[serde(default)]
    pub may_admit: u32,
    /// Persons that the ticket admits.
    #[serde(default)]
    pub entry_limit: u32,
    /// Persons who were in before the scan.
    #[serde(default)]
    pub already_in: u32,
    /// For how many more persons the area had room. Absent unless these were fewer than the persons who could go in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places_left: Option<u32>,
    /// Whether the device asked the server first and showed the server's answer (spec §5 `POST /api/scans`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirmed: bool,
}

/// The summary of rows that were purged. It holds no scans: they were received, and their events ended long ago.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// This phone's device id, which it chose at random.
    pub device_id: DeviceId,
    /// The log of this device.
    pub log_id: LogId,
    /// The `seq` of the last purged scan. The log's next scan has the seq after it. 0 if none was purged yet.
    pub seq: u64,
    /// The content digest of the last purged scan, in hexadecimal. Absent if none was purged yet.
    #[serde(default, with = "hex::option", skip_serializing_if = "Option::is_none")]
    pub head: Option<[u8; 32]>,
    /// The signed time of the last purged scan, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<i64>,
    /// The newest pairing, with the event and gate assigned since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<Paired>,
    /// The key of the former pairing. The device keeps it until it uses a list that is signed with the new key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_key: Option<String>,
    /// Whether the organiser revoked this device.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revoked: bool,
    /// Whether the key is erased.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub key_erased: bool,
    /// The server's epoch. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// The summary for each event.
    #[serde(default)]
    pub events: Vec<EventSummary>,
    /// The name of the person who operates the device. Empty if nobody does.
    #[serde(default)]
    pub operator: String,
    /// The direction that staff chose at a gate that leads both ways. Absent if they chose none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Number of wrong PINs in a row.
    #[serde(default)]
    pub wrong_pins: u32,
    /// When the wrong PIN was entered that began the pause, by the device's clock, in milliseconds. Absent without a
    /// pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_at_ms: Option<i64>,
    /// The newest pair of wall clock and estimate. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockSummary>,
    /// Server time of the newest receipt, in milliseconds. Absent if there is none.
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
    /// The newest list by which this device ever decided. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<ListSummary>,
    /// When the event ends, in milliseconds since 1970. Absent if no list said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at_ms: Option<i64>,
    /// Persons whom this device let in, after reverts.
    #[serde(default)]
    pub admitted: u32,
}

/// The identity of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListSummary {
    /// The epoch of the list.
    pub epoch: Epoch,
    /// Serial of the last rule change in the list.
    pub version: u64,
    /// The list's content hash. Absent if the journal has no row of the list, only a scan that names its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
}

/// The estimate of true time, together with the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSummary {
    /// The wall clock, in milliseconds since 1970.
    pub wall_ms: i64,
    /// The estimate, in milliseconds since 1970.
    pub at_ms: i64,
    /// Half the width of the estimate's interval, in milliseconds.
    pub uncertainty_ms: u64,
}

/// A scan that the server refused and will not take later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedScan {
    /// The scan's place in the log.
    pub seq: u64,
    /// The server's reason.
    pub reason: String,
    /// Whether the server keeps the scan's bytes. If so, this is a receipt.
    pub kept: bool,
}

/// A page of `changes` in the form in which the cache keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedPage {
    /// The cursor that the request named. Empty means from the start.
    pub from: String,
    /// The answer's body.
    pub body: String,
    /// For a page that the device wrote: `(index, number of parts)`. The device writes all changes that it knows as
    /// several pages, the parts, and reads the parts only if none is missing. Absent for a page as the server sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<(u64, u64)>,
    /// For a page that the device wrote: the serial of the rules of each item.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serials: Vec<u64>,
}

/// Reads a row. `None` if this version cannot read it.
pub fn read(text: &str) -> Option<Entry> {
    serde_json::from_slice(text.as_bytes()).ok()
}

/// Writes a row.
pub fn write(entry: &Entry) -> String {
    super::stored::to_text(entry)
}

/// Whether a row that cannot be read says that it is a scan. If so, the end of the log is unknown and no scan may be
/// added.
pub fn is_scan(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Tag {
        t: String,
    }
    from_json::<Tag>(text.as_bytes()).is_ok_and(|tag| tag.t == "scan")
}
