//! Steps 3 and 4 of the reducer: the order of scans, and the count of persons along it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::choose::Chosen;
use super::shape::{
    ConflictReason, EffectiveScan, Entry, LeftOut, Rules, ScanVerdict, TicketState, Visit, implausible,
};
use crate::decide::{Question, Standing, Verdict, decide};
use crate::event::{EventRules, ReEntry};
use crate::gate::{Direction, EntryRule};
use crate::ids::{DeviceId, ScanId};
use crate::limits;
use crate::rule::When;
use crate::scan::{Fact, Form, Headcount, Outcome, ScanKind, Stage};
use crate::ticket::TicketRules;
use crate::time::Timestamp;

/// The verdict of a scan that does not count.
pub(super) fn shut_out(
    chosen: &Chosen<'_>,
    why: LeftOut,
    rules: Rules<'_>,
    newest: Option<&EventRules>,
) -> ScanVerdict {
    let none = BTreeMap::new();
    let scan = Folding::new(chosen, rules, newest, &none);
    ScanVerdict { left_out: Some(why), digest: Some(chosen.fact.digest), count: 0, ..scan.blank() }
}

/// One scan prepared for the fold, which counts persons in and out.
pub(super) struct Folding<'a> {
    pub(super) chosen: &'a Chosen<'a>,
    pub(super) at: Timestamp,
    implausible: bool,
    when: When,
    /// The rules by which the event's status is judged. For everything else `when` holds. The two differ only if the
    /// device asked the server: `when` includes rules that only the server knew. So an organiser who ends the event
    /// after the scan causes no refusal (spec D17).
    own_when: When,
    pub(super) kind: ScanKind,
    count: u32,
    /// Whether the scan's gate let staff add guests at the scan's time.
    adds_guests: bool,
}

impl<'a> Folding<'a> {
    /// Prepares a scan. `newest` holds the event's newest rules, which the caller reads once for all scans.
    pub(super) fn new(
        chosen: &'a Chosen<'a>,
        rules: Rules<'_>,
        newest: Option<&EventRules>,
        keeps: &BTreeMap<(&DeviceId, &ScanId), u32>,
    ) -> Self {
        let scan = &chosen.fact.scan;
        let at = chosen.fact.at();
        let own = rules.event.epochs.known(scan.epoch, scan.known_serial());
        let by = |known| if rules.newest { When::Newest } else { When::Scan { at, known } };
        let (own_when, when) = (by(own), by(own.max(chosen.judged_serial)));
        let implausible = implausible(newest, at);
        // S1 and S2 have no exits. Their scans at a gate that leads out are exits (spec §4).
        let leads_out = scan.form != Form::V2
            && rules.event.gate(&scan.gate_id, when).is_some_and(|gate| gate.direction == Direction::Out);
        let kind = if leads_out && scan.kind == ScanKind::Entry { ScanKind::Exit } else { scan.kind };
        let keep = keeps.get(&(&scan.device_id, &scan.scan_id)).copied();
        let count = if kind == ScanKind::Revert { 0 } else { keep.map_or(scan.count, |keep| keep.min(scan.count)) };
        let adds_guests =
            scan.walk_in.is_some() && rules.event.gate(&scan.gate_id, when).is_some_and(|gate| gate.walk_ins);
        Self { chosen, at, implausible, when, own_when, kind, count, adds_guests }
    }

    /// Whether staff added a guest at a gate where none may be added, or with the PIN beyond the number that the event
    /// allows.
    pub(super) fn over_walk_ins(&self, verdict: &ScanVerdict) -> bool {
        let scan = &self.chosen.fact.scan;
        let beyond = scan.override_.is_some() && verdict.outcome == Outcome::Valid;
        scan.walk_in.is_some() && verdict.opened && verdict.count > 0 && (!self.adds_guests || beyond)
    }

