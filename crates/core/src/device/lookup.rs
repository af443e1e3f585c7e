//! Looks up a code: its ticket, the ticket's newest rules, and the ticket's state as this device sees it (spec §4).

use super::catalog::Catalog;
use super::feed::Feed;
use super::journal::Journal;
use super::list::List;
use super::own_scan::OwnScan;
use crate::barcode::BarcodeHash;
use crate::event::EventStatus;
use crate::gate::{Direction, GateRules};
use crate::ids::{GateId, ScanId, TicketId};
use crate::reduce::TicketState;
use crate::scan::{Scan, ScanKind, WalkIn};
use crate::short_code::ShortCode;
use crate::ticket::TicketRules;
use crate::view::{Served, fold_view};
use crate::wire::journal::Paired;

/// The subject of a read code or a scan: the code, its ticket and the ticket's rules, as far as the device knows them.
#[derive(Debug, Clone)]
pub(super) struct About {
    pub hash: Option<BarcodeHash>,
    pub raw: Option<BarcodeHash>,
    pub ticket: Option<(TicketId, TicketRules)>,
}

impl About {
    /// The subject of a scan that is about no ticket.
    pub fn nothing() -> Self {
        Self { hash: None, raw: None, ticket: None }
    }
    pub fn ticket_id(&self) -> Option<&TicketId> {
        self.ticket.as_ref().map(|(id, _)| id)
    }
    pub fn rules(&self) -> Option<&TicketRules> {
        self.ticket.as_ref().map(|(_, rules)| rules)
    }
}

/// The knowledge of this device: its log, its list and the changes since.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    pub journal: &'a Journal,
    pub catalog: &'a Catalog,
}

impl<'a> Known<'a> {
    // ------------------------------------------------------------------------------------------- where this device is

