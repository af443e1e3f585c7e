//! How many persons are in the area behind this gate: the server's last count, corrected by this device's scans that
//! the count does not include.

use std::collections::BTreeSet;

use super::lookup::Known;
use super::own_scan::{Delivery, OwnScan};
use crate::gate::{Direction, same_area};
use crate::ids::{EventId, GateId};
use crate::limits;
use crate::occupancy::{Recount, WithoutTicket};
use crate::rule::Epoch;
use crate::scan::{Headcount, Scan, ScanKind, Stage};
use crate::wire::engine::{HeadcountsView, RecountView, WalkInsView};
use crate::wire::scanning::HeartbeatAnswer;

/// A count that the server made for this device's gate, such as the persons in the area behind it.
#[derive(Debug, Clone)]
struct Area {
    event_id: EventId,
    gate_id: GateId,
    /// The number of persons.
    inside: u32,
    /// The newest change that the count includes: epoch and serial.
    at: (Epoch, u64),
    /// The monotonic clock when the count came.
    heard_mono_ms: i64,
    /// The log of this device when the heartbeat left that brought the count.
    left: Left,
}

/// The log of this device when a heartbeat left.
#[derive(Debug, Clone, Default)]
struct Left {
    /// Seqs of the scans that no receipt named.
    unsent: BTreeSet<u64>,
    /// The seq of its last scan.
    head: u64,
}

/// The counts by the server for this device's gate, as its heartbeats brought them.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// The log when the heartbeat under way left.
    left: Left,
    /// The server's last count of the persons in the area behind this gate. Absent before the first count.
    area: Option<Area>,
    /// Persons added at all doors, as the server last counted them.
    walk_ins: Option<Area>,
}

impl Counts {
    /// Notes which of this device's scans are unsent when a heartbeat leaves. The heartbeat's answer may bring the
    /// server's count of the area, which lacks exactly those scans.
    pub fn beat_leaves(&mut self, known: Known<'_>) {
        // A gate without a capacity needs no count, and copying a long backlog costs time.
        let counts = known.gate().is_some_and(|gate| gate.capacity.is_some());
        let unsent = if counts { known.journal.waiting.clone() } else { BTreeSet::new() };
        self.left = Left { unsent, head: known.journal.head_seq() };
    }

    /// Takes the counts from a heartbeat's answer: of the area, and of guests added at the doors. Either may be absent.
    pub fn follow(&mut self, beat: &HeartbeatAnswer, now_ms: i64) {
        let left = std::mem::take(&mut self.left);
        let told = |inside| Area {
            event_id: beat.event_id.clone(),
            gate_id: beat.gate_id.clone(),
            inside,
            at: (beat.cursor.epoch, beat.cursor.serial),
            heard_mono_ms: now_ms,
            left: left.clone(),
        };
        (self.area, self.walk_ins) = (beat.area_inside.map(told), beat.walk_ins.map(told));
    }

    /// Persons in the area behind this gate, for the advice that the area is full. It is 0 if unknown, since advice
    /// from an old count would hold up a queue for nothing.
    pub fn inside(&self, known: Known<'_>, now_ms: i64) -> u32 {
        self.inside_if_known(known, now_ms).unwrap_or(0)
    }

    /// Persons in the area behind this gate: the server's last count, corrected by this device's scans that the count
    /// does not include. `None` if the gate has no capacity, or if the last count is older than
    /// [`limits::AREA_KNOWN_MS`].
    pub fn inside_if_known(&self, known: Known<'_>, now_ms: i64) -> Option<u32> {
        let (area, paired) = self.area.as_ref().zip(known.paired())?;
        let here = area.event_id == paired.event_id && area.gate_id == paired.gate_id;
        let fresh = now_ms.saturating_sub(area.heard_mono_ms) <= limits::AREA_KNOWN_MS;
        if !here || !fresh || known.gate().is_none_or(|gate| gate.capacity.is_none()) {
            return None;
        }
        // The count can lack only three kinds of scans: unsent ones, those unsent when the heartbeat left, and those
        // made since.
        let waiting = &known.journal.waiting;
        let since = (area.left.head + 1..=known.journal.head_seq()).filter(|seq| !waiting.contains(seq));
        let seqs = waiting.iter().chain(area.left.unsent.difference(waiting)).copied().chain(since);
        let own = seqs.filter_map(|seq| known.journal.at_seq(seq)).filter(|own| !is_counted(known, own, area));
        let own: Vec<&OwnScan> = own.filter(|own| own.scan.event_id == area.event_id).collect();
        let recount = own_recount(known, own.iter().copied());
        let (base, until) =
            recount.map_or((i64::from(area.inside), None), |recount| (i64::from(recount.inside), Some(recount.at)));
        let leads_here = |gate_id: &GateId| same_area(&paired.gate_id, gate_id, |id| known.list()?.gates.get(id));
        let later = own.into_iter().filter(|own| until.is_none_or(|until| own.scan.at > until));
        let moved: i64 = later.filter(|own| leads_here(&own.scan.gate_id)).map(|own| moves(known, &own.scan)).sum();
        Some(u32::try_from((base + moved).max(0)).unwrap_or(u32::MAX))
    }

