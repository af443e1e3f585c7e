//! Statements about blocks of scans, and what stands in them.
//!
//! A block holds up to 14 scans of one author and one log that arrived one after the other. A block's position is the
//! serial of its write times [`PARTS`], plus the block's number in that write. So positions are in the order of
//! arrival.

use std::collections::{BTreeMap, BTreeSet};

use admit_app::error::{Error, Result};
use admit_app::records::NewScan;
use admit_core::block::{self, BlockError, CHECK_BYTES, Kept};
use admit_core::ids::{DeviceId, EventId, LogId, ScanId};
use admit_core::scan::{Digest, Fact, Scan};

use crate::block_index::{BlockName, Holds, Key, Keyed, Locator, pick};
use crate::driver::{Driver, Stmt, bulks, statements};
use crate::indexed::{AT_ONCE, Item, chained};
use crate::tx::SqlTx;
use crate::value::{Row, Value};

/// The most scans that share a block. To read one scan means to read its block, so blocks are kept small. Two rows of
/// 14 scans each fit on a page of SQLite. One such row is below the size from which PostgreSQL stores a value outside
/// of its row.
const SCANS: usize = 14;
/// How many blocks one write can store in an event.
const PARTS: i64 = 1 << 14;

statements! {
    /// The newest block of an event.
    NEWEST_BLOCK = "SELECT position, checksum FROM scan_blocks WHERE organization_id = $1 AND event_id = $2 ORDER BY position DESC LIMIT 1";
    /// Blocks of an event from a position on, in order.
    BLOCKS_FROM = "SELECT position, checksum, block FROM scan_blocks WHERE organization_id = $1 AND event_id = $2 AND position >= $3
        ORDER BY position LIMIT $4";
    /// Blocks at the given positions.
    BLOCKS_AT = "SELECT position, block FROM scan_blocks WHERE organization_id = $1 AND event_id = $2 AND position IN ($3)";
    /// Blocks of an event up to a position, newest first.
    BLOCKS_BEFORE = "SELECT position, block FROM scan_blocks WHERE organization_id = $1 AND event_id = $2 AND position <= $3
        ORDER BY position DESC LIMIT $4";
    /// Blocks of one device in an event up to a position, newest first.
    BLOCKS_OF_DEVICE_BEFORE = "SELECT position, block FROM scan_blocks WHERE organization_id = $1 AND event_id = $2 AND position <= $3
        AND device_id = $5 ORDER BY position DESC LIMIT $4";
    /// Blocks of a device's log that may hold places of a range.
    BLOCKS_OF_LOG = "SELECT position, block FROM scan_blocks WHERE organization_id = $1 AND device_id = $2 AND log_id = $3
        AND last_seq >= $4 AND first_seq <= $5";
}
bulks! {
    /// Stores blocks of scans.
    INSERT_BLOCKS = "scan_blocks" {
        organization_id: Text, event_id: Text, position: Int, device_id: Text, log_id: Text, first_seq: Int, last_seq: Int,
        withheld: Int, carrier: Text, batch_id: Text, checksum: Int, block: Blob,
    };
}

/// A content is named by its author, its id and its digest.
pub(crate) type Content = (DeviceId, ScanId, Digest);

pub(crate) fn content(fact: &Fact) -> Content {
    (fact.scan.device_id.clone(), fact.scan.scan_id.clone(), fact.digest)
}

/// A scan with its locator.
pub(crate) type Located = (Locator, Kept);

/// The serial of the write that stored a block.
pub(crate) fn serial_of(locator: Locator) -> u64 {
    (locator.position() / PARTS).cast_unsigned()
}

fn damaged(error: BlockError) -> Error {
    Error::Bug(format!("a block of scans: {error}"))
}
fn read_block(row: &mut Row) -> Result<Vec<Kept>> {
    block::read(&row.blob()?).map_err(damaged)
}
/// The scans of a block at the wanted locators.
fn read_some(row: &mut Row, wanted: impl Fn(Locator) -> bool) -> Result<Vec<Located>> {
    let position = row.int()?;
    let locator = |index: usize| Locator::new(position, index);
    let found = block::read_some(&row.blob()?, |index| wanted(locator(index))).map_err(damaged)?;
    Ok(found.into_iter().map(|(index, kept)| (locator(index), kept)).collect())
}
fn read_located(row: &mut Row) -> Result<Vec<Located>> {
    let position = row.int()?;
    Ok(read_block(row)?.into_iter().enumerate().map(|(index, kept)| (Locator::new(position, index), kept)).collect())
}

