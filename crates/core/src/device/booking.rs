//! Lets a whole booking in at once: the other tickets of an order are offered together with one of them (decision 035).
//!
//! Each ticket has a scan of its own, which is judged and undone separately. The device decides alone, even if the
//! server answers quickly. Five questions one after another would slow the door down.

use super::door::shown;
use super::lookup::About;
use super::recorder::After;
use super::state::State;
use super::verdict::asks_staff;
use crate::decide::{Screen, screen};
use crate::gate::Direction;
use crate::ids::{ScanId, TicketId};
use crate::limits;
use crate::scan::{Method, Outcome, Scan, ScanKind};
use crate::sign::{self, content_digest, prev_of};
use crate::wire::engine::{Booking, BookingTicket, VerdictView};
use crate::wire::journal::{Entry, Scanned};

impl State {
    /// The other tickets of a ticket's booking in this device's list, in order of code.
    pub fn others_of_booking(&self, ticket_id: &TicketId) -> Vec<TicketId> {
        self.list.as_ref().map(|list| list.others_of_group(ticket_id)).unwrap_or_default()
    }

    /// The booking that is offered after an entry that is valid or a duplicate. `None` after any other scan, or if the
    /// ticket's booking has no other tickets.
    pub fn booking_of(&self, scan: &Scan) -> Option<Booking> {
        let entry = scan.kind == ScanKind::Entry && matches!(scan.outcome, Outcome::Valid | Outcome::Duplicate);
        let ticket_id = scan.ticket_id.as_ref().filter(|_| entry && self.direction() == Direction::In)?;
        let mut booking = Booking::default();
        for other in self.others_of_booking(ticket_id).into_iter().take(limits::BOOKING_TICKETS) {
            let about = self.picked(&other);
            let (Some(asked), Some(rules)) = (self.ask(&about, ScanKind::Entry, None), about.rules()) else { continue };
            let would = screen(&asked.verdict, ScanKind::Entry, false, self.is_flagged(&about));
            match would {
                Screen::Admit | Screen::Full => {
                    let persons = asked.verdict.may_admit;
                    let zone = rules.zone.clone();
                    let name = self.name_of(&other);
                    booking.others.push(BookingTicket {
                        ticket_id: other,
                        name,
                        zone,
                        persons,
                        scan_id: None,
                        screen: None,
                    });
                }
                Screen::AlreadyIn => booking.already_in += 1,
                _ => booking.by_themselves += 1,
            }
        }
        booking.others.sort_by(|a, b| (&a.name, &a.ticket_id).cmp(&(&b.name, &b.ticket_id)));
        let persons: u32 = booking.others.iter().map(|other| other.persons).sum();
        // The persons of this scan are not yet in the area's count.
        let inside = self.area_inside() + if scan.opened { scan.count } else { 0 };
        let capacity = self.gate().and_then(|gate| gate.capacity);
        booking.places_left = capacity.map(|most| most.saturating_sub(inside)).filter(|places| *places < persons);
        let any = !booking.others.is_empty() || booking.already_in + booking.by_themselves > 0;
        any.then_some(booking)
    }

    /// Lets in the named tickets of a scan's booking, with one scan per ticket. One append stores the scans, and one
    /// verdict shows them all.
    pub fn admit_booking(&mut self, scan_id: &ScanId, ticket_ids: &[TicketId]) {
        if let Err((code, message)) = self.may_scan() {
            return self.refuse(code, message);
        }
        let scanned = self.recorder.journal().find(scan_id).filter(|own| self.is_here(&own.scan));
        let Some(first) = scanned.and_then(|own| own.scan.ticket_id.clone()) else {
            return self.refuse("unknown_scan", "There is no such scan on this device.");
        };
        let others = self.others_of_booking(&first);
        let mut wanted: Vec<&TicketId> = ticket_ids.iter().collect();
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.is_empty() || wanted.len() > limits::BOOKING_TICKETS || wanted.iter().any(|id| !others.contains(id)) {
            return self.refuse("unknown_guest", "This booking changed meanwhile. Scan one of its tickets again.");
        }
        self.used_at = Some(self.mono());
        let Some(key) = self.recorder.journal().api_key() else {
            return self.refuse("not_paired", "This device has no key any more: pair it again.");
        };
        let key = key.scan_key();
        let (mut entries, mut became, mut view) = (Vec::new(), Vec::new(), None);
        let (mut seq, mut prev, mut last_at) =
            (self.recorder.journal().head_seq(), self.recorder.journal().prev(), self.recorder.journal().last_at());
        for ticket_id in wanted {
            let about = self.picked(ticket_id);
            let Some(asked) = self.ask_after(last_at, &about, ScanKind::Entry, None) else { continue };
            let Some(mut scan) = self.draft(&about, &asked, Method::Manual) else { continue };
            let mut said = screen(&asked.verdict, ScanKind::Entry, false, self.is_flagged(&about));
            if said == Screen::Full {
                said = Screen::Admit; // Staff were told that the area is full, and let the booking in.
            }
            // A guest with a flag is not let in without a look: the scan of that ticket asks staff first.
            scan.opened = scan.outcome == Outcome::Valid && !asks_staff(said);
            scan.count = if scan.opened { asked.verdict.may_admit.max(1) } else { 1 };
            seq += 1;
            (scan.seq, scan.prev) = (Some(seq), Some(prev));
            (prev, last_at) = (prev_of(&content_digest(&scan)), Some(scan.at));
            let shown = shown(said, &about, &asked);
            became.push(BookingTicket {
                ticket_id: ticket_id.clone(),
                name: self.name_of(ticket_id),
                zone: about.rules().map(|rules| rules.zone.clone()).unwrap_or_default(),
                persons: if scan.opened { scan.count } else { 0 },
                scan_id: Some(scan.scan_id.clone()),
                screen: Some(said),
            });
            let each = self.verdict_view(&scan, &shown, asked.standing.last_entry.as_ref(), about.rules());
            // The first scan that let somebody in makes the verdict. If none did, the first refusal makes it.
            if view.as_ref().is_none_or(|view: &VerdictView| scan.opened && !view.opened) {
                view = Some(each);
            }
            let signature = sign::sign_v2(&key, &scan);
            entries.push(Entry::Scan(Box::new(Scanned { scan, signature, shown, named: None })));
        }
        let Some(mut view) = view else { return };
        view.count = became.iter().map(|ticket| ticket.persons).sum();
        became.sort_by(|a, b| (&a.name, &a.ticket_id).cmp(&(&b.name, &b.ticket_id)));
        // The verdict is about all tickets, so a single guest's name and note are left out. They stand in the booking's
        // rows.
        (view.name, view.note, view.flag, view.zone) = (None, None, None, None);
        view.can_undo = false;
        view.booking = Some(Booking { became, ..Booking::default() });
        self.recorder.append(&mut self.out, entries, vec![After::Show(Box::new(view))]);
    }

    /// A ticket that was picked without reading a code.
    pub fn picked(&self, ticket_id: &TicketId) -> About {
        About { hash: None, raw: None, ticket: self.ticket_by_id(ticket_id) }
    }

    /// The name of the ticket's guest. `None` if this gate may not know names, or the name is not on the device.
    fn name_of(&self, ticket_id: &TicketId) -> Option<String> {
        self.guest_of(ticket_id).filter(|_| self.names_allowed()).map(|guest| guest.name.clone())
    }
}
