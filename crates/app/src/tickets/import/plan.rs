//! What an import would do: every row against what is stored. Reads only; the same plan is counted by a dry run and
//! carried out by an import.

use std::collections::BTreeMap;

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{EventId, GuestListId, TicketId};
use admit_core::limits::IMPORT_ERRORS;
use admit_core::rule::TicketChange;
use admit_core::ticket::{TicketRules, TicketStatus};
use admit_core::time::Timestamp;

use super::columns::Columns;
use super::destination::Destination;
use super::lists::Lists;
use super::rows::{self, Identity, RowError, Wanted, WantedGuest};
use super::stored::Stored;
use crate::checks::Checks;
use crate::draw::Draw;
use crate::error::{Error, Result};
use crate::passes::{self, Why};
use crate::ports::Tx;
use crate::records::*;
use crate::sheet::Sheet;
use crate::tickets::create::Known;
use crate::tickets::put::Fresh;
use crate::tickets::{ids, keys};

/// What is to be written.
#[derive(Debug, Default)]
pub struct Plan {
    /// New tickets with their guests.
    pub create: Vec<Fresh>,
    /// Tickets with new values.
    pub tickets: Vec<TicketRecord>,
    /// Guests with new values.
    pub guests: Vec<GuestRecord>,
    /// Guests for tickets that had none.
    pub new_guests: Vec<GuestRecord>,
    /// What changed of tickets' rules.
    pub changes: Vec<(TicketId, TicketChange)>,
    /// Guest lists that the file names first.
    pub new_lists: Vec<GuestListRecord>,
    /// Guests, by id, whose pass goes out, and why.
    pub passes: Vec<(String, Why)>,
    /// Codes that a later file gives to tickets which came without one.
    pub codes: Vec<(BarcodeHash, TicketId)>,
    /// Rows whose ticket or guest changes.
    pub updated: usize,
    /// Rows that are stored already as they say.
    pub unchanged: usize,
    /// Rows whose ticket a person voided or refunded here, where an export calls it good: it stays as the person said.
    pub kept: usize,
    /// Products of somebody else's export that are no entry types of the event, and how many rows have each.
    pub unknown_types: BTreeMap<String, usize>,
    /// Rows of such products that were left out, as was asked.
    pub left_out: usize,
    /// The first wrong fields, by line.
    pub errors: Vec<RowError>,
    /// Lines with a wrong field.
    pub wrong_lines: usize,
}

impl Plan {
    /// Whether there is anything to write.
    pub fn writes(&self) -> bool {
        !self.create.is_empty() || self.updated > 0
    }
    fn refuse(&mut self, line: u64, field: &str, message: impl Into<String>) {
        self.wrong_lines += 1;
        if self.errors.len() < IMPORT_ERRORS {
            self.errors.push(RowError { line, field: field.into(), message: message.into() });
        }
    }
}

/// Plans the import of a file into an event.
pub fn plan(
    tx: &mut dyn Tx,
    event_id: &EventId,
    sheet: &Sheet,
    columns: &Columns,
    into: &Destination,
    now: Timestamp,
    draw: &mut Draw,
) -> Result<Plan> {
    let known = Known::load(tx, event_id)?;
    let mut plan = Plan::default();
    // 1. Read every row; wrong ones are told and left out.
    let lists = Lists::load(tx, event_id, sheet, columns, now, draw)?;
    let mut wanted = read_rows(sheet, columns, (into, &lists), &known, &mut plan);
    // 2. What is stored under the same identities.
    let stored = Stored::load(tx, event_id, into, &wanted, columns.export.is_some())?;
    // 3. Row by row: new, changed or the same.
    let at = Planning { event_id, known: &known, into, lists: &lists, now };
    let mut met: BTreeMap<TicketId, u64> = BTreeMap::new();
    for row in &mut wanted {
        if let Some((field, message)) = at.not_theirs(row, &stored) {
            plan.refuse(row.line, field, message);
            continue;
        }
        let Some(ticket) = stored.tickets.get(&row.identity).cloned() else {
            at.create(row, &mut plan, draw)?;
            continue;
        };
        // One ticket may be named in two ways: by its code, and by its id.
        if let Some(first) = met.insert(ticket.ticket_id.clone(), row.line) {
            plan.refuse(row.line, "line", format!("is about the same ticket as line {first}"));
            continue;
        }
        if stored.by_hand.contains(&ticket.ticket_id) && row.status == rows::Cell::Value(TicketStatus::Active) {
            row.status = rows::Cell::Absent;
            plan.kept += 1;
        }
        at.update(row, ticket, &stored, &mut plan, draw)?;
    }
    Ok(plan)
}

