//! Receives a batch (ARCHITECTURE.md §6 walk 2; S1 §5.1, spec §5 `POST /api/scanning/sync`).

use std::collections::BTreeSet;
use std::sync::Arc;

use admit_core::fraud::{Arrivals, Delivery};
use admit_core::ids::{EventId, KeyId, ScanId};
use admit_core::limits;
use admit_core::scan::{Outcome, Stage};
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{Conflict, SyncRequest};
use serde_json::json;

use super::announce::{Ended, announce, remember};
use super::answer;
use super::assign::{Assignments, place, split};
use super::decode::{self, Batch, Context};
use super::errors::{AGAIN, Errors};
pub(crate) use super::intake::intake;
use super::intake::{
    Arrived, Carrier, Taken, Withheld, all_of, audit, changes_of, end_failures, flag, note_reuse, plan_part,
    refuse_mismatch, refuse_reuse, refuse_revoked, silent_from, touch_health, withhold,
};
use crate::caller::DeviceCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Prefetch, Scope, Tx, read, write};
use crate::records::{BatchRecord, Head};
use crate::seeded_ids::SeededIds;

/// The answer to a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestAnswer {
    /// The answer as JSON. Every repeat gets the same bytes.
    pub body: String,
    /// Whether the answer was stored before, because the batch is a repeat.
    pub repeated: bool,
    /// The event in which the batch is stored.
    pub event_id: EventId,
    /// Number of scans that are stored, new or known before.
    pub processed: usize,
    /// Number of items that were refused.
    pub rejected: usize,
    /// Number of conflicts that the batch caused.
    pub conflicts: usize,
    /// For each scan that the server first received in this batch, the outcome that its device showed, in no order.
    pub heard: Vec<Outcome>,
    /// The head of the event `event_id` after this batch. `None` if it was not read, as for a stored answer.
    pub head: Option<Head>,
}

/// The result that the transaction hands to the code after the commit.
#[derive(Clone)]
struct Done {
    answer: IngestAnswer,
    /// The changes in each event. Empty for a repeat.
    arrived: Vec<Arrived>,
    /// Number of codes in the batch that no ticket ever held.
    unknown: usize,
    /// The part of a revoked device's upload that is stored. Absent for other devices.
    revoked: Option<Withheld>,
    /// Whether the device is suspended, so that the batch is stored and held.
    suspended: bool,
    reused: bool,
}

impl Done {
    fn quiet(answer: IngestAnswer) -> Self {
        Self { answer, arrived: Vec::new(), unknown: 0, revoked: None, suspended: false, reused: false }
    }
}

