//! Reduces subjects again and writes the results: states, verdicts, counters, incidents (ARCHITECTURE.md §6 walk 2 ⑥–⑧).
//!
//! Every change of rules, reviews or scans ends here, in its own transaction. So derived rows always equal what
//! `reduce` computes from the stored facts (invariant I7).

use std::collections::{BTreeMap, BTreeSet};

use admit_core::ids::{DeviceId, EventId, IncidentId, ScanId, TicketId};
use admit_core::incident::{Cause, Subject};
use admit_core::occupancy::{Occupancy, Recount};
use admit_core::reduce::{REDUCER_VERSION, Reduced, Resolved, Rules, ScanVerdict, reduce};
use admit_core::review::Review;
use admit_core::rule::{Change, TicketBook};
use admit_core::scan::Fact;
use admit_core::time::Timestamp;
use admit_core::wire::stored;

use super::walk_ins;
use crate::error::{Error, Result};
use crate::ports::Tx;
use crate::records::{Flows, IncidentRecord, IncidentStatus, Stamp, StateRecord};
use crate::seeded_ids::SeededIds;

/// When a device should ask again after it met a node that is older than the event's reducer, in milliseconds. Another
/// node may answer then.
const OUTDATED_MS: i64 = 5_000;

/// The changes by a rejudging.
#[derive(Debug, Default)]
pub struct Rejudged {
    /// The reducer's result for every subject asked about, by key.
    pub reduced: BTreeMap<String, Reduced>,
    /// Causes that are new or changed, in order of subject key.
    pub new_causes: Vec<Cause>,
    /// The change of the event's counters.
    pub delta: Occupancy,
    /// Subjects whose state changed.
    pub changed: BTreeSet<String>,
    /// Whether any incident changed.
    pub incidents_changed: bool,
}

/// Subjects to be judged again.
#[derive(Debug, Default)]
pub struct Touched {
    /// Keys of subjects whose facts are in the store.
    again: BTreeSet<String>,
    /// Subjects that had no state before this transaction, each with all its facts. Nothing about them needs to be
    /// read.
    first: BTreeMap<String, Vec<Resolved>>,
}

impl Touched {
    /// Subjects whose facts are in the store.
    pub fn stored(subjects: &BTreeSet<String>) -> Self {
        Self { again: subjects.clone(), first: BTreeMap::new() }
    }
    /// Adds a fact of a subject that had no state before this transaction. The fact was just stored under a new id.
    pub fn first(&mut self, subject: Subject, fact: Fact) {
        self.first.entry(subject.key()).or_default().push((subject, fact));
    }
    /// Adds a subject about which the store may know more.
    pub fn again(&mut self, key: String) {
        self.again.insert(key);
    }
    fn is_empty(&self) -> bool {
        self.again.is_empty() && self.first.is_empty()
    }
    fn settle(mut self) -> (Vec<String>, BTreeMap<String, Vec<Resolved>>) {
        self.first.retain(|key, _| !self.again.contains(key));
        (self.again.into_iter().collect(), self.first)
    }
}

