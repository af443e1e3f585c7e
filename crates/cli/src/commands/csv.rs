//! `admit import`: guests and tickets from a file.

use std::path::PathBuf;
use std::process::ExitCode;

use admit_app::tickets::{self, HowToImport, ImportReport, Mapping};
use admit_core::ids::EventId;
use admit_server::routes;
use anyhow::Context;
use clap::Args;

use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::settings::Place;
use crate::{acting, parts};

/// `admit import FILE --event ID`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  admit import guests.xlsx --event EVENT --dry-run
  admit import guests.csv --event EVENT --mail-passes

Exit codes: 0 every line was taken, 1 it could not be done, 2 lines are wrong or wait for an answer.")]
pub struct Import {
    #[command(flatten)]
    place: Place,
    /// The file: CSV with any delimiter, TSV or XLSX.
    file: PathBuf,
    /// Id of the event.
    #[arg(long)]
    event: EventId,
    /// Print what an import would do, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// JSON file with the meaning of each column and the answers to the file's open questions: docs/guides/import.md.
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// Mail passes to guests who are new or whose pass changes. A server with a mail server's address sends them.
    #[arg(long)]
    mail_passes: bool,
    #[command(flatten)]
    outcome: Outcome,
}

impl Import {
    /// Runs the command. The exit code is 2 when lines were wrong or wait for an answer.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        let app = parts::open_app(&self.place).await?;
        let caller = acting::owner_of_event(&app, &self.event).await?;
        let bytes = std::fs::read(&self.file).with_context(|| format!("reading {}", self.file.display()))?;
        let mapping = match &self.mapping {
            Some(path) => {
                let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
                Some(Mapping::parse(&text)?)
            }
            None => None,
        };
        let how = HowToImport {
            dry_run: self.dry_run,
            mapping,
            mail_passes: self.mail_passes,
            file_name: self.file.file_name().map(|name| name.to_string_lossy().into_owned()),
            ..HowToImport::default()
        };
        let progress = Progress::spinner("importing", self.outcome.json);
        let report = tickets::import(&app, &caller, self.event, &bytes, how).await?;
        drop(progress);
        let is_whole = report.wrong_lines == 0 && report.asked == 0;
        if self.outcome.json {
            self.outcome.object(&routes::imports::as_json(report)?);
        } else {
            tell(&report);
        }
        Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(2) })
    }
}

/// Prints the report: messages for a person to standard error, the counts to standard output.
fn tell(report: &ImportReport) {
    let file = &report.file;
    let read_as = file.encoding.map(str::to_owned).or(file.sheet.as_ref().map(|sheet| format!("sheet {sheet}")));
    let export = report.export.map(|name| format!(", an export of {name}")).unwrap_or_default();
    eprintln!("read {} rows as {}{export}", file.rows, read_as.unwrap_or_default());
    for text in &file.preamble {
        eprintln!("passed over above the header: {text}");
    }
    for column in &report.columns {
        eprintln!("column {}: {}", column.header, column.becomes.as_deref().unwrap_or("ignored"));
    }
    for error in &report.errors {
        eprintln!("line {}: {} {}", error.line, error.field, error.message);
    }
    for question in &report.questions {
        eprintln!("line {} and {} more wait: {}", question.line, question.rows - 1, question.message);
    }
    for one in &report.left_out {
        eprintln!("left out: {} ({} {})", one.rows, one.reason, one.about.as_deref().unwrap_or_default());
    }
    for name in &report.new_entry_types {
        eprintln!("new entry type: {name}");
    }
    for (name, rows) in &report.unknown_types {
        eprintln!("{name} is no entry type of the event: {rows} rows are of its first");
    }
    if report.kept > 0 {
        eprintln!("{} tickets stay as a person set them here, though the export calls them good", report.kept);
    }
    let would = if report.dry_run { " (dry run: nothing was written)" } else { "" };
    println!(
        "{} created, {} updated, {} unchanged, {} joined, {} left out, {} waiting for an answer, {} wrong lines{would}",
        report.created,
        report.updated,
        report.unchanged,
        report.joined,
        report.left_out_rows(),
        report.asked,
        report.wrong_lines
    );
    if let Some(id) = &report.import_id {
        println!("import {id}");
    }
}
