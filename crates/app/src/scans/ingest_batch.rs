//! A batch arrives (architecture §5 walk 2; S1 §5.1, spec §5 `POST /api/scanning/sync`).

use std::collections::{BTreeMap, BTreeSet};

use admit_core::barcode::BarcodeHash;
use admit_core::idempotency::batch_digest;
use admit_core::ids::{BatchId, DeviceId, EventId, KeyId, LogId, OrganizationId, ScanId};
use admit_core::incident::{Cause, CauseSubject, IncidentKind, Subject};
use admit_core::limits;
use admit_core::scan::{Digest, Fact, Method, SignatureState, better_offset};
use admit_core::time::Timestamp;
use admit_core::wire::scanning::SyncRequest;

use super::answer;
use super::decode::{self, Batch, Context, Item, Refused};
use super::log::receive;
use super::rejudge::{Rejudged, rejudge, settle_incidents};
use crate::caller::DeviceCaller;
use crate::draw::Draw;
use crate::error::{Error, Result};
use crate::ports::{App, Hint, Scope, Topic, Tx, read, write};
use crate::records::*;

/// The answer to a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestAnswer {
    /// JSON; the same bytes for every repeat.
    pub body: String,
    /// It was answered from storage.
    pub repeated: bool,
    /// Event it was stored in.
    pub event_id: EventId,
    /// Scans stored by it, new or known.
    pub processed: usize,
    /// Items refused for good.
    pub rejected: usize,
    /// Findings it caused.
    pub conflicts: usize,
}

/// What the transaction did.
#[derive(Clone)]
struct Done {
    answer: IngestAnswer,
    serial: Option<u64>,
    incidents: bool,
    entered: i64,
    /// Scans kept of a revoked device, and how many more may come.
    revoked: Option<(Vec<String>, u64)>,
    suspended: bool,
    reused: bool,
}

impl Done {
    fn quiet(answer: IngestAnswer, serial: Option<u64>) -> Self {
        Self { answer, serial, incidents: false, entered: 0, revoked: None, suspended: false, reused: false }
    }
}

/// Takes in a batch of scans. One transaction: scans, verdicts, states, batch row, causes and audit line commit together
/// or not at all. A repeat gets the stored answer; the same id with other content is 409 `batch_id_reused`.
pub async fn ingest_batch(app: &App, caller: &DeviceCaller, request: SyncRequest) -> Result<IngestAnswer> {
    if request.device_id != caller.device_id {
        refuse_mismatch(app, caller, request.device_id.as_str()).await?;
        return Err(Error::Unauthenticated {
            code: "device_mismatch",
            message: "the batch names another device than the key belongs to: nothing of it was taken".into(),
        });
    }
    // ② Everything that needs no lock: shapes, digests, signatures.
    let received_at = app.clock.now();
    let (keys, event_id) = read_context(app, caller, decode::authors(&request)).await?;
    let context = Context { event_id, received_at, most: (limits::SYNC_V1_SCANS, limits::SYNC_V2_SCANS) };
    let batch = decode::decode(&request, caller, &keys, &context)?;
    let event_id = batch.event_id.clone();
    let digest = digest_of(caller, &batch);
    let draw = app.draw();
    let done = {
        let (caller, batch) = (caller.clone(), batch.clone());
        write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
            store_batch(tx, &caller, &batch, digest, received_at, &mut draw.clone())
        })
        .await?
    };
    // ⑩ Only after the commit, and only hints.
    hint(app, &caller.organization_id, &event_id, &batch.batch_id, &done);
    if done.reused {
        let message = "this batch id stands for other content: send the scans under a new one";
        return Err(Error::conflict("batch_id_reused", message));
    }
    if let Some((kept, quota_left)) = done.revoked {
        let message = "this device was revoked: its scans are kept for review and count nothing";
        let details = Some(Box::new(serde_json::json!({ "kept": kept, "quota_left": quota_left })));
        return Err(Error::Denied { code: "device_revoked", message: message.into(), details });
    }
    if done.suspended {
        return Err(Error::denied(
            "device_suspended",
            "this device is suspended: its uploads are held until a person counts them",
        ));
    }
    Ok(done.answer)
}

