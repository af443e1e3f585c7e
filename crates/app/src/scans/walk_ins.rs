//! Gives guests whom staff added at a door a ticket and a place in the guest list, once the scan that added them counts
//! (decision 036).
//!
//! The ticket's first rules are those that the reducer reads from the scan itself, so storing them changes no verdict.
//! The stored rows only make the guest known to lists, phones and mails. They get no ledger line of their own: the
//! ledger has the line of the batch, or of the act that made the scan count.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{EventId, GuestId, TicketId};
use admit_core::incident::Subject;
use admit_core::reduce::{Reduced, Resolved};
use admit_core::rule::{Change, Effective, Rule, TicketChange};
use admit_core::scan::{Scan, WalkIn};
use admit_core::wire::scanning::Named;

use super::settle::WriteContext;
use crate::error::{Error, Result};
use crate::ports::Tx;
use crate::records::{EntryTypeRecord, GuestRecord, TicketRecord};
use crate::seeded_ids::SeededIds;

/// Rules of one write are numbered by an ordinal. The rules of tickets for walk-ins begin with this ordinal, which is
/// higher than those of all other rules of the write.
const FIRST_ORDINAL: u32 = 1 << 20;
/// The name of a guest whose name did not come with the scan.
const NAMELESS: &str = "Guest added at the door";

/// The names of guests whom staff added, by ticket.
pub(super) type Names = BTreeMap<TicketId, Named>;

/// The rows stored about tickets that scans may make.
#[derive(Debug, Default)]
pub(super) struct Stored {
    tickets: BTreeSet<TicketId>,
    names: Names,
    types: Vec<EntryTypeRecord>,
}

/// The tickets that scans among these facts may make.
pub(super) fn tickets_of<'a>(facts: impl Iterator<Item = &'a Resolved>) -> BTreeSet<TicketId> {
    let made = facts.filter(|(_, fact)| fact.scan.walk_in.is_some());
    made.filter_map(|(subject, _)| subject.ticket_id().cloned()).collect()
}

impl Stored {
    /// Loads what is stored about these tickets.
    pub fn load(tx: &mut dyn Tx, event_id: &EventId, tickets: &BTreeSet<TicketId>) -> Result<Self> {
        if tickets.is_empty() {
            return Ok(Self::default());
        }
        let ids: Vec<TicketId> = tickets.iter().cloned().collect();
        let found = tx.tickets_by_id(event_id, &ids)?;
        let mut out = Self { tickets: found.into_iter().map(|one| one.ticket_id).collect(), ..Self::default() };
        for ticket_id in ids.iter().filter(|id| !out.tickets.contains(*id)) {
            if let Some(named) = tx.walk_in_name(event_id, ticket_id)? {
                out.names.insert(ticket_id.clone(), named);
            }
        }
        if out.tickets.len() < tickets.len() {
            out.types = tx.entry_types(event_id)?;
        }
        Ok(out)
    }
}

/// The names of guests added at a door that came with the scans `named`. A repeated scan brings its name again. If the
/// guest's data was erased meanwhile, the name is left out, so that it is not stored again.
pub(super) fn load_names<'a>(
    tx: &mut dyn Tx,
    event_id: &EventId,
    named: impl Iterator<Item = (&'a Scan, &'a Named)>,
) -> Result<Names> {
    let named = named.filter_map(|(scan, named)| Some((scan.ticket_id.clone()?, named.clone())));
    let mut names: Names = named.collect();
    if names.is_empty() {
        return Ok(names);
    }
    let ids: Vec<TicketId> = names.keys().cloned().collect();
    let holders: Vec<GuestId> = tx.tickets_by_id(event_id, &ids)?.into_iter().filter_map(|one| one.guest_id).collect();
    for erased in tx.guests_by_id(&holders)?.into_iter().filter(|guest| guest.erased_at.is_some()) {
        erased.ticket_id.map(|ticket_id| names.remove(&ticket_id));
    }
    Ok(names)
}

/// Tickets that scans make, with their guests and first rules.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub tickets: Vec<TicketRecord>,
    pub guests: Vec<GuestRecord>,
    pub rules: Vec<Rule>,
}

/// Plans the tickets that scans among these subjects need and that are not stored. `arriving` are names that this write
/// stores.
pub(super) fn plan(
    stored: &Stored,
    arriving: &Names,
    reduced: &BTreeMap<String, Reduced>,
    context: &WriteContext<'_>,
    seeded: &mut SeededIds,
) -> Result<Made> {
    let mut wanted: BTreeMap<TicketId, &WalkIn> = BTreeMap::new();
    for (key, reduced) in reduced {
        let Some(walk_in) = reduced.counted_walk_in() else { continue };
        if let Some(Subject::Ticket(ticket_id)) = Subject::from_key(key) {
            wanted.insert(ticket_id, walk_in);
        }
    }
    wanted.retain(|ticket_id, _| !stored.tickets.contains(ticket_id));
    let mut out = Made::default();
    for (ordinal, (ticket_id, walk_in)) in (FIRST_ORDINAL..).zip(wanted) {
        let named = arriving.get(&ticket_id).or_else(|| stored.names.get(&ticket_id));
        let name = named.map_or(NAMELESS, |named| &named.name);
        let entry_type = stored.types.iter().find(|one| one.zone == walk_in.zone);
        out.add(Wanted { ordinal, ticket_id, walk_in, name, entry_type }, context, seeded)?;
    }
    Ok(out)
}

/// A ticket to make for a guest whom a scan adds.
struct Wanted<'a> {
    /// The place of the ticket's first rule among the rules of the write.
    ordinal: u32,
    ticket_id: TicketId,
    walk_in: &'a WalkIn,
    name: &'a str,
    entry_type: Option<&'a EntryTypeRecord>,
}

impl Made {
    fn add(&mut self, wanted: Wanted<'_>, context: &WriteContext<'_>, seeded: &mut SeededIds) -> Result<()> {
        let Wanted { ordinal, ticket_id, walk_in, name, entry_type } = wanted;
        let WriteContext { event_id, stamp, now } = *context;
        let guest_id = GuestId::new(seeded.row_id(now)).map_err(|error| Error::Bug(error.to_string()))?;
        let code = seeded.uuid();
        let rules = walk_in.rules();
        self.guests.push(GuestRecord {
            guest_id: guest_id.clone(),
            event_id: event_id.clone(),
            ticket_id: Some(ticket_id.clone()),
            guest_list_id: None,
            entry_type_id: entry_type.map(|one| one.entry_type_id.clone()),
            name: name.to_owned(),
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
        let change = Change::Ticket(ticket_id.clone(), TicketChange::First(rules.clone()));
        self.rules.push(Rule { serial: stamp.serial, ordinal, effective_at: Effective::Start, change });
        self.tickets.push(TicketRecord {
            ticket_id,
            event_id: event_id.clone(),
            rules,
            barcode_hashes: vec![BarcodeHash::of(&code)],
            barcode: Some(code),
            drawn: true,
            import_key: None,
            order_id: None,
            guest_id: Some(guest_id),
            rules_serial: stamp.serial,
            created_at: now,
        });
        Ok(())
    }
}
