//! Judges subjects: tickets, and codes that belong to none (ARCHITECTURE.md §6 walk 2 ⑥–⑧). [`Subjects::load`] reads what
//! is stored about them, and [`plan`] says what changes. Planning reads nothing from the store and writes nothing.
//!
//! Every change of rules, reviews or scans ends here, in its own transaction. So derived rows always equal what
//! `reduce` computes from the stored facts (invariant I7).

use std::collections::{BTreeMap, BTreeSet};

use admit_core::ids::{DeviceId, EventId, ScanId, TicketId};
use admit_core::incident::{Cause, Subject};
use admit_core::occupancy::{Occupancy, Recount};
use admit_core::reduce::{REDUCER_VERSION, Reduced, Resolved, Rules, ScanVerdict, merge_deliveries, reduce};
use admit_core::review::Review;
use admit_core::rule::{Change, TicketBook};
use admit_core::scan::{Digest, Fact};

use super::changes::SubjectChanges;
use super::settle::{Held, WriteContext, settle};
use super::walk_ins::{self, Names};
use crate::error::{Error, Result};
use crate::ports::{Prefetch, Tx};
use crate::records::{Flows, IncidentRecord, LoadedRules, StateRecord};
use crate::seeded_ids::SeededIds;

/// Time after which a device should ask again if its request met a node with an older reducer than the event's, in
/// milliseconds. Another node may answer then.
const OUTDATED_MS: i64 = 5_000;

/// The findings of a new judgement about some subjects.
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

/// Subjects to be judged, with the facts about them that a write adds.
#[derive(Debug, Default)]
pub struct Touched {
    /// Keys of subjects about which the store may know something.
    again: BTreeSet<String>,
    /// Subjects without a stored state, each with all its facts. The store has nothing to read about them.
    first: BTreeMap<String, Vec<Resolved>>,
    /// The facts that the write adds about subjects that may have a stored state. If the store has a fact already, that
    /// fact gets the proof of its new delivery.
    arriving: Vec<Resolved>,
}

impl Touched {
    /// Subjects whose facts are all in the store.
    pub fn stored(subjects: &BTreeSet<String>) -> Self {
        Self { again: subjects.clone(), ..Self::default() }
    }
    /// Adds a subject about which the store may know something.
    pub fn again(&mut self, key: String) {
        self.again.insert(key);
    }
    /// Adds a subject to judge anew, with a fact about it that this write stores.
    pub fn arrives(&mut self, subject: Subject, fact: Fact) {
        self.again.insert(subject.key());
        self.arriving.push((subject, fact));
    }
    /// Adds a fact of a subject without a stored state. The caller has checked that no other content has the fact's
    /// scan id.
    pub fn first(&mut self, subject: Subject, fact: Fact) {
        self.first.entry(subject.key()).or_default().push((subject, fact));
    }
    /// Whether no subject is to be judged.
    pub fn is_empty(&self) -> bool {
        self.again.is_empty() && self.first.is_empty()
    }
    /// Moves each subject that stands in both sets to `again`, with its facts.
    pub fn settled(mut self) -> Self {
        let both = self.first.extract_if(.., |key, _| self.again.contains(key));
        let moved: Vec<Resolved> = both.flat_map(|(_, facts)| facts).collect();
        self.arriving.extend(moved);
        self
    }
    /// Keys of the subjects about which the store is asked.
    pub fn read(&self) -> impl Iterator<Item = &String> {
        self.again.iter()
    }
    fn keys(&self) -> impl Iterator<Item = &String> {
        self.again.iter().chain(self.first.keys())
    }
}

/// The rows stored about the subjects that a write judges.
#[derive(Debug, Default)]
pub struct Subjects {
    judged: Judged,
    states: BTreeMap<String, (StateRecord, Vec<ScanVerdict>)>,
    incidents: Vec<IncidentRecord>,
    walk_ins: walk_ins::Stored,
}

