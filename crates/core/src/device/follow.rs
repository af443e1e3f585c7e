//! Following the server: pairing, its clock, the list, the changes, the heartbeat (spec D11, §4 Time, §5).

use super::clock::Exchange;
use super::feed::{Feed, PageWrites};
use super::list::{Download, List, delta_key, page_key, whole_key};
use super::pairing::{Reply, own_name};
use super::recorder::After;
use super::state::State;
use super::uplink::{Answer, Ask, Kind, Request};
use crate::ids::EventId;
use crate::limits;
use crate::manifest::compact;
use crate::manifest::verify::{Expected, ManifestError};
use crate::rule::Epoch;
use crate::wire::engine::Effect;
use crate::wire::journal::Entry;
use crate::wire::scanning::{ChangesAnswer, HeartbeatAnswer, HeartbeatRequest, SIGNATURE_HEADER, TimeAnswer};
use crate::wire::stored::to_text;

impl State {
    // ----------------------------------------------------------------------------------------------------- pairing

    /// Begins a pairing by the link that staff scanned or pasted.
    pub fn begin_pairing(&mut self, code: &str, name: &str) {
        if !self.pairing.begin(code, name) {
            return self.refuse("bad_pairing_code", "This is no pairing code. Ask for one on the organiser's screen.");
        }
        self.pairing_begun();
    }

    /// Begins a pairing in which this phone shows a code for an organiser to approve.
    pub fn begin_asking(&mut self, name: &str) {
        self.pairing.begin_alone(name);
        self.pairing_begun();
    }

    /// Drops the request of the pairing before, and gives this phone a name of its own if it has none.
    fn pairing_begun(&mut self) {
        self.uplink.cancel(&mut self.out, Kind::Pair);
        self.message = None;
        if self.recorder.journal().identity.is_none()
            && let Some(name) = own_name(&mut self.out)
        {
            self.recorder.append(&mut self.out, vec![name], vec![After::Pair]);
        }
    }

    /// Drops the pairing under way, if there is one.
    pub fn drop_pairing(&mut self) {
        self.uplink.cancel(&mut self.out, Kind::Pair);
        self.pairing.end();
        self.message = None;
    }

    /// Takes the server's answer to a pairing request.
    pub fn pairing_answered(&mut self, answer: &Answer<'_>) {
        match self.pairing.answered(answer, self.session.mono()) {
            Reply::Nothing => {}
            Reply::Waits => self.done(Kind::Pair, limits::APPROVAL_POLL_MS),
            Reply::Refused(why) => {
                self.refused(Kind::Pair, answer);
                self.pairing_failed(&why);
            }
            Reply::Unclear => {
                self.refused(Kind::Pair, answer);
                self.pairing_lost();
            }
            // The key is journalled before it is used. So the pairing waits until the append under way is done.
            Reply::Paired(_) if self.busy() => self.uplink.reset(Kind::Pair),
            Reply::Paired(paired) => {
                self.done(Kind::Pair, 0);
                let before = self.paired().map(|paired| paired.event_id.clone());
                let mut entries = vec![Entry::Paired(paired)];
                // The device trusts the answer's epoch from now on, so it journals the witness that proves the epoch.
                if let Some((witness, text)) = answer.witness()
                    && self.uplink.proven_event() != Some(&witness.event_id)
                {
                    let (event_id, text) = (witness.event_id, text.to_owned());
                    entries.push(Entry::Witness { event_id, text, also: Vec::new() });
                }
                self.recorder.append(&mut self.out, entries, vec![After::Settled(before)]);
            }
        }
    }

    /// Handles a pairing request without an answer. It is tried a few times, since the token is valid for five minutes.
    pub fn pairing_lost(&mut self) {
        let tried = self.uplink.lane(Kind::Pair).failures() >= limits::PAIRING_TRIES;
        if tried && !self.pairing.still_waits(self.session.mono()) {
            self.pairing_failed("The server does not answer. Is there a network?");
        }
    }

