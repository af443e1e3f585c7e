//! Reads a batch as it was sent, and makes facts of it: shapes, digests, signatures. It needs no lock (architecture §6
//! walk 2 ②).
//!
//! Items are read one by one. A malformed item is refused alone and its bytes are kept, so one unreadable scan never
//! blocks a queue.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::idempotency::batch_digest;
use admit_core::ids::{BatchId, DeviceId, EventId, KeyId, LogId, ScanId};
use admit_core::limits;
use admit_core::scan::{Digest, Fact, Scan, SignatureState};
use admit_core::sign::{content_digest, verify_v2};
use admit_core::time::Timestamp;
use admit_core::wire::problem::FieldError;
use admit_core::wire::scanning::{Evidence, Readable, Rejected, ScanV1, ScanV2, SyncRequest};

use crate::caller::DeviceCaller;
use crate::error::{Error, Result};
use crate::records::RejectedRecord;

/// Keys by key id: the device that owns the key, and the key itself.
pub type Keys = BTreeMap<KeyId, (DeviceId, [u8; 32])>;

/// A scan of a batch.
#[derive(Debug, Clone)]
pub struct Item {
    /// The fact.
    pub fact: Fact,
    /// Evidence that came with the scan in addition to its content.
    pub evidence: Evidence,
}

/// An item that is refused and will not be taken later.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The item's index in the request.
    pub index: usize,
    /// The row that is stored of the item.
    pub record: RejectedRecord,
}

impl Refused {
    /// The item's entry in the answer, once the item is stored.
    pub fn said(&self) -> Rejected {
        let (scan_id, reason) = (self.record.scan_id.clone(), self.record.reason.clone());
        Rejected { scan_id, index: self.index, reason, kept: true }
    }
}

/// A batch that was read.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The id of the batch.
    pub batch_id: BatchId,
    /// The device that sent the batch.
    pub device_id: DeviceId,
    /// One of `sync`, `scans_sync` and `scans`.
    pub endpoint: &'static str,
    /// The event of all scans in the batch.
    pub event_id: EventId,
    /// The offset of a v1 batch, in seconds.
    pub offset_seconds: i64,
    /// The log of the device that sends the batch, and the highest `seq` in that log. Absent if the batch names no log.
    pub log: Option<(LogId, u64)>,
    /// The scans, in the order in which they were sent.
    pub items: Vec<Item>,
    /// Items that are refused and will not be taken later.
    pub rejected: Vec<Refused>,
}

impl Batch {
    /// The part of the batch that belongs to another event.
    pub(super) fn another(&self, event_id: EventId, items: Vec<Item>) -> Self {
        Self {
            batch_id: self.batch_id.clone(),
            device_id: self.device_id.clone(),
            endpoint: self.endpoint,
            event_id,
            offset_seconds: self.offset_seconds,
            log: None,
            items,
            rejected: Vec::new(),
        }
    }
    /// The digest of the whole batch, whatever events it touches (spec D2).
    pub(super) fn digest(&self) -> [u8; 32] {
        let pairs: Vec<(ScanId, Digest)> =
            self.items.iter().map(|item| (item.fact.scan.scan_id.clone(), item.fact.digest)).collect();
        // A malformed item has no content digest, so its bytes are hashed.
        let refused = self.rejected.iter().map(|item| item.record.body.as_str());
        batch_digest(&self.device_id, self.endpoint, &pairs, refused)
    }
}

/// The facts about sender and receipt that reading a batch needs.
#[derive(Debug, Clone)]
pub struct Context {
    /// The event to which the device is assigned, since S1's scans name none.
    pub event_id: EventId,
    /// When the batch came.
    pub received_at: Timestamp,
    /// The most scans in S1's form, and the most in Admit's own.
    pub most: (usize, usize),
}

/// The ids of the keys that items in Admit's own form name. The keys must be read before the batch is decoded.
pub fn authors(request: &SyncRequest) -> Vec<KeyId> {
    if !request.is_ours() {
        return Vec::new();
    }
    let named = |raw: &str| serde_json::from_str::<KeyOnly>(raw).ok().map(|item| item.key_id);
    let names: BTreeSet<KeyId> = request.scans.iter().filter_map(|raw| named(raw.get())).collect();
    names.into_iter().collect()
}

#[derive(serde::Deserialize)]
struct KeyOnly {
    key_id: KeyId,
}

