//! `admit audit verify`: follows the chain of every ledger from its first line (spec D14).

use std::collections::BTreeMap;
use std::process::ExitCode;

use admit_app::audits;
use admit_core::ids::{EventId, OrganizationId};
use clap::{Args, Subcommand};

use crate::parts;
use crate::settings::Place;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Audit {
    /// Recompute every ledger's chain; exit 1 where one is broken.
    Verify(Verify),
}

#[derive(Debug, Args)]
pub struct Verify {
    #[command(flatten)]
    place: Place,
}

impl Audit {
    /// Does it.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        let Self::Verify(verify) = self;
        let app = parts::open_app(&verify.place).await?;
        let mut events: BTreeMap<OrganizationId, Vec<EventId>> = BTreeMap::new();
        // Every organisation has a ledger of its own, events or not.
        for organization_id in app.store.organizations().await? {
            events.entry(organization_id).or_default();
        }
        for (organization_id, event_id) in app.store.all_events().await? {
            events.entry(organization_id).or_default().push(event_id);
        }
        let (mut ledgers, mut lines, mut broken) = (0, 0, 0);
        for (organization_id, events) in &events {
            let verified = audits::verify(&app, organization_id, events).await?;
            for (event_id, place) in &verified.broken {
                let ledger = event_id.as_ref().map_or(organization_id.as_str(), EventId::as_str);
                println!("{ledger}: broken at line {place}");
            }
            ledgers += verified.ledgers;
            lines += verified.lines;
            broken += verified.broken.len();
        }
        println!("{ledgers} ledgers, {lines} lines, {broken} broken");
        Ok(if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
