//! All tickets and guests as a CSV file. Imported again it changes nothing.

use admit_core::access::Action;
use admit_core::barcode::BarcodeHash;
use admit_core::ids::{EventId, GateId};
use admit_core::limits::PAGE_MAX;
use admit_core::normalize::for_identity;
use admit_table::Writer;

use super::list::Listing;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::ports::{App, TicketFilter, read};
use crate::records::*;

/// The columns an import reads, then what is known besides.
const HEADER: [&str; 18] = [
    "barcode",
    "name",
    "email",
    "phone",
    "party_size",
    "zone",
    "entry_type",
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
        let types = tx.entry_types(&event_id)?;
        let mut out = Writer::new(&HEADER).map_err(bug)?;
        let mut page = Page { limit: PAGE_MAX, cursor: None };
        loop {
            let listed = tx.tickets(&event_id, &TicketFilter::default(), &page)?;
            for listing in &listed.items {
                out.row(&row(listing, &lists, &types)).map_err(bug)?;
            }
            page.cursor = listed.next_cursor;
            if page.cursor.is_none() {
                return out.finish().map_err(bug);
            }
        }
    })
    .await
}

fn bug(error: admit_table::Refused) -> Error {
    Error::Bug(error.0)
}

fn row((ticket, guest, state): &Listing, lists: &[GuestListRecord], types: &[EntryTypeRecord]) -> [String; 18] {
    let text = |text: Option<&String>| text.cloned().unwrap_or_default();
    let of_guest = |field: fn(&GuestRecord) -> Option<&String>| text(guest.as_ref().and_then(field));
    let list_id = guest.as_ref().and_then(|guest| guest.guest_list_id.as_ref());
    let list = list_id.and_then(|id| lists.iter().find(|list| list.guest_list_id == *id));
    let type_id = guest.as_ref().and_then(|guest| guest.entry_type_id.as_ref());
    let entry_type = types.iter().find(|one| Some(&one.entry_type_id) == type_id).map(|one| type_word(one, types));
    let time = |at: Option<admit_core::time::Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let rules = &ticket.rules;
    [
        text(ticket.barcode.as_ref()),
        of_guest(|guest| Some(&guest.name)),
        of_guest(|guest| guest.email.as_ref()),
        of_guest(|guest| guest.phone.as_ref()),
        rules.entry_limit.to_string(),
        rules.zone.clone(),
        entry_type.unwrap_or_default(),
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

/// An entry type as an import finds it: by its name, or by its id where another one is called nearly the same.
fn type_word(one: &EntryTypeRecord, types: &[EntryTypeRecord]) -> String {
    let twin = types
        .iter()
        .any(|other| other.entry_type_id != one.entry_type_id && for_identity(&other.name) == for_identity(&one.name));
    if twin { one.entry_type_id.to_string() } else { one.name.clone() }
}
