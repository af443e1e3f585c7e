//! Lists an event's tickets with their states.

use admit_core::access::Action;
use admit_core::ids::{EventId, TicketId};
use admit_core::incident::Subject;
use admit_core::ticket::TicketStatus;

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::ports::{App, Sought, TicketFilter, read};
use crate::records::{GuestRecord, Listed, Page, StateRecord, TicketCounts, TicketRecord};

/// A ticket, its guest, and its state.
pub type Listing = (TicketRecord, Option<GuestRecord>, Option<StateRecord>);

/// Which tickets a list has. An absent member filters nothing.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The text to find: a part of a guest's name, the start of an id, an external id or an order number, or a whole
    /// code. For a caller who may see guests' contacts, also the start of a code.
    pub text: Option<String>,
    /// Only tickets with this administrative status.
    pub status: Option<TicketStatus>,
    /// Only tickets with (or without) anybody let in.
    pub entered: Option<bool>,
}

/// A page of tickets, newest first.
pub async fn list(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    wanted: Wanted,
    page: Page,
) -> Result<Listed<Listing>> {
    caller.must(Action::ReadGuests)?;
    let sees_contacts = caller.sees_contacts();
    let Wanted { text, status, entered } = wanted;
    let filter = TicketFilter { text: text.map(|text| Sought { text, by_contacts: sees_contacts }), status, entered };
    let mut listed = read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        tx.tickets(&event_id, &filter, &page)
    })
    .await?;
    if !sees_contacts {
        for (_, guest, _) in &mut listed.items {
            *guest = guest.take().map(GuestRecord::without_contacts);
        }
    }
    Ok(listed)
}

/// Counts the tickets that `text` finds. If it is absent, all tickets.
pub async fn count(app: &App, caller: &UserCaller, event_id: EventId, text: Option<String>) -> Result<TicketCounts> {
    caller.must(Action::ReadGuests)?;
    let sought = text.map(|text| Sought { text, by_contacts: caller.sees_contacts() });
    read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        tx.count_found_tickets(&event_id, sought.as_ref())
    })
    .await
}

/// One ticket, with its guest and state.
pub async fn show(app: &App, caller: &UserCaller, ticket_id: TicketId) -> Result<Listing> {
    caller.must(Action::ReadGuests)?;
    let sees_contacts = caller.sees_contacts();
    read(&*app.store, &caller.organization_id, move |tx| {
        let ticket = tx.ticket(&ticket_id)?.ok_or_else(|| Error::not_found("ticket"))?;
        let guest_ids: Vec<_> = ticket.guest_id.iter().cloned().collect();
        let guest = tx.guests_by_id(&guest_ids)?.into_iter().next();
        let guest = if sees_contacts { guest } else { guest.map(GuestRecord::without_contacts) };
        let key = Subject::Ticket(ticket.ticket_id.clone()).key();
        let state = tx.states(&ticket.event_id, &[key])?.into_iter().next();
        Ok((ticket, guest, state))
    })
    .await
}
