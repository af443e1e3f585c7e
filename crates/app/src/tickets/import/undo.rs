//! Undoes an import as a whole, as long as none of its guests was scanned.
//!
//! Rules are facts and phones hold the list, so tickets that an import made are not deleted. They are voided and
//! withdrawn. A withdrawn ticket and its guest are in no list and no count. Importing the same file again restores
//! them.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::access::{Action, can};
use admit_core::ids::{EntryTypeId, EventId, GateId, GuestId, GuestListId, TicketId};
use admit_core::incident::Subject;
use admit_core::rule::{Change, Effective, TicketChange};
use admit_core::ticket::{TicketRules, TicketStatus};
use admit_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::compare::differences;
use super::planned::{Before, Plan};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::ports::{App, Scope, Tx, read, write};
use crate::records::{EventRecord, Fields, GuestRecord, ImportRecord, Stamp, TicketRecord};
use crate::rules::{Brought, announce, put};

/// The result of undoing an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// Number of tickets that the import had made and that are withdrawn now.
    pub withdrawn: usize,
    /// Number of tickets and guests that are as they were before the import.
    pub restored: usize,
    /// Number of tickets and guests that somebody changed after the import, so they stay as they are.
    pub kept: usize,
}

/// The record of an import by which it can be undone.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    created: Vec<TicketId>,
    changed: Vec<KeptTicket>,
}

/// A ticket and its guest as they were before the import.
#[derive(Debug, Serialize, Deserialize)]
struct KeptTicket {
    ticket_id: TicketId,
    status: String,
    entry_limit: u32,
    gate_ids: Vec<GateId>,
    zone: String,
    valid_from: Option<i64>,
    expires_at: Option<i64>,
    #[serde(default)]
    order_id: Option<String>,
    guest: Option<KeptGuest>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptGuest {
    name: String,
    email: Option<String>,
    phone: Option<String>,
    party_size: u32,
    note: Option<String>,
    flag: Option<String>,
    #[serde(default)]
    fields: Fields,
    external_id: Option<String>,
    guest_list_id: Option<GuestListId>,
    entry_type_id: Option<EntryTypeId>,
}

impl KeptTicket {
    fn of(before: &Before) -> Self {
        let rules = &before.ticket.rules;
        Self {
            ticket_id: before.ticket.ticket_id.clone(),
            status: rules.status.as_str().to_owned(),
            entry_limit: rules.entry_limit,
            gate_ids: rules.gate_ids.clone(),
            zone: rules.zone.clone(),
            valid_from: rules.valid_from.map(Timestamp::ms),
            expires_at: rules.expires_at.map(Timestamp::ms),
            order_id: before.ticket.order_id.clone(),
            guest: before.guest.clone().map(|guest| KeptGuest {
                name: guest.name,
                email: guest.email,
                phone: guest.phone,
                party_size: guest.party_size,
                note: guest.note,
                flag: guest.flag,
                fields: guest.fields,
                external_id: guest.external_id,
                guest_list_id: guest.guest_list_id,
                entry_type_id: guest.entry_type_id,
            }),
        }
    }
    fn rules(&self) -> TicketRules {
        TicketRules {
            status: self.status.parse().unwrap_or(TicketStatus::Voided),
            entry_limit: self.entry_limit,
            gate_ids: self.gate_ids.clone(),
            zone: self.zone.clone(),
            valid_from: self.valid_from.map(Timestamp::clamped),
            expires_at: self.expires_at.map(Timestamp::clamped),
        }
    }
}

impl KeptGuest {
    fn restored(&self, guest: &GuestRecord, now: Timestamp) -> GuestRecord {
        GuestRecord {
            name: self.name.clone(),
            email: self.email.clone(),
            phone: self.phone.clone(),
            party_size: self.party_size,
            note: self.note.clone(),
            flag: self.flag.clone(),
            fields: self.fields.clone(),
            external_id: self.external_id.clone(),
            guest_list_id: self.guest_list_id.clone(),
            entry_type_id: self.entry_type_id.clone(),
            updated_at: now,
            ..guest.clone()
        }
    }
}

/// The row of an import in the list of imports, with the former values that undoing the import needs.
pub(super) fn record(
    import_id: &str,
    event: &EventRecord,
    by: &UserCaller,
    file_name: Option<&str>,
    plan: &Plan,
    stamp: Stamp,
    now: Timestamp,
) -> ImportRecord {
    let fresh = plan.create.iter().map(|one| one.ticket.ticket_id.clone());
    let revived = plan.revived.iter().cloned();
    let kept =
        Kept { created: fresh.chain(revived).collect(), changed: plan.before.iter().map(KeptTicket::of).collect() };
    ImportRecord {
        import_id: import_id.to_owned(),
        event_id: event.event_id.clone(),
        serial: stamp.serial,
        user_id: by.user_id.clone(),
        file_name: file_name.map(str::to_owned),
        created: plan.created() as u64,
        updated: plan.updated as u64,
        imported_at: now,
        undone_at: None,
        kept: serde_json::to_string(&kept).unwrap_or_default(),
    }
}

/// Deletes, for these tickets and their guests, the former values that undoing an import would restore. It is called
/// when guests' data is erased, since undoing an import must not bring the data back.
pub(crate) fn forget(tx: &mut dyn Tx, event_id: &EventId, tickets: &BTreeSet<TicketId>) -> Result<()> {
    for record in tx.imports_with_kept(event_id)? {
        let mut kept: Kept = read_kept(&record)?;
        let before = kept.changed.len();
        kept.changed.retain(|one| !tickets.contains(&one.ticket_id));
        if kept.changed.len() != before {
            tx.put_kept(&ImportRecord { kept: serde_json::to_string(&kept).unwrap_or_default(), ..record })?;
        }
    }
    Ok(())
}

fn read_kept(record: &ImportRecord) -> Result<Kept> {
    serde_json::from_str(&record.kept).map_err(|error| Error::Bug(format!("an import's record is damaged: {error}")))
}

/// The imports of an event, newest first.
pub async fn list(app: &App, caller: &UserCaller, event_id: EventId) -> Result<Vec<ImportRecord>> {
    caller.must(Action::ManageGuests)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        tx.imports(&event_id)
    })
    .await
}

