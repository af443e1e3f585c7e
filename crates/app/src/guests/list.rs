//! Which guests an event expects, and how each stands.

use std::collections::BTreeMap;

use admit_core::access::{Action, can};
use admit_core::ids::{EventId, TicketId};
use admit_core::ticket::TicketStatus;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::events;
use crate::passes::{self, Mailing};
use crate::ports::{App, GuestFilter, read};
use crate::records::*;

/// A guest, and where they stand.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The guest.
    pub guest: GuestRecord,
    /// What their ticket's scans add up to.
    pub state: Option<StateRecord>,
    /// What was said of their ticket, where they hold one.
    pub ticket_status: Option<TicketStatus>,
    /// The event is over: one who never came is a no-show.
    pub is_over: bool,
    /// How the mail of their pass stands, where there is anything to tell.
    pub mailing: Option<Mailing>,
}

/// Where a guest stands: derived, so that a late scan corrects it (spec D17).
pub fn status(listing: &Listing) -> &'static str {
    match &listing.state {
        Some(state) if state.state.persons() > 0 => "checked_in",
        _ if listing.is_over => "no_show",
        _ => "pending",
    }
}

/// A page of guests, newest first; `text` finds parts of a name whatever their case and accents. A promoter sees those of
/// their own lists.
pub async fn list(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    filter: GuestFilter,
    page: Page,
) -> Result<Listed<Listing>> {
    let sees_all = can(caller.role, Action::ReadGuests);
    if !sees_all {
        caller.must(Action::ManageOwnGuests)?;
    }
    // What a promoter may not see is no part of the page, nor of where the next one begins.
    let promoter_id = (!sees_all).then(|| caller.user_id.clone());
    let filter = GuestFilter { promoter_id, ..filter };
    read(&*app.store, &caller.organization_id, move |tx| {
        let event = events::require(tx, &event_id)?;
        let is_over = event.status.is_over();
        let listed = tx.guests(&event_id, &filter, &page)?;
        let mut mailings = passes::mailings(tx, &event_id, listed.items.iter().map(|(guest, _)| guest), sees_all)?;
        let held: Vec<TicketId> = listed.items.iter().filter_map(|(guest, _)| guest.ticket_id.clone()).collect();
        let tickets = tx.tickets_by_id(&event_id, &held)?;
        let statuses: BTreeMap<TicketId, TicketStatus> =
            tickets.into_iter().map(|ticket| (ticket.ticket_id, ticket.rules.status)).collect();
        let items = listed.items.into_iter().map(|(guest, state)| {
            let mailing = mailings.remove(&guest.guest_id);
            let ticket_status = guest.ticket_id.as_ref().and_then(|id| statuses.get(id)).copied();
            Listing { guest, state, ticket_status, is_over, mailing }
        });
        Ok(Listed { items: items.collect(), next_cursor: listed.next_cursor })
    })
    .await
}
