//! Recomputes everything that is derived from the facts, and compares or replaces it (law 8, invariant I7).

use std::collections::{BTreeMap, BTreeSet};

use admit_core::ids::{DeviceId, EventId, OrganizationId, ScanId};
use admit_core::occupancy::{Occupancy, Recount};
use admit_core::reduce::{LeftOut, REDUCER_VERSION, Reduced, ScanVerdict};
use admit_core::scan::Digest;
use admit_core::time::Timestamp;

use super::rejudge::{reduce_stored, rejudge_by, state_record};
use super::settle::WriteContext;
use crate::error::Result;
use crate::ports::{App, Scope, Tx, read, write};
use crate::records::{Flows, IncidentStatus, NewAudit, StateRecord, WaitingScan};

/// Subjects that are reduced at a time. The number limits memory and does not affect the result.
const CHUNK: usize = 2_000;

/// The differences that a comparison found, in plain words. Empty if the derived rows equal what the facts give.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// The differences, one line each.
    pub lines: Vec<String>,
    /// Number of subjects compared.
    pub subjects: usize,
}

/// Compares every derived row of an event with a recomputation from its facts. Writes nothing.
pub async fn check(app: &App, organization_id: &OrganizationId, event_id: &EventId) -> Result<Differences> {
    let event_id = event_id.clone();
    read(&*app.store, organization_id, move |tx| differences(tx, &event_id)).await
}

fn subjects(tx: &mut dyn Tx, event_id: &EventId) -> Result<Vec<String>> {
    let mut keys: BTreeSet<String> = tx.subjects_with_scans(event_id)?.into_iter().collect();
    keys.extend(tx.subjects_with_states(event_id)?);
    Ok(keys.into_iter().collect())
}

/// Compares inside a transaction. The simulator calls it too.
pub fn differences(tx: &mut dyn Tx, event_id: &EventId) -> Result<Differences> {
    let keys = subjects(tx, event_id)?;
    let mut out = Differences { subjects: keys.len(), ..Differences::default() };
    let (mut total, mut flow) = (Occupancy::default(), Flows::default());
    let (mut causes, mut waiting, mut recounts) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
    for chunk in keys.chunks(CHUNK) {
        let held = tx.judged_states(event_id, chunk)?.into_iter();
        let held: BTreeMap<String, _> = held.map(|found| (found.0.subject_key.clone(), found)).collect();
        for (key, reduced) in reduce_stored(tx, event_id, chunk)? {
            total.add(&Occupancy::of(&reduced), 1);
            flow.add(&reduced.verdicts, 1);
            waiting.extend(waiting_of(&key, &reduced));
            recounts.extend(Recount::of(&reduced.verdicts).into_iter().map(|one| (key.clone(), one)));
            out.lines.extend(difference(&key, &reduced, held.get(&key)));
            for cause in &reduced.causes {
                causes.insert((key.clone(), cause.kind), cause.digest());
            }
        }
    }
    let counted = tx.occupancy(event_id)?;
    if counted != total {
        out.lines.push(format!("occupancy: stored {counted:?}, recomputed {total:?}"));
    }
    if tx.flow(event_id, Timestamp::default())? != flow.minutes() {
        out.lines.push("flow: stored minutes differ".to_owned());
    }
    let by_place = |(key, one): &(String, Recount)| (key.clone(), one.device_id.clone(), one.scan_id.clone());
    recounts.sort_by_key(by_place);
    if tx.recounts(event_id)? != recounts {
        out.lines.push("recounts: stored ones differ".to_owned());
    }
    let marked: BTreeSet<_> =
        tx.all_waiting_scans(event_id)?.into_iter().map(|(device_id, scan)| place_of(device_id, scan)).collect();
    if marked != waiting {
        out.lines.push(format!("waiting scans: stored {}, recomputed {}", marked.len(), waiting.len()));
    }
    for incident in tx.all_incidents(event_id)? {
        if !is_of_scans(&incident.subject_key) {
            continue;
        }
        let cause = causes.remove(&(incident.subject_key.clone(), incident.kind));
        let resolved = |digest| incident.resolved_digest == Some(digest);
        let right = match cause {
            Some(digest) if resolved(digest) => {
                incident.status == IncidentStatus::Resolved && incident.digest == digest
            }
            Some(digest) => incident.status == IncidentStatus::Open && incident.digest == digest,
            None => incident.status == IncidentStatus::Cleared,
        };
        if !right {
            out.lines.push(format!(
                "incident {} of {}: is {}",
                incident.kind,
                incident.subject_key,
                incident.status.as_str()
            ));
        }
    }
    out.lines.extend(causes.into_keys().map(|(key, kind)| format!("incident {kind} of {key}: is missing")));
    Ok(out)
}

