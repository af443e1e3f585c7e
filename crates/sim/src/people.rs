//! The people of a world: guests at doors, staff with phones, organisers, a stranger. Also the faults of their phones.

use admit_core::event::EventStatus;
use admit_core::gate::Direction;
use admit_core::ids::{GateId, ScanId, TicketId};
use admit_core::incident::IncidentKind;
use admit_core::review::Decision;
use admit_core::rule::{Change, EventChange, GateChange, TicketChange};
use admit_core::scan::{Headcount, Outcome, PersonClass, Stage, WalkIn};
use admit_core::sign;
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;
use admit_core::wire::engine::{DecidedBy, Input, Phase, VerdictView};
use admit_core::wire::journal::Scanned;
use admit_core::wire::scanning::{ScanV2, SyncRequest};

use crate::config::BEGINNING_MS;
use crate::server::{Act, Reply, Request, Reviewable, Server};
use crate::venue::{GATES, PIN, ticket_rules};
use crate::world::{Ev, World};

/// The number of codes that are sold only while the event runs.
const LATE: u64 = 3;

fn gate_id(name: &str) -> GateId {
    GateId::new(name).unwrap_or_else(|_| unreachable!("printable"))
}
/// Whether a claim waits for staff and not for the server.
fn waits_for_staff(claim: &Scanned) -> bool {
    matches!(claim.shown.screen.as_str(), "admit_party" | "full" | "check")
}
fn ticket_id(n: u64) -> TicketId {
    TicketId::new(format!("ticket-{n}")).unwrap_or_else(|_| unreachable!("printable"))
}

impl<S: Server> World<S> {
    /// Starts the phones and schedules the visits.
    pub(crate) fn set_the_scene(&mut self, side: usize) {
        let (now_ms, config) = (self.now_ms, self.config.clone());
        for phone in 0..config.devices as usize {
            self.at(side, now_ms + phone as i64, Ev::Start { phone });
            self.pair(side, phone, now_ms + 100);
        }
        for client in 0..config.legacy as usize {
            self.at(side, now_ms + 5_000, Ev::Legacy { client });
        }
        let mut at = now_ms + 8_000;
        for _ in 0..config.visits {
            if config.together == 0 || !self.sides[side].extra.per_mille(config.together) {
                at = now_ms + self.sides[side].rng.between(8_000, config.chaos_ms);
            }
            self.at(side, at, Ev::Visit);
        }
        // Phones' faults and organisers' acts are drawn every 20 seconds.
        self.at(side, now_ms + 20_000, Ev::Minute);
    }

    /// Staff pair a phone with a code from the organiser's screen.
    fn pair(&mut self, side: usize, phone: usize, at_ms: i64) {
        let gate = gate_id(GATES[phone % GATES.len()].0);
        if let Some(code) = self.act(side, &Act::Token(gate)) {
            let generation = self.sides[side].phones[phone].generation.max(1);
            let input = Box::new(Input::Pair { code, name: format!("Phone {phone}") });
            self.at(side, at_ms, Ev::Input { phone, generation, input, body: Vec::new() });
        }
    }

    /// Ends the faults: every phone runs, is awake, and has a network and free storage.
    pub(crate) fn heal(&mut self, side: usize) {
        let now_ms = self.now_ms;
        for phone in 0..self.sides[side].phones.len() {
            let held = &mut self.sides[side].phones[phone];
            held.offline_until = now_ms;
            if held.engine.is_none() {
                self.at(side, now_ms + 10, Ev::Start { phone });
            }
        }
        for client in 0..self.sides[side].legacy.len() {
            self.at(side, now_ms + 1_000, Ev::Legacy { client });
        }
    }

    // --------------------------------------------------------------------------------------------------- the door

