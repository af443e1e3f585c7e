//! Computes a ticket's state from three sets: its rules, its reviews and its scans (spec §4 "reduce").
//!
//! The result is the same in whatever order the facts arrive, however often, and in whatever batches. Property tests in
//! `tests/laws/` check this. The steps have the numbers of spec §4:
//!
//! 1. `choose` takes one content of each scan, and leaves out the scans that do not count.
//! 2. `choose` also computes how many persons the reverts leave of each scan.
//! 3. `fold` puts the scans in order.
//! 4. `fold` counts persons in and out along that order.
//!
//! After them, `find` finds the causes: what a person must look at.

use crate::ids::{DeviceId, ScanId};
use crate::incident::{IncidentKind, Role, Subject};
use crate::review::Review;
use crate::rule::{TicketBook, When};
use crate::scan::{WalkIn, keeps};

mod shape;
mod choose;
mod fold;
mod find;

use choose::{Chosen, choose, decisions, left_out};
use find::{Findings, settle_refusals};
use fold::{Fold, Folding, shut_out};
pub use shape::*;

/// Version of this reducer. A node with a lower version than the one that last rebuilt an event refuses to judge there.
/// Otherwise it would undo what a newer node found. Raise the version with every change of the reducer's results. After
/// such an upgrade, the operator runs `admit rebuild` (law 8).
pub const REDUCER_VERSION: u32 = 3;

/// Reduces one subject. `facts` must hold every fact of the subject. For each of them it must also hold every other
/// content under the same (device, scan id), whatever subject that content belongs to. The reducer chooses one of these
/// contents (spec D2).
pub fn reduce(subject: &Subject, rules: Rules<'_>, reviews: &[Review], facts: &[Resolved]) -> Reduced {
    let chosen = choose(facts);
    let newest = rules.event.event(When::Newest);
    let reviewed = decisions(reviews);
    let mut out = Reduced::default();
    let mut taken = Vec::new();
    let mut findings = Findings::new(subject);
    for chosen in chosen.iter().filter(|chosen| chosen.subject == subject) {
        findings.receipt(chosen);
        match left_out(chosen, &reviewed, rules) {
            Some(why) => {
                match why {
                    LeftOut::Unverified => {
                        findings.add(IncidentKind::UnverifiedScan, chosen.cause_scan(Role::Subject));
                    }
                    LeftOut::Practice => findings.practice(chosen, newest.as_ref()),
                    LeftOut::Excluded => {}
                }
                out.verdicts.push(shut_out(chosen, why, rules, newest.as_ref()));
            }
            None => taken.push(chosen),
        }
    }
    out.made_by = made_by(&taken);
    let made = out.made_by.as_ref().zip(subject.ticket_id());
    let made = made.map(|((_, _, walk_in), ticket_id)| TicketBook::made_at_door(ticket_id, walk_in.rules()));
    let rules = Rules { ticket: rules.ticket.or(made.as_ref()), ..rules };
    // Step 2: apply the reverts.
    let keeps = keeps(taken.iter().map(|chosen| &chosen.fact.scan));
    let mut order: Vec<Folding<'_>> =
        taken.iter().map(|chosen| Folding::new(chosen, rules, newest.as_ref(), &keeps)).collect();
    order.sort_by(Folding::order);
    let mut fold = Fold::new(rules);
    for scan in &order {
        fold.step(scan);
    }
    settle_refusals(&order, &fold.state, &mut fold.verdicts);
    findings.of_fold(&order, &fold.verdicts);
    out.effective = order.iter().zip(&fold.verdicts).filter_map(|(scan, verdict)| scan.effective(verdict)).collect();
    out.state = fold.state;
    out.verdicts.extend(fold.verdicts);
    out.causes = findings.into_causes();
    out
}

/// The guest whom a counted scan added at a door, with the scan's device and id. If no import made the ticket, its
/// rules come from this scan, whether the server has stored the ticket's row yet or not (decision 036). `None` if no
/// scan added a guest.
fn made_by(taken: &[&Chosen<'_>]) -> Option<(DeviceId, ScanId, WalkIn)> {
    let scan = taken.iter().map(|chosen| &chosen.fact.scan).find(|scan| scan.walk_in.is_some())?;
    Some((scan.device_id.clone(), scan.scan_id.clone(), scan.walk_in.clone()?))
}
