//! The reducer's input and output: shapes, and the small questions that every step asks of them.

use crate::decide::{LastEntry, Reason, Standing};
use crate::event::{EventRules, Measure, ReEntry};
use crate::ids::{DeviceId, GateId, ScanId};
use crate::incident::{Cause, Subject};
use crate::limits;
use crate::rule::{EventBook, TicketBook};
use crate::scan::{Digest, Fact, Headcount, Outcome, ScanKind, WalkIn, better_offset};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// S1's and S2's name of a conflict between scans of one ticket (spec D3).
    ConflictReason {
        /// Persons beyond the limit were let in.
        DoubleEntry = "double_entry",
        /// A door stayed shut, or a code was read twice.
        DuplicateScan = "duplicate_scan",
    }
    /// Why a scan was left out of the fold.
    LeftOut {
        /// A person excluded it.
        Excluded = "excluded",
        /// Its authorship is not proven and nobody accepted it.
        Unverified = "unverified",
        /// It was practice, and nobody accepted it.
        Practice = "practice",
    }
}

/// The rules a fold reads.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Event, gates, devices.
    pub event: &'a EventBook,
    /// The ticket; `None` for a code no ticket ever held.
    pub ticket: Option<&'a TicketBook>,
    /// The server judges each scan by the rules at its time; a device by the newest it has.
    pub newest: bool,
}

/// Persons let in by one scan, as the fold keeps them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// When the entry was.
    pub at: Timestamp,
    /// ± milliseconds.
    pub uncertainty_ms: u64,
    /// On which device.
    pub device_id: DeviceId,
    /// By which scan.
    pub scan_id: ScanId,
    /// The gate of the entry.
    pub gate_id: GateId,
    /// Persons within the limit.
    pub within: u32,
    /// Persons beyond it.
    pub over: u32,
}

/// A ticket's state: what its scans add up to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TicketState {
    /// Persons ever let in within the limit.
    pub within: u32,
    /// Persons ever let in beyond it.
    pub over: u32,
    /// Persons inside, within the limit.
    pub inside_within: u32,
    /// Persons inside, beyond the limit.
    pub inside_over: u32,
    /// Persons who left.
    pub exited: u32,
    /// Entries that let persons in, in the reducer's order.
    pub entries: Vec<Entry>,
}

impl TicketState {
    /// Persons let in.
    pub fn persons(&self) -> u32 {
        self.within.saturating_add(self.over)
    }
    /// Persons inside.
    pub fn inside(&self) -> u32 {
        self.inside_within.saturating_add(self.inside_over)
    }
    /// The entries that count against the ticket for a scan at a place and a time, by how its entries are measured
    /// (spec §4 step 4). A scan of implausible time satisfies no gap, and lies in no day of its own.
    pub fn standing(&self, visit: &Visit<'_>, at: Timestamp, implausible: bool) -> Standing {
        let measure = visit.measure();
        let used = match measure.re_entry {
            ReEntry::AfterExit => self.inside_within,
            mode if !measure.per_gate && (implausible || mode == ReEntry::Never) => self.within,
            _ => {
                let counts = |entry: &&Entry| visit.counts(entry, at, implausible);
                self.entries.iter().filter(counts).map(|entry| entry.within).fold(0, u32::saturating_add)
            }
        };
        let last_entry = self.entries.last().map(|entry| LastEntry {
            at: entry.at,
            gate_id: entry.gate_id.clone(),
            device_id: entry.device_id.clone(),
        });
        Standing { used, spent: self.within, inside: self.inside_within, last_entry }
    }
    /// The same for a person at a door now. Where re-entry needs a gap or a day, the newest plausible entry
    /// counts even if its time lies ahead. One of the two clocks is then wrong. A door must not find the gap open
    /// behind an entry that it knows of, nor a day unused.
    pub fn standing_at_door(&self, visit: &Visit<'_>, at: Timestamp) -> Standing {
        let event = Some(visit.event);
        let plausible = self.entries.iter().map(|entry| entry.at).filter(|at| !implausible(event, *at));
        let newest = self.standing(visit, plausible.fold(at, Timestamp::max), implausible(event, at));
        if visit.measure().re_entry != ReEntry::Daily {
            return newest;
        }
        let now = self.standing(visit, at, implausible(event, at));
        Standing { used: now.used.max(newest.used), ..now }
    }
}

/// The zone and the gate by which entries are measured: a ticket of the zone, at the gate.
#[derive(Debug, Clone, Copy)]
pub struct Visit<'a> {
    /// The event's rules.
    pub event: &'a EventRules,
    /// The ticket's zone; `None` for a code no ticket holds.
    pub zone: Option<&'a str>,
    /// The gate.
    pub gate_id: &'a GateId,
}

impl Visit<'_> {
    /// How they are measured.
    pub fn measure(&self) -> Measure {
        self.event.measure(self.zone)
    }
    /// Whether an entry counts against the next one at `at`, exits aside. In the mode `after_gap` it does while it lies in
    /// `(at − gap, at]`; in the mode `daily` on its own day.
    pub(super) fn counts(&self, entry: &Entry, at: Timestamp, implausible: bool) -> bool {
        let measure = self.measure();
        let in_time = match measure.re_entry {
            _ if implausible => true,
            ReEntry::AfterGap => (0..i64::from(self.event.min_gap_seconds) * 1_000).contains(&at.since(entry.at)),
            ReEntry::Daily => self.event.days.of(entry.at) == self.event.days.of(at),
            ReEntry::Never | ReEntry::AfterExit => true,
        };
        in_time && (!measure.per_gate || entry.gate_id == *self.gate_id)
    }
}

