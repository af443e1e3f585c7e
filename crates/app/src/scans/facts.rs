//! Makes facts of scans: new ones are stored, known ones are acknowledged, and the arrivals of each log are noted
//! (ARCHITECTURE.md §6 walk 2 ④ ⑤). It handles one event at a time, inside the lane.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{DeviceId, LogId, ScanId};
use admit_core::incident::{Cause, CauseSubject, IncidentKind, Subject};
use admit_core::scan::{Digest, Fact, Method, Outcome, Scan, SignatureState, better_offset};
use admit_core::time::Timestamp;

use super::decode::{Batch, Item, Refused};
use super::log::{has, receive};
use super::quarantine::Quarantine;
use super::rejudge::{Touched, settle_incidents};
use super::walk_ins;
use crate::error::Result;
use crate::ports::Tx;
use crate::records::{KnownScan, LogRecord, NewDelivery, NewScan, ResolvedCode, Stamp, StoredId};
use crate::seeded_ids::SeededIds;

/// The ids of a revoked device's batch that are stored already, if no more of the batch would be stored. `None` if it
/// would.
pub(super) fn nothing_new(tx: &mut dyn Tx, batch: &Batch, room: u64) -> Result<Option<Vec<ScanId>>> {
    let stored = tx.stored_ids(&batch.event_id, &scan_ids(batch))?;
    let known: BTreeSet<(&DeviceId, &ScanId, Digest)> =
        stored.iter().map(|StoredId { known, .. }| (&known.device_id, &known.scan_id, known.digest)).collect();
    let is_known = |item: &&Item| {
        let scan = &item.fact.scan;
        known.contains(&(&scan.device_id, &scan.scan_id, item.fact.digest))
    };
    if room > 0 && !batch.items.iter().all(|item| is_known(&item)) {
        return Ok(None);
    }
    // A receipt names a scan id. So a claim and its final must both be stored.
    let lacking: BTreeSet<&ScanId> =
        batch.items.iter().filter(|item| !is_known(item)).map(|item| &item.fact.scan.scan_id).collect();
    Ok(Some(scan_ids(batch).into_iter().filter(|id| !lacking.contains(id)).collect()))
}

/// Every scan id of a batch, once.
pub(super) fn scan_ids(batch: &Batch) -> Vec<ScanId> {
    let ids: BTreeSet<&ScanId> = batch.items.iter().map(|item| &item.fact.scan.scan_id).collect();
    ids.into_iter().cloned().collect()
}

/// The result of storing a batch's items.
#[derive(Default)]
pub(super) struct Stored {
    /// Ids of the scans that are stored now, new or known before, in the order sent.
    pub kept: Vec<ScanId>,
    /// Number of contents that were not known before.
    pub new: usize,
    /// Canonical time of the newest of these new contents. Absent if there are none.
    pub newest: Option<Timestamp>,
    /// Indexes in the batch of new contents whose code no ticket ever held, one per scan. A claim and its final are one
    /// scan of one code.
    pub unknown: Vec<usize>,
    /// Indexes in the batch of all new contents.
    pub fresh: Vec<usize>,
    /// The subjects that the batch touches.
    pub touched: Touched,
    /// Indexes in the batch of all scans that are stored now.
    pub places: Vec<usize>,
    /// Ids among these scans that two devices used.
    pub shared: BTreeSet<ScanId>,
    /// For each scan that the server receives for the first time, the outcome that its device showed. A claim and its
    /// final are one scan.
    pub heard: Vec<Outcome>,
}

