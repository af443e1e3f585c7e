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

use super::door::shown;
use super::state::{Asking, State, Way};
use super::uplink::{Answer, Ask, Kind, Request};
use super::verdict::{asks_staff, learned, verdict_of};
use crate::decide::screen;
use crate::ids::ScanId;
use crate::limits;
use crate::reduce::EffectiveScan;
use crate::scan::{Outcome, ScanKind};
use crate::wire::engine::{Effect, LastEntryView};
use crate::wire::scanning::{ScanV2, TimeAnswer};
use crate::wire::scans::OnlineAnswer;

impl State {
    // ---------------------------------------------------------------------------------------------- the round trip

    /// Takes the time of an answer as the round trip.
    pub fn measure(&mut self, answer: &Answer<'_>) {
        let (at_mono_ms, gaps_ms) = (self.mono(), self.session.clock().gaps_ms());
        self.way = Some(Way { at_mono_ms, round_ms: at_mono_ms - answer.sent_mono_ms, gaps_ms });
    }

    /// Whether a code was read lately. Only then does the device send pings, which measure the round trip.
    pub fn in_use(&self) -> bool {
        self.used_at.is_some_and(|at| self.mono() - at < limits::IN_USE_MS)
    }

    /// Measures the round trip, for the next code.
    pub fn ping(&mut self) {
        self.send(Request::get(Ask::Ping, "/api/scanning/time".to_owned(), limits::PING_MS));
    }

    /// Takes the server's answer to a ping.
    pub fn ping_answered(&mut self, answer: &Answer<'_>) {
        if answer.read::<TimeAnswer>().is_none() {
            self.way = None;
            return self.refused(Kind::Ping, answer);
        }
        self.measure(answer);
        self.done(Kind::Ping, limits::PING_EVERY_MS);
    }

    // ------------------------------------------------------------------------------------------------------- asking

    /// Whether the device asks the server about the next scan.
    pub fn may_ask(&self) -> bool {
        let now = self.mono();
        let quick = self.way.is_some_and(|way| {
            let fresh = now - way.at_mono_ms < limits::ASK_FRESH_MS && way.gaps_ms == self.session.clock().gaps_ms();
            fresh && way.round_ms < limits::ASK_ROUND_MS
        });
        quick
            && !self.is_practice()
            && now >= self.uplink.lane(Kind::Scan).due_at()
            && !self.uplink.is_suspended()
            && !self.uplink.is_key_unknown()
    }

    /// Asks the server about a claim that is durable now. If the round trip became unknown meanwhile, the device
    /// decides alone.
    pub fn ask_server(&mut self, scan_id: ScanId) {
        let until_mono_ms = self.mono() + limits::ASK_WAIT_MS;
        let own = self.recorder.journal().find(&scan_id).filter(|_| self.may_ask());
        let body = own.and_then(|own| ScanV2::of(&own.scan, &own.signature).ok());
        let word = if body.is_some() { None } else { Some(None) };
        self.asking = Some(Asking { scan_id: scan_id.clone(), until_mono_ms, word });
        if let Some(body) = body {
            let text = crate::wire::stored::to_text(&body);
            let ask = Ask::Scan { scan_id };
            self.send(Request::post(ask, "/api/scans", text, limits::ASK_LISTEN_MS));
        }
    }

    fn waits_for(&self, scan_id: &ScanId) -> bool {
        self.asking.as_ref().is_some_and(|asking| asking.scan_id == *scan_id && asking.word.is_none())
    }

    /// Takes the server's answer about a scan. An answer that is too late only tells how slow the round trip is.
    pub fn scan_answered(&mut self, scan_id: &ScanId, answer: &Answer<'_>) {
        let word = answer.read::<OnlineAnswer>().filter(|word| word.scan_id == *scan_id);
        let waited = self.waits_for(scan_id);
        let Some(word) = word else {
            self.refused(Kind::Scan, answer);
            return if waited { self.decide_alone() } else { self.way = None };
        };
        self.measure(answer);
        if waited && let Some(asking) = &mut self.asking {
            asking.word = Some(Some(Box::new(word)));
            self.done(Kind::Scan, 0);
        }
    }

    /// Handles a question about a scan that gets no answer, or one that cannot be trusted.
    pub fn no_word(&mut self, scan_id: &ScanId) {
        if self.waits_for(scan_id) {
            self.failed(Kind::Scan);
            self.decide_alone();
        }
    }

    /// Decides alone about a scan once the time for the server's answer is over.
    pub fn watch_asking(&mut self) {
        let now = self.mono();
        let over = self.asking.as_ref().filter(|asking| asking.word.is_none() && now >= asking.until_mono_ms);
        if let Some(scan_id) = over.map(|asking| asking.scan_id.clone()) {
            self.no_word(&scan_id);
        }
    }

    /// Ends the question without an answer. This scan is decided here, and so are the next ones until the round trip is
    /// known to be quick again.
    fn decide_alone(&mut self) {
        if let Some(asking) = &mut self.asking {
            asking.word = Some(None);
        }
        self.way = None;
        let (now, failures) = (self.mono(), self.uplink.lane(Kind::Scan).failures());
        if let Some(more) = failures.checked_sub(2) {
            let pause = (limits::ASK_PAUSE_MS << more.min(8)).min(limits::ASK_PAUSE_MAX_MS);
            self.uplink.pause(Kind::Scan, now, pause);
        }
        self.uplink.hurry(Kind::Ping, now);
    }

    // -------------------------------------------------------------------------------------------------- the final

