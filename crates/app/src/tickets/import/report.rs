//! The report of an import, done or planned, for the user.

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

/// Number of a column's values that are shown so that the user recognises the column.
const SAMPLES: usize = 3;

/// The report of an import, done or planned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// The import's id, by which it can be undone. Absent if nothing was written.
    pub import_id: Option<String>,
    /// Whether this was a dry run, which writes nothing.
    pub dry_run: bool,
    /// How the file was read.
    pub file: FileReport,
    /// The system whose export the file is, such as `pretix` or `Eventbrite`. Absent if it is no known export.
    pub export: Option<&'static str>,
    /// The file's columns, in order.
    pub columns: Vec<ColumnReport>,
    /// The user's answers about the file, from this import or the last one of a file with this header. Columns are
    /// named by their number.
    pub mapping: Mapping,
    /// Number of rows that created a ticket.
    pub created: usize,
    /// Number of persons of these tickets.
    pub created_persons: u64,
    /// Number of rows that changed a ticket or its guest.
    pub updated: usize,
    /// Number of rows that equal what is stored.
    pub unchanged: usize,
    /// Number of rows that repeat another row. Their guest is created once.
    pub joined: usize,
    /// Number of rows that the export calls valid although a person voided or refunded the ticket in Admit. The
    /// person's decision stays.
    pub kept: usize,
    /// Reasons why rows are left out, with their number of rows.
    pub left_out: Vec<LeftOutReport>,
    /// Names of the entry types that the import creates.
    pub new_entry_types: Vec<String>,
    /// Products that are no entry types of the event, with their number of rows. These rows get the event's first type.
    pub unknown_types: Vec<(String, usize)>,
    /// The questions that the file leaves open. Rows that wait for an answer are in no other number of the report.
    pub questions: Vec<QuestionReport>,
    /// Number of rows that wait for an answer.
    pub asked: usize,
    /// Number of lines left out because a field is wrong. The first thousand wrong fields are in `errors`.
    pub wrong_lines: usize,
    /// Number of these lines that a spreadsheet damaged.
    pub damaged: usize,
    /// Wrong fields, in order of line.
    pub errors: Vec<RowError>,
    /// Number of guests with an address who get a mail if passes are mailed.
    pub to_mail: usize,
    /// Whether passes are mailed.
    pub mails: bool,
    /// The first rows of each kind, as they will be.
    pub rows: Vec<RowReport>,
    /// Headers of the columns that are not read.
    pub ignored_columns: Vec<String>,
    /// Kinds of codes, in addition to QR, that the file's codes look like. This is only a suggestion.
    pub barcode_kinds: Vec<BarcodeKind>,
}

impl ImportReport {
    /// Number of rows that are left out because of their content, such as declined guests and totals.
    pub fn left_out_rows(&self) -> usize {
        self.left_out.iter().map(|one| one.rows).sum()
    }
}

/// How a file was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileReport {
    /// One of `text` and `workbook`.
    pub format: &'static str,
    /// For a text: its encoding. Absent for a workbook.
    pub encoding: Option<&'static str>,
    /// For a text: the character between cells. Absent for a workbook.
    pub delimiter: Option<char>,
    /// For a workbook: the sheet that was read. Absent for a text.
    pub sheet: Option<String>,
    /// The other visible sheets of a workbook.
    pub other_sheets: Vec<String>,
    /// The rows above the header, which were ignored.
    pub preamble: Vec<String>,
    /// Number of rows below the header.
    pub rows: usize,
}

/// One column of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnReport {
    /// The column's header.
    pub header: String,
    /// The column's first values.
    pub samples: Vec<String>,
    /// The column's meaning, by name. Absent if it is not read.
    pub becomes: Option<String>,
    /// How the meaning was found: `said`, `export`, `guess`, or `nothing`.
    pub by: &'static str,
}

/// A reason why rows are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutReport {
    /// A stable word: `status`, `total`, `unassigned`, `entry_type`, `no_code`, `no_persons`.
    pub reason: &'static str,
    /// The word in the file because of which the rows are left out, such as `declined`. Absent if there is no such
    /// word.
    pub about: Option<String>,
    /// Number of rows.
    pub rows: usize,
}

/// A question that the file leaves open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionReport {
    /// A stable word: the field of the mapping that answers the question.
    pub kind: &'static str,
    /// The text of the file that the question is about. Absent if it is about none.
    pub about: Option<String>,
    /// The question in plain words.
    pub message: String,
    /// The first line that waits for the answer.
    pub line: u64,
    /// Number of lines that wait for the answer.
    pub rows: usize,
}

/// A row, as it will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowReport {
    /// The row.
    pub row: ShownRow,
    /// The name of its entry type. Absent if the row names none.
    pub entry_type: Option<String>,
}

/// The report of a plan.
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

/// The kinds of codes that the tickets have: EAN-13 if every code of the file is one, otherwise none.
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
