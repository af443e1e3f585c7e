//! Imports guests and tickets from a file (spec §5). The whole file is one transaction. Importing a file twice changes
//! nothing. An import can be undone until its first guest is scanned.
//!
//! Reading order:
//!
//! - `column` and `vocabulary` name what columns mean;
//! - `status`, `cells` and `times` read one cell;
//! - `frame` finds the table in the file;
//! - `exports` recognises other systems' files;
//! - `mapping` is what a person says about columns, and `columns` finds the meaning of each column from all of this;
//! - `identity` and `rows` read a row;
//! - `stored`, `compare` and `plan` compare the rows with what is stored;
//! - this file carries out the plan.

use std::collections::BTreeSet;
use std::sync::Arc;

use admit_core::access::{Action, can};
use admit_core::barcode::hex;
use admit_core::ids::{EventId, GuestListId, TicketId};
use admit_core::incident::Subject;
use admit_core::limits::{IMPORT_CELLS, IMPORT_COLUMNS, IMPORT_ROWS, IMPORT_TEXT_BYTES};
use admit_core::rule::{Change, Effective};
use admit_core::sign::token_hash;
use admit_core::time::Timestamp;
use admit_table::{Limits, Refused};
use serde_json::json;

pub mod column;
mod vocabulary;
mod status;
mod cells;
mod times;
mod frame;
mod exports;
pub(super) mod mapping;
mod columns;
mod destination;
mod lists;
mod types;
mod questions;
mod identity;
mod rows;
mod shown;
mod stored;
mod planned;
mod compare;
mod plan;
mod progress;
mod report;
pub(crate) mod undo;

pub use mapping::Mapping;
pub use planned::RowError;
pub use progress::{Progress, Stage};
pub use report::{ColumnReport, FileReport, ImportReport, LeftOutReport, QuestionReport, RowReport};
pub use undo::{Undone, list, undo};

use self::columns::Columns;
use self::destination::Destination;
use self::frame::Sheet;
use self::lists::Lists;
use self::mapping::NewTypes;
use self::plan::plan;
use self::planned::Plan;
use self::rows::Reading;
use self::types::Types;
use super::create::Known;
use super::put::{put_new, waiting};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, FieldError, Result};
use crate::events::{self, door};
use crate::guest_lists;
use crate::passes;
use crate::ports::{App, Scope, Tx, read, write};
use crate::records::{EventRecord, TicketRecord};
use crate::rules::{Brought, announce};
use crate::seeded_ids::SeededIds;

/// The options of an import.
#[derive(Debug, Clone, Default)]
pub struct HowToImport {
    /// Whether to only report what the import would do.
    pub dry_run: bool,
    /// The guest list for rows that name no list. A promoter must name a list of their own. A promoter's file changes
    /// no guest of another list, and sets neither codes, zones, gates, times nor status.
    pub guest_list_id: Option<GuestListId>,
    /// The user's answers about the file. Absent means the answers last given for a file with this header at this
    /// event.
    pub mapping: Option<Mapping>,
    /// Whether to mail passes to guests who are new or whose pass changes. Otherwise nobody gets a mail.
    pub mail_passes: bool,
    /// The file's name, for the list of imports. Absent if unknown.
    pub file_name: Option<String>,
    /// The progress of the import, for the user who waits.
    pub progress: Progress,
}

/// A file that was read: its table, and the meaning of its columns.
struct File {
    sheet: Sheet,
    /// The shape of the header, under which a mapping is remembered.
    shape: String,
}

impl File {
    fn read(bytes: &[u8], mapping: Option<&Mapping>) -> Result<Self> {
        // Header and titles stand above the rows, so some more rows are allowed.
        let limits =
            Limits { rows: IMPORT_ROWS + 100, columns: IMPORT_COLUMNS, cells: IMPORT_CELLS, bytes: IMPORT_TEXT_BYTES };
        let hints = mapping.map(Mapping::hints).unwrap_or_default();
        let rows = admit_table::read(bytes, &limits, &hints).map_err(refused)?;
        let sheet = Sheet::of(rows);
        if sheet.lines.len() > IMPORT_ROWS {
            return Err(refused(Refused(format!("has more than {IMPORT_ROWS} rows: split the file"))));
        }
        let header: Vec<String> = sheet.header.iter().map(|one| vocabulary::folded(one)).collect();
        let shape = hex(&token_hash(&header.join("\u{1f}"))[..16]);
        Ok(Self { sheet, shape })
    }
}

