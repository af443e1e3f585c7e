//! `/api/events/{id}/tickets/import` and `/api/events/{id}/imports`: files into an event, and out of it again.

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

/// The result of an import, done or planned.
#[derive(Serialize, ToSchema)]
struct ImportResult {
    /// By which it can be undone; none where nothing was written.
    import_id: Option<String>,
    /// Nothing was written.
    dry_run: bool,
    /// How the file was read.
    file: FileView,
    /// The system whose export the file is, such as `pretix` or `Eventbrite`; absent where it is none that we know.
    export: Option<&'static str>,
    /// Its columns, in its order.
    columns: Vec<ColumnView>,
    /// A person's mapping of the file, now or of the last file of this header: send it along to keep it.
    #[schema(value_type = Object)]
    mapping: Mapping,
    /// Rows that made a ticket.
    created: usize,
    /// Persons of those tickets.
    created_persons: u64,
    /// Rows that changed a ticket or its guest.
    updated: usize,
    /// Rows that are stored already as they say.
    unchanged: usize,
    /// Rows that say the same as another row: their guest comes in once.
    joined: usize,
    /// Rows whose ticket a person voided or refunded here and whose export calls it good: it stays as the person said.
    kept: usize,
    /// Rows that stay out because of what they are, such as declined guests and totals.
    left_out: usize,
    /// Why they do.
    left_out_because: Vec<LeftOutView>,
    /// Entry types that the event gets.
    new_entry_types: Vec<String>,
    /// Products that are no entry types of the event. Their rows are of the event's first type.
    unknown_types: Vec<UnknownType>,
    /// The questions that the file leaves open. Rows that wait for an answer are in no other count.
    questions: Vec<QuestionView>,
    /// Rows that wait for an answer.
    asked: usize,
    /// Lines left out because a field is wrong.
    wrong_lines: usize,
    /// Those of them that a spreadsheet damaged.
    damaged: usize,
    /// Wrong fields by line, the first thousand.
    errors: Vec<ImportError>,
    /// Guests with an address who get a mail where passes are mailed.
    to_mail: usize,
    /// Whether passes are mailed.
    mails: bool,
    /// The first hundred rows of each kind as they will be.
    rows: Vec<RowView>,
    /// Columns that are not read.
    ignored_columns: Vec<String>,
    /// Kinds of codes beside QR that all codes of the file look like; a suggestion for the event's `barcode_kinds`.
    barcode_kinds: Vec<BarcodeKind>,
}

/// How a file was read.
#[derive(Serialize, ToSchema)]
struct FileView {
    /// `text` or `workbook`.
    format: &'static str,
    /// Of a text, how its letters are written: `UTF-8`, `UTF-16LE`, `UTF-16BE`, `Windows-1252` or `Mac Roman`.
    encoding: Option<&'static str>,
    /// Of a text, what stands between cells.
    delimiter: Option<char>,
    /// Of a workbook, the sheet that was read.
    sheet: Option<String>,
    /// Its other visible sheets.
    other_sheets: Vec<String>,
    /// The rows above the header that were passed over.
    preamble: Vec<String>,
    /// Rows below the header.
    rows: usize,
}

/// One column of the file.
#[derive(Serialize, ToSchema)]
struct ColumnView {
    /// Its header.
    header: String,
    /// Its first three values.
    samples: Vec<String>,
    /// The meaning of the column, such as `name`; null where it is not read.
    becomes: Option<String>,
    /// How that is known: `said`, `export`, `guess` or `nothing`.
    by: &'static str,
}

/// Why rows stay out.
#[derive(Serialize, ToSchema)]
struct LeftOutView {
    /// `status`, `total`, `unassigned`, `entry_type`, `no_code` or `no_persons`.
    reason: &'static str,
    /// The text of the file that decided, such as `declined`.
    about: Option<String>,
    /// How many rows.
    rows: usize,
}

/// A question that the file leaves open.
#[derive(Serialize, ToSchema)]
struct QuestionView {
    /// The field of the mapping that answers it: `missing_codes`, `status` (in `statuses`), `empty_words_in_names` or `day_first`.
    kind: &'static str,
    /// The text of the file that it is about.
    about: Option<String>,
    /// In plain words.
    message: String,
    /// The first line that waits for the answer.
    line: u64,
    /// How many do.
    rows: usize,
}

/// A row as it will be.
#[derive(Serialize, ToSchema)]
struct RowView {
    /// Line of the file, from 1.
    line: u64,
    /// `new`, `changed`, `unchanged`, `left_out`, `joined` or `asked`.
    becomes: &'static str,
    /// The guest's name, where the row could be read.
    name: Option<String>,
    /// E-mail.
    email: Option<String>,
    /// Persons, where the row says.
    party_size: Option<u32>,
    /// Entry type, where the row names one.
    entry_type: Option<String>,
    /// Its code, where the row brings one.
    barcode: Option<String>,
    /// The reason, in plain words.
    why: Option<String>,
}