/// Receives a batch of scans. One transaction: scans, verdicts, states, batch row, causes and audit line commit
/// together or not at all. A repeat gets the stored answer. The same id with other content is 409 `batch_id_reused`.
pub async fn ingest_batch(app: &App, caller: &DeviceCaller, request: SyncRequest) -> Result<IngestAnswer> {
    if request.device_id != caller.device_id {
        return Err(refuse_mismatch(app, caller, &request.device_id).await?);
    }
    // ② Everything that needs no lock: shapes, digests, signatures, and the event of each scan.
    let received_at = app.clock.now();
    let (parts, digest) = read_parts(app, caller, request, received_at).await?;
    let parts = Arc::new(parts);
    let (organization_id, now_ms) = (&caller.organization_id, app.clock.monotonic_ms());
    app.scan_activity.scanned(now_ms);
    let left = app.unknown_codes.left(organization_id, &caller.device_id, now_ms);
    let events = parts.iter().map(|part| part.event_id.clone()).collect();
    let scope = Scope { events, ..Scope::organization(organization_id) };
    let seeded = app.seeded_ids();
    // The write holds the allowance too, since the write continues if the device hangs up.
    let spending = app.unknown_codes.spending(organization_id, &caller.device_id, now_ms);
    let done = {
        let (caller, parts, spending) = (caller.clone(), Arc::clone(&parts), Arc::clone(&spending));
        write(&*app.store, scope, move |tx| {
            let arriving = Arriving { caller: &caller, parts: &parts, digest, received_at, left };
            let done = store_batch(tx, &arriving, &mut seeded.clone());
            spending.found(done.as_ref().map_or(0, |done| done.unknown));
            done
        })
        .await?
    };
    spending.settle();
    // ⑩ After the commit come only hints.
    let status = if done.answer.rejected == 0 { "completed" } else { "partial_success" };
    let (processed, errors) = (done.answer.processed as u64, done.answer.rejected as u64);
    let (device_id, batch_id) = (&caller.device_id, &parts[0].batch_id);
    let ended = Ended { device_id, batch_id, status, processed, errors };
    announce(app, organization_id, &ended, &done.arrived);
    if done.reused {
        return Err(refuse_reuse());
    }
    if let Some(Withheld { kept, rejected, room, .. }) = done.revoked {
        return Err(refuse_revoked(kept, rejected, room));
    }
    if !done.arrived.is_empty() {
        parts.iter().for_each(|part| remember(app, organization_id, part));
    }
    if done.suspended {
        return Err(answer::suspended(&done.answer.body));
    }
    let heard = done.arrived.iter().flat_map(|part| part.heard.iter().copied()).collect();
    Ok(IngestAnswer { heard, ..done.answer })
}

/// Splits the batch into batches of one event each. Returns them with the digest of the whole.
async fn read_parts(
    app: &App,
    caller: &DeviceCaller,
    request: SyncRequest,
    received_at: Timestamp,
) -> Result<(Vec<Batch>, [u8; 32])> {
    let (secret, caller, authors) = (app.secret.clone(), caller.clone(), decode::authors(&request));
    read(&*app.store, &caller.organization_id.clone(), move |tx| {
        let device = tx.device(&caller.device_id)?.ok_or_else(|| Error::Bug("a key without a device".into()))?;
        let keys = read_keys(tx, &secret, authors)?;
        let most = (limits::SYNC_V1_SCANS, limits::SYNC_V2_SCANS);
        let context = Context { event_id: device.event_id.clone(), received_at, most };
        let mut batch = decode::decode(&request, &caller, &keys, &context)?;
        let digest = batch.digest();
        if request.is_ours() {
            return Ok((vec![batch], digest));
        }
        let assignments = Assignments::read(tx, &device)?;
        place(tx, &mut batch, &assignments)?;
        Ok((split(batch, &device.event_id), digest))
    })
    .await
}

/// The keys with these ids, unsealed. Unknown ids are left out.
pub(super) fn read_keys(tx: &mut dyn Tx, secret: &crate::secret::Secret, names: Vec<KeyId>) -> Result<decode::Keys> {
    let mut keys = decode::Keys::new();
    for key_id in names {
        if let Some(key) = tx.device_key(&key_id)? {
            let opened = secret.open(key_id.as_str(), &key.sealed_scan_key)?;
            let scan_key: [u8; 32] =
                opened.try_into().map_err(|_| Error::Bug("a sealed scan key has a wrong length".into()))?;
            keys.insert(key_id, (key.device_id, scan_key));
        }
    }
    Ok(keys)
}

/// The upload as it arrives in the lane.
struct Arriving<'a> {
    caller: &'a DeviceCaller,
    /// Batches of one event each. The first is the home.
    parts: &'a [Batch],
    digest: [u8; 32],
    received_at: Timestamp,
    /// How many more unknown codes the device may be told about.
    left: u32,
}

