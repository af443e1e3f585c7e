//! Lets a person answer an incident. The decisions about its scans are facts, and the scans are judged again by them.

use std::collections::BTreeSet;

use admit_core::access::Action;
use admit_core::ids::{DeviceId, EventId, IncidentId, ScanId};
use admit_core::incident::{Cause, CauseSubject};
use admit_core::reduce::ScanVerdict;
use admit_core::review::{Decision, Review};
use admit_core::scan::Digest;
use admit_core::wire::stored;
use serde_json::json;

use super::list::{ShownIncident, show_in};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::ports::{App, Hint, Scope, Topic, Tx, read, write};
use crate::records::{IncidentRecord, IncidentStatus, KnownScan, Resolution, Stamp};
use crate::rules::{Brought, announce};
use crate::scans::rejudge::rejudge;
use crate::scans::reviews::{Said, in_force, take_back};
use crate::seeded_ids::SeededIds;

/// A person's answer to an incident.
#[derive(Debug, Clone)]
pub struct Resolve {
    /// The decision about the scans. `None` for a note only.
    pub decision: Option<Decision>,
    /// The scans that the answer is about. `accept` and `exclude` need at least one scan; a note has none. `restore`
    /// without scans takes back every decision about the incident's ticket or code.
    pub scans: Vec<(DeviceId, ScanId)>,
    /// The reason that the person gave. It may be empty.
    pub note: String,
}

/// Answers an incident. The answer resolves the incident for its present cause. If the cause changes, the incident
/// opens again. `accept` makes the server count scans, and `exclude` makes it not count them. A note (no decision)
/// changes nothing about scans. `restore` takes back such a decision together with the answer. If the cause still holds
/// after that, the incident is open again. Fails with `incident_cleared` if the cause is gone and there is nothing to
/// take back.
pub async fn resolve(app: &App, caller: &UserCaller, incident_id: IncidentId, said: Resolve) -> Result<ShownIncident> {
    caller.must(Action::Review)?;
    let now = app.clock.now();
    let seeded = app.seeded_ids();
    // 1. Check.
    let mut checks = Checks::default();
    let note = checks.note("note", Some(&said.note)).unwrap_or_default();
    match said.decision {
        None if !said.scans.is_empty() => {
            checks.fail("scans", "must be left out for a note: it decides nothing about scans")
        }
        Some(Decision::Accept | Decision::Exclude) if said.scans.is_empty() => {
            checks.fail("scans", "must name the scans that are decided about")
        }
        _ => {}
    }
    checks.finish()?;
    let id = incident_id.clone();
    let incident = read(&*app.store, &caller.organization_id, move |tx| find(tx, &id)).await?;
    let event_id = incident.event_id;
    let by = caller.clone();
    let (shown, brought) = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let mut seeded = seeded.clone();
        // 2. Read the incident as it is now, and the contents at which the person looked.
        let before = find(tx, &incident_id)?;
        let cause = cause_of(&before)?;
        let words = Said { by: &by.user_id, note: &note, at: now };
        // 3. and 4. Answer it, and write the line.
        let brought = answer(tx, &by, &before, &cause, &said, &words, &mut BTreeSet::new(), &mut seeded)?;
        Ok((show_in(tx, &incident_id)?, brought))
    })
    .await?;
    if let Some(brought) = brought {
        announce_answered(app, caller, event_id, &brought);
    }
    Ok(shown)
}

/// The cause of an incident, as stored.
pub(super) fn cause_of(incident: &IncidentRecord) -> Result<Cause> {
    stored::cause_from_json(&incident.cause).map_err(|error| Error::Bug(error.to_string()))
}

/// Tells the clients that watch the event that incidents were answered, and what changed by that.
pub(super) fn announce_answered(app: &App, caller: &UserCaller, event_id: EventId, brought: &Brought) {
    if brought.moved {
        announce(app, &caller.organization_id, &event_id, brought);
    }
    let organization_id = caller.organization_id.clone();
    app.hints.hint(Hint { organization_id, event_id, serial: Some(brought.serial), topic: Topic::Incidents });
}

