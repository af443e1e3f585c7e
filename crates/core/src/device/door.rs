//! At the door: from a code to a verdict, a party's count, an override, an undo (spec §4, D9, D12, D18).
//!
//! Each action ends in one append to the journal. Its result is shown only after the append is durable (trust I1).

use super::clock::Stamp;
use super::journal::{OwnScan, words};
use super::lookup::About;
use super::recorder::After;
use super::state::State;
use super::verdict::{asks_staff, learned, verdict_of};
use crate::barcode::{BarcodeHash, SAMPLE_CODE, candidates};
use crate::decide::{Question, Screen, Standing, Verdict, decide, screen};
use crate::event::EventStatus;
use crate::gate::Direction;
use crate::ids::{GateId, ScanId};
use crate::limits;
use crate::reduce;
use crate::scan::{Basis, Form, Method, Outcome, Override, Scan, ScanKind, Stage};
use crate::sign;
use crate::time::Timestamp;
use crate::wire::engine::{Effect, VerdictView};
use crate::wire::journal::{Entry, Scanned, Shown};
use crate::wire::scanning::Named;
use crate::wire::scans::OnlineAnswer;

/// A question to `decide`, with its answer.
pub(super) struct Asked {
    pub kind: ScanKind,
    pub stamp: Stamp,
    pub standing: Standing,
    pub verdict: Verdict,
}

impl State {
    /// Takes a code from a reader. `other` is the same code as a different keyboard layout would give it. The device
    /// judges the text that is a ticket's code, and tries its layout first from then on. If neither text is a ticket's
    /// code, the layout that is tried first stays. A typed text may be a short code.
    pub fn read_code(&mut self, text: &str, other: Option<&str>, method: Method) {
        if let Err((code, message)) = self.may_scan() {
            return self.refuse(code, message);
        }
        if text == SAMPLE_CODE || other == Some(SAMPLE_CODE) {
            // The text of the sample code is known. So reading it shows how the reader's keyboard is set, before the
            // first ticket.
            self.other_layout = text != SAMPLE_CODE;
            return self.show_sample(method);
        }
        let mut readings: Vec<&str> = std::iter::once(text).chain(other).collect();
        if self.other_layout {
            readings.reverse();
        }
        let found = readings.iter().filter_map(|text| Some((*text, self.find(text, &candidates(text).ok()?))));
        let mut found: Vec<(&str, About)> = found.collect();
        let known = found.iter().position(|(_, about)| about.ticket.is_some());
        if let (Some(place), Some(other)) = (known, other) {
            self.other_layout = found[place].0 == other;
        }
        if known.is_none()
            && method == Method::Manual
            && let Some(about) = self.of_short_code(text)
        {
            return self.judge(&about, method);
        }
        if found.is_empty() {
            self.used_at = Some(self.mono());
            return self.not_a_ticket(readings[0], method);
        }
        let (_, about) = found.swap_remove(known.unwrap_or(0));
        self.judge(&about, method);
    }

    /// Decides about a code or a guest. The verdict is shown once the scan is durable.
    pub fn judge(&mut self, about: &About, method: Method) {
        self.used_at = Some(self.mono());
        let kind = if self.direction() == Direction::Out { ScanKind::Exit } else { ScanKind::Entry };
        let Some(asked) = self.ask(about, kind, None) else { return };
        if self.same_ticket(about, &asked) {
            return;
        }
        let party = asked.verdict.may_admit > 1;
        let screen = screen(&asked.verdict, kind, party, self.is_flagged(about));
        let Some(mut scan) = self.draft(about, &asked, method) else { return };
        let shown = shown(screen, about, &asked);
        if asks_staff(screen) {
            scan.stage = Stage::Claim;
        } else if self.may_ask() && !self.knows_more(about, None) {
            scan.stage = Stage::Claim;
            let ask = After::Ask(scan.scan_id.clone());
            return self.write_scan(scan, shown, Vec::new(), Some(ask));
        } else {
            scan.opened = scan.outcome == Outcome::Valid;
        }
        self.record(scan, shown, about, &asked);
    }

