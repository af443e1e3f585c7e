//! `admit export`: guests, scans or the ledger of an event as a file.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use admit_app::caller::UserCaller;
use admit_app::ports::App;
use admit_app::records::Page;
use admit_app::scans::export::ScanOfGuest;
use admit_app::{audits, scans, tickets};
use admit_core::ids::EventId;
use admit_core::limits::PAGE_MAX;
use admit_server::routes;
use admit_table::{Hints, Limits, Writer, unguarded};
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::progress::Progress;
use crate::settings::Place;
use crate::{acting, parts};

/// `admit export`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  admit export guests --event EVENT --out guests.csv
  admit export scans --event EVENT --format jsonl --out scans.jsonl
  admit export audit --event EVENT --format jsonl

Scans and lines of the ledger come newest first, with the names that they have in the HTTP API.")]
pub struct Export {
    #[command(flatten)]
    place: Place,
    /// The data to write.
    #[arg(value_enum, default_value_t = What::Guests)]
    what: What,
    /// Id of the event.
    #[arg(long)]
    event: EventId,
    /// A table for spreadsheets, or one JSON object per line for programs.
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,
    /// File to write. It appears only when it is complete. When absent, standard output.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// The things that can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// All guests and tickets. The CSV file can be imported again.
    Guests,
    /// All scans, with the server's verdict on each.
    Scans,
    /// The event's audit ledger: who did what.
    Audit,
}

/// The format of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// UTF-8 with a header row. No cell can start a formula in a spreadsheet program.
    Csv,
    /// One JSON object per line.
    Jsonl,
}

/// The columns of scans: members of the JSON object, with a dot before members of an inner object.
const SCANS: [&str; 43] = [
    "at",
    "received_at",
    "gate_id",
    "device_id",
    "operator",
    "ticket_id",
    "barcode",
    "short_code",
    "guest.id",
    "guest.name",
    "kind",
    "method",
    "count",
    "device_outcome",
    "opened",
    "offline",
    "counts",
    "verdict.outcome",
    "verdict.reason",
    "verdict.left_out",
    "verdict.within",
    "verdict.over",
    "verdict.exited",
    "verdict.conflict",
    "verdict.conflict_reason",
    "verdict.admitted_in_error",
    "verdict.refused_in_error",
    "verdict.implausible",
    "override.by",
    "override.reason",
    "headcount.class",
    "headcount.delta",
    "headcount.inside",
    "signature",
    "uncertainty_ms",
    "stage",
    "scan_id",
    "target_device",
    "target_scan_id",
    "log_id",
    "seq",
    "barcode_hash",
    "serial",
];
/// Columns of the ledger.
const AUDIT: [&str; 12] = [
    "n",
    "serial",
    "at",
    "event_id",
    "user_id",
    "device_id",
    "action",
    "entity_type",
    "entity_id",
    "changes",
    "metadata",
    "head",
];

impl Export {
    /// Runs the command.
    pub async fn run(self) -> anyhow::Result<()> {
        let app = parts::open_app(&self.place).await?;
        let caller = acting::owner_of_event(&app, &self.event).await?;
        let mut file = Target::new(self.out.as_deref())?;
        let progress = Progress::spinner("writing", self.out.is_none());
        match self.what {
            What::Guests => self.guests(&app, &caller, &mut file).await?,
            What::Scans => self.scans(&app, &caller, &mut file, &progress).await?,
            What::Audit => self.audit(&app, &caller, &mut file, &progress).await?,
        }
        file.finish()
    }

    async fn guests(&self, app: &App, caller: &UserCaller, file: &mut Target) -> anyhow::Result<()> {
        let bytes = tickets::export(app, caller, self.event.clone()).await?;
        if self.format == Format::Csv {
            return file.out.write_all(&bytes).context("writing");
        }
        let limits = Limits { rows: usize::MAX, columns: usize::MAX, cells: usize::MAX, bytes: usize::MAX };
        let table = admit_table::read(&bytes, &limits, &Hints::default()).context("reading the table")?;
        let mut lines = table.lines.into_iter();
        let header = lines.next().context("the table has no header")?.cells;
        for line in lines {
            let members = header.iter().zip(&line.cells).map(|(name, cell)| (name.clone(), typed(name, cell)));
            file.line(&Value::Object(members.collect()))?;
        }
        Ok(())
    }