/// Steps ③–⑨, inside the lane.
fn store_batch(tx: &mut dyn Tx, arriving: &Arriving<'_>, seeded: &mut SeededIds) -> Result<Done> {
    let Arriving { caller, parts, digest, .. } = *arriving;
    let home = &parts[0];
    let mine = Prefetch { devices: vec![caller.device_id.clone()], ..Prefetch::default() };
    tx.prefetch(&home.event_id, &mine)?;
    // ① Was the batch stored before? If so, return its answer again.
    let stored = tx.batch(&caller.device_id, home.endpoint, &home.batch_id)?;
    if let Some(reused) = stored.as_ref().filter(|stored| stored.digest != digest) {
        return reuse_of(tx, home, reused);
    }
    // ③ Read the device's present state, under the events' heads.
    let mut carrier = Carrier::of(tx, caller)?;
    if carrier.revoked {
        let mut kept = withhold(tx, parts, &carrier, arriving.received_at, seeded)?;
        let arrived = std::mem::take(&mut kept.arrived);
        return Ok(Done { revoked: Some(kept), arrived, ..Done::quiet(blank(home)) });
    }
    if let Some(stored) = stored {
        end_failures(tx, &carrier, arriving.received_at)?;
        return Ok(Done { suspended: carrier.held, ..Done::quiet(repeated(&stored)) });
    }
    let mut taken = Vec::with_capacity(parts.len());
    for part in parts {
        taken.push(plan_part(tx, part, &carrier, all_of(part), arriving.received_at, seeded)?);
    }
    let arrivals = arrivals(&carrier, arriving, &taken);
    carrier.device.health.arrivals = arrivals.1;
    flag_batch(tx, arriving, arrivals, &mut taken, seeded)?;
    // Everything is planned. The answer, the batch row and the audit lines are part of the same commit.
    touch_health(tx, &carrier, arriving.received_at)?;
    let answer = answer_of(tx, arriving, &carrier, &taken)?;
    for (part, taken) in parts.iter().zip(&mut taken) {
        taken.store(tx, &part.event_id)?;
        let changes = changes_of(part, &taken.stored, &taken.rejudged);
        audit(tx, part, "batch_sync_completed", &changes, &json!({}))?;
    }
    let head = Some(tx.head(&home.event_id)?);
    Ok(Done {
        answer: IngestAnswer { head, ..answer },
        arrived: parts.iter().zip(&taken).map(|(part, taken)| Arrived::of(part, taken)).collect(),
        unknown: taken.iter().map(|taken| taken.stored.unknown.len()).sum(),
        revoked: None,
        suspended: carrier.held,
        reused: false,
    })
}

/// The counts of the device's new scans in the present period, without this batch and with this batch. A period lasts
/// an hour and begins with its first new scan. Each scan counts once, by its final. A scan failed if it has an error of
/// S2 other than `already_scanned` ([`Errors`]).
fn arrivals(carrier: &Carrier, arriving: &Arriving<'_>, taken: &[Taken]) -> (Arrivals, Arrivals) {
    let errors = Errors::of(taken);
    let (mut scans, mut failed) = (0, 0);
    for (part, taken) in arriving.parts.iter().zip(taken) {
        let fresh = taken.stored.fresh.iter().map(|place| &part.items[*place].fact.scan);
        for scan in fresh.filter(|scan| scan.stage == Stage::Final) {
            let error = errors.of_scan(&scan.device_id, &scan.scan_id);
            scans += 1;
            failed += u64::from(error.is_some_and(|(reason, _)| reason != AGAIN));
        }
    }
    let before = carrier.device.health.arrivals.at(arriving.received_at);
    (before, before.with(scans, failed, arriving.received_at))
}

/// Flags a suspicious batch (S2 §7 and §8, which hold for batches of every form). As the errors of this batch, only
/// items that could not be read count. Failed scans count in the device's present period of an hour ([`Arrivals`]).
fn flag_batch(
    tx: &mut dyn Tx,
    arriving: &Arriving<'_>,
    arrivals: (Arrivals, Arrivals),
    taken: &mut [Taken],
    seeded: &mut SeededIds,
) -> Result<()> {
    let home = &arriving.parts[0];
    let delivery = Delivery {
        device_id: &home.device_id,
        batch_id: &home.batch_id,
        size: arriving.parts.iter().map(|part| part.items.len() + part.rejected.len()).sum(),
        errors: home.rejected.len(),
        newest: taken.iter().filter_map(|taken| taken.stored.newest).max(),
        received_at: arriving.received_at,
        arrivals: Some(arrivals),
    };
    flag(tx, home, &delivery, &mut taken[0], seeded)
}