/// Stores the new scans of a batch of one event, and what its deliveries prove of known ones. `room` is the most new
/// contents that may be stored.
pub(super) fn store_facts(
    tx: &mut dyn Tx,
    carrier: &DeviceId,
    batch: &Batch,
    stamp: Stamp,
    quarantine: &Quarantine,
    room: u64,
) -> Result<Stored> {
    // The known rows are read before anything is stored. So a batch of only new scans reads nothing back.
    let before = Before::of(tx, batch)?;
    let mut proven = before.proven();
    let mut out = Stored::default();
    let (mut scans, mut deliveries) = (Vec::new(), Vec::new());
    let (mut kept, mut lacking, mut users) = (BTreeSet::new(), BTreeSet::new(), before.users());
    let mut asked = before.asked();
    let (heard_before, mut heard) = (before.users(), BTreeMap::new());
    for (place, item) in batch.items.iter().enumerate() {
        let scan = &item.fact.scan;
        let id = (&scan.device_id, &scan.scan_id, item.fact.digest);
        // The scan's author was revoked, or never assigned to the event. So the scan is unverified, whichever device
        // delivers it (spec D10).
        let withheld = quarantine.holds(scan);
        let fact = || Fact { withheld, ..item.fact.clone() };
        let offered = (item.fact.signature, item.fact.offset_seconds);
        match proven.get(&id).copied() {
            Some(held) => {
                let merged = (offered.0.min(held.0), better_offset(offered.1, held.1));
                let asked = item.fact.judged.is_some();
                // A delivery that is withheld must not prove anything more, since that would change a count.
                if (merged != held || asked) && !withheld {
                    proven.insert(id, merged);
                    let carrier = carrier.clone();
                    deliveries.push(NewDelivery { fact: fact(), serial: stamp.serial, carrier });
                    before.subject(scan).into_iter().for_each(|(subject, _)| out.touched.again(subject.key()));
                }
            }
            None => {
                if out.new as u64 >= room {
                    lacking.insert(&scan.scan_id);
                    continue;
                }
                out.new += 1;
                out.fresh.push(place);
                if heard_before.get(&scan.scan_id).is_none_or(|devices| !devices.contains(&scan.device_id)) {
                    heard.insert((&scan.device_id, &scan.scan_id), scan.outcome);
                }
                out.newest = out.newest.max(Some(item.fact.at()));
                proven.insert(id, offered);
                users.entry(&scan.scan_id).or_default().insert(&scan.device_id);
                scans.push(new_scan(fact(), item, batch, carrier, stamp));
                let subject = before.subject(scan);
                if let Some((subject @ Subject::Unknown(_), _)) = &subject
                    && asked.insert((&scan.device_id, &scan.scan_id, subject.key()))
                {
                    out.unknown.push(place);
                }
                match subject {
                    Some((subject, true)) if before.is_first(scan) => out.touched.first(subject, fact()),
                    Some((subject, _)) => out.touched.again(subject.key()),
                    None => {}
                }
            }
        }
        out.places.push(place);
        if kept.insert(&scan.scan_id) {
            out.kept.push(scan.scan_id.clone());
        }
    }
    out.heard = heard.into_values().collect();
    // A receipt names a scan id. So a claim and its final must both be stored.
    out.kept.retain(|id| !lacking.contains(id));
    tx.insert_scans(&scans)?;
    let fresh = out.fresh.iter().map(|place| &batch.items[*place]);
    let named = fresh.filter_map(|item| Some((&item.fact.scan, item.evidence.named.as_ref()?)));
    walk_ins::keep_names(tx, &batch.event_id, named)?;
    if !deliveries.is_empty() {
        tx.insert_deliveries(&deliveries)?;
    }
    // Only authors are counted. A device that delivers a scan of another is no second user of the id.
    out.shared = out.kept.iter().filter(|id| users.get(id).is_some_and(|users| users.len() > 1)).cloned().collect();
    // Another content under a known id may replace the one that counted before.
    before.stored_of_authors().for_each(|one| out.touched.again(one.known.subject_key.clone()));
    Ok(out)
}

fn new_scan(fact: Fact, item: &Item, batch: &Batch, carrier: &DeviceId, stamp: Stamp) -> NewScan {
    NewScan {
        fact,
        serial: stamp.serial,
        batch_id: Some(batch.batch_id.clone()),
        carrier: carrier.clone(),
        evidence: item.evidence.clone(),
    }
}

