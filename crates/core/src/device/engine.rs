//! The scanner's engine: one input in, effects out, in order. It has no clock, randomness or IO of its own, so the same
//! inputs give the same effects (law 1, trust I27).

use super::book::NameBook;
use super::list::List;
use super::recorder::After;
use super::state::{Drawn, State};
use super::uplink::{Answer, Ask, Kind};
use super::upload::status_request;
use crate::gate::Direction;
use crate::limits;
use crate::manifest::verify::Expected;
use crate::wire::engine::{Effect, Input, Now, Row, View};
use crate::wire::journal::{CachedPage, Entry};
use crate::wire::stored::from_json;

/// A scanner without IO. The worker of a browser tab, the terminal scanner or the simulator feeds it inputs and carries
/// out its effects.
#[derive(Debug)]
pub struct Engine(State);

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine {
    /// A scanner that has no state yet. Its first input must be [`Input::Start`].
    pub fn new() -> Self {
        Self(State::default())
    }

    /// Takes an input and returns the effects, which the caller carries out in order. `body` is the content of a cached
    /// body or of an answer, and empty otherwise. Inputs before [`Input::Start`] do nothing.
    pub fn handle(&mut self, input: Input, body: &[u8], now: &Now) -> Vec<Effect> {
        let state = &mut self.0;
        state.session.take(*now);
        state.out.begin(now);
        if let Input::Start { session_id, rows, app_version, device_type } = input {
            if !state.session.has_begun() {
                state.session.begin(session_id, app_version, device_type.parse().ok());
                state.start(rows);
            }
            return Vec::new(); // A second start does nothing.
        }
        if !state.session.has_begun() {
            return Vec::new();
        }
        if state.session.observe() >= limits::CLOCK_JOURNAL_MS {
            // The phone slept, or its clock was set. The time is now uncertain, and validity, gaps and the list's age
            // depend on it. So the time is asked for at once.
            state.uplink.hurry(Kind::Time, now.mono_ms);
        }
        if matches!(input, Input::Tick) {
            state.wake = None; // A timer may fire a little early. It is then set again.
        }
        if state.started {
            state.note_jump();
        }
        state.out.measure(&input);
        state.take(input, body);
        if state.started {
            state.names_follow_time();
            state.pump();
            state.recorder.probe(&mut state.out, now.mono_ms);
            state.schedule();
            state.draw_view();
        }
        state.out.empty()
    }
}

/// Sends one kind of request.
type Send = fn(&mut State);

impl State {
    fn start(&mut self, rows: Vec<Row>) {
        for row in &rows {
            self.recorder.read(row);
        }
        self.session.begin_clock(self.recorder.journal().anchor);
        self.purge.plan(self.recorder.journal(), self.session.clock(), rows);
    }

    fn take(&mut self, input: Input, body: &[u8]) {
        match input {
            Input::Start { .. } => {}
            Input::Cache { key } => {
                self.caches.insert(key, body.to_vec());
            }
            Input::Started => self.storage_read(),
            Input::Appended { append } => self.durable(append),
            Input::AppendFailed { append, reason } => self.not_durable(append, reason),
            Input::SaveFailed { key } => self.save_failed(&key),
            Input::Response { request, status, headers, sent_mono_ms } => {
                self.answered(request, &Answer { status, headers: &headers, body, sent_mono_ms });
            }
            Input::Failed { request } => self.unanswered(request),
            Input::Online => self.uplink.hurry_all(self.session.mono()),
            Input::SyncNow => {
                self.uploads.hurry(self.session.mono());
                self.uplink.hurry_all(self.session.mono());
            }
            Input::Tick => {}
            Input::Battery { percent } => self.session.charged(percent),
            Input::Search { text } => self.search(&text),
            Input::Export => {
                let (name, text) = self.export();
                self.emit(Effect::Export { name, text });
            }
            staff => self.enqueue(staff),
        }
    }

