//! Receives a batch in S2's form (S2 §5 steps 8–27, spec §5 `POST /api/scans/sync`). It holds up to 10,000 scans. All
//! of them are stored in one transaction, and the answer tells the result of each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use admit_core::barcode::BarcodeHash;
use admit_core::fraud::Delivery;
use admit_core::ids::{DeviceId, EventId, ScanId, TicketId};
use admit_core::scan::SignatureState;
use admit_core::time::Timestamp;
use admit_core::wire::problem::FieldError;
use admit_core::wire::scanning::Evidence;
use admit_core::wire::scans::{ScanError, ScansSyncAnswer, ScansSyncRequest, Summary, repeated as say_repeated};
use admit_core::wire::stored::to_text;
use serde_json::json;

use super::announce::{Ended, announce, remember};
use super::assign::{Assignments, place, split};
use super::decode::{Batch, check_age, item};
use super::errors::{AGAIN, Errors};
use super::ingest_batch::{IngestAnswer, repeated};
use super::intake::{
    Arrived, Carrier, Taken, Withheld, all_of, audit, changes_of, end_failures, flag, note_reuse, plan_part,
    refuse_mismatch, refuse_reuse, refuse_revoked, silent_from, touch_health, withhold,
};
use super::judge_online::{not_live, was_live};
use crate::caller::DeviceCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Clock, Pace, Prefetch, Scope, Tx, read, write};
use crate::records::BatchRecord;
use crate::seeded_ids::SeededIds;

/// The word of this endpoint in its stored batches.
pub const ENDPOINT: &str = "scans_sync";

/// A scan as the answer names it.
struct Sent {
    scan_id: ScanId,
    code: String,
    at: Timestamp,
}

/// A batch that was read, resolved and split by event.
struct Whole {
    sent: Vec<Sent>,
    parts: Vec<Batch>,
    digest: [u8; 32],
    made_at: Timestamp,
    received_at: Timestamp,
    /// How many more unknown codes the device may be told about.
    left: u32,
    /// The monotonic clock when the batch came, to measure the duration.
    started_ms: i64,
}

/// When a batch came, and what its device may still learn.
struct Arrival {
    received_at: Timestamp,
    /// Monotonic clock then.
    started_ms: i64,
    /// Unknown codes the device may still be told about.
    left: u32,
}

