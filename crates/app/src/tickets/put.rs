//! Stores new tickets: rows, codes, guests, first rules. Then judges the earlier scans of their codes. Creating
//! tickets, importing and the demo all use it.

use std::collections::BTreeSet;

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{EventId, TicketId};
use admit_core::incident::Subject;
use admit_core::rule::{Change, Effective, TicketChange};
use admit_core::time::Timestamp;

use crate::error::Result;
use crate::ports::Tx;
use crate::records::{GuestRecord, Stamp, TicketRecord};
use crate::rules::{Brought, put};
use crate::seeded_ids::SeededIds;

/// A ticket to be stored, and its guest.
#[derive(Debug, Clone)]
pub(crate) struct Fresh {
    pub ticket: TicketRecord,
    pub guest: Option<GuestRecord>,
}

/// Stores tickets. Their first values also hold for the time before this write, so a scan that came before its ticket
/// finds it now (spec §3). `also` holds rules of other tickets changed by the same write, and the subjects they touch.
/// Fails with `barcode_taken` if a code was ever given to another ticket of the event.
pub(crate) fn put_new(
    tx: &mut dyn Tx,
    event_id: &EventId,
    fresh: Vec<Fresh>,
    also: (Vec<(Effective, Change)>, BTreeSet<String>),
    stamp: Stamp,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Brought> {
    let (mut rules, mut subjects) = also;
    let hashes = |one: &Fresh| {
        let id = one.ticket.ticket_id.clone();
        one.ticket.barcode_hashes.iter().map(|hash| (*hash, id.clone())).collect::<Vec<_>>()
    };
    subjects.extend(waiting(tx, event_id, &fresh.iter().flat_map(hashes).collect::<Vec<_>>())?);
    let mut tickets = Vec::with_capacity(fresh.len());
    let mut guests = Vec::new();
    for one in fresh {
        guests.extend(one.guest);
        tickets.push(TicketRecord { rules_serial: stamp.serial, ..one.ticket });
    }
    rules.extend(tickets.iter().map(|ticket| {
        let first = TicketChange::First(ticket.rules.clone());
        (Effective::Start, Change::Ticket(ticket.ticket_id.clone(), first))
    }));
    if !tickets.is_empty() {
        tx.insert_tickets(&tickets)?;
    }
    if !guests.is_empty() {
        tx.insert_guests(&guests)?;
    }
    put(tx, event_id, stamp, rules, &subjects, now, seeded)
}

/// The new codes that phones scanned while the codes were unknown, and the tickets of these codes. The scans of both
/// must be judged again. The function reads only the new codes, never the event's history.
pub(crate) fn waiting(
    tx: &mut dyn Tx,
    event_id: &EventId,
    new: &[(BarcodeHash, TicketId)],
) -> Result<BTreeSet<String>> {
    let codes: Vec<(String, &TicketId)> = new.iter().map(|(hash, id)| (Subject::Unknown(*hash).key(), id)).collect();
    let keys: Vec<String> = codes.iter().map(|(key, _)| key.clone()).collect();
    let scanned: BTreeSet<String> = tx.states(event_id, &keys)?.into_iter().map(|state| state.subject_key).collect();
    let mut out = BTreeSet::new();
    for (key, ticket_id) in codes.into_iter().filter(|(key, _)| scanned.contains(key)) {
        out.insert(key);
        out.insert(Subject::Ticket(ticket_id.clone()).key());
    }
    Ok(out)
}