    /// Step 3: orders scans by (implausible, at, device, scan id). The time of arrival plays no part.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let key = |folding: &Self| (folding.implausible, folding.at);
        let (a, b) = (&self.chosen.fact.scan, &other.chosen.fact.scan);
        key(self).cmp(&key(other)).then_with(|| (&a.device_id, &a.scan_id).cmp(&(&b.device_id, &b.scan_id)))
    }

    fn blank(&self) -> ScanVerdict {
        let Fact { scan, digest, .. } = &*self.chosen.fact;
        ScanVerdict {
            device_id: scan.device_id.clone(),
            scan_id: scan.scan_id.clone(),
            digest: (!self.chosen.alone).then_some(*digest),
            at: self.at,
            implausible: self.implausible,
            gate_id: scan.gate_id.clone(),
            kind: self.kind,
            left_out: None,
            outcome: Outcome::Valid,
            reason: None,
            opened: self.chosen.fact.opened(),
            count: self.count,
            within: 0,
            over: 0,
            exited: 0,
            exited_over: 0,
            conflict: false,
            conflict_reason: None,
            admitted_in_error: false,
            refused_in_error: false,
            basis_mismatch: false,
            headcount: None,
        }
    }

    /// Whether the scan let a person in or out by a ticket. The ticket's rules judge only such scans.
    fn is_of_ticket(&self) -> bool {
        matches!(self.kind, ScanKind::Entry | ScanKind::Exit)
    }

    /// The scan's headcount after undos. `None` if nothing is left. A recount with an implausible time is left out. If
    /// its time lay in the future, it would outrank all later counts.
    fn counted(&self) -> Option<Headcount> {
        let left = self.chosen.fact.scan.headcount?.of_which(self.count)?;
        (!self.implausible || matches!(left, Headcount::Change { .. })).then_some(left)
    }

    pub(super) fn effective(&self, verdict: &ScanVerdict) -> Option<EffectiveScan> {
        let scan = &self.chosen.fact.scan;
        (verdict.opened && self.count > 0 && self.is_of_ticket()).then(|| EffectiveScan {
            device_id: scan.device_id.clone(),
            scan_id: scan.scan_id.clone(),
            at: self.at,
            uncertainty_ms: scan.uncertainty_ms,
            implausible: self.implausible,
            kind: self.kind,
            count: self.count,
            opened: verdict.opened,
            gate_id: scan.gate_id.clone(),
            s2: scan.form == Form::S2,
            claim: scan.stage == Stage::Claim,
        })
    }
}

/// Step 4: counts persons in and out along the order.
pub(super) struct Fold<'a> {
    rules: Rules<'a>,
    pub(super) state: TicketState,
    pub(super) verdicts: Vec<ScanVerdict>,
    /// For each entry in `state`, the index of its verdict.
    entry_verdicts: Vec<usize>,
    /// How many of the ticket's entries came before the last moment when nobody was inside with it. In the re-entry
    /// mode `after_exit`, only the entries after them used the limit up.
    left_again: usize,
}

impl<'a> Fold<'a> {
    pub(super) fn new(rules: Rules<'a>) -> Self {
        let state = TicketState::default();
        Self { rules, state, verdicts: Vec::new(), entry_verdicts: Vec::new(), left_again: 0 }
    }

    pub(super) fn step(&mut self, scan: &Folding<'_>) {
        let mut verdict = ScanVerdict { headcount: scan.counted(), ..scan.blank() };
        let ticket = self.rules.ticket.and_then(|book| book.get(scan.when));
        if let Some(mut event) = self.rules.event.event(scan.when)
            && scan.is_of_ticket()
        {
            event.status = self.rules.event.status(scan.own_when).unwrap_or(event.status);
            let zone = ticket.as_ref().map(|ticket| ticket.zone.as_str());
            let visit = Visit { event: &event, zone, gate_id: &scan.chosen.fact.scan.gate_id };
            let standing = self.state.standing(&visit, scan.at, scan.implausible);
            let said = self.ask(scan, &event, ticket.as_ref(), &standing);
            (verdict.outcome, verdict.reason) = (said.outcome, said.reason);
            verdict.basis_mismatch = basis_mismatch(scan, self.rules);
            if scan.kind == ScanKind::Exit {
                self.exit(&mut verdict);
            } else {
                self.enter(scan, &mut verdict, &event, ticket.as_ref(), &standing);
                // Only an entry can be admitted in error. A person who leaves was not let in by the exit, whatever the
                // ticket's rules now say.
                let overdrawn = matches!(verdict.outcome, Outcome::Valid | Outcome::Duplicate);
                verdict.admitted_in_error = verdict.opened && scan.count > 0 && !overdrawn;
            }
        }
        self.verdicts.push(verdict);
    }

    fn ask(
        &self,
        scan: &Folding<'_>,
        event: &EventRules,
        ticket: Option<&TicketRules>,
        standing: &Standing,
    ) -> Verdict {
        let gate_id = &scan.chosen.fact.scan.gate_id;
        let gate = self.rules.event.gate(gate_id, scan.when);
        let gate = gate.as_ref();
        decide(Question { event, ticket, standing, gate_id, gate, at: scan.at, kind: scan.kind, area_inside: 0 })
    }