/// The result of the transaction.
#[derive(Clone)]
enum Done {
    Stored { answer: IngestAnswer, status: &'static str, arrived: Vec<Arrived>, unknown: usize, held: bool },
    Repeated { answer: IngestAnswer, held: bool },
    Reused,
    Revoked(Withheld),
    NotLive,
}

/// Receives a batch in S2's form. One transaction: scans, verdicts, states, the batch's row, causes and the ledger's
/// lines commit together or not at all. A repeated batch gets the stored answer, with the message that S2 asks for
/// added. The same id with other content is 409 `batch_id_reused`. A batch of an event that was not live is 422
/// `event_not_live`.
pub async fn sync_offline(app: &App, caller: &DeviceCaller, request: ScansSyncRequest) -> Result<IngestAnswer> {
    let (received_at, started_ms) = (app.clock.now(), app.clock.monotonic_ms());
    app.scan_activity.scanned(started_ms);
    // Step 10: the body must name the device that the key belongs to.
    if request.device_id != caller.device_id {
        return Err(refuse_mismatch(app, caller, &request.device_id).await?);
    }
    // Step 11: the batch must be made within a day.
    check_age(request.batch_created_at, received_at)?;
    // Steps 12 and 15, before any lock: was the batch answered already? Which tickets hold the codes, and in which
    // event?
    let left = app.unknown_codes.left(&caller.organization_id, &caller.device_id, started_ms);
    let (whole, stored) = read_whole(app, caller, request, Arrival { received_at, started_ms, left }).await?;
    if let Some(answer) = stored {
        return Ok(answer);
    }
    let whole = Arc::new(whole);
    let events = whole.parts.iter().map(|part| part.event_id.clone()).collect();
    let scope = Scope { events, pace: Pace::Usual, ..Scope::organization(&caller.organization_id) };
    let seeded = app.seeded_ids();
    // The write holds the allowance too, since the write continues if the device hangs up.
    let spending = app.unknown_codes.spending(&caller.organization_id, &caller.device_id, started_ms);
    let done = {
        let spending = Arc::clone(&spending);
        let (caller, whole, clock) = (caller.clone(), Arc::clone(&whole), app.clock.clone());
        write(&*app.store, scope, move |tx| {
            let done = store_whole(tx, &caller, &whole, &*clock, &mut seeded.clone());
            spending.found(if let Ok(Done::Stored { unknown, .. }) = &done { *unknown } else { 0 });
            done
        })
        .await?
    };
    spending.settle();
    tell(app, caller, &whole, done)
}

/// After the commit: gives hints, fills caches (S2's steps 22–25), and returns the answer (S2's step 27).
fn tell(app: &App, caller: &DeviceCaller, whole: &Whole, done: Done) -> Result<IngestAnswer> {
    let (organization_id, device_id) = (&caller.organization_id, &caller.device_id);
    let batch_id = &whole.parts[0].batch_id;
    match done {
        Done::Stored { answer, status, arrived, held, .. } => {
            let (processed, errors) = (answer.processed as u64, answer.rejected as u64);
            announce(app, organization_id, &Ended { device_id, batch_id, status, processed, errors }, &arrived);
            whole.parts.iter().for_each(|part| remember(app, organization_id, part));
            if held { Err(suspended(whole)) } else { Ok(answer) }
        }
        Done::Repeated { held: true, .. } => Err(suspended(whole)),
        Done::Repeated { answer, .. } => Ok(answer),
        Done::Reused => Err(refuse_reuse()),
        Done::Revoked(Withheld { kept, rejected, room, arrived }) => {
            let (status, errors) = ("partial_success", whole.sent.len() as u64);
            let ended = Ended { device_id, batch_id, status, processed: 0, errors };
            announce(app, organization_id, &ended, &arrived);
            Err(refuse_revoked(kept, rejected, room))
        }
        Done::NotLive => Err(not_live()),
    }
}

/// The refusal for a suspended device, whose batch is stored and held (spec D19). For the device, each scan id in the
/// refusal is the receipt of that scan.
fn suspended(whole: &Whole) -> Error {
    let message = "this device is suspended: its uploads are stored, and held until a person counts them".to_owned();
    let kept: Vec<&str> = whole.sent.iter().map(|sent| sent.scan_id.as_str()).collect();
    let details = Some(Box::new(json!({ "kept": kept, "rejected": [] })));
    Error::Denied { code: "device_suspended", message, details }
}

/// Reads without a lock: the stored answer, if the batch was stored before. Otherwise it reads the scans. Each scan
/// belongs to the event to which its device was assigned at the scan's time. Its code is the spelling of the read text
/// that a ticket ever held (spec D12).
async fn read_whole(
    app: &App,
    caller: &DeviceCaller,
    request: ScansSyncRequest,
    arrival: Arrival,
) -> Result<(Whole, Option<IngestAnswer>)> {
    let (caller, Arrival { received_at, started_ms, left }) = (caller.clone(), arrival);
    read(&*app.store, &caller.organization_id.clone(), move |tx| {
        let carrier = Carrier::of(tx, &caller)?;
        let assignments = Assignments::read(tx, &carrier.device)?;
        let held = held_codes(tx, &request, &assignments)?;
        let made_at = request.batch_created_at;
        let (mut batch, sent) = as_batch(&caller, request, &assignments, &held, received_at)?;
        let digest = batch.digest();
        place(tx, &mut batch, &assignments)?;
        let stored = tx.batch(&caller.device_id, ENDPOINT, &batch.batch_id)?;
        // Only what cannot change is answered here. Whether the device may sync is judged under the head.
        let quiet = !carrier.revoked && !carrier.held && carrier.device.health.failed_syncs == 0;
        let stored = stored.filter(|stored| stored.digest == digest && quiet);
        let parts = split(batch, &carrier.device.event_id);
        let whole = Whole { sent, parts, digest, made_at, received_at, left, started_ms };
        Ok((whole, stored.map(|stored| again(&stored))))
    })
    .await
}

fn again(stored: &BatchRecord) -> IngestAnswer {
    let answer = repeated(stored);
    IngestAnswer { body: say_repeated(&answer.body), ..answer }
}

type Held = BTreeMap<EventId, BTreeMap<BarcodeHash, TicketId>>;

fn hashes(spellings: &[String]) -> impl Iterator<Item = BarcodeHash> + '_ {
    spellings.iter().map(|text| BarcodeHash::of(text))
}

