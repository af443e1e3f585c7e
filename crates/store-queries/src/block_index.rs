//! The index of the blocks of an event: it leads from a scan id, a code, a picked ticket or a subject to the locators
//! of its scans or states.
//!
//! The index is in memory only and made from the blocks. No answer relies on it alone. Each item that it names is read
//! from its block and compared. Each transaction first compares the newest block that it sees with the blocks that the
//! index knows. So an index that is gone, late, or of a history that was rolled back gives the same answers, only
//! slower.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{EventId, OrganizationId, ScanId, TicketId};
use admit_core::scan::{Method, Scan};

/// Bits of a locator that hold an item's index in its block.
const INDEX_BITS: u32 = 6;
/// The most locators in memory. Beyond it, the events that were used least recently are dropped.
const MOST_LOCATORS: usize = 12_000_000;

/// The kind of items that the blocks of an index hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Holds {
    /// Scans.
    Scans,
    /// States of subjects.
    States,
}

/// A value by which a scan or a state can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Key<'a> {
    /// A scan's id, whichever device made it.
    Id(&'a ScanId),
    /// The hash of a scan's code.
    Code(&'a BarcodeHash),
    /// The ticket that a person picked for a scan.
    Pick(&'a TicketId),
    /// The subject of a state.
    Subject(&'a str),
}

/// An item of a block, with the values by which it can be found.
pub(crate) trait Keyed {
    /// The item's keys.
    fn keys(&self) -> [Option<Key<'_>>; 3];
}

/// Says where an item stands: in which block of its event, and where in it. Locators are in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Locator(pub i64);

impl Locator {
    pub fn new(position: i64, index: usize) -> Self {
        Self(position << INDEX_BITS | index as i64)
    }
    /// The position of the item's block.
    pub fn position(self) -> i64 {
        self.0 >> INDEX_BITS
    }
}

/// A block as its row names it: its position and its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockName {
    pub position: i64,
    pub checksum: i64,
}

/// How much an index knows of the blocks that a transaction sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All of them, perhaps more.
    All,
    /// Only the blocks up to this one; `None`: no block. The caller must check that the store still has this block at
    /// its position.
    To(Option<BlockName>),
}

/// The blocks and the keys that an index knows of an event.
#[derive(Debug, Default)]
struct Known {
    hasher: RandomState,
    /// The blocks whose items are in here, in order.
    blocks: Vec<BlockName>,
    /// The hash of a key, and a locator. Different keys may have the same hash.
    entries: BTreeSet<(u64, Locator)>,
}

impl Known {
    fn clear(&mut self) {
        self.blocks.clear();
        self.entries.clear();
    }
    /// Whether this very block is known. Another block at its position is not.
    fn knows(&self, block: BlockName) -> bool {
        let found = self.blocks.binary_search_by_key(&block.position, |block| block.position);
        found.is_ok_and(|at| self.blocks[at] == block)
    }
    fn add<'i, I: Keyed + 'i>(&mut self, block: BlockName, items: impl Iterator<Item = &'i I>) {
        for (index, item) in items.enumerate() {
            let locator = Locator::new(block.position, index);
            let keys = item.keys().into_iter().flatten();
            self.entries.extend(keys.map(|key| (self.hasher.hash_one(key), locator)));
        }
        self.blocks.push(block);
    }
    /// The locators at which items with this key may stand, in order.
    fn of_key(&self, key: &Key<'_>) -> impl DoubleEndedIterator<Item = Locator> {
        let hash = self.hasher.hash_one(key);
        self.entries.range((hash, Locator(0))..=(hash, Locator(i64::MAX))).map(|(_, locator)| *locator)
    }
}

/// The ticket that a person picked by hand; `None` if nobody did.
pub(crate) fn pick(scan: &Scan) -> Option<&TicketId> {
    scan.ticket_id.as_ref().filter(|_| scan.method == Method::Manual)
}

/// The index of one event's scans, or of its states.
#[derive(Debug, Default)]
pub(crate) struct EventIndex(Mutex<Known>);

impl EventIndex {
    fn held(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// How far the index reaches, for a transaction that sees `newest` as its newest block. If the index holds blocks
    /// of a history that was rolled back, it is emptied.
    pub fn reach(&self, newest: BlockName) -> Reach {
        let mut held = self.held();
        if held.knows(newest) {
            return Reach::All;
        }
        let last = held.blocks.last().copied();
        if last.is_some_and(|last| last.position >= newest.position) {
            held.clear();
            return Reach::To(None);
        }
        Reach::To(last)
    }
    /// Adds the blocks that follow `last`. `found` begins with the block that stands at the position of `last` now. If
    /// that block is not `last`, the index is emptied. Does nothing if somebody else added blocks meanwhile.
    pub fn extend<I: Keyed>(&self, last: Option<BlockName>, found: &[(BlockName, Vec<I>)]) {
        let mut held = self.held();
        if held.blocks.last().copied() != last {
            return;
        }
        let new = match (last, found.split_first()) {
            (None, _) => found,
            (Some(last), Some(((first, _), rest))) if *first == last => rest,
            _ => {
                held.clear();
                return;
            }
        };
        for (block, items) in new {
            held.add(*block, items.iter());
        }
    }
    /// Adds a block that the present transaction has just stored after `newest`. If the index knows blocks after
    /// `newest` it is left as it is.
    pub fn append<'i, I: Keyed + 'i>(
        &self,
        newest: Option<BlockName>,
        block: BlockName,
        items: impl Iterator<Item = &'i I>,
    ) {
        let mut held = self.held();
        if held.blocks.last().copied() == newest {
            held.add(block, items);
        }
    }
    /// The locators at which items with these keys may stand. `None`: the index does not know the block `newest`, so
    /// the caller must extend the index first. Another transaction may have emptied it a moment ago.
    pub fn find(&self, newest: BlockName, keys: &[Key<'_>]) -> Option<BTreeSet<Locator>> {
        let held = self.held();
        held.knows(newest).then(|| keys.iter().flat_map(|key| held.of_key(key)).collect())
    }
    /// For each key the locators up to the block `newest` at which items with it may stand, the newest first. `None`
    /// for the same reason as in [`EventIndex::find`].
    pub fn find_newest(&self, newest: BlockName, keys: &[Key<'_>]) -> Option<Vec<Vec<Locator>>> {
        let held = self.held();
        let seen = |locator: &Locator| locator.position() <= newest.position;
        held.knows(newest).then(|| keys.iter().map(|key| held.of_key(key).rev().filter(seen).collect()).collect())
    }
    fn len(&self) -> usize {
        self.held().entries.len()
    }
}

/// The indices of the events that a process works on. A clone is another handle to the same ones.
#[derive(Debug, Clone, Default)]
pub struct BlockIndex(Arc<Mutex<Events>>);

#[derive(Debug, Default)]
struct Events {
    /// The number of uses so far, as a clock.
    uses: u64,
    by_id: BTreeMap<Indexed, (u64, Arc<EventIndex>)>,
}

/// Of what an index is: an event, and one kind of its blocks.
type Indexed = (OrganizationId, EventId, Holds);

impl BlockIndex {
    /// The index of one event. If too many locators are in memory, the indices of other events are dropped.
    pub(crate) fn of(&self, organization_id: &OrganizationId, event_id: &EventId, holds: Holds) -> Arc<EventIndex> {
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.uses += 1;
        let uses = events.uses;
        let key = (organization_id.clone(), event_id.clone(), holds);
        if let Some((used, index)) = events.by_id.get_mut(&key) {
            *used = uses;
            return Arc::clone(index);
        }
        events.make_room();
        let index = Arc::<EventIndex>::default();
        events.by_id.insert(key, (uses, Arc::clone(&index)));
        index
    }
}

impl Events {
    /// Drops the events that were used least recently while there are too many locators.
    fn make_room(&mut self) {
        let mut sizes: Vec<(u64, usize, Indexed)> =
            self.by_id.iter().map(|(key, (used, index))| (*used, index.len(), key.clone())).collect();
        sizes.sort();
        let mut all: usize = sizes.iter().map(|(_, len, _)| len).sum();
        for (_, len, key) in sizes {
            if all <= MOST_LOCATORS {
                return;
            }
            self.by_id.remove(&key);
            all -= len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(position: i64, checksum: i64) -> BlockName {
        BlockName { position, checksum }
    }
    fn index(blocks: &[BlockName]) -> EventIndex {
        let index = EventIndex::default();
        let found: Vec<(BlockName, Vec<Scan>)> = blocks.iter().map(|block| (*block, Vec::new())).collect();
        index.extend(None, &found);
        index
    }

    #[test]
    fn places_are_in_the_order_of_blocks_and_within_them() {
        let (first, last, next) = (Locator::new(7, 0), Locator::new(7, 63), Locator::new(8, 0));
        assert!(first < last && last < next);
        assert_eq!([first, last, next].map(Locator::position), [7, 7, 8]);
    }

    #[test]
    fn an_older_snapshot_and_the_newest_one_use_the_same_index() {
        let index = index(&[name(1, 10), name(4, 40)]);
        for newest in [name(1, 10), name(4, 40)] {
            assert_eq!(index.reach(newest), Reach::All);
        }
        assert_eq!(index.reach(name(9, 90)), Reach::To(Some(name(4, 40))));
        assert_eq!(index.held().blocks.len(), 2);
    }

    /// Each is a history in which the index's last block was rolled back.
    #[test]
    fn an_index_of_another_history_is_made_anew() {
        for newest in [name(4, 41), name(2, 20), name(1, 11)] {
            let index = index(&[name(1, 10), name(4, 40)]);
            assert_eq!(index.reach(newest), Reach::To(None), "{newest:?}");
            assert_eq!(index.held().blocks.len(), 0);
        }
        let index = index(&[name(1, 10), name(4, 40)]);
        index.extend::<Scan>(Some(name(4, 40)), &[(name(4, 41), Vec::new()), (name(5, 50), Vec::new())]);
        assert_eq!(index.held().blocks, [], "the block at its end was another one");
    }

    #[test]
    fn an_index_that_another_transaction_emptied_answers_nothing() {
        let index = index(&[name(1, 10)]);
        assert_eq!(index.find(name(1, 10), &[]), Some(BTreeSet::new()));
        assert_eq!(index.reach(name(1, 11)), Reach::To(None), "this one sees another history");
        assert_eq!(index.find(name(1, 10), &[]), None);
    }

    #[test]
    fn two_that_extend_it_at_once_add_each_block_once() {
        let index = index(&[name(1, 10)]);
        let found: [(BlockName, Vec<Scan>); 2] = [(name(1, 10), Vec::new()), (name(2, 20), Vec::new())];
        index.extend(Some(name(1, 10)), &found);
        index.extend(Some(name(1, 10)), &found);
        index.append(Some(name(1, 10)), name(3, 30), std::iter::empty::<&Scan>());
        assert_eq!(index.held().blocks, [name(1, 10), name(2, 20)]);
        index.append(Some(name(2, 20)), name(3, 30), std::iter::empty::<&Scan>());
        assert_eq!(index.held().blocks.len(), 3);
    }
}
