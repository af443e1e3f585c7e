//! Which guests an event expects, and how each stands.

use admit_core::access::{Action, can};
use admit_core::event::EventStatus;
use admit_core::ids::EventId;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::events;
use crate::ports::{App, GuestFilter, read};
use crate::records::*;

/// A guest, what their ticket's scans add up to, and whether the event is over (so that one who never came is a
/// no-show).
pub type Listing = (GuestRecord, Option<StateRecord>, bool);

/// Where a guest stands: derived, so that a late scan corrects it (spec D17).
pub fn status((_, state, is_over): &Listing) -> &'static str {
    match state {
        Some(state) if state.state.persons() > 0 => "checked_in",
        _ if *is_over => "no_show",
        _ => "pending",
    }
}

/// A page of guests, newest first; `text` finds parts of a name whatever their case and accents. A promoter sees those of
/// their own lists: where they have several and name none, their page may hold fewer than asked for while there are more.
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
    let user_id = caller.user_id.clone();
    read(&*app.store, &caller.organization_id, move |tx| {
        let event = events::require(tx, &event_id)?;
        let is_over = matches!(event.status, EventStatus::Ended | EventStatus::Archived);
        let own: Vec<_> = tx
            .guest_lists(&event_id)?
            .into_iter()
            .filter(|list| list.promoter_id.as_ref() == Some(&user_id))
            .map(|list| list.guest_list_id)
            .collect();
        let mut filter = filter.clone();
        if let ([only], None, false) = (own.as_slice(), &filter.guest_list_id, sees_all) {
            filter.guest_list_id = Some(only.clone());
        }
        let listed = tx.guests(&event_id, &filter, &page)?;
        let theirs = |guest: &GuestRecord| sees_all || guest.guest_list_id.as_ref().is_some_and(|id| own.contains(id));
        let items = listed.items.into_iter().filter(|(guest, _)| theirs(guest));
        Ok(Listed {
            items: items.map(|(guest, state)| (guest, state, is_over)).collect(),
            next_cursor: listed.next_cursor,
        })
    })
    .await
}
