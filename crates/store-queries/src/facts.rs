//! Scans as facts. A scan is stored once, in a block. When the store reads a scan, it adds the proof of later
//! deliveries and finds the scan's subject.

use std::collections::{BTreeMap, BTreeSet};

use admit_app::error::{Error, Result};
use admit_app::ports::{TxFacts, TxTickets as _};
use admit_app::records::{KnownScan, NewDelivery, NewScan, StoredId};
use admit_core::barcode::BarcodeHash;
use admit_core::ids::{DeviceId, EventId, ScanId, TicketId};
use admit_core::incident::Subject;
use admit_core::reduce::{Resolved, merge_deliveries};
use admit_core::scan::{Digest, Fact, Judged, Scan};

use crate::block_index::{Key, Locator, pick};
use crate::blocks::{Content, Located, content};
use crate::driver::{Driver, bulks, statements};
use crate::tx::SqlTx;
use crate::value::{Row, Value};

statements! {
    /// Every code that the given tickets have, or once had.
    CODES_OF_TICKETS = "SELECT barcode_hash FROM codes WHERE organization_id = $1 AND event_id = $2 AND ticket_id IN ($3)";
    /// Later deliveries of the given scans.
    DELIVERIES = "SELECT scan_id, device_id, digest, signature_state, withheld, offset_seconds, received_at, judged_serial,
        judged_outcome FROM deliveries WHERE organization_id = $1 AND scan_id IN ($2)";
}
bulks! {
    /// Stores the proof that later deliveries bring.
    INSERT_DELIVERIES = "deliveries" {
        organization_id: Text, scan_id: Text, device_id: Text, digest: Blob, serial: Int, signature_state: Text,
        withheld: Bool, offset_seconds: Int, received_at: Int, judged_serial: Int, judged_outcome: Text, carrier: Text,
    };
}

/// The subject of a scan (spec §4 "Which ticket"): the ticket of its code, a person's pick, or the code itself. If a
/// code matched no ticket and staff picked the guest by hand, the code that was read (`raw_hash`) is kept as evidence
/// only. A ticket that gets that code later may be another person's.
fn subject_of(scan: &Scan, held: &BTreeMap<BarcodeHash, TicketId>) -> Result<Subject> {
    let of_code = scan.barcode_hash.and_then(|hash| held.get(&hash));
    let ticket_id = of_code.or(pick(scan)).cloned().map(Subject::Ticket);
    let subject = ticket_id.or_else(|| scan.barcode_hash.map(Subject::Unknown));
    subject
        .ok_or_else(|| Error::Bug(format!("the stored scan {} has neither a code nor a picked ticket", scan.scan_id)))
}
fn read_judged(row: &mut Row) -> Result<Option<Judged>> {
    let serial = row.option(Row::count)?;
    let outcome = row.option(Row::parsed)?;
    Ok(serial.zip(outcome).map(|(serial, outcome)| Judged { serial, outcome }))
}
fn proof<'a>(fact: &'a Fact) -> [Value<'a>; 6] {
    [
        fact.signature.as_str().into(),
        fact.withheld.into(),
        fact.offset_seconds.into(),
        fact.received_at.into(),
        fact.judged.map(|judged| judged.serial).into(),
        fact.judged.map(|judged| judged.outcome.as_str()).into(),
    ]
}

/// A fact with its locator and its subject.
pub(crate) type LocatedFact = (Locator, Resolved);

