//! Statements about device logs, uploaded batches and refused items.

use std::collections::{BTreeMap, BTreeSet};

use admit_app::error::{Error, Result};
use admit_app::ports::TxBatches;
use admit_app::records::{BatchRecord, LogRecord, RejectedRecord};
use admit_core::ids::{BatchId, DeviceId, EventId, LogId};
use admit_core::scan::Digest;

use crate::compressed;
use crate::driver::{Driver, bulks, statements};
use crate::tx::SqlTx;
use crate::value::{Row, Value};

statements! {
    /// One log of a device, locked until the end of the transaction.
    LOG = "SELECT device_id, log_id, event_id, head, received, closed_at FROM logs
        WHERE organization_id = $1 AND device_id = $2 AND log_id = $3",
        postgres = "SELECT device_id, log_id, event_id, head, received, closed_at FROM logs
        WHERE organization_id = $1 AND device_id = $2 AND log_id = $3 FOR UPDATE";
    /// One log of a device, read on a snapshot without a lock.
    READ_LOG = "SELECT device_id, log_id, event_id, head, received, closed_at FROM logs
        WHERE organization_id = $1 AND device_id = $2 AND log_id = $3";
    /// The logs of which the server may lack scans of an event: logs whose newest scan is of this event, and all logs
    /// of devices that are assigned to it now. A missing scan of those devices may be of any event.
    LOGS = "SELECT device_id, log_id, event_id, head, received, closed_at FROM logs WHERE organization_id = $1 AND (event_id = $2
        OR device_id IN (SELECT device_id FROM devices WHERE organization_id = $1 AND event_id = $2)) ORDER BY device_id, log_id";
    /// Stores a log, and overwrites the former row of the same log.
    PUT_LOG = "INSERT INTO logs (organization_id, device_id, log_id, event_id, head, received, closed_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (organization_id, device_id, log_id) DO UPDATE SET
        event_id = excluded.event_id, head = excluded.head, received = excluded.received, closed_at = excluded.closed_at";
    /// One batch by device, endpoint and batch id.
    BATCH = "SELECT batch_id, device_id, endpoint, event_id, digest, answer, status, batch_size, processed_count, error_count,
        offset_seconds, serial, synced_at FROM batches
        WHERE organization_id = $1 AND device_id = $2 AND endpoint = $3 AND batch_id = $4";
    /// Batches of an event with a serial above the given one, in order.
    BATCHES_AFTER = "SELECT batch_id, device_id, endpoint, event_id, digest, answer, status, batch_size, processed_count, error_count,
        offset_seconds, serial, synced_at FROM batches
        WHERE organization_id = $1 AND event_id = $2 AND serial > $3 AND endpoint <> 'scans' ORDER BY serial LIMIT $4";
    /// Batches of one device in an event with a serial above the given one, in order.
    BATCHES_OF_DEVICE_AFTER = "SELECT batch_id, device_id, endpoint, event_id, digest, answer, status, batch_size, processed_count, error_count,
        offset_seconds, serial, synced_at FROM batches
        WHERE organization_id = $1 AND event_id = $2 AND serial > $3 AND device_id = $5 AND endpoint <> 'scans'
        ORDER BY serial LIMIT $4";
    /// How many scans of a device were first received after its revocation, and how many of its items were refused.
    COUNT_QUARANTINED = "SELECT (SELECT CAST(COALESCE(SUM(withheld), 0) AS BIGINT) FROM scan_blocks WHERE organization_id = $1 AND device_id = $2)
        + (SELECT COUNT(*) FROM rejected WHERE organization_id = $1 AND device_id = $2)";
    /// Bodies among the given ones that were already refused from this device.
    REJECTED_BODIES = "SELECT DISTINCT body FROM rejected WHERE organization_id = $1 AND device_id = $2 AND body IN ($3)";
}
bulks! {
    /// Stores batches.
    INSERT_BATCH = "batches" {
        organization_id: Text, batch_id: Text, device_id: Text, endpoint: Text, event_id: Text, digest: Blob, answer: Blob,
        status: Text, batch_size: Int, processed_count: Int, error_count: Int, offset_seconds: Int, serial: Int, synced_at: Int,
    };
    /// Stores items of an upload that were finally refused.
    INSERT_REJECTED = "rejected" {
        organization_id: Text, event_id: Text, device_id: Text, scan_id: Text, log_id: Text, seq: Int, reason: Text, body: Text,
        received_at: Int,
    };
}

fn read_log(row: &mut Row) -> Result<LogRecord> {
    Ok(LogRecord {
        device_id: row.parsed()?,
        log_id: row.parsed()?,
        event_id: row.parsed()?,
        head: row.count()?,
        received: row.json("received places of a log")?,
        closed_at: row.option(Row::at)?,
    })
}
/// Reads an answer. It is stored compressed, because it names every scan of its batch by a text.
fn read_answer(packed: &[u8]) -> Result<String> {
    let damaged = || Error::Bug("the stored answer of a batch is damaged".into());
    String::from_utf8(compressed::unpack(packed).map_err(|_| damaged())?).map_err(|_| damaged())
}
fn read_batch(row: &mut Row) -> Result<BatchRecord> {
    Ok(BatchRecord {
        batch_id: row.parsed()?,
        device_id: row.parsed()?,
        endpoint: row.text()?,
        event_id: row.parsed()?,
        digest: row.hash()?,
        answer: read_answer(&row.blob()?)?,
        status: row.text()?,
        batch_size: row.count()?,
        processed_count: row.count()?,
        error_count: row.count()?,
        offset_seconds: row.int()?,
        serial: row.count()?,
        synced_at: row.at()?,
    })
}

