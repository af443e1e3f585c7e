//! Imports a saved log by hand (spec D10): the file that a device offers when it was revoked, or has no network any
//! more.
//!
//! Scans in our form carry their author's signature, so they are proven, whoever brings the file. Scans of a revoked or
//! suspended device still wait for a person. With `accept`, the import counts them at once.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::access::Action;
use admit_core::ids::{BatchId, DeviceId, EventId, KeyId, ScanId};
use admit_core::limits::{IMPORT_ERRORS, IMPORT_SCANS, SYNC_S2_SCANS};
use admit_core::scan::{Digest, Fact, Scan, SignatureState};
use admit_core::sign::{content_digest, token_hash, verify_v2};
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{Evidence, ScanV2};
use serde_json::json;

use super::accept::{accept_in, proven_among, tell};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::ports::{App, Scope, Tx, read, write};
use crate::records::StoredId;
use crate::rules::Brought;
use crate::scans::decode::{Batch, Item, Keys};
use crate::scans::ingest_batch::intake;
use crate::scans::quarantine::Quarantine;
use crate::seeded_ids::SeededIds;

/// A line of the file that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongLine {
    /// The number of the line, from 1.
    pub line: usize,
    /// The fault of the line, in words.
    pub message: String,
}

/// The result of importing a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportedLog {
    /// Number of scans that were not stored before.
    pub stored: usize,
    /// Number of scans that were stored before.
    pub known: usize,
    /// Number of proven scans of the file that count nothing until a person accepts them. Importing again with `accept`
    /// counts them.
    pub waiting: usize,
    /// Number of waiting scans that nothing proves. They stay in the review queue.
    pub unproven: usize,
    /// Number of scans that this act counted.
    pub counted: usize,
    /// Number of lines left out. The first thousand are in `errors`.
    pub wrong_lines: usize,
    /// The wrong lines.
    pub errors: Vec<WrongLine>,
}

/// Imports a log of JSON lines, each a scan in our form, as a device saves them. Importing a file twice changes
/// nothing. With `accept`, its waiting scans count from now on. Scans of another event, and of devices that this
/// organisation does not know, are left out and reported.
pub async fn import_log(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    file: &[u8],
    accept: bool,
) -> Result<ImportedLog> {
    caller.must(Action::ManageDevices)?;
    if accept {
        caller.must(Action::Review)?;
    }
    let now = app.clock.now();
    // 1. Read the file, line by line.
    let (read_lines, mut report) = read_file(file, &event_id)?;
    // 2. Find the authors, and check the signatures.
    let items = prove(app, caller, &event_id, read_lines, now, &mut report).await?;
    // 3. Store the scans in chunks, each in a transaction of its own. A stored chunk stays stored.
    let batch_id = BatchId::new(format!("import:{}", admit_core::barcode::hex(&content(file)[..16])));
    let batch_id = batch_id.map_err(|error| Error::Bug(error.to_string()))?;
    let carrier: DeviceId =
        format!("user:{}", caller.user_id).parse().map_err(|_| Error::Bug("a user's id is no carrier's".into()))?;
    for chunk in items.chunks(SYNC_S2_SCANS) {
        let batch = Batch {
            batch_id: batch_id.clone(),
            device_id: carrier.clone(),
            endpoint: "import",
            event_id: event_id.clone(),
            offset_seconds: 0,
            log: None,
            items: chunk.to_vec(),
            rejected: Vec::new(),
        };
        let (by, seeded, scope) = (caller.clone(), app.seeded_ids(), Scope::event(&caller.organization_id, &event_id));
        let (one, brought) =
            write(&*app.store, scope, move |tx| store_chunk(tx, &by, &batch, accept, now, &mut seeded.clone())).await?;
        report.stored += one.stored;
        report.known += one.known;
        report.waiting += one.waiting;
        report.unproven += one.unproven;
        report.counted += one.counted;
        tell(app, caller, brought.map(|brought| (event_id.clone(), brought)).into_iter().collect());
    }
    Ok(report)
}

fn content(file: &[u8]) -> [u8; 32] {
    token_hash(&String::from_utf8_lossy(file))
}

type Line = (usize, Scan, Evidence);

fn read_file(file: &[u8], event_id: &EventId) -> Result<(Vec<Line>, ImportedLog)> {
    let text = std::str::from_utf8(file).map_err(|_| Error::invalid("", "must be UTF-8 text, one scan a line"))?;
    let text = text.trim_start_matches('\u{feff}');
    let (mut lines, mut report) = (Vec::new(), ImportedLog::default());
    for (place, raw) in (1..).zip(text.lines()).filter(|(_, raw)| !raw.trim().is_empty()) {
        if lines.len() + report.wrong_lines >= IMPORT_SCANS {
            return Err(Error::invalid("", format!("holds more than {IMPORT_SCANS} lines: import it in parts")));
        }
        match ScanV2::read_with_evidence(raw) {
            Ok((scan, _)) if scan.event_id != *event_id => {
                report.wrong(place, format!("is of event {}: import it there", scan.event_id));
            }
            Ok((scan, evidence)) => lines.push((place, scan, evidence)),
            Err(error) => report.wrong(place, error.to_string()),
        }
    }
    if lines.is_empty() && report.wrong_lines == 0 {
        return Err(Error::invalid("", "holds no scans: save the log on the device and choose that file"));
    }
    Ok((lines, report))
}

/// Reads a log and stores nothing. Returns the number of lines that are scans, and of wrong ones.
#[cfg(feature = "fuzzing")]
pub fn try_reading_log(file: &[u8], event_id: &EventId) -> Result<(usize, usize)> {
    read_file(file, event_id).map(|(lines, report)| (lines.len(), report.wrong_lines))
}

