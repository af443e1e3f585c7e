//! Asking the server before the door opens (S2 §2 "online first"; spec §5 `POST /api/scans`).
//!
//! If the round trip to the server is known to be quick, the device journals a code's scan as a claim, asks the server,
//! and only then decides. It takes the server's answer, or decides alone if none came within [`limits::ASK_WAIT_MS`].
//! Either way the final is journalled before anything is shown. A later answer of the server changes nothing here: the
//! final outranks its claim, and is uploaded with it like every other scan.
//!
//! A phone that does not know its round trip to be quick decides at once. So a dead network delays nobody, and a bad
//! one costs at most two waits. After each question without an answer the phone forgets the round trip until it is
//! measured again. After the second one in a row the phone asks nothing for a while, however quick the round trip
//! looks.

use std::collections::BTreeMap;

use super::desk::{Act, Desk};
use super::lookup::Known;
use super::outbox::Outbox;
use super::recorder::After;
use super::session::Session;
use super::uplink::{Answer, Ask, Kind, Refusal, Request, Uplink};
use super::verdict::{asks_staff, learned, verdict_of, verdict_view};
use crate::decide::screen;
use crate::ids::ScanId;
use crate::limits;
use crate::reduce::EffectiveScan;
use crate::scan::{Outcome, ScanKind};
use crate::wire::engine::LastEntryView;
use crate::wire::scanning::{ScanV2, TimeAnswer};
use crate::wire::scans::OnlineAnswer;
use crate::wire::stored::to_text;

/// A claim about which the device asks the server. Its verdict waits for the answer. Only one question is open at a
/// time, since the device decides about the next code with the state that this claim's final leaves.
#[derive(Debug)]
pub(super) struct Asking {
    scan_id: ScanId,
    /// The monotonic clock from which the device decides alone.
    until_mono_ms: i64,
    /// How the question to the server ended: with an answer, or without one (inner `None`). Absent while the device
    /// waits.
    word: Option<Option<Box<OnlineAnswer>>>,
}

/// The last measured round trip to the server.
#[derive(Debug, Clone, Copy)]
struct RoundTrip {
    /// The monotonic clock when the answer came.
    at_mono_ms: i64,
    took_ms: i64,
    /// The value of [`Clock::gaps_ms`](super::clock::Clock::gaps_ms) when the answer came. If the value has changed
    /// since, the phone slept or its clock was set, and the measured round trip is no longer valid.
    gaps_ms: i64,
}

/// The questions to the server before the door opens.
#[derive(Debug, Default)]
pub(super) struct Questions {
    /// Absent while the round trip is not known.
    round_trip: Option<RoundTrip>,
    /// The question that is open, or whose answer is about to be used. Absent if there is none.
    asking: Option<Asking>,
    /// Claims about which the screen asks staff something, such as how many persons of a party go in. A claim's rows
    /// don't record that question. With each claim is the server's answer to it, if one came.
    answers: BTreeMap<ScanId, Option<Box<OnlineAnswer>>>,
}

/// The request that measures the round trip, for the next code.
pub(super) fn ping() -> Request {
    Request::get(Ask::Ping, "/api/scanning/time".to_owned(), limits::PING_MS)
}

impl Questions {
    // ---------------------------------------------------------------------------------------------- the round trip

    /// Takes the time of an answer as the round trip.
    pub fn measure(&mut self, session: &Session, answer: &Answer<'_>) {
        let (at_mono_ms, gaps_ms) = (session.mono(), session.clock().gaps_ms());
        self.round_trip = Some(RoundTrip { at_mono_ms, took_ms: at_mono_ms - answer.sent_mono_ms, gaps_ms });
    }
    /// Forgets the round trip until it is measured again.
    pub fn forget_round_trip(&mut self) {
        self.round_trip = None;
    }

    /// Takes the server's answer to a ping. Returns what a refusal means for the device as a whole. `None` if the
    /// answer is no refusal.
    pub fn ping_answered(
        &mut self,
        link: &mut Uplink,
        session: &Session,
        out: &mut Outbox,
        answer: &Answer<'_>,
    ) -> Option<Refusal> {
        if answer.read::<TimeAnswer>().is_none() {
            self.round_trip = None;
            return Some(link.refused(out, Kind::Ping, answer));
        }
        self.measure(session, answer);
        link.done(Kind::Ping, session.mono(), limits::PING_EVERY_MS);
        None
    }

    // ------------------------------------------------------------------------------------------------------- asking

    /// Whether a question is open, or its answer is about to be used.
    pub fn is_asking(&self) -> bool {
        self.asking.is_some()
    }
    /// The monotonic clock until which the device waits for an answer. `None` if it waits for none.
    pub fn waits_until(&self) -> Option<i64> {
        self.asking.as_ref().filter(|asking| asking.word.is_none()).map(|asking| asking.until_mono_ms)
    }
    /// The server's answer about a claim for which staff were asked a question. `None` if there is none.
    pub fn answer_to(&self, scan_id: &ScanId) -> Option<&OnlineAnswer> {
        self.answers.get(scan_id)?.as_deref()
    }
    /// Forgets the questions to staff, since the device belongs to another event now. If it returns to the event, they
    /// are closed as unseen.
    pub fn leave_event(&mut self) {
        self.answers.clear();
    }