    /// Whether the server may lack a scan of this ticket by which this device opened a door or undid an entry. The
    /// server lacks a scan that it has not received yet or could not read. Then this device's own answer is better than
    /// the server's. The scan `but` is left out, because the caller asks the server about that scan.
    pub fn knows_more(&self, about: &About, but: Option<&ScanId>) -> bool {
        let hashes: Vec<BarcodeHash> = about.hash.into_iter().collect();
        let id = about.ticket.as_ref().map(|(id, _)| id);
        let Some(paired) = self.paired() else { return false };
        let own = self.recorder.journal().of_ticket(&paired.event_id, id, &hashes);
        let moves = |own: &&OwnScan| own.scan.opened || own.scan.kind == ScanKind::Revert;
        let unknown = |own: &&OwnScan| own.delivery.lacks() || own.delivery.is_unread();
        let mut unknown = own.into_iter().filter(|own| Some(&own.scan.scan_id) != but).filter(unknown).filter(moves);
        unknown.any(|own| !self.was_counted(own))
    }

    /// Whether the server counts this scan already as one person, because it let that person in when it answered the
    /// scan's claim. A server that was restored since then has lost the claim.
    pub fn was_counted(&self, own: &OwnScan) -> bool {
        let here = self.list.as_ref().is_some_and(|list| own.scan.epoch == Some(list.epoch));
        own.shown.confirmed && here && own.scan.count == 1 && own.scan.kind != ScanKind::Revert
    }

    /// Whether scans are practice now, because the list says that the event is a draft.
    pub fn is_practice(&self) -> bool {
        self.list.as_ref().is_some_and(|list| list.event.status == EventStatus::Draft)
    }

    /// Fails with a code and a message for staff if the device can take no code now.
    pub fn may_scan(&self) -> Result<(), (&'static str, &'static str)> {
        if self.paired().is_none() {
            return Err(("not_paired", "This device is not paired with an event yet."));
        }
        if self.recorder.journal().revoked {
            return Err(("no_list", "The organiser revoked this device: it admits nobody."));
        }
        if self.list.is_none() {
            return Err(("no_list", "The list of this event is not on this device yet."));
        }
        Ok(())
    }

    /// Shows the sample code of the camera check before doors. Staff see that code, verdict and sound work. No scan is
    /// written and nothing counts.
    fn show_sample(&mut self, method: Method) {
        self.used_at = Some(self.mono());
        let about = About { hash: None, raw: None, ticket: None };
        let Some(asked) = self.ask(&about, ScanKind::Entry, None) else { return };
        let Some(scan) = self.draft(&about, &asked, method) else { return };
        let shown = shown(Screen::Admit, &about, &asked);
        let verdict = VerdictView {
            scan_id: None,
            outcome: Outcome::Valid,
            reason: None,
            opened: true,
            practice: true,
            can_undo: false,
            can_override: false,
            short_code: String::new(),
            ..self.verdict_view(&scan, &shown, None, None)
        };
        self.emit(Effect::Show { verdict: Box::new(verdict) });
    }

    /// Handles a text that cannot be a code of Admit. It is recorded by its hash and shown as "not one of our codes"
    /// (trust fault 35).
    fn not_a_ticket(&mut self, text: &str, method: Method) {
        let hash = BarcodeHash::of(text);
        let about = About { hash: Some(hash), raw: Some(hash), ticket: None };
        let kind = if self.direction() == Direction::Out { ScanKind::Exit } else { ScanKind::Entry };
        let Some(asked) = self.ask(&about, kind, None) else { return };
        let Some(scan) = self.draft(&about, &asked, method) else { return };
        let shown = shown(Screen::NotATicket, &about, &asked);
        self.record(scan, shown, &about, &asked);
    }

    /// Asks `decide` about a ticket at this gate now. The scan `but` is left out, because the question is about it.
    /// `None` if the device has no list.
    pub fn ask(&self, about: &About, kind: ScanKind, but: Option<&ScanId>) -> Option<Asked> {
        self.ask_after(self.recorder.journal().last_at(), about, kind, but)
    }