fn digest_of(caller: &DeviceCaller, batch: &Batch) -> [u8; 32] {
    let pairs: Vec<(ScanId, Digest)> =
        batch.items.iter().map(|item| (item.fact.scan.scan_id.clone(), item.fact.digest)).collect();
    // A malformed item has no content to digest: its bytes stand for it.
    let refused = batch.rejected.iter().map(|item| item.record.body.as_str());
    batch_digest(&caller.device_id, batch.endpoint, &pairs, refused)
}

/// The keys the items name, and the event the device scans for now.
async fn read_context(app: &App, caller: &DeviceCaller, authors: Vec<KeyId>) -> Result<(decode::Keys, EventId)> {
    let (secret, device_id) = (app.secret.clone(), caller.device_id.clone());
    read(&*app.store, &caller.organization_id, move |tx| {
        let device = tx.device(&device_id)?.ok_or_else(|| Error::Bug("a key without a device".into()))?;
        let mut keys = decode::Keys::new();
        for key_id in authors {
            if let Some(key) = tx.device_key(&key_id)? {
                let opened = secret.open(key_id.as_str(), &key.sealed_scan_key)?;
                let scan_key: [u8; 32] =
                    opened.try_into().map_err(|_| Error::Bug("a sealed scan key has a wrong length".into()))?;
                keys.insert(key_id, (key.device_id, scan_key));
            }
        }
        Ok((keys, device.event_id))
    })
    .await
}

async fn refuse_mismatch(app: &App, caller: &DeviceCaller, named: &str) -> Result<()> {
    let (device_id, named) = (caller.device_id.clone(), named.to_owned());
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        tx.append_audit(NewAudit {
            event_id: None,
            user_id: None,
            device_id: Some(device_id.clone()),
            action: "device_mismatch",
            entity_type: "Device",
            entity_id: device_id.as_str().to_owned(),
            changes: serde_json::json!({ "named": named }).to_string(),
            metadata: "{}".to_owned(),
        })
    })
    .await
}

