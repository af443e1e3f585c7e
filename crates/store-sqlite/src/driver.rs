//! Runs statements on one SQLite connection, and translates its errors.

use std::time::Instant;

use admit_app::error::{Error, Result};
use admit_core::time::Timestamp;
use admit_store_queries::block_index::BlockIndex;
use admit_store_queries::constraints::conflict;
use admit_store_queries::contents::{Contents, HISTORY};
use admit_store_queries::driver::{Bulk, Driver, RunFor, Stmt};
use admit_store_queries::value::{Row, Value, check_text};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ErrorCode, ffi};

use crate::options::{Options, StatementFault};

/// The meaning of an error for the whole store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Harm {
    /// Only this operation failed.
    None,
    /// The disk is full. Nothing can be written until it has room again.
    Full,
    /// The file or the disk is failing, so it is unknown what was committed. The store stops.
    Fatal,
}

/// The error for every operation after the store stopped.
pub(crate) fn unavailable() -> Error {
    Error::Later { code: "store_unavailable", retry_after_ms: 5_000 }
}
/// The error for a write while the disk is full.
pub(crate) fn storage_full() -> Error {
    Error::Later { code: "storage_full", retry_after_ms: 30_000 }
}

/// The meaning of an SQLite error for the caller and for the whole store. `what` names the failed statement.
pub(crate) fn meaning(what: &str, error: &rusqlite::Error) -> (Error, Harm) {
    let bug = || Error::Bug(format!("{what}: {error}"));
    let rusqlite::Error::SqliteFailure(failure, message) = error else { return (bug(), Harm::None) };
    match failure.code {
        ErrorCode::DiskFull => (storage_full(), Harm::Full),
        ErrorCode::SystemIoFailure
        | ErrorCode::DatabaseCorrupt
        | ErrorCode::NotADatabase
        | ErrorCode::CannotOpen
        | ErrorCode::OutOfMemory => {
            tracing::error!(what, %error, "store failing");
            (unavailable(), Harm::Fatal)
        }
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            (Error::Later { code: "store_busy", retry_after_ms: 1_000 }, Harm::None)
        }
        ErrorCode::OperationInterrupted => (Error::Later { code: "read_too_long", retry_after_ms: 1_000 }, Harm::None),
        ErrorCode::ConstraintViolation
            if matches!(failure.extended_code, ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY) =>
        {
            let message = message.as_deref().unwrap_or_default();
            (conflict(message.strip_prefix("UNIQUE constraint failed: ").unwrap_or(message)), Harm::None)
        }
        _ => (bug(), Harm::None),
    }
}

/// A connection inside a transaction.
pub(crate) struct SqliteDriver<'c> {
    conn: &'c Connection,
    options: &'c Options,
    /// Whether statements call the simulator's hook: true for writes.
    hooked: bool,
    deadline: Option<Instant>,
    index: BlockIndex,
    /// The worst error of this transaction so far.
    pub harm: Harm,
}

pub(crate) struct Bind<'a>(pub &'a Value<'a>);
impl rusqlite::ToSql for Bind<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
            Value::Bool(truth) => ValueRef::Integer(i64::from(*truth)),
        }))
    }
}

/// Text of a column. Bytes that are not UTF-8, which other programs may have written, are replaced.
fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes).into_owned(), str::to_owned)
}
fn read_rows(statement: &mut CachedStatement<'_>, into: &mut Vec<Row>) -> rusqlite::Result<()> {
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        let mut values = Vec::with_capacity(columns);
        for column in 0..columns {
            values.push(match row.get_ref(column)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::Int(number),
                ValueRef::Text(bytes) => Value::Text(text(bytes).into()),
                ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec().into()),
                // No column holds a fraction (STRICT tables).
                ValueRef::Real(_) => return Err(rusqlite::Error::InvalidQuery),
            });
        }
        into.push(Row::new(values));
    }
    Ok(())
}

/// Every row of every table.
pub(crate) fn contents(conn: &Connection) -> rusqlite::Result<Contents> {
    let mut out = Contents::default();
    let mut tables =
        conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")?;
    let tables: Vec<String> = tables.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for table in tables.iter().filter(|table| *table != HISTORY) {
        let mut statement = conn.prepare_cached(&format!("SELECT * FROM {table}"))?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = Vec::new();
        read_rows(&mut statement, &mut rows)?;
        out.table(table, rows.into_iter().map(|row| names.iter().cloned().zip(row.into_values()).collect()));
    }
    Ok(out)
}

