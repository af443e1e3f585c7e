//! How a transaction uses the index in memory of an event's blocks. It compares the index with the newest block that
//! the transaction sees, and adds the blocks that the index lacks.

use std::sync::Arc;

use admit_app::error::Result;
use admit_core::ids::EventId;
use sha2::{Digest as _, Sha256};

use crate::block_index::{BlockName, EventIndex, Holds, Keyed, Reach};
use crate::driver::{Driver, Stmt};
use crate::tx::SqlTx;
use crate::value::{Row, Value};

/// How many blocks are read at a time where all blocks of an event are read.
pub(crate) const AT_ONCE: i64 = 256;

/// An item that is stored in blocks and found by an index.
pub(crate) trait Item: Keyed + Sized {
    /// The kind of these items.
    const HOLDS: Holds;
    /// The statement that finds the newest block of an event.
    const NEWEST: &'static Stmt;
    /// The statement that reads blocks of an event from a position on.
    const BLOCKS_FROM: &'static Stmt;
    /// Reads the items of a block. Parts of an item that the index does not need may be left out.
    fn read(block: &[u8]) -> Result<Vec<Self>>;
}

/// The checksum by which a block's row names the block. It covers the check bytes at the block's end and the name of
/// the block before. After the restore of a backup, other blocks may follow than those that were lost. From the first
/// different block on, all names differ, even if equal blocks have equal positions.
pub(crate) fn chained(before: Option<BlockName>, check: &[u8]) -> i64 {
    let sum = Sha256::new().chain_update(before.map_or(0, |before| before.checksum).to_be_bytes()).chain_update(check);
    i64::from_be_bytes(sum.finalize().first_chunk().copied().unwrap_or_default())
}
pub(crate) fn read_name(row: &mut Row) -> Result<BlockName> {
    Ok(BlockName { position: row.int()?, checksum: row.int()? })
}

impl<D: Driver> SqlTx<'_, D> {
    /// Reads every row of a statement that an index needs. The number of these statements depends on what is in memory,
    /// so the simulator's hooks do not count them.
    fn aside<T>(
        &mut self,
        stmt: &'static Stmt,
        params: &[Value<'_>],
        read: impl FnMut(&mut Row) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut read = read;
        let rows = self.with(|driver, _| driver.aside(|driver| driver.query(stmt, params)))?;
        rows.into_iter().map(|mut row| read(&mut row)).collect()
    }
    /// The newest block of an event with items `I` that this transaction sees. `None` if the event has no such block.
    pub(crate) fn newest_block<I: Item>(&mut self, event_id: &EventId) -> Result<Option<BlockName>> {
        if let Some(newest) = self.held.newest_blocks.get(&(event_id.clone(), I::HOLDS)) {
            return Ok(*newest);
        }
        let id = self.organization_id.clone();
        let newest = self.aside(I::NEWEST, &[(&id).into(), event_id.into()], read_name)?.pop();
        // Nobody else may store blocks of the event while this transaction sees what it sees.
        self.held.newest_blocks.insert((event_id.clone(), I::HOLDS), newest);
        Ok(newest)
    }
    /// Adds a block that this transaction stores to the index.
    pub(crate) fn index_block<'i, I: Item + 'i>(
        &mut self,
        event_id: &EventId,
        block: BlockName,
        items: impl Iterator<Item = &'i I>,
    ) -> Result<()> {
        let before = self.newest_block::<I>(event_id)?;
        let index = self.index::<I>(event_id)?;
        self.held.newest_blocks.insert((event_id.clone(), I::HOLDS), Some(block));
        index.append(before, block, items);
        Ok(())
    }
    fn index<I: Item>(&mut self, event_id: &EventId) -> Result<Arc<EventIndex>> {
        let id = self.organization_id.clone();
        self.with(|driver, _| Ok(driver.block_index().of(&id, event_id, I::HOLDS)))
    }
    /// Asks the index of an event by `ask`. First adds to the index the blocks that this transaction sees and the index
    /// lacks. `None` if the event has no block with items `I`.
    pub(crate) fn ask_index<I: Item, T>(
        &mut self,
        event_id: &EventId,
        ask: impl Fn(&EventIndex, BlockName) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(newest) = self.newest_block::<I>(event_id)? else { return Ok(None) };
        let index = self.index::<I>(event_id)?;
        loop {
            if let Some(found) = ask(&index, newest) {
                return Ok(Some(found));
            }
            self.catch_up::<I>(event_id, &index, newest)?;
        }
    }
    fn catch_up<I: Item>(&mut self, event_id: &EventId, index: &EventIndex, newest: BlockName) -> Result<()> {
        let id = self.organization_id.clone();
        while let Reach::To(last) = index.reach(newest) {
            let from = last.map_or(0, |last| last.position);
            let values = [(&id).into(), event_id.into(), from.into(), AT_ONCE.into()];
            let read = |row: &mut Row| Ok((read_name(row)?, I::read(&row.blob()?)?));
            let found = self.aside(I::BLOCKS_FROM, &values, read)?;
            index.extend(last, &found);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After the restore of a backup, a store writes other states, and then states that equal lost ones. The block of
    /// these states must have another name than the equal block that was lost.
    #[test]
    fn an_equal_block_after_another_history_has_another_name() {
        let follow = |checks: [&[u8]; 2]| {
            let [first, second] = checks;
            let before = BlockName { position: 5, checksum: chained(None, first) };
            chained(Some(before), second)
        };
        assert_eq!(follow([b"one", b"equal"]), follow([b"one", b"equal"]));
        assert_ne!(follow([b"one", b"equal"]), follow([b"other", b"equal"]));
    }
}
