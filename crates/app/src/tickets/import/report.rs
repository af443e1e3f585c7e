//! The report of an import, done or planned, for a person.

use admit_core::barcode::is_ean_13;
use admit_core::event::BarcodeKind;
use admit_core::ids::EntryTypeId;
use admit_table::Format;

use super::column::Column;
use super::columns::{By, Columns};
use super::frame::Sheet;
use super::mapping::Mapping;
use super::planned::{Plan, RowError};
use super::shown::ShownRow;
use super::types::Types;

/// Values of a column that a person is shown to recognise it.
const SAMPLES: usize = 3;

/// The report of an import, done or planned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Its id, by which it can be undone; none where nothing was written.
    pub import_id: Option<String>,
    /// Nothing was written.
    pub dry_run: bool,
    /// How the file was read.
    pub file: FileReport,
    /// The system whose export the file is, such as `pretix` or `Eventbrite`; absent where it is none that we know.
    pub export: Option<&'static str>,
    /// Its columns, in its order.
    pub columns: Vec<ColumnReport>,
    /// A person's words about the file, now or of the last file of this header: columns by their number.
    pub mapping: Mapping,
    /// Rows that made a ticket.
    pub created: usize,
    /// Persons of those tickets.
    pub created_persons: u64,
    /// Rows that changed a ticket or its guest.
    pub updated: usize,
    /// Rows that are stored already as they say.
    pub unchanged: usize,
    /// Rows that say the same as another row: their guest comes in once.
    pub joined: usize,
    /// Rows whose ticket a person voided or refunded here and whose export calls it good: it stays as the person said.
    pub kept: usize,
    /// Why rows stay out, and how many do.
    pub left_out: Vec<LeftOutReport>,
    /// Entry types that the event gets.
    pub new_entry_types: Vec<String>,
    /// Products that are no entry types of the event, by name, and how many rows have each: they are of its first type.
    pub unknown_types: Vec<(String, usize)>,
    /// The questions that the file leaves open. Rows that wait for an answer are not in the others' counts.
    pub questions: Vec<QuestionReport>,
    /// Rows that wait for an answer.
    pub asked: usize,
    /// Lines left out because a field is wrong; the first thousand fields are in `errors`.
    pub wrong_lines: usize,
    /// Those of them that a spreadsheet damaged.
    pub damaged: usize,
    /// Wrong fields by line.
    pub errors: Vec<RowError>,
    /// Guests with an address who get a mail where passes are mailed.
    pub to_mail: usize,
    /// Whether passes are mailed.
    pub mails: bool,
    /// The first rows of each kind as they will be.
    pub rows: Vec<RowReport>,
    /// Columns that are not read, as the file names them.
    pub ignored_columns: Vec<String>,
    /// Kinds of codes beside QR that those of the file look like: a suggestion, and no more.
    pub barcode_kinds: Vec<BarcodeKind>,
}

impl ImportReport {
    /// Rows that stay out because of what they are, such as declined guests and totals.
    pub fn left_out_rows(&self) -> usize {
        self.left_out.iter().map(|one| one.rows).sum()
    }
}

/// How a file was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileReport {
    /// `text` or `workbook`.
    pub format: &'static str,
    /// Of a text, how its letters are written.
    pub encoding: Option<&'static str>,
    /// Of a text, what stands between cells.
    pub delimiter: Option<char>,
    /// Of a workbook, the sheet that was read.
    pub sheet: Option<String>,
    /// Its other visible sheets.
    pub other_sheets: Vec<String>,
    /// The rows above the header that were passed over.
    pub preamble: Vec<String>,
    /// Rows below the header.
    pub rows: usize,
}

/// One column of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnReport {
    /// Its header.
    pub header: String,
    /// Its first values.
    pub samples: Vec<String>,
    /// The meaning of the column, by that column's name; absent where it is not read.
    pub becomes: Option<String>,
    /// How that is known: `said`, `export`, `guess`, or `nothing`.
    pub by: &'static str,
}

/// Why rows stay out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutReport {
    /// Stable word: `status`, `total`, `unassigned`, `entry_type`, `no_code`, `no_persons`.
    pub reason: &'static str,
    /// The text of the file that decided, such as `declined`.
    pub about: Option<String>,
    /// How many rows.
    pub rows: usize,
}

/// A question that the file leaves open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionReport {
    /// Stable word: the field of the mapping that answers it.
    pub kind: &'static str,
    /// The text of the file that it is about.
    pub about: Option<String>,
    /// In plain words.
    pub message: String,
    /// The first line that waits for the answer.
    pub line: u64,
    /// How many do.
    pub rows: usize,
}