    /// Like [`State::ask`], for a scan whose predecessor in the log was taken at `last_at`: times rise along a log.
    pub fn ask_after(
        &self,
        last_at: Option<Timestamp>,
        about: &About,
        kind: ScanKind,
        but: Option<&ScanId>,
    ) -> Option<Asked> {
        let (list, paired) = (self.list.as_ref()?, self.paired()?);
        let stamp = self.session.stamp(last_at);
        let standing = about.ticket.as_ref().map_or_else(Standing::default, |(id, rules)| {
            let visit = reduce::Visit { event: &list.event, zone: Some(&rules.zone), gate_id: &paired.gate_id };
            self.state_of(id, rules, about.hash, but).standing_at_door(&visit, stamp.at)
        });
        let verdict = decide(Question {
            event: &list.event,
            ticket: about.rules(),
            standing: &standing,
            gate_id: &paired.gate_id,
            gate: self.gate(),
            at: stamp.at,
            kind,
            area_inside: self.area_inside(),
        });
        Some(Asked { kind, stamp, standing, verdict })
    }

    /// Shows a neutral screen, and records nothing, if this device opened the door to the same code within the last
    /// minute (experience §7.2). This does not apply if the rules let more persons of the ticket in, or out. Returns
    /// whether it did so.
    fn same_ticket(&mut self, about: &About, asked: &Asked) -> bool {
        let Some((own, ago)) = self.last_opened(about, asked) else { return false };
        let again = match asked.kind {
            ScanKind::Exit => asked.standing.inside > 0 && ago >= limits::NEXT_EXIT_MS,
            _ => asked.verdict.may_admit > 0,
        };
        if again {
            return false;
        }
        let (scan, shown) = (own.scan.clone(), own.shown.clone());
        let mut view = self.verdict_view(&scan, &shown, None, about.rules());
        view.screen = Screen::SameTicket;
        // Other tickets of its booking may still come in. The scan that this one repeats offers them.
        let offers = view.booking.as_ref().is_some_and(|booking| !booking.others.is_empty());
        view.scan_id = view.scan_id.filter(|_| offers);
        view.can_undo = false;
        view.same_ticket_ms = Some(ago);
        self.emit(Effect::Show { verdict: Box::new(view) });
        true
    }

    fn last_opened(&self, about: &About, asked: &Asked) -> Option<(&OwnScan, i64)> {
        let hashes: Vec<BarcodeHash> = about.hash.into_iter().collect();
        let id = about.ticket.as_ref().map(|(id, _)| id);
        let own = self.recorder.journal().of_ticket(&self.paired()?.event_id, id, &hashes).into_iter().rev();
        let practice = self.is_practice();
        let mut opened =
            own.filter(|own| own.scan.opened && own.scan.kind == asked.kind && own.scan.practice == practice);
        let own = opened.find(|own| self.recorder.journal().kept(&own.scan) > 0)?;
        let ago = asked.stamp.at.since(own.scan.at);
        (0..limits::SAME_TICKET_MS).contains(&ago).then_some((own, ago))
    }

    /// A scan by this device at this gate now: door shut, one person, final. The caller changes what differs.
    pub fn draft(&mut self, about: &About, asked: &Asked, method: Method) -> Option<Scan> {
        let scan_id = ScanId::new(self.out.draw_uuid()).ok()?;
        let practice = self.is_practice();
        let (list, paired) = (self.list.as_ref()?, self.recorder.journal().paired.as_ref()?);
        let (_, log_id) = self.recorder.journal().identity.as_ref()?;
        let rules = about.rules();
        Some(Scan {
            form: Form::V2,
            scan_id,
            device_id: paired.device_id.clone(),
            log_id: Some(log_id.clone()),
            seq: Some(self.recorder.journal().head_seq() + 1),
            prev: Some(self.recorder.journal().prev()),
            key_id: Some(paired.key_id.clone()),
            event_id: paired.event_id.clone(),
            gate_id: paired.gate_id.clone(),
            kind: asked.kind,
            stage: Stage::Final,
            method,
            barcode_hash: about.hash,
            raw_hash: about.raw,
            ticket_id: about.ticket.as_ref().map(|(id, _)| id.clone()),
            count: 1,
            outcome: asked.verdict.outcome,
            opened: false,
            practice,
            override_: None,
            walk_in: None,
            headcount: None,
            operator: Some(self.recorder.journal().operator.clone()).filter(|name| !name.is_empty()),
            target_device: None,
            target_scan_id: None,
            keep: 0,
            at: asked.stamp.at,
            uncertainty_ms: asked.stamp.uncertainty_ms,
            clock: Some(self.session.evidence(&asked.stamp)?),
            epoch: Some(list.epoch),
            manifest_version: list.version,
            cursor: self.cursor_serial(),
            basis: Some(Basis {
                within: asked.standing.used,
                inside: asked.standing.inside,
                spent: asked.standing.spent,
                last_entry_at: asked.standing.last_entry.as_ref().map(|entry| entry.at),
                status: rules.map(|rules| rules.status),
            }),
        })
    }

