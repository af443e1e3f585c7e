//! Reads the whole content of the store for the checkers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use admit_app::audits::verify;
use admit_app::error::{Error, Result};
use admit_app::ports::{Tx, read};
use admit_app::records::{AuditRecord, DeviceState, IncidentStatus, LoadedRules, LogRecord};
use admit_app::scans::{log, rebuild};
use admit_core::audit;
use admit_core::ids::{DeviceId, EventId, TicketId};
use admit_core::incident::{IncidentKind, Subject};
use admit_core::limits::LEDGER_PAGE;
use admit_core::reduce::{Reduced, Resolved};
use admit_core::wire::scanning::SyncAnswer;

use super::{RealServer, now};
use crate::server::{IncidentTruth, LogTruth, Reviewable, Truth};

impl RealServer {
    pub(super) fn read_truth(&self, org: usize) -> Result<Truth> {
        let owner = &self.owners[org];
        let event_id = owner.event_id.clone();
        let tickets: Vec<TicketId> = owner.tickets.values().cloned().collect();
        let organization_id = &owner.caller.organization_id;
        let verified = now(verify(&self.app, organization_id, std::slice::from_ref(&event_id)))?;
        let broken = verified.broken.iter().map(|(ledger, place)| format!("{ledger:?} does not verify at {place}"));
        let mut truth = now(read(&*self.app.store, organization_id, move |tx| collect(tx, &event_id, &tickets)))?;
        truth.ledger_faults.extend(broken);
        Ok(truth)
    }

    /// I6, checked right after the server's process died: a batch, its scans, their derived rows and its ledger line
    /// are stored together, or none of them is.
    pub(super) fn look_for_torn(&mut self, org: usize) -> Result<()> {
        let owner = &self.owners[org];
        let event_id = owner.event_id.clone();
        let torn = now(read(&*self.app.store, &owner.caller.organization_id, move |tx| torn(tx, &event_id)))?;
        self.deaths.looked += 1;
        self.deaths.torn.extend(torn.into_iter().map(|what| (org as u64, what)));
        Ok(())
    }

    pub(super) fn is_revoked(&self, org: usize, device_id: &DeviceId) -> bool {
        let (organization_id, device_id) = (&self.owners[org].caller.organization_id, device_id.clone());
        let faults = self.machine.fault.swap(0, Ordering::Relaxed);
        let device = now(read(&*self.app.store, organization_id, move |tx| tx.device(&device_id)));
        self.machine.fault.store(faults, Ordering::Relaxed);
        device.ok().flatten().is_some_and(|device| device.state == DeviceState::Revoked)
    }

    pub(super) fn is_approved(&self, org: usize, code: &str) -> bool {
        let faults = self.machine.fault.swap(0, Ordering::Relaxed);
        let request = now(admit_app::devices::show_request(&self.app, &self.owners[org].caller, code));
        self.machine.fault.store(faults, Ordering::Relaxed);
        request.is_ok_and(|request| request.approved)
    }

    pub(super) fn read_reviewable(&self, org: usize) -> Result<Reviewable> {
        let owner = &self.owners[org];
        let event_id = owner.event_id.clone();
        now(read(&*self.app.store, &owner.caller.organization_id, move |tx| {
            let name = |(_, fact): Resolved| (fact.scan.device_id, fact.scan.scan_id, fact.digest);
            let scans = facts(tx, &event_id)?.into_iter().map(name).collect();
            let open = queued(tx, &event_id)?.into_iter().filter(|(_, truth)| truth.open).map(|(key, _)| key).collect();
            Ok(Reviewable { scans, open })
        }))
    }
}

/// Every stored content once, in a fixed order.
fn facts(tx: &mut dyn Tx, event_id: &EventId) -> Result<Vec<Resolved>> {
    let subjects = tx.subjects_with_scans(event_id)?;
    let mut facts = tx.facts(event_id, &subjects)?;
    facts.sort_by(|(_, a), (_, b)| {
        (&a.scan.device_id, &a.scan.scan_id, a.digest).cmp(&(&b.scan.device_id, &b.scan.scan_id, b.digest))
    });
    // A content is read with every subject that another content of its scan belongs to.
    facts.dedup_by(|(_, a), (_, b)| {
        (&a.scan.device_id, &a.scan.scan_id, a.digest) == (&b.scan.device_id, &b.scan.scan_id, b.digest)
    });
    Ok(facts)
}

/// The incidents that wait for a person, or waited.
fn queued(tx: &mut dyn Tx, event_id: &EventId) -> Result<BTreeMap<(Subject, IncidentKind), IncidentTruth>> {
    let mut incidents = BTreeMap::new();
    for incident in tx.all_incidents(event_id)? {
        // Causes about logs, devices and ids have no subject of scans. Incidents outside of the queue wait for nobody.
        let Some(subject) = Subject::from_key(&incident.subject_key).filter(|_| incident.kind.queued()) else {
            continue;
        };
        let truth = IncidentTruth {
            digest: incident.digest,
            open: incident.status == IncidentStatus::Open,
            holds: incident.status != IncidentStatus::Cleared,
            resolved: incident.resolved_digest,
        };
        incidents.insert((subject, incident.kind), truth);
    }
    Ok(incidents)
}