/// The rows that `reduce` needs.
#[derive(Debug, Default)]
struct Judged {
    rules: LoadedRules,
    facts: Vec<Resolved>,
    reviews: Vec<Review>,
}

impl Judged {
    fn load(tx: &mut dyn Tx, event_id: &EventId, again: &[String], first: &[TicketId]) -> Result<Self> {
        let mut tickets: Vec<TicketId> = Vec::with_capacity(again.len() + first.len());
        for key in again {
            tickets.extend(parse(key)?.ticket_id().cloned());
        }
        tickets.extend(first.iter().cloned());
        let rules = tx.load_rules(event_id, &tickets)?;
        if again.is_empty() {
            return Ok(Self { rules, ..Self::default() });
        }
        let facts = tx.facts(event_id, again)?;
        Ok(Self { rules, facts, reviews: tx.reviews(event_id, again)? })
    }
    /// Reduces each subject of `keys`. Subjects in `first` have no stored state, and all their facts are given there.
    /// The others are reduced from the facts that `load` read.
    fn reduce<'a>(
        self,
        keys: impl Iterator<Item = &'a String>,
        first: &BTreeMap<String, Vec<Resolved>>,
    ) -> Result<BTreeMap<String, Reduced>> {
        let mut books: BTreeMap<&TicketId, TicketBook> = BTreeMap::new();
        for rule in &self.rules.tickets {
            if let Change::Ticket(ticket_id, change) = &rule.change {
                books.entry(ticket_id).or_default().add(rule, change);
            }
        }
        let facts = by_subject(self.facts);
        let mut out = BTreeMap::new();
        for key in keys {
            let subject = parse(key)?;
            let rules = Rules {
                event: &self.rules.book,
                ticket: subject.ticket_id().and_then(|ticket_id| books.get(ticket_id)),
                newest: false,
            };
            let own = first.get(key).or_else(|| facts.get(&subject)).map_or(&[][..], Vec::as_slice);
            out.insert(key.clone(), reduce(&subject, rules, &reviews_of(&self.reviews, own), own));
        }
        Ok(out)
    }
}

impl Subjects {
    /// Loads what is stored about the subjects. Fails with `node_outdated` if another node judges the event by a newer
    /// reducer.
    pub fn load(tx: &mut dyn Tx, event_id: &EventId, touched: &Touched) -> Result<Self> {
        if touched.is_empty() {
            return Ok(Self::default());
        }
        if tx.reducer_version(event_id)? > REDUCER_VERSION {
            return Err(Error::Later { code: "node_outdated", retry_after_ms: OUTDATED_MS });
        }
        let again: Vec<String> = touched.read().cloned().collect();
        tx.prefetch(event_id, &Prefetch { subjects: again.clone(), ..Prefetch::default() })?;
        let first = touched.first.values().flatten();
        let first: BTreeSet<TicketId> = first.filter_map(|(subject, _)| subject.ticket_id().cloned()).collect();
        let judged = Judged::load(tx, event_id, &again, &first.into_iter().collect::<Vec<_>>())?;
        let facts = judged.facts.iter().chain(&touched.arriving).chain(touched.first.values().flatten());
        let walk_ins = walk_ins::Stored::load(tx, event_id, &walk_ins::tickets_of(facts))?;
        if again.is_empty() {
            // A subject without a state has no incident: only a judgement opens one, and stores a state with it.
            return Ok(Self { judged, walk_ins, ..Self::default() });
        }
        let states = tx.judged_states(event_id, &again)?.into_iter();
        let states = states.map(|found| (found.0.subject_key.clone(), found)).collect();
        Ok(Self { judged, states, incidents: tx.incidents_of(event_id, &again)?, walk_ins })
    }
    /// Adds the facts that the write stores to those that were loaded. If a fact is stored already, the proof of its
    /// new delivery is merged into it.
    fn add(&mut self, arriving: Vec<Resolved>) {
        if arriving.is_empty() {
            return;
        }
        let content = |fact: &Fact| (fact.scan.device_id.clone(), fact.scan.scan_id.clone(), fact.digest);
        let facts = &mut self.judged.facts;
        let mut places: BTreeMap<(DeviceId, ScanId, Digest), usize> =
            facts.iter().enumerate().map(|(place, (_, fact))| (content(fact), place)).collect();
        for (subject, fact) in arriving {
            match places.get(&content(&fact)).and_then(|place| facts.get_mut(*place)) {
                Some((_, held)) => merge_deliveries(held, &fact),
                None => {
                    places.insert(content(&fact), facts.len());
                    facts.push((subject, fact));
                }
            }
        }
    }
}