impl Keyed for Scan {
    fn keys(&self) -> [Option<Key<'_>>; 3] {
        [Some(Key::Id(&self.scan_id)), self.barcode_hash.as_ref().map(Key::Code), pick(self).map(Key::Pick)]
    }
}
impl Item for Scan {
    const HOLDS: Holds = Holds::Scans;
    const NEWEST: &'static Stmt = &NEWEST_BLOCK;
    const BLOCKS_FROM: &'static Stmt = &BLOCKS_FROM;
    /// Reads the scans without their `prev`, which no key needs.
    fn read(block: &[u8]) -> Result<Vec<Self>> {
        block::read_unchained(block).map_err(damaged)
    }
}

/// Splits scans into runs that may share a block: the scans of a run follow each other, and are equal in every value
/// that the block's row has only once.
fn chunks(scans: &[NewScan]) -> impl Iterator<Item = &[NewScan]> {
    let together = |a: &NewScan, b: &NewScan| {
        let (one, other) = (&a.fact.scan, &b.fact.scan);
        (&one.event_id, &one.device_id, &one.log_id) == (&other.event_id, &other.device_id, &other.log_id)
            && (a.serial, &a.carrier, &a.batch_id) == (b.serial, &b.carrier, &b.batch_id)
    };
    scans.chunk_by(together).flat_map(|run| run.chunks(SCANS))
}

fn known() -> Error {
    Error::conflict("scan_exists", "this very scan is stored")
}
fn has_subject(scan: &Scan) -> bool {
    scan.barcode_hash.is_some() || pick(scan).is_some()
}
fn kept(new: &NewScan) -> Kept {
    Kept { fact: new.fact.clone(), signature: new.evidence.signature.clone(), sent: new.evidence.sent.clone() }
}

