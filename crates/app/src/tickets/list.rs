//! Which tickets an event has, and how each stands.

use admit_core::access::Action;
use admit_core::ids::{EventId, TicketId};
use admit_core::incident::Subject;

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::ports::{App, TicketFilter, read};
use crate::records::*;

/// A ticket, its holder, and what its scans add up to.
pub type Listing = (TicketRecord, Option<GuestRecord>, Option<StateRecord>);

/// A page of tickets, newest first.
pub async fn list(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    filter: TicketFilter,
    page: Page,
) -> Result<Listed<Listing>> {
    caller.must(Action::ReadGuests)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        tx.tickets(&event_id, &filter, &page)
    })
    .await
}

/// Counts the tickets that `text` finds, all of them where it is absent.
pub async fn count(app: &App, caller: &UserCaller, event_id: EventId, text: Option<String>) -> Result<TicketCounts> {
    caller.must(Action::ReadGuests)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        tx.count_found_tickets(&event_id, text.as_deref())
    })
    .await
}

/// One ticket.
pub async fn show(app: &App, caller: &UserCaller, ticket_id: TicketId) -> Result<Listing> {
    caller.must(Action::ReadGuests)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        let ticket = tx.ticket(&ticket_id)?.ok_or_else(|| Error::not_found("ticket"))?;
        let guest_ids: Vec<_> = ticket.guest_id.iter().cloned().collect();
        let guest = tx.guests_by_id(&guest_ids)?.into_iter().next();
        let key = Subject::Ticket(ticket.ticket_id.clone()).key();
        let state = tx.states(&ticket.event_id, &[key])?.into_iter().next();
        Ok((ticket, guest, state))
    })
    .await
}