    /// Ends the start once storage is read: verifies the list, and shows a verdict that staff may not have seen.
    fn storage_read(&mut self) {
        if self.started {
            return;
        }
        self.started = true;
        let caches = std::mem::take(&mut self.caches);
        if self.recorder.journal().revoked {
            self.emit(Effect::WipeCaches);
            self.after_append();
        } else if let Some(paired) = self.paired().cloned() {
            let keys: Vec<&str> = [Some(&paired.api_key), self.recorder.journal().old_key.as_ref()]
                .into_iter()
                .flatten()
                .map(String::as_str)
                .collect();
            let expected = Expected { organization_id: &paired.organization_id, event_id: &paired.event_id };
            match List::open(&caches, &keys, expected, self.recorder.journal().lists.get(&paired.event_id)) {
                Ok(Some((list, deltas))) => (self.list, self.deltas) = (Some(list), deltas),
                Ok(None) => {}
                Err(error) => self.message = Some(format!("The kept list was refused: {error}.")),
            }
            let names = NameBook::open(&caches, &keys, expected);
            self.names_read(names, &caches);
            self.whole_next = self.recorder.journal().old_key.is_some();
            self.names_whole = self.whole_next;
            let prefix = super::list::page_key(&paired.event_id, "");
            let pages = caches.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
            let pages = pages.filter_map(|(key, body)| {
                let page: CachedPage = from_json(body).ok()?;
                Some((key[prefix.len()..].parse().ok()?, page))
            });
            for number in self.feed.load(pages.collect()) {
                let key = super::list::page_key(&paired.event_id, number);
                self.emit(Effect::Forget { key });
            }
        }
        self.show_again();
    }

    /// Journals a new clock anchor (wall clock and estimated time) after the wall clock jumped. Otherwise a restart
    /// would start from the old one.
    fn note_jump(&mut self) {
        let Some(anchor) = self.recorder.journal().anchor.and_then(|_| self.session.jumped()) else { return };
        let (wall_ms, at_ms) = (anchor.wall_ms, anchor.at_ms);
        self.recorder.note(Entry::Clock { wall_ms, at_ms, uncertainty_ms: anchor.uncertainty_ms });
    }

    /// Queues an input of staff while an append is under way. It is decided on the state that the append leaves.
    fn enqueue(&mut self, input: Input) {
        if self.waiting.len() >= limits::WAITING_INPUTS {
            return self.refuse("busy", "Storage is slow: nothing was recorded. Read the code again.");
        }
        self.waiting.push_back(input);
    }

    fn pump(&mut self) {
        self.watch_asking();
        while !self.recorder.is_writing() {
            if self.recorder.blocked().is_some() {
                if self.asking.take().is_some() {
                    self.refuse("storage_blocked", "This device's storage refuses: admit nobody on it.");
                }
                for _ in std::mem::take(&mut self.waiting) {
                    self.refuse("storage_blocked", "This device's storage refuses: nothing can be recorded.");
                }
                return;
            }
            if let Some(asking) = self.asking.take_if(|asking| asking.word.is_some()) {
                self.finish(asking);
            } else if let Some(claim) = self.left_open() {
                self.close(&claim);
            } else if let Some(input) = self.waiting.pop_front_if(|_| self.asking.is_none()) {
                self.staff(input);
            } else if !self.recorder.has_noted() {
                return;
            } else {
                self.recorder.append(&mut self.out, Vec::new(), Vec::new());
            }
        }
    }

    fn staff(&mut self, input: Input) {
        let scans = matches!(
            input,
            Input::Code { .. }
                | Input::Guest { .. }
                | Input::Count { .. }
                | Input::Override { .. }
                | Input::Booking { .. }
                | Input::WalkIn { .. }
                | Input::Headcount { .. }
                | Input::Undo { .. }
        );
        if scans && self.recorder.journal().damaged {
            return self
                .refuse("storage_blocked", "A row of this device's log cannot be read: it records no more scans.");
        }
        match input {
            Input::Pair { code, name } => self.begin_pairing(&code, &name),
            Input::AskPairing { name } => self.begin_asking(&name),
            Input::CancelPairing => self.drop_pairing(),
            Input::Code { text, other, method } => self.read_code(&text, other.as_deref(), method),
            Input::Guest { ticket_id } => self.pick_guest(&ticket_id),
            Input::Count { scan_id, count } => self.count_party(&scan_id, count),
            Input::Override { scan_id, pin, by, reason, count } => self.set_aside(&scan_id, &pin, &by, &reason, count),
            Input::Booking { scan_id, ticket_ids } => self.admit_booking(&scan_id, &ticket_ids),
            Input::WalkIn { name, zone, party, pin } => self.add_walk_in(&name, zone, party, &pin),
            Input::Headcount { headcount } => self.count_heads(headcount),
            Input::Undo { scan_id, keep } => self.undo(scan_id.as_ref(), keep),
            Input::Direction { direction: Direction::Both } => {
                self.refuse("bad_direction", "Choose in or out.");
            }
            Input::Direction { direction } => {
                self.recorder.append(
                    &mut self.out,
                    vec![Entry::Settings { operator: None, direction: Some(direction) }],
                    Vec::new(),
                );
            }
            Input::Operator { name } => {
                let operator = Some(super::journal::words(&name, limits::NAME_CHARS));
                self.recorder.append(&mut self.out, vec![Entry::Settings { operator, direction: None }], Vec::new());
            }
            Input::Gate { gate_id } => self.move_to(gate_id),
            Input::Pin { pin } => self.try_pin(&pin),
            Input::HideProblem { scan_id } if self.recorder.journal().knows(&scan_id) => {
                self.recorder.append(&mut self.out, vec![Entry::Hidden { scan_id }], Vec::new());
            }
            Input::HideProblem { .. } => self.refuse("unknown_scan", "There is no such scan on this device."),
            _ => {}
        }
    }

