//! Exports scans with the ticket and the guest that each is about, for files that people read.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::access::Action;
use admit_core::ids::{EventId, GuestId, TicketId};
use admit_core::incident::Subject;

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, ScanFilter, read};
use crate::records::{GuestRecord, Listed, Page, ScanRow, TicketRecord};

/// A scan, with its ticket and guest as they are known now.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanOfGuest {
    /// The scan and its verdict.
    pub row: ScanRow,
    /// The ticket that holds the scan's code. Absent if none does.
    pub ticket: Option<TicketRecord>,
    /// The guest who holds that ticket. Absent if there is none.
    pub guest: Option<GuestRecord>,
}

/// A page of scans, newest arrival first. Scans that arrive meanwhile don't change later pages.
pub async fn export(app: &App, caller: &UserCaller, event_id: EventId, page: Page) -> Result<Listed<ScanOfGuest>> {
    caller.must(Action::ReadScans)?;
    caller.must(Action::ManageGuests)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        tx.event(&event_id)?.ok_or_else(|| Error::not_found("event"))?;
        let listed = tx.scans(&event_id, &ScanFilter::default(), &page)?;
        let ids: BTreeSet<TicketId> = listed.items.iter().filter_map(ticket_id).collect();
        let tickets = tx.tickets_by_id(&event_id, &ids.into_iter().collect::<Vec<_>>())?;
        let tickets: BTreeMap<TicketId, TicketRecord> =
            tickets.into_iter().map(|ticket| (ticket.ticket_id.clone(), ticket)).collect();
        let ids: Vec<GuestId> = tickets.values().filter_map(|ticket| ticket.guest_id.clone()).collect();
        let guests = tx.guests_by_id(&ids)?;
        let guests: BTreeMap<GuestId, GuestRecord> =
            guests.into_iter().map(|guest| (guest.guest_id.clone(), guest)).collect();
        let items = listed.items.into_iter().map(|row| {
            let ticket = ticket_id(&row).and_then(|id| tickets.get(&id)).cloned();
            let guest_id = ticket.as_ref().and_then(|ticket| ticket.guest_id.as_ref());
            let guest = guest_id.and_then(|id| guests.get(id)).cloned();
            ScanOfGuest { row, ticket, guest }
        });
        Ok(Listed { items: items.collect(), next_cursor: listed.next_cursor })
    })
    .await
}

fn ticket_id(row: &ScanRow) -> Option<TicketId> {
    Subject::from_key(&row.subject_key)?.ticket_id().cloned()
}