/// How many rows of a file are good for an event that has nothing.
#[cfg(feature = "fuzzing")]
pub fn rows(sheet: &Sheet, columns: &Columns, into: &Destination) -> usize {
    let known = Known { gate_ids: Vec::new(), entry_types: Vec::new() };
    read_rows(sheet, columns, (into, &Lists::default()), &known, &mut Plan::default()).len()
}

fn read_rows(
    sheet: &Sheet,
    columns: &Columns,
    (into, lists): (&Destination, &Lists),
    known: &Known,
    plan: &mut Plan,
) -> Vec<Wanted> {
    let mut wanted = Vec::with_capacity(sheet.lines.len());
    let mut seen: BTreeMap<Identity, u64> = BTreeMap::new();
    for line in &sheet.lines {
        let mut checks = Checks::default();
        let row = rows::read(line, columns, (into, lists), known, &mut checks);
        if let Some(product) = row.as_ref().and_then(|row| row.unknown_type.as_ref()) {
            *plan.unknown_types.entry(product.clone()).or_default() += 1;
            if into.known_types_only {
                plan.left_out += 1;
                continue;
            }
        }
        if let Some(row) = &row {
            match seen.get(&row.identity) {
                Some(first) => same_row(&mut checks, &row.identity, *first),
                None => {
                    seen.insert(row.identity.clone(), line.number);
                }
            }
        }
        if checks.errors().is_empty() {
            wanted.extend(row);
        } else {
            plan.wrong_lines += 1;
            let room = IMPORT_ERRORS.saturating_sub(plan.errors.len());
            plan.errors.extend(checks.errors().iter().take(room).map(|error| RowError {
                line: line.number,
                field: error.path.clone(),
                message: error.message.clone(),
            }));
        }
    }
    wanted
}

fn same_row(checks: &mut Checks, identity: &Identity, first: u64) {
    match identity {
        Identity::Code(_) => checks.fail("barcode", format!("is the same as in line {first}")),
        Identity::Key(key) if keys::is_of_external_id(key) => {
            checks.fail("external_id", format!("is the same as in line {first}"))
        }
        Identity::Key(key) if keys::bare(key).starts_with("order:") => {
            checks.fail("position", format!("is the same as in line {first}"))
        }
        Identity::Key(_) => checks.fail(
            "name",
            format!("is the same guest as in line {first}: tell them apart by barcode, external_id or position"),
        ),
    }
}

struct Planning<'a> {
    event_id: &'a EventId,
    known: &'a Known,
    into: &'a Destination,
    lists: &'a Lists,
    now: Timestamp,
}