fn collect(tx: &mut dyn Tx, event_id: &EventId, tickets: &[TicketId]) -> Result<Truth> {
    let head = tx.head(event_id)?;
    let subjects = tx.subjects_with_scans(event_id)?;
    // This includes tickets whose import was committed and whose answer was lost. The world does not know their ids.
    let mut known: BTreeSet<TicketId> = tickets.iter().cloned().collect();
    known.extend(tx.manifest_rows(event_id)?.into_iter().map(|(_, ticket)| ticket.ticket_id));
    known.extend(subjects.iter().filter_map(|key| Subject::from_key(key)?.ticket_id().cloned()));
    let known: Vec<TicketId> = known.into_iter().collect();
    let LoadedRules { book, tickets: ticket_rules } = tx.load_rules(event_id, &known)?;
    let mut derived = BTreeMap::new();
    let judged = tx.subjects_with_states(event_id)?;
    for (state, verdicts) in tx.judged_states(event_id, &judged)? {
        let subject = subject(&state.subject_key)?;
        let reduced = Reduced { state: state.state, verdicts, effective: state.effective, ..Reduced::default() };
        derived.insert(subject, reduced);
    }
    let lines = ledger(tx, event_id)?;
    let serials: Vec<u64> = lines.iter().map(|line| line.serial).collect();
    let in_order = serials.iter().copied().eq(1..=head.serial);
    let one_each = format!("{} changes have the lines {serials:?}", head.serial);
    let audit = [audit::GENESIS].into_iter().chain(lines.iter().map(|line| line.head)).collect();
    let revoked = tx.devices(event_id)?.into_iter().filter(|device| device.state == DeviceState::Revoked);
    Ok(Truth {
        facts: facts(tx, event_id)?,
        book: (*book).clone(),
        ticket_rules,
        reviews: tx.reviews(event_id, &subjects)?,
        derived,
        differences: rebuild::differences(tx, event_id)?.lines,
        incidents: queued(tx, event_id)?,
        logs: tx.logs(event_id)?.iter().map(log_truth).collect(),
        revoked: revoked.map(|device| device.device_id).collect(),
        ledger_faults: (!in_order).then_some(one_each).into_iter().collect(),
        audit,
        epoch: Some(head.epoch),
        serial: head.serial,
    })
}

/// The batches that are stored only in part.
fn torn(tx: &mut dyn Tx, event_id: &EventId) -> Result<Vec<String>> {
    let mut torn = rebuild::differences(tx, event_id)?.lines;
    let facts = facts(tx, event_id)?;
    // Scans are compared by id alone, because the device that uploads a scan need not be its author.
    let stored: BTreeSet<_> = facts.iter().map(|(_, fact)| &fact.scan.scan_id).collect();
    let lines: BTreeSet<u64> = ledger(tx, event_id)?.iter().map(|line| line.serial).collect();
    let serial = tx.head(event_id)?.serial;
    if !lines.iter().copied().eq(1..=serial) {
        torn.push(format!("the event is at {serial}, its ledger has {} lines", lines.len()));
    }
    let batches = tx.batches_after(event_id, None, 0, usize::MAX >> 1)?;
    for batch in &batches {
        if !lines.contains(&batch.serial) {
            torn.push(format!("batch {} has no line in the ledger", batch.batch_id));
        }
        let Ok(answer) = serde_json::from_str::<SyncAnswer>(&batch.answer) else { continue };
        for scan_id in answer.processed {
            if !stored.contains(&scan_id) {
                torn.push(format!("batch {} acknowledged {scan_id}, which is not there", batch.batch_id));
            }
        }
    }
    Ok(torn)
}

/// Every line of an event's ledger.
pub(super) fn ledger(tx: &mut dyn Tx, event_id: &EventId) -> Result<Vec<AuditRecord>> {
    let mut lines: Vec<AuditRecord> = Vec::new();
    loop {
        let more = tx.audit_from(Some(event_id), lines.len() as u64 + 1, LEDGER_PAGE)?;
        if more.is_empty() {
            return Ok(lines);
        }
        lines.extend(more);
    }
}

fn subject(key: &str) -> Result<Subject> {
    Subject::from_key(key).ok_or_else(|| Error::Bug(format!("{key} is no subject")))
}

fn log_truth(record: &LogRecord) -> ((admit_core::ids::DeviceId, admit_core::ids::LogId), LogTruth) {
    let received = record.received.iter().flat_map(|(from, to)| *from..=*to).collect();
    let truth = LogTruth { head: record.head, received, missing: log::missing(record) };
    ((record.device_id.clone(), record.log_id.clone()), truth)
}