/// The reducer's finding about one scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanVerdict {
    /// The device that made the scan.
    pub device_id: DeviceId,
    /// The scan's id.
    pub scan_id: ScanId,
    /// The content that was taken.
    pub digest: Digest,
    /// Canonical time.
    pub at: Timestamp,
    /// Its time lies outside the event by more than a day.
    pub implausible: bool,
    /// The gate of the scan.
    pub gate_id: GateId,
    /// The scan's effect, the gate's direction considered.
    pub kind: ScanKind,
    /// Why it was left out, if it was.
    pub left_out: Option<LeftOut>,
    /// The server's outcome for the scan, by the rules at its time.
    pub outcome: Outcome,
    /// Why, unless valid.
    pub reason: Option<Reason>,
    /// Whether the door opened.
    pub opened: bool,
    /// Effective persons: after reverts.
    pub count: u32,
    /// Persons let in within the limit.
    pub within: u32,
    /// Persons let in beyond it.
    pub over: u32,
    /// Persons let out.
    pub exited: u32,
    /// Persons who left without an entry.
    pub exited_over: u32,
    /// S1's `conflict`: it collides with another scan (spec D3: both carry it).
    pub conflict: bool,
    /// Which conflict, on the scan that lost.
    pub conflict_reason: Option<ConflictReason>,
    /// Counted although the rules refuse.
    pub admitted_in_error: bool,
    /// Refused although the rules admit.
    pub refused_in_error: bool,
    /// The device's outcome does not follow from the rules and the basis it had (I25).
    pub basis_mismatch: bool,
    /// Staff's headcount, with undone persons taken off; absent where nothing of it counts.
    pub headcount: Option<Headcount>,
}

/// A scan that still counts, as other devices need it (spec §5 `changes`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveScan {
    /// The device that made the scan.
    pub device_id: DeviceId,
    /// The scan's id.
    pub scan_id: ScanId,
    /// Canonical time.
    pub at: Timestamp,
    /// ± milliseconds.
    pub uncertainty_ms: u64,
    /// Sorted after all plausible ones.
    pub implausible: bool,
    /// Entry or exit.
    pub kind: ScanKind,
    /// Effective persons, 0 where the door stayed shut.
    pub count: u32,
    /// Whether the door opened.
    pub opened: bool,
    /// The gate of the scan.
    pub gate_id: GateId,
    /// Read by S2's form: its double reads fold away.
    pub s2: bool,
    /// An answered claim, whose final the server does not have yet: its author may know better.
    pub claim: bool,
}

/// Everything the reducer says of one subject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reduced {
    /// The state.
    pub state: TicketState,
    /// One verdict a scan, in the reducer's order; those left out first.
    pub verdicts: Vec<ScanVerdict>,
    /// The scans that still count, in the reducer's order.
    pub effective: Vec<EffectiveScan>,
    /// The causes that a person must look at.
    pub causes: Vec<Cause>,
    /// The guest that a scan of it which counts added at a door, and that scan.
    pub made_by: Option<(DeviceId, ScanId, WalkIn)>,
}

impl Reduced {
    /// Persons let in by the scan that added them.
    pub fn walk_in_persons(&self) -> u32 {
        let Some((device_id, scan_id, _)) = &self.made_by else { return 0 };
        let own = self.verdicts.iter().find(|one| one.device_id == *device_id && one.scan_id == *scan_id);
        own.map_or(0, |verdict| verdict.within.saturating_add(verdict.over))
    }
    /// The guest to be made.
    pub fn counted_walk_in(&self) -> Option<&WalkIn> {
        self.made_by.as_ref().map(|(_, _, walk_in)| walk_in)
    }
}

/// A fact and the subject its code resolved to.
pub type Resolved = (Subject, Fact);

/// Whether a time lies outside the event by more than a day (spec §4 Time).
pub fn implausible(event: Option<&EventRules>, at: Timestamp) -> bool {
    event.is_some_and(|event| {
        at < event.starts_at.plus_ms(-limits::PLAUSIBLE_MARGIN_MS)
            || at > event.ends_at.plus_ms(limits::PLAUSIBLE_MARGIN_MS)
    })
}

/// Merges what two deliveries of one content prove: the best signature, the better offset, the earlier receipt.
pub fn merge_deliveries(into: &mut Fact, other: &Fact) {
    // One delivery that proves it by itself is enough; what proves nothing lifts no hold (spec D10).
    let proven = into.proven() || other.proven();
    into.withheld = !proven && (into.withheld || other.withheld);
    into.signature = into.signature.min(other.signature);
    into.offset_seconds = better_offset(into.offset_seconds, other.offset_seconds);
    into.received_at = into.received_at.min(other.received_at);
    into.judged = match (into.judged, other.judged) {
        (Some(a), Some(b)) => Some(if (a.serial, a.outcome) <= (b.serial, b.outcome) { a } else { b }),
        (a, b) => a.or(b),
    };
}