/// Undoes an import.
///
/// 1. Find it. Fails with `import_undone` if it was undone before, and with `import_in_use` if one of its guests was
///    scanned.
/// 2. Void and withdraw the tickets that it made.
/// 3. Restore what it changed, except what somebody changed after it.
/// 4. Write one line in the ledger.
pub async fn undo(app: &App, caller: &UserCaller, event_id: EventId, import_id: String) -> Result<Undone> {
    if !can(caller.role, Action::ManageGuests) {
        caller.must(Action::ManageOwnGuests)?;
    }
    let (now, seeded, by) = (app.clock.now(), app.seeded_ids(), caller.clone());
    let scope = Scope::event(&caller.organization_id, &event_id);
    let (undone, brought) = write(&*app.store, scope, {
        let event_id = event_id.clone();
        move |tx| {
            let mut seeded = seeded.clone();
            let (record, kept) = find(tx, &by, &event_id, &import_id)?;
            let stamp = tx.stamp(&event_id)?;
            let mut changes = withdraw(tx, &event_id, &kept.created, stamp)?;
            let withdrawn = kept.created.len();
            let (restored, others) = restore(tx, &event_id, &record, &kept.changed, stamp.serial, now)?;
            let undone = Undone { withdrawn, restored: restored.count, kept: others };
            changes.extend(restored.changes);
            let when = Effective::At(stamp.effective_at);
            let rules = changes.into_iter().map(|(id, change)| (when, Change::Ticket(id, change))).collect();
            let brought = put(tx, &event_id, stamp, rules, &BTreeSet::new(), now, &mut seeded)?;
            tx.update_import(&ImportRecord { undone_at: Some(now), ..record })?;
            let said = json!({ "withdrawn": withdrawn, "restored": undone.restored, "kept": undone.kept });
            tx.append_audit(line::of(&by, Some(&event_id), "import_undone", ("Event", event_id.as_str()), said))?;
            Ok((undone, brought))
        }
    })
    .await?;
    let brought: Brought = brought;
    announce(app, &caller.organization_id, &event_id, &brought);
    Ok(undone)
}

