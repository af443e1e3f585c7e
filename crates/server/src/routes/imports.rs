//! `/api/events/{id}/tickets/import` and `/api/events/{id}/imports`: imports files into an event, and undoes imports.

use admit_app::records::ImportRecord;
use admit_app::tickets::import::{
    self, ColumnReport, FileReport, HowToImport, ImportReport, LeftOutReport, Mapping, QuestionReport, RowReport,
    Undone,
};
use admit_core::access::Action;
use admit_core::event::BarcodeKind;
use admit_core::ids::{EventId, GuestListId};
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::{List, blocking, flag};
use crate::auth::user::User;
use crate::body::{Path, Query, TableBody};
use crate::error::Result;
use crate::state::AppState;

/// The most characters of a file's name that are stored.
const FILE_NAME_CHARS: usize = 200;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(create)).routes(routes!(list)).routes(routes!(undo)).routes(routes!(progress))
}

#[derive(Default, Deserialize)]
struct ImportQuery {
    dry_run: Option<String>,
    guest_list_id: Option<GuestListId>,
    mapping: Option<String>,
    mail_passes: Option<String>,
    file_name: Option<String>,
    progress: Option<String>,
}

/// The result of an import, or the plan of a dry run.
#[derive(Serialize, ToSchema)]
struct ImportResult {
    /// The import's id, by which it can be undone. Null if nothing was written.
    import_id: Option<String>,
    /// Whether this was a dry run, which writes nothing.
    dry_run: bool,
    /// How the file was read.
    file: FileView,
    /// The system whose export the file is, such as `pretix` or `Eventbrite`. Null if it is no known export.
    export: Option<&'static str>,
    /// The file's columns, in order.
    columns: Vec<ColumnView>,
    /// The mapping that was used: that of this request, or that of the last file with this header. Send it with the
    /// next request to use the same mapping.
    #[schema(value_type = Object)]
    mapping: Mapping,
    /// Number of rows that created a ticket.
    created: usize,
    /// Number of persons of these tickets.
    created_persons: u64,
    /// Number of rows that changed a ticket or its guest.
    updated: usize,
    /// Number of rows that equal what is stored.
    unchanged: usize,
    /// Number of rows that repeat another row. Their guest is created once.
    joined: usize,
    /// Number of rows whose ticket a person voided or refunded in Admit, while the file says that it is valid. The
    /// person's decision stays.
    kept: usize,
    /// Number of rows that were not imported because of their content, such as declined guests and lines with totals.
    left_out: usize,
    /// The reasons for these rows, with their numbers.
    left_out_because: Vec<LeftOutView>,
    /// Names of the entry types that the import creates.
    new_entry_types: Vec<String>,
    /// Products of the file that are no entry types of the event. Their rows get the event's first type.
    unknown_types: Vec<UnknownType>,
    /// The questions that the file leaves open. Rows that wait for an answer are counted only in `asked`.
    questions: Vec<QuestionView>,
    /// Number of rows that wait for an answer.
    asked: usize,
    /// Number of lines that were not imported because a field is wrong.
    wrong_lines: usize,
    /// Number of these lines that a spreadsheet program damaged.
    damaged: usize,
    /// The wrong fields, by line, at most the first 1,000.
    errors: Vec<ImportError>,
    /// Number of guests with an address who get a mail if passes are mailed.
    to_mail: usize,
    /// Whether this import mails passes.
    mails: bool,
    /// The first 100 rows of each kind, with the result that each has.
    rows: Vec<RowView>,
    /// Headers of the columns that are not read.
    ignored_columns: Vec<String>,
    /// Kinds of codes, in addition to QR, that all codes of the file look like. This is a suggestion for the event's
    /// `barcode_kinds`.
    barcode_kinds: Vec<BarcodeKind>,
}

/// How a file was read.
#[derive(Serialize, ToSchema)]
struct FileView {
    /// `text` or `workbook`.
    format: &'static str,
    /// For `text`: the encoding, which is `UTF-8`, `UTF-16LE`, `UTF-16BE`, `Windows-1252` or `Mac Roman`. Null for a
    /// workbook.
    encoding: Option<&'static str>,
    /// For `text`: the character between cells. Null for a workbook.
    delimiter: Option<char>,
    /// For `workbook`: the name of the sheet that was read. Null for a text.
    sheet: Option<String>,
    /// Names of the workbook's other visible sheets.
    other_sheets: Vec<String>,
    /// The rows above the header, which were ignored.
    preamble: Vec<String>,
    /// Number of rows below the header.
    rows: usize,
}

