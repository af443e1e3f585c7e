//! The guest list at the door: staff search for a guest by name, and pick one (experience §9 Search).

use std::collections::BTreeSet;

use super::desk::{Act, Desk};
use super::door::judge;
use super::outbox::Outbox;
use super::reader::Reader;
use crate::decide::Reason;
use crate::ids::TicketId;
use crate::limits;
use crate::scan::Method;
use crate::wire::engine::{Effect, FoundGuest};
use crate::wire::manifest::GuestName;

/// Searches for a guest by name, for staff.
pub(super) fn search(desk: &Desk<'_>, text: &str) -> Effect {
    let book = desk.guests.book().filter(|_| desk.names_allowed());
    let mut found = book.map(|book| book.search(text, limits::SEARCH_ROWS)).unwrap_or_default();
    let more = found.len() > limits::SEARCH_ROWS;
    found.truncate(limits::SEARCH_ROWS);
    let guests = with_bookings(desk, &found);
    Effect::Found { text: text.to_owned(), guests, more }
}

/// The found guests. After each come the other guests of the same booking whom the search did not find.
fn with_bookings(desk: &Desk<'_>, found: &[&GuestName]) -> Vec<FoundGuest> {
    let mut rows: Vec<FoundGuest> = Vec::with_capacity(found.len());
    let mut placed: BTreeSet<TicketId> = found.iter().map(|guest| guest.ticket_id.clone()).collect();
    for guest in found {
        let others = desk.known.others_of_booking(&guest.ticket_id);
        let booking = u32::try_from(others.len()).unwrap_or(u32::MAX);
        rows.push(FoundGuest { booking, ..found_guest(desk, guest) });
        let unplaced: Vec<TicketId> = others.into_iter().filter(|id| !placed.contains(id)).collect();
        let named = unplaced.iter().filter_map(|id| desk.guests.guest_of(id));
        let mut named: Vec<&GuestName> = named.collect();
        named.sort_by(|a, b| (&a.name, &a.ticket_id).cmp(&(&b.name, &b.ticket_id)));
        for other in named.into_iter().take(limits::BOOKING_ROWS) {
            rows.push(FoundGuest { booking, of_booking: true, ..found_guest(desk, other) });
            placed.insert(other.ticket_id.clone());
        }
    }
    rows
}

fn found_guest(desk: &Desk<'_>, guest: &GuestName) -> FoundGuest {
    let about = desk.known.picked(&guest.ticket_id);
    let asked = desk.ask(&about, desk.known.kind(), None);
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
pub(super) fn pick_guest(
    desk: &Desk<'_>,
    reader: &mut Reader,
    out: &mut Outbox,
    ticket_id: &TicketId,
    may_ask: bool,
) -> Act {
    if let Err(refusal) = desk.known.may_scan() {
        return refusal.into();
    }
    if desk.guest_of(ticket_id).is_none() {
        return Act::refuse("unknown_guest", "This guest is not in this device's list any more. Search again.");
    }
    let about = desk.known.picked(ticket_id);
    if about.ticket.is_none() {
        let message = "This guest's ticket is not in this device's list yet. It comes by itself: try again soon.";
        return Act::refuse("unknown_guest", message);
    }
    judge(desk, reader, out, &about, Method::Manual, may_ask)
}
