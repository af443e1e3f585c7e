//! Plans an import by comparing every row with what is stored. It only reads. A dry run reports the plan, and an import
//! carries it out.

use std::collections::BTreeMap;

use admit_core::ids::{EventId, TicketId};
use admit_core::normalize::for_identity;
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;

use super::column::Column;
use super::compare::Planning;
use super::identity::Identity;
use super::mapping::MissingCodes;
use super::planned::Plan;
use super::questions::Question;
use super::rows::{self, Found, LeftOut, Reading, Wanted};
use super::shown::Becomes;
use super::stored::Stored;
use crate::checks::Checks;
use crate::error::Result;
use crate::ports::Tx;
use crate::records::{EntryTypeRecord, GuestRecord};
use crate::seeded_ids::SeededIds;
use crate::tickets::keys;

/// Plans the import of rows into an event.
pub fn plan(
    tx: &mut dyn Tx,
    event_id: &EventId,
    reading: &Reading<'_>,
    now: Timestamp,
    seeded: &mut SeededIds,
    progress: &mut dyn FnMut(usize),
) -> Result<Plan> {
    let mut plan = Plan::default();
    // 1. Read every row. Wrong rows are reported and left out.
    let mut wanted = read_rows(reading, &mut plan);
    // 2. Load what is stored under the same identities.
    let stored = Stored::load(tx, event_id, reading.into, &wanted, reading.columns.export.is_some())?;
    // 3. Decide about each row: new, changed or the same.
    let Reading { into, lists, types, .. } = *reading;
    let at = Planning { event_id, types, into, lists, now };
    let codes_are_given = reading.columns.has(Column::Barcode) && wanted.iter().any(|row| row.barcode.is_some());
    let mut met: BTreeMap<TicketId, u64> = BTreeMap::new();
    for (place, row) in wanted.iter_mut().enumerate() {
        progress(place);
        if let Some((field, message)) = at.not_theirs(row, &stored) {
            plan.refuse(row.line, field, message);
            continue;
        }
        let found = stored.tickets.get(&row.identity).cloned();
        let is_withdrawn = found.as_ref().is_some_and(|ticket| stored.withdrawn.contains(&ticket.ticket_id));
        let Some(ticket) = found.filter(|_| !is_withdrawn) else {
            if let Some(kept_out) = kept_out(row, reading, codes_are_given) {
                match kept_out {
                    Ok(why) => plan.leave_out(row.line, why, Some(row)),
                    Err(question) => plan.ask(row.line, question, Some(row)),
                }
                continue;
            }
            if into.alone {
                row.status = rows::Cell::Absent;
            }
            plan.shown.note(Becomes::New, row.line, Some(row), None);
            match stored.tickets.get(&row.identity).filter(|_| is_withdrawn) {
                Some(ticket) => at.revive(row, ticket, &stored, &mut plan, seeded)?,
                None => at.create(row, &mut plan, seeded)?,
            }
            continue;
        };
        // Two rows may name one ticket in two ways, by its code and by its id.
        if let Some(first) = met.insert(ticket.ticket_id.clone(), row.line) {
            plan.refuse(row.line, "line", format!("is about the same ticket as line {first}"));
            continue;
        }
        if into.alone {
            row.status = rows::Cell::Absent;
        }
        if stored.by_hand.contains(&ticket.ticket_id) && row.status == rows::Cell::Value(TicketStatus::Active) {
            row.status = rows::Cell::Absent;
            plan.kept += 1;
        }
        let (updated, unchanged) = (plan.updated, plan.unchanged);
        at.update(row, ticket, &stored, &mut plan, seeded)?;
        if plan.updated > updated {
            plan.shown.note(Becomes::Changed, row.line, Some(row), None);
        } else if plan.unchanged > unchanged {
            plan.shown.note(Becomes::Unchanged, row.line, Some(row), None);
        }
    }
    let used = |one: &&EntryTypeRecord| {
        let of = |guest: &GuestRecord| guest.entry_type_id.as_ref() == Some(&one.entry_type_id);
        plan.create.iter().filter_map(|fresh| fresh.guest.as_ref()).chain(&plan.guests).chain(&plan.new_guests).any(of)
            || plan.create.iter().any(|fresh| fresh.guest.is_none())
    };
    plan.new_types = types.new.iter().filter(used).cloned().collect();
    Ok(plan)
}