impl Planning<'_> {
    /// Why a row is none of a promoter's business, if it is not.
    fn not_theirs(&self, row: &Wanted, stored: &Stored) -> Option<(&'static str, &'static str)> {
        if !self.into.alone {
            return None;
        }
        if row.guest.is_none() {
            return Some(("name", "is required"));
        }
        let ticket = stored.tickets.get(&row.identity)?;
        let guest = ticket.guest_id.as_ref().and_then(|id| stored.guests.get(id));
        let list = guest.and_then(|guest| guest.guest_list_id.as_ref());
        let theirs = list.is_some() && list == self.into.list.as_ref().map(|list| &list.guest_list_id);
        (!theirs).then_some(("external_id", "is given to a guest of another list already"))
    }

    fn create(&self, row: &Wanted, plan: &mut Plan, draw: &mut Draw) -> Result<()> {
        let first = self.known.entry_types.first();
        let blank = TicketRules {
            status: TicketStatus::Active,
            entry_limit: 1,
            gate_ids: Vec::new(),
            zone: first.map_or_else(|| "general".to_owned(), |one| one.zone.clone()),
            valid_from: None,
            expires_at: None,
        };
        let rules = wanted_rules(row, &blank);
        let ticket_id = ids::ticket_id(draw, self.now)?;
        let barcode = row.barcode.clone().unwrap_or_else(|| draw.uuid());
        let guest = match &row.guest {
            Some(wanted) => {
                let blank = self.blank_guest(draw)?;
                let mut guest = self.wanted_guest(row, wanted, &blank, rules.entry_limit, plan)?;
                guest.ticket_id = Some(ticket_id.clone());
                // Whoever comes with a code has it from where it was made.
                let why = if row.barcode.is_none() { passes::why(None, &guest) } else { None };
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
            order_id: None,
            guest_id: guest.as_ref().map(|guest| guest.guest_id.clone()),
            rules_serial: 0,
            created_at: self.now,
        };
        plan.create.push(Fresh { ticket, guest });
        Ok(())
    }

    fn update(
        &self,
        row: &Wanted,
        before: TicketRecord,
        stored: &Stored,
        plan: &mut Plan,
        draw: &mut Draw,
    ) -> Result<()> {
        let rules = wanted_rules(row, &before.rules);
        if let (Some(from), Some(until)) = (rules.valid_from, rules.expires_at)
            && until <= from
        {
            let message = format!("must be after {from}, the beginning that is stored");
            plan.errors.push(RowError { line: row.line, field: "expires_at".into(), message });
            plan.wrong_lines += 1;
            return Ok(());
        }
        let mut changes = differences(&before.rules, &rules);
        let before = match &row.identity {
            Identity::Code(hash) if !before.barcode_hashes.contains(hash) => {
                // Phones hear of a code with the rules of its ticket: one of those is said once more.
                if changes.is_empty() {
                    changes.push(TicketChange::EntryLimit(rules.entry_limit));
                }
                plan.codes.push((*hash, before.ticket_id.clone()));
                let hashes = std::iter::once(*hash).chain(before.barcode_hashes.iter().copied());
                TicketRecord { barcode_hashes: hashes.collect(), ..before }
            }
            _ => before,
        };
        let held = before.guest_id.as_ref().and_then(|id| stored.guests.get(id)).cloned();
        let (guest, is_new) = match (&row.guest, held.clone()) {
            (Some(wanted), Some(held)) => {
                (Some(self.wanted_guest(row, wanted, &held, rules.entry_limit, plan)?), false)
            }
            (Some(wanted), None) => {
                let blank = self.blank_guest(draw)?;
                let mut guest = self.wanted_guest(row, wanted, &blank, rules.entry_limit, plan)?;
                guest.ticket_id = Some(before.ticket_id.clone());
                (Some(guest), true)
            }
            (None, Some(held)) => (Some(GuestRecord { party_size: rules.entry_limit, ..held }), false),
            (None, None) => (None, false),
        };
        if changes.is_empty() && guest == held {
            plan.unchanged += 1;
            return Ok(());
        }
        plan.updated += 1;
        if let Some(guest) = guest.as_ref().filter(|_| before.drawn) {
            let why = passes::why_changed(held.as_ref(), guest, (before.rules.status, rules.status));
            plan.passes.extend(why.map(|why| (guest.guest_id.to_string(), why)));
        }
        let guest_id = guest.as_ref().map(|guest| guest.guest_id.clone());
        if !changes.is_empty() || is_new {
            plan.changes.extend(changes.into_iter().map(|change| (before.ticket_id.clone(), change)));
            plan.tickets.push(TicketRecord { rules, guest_id, ..before });
        }
        if let Some(guest) = guest.filter(|guest| Some(guest) != held.as_ref()) {
            let guest = GuestRecord { updated_at: self.now, ..guest };
            if is_new { plan.new_guests.push(guest) } else { plan.guests.push(guest) }
        }
        Ok(())
    }

    fn blank_guest(&self, draw: &mut Draw) -> Result<GuestRecord> {
        Ok(GuestRecord {
            guest_id: ids::guest_id(draw, self.now)?,
            event_id: self.event_id.clone(),
            ticket_id: None,
            guest_list_id: None,
            entry_type_id: self.known.entry_types.first().map(|one| one.entry_type_id.clone()),
            name: String::new(),
            email: None,
            phone: None,
            party_size: 1,
            note: None,
            flag: None,
            external_id: None,
            created_at: self.now,
            updated_at: self.now,
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
            external_id: wanted.external_id.or_clear(&before.external_id),
            ..before.clone()
        })
    }

    /// A guest list by its name; the file may name new ones.
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

fn differences(before: &TicketRules, after: &TicketRules) -> Vec<TicketChange> {
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
