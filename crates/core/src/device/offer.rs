//! A scan's offer to let the other tickets of its booking in too (decision 035).

use super::desk::Desk;
use crate::decide::{Screen, screen};
use crate::gate::Direction;
use crate::limits;
use crate::scan::{Outcome, Scan, ScanKind};
use crate::wire::engine::{Booking, BookingTicket};

/// The booking that is offered after an entry that is valid or a duplicate. `None` after any other scan, or if the
/// ticket's booking has no other tickets.
pub(super) fn booking_of(desk: &Desk<'_>, scan: &Scan) -> Option<Booking> {
    let entry = scan.kind == ScanKind::Entry && matches!(scan.outcome, Outcome::Valid | Outcome::Duplicate);
    let ticket_id = scan.ticket_id.as_ref().filter(|_| entry && desk.known.direction() == Direction::In)?;
    let mut booking = Booking::default();
    for other in desk.known.others_of_booking(ticket_id).into_iter().take(limits::BOOKING_TICKETS) {
        let about = desk.known.picked(&other);
        let (Some(asked), Some(rules)) = (desk.ask(&about, ScanKind::Entry, None), about.rules()) else { continue };
        let would = screen(&asked.verdict, ScanKind::Entry, false, desk.guests.is_flagged(&about));
        match would {
            Screen::Admit | Screen::Full => {
                let persons = asked.verdict.may_admit;
                let zone = rules.zone.clone();
                let name = desk.name_of(&other);
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
    let inside = desk.area_inside() + if scan.opened { scan.count } else { 0 };
    let capacity = desk.known.gate().and_then(|gate| gate.capacity);
    booking.places_left = capacity.map(|most| most.saturating_sub(inside)).filter(|places| *places < persons);
    let any = !booking.others.is_empty() || booking.already_in + booking.by_themselves > 0;
    any.then_some(booking)
}
