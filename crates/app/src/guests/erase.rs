//! Erases a guest's personal data: when the guest wishes it, or once the event's retention time is over. Counted
//! persons stay counted, and the ledger says that the data was erased.

use std::collections::BTreeSet;

use admit_core::access::Action;
use admit_core::ids::{EventId, GuestId, TicketId};
use admit_core::time::Timestamp;
use serde_json::json;

use super::update::find;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Scope, Tx, read, write};
use crate::records::{Fields, GuestRecord, NewAudit};
use crate::rules::{Brought, announce};
use crate::tickets;

/// Number of guests whose data is erased in one transaction.
const CHUNK: usize = 500;

/// Erases one guest's name, address, number, notes and fields. The ticket still admits a person who has its code,
/// without a name. A second erasure changes nothing.
pub async fn erase(app: &App, caller: &UserCaller, guest_id: GuestId) -> Result<GuestRecord> {
    caller.must(Action::ManageGuests)?;
    let now = app.clock.now();
    let id = guest_id.clone();
    let event_id = read(&*app.store, &caller.organization_id, move |tx| find(tx, &id)).await?.event_id;
    let (by, id) = (caller.clone(), event_id.clone());
    let (erased, serial) = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let guest = find(tx, &guest_id)?;
        if guest.erased_at.is_some() {
            return Ok((Some(guest), None));
        }
        let stamp = tx.stamp(&id)?;
        let erased = erase_in(tx, &id, vec![guest], now)?;
        tx.append_audit(line::of(&by, Some(&id), "guest_erased", ("Guest", guest_id.as_str()), json!({})))?;
        Ok((erased.into_iter().next(), Some(stamp.serial)))
    })
    .await?;
    if let Some(serial) = serial {
        // Phones that hold names fetch them again.
        announce(app, &caller.organization_id, &event_id, &Brought { serial, ..Brought::default() });
    }
    erased.ok_or_else(|| Error::Bug("a guest was erased and is not there".into()))
}

/// Erases the data of all guests whose event ended longer ago than the organiser's retention time. Returns the number
/// of guests per event. A second call finds nothing.
pub async fn erase_due(app: &App) -> Result<Vec<(EventId, usize)>> {
    let now = app.clock.now();
    let mut done = Vec::new();
    for organization_id in app.store.organizations().await? {
        let due = read(&*app.store, &organization_id, move |tx| tx.events_past_retention(now)).await?;
        for event_id in due {
            let mut erased = 0;
            loop {
                let id = event_id.clone();
                let some = write(&*app.store, Scope::event(&organization_id, &event_id), move |tx| {
                    let guests = tx.unerased_guests(&id, CHUNK)?;
                    if guests.is_empty() {
                        return Ok(0);
                    }
                    tx.stamp(&id)?;
                    let count = erase_in(tx, &id, guests, now)?.len();
                    tx.append_audit(of_the_server(&id, count))?;
                    Ok(count)
                })
                .await?;
                erased += some;
                if some < CHUNK {
                    break;
                }
            }
            done.push((event_id, erased));
        }
    }
    Ok(done)
}

/// The ledger's line about an erasure that the event's own setting caused and no user asked for.
fn of_the_server(event_id: &EventId, guests: usize) -> NewAudit {
    NewAudit {
        event_id: Some(event_id.clone()),
        user_id: None,
        device_id: None,
        action: "guests_erased",
        entity_type: "Event",
        entity_id: event_id.as_str().to_owned(),
        changes: json!({ "guests": guests }).to_string(),
        metadata: "{}".to_owned(),
    }
}

/// Erases these guests: their rows lose the personal data, and everything else stored about them is deleted. The write
/// must have its serial already.
fn erase_in(tx: &mut dyn Tx, event_id: &EventId, guests: Vec<GuestRecord>, now: Timestamp) -> Result<Vec<GuestRecord>> {
    let erased: Vec<GuestRecord> = guests.iter().map(|guest| without_data(guest, now)).collect();
    tx.forget_guests(event_id, &guests, now)?;
    tx.update_guests(&erased)?;
    let tickets: BTreeSet<TicketId> = guests.into_iter().filter_map(|guest| guest.ticket_id).collect();
    tickets::import::undo::forget(tx, event_id, &tickets)?;
    Ok(erased)
}

/// The guest without personal data. The row still says that a guest was expected, with the party size, the entry type
/// and the list.
fn without_data(guest: &GuestRecord, now: Timestamp) -> GuestRecord {
    GuestRecord {
        guest_id: guest.guest_id.clone(),
        event_id: guest.event_id.clone(),
        ticket_id: guest.ticket_id.clone(),
        guest_list_id: guest.guest_list_id.clone(),
        entry_type_id: guest.entry_type_id.clone(),
        name: String::new(),
        email: None,
        phone: None,
        party_size: guest.party_size,
        note: None,
        flag: None,
        fields: Fields::new(),
        external_id: None,
        created_at: guest.created_at,
        updated_at: now,
        erased_at: Some(now),
    }
}
