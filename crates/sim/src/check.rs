//! The checkers: one function per invariant of trust §3. They compare what a server holds, what the phones hold, and
//! the simulator's own record of what really happened ([`crate::record`]).

use std::collections::{BTreeMap, BTreeSet};

use admit_core::event::{Days, Measure, ReEntry};
use admit_core::ids::{DeviceId, GateId, ScanId, TicketId};
use admit_core::incident::Subject;
use admit_core::reduce::{Entry, Reduced, Resolved, Rules, ScanVerdict, reduce};
use admit_core::rule::{Change, Rule, TicketBook, TicketChange, When};
use admit_core::scan::{Digest, Fact, Headcount, Scan, ScanKind, SignatureState};
use admit_core::wire::engine::Phase;
use admit_core::wire::scanning::{SyncRequest, Witness, raw_item};

use crate::config::Config;
use crate::net::is_poisoned;
use crate::phone::{Kept, Phone};
use crate::rng::Rng;
use crate::server::{Reply, Request, Response, Server, Truth};
use crate::world::{Side, World};

/// The invariants that are checked for every side at rest. Other functions of this crate check the other invariants.
const AT_REST: &[&str] = &[
    "I2", "I4", "I7", "I8", "I9", "I12", "I14", "I15", "I17", "I18", "I19", "I20", "I23", "I24", "I26", "I28", "I29",
    "I30",
];