    async fn scans(
        &self,
        app: &App,
        caller: &UserCaller,
        file: &mut Target,
        progress: &Progress,
    ) -> anyhow::Result<()> {
        let mut rows = Rows::begin(self.format, &SCANS, file)?;
        let mut page = Page { limit: PAGE_MAX, cursor: None };
        loop {
            let listed = scans::export::export(app, caller, self.event.clone(), page).await?;
            for one in listed.items {
                rows.add(&scan(one)?)?;
            }
            progress.say(format!("{} scans", rows.written));
            match listed.next_cursor {
                Some(cursor) => page = Page { limit: PAGE_MAX, cursor: Some(cursor) },
                None => return rows.end(),
            }
        }
    }

    async fn audit(
        &self,
        app: &App,
        caller: &UserCaller,
        file: &mut Target,
        progress: &Progress,
    ) -> anyhow::Result<()> {
        let mut rows = Rows::begin(self.format, &AUDIT, file)?;
        let mut page = Page { limit: PAGE_MAX, cursor: None };
        loop {
            let listed = audits::list(app, caller, Some(self.event.clone()), None, page).await?;
            for one in listed.items {
                rows.add(&routes::audit::as_json(one)?)?;
            }
            progress.say(format!("{} lines", rows.written));
            match listed.next_cursor {
                Some(cursor) => page = Page { limit: PAGE_MAX, cursor: Some(cursor) },
                None => return rows.end(),
            }
        }
    }
}

/// A scan in the API's form, with the API's data of its ticket.
fn scan(one: ScanOfGuest) -> anyhow::Result<Value> {
    // If the device asked the server, the answer is stored with the scan. Otherwise the device decided alone.
    let offline = one.row.fact.judged.is_none();
    let counts = one.row.verdict.as_ref().is_some_and(|verdict| verdict.left_out.is_none());
    let mut value = routes::scans::as_json(one.row)?;
    let guest = one.guest.map(|guest| json!({ "id": guest.guest_id.as_str(), "name": guest.name }));
    if let Some(members) = value.as_object_mut() {
        let short_code = one.ticket.as_ref().and_then(|ticket| ticket.short_code());
        members.insert("barcode".into(), one.ticket.and_then(|ticket| ticket.barcode).into());
        members.insert("short_code".into(), short_code.into());
        members.insert("guest".into(), guest.unwrap_or_default());
        members.insert("offline".into(), offline.into());
        members.insert("counts".into(), counts.into());
    }
    Ok(value)
}

/// A cell of the guests' table with its JSON type.
fn typed(name: &str, cell: &str) -> Value {
    let cell = unguarded(cell);
    match name {
        "gate_ids" => cell.split('|').filter(|id| !id.is_empty()).collect::<Vec<_>>().into(),
        "party_size" | "persons_entered" => cell.parse::<u64>().map_or(Value::Null, Value::from),
        _ if cell.is_empty() => Value::Null,
        _ => cell.into(),
    }
}

