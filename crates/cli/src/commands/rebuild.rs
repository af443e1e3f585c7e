//! `admit rebuild [--check]`: derived rows from the facts (law 8).

use std::process::ExitCode;

use admit_app::scans::rebuild;
use clap::Args;

use crate::parts;
use crate::settings::Place;

/// `admit rebuild`.
#[derive(Debug, Args)]
pub struct Rebuild {
    #[command(flatten)]
    place: Place,
    /// Compare only: print every difference, write nothing, exit 1 if there is one.
    #[arg(long)]
    check: bool,
}

impl Rebuild {
    /// Does it.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        let app = parts::open_app(&self.place).await?;
        let events = app.store.all_events().await?;
        let (mut subjects, mut differences) = (0, 0);
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
}
