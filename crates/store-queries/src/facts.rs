//! Statements about scans as facts. A scan is stored once, merged with the proof of later deliveries, and resolved to
//! its subject when it is read.

use std::collections::BTreeMap;

use admit_app::error::{Error, Result};
use admit_app::ports::TxFacts;
use admit_app::records::{KnownScan, NewDelivery, NewScan, StoredId};
use admit_core::barcode::BarcodeHash;
use admit_core::block;
use admit_core::ids::{DeviceId, EventId, ScanId, TicketId};
use admit_core::incident::Subject;
use admit_core::reduce::{Resolved, merge_deliveries};
use admit_core::scan::{Digest, Fact, Judged, Method, Scan, SignatureState, better_offset};

use crate::driver::{Asked, Driver, bulks, statements};
use crate::tx::SqlTx;
use crate::value::{Row, Value};

/// Columns of a fact `o` with the ticket of its code `oc`; [`read_fact`] reads them.
macro_rules! fact_columns {
    () => {
        "o.content, o.digest, o.signature_state, o.withheld, o.offset_seconds, o.received_at, o.judged_serial, \
         o.judged_outcome, oc.ticket_id, o.manual_ticket_id, o.barcode_hash"
    };
}
pub(crate) use fact_columns;
/// The facts found from `$from` (scans `s`, perhaps through their codes) where `$where` holds. The rows contain every
/// content `o` under the same (device, scan id) in the same event, with its code's ticket `oc` and its later
/// deliveries `d`. Only the same event counts, because a client that numbers its scans again at each event means
/// another scan. CROSS JOIN fixes SQLite's join order. SQLite does not know how many scans an event has, and would
/// read all of them.
macro_rules! facts_from {
    ($from:literal, $where:literal) => {
        concat!(
            "SELECT ",
            fact_columns!(),
            ", d.signature_state, d.withheld, d.offset_seconds, d.received_at, d.judged_serial, d.judged_outcome FROM ",
            $from,
            " CROSS JOIN scans o
            LEFT JOIN codes oc ON oc.organization_id = o.organization_id AND oc.event_id = o.event_id AND oc.barcode_hash = o.barcode_hash
            LEFT JOIN deliveries d ON d.organization_id = o.organization_id AND d.scan_id = o.scan_id AND d.device_id = o.device_id
                AND d.digest = o.digest
            WHERE o.organization_id = s.organization_id AND o.scan_id = s.scan_id AND o.device_id = s.device_id
                AND o.event_id = s.event_id AND ",
            $where
        )
    };
}

