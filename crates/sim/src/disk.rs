//! A phone's storage: a journal whose rows are there for ever once a strict transaction ended, and a cache that may go.

use std::collections::BTreeMap;

use admit_core::wire::engine::Row;

/// The journal database and the cache database of one phone.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    /// Rows on stable storage.
    rows: Vec<Row>,
    /// How many rows there were after each strict transaction.
    writes: Vec<usize>,
    /// Rows a relaxed commit reported but did not flush: gone in a crash. Empty unless a planted bug makes it so.
    unflushed: Vec<Row>,
    /// Cached bodies.
    cache: BTreeMap<String, Vec<u8>>,
}

impl Disk {
    /// A strict transaction: all rows or none. Refused unless they continue the journal.
    pub fn append(&mut self, rows: &[Row], strict: bool) -> Result<(), &'static str> {
        let next = (self.rows.len() + self.unflushed.len()) as u64 + 1;
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
    /// Power is gone: what was not flushed never was.
    pub fn lose_power(&mut self) {
        self.unflushed.clear();
    }
    /// Only the first rows are there, as in an older copy; and nothing cached.
    pub fn put_back(&mut self, rows: usize) {
        self.rows.truncate(rows);
        self.writes.retain(|end| *end <= rows);
        self.unflushed.clear();
        self.cache.clear();
    }
    /// How many rows there were after each strict transaction.
    pub fn writes(&self) -> &[usize] {
        &self.writes
    }
    /// What a start reads.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
    /// Rows that would survive now.
    pub fn durable(&self) -> u64 {
        self.rows.len() as u64
    }
    /// Keeps a body.
    pub fn save(&mut self, key: &str, body: Vec<u8>) {
        self.cache.insert(key.to_owned(), body);
    }
    /// Drops a body.
    pub fn forget(&mut self, key: &str) {
        self.cache.remove(key);
    }
    /// Drops every body.
    pub fn wipe_caches(&mut self) {
        self.cache.clear();
    }
    /// The bodies, by key.
    pub fn cached(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.cache
    }
    /// The owner clears all site data.
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
}