    /// A person shows a code to one of the phones.
    pub(crate) fn visit(&mut self, side: usize) {
        let (tickets, devices) = (self.config.tickets, self.config.devices);
        let rng = &mut self.sides[side].rng;
        let phone = rng.below(devices) as usize;
        // A few tickets come often, because doors disagree about those.
        let text = match rng.below(100) {
            0..70 => format!("CODE-{}", rng.below(tickets.min(3))),
            70..88 => format!("CODE-{}", rng.below(tickets)),
            88..94 => format!("LATE-{}", rng.below(LATE)),
            94..97 => "somebody else's code".to_owned(),
            97 => "\u{1f39f} ünïcode".to_owned(),
            _ => "bad\u{0}code".to_owned(),
        };
        let held = &mut self.sides[side];
        let text = match held.last_code.take() {
            // People who come at the same moment may have the same ticket, each at another door.
            Some(last) if self.config.together > 0 && held.extra.per_mille(self.config.together) => last,
            _ => text,
        };
        held.last_code = Some(text.clone());
        self.sides[side].phones[phone].last_code = Some(text.clone());
        let (walk_ins, headcounts) = (self.config.walk_ins, self.config.headcounts);
        let input = if walk_ins > 0 && self.sides[side].extra.per_mille(walk_ins) {
            self.walk_in(side)
        } else if headcounts > 0 && self.sides[side].extra.per_mille(headcounts) {
            self.headcount(side)
        } else {
            Input::code(text)
        };
        let rng = &mut self.sides[side].rng;
        let switch = rng.per_mille(150);
        let direction = if rng.per_mille(500) { Direction::In } else { Direction::Out };
        let generation = self.sides[side].phones[phone].generation;
        if switch {
            self.input(side, phone, generation, Input::Direction { direction }, Vec::new());
        }
        self.input(side, phone, generation, input, Vec::new());
    }

    /// Staff add a person without a ticket, with the PIN in case it is needed.
    fn walk_in(&mut self, side: usize) -> Input {
        self.coverage.hit("guest added at the door");
        let rng = &mut self.sides[side].extra;
        let pin = if rng.per_mille(500) { PIN } else { "" }.to_owned();
        let party = 1 + rng.below(3) as u32;
        Input::WalkIn { name: format!("Guest {}", rng.below(1_000)), zone: "general".into(), party, pin }
    }

    /// Staff count people without a ticket who come or go, or everybody inside.
    fn headcount(&mut self, side: usize) -> Input {
        self.coverage.hit("people without a ticket counted");
        let rng = &mut self.sides[side].extra;
        let headcount = if rng.per_mille(300) {
            Headcount::Recount { inside: rng.below(300) as u32 }
        } else {
            let delta = 1 + rng.below(4) as i32;
            Headcount::Change {
                class: *rng.pick(PersonClass::ALL),
                delta: if rng.per_mille(300) { -delta } else { delta },
            }
        };
        Input::Headcount { headcount }
    }