impl<D: Driver> SqlTx<'_, D> {
    /// Makes facts of scans: resolves each to its subject, and adds the proof of its later deliveries.
    pub(crate) fn resolve(&mut self, event_id: &EventId, scans: Vec<Located>) -> Result<Vec<LocatedFact>> {
        let hashes: BTreeSet<BarcodeHash> = scans.iter().filter_map(|(_, kept)| kept.fact.scan.barcode_hash).collect();
        let hashes: Vec<BarcodeHash> = hashes.into_iter().collect();
        let held: BTreeMap<BarcodeHash, TicketId> = self.find_codes(event_id, &hashes)?.into_iter().collect();
        let resolved = |(locator, kept): Located| Ok((locator, (subject_of(&kept.fact.scan, &held)?, kept.fact)));
        let mut facts: Vec<LocatedFact> = scans.into_iter().map(resolved).collect::<Result<_>>()?;
        self.merge_later(&mut facts)?;
        Ok(facts)
    }
    /// Adds the proof of later deliveries to facts.
    fn merge_later(&mut self, facts: &mut [LocatedFact]) -> Result<()> {
        let id = self.organization_id.clone();
        let scan_ids: BTreeSet<ScanId> = facts.iter().map(|(_, (_, fact))| fact.scan.scan_id.clone()).collect();
        let list: Vec<Value<'_>> = scan_ids.iter().map(Value::from).collect();
        let found = self.each(&DELIVERIES, &[(&id).into()], &list, |row| {
            let (scan_id, device_id, digest) = (row.parsed()?, row.parsed()?, Digest(row.hash()?));
            let proof = (row.parsed()?, row.bool()?, row.int()?, row.at()?, read_judged(row)?);
            Ok(((device_id, scan_id, digest), proof))
        })?;
        if found.is_empty() {
            return Ok(());
        }
        let at: BTreeMap<Content, usize> =
            facts.iter().enumerate().map(|(i, (_, (_, fact)))| (content(fact), i)).collect();
        for (key, (signature, withheld, offset_seconds, received_at, judged)) in found {
            let Some((_, (_, held))) = at.get(&key).and_then(|i| facts.get_mut(*i)) else { continue };
            let later = Fact { signature, withheld, offset_seconds, received_at, judged, ..held.clone() };
            merge_deliveries(held, &later);
        }
        Ok(())
    }

    /// The facts about subjects, with every content under the same (device, scan id) in the same event. Contents of
    /// other events don't count: a client may number its scans anew at each event, so the same id there means another
    /// scan.
    pub(crate) fn facts_of(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<LocatedFact>> {
        let (tickets, codes) = split_subjects(subjects)?;
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = tickets.iter().map(Value::from).collect();
        let of_tickets = self.each(&CODES_OF_TICKETS, &[(&id).into(), event_id.into()], &list, Row::hash)?;
        let hashes: BTreeSet<BarcodeHash> = of_tickets.into_iter().map(BarcodeHash).chain(codes).collect();
        let picks: BTreeSet<&TicketId> = tickets.iter().collect();
        let keys = hashes.iter().map(Key::Code).chain(picks.iter().map(|ticket_id| Key::Pick(ticket_id)));
        let named = self.find_scans(event_id, keys, |scan| {
            scan.barcode_hash.is_some_and(|hash| hashes.contains(&hash))
                || pick(scan).is_some_and(|id| picks.contains(id))
        })?;
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let ids: BTreeSet<(DeviceId, ScanId)> =
            named.iter().map(|(_, kept)| (kept.fact.scan.device_id.clone(), kept.fact.scan.scan_id.clone())).collect();
        let mut all = self.others_under(event_id, &ids, &named)?;
        all.extend(named);
        let mut facts = self.resolve(event_id, all)?;
        // A scan that a person picked for one of the tickets may have a code that belongs to another.
        let asked: BTreeSet<&str> = subjects.iter().map(String::as_str).collect();
        let about: BTreeSet<(DeviceId, ScanId)> = facts
            .iter()
            .filter(|(_, (subject, _))| asked.contains(subject.key().as_str()))
            .map(|(_, (_, fact))| (fact.scan.device_id.clone(), fact.scan.scan_id.clone()))
            .collect();
        facts.retain(|(_, (_, fact))| about.contains(&(fact.scan.device_id.clone(), fact.scan.scan_id.clone())));
        Ok(facts)
    }
    /// Further contents under the ids of scans that were found.
    fn others_under(
        &mut self,
        event_id: &EventId,
        ids: &BTreeSet<(DeviceId, ScanId)>,
        found: &[Located],
    ) -> Result<Vec<Located>> {
        let known: BTreeSet<Locator> = found.iter().map(|(locator, _)| *locator).collect();
        let keys = ids.iter().map(|(_, scan_id)| Key::Id(scan_id));
        let mut locators = self.locate(event_id, &keys.collect::<Vec<_>>())?;
        locators.retain(|locator| !known.contains(locator));
        let holds = |scan: &Scan| ids.contains(&(scan.device_id.clone(), scan.scan_id.clone()));
        self.scans_at(event_id, &locators, holds)
    }
    /// The subjects of all scans of an event, or of one device in it, as sorted keys.
    fn subjects_of(&mut self, event_id: &EventId, device_id: Option<&DeviceId>) -> Result<Vec<String>> {
        let mut named: BTreeSet<(Option<BarcodeHash>, Option<TicketId>)> = BTreeSet::new();
        self.each_scan(event_id, device_id, &mut |scan| {
            named.insert((scan.barcode_hash, pick(scan).cloned()));
        })?;
        let hashes: BTreeSet<BarcodeHash> = named.iter().filter_map(|(hash, _)| *hash).collect();
        let hashes: Vec<BarcodeHash> = hashes.into_iter().collect();
        let held: BTreeMap<BarcodeHash, TicketId> = self.find_codes(event_id, &hashes)?.into_iter().collect();
        let subject = |(hash, pick): (Option<BarcodeHash>, Option<TicketId>)| {
            let ticket_id = hash.and_then(|hash| held.get(&hash).cloned()).or(pick);
            ticket_id.map(Subject::Ticket).or(hash.map(Subject::Unknown))
        };
        let keys: BTreeSet<String> = named.into_iter().filter_map(subject).map(|subject| subject.key()).collect();
        Ok(keys.into_iter().collect())
    }
}

