//! Finds the holders of tickets, so that lists of scans and incidents can name them.

use std::collections::BTreeMap;

use admit_core::ids::{EventId, GuestId, TicketId};

use crate::error::Result;
use crate::ports::Tx;
use crate::records::{GuestRecord, TicketRecord};

/// The holder of a ticket.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Holder {
    /// The guest who holds the ticket. Absent if no guest does.
    pub guest: Option<GuestRecord>,
    /// The name of the guest's entry type. If no guest holds the ticket, or the guest has no entry type, it is the name
    /// of the first entry type with the ticket's zone. Absent if no entry type has that zone.
    pub entry_type: Option<String>,
}

/// The holders of these tickets of an event, read together. Tickets that do not exist are left out.
pub fn holders(tx: &mut dyn Tx, event_id: &EventId, ticket_ids: &[TicketId]) -> Result<BTreeMap<TicketId, Holder>> {
    if ticket_ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let tickets = tx.tickets_by_id(event_id, ticket_ids)?;
    let guest_ids: Vec<GuestId> = tickets.iter().filter_map(|ticket| ticket.guest_id.clone()).collect();
    let guests: BTreeMap<GuestId, GuestRecord> =
        tx.guests_by_id(&guest_ids)?.into_iter().map(|guest| (guest.guest_id.clone(), guest)).collect();
    let types = tx.entry_types(event_id)?;
    let holder = |ticket: TicketRecord| {
        let guest = ticket.guest_id.as_ref().and_then(|id| guests.get(id)).cloned();
        let wanted = guest.as_ref().and_then(|guest| guest.entry_type_id.as_ref());
        let own = types.iter().find(|one| Some(&one.entry_type_id) == wanted);
        let entry_type = own.or_else(|| types.iter().find(|one| one.zone == ticket.rules.zone));
        let entry_type = entry_type.map(|one| one.name.clone());
        (ticket.ticket_id, Holder { guest, entry_type })
    };
    Ok(tickets.into_iter().map(holder).collect())
}