/// One column of the file.
#[derive(Serialize, ToSchema)]
struct ColumnView {
    /// The column's header.
    header: String,
    /// The column's first three values.
    samples: Vec<String>,
    /// The column's meaning, such as `name`. Null if the column is not read.
    becomes: Option<String>,
    /// How the meaning was found: `said` (by the mapping), `export`, `guess` or `nothing`.
    by: &'static str,
}

/// A reason why rows were not imported.
#[derive(Serialize, ToSchema)]
struct LeftOutView {
    /// The reason: `status`, `total`, `unassigned`, `entry_type`, `no_code` or `no_persons`.
    reason: &'static str,
    /// The text in the file that is the reason, such as `declined`. Null if there is none.
    about: Option<String>,
    /// Number of rows with this reason.
    rows: usize,
}

/// A question that the file leaves open.
#[derive(Serialize, ToSchema)]
struct QuestionView {
    /// The field of the mapping that answers the question: `missing_codes`, `status` (in `statuses`),
    /// `empty_words_in_names` or `day_first`.
    kind: &'static str,
    /// The text in the file that the question is about. Null if it is about none.
    about: Option<String>,
    /// The question in plain words.
    message: String,
    /// The number of the first line that waits for the answer.
    line: u64,
    /// Number of rows that wait for the answer.
    rows: usize,
}

/// A row of the file, with the result that it has.
#[derive(Serialize, ToSchema)]
struct RowView {
    /// The row's line in the file, from 1.
    line: u64,
    /// `new`, `changed`, `unchanged`, `left_out`, `joined` or `asked`.
    becomes: &'static str,
    /// The guest's name. Null if the row could not be read.
    name: Option<String>,
    /// The guest's e-mail. Null if the row has none.
    email: Option<String>,
    /// Number of persons. Null if the row does not say it.
    party_size: Option<u32>,
    /// The entry type. Null if the row names none.
    entry_type: Option<String>,
    /// The ticket's code. Null if the row has none.
    barcode: Option<String>,
    /// Why the row has this result, in plain words. Null if there is nothing to say.
    why: Option<String>,
}

/// A product of the file that is no entry type of the event.
#[derive(Serialize, ToSchema)]
struct UnknownType {
    /// The product's name in the file.
    name: String,
    /// Number of rows with this product.
    rows: usize,
}

/// A wrong field in a row.
#[derive(Serialize, ToSchema)]
struct ImportError {
    /// The row's line in the file, from 1.
    line: u64,
    /// The name of the wrong column.
    field: String,
    /// The fault and the right value, in plain words.
    message: String,
}

/// The result of an import in this API's form, for commands that print it with the same names.
pub fn as_json(report: ImportReport) -> serde_json::Result<serde_json::Value> {
    serde_json::to_value(ImportResult::from(report))
}

impl From<ImportReport> for ImportResult {
    fn from(report: ImportReport) -> Self {
        let left_out = report.left_out_rows();
        Self {
            import_id: report.import_id,
            dry_run: report.dry_run,
            file: report.file.into(),
            export: report.export,
            columns: report.columns.into_iter().map(ColumnView::from).collect(),
            mapping: report.mapping,
            created: report.created,
            created_persons: report.created_persons,
            updated: report.updated,
            unchanged: report.unchanged,
            joined: report.joined,
            kept: report.kept,
            left_out,
            left_out_because: report.left_out.into_iter().map(LeftOutView::from).collect(),
            new_entry_types: report.new_entry_types,
            unknown_types: report.unknown_types.into_iter().map(|(name, rows)| UnknownType { name, rows }).collect(),
            questions: report.questions.into_iter().map(QuestionView::from).collect(),
            asked: report.asked,
            wrong_lines: report.wrong_lines,
            damaged: report.damaged,
            errors: report
                .errors
                .into_iter()
                .map(|one| ImportError { line: one.line, field: one.field, message: one.message })
                .collect(),
            to_mail: report.to_mail,
            mails: report.mails,
            rows: report.rows.into_iter().map(RowView::from).collect(),
            ignored_columns: report.ignored_columns,
            barcode_kinds: report.barcode_kinds,
        }
    }
}
impl From<FileReport> for FileView {
    fn from(one: FileReport) -> Self {
        let FileReport { format, encoding, delimiter, sheet, other_sheets, preamble, rows } = one;
        Self { format, encoding, delimiter, sheet, other_sheets, preamble, rows }
    }
}
impl From<ColumnReport> for ColumnView {
    fn from(one: ColumnReport) -> Self {
        Self { header: one.header, samples: one.samples, becomes: one.becomes, by: one.by }
    }
}
impl From<LeftOutReport> for LeftOutView {
    fn from(one: LeftOutReport) -> Self {
        Self { reason: one.reason, about: one.about, rows: one.rows }
    }
}
impl From<QuestionReport> for QuestionView {
    fn from(one: QuestionReport) -> Self {
        Self { kind: one.kind, about: one.about, message: one.message, line: one.line, rows: one.rows }
    }
}
impl From<RowReport> for RowView {
    fn from(one: RowReport) -> Self {
        let (row, entry_type) = (one.row, one.entry_type);
        Self {
            line: row.line,
            becomes: row.becomes.as_str(),
            name: row.name,
            email: row.email,
            party_size: row.party_size,
            entry_type,
            barcode: row.barcode,
            why: row.why,
        }
    }
}

