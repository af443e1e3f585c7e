//! The parts of a [`super::View`].

use serde::{Deserialize, Serialize};

use crate::decide::{Reason, Screen};
use crate::gate::Direction;
use crate::ids::{GateId, ScanId, TicketId};
use crate::scan::{Headcount, ScanKind};
use crate::time::Timestamp;

/// A gate to which staff may move a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateView {
    /// The gate's id.
    pub id: GateId,
    /// The gate's name.
    pub name: String,
    /// The direction in which people go.
    pub direction: Direction,
}

/// The state of the guests' names on a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum NamesView {
    /// Devices at this gate hold no names.
    #[default]
    Off,
    /// Names are being fetched.
    Loading,
    /// Names can be searched.
    Held {
        /// Number of guests.
        guests: u64,
    },
}

/// A field of a guest, as a verdict shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldView {
    /// The field's name.
    pub label: String,
    /// The field's value. A long value is cut.
    pub value: String,
}

/// A device's count of people without a ticket: those who came in less those who went out, by class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadcountsView {
    /// Persons who work for the venue or the organiser.
    pub staff: i64,
    /// Persons who belong to the production.
    pub crew: i64,
    /// Children who need no ticket.
    pub child: i64,
    /// Other persons without a ticket.
    pub other: i64,
    /// The last recount of this device that was not undone. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recount: Option<RecountView>,
    /// Persons in the area behind the gate. Absent if this device does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area_inside: Option<u32>,
}

/// A recount by this device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecountView {
    /// The scan of the recount.
    pub scan_id: ScanId,
    /// When the recount was made.
    pub at: Timestamp,
    /// The gate's name.
    pub gate: String,
    /// Persons inside at the time of the recount.
    pub inside: u32,
}

/// The list by which a scanner decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListView {
    /// Serial of the last rule change in the list.
    pub version: u64,
    /// Number of codes in the list.
    pub tickets: u64,
    /// When the server handed the list out.
    pub generated_at: Timestamp,
    /// From this time on, verdicts by this list are amber.
    pub expires_at: Timestamp,
    /// Whether that time is over.
    pub expired: bool,
    /// When the server last said, since the app started, that this list is the newest. If it has not said so yet: when
    /// the server handed the list out. The screen counts the list's age from here.
    pub checked_at: Timestamp,
    /// The version of a newer list that the server mentioned, which the device is fetching. Absent if there is none.
    #[serde(default)]
    pub newer: Option<u64>,
}

/// A scan that the server refused or cannot read. It stays in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The scan.
    pub scan_id: ScanId,
    /// The server's reason.
    pub reason: String,
    /// Whether the server keeps the scan's bytes.
    pub kept: bool,
    /// When the scan was made.
    pub at: Timestamp,
}

/// A row of the history of scans.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryRow {
    /// The scan.
    pub scan_id: ScanId,
    /// Entry, exit or headcount.
    pub kind: ScanKind,
    /// The screen that the scan showed.
    pub screen: Screen,
    /// When the scan was made.
    pub at: Timestamp,
    /// Number of persons.
    pub count: u32,
    /// Whether the door opened.
    pub opened: bool,
    /// Whether the scan was practice, because the event was a draft. If so, it counts nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub practice: bool,
    /// Whether the scan was an override.
    pub overridden: bool,
    /// Number of persons that undos took off.
    pub reverted: u32,
    /// The short code of the scan's code.
    pub short_code: String,
    /// The ticket of the scan. Absent if the code is in no list.
    pub ticket_id: Option<TicketId>,
    /// Why the scan's screen let nobody in. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The numbers of a headcount. Absent for all other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headcount: Option<Headcount>,
    /// The state of the scan's upload: `waiting`, `sent`, `refused` or `held`.
    pub sync: String,
}
