//! A person answers an incident: their decisions about its scans are facts, and the scans are judged anew by them.

use std::collections::BTreeSet;

use admit_core::access::Action;
use admit_core::ids::{DeviceId, EventId, IncidentId, ScanId};
use admit_core::incident::{Cause, CauseSubject};
use admit_core::review::{Decision, Review};
use admit_core::scan::Digest;
use admit_core::wire::stored;
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::ports::{App, Hint, Scope, Topic, Tx, read, write};
use crate::records::*;
use crate::rules::{Brought, announce};
use crate::scans::rejudge::rejudge;

/// What a person says.
#[derive(Debug, Clone)]
pub struct Resolve {
    /// `None` = only a note.
    pub decision: Option<Decision>,
    /// The scans it is about: at least one, unless it is only a note.
    pub scans: Vec<(DeviceId, ScanId)>,
    /// Why; may be empty.
    pub note: String,
}

/// Answers an incident: it is resolved for exactly what it says now; should its cause change, it opens again. `accept`
/// counts an unproven scan, `exclude` un-counts one, `restore` takes either back; a note decides nothing. Fails with
/// `incident_cleared` when the cause is gone meanwhile.
pub async fn resolve(app: &App, caller: &UserCaller, incident_id: IncidentId, said: Resolve) -> Result<IncidentRecord> {
    caller.must(Action::Review)?;
    let now = app.clock.now();
    let draw = app.draw();
    // 1. Check.
    let mut checks = Checks::default();
    let note = checks.note("note", Some(&said.note)).unwrap_or_default();
    match said.decision {
        None if !said.scans.is_empty() => {
            checks.fail("scans", "must be left out for a note: it decides nothing about scans")
        }
        Some(_) if said.scans.is_empty() => checks.fail("scans", "must name the scans that are decided about"),
        _ => {}
    }
    checks.finish()?;
    let id = incident_id.clone();
    let incident = read(&*app.store, &caller.organization_id, move |tx| find(tx, &id)).await?;
    let event_id = incident.event_id;
    let by = caller.clone();
    let id = event_id.clone();
    let (incident, brought) = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let mut draw = draw.clone();
        // 2. The incident as it stands now, and the very contents the person looked at.
        let before = find(tx, &incident_id)?;
        if before.status == IncidentStatus::Cleared {
            return Err(Error::conflict("incident_cleared", "its cause is gone: there is nothing left to decide"));
        }
        let cause = stored::cause_from_json(&before.cause).map_err(|error| Error::Bug(error.to_string()))?;
        let stamp = tx.stamp(&id)?;
        let reviews = reviews(tx, &id, &cause, &said, stamp)?;
        // 3. Resolved, for this digest; the decisions; what follows from them.
        let decision = said.decision.map_or("note", Decision::as_str).to_owned();
        let resolution =
            Resolution { user_id: by.user_id.clone(), decision: decision.clone(), note: note.clone(), at: now };
        tx.put_incidents(&[IncidentRecord {
            status: IncidentStatus::Resolved,
            resolved_digest: Some(before.digest),
            resolution: Some(resolution),
            updated_at: now,
            serial: stamp.serial,
            ..before
        }])?;
        let mut brought = Brought { serial: stamp.serial, ..Brought::default() };
        if !reviews.is_empty() {
            tx.insert_reviews(&id, &by.user_id, &note, now, &reviews)?;
            let scan_ids: BTreeSet<_> =
                reviews.iter().map(|one| (one.device_id.clone(), one.scan_id.clone())).collect();
            let subjects = subjects(tx, &cause, &scan_ids)?;
            brought = Brought::of(stamp, &rejudge(tx, &id, &subjects, stamp, now, &mut draw)?);
        }
        // 4. One line.
        let scans: Vec<_> =
            said.scans.iter().map(|(device_id, scan_id)| json!([device_id.as_str(), scan_id.as_str()])).collect();
        let line_said = json!({ "decision": decision, "kind": cause.kind.as_str(), "scans": scans, "note": note });
        tx.append_audit(line::of(&by, Some(&id), "incident_resolved", ("Incident", incident_id.as_str()), line_said))?;
        Ok((find(tx, &incident_id)?, brought))
    })
    .await?;
    if brought.moved {
        announce(app, &caller.organization_id, &event_id, &brought);
    }
    let organization_id = caller.organization_id.clone();
    app.hints.hint(Hint { organization_id, event_id, serial: Some(brought.serial), topic: Topic::Incidents });
    Ok(incident)
}