/// The value at a path of names separated by dots, as a cell.
fn cell(value: &Value, path: &str) -> String {
    let found = path.split('.').try_fold(value, |value, name| value.get(name));
    match found {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The form in which objects are written one by one.
enum Kind<'a> {
    Csv(Box<Writer<&'a mut dyn Write>>, &'a [&'a str]),
    Jsonl(&'a mut dyn Write),
}
struct Rows<'a> {
    kind: Kind<'a>,
    written: u64,
}

impl<'a> Rows<'a> {
    fn begin(format: Format, columns: &'a [&'a str], file: &'a mut Target) -> anyhow::Result<Self> {
        let out: &mut dyn Write = &mut file.out;
        let kind = match format {
            Format::Csv => Kind::Csv(Box::new(Writer::to(out, columns)?), columns),
            Format::Jsonl => Kind::Jsonl(out),
        };
        Ok(Self { kind, written: 0 })
    }
    fn add(&mut self, value: &Value) -> anyhow::Result<()> {
        self.written += 1;
        match &mut self.kind {
            Kind::Csv(writer, columns) => {
                Ok(writer.row(&columns.iter().map(|path| cell(value, path)).collect::<Vec<_>>())?)
            }
            Kind::Jsonl(out) => writeln!(out, "{value}").context("writing"),
        }
    }
    fn end(self) -> anyhow::Result<()> {
        match self.kind {
            Kind::Csv(writer, _) => Ok(writer.finish().map(drop)?),
            Kind::Jsonl(_) => Ok(()),
        }
    }
}

/// The destination of an export. The file gets its name when it is complete.
struct Target {
    out: BufWriter<Box<dyn Write + Send>>,
    /// The open file, its temporary path and its final path; `None` for standard output.
    draft: Option<(fs::File, PathBuf, PathBuf)>,
}

impl Target {
    fn new(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else {
            return Ok(Self { out: BufWriter::new(Box::new(std::io::stdout())), draft: None });
        };
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            bail!("--out must name a file: {} has no name", path.display());
        };
        let part = path.with_file_name(format!("{name}.part-{}", std::process::id()));
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        // The file contains guests' names and addresses, so only its owner may read it.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&part).with_context(|| format!("making {}", part.display()))?;
        let out = file.try_clone().with_context(|| format!("writing {}", part.display()))?;
        Ok(Self { out: BufWriter::new(Box::new(out)), draft: Some((file, part, path.to_owned())) })
    }
    fn line(&mut self, value: &Value) -> anyhow::Result<()> {
        writeln!(self.out, "{value}").context("writing")
    }
    fn finish(mut self) -> anyhow::Result<()> {
        self.out.flush().context("writing")?;
        let Some((file, part, path)) = self.draft.take() else { return Ok(()) };
        let named = file.sync_all().and_then(|()| fs::rename(&part, &path));
        if named.is_err() {
            let _ = fs::remove_file(&part);
        }
        named.with_context(|| format!("writing {}", path.display()))
    }
}

/// A failed export leaves no temporary file.
impl Drop for Target {
    fn drop(&mut self) {
        if let Some((_, part, _)) = &self.draft {
            let _ = fs::remove_file(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_what_stands_at_its_path() {
        let value = json!({ "at": "2026-06-07T20:00:00Z", "verdict": { "within": 2, "reason": null }, "opened": true });
        let cells = ["at", "verdict.within", "verdict.reason", "verdict.none.deeper", "opened", "none"];
        let cells = cells.map(|path| cell(&value, path));
        assert_eq!(cells, ["2026-06-07T20:00:00Z", "2", "", "", "true", ""]);
    }

    #[test]
    fn a_guests_cells_have_their_kinds() {
        assert_eq!(typed("gate_ids", "a|b"), json!(["a", "b"]));
        assert_eq!(typed("gate_ids", ""), json!([]));
        assert_eq!(typed("party_size", "3"), json!(3));
        assert_eq!(typed("name", "'=Ada"), json!("=Ada"));
        assert_eq!(typed("email", ""), Value::Null);
    }

    #[test]
    fn what_is_not_finished_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("admit-export-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("scans.jsonl");
        fs::write(&path, "before").unwrap();
        let mut target = Target::new(Some(&path)).unwrap();
        target.line(&json!({ "n": 1 })).unwrap();
        drop(target);
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        let mut target = Target::new(Some(&path)).unwrap();
        target.line(&json!({ "n": 1 })).unwrap();
        target.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"n\":1}\n");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