fn refused(error: Refused) -> Error {
    Error::invalid("body", error.0)
}

/// Imports a file, or with `dry_run` reports what the import would do. Lines with a wrong field, and lines that wait
/// for an answer, are reported and left out. All other lines are stored together. The user then corrects the file and
/// imports it again, and what is stored already stays. Reading a large file takes seconds of a core. Fails for a file
/// that cannot be read at all: see [`admit_table::read`] and [`Columns::of`].
pub async fn import(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    file: &[u8],
    how: HowToImport,
) -> Result<ImportReport> {
    let fills_all = can(caller.role, Action::ManageGuests);
    let HowToImport { dry_run, guest_list_id, mapping, mail_passes, file_name, progress } = how;
    if !fills_all {
        caller.must(Action::ManageOwnGuests)?;
    }
    let now = app.clock.now();
    let seeded = app.seeded_ids();
    // 1. Read the file, and what was said about such a file before.
    progress.begin(Stage::Reading, 0);
    let file = File::read(file, mapping.as_ref())?;
    let said = mapping.is_some();
    let (zone, mapping) = said_about(app, caller, &event_id, &file.shape, mapping).await?;
    let mut columns = Columns::of(&file.sheet, &mapping)?;
    if !fills_all {
        columns.keep_promoters();
    }
    let begin = Arc::new(Begun { file, columns, mapping, zone, fills_all, guest_list_id, mail_passes, progress });
    // 2. Plan the import. A dry run ends here.
    if dry_run {
        let (by, seeded) = (caller.clone(), seeded.clone());
        let begun = begin.clone();
        let report = read(&*app.store, &caller.organization_id, move |tx| {
            let (plan, types) = begun.plan(tx, &by, &event_id, now, &mut seeded.clone())?;
            Ok(begun.report(&plan, &types))
        });
        return Ok(ImportReport { dry_run, ..report.await? });
    }
    let by = caller.clone();
    let import_id = seeded.clone().row_id(now);
    let scope = Scope::event(&caller.organization_id, &event_id);
    let (report, brought) = write(&*app.store, scope, {
        let (event_id, begun) = (event_id.clone(), begin.clone());
        move |tx| {
            let mut seeded = seeded.clone();
            let event = events::require(tx, &event_id)?;
            let (plan, types) = begun.plan(tx, &by, &event_id, now, &mut seeded)?;
            let mut report = begun.report(&plan, &types);
            if said {
                let words = serde_json::to_string(&begun.mapping.remembered(&begun.file.sheet.header))
                    .map_err(|error| Error::Bug(error.to_string()))?;
                tx.put_import_mapping(&event_id, &begun.file.shape, &words, now)?;
            }
            // 3. Carry it out, unless everything in the file is stored already.
            if !plan.writes() {
                return Ok((report, None));
            }
            begun.progress.begin(Stage::Storing, plan.create.len() + plan.updated);
            let record = undo::record(&import_id, &event, &by, file_name.as_deref(), &plan, tx.stamp(&event_id)?, now);
            report.import_id = Some(import_id.clone());
            let brought = carry_out(tx, &by, &event, plan, begun.mail_passes, now, &mut seeded)?;
            tx.insert_import(&record)?;
            Ok((report, Some(brought)))
        }
    })
    .await?;
    if let Some(brought) = brought {
        app.job_wakeup.wake();
        announce(app, &caller.organization_id, &event_id, &brought);
    }
    Ok(report)
}

/// Reads the event's time zone, and the answers about the file: those of the request, or the last ones for this header.
async fn said_about(
    app: &App,
    caller: &UserCaller,
    event_id: &EventId,
    shape: &str,
    mapping: Option<Mapping>,
) -> Result<(jiff::tz::TimeZone, Mapping)> {
    let (event_id, shape, is_said) = (event_id.clone(), shape.to_owned(), mapping.is_some());
    let (zone, remembered) = read(&*app.store, &caller.organization_id, move |tx| {
        let event = events::require(tx, &event_id)?;
        let remembered = if is_said { None } else { tx.import_mapping(&event_id, &shape)? };
        Ok((event.time_zone, remembered))
    })
    .await?;
    let zone = jiff::tz::TimeZoneDatabase::bundled().get(&zone).unwrap_or(jiff::tz::TimeZone::UTC);
    // A remembered mapping that this version cannot read is ignored.
    let remembered = remembered.and_then(|text| Mapping::parse(&text).ok());
    Ok((zone, mapping.or(remembered).unwrap_or_default()))
}