fn spellings(scan: &admit_core::wire::scans::ScanS2, index: usize) -> Result<Vec<String>> {
    scan.spellings().map_err(|error| invalid(error.under(&format!("scans[{index}]"))))
}

fn invalid(error: FieldError) -> Error {
    Error::invalid(error.path, error.message)
}

/// S2's step 15: finds those spellings of the read codes that some ticket ever held, with one read per event.
fn held_codes(tx: &mut dyn Tx, request: &ScansSyncRequest, assignments: &Assignments) -> Result<Held> {
    let mut asked: BTreeMap<EventId, BTreeSet<BarcodeHash>> = BTreeMap::new();
    for (index, scan) in request.scans.iter().enumerate() {
        let (event_id, _) = assignments.at(scan.scanned_at);
        asked.entry(event_id.clone()).or_default().extend(hashes(&spellings(scan, index)?));
    }
    let mut out = Held::new();
    for (event_id, hashes) in asked {
        let hashes: Vec<BarcodeHash> = hashes.into_iter().collect();
        let found = tx.find_codes(&event_id, &hashes)?;
        out.insert(event_id, found.into_iter().collect());
    }
    Ok(out)
}

fn as_batch(
    caller: &DeviceCaller,
    request: ScansSyncRequest,
    assignments: &Assignments,
    held: &Held,
    received_at: Timestamp,
) -> Result<(Batch, Vec<Sent>)> {
    let (mut items, mut sent) = (Vec::with_capacity(request.scans.len()), Vec::with_capacity(request.scans.len()));
    for (index, scan) in request.scans.into_iter().enumerate() {
        let spellings = spellings(&scan, index)?;
        let place = assignments.at(scan.scanned_at);
        let known = held.get(place.0).and_then(|held| hashes(&spellings).find(|hash| held.contains_key(hash)));
        let matched = known.unwrap_or_else(|| BarcodeHash::of(&spellings[0]));
        let (code, at) = (scan.ticket_code.clone(), scan.scanned_at);
        let evidence = Evidence { signature: None, sent: scan.sent.clone(), named: None };
        let scan = scan.into_scan(&caller.device_id, place.0, place.1, matched);
        let scan = scan.map_err(|error| invalid(error.under(&format!("scans[{index}]"))))?;
        sent.push(Sent { scan_id: scan.scan_id.clone(), code, at });
        items.push(item(scan, evidence, SignatureState::Bearer, 0, received_at));
    }
    let batch = Batch {
        batch_id: request.batch_id,
        device_id: caller.device_id.clone(),
        endpoint: ENDPOINT,
        event_id: assignments.at(received_at).0.clone(),
        offset_seconds: 0,
        log: None,
        items,
        rejected: Vec::new(),
    };
    Ok((batch, sent))
}

