//! Lets a whole booking in at once: the other tickets of an order are offered together with one of them (decision 035).
//!
//! Each ticket has a scan of its own, which is judged and undone separately. The device decides alone, even if the
//! server answers quickly. One question to the server per ticket, one after another, would slow the door down.

use super::desk::{Act, Desk};
use super::outbox::Outbox;
use super::reader::Reader;
use super::recorder::After;
use super::verdict::{asks_staff, verdict_view};
use crate::decide::{Screen, screen};
use crate::ids::{ScanId, TicketId};
use crate::limits;
use crate::scan::{Method, Outcome, ScanKind};
use crate::sign::{self, content_digest, prev_of};
use crate::wire::engine::{Booking, BookingTicket, VerdictView};
use crate::wire::journal::{Entry, Scanned};

/// Lets in the named tickets of a scan's booking, with one scan per ticket. One append stores the scans, and one
/// verdict shows them all.
pub(super) fn admit_booking(
    desk: &Desk<'_>,
    reader: &mut Reader,
    out: &mut Outbox,
    scan_id: &ScanId,
    ticket_ids: &[TicketId],
) -> Act {
    let (known, journal) = (desk.known, desk.known.journal);
    if let Err(refusal) = known.may_scan() {
        return refusal.into();
    }
    let scanned = journal.find(scan_id).filter(|own| known.is_here(&own.scan));
    let Some(first) = scanned.and_then(|own| own.scan.ticket_id.clone()) else {
        return Act::refuse("unknown_scan", "There is no such scan on this device.");
    };
    let others = known.others_of_booking(&first);
    let mut wanted: Vec<&TicketId> = ticket_ids.iter().collect();
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() || wanted.len() > limits::BOOKING_TICKETS || wanted.iter().any(|id| !others.contains(id)) {
        return Act::refuse("unknown_guest", "This booking changed meanwhile. Scan one of its tickets again.");
    }
    reader.used(desk.session);
    let Some(key) = journal.api_key() else {
        return Act::refuse("not_paired", "This device has no key any more: pair it again.");
    };
    let key = key.scan_key();
    let (mut entries, mut became, mut view) = (Vec::new(), Vec::new(), None);
    let (mut seq, mut prev, mut last_at) = (journal.head_seq(), journal.prev(), journal.last_at());
    for ticket_id in wanted {
        let about = known.picked(ticket_id);
        let Some(asked) = desk.ask_after(last_at, &about, ScanKind::Entry, None) else { continue };
        let Some(mut scan) = desk.draft(out, &about, &asked, Method::Manual) else { continue };
        let mut said = screen(&asked.verdict, ScanKind::Entry, false, desk.guests.is_flagged(&about));
        if said == Screen::Full {
            said = Screen::Admit; // Staff were told that the area is full, and let the booking in.
        }
        // A guest with a flag is not let in without a look: the scan of that ticket asks staff first.
        scan.opened = scan.outcome == Outcome::Valid && !asks_staff(said);
        scan.count = if scan.opened { asked.verdict.may_admit.max(1) } else { 1 };
        seq += 1;
        (scan.seq, scan.prev) = (Some(seq), Some(prev));
        (prev, last_at) = (prev_of(&content_digest(&scan)), Some(scan.at));
        let shown = asked.shown(said, &about);
        became.push(BookingTicket {
            ticket_id: ticket_id.clone(),
            name: desk.name_of(ticket_id),
            zone: about.rules().map(|rules| rules.zone.clone()).unwrap_or_default(),
            persons: if scan.opened { scan.count } else { 0 },
            scan_id: Some(scan.scan_id.clone()),
            screen: Some(said),
        });
        let each = verdict_view(desk, &scan, &shown, asked.standing.last_entry.as_ref(), about.rules());
        // The first scan that let somebody in makes the verdict. If none did, the first refusal makes it.
        if view.as_ref().is_none_or(|view: &VerdictView| scan.opened && !view.opened) {
            view = Some(each);
        }
        let signature = sign::sign_v2(&key, &scan);
        entries.push(Entry::Scan(Box::new(Scanned { scan, signature, shown, named: None })));
    }
    let Some(mut view) = view else { return Act::Nothing };
    view.count = became.iter().map(|ticket| ticket.persons).sum();
    became.sort_by(|a, b| (&a.name, &a.ticket_id).cmp(&(&b.name, &b.ticket_id)));
    // The verdict is about all tickets, so a single guest's name and note are left out. They stand in the booking's
    // rows.
    (view.name, view.note, view.flag, view.zone) = (None, None, None, None);
    view.can_undo = false;
    view.booking = Some(Booking { became, ..Booking::default() });
    Act::Record(entries, Some(After::Show(Box::new(view))))
}
