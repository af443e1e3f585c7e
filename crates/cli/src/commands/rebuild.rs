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
        let (mut events, mut subjects, mut differences) = (0, 0, 0);
        for (organization_id, event_id) in app.store.all_events().await? {
            let found = if self.check {
                rebuild::check(&app, &organization_id, &event_id).await?
            } else {
                rebuild::rebuild(&app, &organization_id, &event_id).await?
            };
            for line in &found.lines {
                println!("{event_id}: {line}");
            }
            events += 1;
            subjects += found.subjects;
            differences += found.lines.len();
        }
        let done = if self.check { "differ" } else { "were mended" };
        println!("{events} events, {subjects} tickets and unknown codes with scans: {differences} rows {done}");
        Ok(if self.check && differences > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}
