//! Shows one guest with the ticket.

use admit_core::access::{Action, can};
use admit_core::barcode::BarcodeHash;
use admit_core::ids::GuestId;
use admit_core::incident::Subject;

use super::list::{Listing, Names};
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::guest_lists;
use crate::passes;
use crate::ports::{App, Tx, read};
use crate::records::{CredentialKind, GuestRecord, TicketRecord};

/// A guest, as the page of one guest shows them.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The guest with their state.
    pub listing: Listing,
    /// The guest's ticket. Absent if there is none.
    pub ticket: Option<TicketRecord>,
    /// Whether the page of the guest's pass is available: the server made the code and the pass.
    pub has_pass: bool,
}

/// A guest with their state and ticket. To a promoter, a guest on somebody else's list does not exist.
pub async fn show(app: &App, caller: &UserCaller, guest_id: GuestId) -> Result<Shown> {
    let by = caller.clone();
    let (listing, ticket) = read(&*app.store, &caller.organization_id, move |tx| {
        let (guest, ticket) = seen(tx, &by, &guest_id)?;
        let keys: Vec<String> = guest.ticket_id.iter().map(|id| Subject::Ticket(id.clone()).key()).collect();
        let state = tx.states(&guest.event_id, &keys)?.into_iter().next();
        let event = tx.event(&guest.event_id)?.ok_or_else(|| Error::not_found("event"))?;
        let is_over = event.status.is_over();
        let sees_runs = can(by.role, Action::ReadGuests);
        let mut mailings = passes::mailings(tx, &guest.event_id, std::iter::once(&guest), sees_runs)?;
        let mailing = mailings.remove(&guest.guest_id);
        let names = Names::of(tx, &guest.event_id)?;
        let guest = if by.sees_contacts() { guest } else { guest.without_contacts() };
        Ok((names.listing(guest, state, ticket.as_ref(), mailing, is_over), ticket))
    })
    .await?;
    let has_pass = match &ticket {
        Some(ticket) => opened_by(app, ticket).await?.is_some(),
        None => false,
    };
    Ok(Shown { listing, ticket, has_pass })
}

/// The ticket's code, if it is the token that opens the page of the ticket's pass. `None` otherwise.
pub(super) async fn opened_by(app: &App, ticket: &TicketRecord) -> Result<Option<String>> {
    let Some(code) = ticket.barcode.as_deref().filter(|_| ticket.drawn) else { return Ok(None) };
    let credential = app.store.credential(BarcodeHash::of(code).0).await?;
    let opens =
        credential.is_some_and(|one| one.kind == CredentialKind::Pass && one.holder == ticket.ticket_id.as_str());
    Ok(opens.then(|| code.to_owned()))
}

/// A guest that the caller may see, with the ticket.
pub(super) fn seen(
    tx: &mut dyn Tx,
    caller: &UserCaller,
    guest_id: &GuestId,
) -> Result<(GuestRecord, Option<TicketRecord>)> {
    let sees_all = can(caller.role, Action::ReadGuests);
    if !sees_all {
        caller.must(Action::ManageOwnGuests)?;
    }
    let unknown = || Error::not_found("guest");
    let guest = tx.guests_by_id(std::slice::from_ref(guest_id))?.into_iter().next().ok_or_else(unknown)?;
    if !sees_all {
        let lists = tx.guest_lists(&guest.event_id)?;
        let foreign = lists.iter().find(|list| Some(&list.guest_list_id) == guest.guest_list_id.as_ref());
        if !foreign.is_some_and(|list| guest_lists::promoter_scope::is_own_list(caller, list)) {
            return Err(unknown());
        }
    }
    let ticket = guest.ticket_id.as_ref().map(|ticket_id| tx.ticket(ticket_id)).transpose()?.flatten();
    Ok((guest, ticket))
}