/// Steps 3 and 4 in the body of [`resolve`]: answers an incident inside a write, and adds one line to the ledger. The
/// answer, the decisions and what follows from them are one write. Returns `None` if there was nothing to take back.
/// `reviewed` holds the contents about which this write already decided. So a second incident about the same scan adds
/// no second decision.
#[expect(clippy::too_many_arguments, reason = "an answer is all of these")]
pub(super) fn answer(
    tx: &mut dyn Tx,
    by: &UserCaller,
    before: &IncidentRecord,
    cause: &Cause,
    said: &Resolve,
    words: &Said<'_>,
    reviewed: &mut BTreeSet<Content>,
    seeded: &mut SeededIds,
) -> Result<Option<Brought>> {
    let event_id = &before.event_id;
    let answered = if said.decision == Some(Decision::Restore) {
        restore(tx, event_id, before, cause, said, words, seeded)?
    } else {
        Some(decide(tx, event_id, before, cause, said, words, reviewed, seeded)?)
    };
    let Some((scans, brought)) = answered else { return Ok(None) };
    let decision = said.decision.map_or("note", Decision::as_str);
    let scans: Vec<_> =
        scans.iter().map(|(device_id, scan_id)| json!([device_id.as_str(), scan_id.as_str()])).collect();
    let changes = json!({ "decision": decision, "kind": cause.kind.as_str(), "scans": scans, "note": words.note });
    let entity = ("Incident", before.incident_id.as_str());
    tx.append_audit(line::of(by, Some(event_id), "incident_resolved", entity, changes))?;
    Ok(Some(brought))
}

type Scans = BTreeSet<(DeviceId, ScanId)>;
/// A scan's content: device, scan, digest.
pub(super) type Content = (DeviceId, ScanId, Digest);

/// Step 3 in the body of [`resolve`], for every decision but `restore`. Resolves the incident for its present digest,
/// stores the decisions, and judges their subjects.
#[expect(clippy::too_many_arguments, reason = "an answer is all of these")]
fn decide(
    tx: &mut dyn Tx,
    event_id: &EventId,
    before: &IncidentRecord,
    cause: &Cause,
    said: &Resolve,
    words: &Said<'_>,
    reviewed: &mut BTreeSet<Content>,
    seeded: &mut SeededIds,
) -> Result<(Scans, Brought)> {
    if before.status == IncidentStatus::Cleared {
        return Err(Error::conflict("incident_cleared", "its cause is gone: there is nothing left to decide"));
    }
    let contents = contents_of(tx, event_id, cause, said)?;
    let stamp = tx.stamp(event_id)?;
    let (status, resolved_digest) = (IncidentStatus::Resolved, Some(before.digest));
    let answer = said.decision.map_or("note", Decision::as_str);
    tx.put_incidents(&[answered(before, status, resolved_digest, answer, words, stamp)])?;
    let scans: Scans = contents.iter().map(|(device_id, scan_id, _)| (device_id.clone(), scan_id.clone())).collect();
    let (Some(decision), false) = (said.decision, contents.is_empty()) else {
        return Ok((scans, Brought { serial: stamp.serial, ..Brought::default() }));
    };
    let review = |(device_id, scan_id, digest)| Review { serial: stamp.serial, device_id, scan_id, digest, decision };
    let new = contents.into_iter().filter(|content| reviewed.insert(content.clone()));
    let reviews: Vec<Review> = new.map(review).collect();
    if !reviews.is_empty() {
        tx.insert_reviews(event_id, words.by, words.note, words.at, &reviews)?;
    }
    let subjects = subjects(tx, event_id, cause, &scans)?;
    let rejudged = rejudge(tx, event_id, &subjects, stamp, words.at, seeded)?;
    Ok((scans, Brought::of(stamp, &rejudged)))
}

/// Step 3 in the body of [`resolve`], for a `restore`. Takes back the decisions and the answer, and judges the
/// subjects. Returns `None` if nothing was decided or answered.
fn restore(
    tx: &mut dyn Tx,
    event_id: &EventId,
    before: &IncidentRecord,
    cause: &Cause,
    said: &Resolve,
    words: &Said<'_>,
    seeded: &mut SeededIds,
) -> Result<Option<(Scans, Brought)>> {
    let named = contents_of(tx, event_id, cause, said)?;
    let of_named: Scans = named.iter().map(|(device_id, scan_id, _)| (device_id.clone(), scan_id.clone())).collect();
    let keys: Vec<String> = subjects(tx, event_id, cause, &of_named)?.into_iter().collect();
    let mut decided = in_force(tx, event_id, &keys)?;
    decided.retain(|one| said.scans.is_empty() || named.contains(&one.review.content()));
    if decided.is_empty() {
        match before.status {
            IncidentStatus::Cleared => {
                return Err(Error::conflict("incident_cleared", "its cause is gone: there is nothing to take back"));
            }
            IncidentStatus::Open => return Ok(None),
            IncidentStatus::Resolved => {}
        }
    }
    let stamp = tx.stamp(event_id)?;
    let status = if before.status == IncidentStatus::Cleared { IncidentStatus::Cleared } else { IncidentStatus::Open };
    let answer = Decision::Restore.as_str();
    tx.put_incidents(&[answered(before, status, None, answer, words, stamp)])?;
    let scans: Scans = decided.iter().map(|one| (one.review.device_id.clone(), one.review.scan_id.clone())).collect();
    if decided.is_empty() {
        return Ok(Some((scans, Brought { serial: stamp.serial, ..Brought::default() })));
    }
    let subjects = subjects(tx, event_id, cause, &scans)?;
    let rejudged = take_back(tx, event_id, words, &decided, &subjects, stamp, seeded)?;
    Ok(Some((scans, Brought::of(stamp, &rejudged))))
}