    fn durable(&mut self, append: u64) {
        let Some(durable) = self.recorder.appended(append) else { return };
        if durable.all {
            self.uploads.receipts_are_durable();
        }
        for after in durable.after {
            match after {
                After::Show(verdict) => self.emit(Effect::Show { verdict }),
                After::Undone { scan_id, persons } => self.emit(Effect::Undone { scan_id, count: persons }),
                After::PinRefused => self.pin_refused(),
                After::PinOk => self.emit(Effect::PinOk),
                After::Ask(scan_id) => self.ask_server(scan_id),
                After::Pair => {}
                After::Settled(before) => self.settled(before),
            }
        }
        self.after_append();
    }

    /// Handles an append that failed. An act that staff waited for counts as never done.
    fn not_durable(&mut self, append: u64, reason: String) {
        let Some(after) = self.recorder.append_failed(append, reason, self.session.mono()) else { return };
        if after.contains(&After::Pair) {
            self.pairing.end(); // A device without an id cannot ask. Staff begin again once storage works.
        }
        if self.pairing.is_under_way() && after.iter().any(|after| matches!(after, After::Settled(_))) {
            self.failed(Kind::Pair); // The key was not stored, so the device asks for it again after a pause.
        }
        if !after.is_empty() {
            self.refuse("storage_blocked", "Nothing was recorded: this device's storage refuses. Admit nobody on it.");
        }
    }

    fn after_append(&mut self) {
        if self.recorder.journal().revoked {
            // The server answers no questions of a revoked device. So the device offers the scans of a former epoch
            // again.
            let asked = self.recorder.journal().asked.clone();
            self.recorder.lacking(asked);
            self.recorder.erase_key_if_done(self.session.at_ms());
        }
    }

    fn answered(&mut self, request: u64, answer: &Answer<'_>) {
        let Some(ask) = self.uplink.answered(request) else { return };
        if !self.uplink.follow(&mut self.recorder, self.session.mono(), answer) {
            if let Ask::Scan { scan_id } = &ask {
                return self.no_word(scan_id);
            }
            return self.failed(ask.kind()); // The answer is from a past epoch.
        }
        let State { uploads, uplink, recorder, session, out, .. } = self;
        match &ask {
            Ask::Scan { scan_id } => self.scan_answered(scan_id, answer),
            Ask::Ping => self.ping_answered(answer),
            Ask::Pair => self.pairing_answered(answer),
            Ask::Time { gaps_ms } => self.time_answered(*gaps_ms, answer),
            Ask::List { event_id } => self.list_answered(event_id, answer),
            Ask::Changes { event_id, of } => self.changes_answered(event_id, *of, answer),
            Ask::Names { event_id, seen } => self.names_answered(event_id, *seen, answer),
            Ask::Heartbeat => self.heartbeat_answered(answer),
            Ask::Sync => {
                if let Some(refusal) = uploads.answered(uplink, recorder, session, out, answer) {
                    self.follow_refusal(Kind::Sync, refusal);
                    if !self.uploads.has_batch() {
                        // The batch was made smaller or built again, so it need not wait for a retry.
                        self.uplink.hurry(Kind::Sync, self.session.mono());
                    }
                }
            }
            Ask::Status { head } => {
                if let Some(refusal) = uploads.status_answered(uplink, recorder, session, out, (*head, answer)) {
                    self.follow_refusal(Kind::Status, refusal);
                }
            }
        }
    }

    fn unanswered(&mut self, request: u64) {
        let Some(ask) = self.uplink.unanswered(request) else { return };
        self.way = None;
        match &ask {
            // A ping gives up early, so its failure means a slow round trip and not a lost network.
            Ask::Ping => return self.failed(Kind::Ping),
            Ask::Scan { scan_id } => self.no_word(scan_id),
            _ => self.failed(ask.kind()),
        }
        self.uplink.lost();
        if ask == Ask::Pair {
            self.pairing_lost();
        }
    }