/// Steps 12 and 16–21, inside the lane.
fn store_whole(
    tx: &mut dyn Tx,
    caller: &DeviceCaller,
    whole: &Whole,
    clock: &dyn Clock,
    seeded: &mut SeededIds,
) -> Result<Done> {
    let home = &whole.parts[0];
    let mine = Prefetch { devices: vec![caller.device_id.clone()], ..Prefetch::default() };
    tx.prefetch(&home.event_id, &mine)?;
    // Step 12, decided under the lock.
    let stored = tx.batch(&caller.device_id, ENDPOINT, &home.batch_id)?;
    if stored.as_ref().is_some_and(|stored| stored.digest != whole.digest) {
        note_reuse(tx, home)?;
        return Ok(Done::Reused);
    }
    let carrier = Carrier::of(tx, caller)?;
    if carrier.revoked {
        return withhold(tx, &whole.parts, &carrier, whole.received_at, seeded).map(Done::Revoked);
    }
    if let Some(stored) = stored {
        end_failures(tx, &carrier, whole.received_at)?;
        return Ok(Done::Repeated { answer: again(&stored), held: carrier.held });
    }
    // S2 §3 "Event is live", judged at each scan's own time (spec D17).
    if !any_live(tx, &whole.parts)? {
        return Ok(Done::NotLive);
    }
    let mut taken = Vec::with_capacity(whole.parts.len());
    for part in &whole.parts {
        taken.push(plan_part(tx, part, &carrier, all_of(part), whole.received_at, seeded)?);
    }
    let found = Found::of(whole, &taken, &caller.device_id);
    flag_batch(tx, whole, &found, &mut taken, seeded)?;
    // Everything is planned. What follows only writes.
    touch_health(tx, &carrier, whole.received_at)?;
    for (part, taken) in whole.parts.iter().zip(&mut taken) {
        taken.store(tx, &part.event_id)?;
    }
    let took_ms = clock.monotonic_ms().saturating_sub(whole.started_ms);
    write_lines(tx, whole, &taken, &found, took_ms)?;
    let (answer, status) = answer_of(tx, whole, &taken, &found, took_ms)?;
    let arrived = whole.parts.iter().zip(&taken).map(|(part, taken)| Arrived::of(part, taken)).collect();
    let unknown = taken.iter().map(|taken| taken.stored.unknown.len()).sum();
    Ok(Done::Stored { answer, status, arrived, unknown, held: carrier.held })
}