/// A product that is no entry type of the event.
#[derive(Serialize, ToSchema)]
struct UnknownType {
    /// As the file has it.
    name: String,
    /// How many rows have it.
    rows: usize,
}

/// A wrong field of a row.
#[derive(Serialize, ToSchema)]
struct ImportError {
    /// Line of the file, from 1.
    line: u64,
    /// The column of the error.
    field: String,
    /// The error and the right value, in words.
    message: String,
}

/// The result of an import in this API's form, for commands that use the same names.
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
/// The file is the body, or the part `file` of a form whose part `mapping` says what its columns are. A mapping is a JSON
/// object with these members:
///
/// - `columns`: a header, or `#` and a column's number, to `barcode`, `name`, `first_name`, `last_name`, `email`,
///   `other_email`, `phone`, `party_size`, `zone`, `entry_type`, `gate_ids`, `guest_list`, `order_id`, `position`,
///   `external_id`, `valid_from`, `expires_at`, `status`, `note`, `flag` or `ignore`.
/// - `statuses`: a word to `active`, `used`, `voided` or `refunded`.
/// - `day_first`, `encoding` and `sheet`.
/// - `missing_codes`: `make` or `leave_out`.
/// - `empty_words_in_names`: `empty` or `name`.
/// - `new_entry_types`: `create`, `first` or `leave_out`.
///
/// Missing parts are guessed from the header, or asked about in `questions`. The last mapping of a file with the same header
/// is remembered. A row is known again by its code, else the source's
/// row id, else order and position, else everything that names the person: the same file twice changes nothing. Lines
/// with a wrong field are left out and told; the others go in together. Nobody gets a mail unless `mail_passes` says
/// so.
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
        ("dry_run" = Option<bool>, Query, description = "`1`: only say what would be done"),
        ("guest_list_id" = Option<String>, Query, description = "The list of rows that name none; a promoter's own, and required of a promoter"),
        ("mapping" = Option<String>, Query, description = "What the columns are, as JSON", max_length = 100_000),
        ("mail_passes" = Option<bool>, Query, description = "`1`: mail passes to guests who are new or whose pass changes"),
        ("file_name" = Option<String>, Query, description = "What the file is called", max_length = 200),
        ("progress" = Option<String>, Query, description = "A word of your own under which `/api/imports/progress` tells how far it is", max_length = 64),
    ), extensions(("x-actions" = json!(["manage_guests", "manage_own_guests"]))), responses(
    (status = 200, description = "What was done, or would be", body = ImportResult),
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

/// A file and what is said about it.
#[derive(ToSchema)]
#[allow(dead_code, reason = "it only describes the form")]
struct ImportForm {
    /// The file.
    #[schema(content_media_type = "application/octet-stream")]
    file: Vec<u8>,
    /// The meanings of its columns, as JSON.
    mapping: Option<String>,
}

/// An import that wrote something.
#[derive(Serialize, ToSchema)]
struct ImportView {
    id: String,
    /// The name of the file; absent where it is not known.
    file_name: Option<String>,
    /// Tickets that it made.
    created: u64,
    /// Tickets and guests that it changed.
    updated: u64,
    imported_at: Timestamp,
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
    (status = 200, description = "All of them", body = List<ImportView>),
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
    /// Tickets that it had made: they are refused from now on, and they and their guests are in no list.
    withdrawn: usize,
    /// Tickets and guests that are as they were before it.
    restored: usize,
    /// Those that somebody changed since: they stay as they are.
    kept: usize,
}

/// Undoes an import as a whole, while nobody of it was scanned.
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

/// How far an import is.
#[derive(Serialize, ToSchema)]
struct ProgressView {
    /// The word that its request gave.
    key: String,
    /// `reading`, `comparing` or `storing`.
    stage: &'static str,
    /// Rows of the stage that are done.
    done: usize,
    /// Of so many; 0 where the stage has no rows to count.
    of: usize,
}

/// How far the imports of your organisation are that this server carries out now and whose requests gave a word.
#[utoipa::path(get, path = "/api/imports/progress", tag = "organisers",
    extensions(("x-actions" = json!(["manage_guests", "manage_own_guests"]))), responses(
    (status = 200, description = "All of them", body = List<ProgressView>),
))]
async fn progress(State(state): State<AppState>, User(caller): User) -> Result<Json<List<ProgressView>>> {
    caller.must_any(&[Action::ManageGuests, Action::ManageOwnGuests])?;
    let views = state.imports.of(&caller.organization_id).into_iter().map(|(key, progress)| {
        let (stage, done, of) = progress.read();
        ProgressView { key, stage: stage.as_str(), done, of }
    });
    Ok(Json(List::whole(views.collect())))
}
