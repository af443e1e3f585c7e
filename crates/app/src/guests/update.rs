//! Changes a guest. The party size of the guest is also the limit of the guest's ticket, so both change together.

use std::collections::BTreeMap;

use admit_core::access::{Action, can};
use admit_core::ids::{GuestId, GuestListId};
use admit_core::ticket::{TicketRules, TicketStatus};
use serde_json::{Map, Value, json};

use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::guest_lists;
use crate::passes;
use crate::ports::{App, Scope, Tx, read, write};
use crate::records::{Fields, GuestRecord, TicketRecord};
use crate::rules::announce;
use crate::tickets::{TicketPatch, apply, keys, status};

/// The fields to change. `None` leaves a field unchanged, and `Some(None)` clears it.
#[derive(Debug, Clone, Default)]
pub struct GuestPatch {
    /// The new name; absent: unchanged.
    pub name: Option<String>,
    /// The new e-mail address; absent: unchanged. With `Some(None)` the address is removed.
    pub email: Option<Option<String>>,
    /// The new phone number; absent: unchanged. With `Some(None)` the number is removed.
    pub phone: Option<Option<String>>,
    /// The new number of persons; absent: unchanged. The ticket's limit follows.
    pub party_size: Option<u32>,
    /// The new note for the door; absent: unchanged.
    pub note: Option<Option<String>>,
    /// The new flag for the door; absent: unchanged.
    pub flag: Option<Option<String>>,
    /// The guest's own fields by name: a value to set, or `None` to remove the field. Other fields stay.
    pub fields: BTreeMap<String, Option<String>>,
    /// The organiser's own id of the guest; absent: unchanged.
    pub external_id: Option<Option<String>>,
    /// The new status of the guest's ticket; absent: unchanged. A `voided` ticket admits nobody. `active` ends the
    /// voiding.
    pub ticket_status: Option<TicketStatus>,
    /// The new guest list; absent: unchanged.
    pub guest_list_id: Option<Option<GuestListId>>,
}

impl GuestPatch {
    /// Whether the patch changes personal data.
    fn is_personal(&self) -> bool {
        self.name.is_some()
            || self.email.is_some()
            || self.phone.is_some()
            || self.note.is_some()
            || self.flag.is_some()
            || !self.fields.is_empty()
            || self.external_id.is_some()
    }
}

