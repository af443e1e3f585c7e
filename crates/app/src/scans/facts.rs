//! Scans become facts: what is new is stored, what is known is acknowledged, and what arrived of each log is noted
//! (architecture §6 walk 2 ④ ⑤). One event at a time, inside the lane.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{DeviceId, EventId, LogId, ScanId};
use admit_core::incident::{Cause, CauseSubject, IncidentKind, Subject};
use admit_core::scan::{Digest, Fact, Method, Outcome, Scan, SignatureState, better_offset};
use admit_core::time::Timestamp;

use super::decode::{Batch, Item, Refused};
use super::log::receive;
use super::quarantine::Quarantine;
use super::rejudge::{Touched, settle_incidents};
use super::walk_ins;
use crate::error::Result;
use crate::ports::Tx;
use crate::records::*;
use crate::seeded_ids::SeededIds;

/// The ids of a revoked device's batch that are stored already, when nothing more of it would be.
pub(super) fn nothing_new(tx: &mut dyn Tx, batch: &Batch, room: u64) -> Result<Option<Vec<ScanId>>> {
    let stored = tx.stored_ids(&scan_ids(batch))?;
    let known: BTreeSet<(&DeviceId, &ScanId, Digest)> =
        stored.iter().map(|StoredId { known, .. }| (&known.device_id, &known.scan_id, known.digest)).collect();
    let is_known = |item: &&Item| {
        let scan = &item.fact.scan;
        known.contains(&(&scan.device_id, &scan.scan_id, item.fact.digest))
    };
    if room > 0 && !batch.items.iter().all(|item| is_known(&item)) {
        return Ok(None);
    }
    // A receipt names an id: of a claim and its final both must be here.
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
    /// Ids that are stored now, new or known, in the order sent.
    pub kept: Vec<ScanId>,
    /// Contents that were not known before.
    pub new: usize,
    /// Canonical time of the newest of them.
    pub newest: Option<Timestamp>,
    /// Places in the batch of those of them whose code no ticket ever held, each scan's once: a claim and its final are
    /// one scan of one code.
    pub unknown: Vec<usize>,
    /// Places in the batch of all of them.
    pub fresh: Vec<usize>,
    /// Subjects they touch.
    pub touched: Touched,
    /// Places in the batch of what is stored now.
    pub places: Vec<usize>,
    /// Ids among them that two devices used.
    pub shared: BTreeSet<ScanId>,
    /// The device's outcome of each scan that the server hears of for the first time: a claim and its final are one scan.
    pub heard: Vec<Outcome>,
}