/// Imports tickets and guests from a file: CSV with any delimiter, TSV or XLSX.
///
/// The file is the body, or the part `file` of a form whose part `mapping` says what its columns are. A mapping is a
/// JSON object with these members:
///
/// - `columns` maps a header, or `#` and a column's number, to `barcode`, `name`, `first_name`, `last_name`, `email`,
///   `other_email`, `phone`, `party_size`, `zone`, `entry_type`, `gate_ids`, `guest_list`, `order_id`, `position`,
///   `external_id`, `valid_from`, `expires_at`, `status`, `note`, `flag` or `ignore`.
/// - `statuses` maps a status word to `active`, `used`, `voided` or `refunded`.
/// - `day_first`, `encoding` and `sheet` say how to read the file.
/// - `missing_codes`: `make` or `leave_out`.
/// - `empty_words_in_names`: `empty` or `name`.
/// - `new_entry_types`: `create`, `first` or `leave_out`.
///
/// The server guesses missing parts from the header, or asks about them in `questions`. It remembers the last mapping
/// of a file with the same header. It recognises a row by its code, otherwise by the source's row id, otherwise by
/// order and position, otherwise by everything that names the person. So importing a file twice changes nothing. Lines
/// with a wrong field are left out and listed in `errors`. All other lines are imported together. Nobody gets a mail
/// unless `mail_passes` says so.
#[utoipa::path(post, path = "/api/events/{id}/tickets/import", tag = "organisers",
    request_body(content(
        (String = "text/csv"),
        (String = "text/tab-separated-values"),
        (String = "text/plain"),
        (Vec<u8> = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        (Vec<u8> = "application/octet-stream"),
        (ImportForm = "multipart/form-data"),
    )), params(
        ("id" = String, Path, description = "Event"),
        ("dry_run" = Option<bool>, Query, description = "`1`: write nothing, and answer what an import would do"),
        ("guest_list_id" = Option<String>, Query, description = "The guest list for rows that name none. A promoter must give one of their own lists"),
        ("mapping" = Option<String>, Query, description = "The meanings of the columns, as JSON", max_length = 100_000),
        ("mail_passes" = Option<bool>, Query, description = "`1`: mail passes to guests who are new or whose pass changes"),
        ("file_name" = Option<String>, Query, description = "The file's name", max_length = 200),
        ("progress" = Option<String>, Query, description = "A word of your choice, by which `/api/imports/progress` names this import", max_length = 64),
    ), extensions(("x-actions" = json!(["manage_guests", "manage_own_guests"]))), responses(
    (status = 200, description = "The result, or the plan of a dry run", body = ImportResult),
    (status = 400, description = "The file cannot be read, or the mapping is wrong"),
))]
async fn create(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    Query(query): Query<ImportQuery>,
    TableBody { file, mapping, file_name }: TableBody,
) -> Result<Json<ImportResult>> {
    let mapping = mapping.or(query.mapping).map(|text| Mapping::parse(&text)).transpose()?;
    let name = query
        .file_name
        .or(file_name)
        .map(|name| name.chars().filter(|c| !c.is_control()).take(FILE_NAME_CHARS).collect());
    let watched = query.progress.map(|key| state.imports.watch(&caller.organization_id, &key)).transpose()?;
    let how = HowToImport {
        dry_run: flag("dry_run", query.dry_run.as_deref())?,
        guest_list_id: query.guest_list_id,
        mapping,
        mail_passes: flag("mail_passes", query.mail_passes.as_deref())?,
        file_name: name,
        progress: watched.as_ref().map(|watched| watched.progress.clone()).unwrap_or_default(),
    };
    let app = state.app.clone();
    let report = blocking(async move { import::import(&app, &caller, event_id, &file, how).await }).await?;
    Ok(Json(report.into()))
}