/// An import whose file was read.
struct Begun {
    file: File,
    columns: Columns,
    mapping: Mapping,
    zone: jiff::tz::TimeZone,
    fills_all: bool,
    guest_list_id: Option<GuestListId>,
    mail_passes: bool,
    progress: Progress,
}

impl Begun {
    fn plan(
        &self,
        tx: &mut dyn Tx,
        by: &UserCaller,
        event_id: &EventId,
        now: Timestamp,
        seeded: &mut SeededIds,
    ) -> Result<(Plan, Types)> {
        events::require(tx, event_id)?;
        guest_lists::must_fill(tx, by, event_id, self.guest_list_id.as_ref(), "guest_list_id")?;
        let list =
            tx.guest_lists(event_id)?.into_iter().find(|list| Some(&list.guest_list_id) == self.guest_list_id.as_ref());
        let into = Destination { list, alone: !self.fills_all, is_file: true };
        let (sheet, columns) = (&self.file.sheet, &self.columns);
        let known = Known::load(tx, event_id)?;
        let lists = Lists::load(tx, event_id, sheet, columns, now, seeded)?;
        let policy = self.mapping.new_entry_types.unwrap_or(NewTypes::Create);
        let types = Types::of_file(&known.entry_types, event_id, sheet, columns, policy, now, seeded)?;
        let reading = Reading {
            sheet,
            columns,
            mapping: &self.mapping,
            into: &into,
            lists: &lists,
            types: &types,
            known: &known,
            zone: &self.zone,
            dates: self.dates(),
        };
        self.progress.begin(Stage::Comparing, sheet.lines.len());
        let mut step = |done: usize| self.progress.step(done);
        let plan = plan(tx, event_id, &reading, now, seeded, &mut step)?;
        Ok((plan, types))
    }

    fn report(&self, plan: &Plan, types: &Types) -> ImportReport {
        report::of(&self.file.sheet, &self.columns, &self.mapping, self.mail_passes, plan, types)
    }

    /// The order of day and month in the file's dates: as the user said, otherwise as the dates themselves show.
    fn dates(&self) -> std::result::Result<Option<times::DateOrder>, String> {
        if let Some(order) = self.mapping.date_order() {
            return Ok(Some(order));
        }
        let columns = [column::Column::ValidFrom, column::Column::ExpiresAt];
        let cells: Vec<String> = columns
            .into_iter()
            .filter(|column| self.columns.has(*column))
            .flat_map(|column| self.file.sheet.lines.iter().map(move |line| (line, column)))
            .map(|(line, column)| self.columns.get(line, column).into_owned())
            .collect();
        times::order_of(cells.iter().map(String::as_str))
    }
}

/// Reads every row of a file, compares it with an event without guests and tickets, and stores nothing. Returns the
/// number of rows that could be imported.
#[cfg(feature = "fuzzing")]
pub fn try_reading(bytes: &[u8], mapping: &str, promoters: bool) -> Result<usize> {
    let mapping = Mapping::parse(mapping).unwrap_or_default();
    let file = File::read(bytes, Some(&mapping))?;
    let mut columns = Columns::of(&file.sheet, &mapping)?;
    if promoters {
        columns.keep_promoters();
    }
    let progress = Progress::default();
    let zone = jiff::tz::TimeZone::UTC;
    let begun = Begun {
        file,
        columns,
        mapping,
        zone,
        fills_all: !promoters,
        guest_list_id: None,
        mail_passes: false,
        progress,
    };
    let known = Known { gate_ids: Vec::new(), entry_types: Vec::new() };
    let into = Destination { list: None, alone: promoters, is_file: true };
    let (lists, types) = (Lists::default(), Types::default());
    let (sheet, columns, mapping, zone) = (&begun.file.sheet, &begun.columns, &begun.mapping, &begun.zone);
    let dates = begun.dates();
    Ok(plan::rows(&Reading {
        sheet,
        columns,
        mapping,
        into: &into,
        lists: &lists,
        types: &types,
        known: &known,
        zone,
        dates,
    }))
}

