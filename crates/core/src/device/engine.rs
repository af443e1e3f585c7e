//! The scanner's engine: one input in, effects out, in order. It has no clock, randomness or IO of its own, so the same
//! inputs give the same effects (law 1, trust I27).

use std::collections::BTreeMap;

use super::desk::{Act, Desk};
use super::lookup::Known;
use super::panel::{Panel, export};
use super::recorder::After;
use super::rooms::Rooms;
use super::uplink::{Answer, Kind};
use super::{booking, door, follow, guest_list, headcount, journal, pin, schedule, verdict, walk_in};
use crate::gate::Direction;
use crate::limits;
use crate::manifest::verify::Expected;
use crate::wire::engine::{Effect, Input, Now, Row};
use crate::wire::journal::Entry;

/// A scanner without IO. The worker of a browser tab, the terminal scanner or the simulator feeds it inputs and carries
/// out its effects.
#[derive(Debug, Default)]
pub struct Engine {
    rooms: Rooms,
    panel: Panel,
    /// Whether storage is read.
    started: bool,
    /// The cached bodies, until storage is read.
    caches: BTreeMap<String, Vec<u8>>,
    /// The monotonic clock of the wake that was asked for. Absent if none was.
    wake: Option<i64>,
}

impl Engine {
    /// A scanner that has no state yet. Its first input must be [`Input::Start`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an input and returns the effects, which the caller carries out in order. `body` is the content of a cached
    /// body or of an answer, and empty otherwise. Inputs before [`Input::Start`] do nothing.
    pub fn handle(&mut self, input: Input, body: &[u8], now: &Now) -> Vec<Effect> {
        let rooms = &mut self.rooms;
        rooms.session.take(*now);
        rooms.out.begin(now);
        if let Input::Start { session_id, rows, app_version, device_type } = input {
            if !rooms.session.has_begun() {
                rooms.session.begin(session_id, app_version, device_type.parse().ok());
                self.start(rows);
            }
            return Vec::new(); // A second start does nothing.
        }
        if !rooms.session.has_begun() {
            return Vec::new();
        }
        if rooms.session.observe() >= limits::CLOCK_JOURNAL_MS {
            // The phone slept, or its clock was set. The time is now uncertain, and validity, gaps and the list's age
            // depend on it. So the time is asked for at once.
            rooms.uplink.hurry(Kind::Time, now.mono_ms);
        }
        if matches!(input, Input::Tick) {
            self.wake = None; // A timer may fire a little early. It is then set again.
        }
        if self.started {
            self.note_jump();
        }
        self.rooms.out.measure(&input);
        self.take(input, body);
        if self.started {
            let Rooms { session, out, recorder, catalog, guests, .. } = &mut self.rooms;
            guests.follow_time(Known { journal: recorder.journal(), catalog }, session.at_ms(), out);
            self.pump();
            self.rooms.recorder.probe(&mut self.rooms.out, now.mono_ms);
            self.send_due();
            if let Some(view) = self.panel.draw(&self.rooms) {
                self.rooms.out.emit(Effect::View { view: Box::new(view) });
            }
        }
        self.rooms.out.empty()
    }

    fn start(&mut self, rows: Vec<Row>) {
        let Rooms { session, recorder, purge, .. } = &mut self.rooms;
        for row in &rows {
            recorder.read(row);
        }
        session.begin_clock(recorder.journal().anchor);
        purge.plan(recorder.journal(), session.clock(), rows);
    }

    fn take(&mut self, input: Input, body: &[u8]) {
        let rooms = &mut self.rooms;
        let now = rooms.session.mono();
        match input {
            Input::Start { .. } | Input::Tick => {}
            Input::Cache { key } => {
                self.caches.insert(key, body.to_vec());
            }
            Input::Started => self.storage_read(),
            Input::Appended { append } => self.durable(append),
            Input::AppendFailed { append, reason } => self.not_durable(append, reason),
            Input::SaveFailed { key } => follow::save_failed(rooms, &key),
            Input::Response { request, status, headers, sent_mono_ms } => {
                follow::answered(rooms, request, &Answer { status, headers: &headers, body, sent_mono_ms });
            }
            Input::Failed { request } => follow::unanswered(rooms, request),
            Input::Online => rooms.uplink.hurry_all(now),
            Input::SyncNow => {
                rooms.uploads.hurry(now);
                rooms.uplink.hurry_all(now);
            }
            Input::Battery { percent } => rooms.session.charged(percent),
            Input::Search { text } => {
                let found = guest_list::search(&rooms.desk(), &text);
                rooms.out.emit(found);
            }
            Input::Export => {
                let (name, text) = export(rooms.recorder.journal());
                rooms.out.emit(Effect::Export { name, text });
            }
            // Staff's inputs wait while an append is under way. After it the engine decides about them, with the state
            // that the append leaves.
            _ if rooms.waiting.len() >= limits::WAITING_INPUTS => {
                rooms.out.refuse("busy", "Storage is slow: nothing was recorded. Read the code again.");
            }
            staff => rooms.waiting.push_back(staff),
        }
    }