/// The form that carries a file and its mapping.
#[derive(ToSchema)]
#[allow(dead_code, reason = "it only describes the form")]
struct ImportForm {
    /// The file.
    #[schema(content_media_type = "application/octet-stream")]
    file: Vec<u8>,
    /// The meanings of the file's columns, as JSON. The server guesses them if absent.
    mapping: Option<String>,
}

/// An import that wrote something.
#[derive(Serialize, ToSchema)]
struct ImportView {
    id: String,
    /// The file's name. Null if it is not known.
    file_name: Option<String>,
    /// Number of tickets that the import made.
    created: u64,
    /// Number of tickets and guests that the import changed.
    updated: u64,
    imported_at: Timestamp,
    /// When the import was undone. Null if it was not.
    undone_at: Option<Timestamp>,
}

impl From<ImportRecord> for ImportView {
    fn from(one: ImportRecord) -> Self {
        Self {
            id: one.import_id,
            file_name: one.file_name,
            created: one.created,
            updated: one.updated,
            imported_at: one.imported_at,
            undone_at: one.undone_at,
        }
    }
}

/// The newest imports of an event, newest first, at most fifty.
#[utoipa::path(get, path = "/api/events/{id}/imports", tag = "organisers",
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["manage_guests"]))), responses(
    (status = 200, description = "The imports", body = List<ImportView>),
))]
async fn list(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
) -> Result<Json<List<ImportView>>> {
    let imports = import::list(&state.app, &caller, event_id).await?;
    Ok(Json(List::whole(imports.into_iter().map(ImportView::from).collect())))
}

/// The result of undoing an import.
#[derive(Serialize, ToSchema)]
struct UndoneView {
    /// Number of tickets that the import had made. They are refused from now on, and no list shows them or their
    /// guests.
    withdrawn: usize,
    /// Number of tickets and guests that have their earlier values again.
    restored: usize,
    /// Number of tickets and guests that somebody changed after the import. They stay as they are.
    kept: usize,
}

/// Undoes a whole import. This works as long as none of its tickets was scanned.
#[utoipa::path(post, path = "/api/events/{id}/imports/{import_id}/undo", tag = "organisers",
    params(("id" = String, Path, description = "Event"), ("import_id" = String, Path, description = "Import")), extensions(("x-actions" = json!(["manage_guests", "manage_own_guests"]))), responses(
    (status = 200, description = "Undone", body = UndoneView),
    (status = 404, description = "No such event or import"),
    (status = 409, description = "`import_in_use`: a ticket of it was scanned; `import_undone`"),
))]
async fn undo(
    State(state): State<AppState>,
    User(caller): User,
    Path((event_id, import_id)): Path<(EventId, String)>,
) -> Result<Json<UndoneView>> {
    let Undone { withdrawn, restored, kept } = import::undo(&state.app, &caller, event_id, import_id).await?;
    Ok(Json(UndoneView { withdrawn, restored, kept }))
}

/// The progress of an import.
#[derive(Serialize, ToSchema)]
struct ProgressView {
    /// The `progress` word of the import's request.
    key: String,
    /// The stage of the import: `reading`, `comparing` or `storing`.
    stage: &'static str,
    /// Number of rows that this stage has finished.
    done: usize,
    /// Number of rows of this stage. 0 if the stage has no rows to count.
    of: usize,
}

/// The progress of your organisation's running imports.
///
/// It lists imports that this server runs now and whose requests had the parameter `progress`.
#[utoipa::path(get, path = "/api/imports/progress", tag = "organisers",
    extensions(("x-actions" = json!(["manage_guests", "manage_own_guests"]))), responses(
    (status = 200, description = "The running imports", body = List<ProgressView>),
))]
async fn progress(State(state): State<AppState>, User(caller): User) -> Result<Json<List<ProgressView>>> {
    caller.must_any(&[Action::ManageGuests, Action::ManageOwnGuests])?;
    let views = state.imports.of(&caller.organization_id).into_iter().map(|(key, progress)| {
        let (stage, done, of) = progress.read();
        ProgressView { key, stage: stage.as_str(), done, of }
    });
    Ok(Json(List::whole(views.collect())))
}
