//! Compares one row with what is stored, and plans a new ticket, a change of a ticket, or nothing.

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{EventId, GuestListId};
use admit_core::limits::FIELDS;
use admit_core::rule::TicketChange;
use admit_core::ticket::{TicketRules, TicketStatus};
use admit_core::time::Timestamp;

use super::destination::Destination;
use super::identity::Identity;
use super::lists::Lists;
use super::planned::{Before, Plan};
use super::rows::{self, Wanted, WantedGuest};
use super::stored::Stored;
use super::types::Types;
use crate::error::{Error, Result};
use crate::passes;
use crate::records::{Fields, GuestListRecord, GuestRecord, TicketRecord};
use crate::seeded_ids::SeededIds;
use crate::tickets::ids;
use crate::tickets::put::Fresh;

/// The event and the stored rows with which a file's rows are compared.
pub struct Planning<'a> {
    /// The event of the import.
    pub event_id: &'a EventId,
    /// The event's entry types, and those that the import adds.
    pub types: &'a Types,
    /// The destination of the rows.
    pub into: &'a Destination,
    /// The guest lists by name.
    pub lists: &'a Lists,
    /// The server's time.
    pub now: Timestamp,
}

impl Planning<'_> {
    /// The field and the message of the error if a promoter may not import this row. `None` if they may.
    pub fn not_theirs(&self, row: &Wanted, stored: &Stored) -> Option<(&'static str, &'static str)> {
        if !self.into.alone {
            return None;
        }
        if row.guest.is_none() {
            return Some(("name", "is required"));
        }
        let ticket = stored.tickets.get(&row.identity)?;
        let guest = ticket.guest_id.as_ref().and_then(|id| stored.guests.get(id));
        let list = guest.and_then(|guest| guest.guest_list_id.as_ref());
        let is_own = list.is_some() && list == self.into.list.as_ref().map(|list| &list.guest_list_id);
        (!is_own).then_some(("external_id", "is given to a guest of another list already"))
    }

    pub fn create(&self, row: &Wanted, plan: &mut Plan, seeded: &mut SeededIds) -> Result<()> {
        let first = self.types.first();
        let blank = TicketRules {
            status: TicketStatus::Active,
            entry_limit: 1,
            gate_ids: Vec::new(),
            zone: first.map_or_else(|| "general".to_owned(), |one| one.zone.clone()),
            valid_from: None,
            expires_at: None,
        };
        let rules = wanted_rules(row, &blank);
        let ticket_id = ids::ticket_id(seeded, self.now)?;
        let barcode = row.barcode.clone().unwrap_or_else(|| seeded.uuid());
        let guest = match &row.guest {
            Some(wanted) => {
                let blank = self.blank_guest(seeded)?;
                let mut guest = self.wanted_guest(row, wanted, &blank, rules.entry_limit, plan)?;
                guest.ticket_id = Some(ticket_id.clone());
                // A guest with a given code got it from another system.
                let why = if row.barcode.is_none() { passes::reason_of_guest(None, &guest) } else { None };
                plan.passes.extend(why.map(|why| (guest.guest_id.to_string(), why)));
                Some(guest)
            }
            None => None,
        };
        let ticket = TicketRecord {
            ticket_id,
            event_id: self.event_id.clone(),
            rules,
            barcode_hashes: vec![BarcodeHash::of(&barcode)],
            barcode: Some(barcode),
            drawn: row.barcode.is_none(),
            import_key: match &row.identity {
                Identity::Key(key) => Some(key.clone()),
                Identity::Code(_) => None,
            },
            order_id: row.order_id.or_clear(&None),
            guest_id: guest.as_ref().map(|guest| guest.guest_id.clone()),
            rules_serial: 0,
            created_at: self.now,
        };
        plan.create.push(Fresh { ticket, guest });
        Ok(())
    }

    /// Restores a ticket of an import that was undone. The import treats it as a new ticket. It keeps its id and its
    /// code, since phones and mails may already have them.
    pub fn revive(
        &self,
        row: &Wanted,
        before: &TicketRecord,
        stored: &Stored,
        plan: &mut Plan,
        seeded: &mut SeededIds,
    ) -> Result<()> {
        if self.has_too_many_fields(row, before, stored, plan) {
            return Ok(());
        }
        let blank = TicketRules { status: TicketStatus::Active, ..before.rules.clone() };
        let rules = wanted_rules(row, &blank);
        let held = before.guest_id.as_ref().and_then(|id| stored.guests.get(id)).cloned();
        let guest = match (&row.guest, &held) {
            (Some(wanted), Some(held)) => Some(self.wanted_guest(row, wanted, held, rules.entry_limit, plan)?),
            (Some(wanted), None) => {
                let blank = self.blank_guest(seeded)?;
                let guest = self.wanted_guest(row, wanted, &blank, rules.entry_limit, plan)?;
                Some(GuestRecord { ticket_id: Some(before.ticket_id.clone()), ..guest })
            }
            (None, _) => None,
        };
        if let Some(guest) = guest.as_ref().filter(|_| before.drawn) {
            plan.passes.extend(passes::reason_of_guest(None, guest).map(|why| (guest.guest_id.to_string(), why)));
        }
        let changes = differences(&before.rules, &rules);
        plan.changes.extend(changes.into_iter().map(|change| (before.ticket_id.clone(), change)));
        let guest_id = guest.as_ref().map(|guest| guest.guest_id.clone());
        let order_id = row.order_id.or_clear(&before.order_id);
        plan.tickets.push(TicketRecord { rules, guest_id, order_id, ..before.clone() });
        if let Some(guest) = guest {
            let guest = GuestRecord { updated_at: self.now, ..guest };
            if held.is_some() { plan.guests.push(guest) } else { plan.new_guests.push(guest) }
        }
        plan.revived.push(before.ticket_id.clone());
        Ok(())
    }

    pub fn update(
        &self,
        row: &Wanted,
        before: TicketRecord,
        stored: &Stored,
        plan: &mut Plan,
        seeded: &mut SeededIds,
    ) -> Result<()> {
        if self.has_too_many_fields(row, &before, stored, plan) {
            return Ok(());
        }
        let rules = wanted_rules(row, &before.rules);
        if let (Some(from), Some(until)) = (rules.valid_from, rules.expires_at)
            && until <= from
        {
            plan.refuse(row.line, "expires_at", format!("must be after {from}, the beginning that is stored"));
            return Ok(());
        }
        let before_of_ticket = before.clone();
        let mut changes = differences(&before.rules, &rules);
        let before = match &row.identity {
            Identity::Code(hash) if !before.barcode_hashes.contains(hash) => {
                // Phones get a new code only with a rule change of its ticket. So one rule is stored again, with the
                // same value.
                if changes.is_empty() {
                    changes.push(TicketChange::EntryLimit(rules.entry_limit));
                }
                plan.codes.push((*hash, before.ticket_id.clone()));
                let hashes = std::iter::once(*hash).chain(before.barcode_hashes.iter().copied());
                TicketRecord { barcode_hashes: hashes.collect(), ..before }
            }
            _ => before,
        };
        let as_it_was = before_of_ticket.clone();
        let held = before.guest_id.as_ref().and_then(|id| stored.guests.get(id)).cloned();
        let (guest, is_new) = match (&row.guest, held.clone()) {
            (Some(wanted), Some(held)) => {
                (Some(self.wanted_guest(row, wanted, &held, rules.entry_limit, plan)?), false)
            }
            (Some(wanted), None) => {
                let blank = self.blank_guest(seeded)?;
                let mut guest = self.wanted_guest(row, wanted, &blank, rules.entry_limit, plan)?;
                guest.ticket_id = Some(before.ticket_id.clone());
                (Some(guest), true)
            }
            (None, Some(held)) => (Some(GuestRecord { party_size: rules.entry_limit, ..held }), false),
            (None, None) => (None, false),
        };
        let order_id = row.order_id.or_clear(&before.order_id);
        let other_order = order_id != before.order_id;
        if other_order && changes.is_empty() {
            // The order number is part of the phones' list. A changed list needs a new version, so one rule is stored
            // again, with the same value.
            changes.push(TicketChange::EntryLimit(rules.entry_limit));
        }
        if changes.is_empty() && guest == held {
            plan.unchanged += 1;
            return Ok(());
        }
        plan.updated += 1;
        plan.before.push(Before { ticket: as_it_was, guest: held.clone() });
        if let Some(guest) = guest.as_ref().filter(|_| before.drawn) {
            let why = passes::reason_of_change(held.as_ref(), guest, (before.rules.status, rules.status));
            plan.passes.extend(why.map(|why| (guest.guest_id.to_string(), why)));
        }
        let guest_id = guest.as_ref().map(|guest| guest.guest_id.clone());
        if !changes.is_empty() || is_new {
            plan.changes.extend(changes.into_iter().map(|change| (before.ticket_id.clone(), change)));
            plan.tickets.push(TicketRecord { rules, guest_id, order_id, ..before });
        }
        if let Some(guest) = guest.filter(|guest| Some(guest) != held.as_ref()) {
            let guest = GuestRecord { updated_at: self.now, ..guest };
            if is_new { plan.new_guests.push(guest) } else { plan.guests.push(guest) }
        }
        Ok(())
    }

    /// Whether the row's fields together with the stored ones are more than a guest may have. If so, the line is
    /// refused.
    fn has_too_many_fields(&self, row: &Wanted, ticket: &TicketRecord, stored: &Stored, plan: &mut Plan) -> bool {
        let held = ticket.guest_id.as_ref().and_then(|id| stored.guests.get(id));
        let Some((wanted, held)) = row.guest.as_ref().zip(held) else { return false };
        let fields = wanted.with_fields(&held.fields).len();
        if fields > FIELDS {
            let message = format!("gives this guest {fields} fields with those stored; a guest has at most {FIELDS}");
            plan.refuse(row.line, "field", message);
        }
        fields > FIELDS
    }

    fn blank_guest(&self, seeded: &mut SeededIds) -> Result<GuestRecord> {
        Ok(GuestRecord {
            guest_id: ids::guest_id(seeded, self.now)?,
            event_id: self.event_id.clone(),
            ticket_id: None,
            guest_list_id: None,
            entry_type_id: self.types.first().map(|one| one.entry_type_id.clone()),
            name: String::new(),
            email: None,
            phone: None,
            party_size: 1,
            note: None,
            flag: None,
            fields: Fields::new(),
            external_id: None,
            created_at: self.now,
            updated_at: self.now,
            erased_at: None,
        })
    }

    fn wanted_guest(
        &self,
        row: &Wanted,
        wanted: &WantedGuest,
        before: &GuestRecord,
        party_size: u32,
        plan: &mut Plan,
    ) -> Result<GuestRecord> {
        if before.erased_at.is_some() {
            // A file that still names an erased guest brings nothing back.
            return Ok(GuestRecord { party_size, ..before.clone() });
        }
        let guest_list_id = match &wanted.guest_list {
            rows::Cell::Value(name) => Some(self.list(name, plan)?),
            _ if self.into.list.is_some() => self.into.list.as_ref().map(|list| list.guest_list_id.clone()),
            rows::Cell::Empty => None,
            rows::Cell::Absent => before.guest_list_id.clone(),
        };
        Ok(GuestRecord {
            guest_list_id,
            entry_type_id: match &row.entry_type_id {
                rows::Cell::Value(id) => Some(id.clone()),
                rows::Cell::Empty => None,
                rows::Cell::Absent => before.entry_type_id.clone(),
            },
            name: wanted.name.clone(),
            email: wanted.email.or_clear(&before.email),
            phone: wanted.phone.or_clear(&before.phone),
            party_size,
            note: wanted.note.or_clear(&before.note),
            flag: wanted.flag.or_clear(&before.flag),
            fields: wanted.with_fields(&before.fields),
            external_id: wanted.external_id.or_clear(&before.external_id),
            ..before.clone()
        })
    }

    /// The id of a guest list by its name. Lists that the file adds are put into the plan.
    fn list(&self, name: &str, plan: &mut Plan) -> Result<GuestListId> {
        let known = || Error::Bug("a row names a list that was not looked for".into());
        let id = self.lists.id(name).ok_or_else(known)?;
        if self.lists.is_new(id) && !plan.new_lists.iter().any(|list| list.guest_list_id == *id) {
            plan.new_lists.push(GuestListRecord {
                guest_list_id: id.clone(),
                event_id: self.event_id.clone(),
                name: name.to_owned(),
                promoter_id: None,
                created_at: self.now,
            });
        }
        Ok(id.clone())
    }
}