fn any_live(tx: &mut dyn Tx, parts: &[Batch]) -> Result<bool> {
    for part in parts {
        let rules = tx.load_rules(&part.event_id, &[])?;
        if part.items.iter().any(|item| was_live(&rules, item.fact.at())) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The scans that S2 would not have inserted, in the order sent.
struct Found {
    /// The error of each scan, for the ledger. `None` for a scan without an error.
    all: Vec<Option<ScanError>>,
    /// The index of the first scan about which the device is told nothing.
    silent: usize,
}

impl Found {
    fn of(whole: &Whole, taken: &[Taken], device_id: &DeviceId) -> Self {
        let errors = Errors::of(taken);
        let all = whole.sent.iter().map(|sent| {
            let (reason, last_scan_at) = errors.of_scan(device_id, &sent.scan_id)?;
            let (offline_id, ticket_code) = (sent.scan_id.clone(), sent.code.clone());
            Some(ScanError { offline_id, ticket_code, reason: reason.to_owned(), last_scan_at })
        });
        let all = all.collect();
        Self { all, silent: silent_place(whole, taken) }
    }
    fn errors(&self) -> impl Iterator<Item = &ScanError> {
        self.all.iter().flatten()
    }
    /// The errors that the device is told.
    fn told(&self) -> impl Iterator<Item = &ScanError> {
        self.all[..self.silent].iter().flatten()
    }
}

/// The index, in the order sent, of the first unknown code beyond the device's allowance of unknown codes. From there
/// on, the answer names no errors. If there is no such code, it is the number of scans.
fn silent_place(whole: &Whole, taken: &[Taken]) -> usize {
    let mut unknown: BTreeSet<&ScanId> = BTreeSet::new();
    for (part, taken) in whole.parts.iter().zip(taken) {
        unknown.extend(taken.stored.unknown.iter().map(|place| &part.items[*place].fact.scan.scan_id));
    }
    let places = whole.sent.iter().enumerate().filter(|(_, sent)| unknown.contains(&sent.scan_id));
    let places: Vec<usize> = places.map(|(place, _)| place).collect();
    silent_from(&places, whole.left).unwrap_or(whole.sent.len())
}

/// Opens the incidents of S2 §7 and §8 about the batch. All errors count, including those that the answer to the device
/// leaves out. In S2's rule "> 50 % invalid tickets", a scan with the error `already_scanned` does not count.
fn flag_batch(
    tx: &mut dyn Tx,
    whole: &Whole,
    found: &Found,
    taken: &mut [Taken],
    seeded: &mut SeededIds,
) -> Result<()> {
    let home = &whole.parts[0];
    let delivery = Delivery {
        device_id: &home.device_id,
        batch_id: &home.batch_id,
        size: whole.sent.len(),
        errors: found.errors().filter(|error| error.reason != AGAIN).count(),
        newest: taken.iter().filter_map(|taken| taken.stored.newest).max(),
        received_at: whole.received_at,
        arrivals: None,
    };
    flag(tx, home, &delivery, &mut taken[0], seeded)
}

fn summary<'a>(total: usize, errors: impl Iterator<Item = &'a ScanError>) -> Summary {
    let mut out = Summary { total_scans: total as u64, ..Summary::default() };
    for error in errors {
        match error.reason.as_str() {
            AGAIN => out.duplicate_scans += 1,
            "ticket_not_found" => out.missing_tickets += 1,
            _ => out.invalid_tickets += 1,
        }
    }
    out.new_scans = out.total_scans - out.duplicate_scans - out.missing_tickets - out.invalid_tickets;
    out
}

fn seconds(took_ms: i64) -> f64 {
    took_ms as f64 / 1_000.0
}

/// S2's step 26: writes S2's audit entry into the ledger of the batch's first event, and a line into the ledger of
/// every other event that the batch touched.
fn write_lines(tx: &mut dyn Tx, whole: &Whole, taken: &[Taken], found: &Found, took_ms: i64) -> Result<()> {
    let summary = summary(whole.sent.len(), found.errors());
    let metadata = json!({
        "batch_created_at": whole.made_at.to_string(),
        "sync_duration_seconds": seconds(took_ms),
    });
    for (place, (part, taken)) in whole.parts.iter().zip(taken).enumerate() {
        let mut changes = changes_of(part, &taken.stored, &taken.rejudged);
        if place == 0 {
            changes["batch_size"] = summary.total_scans.into();
            changes["processed_count"] = summary.new_scans.into();
            changes["error_count"] = (summary.total_scans - summary.new_scans).into();
            changes["duplicates"] = summary.duplicate_scans.into();
            changes["missing_tickets"] = summary.missing_tickets.into();
            changes["invalid_tickets"] = summary.invalid_tickets.into();
        }
        audit(tx, part, "batch_sync_completed", &changes, &metadata)?;
    }
    Ok(())
}

/// S2's steps 20 and 27: makes the answer, and stores it in the batch's row.
fn answer_of(
    tx: &mut dyn Tx,
    whole: &Whole,
    taken: &[Taken],
    found: &Found,
    took_ms: i64,
) -> Result<(IngestAnswer, &'static str)> {
    let home = &whole.parts[0];
    let errors: Vec<ScanError> = found.told().cloned().collect();
    let clean = errors.iter().all(|error| error.reason == AGAIN);
    let status = if clean { "completed" } else { "partial_success" };
    let summary = summary(whole.sent.len(), errors.iter());
    let (processed, failed) = (summary.new_scans as usize, errors.len());
    let times = whole.sent.iter().map(|sent| sent.at);
    let (oldest, newest) = (times.clone().min(), times.max());
    let body = to_text(&ScansSyncAnswer {
        batch_id: home.batch_id.clone(),
        status: status.to_owned(),
        processed_count: processed as u64,
        error_count: failed as u64,
        summary,
        errors,
        timestamp_range: [oldest.unwrap_or(whole.received_at), newest.unwrap_or(whole.received_at)],
        timestamp: whole.received_at,
        sync_duration_seconds: seconds(took_ms),
    });
    tx.insert_batch(&BatchRecord {
        batch_id: home.batch_id.clone(),
        device_id: home.device_id.clone(),
        endpoint: ENDPOINT.to_owned(),
        event_id: home.event_id.clone(),
        digest: whole.digest,
        answer: body.clone(),
        status: status.to_owned(),
        batch_size: whole.sent.len() as u32,
        processed_count: processed as u32,
        error_count: failed as u32,
        offset_seconds: 0,
        serial: taken[0].stamp.serial,
        synced_at: whole.received_at,
    })?;
    let conflicts = taken.iter().map(|taken| taken.rejudged.new_causes.len()).sum();
    let event_id = home.event_id.clone();
    let answer = IngestAnswer {
        body,
        repeated: false,
        event_id,
        processed,
        rejected: failed,
        conflicts,
        heard: Vec::new(),
        head: None,
    };
    Ok((answer, status))
}
