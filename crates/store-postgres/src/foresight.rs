//! What a transaction will probably ask next: it goes along with the next question, and saves an exchange each.
//!
//! An answer that came early is the answer that would come now, as long as nothing was changed in its table since: by
//! this transaction, which is noted here, or by another, which the head of the event keeps out.

use admit_store_queries::driver::Stmt;
use admit_store_queries::value::{Row, Value};

use crate::params::{Owned, owned_all};

/// A question that was foreseen.
struct Foreseen {
    stmt: &'static Stmt,
    params: Vec<Owned>,
    /// Its answer, once it was asked.
    rows: Option<Vec<Row>>,
}

/// What is foreseen in the running transaction.
#[derive(Default)]
pub(crate) struct Foresight {
    foreseen: Vec<Foreseen>,
}

impl Foresight {
    /// This will be asked.
    pub fn add(&mut self, stmt: &'static Stmt, params: Vec<Owned>) {
        self.foreseen.push(Foreseen { stmt, params, rows: None });
    }
    /// What was foreseen and not asked yet.
    pub fn take_unasked(&mut self) -> Vec<(&'static Stmt, Vec<Owned>)> {
        let unasked = self.foreseen.extract_if(.., |one| one.rows.is_none());
        unasked.map(|one| (one.stmt, one.params)).collect()
    }
    /// The answer that came along.
    pub fn answered(&mut self, stmt: &'static Stmt, params: Vec<Owned>, rows: Vec<Row>) {
        self.foreseen.push(Foreseen { stmt, params, rows: Some(rows) });
    }
    /// The answer to a question, if it came already. One that was only foreseen is asked now, by who asks.
    pub fn known(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: Option<&[Value<'_>]>) -> Option<Vec<Row>> {
        let mut of_it =
            (0..self.foreseen.len()).filter(|place| std::ptr::eq(self.foreseen[*place].stmt, stmt)).peekable();
        of_it.peek()?;
        let params = owned_all(params, list);
        let place = of_it.find(|place| self.foreseen[*place].params == params)?;
        self.foreseen.swap_remove(place).rows
    }
    /// A statement changes its table: nothing that was foreseen of it holds any more.
    pub fn changed(&mut self, sql: &str) {
        if self.foreseen.is_empty() {
            return;
        }
        match table(sql) {
            Some(table) => self.foreseen.retain(|one| !one.stmt.postgres().contains(table)),
            None => self.foreseen.clear(),
        }
    }
}

/// The table a change is of.
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
    use admit_store_queries::driver::Made;

    static LOOK: Stmt =
        Stmt { name: "LOOK", sql: "SELECT a FROM logs WHERE b = $1", postgres: None, made: Made::new() };

    fn with_answer() -> Foresight {
        let mut foresight = Foresight::default();
        foresight.add(&LOOK, owned_all(&[Value::Int(1)], None));
        let asked = foresight.take_unasked();
        assert_eq!(asked.len(), 1);
        for (stmt, params) in asked {
            foresight.answered(stmt, params, vec![Row::new(vec![Value::Int(7)])]);
        }
        foresight
    }

    #[test]
    fn an_answer_is_given_once_and_only_to_its_very_question() {
        let mut foresight = with_answer();
        assert!(foresight.known(&LOOK, &[Value::Int(2)], None).is_none());
        assert_eq!(foresight.known(&LOOK, &[Value::Int(1)], None).map(|rows| rows.len()), Some(1));
        assert!(foresight.known(&LOOK, &[Value::Int(1)], None).is_none());
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
            let mut foresight = with_answer();
            foresight.changed(sql);
            assert_eq!(foresight.known(&LOOK, &[Value::Int(1)], None).is_some(), holds, "{sql}");
        }
    }

    #[test]
    fn what_is_asked_by_somebody_is_not_asked_ahead_too() {
        let mut foresight = Foresight::default();
        foresight.add(&LOOK, owned_all(&[Value::Int(1)], None));
        assert!(foresight.known(&LOOK, &[Value::Int(1)], None).is_none());
        assert!(foresight.take_unasked().is_empty());
    }
}