    fn pairing_failed(&mut self, why: &str) {
        self.pairing.end();
        self.message = Some(why.to_owned());
        self.refuse("pairing_failed", why);
    }

    /// Takes a new pairing or assignment into use. The device drops the data of the former event, and asks the server
    /// for everything at once. `before` is the event of the device until now, absent if it had none.
    pub fn settled(&mut self, before: Option<EventId>) {
        self.pairing.end();
        self.message = None;
        self.named = None;
        self.way = None;
        self.uplink.start_over(&mut self.out);
        self.uploads.drop_batch();
        self.whole_next = self.recorder.journal().old_key.is_some();
        self.names_whole = self.whole_next;
        self.names_refused = None;
        let event = self.paired().map(|paired| paired.event_id.clone());
        let moved = before != event;
        if moved {
            // Nobody answers these questions any more. If the device returns to their event, they are closed as unseen.
            self.questions.clear();
        }
        if moved || self.list.is_none() {
            if let Some(before) = before.filter(|before| Some(before) != event.as_ref()) {
                self.forget_event(&before);
            }
            self.list = None;
            self.list_checked_ms = None;
            self.deltas.clear();
            self.feed = Feed::default();
            self.head_named = None;
        }
        // `Engine::handle` then drops names that may not stay on the device (`names_follow_time`), still for the same
        // input.
    }

    fn forget_event(&mut self, event_id: &EventId) {
        self.emit(Effect::Forget { key: whole_key(event_id) });
        for version in std::mem::take(&mut self.deltas) {
            self.emit(Effect::Forget { key: delta_key(event_id, version) });
        }
        for number in self.feed.kept_pages() {
            self.emit(Effect::Forget { key: page_key(event_id, number) });
        }
    }

    // ------------------------------------------------------------------------------------------------------- clock

    /// Asks the server for its time.
    pub fn ask_time(&mut self) {
        let gaps_ms = self.session.clock().gaps_ms();
        self.send(Request::get(Ask::Time { gaps_ms }, "/api/scanning/time".to_owned(), limits::REQUEST_MS));
    }

    /// Takes the server's answer about its time, which makes four timestamps.
    pub fn time_answered(&mut self, gaps_ms: i64, answer: &Answer<'_>) {
        let Some(time) = answer.read::<TimeAnswer>() else { return self.refused(Kind::Time, answer) };
        let anchor = self.session.exchange(Exchange {
            sent_mono_ms: answer.sent_mono_ms,
            received_ms: time.received_at_ms,
            answered_ms: time.sent_at_ms,
            gaps_ms,
        });
        if let Some(anchor) = anchor {
            let (wall_ms, at_ms) = (anchor.wall_ms, anchor.at_ms);
            self.recorder.note(Entry::Clock { wall_ms, at_ms, uncertainty_ms: anchor.uncertainty_ms });
        } else if !self.session.clock().exchanged() {
            return self.failed(Kind::Time);
        }
        // If the phone slept or its clock was set in between, the exchange measured nothing and is repeated at once.
        let slept = gaps_ms != self.session.clock().gaps_ms();
        self.done(Kind::Time, if slept { 0 } else { limits::CLOCK_EVERY_MS });
    }

    // -------------------------------------------------------------------------------------------------------- list

    /// Whether to fetch a list: there is none, a newer one is known to exist, or the whole list is needed.
    pub fn wants_list(&self) -> bool {
        self.whole_next || self.list.is_none() || self.named.is_some()
    }

    /// Takes the version of the newest list, as the server stated it.
    fn follow_version(&mut self, newest: (Epoch, u64)) {
        match &self.list {
            Some(list) if newest > (list.epoch, list.version) => self.named = self.named.max(Some(newest)),
            Some(list) if newest == (list.epoch, list.version) => {
                self.list_checked_ms = Some(self.session.at_ms());
            }
            Some(_) => {}
            None => self.named = self.named.max(Some(newest)),
        }
    }