    fn enter(
        &mut self,
        scan: &Folding<'_>,
        verdict: &mut ScanVerdict,
        event: &EventRules,
        ticket: Option<&TicketRules>,
        standing: &Standing,
    ) {
        let source = &scan.chosen.fact.scan;
        let visit = Visit { event, zone: ticket.map(|ticket| ticket.zone.as_str()), gate_id: &source.gate_id };
        let free = ticket.map_or(u32::MAX, |ticket| standing.free(ticket.entry_limit, &visit.measure()));
        if source.form == Form::S2 && verdict.opened && free == 0 && self.double_read(scan) {
            verdict.opened = false;
            verdict.conflict = true;
            verdict.conflict_reason = Some(ConflictReason::DuplicateScan);
            return;
        }
        if !verdict.opened {
            return;
        }
        verdict.within = scan.count.min(free);
        verdict.over = scan.count - verdict.within;
        if verdict.over > 0 && self.limit_is_checked(scan) {
            let spent = visit.measure().uses.is_some_and(|uses| standing.spent.saturating_add(verdict.within) >= uses);
            self.mark_double_entry(scan, &visit, spent, verdict);
        }
        if scan.count > 0 {
            self.state.within = self.state.within.saturating_add(verdict.within);
            self.state.over = self.state.over.saturating_add(verdict.over);
            self.state.inside_within = self.state.inside_within.saturating_add(verdict.within);
            self.state.inside_over = self.state.inside_over.saturating_add(verdict.over);
            self.entry_verdicts.push(self.verdicts.len());
            self.state.entries.push(Entry {
                at: scan.at,
                uncertainty_ms: source.uncertainty_ms,
                device_id: source.device_id.clone(),
                scan_id: source.scan_id.clone(),
                gate_id: source.gate_id.clone(),
                within: verdict.within,
                over: verdict.over,
            });
        }
    }

    /// Whether the scan's gate checks duplicates. A gate that does not still counts persons beyond the limit, but calls
    /// none of them a double entry.
    fn limit_is_checked(&self, scan: &Folding<'_>) -> bool {
        let gate = self.rules.event.gate(&scan.chosen.fact.scan.gate_id, scan.when);
        gate.is_none_or(|gate| gate.entry_rules.contains(&EntryRule::CheckNotDuplicate))
    }

    /// Whether the ticket's last entry came from the same device and lies less than five minutes before or after this
    /// scan. S2 calls this a double read.
    fn double_read(&self, scan: &Folding<'_>) -> bool {
        self.state.entries.last().is_some_and(|entry| {
            entry.device_id == scan.chosen.fact.scan.device_id && scan.at.since(entry.at).abs() < limits::DOUBLE_READ_MS
        })
    }

    /// Marks the scan with persons beyond the limit as a `conflict`, and also the entries that used the limit up (spec
    /// D3). `spent` says that the ticket's limit `uses` is used up. Then every entry is marked, because every entry
    /// counts against `uses`.
    fn mark_double_entry(&mut self, scan: &Folding<'_>, visit: &Visit<'_>, spent: bool, verdict: &mut ScanVerdict) {
        verdict.conflict = true;
        verdict.conflict_reason = Some(ConflictReason::DoubleEntry);
        let by_exits = visit.measure().re_entry == ReEntry::AfterExit && !spent;
        let from = if by_exits { self.left_again } else { 0 };
        for (entry, place) in self.state.entries.iter().zip(&self.entry_verdicts).skip(from) {
            let still_counts = spent || visit.counts(entry, scan.at, scan.implausible);
            if entry.within > 0 && still_counts {
                self.verdicts[*place].conflict = true;
            }
        }
    }

    /// Counts the persons of an exit out, but no more than are inside, and first those beyond the limit. If the scan
    /// has more persons, the verdict records that these left without an entry.
    fn exit(&mut self, verdict: &mut ScanVerdict) {
        if !verdict.opened {
            return;
        }
        verdict.exited = verdict.count.min(self.state.inside());
        verdict.exited_over = verdict.count - verdict.exited;
        let over = verdict.exited.min(self.state.inside_over);
        self.state.inside_over -= over;
        self.state.inside_within -= verdict.exited - over;
        self.state.exited = self.state.exited.saturating_add(verdict.exited);
        if self.state.inside() == 0 {
            self.left_again = self.state.entries.len();
        }
    }
}

/// Checks invariant I25: the outcome that the device showed must follow from the rules and from the scan's `basis`,
/// which states what the device knew of the ticket. This is checked only for v2 scans, and only if the device decided
/// alone. A scan about which the device asked shows the server's answer.
fn basis_mismatch(scan: &Folding<'_>, rules: Rules<'_>) -> bool {
    let Chosen { fact, judged_serial, .. } = scan.chosen;
    let source = &fact.scan;
    let (Form::V2, Some(basis), false, 0) = (source.form, &source.basis, rules.newest, *judged_serial) else {
        return false;
    };
    let known = rules.event.epochs.known(source.epoch, source.known_serial());
    if known != source.known_serial() {
        return false; // The device used rules that a restore threw away.
    }
    // The device takes a ticket's newer rules from `changes`, but those of the event and its gates from the list alone.
    let list = When::Known(source.manifest_version);
    let Some(event) = rules.event.event(list) else { return false };
    let ticket = rules.ticket.and_then(|book| book.get(When::Known(known)));
    let gate = rules.event.gate(&source.gate_id, list);
    let standing = Standing { used: basis.within, spent: basis.spent, inside: basis.inside, last_entry: None };
    let question = Question {
        event: &event,
        ticket: ticket.as_ref(),
        standing: &standing,
        gate_id: &source.gate_id,
        gate: gate.as_ref(),
        at: source.at,
        kind: source.kind,
        area_inside: 0,
    };
    decide(question).outcome != source.outcome
}