    /// Sends every request that is due, and asks to be woken for the next one.
    fn schedule(&mut self) {
        if self.recorder.is_lost() {
            return;
        }
        let now = self.mono();
        let probe = self.recorder.probe_at();
        let answer = self.asking.as_ref().filter(|asking| asking.word.is_none()).map(|asking| asking.until_mono_ms);
        let mut next: Option<i64> = probe.into_iter().chain(answer).min();
        for (at, ask) in self.due() {
            if at <= now {
                ask(self);
            } else {
                next = Some(next.map_or(at, |next| next.min(at)));
            }
        }
        // A request sent just now may have left more to send: the next chunk of an upload has a time of its own.
        if let Some(at) = next.filter(|at| *at > now)
            && self.wake != Some(at)
        {
            self.wake = Some(at);
            self.emit(Effect::Wake { at_mono_ms: at });
        }
    }

    /// Every request that is wanted and not under way, with the time at which it is due.
    fn due(&self) -> Vec<(i64, Send)> {
        let mut due: Vec<(i64, Send)> = Vec::new();
        let (journal, free) = (self.recorder.journal(), |kind| !self.uplink.lane(kind).busy());
        let at = |kind| self.uplink.lane(kind).due_at();
        let named = self.pairing.is_under_way() && journal.identity.is_some() && !self.busy();
        if named && free(Kind::Pair) {
            due.push((at(Kind::Pair), State::ask_pairing));
        }
        if !journal.has_key() {
            return due;
        }
        let live = !journal.revoked;
        if live && free(Kind::Time) {
            due.push((at(Kind::Time), State::ask_time));
        }
        // At pairing the clock comes first, so that the first scan has a true time.
        let timed = self.session.clock().exchanged() || self.uplink.lane(Kind::Time).failures() > 0;
        if live && timed && free(Kind::List) && self.wants_list() {
            due.push((at(Kind::List), State::ask_list));
        }
        if live && free(Kind::Changes) && self.may_follow() {
            due.push((at(Kind::Changes), State::ask_changes));
        }
        if live && free(Kind::Names) && self.wants_names() {
            due.push((at(Kind::Names), State::ask_names));
        }
        if live && free(Kind::Heartbeat) {
            due.push((at(Kind::Heartbeat), State::ask_heartbeat));
        }
        if live && free(Kind::Status) && self.uploads.wants_status(journal) {
            due.push((at(Kind::Status), State::ask_status));
        }
        if live && free(Kind::Ping) && self.list.is_some() && self.in_use() {
            due.push((at(Kind::Ping), State::ping));
        }
        if let Some(at) = self.upload_at().filter(|_| free(Kind::Sync) && !self.claim_is_open()) {
            due.push((at, State::upload));
        }
        due
    }

    fn ask_pairing(&mut self) {
        let request = self.pairing.request(&self.session, self.recorder.journal());
        request.into_iter().for_each(|request| self.send(request));
    }
    fn ask_status(&mut self) {
        status_request(self.recorder.journal()).into_iter().for_each(|request| self.send(request));
    }
    fn upload(&mut self) {
        let request = self.uploads.request(self.recorder.journal(), &mut self.out);
        request.into_iter().for_each(|request| self.send(request));
    }

    fn draw_view(&mut self) {
        let mut view = self.view_but_rows();
        let retry_in_ms = view.retry_in_ms.take();
        let mut next = Drawn { view, retry_at: self.retry_at(), rows: self.recorder.journal().rows };
        let mut held = self.last_view.take();
        // History and problems cost most of the work, and only the journal changes them. So they are reused while the
        // journal has the same rows.
        let kept = held.as_mut().filter(|held| held.rows == next.rows).map(|held| {
            let View { history, problems, .. } = &mut held.view;
            (std::mem::take(history), std::mem::take(problems))
        });
        let mut same = kept.is_some() && held.as_ref() == Some(&next);
        let fresh = kept.is_none();
        (next.view.history, next.view.problems) = kept.unwrap_or_else(|| (self.history(), self.problems()));
        if fresh {
            same = held.is_some_and(|held| held.retry_at == next.retry_at && held.view == next.view);
        }
        if !same {
            self.emit(Effect::View { view: Box::new(View { retry_in_ms, ..next.view.clone() }) });
        }
        self.last_view = Some(next);
    }
}
