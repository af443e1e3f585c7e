//! Creates one or many tickets, with or without guests.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::access::{Action, can};
use admit_core::barcode::{BarcodeHash, canonical, check_barcode};
use admit_core::ids::{EntryTypeId, EventId, GateId, GuestListId};
use admit_core::limits::TICKETS_PER_REQUEST;
use admit_core::ticket::{TicketRules, TicketStatus};
use admit_core::time::Timestamp;
use serde_json::json;

use super::put::{Fresh, put_new};
use super::{ids, keys};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::{Checks, path};
use crate::error::{Error, Result};
use crate::events;
use crate::guest_lists;
use crate::passes::{self, DeliveryReason};
use crate::ports::{App, Scope, Tx, write};
use crate::records::{EntryTypeRecord, Fields, GuestRecord, TicketRecord};
use crate::rules::announce;
use crate::seeded_ids::SeededIds;

/// A ticket to create.
#[derive(Debug, Clone, Default)]
pub struct NewTicket {
    /// The ticket's code. Absent means a fresh UUID v4.
    pub barcode: Option<String>,
    /// The ticket's zone. Absent means the zone of its entry type.
    pub zone: Option<String>,
    /// The entry type. Absent means the event's first (spec §3).
    pub entry_type_id: Option<EntryTypeId>,
    /// Gates at which the ticket admits. If empty, every gate that admits its zone.
    pub gate_ids: Vec<GateId>,
    /// Persons that the ticket admits. Absent means the guest's party size, otherwise 1.
    pub entry_limit: Option<u32>,
    /// The ticket's status. Absent means `active`.
    pub status: Option<TicketStatus>,
    /// The first moment at which the ticket admits. Absent if there is no such bound.
    pub valid_from: Option<Timestamp>,
    /// The first moment at which the ticket no longer admits. Absent if there is no such bound.
    pub expires_at: Option<Timestamp>,
    /// The number of the order that the ticket belongs to. Absent if there is none.
    pub order_id: Option<String>,
    /// The guest who holds the ticket. Absent if nobody does.
    pub guest: Option<NewGuest>,
}

/// A guest to create.
#[derive(Debug, Clone, Default)]
pub struct NewGuest {
    /// The guest's name.
    pub name: String,
    /// The guest's e-mail address. Absent if none is known.
    pub email: Option<String>,
    /// The guest's phone number. Absent if none is known.
    pub phone: Option<String>,
    /// Number of persons. Absent means the ticket's limit, otherwise 1.
    pub party_size: Option<u32>,
    /// The note for the door. Absent if there is none.
    pub note: Option<String>,
    /// The flag for the door. Absent if there is none.
    pub flag: Option<String>,
    /// The guest's own fields.
    pub fields: Fields,
    /// The organiser's own id of the guest. Absent if there is none.
    pub external_id: Option<String>,
    /// The guest list that the guest is on. Absent if the guest is on none.
    pub guest_list_id: Option<GuestListId>,
}

/// The entry types, gates and lists to which tickets of an event may refer.
pub(crate) struct Known {
    pub gate_ids: Vec<GateId>,
    pub entry_types: Vec<EntryTypeRecord>,
}

impl Known {
    pub(crate) fn load(tx: &mut dyn Tx, event_id: &EventId) -> Result<Self> {
        Ok(Self { gate_ids: tx.gate_ids(event_id)?, entry_types: tx.entry_types(event_id)? })
    }
}

