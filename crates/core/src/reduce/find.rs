//! Finds what a person must look at, and judges the scans at which the door stayed shut.

use std::collections::BTreeMap;

use super::choose::Chosen;
use super::fold::Folding;
use super::shape::{ConflictReason, Entry, ScanVerdict, TicketState};
use crate::decide::Reason;
use crate::event::EventRules;
use crate::incident::{Cause, CauseScan, CauseSubject, IncidentKind, Role, Subject};
use crate::limits;
use crate::scan::{Form, Outcome, ScanKind, Stage};

/// Judges the scans at which the door stayed shut: whether the refusal was right. The answer depends on every entry,
/// later ones too, so this step follows the counting in `fold`.
pub(super) fn settle_refusals(order: &[Folding<'_>], state: &TicketState, verdicts: &mut [ScanVerdict]) {
    for (scan, verdict) in order.iter().zip(verdicts) {
        let fact = &scan.chosen.fact;
        if verdict.opened || verdict.conflict_reason.is_some() || scan.kind == ScanKind::Revert {
            continue;
        }
        let said = match fact.scan.stage {
            Stage::Claim => fact.judged.map_or(fact.scan.outcome, |judged| judged.outcome),
            Stage::Final => fact.scan.outcome,
        };
        let near = || state.entries.iter().any(|entry| overlap(entry, scan));
        match (said, verdict.outcome) {
            // The outcome was valid and the door stayed shut. Staff refused the guest, for example after a look at an
            // ID, so the list made no error.
            (Outcome::Valid, _) => {}
            (Outcome::Duplicate, Outcome::Duplicate) => duplicate(verdict),
            (Outcome::Duplicate, Outcome::Valid) if near() => duplicate(verdict),
            (_, Outcome::Valid) => verdict.refused_in_error = true,
            _ => {}
        }
    }
}

fn duplicate(verdict: &mut ScanVerdict) {
    verdict.conflict = true;
    verdict.conflict_reason = Some(ConflictReason::DuplicateScan);
}

fn overlap(entry: &Entry, scan: &Folding<'_>) -> bool {
    let reach = entry.uncertainty_ms.saturating_add(scan.chosen.fact.scan.uncertainty_ms);
    scan.at.since(entry.at).unsigned_abs() <= reach
}

/// Collects causes by kind.
pub(super) struct Findings<'a> {
    subject: &'a Subject,
    by_kind: BTreeMap<IncidentKind, (Vec<CauseScan>, bool)>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(subject: &'a Subject) -> Self {
        Self { subject, by_kind: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, kind: IncidentKind, scan: CauseScan) {
        self.by_kind.entry(kind).or_default().0.push(scan);
    }

    /// Finds a scan whose time lies after its arrival at the server, and a scan id that was reused. It is called for
    /// every scan, including scans that don't count.
    pub(super) fn receipt(&mut self, chosen: &Chosen<'_>) {
        let fact = &chosen.fact;
        let ahead = fact.at().since(fact.received_at);
        if ahead > limits::FUTURE_MS {
            self.add(IncidentKind::FutureTime, chosen.cause_scan(Role::Subject));
        }
        let claimed = i64::try_from(fact.scan.uncertainty_ms).unwrap_or(i64::MAX);
        if fact.scan.form == Form::V2 && ahead > claimed.saturating_add(limits::CLOCK_SUSPECT_MS) {
            self.add(IncidentKind::ClockSuspect, chosen.cause_scan(Role::Subject));
        }
        if chosen.reused {
            self.add(IncidentKind::ScanIdReused, chosen.cause_scan(Role::Subject));
        }
    }

    /// Finds a practice scan that opened a door after the event's doors had opened. Its device did not know of the
    /// opening, and the guests are in.
    pub(super) fn practice(&mut self, chosen: &Chosen<'_>, event: Option<&EventRules>) {
        let opened_at = event.and_then(|event| event.opened_at);
        let let_in = chosen.fact.opened() && chosen.fact.scan.headcount.is_none();
        if let_in && opened_at.is_some_and(|opened_at| chosen.fact.at() > opened_at) {
            self.add(IncidentKind::PracticeAfterOpen, chosen.cause_scan(Role::Subject));
        }
    }

    pub(super) fn of_fold(&mut self, order: &[Folding<'_>], verdicts: &[ScanVerdict]) {
        for (scan, verdict) in order.iter().zip(verdicts) {
            let plain = |role| CauseScan {
                within: verdict.within,
                over: verdict.over + verdict.exited_over,
                ..scan.chosen.cause_scan(role)
            };
            let reasoned = || CauseScan { reason: verdict.reason, ..plain(Role::Subject) };
            match verdict.conflict_reason {
                Some(ConflictReason::DoubleEntry) => self.add(IncidentKind::DoubleEntry, plain(Role::DoubleEntry)),
                Some(ConflictReason::DuplicateScan) => self.add(IncidentKind::DuplicateScan, plain(Role::Subject)),
                None if verdict.conflict => self.add(IncidentKind::DoubleEntry, plain(Role::Entry)),
                None => {}
            }
            if verdict.admitted_in_error {
                let ended = verdict.reason == Some(Reason::EventEnded);
                let kind = if ended { IncidentKind::AdmittedAfterEnd } else { IncidentKind::AdmittedInError };
                self.add(kind, reasoned());
            }
            if verdict.refused_in_error {
                self.add(IncidentKind::RefusedInError, plain(Role::Subject));
            }
            if scan.over_walk_ins(verdict) {
                self.add(IncidentKind::WalkInsOver, plain(Role::Subject));
            }
            if verdict.exited_over > 0 {
                self.add(IncidentKind::ExitWithoutEntry, plain(Role::Subject));
            }
            if verdict.implausible && scan.kind != ScanKind::Revert {
                self.add(IncidentKind::ImplausibleTime, plain(Role::Subject));
            }
        }
        if let Some((scans, order_uncertain)) = self.by_kind.get_mut(&IncidentKind::DoubleEntry) {
            *order_uncertain = uncertain(scans);
        }
    }

    pub(super) fn into_causes(self) -> Vec<Cause> {
        let subject = CauseSubject::Scans(self.subject.clone());
        self.by_kind
            .into_iter()
            .map(|(kind, (scans, order_uncertain))| Cause { kind, subject: subject.clone(), scans, order_uncertain })
            .collect()
    }
}

/// Whether the time intervals of a scan within the limit and of one beyond it overlap. If they do, nobody can say for
/// sure which scan was first.
fn uncertain(scans: &[CauseScan]) -> bool {
    let (losers, winners): (Vec<_>, Vec<_>) = scans.iter().partition(|scan| scan.role == Role::DoubleEntry);
    winners.iter().any(|winner| {
        losers.iter().any(|loser| {
            winner.at.since(loser.at).unsigned_abs() <= winner.uncertainty_ms.saturating_add(loser.uncertainty_ms)
        })
    })
}