    /// Asks for the list. If the active list is of the same epoch, it asks for the changes since.
    pub fn ask_list(&mut self) {
        let Some(event_id) = self.paired().map(|paired| paired.event_id.clone()) else { return };
        let fresh_epoch = |list: &List| self.named.is_none_or(|(epoch, _)| epoch == list.epoch);
        let few = self.deltas.len() < limits::DELTAS && self.uplink.lane(Kind::List).failures() == 0;
        let since =
            self.list.as_ref().filter(|list| few && !self.whole_next && fresh_epoch(list)).map(|list| list.version);
        let query = since.map(|since| format!("?since={since}")).unwrap_or_default();
        let path = format!("/api/scanning/events/{event_id}/manifest{query}");
        self.send(Request::get(Ask::List { event_id }, path, limits::MANIFEST_MS));
    }

    /// Takes the server's answer with a list. A list that does not verify, is older, or belongs to somebody else is
    /// refused and the active one stays (trust faults 18–20).
    pub fn list_answered(&mut self, event_id: &EventId, answer: &Answer<'_>) {
        let Some(paired) = self.paired().filter(|paired| paired.event_id == *event_id).cloned() else { return };
        let (200, Some(signature)) = (answer.status, answer.header(SIGNATURE_HEADER)) else {
            return self.refused(Kind::List, answer);
        };
        let expected = Expected { organization_id: &paired.organization_id, event_id };
        let mark = self.recorder.journal().lists.get(event_id);
        let read = List::download(answer.body, signature, &paired.api_key, expected, self.list.as_ref(), mark);
        match read {
            Ok(Download::Newer { list, whole }) => self.swap(event_id, *list, whole),
            Ok(Download::Same { generated_at, expires_at, whole }) => {
                self.named = None;
                if let Some(list) = &mut self.list {
                    (list.generated_at, list.expires_at) = (generated_at, expires_at);
                }
                if whole && let Some(list) = self.list.clone() {
                    self.swap(event_id, list, whole);
                }
            }
            Err(error) => return self.list_refused(answer, &error),
        }
        self.message = None;
        self.done(Kind::List, 0);
    }

    /// Takes a list into use: it is cached, noted in the journal, and decides from now on.
    fn swap(&mut self, event_id: &EventId, list: List, whole: bool) {
        if whole {
            self.whole_next = false;
            self.emit(Effect::Save { key: whole_key(event_id), text: None, sealed: false });
            for version in std::mem::take(&mut self.deltas) {
                self.emit(Effect::Forget { key: delta_key(event_id, version) });
            }
        } else {
            self.emit(Effect::Save { key: delta_key(event_id, list.version), text: None, sealed: false });
            self.deltas.push(list.version);
        }
        if self.named.is_some_and(|named| named <= (list.epoch, list.version)) {
            self.named = None;
        }
        self.list_checked_ms = None;
        let (epoch, version, content_hash) = (list.epoch, list.version, list.content_hash());
        let ends_at_ms = Some(list.event.ends_at.ms());
        self.recorder.note(Entry::List { event_id: event_id.clone(), epoch, version, content_hash, ends_at_ms });
        let now = self.mono();
        if self.list.is_none() {
            // A heartbeat left before the list came. The next one is sent at once, so that the organiser does not read
            // "list none".
            self.uplink.hurry(Kind::Heartbeat, now);
        }
        if self.list.as_ref().is_none_or(|before| before.epoch != list.epoch) {
            // Without a list of this epoch, the device could not ask for changes until now.
            self.uplink.hurry(Kind::Changes, now);
        }
        self.list = Some(list);
        self.names_follow_list();
    }

