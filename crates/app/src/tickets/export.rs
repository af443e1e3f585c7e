//! Exports all tickets and guests as a CSV file. Importing the file again changes nothing.

use std::collections::BTreeSet;

use admit_core::access::Action;
use admit_core::barcode::BarcodeHash;
use admit_core::ids::{EventId, GateId};
use admit_core::limits::PAGE_MAX;
use admit_core::normalize::for_identity;
use admit_table::Writer;
use serde_json::json;

use super::import::mapping::field_word;
use super::list::Listing;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::ports::{App, Scope, TicketFilter, Tx, read, write};
use crate::records::{EntryTypeRecord, GuestListRecord, GuestRecord, Page};

/// The columns that an import reads, then three that it does not read: the ticket's id, its code's hash, and the number
/// of persons let in with it. Columns for the guests' own fields follow.
const HEADER: [&str; 19] = [
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
    "order_id",
    "valid_from",
    "expires_at",
    "status",
    "note",
    "flag",
    "ticket_id",
    "barcode_hash",
    "persons_entered",
];

/// The file with the newest ticket first, from one snapshot.
pub async fn export(app: &App, caller: &UserCaller, event_id: EventId) -> Result<Vec<u8>> {
    caller.must(Action::ManageGuests)?;
    let (by, id) = (caller.clone(), event_id.clone());
    let file = read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        let lists = tx.guest_lists(&event_id)?;
        let types = tx.entry_types(&event_id)?;
        let mut labels: BTreeSet<String> = BTreeSet::new();
        each(tx, &event_id, |(_, guest, _)| {
            labels.extend(guest.iter().flat_map(|guest| guest.fields.keys().cloned()));
            Ok(())
        })?;
        let named: Vec<String> = labels.iter().map(|label| field_word(label)).collect();
        let header: Vec<&str> = HEADER.iter().copied().chain(named.iter().map(String::as_str)).collect();
        let mut out = Writer::new(&header).map_err(bug)?;
        each(tx, &event_id, |listing| {
            let field = |label: &String| listing.1.as_ref().and_then(|guest| guest.fields.get(label)).cloned();
            let mut cells = row(listing, &lists, &types).to_vec();
            cells.extend(labels.iter().map(|label| field(label).unwrap_or_default()));
            out.row(&cells).map_err(bug)
        })?;
        out.finish().map_err(bug)
    })
    .await?;
    // The file holds every code, so the export is noted in the ledger.
    write(&*app.store, Scope::event(&caller.organization_id, &id), move |tx| {
        tx.stamp(&id)?;
        tx.append_audit(line::of(&by, Some(&id), "tickets_exported", ("Event", id.as_str()), json!({})))
    })
    .await?;
    Ok(file)
}

/// Calls `see` for every ticket of the event, newest first, and reads one page of tickets at a time.
fn each(tx: &mut dyn Tx, event_id: &EventId, mut see: impl FnMut(&Listing) -> Result<()>) -> Result<()> {
    let mut page = Page { limit: PAGE_MAX, cursor: None };
    loop {
        let listed = tx.tickets(event_id, &TicketFilter::default(), &page)?;
        listed.items.iter().try_for_each(&mut see)?;
        page.cursor = listed.next_cursor;
        if page.cursor.is_none() {
            return Ok(());
        }
    }
}

fn bug(error: admit_table::Refused) -> Error {
    Error::Bug(error.0)
}

fn row((ticket, guest, state): &Listing, lists: &[GuestListRecord], types: &[EntryTypeRecord]) -> [String; 19] {
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
        text(ticket.order_id.as_ref()),
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

/// The word by which an import finds an entry type: its name, or its id if another type has nearly the same name.
fn type_word(one: &EntryTypeRecord, types: &[EntryTypeRecord]) -> String {
    let twin = types
        .iter()
        .any(|other| other.entry_type_id != one.entry_type_id && for_identity(&other.name) == for_identity(&one.name));
    if twin { one.entry_type_id.to_string() } else { one.name.clone() }
}