impl<'c> SqliteDriver<'c> {
    /// A driver for a connection whose transaction has begun.
    pub fn new(
        conn: &'c Connection,
        options: &'c Options,
        index: &BlockIndex,
        hooked: bool,
        deadline: Option<Instant>,
    ) -> Self {
        Self { conn, options, hooked, deadline, index: index.clone(), harm: Harm::None }
    }
    /// Rolls the transaction back, as SQLite itself does after some errors.
    #[cfg(test)]
    pub fn roll_back_for_test(&mut self) {
        self.conn.execute_batch("ROLLBACK").unwrap_or_default();
    }
    /// Commits inside the operation, so that the group's own commit fails.
    #[cfg(test)]
    pub fn commit_for_test(&mut self) {
        self.conn.execute_batch("COMMIT").unwrap_or_default();
    }
    fn enter(&mut self, name: &'static str) -> Result<()> {
        if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Err(Error::Later { code: "read_too_long", retry_after_ms: 1_000 });
        }
        let Some(hook) = self.options.before_statement.as_ref().filter(|_| self.hooked) else { return Ok(()) };
        match hook(name) {
            StatementFault::Proceed => Ok(()),
            StatementFault::Crash => Err(unavailable()),
            StatementFault::Torn => {
                self.conn.execute_batch("COMMIT").unwrap_or_default();
                Err(unavailable())
            }
        }
    }
    fn mapped<T>(&mut self, name: &'static str, result: rusqlite::Result<T>) -> Result<T> {
        result.map_err(|error| {
            let (error, harm) = meaning(name, &error);
            self.harm = self.harm.max(harm);
            error
        })
    }
    fn prepared(&mut self, name: &'static str, sql: &'static str, params: &[Value<'_>]) -> Result<CachedStatement<'c>> {
        self.enter(name)?;
        let prepared = self.conn.prepare_cached(sql);
        let mut statement = self.mapped(name, prepared)?;
        for (i, value) in params.iter().enumerate() {
            self.bind(name, &mut statement, i + 1, value)?;
        }
        Ok(statement)
    }
    fn bind(
        &mut self,
        name: &'static str,
        statement: &mut CachedStatement<'_>,
        place: usize,
        value: &Value<'_>,
    ) -> Result<()> {
        if let Value::Text(text) = value {
            check_text(text)?;
        }
        let bound = statement.raw_bind_parameter(place, Bind(value));
        self.mapped(name, bound)
    }
}

impl Driver for SqliteDriver<'_> {
    fn block_index(&self) -> &BlockIndex {
        &self.index
    }
    fn aside<R>(&mut self, of: impl FnOnce(&mut Self) -> R) -> R {
        let hooked = std::mem::replace(&mut self.hooked, false);
        let result = of(self);
        self.hooked = hooked;
        result
    }
    fn run_for(&mut self, _whom: RunFor<'_>) -> Result<()> {
        Ok(())
    }
    fn query(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<Vec<Row>> {
        let mut statement = self.prepared(stmt.name, stmt.sqlite(), params)?;
        let mut rows = Vec::new();
        let result = read_rows(&mut statement, &mut rows);
        self.mapped(stmt.name, result).map(|()| rows)
    }
    fn query_each(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<Vec<Row>> {
        let mut statement = self.prepared(stmt.name, stmt.sqlite(), params)?;
        let mut rows = Vec::new();
        for item in list {
            self.bind(stmt.name, &mut statement, params.len() + 1, item)?;
            let result = read_rows(&mut statement, &mut rows);
            self.mapped(stmt.name, result)?;
        }
        Ok(rows)
    }
    fn execute(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<u64> {
        let mut statement = self.prepared(stmt.name, stmt.sqlite(), params)?;
        let changed = statement.raw_execute();
        self.mapped(stmt.name, changed).map(|changed| changed as u64)
    }
    fn execute_each(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<u64> {
        let mut statement = self.prepared(stmt.name, stmt.sqlite(), params)?;
        let mut total = 0;
        for item in list {
            self.bind(stmt.name, &mut statement, params.len() + 1, item)?;
            let changed = statement.raw_execute();
            total += self.mapped(stmt.name, changed)? as u64;
        }
        Ok(total)
    }
    fn execute_many(&mut self, bulk: &'static Bulk, values: &[Value<'_>]) -> Result<()> {
        let mut statement = self.prepared(bulk.name, bulk.sqlite(), &[])?;
        for row in values.chunks_exact(bulk.columns.len()) {
            for (i, value) in row.iter().enumerate() {
                self.bind(bulk.name, &mut statement, i + 1, value)?;
            }
            let changed = statement.raw_execute();
            self.mapped(bulk.name, changed)?;
        }
        Ok(())
    }
    fn now(&mut self) -> Result<Timestamp> {
        Ok(now(self.options))
    }
    fn random(&mut self) -> Result<u64> {
        let drawn = self.conn.query_row("SELECT random()", [], |row| row.get::<_, i64>(0));
        self.mapped("random", drawn).map(i64::cast_unsigned)
    }
}

/// The time of the database's clock.
pub(crate) fn now(options: &Options) -> Timestamp {
    let ms = match &options.clock {
        Some(clock) => clock(),
        None => std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
    };
    Timestamp::clamped(ms)
}