/// Plans the new states, verdicts, counters and incidents of the touched subjects. `names` are the names of guests
/// added at a door that the same write stores. With `anew` it also writes rows that are stored already and did not
/// change, since a rebuild deletes all older derived rows.
pub fn plan(
    mut loaded: Subjects,
    touched: Touched,
    names: &Names,
    context: &WriteContext<'_>,
    seeded: &mut SeededIds,
    anew: bool,
) -> Result<(Rejudged, SubjectChanges)> {
    let (mut out, mut changes) = (Rejudged::default(), SubjectChanges::default());
    if touched.is_empty() {
        return Ok((out, changes));
    }
    let arriving = touched.arriving.clone();
    loaded.add(arriving);
    out.reduced = loaded.judged.reduce(touched.keys(), &touched.first)?;
    changes.walk_ins = walk_ins::plan(&loaded.walk_ins, names, &out.reduced, context, seeded)?;
    let mut flow = Flows::default();
    for (key, reduced) in &out.reduced {
        let record = state_record(key, reduced, context.stamp.serial);
        let old = loaded.states.remove(key);
        let same = |(old, verdicts): &(StateRecord, _)| old.same_as(&record) && *verdicts == reduced.verdicts;
        if !anew && old.as_ref().map_or_else(|| is_blank(reduced), same) {
            continue;
        }
        let (held, counted) = (old.as_ref().map(|(_, verdicts)| Recount::of(verdicts)), Recount::of(&reduced.verdicts));
        if held.unwrap_or_default() != counted || anew && !counted.is_empty() {
            changes.recounts.push((key.clone(), counted));
        }
        if let Some((old, verdicts)) = &old {
            out.delta.add(&old.occupancy, -1);
            flow.add(verdicts, -1);
        }
        out.delta.add(&record.occupancy, 1);
        flow.add(&reduced.verdicts, 1);
        out.changed.insert(key.clone());
        let into = if touched.first.contains_key(key) { &mut changes.first_states } else { &mut changes.states };
        into.push((record, reduced.verdicts.clone()));
    }
    (changes.delta, changes.flow) = (out.delta.clone(), flow.minutes());
    let first_and_clean =
        |(key, reduced): &(&String, &Reduced)| touched.first.contains_key(*key) && reduced.causes.is_empty();
    let held = out.reduced.iter().filter(|one| !first_and_clean(one));
    let held: Held<'_> = held.map(|(key, reduced)| (key.clone(), reduced.causes.as_slice())).collect();
    let settled = settle(&loaded.incidents, &held, context, seeded)?;
    (out.incidents_changed, out.new_causes) = (!settled.incidents.is_empty(), settled.new_causes);
    changes.incidents = settled.incidents;
    Ok((out, changes))
}

/// The results of `reduce` over the stored facts of these subjects, by key. Writes nothing.
pub fn reduce_stored(tx: &mut dyn Tx, event_id: &EventId, keys: &[String]) -> Result<BTreeMap<String, Reduced>> {
    Judged::load(tx, event_id, keys, &[])?.reduce(keys.iter(), &BTreeMap::new())
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

/// The verdict of one scan, out of all verdicts of its subject. `None` if the scan has none.
pub fn verdict_of<'a>(reduced: &'a Reduced, device_id: &DeviceId, scan_id: &ScanId) -> Option<&'a ScanVerdict> {
    reduced.verdicts.iter().find(|verdict| verdict.device_id == *device_id && verdict.scan_id == *scan_id)
}