/// ③–⑨, inside the lane.
fn store_batch(
    tx: &mut dyn Tx,
    caller: &DeviceCaller,
    batch: &Batch,
    digest: [u8; 32],
    received_at: Timestamp,
    draw: &mut Draw,
) -> Result<Done> {
    // ① Seen before? Answer again.
    let stored = tx.batch(&caller.device_id, batch.endpoint, &batch.batch_id)?;
    if let Some(reused) = stored.as_ref().filter(|stored| stored.digest != digest) {
        return reuse_of(tx, caller, batch, reused);
    }
    // ③ The device's state as it is now, under the event's head.
    let device = tx.device(&caller.device_id)?.ok_or_else(|| Error::Bug("a key without a device".into()))?;
    let event = tx.event(&batch.event_id)?.ok_or_else(|| Error::not_found("event"))?;
    let revoked = device.state == DeviceState::Revoked || key_is_revoked(tx, caller)?;
    let held = device.state == DeviceState::Suspended;
    let mut room = u64::MAX;
    if revoked {
        room = limits::QUARANTINE_SCANS.saturating_sub(tx.count_quarantined(&caller.device_id)?);
        // A revoked device's batches have no row: what brings nothing new must change nothing either.
        if let Some(kept) = nothing_new(tx, batch, room)? {
            return Ok(Done { revoked: Some((kept, room)), ..Done::quiet(blank(batch), None) });
        }
    } else if let Some(stored) = stored {
        return Ok(Done { suspended: held, ..Done::quiet(repeated(&stored), None) });
    }
    let stamp = tx.stamp(&event.event_id)?;
    // ④ ⑤ What is new of it becomes facts.
    let stored = store_facts(tx, caller, batch, stamp, revoked || held, room)?;
    // ⑥ ⑦ ⑧ The subjects it touches are reduced anew.
    let rejudged = rejudge(tx, &event.event_id, &stored.subjects, stamp, received_at, draw)?;
    // Of a revoked device only scans are kept, up to their quota: the rest of what it sends leaves no trace.
    let refused = if revoked { &[][..] } else { &batch.rejected[..] };
    let logs = receive_logs(tx, batch, &stored, refused)?;
    let reuse = settle_ids(tx, batch, &stored, logs, stamp, received_at, draw)?;
    if !refused.is_empty() {
        let records: Vec<RejectedRecord> = refused.iter().map(|item| item.record.clone()).collect();
        tx.insert_rejected(&event.event_id, &records)?;
    }
    touch_health(tx, &device, received_at)?;
    if revoked {
        audit(tx, caller, batch, "batch_quarantined", &stored, &rejudged)?;
        let kept = stored.kept.iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>();
        let quota_left = room.saturating_sub(stored.new as u64);
        let answer = blank(batch);
        let revoked = Some((kept, quota_left));
        return Ok(Done {
            revoked,
            incidents: rejudged.incidents_changed || reuse,
            ..Done::quiet(answer, Some(stamp.serial))
        });
    }
    // The answer, the batch row and the audit line belong to the same commit.
    let conflicts = answer::conflicts(batch, &rejudged);
    // The cursor is the present event's, also when the scans are an earlier one's (spec §5).
    let present = tx.head(&device.event_id)?;
    let serial = if device.event_id == event.event_id { stamp.serial } else { present.serial };
    let body = answer::sync_answer(batch, &stored.kept, &conflicts, present.epoch, serial, received_at);
    let status = if batch.rejected.is_empty() { "completed" } else { "partial_success" };
    tx.insert_batch(&BatchRecord {
        batch_id: batch.batch_id.clone(),
        device_id: caller.device_id.clone(),
        endpoint: batch.endpoint.to_owned(),
        event_id: event.event_id.clone(),
        digest,
        answer: body.clone(),
        status: status.to_owned(),
        batch_size: (batch.items.len() + batch.rejected.len()) as u32,
        processed_count: stored.kept.len() as u32,
        error_count: batch.rejected.len() as u32,
        offset_seconds: batch.offset_seconds,
        serial: stamp.serial,
        synced_at: received_at,
    })?;
    audit(tx, caller, batch, "batch_sync_completed", &stored, &rejudged)?;
    Ok(Done {
        answer: IngestAnswer {
            body,
            repeated: false,
            event_id: event.event_id,
            processed: stored.kept.len(),
            rejected: batch.rejected.len(),
            conflicts: conflicts.len(),
        },
        serial: Some(stamp.serial),
        incidents: rejudged.incidents_changed || reuse,
        entered: rejudged.delta.entered,
        revoked: None,
        suspended: held,
        reused: false,
    })
}

fn blank(batch: &Batch) -> IngestAnswer {
    IngestAnswer {
        body: String::new(),
        repeated: false,
        event_id: batch.event_id.clone(),
        processed: 0,
        rejected: 0,
        conflicts: 0,
    }
}

/// The stored answer.
fn repeated(stored: &BatchRecord) -> IngestAnswer {
    IngestAnswer {
        body: stored.answer.clone(),
        repeated: true,
        event_id: stored.event_id.clone(),
        processed: stored.processed_count as usize,
        rejected: stored.error_count as usize,
        conflicts: 0,
    }
}

/// The id stands for something else: nothing changes but the ledger.
fn reuse_of(tx: &mut dyn Tx, caller: &DeviceCaller, batch: &Batch, stored: &BatchRecord) -> Result<Done> {
    let serial = tx.stamp(&batch.event_id)?.serial;
    audit(tx, caller, batch, "batch_id_reused", &Stored::default(), &Rejudged::default())?;
    Ok(Done { reused: true, ..Done::quiet(repeated(stored), Some(serial)) })
}

/// The ids of a revoked device's batch that are stored already, when nothing more of it would be.
fn nothing_new(tx: &mut dyn Tx, batch: &Batch, room: u64) -> Result<Option<Vec<String>>> {
    let mut known = BTreeSet::new();
    for (author, ids) in by_author(batch.items.iter()) {
        for (scan_id, digest, ..) in tx.proven(author, &ids)? {
            known.insert((author.clone(), scan_id, digest));
        }
    }
    let is_known = |item: &&Item| {
        let scan = &item.fact.scan;
        known.contains(&(scan.device_id.clone(), scan.scan_id.clone(), item.fact.digest))
    };
    if room > 0 && !batch.items.iter().all(|item| is_known(&item)) {
        return Ok(None);
    }
    let kept = batch.items.iter().filter(is_known).map(|item| item.fact.scan.scan_id.as_str().to_owned());
    Ok(Some(kept.collect::<BTreeSet<_>>().into_iter().collect()))
}

