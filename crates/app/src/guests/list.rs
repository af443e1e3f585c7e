//! Lists the guests of an event with their states.

use std::collections::BTreeMap;
use std::sync::Arc;

use admit_core::access::{Action, can};
use admit_core::ids::{EntryTypeId, EventId, GateId, GuestListId, TicketId};
use admit_core::rule::{EventBook, When};
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::events;
use crate::passes::{self, Mailing};
use crate::ports::{App, GuestFilter, GuestSort, PassMail, Sought, Standing, Tx, read};
use crate::records::{EntryTypeRecord, GuestListRecord, GuestRecord, Listed, Page, StateRecord, TicketRecord};

/// A guest with their state.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The guest.
    pub guest: GuestRecord,
    /// The state of the guest's ticket. Absent if it has no scans.
    pub state: Option<StateRecord>,
    /// The status of the guest's ticket. Absent if the guest has none.
    pub ticket_status: Option<TicketStatus>,
    /// The number of the order that the ticket belongs to. Absent if there is none.
    pub order_id: Option<String>,
    /// Whether the event is over, so that a guest who never came is a no-show.
    pub is_over: bool,
    /// The mail of the guest's pass. Absent if there is nothing to tell.
    pub mailing: Option<Mailing>,
    /// The name of the guest's entry type. Absent if there is none.
    pub entry_type: Option<String>,
    /// The name of the guest's list. Absent if the guest is on none.
    pub guest_list: Option<String>,
    /// The newest entry: its time, and the gate's name. Absent if there was none.
    pub last: Option<(Timestamp, String)>,
}

/// The states by which an organiser asks for guests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestState {
    /// Somebody of the party is inside now.
    Inside,
    /// Nobody of the party came yet, the ticket is active, and the event is not over.
    ToCome,
    /// Somebody of the party was let in so far.
    Came,
    /// Nobody of the party came, the ticket was active, and the event is over.
    NoShow,
    /// The ticket is voided or refunded.
    Voided,
}

impl GuestState {
    /// All states.
    pub const ALL: [Self; 5] = [Self::Inside, Self::ToCome, Self::Came, Self::NoShow, Self::Voided];

    /// The word for the state in requests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inside => "inside",
            Self::ToCome => "to_come",
            Self::Came => "came",
            Self::NoShow => "no_show",
            Self::Voided => "voided",
        }
    }
    /// Reads the word that [`GuestState::as_str`] writes. `None` for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
    /// The state that the store looks for. `None` if no guest can be in this state: nobody is still to come to an event
    /// that is over, and nobody has missed one that is not.
    fn standing(self, is_over: bool) -> Option<Standing> {
        match (self, is_over) {
            (Self::Inside, _) => Some(Standing::Inside),
            (Self::Came, _) => Some(Standing::Came),
            (Self::Voided, _) => Some(Standing::Voided),
            (Self::ToCome, false) | (Self::NoShow, true) => Some(Standing::NotCome),
            (Self::ToCome, true) | (Self::NoShow, false) => None,
        }
    }
}

/// Which guests a list has. An absent member filters nothing.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The text to find: a part of a name, the start of an e-mail, an external id or an order number, or a whole ticket
    /// code.
    pub text: Option<String>,
    /// Only guests on this list.
    pub guest_list_id: Option<GuestListId>,
    /// Only guests with this entry type.
    pub entry_type_id: Option<EntryTypeId>,
    /// Only guests in this state.
    pub state: Option<GuestState>,
    /// Only guests whose newest pass is in this state; absent: all.
    pub mail: Option<PassMail>,
    /// The order of the list.
    pub sort: GuestSort,
}

impl Wanted {
    /// Narrows what a caller may see to these guests. `None` if no guest can be in the wanted state.
    pub(super) fn filter(&self, seen: GuestFilter, is_over: bool) -> Option<GuestFilter> {
        let standing = match self.state.map(|state| state.standing(is_over)) {
            Some(None) => return None,
            standing => standing.flatten(),
        };
        let (guest_list_id, entry_type_id) = (self.guest_list_id.clone(), self.entry_type_id.clone());
        Some(GuestFilter { guest_list_id, entry_type_id, standing, mail: self.mail, ..seen })
    }
}

/// The word for a guest's state. It is derived, so a late scan corrects it (spec D17).
pub fn status(listing: &Listing) -> &'static str {
    match &listing.state {
        Some(state) if state.state.persons() > 0 => "checked_in",
        _ if listing.is_over => "no_show",
        _ => "pending",
    }
}