    /// The data with which the screen adds guests here. `None` if this gate adds none.
    pub fn walk_ins_view(&self, known: Known<'_>, now_ms: i64) -> Option<WalkInsView> {
        let gate = known.gate().filter(|gate| gate.walk_ins && known.direction() == Direction::In)?;
        let number = known.list().and_then(|list| list.event.walk_ins);
        let places_left = gate.capacity.map(|capacity| capacity.saturating_sub(self.inside(known, now_ms)));
        Some(WalkInsView { zones: gate.zones.clone(), added: self.walk_ins_added(known), number, places_left })
    }

    /// Persons whom staff added at all doors: the server's last count, and those whom this device added and the count
    /// lacks.
    fn walk_ins_added(&self, known: Known<'_>) -> u32 {
        let here = known.paired().map(|paired| &paired.event_id);
        let told = self.walk_ins.as_ref().filter(|told| Some(&told.event_id) == here);
        let own = known.journal.walk_ins().filter(|own| known.is_here(&own.scan) && !own.scan.practice);
        let lacking = own.filter(|own| told.is_none_or(|told| !is_counted(known, own, told)));
        let own: u32 = lacking.map(|own| known.journal.kept(&own.scan)).sum();
        told.map_or(0, |told| told.inside).saturating_add(own)
    }

    /// This device's headcounts of its event. `None` until the device is paired. While the event is a draft, these are
    /// the practice headcounts, and afterwards the headcounts that count.
    pub fn headcounts_view(&self, known: Known<'_>, now_ms: i64) -> Option<HeadcountsView> {
        let (event_id, journal, practice) = (&known.paired()?.event_id, known.journal, known.is_practice());
        let counted = journal.counted.get(&(event_id.clone(), practice)).copied().unwrap_or_default();
        let mut own = journal.recounts().rev().filter(|own| own.scan.event_id == *event_id);
        let last = own.find(|own| own.scan.practice == practice && journal.kept(&own.scan) > 0);
        let recount = last.and_then(|own| match own.scan.headcount? {
            Headcount::Recount { inside } => {
                let gate = known.gate_name(&own.scan.gate_id);
                Some(RecountView { scan_id: own.scan.scan_id.clone(), at: own.scan.at, gate, inside })
            }
            Headcount::Change { .. } => None,
        });
        let WithoutTicket { staff, crew, child, other } = counted;
        let area_inside = self.inside_if_known(known, now_ms);
        Some(HeadcountsView { staff, crew, child, other, recount, area_inside })
    }
}

/// The newest scan of `own` that is a recount in force for the area behind this device's gate. `None` if there is
/// none.
fn own_recount<'a>(known: Known<'_>, own: impl Iterator<Item = &'a OwnScan>) -> Option<Recount> {
    let recount = |own: &'a OwnScan| match own.scan.headcount? {
        Headcount::Recount { inside } if known.journal.kept(&own.scan) > 0 && !own.scan.practice => Some(Recount {
            gate_id: own.scan.gate_id.clone(),
            at: own.scan.at,
            device_id: own.scan.device_id.clone(),
            scan_id: own.scan.scan_id.clone(),
            inside,
        }),
        Headcount::Recount { .. } | Headcount::Change { .. } => None,
    };
    let recounts: Vec<Recount> = own.filter_map(recount).collect();
    let gate_id = &known.paired()?.gate_id;
    Recount::newest(&recounts, gate_id, |id| known.list()?.gates.get(id)).cloned()
}

/// Whether the device must not add this scan to the server's count. The count may include the scan already: the
/// scan's receipt, or the server's answer to its claim, is not newer than the count. A held or refused scan counts
/// only after a person decides. About a scan acknowledged in a former epoch the device waits until the server says
/// whether it still has the scan.
fn is_counted(known: Known<'_>, own: &OwnScan, area: &Area) -> bool {
    let (epoch, serial) = area.at;
    let received = own.receipt.is_some_and(|(of, at)| of == Some(epoch) && at <= serial);
    let claimed = known.was_counted(own) && own.scan.epoch == Some(epoch) && own.scan.cursor <= serial;
    let apart = matches!(own.delivery, Delivery::Held | Delivery::Rejected { .. } | Delivery::Asked);
    received || claimed || apart
}

/// How many persons a scan that the count lacks adds to the area, after this device's undos. The number is negative
/// for an exit, and 0 for a scan that let nobody in or is not final.
///
/// An undo adds nothing if the count includes the undone scan. Only the server knows what it counted of that scan,
/// so the next count shows the undo.
fn moves(known: Known<'_>, scan: &Scan) -> i64 {
    let persons = i64::from(known.journal.kept(scan));
    match scan.kind {
        _ if scan.practice || !scan.opened || scan.stage != Stage::Final => 0,
        ScanKind::Entry => persons,
        ScanKind::Exit => -persons,
        ScanKind::Headcount => match scan.headcount {
            Some(Headcount::Change { delta, .. }) => i64::from(delta.signum()) * persons,
            Some(Headcount::Recount { .. }) | None => 0,
        },
        ScanKind::Revert => 0,
    }
}