    /// Whether the device asks the server about the next scan.
    pub fn may_ask(&self, known: Known<'_>, session: &Session, link: &Uplink) -> bool {
        let now = session.mono();
        let quick = self.round_trip.is_some_and(|trip| {
            let fresh = now - trip.at_mono_ms < limits::ASK_FRESH_MS && trip.gaps_ms == session.clock().gaps_ms();
            fresh && trip.took_ms < limits::ASK_ROUND_MS
        });
        let lets = now >= link.lane(Kind::Scan).due_at() && !link.is_suspended() && !link.is_key_unknown();
        quick && !known.is_practice() && lets
    }

    /// Begins a question about a claim that is durable now. Returns the request. `None` if the round trip became
    /// unknown meanwhile: the device decides alone.
    pub fn ask(&mut self, known: Known<'_>, session: &Session, link: &Uplink, scan_id: ScanId) -> Option<Request> {
        let until_mono_ms = session.mono() + limits::ASK_WAIT_MS;
        let own = known.journal.find(&scan_id).filter(|_| self.may_ask(known, session, link));
        let body = own.and_then(|own| ScanV2::of(&own.scan, &own.signature).ok());
        let word = if body.is_some() { None } else { Some(None) };
        self.asking = Some(Asking { scan_id: scan_id.clone(), until_mono_ms, word });
        let text = to_text(&body?);
        Some(Request::post(Ask::Scan { scan_id }, "/api/scans", text, limits::ASK_LISTEN_MS))
    }

    fn waits_for(&self, scan_id: &ScanId) -> bool {
        self.asking.as_ref().is_some_and(|asking| asking.scan_id == *scan_id && asking.word.is_none())
    }

    /// Takes the server's answer about a scan. An answer that is too late only tells how slow the round trip is.
    /// Returns what a refusal means for the device as a whole. `None` if the answer is no refusal.
    pub fn scan_answered(
        &mut self,
        link: &mut Uplink,
        session: &Session,
        out: &mut Outbox,
        scan_id: &ScanId,
        answer: &Answer<'_>,
    ) -> Option<Refusal> {
        let word = answer.read::<OnlineAnswer>().filter(|word| word.scan_id == *scan_id);
        let waited = self.waits_for(scan_id);
        let Some(word) = word else {
            let refusal = link.refused(out, Kind::Scan, answer);
            if waited {
                self.decide_alone(link, out);
            } else {
                self.round_trip = None;
            }
            return Some(refusal);
        };
        self.measure(session, answer);
        if let Some(asking) = self.asking.as_mut().filter(|_| waited) {
            asking.word = Some(Some(Box::new(word)));
            link.done(Kind::Scan, session.mono(), 0);
        }
        None
    }

    /// Handles a question about a scan to which no answer came, or an answer that cannot be trusted.
    pub fn no_word(&mut self, link: &mut Uplink, out: &mut Outbox, scan_id: &ScanId) {
        if self.waits_for(scan_id) {
            link.failed(out, Kind::Scan);
            self.decide_alone(link, out);
        }
    }

    /// Decides alone about a scan once the time for the server's answer is over.
    pub fn watch(&mut self, link: &mut Uplink, out: &mut Outbox) {
        if self.waits_until().is_some_and(|until| out.mono() >= until) {
            link.failed(out, Kind::Scan);
            self.decide_alone(link, out);
        }
    }

    /// Ends the question without an answer. The device decides about this scan alone, and about the next ones too,
    /// until the round trip is known to be quick again.
    fn decide_alone(&mut self, link: &mut Uplink, out: &Outbox) {
        if let Some(asking) = &mut self.asking {
            asking.word = Some(None);
        }
        self.round_trip = None;
        let (now, failures) = (out.mono(), link.lane(Kind::Scan).failures());
        if let Some(more) = failures.checked_sub(2) {
            let pause = (limits::ASK_PAUSE_MS << more.min(8)).min(limits::ASK_PAUSE_MAX_MS);
            link.pause(Kind::Scan, now, pause);
        }
        link.hurry(Kind::Ping, now);
    }

    // -------------------------------------------------------------------------------------------------- the final

    /// Takes the question that has ended, for [`Questions::finish`]. `None` if none has.
    pub fn take_ended(&mut self) -> Option<Asking> {
        self.asking.take_if(|asking| asking.word.is_some())
    }
    /// Drops the question, since storage refuses its final. Returns false if there is none.
    pub fn drop_asking(&mut self) -> bool {
        self.asking.take().is_some()
    }