fn find(tx: &mut dyn Tx, by: &UserCaller, event_id: &EventId, import_id: &str) -> Result<(ImportRecord, Kept)> {
    events::require(tx, event_id)?;
    let own = |record: &ImportRecord| can(by.role, Action::ManageGuests) || record.user_id == by.user_id;
    let found = tx.import(event_id, import_id)?.filter(own);
    let record = found.ok_or_else(|| Error::not_found("import"))?;
    if record.undone_at.is_some() {
        return Err(Error::conflict("import_undone", "this import was undone already"));
    }
    let kept = read_kept(&record)?;
    let tickets = kept.created.iter().chain(kept.changed.iter().map(|one| &one.ticket_id));
    let keys: Vec<String> = tickets.map(|id| Subject::Ticket(id.clone()).key()).collect();
    let scanned = tx.states(event_id, &keys)?.len();
    if scanned > 0 {
        let message =
            format!("{scanned} of its tickets were scanned: an import is undone only before its first guest is");
        return Err(Error::conflict("import_in_use", message));
    }
    Ok((record, kept))
}

type Changes = Vec<(TicketId, TicketChange)>;

fn withdraw(tx: &mut dyn Tx, event_id: &EventId, ids: &[TicketId], stamp: Stamp) -> Result<Changes> {
    let (mut tickets, mut changes) = (Vec::new(), Vec::new());
    for ticket in tx.tickets_by_id(event_id, ids)? {
        if ticket.rules.status != TicketStatus::Voided {
            changes.push((ticket.ticket_id.clone(), TicketChange::Status(TicketStatus::Voided)));
            let rules = TicketRules { status: TicketStatus::Voided, ..ticket.rules.clone() };
            tickets.push(TicketRecord { rules, rules_serial: stamp.serial, ..ticket });
        }
    }
    if !tickets.is_empty() {
        tx.update_tickets(&tickets)?;
    }
    tx.withdraw_tickets(event_id, ids)?;
    Ok(changes)
}

struct Restored {
    count: usize,
    changes: Changes,
}

/// Restores tickets and guests. Returns how many stay because somebody changed them since.
fn restore(
    tx: &mut dyn Tx,
    event_id: &EventId,
    record: &ImportRecord,
    kept: &[KeptTicket],
    now_serial: u64,
    now: Timestamp,
) -> Result<(Restored, usize)> {
    let ids: Vec<TicketId> = kept.iter().map(|one| one.ticket_id.clone()).collect();
    let tickets = tx.tickets_by_id(event_id, &ids)?;
    let guest_ids: Vec<_> = tickets.iter().filter_map(|ticket| ticket.guest_id.clone()).collect();
    let guests = tx.guests_by_id(&guest_ids)?;
    let (mut restored, mut others) = (Restored { count: 0, changes: Vec::new() }, 0);
    let (mut new_tickets, mut new_guests) = (Vec::new(), Vec::new());
    let before: BTreeMap<&TicketId, &KeptTicket> = kept.iter().map(|one| (&one.ticket_id, one)).collect();
    let guests: BTreeMap<&GuestId, &GuestRecord> = guests.iter().map(|guest| (&guest.guest_id, guest)).collect();
    for ticket in tickets {
        let Some(before) = before.get(&ticket.ticket_id) else { continue };
        let guest = ticket.guest_id.as_ref().and_then(|id| guests.get(id)).copied();
        let is_newer =
            guest.is_some_and(|guest| guest.updated_at > record.imported_at) || ticket.rules_serial > record.serial;
        if is_newer {
            others += 1;
            continue;
        }
        restored.count += 1;
        if let (Some(guest), Some(was)) = (guest, &before.guest) {
            new_guests.push(was.restored(guest, now));
        }
        let rules = before.rules();
        let mut changes = differences(&ticket.rules, &rules);
        let order_id = before.order_id.clone();
        if order_id != ticket.order_id && changes.is_empty() {
            // The order number is part of the phones' list. A changed list needs a new version, so one rule is stored
            // again, with the same value.
            changes.push(TicketChange::EntryLimit(rules.entry_limit));
        }
        if !changes.is_empty() {
            restored.changes.extend(changes.into_iter().map(|change| (ticket.ticket_id.clone(), change)));
            new_tickets.push(TicketRecord { rules, order_id, rules_serial: now_serial, ..ticket });
        }
    }
    if !new_tickets.is_empty() {
        tx.update_tickets(&new_tickets)?;
    }
    if !new_guests.is_empty() {
        tx.update_guests(&new_guests)?;
    }
    Ok((restored, others))
}
