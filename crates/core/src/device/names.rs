//! Guests' names on a device. Only devices at gates that allow names hold them. They are stored encrypted and searched
//! without the network (spec §5 "names", experience §9 Search).

use std::collections::{BTreeMap, BTreeSet};

use super::book::{NAMES, NameBook, names_key};
use super::list::List;
use super::lookup::About;
use super::state::State;
use super::uplink::{Answer, Ask, Kind, Request};
use crate::decide::Reason;
use crate::gate::Direction;
use crate::ids::{EventId, TicketId};
use crate::limits;
use crate::manifest::verify::Expected;
use crate::manifest::{Names, read_names};
use crate::rule::Epoch;
use crate::scan::{Method, ScanKind};
use crate::wire::engine::{Effect, FieldView, FoundGuest, NamesView};
use crate::wire::manifest::GuestName;
use crate::wire::scanning::SIGNATURE_HEADER;

impl State {
    /// Whether this device may hold names. Its gate must allow them in the list, and the list must not have expired. So
    /// a phone that receives nothing loses its names too.
    pub fn names_allowed(&self) -> bool {
        let allowed = self.gate().is_some_and(|gate| gate.names_on_devices);
        let is_good = |list: &List| self.session.at_ms() < list.expires_at.ms();
        !self.recorder.journal().revoked && allowed && self.list.as_ref().is_some_and(is_good)
    }

    /// The guest who holds a ticket. `None` if the device holds no name for it.
    pub fn guest_of(&self, ticket_id: &TicketId) -> Option<&GuestName> {
        self.names.as_ref()?.names.by_ticket.get(ticket_id)
    }

    /// The fields of a guest that a verdict shows.
    pub fn fields_of(&self, guest: &GuestName) -> Vec<FieldView> {
        let shown = self.names.iter().flat_map(|book| book.names.fields(guest));
        shown.map(|(label, value)| FieldView { label: label.to_owned(), value: value.to_owned() }).collect()
    }

    /// Whether the ticket's guest carries a flag, so that staff must look twice.
    pub fn is_flagged(&self, about: &About) -> bool {
        let guest = about.ticket.as_ref().and_then(|(id, _)| self.guest_of(id));
        guest.is_some_and(|guest| guest.flag.as_ref().is_some_and(|flag| !flag.is_empty()))
    }

    pub fn names_view(&self) -> NamesView {
        match &self.names {
            _ if !self.names_allowed() || self.names_refused_with_list() => NamesView::Off,
            None => NamesView::Loading,
            Some(book) => NamesView::Held { guests: book.names.by_ticket.len() as u64 },
        }
    }

    // --------------------------------------------------------------------------------------------------- following

    /// At start: takes the names from the cache if the list says that this device's gate allows them. All other names
    /// are removed from the cache.
    pub fn names_read(&mut self, book: Option<NameBook>, caches: &BTreeMap<String, Vec<u8>>) {
        self.names = book.filter(|_| self.names_allowed());
        let kept: Vec<String> = self.names.iter().flat_map(NameBook::keys).collect();
        for key in caches.keys().filter(|key| key.starts_with(NAMES) && !kept.contains(key)) {
            self.emit(Effect::Forget { key: key.clone() });
        }
    }

    /// The newest change of the event that the server mentioned. `None` if it mentioned none.
    fn newest_change(&self) -> Option<(Epoch, u64)> {
        let told = self.feed.cursor().map(|cursor| (cursor.epoch, cursor.serial));
        told.max(self.head_named)
    }

    /// Whether the server refused names to a device with this list.
    fn names_refused_with_list(&self) -> bool {
        self.names_refused.is_some_and(|version| self.list.as_ref().map(|it| it.version) == Some(version))
    }

    /// Whether to ask for names: the server may have some that this device lacks.
    pub fn wants_names(&self) -> bool {
        if self.names_refused_with_list() || !self.names_allowed() {
            return false;
        }
        let newest = self.newest_change();
        self.names_whole || self.names.as_ref().is_none_or(|book| newest > Some(book.checked))
    }