    /// The device's pairing. `None` if it is not paired.
    pub fn paired(&self) -> Option<&'a Paired> {
        self.journal.paired.as_ref()
    }
    /// The active list. `None` if there is none yet.
    pub fn list(&self) -> Option<&'a List> {
        self.catalog.list()
    }
    /// The changes since.
    pub fn feed(&self) -> &'a Feed {
        self.catalog.feed()
    }
    /// The rules of this device's gate, by its list. `None` without a pairing or a list.
    pub fn gate(&self) -> Option<&'a GateRules> {
        self.list()?.gates.get(&self.paired()?.gate_id)
    }
    /// A gate's name, or its id if this list does not have the gate.
    pub fn gate_name(&self, gate_id: &GateId) -> String {
        let gate = self.list().and_then(|list| list.gates.get(gate_id));
        gate.map_or_else(|| gate_id.to_string(), |gate| gate.name.clone())
    }
    /// The direction of scans now: the gate's, or the operator's choice at a gate that leads both ways.
    pub fn direction(&self) -> Direction {
        match self.gate().map(|gate| gate.direction) {
            Some(Direction::Both) => self.journal.direction.unwrap_or(Direction::In),
            Some(direction) => direction,
            None => Direction::In,
        }
    }
    /// The kind of a scan in the present direction.
    pub fn kind(&self) -> ScanKind {
        if self.direction() == Direction::Out { ScanKind::Exit } else { ScanKind::Entry }
    }
    /// Whether scans are practice now, because the list says that the event is a draft.
    pub fn is_practice(&self) -> bool {
        self.list().is_some_and(|list| list.event.status == EventStatus::Draft)
    }
    /// Whether a scan belongs to the event to which this device is assigned.
    pub fn is_here(&self, scan: &Scan) -> bool {
        self.paired().is_some_and(|paired| paired.event_id == scan.event_id)
    }
    /// Fails with a code and a message for staff if the device can take no code now.
    pub fn may_scan(&self) -> Result<(), (&'static str, &'static str)> {
        if self.paired().is_none() {
            return Err(("not_paired", "This device is not paired with an event yet."));
        }
        if self.journal.revoked {
            return Err(("no_list", "The organiser revoked this device: it admits nobody."));
        }
        if self.list().is_none() {
            return Err(("no_list", "The list of this event is not on this device yet."));
        }
        Ok(())
    }
    /// Whether this device may hold names at the estimated time `at_ms`. Its gate must allow them in the list, and the
    /// list must not have expired. So a phone that receives nothing loses its names too.
    pub fn names_allowed(&self, at_ms: i64) -> bool {
        let allowed = self.gate().is_some_and(|gate| gate.names_on_devices);
        !self.journal.revoked && allowed && self.list().is_some_and(|list| at_ms < list.expires_at.ms())
    }

    // ----------------------------------------------------------------------------------------------------- tickets

    /// Looks up the spellings of a code. The first one that a ticket holds is taken. If none is held, the first
    /// spelling is taken without a ticket.
    pub fn find(&self, read: &str, texts: &[String]) -> About {
        let raw = Some(BarcodeHash::of(read));
        for text in texts {
            let hash = BarcodeHash::of(text);
            if let Some(ticket) = self.ticket_of(&hash) {
                return About { hash: Some(hash), raw, ticket: Some(ticket) };
            }
        }
        About { hash: texts.first().map(|text| BarcodeHash::of(text)), raw, ticket: None }
    }

    /// The ticket that holds a code, with its newest rules from list and changes. `None` if neither has the code.
    fn ticket_of(&self, hash: &BarcodeHash) -> Option<(TicketId, TicketRules)> {
        let listed = self.list().and_then(|list| list.find(hash));
        let id = listed.as_ref().map(|(id, _)| id).or_else(|| self.feed().by_code(hash))?.clone();
        let rules = self.rules_of(&id, listed.map(|(_, rules)| rules))?;
        Some((id, rules))
    }

    /// Finds the ticket of a typed short code, as if a person had picked it. `None` unless exactly one ticket has it.
    pub fn of_short_code(&self, typed: &str) -> Option<About> {
        let short = ShortCode::read(typed)?;
        let listed = self.list().and_then(|list| list.find_short(short));
        let mut ids = listed.iter().chain(self.feed().by_short(short));
        let id = ids.next()?;
        let about = self.picked(id);
        (about.ticket.is_some() && ids.all(|other| other == id)).then_some(about)
    }

    /// A ticket by its id, with its newest rules. `None` if the device does not know it.
    fn ticket_by_id(&self, id: &TicketId) -> Option<(TicketId, TicketRules)> {
        let rules = self.rules_of(id, self.list().and_then(|list| list.by_ticket(id)))?;
        Some((id.clone(), rules))
    }

    /// A ticket's newest rules: from the changes if they are newer than the list, otherwise from the list.
    fn rules_of(&self, id: &TicketId, listed: Option<TicketRules>) -> Option<TicketRules> {
        let list = self.list()?;
        let same_epoch = self.feed().cursor().is_some_and(|cursor| cursor.epoch == list.epoch);
        // If one serial changed more tickets than a page holds, the items of the page carry the serial before it. So an
        // item with the list's version may be newer than the list, and is at least as new.
        let ahead = self.feed().ticket(id).filter(|item| same_epoch && item.serial >= list.version);
        ahead.map(|item| item.changed.rules.clone()).or(listed).or_else(|| self.made_here(id))
    }

    /// The serial of the changes cursor. It is 0 if the changes belong to another epoch than the list.
    pub fn cursor_serial(&self) -> u64 {
        let epoch = self.list().map(|list| list.epoch);
        self.feed().cursor().filter(|cursor| Some(cursor.epoch) == epoch).map_or(0, |cursor| cursor.serial)
    }

    /// Whether the changes that the server sent include a scan: its receipt is at or below their cursor.
    fn covered(&self, own: &OwnScan) -> bool {
        let (Some(cursor), Some((epoch, serial))) = (self.feed().cursor(), own.receipt) else { return false };
        epoch == Some(cursor.epoch) && serial <= cursor.serial
    }

    /// A ticket's state as this device sees it ([`crate::view`]). The scan `but` is left out, even if the server listed
    /// it: before a claim gets its final, the device decides by the scans before the claim.
    pub fn state_of(
        &self,
        id: &TicketId,
        rules: &TicketRules,
        hash: Option<BarcodeHash>,
        but: Option<&ScanId>,
    ) -> TicketState {
        let (Some(list), Some(paired)) = (self.list(), self.paired()) else { return TicketState::default() };
        let nothing = TicketState::default();
        let changed = self.feed().ticket(id).map(|item| &item.changed);
        let told = changed.map_or(&[][..], |changed| &changed.scans);
        let others: Vec<_>;
        let scans = match but {
            Some(but) if told.iter().any(|scan| scan.scan_id == *but) => {
                others = told.iter().filter(|scan| scan.scan_id != *but).cloned().collect();
                &others[..]
            }
            _ => told,
        };
        let served = Served { prefix: changed.map_or(&nothing, |changed| &changed.prefix), scans };
        let codes = changed.map_or(&[][..], |changed| &changed.barcode_hashes);
        let hashes: Vec<BarcodeHash> = hash.into_iter().chain(codes.iter().copied()).collect();
        let own = self.journal.of_ticket(&paired.event_id, Some(id), &hashes);
        let own: Vec<&Scan> = own
            .into_iter()
            // The server sends no practice scans. So this device counts its own practice scans here, whether or not the
            // server has received them.
            .filter(|own| (own.scan.practice || !self.covered(own)) && but != Some(&own.scan.scan_id))
            .map(|own| &own.scan)
            .collect();
        fold_view(&list.event, Some(rules), served, &own)
    }

    /// The other tickets of a ticket's booking in this device's list, in order of code.
    pub fn others_of_booking(&self, ticket_id: &TicketId) -> Vec<TicketId> {
        self.list().map(|list| list.others_of_group(ticket_id)).unwrap_or_default()
    }

    /// The first rules of a ticket that this device made for an added guest. `None` for any other ticket.
    fn made_here(&self, id: &TicketId) -> Option<TicketRules> {
        let own = self.journal.of_ticket(&self.paired()?.event_id, Some(id), &[]);
        own.into_iter().find_map(|own| own.scan.walk_in.as_ref()).map(WalkIn::rules)
    }

    /// This device's scans of a ticket in its event, found by the ticket and by its code, in the order of the log.
    pub fn own_scans(&self, about: &About) -> Vec<&'a OwnScan> {
        let Some(paired) = self.paired() else { return Vec::new() };
        self.journal.of_ticket(&paired.event_id, about.ticket_id(), about.hash.as_slice())
    }

    /// Whether the server counts this scan already as one person, because it let that person in when it answered the
    /// scan's claim. A server that was restored since then has lost the claim.
    pub fn was_counted(&self, own: &OwnScan) -> bool {
        let here = self.list().is_some_and(|list| own.scan.epoch == Some(list.epoch));
        own.shown.confirmed && here && own.scan.count == 1 && own.scan.kind != ScanKind::Revert
    }

    /// Whether the server may lack a scan of this ticket by which this device opened a door or undid an entry. The
    /// server lacks a scan that it has not received yet or could not read. Then this device's own answer is better than
    /// the server's. The scan `but` is left out, because the caller asks the server about that scan.
    pub fn knows_more(&self, about: &About, but: Option<&ScanId>) -> bool {
        let moves = |own: &&OwnScan| own.scan.opened || own.scan.kind == ScanKind::Revert;
        let unknown = |own: &&OwnScan| own.delivery.lacks() || own.delivery.is_unread();
        let own = self.own_scans(about).into_iter().filter(|own| Some(&own.scan.scan_id) != but);
        own.filter(unknown).filter(moves).any(|own| !self.was_counted(own))
    }

    /// A ticket that was picked without reading a code.
    pub fn picked(&self, ticket_id: &TicketId) -> About {
        About { hash: None, raw: None, ticket: self.ticket_by_id(ticket_id) }
    }

    /// The code and ticket that a scan of this device was about, as they are known now.
    pub fn about(&self, scan: &Scan) -> About {
        let held = scan.barcode_hash.and_then(|hash| self.ticket_of(&hash));
        let ticket = held.or_else(|| self.ticket_by_id(scan.ticket_id.as_ref()?));
        About { hash: scan.barcode_hash, raw: scan.raw_hash, ticket }
    }
}