type Found = Vec<(&'static str, String)>;

impl<S: Server> World<S> {
    /// Checks the invariants of each organisation at rest. Returns the data that the server stores for each.
    pub fn check(&mut self) -> Vec<Truth> {
        let mut truths = Vec::new();
        for side in 0..self.sides.len() {
            let truth = self.server.truth(self.sides[side].org);
            let held = &self.sides[side];
            let mut found = Found::new();
            acknowledged_is_stored(&truth, held, &mut found);
            shown_is_stored(&truth, held, &self.config, &mut found);
            nothing_made_up(&truth, held, &mut found);
            let anew = reduced_anew(&truth, &mut Rng::of(held.rng.clone().draw(), "shuffle", 0));
            derived_is_reduced(&truth, &anew, &mut found);
            counts_hold(&truth, &mut found);
            order_follows_the_log(held, &mut found);
            incidents_follow_causes(&truth, &anew, &mut found);
            lists_never_go_back(held, &mut found);
            gaps_are_reported(&truth, held, &mut found);
            every_scan_is_somewhere(held, &mut found);
            wiped_when_revoked(held, &mut found);
            one_line_a_change(&truth, &mut found);
            no_phone_lets_in_too_many(&truth, held, &mut found);
            // If a restore copied files back without `admit restore`, one epoch has two histories until a device's
            // witness shows it. A serial then means two sets of rules, and nobody can say which of them a device had.
            if !(self.config.improper && self.config.restores > 0) {
                verdicts_follow_from_lists(&truth, &mut found);
                self.checked.hit("I25");
            }
            witnesses_hold(&truth, held, &mut found);
            AT_REST.iter().for_each(|name| self.checked.hit(name));
            let deaths = self.server.deaths();
            let torn = deaths.torn.iter().filter(|(org, _)| *org == self.sides[side].org);
            found.extend(torn.map(|(_, what)| ("I6", what.clone())));
            let held = &self.sides[side];
            self.checked.hit_if(deaths.looked > 0, "I6");
            self.checked.hit(if held.record.restores > 0 { "I11" } else { "I3" });
            self.note_ties(&truth);
            self.sides[side].record.violations.extend(
                found.into_iter().take(10).map(|(invariant, what)| crate::record::Violation { invariant, what }),
            );
            self.repeats_change_nothing(side, &truth);
            truths.push(truth);
        }
        truths
    }

    fn note_ties(&mut self, truth: &Truth) {
        let mut times: Vec<_> = truth.derived.values().flat_map(|it| it.state.entries.windows(2)).collect();
        times.retain(|pair| pair[0].at == pair[1].at);
        self.coverage.hit_if(!times.is_empty(), "equal times");
        let mut places: BTreeMap<_, Digest> = BTreeMap::new();
        let mut forked = false;
        for (_, fact) in &truth.facts {
            let scan = &fact.scan;
            let Some(place) = scan.log_id.as_ref().zip(scan.seq) else { continue };
            forked |= *places.entry((&scan.device_id, place)).or_insert(fact.digest) != fact.digest;
        }
        self.coverage.hit_if(forked, "forked log");
    }

    /// I5: repeating a request changes nothing and gets the same bytes. Its batch id with other content is refused.
    fn repeats_change_nothing(&mut self, side: usize, truth: &Truth) {
        let org = self.sides[side].org;
        let sent: Vec<Request> = self.sides[side].record.sent.iter().rev().take(6).cloned().collect();
        for wire in sent {
            let Ok(batch) = serde_json::from_str::<SyncRequest>(wire.body.as_deref().unwrap_or_default()) else {
                continue;
            };
            let key = (batch.device_id.clone(), batch.sync_batch_id.to_string());
            let Some(first) = self.sides[side].record.batches.get(&key).cloned() else { continue };
            let Some(again) = self.ask_patiently(side, &wire) else { continue };
            self.checked.hit("I5");
            if matches!(again.status, 401 | 403) {
                continue; // The key belongs to another device by now, or is revoked.
            }
            if again.status != 200 || again.body != first {
                let what = format!("batch {} repeated: {} and other bytes", batch.sync_batch_id, again.status);
                self.sides[side].record.broken("I5", what);
            }
            let altered = Request { body: altered(&batch), ..wire };
            let since_ms = self.now_ms;
            let Some(other) = self.ask_patiently(side, &altered) else { continue };
            if matches!(other.status, 401 | 403) && self.now_ms > since_ms {
                continue; // A rotated key ended during the minute that the server asked to wait.
            }
            if other.status != 409 {
                let what = format!("batch {} with other content: {}", batch.sync_batch_id, other.status);
                self.sides[side].record.broken("I5", what);
            }
            self.coverage.hit("batch id reused");
        }
        let after = self.server.truth(org);
        // A repeat may tell the server the head of a device's log. Facts, derived rows and incidents must not change.
        if (&after.facts, &after.derived, &after.incidents) != (&truth.facts, &truth.derived, &truth.incidents) {
            self.sides[side].record.broken("I5", "repeating batches changed the state".into());
        }
    }
}

impl<S: Server> World<S> {
    /// The answer to a request. After an answer "too many requests" this function asks again a minute later.
    fn ask_patiently(&mut self, side: usize, wire: &Request) -> Option<Response> {
        for _ in 0..2 {
            match self.ask(side, wire) {
                Reply::Answer(answer) if answer.status != 429 => return Some(answer),
                _ => self.now_ms += 60_000,
            }
        }
        None
    }
}

/// The batch with one more item, so that it has other content under the same id.
fn altered(batch: &SyncRequest) -> Option<String> {
    let mut other = batch.clone();
    other.scans.push(raw_item("{\"scan_id\":\"not-a-scan\"}".into()).ok()?);
    serde_json::to_string(&other).ok()
}

fn stored(truth: &Truth) -> BTreeSet<(&DeviceId, &ScanId)> {
    truth.facts.iter().map(|(_, fact)| (&fact.scan.device_id, &fact.scan.scan_id)).collect()
}

/// I2: an acknowledged scan stays stored. Restores are left to I3 and I11.
fn acknowledged_is_stored(truth: &Truth, side: &Side, found: &mut Found) {
    let stored = stored(truth);
    for (device_id, scan_id) in &side.record.acked {
        if !stored.contains(&(device_id, scan_id)) {
            found.push(("I2", format!("{scan_id} of {device_id} has a receipt and is not stored")));
        }
    }
}

/// Whether everything on this phone must have reached the server by now.
fn settled(phone: &Phone) -> bool {
    matches!(phone.phase(), Phase::Ready | Phase::FirstSync)
}

/// I3, I11: the server has each scan that a phone stores. A shown scan is on the phone or the server, despite restores.
fn shown_is_stored(truth: &Truth, side: &Side, config: &Config, found: &mut Found) {
    let contents: BTreeSet<Digest> = truth.facts.iter().map(|(_, fact)| fact.digest).collect();
    let ids = stored(truth);
    let restored = side.record.restores > 0;
    for (n, phone) in side.phones.iter().enumerate() {
        let revoked = phone.identity.as_ref().is_some_and(|(id, _)| side.record.revoked.contains(id));
        if revoked && restored {
            continue; // Its key may be erased, or known to nobody: the log is left on the phone.
        }
        if !revoked && !settled(phone) {
            found.push(("Q", format!("phone {n} is not at rest: {:?}, {} unsent", phone.phase(), phone.unsent())));
        }
        for (seq, kept) in (1..).zip(&phone.kept) {
            // The phone lists a scan that the server could not read as a problem, and the server has its bytes.
            let unread = is_poisoned(&kept.scanned.scan.scan_id, config.poison) && phone.refused.contains(&seq);
            if !contents.contains(&kept.digest) && !unread && !is_beyond_proof(truth, side, phone, kept) {
                let name = if restored { "I11" } else { "I3" };
                found.push((
                    name,
                    format!("{} of phone {n}, {seq} in its log, is not on the server", kept.scanned.scan.scan_id),
                ));
            }
        }
        for scan_id in &phone.shown {
            if !phone.kept.iter().any(|kept| kept.scanned.scan.scan_id == *scan_id)
                && !ids.iter().any(|(_, held)| *held == scan_id)
            {
                found.push(("I3", format!("{scan_id} was shown by phone {n} and is nowhere")));
            }
        }
    }
}

/// Whether nobody can prove that the server lacks this scan (SECURITY.md, "What it does not promise"). This happens if
/// a server and a phone's storage were both put back to older copies. The phone then used a place of the log twice. If
/// the server received the other content of that place, it does not ask for this scan.
fn is_beyond_proof(truth: &Truth, side: &Side, phone: &Phone, kept: &Kept) -> bool {
    let scan = &kept.scanned.scan;
    let place = (&scan.device_id, &scan.log_id, scan.seq);
    let stored = || {
        let at_place = |fact: &Fact| (&fact.scan.device_id, &fact.scan.log_id, fact.scan.seq) == place;
        truth.facts.iter().any(|(_, fact)| at_place(fact) && fact.digest != kept.digest)
    };
    let refused = || {
        let mut refused = side.record.refused.iter();
        refused.any(|(device_id, log_id, seq)| {
            (device_id, Some(log_id), Some(*seq)) == (place.0, place.1.as_ref(), place.2)
        })
    };
    side.record.restores > 0 && phone.put_back && (stored() || refused())
}

/// I4, I14: the server has no invented and no altered scan. A verified scan was written by its author.
fn nothing_made_up(truth: &Truth, side: &Side, found: &mut Found) {
    for (_, fact) in &truth.facts {
        let record = &side.record;
        let id = (fact.scan.device_id.clone(), fact.scan.scan_id.clone());
        let ours = record.made.get(&fact.digest) == Some(&id);
        let forged = record.forged.contains(&fact.digest);
        if !ours && !forged && !record.legacy.contains(&fact.digest) {
            found.push(("I4", format!("{} of {} was never made so", fact.scan.scan_id, fact.scan.device_id)));
        }
        if forged && fact.signature != SignatureState::Unverified {
            found.push(("I14", format!("{} was forged and counts as {}", fact.scan.scan_id, fact.signature)));
        }
        if ours && fact.signature == SignatureState::Unverified && side.record.restores == 0 {
            found.push(("I14", format!("{} is its author's and does not verify", fact.scan.scan_id)));
        }
    }
}

/// Reduces the facts in another order. The server must store these results, and have incidents for their causes.
fn reduced_anew(truth: &Truth, rng: &mut Rng) -> BTreeMap<Subject, Reduced> {
    let mut facts = truth.facts.clone();
    let (mut rules, mut reviews) = (truth.ticket_rules.clone(), truth.reviews.clone());
    rng.shuffle(&mut facts);
    rng.shuffle(&mut rules);
    rng.shuffle(&mut reviews);
    let subjects: BTreeSet<&Subject> = facts.iter().map(|(subject, _)| subject).collect();
    let mut all = BTreeMap::new();
    for subject in subjects {
        let mut ticket = None;
        for rule in &rules {
            if let Change::Ticket(id, change) = &rule.change
                && subject.ticket_id() == Some(id)
            {
                ticket.get_or_insert_with(TicketBook::default).add(rule, change);
            }
        }
        let own = with_variants(subject, &facts);
        let rules = Rules { event: &truth.book, ticket: ticket.as_ref(), newest: false };
        all.insert(subject.clone(), reduce(subject, rules, &reviews, &own));
    }
    all
}

/// I7: the stored derived rows equal the reduction of the facts.
fn derived_is_reduced(truth: &Truth, anew: &BTreeMap<Subject, Reduced>, found: &mut Found) {
    let empty = Reduced::default();
    let subjects: BTreeSet<&Subject> = anew.keys().chain(truth.derived.keys()).collect();
    for subject in subjects {
        let (held, right) = (truth.derived.get(subject), anew.get(subject));
        let (held, right) = (held.unwrap_or(&empty), right.unwrap_or(&empty));
        let sorted = |reduced: &Reduced| {
            let mut verdicts = reduced.verdicts.clone();
            verdicts.sort_by(|a, b| (&a.device_id, &a.scan_id).cmp(&(&b.device_id, &b.scan_id)));
            verdicts
        };
        if (&held.state, &held.effective, sorted(held)) != (&right.state, &right.effective, sorted(right)) {
            found.push(("I7", format!("{}: stored {held:?}, reduced {right:?}", subject.key())));
        }
    }
    found.extend(truth.differences.iter().map(|line| ("I7", line.clone())));
}

fn with_variants(subject: &Subject, facts: &[Resolved]) -> Vec<Resolved> {
    let ids: BTreeSet<_> = facts
        .iter()
        .filter(|(of, _)| of == subject)
        .map(|(_, fact)| (&fact.scan.device_id, &fact.scan.scan_id))
        .collect();
    let own = facts.iter().filter(|(_, fact)| ids.contains(&(&fact.scan.device_id, &fact.scan.scan_id)));
    own.cloned().collect()
}

fn ticket_of_rule(rule: &Rule) -> Option<&TicketId> {
    if let Change::Ticket(id, _) = &rule.change { Some(id) } else { None }
}
/// Whether this fact added a guest and is not left out.
fn counts_as_walk_in(fact: &Fact, reduced: &Reduced) -> bool {
    let counts = |one: &ScanVerdict| one.is_of(fact) && one.left_out.is_none();
    fact.scan.walk_in.is_some() && reduced.verdicts.iter().any(counts)
}

/// The headcount that a scan's verdict must have after all undoings; `None` if nothing is left to count.
fn counted(fact: &Fact, verdict: &ScanVerdict, truth: &Truth) -> Option<Headcount> {
    let headcount = fact.scan.headcount?;
    let undone = |scan: &Scan| {
        scan.target_device.as_ref() == Some(&verdict.device_id)
            && scan.target_scan_id.as_ref() == Some(&verdict.scan_id)
    };
    let counts = |one: &Fact| {
        truth
            .derived
            .values()
            .flat_map(|reduced| &reduced.verdicts)
            .any(|verdict| verdict.is_of(one) && verdict.left_out.is_none())
    };
    let undone = truth.facts.iter().filter(|(_, one)| undone(&one.scan) && counts(one)).map(|(_, one)| one.scan.keep);
    let left = headcount.of_which(undone.min().unwrap_or(u32::MAX).min(headcount.persons()));
    left.filter(|left| !verdict.implausible || matches!(left, Headcount::Change { .. }))
}

/// I8: `within` plus `over` are the persons let in. If a ticket's limit never changed, `within` keeps it as its
/// re-entry mode demands. I17: a scan that first came after its device's revocation counts only by a person's decision.
/// I28: a practice scan counts only by a person's decision. I29: a counted guest who was added at a door has a ticket.
/// I30: a headcount counts the persons that its undoing left.
fn counts_hold(truth: &Truth, found: &mut Found) {
    let accepted: BTreeSet<Digest> = truth.reviews.iter().map(|review| review.digest).collect();
    let ruled: BTreeSet<&TicketId> = truth.ticket_rules.iter().filter_map(ticket_of_rule).collect();
    for (subject, reduced) in &truth.derived {
        let made = truth.facts.iter().any(|(of, fact)| of == subject && counts_as_walk_in(fact, reduced));
        if made && subject.ticket_id().is_some_and(|id| !ruled.contains(id)) {
            found.push(("I29", format!("{} was added at a door and has no ticket", subject.key())));
        }
        for verdict in &reduced.verdicts {
            let let_in = verdict.within + verdict.over;
            let expected = if verdict.opened && verdict.left_out.is_none() { verdict.count } else { 0 };
            if verdict.kind == ScanKind::Entry && let_in != expected {
                found.push(("I8", format!("{}: {} let in {let_in} of {expected}", subject.key(), verdict.scan_id)));
            }
            let fact = truth.facts.iter().find(|(_, fact)| verdict.is_of(fact));
            if let Some((_, fact)) = fact.filter(|_| verdict.left_out.is_none())
                && verdict.headcount != counted(fact, verdict, truth)
            {
                found.push((
                    "I30",
                    format!("{}: {:?} of {:?}", verdict.scan_id, verdict.headcount, fact.scan.headcount),
                ));
            }
            let undecided = fact.map(|(_, fact)| fact).filter(|fact| !accepted.contains(&fact.digest));
            let (after, practice) = undecided.map_or((false, false), |fact| (fact.withheld, fact.scan.practice));
            if practice && verdict.left_out.is_none() {
                found.push(("I28", format!("{} was practice and counts", verdict.scan_id)));
            }
            if after && verdict.left_out.is_none() {
                found.push(("I17", format!("{} came after its device's revocation and counts", verdict.scan_id)));
            }
        }
        if reduced.state.persons() != sum(reduced, |verdict| verdict.within + verdict.over) {
            found.push(("I8", format!("{}: the state's persons are not the scans' persons", subject.key())));
        }
        if let Some(constant) = constants(truth, subject) {
            mode_holds(subject, reduced, &constant, found);
        }
    }
}

fn sum(reduced: &Reduced, of: impl Fn(&ScanVerdict) -> u32) -> u32 {
    reduced.verdicts.iter().map(of).sum()
}

/// The measure of a ticket's entries, if it never changed.
struct Constant {
    measure: Measure,
    gap_ms: i64,
    days: Days,
    limit: u32,
}

fn mode_holds(subject: &Subject, reduced: &Reduced, constant: &Constant, found: &mut Found) {
    let Constant { measure, gap_ms, days, limit } = constant;
    let state = &reduced.state;
    let gates: BTreeSet<Option<&GateId>> =
        state.entries.iter().map(|entry| measure.per_gate.then_some(&entry.gate_id)).collect();
    let entries = |gate: Option<&GateId>| -> Vec<&Entry> {
        state.entries.iter().filter(|entry| gate.is_none_or(|gate| entry.gate_id == *gate)).collect()
    };
    let holds_at = |gate: Option<&GateId>| {
        let entries = entries(gate);
        let within = |chosen: &dyn Fn(&Entry) -> bool| -> u32 {
            entries.iter().filter(|entry| chosen(entry)).map(|entry| entry.within).sum()
        };
        match measure.re_entry {
            ReEntry::Daily => entries.iter().all(|one| within(&|entry| days.of(entry.at) == days.of(one.at)) <= *limit),
            ReEntry::Never => within(&|_| true) <= *limit,
            ReEntry::AfterExit => state.inside_within <= *limit,
            ReEntry::AfterGap => {
                entries.iter().all(|end| within(&|entry| (0..*gap_ms).contains(&end.at.since(entry.at))) <= *limit)
            }
        }
    };
    let spent = measure.uses.is_none_or(|uses| state.within <= uses);
    let plain = measure.re_entry == ReEntry::Never && !measure.per_gate && measure.uses.is_none();
    let whole = !plain || state.within == (*limit).min(state.persons());
    if !(spent && whole && gates.into_iter().all(holds_at)) {
        found.push(("I8", format!("{}: {measure:?} with limit {limit}: {state:?}", subject.key())));
    }
}

/// Re-entry mode, gap, zone limits and limit of a ticket; `None` if one ever changed. All tickets are of one zone.
fn constants(truth: &Truth, subject: &Subject) -> Option<Constant> {
    let id = subject.ticket_id()?;
    let mut limit = None;
    for rule in &truth.ticket_rules {
        match &rule.change {
            Change::Ticket(of, TicketChange::First(first)) if of == id => limit = Some(first.entry_limit),
            Change::Ticket(of, TicketChange::EntryLimit(_)) if of == id => return None,
            _ => {}
        }
    }
    let known = (0..=truth.serial).filter_map(|serial| truth.book.event(When::Known(serial)));
    let mut modes: Vec<_> = known.map(|event| (event.measure(Some("general")), event.min_gap_seconds)).collect();
    modes.dedup();
    let [(measure, gap)] = modes[..] else { return None };
    let days = truth.book.event(When::Newest)?.days;
    Some(Constant { measure, gap_ms: i64::from(gap) * 1_000, days, limit: limit? })
}

/// I9: along a log the time follows `seq` unless the clock was corrected. Each `prev` is the digest of the scan before.
fn order_follows_the_log(side: &Side, found: &mut Found) {
    for phone in &side.phones {
        for pair in phone.kept.windows(2) {
            let (before, scan) = (&pair[0].scanned.scan, &pair[1].scanned.scan);
            let corrected = scan.clock.as_ref().is_some_and(|clock| clock.corrected);
            if scan.at <= before.at && !corrected {
                found.push(("I9", format!("{} is not after {} in its log", scan.scan_id, before.scan_id)));
            }
            let linked = scan.prev == Some(admit_core::sign::prev_of(&pair[0].digest));
            if scan.seq != before.seq.map(|seq| seq + 1) || !linked {
                found.push(("I9", format!("{} does not follow {} in the chain", scan.scan_id, before.scan_id)));
            }
        }
    }
}

/// I12: an incident is open exactly while its cause holds and no person resolved that cause.
fn incidents_follow_causes(truth: &Truth, anew: &BTreeMap<Subject, Reduced>, found: &mut Found) {
    let causes: BTreeMap<_, _> = anew
        .iter()
        .flat_map(|(subject, reduced)| reduced.causes.iter().map(move |cause| (subject, cause)))
        .filter(|(_, cause)| cause.kind.queued())
        .map(|(subject, cause)| ((subject.clone(), cause.kind), cause.digest()))
        .collect();
    for (key, digest) in &causes {
        let right = truth.incidents.get(key).is_some_and(|incident| {
            incident.holds && incident.digest == *digest && incident.open == (incident.resolved != Some(*digest))
        });
        if !right {
            found.push(("I12", format!("{} {}: {:?}", key.0.key(), key.1, truth.incidents.get(key))));
        }
    }
    for (key, incident) in truth.incidents.iter().filter(|(key, _)| !causes.contains_key(key)) {
        if incident.open || incident.holds {
            found.push(("I12", format!("{} {} is open without a cause", key.0.key(), key.1)));
        }
    }
}

/// I15: along a log the list's version never goes back, except by a pairing with a server of an older epoch.
fn lists_never_go_back(side: &Side, found: &mut Found) {
    for phone in &side.phones {
        for pair in phone.kept.windows(2) {
            let place = |at: usize| (pair[at].scanned.scan.epoch, pair[at].scanned.scan.manifest_version);
            if place(0) > place(1) && pair[0].gone_back == pair[1].gone_back {
                found.push(("I15", format!("a list went from {:?} to {:?}", place(0), place(1))));
            }
        }
    }
}

/// I19: each change of the event has one line in its ledger, and the chain verifies.
fn one_line_a_change(truth: &Truth, found: &mut Found) {
    found.extend(truth.ledger_faults.iter().map(|line| ("I19", line.clone())));
}

/// I20: every missing `seq` is reported, and no received one.
fn gaps_are_reported(truth: &Truth, side: &Side, found: &mut Found) {
    for (key, head) in &side.record.heads {
        let received: BTreeSet<u64> = truth
            .facts
            .iter()
            .filter(|(_, fact)| fact.scan.device_id == key.0 && fact.scan.log_id.as_ref() == Some(&key.1))
            .filter_map(|(_, fact)| fact.scan.seq)
            .collect();
        let refused =
            side.record.refused.iter().filter(|(device_id, log_id, _)| (device_id, log_id) == (&key.0, &key.1));
        let refused: BTreeSet<u64> = refused.map(|(.., seq)| *seq).collect();
        let named = side.record.named_heads.get(key).copied().unwrap_or(0).max(*head);
        let lacking = |head: u64| -> BTreeSet<u64> {
            let top = received.last().copied().unwrap_or(0).max(head);
            (1..=top).filter(|seq| !received.contains(seq) && !refused.contains(seq)).collect()
        };
        let log = truth.logs.get(key).cloned().unwrap_or_default();
        let mut reported: BTreeSet<u64> = log.missing.iter().flat_map(|(from, to)| *from..=*to).collect();
        // A server that went back may have lost the items that it refused since the backup.
        reported.retain(|seq| side.record.restores == 0 || !refused.contains(seq));
        // The server must know acknowledged heads, and may know heads of requests that arrived.
        if !(*head..=named).any(|head| reported == lacking(head)) {
            let lacking = lacking(*head);
            found.push(("I20", format!("log {} of {}: lacks {lacking:?}, says {reported:?}", key.1, key.0)));
        }
    }
}

/// I23: on every device, scans made equal scans unsent, acknowledged, rejected and held.
fn every_scan_is_somewhere(side: &Side, found: &mut Found) {
    for (n, phone) in side.phones.iter().enumerate() {
        let Some(view) = &phone.view else { continue };
        // A claim and its final are one scan, which waits as long as either of them does.
        let open = (1..).zip(&phone.kept).filter(|(seq, _)| !phone.done.contains_key(seq));
        let ids: BTreeSet<&ScanId> = open.map(|(_, kept)| &kept.scanned.scan.scan_id).collect();
        if phone.writing.is_empty() && view.unsent != ids.len() as u64 {
            let (made, done) = (phone.kept.len(), phone.done.len());
            found.push(("I23", format!("phone {n}: {made} made, {done} done, {} said unsent", view.unsent)));
        }
    }
}

/// I18: a revoked phone learns of it, and has no key once nothing is left to upload. Whether it then holds guest data
/// is checked at each of its actions.
fn wiped_when_revoked(side: &Side, found: &mut Found) {
    for (n, phone) in side.phones.iter().enumerate() {
        let revoked = phone.identity.as_ref().is_some_and(|(id, _)| side.record.revoked.contains(id));
        // A phone that has no key, or an unknown one, learns nothing; it was also given nothing.
        if revoked && side.record.restores == 0 && settled(phone) {
            found.push(("I18", format!("phone {n} is revoked, and does not know: {:?}", phone.phase())));
        }
        let is_empty = phone.unsent() == 0 && phone.writing.is_empty();
        if phone.phase() == Phase::Revoked && is_empty && !phone.key_erased {
            found.push(("I18", format!("phone {n} is revoked, has handed over its log, and keeps its key")));
        }
    }
}

/// I24: whatever the server says, a phone itself admits no more persons with a ticket than its limit. It is checked if
/// the limit never changed, and if no person and no roll-back removed counted scans.
fn no_phone_lets_in_too_many(truth: &Truth, side: &Side, found: &mut Found) {
    if side.record.restores > 0 {
        return;
    }
    let decided: BTreeSet<&ScanId> = truth.reviews.iter().map(|review| &review.scan_id).collect();
    for (subject, reduced) in &truth.derived {
        let Some(Constant { measure, limit, .. }) = constants(truth, subject) else { continue };
        if measure.re_entry != ReEntry::Never || measure.per_gate {
            continue;
        }
        let doubtful = |verdict: &ScanVerdict| verdict.left_out.is_some() || decided.contains(&verdict.scan_id);
        if reduced.verdicts.iter().any(doubtful) {
            continue;
        }
        // A phone whose storage was put back forgot which scans it had undone.
        for (n, phone) in side.phones.iter().enumerate().filter(|(_, phone)| !phone.put_back) {
            let own = phone.kept.iter().map(|kept| &kept.scanned.scan);
            let undone: BTreeMap<&ScanId, u32> =
                own.clone().filter_map(|scan| Some((scan.target_scan_id.as_ref()?, scan.keep))).collect();
            let opened = own.filter(|scan| {
                scan.kind == ScanKind::Entry && scan.opened && !scan.practice && scan.override_.is_none()
            });
            let of_ticket = opened.filter(|scan| scan.ticket_id.as_ref() == subject.ticket_id());
            let stays = |scan: &Scan| undone.get(&scan.scan_id).map_or(scan.count, |keep| scan.count.min(*keep));
            let let_in: u32 = of_ticket.map(stays).sum();
            if let_in > limit {
                found.push(("I24", format!("phone {n} let {let_in} in on {}, which admits {limit}", subject.key())));
            }
        }
    }
}

/// I25: every device's verdict follows from the rules and the knowledge of the ticket that its scan states (`basis`).
fn verdicts_follow_from_lists(truth: &Truth, found: &mut Found) {
    for verdict in truth.derived.values().flat_map(|reduced| &reduced.verdicts).filter(|it| it.basis_mismatch) {
        let fact = truth.facts.iter().find(|(_, fact)| verdict.is_of(fact)).map(|(_, fact)| fact);
        let said = fact.map(|fact| {
            let scan = &fact.scan;
            (scan.outcome, scan.at, scan.gate_id.clone(), scan.manifest_version, scan.cursor, scan.basis.clone())
        });
        let what = format!("{} of {} does not follow from its list: {said:?}", verdict.scan_id, verdict.device_id);
        found.push(("I25", what));
    }
}

/// I26: a witness on a device is true in its epoch's ledger, or the epoch has changed.
fn witnesses_hold(truth: &Truth, side: &Side, found: &mut Found) {
    for phone in side.phones.iter().filter(|phone| settled(phone)) {
        let Some(Ok(witness)) = phone.witness.as_ref().map(|text| text.parse::<Witness>()) else { continue };
        let held = usize::try_from(witness.serial).ok().and_then(|serial| truth.audit.get(serial));
        if Some(witness.epoch) == truth.epoch && held != Some(&witness.audit_head) {
            found.push(("I26", format!("the ledger has no {} at {}", witness.epoch, witness.serial)));
        }
    }
}