fn wanted_rules(row: &Wanted, before: &TicketRules) -> TicketRules {
    TicketRules {
        status: row.status.or_keep(&before.status),
        entry_limit: row.party_size.or_keep(&before.entry_limit),
        gate_ids: match &row.gate_ids {
            rows::Cell::Absent => before.gate_ids.clone(),
            rows::Cell::Empty => Vec::new(),
            rows::Cell::Value(gate_ids) => gate_ids.clone(),
        },
        zone: row.zone.or_keep(&before.zone),
        valid_from: row.valid_from.or_clear(&before.valid_from),
        expires_at: row.expires_at.or_clear(&before.expires_at),
    }
}

pub fn differences(before: &TicketRules, after: &TicketRules) -> Vec<TicketChange> {
    let mut out = Vec::new();
    if after.status != before.status {
        out.push(TicketChange::Status(after.status));
    }
    if after.entry_limit != before.entry_limit {
        out.push(TicketChange::EntryLimit(after.entry_limit));
    }
    if after.gate_ids != before.gate_ids {
        out.push(TicketChange::GateIds(after.gate_ids.clone()));
    }
    if after.zone != before.zone {
        out.push(TicketChange::Zone(after.zone.clone()));
    }
    if (after.valid_from, after.expires_at) != (before.valid_from, before.expires_at) {
        out.push(TicketChange::Window { valid_from: after.valid_from, expires_at: after.expires_at });
    }
    out
}
