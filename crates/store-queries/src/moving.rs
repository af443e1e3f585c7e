//! Moves all data of one database into another. This module defines what each side must be able to do, and how a row
//! of one side becomes a row of the other. It also proves that both sides hold the same rows.
//!
//! The code names no table and no column. It reads and compares both catalogs, so a table or column that only one
//! schema has stops the move instead of being left behind.

use std::collections::{BTreeMap, BTreeSet};

use admit_app::error::{Error, Result};
use admit_app::ports::ReadOp;
use admit_core::ids::{EventId, OrganizationId};
use sha2::{Digest as _, Sha256};

use crate::value::{Kind, Value, check_text};

/// The most rows in memory at a time.
pub const ROWS: usize = 1_000;
/// The most bytes of texts and blobs in memory at a time, unless one row alone has more.
const BYTES: usize = 4 << 20;
/// Tables that have rows even in an empty database: the database's epoch, and the value by which a server checks
/// `ADMIT_SECRET`. A move replaces their rows.
const REPLACED: [&str; 2] = ["epochs", "settings"];
/// The column by which PostgreSQL's row level security separates organisations.
pub const OWNER: &str = "organization_id";

/// A column, as the database itself describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The column's name.
    pub name: String,
    /// The kind of the column's values. SQLite has no boolean: its truth values are [`Kind::Int`].
    pub kind: Kind,
    /// Whether the column may be NULL.
    pub nullable: bool,
}

/// A table, as the database itself describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The table's name.
    pub name: String,
    /// The table's columns.
    pub columns: Vec<Column>,
    /// Columns of the primary key, in the key's order; empty if the table has no primary key.
    pub key: Vec<String>,
    /// Whether row level security lets only one organisation's rows be read and written at a time.
    pub owned: bool,
    /// Names of tables that must be filled before this one.
    pub refers_to: Vec<String>,
}

impl Table {
    /// The names of all columns, quoted and separated by commas.
    pub fn names(&self) -> String {
        list(self.columns.iter().map(|column| column.name.as_str()))
    }
    /// The columns by which the rows are ordered, quoted: those of the primary key. A table without one is ordered by
    /// all of its columns.
    pub fn order(&self) -> Vec<String> {
        if self.key.is_empty() {
            let mut names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
            // Both sides must use the same order, and the rows of one organisation must be adjacent.
            names.sort_by_key(|name| (*name != OWNER, *name));
            return names.into_iter().map(quoted).collect();
        }
        self.key.iter().map(|name| quoted(name)).collect()
    }
    /// The place of the column with the organisation's id. `None` for a table whose rows need not be written for one
    /// organisation at a time.
    pub fn owner(&self) -> Option<usize> {
        self.columns.iter().position(|column| self.owned && column.name == OWNER)
    }
}

/// A name quoted as both databases accept it.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(quoted).collect::<Vec<_>>().join(", ")
}

/// All tables of a database, and the migrations that made them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalog {
    /// Number and name of each migration, in order.
    pub migrations: Vec<(i64, String)>,
    /// Tables in order of name, without the table that records migrations.
    pub tables: Vec<Table>,
}

impl Catalog {
    /// The number of the newest migration, for messages.
    pub fn version(&self) -> i64 {
        self.migrations.last().map_or(0, |(version, _)| *version)
    }
}

