//! Loads the stored tickets that a file is about.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{EventId, GuestId, TicketId};
use admit_core::normalize::for_identity;
use admit_core::ticket::TicketStatus;

use super::destination::Destination;
use super::identity::{Identity, OtherKey};
use super::rows::{Cell, Wanted};
use crate::error::Result;
use crate::ports::Tx;
use crate::records::{GuestRecord, TicketRecord};
use crate::tickets::{keys, status};

/// Everything with which rows are compared.
pub struct Stored {
    /// Tickets by the identities of their rows.
    pub tickets: BTreeMap<Identity, TicketRecord>,
    /// The guests who hold the tickets.
    pub guests: BTreeMap<GuestId, GuestRecord>,
    /// Those of the tickets that were withdrawn because their import was undone.
    pub withdrawn: BTreeSet<TicketId>,
    /// Tickets that the rows call active although a person set another status in Admit. Another system's export does
    /// not replace that status.
    pub by_hand: BTreeSet<TicketId>,
}

impl Stored {
    /// Loads what rows are compared with. `export` tells whether the file is another system's export. The status words
    /// of such an export don't replace a status that a person set in Admit.
    pub fn load(
        tx: &mut dyn Tx,
        event_id: &EventId,
        into: &Destination,
        wanted: &[Wanted],
        export: bool,
    ) -> Result<Self> {
        let mut tickets = by_codes(tx, event_id, wanted)?;
        tickets.extend(by_keys(tx, event_id, wanted)?);
        by_other_keys(tx, event_id, wanted, &mut tickets)?;
        let mut guests = holders(tx, tickets.values())?;
        if let (true, Some(list)) = (into.alone, &into.list) {
            // A guest whom the organiser put onto this list is found by the organiser's key too.
            let event_key = |row: &Wanted| match &row.identity {
                Identity::Key(key) => Some((row.identity.clone(), keys::bare(key).to_owned())),
                Identity::Code(_) => None,
            };
            let more = under_keys(tx, event_id, wanted.iter().filter_map(event_key).collect())?;
            let foreign = holders(tx, more.values())?;
            let on_list = |ticket: &TicketRecord| {
                let guest = ticket.guest_id.as_ref().and_then(|id| foreign.get(id));
                guest.is_some_and(|guest| guest.guest_list_id.as_ref() == Some(&list.guest_list_id))
            };
            for (identity, ticket) in more.into_iter().filter(|(_, ticket)| on_list(ticket)) {
                tickets.entry(identity).or_insert(ticket);
            }
            guests.extend(foreign);
        }
        let by_hand = if export { by_hand(tx, event_id, wanted, &tickets)? } else { BTreeSet::new() };
        let ids: Vec<TicketId> = tickets.values().map(|ticket| ticket.ticket_id.clone()).collect();
        let withdrawn = tx.withdrawn_tickets(event_id, &ids)?.into_iter().collect();
        Ok(Self { tickets, guests, withdrawn, by_hand })
    }
}

type Found = BTreeMap<Identity, TicketRecord>;

fn by_codes(tx: &mut dyn Tx, event_id: &EventId, wanted: &[Wanted]) -> Result<Found> {
    let code = |row: &Wanted| match &row.identity {
        Identity::Code(hash) => Some(*hash),
        Identity::Key(_) => None,
    };
    let hashes: Vec<BarcodeHash> = wanted.iter().filter_map(code).collect();
    let codes = tx.find_codes(event_id, &hashes)?;
    let ids: BTreeSet<TicketId> = codes.iter().map(|(_, ticket_id)| ticket_id.clone()).collect();
    let tickets = tx.tickets_by_id(event_id, &ids.into_iter().collect::<Vec<_>>())?;
    let by_id: BTreeMap<&TicketId, &TicketRecord> = tickets.iter().map(|one| (&one.ticket_id, one)).collect();
    let found = codes.iter().filter_map(|(hash, id)| Some((Identity::Code(*hash), (*by_id.get(id)?).clone())));
    Ok(found.collect())
}

