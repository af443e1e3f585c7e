//! Gives many incidents the same answer.

use std::collections::BTreeSet;

use admit_core::access::Action;
use admit_core::ids::{DeviceId, EventId, IncidentId, ScanId};
use admit_core::incident::{Cause, Role};
use admit_core::limits::PAGE_MAX;
use admit_core::review::Decision;

use super::resolve::{Resolve, announce_answered, answer, cause_of};
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::events;
use crate::ports::{App, Scope, write};
use crate::records::IncidentStatus;
use crate::rules::Brought;
use crate::scans::reviews::Said;

/// The result for each of the incidents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The incidents that were answered, in the order of the call.
    pub resolved: Vec<IncidentId>,
    /// The incidents that were left unchanged, each with a stable word for the reason: `not_found`, `incident_cleared`,
    /// `no_scans`.
    pub refused: Vec<(IncidentId, &'static str)>,
}

/// Answers up to 500 incidents of one event with one decision, each as [`super::resolve`] does, in one transaction.
/// Without `decision` the answer is a note. If scans of the incident let persons in beyond the limit, `accept` and
/// `exclude` decide about these scans only, because the other scans stayed within the limit. If no scan did, they
/// decide about all scans of the incident. An incident that an earlier answer of the same call clears counts as
/// answered. Fails with a field error for no or too many ids. Incidents that cannot be answered are listed, and don't
/// stop the others.
pub async fn resolve_many(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    ids: Vec<IncidentId>,
    decision: Option<Decision>,
    note: &str,
) -> Result<Resolved> {
    caller.must(Action::Review)?;
    let now = app.clock.now();
    let seeded = app.seeded_ids();
    // 1. Check.
    let mut checks = Checks::default();
    let note = checks.note("note", Some(note)).unwrap_or_default();
    if ids.is_empty() || ids.len() > PAGE_MAX {
        checks.fail("ids", format!("must name 1 to {PAGE_MAX} incidents, not {}", ids.len()));
    }
    checks.finish()?;
    let mut seen = BTreeSet::new();
    let ids: Vec<IncidentId> = ids.into_iter().filter(|id| seen.insert(id.clone())).collect();
    let by = caller.clone();
    let id = event_id.clone();
    let (done, brought) = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let mut seeded = seeded.clone();
        events::require(tx, &id)?;
        let words = Said { by: &by.user_id, note: &note, at: now };
        let (mut done, mut all, mut reviewed) = (Resolved::default(), None::<Brought>, BTreeSet::new());
        let mut open_at_first = BTreeSet::new();
        for incident_id in &ids {
            let found = tx.incident(incident_id)?.filter(|one| one.event_id == id);
            open_at_first.extend(found.filter(|one| one.status == IncidentStatus::Open).map(|one| one.incident_id));
        }
        for incident_id in &ids {
            // 2. Read the incident as it is now, since earlier answers of this call may have changed it.
            let Some(before) = tx.incident(incident_id)?.filter(|one| one.event_id == id) else {
                done.refused.push((incident_id.clone(), "not_found"));
                continue;
            };
            if before.status == IncidentStatus::Cleared && open_at_first.contains(incident_id) {
                done.resolved.push(incident_id.clone());
                continue;
            }
            let cause = cause_of(&before)?;
            let said = Resolve { decision, scans: meant(&cause, decision), note: note.clone() };
            if said.scans.is_empty() && matches!(decision, Some(Decision::Accept | Decision::Exclude)) {
                done.refused.push((incident_id.clone(), "no_scans"));
                continue;
            }
            // 3. Answer it, judge what follows, and write a line for each.
            match answer(tx, &by, &before, &cause, &said, &words, &mut reviewed, &mut seeded) {
                Ok(brought) => {
                    done.resolved.push(incident_id.clone());
                    all = brought.into_iter().fold(all, |sum, one| Some(together(sum, &one)));
                }
                // The answer is refused before anything of it is written.
                Err(Error::Conflict { code, .. }) => done.refused.push((incident_id.clone(), code)),
                Err(error) => return Err(error),
            }
        }
        Ok((done, all))
    })
    .await?;
    if let Some(brought) = brought {
        announce_answered(app, caller, event_id, &brought);
    }
    Ok(done)
}

/// The scans of a cause that a decision is about. If some scans let persons in beyond the limit, `accept` and `exclude`
/// are about these only, because the other scans of the cause stayed within the limit. Otherwise they are about all
/// scans of the cause. A note names no scan. `restore` names none either, and so takes back every decision.
fn meant(cause: &Cause, decision: Option<Decision>) -> Vec<(DeviceId, ScanId)> {
    if !matches!(decision, Some(Decision::Accept | Decision::Exclude)) {
        return Vec::new();
    }
    let on_top = cause.scans.iter().any(|scan| scan.role == Role::DoubleEntry);
    let meant = cause.scans.iter().filter(|scan| !on_top || scan.role == Role::DoubleEntry);
    meant.map(|scan| (scan.device_id.clone(), scan.scan_id.clone())).collect()
}

/// The sum of what two answers of one write changed.
fn together(sum: Option<Brought>, one: &Brought) -> Brought {
    let sum = sum.unwrap_or_default();
    Brought {
        serial: one.serial,
        entered: sum.entered + one.entered,
        moved: sum.moved || one.moved,
        incidents: sum.incidents || one.incidents,
    }
}
