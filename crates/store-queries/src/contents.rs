//! The whole content of a database as text, written the same for both backends. Tests compare two backends by it.

use std::collections::BTreeMap;

use crate::value::Value;

/// The table in which each backend records its own migrations. A comparison of two databases leaves it out.
pub const HISTORY: &str = "refinery_schema_history";

/// The rows of a database by table, each as one line, in a fixed order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    tables: BTreeMap<String, Vec<String>>,
}

impl Contents {
    /// Adds a table: each row as pairs of column name and value, in any order.
    pub fn table(&mut self, name: &str, rows: impl IntoIterator<Item = Vec<(String, Value<'static>)>>) {
        let line = |mut row: Vec<(String, Value<'static>)>| {
            row.sort_by(|(a, _), (b, _)| a.cmp(b));
            let columns = row.iter().map(|(column, value)| format!("{column}={}", written(value)));
            columns.collect::<Vec<_>>().join(" ")
        };
        let mut lines: Vec<String> = rows.into_iter().map(line).collect();
        lines.sort_unstable();
        self.tables.insert(name.to_owned(), lines);
    }
    /// The tables, by name.
    pub fn tables(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.tables.iter().map(|(name, lines)| (name.as_str(), lines.as_slice()))
    }
    /// Lines that only one of the two databases has, by table, each with the word `first` or `second` for its database.
    /// Empty if the databases are equal.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let empty = Vec::new();
        let names: std::collections::BTreeSet<&String> = self.tables.keys().chain(other.tables.keys()).collect();
        let mut out = Vec::new();
        for name in names {
            let mut counts: BTreeMap<&String, i64> = BTreeMap::new();
            self.tables.get(name).unwrap_or(&empty).iter().for_each(|line| *counts.entry(line).or_default() += 1);
            other.tables.get(name).unwrap_or(&empty).iter().for_each(|line| *counts.entry(line).or_default() -= 1);
            let only = |count: i64| if count > 0 { "first" } else { "second" };
            let lines = counts.into_iter().filter(|(_, count)| *count != 0);
            out.extend(lines.map(|(line, count)| format!("{name}, only in the {}: {line}", only(count))));
            if self.tables.contains_key(name) != other.tables.contains_key(name) {
                out.push(format!("{name} is a table of one of both only"));
            }
        }
        out
    }
}

/// A value as text. A boolean is written as a number, because SQLite stores it so.
fn written(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::Bool(truth) => i64::from(*truth).to_string(),
        Value::Text(text) => format!("{text:?}"),
        Value::Blob(bytes) => bytes.iter().fold("x".to_owned(), |text, byte| format!("{text}{byte:02x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: Vec<Vec<(&str, Value<'static>)>>) -> Contents {
        let mut out = Contents::default();
        let row = |row: Vec<(&str, Value<'static>)>| {
            row.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Vec<_>>()
        };
        out.table("t", rows.into_iter().map(row));
        out
    }

    #[test]
    fn neither_the_order_of_rows_and_columns_nor_a_backends_truths_matter() {
        let first = of(vec![vec![("a", Value::Int(1)), ("b", Value::Bool(true))], vec![("a", Value::Null)]]);
        let second = of(vec![vec![("a", Value::Null)], vec![("b", Value::Int(1)), ("a", Value::Int(1))]]);
        assert_eq!((first.differences(&second), &first), (Vec::new(), &second));
    }

    #[test]
    fn every_byte_and_every_row_matters() {
        let text = |text: &str| of(vec![vec![("a", Value::Text(text.to_owned().into()))]]);
        assert_eq!(text("x").differences(&text("x ")).len(), 2);
        let twice = of(vec![vec![("a", Value::Int(1))], vec![("a", Value::Int(1))]]);
        assert_eq!(twice.differences(&of(vec![vec![("a", Value::Int(1))]])).len(), 1);
        assert_eq!(of(vec![]).differences(&Contents::default()), ["t is a table of one of both only"]);
    }
}