/// Changes a guest. A patch that changes nothing writes nothing. Fails with `guest_erased` if it would write personal
/// data of a guest whose data was erased.
pub async fn update(app: &App, caller: &UserCaller, guest_id: GuestId, patch: GuestPatch) -> Result<GuestRecord> {
    if !can(caller.role, Action::ManageGuests) {
        caller.must(Action::ManageOwnGuests)?;
    }
    let now = app.clock.now();
    let seeded = app.seeded_ids();
    // 1. Find the guest's event, since its head must be known before the write begins.
    let id = guest_id.clone();
    let guest = read(&*app.store, &caller.organization_id, move |tx| find(tx, &id)).await?;
    let event_id = guest.event_id;
    let by = caller.clone();
    let (guest, brought) = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let mut seeded = seeded.clone();
        // 2. Compute the new values. A promoter may only move guests among their own lists.
        let before = find(tx, &guest_id)?;
        guest_lists::must_fill(tx, &by, &before.event_id, before.guest_list_id.as_ref(), "guest_list_id")
            .map_err(hidden)?;
        if before.erased_at.is_some() && patch.is_personal() {
            let message = "this guest's personal data was erased: it is not written anew";
            return Err(Error::conflict("guest_erased", message));
        }
        let after = applied(&before, &patch)?;
        if after.guest_list_id != before.guest_list_id {
            guest_lists::must_fill(tx, &by, &before.event_id, after.guest_list_id.as_ref(), "guest_list_id")?;
        }
        if after.flag != before.flag && !can(by.role, Action::ManageGuests) {
            return Err(Error::invalid("flag", "is the organiser's to set: leave it as it is"));
        }
        if after.fields != before.fields && !can(by.role, Action::ManageGuests) {
            return Err(Error::invalid("fields", "are the organiser's to set: leave them as they are"));
        }
        let ticket = held_ticket(tx, &before, &after, &patch)?;
        if let (Some(ticket), Some(status)) = (&ticket, patch.ticket_status) {
            status::may_become(tx, &by, ticket, status)?;
        }
        let (ticket, is_rekeyed) = match ticket {
            Some(ticket) => {
                let (ticket, is_rekeyed) = with_key(tx, &by, &before, &after, ticket)?;
                (Some(ticket), is_rekeyed)
            }
            None => (None, false),
        };
        let rules = ticket.as_ref().map(|ticket| TicketRules {
            entry_limit: if after.party_size == before.party_size {
                ticket.rules.entry_limit
            } else {
                after.party_size
            },
            status: patch.ticket_status.unwrap_or(ticket.rules.status),
            ..ticket.rules.clone()
        });
        if after == before && rules.as_ref() == ticket.as_ref().map(|ticket| &ticket.rules) {
            return Ok((before, None));
        }
        // 3. Store the row, the ticket's limit and status, and the line.
        tx.stamp(&before.event_id)?;
        let mut said = differences(&before, &after);
        let after = if after == before { after } else { GuestRecord { updated_at: now, ..after } };
        if after != before {
            tx.update_guests(std::slice::from_ref(&after))?;
        }
        let mut brought = None;
        let status = ticket.as_ref().zip(rules.as_ref()).map(|(ticket, rules)| (ticket.rules.status, rules.status));
        if let (Some(ticket), Some(rules)) = (ticket, rules) {
            if is_rekeyed {
                tx.update_tickets(std::slice::from_ref(&ticket))?;
            }
            if let Some(applied) = apply(tx, &ticket, rules, &TicketPatch::default(), now, &mut seeded)? {
                said.insert("ticket".to_owned(), Value::Object(applied.said));
                brought = Some(applied.brought);
            }
        }
        let entity = ("Guest", guest_id.as_str());
        tx.append_audit(line::of(&by, Some(&before.event_id), "guest_updated", entity, Value::Object(said)))?;
        // 4. Mail the pass if its content or the address changed, or if the ticket is active again.
        let status = status.unwrap_or((TicketStatus::Active, TicketStatus::Active));
        passes::enqueue_change(tx, &before, &after, status, now, &mut seeded)?;
        Ok((after, brought))
    })
    .await?;
    app.job_wakeup.wake();
    if let Some(brought) = brought {
        announce(app, &caller.organization_id, &event_id, &brought);
    }
    Ok(guest)
}

/// Turns the refusal of a guest list that is not the promoter's own into `NotFound`. To a promoter, a guest on somebody
/// else's list does not exist.
pub(super) fn hidden(error: Error) -> Error {
    if matches!(error, Error::Invalid { .. }) { Error::not_found("guest") } else { error }
}

pub(super) fn find(tx: &mut dyn Tx, guest_id: &GuestId) -> Result<GuestRecord> {
    tx.guests_by_id(std::slice::from_ref(guest_id))?.into_iter().next().ok_or_else(|| Error::not_found("guest"))
}

fn applied(before: &GuestRecord, patch: &GuestPatch) -> Result<GuestRecord> {
    let mut checks = Checks::default();
    let after = GuestRecord {
        name: patch.name.as_ref().map_or_else(|| before.name.clone(), |name| checks.name("name", name)),
        email: match &patch.email {
            Some(email) => checks.optional_email("email", email.as_deref()),
            None => before.email.clone(),
        },
        phone: match &patch.phone {
            Some(phone) => checks.phone("phone", phone.as_deref()),
            None => before.phone.clone(),
        },
        party_size: patch.party_size.map_or(before.party_size, |persons| checks.party("party_size", persons)),
        note: match &patch.note {
            Some(note) => checks.note("note", note.as_deref()),
            None => before.note.clone(),
        },
        flag: match &patch.flag {
            Some(flag) => checks.flag("flag", flag.as_deref()),
            None => before.flag.clone(),
        },
        fields: checks.fields("fields", &with_fields(&before.fields, &patch.fields)),
        external_id: match &patch.external_id {
            Some(id) => checks.external_id("external_id", id.as_deref()),
            None => before.external_id.clone(),
        },
        guest_list_id: patch.guest_list_id.clone().unwrap_or_else(|| before.guest_list_id.clone()),
        ..before.clone()
    };
    checks.finish()?;
    Ok(after)
}