impl ImportedLog {
    fn wrong(&mut self, line: usize, message: String) {
        self.wrong_lines += 1;
        if self.errors.len() < IMPORT_ERRORS {
            self.errors.push(WrongLine { line, message });
        }
    }
}

async fn prove(
    app: &App,
    caller: &UserCaller,
    event_id: &EventId,
    lines: Vec<Line>,
    received_at: Timestamp,
    report: &mut ImportedLog,
) -> Result<Vec<Item>> {
    let authors: BTreeSet<DeviceId> = lines.iter().map(|(_, scan, _)| scan.device_id.clone()).collect();
    let named: BTreeSet<KeyId> = lines.iter().filter_map(|(_, scan, _)| scan.key_id.clone()).collect();
    let (secret, event_id) = (app.secret.clone(), event_id.clone());
    let (known, keys) = read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        let mut known = BTreeSet::new();
        for author in authors {
            if tx.device(&author)?.is_some() {
                known.insert(author);
            }
        }
        let mut keys = Keys::new();
        for key_id in named {
            if let Some(key) = tx.device_key(&key_id)? {
                let opened = secret.open(key_id.as_str(), &key.sealed_scan_key)?;
                let scan_key: [u8; 32] =
                    opened.try_into().map_err(|_| Error::Bug("a sealed scan key has a wrong length".into()))?;
                keys.insert(key_id, (key.device_id, scan_key));
            }
        }
        Ok((known, keys))
    })
    .await?;
    let mut items = Vec::with_capacity(lines.len());
    for (line, scan, evidence) in lines {
        if !known.contains(&scan.device_id) {
            report.wrong(line, format!("is of device {}, which is none of yours", scan.device_id));
            continue;
        }
        items.push(item(scan, evidence, &keys, received_at));
    }
    report.errors.sort_by_key(|wrong| wrong.line);
    Ok(items)
}

fn item(scan: Scan, evidence: Evidence, keys: &Keys, received_at: Timestamp) -> Item {
    let key = scan.key_id.as_ref().and_then(|key_id| keys.get(key_id));
    let signature = evidence.signature.as_deref().unwrap_or_default();
    let good = key.is_some_and(|(owner, key)| *owner == scan.device_id && verify_v2(key, &scan, signature));
    let digest = content_digest(&scan);
    let state = if good { SignatureState::Verified } else { SignatureState::Unverified };
    let fact = Fact { scan, digest, signature: state, withheld: false, offset_seconds: 0, received_at, judged: None };
    Item { fact, evidence }
}

fn store_chunk(
    tx: &mut dyn Tx,
    by: &UserCaller,
    batch: &Batch,
    accept: bool,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<(ImportedLog, Option<Brought>)> {
    let event_id = &batch.event_id;
    events::require(tx, event_id)?;
    let mut of_author: BTreeMap<&DeviceId, BTreeSet<(ScanId, Digest)>> = BTreeMap::new();
    let mut proofs = BTreeMap::new();
    for Item { fact, .. } in &batch.items {
        let id = (fact.scan.scan_id.clone(), fact.digest);
        of_author.entry(&fact.scan.device_id).or_default().insert(id);
        proofs.insert((&fact.scan.device_id, &fact.scan.scan_id, fact.digest), fact.signature);
    }
    // The chunk is written only if it holds a scan that is new, or that is better proven than the stored one.
    let (mut known, mut better) = (0, false);
    for (author, scans) in &of_author {
        let ids: Vec<ScanId> = scans.iter().map(|(scan_id, _)| scan_id.clone()).collect();
        for StoredId { known: stored, signature: held, .. } in tx.stored_ids(event_id, &ids)? {
            if let Some(offered) = proofs.get(&(*author, &stored.scan_id, stored.digest))
                && stored.device_id == **author
            {
                known += 1;
                better |= *offered < held;
            }
        }
    }
    let mut out = ImportedLog { known, ..ImportedLog::default() };
    let mut brought: Option<Brought> = None;
    if better || known < proofs.len() {
        let stamp = tx.stamp(event_id)?;
        let quarantine = Quarantine::of(tx, batch, None, &[])?;
        let (stored, rejudged) = intake(tx, batch, stamp, &quarantine, now, seeded)?;
        out.stored = stored;
        brought = Some(Brought::of(stamp, &rejudged));
    }
    for (author, scans) in &of_author {
        if !accept {
            let waiting = tx.waiting_scans(event_id, author)?;
            let ids: Vec<ScanId> = waiting.iter().map(|one| one.scan_id.clone()).collect();
            let proven = proven_among(tx, event_id, author, &ids)?;
            let waiting: BTreeSet<(ScanId, Digest)> =
                waiting.into_iter().map(|one| (one.scan_id, one.digest)).filter(|id| scans.contains(id)).collect();
            out.waiting += waiting.intersection(&proven).count();
            out.unproven += waiting.difference(&proven).count();
            continue;
        }
        let one = accept_in(tx, by, event_id, author, Some(scans), now, seeded)?;
        out.counted += one.accepted.counted;
        out.unproven += one.accepted.waiting;
        brought = merged(brought, one.brought);
    }
    if brought.is_some() {
        let said = json!({ "stored": out.stored, "known": out.known, "counted": out.counted });
        let entity = ("BatchSync", batch.batch_id.as_str());
        tx.append_audit(line::of(by, Some(event_id), "log_imported", entity, said))?;
    }
    Ok((out, brought))
}

fn merged(a: Option<Brought>, b: Option<Brought>) -> Option<Brought> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Brought {
            serial: a.serial,
            entered: a.entered + b.entered,
            moved: a.moved || b.moved,
            incidents: a.incidents || b.incidents,
        }),
        (a, b) => a.or(b),
    }
}
