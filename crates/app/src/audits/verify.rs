//! Verifies a ledger's chain from its first line (spec D14). The check finds changed lines, and lines that were cut
//! off.

use std::collections::BTreeMap;

use admit_core::audit::{AuditEntry, GENESIS, chain};
use admit_core::ids::{EventId, OrganizationId};
use admit_core::limits::LEDGER_PAGE;

use super::anchor::noted;
use crate::error::Result;
use crate::ports::{App, read};
use crate::records::{AuditRecord, LedgerEnd};

/// The result of verifying the ledgers of an organisation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// Number of ledgers checked: the organisation's own and one per event.
    pub ledgers: u64,
    /// Number of lines that hold.
    pub lines: u64,
    /// The broken ledgers (`None` = the organisation's own). Each has the place of the first line that was changed or
    /// is missing.
    pub broken: Vec<(Option<EventId>, u64)>,
}

/// Verifies every ledger of an organisation. If the last lines of a ledger were cut off, the hashes of the others still
/// match. So the last line's hash must equal the head that is stored apart from the lines. An event's ledger must also
/// have each hash that the organisation's own ledger noted for it (`anchor`).
pub async fn verify(app: &App, organization_id: &OrganizationId, events: &[EventId]) -> Result<Verified> {
    let mut out = Verified::default();
    let mut anchors: BTreeMap<EventId, BTreeMap<u64, [u8; 32]>> = BTreeMap::new();
    let own = follow(app, organization_id, None, &BTreeMap::new(), &mut anchors).await?;
    out.add(None, own);
    for event_id in events {
        let noted = anchors.remove(event_id).unwrap_or_default();
        let followed = follow(app, organization_id, Some(event_id), &noted, &mut BTreeMap::new()).await?;
        out.add(Some(event_id.clone()), followed);
    }
    for (event_id, noted) in anchors {
        let asked = event_id.clone();
        let is_there = read(&*app.store, organization_id, move |tx| Ok(tx.event(&asked)?.is_some())).await?;
        if is_there {
            // The event was created after `events` was listed.
            let followed = follow(app, organization_id, Some(&event_id), &noted, &mut BTreeMap::new()).await?;
            out.add(Some(event_id), followed);
        } else {
            // The organisation's ledger noted this event's ledger, and the event is not there at all.
            out.broken.push((Some(event_id), 1));
        }
    }
    Ok(out)
}

impl Verified {
    fn add(&mut self, ledger: Option<EventId>, followed: std::result::Result<u64, u64>) {
        self.ledgers += 1;
        match followed {
            Ok(lines) => self.lines += lines,
            Err(place) => self.broken.push((ledger, place)),
        }
    }
}

/// Verifies one ledger. Returns the number of its lines, or as an error the place of the first line that was changed or
/// is missing. Adds what the ledger's lines note about the ends of other ledgers to `anchors`.
async fn follow(
    app: &App,
    organization_id: &OrganizationId,
    event_id: Option<&EventId>,
    noted_of_it: &BTreeMap<u64, [u8; 32]>,
    anchors: &mut BTreeMap<EventId, BTreeMap<u64, [u8; 32]>>,
) -> Result<std::result::Result<u64, u64>> {
    let mut end = LedgerEnd { n: 0, head: GENESIS };
    let kept = loop {
        let (from, event) = (end.n + 1, event_id.cloned());
        // Other requests may add lines meanwhile. So each read returns the lines together with the present head.
        let (lines, kept) = read(&*app.store, organization_id, move |tx| {
            let kept = match &event {
                Some(event_id) => tx.head(event_id)?.audit_head,
                None => tx.organization_ledger_end()?.head,
            };
            Ok((tx.audit_from(event.as_ref(), from, LEDGER_PAGE)?, kept))
        })
        .await?;
        if lines.is_empty() {
            break kept;
        }
        for line in lines {
            end = LedgerEnd { n: end.n + 1, head: chain(end.head, &entry(&line, &actor(&line))) };
            let holds = line.n == end.n && line.head == end.head;
            let kept = noted_of_it.get(&end.n).is_none_or(|head| *head == end.head);
            let Some(noted) = noted(&line).filter(|_| holds && kept) else { return Ok(Err(end.n)) };
            for (event_id, end) in noted {
                anchors.entry(event_id).or_default().insert(end.n, end.head);
            }
        }
    };
    // The newest head is stored separately from the lines. If the last lines were cut off, it differs here, or the
    // other ledger's note does.
    let beyond = noted_of_it.last_key_value().is_some_and(|(n, _)| *n > end.n);
    Ok(if kept == end.head && !beyond { Ok(end.n) } else { Err(end.n + 1) })
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
