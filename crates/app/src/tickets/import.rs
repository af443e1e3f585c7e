//! Importing guests and tickets from a CSV file (spec §5): the whole file in one transaction, the same file twice
//! changes nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use admit_core::access::{Action, can};
use admit_core::ids::{EventId, GuestListId, TicketId};
use admit_core::incident::Subject;
use admit_core::limits::IMPORT_ROWS;
use admit_core::rule::{Change, Effective};
use admit_core::time::Timestamp;
use serde_json::json;

mod column;
mod exports;
mod columns;
mod destination;
mod lists;
mod rows;
mod stored;
mod plan;

pub use rows::RowError;

use self::columns::Columns;
use self::destination::Destination;
use self::plan::{Plan, plan};
use super::put::{put_new, waiting};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::draw::Draw;
use crate::error::{Error, FieldError, Result};
use crate::events;
use crate::guest_lists;
use crate::passes;
use crate::ports::{App, Scope, Tx, read, write};
use crate::records::*;
use crate::rules::{Brought, announce};
use crate::sheet;

/// What an import did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Rows that made a ticket.
    pub created: usize,
    /// Rows that changed a ticket or its guest.
    pub updated: usize,
    /// Rows that are stored already as they say.
    pub unchanged: usize,
    /// Rows whose ticket a person voided or refunded here and whose export calls it good: it stays as the person said.
    pub kept: usize,
    /// Products of somebody else's export that are no entry types of the event, by name, and how many rows have each. Their
    /// rows are of the event's first type, unless they were to be left out.
    pub unknown_types: Vec<(String, usize)>,
    /// Rows of such products that were left out.
    pub left_out: usize,
    /// Lines left out because a field is wrong; the first thousand fields are in `errors`.
    pub wrong_lines: usize,
    /// Wrong fields by line.
    pub errors: Vec<RowError>,
    /// Columns that mean nothing here, as the file names them.
    pub ignored_columns: Vec<String>,
    /// Nothing was written.
    pub dry_run: bool,
    /// Whose export the file is, where it is one we know: `pretix`, `Eventbrite`.
    pub export: Option<&'static str>,
}

/// How a file is to be imported.
#[derive(Debug, Clone, Default)]
pub struct HowToImport {
    /// Only say what would be done.
    pub dry_run: bool,
    /// The list of rows that name none. A promoter must name one of their own, and their file changes nobody else's
    /// guests: it sets neither codes, zones, gates, times nor status.
    pub guest_list_id: Option<GuestListId>,
    /// Of somebody else's export only rows whose product is an entry type of the event: it may list T-shirts.
    pub known_types_only: bool,
}

/// Imports a file, or with `dry_run` says what importing it would do. Lines with a wrong field are told and left out, the
/// others go in together: mend the file and import it again, what is in already stays as it is. Reading a large file
/// takes a second of a core. Fails for a file that cannot be read at all: see [`sheet::read`] and [`Columns::of`].
pub async fn import(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    file: &[u8],
    how: HowToImport,
) -> Result<ImportReport> {
    let fills_all = can(caller.role, Action::ManageGuests);
    let HowToImport { dry_run, guest_list_id, known_types_only } = how;
    if !fills_all {
        caller.must(Action::ManageOwnGuests)?;
    }
    let now = app.clock.now();
    let draw = app.draw();
    // 1. Read the file.
    let sheet = sheet::read(file, IMPORT_ROWS)?;
    let mut columns = Columns::of(&sheet)?;
    if !fills_all {
        columns.keep_promoters(&sheet);
    }
    let ignored_columns = columns.ignored.clone();
    let export = columns.export.map(|export| export.name);
    let file = Arc::new((sheet, columns));
    // 2. Plan; a dry run ends here.
    let by = caller.clone();
    let into = move |tx: &mut dyn Tx, event_id: &EventId| -> Result<Destination> {
        events::require(tx, event_id)?;
        guest_lists::must_fill(tx, &by, event_id, guest_list_id.as_ref(), "guest_list_id")?;
        let lists = tx.guest_lists(event_id)?;
        let list = lists.into_iter().find(|list| Some(&list.guest_list_id) == guest_list_id.as_ref());
        Ok(Destination { list, alone: !fills_all, known_types_only })
    };
    let (mut report, brought) = if dry_run {
        let mut draw = draw.clone();
        let report = read(&*app.store, &caller.organization_id, move |tx| {
            let into = into(tx, &event_id)?;
            Ok(report(&plan(tx, &event_id, &file.0, &file.1, &into, now, &mut draw)?))
        });
        (report.await?, None)
    } else {
        let by = caller.clone();
        let done = write(&*app.store, Scope::event(&caller.organization_id, &event_id), {
            let event_id = event_id.clone();
            move |tx| {
                let mut draw = draw.clone();
                let event = events::require(tx, &event_id)?;
                let into = into(tx, &event_id)?;
                let plan = plan(tx, &event_id, &file.0, &file.1, &into, now, &mut draw)?;
                let report = report(&plan);
                // 3. Carry it out, unless the file says what is stored already.
                let brought =
                    if plan.writes() { Some(carry_out(tx, &by, &event, plan, now, &mut draw)?) } else { None };
                Ok((report, brought))
            }
        })
        .await?;
        (done.0, done.1.map(|brought| (event_id, brought)))
    };
    if let Some((event_id, brought)) = brought {
        app.bell.ring();
        announce(app, &caller.organization_id, &event_id, &brought);
    }
    report.ignored_columns = ignored_columns;
    report.dry_run = dry_run;
    report.export = export;
    Ok(report)
}