/// A row as it will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowReport {
    /// The row.
    pub row: ShownRow,
    /// Its entry type's name.
    pub entry_type: Option<String>,
}

/// Tells a plan.
pub(super) fn of(
    sheet: &Sheet,
    columns: &Columns,
    mapping: &Mapping,
    mails: bool,
    plan: &Plan,
    types: &Types,
) -> ImportReport {
    let name = |id: &Option<EntryTypeId>| id.as_ref().and_then(|id| types.name(id)).map(str::to_owned);
    let emails: std::collections::BTreeSet<&str> = plan.passes.iter().map(|(guest_id, _)| guest_id.as_str()).collect();
    let fresh = plan.create.iter().filter_map(|one| one.guest.as_ref());
    let guests = fresh.chain(&plan.guests).chain(&plan.new_guests);
    let to_mail = guests.filter(|guest| guest.email.is_some() && emails.contains(guest.guest_id.as_str())).count();
    ImportReport {
        import_id: None,
        dry_run: false,
        file: file(sheet),
        export: columns.export.map(|export| export.name),
        columns: columns_of(columns, sheet),
        mapping: Mapping { columns: columns.said(), ..mapping.clone() },
        created: plan.created(),
        created_persons: plan.create.iter().map(|one| u64::from(one.ticket.rules.entry_limit)).sum(),
        updated: plan.updated,
        unchanged: plan.unchanged,
        joined: plan.joined,
        kept: plan.kept,
        left_out: plan
            .left_out
            .iter()
            .map(|(why, rows)| LeftOutReport { reason: why.kind(), about: why.about().map(str::to_owned), rows: *rows })
            .collect(),
        new_entry_types: plan.new_types.iter().map(|one| one.name.clone()).collect(),
        unknown_types: plan.unknown_types.iter().map(|(name, rows)| (name.clone(), *rows)).collect(),
        questions: plan
            .questions
            .all()
            .map(|(question, line, rows)| QuestionReport {
                kind: question.kind(),
                about: question.about().map(str::to_owned),
                message: question.words(),
                line,
                rows,
            })
            .collect(),
        asked: plan.asked,
        wrong_lines: plan.wrong_lines,
        damaged: plan.damaged,
        errors: plan.errors.clone(),
        to_mail,
        mails,
        rows: plan
            .shown
            .all()
            .map(|row| RowReport { entry_type: name(&row.entry_type_id), row: row.clone() })
            .collect(),
        ignored_columns: columns.ignored(),
        barcode_kinds: kinds_of(columns, sheet),
    }
}

/// The kind of code that the tickets carry: EAN-13 where every code of the file is one.
fn kinds_of(columns: &Columns, sheet: &Sheet) -> Vec<BarcodeKind> {
    let codes = || sheet.lines.iter().map(|line| columns.get(line, Column::Barcode)).filter(|code| !code.is_empty());
    let all = codes().next().is_some() && codes().all(|code| is_ean_13(&code));
    if all { vec![BarcodeKind::Ean13] } else { Vec::new() }
}

fn file(sheet: &Sheet) -> FileReport {
    let rows = sheet.lines.len();
    let preamble = sheet.preamble.clone();
    match &sheet.format {
        Format::Delimited { encoding, delimiter } => FileReport {
            format: "text",
            encoding: Some(encoding.name()),
            delimiter: Some(*delimiter),
            preamble,
            rows,
            ..FileReport::default()
        },
        Format::Workbook { sheet, others } => FileReport {
            format: "workbook",
            sheet: Some(sheet.clone()),
            other_sheets: others.clone(),
            preamble,
            rows,
            ..FileReport::default()
        },
    }
}

fn columns_of(columns: &Columns, sheet: &Sheet) -> Vec<ColumnReport> {
    let samples = |place: usize| {
        let cells = sheet.lines.iter().filter_map(|line| line.cells.get(place)).filter(|cell| !cell.is_empty());
        cells.take(SAMPLES).map(|cell| cell.chars().take(80).collect()).collect()
    };
    let seen = columns.seen.iter().enumerate();
    seen.map(|(place, one)| ColumnReport {
        header: one.header.clone(),
        samples: samples(place),
        becomes: one.word(),
        by: match one.by {
            By::Said => "said",
            By::Export => "export",
            By::Guess => "guess",
            By::Nothing => "nothing",
        },
    })
    .collect()
}
