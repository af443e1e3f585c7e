//! Events, their order and their ledgers, and pages of lists.

use std::collections::BTreeMap;
use std::sync::Arc;

use admit_core::event::{BarcodeKind, EventStatus, ReEntry};
use admit_core::ids::{DeviceId, EntryTypeId, EventId, GateId, GuestListId, UserId};
use admit_core::occupancy::GateFlow;
use admit_core::reduce::ScanVerdict;
use admit_core::rule::{Epoch, EventBook, Rule};
use admit_core::scan::ScanKind;
use admit_core::time::Timestamp;

use super::clock_time::ClockTime;

/// An event: its identity, and the newest values of its rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    /// The event's id.
    pub event_id: EventId,
    /// The event's name.
    pub name: String,
    /// The place of the event.
    pub venue: String,
    /// IANA time zone.
    pub time_zone: String,
    /// When the event starts.
    pub starts_at: Timestamp,
    /// When the event ends.
    pub ends_at: Timestamp,
    /// The event's status.
    pub status: EventStatus,
    /// The re-entry mode.
    pub re_entry: ReEntry,
    /// Seconds that must pass before re-entry in the mode `after_gap`.
    pub min_gap_seconds: u32,
    /// When its days begin, by the clocks of its zone.
    pub day_starts_at: ClockTime,
    /// Whether a staff PIN is set.
    pub has_pin: bool,
    /// The most persons who should be inside at the same time, which the live page shows. Absent means no limit.
    pub capacity: Option<u32>,
    /// Persons whom staff may add at the event's doors altogether. Absent means no limit.
    pub walk_ins: Option<u32>,
    /// The settings of its devices' screens and cameras.
    pub at_door: AtDoor,
    /// Days after its end when its guests' personal data is erased; absent: it is kept.
    pub retention_days: Option<u32>,
    /// When the event was created.
    pub created_at: Timestamp,
}

/// The settings of an event's devices, as the organiser chose them: what screens show and cameras read. They have no
/// effect on decisions about a ticket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AtDoor {
    /// Names of the guest fields that a verdict shows, in this order.
    pub verdict_fields: Vec<String>,
    /// Kinds of codes that cameras read in addition to QR, in their order, each once.
    pub barcode_kinds: Vec<BarcodeKind>,
}

impl AtDoor {
    /// The kinds in the form in which they are stored: each once, in the order of [`BarcodeKind::ALL`].
    pub fn kinds(kinds: &[BarcodeKind]) -> Vec<BarcodeKind> {
        BarcodeKind::ALL.iter().copied().filter(|kind| kinds.contains(kind)).collect()
    }
}

/// The figures of an event that a list of events shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFigures {
    /// The event's id.
    pub event_id: EventId,
    /// Persons that the event's tickets admit.
    pub expected: u64,
    /// Persons let in so far, within and beyond their tickets' limits.
    pub admitted: u64,
    /// Persons let in so far beyond their tickets' limits.
    pub over: u64,
    /// Number of open incidents in the review queue.
    pub open_incidents: u64,
}

/// An entry type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryTypeRecord {
    /// The entry type's id.
    pub entry_type_id: EntryTypeId,
    /// The event that it belongs to.
    pub event_id: EventId,
    /// The entry type's name.
    pub name: String,
    /// The zone that tickets of this type get.
    pub zone: String,
    /// The type's place in the order. The first type is the default.
    pub position: i64,
}

/// A guest list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestListRecord {
    /// The list's id.
    pub guest_list_id: GuestListId,
    /// The event that it belongs to.
    pub event_id: EventId,
    /// The list's name.
    pub name: String,
    /// The promoter who keeps the list. Absent if the organiser keeps it.
    pub promoter_id: Option<UserId>,
    /// When the list was created.
    pub created_at: Timestamp,
}

/// A line to be added to an audit ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAudit {
    /// The event whose ledger gets the line. Absent for the organisation's own ledger.
    pub event_id: Option<EventId>,
    /// The user who acted. Absent if the system or a device acted.
    pub user_id: Option<UserId>,
    /// The device that acted. Absent if none did.
    pub device_id: Option<DeviceId>,
    /// The action's word, such as `batch_sync_completed`.
    pub action: &'static str,
    /// The kind of thing that the action was about, such as `BatchSync`.
    pub entity_type: &'static str,
    /// The id of that thing.
    pub entity_id: String,
    /// The changes as JSON text.
    pub changes: String,
    /// Other facts worth keeping, as JSON text.
    pub metadata: String,
}