    /// Notes that a list in use could not be stored. The journal says that the list was used, so the next start takes
    /// no older list, and later deltas fit no stored list. So the engine fetches and stores the whole list again, after
    /// a pause, since full storage stays full for some time. Everything else that is cached is asked for again at the
    /// next start.
    pub fn save_failed(&mut self, key: &str) {
        let Some(event_id) = self.paired().map(|paired| paired.event_id.clone()) else { return };
        if key != whole_key(&event_id) && !key.starts_with(&delta_key(&event_id, "")) {
            return;
        }
        self.whole_next = true;
        let now = self.mono();
        self.uplink.hold(Kind::List, now, limits::UNSAVED_EVERY_MS);
        let message = "The list cannot be stored: without a network this device would not start again. Free storage.";
        self.message = Some(message.to_owned());
    }

    fn list_refused(&mut self, answer: &Answer<'_>, error: &ManifestError) {
        let json = || serde_json::from_slice::<serde::de::IgnoredAny>(answer.body).is_ok();
        let ours = compact::is_compact(answer.body) || json();
        self.uplink.judge_origin(ours);
        self.message = Some(format!("A list was refused: {error}."));
        self.failed(Kind::List);
        if matches!(error, ManifestError::WrongBase { .. } | ManifestError::ContentHash) {
            // The changes do not fit the list on this device. The next try asks for the whole list, since its lane has
            // a failure.
            let now = self.mono();
            self.uplink.hurry(Kind::List, now);
        }
    }

    // ----------------------------------------------------------------------------------------------------- changes

    /// Whether the device may ask for changes. The server leaves out rule changes that the list named in the request
    /// has. So the list must not be of an older epoch than the cursor. After a roll-back, serials as low as that list's
    /// are given out again. The server would leave out rule changes that the list does not have.
    pub fn may_follow(&self) -> bool {
        let asked = self.feed.ask_from().map(|cursor| cursor.epoch);
        self.list.as_ref().is_some_and(|list| asked.is_none_or(|epoch| list.epoch >= epoch))
    }

    /// Asks what changed. If no further change is known to exist, the request waits at the server for news.
    pub fn ask_changes(&mut self) {
        let Some(event_id) = self.paired().map(|paired| paired.event_id.clone()) else { return };
        let Some((version, of)) = self.list.as_ref().map(|list| (list.version, list.epoch)) else { return };
        let query = match self.feed.ask_from() {
            Some(cursor) => {
                format!("?cursor={cursor}&manifest_version={version}&wait={}", limits::CHANGES_WAIT_SECONDS)
            }
            None => format!("?manifest_version={version}"),
        };
        let path = format!("/api/scanning/events/{event_id}/changes{query}");
        let timeout_ms = limits::REQUEST_MS + limits::CHANGES_WAIT_SECONDS * 1_000;
        self.send(Request::get(Ask::Changes { event_id, of }, path, timeout_ms));
    }

    /// Takes the server's answer about changes.
    pub fn changes_answered(&mut self, event_id: &EventId, of: Epoch, answer: &Answer<'_>) {
        let Some(changes) = answer.read::<ChangesAnswer>() else { return self.refused(Kind::Changes, answer) };
        if !self.uplink.follow_epoch(&mut self.recorder, changes.cursor.epoch) {
            return self.failed(Kind::Changes);
        }
        if !changes.resync && changes.cursor.epoch != of {
            // The request named a list of another epoch ([`Self::may_follow`]). The device first fetches a list of this
            // epoch.
            self.follow_version((changes.cursor.epoch, changes.manifest_version));
            return self.failed(Kind::Changes);
        }
        let again = changes.more || changes.resync;
        // The long poll came back at once with nothing, since the news is a list that is fetched separately. A pause
        // avoids a hot loop.
        let waited = self.feed.ask_from().is_none() || self.mono() - answer.sent_mono_ms >= limits::CHANGES_IDLE_MS;
        let idle = changes.items.is_empty() && !waited;
        let pause = if idle { limits::CHANGES_IDLE_MS } else { limits::CHANGES_PAUSE_MS };
        self.follow_version((changes.cursor.epoch, changes.manifest_version));
        let body = String::from_utf8_lossy(answer.body).into_owned();
        let PageWrites { save, forget } = self.feed.take(changes, &body);
        for (number, page) in save {
            self.emit(Effect::Save { key: page_key(event_id, number), text: Some(to_text(&page)), sealed: false });
        }
        for number in forget {
            self.emit(Effect::Forget { key: page_key(event_id, number) });
        }
        self.done(Kind::Changes, if again { 0 } else { pause });
    }