/// Reduces `subjects` again and writes the difference at `stamp`.
pub fn rejudge(
    tx: &mut dyn Tx,
    event_id: &EventId,
    subjects: &BTreeSet<String>,
    stamp: Stamp,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Rejudged> {
    rejudge_touched(tx, event_id, Touched::stored(subjects), stamp, now, seeded)
}

/// Like [`rejudge`], for subjects of which some are new to the store.
pub fn rejudge_touched(
    tx: &mut dyn Tx,
    event_id: &EventId,
    touched: Touched,
    stamp: Stamp,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Rejudged> {
    rejudge_by(tx, event_id, touched, stamp, now, seeded, false)
}

/// Like [`rejudge_touched`]. With `anew` it also writes what is stored already, since a rebuild replaces everything that
/// is derived.
pub(super) fn rejudge_by(
    tx: &mut dyn Tx,
    event_id: &EventId,
    touched: Touched,
    stamp: Stamp,
    now: Timestamp,
    seeded: &mut SeededIds,
    anew: bool,
) -> Result<Rejudged> {
    let mut out = Rejudged::default();
    if touched.is_empty() {
        return Ok(out);
    }
    if tx.reducer_version(event_id)? > REDUCER_VERSION {
        return Err(Error::Later { code: "node_outdated", retry_after_ms: OUTDATED_MS });
    }
    let (again, first) = touched.settle();
    out.reduced = reduce_all(tx, event_id, &again, &first)?;
    walk_ins::make_tickets(tx, event_id, &out.reduced, stamp, now, seeded)?;
    let before = tx.judged_states(event_id, &again)?;
    let mut before: BTreeMap<String, (StateRecord, Vec<ScanVerdict>)> =
        before.into_iter().map(|found| (found.0.subject_key.clone(), found)).collect();
    let (mut made, mut writes, mut flow, mut recounts) = (Vec::new(), Vec::new(), Flows::default(), Vec::new());
    for (key, reduced) in &out.reduced {
        let record = state_record(key, reduced, stamp.serial);
        let old = before.remove(key);
        let same = |(old, verdicts): &(StateRecord, _)| old.same_as(&record) && *verdicts == reduced.verdicts;
        if !anew && old.as_ref().map_or_else(|| is_blank(reduced), same) {
            continue;
        }
        let (held, counted) = (old.as_ref().map(|(_, verdicts)| Recount::of(verdicts)), Recount::of(&reduced.verdicts));
        if held.unwrap_or_default() != counted || anew && !counted.is_empty() {
            recounts.push((key.clone(), counted));
        }
        if let Some((old, verdicts)) = &old {
            out.delta.add(&old.occupancy, -1);
            flow.add(verdicts, -1);
        }
        out.delta.add(&record.occupancy, 1);
        flow.add(&reduced.verdicts, 1);
        out.changed.insert(key.clone());
        let into = if first.contains_key(key) { &mut made } else { &mut writes };
        into.push((record, reduced.verdicts.clone()));
    }
    if !made.is_empty() {
        tx.insert_states(event_id, &made)?;
    }
    if !writes.is_empty() {
        tx.put_states(event_id, &writes)?;
    }
    if out.delta != Occupancy::default() {
        tx.add_occupancy(event_id, &out.delta, stamp.serial)?;
    }
    tx.add_flow(event_id, &flow.minutes())?;
    if !recounts.is_empty() {
        tx.put_recounts(event_id, &recounts)?;
    }
    let held = out.reduced.iter().filter(|(key, reduced)| !first.contains_key(*key) || !reduced.causes.is_empty());
    let held: BTreeMap<String, &[Cause]> =
        held.map(|(key, reduced)| (key.clone(), reduced.causes.as_slice())).collect();
    let settled = settle_incidents(tx, event_id, &held, stamp, now, seeded)?;
    out.incidents_changed = settled.changed;
    out.new_causes = settled.new_causes;
    Ok(out)
}

/// The results of `reduce` over the stored facts of these subjects, by key. Writes nothing.
pub fn reduce_stored(tx: &mut dyn Tx, event_id: &EventId, keys: &[String]) -> Result<BTreeMap<String, Reduced>> {
    reduce_all(tx, event_id, keys, &BTreeMap::new())
}

fn reduce_all(
    tx: &mut dyn Tx,
    event_id: &EventId,
    again: &[String],
    first: &BTreeMap<String, Vec<Resolved>>,
) -> Result<BTreeMap<String, Reduced>> {
    let subjects: BTreeMap<&String, Subject> =
        again.iter().chain(first.keys()).map(|key| Ok((key, parse(key)?))).collect::<Result<_>>()?;
    let ticket_ids: Vec<TicketId> = subjects.values().filter_map(|subject| subject.ticket_id().cloned()).collect();
    let rules = tx.load_rules(event_id, &ticket_ids)?;
    let mut books: BTreeMap<&TicketId, TicketBook> = BTreeMap::new();
    for rule in &rules.tickets {
        if let Change::Ticket(ticket_id, change) = &rule.change {
            books.entry(ticket_id).or_default().add(rule, change);
        }
    }
    let facts = by_subject(tx.facts(event_id, again)?);
    let reviews = if again.is_empty() { Vec::new() } else { tx.reviews(event_id, again)? };
    let mut out = BTreeMap::new();
    for (key, subject) in subjects {
        let rules = Rules {
            event: &rules.book,
            ticket: subject.ticket_id().and_then(|ticket_id| books.get(ticket_id)),
            newest: false,
        };
        let own = first.get(key).or_else(|| facts.get(&subject)).map_or(&[][..], Vec::as_slice);
        out.insert(key.clone(), reduce(&subject, rules, &reviews_of(&reviews, own), own));
    }
    Ok(out)
}

fn parse(key: &str) -> Result<Subject> {
    Subject::from_key(key).ok_or_else(|| Error::Bug(format!("not a subject: {key}")))
}

/// The facts of each subject. With each fact come all other contents under the same (device, scan id).
fn by_subject(facts: Vec<Resolved>) -> BTreeMap<Subject, Vec<Resolved>> {
    let mut contents: BTreeMap<(DeviceId, ScanId), Vec<Resolved>> = BTreeMap::new();
    for resolved in facts {
        let id = (resolved.1.scan.device_id.clone(), resolved.1.scan.scan_id.clone());
        contents.entry(id).or_default().push(resolved);
    }
    let mut out: BTreeMap<Subject, Vec<Resolved>> = BTreeMap::new();
    for group in contents.into_values() {
        let subjects: BTreeSet<Subject> = group.iter().map(|(subject, _)| subject.clone()).collect();
        for subject in subjects {
            out.entry(subject).or_default().extend(group.iter().cloned());
        }
    }
    out
}

fn reviews_of(reviews: &[Review], facts: &[Resolved]) -> Vec<Review> {
    if reviews.is_empty() {
        return Vec::new();
    }
    let ids: BTreeSet<(&DeviceId, &ScanId)> =
        facts.iter().map(|(_, fact)| (&fact.scan.device_id, &fact.scan.scan_id)).collect();
    reviews.iter().filter(|review| ids.contains(&(&review.device_id, &review.scan_id))).cloned().collect()
}

fn is_blank(reduced: &Reduced) -> bool {
    reduced.verdicts.is_empty() && reduced.causes.is_empty()
}

/// The stored form of the reducer's result.
pub fn state_record(key: &str, reduced: &Reduced, serial: u64) -> StateRecord {
    StateRecord {
        subject_key: key.to_owned(),
        state: reduced.state.clone(),
        effective: reduced.effective.clone(),
        occupancy: Occupancy::of(reduced),
        serial,
    }
}

/// How the incidents of some subjects changed.
#[derive(Debug, Default)]
pub struct Settled {
    /// Causes that are new or changed.
    pub new_causes: Vec<Cause>,
    /// Whether any incident changed.
    pub changed: bool,
}

/// Updates the incidents of these subjects to the causes that hold now (spec §3 "Incident"). An incident is open while
/// its cause holds and the cause's digest is not the one that a person resolved. A cause that vanished clears its
/// incident, and a changed cause reopens it.
pub fn settle_incidents(
    tx: &mut dyn Tx,
    event_id: &EventId,
    held: &BTreeMap<String, &[Cause]>,
    stamp: Stamp,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Settled> {
    let keys: Vec<String> = held.keys().cloned().collect();
    let stored = tx.incidents_of(event_id, &keys)?;
    // Group by subject, since a change of rules settles every subject of an event at once.
    let mut known: BTreeMap<&str, Vec<&IncidentRecord>> = BTreeMap::new();
    for incident in &stored {
        known.entry(&incident.subject_key).or_default().push(incident);
    }
    let mut out = Settled::default();
    let mut writes = Vec::new();
    for (key, causes) in held {
        let known = known.get(key.as_str()).map_or(&[][..], Vec::as_slice);
        for cause in *causes {
            let digest = cause.digest();
            let incident = known.iter().copied().find(|one| one.kind == cause.kind);
            let status = status_of(incident, digest);
            if incident.is_some_and(|one| one.digest == digest && one.status == status) {
                continue;
            }
            out.new_causes.push(cause.clone());
            writes.push(opened(incident, key, event_id, cause, stamp, now, seeded)?);
        }
        for incident in known.iter().copied().filter(|one| one.status != IncidentStatus::Cleared) {
            if !causes.iter().any(|cause| cause.kind == incident.kind) {
                let status = IncidentStatus::Cleared;
                writes.push(IncidentRecord { status, updated_at: now, serial: stamp.serial, ..incident.clone() });
            }
        }
    }
    if !writes.is_empty() {
        out.changed = true;
        tx.put_incidents(&writes)?;
    }
    Ok(out)
}

/// The state of an incident whose cause holds: resolved if a person resolved this digest, otherwise open.
fn status_of(known: Option<&IncidentRecord>, digest: [u8; 32]) -> IncidentStatus {
    let resolved = known.is_some_and(|one| one.resolved_digest == Some(digest));
    if resolved { IncidentStatus::Resolved } else { IncidentStatus::Open }
}

fn opened(
    known: Option<&IncidentRecord>,
    key: &str,
    event_id: &EventId,
    cause: &Cause,
    stamp: Stamp,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<IncidentRecord> {
    let digest = cause.digest();
    let resolved_digest = known.and_then(|one| one.resolved_digest);
    let status = status_of(known, digest);
    let fresh = || IncidentId::new(seeded.row_id(now)).map_err(|error| Error::Bug(error.to_string()));
    Ok(IncidentRecord {
        incident_id: known.map_or_else(fresh, |one| Ok(one.incident_id.clone()))?,
        event_id: event_id.clone(),
        kind: cause.kind,
        severity: cause.kind.severity(),
        subject_key: key.to_owned(),
        digest,
        cause: stored::cause_to_json(cause),
        status,
        resolved_digest,
        resolution: known.and_then(|one| one.resolution.clone()),
        opened_at: known.map_or(now, |one| one.opened_at),
        updated_at: now,
        serial: stamp.serial,
    })
}

/// The verdict of one scan among a subject's. `None` if the scan has none.
pub fn verdict_of<'a>(reduced: &'a Reduced, device_id: &DeviceId, scan_id: &ScanId) -> Option<&'a ScanVerdict> {
    reduced.verdicts.iter().find(|verdict| verdict.device_id == *device_id && verdict.scan_id == *scan_id)
}