/// Why a row that has no ticket yet gets none, or what the user must be asked first. `None` if the row gets a ticket.
fn kept_out(
    row: &Wanted,
    reading: &Reading<'_>,
    codes_are_given: bool,
) -> Option<std::result::Result<LeftOut, Question>> {
    let Reading { into, mapping, .. } = reading;
    if !into.is_file {
        return None;
    }
    if row.is_out() {
        return Some(Ok(LeftOut::Status(row.status_word.clone().unwrap_or_default())));
    }
    if row.barcode.is_some() || !codes_are_given {
        return None;
    }
    match mapping.missing_codes {
        Some(MissingCodes::Make) => None,
        Some(MissingCodes::LeaveOut) => Some(Ok(LeftOut::NoCode)),
        None => Some(Err(Question::MissingCodes)),
    }
}

/// Number of rows of a file that could be imported into an event without guests and tickets.
#[cfg(feature = "fuzzing")]
pub fn rows(reading: &Reading<'_>) -> usize {
    read_rows(reading, &mut Plan::default()).len()
}

fn read_rows(reading: &Reading<'_>, plan: &mut Plan) -> Vec<Wanted> {
    let mut wanted: Vec<Wanted> = Vec::with_capacity(reading.sheet.lines.len());
    let mut seen: BTreeMap<Identity, usize> = BTreeMap::new();
    for line in &reading.sheet.lines {
        let mut checks = Checks::default();
        let row = match reading.read(line, &mut checks) {
            Some(Found::Row(row)) => row,
            Some(Found::LeftOut(why)) => {
                plan.leave_out(line.number, why, None);
                continue;
            }
            Some(Found::Asked(question)) => {
                plan.ask(line.number, question, None);
                continue;
            }
            None => {
                plan.wrong(line.number, &checks);
                continue;
            }
        };
        if let Some(product) = &row.unknown_type {
            *plan.unknown_types.entry(product.clone()).or_default() += 1;
        }
        let Some(first) = seen.get(&row.identity).map(|place| &wanted[*place]) else {
            seen.insert(row.identity.clone(), wanted.len());
            wanted.push(*row);
            continue;
        };
        let other = differences(first, &row);
        if reading.into.is_file && other.is_empty() {
            plan.joined += 1;
            let words = format!("says the same as line {}: {}", first.line, joined_on(&row.identity));
            plan.shown.note(Becomes::Joined, line.number, Some(&row), Some(words));
        } else {
            let (field, message) = same_row(&row.identity, first.line, &other);
            checks.fail(field, message);
            plan.wrong(line.number, &checks);
        }
    }
    wanted
}

/// The names of the fields in which two rows with the same identity differ.
fn differences(first: &Wanted, second: &Wanted) -> Vec<&'static str> {
    let mut out = Vec::new();
    let mut differ = |field: &'static str, same: bool| out.extend((!same).then_some(field));
    match (&first.guest, &second.guest) {
        (Some(a), Some(b)) => {
            let name = |text: &str| for_identity(text);
            differ("name", name(&a.name) == name(&b.name));
            differ("email", a.email == b.email);
            differ("phone", a.phone == b.phone);
            differ("note", a.note == b.note);
            differ("flag", a.flag == b.flag);
            differ("guest_list", a.guest_list == b.guest_list);
        }
        (a, b) => differ("name", a.is_none() && b.is_none()),
    }
    differ("party_size", first.party_size == second.party_size);
    differ("status", first.status == second.status);
    differ("zone", first.zone == second.zone);
    differ("entry_type", first.entry_type_id == second.entry_type_id);
    differ("gate_ids", first.gate_ids == second.gate_ids);
    differ("valid_from", first.valid_from == second.valid_from);
    differ("expires_at", first.expires_at == second.expires_at);
    out
}

fn joined_on(identity: &Identity) -> &'static str {
    match identity {
        Identity::Code(_) => "the same code",
        Identity::Key(key) if keys::is_of_external_id(key) => "the same external_id",
        Identity::Key(key) if keys::bare(key).starts_with("order:") => "the same order_id and position",
        Identity::Key(_) => "the same name, e-mail and ids",
    }
}

fn same_row(identity: &Identity, first: u64, other: &[&str]) -> (&'static str, String) {
    let with = if other.is_empty() { String::new() } else { format!(", with another {}", other.join(" and ")) };
    match identity {
        Identity::Code(_) => {
            ("barcode", format!("is the same as in line {first}{with}: give each guest a code of their own"))
        }
        Identity::Key(key) if keys::is_of_external_id(key) => {
            ("external_id", format!("is the same as in line {first}{with}"))
        }
        Identity::Key(key) if keys::bare(key).starts_with("order:") => {
            ("position", format!("is the same as in line {first}{with}"))
        }
        Identity::Key(_) => (
            "name",
            format!("is the same guest as in line {first}{with}: tell them apart by barcode, external_id or position"),
        ),
    }
}