/// Reads a batch. Fails (400, and takes nothing) if the envelope is malformed, or if a batch in Admit's own form holds
/// scans of two events.
pub fn decode(request: &SyncRequest, caller: &DeviceCaller, keys: &Keys, context: &Context) -> Result<Batch> {
    request.check(context.most.0, context.most.1).map_err(invalid)?;
    let mut batch = Batch {
        batch_id: request.sync_batch_id.clone(),
        device_id: caller.device_id.clone(),
        endpoint: "sync",
        event_id: context.event_id.clone(),
        offset_seconds: request.offset_seconds.unwrap_or(0),
        log: request.log_id.clone().zip(request.head),
        items: Vec::with_capacity(request.scans.len()),
        rejected: Vec::new(),
    };
    if batch.offset_seconds.unsigned_abs() > MAX_OFFSET_SECONDS {
        return Err(Error::invalid("offset_seconds", "must be within a hundred years"));
    }
    if let Some(made) = request.batch_created_at {
        check_age(made, context.received_at)?;
    }
    let mut events = BTreeSet::new();
    for (index, raw) in request.scans.iter().enumerate() {
        let read = if request.is_ours() {
            read_v2(raw.get(), keys)
        } else {
            read_v1(raw.get(), caller, context, batch.offset_seconds)
        };
        match read {
            Ok((scan, evidence, state)) => {
                events.insert(scan.event_id.clone());
                batch.items.push(item(scan, evidence, state, batch.offset_seconds, context.received_at));
            }
            Err(error) => batch.rejected.push(refuse(index, raw.get(), error, caller, context.received_at)),
        }
    }
    if events.len() > 1 {
        let message = "the scans of one batch must be of one event: send one batch per event";
        return Err(Error::Invalid { code: "mixed_events", errors: vec![field("scans", message)] });
    }
    if let Some(event_id) = events.into_iter().next() {
        batch.event_id = event_id;
    }
    Ok(batch)
}

/// The largest clock offset that a batch may report: a hundred years, in seconds. The server refuses a batch that
/// reports more, because no clock is wrong by so much.
const MAX_OFFSET_SECONDS: u64 = 100 * 366 * 86_400;

/// Refuses a batch that was made too long ago or too far ahead (S2 §5 step 11, spec D13). Only the envelope is refused,
/// and no scan is discarded for its time: the device sends its scans again in a new envelope.
pub(super) fn check_age(made: Timestamp, received_at: Timestamp) -> Result<()> {
    if received_at.since(made).abs() <= limits::BATCH_AGE_MS {
        return Ok(());
    }
    let message = "lies more than 24 h from the server's time: send the scans in a new batch";
    Err(Error::Invalid { code: "batch_too_old", errors: vec![field("batch_created_at", message)] })
}

fn field(path: &str, message: &str) -> crate::error::FieldError {
    crate::error::FieldError { path: path.to_owned(), message: message.to_owned() }
}

fn invalid(error: FieldError) -> Error {
    Error::invalid(error.path, error.message)
}

type Read = (Scan, Evidence, SignatureState);

fn read_v2(raw: &str, keys: &Keys) -> std::result::Result<Read, FieldError> {
    let (scan, evidence) = ScanV2::read_with_evidence(raw)?;
    let signature = evidence.signature.as_deref().unwrap_or_default();
    let key = scan.key_id.as_ref().and_then(|key_id| keys.get(key_id));
    // The key must belong to the scan's author. A key of another device proves nothing for it.
    let good = key.is_some_and(|(owner, key)| *owner == scan.device_id && verify_v2(key, &scan, signature));
    Ok((scan, evidence, if good { SignatureState::Verified } else { SignatureState::Unverified }))
}

fn read_v1(raw: &str, caller: &DeviceCaller, context: &Context, offset: i64) -> std::result::Result<Read, FieldError> {
    let (item, evidence) = ScanV1::read_with_evidence(raw)?;
    if Timestamp::from_ms(item.scanned_at.at.ms().saturating_add(offset.saturating_mul(1_000))).is_err() {
        return Err(FieldError::new("scanned_at", "must lie between 1970 and 9999 once the offset is added"));
    }
    let good = item.verify(&caller.api_key);
    let scan = item.into_scan(&caller.device_id, &context.event_id);
    Ok((scan, evidence, if good { SignatureState::Verified } else { SignatureState::Unverified }))
}

pub(super) fn item(
    scan: Scan,
    evidence: Evidence,
    state: SignatureState,
    offset_seconds: i64,
    received_at: Timestamp,
) -> Item {
    let digest = content_digest(&scan);
    let fact = Fact { scan, digest, signature: state, withheld: false, offset_seconds, received_at, judged: None };
    Item { fact, evidence }
}

fn refuse(index: usize, raw: &str, error: FieldError, caller: &DeviceCaller, received_at: Timestamp) -> Refused {
    let readable = Readable::of(raw);
    Refused {
        index,
        record: RejectedRecord {
            device_id: caller.device_id.clone(),
            scan_id: readable.scan_id.map(|scan_id| scan_id.as_str().to_owned()),
            log: readable.log_id.zip(readable.seq),
            reason: error.to_string(),
            body: raw.to_owned(),
            received_at,
        },
    }
}
