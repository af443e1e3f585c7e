//! The parts of a [`super::View`] and of what a search finds.

use serde::{Deserialize, Serialize};

use crate::decide::{Reason, Screen};
use crate::gate::Direction;
use crate::ids::{GateId, ScanId, TicketId};
use crate::scan::{Headcount, ScanKind};
use crate::time::Timestamp;

/// A gate that a device may be moved to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateView {
    /// The gate's id.
    pub id: GateId,
    /// Its name.
    pub name: String,
    /// Which way it leads.
    pub direction: Direction,
}

/// Guests' names on a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum NamesView {
    /// This gate's devices carry none.
    #[default]
    Off,
    /// They are on their way.
    Loading,
    /// They can be searched.
    Held {
        /// How many guests.
        guests: u64,
    },
}

/// A field of a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldView {
    /// Its name.
    pub label: String,
    /// Its value; of a long one the beginning.
    pub value: String,
}

/// A device's count of people without a ticket: those who came in less those who went out.
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
    /// The last recount of this device that was not undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recount: Option<RecountView>,
    /// Persons in the area behind the gate, as far as this device knows; absent where it doesn't.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area_inside: Option<u32>,
}

/// A recount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecountView {
    /// Its scan.
    pub scan_id: ScanId,
    /// When the recount was made.
    pub at: Timestamp,
    /// Where, by name.
    pub gate: String,
    /// Persons inside then.
    pub inside: u32,
}

/// The list a scanner decides by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListView {
    /// Serial of the last rule change in the list.
    pub version: u64,
    /// Codes in it.
    pub tickets: u64,
    /// When the server made it.
    pub generated_at: Timestamp,
    /// Past this its verdicts are amber.
    pub expires_at: Timestamp,
    /// It is past it.
    pub expired: bool,
    /// When the server last said, since the app started, that this is the newest, else when it was made: its age counts
    /// from here.
    pub checked_at: Timestamp,
    /// The version of a newer one that the server spoke of: new tickets or rules, on their way here by themselves.
    #[serde(default)]
    pub newer: Option<u64>,
}

/// A scan the server refused for good; it stays in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The scan.
    pub scan_id: ScanId,
    /// The server's reason.
    pub reason: String,
    /// Whether the server keeps its bytes.
    pub kept: bool,
    /// When it was taken.
    pub at: Timestamp,
}

/// A row of the history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryRow {
    /// The scan.
    pub scan_id: ScanId,
    /// Entry, exit or headcount.
    pub kind: ScanKind,
    /// The screen it showed.
    pub screen: Screen,
    /// When the scan was made.
    pub at: Timestamp,
    /// Number of persons.
    pub count: u32,
    /// Whether the door opened.
    pub opened: bool,
    /// It counts nothing: the event was a draft.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub practice: bool,
    /// It was an override.
    pub overridden: bool,
    /// It was undone, by so many persons.
    pub reverted: u32,
    /// The short code of its ticket's code.
    pub short_code: String,
    /// The ticket of the scan; absent where the code is in no list.
    pub ticket_id: Option<TicketId>,
    /// Why its screen let nobody in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The numbers of a headcount; absent in all other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headcount: Option<Headcount>,
    /// `waiting`, `sent`, `refused` or `held`.
    pub sync: String,
}