    /// Handles a shown verdict. It must have been durable before (I1). Then staff act on it.
    pub(crate) fn shown(&mut self, side: usize, phone: usize, verdict: VerdictView) {
        let now_ms = self.now_ms;
        let held = &mut self.sides[side];
        let line = format_args!("{phone} shows {} {:?}", verdict.screen.as_str(), verdict.scan_id);
        held.trace.line(now_ms - BEGINNING_MS, line);
        let generation = held.phones[phone].generation;
        if let Some(scan_id) = &verdict.scan_id {
            let kept = &held.phones[phone].kept;
            let durable = kept.iter().any(|kept| kept.scanned.scan.scan_id == *scan_id)
                && kept.len() as u64 <= held.phones[phone].disk.durable();
            self.checked.hit("I1");
            if !durable {
                held.record.broken("I1", format!("{scan_id} was shown before it was on stable storage"));
            }
            let scan =
                kept.iter().rev().find(|kept| kept.scanned.scan.scan_id == *scan_id).map(|kept| &kept.scanned.scan);
            if let Some((scan, expires_at)) = scan.zip(self.config.expires_at()) {
                // The phone's own time is compared with the list's expiry. I10 checks whether that time is right.
                let past = scan.at >= expires_at && verdict.manifest_version > 0;
                self.checked.hit_if(past, "I16");
                self.coverage.hit_if(past && verdict.opened, "let in by an expired list");
                if past && !verdict.list_expired {
                    held.record.broken("I16", format!("{scan_id} is plain though its list expired at {expires_at}"));
                }
            }
            self.coverage.hit_if(verdict.practice, "scan in practice");
            self.coverage.hit_if(verdict.reason.as_deref() == Some("already_today"), "refused until tomorrow");
            self.coverage.hit_if(verdict.reason.as_deref() == Some("event_ended"), "refused after the end");
            let asked = kept.iter().any(|kept| {
                kept.scanned.scan.scan_id == *scan_id
                    && kept.scanned.scan.stage == Stage::Claim
                    && !waits_for_staff(&kept.scanned)
            });
            let confirmed = verdict.decided_by == DecidedBy::Server;
            self.coverage.hit_if(confirmed, "shown by the server's word");
            self.coverage.hit_if(asked && !confirmed, "decided alone after asking");
            held.phones[phone].shown.insert(scan_id.clone());
        }
        self.show_again(side, phone);
        let Some(scan_id) = verdict.scan_id.clone() else { return };
        let held = &mut self.sides[side];
        let rng = &mut held.rng;
        let waits = matches!(verdict.screen.as_str(), "admit_party" | "full" | "check");
        let next = if waits && rng.per_mille(880) {
            let least = u64::from(rng.per_mille(900));
            let count = least + rng.below(u64::from(verdict.may_admit).max(1));
            Some(Input::Count { scan_id, count: count as u32 })
        } else if verdict.can_override && rng.per_mille(250) {
            let pin = if rng.per_mille(850) { PIN } else { "0000" }.to_owned();
            let count = 1 + rng.below(2) as u32;
            Some(Input::Override { scan_id, pin, by: "Ada".into(), reason: "knows the guest".into(), count })
        } else if let Some(others) = offered(&verdict)
            && held.extra.per_mille(500)
        {
            self.coverage.hit("booking let in at once");
            Some(Input::Booking { scan_id, ticket_ids: others })
        } else if verdict.can_undo && rng.per_mille(90) {
            let keep = rng.below(u64::from(verdict.count)) as u32;
            let scan_id = Some(scan_id).filter(|_| rng.per_mille(700));
            Some(Input::Undo { scan_id, keep })
        } else {
            None
        };
        self.coverage.hit_if(matches!(next, Some(Input::Count { .. })), "party in parts");
        self.coverage.hit_if(verdict.overridden, "override");
        if let Some(input) = next {
            let at = now_ms + self.sides[side].rng.between(500, 4_000);
            self.at(side, at, Ev::Input { phone, generation, input: Box::new(input), body: Vec::new() });
        }
    }

    /// A person shows the same code to the same phone again: the rest of a party, or a person who hopes for one more
    /// entry.
    fn show_again(&mut self, side: usize, phone: usize) {
        let (now_ms, chaos, again) = (self.now_ms, self.chaos(), self.config.again);
        let held = &mut self.sides[side];
        let Some(text) = held.phones[phone].last_code.clone() else { return };
        if chaos && again > 0 && held.extra.per_mille(again) {
            // The code is shown again shortly after, or when the phone no longer takes it for the same showing
            // ([`limits::SAME_TICKET_MS`]).
            let (least, most) = *held.extra.pick(&[(1_000, 12_000), (60_500, 75_000)]);
            let at = now_ms + held.extra.between(least, most);
            let generation = held.phones[phone].generation;
            let input = Box::new(Input::code(text));
            self.coverage.hit("code shown again");
            self.at(side, at, Ev::Input { phone, generation, input, body: Vec::new() });
        }
    }

    // -------------------------------------------------------------------------------------------------- by the minute

    /// Runs what happens every 20 seconds: faults of phones, acts of organisers, staff who pair phones again.
    pub(crate) fn minute(&mut self, side: usize) {
        let now_ms = self.now_ms;
        self.at(side, now_ms + 20_000, Ev::Minute);
        for phone in 0..self.sides[side].phones.len() {
            if self.chaos() {
                self.befall(side, phone);
            }
            self.look_after(side, phone);
        }
        self.open_and_end(side);
        if self.chaos() {
            self.organise(side);
            self.review(side);
        }
    }