impl<D: Driver> SqlTx<'_, D> {
    /// Stores scans in blocks.
    pub(crate) fn insert_blocks(&mut self, scans: &[NewScan]) -> Result<()> {
        self.refuse_known(scans)?;
        let id = self.organization_id.clone();
        let mut values: Vec<Value<'_>> = Vec::new();
        for chunk in chunks(scans) {
            let (new, scan) = (&chunk[0], &chunk[0].fact.scan);
            if let Some(scan) = chunk.iter().map(|new| &new.fact.scan).find(|scan| !has_subject(scan)) {
                return Err(Error::Bug(format!("scan {} has neither a code nor a picked ticket", scan.scan_id)));
            }
            let block: Vec<Kept> = chunk.iter().map(kept).collect();
            let block = block::write(&block).map_err(|error| Error::Bug(error.to_string()))?;
            let before = self.newest_block::<Scan>(&scan.event_id)?;
            let checksum = chained(before, block.last_chunk::<CHECK_BYTES>().map_or(&[][..], |check| check));
            let name = BlockName { position: self.next_position(new.serial)?, checksum };
            self.index_block(&scan.event_id, name, chunk.iter().map(|new| &new.fact.scan))?;
            let seqs = || chunk.iter().filter_map(|new| new.fact.scan.seq);
            values.extend([
                (&id).into(),
                (&scan.event_id).into(),
                name.position.into(),
                (&scan.device_id).into(),
                scan.log_id.as_ref().into(),
                seqs().min().into(),
                seqs().max().into(),
                (chunk.iter().filter(|new| new.fact.withheld).count() as u64).into(),
                (new.carrier != scan.device_id).then_some(&new.carrier).into(),
                new.batch_id.as_ref().into(),
                name.checksum.into(),
                block.into(),
            ]);
        }
        self.queue_many(&INSERT_BLOCKS, &values)
    }
    /// Fails if the content of one of these scans is stored already, or if two of these scans have the same content. No
    /// unique key of the database prevents this.
    fn refuse_known(&mut self, scans: &[NewScan]) -> Result<()> {
        let mut new: BTreeMap<&EventId, BTreeSet<Content>> = BTreeMap::new();
        for one in scans {
            if !new.entry(&one.fact.scan.event_id).or_default().insert(content(&one.fact)) {
                return Err(known());
            }
        }
        for (event_id, contents) in new {
            let ids: BTreeSet<&ScanId> = contents.iter().map(|(_, scan_id, _)| scan_id).collect();
            let stored = self.find_scans(event_id, ids.iter().map(|scan_id| Key::Id(scan_id)), |_| true)?;
            if stored.iter().any(|(_, kept)| contents.contains(&content(&kept.fact))) {
                return Err(known());
            }
        }
        Ok(())
    }
    fn next_position(&mut self, serial: u64) -> Result<i64> {
        let part = self.blocks_stored;
        self.blocks_stored += 1;
        if part >= PARTS {
            return Err(Error::Bug(format!("one write stores more than {PARTS} blocks")));
        }
        Ok(serial.cast_signed() * PARTS + part)
    }

    /// The locators at which scans with these keys may stand.
    pub(crate) fn locate(&mut self, event_id: &EventId, keys: &[Key<'_>]) -> Result<BTreeSet<Locator>> {
        let found = self.ask_index::<Scan, _>(event_id, |index, newest| index.find(newest, keys))?;
        Ok(found.unwrap_or_default())
    }
    /// The scans of an event that a key names and for which `holds` is true, in the order of arrival.
    pub(crate) fn find_scans<'k>(
        &mut self,
        event_id: &EventId,
        keys: impl Iterator<Item = Key<'k>>,
        holds: impl Fn(&Scan) -> bool,
    ) -> Result<Vec<Located>> {
        let locators = self.locate(event_id, &keys.collect::<Vec<_>>())?;
        self.scans_at(event_id, &locators, holds)
    }
    /// The scans at these locators for which `holds` is true, in the order of arrival.
    pub(crate) fn scans_at(
        &mut self,
        event_id: &EventId,
        locators: &BTreeSet<Locator>,
        holds: impl Fn(&Scan) -> bool,
    ) -> Result<Vec<Located>> {
        let positions: BTreeSet<i64> = locators.iter().map(|locator| locator.position()).collect();
        let positions: Vec<Value<'_>> = positions.into_iter().map(Value::from).collect();
        let id = self.organization_id.clone();
        let blocks = self.each(&BLOCKS_AT, &[(&id).into(), event_id.into()], &positions, |row| {
            read_some(row, |locator| locators.contains(&locator))
        })?;
        let found = blocks.into_iter().flatten().filter(|(_, kept)| holds(&kept.fact.scan));
        let found: BTreeMap<Locator, Kept> = found.collect();
        Ok(found.into_iter().collect())
    }
    /// The newest scans of an event before a locator, newest first, from at most `blocks` blocks. With `device_id`,
    /// only the scans of that device. The second value is the locator from which to read on; `None` at the end.
    pub(crate) fn scans_before(
        &mut self,
        event_id: &EventId,
        device_id: Option<&DeviceId>,
        before: Locator,
        blocks: i64,
    ) -> Result<(Vec<Located>, Option<Locator>)> {
        let id = self.organization_id.clone();
        let mut values = vec![(&id).into(), event_id.into(), before.position().into(), blocks.into()];
        let stmt: &'static Stmt = if device_id.is_some() { &BLOCKS_OF_DEVICE_BEFORE } else { &BLOCKS_BEFORE };
        values.extend(device_id.map(Value::from));
        let found = self.all(stmt, &values, read_located)?;
        let last = found.last().and_then(|block| block.first()).map(|(locator, _)| *locator);
        let next = last.filter(|_| found.len() as i64 == blocks);
        let mut scans: Vec<Located> = found.into_iter().flatten().filter(|(locator, _)| *locator < before).collect();
        scans.sort_by_key(|(locator, _)| std::cmp::Reverse(*locator));
        Ok((scans, next))
    }
    /// Calls `see` with every scan of an event, or of one device in it.
    pub(crate) fn each_scan(
        &mut self,
        event_id: &EventId,
        device_id: Option<&DeviceId>,
        see: &mut dyn FnMut(&Scan),
    ) -> Result<()> {
        let mut before = Some(Locator(i64::MAX));
        while let Some(locator) = before {
            let (scans, next) = self.scans_before(event_id, device_id, locator, AT_ONCE)?;
            scans.iter().for_each(|(_, kept)| see(&kept.fact.scan));
            before = next;
        }
        Ok(())
    }
    /// The scans of a device's log whose `seq` is one of `seqs`.
    pub(crate) fn scans_of_log(&mut self, device_id: &DeviceId, log_id: &LogId, seqs: &[u64]) -> Result<Vec<Kept>> {
        let (Some(first), Some(last)) = (seqs.iter().min(), seqs.iter().max()) else { return Ok(Vec::new()) };
        let id = self.organization_id.clone();
        let values = [(&id).into(), device_id.into(), log_id.into(), (*first).into(), (*last).into()];
        let blocks = self.all(&BLOCKS_OF_LOG, &values, read_located)?;
        let asked: BTreeSet<u64> = seqs.iter().copied().collect();
        let kept = blocks.into_iter().flatten().map(|(_, kept)| kept);
        Ok(kept.filter(|kept| kept.fact.scan.seq.is_some_and(|seq| asked.contains(&seq))).collect())
    }
}