/// The store's rows for a batch's scan ids and codes, read before the batch is stored.
struct Before<'b> {
    stored: Vec<StoredId>,
    tickets: BTreeMap<BarcodeHash, ResolvedCode>,
    /// The contents that the batch holds under each author's scan id.
    contents: BTreeMap<(&'b DeviceId, &'b ScanId), BTreeSet<Digest>>,
}

impl<'b> Before<'b> {
    fn of(tx: &mut dyn Tx, batch: &'b Batch) -> Result<Self> {
        let mut contents: BTreeMap<(&DeviceId, &ScanId), BTreeSet<Digest>> = BTreeMap::new();
        let mut hashes = BTreeSet::new();
        for Item { fact, .. } in &batch.items {
            contents.entry((&fact.scan.device_id, &fact.scan.scan_id)).or_default().insert(fact.digest);
            hashes.extend(fact.scan.barcode_hash);
        }
        let hashes: Vec<BarcodeHash> = hashes.into_iter().collect();
        let codes = tx.resolve_codes(&batch.event_id, &hashes)?;
        let tickets = codes.into_iter().map(|code| (code.hash, code)).collect();
        Ok(Self { stored: tx.stored_ids(&batch.event_id, &scan_ids(batch))?, tickets, contents })
    }
    /// Stored scans under an id and by an author that the batch names.
    fn stored_of_authors(&self) -> impl Iterator<Item = &StoredId> {
        let of_author = |one: &&StoredId| self.contents.contains_key(&(&one.known.device_id, &one.known.scan_id));
        self.stored.iter().filter(of_author)
    }
    /// The proof of each content by the deliveries so far.
    fn proven(&self) -> BTreeMap<(&DeviceId, &ScanId, Digest), (SignatureState, i64)> {
        self.stored_of_authors()
            .map(|one| {
                let KnownScan { device_id, scan_id, digest, .. } = &one.known;
                ((device_id, scan_id, *digest), (one.signature, one.offset_seconds))
            })
            .collect()
    }
    /// The scans that are stored already, each with its subject, whatever their other contents say.
    fn asked(&self) -> BTreeSet<(&DeviceId, &ScanId, String)> {
        let known = self.stored_of_authors().map(|one| &one.known);
        known.map(|one| (&one.device_id, &one.scan_id, one.subject_key.clone())).collect()
    }
    /// The devices that used each id.
    fn users(&self) -> BTreeMap<&ScanId, BTreeSet<&DeviceId>> {
        let mut users: BTreeMap<&ScanId, BTreeSet<&DeviceId>> = BTreeMap::new();
        for StoredId { known, .. } in &self.stored {
            users.entry(&known.scan_id).or_default().insert(&known.device_id);
        }
        users
    }
    /// Whether no other content has the scan's id, in the batch or in the store.
    fn is_first(&self, scan: &Scan) -> bool {
        let id = (&scan.device_id, &scan.scan_id);
        let alone = self.contents.get(&id).is_some_and(|contents| contents.len() == 1);
        let place = |one: &StoredId| (&one.known.scan_id, &one.known.device_id).cmp(&(&scan.scan_id, &scan.device_id));
        alone && self.stored.binary_search_by(place).is_err()
    }
    /// ④ The scan's subject (spec §4): the ticket that ever held its code, otherwise the ticket that a person picked,
    /// otherwise the code. The second value tells whether the subject is known to have no state yet.
    fn subject(&self, scan: &Scan) -> Option<(Subject, bool)> {
        if let Some(code) = scan.barcode_hash.and_then(|hash| self.tickets.get(&hash)) {
            return Some((Subject::Ticket(code.ticket_id.clone()), !code.scanned));
        }
        let by_hand = scan.ticket_id.clone().filter(|_| scan.method == Method::Manual || scan.barcode_hash.is_none());
        by_hand.map(Subject::Ticket).or_else(|| scan.barcode_hash.map(Subject::Unknown)).map(|subject| (subject, false))
    }
}