    /// Staff pair a phone that has no pairing, or whose pairing no longer works. A phone that sleeps or does not run is
    /// left alone.
    fn look_after(&mut self, side: usize, phone: usize) {
        let now_ms = self.now_ms;
        let held = &self.sides[side].phones[phone];
        if held.engine.is_none() || held.asleep_until > now_ms {
            return;
        }
        let known = held.identity.as_ref().is_some_and(|(id, _)| self.sides[side].record.revoked.contains(id));
        // The server knows this phone by a key whose only copy was in a lost answer. If its journal is empty, it
        // starts as a new device.
        if held.taken > 2 && held.kept.is_empty() {
            return self.kill(side, phone, true);
        }
        // No link can pair this phone, and only it has its scans. So it shows a code of its own (spec D11).
        let by_code = (held.taken > 0 || known) && !held.kept.is_empty();
        let (phase, code) = (held.phase(), held.view.as_ref().and_then(|view| view.pairing_code.clone()));
        let shut_out = phase == Phase::Revoked && !known && held.unsent() > 0;
        // Staff try again when a pairing does not arrive.
        let stuck = phase == Phase::Pairing && self.sides[side].rng.per_mille(400);
        match code {
            Some(code) if !stuck => self.approve(side, phone, code),
            // An organiser approved the phone, but it never got the answer, and its former keys ended. Its screen
            // offers this.
            _ if shut_out => self.ask_pairing(side, phone, now_ms + 200),
            _ if !stuck && !matches!(phase, Phase::Unpaired | Phase::KeyUnknown) => {}
            _ if by_code => self.ask_pairing(side, phone, now_ms + 200),
            _ if known => {}
            _ => self.pair(side, phone, now_ms + 200),
        }
    }

    /// An organiser approves the code that a phone shows. A revoked phone is active again then.
    fn approve(&mut self, side: usize, phone: usize, code: String) {
        let gate_id = gate_id(GATES[phone % GATES.len()].0);
        if self.act(side, &Act::Approve { code, gate_id }).is_some() {
            let held = &mut self.sides[side];
            if let Some((device_id, _)) = &held.phones[phone].identity {
                self.coverage.hit_if(held.record.revoked.remove(device_id), "revoked phone let in again");
            }
        }
    }

    /// Staff let a phone show its own code, for the organiser to approve.
    fn ask_pairing(&mut self, side: usize, phone: usize, at_ms: i64) {
        let generation = self.sides[side].phones[phone].generation;
        let input = Box::new(Input::AskPairing { name: format!("Phone {phone}") });
        self.at(side, at_ms, Ev::Input { phone, generation, input, body: Vec::new() });
    }

