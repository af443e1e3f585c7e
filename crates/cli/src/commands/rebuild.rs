//! `admit rebuild [--check]`: derived rows from the facts (law 8).

use std::process::ExitCode;

use admit_app::scans::rebuild;
use admit_store_sqlite::Sqlite;
use clap::Args;

use crate::parts;
use crate::settings::{DATABASE_FILE, Place};

/// `admit rebuild`.
#[derive(Debug, Args)]
pub struct Rebuild {
    #[command(flatten)]
    place: Place,
    /// Compare only, and look through the embedded database's file for damage: print every difference, write nothing, exit
    /// 1 if there is one.
    #[arg(long)]
    check: bool,
}

impl Rebuild {
    /// Does it.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        let damage = if self.check { self.damage().await? } else { Vec::new() };
        for line in &damage {
            println!("damaged: {line}");
        }
        let app = parts::open_app(&self.place).await?;
        let events = app.store.all_events().await?;
        let (mut subjects, mut differences) = (0, damage.len());
        for (organization_id, event_id) in &events {
            if self.check {
                let found = rebuild::check(&app, organization_id, event_id).await?;
                for line in &found.lines {
                    println!("{event_id}: {line}");
                }
                subjects += found.subjects;
                differences += found.lines.len();
            } else {
                subjects += rebuild::rebuild(&app, organization_id, event_id).await?;
            }
        }
        let done = if self.check { format!("compared, {differences} differ") } else { "computed anew".to_owned() };
        println!("{} events, {subjects} tickets and unknown codes with scans {done}", events.len());
        Ok(if differences > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// What is wrong with the file of an embedded database: rows nobody looks at would be missed else.
    async fn damage(&self) -> anyhow::Result<Vec<String>> {
        if self.place.database_url.is_some() {
            return Ok(Vec::new());
        }
        parts::must_hold_database(&self.place)?;
        let database = self.place.data_dir.join(DATABASE_FILE);
        Ok(tokio::task::spawn_blocking(move || Sqlite::damage_of(&database)).await??)
    }
}