    /// Ends a question: decides, journals the final, and shows it once it is durable.
    pub fn finish(&mut self, desk: &Desk<'_>, out: &mut Outbox, asking: Asking) -> Act {
        let known = desk.known;
        if let Err(refusal) = known.may_scan() {
            return refusal.into(); // Revoked meanwhile: the claim has no final, and opened nothing.
        }
        let Some(claim) = known.journal.find(&asking.scan_id).map(|own| own.scan.clone()) else { return Act::Nothing };
        let about = known.about(&claim);
        let Some(mut asked) = desk.ask(&about, claim.kind, Some(&claim.scan_id)) else { return Act::Nothing };
        // An answer of an epoch whose list is not here yet cannot be used: the scan could not say by which rules it was
        // decided.
        let epoch = known.list().map(|list| list.epoch);
        let word = asking.word.flatten().filter(|word| Some(word.cursor.epoch) == epoch);
        // The answer does not count either if this device has done something that the server may not know.
        let word = word.filter(|_| !known.knows_more(&about, Some(&claim.scan_id)));
        if let Some(word) = &word {
            asked.verdict = verdict_of(word);
        }
        let party = claim.kind == ScanKind::Entry && asked.verdict.may_admit > 1;
        let mut shown = asked.shown(screen(&asked.verdict, claim.kind, party, desk.guests.is_flagged(&about)), &about);
        shown.confirmed = word.is_some();
        shown.entry_limit = shown.entry_limit.max(if party { asked.verdict.may_admit } else { 0 });
        if asks_staff(shown.screen) {
            // This ticket has a party. Its claim is durable, and the final follows with the count.
            let view = verdict_view(desk, &claim, &shown, None, about.rules());
            self.answers.insert(claim.scan_id, word);
            return Act::show(view);
        }
        let Some(mut scan) = desk.draft(out, &about, &asked, claim.method) else { return Act::Nothing };
        scan.scan_id = claim.scan_id;
        scan.opened = scan.outcome == Outcome::Valid;
        if let Some(word) = &word {
            learned(&mut scan, word);
        }
        let mut view = verdict_view(desk, &scan, &shown, asked.standing.last_entry.as_ref(), about.rules());
        if let Some(word) = word.filter(|word| word.outcome == Outcome::Duplicate) {
            // The server names no device. If it means the same entry, this device may know which device made it.
            let decided = view.last_entry.take();
            let told =
                last_entry_of(known, &word).filter(|told| decided.as_ref().is_none_or(|decided| decided.at != told.at));
            view.last_entry = told.or(decided);
        }
        desk.sign(scan, shown, Some(After::Show(Box::new(view))))
    }

    /// A claim whose verdict nobody saw, because the app ended, or storage refused a write, before the final was
    /// stored. The door stayed shut. `None` if there is no such claim, or it cannot be closed now.
    pub fn left_open(&self, known: Known<'_>) -> Option<ScanId> {
        if self.asking.is_some() || known.may_scan().is_err() || known.journal.damaged || !known.journal.has_key() {
            return None;
        }
        let mut open = known.journal.open_claims();
        let unseen = |scan_id: &ScanId| !self.answers.contains_key(scan_id);
        let found =
            open.find(|own| !asks_staff(own.shown.screen) && known.is_here(&own.scan) && unseen(&own.scan.scan_id));
        found.map(|own| own.scan.scan_id.clone())
    }

    /// Closes a claim whose verdict nobody saw, by a final with a shut door. Otherwise the server's answer to the claim
    /// would count a person whom nobody let in.
    pub fn close(&mut self, desk: &Desk<'_>, out: &mut Outbox, scan_id: &ScanId) -> Act {
        let known = desk.known;
        let Some(claim) = known.journal.find(scan_id).map(|own| own.scan.clone()) else { return Act::Nothing };
        let about = known.about(&claim);
        let drafted = desk.ask(&about, claim.kind, Some(scan_id)).and_then(|asked| {
            let shown = asked.shown(screen(&asked.verdict, claim.kind, false, false), &about);
            Some((desk.draft(out, &about, &asked, claim.method)?, shown))
        });
        let Some((mut scan, shown)) = drafted else {
            self.answers.insert(scan_id.clone(), None);
            return Act::Nothing;
        };
        scan.scan_id = claim.scan_id;
        desk.sign(scan, shown, None)
    }
}

/// The entry that the server's answer names, and the device of that entry if this device knows it. `None` if the
/// answer names no entry.
fn last_entry_of(known: Known<'_>, word: &OnlineAnswer) -> Option<LastEntryView> {
    let at = word.last_scan_at?;
    let own = known.journal.scans.iter().rev().find(|own| own.scan.at == at && own.scan.ticket_id == word.ticket_id);
    let gate = known.gate_name(word.last_gate_id.as_ref()?);
    // The answer says when and where. The device is known if the changes have told of the entry.
    let told = word.ticket_id.as_ref().and_then(|id| known.feed().ticket(id));
    // The changes may still list the entry's claim. Its final is a moment later, and the answer names the final's
    // time.
    let is_it = |scan: &&EffectiveScan| {
        scan.at == at || scan.claim && scan.at < at && Some(&scan.gate_id) == word.last_gate_id.as_ref()
    };
    let told = told.and_then(|item| item.changed.scans.iter().rev().find(is_it));
    let device_id = own.map(|own| &own.scan.device_id).or(told.map(|scan| &scan.device_id)).cloned();
    let device = device_id.as_ref().and_then(|id| known.feed().name_of(id)).unwrap_or_default().to_owned();
    Some(LastEntryView { at, gate, device_id, device, own: own.is_some() })
}