fn by_keys(tx: &mut dyn Tx, event_id: &EventId, wanted: &[Wanted]) -> Result<Found> {
    let key = |row: &Wanted| match &row.identity {
        Identity::Key(key) => Some(key.clone()),
        Identity::Code(_) => None,
    };
    let keys: Vec<String> = wanted.iter().filter_map(key).collect();
    let found = tx.tickets_by_import_key(event_id, &keys)?.into_iter();
    Ok(found.filter_map(|ticket| Some((Identity::Key(ticket.import_key.clone()?), ticket))).collect())
}

/// For each row whose ticket was not found yet, looks for the ticket by the row's other keys, in their order.
fn by_other_keys(tx: &mut dyn Tx, event_id: &EventId, wanted: &[Wanted], found: &mut Found) -> Result<()> {
    let most = wanted.iter().map(|row| row.other_keys.len()).max().unwrap_or_default();
    for place in 0..most {
        let missing = wanted.iter().filter(|row| !found.contains_key(&row.identity));
        let named: Vec<(&Wanted, &OtherKey)> =
            missing.filter_map(|row| Some((row, row.other_keys.get(place)?))).collect();
        let keys = named.iter().map(|(row, other)| (row.identity.clone(), other.key.clone())).collect();
        let more = under_keys(tx, event_id, keys)?;
        let guests = holders(tx, more.values())?;
        let rows: BTreeMap<&Identity, (&Wanted, &OtherKey)> =
            named.iter().map(|(row, other)| (&row.identity, (*row, *other))).collect();
        for (identity, ticket) in more {
            let Some((row, other)) = rows.get(&identity) else { continue };
            let holder = ticket.guest_id.as_ref().and_then(|id| guests.get(id));
            let same_name = || match (&row.guest, holder) {
                (Some(wanted), Some(holder)) => for_identity(&wanted.name) == for_identity(&holder.name),
                _ => false,
            };
            if !other.only_same_name || same_name() {
                found.insert(identity, ticket);
            }
        }
    }
    Ok(())
}

fn under_keys(tx: &mut dyn Tx, event_id: &EventId, named: Vec<(Identity, String)>) -> Result<Found> {
    let keys: Vec<String> = named.iter().map(|(_, key)| key.clone()).collect();
    let tickets = tx.tickets_by_import_key(event_id, &keys)?;
    let by_key: BTreeMap<&str, &TicketRecord> =
        tickets.iter().filter_map(|ticket| Some((ticket.import_key.as_deref()?, ticket))).collect();
    let found = named.into_iter().filter_map(|(identity, key)| Some((identity, (*by_key.get(key.as_str())?).clone())));
    Ok(found.collect())
}

fn holders<'a>(
    tx: &mut dyn Tx,
    tickets: impl Iterator<Item = &'a TicketRecord>,
) -> Result<BTreeMap<GuestId, GuestRecord>> {
    let ids: BTreeSet<GuestId> = tickets.filter_map(|ticket| ticket.guest_id.clone()).collect();
    let guests = tx.guests_by_id(&ids.into_iter().collect::<Vec<_>>())?;
    Ok(guests.into_iter().map(|guest| (guest.guest_id.clone(), guest)).collect())
}

/// Finds the tickets whose last status a person set, among those that their rows call active but that have another
/// status. The ledger's line of the write that set the status shows this.
fn by_hand(tx: &mut dyn Tx, event_id: &EventId, wanted: &[Wanted], tickets: &Found) -> Result<BTreeSet<TicketId>> {
    let good_again = |row: &&Wanted| row.status == Cell::Value(TicketStatus::Active);
    let asked: Vec<&TicketRecord> = wanted
        .iter()
        .filter(good_again)
        .filter_map(|row| tickets.get(&row.identity))
        .filter(|ticket| ticket.rules.status != TicketStatus::Active)
        .collect();
    if asked.is_empty() {
        return Ok(BTreeSet::new());
    }
    let newest = status::newest(tx, event_id, &asked)?;
    let mut out = BTreeSet::new();
    for ticket in asked {
        let Some(serial) = newest.get(&ticket.ticket_id) else { continue };
        if status::by_hand(tx, event_id, ticket, *serial)?.is_some() {
            out.insert(ticket.ticket_id.clone());
        }
    }
    Ok(out)
}
