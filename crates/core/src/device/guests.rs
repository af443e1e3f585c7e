//! Guests' names on a device. Only devices at gates that allow names hold them. They are stored encrypted and searched
//! without the network (spec §5 "names").

use std::collections::BTreeMap;

use super::book::{NAMES, NameBook, names_key};
use super::list::List;
use super::lookup::{About, Known};
use super::outbox::Outbox;
use super::recorder::Recorder;
use super::uplink::{Answer, Ask, Kind, Refusal, Request, Uplink};
use crate::ids::{EventId, TicketId};
use crate::limits;
use crate::manifest::verify::Expected;
use crate::manifest::{Names, read_names};
use crate::rule::Epoch;
use crate::wire::engine::{Effect, FieldView, NamesView};
use crate::wire::manifest::GuestName;
use crate::wire::scanning::SIGNATURE_HEADER;

/// The guests' names that this device holds.
#[derive(Debug, Default)]
pub(super) struct Guests {
    /// Absent if this gate allows no names, or none came yet.
    book: Option<NameBook>,
    /// The version of the list with which the server refused names. The device does not ask again with the same list.
    refused: Option<u64>,
    /// Whether the names must be fetched whole, because those held are signed under a key that was rotated out.
    whole_next: bool,
    /// The newest change of the event that a heartbeat's answer named.
    head_named: Option<(Epoch, u64)>,
}

impl Guests {
    /// The names, ready to be searched. `None` if the device holds none.
    pub fn book(&self) -> Option<&NameBook> {
        self.book.as_ref()
    }
    /// The guest who holds a ticket. `None` if the device holds no name for it.
    pub fn guest_of(&self, ticket_id: &TicketId) -> Option<&GuestName> {
        self.book.as_ref()?.names.by_ticket.get(ticket_id)
    }
    /// The fields of a guest that a verdict shows.
    pub fn fields_of(&self, guest: &GuestName) -> Vec<FieldView> {
        let shown = self.book.iter().flat_map(|book| book.names.fields(guest));
        shown.map(|(label, value)| FieldView { label: label.to_owned(), value: value.to_owned() }).collect()
    }
    /// Whether the ticket's guest carries a flag, so that staff must look twice.
    pub fn is_flagged(&self, about: &About) -> bool {
        let guest = about.ticket_id().and_then(|id| self.guest_of(id));
        guest.is_some_and(|guest| guest.flag.as_ref().is_some_and(|flag| !flag.is_empty()))
    }
    /// The state of the names, for the screen.
    pub fn view(&self, known: Known<'_>, at_ms: i64) -> NamesView {
        match &self.book {
            _ if !known.names_allowed(at_ms) || self.is_refused_with(known.list()) => NamesView::Off,
            None => NamesView::Loading,
            Some(book) => NamesView::Held { guests: book.names.by_ticket.len() as u64 },
        }
    }

    // ------------------------------------------------------------------------------------------ begin and end of use