/// Reads every row of a file, held against an event that has nothing, and stores nothing: how many rows are good.
#[cfg(feature = "fuzzing")]
pub fn try_reading(sheet: &sheet::Sheet, promoters: bool) -> Result<usize> {
    let mut columns = Columns::of(sheet)?;
    if promoters {
        columns.keep_promoters(sheet);
    }
    let into = Destination { list: None, alone: promoters, known_types_only: false };
    Ok(plan::rows(sheet, &columns, &into))
}

fn report(plan: &Plan) -> ImportReport {
    ImportReport {
        created: plan.create.len(),
        updated: plan.updated,
        unchanged: plan.unchanged,
        kept: plan.kept,
        unknown_types: plan.unknown_types.iter().map(|(name, rows)| (name.clone(), *rows)).collect(),
        left_out: plan.left_out,
        wrong_lines: plan.wrong_lines,
        errors: plan.errors.clone(),
        ..ImportReport::default()
    }
}

fn carry_out(
    tx: &mut dyn Tx,
    by: &UserCaller,
    event: &EventRecord,
    plan: Plan,
    now: Timestamp,
    draw: &mut Draw,
) -> Result<Brought> {
    let event_id = &event.event_id;
    let said = json!({
        "created": plan.create.len(),
        "updated": plan.updated,
        "unchanged": plan.unchanged,
        "wrong_lines": plan.wrong_lines,
    });
    let brought = put_plan(tx, event, plan, now, draw)?;
    tx.append_audit(line::of(by, Some(event_id), "tickets_imported", ("Event", event_id.as_str()), said))?;
    Ok(brought)
}

/// What came of one row.
pub(crate) struct PutRow {
    /// It made a ticket.
    pub created: bool,
    /// What it changed; `None` where all stands as it says already.
    pub brought: Option<Brought>,
}

/// One row that came by another way than a file: column and text, as a file of one line would have them. The ledger's
/// line is the caller's. Wrong fields are named by their column.
pub(crate) fn put_row(
    tx: &mut dyn Tx,
    event: &EventRecord,
    cells: &[(&'static str, String)],
    now: Timestamp,
    draw: &mut Draw,
) -> Result<PutRow> {
    let header = cells.iter().map(|(column, _)| (*column).to_owned()).collect();
    let line = sheet::Line { number: 1, cells: cells.iter().map(|(_, text)| text.clone()).collect() };
    let sheet = sheet::Sheet { header, lines: vec![line] };
    let into = Destination::default();
    let plan = plan(tx, &event.event_id, &sheet, &Columns::of(&sheet)?, &into, now, draw)?;
    if !plan.errors.is_empty() {
        let wrong = |error: &RowError| FieldError { path: error.field.clone(), message: error.message.clone() };
        return Err(Error::Invalid { code: "invalid_request", errors: plan.errors.iter().map(wrong).collect() });
    }
    let created = !plan.create.is_empty();
    let brought = if plan.writes() { Some(put_plan(tx, event, plan, now, draw)?) } else { None };
    Ok(PutRow { created, brought })
}

/// Stores what a plan wants, and judges the scans that it touches.
fn put_plan(tx: &mut dyn Tx, event: &EventRecord, plan: Plan, now: Timestamp, draw: &mut Draw) -> Result<Brought> {
    let event_id = &event.event_id;
    let stamp = tx.stamp(event_id)?;
    for list in &plan.new_lists {
        tx.insert_guest_list(list)?;
    }
    // Changed guests and tickets: newest values, and rules from this write on.
    if !plan.new_guests.is_empty() {
        tx.insert_guests(&plan.new_guests)?;
    }
    if !plan.guests.is_empty() {
        tx.update_guests(&plan.guests)?;
    }
    let ruled: BTreeSet<&TicketId> = plan.changes.iter().map(|(ticket_id, _)| ticket_id).collect();
    let stamped = |ticket: TicketRecord| match ruled.contains(&ticket.ticket_id) {
        true => TicketRecord { rules_serial: stamp.serial, ..ticket },
        false => ticket,
    };
    let tickets: Vec<TicketRecord> = plan.tickets.into_iter().map(stamped).collect();
    if !tickets.is_empty() {
        tx.update_tickets(&tickets)?;
    }
    let keys: Vec<String> = ruled.into_iter().map(|ticket_id| Subject::Ticket(ticket_id.clone()).key()).collect();
    let mut scanned: BTreeSet<String> =
        tx.states(event_id, &keys)?.into_iter().map(|state| state.subject_key).collect();
    scanned.extend(waiting(tx, event_id, &plan.codes)?);
    let when = Effective::At(stamp.effective_at);
    let changes =
        plan.changes.into_iter().map(|(ticket_id, change)| (when, Change::Ticket(ticket_id, change))).collect();
    // New tickets, and with all of it the scans that are touched or waited for their codes.
    let brought = put_new(tx, event_id, plan.create, (changes, scanned), stamp, now, draw)?;
    // Their passes.
    passes::enqueue(tx, event, &plan.passes, now, draw)?;
    Ok(brought)
}