/// A scan that waits for a person: its subject, author, id and content.
type Waiting = (String, DeviceId, ScanId, Digest);

fn place_of(device_id: DeviceId, scan: WaitingScan) -> Waiting {
    (scan.subject_key, device_id, scan.scan_id, scan.digest)
}
fn waiting_of<'r>(key: &'r str, reduced: &'r Reduced) -> impl Iterator<Item = Waiting> {
    let waits = reduced.verdicts.iter().filter(|verdict| verdict.left_out == Some(LeftOut::Unverified));
    waits.filter_map(move |one| Some((key.to_owned(), one.device_id.clone(), one.scan_id.clone(), one.digest?)))
}

/// Whether a subject's key names a ticket or an unknown code. Only these subjects have scans, so `reduce` computes
/// their causes. Causes of logs, devices and batches depend on deliveries, and are neither compared nor rebuilt here.
fn is_of_scans(subject_key: &str) -> bool {
    subject_key.starts_with("ticket:") || subject_key.starts_with("unknown:")
}

/// How a stored state differs from the recomputed one. `None` if it does not.
fn difference(key: &str, reduced: &Reduced, held: Option<&(StateRecord, Vec<ScanVerdict>)>) -> Option<String> {
    match held {
        None if reduced.verdicts.is_empty() && reduced.causes.is_empty() => None,
        None => Some(format!("{key}: no stored state")),
        Some((state, _)) if !state.same_as(&state_record(key, reduced, 0)) => {
            Some(format!("{key}: stored state differs"))
        }
        Some((_, verdicts)) if *verdicts != reduced.verdicts => Some(format!("{key}: stored verdicts differ")),
        Some(_) => None,
    }
}

/// Replaces every derived row of an event by a recomputation from its facts, in one transaction.
pub async fn rebuild(app: &App, organization_id: &OrganizationId, event_id: &EventId) -> Result<usize> {
    let (event_id, now, seeded) = (event_id.clone(), app.clock.now(), app.seeded_ids());
    write(&*app.store, Scope::event(organization_id, &event_id), move |tx| {
        let mut seeded = seeded.clone();
        let mut keys = subjects(tx, &event_id)?;
        // An incident about a subject that no scan names any more is cleared too.
        let known: BTreeSet<String> = keys.iter().cloned().collect();
        let incidents = tx.all_incidents(&event_id)?.into_iter().map(|one| one.subject_key);
        let stray: BTreeSet<String> = incidents.filter(|key| is_of_scans(key) && !known.contains(key)).collect();
        keys.extend(stray);
        let stamp = tx.stamp(&event_id)?;
        let (mut total, mut flow) = (Occupancy::default(), Flows::default());
        tx.clear_waiting(&event_id)?;
        tx.clear_recounts(&event_id)?;
        for chunk in keys.chunks(CHUNK) {
            let chunk: BTreeSet<String> = chunk.iter().cloned().collect();
            let context = WriteContext { event_id: &event_id, stamp, now };
            let rejudged = rejudge_by(tx, &chunk, &context, &mut seeded, true)?;
            for reduced in rejudged.reduced.values() {
                total.add(&Occupancy::of(reduced), 1);
                flow.add(&reduced.verdicts, 1);
            }
        }
        tx.delete_states_before(&event_id, stamp.serial)?;
        tx.set_occupancy(&event_id, &total, stamp.serial)?;
        tx.set_flow(&event_id, &flow.minutes())?;
        tx.set_reducer_version(&event_id, REDUCER_VERSION)?;
        tx.append_audit(NewAudit {
            event_id: Some(event_id.clone()),
            user_id: None,
            device_id: None,
            action: "event_rebuilt",
            entity_type: "Event",
            entity_id: event_id.as_str().to_owned(),
            changes: serde_json::json!({ "subjects": keys.len() }).to_string(),
            metadata: "{}".to_owned(),
        })?;
        Ok(keys.len())
    })
    .await
}