/// A line of an audit ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// The line's place in its ledger, counted from 1.
    pub n: u64,
    /// The serial of the event's change. In the organisation's ledger it equals `n`.
    pub serial: u64,
    /// When the action happened.
    pub at: Timestamp,
    /// The line itself.
    pub line: NewAuditOwned,
    /// The head of the hash chain after this line.
    pub head: [u8; 32],
}

/// The end of an audit ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEnd {
    /// The place of the last line. 0 if there is none.
    pub n: u64,
    /// The head of the hash chain after that line.
    pub head: [u8; 32],
}

/// The content of a [`NewAudit`], as it was read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuditOwned {
    /// The event whose ledger has the line. Absent for the organisation's own ledger.
    pub event_id: Option<EventId>,
    /// The user who acted. Absent if none did.
    pub user_id: Option<UserId>,
    /// The device that acted. Absent if none did.
    pub device_id: Option<DeviceId>,
    /// The action's word.
    pub action: String,
    /// The kind of thing that the action was about.
    pub entity_type: String,
    /// The id of that thing.
    pub entity_id: String,
    /// The changes as JSON text.
    pub changes: String,
    /// Other facts worth keeping, as JSON text.
    pub metadata: String,
}

/// An event's head: the row that orders every change of the event (ARCHITECTURE.md §4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The serial of the last committed change.
    pub serial: u64,
    /// Head of the event's audit chain.
    pub audit_head: [u8; 32],
    /// The server's epoch.
    pub epoch: Epoch,
}

/// The serial that a write takes in its event, with its time. The store sets both (law 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The serial of this write.
    pub serial: u64,
    /// The `effective_at` of all rules of this write: max(database clock, last + 1 ms).
    pub effective_at: Timestamp,
}

/// The rules of an event, as loaded for a reduction.
#[derive(Debug, Clone, Default)]
pub struct LoadedRules {
    /// The rules of the event, its gates and devices, and its epochs.
    pub book: Arc<EventBook>,
    /// The rules of the tickets that were asked for.
    pub tickets: Vec<Rule>,
}

/// Persons who went through a gate in one minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinuteFlow {
    /// The start of the minute.
    pub at: Timestamp,
    /// The gate of the flow.
    pub gate_id: GateId,
    /// Persons let in.
    pub entered: i64,
    /// Persons let out.
    pub exited: i64,
    /// Scans at which the door stayed shut.
    pub refused: i64,
    /// People without a ticket: those who came in less those who went out.
    pub without_ticket: i64,
}

impl MinuteFlow {
    /// The persons who moved through the gate in this minute.
    pub fn persons(&self) -> GateFlow {
        GateFlow { entered: self.entered, exited: self.exited, without_ticket: self.without_ticket }
    }
}

/// Persons through each gate per minute, of a whole event or of some subjects only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flows(BTreeMap<(i64, GateId), [i64; 4]>);

impl Flows {
    const MINUTE_MS: i64 = 60_000;

    /// Adds (`sign` 1) or subtracts (`sign` −1) the persons of these verdicts, each in the minute of its scan.
    pub fn add(&mut self, verdicts: &[ScanVerdict], sign: i64) {
        for verdict in verdicts {
            let GateFlow { entered, exited, without_ticket } = GateFlow::of(verdict);
            let refused = !verdict.opened && verdict.kind != ScanKind::Revert;
            let counts = [entered, exited, i64::from(refused), without_ticket];
            if counts == [0; 4] {
                continue;
            }
            let held = self.0.entry((verdict.at.ms() / Self::MINUTE_MS, verdict.gate_id.clone())).or_default();
            for (held, count) in held.iter_mut().zip(counts) {
                *held += sign * count;
            }
        }
    }
    /// The minutes whose counts are not all zero, oldest first.
    pub fn minutes(self) -> Vec<MinuteFlow> {
        let real = self.0.into_iter().filter(|(_, counts)| *counts != [0; 4]);
        let flow = |((minute, gate_id), counts): ((i64, GateId), [i64; 4])| {
            let at = Timestamp::clamped(minute * Self::MINUTE_MS);
            let [entered, exited, refused, without_ticket] = counts;
            MinuteFlow { at, gate_id, entered, exited, refused, without_ticket }
        };
        real.map(flow).collect()
    }
}

/// Which page of a list to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The most items of the page.
    pub limit: usize,
    /// The cursor after which the page begins, from the page before. Absent for the first page.
    pub cursor: Option<String>,
}

/// The items of a page, and the cursor of the next page.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// The cursor of the next page. Absent if this is the last one.
    pub next_cursor: Option<String>,
}
