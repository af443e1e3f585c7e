//! Statements about blocks of states, and the content of these blocks.
//!
//! A write appends the states that it changed, up to 24 in a block. The newest state of a subject is the valid one. An
//! index in memory names the newest, so readers skip older ones. So the database appends states, and never writes at a
//! random place of an index. A block's position is the serial of its write times [`PARTS`], plus the block's number in
//! that write.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use admit_app::error::{Error, Result};
use admit_core::ids::EventId;

use crate::block_index::{BlockName, Holds, Key, Keyed, Locator};
use crate::driver::{Asked, Driver, Stmt, bulks, statements};
use crate::indexed::{AT_ONCE, Item, chained, read_name};
use crate::state_codec::{self, CHECK_BYTES, Entry, Head, Standing};
use crate::tx::SqlTx;
use crate::value::{Row, Value};

/// The most states in one block. A reader of one state must read its whole block, so blocks are small.
const STATES: usize = 24;
/// How many blocks one write can store in an event. A rebuild stores every state of the event in one write.
const PARTS: i64 = 1 << 20;
/// A judgement (the result of `reduce` for a subject) of more than 1,024 bytes is stored in a row of its own, which the
/// subject's next judgement overwrites. Otherwise a ticket with thousands of scans would fill the blocks with old
/// judgements.
const LONG: usize = 1_024;

statements! {
    /// The newest block of states of an event.
    NEWEST_STATES = "SELECT position, checksum FROM state_blocks WHERE organization_id = $1 AND event_id = $2 ORDER BY position DESC LIMIT 1";
    /// Blocks of states of an event from a position on, in order.
    STATES_FROM = "SELECT position, checksum, block FROM state_blocks WHERE organization_id = $1 AND event_id = $2 AND position >= $3
        ORDER BY position LIMIT $4";
    /// Blocks of states at the given positions.
    STATES_AT = "SELECT position, block FROM state_blocks WHERE organization_id = $1 AND event_id = $2 AND position IN ($3)", by 0 of [];
    /// Blocks of states of an event before a position, newest first.
    STATES_BEFORE = "SELECT position, block FROM state_blocks WHERE organization_id = $1 AND event_id = $2 AND position < $3
        ORDER BY position DESC LIMIT $4";
    /// Deletes blocks of states before a position.
    DELETE_STATES_BEFORE = "DELETE FROM state_blocks WHERE organization_id = $1 AND event_id = $2 AND position < $3";
    /// Long judgements of the given subjects.
    LONG_JUDGEMENTS = "SELECT subject, judgement FROM long_judgements WHERE organization_id = $1 AND event_id = $2 AND subject IN ($3)";
    /// Deletes long judgements of an event that are older than a write.
    DELETE_LONG_JUDGEMENTS = "DELETE FROM long_judgements WHERE organization_id = $1 AND event_id = $2 AND serial < $3";
}
bulks! {
    /// Stores blocks of states.
    INSERT_STATES = "state_blocks" { organization_id: Text, event_id: Text, position: Int, checksum: Int, block: Blob };
    /// Stores long judgements, and overwrites those of the same subjects.
    PUT_LONG_JUDGEMENTS = "long_judgements" {
        organization_id: Text, event_id: Text, subject: Text, serial: Int, judgement: Blob,
    }, "ON CONFLICT (organization_id, event_id, subject) DO UPDATE SET serial = excluded.serial, judgement = excluded.judgement";
}

impl Keyed for Head {
    fn keys(&self) -> [Option<Key<'_>>; 3] {
        [Some(Key::Subject(&self.subject)), None, None]
    }
}
impl Item for Head {
    const HOLDS: Holds = Holds::States;
    const NEWEST: &'static Stmt = &NEWEST_STATES;
    const BLOCKS_FROM: &'static Stmt = &STATES_FROM;
    fn read(block: &[u8]) -> Result<Vec<Self>> {
        state_codec::read_heads(block)
    }
}

