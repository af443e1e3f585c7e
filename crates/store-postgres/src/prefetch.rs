//! The prefetched queries of a transaction. They are sent together with the next query and save a round trip each.
//! Several operations of one transaction may send the same query about one list item each. These become one query.
//!
//! A prefetched answer equals the answer that would come now, as long as its rows were not changed. This module tracks
//! changes by this transaction. The lock of the event's head keeps other transactions from changing them.

use std::collections::BTreeMap;

use admit_store_queries::driver::{Asked, Bulk, Stmt};
use admit_store_queries::value::{Row, Value};

use crate::params::{Owned, kind_of, owned, owned_all, owned_column};

/// The most items of a query that is split by item. The answer to a longer list may be long, so it is used once and
/// then dropped.
const FEW: usize = 2 * admit_core::limits::LANE_REQUESTS;

type Columns = Vec<Value<'static>>;

/// A prefetched query that is not split by item.
struct Whole {
    stmt: &'static Stmt,
    params: Vec<Owned>,
    /// The rows of the answer; `None` until the query was sent.
    rows: Option<Vec<Columns>>,
}

/// Prefetched queries about list items, equal except for the item.
struct ByItem {
    stmt: &'static Stmt,
    params: Vec<Value<'static>>,
    /// The rows about each item; `None` until the query was sent.
    items: BTreeMap<Value<'static>, Option<Vec<Columns>>>,
}

/// A prefetched query that is sent together with another.
pub(crate) struct Ahead {
    pub stmt: &'static Stmt,
    pub params: Vec<Owned>,
    /// The index of the query's answers in `by_item`; `None` for a query that is not split by item.
    by_item: Option<usize>,
}

/// The prefetched queries and answers of the running transaction.
#[derive(Default)]
pub(crate) struct Prefetched {
    whole: Vec<Whole>,
    by_item: Vec<ByItem>,
}

fn rows_of(rows: &[Columns]) -> Vec<Row> {
    rows.iter().map(|columns| Row::new(columns.clone())).collect()
}

impl Prefetched {
    /// Adds a query that will probably be sent.
    pub fn add(&mut self, Asked { stmt, params, list }: &Asked<'_>) {
        if let (Some(_), Some(list)) = (stmt.by, list.filter(|list| list.len() <= FEW)) {
            let place = self.place(stmt, params).unwrap_or_else(|| {
                let params = params.iter().map(owned).collect();
                self.by_item.push(ByItem { stmt, params, items: BTreeMap::new() });
                self.by_item.len() - 1
            });
            let items = &mut self.by_item[place].items;
            for item in list {
                items.entry(owned(item)).or_default();
            }
            return;
        }
        let params = owned_all(params, *list);
        if !self.whole.iter().any(|one| std::ptr::eq(one.stmt, *stmt) && one.params == params) {
            self.whole.push(Whole { stmt, params, rows: None });
        }
    }
    fn place(&self, stmt: &'static Stmt, params: &[Value<'_>]) -> Option<usize> {
        self.by_item.iter().position(|one| std::ptr::eq(one.stmt, stmt) && one.params == params)
    }
    /// Takes out the prefetched queries that were not sent yet.
    pub fn unasked(&mut self) -> Vec<Ahead> {
        let unasked = self.whole.extract_if(.., |one| one.rows.is_none());
        let mut ahead: Vec<Ahead> =
            unasked.map(|one| Ahead { stmt: one.stmt, params: one.params, by_item: None }).collect();
        for (place, one) in self.by_item.iter().enumerate() {
            let open = one.items.iter().filter(|(_, rows)| rows.is_none());
            let open: Vec<Value<'_>> = open.map(|(item, _)| item.clone()).collect();
            if !open.is_empty() {
                let mut params = owned_all(&one.params, None);
                params.push(owned_column(kind_of(&open), &open, 0, 1));
                ahead.push(Ahead { stmt: one.stmt, params, by_item: Some(place) });
            }
        }
        ahead
    }
    /// Stores the answer to a prefetched query.
    pub fn answered(&mut self, Ahead { stmt, params, by_item }: Ahead, rows: Vec<Row>) {
        let rows = rows.into_iter().map(|row| row.into_values().collect::<Columns>());
        let (Some(place), Some(by)) = (by_item, stmt.by) else {
            self.whole.push(Whole { stmt, params, rows: Some(rows.collect()) });
            return;
        };
        let items = &mut self.by_item[place].items;
        items.values_mut().filter(|known| known.is_none()).for_each(|known| *known = Some(Vec::new()));
        for columns in rows {
            if let Some(Some(known)) = columns.get(by.column).and_then(|item| items.get_mut(item)) {
                known.push(columns);
            }
        }
    }
    /// The answer to a query if it is known; else `None`, and the caller sends the query itself.
    pub fn known(&mut self, Asked { stmt, params, list }: &Asked<'_>) -> Option<Vec<Row>> {
        if let (Some(list), Some(place)) = (list.filter(|list| list.len() <= FEW), self.place(stmt, params)) {
            let items = &mut self.by_item[place].items;
            let list: Vec<Value<'static>> = list.iter().map(owned).collect();
            let known = list.iter().map(|item| items.get(item)?.as_ref());
            if let Some(rows) = known.collect::<Option<Vec<_>>>() {
                return Some(rows.into_iter().flat_map(|rows| rows_of(rows)).collect());
            }
            items.retain(|item, rows| rows.is_some() || !list.contains(item));
            return None;
        }
        let mut of_it = (0..self.whole.len()).filter(|place| std::ptr::eq(self.whole[*place].stmt, *stmt)).peekable();
        of_it.peek()?;
        let params = owned_all(params, *list);
        let place = of_it.find(|place| self.whole[*place].params == params)?;
        match &self.whole[place].rows {
            Some(rows) if rows.len() <= FEW => Some(rows_of(rows)),
            _ => self.whole.swap_remove(place).rows.map(|rows| rows.into_iter().map(Row::new).collect()),
        }
    }
    /// Discards all answers from the table that a statement changes.
    pub fn changed(&mut self, sql: &str) {
        let Some(table) = table(sql) else {
            *self = Self::default();
            return;
        };
        self.whole.retain(|one| !one.stmt.looks_at(table));
        for one in self.by_item.iter_mut().filter(|one| one.stmt.looks_at(table)) {
            one.items.retain(|_, rows| rows.is_none());
        }
    }
    /// Discards the prefetched answers that a change of these rows may have made wrong. If each row names the list item
    /// that it is about, answers about other items stay.
    pub fn changed_rows(&mut self, bulk: &'static Bulk, values: &[Value<'_>]) {
        let table = bulk.table;
        self.whole.retain(|one| !one.stmt.looks_at(table));
        for one in self.by_item.iter_mut().filter(|one| one.stmt.looks_at(table)) {
            let named = one.stmt.by.is_some_and(|by| by.tables.contains(&table));
            if named && values.len() <= FEW * bulk.columns.len() {
                one.items.retain(|item, rows| rows.is_none() || !values.contains(item));
            } else {
                one.items.retain(|_, rows| rows.is_none());
            }
        }
    }
}