    fn befall(&mut self, side: usize, phone: usize) {
        let (now_ms, config, phone_no) = (self.now_ms, self.config.clone(), phone);
        let held = &mut self.sides[side];
        let rng = &mut held.rng;
        if rng.per_mille(config.offline) {
            held.phones[phone].offline_until = now_ms + rng.between(1_000, 120_000);
            self.coverage.hit("phone out of reach");
        }
        if rng.per_mille(config.sleep) && held.phones[phone].engine.is_some() {
            let ms = rng.between(1_000, 90_000);
            let phone = &mut held.phones[phone];
            if phone.asleep_until <= now_ms {
                phone.asleep_until = now_ms + ms;
                phone.clock_doubtful |= phone.stepped_unseen;
                phone.stepped_unseen = true;
                phone.clock.slept(ms);
                held.trace.line(now_ms - BEGINNING_MS, format_args!("{phone_no} sleeps {ms} ms"));
                self.coverage.hit("sleep");
            }
        }
        if rng.per_mille(config.clock_step) {
            let by = *rng.pick(&[-7_200_000, -60_000, -1_500, 1_500, 60_000, 31_536_000_000]);
            let phone = &mut held.phones[phone];
            phone.clock.step(now_ms, by);
            // A clock that is set while the app does not run looks like passed time. No clock can detect that, so I10
            // does not apply.
            let unseen = phone.engine.is_none() || phone.asleep_until > now_ms || phone.stepped_unseen;
            phone.clock_doubtful |= unseen || by.abs() > 43_200_000;
            (phone.stepped_unseen, phone.stepped) = (true, Some(now_ms));
            held.trace.line(now_ms - BEGINNING_MS, format_args!("{phone_no}'s clock is set by {by} ms"));
            self.coverage.hit(if by < 0 { "clock set back" } else { "clock set forward" });
        }
        if config.put_back > 0 && held.extra.per_mille(config.put_back) {
            self.put_back(side, phone);
        }
        let held = &mut self.sides[side];
        let rng = &mut held.rng;
        let (crash, clear) = (rng.per_mille(config.crash), rng.per_mille(config.clear));
        let asleep = held.phones[phone].asleep_until > now_ms;
        if (crash || clear) && !asleep && held.phones[phone].engine.is_some() {
            self.kill(side, phone, clear);
        }
    }

    /// Restores a phone from an older copy of its storage, and starts it. The phone then goes on from that copy.
    fn put_back(&mut self, side: usize, phone: usize) {
        let held = &self.sides[side].phones[phone];
        if held.engine.is_none() || held.asleep_until > self.now_ms || held.disk.writes().len() < 2 {
            return;
        }
        self.kill(side, phone, false);
        let held = &mut self.sides[side];
        // The copy is of a moment in the newer half of its writes, because nobody keeps older copies.
        let writes = held.phones[phone].disk.writes();
        let rows = writes[held.extra.between(writes.len() as i64 / 2, writes.len() as i64 - 2).max(0) as usize];
        let scans = held.phones[phone].kept.len();
        if let Err(back) = held.phones[phone].put_back(rows) {
            held.record.broken("I15", format!("a list went back: {}", back.0));
        }
        let lost = scans > held.phones[phone].kept.len();
        held.trace.line(self.now_ms - BEGINNING_MS, format_args!("{phone} is put back to {rows} rows"));
        self.coverage.hit_if(lost, "storage put back to before a scan");
    }

    /// Kills the app, or clears the storage too. A row that was being written is on the disk or not, at random.
    fn kill(&mut self, side: usize, phone: usize, clear: bool) {
        let now_ms = self.now_ms;
        let held = &mut self.sides[side];
        let unsent = held.phones[phone].unsent() > 0;
        let writing: Vec<_> = std::mem::take(&mut held.phones[phone].writing).into_values().collect();
        self.coverage.hit_if(!writing.is_empty(), "crash with an append under way");
        self.coverage.hit_if(unsent && !clear, "crash with unsent scans");
        self.coverage.hit_if(unsent && clear, "storage cleared with unsent scans");
        for writing in writing {
            if self.sides[side].rng.per_mille(500) {
                self.make_durable(side, phone, &writing);
            }
        }
        let held = &mut self.sides[side];
        held.trace.line(now_ms - BEGINNING_MS, format_args!("{phone} dies, storage cleared: {clear}"));
        if clear {
            held.record.cleared.extend(held.phones[phone].identity.clone());
            held.phones[phone].clear();
        } else {
            held.phones[phone].kill();
            let keys: Vec<String> = held.phones[phone].disk.cached().keys().cloned().collect();
            for key in keys {
                if held.rng.per_mille(self.config.cache_lost) {
                    held.phones[phone].disk.forget(&key);
                    self.coverage.hit("cached body lost");
                }
            }
        }
        let at = now_ms + self.sides[side].rng.between(200, 40_000);
        self.at(side, at, Ev::Start { phone });
    }

    // ------------------------------------------------------------------------------------------------- the organiser