    /// Handles a new list, which may have new guests, or may no longer allow names at this gate.
    pub fn names_follow_list(&mut self) {
        if self.names_allowed() {
            let now = self.mono();
            self.uplink.hurry(Kind::Names, now);
        } else {
            self.forget_names();
        }
    }

    /// Asks for names. If the device holds some, it asks for the changes since, unless the whole is needed.
    pub fn ask_names(&mut self) {
        let Some(event_id) = self.paired().map(|paired| paired.event_id.clone()) else { return };
        let seen = self.newest_change();
        let same_epoch = |book: &&NameBook| seen.is_none_or(|(epoch, _)| epoch == book.names.epoch);
        let few = self.uplink.lane(Kind::Names).failures() == 0 && !self.names_whole;
        let since = self.names.as_ref().filter(same_epoch).filter(|book| few && book.deltas.len() < limits::DELTAS);
        let since = since.map(|book| book.names.version);
        let query = since.map(|since| format!("?since={since}")).unwrap_or_default();
        let path = format!("/api/scanning/events/{event_id}/names{query}");
        let request = Request::get(Ask::Names { event_id, seen }, path, limits::MANIFEST_MS);
        self.send(Request { etag: self.names_etag(), ..request });
    }

    /// The value of `If-None-Match` in a request for names. `None` if the whole is needed.
    fn names_etag(&self) -> Option<String> {
        let names = &self.names.as_ref().filter(|_| !self.names_whole)?.names;
        Some(format!("W/\"names.{}.{}\"", names.epoch, names.version))
    }

    /// Takes the server's answer with names. Names that do not verify are refused, and those held stay.
    pub fn names_answered(&mut self, event_id: &EventId, seen: Option<(Epoch, u64)>, answer: &Answer<'_>) {
        let Some(paired) = self.paired().filter(|paired| paired.event_id == *event_id).cloned() else { return };
        if answer.status == 304 {
            if let Some(book) = &mut self.names {
                book.checked = seen.map_or(book.checked, |seen| seen.max(book.checked));
            }
            return self.done(Kind::Names, limits::NAMES_EVERY_MS);
        }
        if answer.status == 403 && answer.problem().is_some_and(|problem| problem.code == "names_not_allowed") {
            self.names_refused = self.list.as_ref().map(|list| list.version);
            self.forget_names();
            return self.done(Kind::Names, limits::NAMES_EVERY_MS);
        }
        let (200, Some(signature)) = (answer.status, answer.header(SIGNATURE_HEADER)) else {
            return self.refused(Kind::Names, answer);
        };
        if !self.names_allowed() {
            return self.done(Kind::Names, limits::NAMES_EVERY_MS);
        }
        let expected = Expected { organization_id: &paired.organization_id, event_id };
        let active = self.names.as_ref().map(|book| &book.names);
        match read_names(answer.body, Some(signature), &paired.api_key, expected, active) {
            Ok(names) => {
                self.keep_names(event_id, names);
                self.done(Kind::Names, limits::NAMES_EVERY_MS);
            }
            // The next request asks for the whole, after a pause.
            Err(_) => self.failed(Kind::Names),
        }
    }

    fn keep_names(&mut self, event_id: &EventId, names: Names) {
        let key = names_key(event_id);
        let mut deltas = self.names.take().map(|book| book.deltas).unwrap_or_default();
        if names.whole {
            self.names_whole = false;
            self.emit(Effect::Save { key: key.clone(), text: None, sealed: true });
            for version in std::mem::take(&mut deltas) {
                self.emit(Effect::Forget { key: format!("{key}:{version}") });
            }
        } else if deltas.last() != Some(&names.version) {
            self.emit(Effect::Save { key: format!("{key}:{}", names.version), text: None, sealed: true });
            deltas.push(names.version);
        }
        self.names = Some(NameBook::new(event_id.clone(), names, deltas));
    }

