//! Looks up a code: its ticket, the ticket's newest rules, and the ticket's state as this device sees it (spec §4).

use super::journal::OwnScan;
use super::state::State;
use crate::barcode::BarcodeHash;
use crate::ids::{ScanId, TicketId};
use crate::reduce::TicketState;
use crate::scan::Scan;
use crate::short_code::ShortCode;
use crate::ticket::TicketRules;
use crate::view::{Served, fold_view};

/// The subject of a code or a scan: code, ticket and rules, as far as known.
#[derive(Debug, Clone)]
pub(super) struct About {
    pub hash: Option<BarcodeHash>,
    pub raw: Option<BarcodeHash>,
    pub ticket: Option<(TicketId, TicketRules)>,
}

impl About {
    pub fn rules(&self) -> Option<&TicketRules> {
        self.ticket.as_ref().map(|(_, rules)| rules)
    }
}

impl State {
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
        let listed = self.list.as_ref().and_then(|list| list.find(hash));
        let id = listed.as_ref().map(|(id, _)| id).or_else(|| self.feed.by_code(hash))?.clone();
        let rules = self.rules_of(&id, listed.map(|(_, rules)| rules))?;
        Some((id, rules))
    }

    /// Finds the ticket of a typed short code, as if a person had picked it. `None` unless exactly one ticket has it.
    pub fn of_short_code(&self, typed: &str) -> Option<About> {
        let short = ShortCode::read(typed)?;
        let listed = self.list.as_ref().and_then(|list| list.find_short(short));
        let mut ids = listed.iter().chain(self.feed.by_short(short));
        let id = ids.next()?;
        let about = self.picked(id);
        (about.ticket.is_some() && ids.all(|other| other == id)).then_some(about)
    }

    /// A ticket by its id, with its newest rules. `None` if the device does not know it.
    pub fn ticket_by_id(&self, id: &TicketId) -> Option<(TicketId, TicketRules)> {
        let rules = self.rules_of(id, self.list.as_ref().and_then(|list| list.by_ticket(id)))?;
        Some((id.clone(), rules))
    }

    /// A ticket's newest rules: from the changes if they are newer than the list, otherwise from the list.
    fn rules_of(&self, id: &TicketId, listed: Option<TicketRules>) -> Option<TicketRules> {
        let list = self.list.as_ref()?;
        let same_epoch = self.feed.cursor().is_some_and(|cursor| cursor.epoch == list.epoch);
        // If one serial changed more tickets than a page holds, the items of the page carry the serial before it. So an
        // item with the list's version may be newer than the list, and is at least as new.
        let ahead = self.feed.ticket(id).filter(|item| same_epoch && item.serial >= list.version);
        ahead.map(|item| item.changed.rules.clone()).or(listed).or_else(|| self.made_here(id))
    }

    /// The serial of the changes cursor. It is 0 if the changes belong to another epoch than the list.
    pub fn cursor_serial(&self) -> u64 {
        let epoch = self.list.as_ref().map(|list| list.epoch);
        self.feed.cursor().filter(|cursor| Some(cursor.epoch) == epoch).map_or(0, |cursor| cursor.serial)
    }

    /// Whether the server's part of the view includes a scan, since its receipt is at or below the cursor.
    fn covered(&self, own: &OwnScan) -> bool {
        let (Some(cursor), Some((epoch, serial))) = (self.feed.cursor(), own.receipt) else { return false };
        epoch == Some(cursor.epoch) && serial <= cursor.serial
    }

    /// A ticket's state as this device sees it ([`crate::view`]). The scan `but` is left out, even if the server listed
    /// it: the device decides about a claim by the scans before it.
    pub fn state_of(
        &self,
        id: &TicketId,
        rules: &TicketRules,
        hash: Option<BarcodeHash>,
        but: Option<&ScanId>,
    ) -> TicketState {
        let (Some(list), Some(paired)) = (&self.list, self.paired()) else { return TicketState::default() };
        let nothing = TicketState::default();
        let changed = self.feed.ticket(id).map(|item| &item.changed);
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
        let own = self.recorder.journal().of_ticket(&paired.event_id, Some(id), &hashes);
        let own: Vec<&Scan> = own
            .into_iter()
            // The server sends no practice scans. So this device counts its own practice scans here, whether or not the
            // server has received them.
            .filter(|own| (own.scan.practice || !self.covered(own)) && but != Some(&own.scan.scan_id))
            .map(|own| &own.scan)
            .collect();
        fold_view(&list.event, Some(rules), served, &own)
    }

    pub fn is_here(&self, scan: &Scan) -> bool {
        self.paired().is_some_and(|paired| paired.event_id == scan.event_id)
    }

    /// The code and ticket that a scan of this device was about, as they are known now.
    pub fn about(&self, scan: &Scan) -> About {
        let held = scan.barcode_hash.and_then(|hash| self.ticket_of(&hash));
        let ticket = held.or_else(|| self.ticket_by_id(scan.ticket_id.as_ref()?));
        About { hash: scan.barcode_hash, raw: scan.raw_hash, ticket }
    }
}