/// Creates all of the tickets or none. Fails with `barcode_taken` if a code was ever given to another ticket of the
/// event. Errors name the item: `[3].entry_limit`.
pub async fn create(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    new: Vec<NewTicket>,
) -> Result<Vec<(TicketRecord, Option<GuestRecord>)>> {
    if !new.iter().all(|ticket| ticket.guest.as_ref().is_some_and(|guest| guest.guest_list_id.is_some())) {
        caller.must(Action::ManageGuests)?;
    }
    if new.is_empty() || new.len() > TICKETS_PER_REQUEST {
        return Err(Error::invalid("", format!("must hold 1 to {TICKETS_PER_REQUEST} tickets, not {}", new.len())));
    }
    let now = app.clock.now();
    let seeded = app.seeded_ids();
    let by = caller.clone();
    let id = event_id.clone();
    let (made, brought, rings) = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let mut seeded = seeded.clone();
        // 1. Check against what the event has.
        let event = events::require(tx, &id)?;
        let known = Known::load(tx, &id)?;
        let mut checks = Checks::default();
        let mut fresh = Vec::with_capacity(new.len());
        let mut lists = BTreeSet::new();
        for (i, ticket) in new.iter().enumerate() {
            let at = format!("[{i}]");
            if let Some(guest) = &ticket.guest
                && lists.insert(guest.guest_list_id.clone())
            {
                let field = path(&at, "guest.guest_list_id");
                guest_lists::must_fill(tx, &by, &id, guest.guest_list_id.as_ref(), &field)?;
            }
            if !can(by.role, Action::ManageGuests) {
                no_more_than_a_guest(&mut checks, &at, ticket);
            }
            fresh.push(build(&mut checks, &at, ticket, &known, &id, now, &mut seeded)?);
        }
        no_code_twice(&mut checks, &fresh);
        with_keys(tx, &mut checks, &by, &new, &mut fresh)?;
        checks.finish()?;
        // 2. Store the tickets, judge the earlier scans of their codes, and write one line.
        let stamp = tx.stamp(&id)?;
        let made: Vec<_> = fresh
            .iter()
            .map(|one| (TicketRecord { rules_serial: stamp.serial, ..one.ticket.clone() }, one.guest.clone()))
            .collect();
        let brought = put_new(tx, &id, fresh, Default::default(), stamp, now, &mut seeded)?;
        let (action, entity, said) = told(&made);
        tx.append_audit(line::of(&by, Some(&id), action, ("Ticket", &entity), said))?;
        // 3. Enqueue their passes.
        let rings = passes::enqueue(tx, &event, &first_passes(&new, &made), now, &mut seeded)?;
        Ok((made, brought, rings))
    })
    .await?;
    if rings {
        app.job_wakeup.wake();
    }
    announce(app, &caller.organization_id, &event_id, &brought);
    Ok(made)
}

/// Checks that a promoter's ticket says only who the guest is and how many persons come. The organiser decides where,
/// when and by which code a guest comes in, and which flags the door sees.
fn no_more_than_a_guest(checks: &mut Checks, at: &str, ticket: &NewTicket) {
    let flag = ticket.guest.as_ref().is_some_and(|guest| guest.flag.is_some());
    let fields = ticket.guest.as_ref().is_some_and(|guest| !guest.fields.is_empty());
    for (field, given) in [
        ("barcode", ticket.barcode.is_some()),
        ("zone", ticket.zone.is_some()),
        ("entry_type_id", ticket.entry_type_id.is_some()),
        ("gate_ids", !ticket.gate_ids.is_empty()),
        ("status", ticket.status.is_some()),
        ("valid_from", ticket.valid_from.is_some()),
        ("expires_at", ticket.expires_at.is_some()),
        ("order_id", ticket.order_id.is_some()),
        ("guest.flag", flag),
        ("guest.fields", fields),
    ] {
        if given {
            checks.fail(path(at, field), "is the organiser's to set: leave it out");
        }
    }
}

/// The guests who get a pass: those whose code the server made. A guest with a given code got it from another system.
fn first_passes(new: &[NewTicket], made: &[(TicketRecord, Option<GuestRecord>)]) -> Vec<(String, DeliveryReason)> {
    let ours = new.iter().zip(made).filter(|(asked, _)| asked.barcode.is_none());
    let guests = ours.filter_map(|(_, (_, guest))| guest.as_ref());
    guests.filter_map(|guest| Some((guest.guest_id.to_string(), passes::reason_of_guest(None, guest)?))).collect()
}