/// Splits subjects into tickets and unknown codes.
pub(crate) fn split_subjects(subjects: &[String]) -> Result<(Vec<TicketId>, Vec<BarcodeHash>)> {
    let (mut tickets, mut codes) = (Vec::new(), Vec::new());
    for key in subjects {
        match Subject::from_key(key) {
            Some(Subject::Ticket(ticket_id)) => tickets.push(ticket_id),
            Some(Subject::Unknown(hash)) => codes.push(hash),
            None => return Err(Error::Bug(format!("not a subject of scans: {key}"))),
        }
    }
    Ok((tickets, codes))
}

impl<D: Driver> TxFacts for SqlTx<'_, D> {
    fn stored_ids(&mut self, event_id: &EventId, scan_ids: &[ScanId]) -> Result<Vec<StoredId>> {
        let ids: BTreeSet<&ScanId> = scan_ids.iter().collect();
        let keys = ids.iter().map(|scan_id| Key::Id(scan_id));
        let scans = self.find_scans(event_id, keys, |scan| ids.contains(&scan.scan_id))?;
        let facts = self.resolve(event_id, scans)?;
        let stored = |(_, (subject, fact)): LocatedFact| {
            let Scan { device_id, scan_id, event_id, .. } = fact.scan;
            let known = KnownScan { device_id, scan_id, event_id, digest: fact.digest, subject_key: subject.key() };
            StoredId { known, signature: fact.signature, offset_seconds: fact.offset_seconds }
        };
        let mut found: Vec<StoredId> = facts.into_iter().map(stored).collect();
        found.sort_by(|a, b| {
            let key = |one: &StoredId| (one.known.scan_id.clone(), one.known.device_id.clone(), one.known.digest);
            key(a).cmp(&key(b))
        });
        Ok(found)
    }
    fn insert_scans(&mut self, scans: &[NewScan]) -> Result<()> {
        self.insert_blocks(scans)
    }
    fn insert_deliveries(&mut self, deliveries: &[NewDelivery]) -> Result<()> {
        let id = self.organization_id.clone();
        let mut values: Vec<Value<'_>> = Vec::with_capacity(deliveries.len() * 12);
        for new in deliveries {
            let scan = &new.fact.scan;
            values.extend([
                (&id).into(),
                (&scan.scan_id).into(),
                (&scan.device_id).into(),
                (&new.fact.digest).into(),
                new.serial.into(),
            ]);
            values.extend(proof(&new.fact));
            values.push((&new.carrier).into());
        }
        self.queue_many(&INSERT_DELIVERIES, &values)
    }
    fn subjects_with_scans(&mut self, event_id: &EventId) -> Result<Vec<String>> {
        self.subjects_of(event_id, None)
    }
    fn subjects_of_device(&mut self, event_id: &EventId, device_id: &DeviceId) -> Result<Vec<String>> {
        self.subjects_of(event_id, Some(device_id))
    }
}