    // --------------------------------------------------------------------------------------------------- heartbeat

    /// Sends a heartbeat: the state of this device.
    pub fn ask_heartbeat(&mut self) {
        let (Some((_, log_id)), Some(paired)) = (&self.recorder.journal().identity, self.paired()) else { return };
        let path = format!("/api/scanning/events/{}/heartbeat", paired.event_id);
        let log_id = log_id.clone();
        self.begin_beat();
        let now_ms = self.session.at_ms();
        let list_age_ms = self.list_checked_ms.map(|at_ms| now_ms.saturating_sub(at_ms).max(0).unsigned_abs());
        let figures = self.out.measured().figures(self.session.wall_ms(), list_age_ms);
        let request = HeartbeatRequest {
            log_id,
            head: self.recorder.journal().head_seq(),
            pending: self.recorder.journal().unsent(),
            battery: self.session.battery(),
            app_version: self.session.app_version(),
            manifest_version: self.list.as_ref().map_or(0, |list| list.version),
            clock_offset_ms: self.session.clock().offset_ms().filter(|_| self.session.clock().exchanged()),
            figures: Some(figures),
            gate_id: self.beat.gate_id.clone(),
        };
        self.send(Request::post(Ask::Heartbeat, &path, to_text(&request), limits::REQUEST_MS));
    }

    /// Takes the server's answer to a heartbeat: where this device is assigned, and whether there is news.
    pub fn heartbeat_answered(&mut self, answer: &Answer<'_>) {
        let Some(beat) = answer.read::<HeartbeatAnswer>() else {
            return self.refused(Kind::Heartbeat, answer);
        };
        if !self.uplink.follow_epoch(&mut self.recorder, beat.cursor.epoch) {
            return self.failed(Kind::Heartbeat);
        }
        self.out.measured().answered();
        // If a list came after the heartbeat left, the server is told at once.
        let told = self.beat.listed || self.list.is_none();
        self.done(Kind::Heartbeat, if told { limits::HEARTBEAT_MS } else { 0 });
        self.measure(answer);
        self.uplink.suspend(beat.suspended);
        let told = self.beat.gate_id.clone();
        self.follow_count(&beat);
        self.head_named = self.head_named.max(Some((beat.cursor.epoch, beat.cursor.serial)));
        let now = self.mono();
        if self.feed.cursor().is_none_or(|cursor| *cursor < beat.cursor) {
            self.uplink.hurry(Kind::Changes, now);
        }
        self.follow_version((beat.cursor.epoch, beat.manifest_version));
        // The device reports its own choice of gate once. If somebody moves the device after that, the old choice does
        // not overrule them.
        self.gate_told = told.or(self.gate_told.take());
        let moved = self.paired().is_some_and(|paired| {
            let elsewhere = paired.event_id != beat.event_id || paired.gate_id != beat.gate_id;
            // Staff chose a gate after the heartbeat left, so their choice is newer than the server's answer.
            if paired.moved { self.gate_told.as_ref() == Some(&paired.gate_id) } else { elsewhere }
        });
        if self.paired().is_some_and(|paired| paired.moved) && (!moved || self.busy()) {
            self.uplink.hurry(Kind::Heartbeat, now);
        }
        if moved && !self.busy() && !self.pairing.is_under_way() {
            let before = self.paired().map(|paired| paired.event_id.clone());
            let entry = Entry::Assigned { event_id: beat.event_id, gate_id: beat.gate_id };
            self.recorder.append(&mut self.out, vec![entry], vec![After::Settled(before)]);
        }
        self.purge();
    }
}
