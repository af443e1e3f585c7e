//! At the door: from a code to a verdict, a party's count, an override, an undo (spec §4, D9, D12, D18).
//!
//! Each of these ends in one append; what it says is shown only once that is durable (trust I1).

use super::clock::Stamp;
use super::journal::OwnScan;
use super::state::{After, State};
use crate::barcode::{BarcodeHash, candidates};
use crate::decide::{LastEntry, Question, Reason, Screen, Standing, Verdict, decide, screen};
use crate::gate::Direction;
use crate::ids::{ScanId, TicketId};
use crate::limits;
use crate::reduce::{TicketState, implausible};
use crate::scan::{Basis, ClockEvidence, Form, Method, Outcome, Override, Scan, ScanKind, Stage};
use crate::sign;
use crate::ticket::TicketRules;
use crate::time::Timestamp;
use crate::view::{Served, fold_view};
use crate::wire::engine::{DecidedBy, Effect, LastEntryView, VerdictView};
use crate::wire::journal::{Entry, Scanned, Shown};

/// Which ticket a code or a scan is about.
#[derive(Debug, Clone)]
struct About {
    hash: Option<BarcodeHash>,
    raw: Option<BarcodeHash>,
    ticket: Option<(TicketId, TicketRules)>,
}

/// What was asked of `decide`, and its answer.
struct Asked {
    kind: ScanKind,
    stamp: Stamp,
    standing: Standing,
    verdict: Verdict,
}

impl State {
    /// A reader read a code.
    pub fn read_code(&mut self, text: &str, method: Method) {
        if let Err((code, message)) = self.may_scan() {
            return self.refuse(code, message);
        }
        let Ok(texts) = candidates(text) else { return self.not_a_ticket(text, method) };
        let about = self.find(text, &texts);
        let kind = if self.direction() == Direction::Out { ScanKind::Exit } else { ScanKind::Entry };
        let Some(asked) = self.ask(&about, kind) else { return };
        if self.same_ticket(&about, &asked) {
            return;
        }
        let party = asked.verdict.may_admit > 1 && about.ticket.as_ref().is_some_and(|(_, it)| it.entry_limit > 1);
        let screen = screen(&asked.verdict, kind, party, false);
        let waits = matches!(screen, Screen::AdmitParty | Screen::Full | Screen::Check);
        let Some(mut scan) = self.draft(&about, &asked, method) else { return };
        if waits {
            scan.stage = Stage::Claim;
        } else {
            scan.opened = scan.outcome == Outcome::Valid;
        }
        let shown = shown(screen, &about, &asked);
        self.record(scan, shown, &about, &asked);
    }

    /// Why no code is taken now, if none is.
    fn may_scan(&self) -> Result<(), (&'static str, &'static str)> {
        if self.paired().is_none() {
            return Err(("not_paired", "This device is not paired with an event yet."));
        }
        if self.journal.revoked {
            return Err(("no_list", "The organiser revoked this device: it admits nobody."));
        }
        if self.list.is_none() {
            return Err(("no_list", "The list of this event is not on this device yet."));
        }
        Ok(())
    }

    /// Text that can be no code at all: recorded by its hash, shown as "not one of our codes" (trust fault 35).
    fn not_a_ticket(&mut self, text: &str, method: Method) {
        let hash = BarcodeHash::of(text);
        let about = About { hash: Some(hash), raw: Some(hash), ticket: None };
        let kind = if self.direction() == Direction::Out { ScanKind::Exit } else { ScanKind::Entry };
        let Some(asked) = self.ask(&about, kind) else { return };
        let Some(scan) = self.draft(&about, &asked, method) else { return };
        let shown = shown(Screen::NotATicket, &about, &asked);
        self.record(scan, shown, &about, &asked);
    }

    /// The first spelling that a ticket holds; else the first spelling, known to nobody.
    fn find(&self, read: &str, texts: &[String]) -> About {
        let raw = Some(BarcodeHash::of(read));
        for text in texts {
            let hash = BarcodeHash::of(text);
            if let Some(ticket) = self.ticket_of(&hash) {
                return About { hash: Some(hash), raw, ticket: Some(ticket) };
            }
        }
        About { hash: texts.first().map(|text| BarcodeHash::of(text)), raw, ticket: None }
    }