/// Stores what is new of a batch of one event, and what its deliveries prove of what is known. `room` is how many new
/// contents may be stored at most.
pub(super) fn store_facts(
    tx: &mut dyn Tx,
    carrier: &DeviceId,
    batch: &Batch,
    stamp: Stamp,
    quarantine: &Quarantine,
    room: u64,
) -> Result<Stored> {
    // What is known is asked before anything is stored: a batch of first scans then reads nothing back.
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
        // Its author was withdrawn, or never assigned to the event: unverified whoever carries it (spec D10).
        let withheld = quarantine.holds(scan);
        let fact = || Fact { withheld, ..item.fact.clone() };
        let offered = (item.fact.signature, item.fact.offset_seconds);
        match proven.get(&id).copied() {
            Some(held) => {
                let merged = (offered.0.min(held.0), better_offset(offered.1, held.1));
                let asked = item.fact.judged.is_some();
                // What such a device sends proves nothing more of what is known: it must not move a count.
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
    // A receipt names an id: of a claim and its final both must be here.
    out.kept.retain(|id| !lacking.contains(id));
    tx.insert_scans(&scans)?;
    let fresh = out.fresh.iter().map(|place| &batch.items[*place]);
    let named = fresh.filter_map(|item| Some((&item.fact.scan, item.evidence.named.as_ref()?)));
    walk_ins::keep_names(tx, &batch.event_id, named)?;
    if !deliveries.is_empty() {
        tx.insert_deliveries(&deliveries)?;
    }
    // Elsewhere than with the author: who carried the scan is no second user of its id.
    out.shared = out.kept.iter().filter(|id| users.get(id).is_some_and(|users| users.len() > 1)).cloned().collect();
    // Another content under a known id may take over what the first one counted for.
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

/// The store's rows for a batch's scan ids and codes before the batch was stored.
struct Before<'b> {
    event_id: &'b EventId,
    stored: Vec<StoredId>,
    tickets: BTreeMap<BarcodeHash, ResolvedCode>,
    /// How many contents the batch holds of each author's scan id.
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
        Ok(Self { event_id: &batch.event_id, stored: tx.stored_ids(&scan_ids(batch))?, tickets, contents })
    }
    /// The scans of the batch's event that are stored under an id of the very author that the batch names. Another
    /// event may have another scan under the same id.
    fn stored_of_authors(&self) -> impl Iterator<Item = &StoredId> {
        let here = self.stored.iter().filter(|one| one.known.event_id == *self.event_id);
        here.filter(|one| self.contents.contains_key(&(&one.known.device_id, &one.known.scan_id)))
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
    /// Which scan is known to be of which code or ticket, whatever else its contents say.
    fn asked(&self) -> BTreeSet<(&DeviceId, &ScanId, String)> {
        let known = self.stored_of_authors().map(|one| &one.known);
        known.map(|one| (&one.device_id, &one.scan_id, one.subject_key.clone())).collect()
    }
    /// Which devices used each id.
    fn users(&self) -> BTreeMap<&ScanId, BTreeSet<&DeviceId>> {
        let mut users: BTreeMap<&ScanId, BTreeSet<&DeviceId>> = BTreeMap::new();
        for StoredId { known, .. } in self.stored.iter().filter(|one| one.known.event_id == *self.event_id) {
            users.entry(&known.scan_id).or_default().insert(&known.device_id);
        }
        users
    }
    /// Whether its id stands for this content alone.
    fn is_first(&self, scan: &Scan) -> bool {
        let id = (&scan.device_id, &scan.scan_id);
        let alone = self.contents.get(&id).is_some_and(|contents| contents.len() == 1);
        let place = |one: &StoredId| (&one.known.scan_id, &one.known.device_id).cmp(&(&scan.scan_id, &scan.device_id));
        alone && self.stored.binary_search_by(place).is_err()
    }
    /// ④ Which ticket (spec §4): the one that ever held the code; else, if picked by hand, the ticket named; else the
    /// code. With it, whether it is known to have no state yet.
    fn subject(&self, scan: &Scan) -> Option<(Subject, bool)> {
        if let Some(code) = scan.barcode_hash.and_then(|hash| self.tickets.get(&hash)) {
            return Some((Subject::Ticket(code.ticket_id.clone()), !code.scanned));
        }
        let by_hand = scan.ticket_id.clone().filter(|_| scan.method == Method::Manual || scan.barcode_hash.is_none());
        by_hand.map(Subject::Ticket).or_else(|| scan.barcode_hash.map(Subject::Unknown)).map(|subject| (subject, false))
    }
}

/// Notes which places of which logs have arrived; answers the forked ones (spec §3 "Log").
pub(super) fn receive_logs(
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
        let before = (log.head, log.received.clone());
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
        if (log.head, &log.received) != (before.0, &before.1) {
            log.closed_at = None; // A log that speaks again was not abandoned.
        }
        tx.put_log(&log)?;
        let seqs: Vec<u64> = seqs.into_iter().collect();
        forks.push((device_id.clone(), log_id.clone(), tx.forked(&device_id, &log_id, &seqs)?));
    }
    Ok(forks)
}

/// Causes that are no ticket's: a log with two scans in one place, a scan id that two devices used.
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

/// A cause that names its subject and no scans: which of them arrived first must not show in it.
fn plain_cause(kind: IncidentKind, subject: CauseSubject) -> Cause {
    Cause { kind, subject, scans: Vec::new(), order_uncertain: false }
}
