//! The rows of bulk changes that wait to be sent together.

use admit_store_queries::driver::Bulk;
use admit_store_queries::value::Value;

/// The most rows that are collected for one bulk statement.
pub(crate) const ROWS: usize = 2 * admit_core::limits::LANE_REQUESTS;

/// Rows of one bulk change, from one or several operations.
pub(crate) struct Rows {
    pub bulk: &'static Bulk,
    pub values: Vec<Value<'static>>,
}

impl Rows {
    /// Whether these rows may be added to the statement: the total stays small, and no two rows are about the same row
    /// of the table.
    pub fn take(&self, values: &[Value<'_>]) -> bool {
        let width = self.bulk.columns.len();
        if self.values.len() + values.len() > ROWS * width {
            return false;
        }
        if !self.bulk.together(&self.values, values) {
            return false;
        }
        let (distinct, held) = (self.bulk.distinct(), self.values.chunks_exact(width));
        let same = |a: &[Value<'_>], b: &[Value<'_>]| distinct.iter().all(|place| a[*place] == b[*place]);
        distinct.is_empty() || !held.into_iter().any(|row| values.chunks_exact(width).any(|new| same(row, new)))
    }
}