    /// Ends a question: decides, journals the final, and shows it once it is durable.
    pub fn finish(&mut self, asking: Asking) {
        if let Err((code, message)) = self.may_scan() {
            return self.refuse(code, message); // Revoked meanwhile: the claim has no final, and opened nothing.
        }
        let Some(claim) = self.recorder.journal().find(&asking.scan_id).map(|own| own.scan.clone()) else { return };
        let about = self.about(&claim);
        let Some(mut asked) = self.ask(&about, claim.kind, Some(&claim.scan_id)) else { return };
        // An answer of an epoch whose list is not here yet cannot be used: the scan could not say by which rules it was
        // decided.
        let epoch = self.list.as_ref().map(|list| list.epoch);
        let word = asking.word.flatten().filter(|word| Some(word.cursor.epoch) == epoch);
        // The answer does not count either if this device has done something that the server may not know.
        let word = word.filter(|_| !self.knows_more(&about, Some(&claim.scan_id)));
        if let Some(word) = &word {
            asked.verdict = verdict_of(word);
        }
        let party = claim.kind == ScanKind::Entry && asked.verdict.may_admit > 1;
        let mut shown = shown(screen(&asked.verdict, claim.kind, party, self.is_flagged(&about)), &about, &asked);
        shown.confirmed = word.is_some();
        shown.entry_limit = shown.entry_limit.max(if party { asked.verdict.may_admit } else { 0 });
        if asks_staff(shown.screen) {
            // This ticket has a party. Its claim is durable, and the final follows with the count.
            let view = self.verdict_view(&claim, &shown, None, about.rules());
            self.questions.insert(claim.scan_id, word);
            return self.emit(Effect::Show { verdict: Box::new(view) });
        }
        let Some(mut scan) = self.draft(&about, &asked, claim.method) else { return };
        scan.scan_id = claim.scan_id;
        scan.opened = scan.outcome == Outcome::Valid;
        if let Some(word) = &word {
            learned(&mut scan, word);
        }
        let mut view = self.verdict_view(&scan, &shown, asked.standing.last_entry.as_ref(), about.rules());
        if let Some(word) = word.filter(|word| word.outcome == Outcome::Duplicate) {
            // The server names no device. If it means the same entry, this device may know which device made it.
            let known = view.last_entry.take();
            let told = self.last_entry_of(&word).filter(|told| known.as_ref().is_none_or(|known| known.at != told.at));
            view.last_entry = told.or(known);
        }
        self.write_scan(scan, shown, Vec::new(), Some(super::recorder::After::Show(Box::new(view))));
    }

    /// The entry that the server's answer names, with its device if this one knows it. `None` if the answer names no
    /// entry.
    fn last_entry_of(&self, word: &OnlineAnswer) -> Option<LastEntryView> {
        let at = word.last_scan_at?;
        let own = self
            .recorder
            .journal()
            .scans
            .iter()
            .rev()
            .find(|own| own.scan.at == at && own.scan.ticket_id == word.ticket_id);
        let gate = self.gate_name(word.last_gate_id.as_ref()?);
        // The answer says when and where. The device is known if the changes have told of the entry.
        let told = word.ticket_id.as_ref().and_then(|id| self.feed.ticket(id));
        // The changes may still list the entry's claim. Its final is a moment later, and the answer names the final's
        // time.
        let is_it = |scan: &&EffectiveScan| {
            scan.at == at || scan.claim && scan.at < at && Some(&scan.gate_id) == word.last_gate_id.as_ref()
        };
        let told = told.and_then(|item| item.changed.scans.iter().rev().find(is_it));
        let device_id = own.map(|own| &own.scan.device_id).or(told.map(|scan| &scan.device_id)).cloned();
        let device = device_id.as_ref().and_then(|id| self.feed.name_of(id)).unwrap_or_default().to_owned();
        Some(LastEntryView { at, gate, device_id, device, own: own.is_some() })
    }

    /// A claim whose verdict nobody saw, because the app ended, or storage refused a write, before the final was
    /// stored. The door stayed shut. `None` if there is no such claim, or it cannot be closed now.
    pub fn left_open(&self) -> Option<ScanId> {
        if self.asking.is_some()
            || self.may_scan().is_err()
            || self.recorder.journal().damaged
            || !self.recorder.journal().has_key()
        {
            return None;
        }
        let mut open = self.recorder.journal().open_claims();
        let unseen = |scan_id: &ScanId| !self.questions.contains_key(scan_id);
        let found =
            open.find(|own| !asks_staff(own.shown.screen) && self.is_here(&own.scan) && unseen(&own.scan.scan_id));
        found.map(|own| own.scan.scan_id.clone())
    }

    /// Closes a claim whose verdict nobody saw, by a final with a shut door. Otherwise the server's answer to the claim
    /// would count a person whom nobody let in.
    pub fn close(&mut self, scan_id: &ScanId) {
        let Some(claim) = self.recorder.journal().find(scan_id).map(|own| own.scan.clone()) else { return };
        let about = self.about(&claim);
        let drafted = self.ask(&about, claim.kind, Some(scan_id)).and_then(|asked| {
            let shown = shown(screen(&asked.verdict, claim.kind, false, false), &about, &asked);
            Some((self.draft(&about, &asked, claim.method)?, shown))
        });
        let Some((mut scan, shown)) = drafted else {
            self.questions.insert(scan_id.clone(), None);
            return;
        };
        scan.scan_id = claim.scan_id;
        self.write_scan(scan, shown, Vec::new(), None);
    }

    /// Whether a claim's final is about to follow. The two are uploaded together.
    pub fn claim_is_open(&self) -> bool {
        self.asking.is_some() || self.recorder.is_ending_a_claim()
    }
}