/// The table that a statement changes; `None` if it changes none.
fn table(sql: &str) -> Option<&str> {
    let mut words = sql.split_whitespace();
    match words.next()? {
        "UPDATE" => words.next(),
        "INSERT" | "DELETE" => words.nth(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use admit_store_queries::driver::{By, Made};
    use admit_store_queries::value::Kind;

    // In both statements a column has the name of a table.
    static LOOK: Stmt = Stmt {
        name: "LOOK",
        sql: "SELECT a FROM logs WHERE b = $1 AND scans > 0",
        postgres: None,
        by: None,
        made: Made::new(),
    };
    static EACH: Stmt = Stmt {
        name: "EACH",
        sql: "SELECT a, b FROM logs l JOIN notes WHERE c = $1 AND l.scans > 0 AND b IN ($2)",
        postgres: None,
        by: Some(By { column: 1, tables: &["logs"] }),
        made: Made::new(),
    };
    static PUT_LOGS: Bulk = bulk("logs");
    static PUT_NOTES: Bulk = bulk("notes");
    static PUT_SCANS: Bulk = bulk("scans");

    const fn bulk(table: &'static str) -> Bulk {
        let columns: &[(&str, Kind)] = &[("b", Kind::Int), ("a", Kind::Int)];
        Bulk { name: "PUT", table, columns, found_by: 0, tail: "", made: Made::new() }
    }
    fn look<'a>(params: &'a [Value<'a>]) -> Asked<'a> {
        Asked { stmt: &LOOK, params, list: None }
    }
    fn each<'a>(list: &'a [Value<'a>]) -> Asked<'a> {
        Asked { stmt: &EACH, params: &[Value::Int(7)], list: Some(list) }
    }
    fn with_answer() -> Prefetched {
        let mut prefetched = Prefetched::default();
        prefetched.add(&look(&[Value::Int(1)]));
        let mut unasked = prefetched.unasked();
        assert!(prefetched.unasked().is_empty());
        let row = Row::new(vec![Value::Int(5)]);
        prefetched.answered(unasked.remove(0), vec![row]);
        prefetched
    }
    /// Answers about the items 1 (two rows), 2 (none) and 3 (one row).
    fn by_item() -> Prefetched {
        let mut prefetched = Prefetched::default();
        prefetched.add(&each(&[Value::Int(1), Value::Int(2)]));
        prefetched.add(&each(&[Value::Int(3), Value::Int(1)]));
        let mut unasked = prefetched.unasked();
        assert_eq!(unasked.len(), 1, "one question for all");
        assert_eq!(unasked[0].params, owned_all(&[Value::Int(7)], Some(&[1, 2, 3].map(Value::Int))));
        let row = |a, b| Row::new(vec![Value::Int(a), Value::Int(b)]);
        prefetched.answered(unasked.remove(0), vec![row(10, 1), row(30, 3), row(11, 1)]);
        assert!(prefetched.unasked().is_empty());
        prefetched
    }
    fn firsts(rows: Option<Vec<Row>>) -> Option<Vec<i64>> {
        rows.map(|rows| rows.into_iter().map(|mut row| row.int().unwrap()).collect())
    }

    #[test]
    fn an_answer_is_of_its_parameters() {
        let mut prefetched = with_answer();
        assert!(prefetched.known(&look(&[Value::Int(2)])).is_none());
        for _ in 0..2 {
            assert_eq!(firsts(prefetched.known(&look(&[Value::Int(1)]))), Some(vec![5]));
        }
    }

    #[test]
    fn a_long_answer_is_given_away_once() {
        let mut prefetched = Prefetched::default();
        prefetched.add(&look(&[Value::Int(1)]));
        let ahead = prefetched.unasked().remove(0);
        prefetched.answered(ahead, (0..=FEW).map(|n| Row::new(vec![Value::Int(n as i64)])).collect());
        assert_eq!(prefetched.known(&look(&[Value::Int(1)])).map(|rows| rows.len()), Some(FEW + 1));
        assert!(prefetched.known(&look(&[Value::Int(1)])).is_none());
    }

    #[test]
    fn a_change_of_its_table_outdates_it_and_one_of_another_does_not() {
        for (sql, holds) in [
            ("INSERT INTO scans (a) VALUES ($1)", true),
            ("UPDATE devices SET a = 1", true),
            ("INSERT INTO logs (a) VALUES ($1)", false),
            ("UPDATE logs SET a = 1", false),
            ("DELETE FROM logs WHERE a = 1", false),
            ("WITH gone AS (DELETE FROM logs) SELECT 1", false),
        ] {
            let (mut whole, mut parts) = (with_answer(), by_item());
            whole.changed(sql);
            parts.changed(sql);
            assert_eq!(whole.known(&look(&[Value::Int(1)])).is_some(), holds, "{sql}");
            assert_eq!(parts.known(&each(&[Value::Int(2)])).is_some(), holds, "{sql}");
        }
    }

    #[test]
    fn questions_by_item_are_asked_as_one_and_answered_each() {
        let mut prefetched = by_item();
        assert_eq!(firsts(prefetched.known(&each(&[Value::Int(1)]))), Some(vec![10, 11]));
        assert_eq!(firsts(prefetched.known(&each(&[Value::Int(2)]))), Some(vec![]));
        assert_eq!(firsts(prefetched.known(&each(&[Value::Int(3), Value::Int(1)]))), Some(vec![30, 10, 11]));
        assert!(prefetched.known(&each(&[Value::Int(1), Value::Int(4)])).is_none(), "nobody asked about 4");
        let other = Asked { stmt: &EACH, params: &[Value::Int(8)], list: Some(&[Value::Int(1)]) };
        assert!(prefetched.known(&other).is_none());
    }

    #[test]
    fn a_row_outdates_the_answers_about_the_items_it_names() {
        let known = |bulk: &'static Bulk, values: &[Value<'_>]| {
            let mut prefetched = by_item();
            prefetched.changed_rows(bulk, values);
            [1, 2, 3].map(|item| prefetched.known(&each(&[Value::Int(item)])).is_some())
        };
        assert_eq!(known(&PUT_SCANS, &[Value::Int(1), Value::Int(0)]), [true; 3], "another table");
        assert_eq!(known(&PUT_LOGS, &[Value::Int(1), Value::Int(0)]), [false, true, true]);
        assert_eq!(known(&PUT_LOGS, &[Value::Int(2), Value::Int(0)]), [true, false, true]);
        assert_eq!(known(&PUT_NOTES, &[Value::Int(2), Value::Int(0)]), [false; 3], "its rows name no item");
        let many: Vec<Value<'_>> = (0..=2 * FEW as i64 + 1).map(|n| Value::Int(n + 100)).collect();
        assert_eq!(known(&PUT_LOGS, &many), [false; 3], "too many to look through");
        let mut whole = with_answer();
        whole.changed_rows(&PUT_LOGS, &[Value::Int(9), Value::Int(9)]);
        assert!(whole.known(&look(&[Value::Int(1)])).is_none());
    }

    #[test]
    fn what_is_asked_by_somebody_is_not_asked_ahead_too() {
        let mut prefetched = Prefetched::default();
        prefetched.add(&look(&[Value::Int(1)]));
        prefetched.add(&each(&[Value::Int(1)]));
        assert!(prefetched.known(&look(&[Value::Int(1)])).is_none());
        assert!(prefetched.known(&each(&[Value::Int(1)])).is_none());
        assert!(prefetched.unasked().is_empty());
    }
}