/// Creates one ticket. Errors name only its fields.
pub async fn create_one(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    new: NewTicket,
) -> Result<(TicketRecord, Option<GuestRecord>)> {
    let made = create(app, caller, event_id, vec![new]).await.map_err(|error| below(error, "[0]"))?;
    made.into_iter().next().ok_or_else(|| Error::Bug("a ticket was to be made and was not".into()))
}

/// The same error as seen inside `parent`: for the parent `[0]`, the path `[0].guest.name` becomes `guest.name`.
pub(crate) fn below(error: Error, parent: &str) -> Error {
    let Error::Invalid { code, mut errors } = error else { return error };
    for error in &mut errors {
        if let Some(rest) = error.path.strip_prefix(parent) {
            error.path = rest.trim_start_matches('.').to_owned();
        }
    }
    Error::Invalid { code, errors }
}

fn told(made: &[(TicketRecord, Option<GuestRecord>)]) -> (&'static str, String, serde_json::Value) {
    match made {
        [(ticket, guest)] => {
            let hashes: Vec<String> = ticket.barcode_hashes.iter().map(ToString::to_string).collect();
            let guest = guest.as_ref().map(|guest| guest.guest_id.as_str());
            let said = json!({ "barcode_hashes": hashes, "guest_id": guest, "entry_limit": ticket.rules.entry_limit });
            ("ticket_created", ticket.ticket_id.as_str().to_owned(), said)
        }
        many => {
            let ids: Vec<&str> = many.iter().map(|(ticket, _)| ticket.ticket_id.as_str()).collect();
            ("tickets_created", String::new(), json!({ "count": many.len(), "ticket_ids": ids }))
        }
    }
}

/// Gives tickets the keys by which imports find them again. If the server made the code, the key is made of the guest's
/// external id. A ticket with a given code gets no key, since an import finds it by the code. Such tickets may share an
/// external id, such as that of their order.
fn with_keys(
    tx: &mut dyn Tx,
    checks: &mut Checks,
    by: &UserCaller,
    new: &[NewTicket],
    fresh: &mut [Fresh],
) -> Result<()> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (i, (asked, one)) in new.iter().zip(fresh.iter_mut()).enumerate() {
        let Some(guest) = one.guest.as_ref().filter(|_| asked.barcode.is_none()) else { continue };
        one.ticket.import_key = keys::of_guest(by, guest);
        if let Some(key) = &one.ticket.import_key
            && let Some(first) = places.insert(key.clone(), i)
        {
            checks.fail(format!("[{i}].guest.external_id"), format!("is the same as [{first}].guest.external_id"));
        }
    }
    let asked: Vec<String> = places.keys().cloned().collect();
    let event_id = fresh.first().map(|one| one.ticket.event_id.clone());
    let Some(event_id) = event_id.filter(|_| !asked.is_empty()) else { return Ok(()) };
    for ticket in tx.tickets_by_import_key(&event_id, &asked)? {
        if let Some(i) = ticket.import_key.as_ref().and_then(|key| places.get(key)) {
            checks.fail(format!("[{i}].guest.external_id"), keys::TAKEN);
        }
    }
    Ok(())
}

fn no_code_twice(checks: &mut Checks, fresh: &[Fresh]) {
    let mut seen = BTreeMap::new();
    for (i, one) in fresh.iter().enumerate() {
        for hash in &one.ticket.barcode_hashes {
            if let Some(first) = seen.insert(*hash, i) {
                checks.fail(format!("[{i}].barcode"), format!("is the same as [{first}].barcode"));
            }
        }
    }
}