fn carry_out(
    tx: &mut dyn Tx,
    by: &UserCaller,
    event: &EventRecord,
    plan: Plan,
    mail_passes: bool,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Brought> {
    let event_id = &event.event_id;
    let said = json!({
        "created": plan.created(),
        "updated": plan.updated,
        "unchanged": plan.unchanged,
        "wrong_lines": plan.wrong_lines,
        "mail_passes": mail_passes,
    });
    let plan = Plan { passes: if mail_passes { plan.passes } else { Vec::new() }, ..plan };
    let brought = put_plan(tx, event, plan, now, seeded)?;
    tx.append_audit(line::of(by, Some(event_id), "tickets_imported", ("Event", event_id.as_str()), said))?;
    Ok(brought)
}

/// The result of importing one row.
pub(crate) struct PutRow {
    /// Whether the row created a ticket.
    pub created: bool,
    /// The change by the row. Absent if the stored data already agrees.
    pub brought: Option<Brought>,
}

/// Imports one row that a webhook sent: names of columns and their texts, as a file with one row would have them. The
/// caller writes the ledger's line. Errors name wrong fields by their column.
pub(crate) fn put_row(
    tx: &mut dyn Tx,
    event: &EventRecord,
    cells: &[(&'static str, String)],
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<PutRow> {
    let event_id = &event.event_id;
    let header: Vec<&'static str> = cells.iter().map(|(column, _)| *column).collect();
    let columns = Columns::of_own(&header);
    let sheet = Sheet::of_one(
        header.iter().map(|name| (*name).to_owned()).collect(),
        cells.iter().map(|(_, text)| text.clone()).collect(),
    );
    let (into, mapping) = (Destination::default(), Mapping::default());
    let known = Known::load(tx, event_id)?;
    let lists = Lists::load(tx, event_id, &sheet, &columns, now, seeded)?;
    let types = Types::of_event(&known.entry_types);
    let zone = jiff::tz::TimeZoneDatabase::bundled().get(&event.time_zone).unwrap_or(jiff::tz::TimeZone::UTC);
    let reading = Reading {
        sheet: &sheet,
        columns: &columns,
        mapping: &mapping,
        into: &into,
        lists: &lists,
        types: &types,
        known: &known,
        zone: &zone,
        dates: Ok(None),
    };
    let plan = plan(tx, event_id, &reading, now, seeded, &mut |_| {})?;
    if !plan.errors.is_empty() {
        let wrong = |error: &RowError| FieldError { path: error.field.clone(), message: error.message.clone() };
        return Err(Error::Invalid { code: "invalid_request", errors: plan.errors.iter().map(wrong).collect() });
    }
    let created = plan.created() > 0;
    let brought = if plan.writes() { Some(put_plan(tx, event, plan, now, seeded)?) } else { None };
    Ok(PutRow { created, brought })
}

/// Stores what a plan holds, and judges the scans that it touches.
fn put_plan(
    tx: &mut dyn Tx,
    event: &EventRecord,
    plan: Plan,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Brought> {
    let event_id = &event.event_id;
    let stamp = tx.stamp(event_id)?;
    for list in &plan.new_lists {
        tx.insert_guest_list(list)?;
    }
    for entry_type in &plan.new_types {
        tx.insert_entry_type(entry_type)?;
    }
    // Changed guests and tickets get their newest values, and rules from this write on.
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
    if !plan.revived.is_empty() {
        tx.restore_tickets(event_id, &plan.revived)?;
    }
    let tickets: Vec<TicketRecord> = plan.tickets.into_iter().map(stamped).collect();
    if !tickets.is_empty() {
        tx.update_tickets(&tickets)?;
    }
    let keys: Vec<String> = ruled.into_iter().map(|ticket_id| Subject::Ticket(ticket_id.clone()).key()).collect();
    let mut scanned: BTreeSet<String> =
        tx.states(event_id, &keys)?.into_iter().map(|state| state.subject_key).collect();
    scanned.extend(waiting(tx, event_id, &plan.codes)?);
    let when = Effective::At(stamp.effective_at);
    let names = if plan.new_types.is_empty() { None } else { Some(door::zone_names(&tx.entry_types(event_id)?)) };
    let changes = plan.changes.into_iter().map(|(ticket_id, change)| Change::Ticket(ticket_id, change)).chain(names);
    let changes = changes.map(|change| (when, change)).collect();
    // Store the new tickets. Judge the scans that the changes touch, and the earlier scans of the new codes.
    let brought = put_new(tx, event_id, plan.create, (changes, scanned), stamp, now, seeded)?;
    // Enqueue the passes.
    passes::enqueue(tx, event, &plan.passes, now, seeded)?;
    Ok(brought)
}