impl<D: Driver> TxBatches for SqlTx<'_, D> {
    fn log(&mut self, device_id: &DeviceId, log_id: &LogId) -> Result<Option<LogRecord>> {
        let id = self.organization_id.clone();
        let stmt = if self.writes() { &LOG } else { &READ_LOG };
        self.one(stmt, &[(&id).into(), device_id.into(), log_id.into()], read_log)
    }
    fn logs(&mut self, event_id: &EventId) -> Result<Vec<LogRecord>> {
        let id = self.organization_id.clone();
        self.all(&LOGS, &[(&id).into(), event_id.into()], read_log)
    }
    fn put_log(&mut self, log: &LogRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            (&log.device_id).into(),
            (&log.log_id).into(),
            (&log.event_id).into(),
            log.head.into(),
            admit_core::wire::stored::to_text(&log.received).into(),
            log.closed_at.into(),
        ];
        self.queue(&PUT_LOG, &values)
    }
    fn contents_at(
        &mut self,
        device_id: &DeviceId,
        log_id: &LogId,
        seqs: &[u64],
    ) -> Result<BTreeMap<u64, BTreeSet<Digest>>> {
        let mut contents: BTreeMap<u64, BTreeSet<Digest>> = seqs.iter().map(|seq| (*seq, BTreeSet::new())).collect();
        for kept in self.scans_of_log(device_id, log_id, seqs)? {
            let at_place = kept.fact.scan.seq.and_then(|seq| contents.get_mut(&seq));
            at_place.into_iter().for_each(|at_place| _ = at_place.insert(kept.fact.digest));
        }
        Ok(contents)
    }
    fn batch(&mut self, device_id: &DeviceId, endpoint: &str, batch_id: &BatchId) -> Result<Option<BatchRecord>> {
        let id = self.organization_id.clone();
        self.one(&BATCH, &[(&id).into(), device_id.into(), endpoint.into(), batch_id.into()], read_batch)
    }
    fn batches_after(
        &mut self,
        event_id: &EventId,
        device_id: Option<&DeviceId>,
        serial: u64,
        limit: usize,
    ) -> Result<Vec<BatchRecord>> {
        let id = self.organization_id.clone();
        let mut values = vec![(&id).into(), event_id.into(), serial.into(), (limit as u64).into()];
        let stmt = match device_id {
            Some(device_id) => {
                values.push(device_id.into());
                &BATCHES_OF_DEVICE_AFTER
            }
            None => &BATCHES_AFTER,
        };
        self.all(stmt, &values, read_batch)
    }
    fn insert_batch(&mut self, batch: &BatchRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let answer = compressed::pack(batch.answer.as_bytes());
        let answer = answer.map_err(|error| Error::Bug(format!("compressing an answer: {error}")))?;
        let values = [
            (&id).into(),
            (&batch.batch_id).into(),
            (&batch.device_id).into(),
            (&batch.endpoint).into(),
            (&batch.event_id).into(),
            (&batch.digest).into(),
            answer.into(),
            (&batch.status).into(),
            batch.batch_size.into(),
            batch.processed_count.into(),
            batch.error_count.into(),
            batch.offset_seconds.into(),
            batch.serial.into(),
            batch.synced_at.into(),
        ];
        self.queue_many(&INSERT_BATCH, &values)
    }
    fn insert_rejected(&mut self, event_id: &EventId, items: &[RejectedRecord]) -> Result<()> {
        let id = self.organization_id.clone();
        let mut values: Vec<Value<'_>> = Vec::with_capacity(items.len() * 9);
        for item in items {
            let log = item.log.as_ref();
            values.extend([
                (&id).into(),
                event_id.into(),
                (&item.device_id).into(),
                item.scan_id.as_ref().into(),
                log.map(|(log_id, _)| log_id).into(),
                log.map(|(_, seq)| *seq).into(),
                (&item.reason).into(),
                (&item.body).into(),
                item.received_at.into(),
            ]);
        }
        self.queue_many(&INSERT_REJECTED, &values)
    }
    fn rejected_bodies(&mut self, device_id: &DeviceId, bodies: &[String]) -> Result<Vec<String>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = bodies.iter().map(Value::from).collect();
        self.each(&REJECTED_BODIES, &[(&id).into(), device_id.into()], &list, Row::text)
    }
    fn count_quarantined(&mut self, device_id: &DeviceId) -> Result<u64> {
        let id = self.organization_id.clone();
        let count = self.one(&COUNT_QUARANTINED, &[(&id).into(), device_id.into()], Row::count)?;
        Ok(count.unwrap_or(0))
    }
}