/// Checks one ticket and its guest, and makes their rows.
pub(crate) fn build(
    checks: &mut Checks,
    at: &str,
    new: &NewTicket,
    known: &Known,
    event_id: &EventId,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Fresh> {
    let entry_type = match &new.entry_type_id {
        None => known.entry_types.first(),
        Some(asked) => {
            let found = known.entry_types.iter().find(|one| one.entry_type_id == *asked);
            if found.is_none() {
                checks.fail(path(at, "entry_type_id"), "is not an entry type of this event");
            }
            found
        }
    };
    let zone = match &new.zone {
        Some(zone) => checks.zone(&path(at, "zone"), zone),
        None => entry_type.map_or_else(|| "general".to_owned(), |one| one.zone.clone()),
    };
    let party = new.guest.as_ref().and_then(|guest| guest.party_size);
    let entry_limit = checks.party(&path(at, "entry_limit"), new.entry_limit.or(party).unwrap_or(1));
    checks.window(&path(at, "expires_at"), new.valid_from, new.expires_at);
    let barcode = match &new.barcode {
        Some(text) => checked_barcode(checks, &path(at, "barcode"), text),
        None => seeded.uuid(),
    };
    let ticket_id = ids::ticket_id(seeded, now)?;
    // A zone that belongs to another entry type gives the guest that type.
    let type_id = entry_type
        .filter(|one| one.zone == zone)
        .or_else(|| known.entry_types.iter().find(|one| one.zone == zone))
        .map(|one| one.entry_type_id.clone());
    let guest = match &new.guest {
        None => None,
        Some(guest) => {
            let id = ids::guest_id(seeded, now)?;
            let mut row = build_guest(checks, &path(at, "guest"), guest, id, event_id, now);
            row.party_size = checks.party(&path(at, "guest.party_size"), guest.party_size.unwrap_or(entry_limit));
            row.ticket_id = Some(ticket_id.clone());
            row.entry_type_id = type_id;
            Some(row)
        }
    };
    let ticket = TicketRecord {
        ticket_id,
        event_id: event_id.clone(),
        rules: TicketRules {
            status: new.status.unwrap_or(TicketStatus::Active),
            entry_limit,
            gate_ids: checks.gate_ids(&path(at, "gate_ids"), &new.gate_ids, &known.gate_ids),
            zone,
            valid_from: new.valid_from,
            expires_at: new.expires_at,
        },
        barcode_hashes: vec![BarcodeHash::of(&barcode)],
        barcode: Some(barcode),
        drawn: new.barcode.is_none(),
        import_key: None,
        order_id: checks.order_id(&path(at, "order_id"), new.order_id.as_deref()),
        guest_id: guest.as_ref().map(|guest| guest.guest_id.clone()),
        rules_serial: 0,
        created_at: now,
    };
    Ok(Fresh { ticket, guest })
}

/// Checks a code and returns its canonical form, without what readers and spreadsheets add.
pub(crate) fn checked_barcode(checks: &mut Checks, path: &str, text: &str) -> String {
    let code = canonical(text).into_owned();
    if let Err(error) = check_barcode(&code) {
        checks.fail(path, error.to_string());
    }
    code
}

/// The row of a guest, without ticket, entry type and party size.
pub(crate) fn build_guest(
    checks: &mut Checks,
    at: &str,
    new: &NewGuest,
    guest_id: admit_core::ids::GuestId,
    event_id: &EventId,
    now: Timestamp,
) -> GuestRecord {
    GuestRecord {
        guest_id,
        event_id: event_id.clone(),
        ticket_id: None,
        guest_list_id: new.guest_list_id.clone(),
        entry_type_id: None,
        name: checks.name(&path(at, "name"), &new.name),
        email: checks.optional_email(&path(at, "email"), new.email.as_deref()),
        phone: checks.phone(&path(at, "phone"), new.phone.as_deref()),
        party_size: 1,
        note: checks.note(&path(at, "note"), new.note.as_deref()),
        flag: checks.flag(&path(at, "flag"), new.flag.as_deref()),
        fields: checks.fields(&path(at, "fields"), &new.fields),
        external_id: checks.external_id(&path(at, "external_id"), new.external_id.as_deref()),
        created_at: now,
        updated_at: now,
        erased_at: None,
    }
}
