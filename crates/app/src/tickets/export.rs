//! All tickets and guests as a CSV file. Imported again it changes nothing.

use admit_core::access::Action;
use admit_core::barcode::BarcodeHash;
use admit_core::ids::{EventId, GateId};
use admit_core::limits::PAGE_MAX;

use super::list::Listing;
use crate::caller::UserCaller;
use crate::error::Result;
use crate::events;
use crate::ports::{App, TicketFilter, read};
use crate::records::*;
use crate::sheet::Writer;

/// The columns an import reads, then what is known besides.
const HEADER: [&str; 17] = [
    "barcode",
    "name",
    "email",
    "phone",
    "party_size",
    "zone",
    "gate_ids",
    "guest_list",
    "external_id",
    "valid_from",
    "expires_at",
    "status",
    "note",
    "flag",
    "ticket_id",
    "barcode_hash",
    "persons_entered",
];

/// The file, newest ticket first, from one snapshot.
pub async fn export(app: &App, caller: &UserCaller, event_id: EventId) -> Result<Vec<u8>> {
    caller.must(Action::ManageGuests)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        let lists = tx.guest_lists(&event_id)?;
        let mut out = Writer::new(&HEADER)?;
        let mut page = Page { limit: PAGE_MAX, cursor: None };
        loop {
            let listed = tx.tickets(&event_id, &TicketFilter::default(), &page)?;
            for listing in &listed.items {
                out.row(&row(listing, &lists))?;
            }
            page.cursor = listed.next_cursor;
            if page.cursor.is_none() {
                return out.finish();
            }
        }
    })
    .await
}

fn row((ticket, guest, state): &Listing, lists: &[GuestListRecord]) -> [String; 17] {
    let text = |text: Option<&String>| text.cloned().unwrap_or_default();
    let of_guest = |field: fn(&GuestRecord) -> Option<&String>| text(guest.as_ref().and_then(field));
    let list_id = guest.as_ref().and_then(|guest| guest.guest_list_id.as_ref());
    let list = list_id.and_then(|id| lists.iter().find(|list| list.guest_list_id == *id));
    let time = |at: Option<admit_core::time::Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let rules = &ticket.rules;
    [
        text(ticket.barcode.as_ref()),
        of_guest(|guest| Some(&guest.name)),
        of_guest(|guest| guest.email.as_ref()),
        of_guest(|guest| guest.phone.as_ref()),
        rules.entry_limit.to_string(),
        rules.zone.clone(),
        rules.gate_ids.iter().map(GateId::as_str).collect::<Vec<_>>().join("|"),
        text(list.map(|list| &list.name)),
        of_guest(|guest| guest.external_id.as_ref()),
        time(rules.valid_from),
        time(rules.expires_at),
        rules.status.as_str().to_owned(),
        of_guest(|guest| guest.note.as_ref()),
        of_guest(|guest| guest.flag.as_ref()),
        ticket.ticket_id.as_str().to_owned(),
        ticket.barcode_hashes.last().map(BarcodeHash::to_string).unwrap_or_default(),
        state.as_ref().map_or(0, |state| state.state.persons()).to_string(),
    ]
}