fn by_author<'a>(items: impl Iterator<Item = &'a Item>) -> BTreeMap<&'a DeviceId, Vec<ScanId>> {
    let mut out: BTreeMap<&DeviceId, Vec<ScanId>> = BTreeMap::new();
    for item in items {
        out.entry(&item.fact.scan.device_id).or_default().push(item.fact.scan.scan_id.clone());
    }
    out
}

fn key_is_revoked(tx: &mut dyn Tx, caller: &DeviceCaller) -> Result<bool> {
    let key = tx.device_keys(&caller.device_id)?.into_iter().find(|key| key.token_hash == caller.token_hash);
    Ok(key.is_none_or(|key| key.revoked_at.is_some()))
}

/// What became of a batch's items.
#[derive(Default)]
struct Stored {
    /// Ids that are stored now, new or known, in the order sent.
    kept: Vec<ScanId>,
    /// Contents that were not known before.
    new: usize,
    /// Subjects they touch.
    subjects: BTreeSet<String>,
    /// Places in the batch of what is stored now.
    places: Vec<usize>,
}

fn store_facts(
    tx: &mut dyn Tx,
    caller: &DeviceCaller,
    batch: &Batch,
    stamp: Stamp,
    after_revocation: bool,
    room: u64,
) -> Result<Stored> {
    let (mut known, mut proven) = (Vec::new(), BTreeMap::new());
    // First received after its author's revocation: unverified whoever carries it (spec D10).
    let mut withdrawn = BTreeSet::new();
    for (author, ids) in by_author(batch.items.iter()) {
        let is_other = *author != caller.device_id;
        if is_other && tx.device(author)?.is_some_and(|device| device.state == DeviceState::Revoked) {
            withdrawn.insert(author.clone());
        }
        known.extend(tx.known_scans(author, &ids)?);
        for (scan_id, digest, signature, offset) in tx.proven(author, &ids)? {
            proven.insert((author.clone(), scan_id, digest), (signature, offset));
        }
    }
    let mut out = Stored::default();
    let (mut scans, mut deliveries, mut taken) = (Vec::new(), Vec::new(), Vec::new());
    let mut kept = BTreeSet::new();
    for (place, item) in batch.items.iter().enumerate() {
        let scan = &item.fact.scan;
        let id = (scan.device_id.clone(), scan.scan_id.clone(), item.fact.digest);
        let after_revocation = after_revocation || withdrawn.contains(&scan.device_id);
        let fact = Fact { after_revocation, ..item.fact.clone() };
        match proven.get(&id).copied() {
            Some((signature, offset)) => {
                let better =
                    fact.signature.min(signature) != signature || better_offset(fact.offset_seconds, offset) != offset;
                // What a withdrawn device sends proves nothing more of what is known: it must not move a count.
                if better && !after_revocation {
                    let merged = (fact.signature.min(signature), better_offset(fact.offset_seconds, offset));
                    proven.insert(id, merged);
                    deliveries.push(NewDelivery { fact, serial: stamp.serial, carrier: caller.device_id.clone() });
                    taken.push(item);
                }
            }
            None => {
                if out.new as u64 >= room {
                    continue;
                }
                out.new += 1;
                proven.insert(id, (fact.signature, fact.offset_seconds));
                scans.push(new_scan(fact, item, batch, caller, stamp));
                taken.push(item);
            }
        }
        out.places.push(place);
        if kept.insert(&scan.scan_id) {
            out.kept.push(scan.scan_id.clone());
        }
    }
    tx.insert_scans(&scans)?;
    if !deliveries.is_empty() {
        tx.insert_deliveries(&deliveries)?;
    }
    out.subjects = subjects_of(tx, &batch.event_id, &taken)?;
    // Another content under a known id may take over what the first one counted for.
    out.subjects.extend(known.into_iter().map(|known| known.subject_key));
    Ok(out)
}