    /// Ends the start once storage is read: verifies the list, and shows a verdict that staff may not have seen.
    fn storage_read(&mut self) {
        if self.started {
            return;
        }
        self.started = true;
        let caches = std::mem::take(&mut self.caches);
        let Rooms { session, out, recorder, catalog, guests, message, .. } = &mut self.rooms;
        let journal = recorder.journal();
        if journal.revoked {
            out.emit(Effect::WipeCaches);
            self.after_append();
        } else if let Some(paired) = &journal.paired {
            let keys = [Some(&paired.api_key), journal.old_key.as_ref()];
            let keys: Vec<&str> = keys.into_iter().flatten().map(String::as_str).collect();
            let expected = Expected { organization_id: &paired.organization_id, event_id: &paired.event_id };
            if let Err(error) = catalog.open_list(recorder, &caches, &keys, expected) {
                *message = Some(format!("The kept list was refused: {error}."));
            }
            guests.open(Known { journal, catalog }, session.at_ms(), out, &caches, (&keys, expected));
            catalog.need_whole(journal.old_key.is_some());
            catalog.open_changes(out, &paired.event_id, &caches);
        }
        if let Some(verdict) = verdict::last_unseen(&self.rooms.desk()) {
            self.rooms.out.emit(Effect::Show { verdict: Box::new(verdict) });
        }
    }

    /// Journals a new clock anchor (wall clock and estimated time) after the wall clock jumped. Otherwise a restart
    /// would start from the old one.
    fn note_jump(&mut self) {
        let Rooms { session, recorder, .. } = &mut self.rooms;
        if let Some(anchor) = recorder.journal().anchor.and_then(|_| session.jumped()) {
            recorder.note(anchor.entry());
        }
    }

    // ----------------------------------------------------------------------------------------------- staff's inputs

    /// Decides what waits, one after another, until an append is under way or nothing waits.
    fn pump(&mut self) {
        self.rooms.questions.watch(&mut self.rooms.uplink, &mut self.rooms.out);
        while !self.rooms.recorder.is_writing() {
            let Rooms { session, out, recorder, catalog, guests, counts, questions, waiting, .. } = &mut self.rooms;
            if recorder.blocked().is_some() {
                if questions.drop_asking() {
                    out.refuse("storage_blocked", "This device's storage refuses: admit nobody on it.");
                }
                for _ in std::mem::take(waiting) {
                    out.refuse("storage_blocked", "This device's storage refuses: nothing can be recorded.");
                }
                return;
            }
            let desk = Desk { known: Known { journal: recorder.journal(), catalog }, guests, counts, session };
            let act = if let Some(asking) = questions.take_ended() {
                questions.finish(&desk, out, asking)
            } else if let Some(claim) = questions.left_open(desk.known) {
                questions.close(&desk, out, &claim)
            } else if let Some(input) = waiting.pop_front_if(|_| !questions.is_asking()) {
                self.staff(input)
            } else if recorder.has_noted() {
                Act::Record(Vec::new(), None)
            } else {
                return;
            };
            self.rooms.act(act);
        }
    }

    /// Decides about an input of staff.
    fn staff(&mut self, input: Input) -> Act {
        let rooms = &mut self.rooms;
        match input {
            Input::Pair { code, name } => follow::begin_pairing(rooms, &code, &name),
            Input::AskPairing { name } => follow::begin_pairing_alone(rooms, &name),
            Input::CancelPairing => follow::drop_pairing(rooms),
            Input::Direction { direction: Direction::Both } => {
                return Act::refuse("bad_direction", "Choose in or out.");
            }
            Input::Direction { direction } => {
                return Act::Record(vec![Entry::Settings { operator: None, direction: Some(direction) }], None);
            }
            Input::Operator { name } => {
                let operator = Some(journal::words(&name, limits::NAME_CHARS));
                return Act::Record(vec![Entry::Settings { operator, direction: None }], None);
            }
            Input::Gate { gate_id } => {
                let act = door::move_to(&rooms.desk(), gate_id);
                if matches!(act, Act::Record(..)) {
                    rooms.heartbeat.gate_chosen();
                }
                return act;
            }
            Input::Pin { pin } => return pin::try_pin(&rooms.desk(), &pin),
            Input::HideProblem { scan_id } if rooms.recorder.journal().knows(&scan_id) => {
                return Act::Record(vec![Entry::Hidden { scan_id }], None);
            }
            Input::HideProblem { .. } => {
                return Act::refuse("unknown_scan", "There is no such scan on this device.");
            }
            scan => return self.scan(scan),
        }
        Act::Nothing
    }