    /// At start: takes the names from the cache if the list says that this device's gate allows them. Deletes all
    /// other names from the cache.
    pub fn open(
        &mut self,
        known: Known<'_>,
        at_ms: i64,
        out: &mut Outbox,
        caches: &BTreeMap<String, Vec<u8>>,
        (keys, expected): (&[&str], Expected<'_>),
    ) {
        self.book = NameBook::open(caches, keys, expected).filter(|_| known.names_allowed(at_ms));
        let kept: Vec<String> = self.book.iter().flat_map(NameBook::keys).collect();
        for key in caches.keys().filter(|key| key.starts_with(NAMES) && !kept.contains(key)) {
            out.emit(Effect::Forget { key: key.clone() });
        }
        self.whole_next = known.journal.old_key.is_some();
    }

    /// Takes a new pairing or assignment into use.
    pub fn settle(&mut self, recorder: &Recorder) {
        self.whole_next = recorder.journal().old_key.is_some();
        self.refused = None;
    }
    /// Takes note that the device belongs to another event now, or has no list. The names themselves are dropped after
    /// the same input ([`Guests::follow_time`]).
    pub fn leave_event(&mut self) {
        self.head_named = None;
    }
    /// Drops the names from memory. The caches of a revoked device are wiped as a whole.
    pub fn wipe(&mut self) {
        self.book = None;
    }
    /// Takes the newest change of the event, as a heartbeat's answer named it.
    pub fn heard_of(&mut self, change: (Epoch, u64)) {
        self.head_named = self.head_named.max(Some(change));
    }

    /// Drops names that this device may no longer hold. They were allowed when they were stored, but the list has
    /// expired since. No network and no action of staff is needed for this.
    pub fn follow_time(&mut self, known: Known<'_>, at_ms: i64, out: &mut Outbox) {
        if self.book.is_some() && !known.names_allowed(at_ms) {
            self.forget(out);
        }
    }
    /// Handles a new list, which may have new guests, or may no longer allow names at this gate.
    pub fn follow_list(&mut self, known: Known<'_>, at_ms: i64, link: &mut Uplink, out: &mut Outbox) {
        if known.names_allowed(at_ms) {
            link.hurry(Kind::Names, out.mono());
        } else {
            self.forget(out);
        }
    }
    /// Removes all names, because the gate allows none, the event is over, or this device belongs to another event now.
    fn forget(&mut self, out: &mut Outbox) {
        let Some(book) = self.book.take() else { return };
        for key in book.keys() {
            out.emit(Effect::Forget { key });
        }
    }

    // --------------------------------------------------------------------------------------------------- following

    /// The newest change of the event that the server mentioned. `None` if it mentioned none.
    fn newest_change(&self, known: Known<'_>) -> Option<(Epoch, u64)> {
        let told = known.feed().cursor().map(|cursor| (cursor.epoch, cursor.serial));
        told.max(self.head_named)
    }
    /// Whether the server refused names to a device with this list.
    fn is_refused_with(&self, list: Option<&List>) -> bool {
        self.refused.is_some_and(|version| list.map(|it| it.version) == Some(version))
    }

    /// Whether to ask for names: the server may have some that this device lacks.
    pub fn are_wanted(&self, known: Known<'_>, at_ms: i64) -> bool {
        if self.is_refused_with(known.list()) || !known.names_allowed(at_ms) {
            return false;
        }
        let newest = self.newest_change(known);
        self.whole_next || self.book.as_ref().is_none_or(|book| newest > Some(book.checked))
    }

    /// The request for names. If the device holds names, it asks only for those that changed since, unless it needs the
    /// whole set.
    pub fn request(&self, known: Known<'_>, link: &Uplink, event_id: EventId) -> Request {
        let seen = self.newest_change(known);
        let same_epoch = |book: &&NameBook| seen.is_none_or(|(epoch, _)| epoch == book.names.epoch);
        let few = link.lane(Kind::Names).failures() == 0 && !self.whole_next;
        let since = self.book.as_ref().filter(same_epoch).filter(|book| few && book.deltas.len() < limits::DELTAS);
        let since = since.map(|book| book.names.version);
        let query = since.map(|since| format!("?since={since}")).unwrap_or_default();
        let path = format!("/api/scanning/events/{event_id}/names{query}");
        let held = self.book.as_ref().filter(|_| !self.whole_next).map(|book| &book.names);
        let etag = held.map(|names| format!("W/\"names.{}.{}\"", names.epoch, names.version));
        Request { etag, ..Request::get(Ask::Names { event_id, seen }, path, limits::MANIFEST_MS) }
    }

    /// Takes the server's answer with names. If they do not verify, the device refuses them and keeps the names that it
    /// holds. `event_id` and `seen` are the event of the request, and the newest change that was known when it left. Returns what a refusal means for the device
    /// as a whole. `None` if the answer is no refusal.
    pub fn answered(
        &mut self,
        known: Known<'_>,
        at_ms: i64,
        link: &mut Uplink,
        out: &mut Outbox,
        (event_id, seen): (&EventId, Option<(Epoch, u64)>),
        answer: &Answer<'_>,
    ) -> Option<Refusal> {
        let paired = known.paired().filter(|paired| paired.event_id == *event_id)?;
        if answer.status == 304 {
            if let Some(book) = &mut self.book {
                book.checked = seen.map_or(book.checked, |seen| seen.max(book.checked));
            }
        } else if answer.status == 403 && answer.problem().is_some_and(|problem| problem.code == "names_not_allowed") {
            self.refused = known.list().map(|list| list.version);
            self.forget(out);
        } else {
            let (200, Some(signature)) = (answer.status, answer.header(SIGNATURE_HEADER)) else {
                return Some(link.refused(out, Kind::Names, answer));
            };
            if known.names_allowed(at_ms) {
                let expected = Expected { organization_id: &paired.organization_id, event_id };
                let active = self.book.as_ref().map(|book| &book.names);
                let Ok(names) = read_names(answer.body, Some(signature), &paired.api_key, expected, active) else {
                    // The next request asks for the whole, after a pause.
                    link.failed(out, Kind::Names);
                    return None;
                };
                self.keep(out, event_id, names);
            }
        }
        link.done(Kind::Names, out.mono(), limits::NAMES_EVERY_MS);
        None
    }

    fn keep(&mut self, out: &mut Outbox, event_id: &EventId, names: Names) {
        let key = names_key(event_id);
        let mut deltas = self.book.take().map(|book| book.deltas).unwrap_or_default();
        if names.whole {
            self.whole_next = false;
            out.emit(Effect::Save { key: key.clone(), text: None, sealed: true });
            for version in std::mem::take(&mut deltas) {
                out.emit(Effect::Forget { key: format!("{key}:{version}") });
            }
        } else if deltas.last() != Some(&names.version) {
            out.emit(Effect::Save { key: format!("{key}:{}", names.version), text: None, sealed: true });
            deltas.push(names.version);
        }
        self.book = Some(NameBook::new(event_id.clone(), names, deltas));
    }
}