statements! {
    /// Facts about tickets, found by every code that the tickets ever had.
    FACTS_BY_CODE = facts_from!("codes c CROSS JOIN scans s", "s.organization_id = c.organization_id AND s.event_id = c.event_id
        AND s.barcode_hash = c.barcode_hash AND c.organization_id = $1 AND c.event_id = $2 AND c.ticket_id IN ($3)");
    /// Facts about tickets that a person picked by hand, where no ticket has the scan's code or there was no code.
    FACTS_BY_PICK = facts_from!("scans s", "s.organization_id = $1 AND s.event_id = $2 AND s.manual_ticket_id IN ($3)
        AND NOT EXISTS (SELECT 1 FROM codes c WHERE c.organization_id = s.organization_id AND c.event_id = s.event_id
            AND c.barcode_hash = s.barcode_hash)");
    /// Facts about codes that belong to no ticket.
    FACTS_OF_UNKNOWN = facts_from!("scans s", "s.organization_id = $1 AND s.event_id = $2 AND s.barcode_hash IN ($3)
        AND s.manual_ticket_id IS NULL AND NOT EXISTS (SELECT 1 FROM codes c WHERE c.organization_id = s.organization_id
            AND c.event_id = s.event_id AND c.barcode_hash = s.barcode_hash)");
    /// The scans stored under the given scan ids, of any device, with their later deliveries.
    STORED_IDS = "SELECT o.device_id, o.scan_id, o.event_id, o.digest, oc.ticket_id, o.manual_ticket_id, o.barcode_hash, o.signature_state,
        o.offset_seconds, d.signature_state, d.offset_seconds FROM scans o
        LEFT JOIN codes oc ON oc.organization_id = o.organization_id AND oc.event_id = o.event_id AND oc.barcode_hash = o.barcode_hash
        LEFT JOIN deliveries d ON d.organization_id = o.organization_id AND d.scan_id = o.scan_id AND d.device_id = o.device_id
            AND d.digest = o.digest
        WHERE o.organization_id = $1 AND o.scan_id IN ($2)", by 1 of ["scans", "deliveries"];
    /// The scans stored under the given scan ids of one device.
    KNOWN_SCANS = "SELECT o.scan_id, o.event_id, o.digest, oc.ticket_id, o.manual_ticket_id, o.barcode_hash FROM scans o
        LEFT JOIN codes oc ON oc.organization_id = o.organization_id AND oc.event_id = o.event_id AND oc.barcode_hash = o.barcode_hash
        WHERE o.organization_id = $1 AND o.device_id = $2 AND o.scan_id IN ($3)";
    /// The signature state of the first delivery of a device's scans.
    PROVEN = "SELECT scan_id, digest, signature_state, offset_seconds FROM scans
        WHERE organization_id = $1 AND device_id = $2 AND scan_id IN ($3)";
    /// The signature states of the later deliveries of a device's scans.
    PROVEN_LATER = "SELECT scan_id, digest, signature_state, offset_seconds FROM deliveries
        WHERE organization_id = $1 AND device_id = $2 AND scan_id IN ($3)";
    /// The columns that give the subject of every scan of an event: its code's ticket, a person's pick, or the code
    /// itself.
    SUBJECTS = "SELECT DISTINCT oc.ticket_id, o.manual_ticket_id, o.barcode_hash FROM scans o
        LEFT JOIN codes oc ON oc.organization_id = o.organization_id AND oc.event_id = o.event_id AND oc.barcode_hash = o.barcode_hash
        WHERE o.organization_id = $1 AND o.event_id = $2";
    /// The columns that give the subject of every scan of one device.
    SUBJECTS_OF_DEVICE = "SELECT DISTINCT oc.ticket_id, o.manual_ticket_id, o.barcode_hash FROM scans o
        LEFT JOIN codes oc ON oc.organization_id = o.organization_id AND oc.event_id = o.event_id AND oc.barcode_hash = o.barcode_hash
        WHERE o.organization_id = $1 AND o.event_id = $2 AND o.device_id = $3";
}
bulks! {
    /// Stores scans.
    INSERT_SCANS = "scans" {
        organization_id: Text, scan_id: Text, device_id: Text, digest: Blob, event_id: Text, barcode_hash: Blob,
        manual_ticket_id: Text, log_id: Text, seq: Int, serial: Int, n: Int, signature_state: Text, withheld: Bool,
        offset_seconds: Int, received_at: Int, judged_serial: Int, judged_outcome: Text, batch_id: Text, carrier: Text,
        signature: Text, sent: Text, content: Blob,
    };
    /// Stores the proof that later deliveries bring.
    INSERT_DELIVERIES = "deliveries" {
        organization_id: Text, scan_id: Text, device_id: Text, digest: Blob, serial: Int, signature_state: Text,
        withheld: Bool, offset_seconds: Int, received_at: Int, judged_serial: Int, judged_outcome: Text, carrier: Text,
    };
}

/// The code by which a scan is resolved. A code that a reader read and that matched nothing is evidence and no subject.
/// Staff may then have picked the guest by hand, and a later holder of that code is another person (spec §4 "Which
/// ticket").
fn code(scan: &Scan) -> Option<&BarcodeHash> {
    scan.barcode_hash.as_ref()
}
/// The ticket that a person picked by hand; `None` if nobody did.
fn pick(scan: &Scan) -> Option<&TicketId> {
    scan.ticket_id.as_ref().filter(|_| scan.method == Method::Manual)
}
/// The subject of a scan (spec §4 "Which ticket"). It is read from three columns: its code's ticket, the pick, the
/// code.
pub(crate) fn read_subject(row: &mut Row) -> Result<Subject> {
    let of_code = row.option(Row::parsed::<TicketId>)?;
    let picked = row.option(Row::parsed::<TicketId>)?;
    let code = row.option(Row::hash)?;
    match (of_code.or(picked), code) {
        (Some(ticket_id), _) => Ok(Subject::Ticket(ticket_id)),
        (None, Some(hash)) => Ok(Subject::Unknown(BarcodeHash(hash))),
        (None, None) => Err(Error::Bug("a stored scan has neither a code nor a picked ticket".into())),
    }
}
fn read_judged(row: &mut Row) -> Result<Option<Judged>> {
    let serial = row.option(Row::count)?;
    let outcome = row.option(Row::parsed)?;
    Ok(serial.zip(outcome).map(|(serial, outcome)| Judged { serial, outcome }))
}
/// A fact as first delivered, with its subject. Reads the columns of [`fact_columns`].
pub(crate) fn read_fact(row: &mut Row) -> Result<Resolved> {
    let scan = block::scan_from_bytes(&row.blob()?).map_err(|error| Error::Bug(error.to_string()))?;
    let fact = Fact {
        scan,
        digest: Digest(row.hash()?),
        signature: row.parsed()?,
        withheld: row.bool()?,
        offset_seconds: row.int()?,
        received_at: row.at()?,
        judged: read_judged(row)?,
    };
    Ok((read_subject(row)?, fact))
}
/// The fact with the proof of one later delivery. `None`: the row has no later delivery.
pub(crate) fn read_delivery(row: &mut Row, fact: &Fact) -> Result<Option<Fact>> {
    let Some(signature) = row.option(Row::parsed::<SignatureState>)? else { return Ok(None) };
    let later = Fact {
        signature,
        withheld: row.bool()?,
        offset_seconds: row.int()?,
        received_at: row.at()?,
        judged: read_judged(row)?,
        ..fact.clone()
    };
    Ok(Some(later))
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

/// Adds a row to the facts found so far. A fact comes once for each of its later deliveries.
fn collect_fact(row: &mut Row, into: &mut BTreeMap<(DeviceId, ScanId, Digest), Resolved>) -> Result<()> {
    let (subject, fact) = read_fact(row)?;
    let later = read_delivery(row, &fact)?;
    let key = (fact.scan.device_id.clone(), fact.scan.scan_id.clone(), fact.digest);
    let (_, held) = into.entry(key).or_insert((subject, fact));
    if let Some(later) = later {
        merge_deliveries(held, &later);
    }
    Ok(())
}

impl<D: Driver> SqlTx<'_, D> {
    /// See `TxScans::facts`.
    pub(crate) fn load_facts(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<Resolved>> {
        let (tickets, codes) = split_subjects(subjects)?;
        let tickets: Vec<Value<'_>> = tickets.iter().map(Value::from).collect();
        let codes: Vec<Value<'_>> = codes.iter().map(Value::from).collect();
        let mut facts: BTreeMap<(DeviceId, ScanId, Digest), Resolved> = BTreeMap::new();
        let id = self.organization_id.clone();
        let key = [(&id).into(), event_id.into()];
        let found = self.ask([
            Asked { stmt: &FACTS_BY_CODE, params: &key, list: Some(&tickets) },
            Asked { stmt: &FACTS_BY_PICK, params: &key, list: Some(&tickets) },
            Asked { stmt: &FACTS_OF_UNKNOWN, params: &key, list: Some(&codes) },
        ])?;
        for mut row in found.into_iter().flatten() {
            collect_fact(&mut row, &mut facts)?;
        }
        Ok(facts.into_values().collect())
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

fn sorted_keys(subjects: Vec<Subject>) -> Vec<String> {
    let mut keys: Vec<String> = subjects.iter().map(Subject::key).collect();
    keys.sort();
    keys.dedup();
    keys
}

impl<D: Driver> TxFacts for SqlTx<'_, D> {
    fn stored_ids(&mut self, scan_ids: &[ScanId]) -> Result<Vec<StoredId>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = scan_ids.iter().map(Value::from).collect();
        let mut found: Vec<StoredId> = self.each(&STORED_IDS, &[(&id).into()], &list, |row| {
            let (device_id, scan_id, event_id) = (row.parsed()?, row.parsed()?, row.parsed()?);
            let digest = Digest(row.hash()?);
            let known = KnownScan { device_id, scan_id, event_id, digest, subject_key: read_subject(row)?.key() };
            let (mut signature, mut offset_seconds) = (row.parsed::<SignatureState>()?, row.int()?);
            let later = (row.option(Row::parsed::<SignatureState>)?, row.option(Row::int)?);
            if let (Some(proof), Some(offset)) = later {
                (signature, offset_seconds) = (signature.min(proof), better_offset(offset_seconds, offset));
            }
            Ok(StoredId { known, signature, offset_seconds })
        })?;
        let key = |one: &StoredId| (one.known.scan_id.clone(), one.known.device_id.clone(), one.known.digest);
        found.sort_by_key(key);
        // There is a row for each delivery, and an id may be asked for twice. Together they give the best proof of
        // all.
        found.dedup_by(|next, held| {
            let same = key(next) == key(held);
            if same {
                held.signature = held.signature.min(next.signature);
                held.offset_seconds = better_offset(held.offset_seconds, next.offset_seconds);
            }
            same
        });
        Ok(found)
    }
    fn known_scans(&mut self, device_id: &DeviceId, scan_ids: &[ScanId]) -> Result<Vec<KnownScan>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = scan_ids.iter().map(Value::from).collect();
        let mut known = self.each(&KNOWN_SCANS, &[(&id).into(), device_id.into()], &list, |row| {
            let (scan_id, event_id, digest) = (row.parsed()?, row.parsed()?, Digest(row.hash()?));
            let subject_key = read_subject(row)?.key();
            Ok(KnownScan { device_id: device_id.clone(), scan_id, event_id, digest, subject_key })
        })?;
        known.sort_by(|a, b| (&a.scan_id, a.digest).cmp(&(&b.scan_id, b.digest)));
        known.dedup();
        Ok(known)
    }
    fn insert_scans(&mut self, scans: &[NewScan]) -> Result<()> {
        let id = self.organization_id.clone();
        let mut values: Vec<Value<'_>> = Vec::with_capacity(scans.len() * 21);
        for new in scans {
            let n = self.scans_stored;
            self.scans_stored += 1;
            let scan = &new.fact.scan;
            if code(scan).is_none() && pick(scan).is_none() {
                return Err(Error::Bug(format!("scan {} has neither a code nor a picked ticket", scan.scan_id)));
            }
            values.extend([
                (&id).into(),
                (&scan.scan_id).into(),
                (&scan.device_id).into(),
                (&new.fact.digest).into(),
                (&scan.event_id).into(),
                code(scan).into(),
                pick(scan).into(),
                scan.log_id.as_ref().into(),
                scan.seq.into(),
                new.serial.into(),
                n.into(),
            ]);
            values.extend(proof(&new.fact));
            values.extend([
                new.batch_id.as_ref().into(),
                (&new.carrier).into(),
                new.evidence.signature.as_ref().into(),
                new.evidence.sent.as_ref().into(),
                block::scan_to_bytes(scan).into(),
            ]);
        }
        self.queue_many(&INSERT_SCANS, &values)?;
        self.prefetch_log(scans);
        Ok(())
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
    fn proven(
        &mut self,
        device_id: &DeviceId,
        scan_ids: &[ScanId],
    ) -> Result<Vec<(ScanId, Digest, SignatureState, i64)>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = scan_ids.iter().map(Value::from).collect();
        let mut best: BTreeMap<(ScanId, Digest), (SignatureState, i64)> = BTreeMap::new();
        for stmt in [&PROVEN, &PROVEN_LATER] {
            let rows = self.each(stmt, &[(&id).into(), device_id.into()], &list, |row| {
                Ok(((row.parsed()?, Digest(row.hash()?)), (row.parsed::<SignatureState>()?, row.int()?)))
            })?;
            for (key, (signature, offset)) in rows {
                let held = best.entry(key).or_insert((signature, offset));
                *held = (held.0.min(signature), better_offset(held.1, offset));
            }
        }
        Ok(best.into_iter().map(|((scan, digest), (signature, offset))| (scan, digest, signature, offset)).collect())
    }
    fn subjects_with_scans(&mut self, event_id: &EventId) -> Result<Vec<String>> {
        let id = self.organization_id.clone();
        let subjects = self.all(&SUBJECTS, &[(&id).into(), event_id.into()], read_subject)?;
        Ok(sorted_keys(subjects))
    }
    fn subjects_of_device(&mut self, event_id: &EventId, device_id: &DeviceId) -> Result<Vec<String>> {
        let id = self.organization_id.clone();
        let key = [(&id).into(), event_id.into(), device_id.into()];
        let subjects = self.all(&SUBJECTS_OF_DEVICE, &key, read_subject)?;
        Ok(sorted_keys(subjects))
    }
}