fn find(tx: &mut dyn Tx, incident_id: &IncidentId) -> Result<IncidentRecord> {
    tx.incident(incident_id)?.ok_or_else(|| Error::not_found("incident"))
}

/// One review for each content that the person looked at under the ids they name: those of the cause, else the content
/// that was taken of another scan of the same ticket.
fn reviews(tx: &mut dyn Tx, event_id: &EventId, cause: &Cause, said: &Resolve, stamp: Stamp) -> Result<Vec<Review>> {
    let Some(decision) = said.decision else { return Ok(Vec::new()) };
    let mut out: Vec<Review> = Vec::new();
    let mut checks = Checks::default();
    for (i, (device_id, scan_id)) in said.scans.iter().enumerate() {
        let digests = contents(tx, event_id, cause, device_id, scan_id)?;
        if digests.is_empty() {
            checks.fail(format!("scans[{i}]"), "is not a scan of this incident's ticket or code");
        }
        for digest in digests {
            let (device_id, scan_id) = (device_id.clone(), scan_id.clone());
            let review = Review { serial: stamp.serial, device_id, scan_id, digest, decision };
            if !out.contains(&review) {
                out.push(review);
            }
        }
    }
    checks.finish()?;
    Ok(out)
}

fn contents(
    tx: &mut dyn Tx,
    event_id: &EventId,
    cause: &Cause,
    device_id: &DeviceId,
    scan_id: &ScanId,
) -> Result<BTreeSet<Digest>> {
    let named = cause.scans.iter().filter(|scan| scan.device_id == *device_id && scan.scan_id == *scan_id);
    let named: BTreeSet<Digest> = named.map(|scan| scan.digest).collect();
    let CauseSubject::Scans(subject) = &cause.subject else {
        // An incident of a log, a device or a scan id: the scans are those stored under the id.
        if !named.is_empty() {
            return Ok(named);
        }
        let known = tx.known_scans(device_id, std::slice::from_ref(scan_id))?;
        return Ok(known
            .into_iter()
            .filter(|_| about(&cause.subject, device_id, scan_id))
            .map(|one| one.digest)
            .collect());
    };
    if !named.is_empty() {
        return Ok(named);
    }
    let verdicts = tx.verdicts(event_id, &subject.key())?;
    let same = verdicts.into_iter().filter(|one| one.device_id == *device_id && one.scan_id == *scan_id);
    Ok(same.map(|one| one.digest).collect())
}

fn about(subject: &CauseSubject, device_id: &DeviceId, scan_id: &ScanId) -> bool {
    match subject {
        CauseSubject::Scans(_) => false,
        CauseSubject::Log(device, _) | CauseSubject::Device(device) | CauseSubject::Batch(device, _) => {
            device == device_id
        }
        CauseSubject::ScanId(id) => id == scan_id,
    }
}

/// The subjects whose scans are decided about: the incident's own, and wherever else these ids resolve to.
fn subjects(tx: &mut dyn Tx, cause: &Cause, scans: &BTreeSet<(DeviceId, ScanId)>) -> Result<BTreeSet<String>> {
    let mut out = BTreeSet::new();
    if let CauseSubject::Scans(subject) = &cause.subject {
        out.insert(subject.key());
    }
    for (device_id, scan_id) in scans {
        let known = tx.known_scans(device_id, std::slice::from_ref(scan_id))?;
        out.extend(known.into_iter().map(|one| one.subject_key));
    }
    Ok(out)
}
