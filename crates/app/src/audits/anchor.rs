//! Anchors ledgers: every hour a line in the organisation's ledger notes where the ledgers of its events end (spec
//! D14). An attacker who cuts off the last lines of an event's ledger, and changes the event's head, must therefore
//! rewrite a second ledger too.

use admit_core::barcode::{hex, unhex};
use admit_core::ids::{EventId, OrganizationId};
use admit_core::limits::{ANCHOR_EVENTS, ANCHOR_EVERY_MS, ANCHOR_OVERLAP_MS};
use admit_core::time::Timestamp;
use serde_json::{Value, json};

use crate::error::Result;
use crate::ports::{App, Scope, Tx, read, write};
use crate::records::{AuditRecord, LedgerEnd, NewAudit};

/// The action of the lines that note the ends of ledgers.
pub const ACTION: &str = "event_ledgers_anchored";

/// Adds lines to the organisation's ledger that note where the ledgers of its events end. Adds none while the newest
/// such line is less than an hour old. Only ledgers that got a line since are noted; returns their number. If several
/// nodes call this at the same moment, only one of them adds lines.
pub async fn anchor(app: &App, organization_id: &OrganizationId) -> Result<usize> {
    let now = app.clock.now();
    // Usually no ledger is due, and a read finds that out without holding up writes.
    if read(&*app.store, organization_id, move |tx| due(tx, now)).await?.is_empty() {
        return Ok(0);
    }
    write(&*app.store, Scope::organization(organization_id), move |tx| {
        tx.hold_organization()?;
        let ends = due(tx, now)?;
        for some in ends.chunks(ANCHOR_EVENTS) {
            tx.append_audit(line(some))?;
        }
        Ok(ends.len())
    })
    .await
}

/// The ledgers of events that got a line since the last note, each with its end. Empty if the last note is less than an
/// hour old.
fn due(tx: &mut dyn Tx, now: Timestamp) -> Result<Vec<(EventId, LedgerEnd)>> {
    let last = tx.newest_audit(ACTION)?.map(|line| line.at.ms());
    if last.is_some_and(|at| now.ms() < at.saturating_add(ANCHOR_EVERY_MS)) {
        return Ok(Vec::new());
    }
    // A line carries the time at which its write began. The write may have ended after the last note, so the search
    // starts a little before that note.
    let since = last.map_or(0, |at| at.saturating_sub(ANCHOR_OVERLAP_MS));
    tx.event_ledger_ends(Timestamp::clamped(since))
}

fn line(ends: &[(EventId, LedgerEnd)]) -> NewAudit {
    let said =
        ends.iter().map(|(event_id, end)| json!({ "event_id": event_id.as_str(), "n": end.n, "head": hex(&end.head) }));
    NewAudit {
        event_id: None,
        user_id: None,
        device_id: None,
        action: ACTION,
        entity_type: "Event",
        entity_id: String::new(),
        changes: json!({ "ledgers": said.collect::<Vec<_>>() }).to_string(),
        metadata: "{}".to_owned(),
    }
}

/// The ledger ends that a line noted. Empty for a line with another action. `None` if the note cannot be read.
pub(super) fn noted(line: &AuditRecord) -> Option<Vec<(EventId, LedgerEnd)>> {
    if line.line.action != ACTION {
        return Some(Vec::new());
    }
    let changes: Value = serde_json::from_str(&line.line.changes).ok()?;
    changes.get("ledgers")?.as_array()?.iter().map(end_of).collect()
}

fn end_of(said: &Value) -> Option<(EventId, LedgerEnd)> {
    let event_id = said.get("event_id")?.as_str()?.parse().ok()?;
    let head = unhex(said.get("head")?.as_str()?)?;
    Some((event_id, LedgerEnd { n: said.get("n")?.as_u64()?, head }))
}