fn answered(
    before: &IncidentRecord,
    status: IncidentStatus,
    resolved_digest: Option<[u8; 32]>,
    decision: &str,
    words: &Said<'_>,
    stamp: Stamp,
) -> IncidentRecord {
    let decision = decision.to_owned();
    let resolution = Resolution { user_id: words.by.clone(), decision, note: words.note.to_owned(), at: words.at };
    IncidentRecord {
        status,
        resolved_digest,
        resolution: Some(resolution),
        updated_at: words.at,
        serial: stamp.serial,
        ..before.clone()
    }
}

pub(super) fn find(tx: &mut dyn Tx, incident_id: &IncidentId) -> Result<IncidentRecord> {
    tx.incident(incident_id)?.ok_or_else(|| Error::not_found("incident"))
}

/// The contents that the person's answer is about, for the scan ids in the answer. For a scan of the cause, these are
/// the contents that the cause names. For another scan of the same ticket, it is the content that the reducer took.
fn contents_of(tx: &mut dyn Tx, event_id: &EventId, cause: &Cause, said: &Resolve) -> Result<BTreeSet<Content>> {
    let mut out = BTreeSet::new();
    let mut checks = Checks::default();
    for (i, (device_id, scan_id)) in said.scans.iter().enumerate() {
        let digests = contents(tx, event_id, cause, device_id, scan_id)?;
        if digests.is_empty() {
            checks.fail(format!("scans[{i}]"), "is not a scan of this incident's ticket or code");
        }
        out.extend(digests.into_iter().map(|digest| (device_id.clone(), scan_id.clone(), digest)));
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
        // For an incident about a log, a device, a batch or a scan id, the contents are those that the cause names. If
        // it names none, they are all that are stored under the scan id.
        if !named.is_empty() {
            return Ok(named);
        }
        if !about(&cause.subject, device_id, scan_id) {
            return Ok(BTreeSet::new());
        }
        return Ok(known_of(tx, event_id, device_id, scan_id)?.into_iter().map(|one| one.digest).collect());
    };
    if !named.is_empty() {
        return Ok(named);
    }
    let mut verdicts = tx.verdicts(event_id, &subject.key())?.into_iter();
    match verdicts.find(|one| one.device_id == *device_id && one.scan_id == *scan_id) {
        None => Ok(BTreeSet::new()),
        Some(ScanVerdict { digest: Some(digest), .. }) => Ok([digest].into()),
        // The id has one content.
        Some(_) => Ok(known_of(tx, event_id, device_id, scan_id)?.into_iter().map(|one| one.digest).collect()),
    }
}

/// The contents that are stored under a device's scan id.
fn known_of(tx: &mut dyn Tx, event_id: &EventId, device_id: &DeviceId, scan_id: &ScanId) -> Result<Vec<KnownScan>> {
    let stored = tx.stored_ids(event_id, std::slice::from_ref(scan_id))?.into_iter().map(|one| one.known);
    Ok(stored.filter(|one| one.device_id == *device_id).collect())
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

/// The subjects of the scans that the answer decides about: the incident's own subject, and all other subjects to which
/// these scan ids belong.
fn subjects(tx: &mut dyn Tx, event_id: &EventId, cause: &Cause, scans: &Scans) -> Result<BTreeSet<String>> {
    let mut out = BTreeSet::new();
    if let CauseSubject::Scans(subject) = &cause.subject {
        out.insert(subject.key());
    }
    for (device_id, scan_id) in scans {
        out.extend(known_of(tx, event_id, device_id, scan_id)?.into_iter().map(|one| one.subject_key));
    }
    Ok(out)
}