fn new_scan(fact: Fact, item: &Item, batch: &Batch, caller: &DeviceCaller, stamp: Stamp) -> NewScan {
    NewScan {
        fact,
        serial: stamp.serial,
        batch_id: Some(batch.batch_id.clone()),
        carrier: caller.device_id.clone(),
        signature: item.signature.clone(),
    }
}

/// ④ Which ticket (spec §4): the one that ever held the code; else, if picked by hand, the ticket named; else the code.
pub(crate) fn subjects_of(tx: &mut dyn Tx, event_id: &EventId, items: &[&Item]) -> Result<BTreeSet<String>> {
    let hashes: BTreeSet<BarcodeHash> = items.iter().filter_map(|item| item.fact.scan.barcode_hash).collect();
    let hashes: Vec<BarcodeHash> = hashes.into_iter().collect();
    let tickets: BTreeMap<BarcodeHash, _> = tx.find_codes(event_id, &hashes)?.into_iter().collect();
    let subject = |item: &&Item| {
        let scan = &item.fact.scan;
        let by_code = scan.barcode_hash.and_then(|hash| tickets.get(&hash).cloned());
        let by_hand =
            || scan.ticket_id.clone().filter(|_| scan.method == Method::Manual || scan.barcode_hash.is_none());
        let ticket = by_code.or_else(by_hand).map(Subject::Ticket);
        ticket.or_else(|| scan.barcode_hash.map(Subject::Unknown)).map(|subject| subject.key())
    };
    Ok(items.iter().filter_map(subject).collect())
}

/// Notes which places of which logs have arrived; answers the forked ones (spec §3 "Log").
fn receive_logs(
    tx: &mut dyn Tx,
    batch: &Batch,
    stored: &Stored,
    refused: &[Refused],
) -> Result<Vec<(DeviceId, LogId, Vec<u64>)>> {
    let mut places: BTreeMap<(DeviceId, LogId), BTreeSet<u64>> = BTreeMap::new();
    let of_items = stored.places.iter().filter_map(|place| {
        let Fact { scan, signature, .. } = &batch.items[*place].fact;
        // Nobody fills a gap in another device's log without that device's signature (I20).
        if *signature == SignatureState::Unverified && scan.device_id != batch.device_id {
            return None;
        }
        Some((scan.device_id.clone(), scan.log_id.clone()?, scan.seq?))
    });
    let of_rejected = refused.iter().filter_map(|item| {
        let (log_id, seq) = item.record.log.clone()?;
        Some((item.record.device_id.clone(), log_id, seq))
    });
    for (device_id, log_id, seq) in of_items.chain(of_rejected) {
        places.entry((device_id, log_id)).or_default().insert(seq);
    }
    if let Some((log_id, _)) = &batch.log {
        places.entry((batch.device_id.clone(), log_id.clone())).or_default();
    }
    let mut forks = Vec::new();
    for ((device_id, log_id), seqs) in places {
        let mut log = tx.log(&device_id, &log_id)?.unwrap_or_else(|| LogRecord {
            device_id: device_id.clone(),
            log_id: log_id.clone(),
            event_id: batch.event_id.clone(),
            head: 0,
            received: Vec::new(),
            closed_at: None,
        });
        if seqs.last().is_some_and(|newest| *newest >= log.head) {
            log.event_id = batch.event_id.clone();
        }
        for seq in &seqs {
            receive(&mut log.received, *seq);
            log.head = log.head.max(*seq);
        }
        if let Some((_, head)) = batch.log.as_ref().filter(|(id, _)| *id == log_id && device_id == batch.device_id) {
            log.head = log.head.max(*head);
        }
        tx.put_log(&log)?;
        let seqs: Vec<u64> = seqs.into_iter().collect();
        forks.push((device_id.clone(), log_id.clone(), tx.forked(&device_id, &log_id, &seqs)?));
    }
    Ok(forks)
}

