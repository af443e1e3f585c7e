//! Makes the answer to a batch: receipts, refusals, and the conflicts that the upload revealed (spec §5).

use std::collections::BTreeSet;

use admit_core::ids::ScanId;
use admit_core::incident::{Cause, CauseScan, CauseSubject, IncidentKind, Role};
use admit_core::reduce::ConflictReason;
use admit_core::rule::Epoch;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{Conflict, ConflictScan, Cursor, SuspendedDetails, SyncAnswer};
use admit_core::wire::stored::to_text;

use super::decode::{Batch, Refused};
use super::rejudge::Rejudged;
use crate::error::Error;

/// The conflicts that this upload caused: causes of the kinds double entry and duplicate scan that are new or changed
/// by it.
pub fn conflicts(batch: &Batch, rejudged: &Rejudged) -> Vec<Conflict> {
    let sent: BTreeSet<&ScanId> = batch.items.iter().map(|item| &item.fact.scan.scan_id).collect();
    rejudged.new_causes.iter().filter_map(|cause| conflict(cause, &sent)).collect()
}

fn conflict(cause: &Cause, sent: &BTreeSet<&ScanId>) -> Option<Conflict> {
    let reason = match cause.kind {
        IncidentKind::DoubleEntry => ConflictReason::DoubleEntry,
        IncidentKind::DuplicateScan => ConflictReason::DuplicateScan,
        _ => return None,
    };
    let CauseSubject::Scans(subject) = &cause.subject else { return None };
    // The uploaded scan that the cause is about. A scan that lost its entry to this upload may be older than it.
    let about = cause.scans.iter().rev().find(|scan| sent.contains(&scan.scan_id)).or(cause.scans.last())?;
    let (result, severity) = Conflict::words(reason);
    let of = |role: Role| cause.scans.iter().filter(move |scan| scan.role == role).map(part).collect::<Vec<_>>();
    Some(Conflict {
        scan_id: about.scan_id.clone(),
        ticket_id: subject.ticket_id().cloned(),
        result,
        severity,
        conflict_reason: reason,
        entry_scans: of(Role::Entry),
        double_entry_scans: of(Role::DoubleEntry),
    })
}

fn part(scan: &CauseScan) -> ConflictScan {
    ConflictScan {
        device_id: scan.device_id.clone(),
        scan_id: scan.scan_id.clone(),
        gate_id: scan.gate_id.clone(),
        at: scan.at,
        uncertainty_ms: scan.uncertainty_ms,
        count: scan.within + scan.over,
    }
}

/// The answer as it is stored with the batch. A repeated batch gets exactly these bytes.
pub fn sync_answer(
    batch: &Batch,
    processed: &[ScanId],
    conflicts: &[Conflict],
    epoch: Epoch,
    serial: u64,
    server_time: Timestamp,
) -> String {
    let rejected = batch.rejected.iter().map(Refused::said);
    to_text(&SyncAnswer {
        batch_id: batch.batch_id.clone(),
        processed: processed.to_vec(),
        skipped: Vec::new(),
        rejected: rejected.collect(),
        conflicts: conflicts.to_vec(),
        cursor: Cursor::at(epoch, serial),
        server_time,
    })
}

/// The refusal for a suspended device. The server stores the device's batch, and holds it until a person accepts its
/// scans (spec D19). `stored` is the answer that was stored with the batch. The refusal repeats its receipts, so the
/// device need not send these scans again.
pub fn suspended(stored: &str) -> Error {
    let message = "this device is suspended: its uploads are stored, and held until a person counts them".to_owned();
    let details = serde_json::from_str::<SyncAnswer>(stored).ok().and_then(|stored| {
        serde_json::to_value(SuspendedDetails { kept: stored.processed, rejected: stored.rejected }).ok()
    });
    Error::Denied { code: "device_suspended", message, details: details.map(Box::new) }
}
