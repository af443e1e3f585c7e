//! `admit audit verify`: follows the chain of every ledger from its first line (spec D14).

use std::process::ExitCode;

use admit_app::ports::{App, read};
use admit_app::records::AuditRecord;
use admit_core::audit::{AuditEntry, GENESIS, chain};
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

/// Lines read at a time.
const CHUNK: usize = 1_000;

impl Audit {
    /// Does it.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        let Self::Verify(verify) = self;
        let app = parts::open_app(&verify.place).await?;
        let events = app.store.all_events().await?;
        // Every organisation has a ledger of its own, events or not.
        let organizations = app.store.organizations().await?;
        let mut ledgers: Vec<(OrganizationId, Option<EventId>)> =
            organizations.into_iter().map(|organization_id| (organization_id, None)).collect();
        ledgers.extend(events.into_iter().map(|(organization_id, event_id)| (organization_id, Some(event_id))));
        let (mut lines, mut broken) = (0, 0);
        for (organization_id, event_id) in &ledgers {
            match follow(&app, organization_id, event_id.as_ref()).await? {
                Ok(count) => lines += count,
                Err(place) => {
                    let ledger = event_id.as_ref().map_or(organization_id.as_str(), EventId::as_str);
                    println!("{ledger}: broken at line {place}");
                    broken += 1;
                }
            }
        }
        println!("{} ledgers, {lines} lines, {broken} broken", ledgers.len());
        Ok(if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Lines of a ledger that hold, or the place of the first that doesn't.
async fn follow(
    app: &App,
    organization_id: &OrganizationId,
    event_id: Option<&EventId>,
) -> anyhow::Result<Result<u64, u64>> {
    let (mut head, mut n) = (GENESIS, 0);
    loop {
        let (from, event) = (n + 1, event_id.cloned());
        let lines = read(&*app.store, organization_id, move |tx| tx.audit_from(event.as_ref(), from, CHUNK)).await?;
        if lines.is_empty() {
            break;
        }
        for line in lines {
            n += 1;
            head = chain(head, &entry(&line, &actor(&line)));
            if line.n != n || line.head != head {
                return Ok(Err(n));
            }
        }
    }
    // An event's newest head is kept apart from the lines: cutting the last ones off shows here.
    if let Some(event_id) = event_id.cloned() {
        let kept = read(&*app.store, organization_id, move |tx| tx.head(&event_id)).await?;
        if kept.audit_head != head {
            return Ok(Err(n + 1));
        }
    }
    Ok(Ok(n))
}

fn actor(line: &AuditRecord) -> String {
    let user = line.line.user_id.as_ref().map(|id| format!("user:{id}"));
    let device = line.line.device_id.as_ref().map(|id| format!("device:{id}"));
    match (user, device) {
        (None, None) => "system".to_owned(),
        (user, device) => [user, device].into_iter().flatten().collect::<Vec<_>>().join(" "),
    }
}

fn entry<'a>(record: &'a AuditRecord, actor: &'a str) -> AuditEntry<'a> {
    AuditEntry {
        serial: record.serial,
        n: record.n,
        at: record.at,
        actor,
        action: &record.line.action,
        entity_type: &record.line.entity_type,
        entity_id: &record.line.entity_id,
        changes: &record.line.changes,
        metadata: &record.line.metadata,
    }
}
