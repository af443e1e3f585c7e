//! Makes facts of scans: new ones are to be stored, known ones are acknowledged (ARCHITECTURE.md §6 walk 2 ④ ⑤). It
//! handles one event at a time.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{DeviceId, ScanId};
use admit_core::incident::Subject;
use admit_core::scan::{Digest, Fact, Method, Outcome, Scan, SignatureState, better_offset};
use admit_core::time::Timestamp;

use super::decode::{Batch, Item};
use super::quarantine::Quarantine;
use super::subjects::Touched;
use crate::error::Result;
use crate::ports::Tx;
use crate::records::{KnownScan, NewDelivery, NewScan, ResolvedCode, Stamp, StoredId};

/// The ids of the scans of a revoked device's batch that are stored already, if nothing else of the batch is to be
/// stored. `None` if something is left to store.
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

/// Which of a batch's scans are stored after the write.
#[derive(Default)]
pub(super) struct Stored {
    /// Ids of the scans that are stored after the write, new or known before, in the order sent.
    pub kept: Vec<ScanId>,
    /// Canonical time of the newest new content. Absent if there is none.
    pub newest: Option<Timestamp>,
    /// Indexes in the batch of new contents whose code no ticket ever held, one per scan. Of a claim and its final,
    /// only one index is in the list.
    pub unknown: Vec<usize>,
    /// Indexes in the batch of all new contents.
    pub fresh: Vec<usize>,
    /// Indexes in the batch of all scans that are stored then.
    pub places: Vec<usize>,
    /// Ids among these scans that two devices used.
    pub shared: BTreeSet<ScanId>,
    /// For each scan that the server receives for the first time, the outcome that its device showed. A claim and its
    /// final are one scan.
    pub heard: Vec<Outcome>,
}

/// The facts that a batch of one event adds, and the data from which its answer is made.
#[derive(Default)]
pub(super) struct Facts {
    /// The new contents.
    pub scans: Vec<NewScan>,
    /// Deliveries that prove more about contents that are known.
    pub deliveries: Vec<NewDelivery>,
    /// The subjects that the batch touches, with these facts.
    pub touched: Touched,
    /// The rows that the batch's answer, its log and its findings need.
    pub stored: Stored,
}

/// Plans which contents of a batch are new, and what its deliveries prove of known ones. `room` is the most new
/// contents that may be stored.
pub(super) fn plan(before: &Before<'_>, batch: &Batch, stamp: Stamp, quarantine: &Quarantine, room: u64) -> Facts {
    let carrier = &batch.device_id;
    let mut proven = before.proven();
    let (mut out, mut stored) = (Facts::default(), Stored::default());
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
                    out.deliveries.push(NewDelivery { fact: fact(), serial: stamp.serial, carrier });
                    before.subject(scan).into_iter().for_each(|(subject, _)| out.touched.arrives(subject, fact()));
                }
            }
            None => {
                if stored.fresh.len() as u64 >= room {
                    lacking.insert(&scan.scan_id);
                    continue;
                }
                stored.fresh.push(place);
                if heard_before.get(&scan.scan_id).is_none_or(|devices| !devices.contains(&scan.device_id)) {
                    heard.insert((&scan.device_id, &scan.scan_id), scan.outcome);
                }
                stored.newest = stored.newest.max(Some(item.fact.at()));
                proven.insert(id, offered);
                users.entry(&scan.scan_id).or_default().insert(&scan.device_id);
                out.scans.push(new_scan(fact(), item, batch, stamp));
                let subject = before.subject(scan);
                if let Some((subject @ Subject::Unknown(_), _)) = &subject
                    && asked.insert((&scan.device_id, &scan.scan_id, subject.key()))
                {
                    stored.unknown.push(place);
                }
                match subject {
                    Some((subject, true)) if before.is_first(scan) => out.touched.first(subject, fact()),
                    Some((subject, _)) => out.touched.arrives(subject, fact()),
                    None => {}
                }
            }
        }
        stored.places.push(place);
        if kept.insert(&scan.scan_id) {
            stored.kept.push(scan.scan_id.clone());
        }
    }
    stored.heard = heard.into_values().collect();
    // A receipt names a scan id. So a claim and its final must both be stored.
    stored.kept.retain(|id| !lacking.contains(id));
    // Only authors are counted. A device that delivers a scan of another is no second user of the id.
    let shared = stored.kept.iter().filter(|id| users.get(id).is_some_and(|users| users.len() > 1));
    stored.shared = shared.cloned().collect();
    // Another content under a known id may replace the one that counted before.
    before.stored_of_authors().for_each(|one| out.touched.again(one.known.subject_key.clone()));
    out.touched = out.touched.settled();
    out.stored = stored;
    out
}

fn new_scan(fact: Fact, item: &Item, batch: &Batch, stamp: Stamp) -> NewScan {
    NewScan {
        fact,
        serial: stamp.serial,
        batch_id: Some(batch.batch_id.clone()),
        carrier: batch.device_id.clone(),
        evidence: item.evidence.clone(),
    }
}

/// The rows stored about a batch's scan ids and codes.
pub(super) struct Before<'b> {
    stored: Vec<StoredId>,
    tickets: BTreeMap<BarcodeHash, ResolvedCode>,
    /// The contents that the batch holds under each author's scan id.
    contents: BTreeMap<(&'b DeviceId, &'b ScanId), BTreeSet<Digest>>,
}

impl<'b> Before<'b> {
    /// Loads it.
    pub fn load(tx: &mut dyn Tx, batch: &'b Batch) -> Result<Self> {
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
    /// Each stored scan of the batch's authors, with the subject of its code. A scan in this set is not new, so the
    /// plan does not count its unknown code a second time.
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
    /// The scan's subject (ARCHITECTURE.md §6 walk 2 ④, spec §4). It is the ticket that ever held its code, otherwise
    /// the ticket that a person picked, otherwise the code. The second value is true if the subject certainly has no
    /// state yet.
    fn subject(&self, scan: &Scan) -> Option<(Subject, bool)> {
        if let Some(code) = scan.barcode_hash.and_then(|hash| self.tickets.get(&hash)) {
            return Some((Subject::Ticket(code.ticket_id.clone()), !code.scanned));
        }
        let by_hand = scan.ticket_id.clone().filter(|_| scan.method == Method::Manual || scan.barcode_hash.is_none());
        by_hand.map(Subject::Ticket).or_else(|| scan.barcode_hash.map(Subject::Unknown)).map(|subject| (subject, false))
    }
}

#[cfg(test)]
mod tests;
