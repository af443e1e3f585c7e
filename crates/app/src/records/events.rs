//! Events, their order, their ledgers, and pages of lists.

use std::collections::BTreeMap;
use std::sync::Arc;

use admit_core::event::{BarcodeKind, EventStatus, ReEntry};
use admit_core::ids::*;
use admit_core::occupancy::GateFlow;
use admit_core::reduce::ScanVerdict;
use admit_core::rule::{Epoch, EventBook, Rule};
use admit_core::scan::ScanKind;
use admit_core::time::Timestamp;

use super::clock_time::ClockTime;

/// An event: identity, and its rules' newest values.
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
    /// Re-entry mode.
    pub re_entry: ReEntry,
    /// Gap of `after_gap`, seconds.
    pub min_gap_seconds: u32,
    /// When its days begin, by the clocks of its zone.
    pub day_starts_at: ClockTime,
    /// A staff PIN is set.
    pub has_pin: bool,
    /// Persons expected at once; for the live page.
    pub capacity: Option<u32>,
    /// Persons whom staff may add at its doors in all; absent: no number.
    pub walk_ins: Option<u32>,
    /// The settings of its devices' screens and cameras.
    pub at_door: AtDoor,
    /// Days after its end when its guests' personal data is erased; absent: it is kept.
    pub retention_days: Option<u32>,
    /// When made.
    pub created_at: Timestamp,
}

/// The settings of an event's devices: what they show and read, as the organiser chose it. They decide nothing about
/// a ticket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AtDoor {
    /// Names of the guests' fields that a verdict shows, in this order.
    pub verdict_fields: Vec<String>,
    /// Kinds of codes that cameras read beside QR, in their order, each once.
    pub barcode_kinds: Vec<BarcodeKind>,
}

impl AtDoor {
    /// Kinds of codes as they are kept.
    pub fn kinds(kinds: &[BarcodeKind]) -> Vec<BarcodeKind> {
        BarcodeKind::ALL.iter().copied().filter(|kind| kinds.contains(kind)).collect()
    }
}

/// The figures of an event in a list of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFigures {
    /// The event's id.
    pub event_id: EventId,
    /// Persons that its tickets admit.
    pub expected: u64,
    /// Persons let in, those beyond their tickets' limits included.
    pub admitted: u64,
    /// Open incidents of the review queue.
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
    /// Zone its tickets get.
    pub zone: String,
    /// Place in the order; the first is the default.
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
    /// The promoter who fills the list; absent where it is the organiser's.
    pub promoter_id: Option<UserId>,
    /// When made.
    pub created_at: Timestamp,
}

/// A line of an audit ledger, about to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAudit {
    /// Ledger: an event's, or the organisation's when absent.
    pub event_id: Option<EventId>,
    /// User; absent for the system and devices.
    pub user_id: Option<UserId>,
    /// Device, where one acted.
    pub device_id: Option<DeviceId>,
    /// The action's word, such as `batch_sync_completed`.
    pub action: &'static str,
    /// The kind of thing that the action was about, such as `BatchSync`.
    pub entity_type: &'static str,
    /// Its id.
    pub entity_id: String,
    /// The changes as JSON text.
    pub changes: String,
    /// Other facts worth keeping, as JSON text.
    pub metadata: String,
}

/// A line of an audit ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Place in its ledger, from 1.
    pub n: u64,
    /// Serial of the event's change; for the organisation's ledger equal to `n`.
    pub serial: u64,
    /// When the action happened.
    pub at: Timestamp,
    /// The line itself.
    pub line: NewAuditOwned,
    /// Chain head after it.
    pub head: [u8; 32],
}

/// Where an audit ledger ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEnd {
    /// Its last line's place; 0 = none.
    pub n: u64,
    /// Chain head after it.
    pub head: [u8; 32],
}

/// [`NewAudit`] as read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuditOwned {
    /// The event whose ledger has the line; absent: the organisation's own ledger.
    pub event_id: Option<EventId>,
    /// The user who acted; absent where none did.
    pub user_id: Option<UserId>,
    /// The device that acted; absent where none did.
    pub device_id: Option<DeviceId>,
    /// The action's word.
    pub action: String,
    /// Entity type.
    pub entity_type: String,
    /// Entity id.
    pub entity_id: String,
    /// Changes, JSON.
    pub changes: String,
    /// Metadata, JSON.
    pub metadata: String,
}

/// An event's head: the one number that orders everything (architecture §4 "Event head").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Serial of the last committed change.
    pub serial: u64,
    /// Head of the event's audit chain.
    pub audit_head: [u8; 32],
    /// The server's epoch.
    pub epoch: Epoch,
}

/// A place taken in the event's order by a write (law 6: the store sets it).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Serial of this write.
    pub serial: u64,
    /// The one `effective_at` of this write's rules: max(database clock, last + 1 ms).
    pub effective_at: Timestamp,
}

/// The rules of an event as loaded for a fold.
#[derive(Debug, Clone, Default)]
pub struct LoadedRules {
    /// Event, gates, devices, epochs.
    pub book: Arc<EventBook>,
    /// Rules of the asked tickets.
    pub tickets: Vec<Rule>,
}

/// Persons through a gate in a minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinuteFlow {
    /// The minute's start.
    pub at: Timestamp,
    /// The gate of the flow.
    pub gate_id: GateId,
    /// Persons let in.
    pub entered: i64,
    /// Persons let out.
    pub exited: i64,
    /// Scans that stayed shut.
    pub refused: i64,
    /// People without a ticket: those who came in less those who went out.
    pub without_ticket: i64,
}

impl MinuteFlow {
    /// Persons who moved in it.
    pub fn persons(&self) -> GateFlow {
        GateFlow { entered: self.entered, exited: self.exited, without_ticket: self.without_ticket }
    }
}

/// Persons through each gate, minute by minute: of an event, or what some subjects' verdicts add to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flows(BTreeMap<(i64, GateId), [i64; 4]>);

impl Flows {
    const MINUTE_MS: i64 = 60_000;

    /// Adds (`sign` 1) or takes away (`sign` −1) what these verdicts say of their scans' own minutes.
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
    /// Minutes in which something happened or changed, oldest first.
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

/// A page of a list: newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// At most so many.
    pub limit: usize,
    /// After this item, as a previous page named it.
    pub cursor: Option<String>,
}

/// Items and the cursor of the next page.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// Next page, if there is one.
    pub next_cursor: Option<String>,
}