    /// Signs a scan and appends it. Its verdict is shown once the scan is durable.
    fn record(&mut self, scan: Scan, shown: Shown, about: &About, asked: &Asked) {
        let rules = about.rules();
        let view = self.verdict_view(&scan, &shown, asked.standing.last_entry.as_ref(), rules);
        self.write_scan(scan, shown, Vec::new(), Some(After::Show(Box::new(view))));
    }

    pub fn write_scan(&mut self, scan: Scan, shown: Shown, before: Vec<Entry>, after: Option<After>) {
        self.write_named(scan, shown, before, after, None);
    }

    /// Signs a scan and appends it, with other rows before it. `named` is the guest's name if the scan adds a guest.
    pub fn write_named(
        &mut self,
        scan: Scan,
        shown: Shown,
        mut before: Vec<Entry>,
        after: Option<After>,
        named: Option<Named>,
    ) {
        let Some(key) = self.recorder.journal().api_key() else {
            return self.refuse("not_paired", "This device has no key any more: pair it again.");
        };
        let signature = sign::sign_v2(&key.scan_key(), &scan);
        before.push(Entry::Scan(Box::new(Scanned { scan, signature, shown, named })));
        self.recorder.append(&mut self.out, before, after.into_iter().collect());
    }

    /// Records how many persons of a party go in: the claim's final, under the same id (spec §5).
    pub fn count_party(&mut self, scan_id: &ScanId, count: u32) {
        if let Err((code, message)) = self.may_scan() {
            return self.refuse(code, message);
        }
        let claim = self
            .recorder
            .journal()
            .find(scan_id)
            .filter(|own| own.scan.stage == Stage::Claim && self.is_here(&own.scan));
        let Some((claim, method)) = claim.map(|own| (own.scan.clone(), own.scan.method)) else {
            return self.refuse("unknown_scan", "This party was counted already, or was never asked about here.");
        };
        let about = self.about(&claim);
        let Some(mut asked) = self.ask(&about, claim.kind, Some(scan_id)) else { return };
        // The server's answer holds unless this device has heard of a later change. Others may have come in while staff
        // counted.
        let heard = self.cursor_serial();
        // An answer of a former epoch does not hold either, nor one from before this device's own later scans.
        let epoch = self.list.as_ref().map(|list| list.epoch);
        let holds = |word: &OnlineAnswer| word.cursor.serial >= heard && Some(word.cursor.epoch) == epoch;
        let word = self.questions.get(scan_id).cloned().flatten().filter(|word| holds(word));
        let word = word.filter(|_| !self.knows_more(&about, Some(scan_id)));
        if let Some(word) = &word {
            asked.verdict = verdict_of(word);
            // The server was asked about those later scans separately, so its first answer does not include their
            // persons.
            asked.verdict.may_admit = asked.verdict.may_admit.saturating_sub(self.moved_since(&about, &claim));
        }
        if asked.verdict.outcome == Outcome::Valid && count > asked.verdict.may_admit {
            let message = format!("No more than {} may go in now.", asked.verdict.may_admit);
            return self.refuse("bad_count", &message);
        }
        // Staff have answered, so the screen does not repeat what it asked.
        asked.verdict.advice = None;
        let Some(mut scan) = self.draft(&about, &asked, method) else { return };
        scan.scan_id = claim.scan_id;
        scan.opened = count > 0 && scan.outcome == Outcome::Valid;
        scan.count = count.max(1);
        let mut shown = shown(screen(&asked.verdict, claim.kind, false, false), &about, &asked);
        if let Some(word) = &word {
            shown.confirmed = true;
            learned(&mut scan, word);
        }
        self.record(scan, shown, &about, &asked);
    }

