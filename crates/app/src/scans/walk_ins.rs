//! Gives guests whom staff added at a door a ticket and a place in the guest list, once the scan that added them counts
//! (decision 036).
//!
//! The ticket's first rules are those that the reducer reads from the scan itself, so storing them changes no verdict.
//! The stored rows only make the guest known to lists, phones and mails. They get no ledger line of their own: the
//! ledger has the line of the batch, or of the act that made the scan count.

use std::collections::BTreeMap;

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{EventId, GuestId, TicketId};
use admit_core::incident::Subject;
use admit_core::reduce::Reduced;
use admit_core::rule::{Change, Effective, Rule, TicketChange};
use admit_core::scan::{Scan, WalkIn};
use admit_core::time::Timestamp;
use admit_core::wire::scanning::Named;

use crate::error::{Error, Result};
use crate::ports::Tx;
use crate::records::{GuestRecord, Stamp, TicketRecord};
use crate::seeded_ids::SeededIds;

/// The ordinal of these tickets' rules within their write. It is higher than that of all other rules.
const FIRST_ORDINAL: u32 = 1 << 20;
/// The name of a guest whose name did not come with the scan.
const NAMELESS: &str = "Guest added at the door";

/// Stores the names that came with scans.
pub(super) fn keep_names<'a>(
    tx: &mut dyn Tx,
    event_id: &EventId,
    named: impl Iterator<Item = (&'a Scan, &'a Named)>,
) -> Result<()> {
    let named = named.filter_map(|(scan, named)| Some((scan.ticket_id.clone()?, named.clone())));
    let mut names: BTreeMap<TicketId, Named> = named.collect();
    if names.is_empty() {
        return Ok(());
    }
    // A repeated scan brings its name again. If the guest's data was erased, the name stays out.
    let ids: Vec<TicketId> = names.keys().cloned().collect();
    let holders: Vec<GuestId> = tx.tickets_by_id(event_id, &ids)?.into_iter().filter_map(|one| one.guest_id).collect();
    for erased in tx.guests_by_id(&holders)?.into_iter().filter(|guest| guest.erased_at.is_some()) {
        erased.ticket_id.map(|ticket_id| names.remove(&ticket_id));
    }
    tx.put_walk_in_names(event_id, &names.into_iter().collect::<Vec<_>>())
}

/// Makes the tickets that scans among these subjects need, if they are not there yet.
pub(super) fn make_tickets(
    tx: &mut dyn Tx,
    event_id: &EventId,
    reduced: &BTreeMap<String, Reduced>,
    stamp: Stamp,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<()> {
    let mut wanted: BTreeMap<TicketId, &WalkIn> = BTreeMap::new();
    for (key, reduced) in reduced {
        let Some(walk_in) = reduced.counted_walk_in() else { continue };
        if let Some(Subject::Ticket(ticket_id)) = Subject::from_key(key) {
            wanted.insert(ticket_id, walk_in);
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let ids: Vec<TicketId> = wanted.keys().cloned().collect();
    for known in tx.tickets_by_id(event_id, &ids)? {
        wanted.remove(&known.ticket_id);
    }
    let types = if wanted.is_empty() { Vec::new() } else { tx.entry_types(event_id)? };
    let (mut tickets, mut guests, mut rules) = (Vec::new(), Vec::new(), Vec::new());
    for (ordinal, (ticket_id, walk_in)) in (FIRST_ORDINAL..).zip(wanted) {
        let named = tx.walk_in_name(event_id, &ticket_id)?;
        let guest_id = GuestId::new(seeded.row_id(now)).map_err(|error| Error::Bug(error.to_string()))?;
        let code = seeded.uuid();
        let rules_of = walk_in.rules();
        let entry_type = types.iter().find(|one| one.zone == walk_in.zone);
        guests.push(GuestRecord {
            guest_id: guest_id.clone(),
            event_id: event_id.clone(),
            ticket_id: Some(ticket_id.clone()),
            guest_list_id: None,
            entry_type_id: entry_type.map(|one| one.entry_type_id.clone()),
            name: named.map_or_else(|| NAMELESS.to_owned(), |named| named.name),
            email: None,
            phone: None,
            party_size: walk_in.party,
            note: None,
            flag: None,
            external_id: None,
            fields: BTreeMap::new(),
            created_at: now,
            updated_at: now,
            erased_at: None,
        });
        let first = TicketChange::First(rules_of.clone());
        let change = Change::Ticket(ticket_id.clone(), first);
        rules.push(Rule { serial: stamp.serial, ordinal, effective_at: Effective::Start, change });
        tickets.push(TicketRecord {
            ticket_id: ticket_id.clone(),
            event_id: event_id.clone(),
            rules: rules_of,
            barcode_hashes: vec![BarcodeHash::of(&code)],
            barcode: Some(code),
            drawn: true,
            import_key: None,
            order_id: None,
            guest_id: Some(guest_id.clone()),
            rules_serial: stamp.serial,
            created_at: now,
        });
    }
    if tickets.is_empty() {
        return Ok(());
    }
    tx.insert_tickets(&tickets)?;
    tx.insert_guests(&guests)?;
    tx.insert_rules(event_id, &rules)
}