    /// Opens the doors of a draft, and ends an event, when the time has come.
    fn open_and_end(&mut self, side: usize) {
        let ran_ms = self.now_ms - BEGINNING_MS;
        let due = |at_ms: Option<i64>| at_ms.is_some_and(|at_ms| at_ms <= ran_ms);
        let (opens, ends) = (due(self.config.opens_ms), due(self.config.ended_ms));
        let held = &mut self.sides[side];
        let status = match held.status {
            EventStatus::Draft if opens => EventStatus::Live,
            EventStatus::Live if ends => EventStatus::Ended,
            _ => return,
        };
        held.status = status;
        self.coverage.hit(if status == EventStatus::Live { "doors opened" } else { "event ended" });
        let change = Change::Event(EventChange::Status(status));
        self.act(side, &Act::Rule { change, from_start: status == EventStatus::Live });
    }

    fn organise(&mut self, side: usize) {
        let (now_ms, config) = (self.now_ms, self.config.clone());
        let rng = &mut self.sides[side].rng;
        if rng.per_mille(config.rules) {
            let from_start = rng.per_mille(150);
            let id = ticket_id(rng.below(config.tickets));
            let change = match rng.below(12) {
                0..4 => Change::Ticket(id, TicketChange::Status(*rng.pick(TicketStatus::ALL))),
                4 | 5 => Change::Ticket(id, TicketChange::EntryLimit(rng.below(4) as u32)),
                6 => Change::Ticket(id, TicketChange::GateIds(vec![gate_id(GATES[rng.below(4) as usize].0)])),
                7 => {
                    let expires_at = Some(Timestamp::clamped(now_ms + rng.between(-60_000, 60_000)));
                    Change::Ticket(id, TicketChange::Window { valid_from: None, expires_at })
                }
                8 => {
                    let zones = if rng.per_mille(500) { vec![] } else { vec!["general".into()] };
                    Change::Gate(gate_id(GATES[rng.below(4) as usize].0), GateChange::Zones(zones))
                }
                9 => Change::Event(EventChange::ReEntry(*rng.pick(config.modes))),
                10 => Change::Event(EventChange::MinGapSeconds(rng.below(120) as u32)),
                _ => Change::Ticket(id, TicketChange::Status(TicketStatus::Active)),
            };
            self.act(side, &Act::Rule { change, from_start });
        }
        let held = &mut self.sides[side];
        if held.imported < LATE && held.rng.per_mille(150) {
            let n = held.imported;
            held.imported += 1;
            let rules = ticket_rules(1 + held.rng.below(2) as u32);
            let act = Act::Import { ticket_id: ticket_id(100 + n), code: format!("LATE-{n}"), rules };
            self.act(side, &act);
        }
        let held = &mut self.sides[side];
        if held.rng.per_mille(config.revoke) {
            let phone = held.rng.below(config.devices) as usize;
            if let Some((device_id, _)) = held.phones[phone].identity.clone() {
                let unsent = held.phones[phone].unsent() > 0;
                // An organiser cannot revoke a phone whose pairing has not arrived.
                if self.act(side, &Act::Revoke(device_id.clone())).is_some() {
                    self.coverage.hit_if(unsent, "revoked with unsent scans");
                    self.sides[side].record.revoked.insert(device_id);
                }
            }
        }
        if self.sides[side].rng.per_mille(config.forge) {
            self.forge(side);
        }
        if config.rotate > 0 && self.sides[side].extra.per_mille(config.rotate) {
            self.rotate(side);
        }
    }

    /// An organiser makes a code that gives a phone a new key, and staff scan the code with that phone.
    fn rotate(&mut self, side: usize) {
        let held = &mut self.sides[side];
        let phone = held.extra.below(self.config.devices) as usize;
        let Some((device_id, _)) = held.phones[phone].identity.clone() else { return };
        let unsent = held.phones[phone].unsent() > 0;
        if let Some(code) = self.act(side, &Act::Rotate(device_id)) {
            self.coverage.hit_if(unsent, "new key with unsent scans");
            let generation = self.sides[side].phones[phone].generation;
            let input = Box::new(Input::Pair { code, name: format!("Phone {phone}") });
            self.at(side, self.now_ms + 300, Ev::Input { phone, generation, input, body: Vec::new() });
        }
    }