    /// Persons of a ticket that this device let through after `claim`, in the same direction.
    fn moved_since(&self, about: &About, claim: &Scan) -> u32 {
        let hashes: Vec<BarcodeHash> = about.hash.into_iter().collect();
        let id = about.ticket.as_ref().map(|(id, _)| id);
        let own = self.recorder.journal().of_ticket(&claim.event_id, id, &hashes).into_iter().map(|own| &own.scan);
        let since = own.filter(|scan| {
            self.recorder.journal().first_of(&scan.scan_id) > self.recorder.journal().first_of(&claim.scan_id)
        });
        since.filter(|scan| scan.opened && scan.kind == claim.kind).map(|scan| self.recorder.journal().kept(scan)).sum()
    }

    /// Records an override: staff set a refusal aside (spec D18). It is a new scan with an open door. It keeps the
    /// outcome of `decide`, and names the person who took the responsibility.
    pub fn set_aside(&mut self, scan_id: &ScanId, pin: &str, by: &str, reason: &str, count: u32) {
        if let Err((code, message)) = self.may_scan() {
            return self.refuse(code, message);
        }
        let refused =
            self.recorder.journal().find(scan_id).filter(|own| self.is_here(&own.scan) && self.can_override(own));
        let Some((refused, method)) = refused.map(|own| (own.scan.clone(), own.scan.method)) else {
            return self.refuse("unknown_scan", "There is no refusal of this device to set aside.");
        };
        if !(1..=limits::PARTY).contains(&count) {
            return self.refuse("bad_count", &format!("Persons must be 1 to {}.", limits::PARTY));
        }
        if !self.is_staff_pin(pin) {
            return;
        }
        let at_ms = self.session.at_ms();
        let about = self.about(&refused);
        let Some(asked) = self.ask(&about, refused.kind, None) else { return };
        let Some(mut scan) = self.draft(&about, &asked, method) else { return };
        scan.opened = true;
        scan.count = count;
        let by = if by.trim().is_empty() { self.recorder.journal().operator.as_str() } else { by };
        scan.override_ =
            Some(Override { by: words(by, limits::NAME_CHARS), reason: words(reason, limits::NOTE_CHARS) });
        let screen = if refused.kind == ScanKind::Exit { Screen::Exit } else { Screen::Admit };
        let shown = shown(screen, &about, &asked);
        let rules = about.rules();
        let view = self.verdict_view(&scan, &shown, asked.standing.last_entry.as_ref(), rules);
        self.write_scan(scan, shown, vec![Entry::Pin { ok: true, at_ms }], Some(After::Show(Box::new(view))));
    }

    /// Whether these digits are the staff PIN. A wrong try is journalled, and staff are told.
    pub fn is_staff_pin(&mut self, pin: &str) -> bool {
        let Some(staff_pin) = self.list.as_ref().and_then(|list| list.event.staff_pin.clone()) else {
            self.refuse("no_pin", "This event has no staff PIN.");
            return false;
        };
        if self.pin_paused_until().is_some() {
            self.pin_refused();
            return false;
        }
        let right = sign::check_pin(&staff_pin, pin);
        if !right {
            let at_ms = self.session.at_ms();
            self.recorder.append(&mut self.out, vec![Entry::Pin { ok: false, at_ms }], vec![After::PinRefused]);
        }
        right
    }

    /// Checks the PIN before the screen opens a page that the PIN protects. A wrong try counts: after some, the device
    /// takes no PIN for a while.
    pub fn try_pin(&mut self, pin: &str) {
        if self.is_staff_pin(pin) {
            let at_ms = self.session.at_ms();
            self.recorder.append(&mut self.out, vec![Entry::Pin { ok: true, at_ms }], vec![After::PinOk]);
        }
    }

    /// Moves this device to another gate of its event. Its next scans name that gate, with or without a network.
    pub fn move_to(&mut self, gate_id: GateId) {
        let Some(paired) = self.paired().filter(|_| !self.recorder.journal().revoked).cloned() else {
            return self.refuse("not_paired", "This device is not paired with an event.");
        };
        if self.list.as_ref().is_none_or(|list| !list.gates.contains_key(&gate_id)) {
            return self.refuse("bad_gate", "This event has no such gate. Choose another one.");
        }
        if paired.gate_id != gate_id {
            self.gate_told = None;
            self.recorder.append(
                &mut self.out,
                vec![Entry::Moved { gate_id }],
                vec![After::Settled(Some(paired.event_id))],
            );
        }
    }

