//! `admit audit verify`: follows the chain of every ledger from its first line (spec D14).

use std::collections::BTreeMap;
use std::process::ExitCode;

use admit_app::audits;
use admit_core::ids::{EventId, OrganizationId};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::outcome::Outcome;
use crate::parts;
use crate::settings::Place;

/// The subcommands of `admit audit`.
#[derive(Debug, Subcommand)]
pub enum Audit {
    /// Recompute the hash chain of every ledger. Exit code 1 if one is broken.
    Verify(Verify),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  admit audit verify --data-dir ./data")]
pub struct Verify {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    outcome: Outcome,
}

impl Audit {
    /// Runs the command. The exit code is 1 if a chain is broken.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        let Self::Verify(verify) = self;
        let app = parts::open_app(&verify.place).await?;
        let mut events: BTreeMap<OrganizationId, Vec<EventId>> = BTreeMap::new();
        // Every organisation has a ledger of its own, also one without events.
        for organization_id in app.store.organizations().await? {
            events.entry(organization_id).or_default();
        }
        for (organization_id, event_id) in app.store.all_events().await? {
            events.entry(organization_id).or_default().push(event_id);
        }
        let (mut ledgers, mut lines, mut broken) = (0, 0, Vec::new());
        for (organization_id, events) in &events {
            let verified = audits::verify(&app, organization_id, events).await?;
            for (event_id, place) in &verified.broken {
                let ledger = event_id.as_ref().map_or(organization_id.as_str(), EventId::as_str);
                verify.outcome.line(format_args!("{ledger}: broken at line {place}"));
                broken.push(json!({ "ledger": ledger, "line": place }));
            }
            ledgers += verified.ledgers;
            lines += verified.lines;
        }
        verify.outcome.print(
            format_args!("{ledgers} ledgers, {lines} lines, {} broken", broken.len()),
            &json!({ "ledgers": ledgers, "lines": lines, "broken": broken }),
        );
        Ok(if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