/// The serial of the write that stored a state.
fn serial_of(locator: Locator) -> u64 {
    (locator.position() / PARTS).cast_unsigned()
}
/// The first position of a write.
fn first_position(serial: u64) -> i64 {
    serial.cast_signed().saturating_mul(PARTS)
}
/// Reads the position and the bytes of a block.
fn read_block(row: &mut Row) -> Result<(i64, Vec<u8>)> {
    Ok((row.int()?, row.blob()?))
}
fn located<T>(position: i64, items: Vec<T>) -> impl DoubleEndedIterator<Item = (Locator, T)> + ExactSizeIterator {
    items.into_iter().enumerate().map(move |(index, item)| (Locator::new(position, index), item))
}

/// A stored state with the serial of its write.
#[derive(Debug)]
pub(crate) struct Stored {
    pub serial: u64,
    pub entry: Entry,
}

impl<D: Driver> SqlTx<'_, D> {
    /// Appends states of one write. Judgements that are too long for a block are stored in rows of their own.
    pub(crate) fn append_states(&mut self, event_id: &EventId, serial: u64, entries: Vec<Entry>) -> Result<()> {
        let id = self.organization_id.clone();
        let (mut blocks, mut long, mut entries) = (Vec::new(), Vec::new(), entries);
        for entry in entries.iter_mut().filter(|entry| entry.judgement.len() > LONG) {
            long.push((entry.subject.clone(), std::mem::take(&mut entry.judgement)));
        }
        for chunk in entries.chunks(STATES) {
            let block = state_codec::write(chunk)?;
            let before = self.newest_block::<Head>(event_id)?;
            let checksum = chained(before, block.last_chunk::<CHECK_BYTES>().map_or(&[][..], |check| check));
            let name = BlockName { position: self.next_position_of_states(event_id, serial)?, checksum };
            let heads: Vec<Head> = chunk.iter().map(Entry::head).collect();
            self.index_block(event_id, name, heads.iter())?;
            blocks.push((name, block));
        }
        let row = |(name, block): (BlockName, Vec<u8>)| {
            [(&id).into(), event_id.into(), name.position.into(), name.checksum.into(), block.into()]
        };
        let values: Vec<Value<'_>> = blocks.into_iter().flat_map(row).collect();
        self.queue_many(&INSERT_STATES, &values)?;
        let row = |(subject, judgement): (String, Vec<u8>)| {
            [(&id).into(), event_id.into(), subject.into(), serial.into(), judgement.into()]
        };
        let values: Vec<Value<'_>> = long.into_iter().flat_map(row).collect();
        self.queue_many(&PUT_LONG_JUDGEMENTS, &values)
    }
    fn next_position_of_states(&mut self, event_id: &EventId, serial: u64) -> Result<i64> {
        let newest = self.newest_block::<Head>(event_id)?.map(|newest| newest.position + 1);
        let position = first_position(serial).max(newest.unwrap_or_default());
        if position < first_position(serial + 1) {
            Ok(position)
        } else {
            Err(Error::Bug(format!("write {serial} stores states behind those of a later write, or too many")))
        }
    }
    /// Deletes what a rebuild replaced: every state that an earlier write stored.
    pub(crate) fn delete_states_before(&mut self, event_id: &EventId, serial: u64) -> Result<()> {
        let id = self.organization_id.clone();
        let first = first_position(serial);
        if self.newest_block::<Head>(event_id)?.is_none_or(|newest| newest.position < first) {
            self.held.newest_blocks.insert((event_id.clone(), Holds::States), None);
        }
        self.queue(&DELETE_STATES_BEFORE, &[(&id).into(), event_id.into(), first.into()])?;
        self.queue(&DELETE_LONG_JUDGEMENTS, &[(&id).into(), event_id.into(), serial.into()])
    }

    /// The newest states of these subjects, those without scans too. Judgements are complete.
    pub(crate) fn newest_states(&mut self, event_id: &EventId, subjects: &[String]) -> Result<HashMap<String, Stored>> {
        let mut found = self.newest_entries(event_id, subjects, state_codec::read, |entry| &entry.subject)?;
        let id = self.organization_id.clone();
        let elsewhere = |entry: &Entry| entry.standing.scans > 0 && entry.judgement.is_empty();
        let long: Vec<Value<'_>> = subjects
            .iter()
            .filter(|key| found.get(*key).is_some_and(|(_, entry)| elsewhere(entry)))
            .map(Value::from)
            .collect();
        let read = |row: &mut Row| Ok((row.text()?, row.blob()?));
        for (subject, judgement) in self.each(&LONG_JUDGEMENTS, &[(&id).into(), event_id.into()], &long, read)? {
            if let Some((_, entry)) = found.get_mut(&subject) {
                entry.judgement = judgement;
            }
        }
        let stored = |(subject, (locator, entry))| (subject, Stored { serial: serial_of(locator), entry });
        Ok(found.into_iter().map(stored).collect())
    }
    /// The newest states of these subjects without their judgements, with the serials of their writes.
    pub(crate) fn newest_standings(
        &mut self,
        event_id: &EventId,
        subjects: &[String],
    ) -> Result<HashMap<String, (u64, Standing)>> {
        let found = self.newest_entries(event_id, subjects, state_codec::read_heads, |head| &head.subject)?;
        Ok(found.into_iter().map(|(subject, (locator, head))| (subject, (serial_of(locator), head.standing))).collect())
    }
    /// The newest item of each subject. The index finds items by the hash of the subject, which other subjects may
    /// share, so the subject of each item is compared.
    fn newest_entries<T>(
        &mut self,
        event_id: &EventId,
        subjects: &[String],
        read: fn(&[u8]) -> Result<Vec<T>>,
        subject_of: fn(&T) -> &String,
    ) -> Result<HashMap<String, (Locator, T)>> {
        let keys: Vec<Key<'_>> = subjects.iter().map(|subject| Key::Subject(subject)).collect();
        let named = self.ask_index::<Head, _>(event_id, |index, newest| index.find_newest(newest, &keys))?;
        let mut open: Vec<(&String, std::vec::IntoIter<Locator>)> =
            subjects.iter().zip(named.unwrap_or_default().into_iter().map(Vec::into_iter)).collect();
        let id = self.organization_id.clone();
        let mut found = HashMap::new();
        loop {
            let mut wanted: BTreeMap<Locator, Vec<&String>> = BTreeMap::new();
            for (subject, locators) in &mut open {
                if let Some(locator) = locators.next().filter(|_| !found.contains_key(*subject)) {
                    wanted.entry(locator).or_default().push(subject);
                }
            }
            if wanted.is_empty() {
                return Ok(found);
            }
            let positions: BTreeSet<i64> = wanted.keys().map(|locator| locator.position()).collect();
            let positions: Vec<Value<'_>> = positions.into_iter().map(Value::from).collect();
            for (position, block) in self.each(&STATES_AT, &[(&id).into(), event_id.into()], &positions, read_block)? {
                for (locator, item) in located(position, read(&block)?) {
                    let of_it = wanted.get(&locator).is_some_and(|subjects| subjects.contains(&subject_of(&item)));
                    if of_it {
                        found.insert(subject_of(&item).clone(), (locator, item));
                    }
                }
            }
        }
    }
    /// Prefetches the newest states of these subjects.
    pub(crate) fn prefetch_states(&mut self, event_id: &EventId, subjects: &[String]) -> Result<()> {
        let keys: Vec<Key<'_>> = subjects.iter().map(|subject| Key::Subject(subject)).collect();
        let named = self.ask_index::<Head, _>(event_id, |index, newest| index.find_newest(newest, &keys))?;
        let newest = named.iter().flatten().filter_map(|locators| locators.first());
        let positions: BTreeSet<i64> = newest.map(|locator| locator.position()).collect();
        let list: Vec<Value<'_>> = positions.into_iter().map(Value::from).collect();
        let id = self.organization_id.clone();
        self.prefetch_queries(&[Asked {
            stmt: &STATES_AT,
            params: &[(&id).into(), event_id.into()],
            list: Some(&list),
        }]);
        Ok(())
    }
    /// The standing of every subject of the event that has scans.
    pub(crate) fn standings(&mut self, event_id: &EventId) -> Result<HashMap<String, Standing>> {
        let (mut standings, mut before) = (HashMap::new(), Some(i64::MAX));
        while let Some(position) = before {
            let blocks = self.states_before(event_id, position)?;
            before = blocks.last().map(|(position, _)| *position).filter(|_| blocks.len() as i64 == AT_ONCE);
            for (_, block) in blocks {
                for Head { subject, standing } in state_codec::read_heads(&block)?.into_iter().rev() {
                    standings.entry(subject).or_insert(standing);
                }
            }
        }
        standings.retain(|_, standing| standing.scans > 0);
        Ok(standings)
    }
    fn states_before(&mut self, event_id: &EventId, position: i64) -> Result<Vec<(i64, Vec<u8>)>> {
        let id = self.organization_id.clone();
        self.all(&STATES_BEFORE, &[(&id).into(), event_id.into(), position.into(), AT_ONCE.into()], read_block)
    }
    /// The keys of all subjects of the event in order, also of subjects that have no scans any more.
    pub(crate) fn subjects_with_states(&mut self, event_id: &EventId) -> Result<Vec<String>> {
        let (mut subjects, mut before) = (HashSet::new(), Some(i64::MAX));
        while let Some(position) = before {
            let blocks = self.states_before(event_id, position)?;
            before = blocks.last().map(|(position, _)| *position).filter(|_| blocks.len() as i64 == AT_ONCE);
            for (_, block) in blocks {
                subjects.extend(state_codec::read_heads(&block)?.into_iter().map(|head| head.subject));
            }
        }
        let mut subjects: Vec<String> = subjects.into_iter().collect();
        subjects.sort();
        Ok(subjects)
    }
    /// Subjects whose newest state was stored after (serial, subject), each with the serial of that state, in this
    /// order. At least `limit` subjects if there are so many.
    pub(crate) fn changed_subjects(
        &mut self,
        event_id: &EventId,
        after: (u64, &str),
        limit: usize,
    ) -> Result<Vec<(u64, String)>> {
        let id = self.organization_id.clone();
        let (mut out, mut open, mut from) = (Vec::new(), Vec::new(), first_position(after.0));
        loop {
            let values = [(&id).into(), event_id.into(), from.into(), AT_ONCE.into()];
            let blocks = self.all(&STATES_FROM, &values, |row| Ok((read_name(row)?.position, row.blob()?)))?;
            let at_end = (blocks.len() as i64) < AT_ONCE;
            for (position, block) in blocks {
                let heads = located(position, state_codec::read_heads(&block)?);
                open.extend(heads.map(|(locator, head)| (serial_of(locator), head.subject)));
                from = position + 1;
            }
            // Subjects of one write stand in several blocks, and only a whole write can be put in order.
            let whole = if at_end { u64::MAX } else { (from / PARTS).cast_unsigned() };
            let mut ready: Vec<(u64, String)> = open.extract_if(.., |(serial, _)| *serial < whole).collect();
            ready.sort();
            ready.dedup();
            ready.retain(|(serial, subject)| (*serial, subject.as_str()) > after);
            let subjects: Vec<String> = ready.iter().map(|(_, subject)| subject.clone()).collect();
            let newest = self.newest_standings(event_id, &subjects)?;
            out.extend(ready.into_iter().filter(|(serial, key)| newest.get(key).is_some_and(|(at, _)| at == serial)));
            if at_end || out.len() >= limit {
                return Ok(out);
            }
        }
    }
}