    /// Until when the device takes no PIN, by the monotonic clock. `None` if it takes one now. The pause survives a
    /// restart, and a clock that is set back does not lengthen it.
    pub fn pin_paused_until(&self) -> Option<i64> {
        let since = self.session.at_ms().saturating_sub(self.recorder.journal().pin.paused_at_ms?);
        let left = limits::PIN_PAUSE_MS.saturating_sub(since).clamp(0, limits::PIN_PAUSE_MS);
        (left > 0).then(|| self.mono() + left)
    }

    /// Tells staff how many tries are left.
    pub fn pin_refused(&mut self) {
        let paused_until_mono_ms = self.pin_paused_until();
        let tries_left = limits::PIN_TRIES.saturating_sub(self.recorder.journal().pin.wrong);
        self.emit(Effect::PinRefused { tries_left, paused_until_mono_ms });
    }

    /// Undoes a scan by a revert, which names the code and ticket of that scan (spec D9). Without `scan_id`, the last
    /// scan is undone. `keep` is the number of persons that stay counted.
    pub fn undo(&mut self, scan_id: Option<&ScanId>, keep: u32) {
        if self.paired().is_none() || self.recorder.journal().revoked {
            return self.refuse("not_paired", "This device is not paired with an event.");
        }
        let counts = |own: &&OwnScan| {
            own.scan.opened && own.scan.kind != ScanKind::Revert && self.recorder.journal().kept(&own.scan) > 0
        };
        let target = match scan_id {
            Some(id) => self.recorder.journal().find(id).filter(counts),
            None => {
                let alike = |own: &&OwnScan| own.scan.practice == self.is_practice();
                let last = self.recorder.journal().scans.iter().rev().filter(alike).find(counts);
                last.filter(|own| self.is_here(&own.scan))
            }
        };
        let Some(target) = target.map(|own| own.scan.clone()) else {
            return self
                .refuse("nothing_to_undo", "Nothing of this device that let somebody in or out is left to undo.");
        };
        let kept = self.recorder.journal().kept(&target);
        if keep >= kept {
            return self.refuse("bad_count", &format!("Of {kept} persons fewer than {kept} must stay."));
        }
        let about = About { hash: target.barcode_hash, raw: target.raw_hash, ticket: None };
        let stamp = self.session.stamp(self.recorder.journal().last_at());
        let asked = Asked { kind: ScanKind::Revert, stamp, standing: Standing::default(), verdict: Verdict::valid(0) };
        let Some(mut revert) = self.draft(&about, &asked, target.method) else {
            return self.refuse("no_list", "The list of this event is not on this device yet.");
        };
        if revert.event_id != target.event_id {
            // The scan belongs to the event before a re-pairing. What this device knows of the present event does not
            // apply there.
            (revert.event_id, revert.gate_id) = (target.event_id.clone(), target.gate_id.clone());
            (revert.epoch, revert.manifest_version, revert.cursor) = (None, 0, 0);
        }
        revert.practice = target.practice;
        revert.ticket_id = target.ticket_id.clone();
        revert.target_device = Some(target.device_id.clone());
        revert.target_scan_id = Some(target.scan_id.clone());
        revert.keep = keep;
        revert.basis = None;
        let shown = shown(Screen::Admit, &about, &asked);
        let after = After::Undone { scan_id: target.scan_id, persons: kept - keep };
        self.write_scan(revert, shown, Vec::new(), Some(after));
    }
}

pub(super) fn shown(screen: Screen, about: &About, asked: &Asked) -> Shown {
    Shown {
        screen,
        reason: asked.verdict.reason,
        may_admit: asked.verdict.may_admit,
        entry_limit: about.ticket.as_ref().map_or(0, |(_, rules)| rules.entry_limit),
        already_in: asked.standing.used,
        places_left: asked.verdict.places_left,
        confirmed: false,
    }
}