    /// A person reviews scans and resolves incidents.
    fn review(&mut self, side: usize) {
        if !self.sides[side].rng.per_mille(self.config.reviews) {
            return;
        }
        let Reviewable { scans, open } = self.server.reviewable(self.sides[side].org);
        let held = &mut self.sides[side];
        if !scans.is_empty() && held.rng.per_mille(600) {
            let (device_id, scan_id, digest) = held.rng.pick(&scans).clone();
            let decision = *held.rng.pick(Decision::ALL);
            // Nobody accepts a scan of a stranger, or it would count by a person's decision.
            if !held.record.forged.contains(&digest) {
                self.act(side, &Act::Review { device_id, scan_id, digest, decision });
            }
        }
        if !open.is_empty() {
            let (subject, kind): (_, IncidentKind) = self.sides[side].rng.pick(&open).clone();
            self.act(side, &Act::Note(subject, kind));
        }
    }

    /// A stranger with one phone's bearer sends an altered copy of any phone's scan, with a new id and a wrong
    /// signature. The server must not take that scan as proven.
    fn forge(&mut self, side: usize) {
        let held = &mut self.sides[side];
        let made: Vec<_> = held.phones.iter().flat_map(|phone| &phone.kept).map(|kept| kept.scanned.clone()).collect();
        let Some(bearer) = held.record.sent.last().cloned() else { return };
        if made.is_empty() {
            return;
        }
        let mut scan = held.rng.pick(&made).scan.clone();
        scan.scan_id = ScanId::new(format!("forged-{}", held.rng.draw())).unwrap_or(scan.scan_id);
        (scan.opened, scan.outcome, scan.count) = (true, Outcome::Valid, 2);
        if let Some(walk_in) = &mut scan.walk_in {
            walk_in.party = walk_in.party.max(2);
            scan.ticket_id = WalkIn::ticket_id(&scan.event_id, &scan.device_id, &scan.scan_id);
        }
        if scan.headcount.is_some() {
            scan.headcount = Some(Headcount::Change { class: PersonClass::Other, delta: 2 });
            scan.ticket_id = Headcount::subject_id(&scan.event_id, &scan.device_id, &scan.scan_id);
        }
        (scan.seq, scan.log_id) = (scan.seq.map(|seq| seq + 1_000), Some(forged_log()));
        let digest = sign::content_digest(&scan);
        let signature = sign::sign_v2(&held.rng.bytes(), &scan);
        let item = ScanV2::of(&scan, &signature).ok().and_then(|item| serde_json::to_string(&item).ok());
        let Some(item) = item.and_then(|json| admit_core::wire::scanning::raw_item(json).ok()) else { return };
        let Ok(mut sync) = serde_json::from_str::<SyncRequest>(bearer.body.as_deref().unwrap_or_default()) else {
            return;
        };
        sync.sync_batch_id = match admit_core::ids::BatchId::new(format!("forged-{}", held.rng.draw())) {
            Ok(id) => id,
            Err(_) => return,
        };
        (sync.format, sync.scans, sync.log_id, sync.head) = (Some(2), vec![item], None, None);
        held.record.forged.insert(digest);
        let wire = Request { body: serde_json::to_string(&sync).ok(), ..bearer };
        if let Reply::Answer(answer) = self.ask(side, &wire) {
            self.coverage.hit_if(answer.status == 200, "forged scan");
        }
    }
}

fn forged_log() -> admit_core::ids::LogId {
    admit_core::ids::LogId::new("forged").unwrap_or_else(|_| unreachable!("printable"))
}

/// The further tickets of a booking that a verdict offers to admit.
fn offered(verdict: &VerdictView) -> Option<Vec<TicketId>> {
    let others = &verdict.booking.as_ref()?.others;
    (!others.is_empty()).then(|| others.iter().map(|other| other.ticket_id.clone()).collect())
}