/// The fields after the changes of a patch.
fn with_fields(before: &Fields, patch: &BTreeMap<String, Option<String>>) -> Fields {
    let mut fields = before.clone();
    for (name, value) in patch {
        match value {
            Some(value) => drop(fields.insert(name.clone(), value.clone())),
            None => drop(fields.remove(name)),
        }
    }
    fields
}

/// Updates the import key, by which the next file finds the ticket. If the external id changes, and the key was made of
/// the old external id or there was no key, the key is made of the new id. A key that was made of an order's number or
/// a name stays. If the guest changes lists, a key that belongs to one list becomes a key of the new list. Returns
/// whether the key changed.
fn with_key(
    tx: &mut dyn Tx,
    by: &UserCaller,
    before: &GuestRecord,
    after: &GuestRecord,
    ticket: TicketRecord,
) -> Result<(TicketRecord, bool)> {
    let by_id = match &ticket.import_key {
        Some(key) => keys::is_of_external_id(key),
        None => ticket.drawn,
    };
    let organisers = ticket.import_key.as_deref().is_some_and(keys::is_of_event) && !can(by.role, Action::ManageGuests);
    if after.external_id != before.external_id && by_id && organisers {
        // The organiser's files and webhooks would take this guest for another one, and create a second ticket.
        return Err(Error::invalid("external_id", "is the organiser's number of this guest: leave it as it is"));
    }
    let (import_key, field, why) = if after.external_id != before.external_id && by_id {
        (keys::of_guest(by, after), "external_id", keys::TAKEN)
    } else {
        let lists = tx.guest_lists(&before.event_id)?;
        let to = lists.iter().find(|list| Some(&list.guest_list_id) == after.guest_list_id.as_ref());
        let to = to.filter(|_| after.guest_list_id != before.guest_list_id);
        let moved = to.zip(ticket.import_key.as_deref()).and_then(|(to, key)| keys::moved(key, to));
        (moved.or_else(|| ticket.import_key.clone()), "guest_list_id", keys::THERE_ALREADY)
    };
    if import_key == ticket.import_key {
        return Ok((ticket, false));
    }
    let others = tx.tickets_by_import_key(&before.event_id, import_key.as_slice())?;
    match others.iter().any(|other| other.ticket_id != ticket.ticket_id) {
        true => Err(Error::invalid(field, why)),
        false => Ok((TicketRecord { import_key, ..ticket }, true)),
    }
}

/// The ticket whose limit, status or key the patch changes. `None` if it changes none.
fn held_ticket(
    tx: &mut dyn Tx,
    before: &GuestRecord,
    after: &GuestRecord,
    patch: &GuestPatch,
) -> Result<Option<TicketRecord>> {
    let touched = after.party_size != before.party_size
        || after.external_id != before.external_id
        || after.guest_list_id != before.guest_list_id
        || patch.ticket_status.is_some();
    match &before.ticket_id {
        Some(ticket_id) if touched => tx.ticket(ticket_id),
        None if patch.ticket_status.is_some() => Err(Error::invalid("ticket_status", "this guest holds no ticket")),
        _ => Ok(None),
    }
}

/// The changes of a guest, for the ledger line about the update. They name the fields of personal data, but not the
/// values, so that the values can be erased.
fn differences(before: &GuestRecord, after: &GuestRecord) -> Map<String, Value> {
    let mut out = Map::new();
    let personal = [
        ("name", before.name != after.name),
        ("email", before.email != after.email),
        ("phone", before.phone != after.phone),
        ("note", before.note != after.note),
        ("flag", before.flag != after.flag),
        ("fields", before.fields != after.fields),
        ("external_id", before.external_id != after.external_id),
    ];
    out.extend(
        personal.into_iter().filter(|(_, changed)| *changed).map(|(field, _)| (field.to_owned(), json!("changed"))),
    );
    if before.party_size != after.party_size {
        out.insert("party_size".to_owned(), json!({ "from": before.party_size, "to": after.party_size }));
    }
    if before.guest_list_id != after.guest_list_id {
        let id = |guest: &GuestRecord| json!(guest.guest_list_id.as_ref().map(GuestListId::as_str));
        out.insert("guest_list_id".to_owned(), json!({ "from": id(before), "to": id(after) }));
    }
    out
}
