//! The office: the author of scans that a signed-in member makes without a phone (decision 041).
//!
//! It is a device only by its id. It has no row, no key and no log, so no list of phones shows it and it can't be
//! paired.

use admit_core::decide::Verdict;
use admit_core::ids::{BatchId, DeviceId, EventId, GateId, OrganizationId, ScanId, TicketId};
use admit_core::incident::Subject;
use admit_core::limits::NAME_CHARS;
use admit_core::reduce::TicketState;
use admit_core::rule::{Change, TicketBook};
use admit_core::scan::{Form, Method, Outcome, Scan, ScanKind, SignatureState, Stage};
use admit_core::time::Timestamp;
use admit_core::wire::scanning::Evidence;

use super::announce::{moved, remember};
use super::decode::{Batch, item};
use super::intake::{Allowed, Arrived, plan_within};
use super::judge_online::{ask, row};
use super::quarantine::Quarantine;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Tx};
use crate::records::{Head, Stamp};
use crate::seeded_ids::SeededIds;

/// The device id of the office.
const ID: &str = "admit:office";
/// The name that staff see for the office.
const NAME: &str = "Office";
/// The word of this endpoint in stored answers.
const ENDPOINT: &str = "check_in";

fn device() -> Result<DeviceId> {
    DeviceId::new(ID).map_err(|error| Error::Bug(error.to_string()))
}

/// Whether this is the office's device id. No phone may have it.
pub fn is_office(device_id: &DeviceId) -> bool {
    device_id.as_str() == ID
}

/// Fails if a phone uses the office's id.
pub fn must_not_be(device_id: &DeviceId) -> Result<()> {
    if is_office(device_id) {
        return Err(Error::invalid("device_id", "is the server's own: choose another id for the device"));
    }
    Ok(())
}

/// The name that staff use for a scan's author. `None` if the device is unknown.
pub fn name_of(tx: &mut dyn Tx, device_id: &DeviceId) -> Result<Option<String>> {
    if is_office(device_id) {
        return Ok(Some(NAME.to_owned()));
    }
    Ok(tx.device(device_id)?.map(|device| device.name))
}

/// The operator's name in a scan of the office: the member's name.
pub fn operator(tx: &mut dyn Tx, caller: &UserCaller) -> Result<String> {
    let member = tx.member(&caller.user_id)?;
    Ok(member.map_or_else(|| NAME.to_owned(), |member| member.name.chars().take(NAME_CHARS).collect()))
}

/// Makes a scan of the office that lets nobody in: its outcome is `valid` and its door is shut. The caller then sets
/// the fields that differ. The scan's cursor is the event's head, since the server knows everything up to there.
pub fn draft(
    scan_id: ScanId,
    event_id: &EventId,
    gate_id: &GateId,
    ticket_id: &TicketId,
    head: Head,
    at: Timestamp,
    operator: String,
) -> Result<Scan> {
    Ok(Scan {
        form: Form::V2,
        scan_id,
        device_id: device()?,
        log_id: None,
        seq: None,
        prev: None,
        key_id: None,
        event_id: event_id.clone(),
        gate_id: gate_id.clone(),
        kind: ScanKind::Entry,
        stage: Stage::Final,
        method: Method::Manual,
        barcode_hash: None,
        raw_hash: None,
        ticket_id: Some(ticket_id.clone()),
        count: 1,
        outcome: Outcome::Valid,
        opened: false,
        practice: false,
        override_: None,
        walk_in: None,
        headcount: None,
        operator: Some(operator),
        target_device: None,
        target_scan_id: None,
        keep: 0,
        at,
        uncertainty_ms: 0,
        clock: None,
        epoch: Some(head.epoch),
        manifest_version: head.serial,
        cursor: head.serial,
        basis: None,
    })
}

/// The verdict of the rules at the event's head on a scan of a ticket, and the ticket's state before the scan.
pub fn verdict(
    tx: &mut dyn Tx,
    event_id: &EventId,
    ticket_id: &TicketId,
    scan: &Scan,
) -> Result<(Verdict, TicketState)> {
    let rules = tx.load_rules(event_id, std::slice::from_ref(ticket_id))?;
    let mut ticket = TicketBook::default();
    for rule in &rules.tickets {
        if let Change::Ticket(_, change) = &rule.change {
            ticket.add(rule, change);
        }
    }
    let state = tx.states(event_id, &[Subject::Ticket(ticket_id.clone()).key()])?.into_iter().next();
    let state = state.map(|record| record.state).unwrap_or_default();
    Ok((ask(&rules, &ticket, &state, scan), state))
}

/// A scan of the office that was stored. After the commit, clients are told of it.
#[derive(Debug, Clone)]
pub struct Made {
    part: Batch,
    arrived: Arrived,
}

/// Stores a scan of the office as a batch of one, and judges its ticket. An `answer` is stored too, so that the same
/// request under the scan's id, recognised by its `digest`, gets it again.
pub fn store(
    tx: &mut dyn Tx,
    scan: Scan,
    answer: Option<([u8; 32], String)>,
    stamp: Stamp,
    received_at: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Made> {
    let (device_id, event_id) = (scan.device_id.clone(), scan.event_id.clone());
    let batch_id = batch_of(&scan.scan_id)?;
    let evidence = Evidence { signature: None, sent: None, named: None };
    let items = vec![item(scan, evidence, SignatureState::Bearer, 0, received_at)];
    let endpoint = ENDPOINT;
    let part =
        Batch { batch_id, device_id, endpoint, event_id, offset_seconds: 0, log: None, items, rejected: Vec::new() };
    let mut taken = plan_within(tx, &part, stamp, &Quarantine::default(), Allowed::ALL_SCANS, received_at, seeded)?;
    taken.store(tx, &part.event_id)?;
    if let Some((digest, answer)) = answer {
        tx.insert_batch(&row(&part, digest, &answer, stamp, received_at))?;
    }
    let arrived = Arrived::of(&part, &taken);
    Ok(Made { part, arrived })
}

/// The stored answer to a request with this scan id, and the request's digest. `None` if there is none.
pub fn answered(tx: &mut dyn Tx, scan_id: &ScanId) -> Result<Option<([u8; 32], String)>> {
    let stored = tx.batch(&device()?, ENDPOINT, &batch_of(scan_id)?)?;
    Ok(stored.map(|row| (row.digest, row.answer)))
}

fn batch_of(scan_id: &ScanId) -> Result<BatchId> {
    BatchId::new(scan_id.as_str()).map_err(|error| Error::Bug(error.to_string()))
}

/// Gives the clients that watch the event a hint about the scan. Call it after the commit.
pub fn announce(app: &App, organization_id: &OrganizationId, made: &Made) {
    moved(app, organization_id, &made.arrived, "scan_recorded", None);
    remember(app, organization_id, &made.part);
}
