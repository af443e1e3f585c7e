//! `admit rebuild [--check]`: recomputes derived rows from the facts (law 8).

use std::process::ExitCode;

use admit_app::scans::rebuild;
use admit_store_sqlite::Sqlite;
use clap::Args;
use serde_json::json;

use crate::outcome::Outcome;
use crate::parts;
use crate::progress::Progress;
use crate::settings::{DATABASE_FILE, Place};

/// `admit rebuild`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  admit rebuild --check            says whether anything differs
  admit rebuild --check --json     the same for programs
  admit rebuild                    makes it right")]
pub struct Rebuild {
    #[command(flatten)]
    place: Place,
    /// Only compare, and check the embedded database's file for damage. Print every difference and write nothing. Exit
    /// code 1 if there is one.
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    outcome: Outcome,
}

impl Rebuild {
    /// Runs the command.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        let damage = if self.check { self.damage().await? } else { Vec::new() };
        let mut lines: Vec<String> = damage.iter().map(|line| format!("damaged: {line}")).collect();
        lines.iter().for_each(|line| self.outcome.line(line));
        let app = parts::open_app(&self.place).await?;
        let events = app.store.all_events().await?;
        let (mut subjects, mut differences) = (0, damage.len());
        let progress =
            Progress::bar(events.len() as u64, if self.check { "comparing" } else { "computing" }, self.outcome.json);
        for (organization_id, event_id) in &events {
            if self.check {
                let found = rebuild::check(&app, organization_id, event_id).await?;
                let named: Vec<String> = found.lines.iter().map(|line| format!("{event_id}: {line}")).collect();
                progress.aside(|| named.iter().for_each(|line| self.outcome.line(line)));
                subjects += found.subjects;
                differences += named.len();
                lines.extend(named);
            } else {
                subjects += rebuild::rebuild(&app, organization_id, event_id).await?;
            }
            progress.add(1);
        }
        drop(progress);
        let done = if self.check { format!("compared, {differences} differ") } else { "computed anew".to_owned() };
        self.outcome.print(
            format_args!("{} events, {subjects} tickets and unknown codes with scans {done}", events.len()),
            &json!({
                "events": events.len(), "subjects": subjects, "checked": self.check, "differences": differences,
                "lines": lines,
            }),
        );
        Ok(if differences > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// The damage in the file of an embedded database. Without this check, damaged rows that nobody reads would be
    /// missed.
    async fn damage(&self) -> anyhow::Result<Vec<String>> {
        if self.place.database_url.is_some() {
            return Ok(Vec::new());
        }
        parts::must_hold_database(&self.place)?;
        let database = self.place.data_dir.join(DATABASE_FILE);
        Ok(tokio::task::spawn_blocking(move || Sqlite::damage_of(&database)).await??)
    }
}