/// The filter for a caller's search, narrowed to what the caller may see. A promoter sees only guests of their own
/// lists.
pub(super) fn seen_by(caller: &UserCaller, text: Option<String>) -> Result<GuestFilter> {
    let text = text.map(|text| Sought { text, by_contacts: caller.sees_contacts() });
    let sees_all = can(caller.role, Action::ReadGuests);
    if !sees_all {
        caller.must(Action::ManageOwnGuests)?;
    }
    // Guests that a promoter may not see affect neither the page nor where the next one begins.
    let promoter_id = (!sees_all).then(|| caller.user_id.clone());
    Ok(GuestFilter { text, promoter_id, ..GuestFilter::default() })
}

/// A page of guests in the given order. A promoter sees only those of their own lists.
pub async fn list(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    wanted: Wanted,
    page: Page,
) -> Result<Listed<Listing>> {
    let seen = seen_by(caller, wanted.text.clone())?;
    let (sees_all, sees_contacts) = (seen.promoter_id.is_none(), caller.sees_contacts());
    read(&*app.store, &caller.organization_id, move |tx| {
        // 1. Read the event, which decides what a state means.
        let event = events::require(tx, &event_id)?;
        let is_over = event.status.is_over();
        let Some(filter) = wanted.filter(seen.clone(), is_over) else {
            return Ok(Listed { items: Vec::new(), next_cursor: None });
        };
        // 2. Read the page, and what it shows about each guest.
        let listed = tx.guests(&event_id, &filter, wanted.sort, &page)?;
        let mut mailings = passes::mailings(tx, &event_id, listed.items.iter().map(|(guest, _)| guest), sees_all)?;
        let held: Vec<TicketId> = listed.items.iter().filter_map(|(guest, _)| guest.ticket_id.clone()).collect();
        let tickets = tx.tickets_by_id(&event_id, &held)?;
        let tickets: BTreeMap<&TicketId, &TicketRecord> = tickets.iter().map(|one| (&one.ticket_id, one)).collect();
        let names = Names::of(tx, &event_id)?;
        let items = listed.items.into_iter().map(|(guest, state)| {
            let guest = if sees_contacts { guest } else { guest.without_contacts() };
            let ticket = guest.ticket_id.as_ref().and_then(|id| tickets.get(id)).copied();
            let mailing = mailings.remove(&guest.guest_id);
            names.listing(guest, state, ticket, mailing, is_over)
        });
        Ok(Listed { items: items.collect(), next_cursor: listed.next_cursor })
    })
    .await
}

/// The names of an event's entry types, guest lists and gates, since a list shows names and not ids.
pub(super) struct Names {
    types: Vec<EntryTypeRecord>,
    lists: Vec<GuestListRecord>,
    book: Arc<EventBook>,
}

impl Names {
    /// Reads the names of one event.
    pub(super) fn of(tx: &mut dyn Tx, event_id: &EventId) -> Result<Self> {
        let book = tx.load_rules(event_id, &[])?.book;
        Ok(Self { types: tx.entry_types(event_id)?, lists: tx.guest_lists(event_id)?, book })
    }
    /// A guest with the names that a list shows.
    pub(super) fn listing(
        &self,
        guest: GuestRecord,
        state: Option<StateRecord>,
        ticket: Option<&TicketRecord>,
        mailing: Option<Mailing>,
        is_over: bool,
    ) -> Listing {
        let entry_type = self.types.iter().find(|one| Some(&one.entry_type_id) == guest.entry_type_id.as_ref());
        let guest_list = self.lists.iter().find(|one| Some(&one.guest_list_id) == guest.guest_list_id.as_ref());
        let newest = state.as_ref().and_then(|record| record.state.entries.last());
        Listing {
            entry_type: entry_type.map(|one| one.name.clone()),
            guest_list: guest_list.map(|one| one.name.clone()),
            last: newest.map(|entry| (entry.at, self.gate(&entry.gate_id))),
            ticket_status: ticket.map(|ticket| ticket.rules.status),
            order_id: ticket.and_then(|ticket| ticket.order_id.clone()),
            guest,
            state,
            is_over,
            mailing,
        }
    }
    /// A gate's name, or its id if there is no such gate. A scan may name a gate that was never created.
    fn gate(&self, gate_id: &GateId) -> String {
        self.book.gate(gate_id, When::Newest).map_or_else(|| gate_id.to_string(), |gate| gate.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_state_means_depends_on_whether_the_event_is_over() {
        let table = [
            (GuestState::Inside, Some(Standing::Inside), Some(Standing::Inside)),
            (GuestState::ToCome, Some(Standing::NotCome), None),
            (GuestState::Came, Some(Standing::Came), Some(Standing::Came)),
            (GuestState::NoShow, None, Some(Standing::NotCome)),
            (GuestState::Voided, Some(Standing::Voided), Some(Standing::Voided)),
        ];
        for (state, before, after) in table {
            assert_eq!((state.standing(false), state.standing(true)), (before, after), "{state:?}");
            assert_eq!(GuestState::parse(state.as_str()), Some(state));
        }
    }
}