    /// The ticket that holds a code, by the newest of list and changes.
    fn ticket_of(&self, hash: &BarcodeHash) -> Option<(TicketId, TicketRules)> {
        let listed = self.list.as_ref().and_then(|list| list.find(hash));
        let id = listed.as_ref().map(|(id, _)| id).or_else(|| self.feed.by_code(hash))?.clone();
        let rules = self.rules_of(&id, listed.map(|(_, rules)| rules))?;
        Some((id, rules))
    }

    /// A ticket's newest rules: from changes where they are ahead of the list, else from the list.
    fn rules_of(&self, id: &TicketId, listed: Option<TicketRules>) -> Option<TicketRules> {
        let list = self.list.as_ref()?;
        let same_epoch = self.feed.cursor().is_some_and(|cursor| cursor.epoch == list.epoch);
        let ahead = self.feed.ticket(id).filter(|item| same_epoch && item.serial > list.version);
        ahead.map(|item| item.changed.rules.clone()).or(listed)
    }

    /// The changes cursor in the list's epoch; 0 where changes are of another.
    fn cursor_serial(&self) -> u64 {
        let epoch = self.list.as_ref().map(|list| list.epoch);
        self.feed.cursor().filter(|cursor| Some(cursor.epoch) == epoch).map_or(0, |cursor| cursor.serial)
    }

    /// Whether the server's part of the view holds a scan already: its receipt is at or below the cursor.
    fn covered(&self, own: &OwnScan) -> bool {
        let (Some(cursor), Some((epoch, serial))) = (self.feed.cursor(), own.receipt) else { return false };
        epoch == Some(cursor.epoch) && serial <= cursor.serial
    }

    /// A ticket's state as this device sees it (spec §4, the device's law).
    pub fn state_of(&self, id: &TicketId, rules: &TicketRules, hash: Option<BarcodeHash>) -> TicketState {
        let (Some(list), Some(paired)) = (&self.list, self.paired()) else { return TicketState::default() };
        let nothing = TicketState::default();
        let changed = self.feed.ticket(id).map(|item| &item.changed);
        let served = Served {
            prefix: changed.map_or(&nothing, |changed| &changed.prefix),
            scans: changed.map_or(&[], |changed| &changed.scans),
        };
        let codes = changed.map_or(&[][..], |changed| &changed.barcode_hashes);
        let hashes: Vec<BarcodeHash> = hash.into_iter().chain(codes.iter().copied()).collect();
        let own = self.journal.of_ticket(&paired.event_id, Some(id), &hashes);
        let own: Vec<&Scan> = own.into_iter().filter(|own| !self.covered(own)).map(|own| &own.scan).collect();
        fold_view(&list.event, Some(rules), served, &own)
    }

    fn ask(&self, about: &About, kind: ScanKind) -> Option<Asked> {
        let (list, paired) = (self.list.as_ref()?, self.paired()?);
        let stamp = self.clock.stamp(self.journal.last_at());
        let standing = about.ticket.as_ref().map_or_else(Standing::default, |(id, rules)| {
            let implausible = implausible(Some(&list.event), stamp.at);
            self.state_of(id, rules, about.hash).standing(&list.event, stamp.at, implausible)
        });
        let verdict = decide(Question {
            event: &list.event,
            ticket: about.ticket.as_ref().map(|(_, rules)| rules),
            standing: &standing,
            gate_id: &paired.gate_id,
            gate: self.gate(),
            at: stamp.at,
            kind,
            area_inside: 0,
        });
        Some(Asked { kind, stamp, standing, verdict })
    }