/// The answer, stored with the batch's row.
fn answer_of(tx: &mut dyn Tx, arriving: &Arriving<'_>, carrier: &Carrier, taken: &[Taken]) -> Result<IngestAnswer> {
    let Arriving { parts, digest, received_at, .. } = *arriving;
    let home = &parts[0];
    let conflicts = said_of(arriving, taken);
    let kept: Vec<ScanId> = taken.iter().flat_map(|taken| taken.stored.kept.iter().cloned()).collect();
    // The cursor is that of the device's present event, even if the scans belong to an earlier one (spec §5).
    let present = tx.head(&carrier.device.event_id)?;
    let body = answer::sync_answer(home, &kept, &conflicts, present.epoch, present.serial, received_at);
    let status = if home.rejected.is_empty() { "completed" } else { "partial_success" };
    let items: usize = parts.iter().map(|part| part.items.len()).sum();
    tx.insert_batch(&BatchRecord {
        batch_id: home.batch_id.clone(),
        device_id: home.device_id.clone(),
        endpoint: home.endpoint.to_owned(),
        event_id: home.event_id.clone(),
        digest,
        answer: body.clone(),
        status: status.to_owned(),
        batch_size: (items + home.rejected.len()) as u32,
        processed_count: kept.len() as u32,
        error_count: home.rejected.len() as u32,
        offset_seconds: home.offset_seconds,
        serial: taken[0].stamp.serial,
        synced_at: received_at,
    })?;
    let (processed, rejected) = (kept.len(), home.rejected.len());
    let (event_id, conflicts) = (home.event_id.clone(), conflicts.len());
    Ok(IngestAnswer { body, repeated: false, event_id, processed, rejected, conflicts, heard: Vec::new(), head: None })
}

/// The conflicts of the upload that the answer names. Once an item uses up the device's allowance of unknown codes, the
/// answer names no conflicts of later items.
fn said_of(arriving: &Arriving<'_>, taken: &[Taken]) -> Vec<Conflict> {
    let (mut left, mut out) = (arriving.left, Vec::new());
    for (part, taken) in arriving.parts.iter().zip(taken) {
        let silent = silent_from(&taken.stored.unknown, left).unwrap_or(part.items.len());
        left = left.saturating_sub(taken.stored.unknown.len() as u32);
        let silenced: BTreeSet<&ScanId> = part.items[silent..].iter().map(|item| &item.fact.scan.scan_id).collect();
        let found = answer::conflicts(part, &taken.rejudged);
        out.extend(found.into_iter().filter(|one| !silenced.contains(&one.scan_id)));
    }
    out
}

fn blank(home: &Batch) -> IngestAnswer {
    let (body, event_id) = (String::new(), home.event_id.clone());
    IngestAnswer {
        body,
        repeated: false,
        event_id,
        processed: 0,
        rejected: 0,
        conflicts: 0,
        heard: Vec::new(),
        head: None,
    }
}

/// The answer that was stored for a batch.
pub(super) fn repeated(stored: &BatchRecord) -> IngestAnswer {
    IngestAnswer {
        body: stored.answer.clone(),
        repeated: true,
        event_id: stored.event_id.clone(),
        processed: stored.processed_count as usize,
        rejected: stored.error_count as usize,
        conflicts: 0,
        heard: Vec::new(),
        head: None,
    }
}

/// The batch's id stands for other content. Only the ledger notes it.
fn reuse_of(tx: &mut dyn Tx, home: &Batch, stored: &BatchRecord) -> Result<Done> {
    note_reuse(tx, home)?;
    Ok(Done { reused: true, ..Done::quiet(repeated(stored)) })
}