/// Causes that are no ticket's: a log with two scans in one place, a scan id that two devices used.
fn settle_ids(
    tx: &mut dyn Tx,
    batch: &Batch,
    stored: &Stored,
    logs: Vec<(DeviceId, LogId, Vec<u64>)>,
    stamp: Stamp,
    now: Timestamp,
    draw: &mut Draw,
) -> Result<bool> {
    let mut causes: BTreeMap<String, Vec<Cause>> = BTreeMap::new();
    for (device_id, log_id, _) in logs.into_iter().filter(|(_, _, seqs)| !seqs.is_empty()) {
        let subject = CauseSubject::Log(device_id, log_id);
        causes.insert(subject.key(), vec![plain_cause(IncidentKind::LogForked, subject)]);
    }
    // Elsewhere than with the author: who carried the scan is no second user of its id.
    for (author, ids) in by_author(stored.places.iter().map(|place| &batch.items[*place])) {
        for (scan_id, _) in tx.scan_ids_elsewhere(author, &ids)? {
            let subject = CauseSubject::ScanId(scan_id);
            causes.insert(subject.key(), vec![plain_cause(IncidentKind::ScanIdReused, subject)]);
        }
    }
    let held = causes.iter().map(|(key, causes)| (key.clone(), causes.as_slice())).collect();
    Ok(settle_incidents(tx, &batch.event_id, &held, stamp, now, draw)?.changed)
}

/// A cause that names its subject and no scans: which of them arrived first must not show in it.
fn plain_cause(kind: IncidentKind, subject: CauseSubject) -> Cause {
    Cause { kind, subject, scans: Vec::new(), order_uncertain: false }
}

fn touch_health(tx: &mut dyn Tx, device: &DeviceRecord, now: Timestamp) -> Result<()> {
    let seen =
        DeviceHealth { last_seen_at: Some(now), last_sync_at: Some(now), failed_syncs: 0, ..device.health.clone() };
    tx.put_health(&device.device_id, &seen)
}

/// S2 §4's audit entry.
fn audit(
    tx: &mut dyn Tx,
    caller: &DeviceCaller,
    batch: &Batch,
    action: &'static str,
    stored: &Stored,
    rejudged: &Rejudged,
) -> Result<()> {
    let unverified = batch.items.iter().filter(|item| item.fact.signature == SignatureState::Unverified).count();
    let changes = serde_json::json!({
        "batch_id": batch.batch_id.as_str(),
        "device_id": caller.device_id.as_str(),
        "batch_size": batch.items.len() + batch.rejected.len(),
        "processed_count": stored.kept.len(),
        "new_count": stored.new,
        "error_count": batch.rejected.len(),
        "unverified_count": unverified,
        "entered": rejudged.delta.entered,
        "conflicts": rejudged.new_causes.len(),
    });
    tx.append_audit(NewAudit {
        event_id: Some(batch.event_id.clone()),
        user_id: None,
        device_id: Some(caller.device_id.clone()),
        action,
        entity_type: "BatchSync",
        entity_id: batch.batch_id.as_str().to_owned(),
        changes: changes.to_string(),
        metadata: "{}".to_owned(),
    })
}

fn hint(app: &App, organization_id: &OrganizationId, event_id: &EventId, batch_id: &BatchId, done: &Done) {
    let Some(serial) = done.serial else { return };
    let say = |topic| {
        let (organization_id, event_id) = (organization_id.clone(), event_id.clone());
        app.hints.hint(Hint { organization_id, event_id, serial: Some(serial), topic });
    };
    let status = if done.answer.rejected == 0 { "completed" } else { "partial_success" };
    let complete = serde_json::json!({
        "event": "sync_complete",
        "batch_id": batch_id.as_str(),
        "status": status,
        "processed_count": done.answer.processed,
        "error_count": done.answer.rejected,
    });
    say(Topic::Batch(complete.to_string()));
    let moved = serde_json::json!({
        "event": "batch_sync_completed",
        "batch_id": batch_id.as_str(),
        "scans_added": done.answer.processed,
        "entered": done.entered,
    });
    say(Topic::Occupancy(moved.to_string()));
    say(Topic::Devices);
    if done.incidents {
        say(Topic::Incidents);
    }
}