    /// Drops names that this device may no longer hold. They were allowed when they were stored, but the list has expired
    /// since. No network and no action of staff is needed for this.
    pub fn names_follow_time(&mut self) {
        if self.names.is_some() && !self.names_allowed() {
            self.forget_names();
        }
    }

    /// Removes all names, because the gate allows none, the event is over, or this device belongs to another event now.
    pub fn forget_names(&mut self) {
        let Some(book) = self.names.take() else { return };
        for key in book.keys() {
            self.emit(Effect::Forget { key });
        }
    }

    // ------------------------------------------------------------------------------------------------ at the door

    /// Searches for a guest by name, for staff.
    pub fn search(&mut self, text: &str) {
        let book = self.names.as_ref().filter(|_| self.names_allowed());
        let mut found = book.map(|book| book.search(text, limits::SEARCH_ROWS)).unwrap_or_default();
        let more = found.len() > limits::SEARCH_ROWS;
        found.truncate(limits::SEARCH_ROWS);
        let guests = self.with_bookings(&found);
        self.emit(Effect::Found { text: text.to_owned(), guests, more });
    }

    /// The found guests. Each is followed by the others of the same booking that the search did not find.
    fn with_bookings(&self, found: &[&GuestName]) -> Vec<FoundGuest> {
        let mut rows: Vec<FoundGuest> = Vec::with_capacity(found.len());
        let mut placed: BTreeSet<TicketId> = found.iter().map(|guest| guest.ticket_id.clone()).collect();
        for guest in found {
            let others = self.others_of_booking(&guest.ticket_id);
            let booking = u32::try_from(others.len()).unwrap_or(u32::MAX);
            rows.push(FoundGuest { booking, ..self.found(guest) });
            let unplaced: Vec<TicketId> = others.into_iter().filter(|id| !placed.contains(id)).collect();
            let named = unplaced.iter().filter_map(|id| self.guest_of(id));
            let mut named: Vec<&GuestName> = named.collect();
            named.sort_by(|a, b| (&a.name, &a.ticket_id).cmp(&(&b.name, &b.ticket_id)));
            for other in named.into_iter().take(limits::BOOKING_ROWS) {
                rows.push(FoundGuest { booking, of_booking: true, ..self.found(other) });
                placed.insert(other.ticket_id.clone());
            }
        }
        rows
    }

    fn found(&self, guest: &GuestName) -> FoundGuest {
        let about = self.picked(&guest.ticket_id);
        let kind = if self.direction() == Direction::Out { ScanKind::Exit } else { ScanKind::Entry };
        let asked = self.ask(&about, kind, None);
        FoundGuest {
            ticket_id: guest.ticket_id.clone(),
            name: guest.name.clone(),
            party_size: guest.party_size,
            note: guest.note.clone(),
            flag: guest.flag.clone(),
            zone: about.rules().map(|rules| rules.zone.clone()),
            already_in: asked.as_ref().map_or(0, |asked| asked.standing.used),
            may_admit: asked.as_ref().map_or(0, |asked| asked.verdict.may_admit),
            reason: asked.and_then(|asked| asked.verdict.reason).map(|reason: Reason| reason.as_str().to_owned()),
            booking: 0,
            of_booking: false,
        }
    }

    /// Scans the ticket of a guest whom staff picked by hand (spec §4 "Which ticket").
    pub fn pick_guest(&mut self, ticket_id: &TicketId) {
        if let Err((code, message)) = self.may_scan() {
            return self.refuse(code, message);
        }
        if !self.names_allowed() || self.guest_of(ticket_id).is_none() {
            return self.refuse("unknown_guest", "This guest is not in this device's list any more. Search again.");
        }
        let about = self.picked(ticket_id);
        if about.ticket.is_none() {
            let message = "This guest's ticket is not in this device's list yet. It comes by itself: try again soon.";
            return self.refuse("unknown_guest", message);
        }
        self.judge(&about, Method::Manual);
    }
}