    /// A repeat within a minute of the same code's own opened door here: neutral, and nothing is recorded
    /// (experience §7.2). Not where the rules let more of the ticket in, or somebody else out.
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
        let mut view = self.verdict_view(&scan, &shown, None, about.ticket.as_ref().map(|(_, rules)| rules));
        view.screen = Screen::SameTicket;
        view.scan_id = None;
        view.can_undo = false;
        view.same_ticket_ms = Some(ago);
        self.emit(Effect::Show { verdict: Box::new(view) });
        true
    }

    fn last_opened(&self, about: &About, asked: &Asked) -> Option<(&OwnScan, i64)> {
        let hashes: Vec<BarcodeHash> = about.hash.into_iter().collect();
        let id = about.ticket.as_ref().map(|(id, _)| id);
        let own = self.journal.of_ticket(&self.paired()?.event_id, id, &hashes).into_iter().rev();
        let mut opened = own.filter(|own| own.scan.opened && own.scan.kind == asked.kind);
        let own = opened.find(|own| self.journal.kept(&own.scan) > 0)?;
        let ago = asked.stamp.at.since(own.scan.at);
        (0..limits::SAME_TICKET_MS).contains(&ago).then_some((own, ago))
    }

    /// A scan of this device, here and now; shut, of one person, final.
    fn draft(&mut self, about: &About, asked: &Asked, method: Method) -> Option<Scan> {
        let scan_id = ScanId::new(self.draw_uuid()).ok()?;
        let now = self.now?;
        let (list, paired) = (self.list.as_ref()?, self.journal.paired.as_ref()?);
        let (_, log_id) = self.journal.identity.as_ref()?;
        let rules = about.ticket.as_ref().map(|(_, rules)| rules);
        Some(Scan {
            form: Form::V2,
            scan_id,
            device_id: paired.device_id.clone(),
            log_id: Some(log_id.clone()),
            seq: Some(self.journal.head_seq() + 1),
            prev: Some(self.journal.prev()),
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
            override_: None,
            operator: Some(self.journal.operator.clone()).filter(|name| !name.is_empty()),
            target_device: None,
            target_scan_id: None,
            keep: 0,
            at: asked.stamp.at,
            uncertainty_ms: asked.stamp.uncertainty_ms,
            clock: Some(ClockEvidence {
                wall_ms: now.wall_ms,
                mono_ms: now.mono_ms,
                session_id: self.session_id.clone(),
                corrected: asked.stamp.corrected,
            }),
            epoch: Some(list.epoch),
            manifest_version: list.version,
            cursor: self.cursor_serial(),
            basis: Some(Basis {
                within: asked.standing.used,
                inside: asked.standing.inside,
                last_entry_at: asked.standing.last_entry.as_ref().map(|entry| entry.at),
                status: rules.map(|rules| rules.status),
            }),
        })
    }

    /// Signs a scan and writes it; its verdict is shown once it is durable.
    fn record(&mut self, scan: Scan, shown: Shown, about: &About, asked: &Asked) {
        let rules = about.ticket.as_ref().map(|(_, rules)| rules);
        let view = self.verdict_view(&scan, &shown, asked.standing.last_entry.as_ref(), rules);
        self.write_scan(scan, shown, Vec::new(), After::Show(Box::new(view)));
    }

    fn write_scan(&mut self, scan: Scan, shown: Shown, mut before: Vec<Entry>, after: After) {
        let Some(key) = self.journal.api_key() else {
            return self.refuse("not_paired", "This device has no key any more: pair it again.");
        };
        let signature = sign::sign_v2(&key.scan_key(), &scan);
        before.push(Entry::Scan(Box::new(Scanned { scan, signature, shown })));
        self.append(before, vec![after]);
    }

    /// How many of a party go in: the claim's final, under the same id (spec §5).
    pub fn count_party(&mut self, scan_id: &ScanId, count: u32) {
        if let Err((code, message)) = self.may_scan() {
            return self.refuse(code, message);
        }
        let claim = self.journal.find(scan_id).filter(|own| own.scan.stage == Stage::Claim && self.is_here(&own.scan));
        let Some((claim, method)) = claim.map(|own| (own.scan.clone(), own.scan.method)) else {
            return self.refuse("unknown_scan", "This party was counted already, or was never asked about here.");
        };
        let about = self.about(&claim);
        let Some(asked) = self.ask(&about, claim.kind) else { return };
        if count > 0 && asked.verdict.outcome == Outcome::Valid && count > asked.verdict.may_admit {
            let message = format!("Now only {} may go in.", asked.verdict.may_admit);
            return self.refuse("bad_count", &message);
        }
        let Some(mut scan) = self.draft(&about, &asked, method) else { return };
        scan.scan_id = claim.scan_id;
        scan.opened = count > 0 && scan.outcome == Outcome::Valid;
        scan.count = count.max(1);
        let shown = shown(screen(&asked.verdict, claim.kind, false, false), &about, &asked);
        self.record(scan, shown, &about, &asked);
    }

    fn is_here(&self, scan: &Scan) -> bool {
        self.paired().is_some_and(|paired| paired.event_id == scan.event_id)
    }

    /// What a scan of this device was about, by what is known now.
    fn about(&self, scan: &Scan) -> About {
        let held = scan.barcode_hash.and_then(|hash| self.ticket_of(&hash));
        let ticket = held.or_else(|| {
            let id = scan.ticket_id.clone()?;
            let rules = self.rules_of(&id, self.list.as_ref().and_then(|list| list.by_ticket(&id)))?;
            Some((id, rules))
        });
        About { hash: scan.barcode_hash, raw: scan.raw_hash, ticket }
    }

    /// Staff set a refusal aside (spec D18): another scan, opened, which says what `decide` says and who took it upon
    /// themselves.
    pub fn set_aside(&mut self, scan_id: &ScanId, pin: &str, by: &str, reason: &str, count: u32) {
        if let Err((code, message)) = self.may_scan() {
            return self.refuse(code, message);
        }
        let refused = self.journal.find(scan_id).filter(|own| self.is_here(&own.scan) && self.can_override(own));
        let Some((refused, method)) = refused.map(|own| (own.scan.clone(), own.scan.method)) else {
            return self.refuse("unknown_scan", "There is no refusal of this device to set aside.");
        };
        let Some(staff_pin) = self.list.as_ref().and_then(|list| list.event.staff_pin.clone()) else {
            return self.refuse("no_pin", "This event has no staff PIN.");
        };
        if !(1..=limits::PARTY).contains(&count) {
            return self.refuse("bad_count", &format!("Persons must be 1 to {}.", limits::PARTY));
        }
        if self.pin_paused_until().is_some() {
            return self.pin_refused();
        }
        let at_ms = self.clock.read().at_ms;
        if !sign::check_pin(&staff_pin, pin) {
            return self.append(vec![Entry::Pin { ok: false, at_ms }], vec![After::PinRefused]);
        }
        let about = self.about(&refused);
        let Some(asked) = self.ask(&about, refused.kind) else { return };
        let Some(mut scan) = self.draft(&about, &asked, method) else { return };
        scan.opened = true;
        scan.count = count;
        let by = if by.trim().is_empty() { self.journal.operator.as_str() } else { by };
        scan.override_ =
            Some(Override { by: words(by, limits::NAME_CHARS), reason: words(reason, limits::NOTE_CHARS) });
        let screen = if refused.kind == ScanKind::Exit { Screen::Exit } else { Screen::Admit };
        let shown = shown(screen, &about, &asked);
        let rules = about.ticket.as_ref().map(|(_, rules)| rules);
        let view = self.verdict_view(&scan, &shown, asked.standing.last_entry.as_ref(), rules);
        self.write_scan(scan, shown, vec![Entry::Pin { ok: true, at_ms }], After::Show(Box::new(view)));
    }

    /// Until when no PIN is taken, by the monotonic clock. The pause outlives a restart; a clock set back does not
    /// lengthen it.
    pub fn pin_paused_until(&self) -> Option<i64> {
        let since = self.clock.read().at_ms.saturating_sub(self.journal.pin.paused_at_ms?);
        let left = limits::PIN_PAUSE_MS.saturating_sub(since).clamp(0, limits::PIN_PAUSE_MS);
        (left > 0).then(|| self.mono() + left)
    }

    /// Tells how many tries are left.
    pub fn pin_refused(&mut self) {
        let paused_until_mono_ms = self.pin_paused_until();
        let tries_left = limits::PIN_TRIES.saturating_sub(self.journal.pin.wrong);
        self.emit(Effect::PinRefused { tries_left, paused_until_mono_ms });
    }

    /// Undo: a revert, with the code and ticket of what it undoes (spec D9).
    pub fn undo(&mut self, scan_id: Option<&ScanId>, keep: u32) {
        if self.paired().is_none() || self.journal.revoked {
            return self.refuse("not_paired", "This device is not paired with an event.");
        }
        let counts = |own: &&OwnScan| {
            own.scan.opened && own.scan.kind != ScanKind::Revert && self.journal.kept(&own.scan) > 0
        };
        let target = match scan_id {
            Some(id) => self.journal.find(id).filter(counts),
            None => self.journal.scans.iter().rev().find(counts).filter(|own| self.is_here(&own.scan)),
        };
        let Some(target) = target.map(|own| own.scan.clone()) else {
            return self.refuse("nothing_to_undo", "Nothing of this device that let somebody in or out is left to undo.");
        };
        let kept = self.journal.kept(&target);
        if keep >= kept {
            return self.refuse("bad_count", &format!("Of {kept} persons fewer than {kept} must stay."));
        }
        let about = About { hash: target.barcode_hash, raw: target.raw_hash, ticket: None };
        let stamp = self.clock.stamp(self.journal.last_at());
        let verdict = Verdict { outcome: Outcome::Valid, reason: None, may_admit: 0, last_entry: None, advice: None };
        let asked = Asked { kind: ScanKind::Revert, stamp, standing: Standing::default(), verdict };
        let Some(mut revert) = self.draft(&about, &asked, Method::Manual) else {
            return self.refuse("no_list", "The list of this event is not on this device yet.");
        };
        revert.event_id = target.event_id.clone();
        revert.ticket_id = target.ticket_id.clone();
        revert.target_device = Some(target.device_id.clone());
        revert.target_scan_id = Some(target.scan_id.clone());
        revert.keep = keep;
        revert.basis = None;
        let shown = shown(Screen::Admit, &about, &asked);
        let after = After::Undone { scan_id: target.scan_id, persons: kept - keep };
        self.write_scan(revert, shown, Vec::new(), after);
    }

    /// Whether staff with the PIN may set this refusal aside.
    pub fn can_override(&self, own: &OwnScan) -> bool {
        self.may_set_aside(&own.scan, &own.shown)
    }

    fn may_set_aside(&self, scan: &Scan, shown: &Shown) -> bool {
        let refusal = scan.stage == Stage::Final && !scan.opened && scan.outcome != Outcome::Valid;
        refusal && scan.kind != ScanKind::Revert && shown.screen != Screen::NotATicket
    }

    /// A scan of this device as the screen shows it.
    pub fn view_of(&self, own: &OwnScan) -> VerdictView {
        let about = self.about(&own.scan);
        let rules = about.ticket.as_ref().map(|(_, rules)| rules);
        let before = own.scan.basis.as_ref().and_then(|basis| basis.last_entry_at);
        let last = about.ticket.as_ref().zip(before).and_then(|((id, rules), at)| {
            let state = self.state_of(id, rules, about.hash);
            let entry = state.entries.into_iter().rev().find(|entry| entry.at == at)?;
            Some(LastEntry { at, gate_id: entry.gate_id, device_id: entry.device_id })
        });
        self.verdict_view(&own.scan, &own.shown, last.as_ref(), rules)
    }

    fn verdict_view(
        &self,
        scan: &Scan,
        shown: &Shown,
        last: Option<&LastEntry>,
        ticket: Option<&TicketRules>,
    ) -> VerdictView {
        let list = self.list.as_ref();
        let name = |gate_id| self.gate_name(gate_id);
        let wrong_place = shown.screen == Screen::WrongPlace;
        let wrong_time = shown.screen == Screen::WrongTime;
        let admitted = if scan.opened { scan.count } else { 0 };
        VerdictView {
            screen: shown.screen,
            scan_id: Some(scan.scan_id.clone()).filter(|_| shown.screen != Screen::NotATicket),
            kind: scan.kind,
            outcome: scan.outcome,
            reason: shown.reason.map(|reason: Reason| reason.as_str().to_owned()),
            opened: scan.opened,
            count: admitted,
            may_admit: shown.may_admit,
            entry_limit: shown.entry_limit,
            already_in: shown.already_in,
            ticket_id: scan.ticket_id.clone(),
            short_code: short_code(scan),
            zone: ticket.map(|rules| rules.zone.clone()),
            name: None,
            right_gates: ticket.filter(|_| wrong_place).map(|rules| self.right_gates(rules)).unwrap_or_default(),
            valid_from: ticket.filter(|_| wrong_time).and_then(|rules| rules.valid_from),
            expires_at: ticket.filter(|_| wrong_time).and_then(|rules| rules.expires_at),
            last_entry: last.filter(|_| scan.outcome == Outcome::Duplicate).map(|entry| LastEntryView {
                at: entry.at,
                gate: name(&entry.gate_id),
                device_id: entry.device_id.clone(),
                own: entry.device_id == scan.device_id,
            }),
            at: scan.at,
            decided_by: DecidedBy::Device,
            list_expired: list.is_some_and(|list| scan.at >= list.expires_at),
            manifest_version: scan.manifest_version,
            list_at: list.map(|list| list.generated_at),
            can_override: self.may_set_aside(scan, shown) && list.is_some_and(|list| list.event.staff_pin.is_some()),
            overridden: scan.override_.is_some(),
            can_undo: scan.opened && scan.kind != ScanKind::Revert && self.journal.kept(scan) > 0,
            same_ticket_ms: None,
        }
    }

    /// A gate's name; its id where this list does not know it.
    pub fn gate_name(&self, gate_id: &crate::ids::GateId) -> String {
        let gate = self.list.as_ref().and_then(|list| list.gates.get(gate_id));
        gate.map_or_else(|| gate_id.to_string(), |gate| gate.name.clone())
    }

    fn right_gates(&self, rules: &TicketRules) -> Vec<String> {
        let Some(list) = &self.list else { return Vec::new() };
        if rules.gate_ids.is_empty() {
            list.gates.values().filter(|gate| gate.zones.contains(&rules.zone)).map(|gate| gate.name.clone()).collect()
        } else {
            rules.gate_ids.iter().map(|id| self.gate_name(id)).collect()
        }
    }

    /// At start a young last verdict is shown again: staff may not have seen it (architecture §5).
    pub fn show_again(&mut self) {
        if self.list.is_none() || self.journal.revoked {
            return;
        }
        let Some(own) = self.journal.scans.last() else { return };
        let age = Timestamp::clamped(self.clock.read().at_ms).since(own.scan.at);
        let silent = own.scan.kind == ScanKind::Revert || own.shown.screen == Screen::NotATicket;
        if age < limits::SHOW_AGAIN_MS && !silent && self.is_here(&own.scan) {
            let verdict = Box::new(self.view_of(own));
            self.emit(Effect::Show { verdict });
        }
    }
}

fn shown(screen: Screen, about: &About, asked: &Asked) -> Shown {
    Shown {
        screen,
        reason: asked.verdict.reason,
        may_admit: asked.verdict.may_admit,
        entry_limit: about.ticket.as_ref().map_or(0, |(_, rules)| rules.entry_limit),
        already_in: asked.standing.used,
    }
}

/// First characters of the code's hash, for talk between staff.
pub(super) fn short_code(scan: &Scan) -> String {
    scan.barcode_hash.map(|hash| crate::barcode::hex(&hash.0[..4]).to_uppercase()).unwrap_or_default()
}

/// Staff's own words, as the record may hold them.
pub(super) fn words(text: &str, most: usize) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(most).collect()
}
