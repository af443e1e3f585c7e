//! The reducer's input and output, and the small functions over them that every step uses.

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
    /// The name that S1 and S2 give to a conflict between scans of one ticket (spec D3).
    ConflictReason {
        /// Persons beyond the limit were let in.
        DoubleEntry = "double_entry",
        /// A door stayed shut, or a code was read twice.
        DuplicateScan = "duplicate_scan",
    }
    /// Why a scan does not count.
    LeftOut {
        /// A person excluded the scan.
        Excluded = "excluded",
        /// The scan's authorship is not proven and nobody accepted it.
        Unverified = "unverified",
        /// The scan was practice and nobody accepted it.
        Practice = "practice",
    }
}

/// The rules by which a reduction judges.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The rules of the event, its gates and its devices.
    pub event: &'a EventBook,
    /// The ticket's rules. `None` for a code that no ticket ever held.
    pub ticket: Option<&'a TicketBook>,
    /// Whether the newest rules judge every scan, as on a device. The server sets false: each scan is judged by the
    /// rules at its time.
    pub newest: bool,
}

/// Persons let in by one scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// When the entry was.
    pub at: Timestamp,
    /// The true time lies at most this far before or after `at`, in milliseconds.
    pub uncertainty_ms: u64,
    /// The device that made the entry's scan.
    pub device_id: DeviceId,
    /// The id of the entry's scan.
    pub scan_id: ScanId,
    /// The gate of the entry.
    pub gate_id: GateId,
    /// Persons within the limit.
    pub within: u32,
    /// Persons beyond the limit.
    pub over: u32,
}

/// A ticket's state: the sum of its scans.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TicketState {
    /// Persons let in so far, within the limit.
    pub within: u32,
    /// Persons let in so far, beyond the limit.
    pub over: u32,
    /// Persons inside, within the limit.
    pub inside_within: u32,
    /// Persons inside, beyond the limit.
    pub inside_over: u32,
    /// Persons who left so far.
    pub exited: u32,
    /// The scans that let persons in, in the reducer's order.
    pub entries: Vec<Entry>,
}

impl TicketState {
    /// All persons let in so far, within the limit and beyond it.
    pub fn persons(&self) -> u32 {
        self.within.saturating_add(self.over)
    }
    /// All persons inside, within the limit and beyond it.
    pub fn inside(&self) -> u32 {
        self.inside_within.saturating_add(self.inside_over)
    }
    /// How many persons of earlier entries count against the ticket's limit for a scan at time `at` (spec §4 step 4).
    /// `visit` names the scan's gate and the rules. The re-entry mode in force says which entries count. For a scan of
    /// implausible time every entry counts, whatever the gap or the day.
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
    /// Like [`TicketState::standing`], for a person who stands at a door now. If re-entry needs a gap or a new day, the
    /// newest plausible entry counts even if its time lies ahead. Then the clock of this door or of that entry's device
    /// is wrong, and the door must not treat the gap as passed or the day as unused.
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

/// Where a scan takes place and under which rules: the event's rules, the ticket's zone and the gate. They decide which
/// earlier entries count against the ticket's limit.
#[derive(Debug, Clone, Copy)]
pub struct Visit<'a> {
    /// The event's rules.
    pub event: &'a EventRules,
    /// The ticket's zone. `None` for a code that no ticket holds.
    pub zone: Option<&'a str>,
    /// The gate of the scan.
    pub gate_id: &'a GateId,
}

impl Visit<'_> {
    /// The measure in force for this visit.
    pub fn measure(&self) -> Measure {
        self.event.measure(self.zone)
    }
    /// Whether an earlier entry counts against the ticket's limit for a scan at `at`, without regard to exits. In the
    /// mode `after_gap` it does if it lies in `(at − gap, at]`. In the mode `daily` it does if it lies on the same day.
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
    /// The digest of the content that this verdict is about. Absent if the scan counts and only one content came under
    /// its id.
    pub digest: Option<Digest>,
    /// The scan's canonical time.
    pub at: Timestamp,
    /// Whether the scan's time lies more than a day outside the event.
    pub implausible: bool,
    /// The gate of the scan.
    pub gate_id: GateId,
    /// The kind by which the scan counts. S1's and S2's scans at a gate that leads out count as exits.
    pub kind: ScanKind,
    /// Why the scan does not count. Absent if it counts.
    pub left_out: Option<LeftOut>,
    /// The server's outcome for the scan, by the rules at the scan's time.
    pub outcome: Outcome,
    /// Why the outcome is not `valid`. Absent if it is.
    pub reason: Option<Reason>,
    /// Whether the door opened.
    pub opened: bool,
    /// Persons of the scan after reverts.
    pub count: u32,
    /// Persons that the scan let in within the limit.
    pub within: u32,
    /// Persons that the scan let in beyond the limit.
    pub over: u32,
    /// Persons that the scan let out.
    pub exited: u32,
    /// Persons of the scan who left without an entry.
    pub exited_over: u32,
    /// S1's `conflict`: the scan collides with another scan. Both scans carry the mark (spec D3).
    pub conflict: bool,
    /// The kind of conflict, on the scan that lost. Absent on all others.
    pub conflict_reason: Option<ConflictReason>,
    /// Whether the scan let persons in although the rules refuse the ticket.
    pub admitted_in_error: bool,
    /// Whether the door stayed shut although the rules admit the ticket.
    pub refused_in_error: bool,
    /// Whether the device's outcome does not follow from the rules and from what the scan says that the device knew
    /// (invariant I25).
    pub basis_mismatch: bool,
    /// The headcount after undos. Absent if the scan is no headcount, or if nothing of it counts.
    pub headcount: Option<Headcount>,
}

