//! `admit import` and `admit export`: guests and tickets as CSV.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use admit_app::tickets::{self, HowToImport};
use admit_core::ids::EventId;
use anyhow::Context;
use clap::Args;

use crate::settings::Place;
use crate::{acting, parts};

/// `admit import FILE --event ID`.
#[derive(Debug, Args)]
pub struct Import {
    #[command(flatten)]
    place: Place,
    /// The CSV file.
    file: PathBuf,
    /// Event.
    #[arg(long)]
    event: EventId,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
}

impl Import {
    /// Does it. Exit code 2 when lines were left out.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        let app = parts::open_app(&self.place).await?;
        let caller = acting::owner_of_event(&app, &self.event).await?;
        let bytes = std::fs::read(&self.file).with_context(|| format!("reading {}", self.file.display()))?;
        let how = HowToImport { dry_run: self.dry_run, ..HowToImport::default() };
        let report = tickets::import(&app, &caller, self.event, &bytes, how).await?;
        for error in &report.errors {
            eprintln!("line {}: {} {}", error.line, error.field, error.message);
        }
        for (name, rows) in &report.unknown_types {
            eprintln!("{name} is no entry type of the event: {rows} rows are of its first");
        }
        if report.kept > 0 {
            eprintln!("{} tickets stay as a person set them here, though the export calls them good", report.kept);
        }
        let would = if report.dry_run { " (dry run: nothing was written)" } else { "" };
        println!(
            "{} created, {} updated, {} unchanged, {} lines left out{would}",
            report.created, report.updated, report.unchanged, report.wrong_lines
        );
        Ok(if report.wrong_lines == 0 { ExitCode::SUCCESS } else { ExitCode::from(2) })
    }
}

/// `admit export --event ID`.
#[derive(Debug, Args)]
pub struct Export {
    #[command(flatten)]
    place: Place,
    /// Event.
    #[arg(long)]
    event: EventId,
    /// File to write; standard output when absent.
    #[arg(long)]
    out: Option<PathBuf>,
}

impl Export {
    /// Does it.
    pub async fn run(self) -> anyhow::Result<()> {
        let app = parts::open_app(&self.place).await?;
        let caller = acting::owner_of_event(&app, &self.event).await?;
        let bytes = tickets::export(&app, &caller, self.event).await?;
        match &self.out {
            Some(path) => std::fs::write(path, &bytes).with_context(|| format!("writing {}", path.display())),
            None => std::io::stdout().lock().write_all(&bytes).context("writing"),
        }
    }
}