/// Notes which places of which logs have arrived. Returns the forked logs (spec §3 "Log").
pub(super) fn receive_logs(
    tx: &mut dyn Tx,
    batch: &Batch,
    stored: &Stored,
    refused: &[Refused],
) -> Result<Vec<(DeviceId, LogId, Vec<u64>)>> {
    let mut places: BTreeMap<(DeviceId, LogId), BTreeMap<u64, usize>> = BTreeMap::new();
    let fresh: BTreeSet<usize> = stored.fresh.iter().copied().collect();
    let of_items = stored.places.iter().filter_map(|place| {
        let Fact { scan, signature, .. } = &batch.items[*place].fact;
        // Only a signed scan may fill a gap in another device's log (invariant I20).
        if *signature == SignatureState::Unverified && scan.device_id != batch.device_id {
            return None;
        }
        Some((scan.device_id.clone(), scan.log_id.clone()?, scan.seq?, usize::from(fresh.contains(place))))
    });
    let of_rejected = refused.iter().filter_map(|item| {
        let (log_id, seq) = item.record.log.clone()?;
        Some((item.record.device_id.clone(), log_id, seq, 0))
    });
    for (device_id, log_id, seq, new) in of_items.chain(of_rejected) {
        *places.entry((device_id, log_id)).or_default().entry(seq).or_default() += new;
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
        let before = (log.head, log.received.clone());
        // A new content stands beside another one only where the log had one before, or where the batch brings two.
        let doubtful: Vec<u64> = seqs
            .iter()
            .filter(|(seq, new)| **new > 1 || **new == 1 && has(&log.received, **seq))
            .map(|(seq, _)| *seq)
            .collect();
        if seqs.keys().next_back().is_some_and(|newest| *newest >= log.head) {
            log.event_id = batch.event_id.clone();
        }
        for seq in seqs.keys() {
            receive(&mut log.received, *seq);
            log.head = log.head.max(*seq);
        }
        if let Some((_, head)) = batch.log.as_ref().filter(|(id, _)| *id == log_id && device_id == batch.device_id) {
            log.head = log.head.max(*head);
        }
        if (log.head, &log.received) != (before.0, &before.1) {
            log.closed_at = None; // A device that reports a log has not abandoned it.
        }
        tx.put_log(&log)?;
        let forked = if doubtful.is_empty() { Vec::new() } else { tx.forked(&device_id, &log_id, &doubtful)? };
        forks.push((device_id.clone(), log_id.clone(), forked));
    }
    Ok(forks)
}

/// Settles causes that belong to no ticket: a log with two scans at one place, a scan id that two devices used.
pub(super) fn settle_ids(
    tx: &mut dyn Tx,
    batch: &Batch,
    stored: &Stored,
    logs: Vec<(DeviceId, LogId, Vec<u64>)>,
    stamp: Stamp,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<bool> {
    let mut causes: BTreeMap<String, Vec<Cause>> = BTreeMap::new();
    for (device_id, log_id, _) in logs.into_iter().filter(|(_, _, seqs)| !seqs.is_empty()) {
        let subject = CauseSubject::Log(device_id, log_id);
        causes.insert(subject.key(), vec![plain_cause(IncidentKind::LogForked, subject)]);
    }
    for scan_id in &stored.shared {
        let subject = CauseSubject::ScanId(scan_id.clone());
        causes.insert(subject.key(), vec![plain_cause(IncidentKind::ScanIdReused, subject)]);
    }
    let held = causes.iter().map(|(key, causes)| (key.clone(), causes.as_slice())).collect();
    Ok(settle_incidents(tx, &batch.event_id, &held, stamp, now, seeded)?.changed)
}

/// A cause that names its subject and no scans, since it must not show which of them arrived first.
fn plain_cause(kind: IncidentKind, subject: CauseSubject) -> Cause {
    Cause { kind, subject, scans: Vec::new(), order_uncertain: false }
}
