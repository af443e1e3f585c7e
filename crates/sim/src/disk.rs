//! A phone's storage: a journal and a cache. A strict transaction flushes its rows before it reports success, and they
//! stay in the journal until a purge. The cache may be lost.

use std::collections::BTreeMap;

use admit_core::wire::engine::Row;

/// The journal database and the cache database of one phone.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    /// Rows on stable storage.
    rows: Vec<Row>,
    /// The number of rows after each strict transaction.
    writes: Vec<usize>,
    /// Rows that a relaxed commit reported but did not flush; a crash loses them. Only a planted bug makes such rows.
    unflushed: Vec<Row>,
    /// Cached bodies.
    cache: BTreeMap<String, Vec<u8>>,
}

impl Disk {
    /// Appends rows in a strict transaction, all or none. Fails if they do not continue the journal.
    pub fn append(&mut self, rows: &[Row], strict: bool) -> Result<(), &'static str> {
        let next = self.unflushed.last().or(self.rows.last()).map_or(0, |last| last.n) + 1;
        let continues = rows.iter().zip(next..).all(|(row, n)| row.n == n);
        if !continues {
            return Err("next_seq");
        }
        if strict {
            self.rows.append(&mut self.unflushed);
            self.rows.extend_from_slice(rows);
            self.writes.push(self.rows.len());
        } else {
            self.unflushed.extend_from_slice(rows);
        }
        Ok(())
    }
    /// Replaces the row with the same number, and removes all before it, in a strict transaction. Fails if there is no
    /// such row.
    pub fn purge(&mut self, row: Row) -> Result<(), &'static str> {
        let place = self.rows.iter().position(|held| held.n == row.n).ok_or("no such row")?;
        self.rows.splice(..=place, [row]);
        // No copy of the storage is older than this purge.
        self.writes = self.writes.iter().filter_map(|end| end.checked_sub(place)).filter(|end| *end > 0).collect();
        Ok(())
    }
    /// Simulates a power loss: rows that were not flushed are lost.
    pub fn lose_power(&mut self) {
        self.unflushed.clear();
    }
    /// Keeps only the first `rows` rows, as in an older copy, and no cached body.
    pub fn put_back(&mut self, rows: usize) {
        self.rows.truncate(rows);
        self.writes.retain(|end| *end <= rows);
        self.unflushed.clear();
        self.cache.clear();
    }
    /// The number of rows after each strict transaction.
    pub fn writes(&self) -> &[usize] {
        &self.writes
    }
    /// The rows that the app reads at its start.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
    /// The number of rows that would survive a power loss now.
    pub fn durable(&self) -> u64 {
        self.rows.last().map_or(0, |last| last.n)
    }
    /// Stores a body under a key.
    pub fn save(&mut self, key: &str, body: Vec<u8>) {
        self.cache.insert(key.to_owned(), body);
    }
    /// Removes a body.
    pub fn forget(&mut self, key: &str) {
        self.cache.remove(key);
    }
    /// Removes every body.
    pub fn wipe_caches(&mut self) {
        self.cache.clear();
    }
    /// The bodies by key.
    pub fn cached(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.cache
    }
    /// Clears everything, as an owner who clears all site data.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u64) -> Row {
        Row { n, text: "{}".into() }
    }

    #[test]
    fn what_was_not_flushed_is_gone_after_a_crash_and_rows_never_leave_a_hole() {
        let mut disk = Disk::default();
        disk.append(&[row(1), row(2)], true).unwrap();
        disk.append(&[row(3)], false).unwrap();
        assert_eq!(disk.append(&[row(5)], true), Err("next_seq"));
        assert_eq!(disk.durable(), 2);
        disk.lose_power();
        assert_eq!(disk.rows().len(), 2);
        disk.append(&[row(3)], true).unwrap();
        assert_eq!(disk.durable(), 3);
    }

    #[test]
    fn a_purge_leaves_one_row_for_those_before_it_and_the_numbers_go_on() {
        let mut disk = Disk::default();
        disk.append(&[row(1), row(2), row(3)], true).unwrap();
        disk.append(&[row(4)], true).unwrap();
        disk.purge(row(3)).unwrap();
        assert_eq!(disk.purge(row(2)), Err("no such row"));
        assert_eq!(disk.append(&[row(3)], true), Err("next_seq"));
        disk.append(&[row(5)], true).unwrap();
        let numbers: Vec<u64> = disk.rows().iter().map(|row| row.n).collect();
        assert_eq!((numbers, disk.durable(), disk.writes()), (vec![3, 4, 5], 5, &[1, 2, 3][..]));
    }
}