    /// Decides about an input of staff that makes a scan.
    fn scan(&mut self, input: Input) -> Act {
        let Rooms { session, out, recorder, uplink, catalog, guests, counts, questions, reader, .. } = &mut self.rooms;
        let known = Known { journal: recorder.journal(), catalog };
        if known.journal.damaged {
            let message = "A row of this device's log cannot be read: it records no more scans.";
            return Act::refuse("storage_blocked", message);
        }
        let desk = Desk { known, guests, counts, session };
        let may_ask = questions.may_ask(known, session, uplink);
        match input {
            Input::Code { text, other, method } => {
                door::read_code(&desk, reader, out, (&text, other.as_deref()), method, may_ask)
            }
            Input::Guest { ticket_id } => guest_list::pick_guest(&desk, reader, out, &ticket_id, may_ask),
            Input::Count { scan_id, count } => {
                door::count_party(&desk, out, (&scan_id, count), questions.answer_to(&scan_id))
            }
            Input::Override { scan_id, pin, by, reason, count } => {
                door::set_aside(&desk, out, (&scan_id, count), &pin, (&by, &reason))
            }
            Input::Booking { scan_id, ticket_ids } => booking::admit_booking(&desk, reader, out, &scan_id, &ticket_ids),
            Input::WalkIn { name, zone, party, pin } => {
                walk_in::add_walk_in(&desk, reader, out, (&name, zone, party), &pin)
            }
            Input::Headcount { headcount } => headcount::count_heads(&desk, reader, out, headcount),
            Input::Undo { scan_id, keep } => door::undo(&desk, out, scan_id.as_ref(), keep),
            _ => Act::Nothing,
        }
    }

    // ------------------------------------------------------------------------------------------------------ appends

    fn durable(&mut self, append: u64) {
        let rooms = &mut self.rooms;
        let Some(durable) = rooms.recorder.appended(append) else { return };
        if durable.all {
            rooms.uploads.receipts_are_durable();
        }
        for after in durable.after {
            match after {
                After::Show(verdict) => rooms.out.emit(Effect::Show { verdict }),
                After::Undone { scan_id, persons } => rooms.out.emit(Effect::Undone { scan_id, count: persons }),
                After::PinRefused => {
                    let refused = pin::refused(&rooms.desk());
                    rooms.out.emit(refused);
                }
                After::PinOk => rooms.out.emit(Effect::PinOk),
                After::Ask(scan_id) => {
                    let Rooms { session, recorder, uplink, catalog, questions, .. } = &mut *rooms;
                    let known = Known { journal: recorder.journal(), catalog };
                    let request = questions.ask(known, session, uplink, scan_id);
                    request.into_iter().for_each(|request| rooms.send(request));
                }
                After::Pair => {}
                After::Settled(before) => follow::settled(rooms, before),
            }
        }
        self.after_append();
    }

    /// Handles an append that failed. An act that staff waited for counts as never done.
    fn not_durable(&mut self, append: u64, reason: String) {
        let rooms = &mut self.rooms;
        let Some(after) = rooms.recorder.append_failed(append, reason, rooms.session.mono()) else { return };
        if after.contains(&After::Pair) {
            rooms.pairing.end(); // A device without an id cannot ask. Staff begin again once storage works.
        }
        if rooms.pairing.is_under_way() && after.iter().any(|after| matches!(after, After::Settled(_))) {
            rooms.failed(Kind::Pair); // The key was not stored, so the device asks for it again after a pause.
        }
        if !after.is_empty() {
            let message = "Nothing was recorded: this device's storage refuses. Admit nobody on it.";
            rooms.out.refuse("storage_blocked", message);
        }
    }

    fn after_append(&mut self) {
        let Rooms { session, recorder, .. } = &mut self.rooms;
        if recorder.journal().revoked {
            // The server answers no questions of a revoked device. So the device offers the scans of a former epoch
            // again.
            let asked = recorder.journal().asked.clone();
            recorder.lacking(asked);
            recorder.erase_key_if_done(session.at_ms());
        }
    }

    // ----------------------------------------------------------------------------------------------------- requests

    /// Sends every request that is due, and asks to be woken for the next one.
    fn send_due(&mut self) {
        let rooms = &mut self.rooms;
        if rooms.recorder.is_lost() {
            return;
        }
        let now = rooms.session.mono();
        let mut next: Option<i64> = rooms.recorder.probe_at().into_iter().chain(rooms.questions.waits_until()).min();
        for (at, kind) in schedule::due(rooms) {
            if at > now {
                next = Some(next.map_or(at, |next| next.min(at)));
            } else if let Some(request) = schedule::request(rooms, kind) {
                rooms.send(request);
            }
        }
        // A request sent just now may have left more to send: the next chunk of an upload has a time of its own.
        if let Some(at) = next.filter(|at| *at > now)
            && self.wake != Some(at)
        {
            self.wake = Some(at);
            rooms.out.emit(Effect::Wake { at_mono_ms: at });
        }
    }
}