impl ScanVerdict {
    /// Whether this verdict is about `fact`, and not about another scan or another content under the same scan id.
    pub fn is_of(&self, fact: &Fact) -> bool {
        let Fact { scan, digest, .. } = fact;
        (&self.scan_id, &self.device_id) == (&scan.scan_id, &scan.device_id)
            && self.digest.is_none_or(|of| of == *digest)
    }
}

/// A scan that still counts, in the form in which other devices need it (spec §5 `changes`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveScan {
    /// The device that made the scan.
    pub device_id: DeviceId,
    /// The scan's id.
    pub scan_id: ScanId,
    /// The scan's canonical time.
    pub at: Timestamp,
    /// The true time lies at most this far before or after `at`, in milliseconds.
    pub uncertainty_ms: u64,
    /// Whether the scan's time is implausible. Such scans are sorted after all others.
    pub implausible: bool,
    /// Whether the scan is an entry or an exit.
    pub kind: ScanKind,
    /// Persons of the scan after reverts. 0 if the door stayed shut.
    pub count: u32,
    /// Whether the door opened.
    pub opened: bool,
    /// The gate of the scan.
    pub gate_id: GateId,
    /// Whether the scan came in S2's form. A double read of such a scan counts nobody beyond the limit
    /// ([`limits::DOUBLE_READ_MS`]).
    pub s2: bool,
    /// Whether this is a claim that the server answered, whose final has not arrived. The device that made the claim
    /// may already have stored a final that says something else.
    pub claim: bool,
}

/// Everything that the reducer finds about one subject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reduced {
    /// The subject's state.
    pub state: TicketState,
    /// One verdict per scan, in the reducer's order. Scans that don't count come first.
    pub verdicts: Vec<ScanVerdict>,
    /// The scans that still count, in the reducer's order.
    pub effective: Vec<EffectiveScan>,
    /// The causes that a person must look at.
    pub causes: Vec<Cause>,
    /// The guest whom a counted scan of this subject added at a door, with the scan's device and id. Absent if none
    /// did.
    pub made_by: Option<(DeviceId, ScanId, WalkIn)>,
}

impl Reduced {
    /// Persons let in by the scan that added the guest. 0 if no scan added one.
    pub fn walk_in_persons(&self) -> u32 {
        let Some((device_id, scan_id, _)) = &self.made_by else { return 0 };
        let own = self.verdicts.iter().find(|one| one.device_id == *device_id && one.scan_id == *scan_id);
        own.map_or(0, |verdict| verdict.within.saturating_add(verdict.over))
    }
    /// The guest to be made. `None` if no counted scan added one.
    pub fn counted_walk_in(&self) -> Option<&WalkIn> {
        self.made_by.as_ref().map(|(_, _, walk_in)| walk_in)
    }
}

/// A fact, with the subject that its code resolved to.
pub type Resolved = (Subject, Fact);

/// Whether a time lies more than a day outside the event (spec §4 Time). False if the event has no rules.
pub fn implausible(event: Option<&EventRules>, at: Timestamp) -> bool {
    event.is_some_and(|event| {
        at < event.starts_at.plus_ms(-limits::PLAUSIBLE_MARGIN_MS)
            || at > event.ends_at.plus_ms(limits::PLAUSIBLE_MARGIN_MS)
    })
}

/// Merges what two deliveries of one content prove: the better signature, the smaller offset, the earlier arrival.
pub fn merge_deliveries(into: &mut Fact, other: &Fact) {
    // One delivery that proves authorship is enough. A delivery that proves nothing does not end the withholding (spec
    // D10).
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