/// One database of a move (the source or the target), inside one transaction of its own.
pub trait Side: Send {
    /// The tables of this side.
    fn catalog(&mut self) -> Result<Catalog>;
    /// The number of rows in a table.
    fn count(&mut self, table: &Table) -> Result<u64>;
    /// Calls `see` with every row of a table in [`Table::order`]; values are in the order of `table.columns`. Holds few
    /// rows in memory at a time.
    fn each(&mut self, table: &Table, see: &mut dyn FnMut(Vec<Value<'static>>) -> Result<()>) -> Result<()>;
    /// Inserts rows; each row's values are in the order of `table.columns`.
    fn insert(&mut self, table: &Table, rows: &[Vec<Value<'static>>]) -> Result<()>;
    /// Deletes every row of a table that row level security does not guard.
    fn clear(&mut self, table: &Table) -> Result<()>;
    /// The number of other Admit processes that are connected to this database now.
    fn others(&mut self) -> Result<u64>;
    /// The value of a setting; `None` if it is not set.
    fn setting(&mut self, name: &str) -> Result<Option<String>>;
    /// The ids of all organisations, sorted.
    fn organizations(&mut self) -> Result<Vec<OrganizationId>>;
    /// Every event with its organisation.
    fn all_events(&mut self) -> Result<Vec<(OrganizationId, EventId)>>;
    /// Runs a use case's read inside this transaction, so that it sees rows that are not committed yet.
    fn read(&mut self, organization_id: &OrganizationId, op: ReadOp) -> Result<()>;
    /// Commits the transaction. After an error the rows are not committed, or the result is unknown.
    fn commit(&mut self) -> Result<()>;
    /// Rolls the transaction back.
    fn roll_back(&mut self);
}

/// One table of both sides. Their columns are in the same order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The table at the source.
    pub source: Table,
    /// The table at the target.
    pub target: Table,
}

/// Compares both schemas and gives the tables in the order in which to fill them. Fails on any difference that could
/// lose a value.
pub fn plan(source: &Catalog, target: &Catalog) -> Result<Vec<Planned>> {
    if source.migrations != target.migrations {
        return Err(differs(format!(
            "the source is at schema version {} and the target at {}: start the server of this version of Admit on the \
             source once, stop it, and move again",
            source.version(),
            target.version()
        )));
    }
    let foreign: BTreeMap<&str, &Table> = target.tables.iter().map(|table| (table.name.as_str(), table)).collect();
    let ours: BTreeSet<&str> = source.tables.iter().map(|table| table.name.as_str()).collect();
    if let Some(more) = foreign.keys().find(|name| !ours.contains(**name)) {
        return Err(differs(format!("the table {more} is at the target only: keep other programs' tables elsewhere")));
    }
    let mut open: Vec<Planned> = Vec::new();
    for table in &source.tables {
        let Some(target) = foreign.get(table.name.as_str()) else {
            return Err(differs(format!(
                "the table {} is at the source only: keep other programs' tables elsewhere",
                table.name
            )));
        };
        open.push(planned(table, target)?);
    }
    in_order(open)
}

fn differs(why: String) -> Error {
    Error::invalid("", why)
}

/// One table of both sides, with the source's columns in the target's order.
fn planned(source: &Table, target: &Table) -> Result<Planned> {
    let name = &source.name;
    if source.key != target.key {
        return Err(differs(format!("the primary key of {name} differs between the two schemas")));
    }
    for column in &source.columns {
        if !target.columns.iter().any(|other| other.name == column.name) {
            return Err(differs(format!("{name}.{} is at the source only", column.name)));
        }
    }
    let mut columns = Vec::with_capacity(target.columns.len());
    for column in &target.columns {
        let found = source.columns.iter().find(|other| other.name == column.name);
        let found = found.ok_or_else(|| differs(format!("{name}.{} is at the target only", column.name)))?;
        if !convertible(found.kind, column.kind) || found.nullable != column.nullable {
            return Err(differs(format!("{name}.{} is another kind of column in the two schemas", column.name)));
        }
        columns.push(found.clone());
    }
    Ok(Planned { source: Table { columns, ..source.clone() }, target: target.clone() })
}

/// Sorts tables so that each comes after the tables that it refers to.
fn in_order(mut open: Vec<Planned>) -> Result<Vec<Planned>> {
    let mut ordered: Vec<Planned> = Vec::with_capacity(open.len());
    while !open.is_empty() {
        let waits = |one: &Planned, open: &[Planned]| {
            let needs = |name: &String| *name != one.target.name && open.iter().any(|other| other.target.name == *name);
            one.target.refers_to.iter().chain(&one.source.refers_to).any(needs)
        };
        let Some(next) = open.iter().position(|one| !waits(one, &open)) else {
            return Err(Error::Bug("the tables refer to each other in a circle".into()));
        };
        ordered.push(open.remove(next));
    }
    Ok(ordered)
}

/// Whether [`converted`] can convert between two kinds of columns.
pub fn convertible(from: Kind, to: Kind) -> bool {
    from == to || matches!((from, to), (Kind::Int, Kind::Bool) | (Kind::Bool, Kind::Int))
}

/// Converts a value to the kind of another column. Fails if the conversion would change its meaning.
pub fn converted(value: Value<'static>, to: Kind) -> Result<Value<'static>> {
    match (value, to) {
        (Value::Null, _) => Ok(Value::Null),
        (Value::Int(number), Kind::Int) => Ok(Value::Int(number)),
        (Value::Int(number @ (0 | 1)), Kind::Bool) => Ok(Value::Bool(number == 1)),
        (Value::Bool(truth), Kind::Bool) => Ok(Value::Bool(truth)),
        (Value::Bool(truth), Kind::Int) => Ok(Value::Int(i64::from(truth))),
        (Value::Text(text), Kind::Text) => check_text(&text).map(|()| Value::Text(text)),
        (Value::Blob(bytes), Kind::Blob) => Ok(Value::Blob(bytes)),
        (other, to) => Err(differs(format!("the value {other:?} does not fit a column of the kind {to:?}"))),
    }
}

/// The digest of a table's rows in their order. Both kinds of databases give the same digest for the same rows.
#[derive(Debug, Clone, Default)]
pub struct RowsDigest {
    rows: u64,
    sha256: Sha256,
}

impl RowsDigest {
    /// Adds one row to the digest.
    pub fn add(&mut self, row: &[Value<'_>]) {
        self.rows += 1;
        for value in row {
            match value {
                Value::Null => self.sha256.update([0]),
                Value::Int(number) => self.number(*number),
                Value::Bool(truth) => self.number(i64::from(*truth)),
                Value::Text(text) => self.bytes(2, text.as_bytes()),
                Value::Blob(bytes) => self.bytes(3, bytes),
            }
        }
    }
    fn number(&mut self, number: i64) {
        self.sha256.update([1]);
        self.sha256.update(number.to_be_bytes());
    }
    fn bytes(&mut self, tag: u8, bytes: &[u8]) {
        self.sha256.update([tag]);
        self.sha256.update((bytes.len() as u64).to_be_bytes());
        self.sha256.update(bytes);
    }
    /// The number of rows, and their digest in hexadecimal.
    pub fn finish(self) -> (u64, String) {
        (self.rows, admit_core::barcode::hex(&<[u8; 32]>::from(self.sha256.finalize())))
    }
}

/// The result of copying one table: what the source held and what the target holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The table's name.
    pub table: String,
    /// Rows read at the source.
    pub rows: u64,
    /// The digest of the rows at the source.
    pub digest: String,
    /// Rows that the target holds after the copy.
    pub target_rows: u64,
    /// The digest of the rows at the target.
    pub target_digest: String,
}

impl Moved {
    /// Whether source and target have the same number of rows with the same digest.
    pub fn is_equal(&self) -> bool {
        self.rows == self.target_rows && self.digest == self.target_digest
    }
}

/// The first table of the target that already has rows, with their number. The table of organisations is looked at
/// first. `None`: the target is empty.
pub fn occupied(target: &mut dyn Side, plan: &[Planned]) -> Result<Option<(String, u64)>> {
    let mut tables: Vec<&Table> = plan.iter().map(|one| &one.target).collect();
    tables.sort_by_key(|table| table.name != "organizations");
    for table in tables.into_iter().filter(|table| !REPLACED.contains(&table.name.as_str())) {
        let rows = target.count(table)?;
        if rows > 0 {
            return Ok(Some((table.name.clone(), rows)));
        }
    }
    Ok(None)
}

/// Copies every table and reads the copied rows back. `told` is called with the table and the number of rows read or
/// read back since its last call.
pub fn copy(
    source: &mut dyn Side,
    target: &mut dyn Side,
    plan: &[Planned],
    told: &mut dyn FnMut(&str, u64),
) -> Result<Vec<Moved>> {
    for one in plan.iter().filter(|one| REPLACED.contains(&one.target.name.as_str())) {
        target.clear(&one.target)?;
    }
    let mut moved = Vec::with_capacity(plan.len());
    for one in plan {
        let (rows, digest) = copy_table(source, target, one, told)?;
        moved.push(Moved {
            table: one.target.name.clone(),
            rows,
            digest,
            target_rows: 0,
            target_digest: String::new(),
        });
    }
    for (one, moved) in plan.iter().zip(&mut moved) {
        let (mut digest, mut rows) = (RowsDigest::default(), 0);
        target.each(&one.target, &mut |row| {
            digest.add(&row);
            rows += 1;
            if rows == ROWS as u64 {
                told(&one.target.name, std::mem::take(&mut rows));
            }
            Ok(())
        })?;
        told(&one.target.name, rows);
        (moved.target_rows, moved.target_digest) = digest.finish();
    }
    Ok(moved)
}

fn copy_table(
    source: &mut dyn Side,
    target: &mut dyn Side,
    one: &Planned,
    told: &mut dyn FnMut(&str, u64),
) -> Result<(u64, String)> {
    let (mut digest, mut held, mut bytes) = (RowsDigest::default(), Vec::new(), 0);
    source.each(&one.source, &mut |row| {
        let columns = one.target.columns.iter();
        let row: Vec<Value<'static>> =
            row.into_iter().zip(columns).map(|(value, column)| converted(value, column.kind)).collect::<Result<_>>()?;
        digest.add(&row);
        bytes += row.iter().map(size).sum::<usize>();
        held.push(row);
        if held.len() >= ROWS || bytes >= BYTES {
            target.insert(&one.target, &held)?;
            told(&one.target.name, held.len() as u64);
            held.clear();
            bytes = 0;
        }
        Ok(())
    })?;
    if !held.is_empty() {
        target.insert(&one.target, &held)?;
        told(&one.target.name, held.len() as u64);
    }
    Ok(digest.finish())
}

fn size(value: &Value<'_>) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
        Value::Null | Value::Int(_) | Value::Bool(_) => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, kind: Kind) -> Column {
        Column { name: name.to_owned(), kind, nullable: false }
    }
    fn table(name: &str, columns: &[Column], refers_to: &[&str]) -> Table {
        let refers_to = refers_to.iter().map(|name| (*name).to_owned()).collect();
        Table { name: name.into(), columns: columns.to_vec(), key: vec!["id".into()], owned: false, refers_to }
    }
    fn catalog(tables: &[Table]) -> Catalog {
        Catalog { migrations: vec![(1, "schema".into())], tables: tables.to_vec() }
    }
    fn refusal(source: &Catalog, target: &Catalog) -> String {
        plan(source, target).unwrap_err().to_string()
    }

    #[test]
    fn a_value_becomes_one_of_the_other_kind_or_is_refused() {
        let text = || Value::from("text".to_owned());
        let blob = || Value::from(vec![1_u8]);
        let fitting = [
            (Value::Null, Kind::Text, Value::Null),
            (Value::Null, Kind::Bool, Value::Null),
            (Value::Int(i64::MIN), Kind::Int, Value::Int(i64::MIN)),
            (Value::Int(0), Kind::Bool, Value::Bool(false)),
            (Value::Int(1), Kind::Bool, Value::Bool(true)),
            (Value::Bool(true), Kind::Int, Value::Int(1)),
            (Value::Bool(false), Kind::Bool, Value::Bool(false)),
            (text(), Kind::Text, text()),
            (blob(), Kind::Blob, blob()),
        ];
        for (from, to, expected) in fitting {
            assert_eq!(converted(from, to), Ok(expected));
        }
        let nul = Value::from("a\0b".to_owned());
        for (from, to) in [(Value::Int(2), Kind::Bool), (text(), Kind::Blob), (blob(), Kind::Text), (nul, Kind::Text)] {
            assert!(converted(from.clone(), to).is_err(), "{from:?} as {to:?}");
        }
        for (from, to) in [(Kind::Int, Kind::Bool), (Kind::Bool, Kind::Int), (Kind::Text, Kind::Text)] {
            assert!(convertible(from, to));
        }
        assert!(!convertible(Kind::Text, Kind::Blob) && !convertible(Kind::Int, Kind::Text));
    }

    #[test]
    fn a_digest_is_the_same_for_a_truth_value_of_either_kind_and_no_cell_runs_into_the_next() {
        let of = |row: &[Value<'_>]| {
            let mut digest = RowsDigest::default();
            digest.add(row);
            digest.finish()
        };
        assert_eq!(of(&[Value::Int(1), "a".into()]), of(&[Value::Bool(true), "a".into()]));
        assert_ne!(of(&["ab".into(), "c".into()]), of(&["a".into(), "bc".into()]));
        assert_ne!(of(&[Value::Null]), of(&["".into()]));
        assert_ne!(of(&["a".into()]), of(&[b"a".as_slice().into()]));
    }

    #[test]
    fn what_only_one_schema_has_stops_the_move() {
        let id = column("id", Kind::Int);
        let (one, more) = (table("a", std::slice::from_ref(&id), &[]), column("more", Kind::Text));
        let both = table("a", &[id.clone(), more.clone()], &[]);
        let other = table("b", std::slice::from_ref(&id), &[]);
        let (short, long) = (catalog(std::slice::from_ref(&one)), catalog(std::slice::from_ref(&both)));
        assert!(refusal(&short, &long).contains("a.more is at the target only"));
        assert!(refusal(&long, &short).contains("a.more is at the source only"));
        let wide = catalog(&[one.clone(), other]);
        assert!(refusal(&short, &wide).contains("b is at the target only"));
        assert!(refusal(&wide, &short).contains("b is at the source only"));
        let text = catalog(&[table("a", &[column("id", Kind::Text)], &[])]);
        assert!(refusal(&short, &text).contains("a.id is another kind"));
        let nullable = catalog(&[table("a", &[Column { nullable: true, ..id }], &[])]);
        assert!(refusal(&short, &nullable).contains("a.id is another kind"));
        let keyless = catalog(&[Table { key: vec![], ..one.clone() }]);
        assert!(refusal(&short, &keyless).contains("primary key of a"));
        let newer = Catalog { migrations: vec![(1, "schema".into()), (2, "x".into())], ..short.clone() };
        assert!(refusal(&short, &newer).contains("schema version 1 and the target at 2"));
        // The two sides may differ in booleans and in the order of columns.
        let (x, y) = (column("x", Kind::Int), column("x", Kind::Bool));
        let key = column("id", Kind::Int);
        let plan = plan(&catalog(&[table("a", &[x, key.clone()], &[])]), &catalog(&[table("a", &[key, y], &[])]));
        assert_eq!(plan.unwrap()[0].source.columns[1].name, "x");
    }

    #[test]
    fn a_table_is_filled_after_those_it_refers_to() {
        let id = [column("id", Kind::Int)];
        let tables = [table("a", &id, &["c", "a"]), table("b", &id, &["a"]), table("c", &id, &[])];
        let plan = plan(&catalog(&tables), &catalog(&tables)).unwrap();
        let names: Vec<&str> = plan.iter().map(|one| one.target.name.as_str()).collect();
        assert_eq!(names, ["c", "a", "b"]);
        let circle = catalog(&[table("a", &id, &["b"]), table("b", &id, &["a"])]);
        assert!(refusal(&circle, &circle).contains("circle"));
    }
}
