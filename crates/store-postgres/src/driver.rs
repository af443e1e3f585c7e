//! Statements on one PostgreSQL connection, driven from a plain thread, and what its errors mean.

use std::collections::HashMap;
use std::error::Error as StdError;

use admit_app::error::{Error, Result};
use admit_core::time::Timestamp;
use admit_store_queries::constraints::conflict;
use admit_store_queries::driver::{Bulk, Driver, Made, RunFor, Stmt};
use admit_store_queries::value::{Kind, Row, Value, check_text};
use bytes::BytesMut;
use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Statement};

/// What went wrong on the connection so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trouble {
    /// Nothing.
    None,
    /// A statement failed: the transaction can only be rolled back.
    Statement,
    /// Two transactions stood in each other's way: run it again.
    Again,
    /// The connection is gone.
    Lost,
}

/// The answer while the database cannot be reached, or when a commit's outcome is unknown.
pub(crate) fn unavailable() -> Error {
    Error::Later { code: "store_unavailable", retry_after_ms: 2_000 }
}
/// The answer when too much waits, or others hold what is needed for too long.
pub(crate) fn busy() -> Error {
    Error::Later { code: "store_busy", retry_after_ms: 1_000 }
}

/// What a PostgreSQL error means to the caller and to the connection.
pub(crate) fn meaning(what: &str, error: &tokio_postgres::Error) -> (Error, Trouble) {
    let Some(db) = error.as_db_error() else {
        let lost = error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>());
        if lost {
            tracing::warn!(what, %error, "connection to the database lost");
            return (unavailable(), Trouble::Lost);
        }
        return (Error::Bug(format!("{what}: {error}")), Trouble::Statement);
    };
    let code = db.code();
    if *code == SqlState::UNIQUE_VIOLATION {
        return (conflict(db.constraint().unwrap_or_default()), Trouble::Statement);
    }
    if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED {
        return (busy(), Trouble::Again);
    }
    if *code == SqlState::LOCK_NOT_AVAILABLE {
        return (busy(), Trouble::Statement);
    }
    if *code == SqlState::QUERY_CANCELED {
        return (Error::Later { code: "read_too_long", retry_after_ms: 1_000 }, Trouble::Statement);
    }
    if *code == SqlState::DISK_FULL {
        return (Error::Later { code: "storage_full", retry_after_ms: 30_000 }, Trouble::Statement);
    }
    if *code == SqlState::TOO_MANY_CONNECTIONS || *code == SqlState::OUT_OF_MEMORY {
        return (unavailable(), Trouble::Statement);
    }
    // Class 57P: the server is stopping, starting or has thrown us out; 08: the connection is broken.
    if code.code().starts_with("57P") || code.code().starts_with("08") {
        tracing::warn!(what, %error, "the database server ended the connection");
        return (unavailable(), Trouble::Lost);
    }
    (Error::Bug(format!("{what}: {}: {}", code.code(), db.message())), Trouble::Statement)
}

/// A connection with the runtime that drives it: everything happens on the thread that asks.
pub(crate) struct PgDriver {
    runtime: Runtime,
    client: Client,
    prepared: HashMap<usize, Statement>,
    /// `BEGIN …`, sent together with the first statement.
    begin: Option<&'static str>,
    /// The worst that happened in this transaction.
    pub trouble: Trouble,
    /// The running operation changed something.
    pub wrote: bool,
}

static NOW: Stmt = Stmt {
    name: "NOW",
    sql: "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)",
    postgres: None,
    made: Made::new(),
};
static RANDOM: Stmt = Stmt {
    name: "RANDOM",
    sql: "SELECT ('x' || substr(md5(gen_random_uuid()::text), 1, 16))::bit(64)::bigint",
    postgres: None,
    made: Made::new(),
};

/// One parameter.
#[derive(Debug)]
struct Param<'a>(&'a Value<'a>);
impl ToSql for Param<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(number) => number.to_sql(ty, out),
            Value::Text(text) => text.as_ref().to_sql(ty, out),
            Value::Blob(bytes) => bytes.as_ref().to_sql(ty, out),
            Value::Bool(truth) => truth.to_sql(ty, out),
        }
    }
    fn accepts(_: &Type) -> bool {
        true
    }
    to_sql_checked!();
}

/// A column of parameters: every `stride`-th value from `first` on, all of one kind.
fn column<'a>(kind: Kind, values: &'a [Value<'a>], first: usize, stride: usize) -> Box<dyn ToSql + Sync + 'a> {
    let column = values.iter().skip(first).step_by(stride);
    match kind {
        Kind::Int => Box::new(
            column.map(|value| if let Value::Int(number) = value { Some(*number) } else { None }).collect::<Vec<_>>(),
        ),
        Kind::Text => Box::new(
            column
                .map(|value| if let Value::Text(text) = value { Some(text.as_ref()) } else { None })
                .collect::<Vec<_>>(),
        ),
        Kind::Blob => Box::new(
            column
                .map(|value| if let Value::Blob(bytes) = value { Some(bytes.as_ref()) } else { None })
                .collect::<Vec<_>>(),
        ),
        Kind::Bool => Box::new(
            column.map(|value| if let Value::Bool(truth) = value { Some(*truth) } else { None }).collect::<Vec<_>>(),
        ),
    }
}
fn kind_of(list: &[Value<'_>]) -> Kind {
    match list.first() {
        Some(Value::Int(_)) => Kind::Int,
        Some(Value::Blob(_)) => Kind::Blob,
        Some(Value::Bool(_)) => Kind::Bool,
        Some(Value::Text(_) | Value::Null) | None => Kind::Text,
    }
}

fn read_row(row: &tokio_postgres::Row) -> std::result::Result<Row, tokio_postgres::Error> {
    let mut values = Vec::with_capacity(row.len());
    for (i, column) in row.columns().iter().enumerate() {
        let value = match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(i)?.map(Value::Int),
            Type::INT4 => row.try_get::<_, Option<i32>>(i)?.map(|number| Value::Int(i64::from(number))),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(i)?.map(Value::from),
            Type::BOOL => row.try_get::<_, Option<bool>>(i)?.map(Value::Bool),
            _ => row.try_get::<_, Option<String>>(i)?.map(Value::from),
        };
        values.push(value.unwrap_or(Value::Null));
    }
    Ok(Row::new(values))
}

/// Text inside quotes of a statement. Identifiers are printable ASCII; only the quote itself needs care.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl PgDriver {
    /// A connection that `runtime` drives.
    pub fn new(runtime: Runtime, client: Client) -> Self {
        Self { runtime, client, prepared: HashMap::new(), begin: None, trouble: Trouble::None, wrote: false }
    }
    /// Begins a transaction; it reaches the server with the first statement.
    pub fn begin(&mut self, how: &'static str) {
        self.begin = Some(how);
        self.trouble = Trouble::None;
        self.wrote = false;
    }
    /// Runs text without parameters.
    pub fn batch(&mut self, sql: &str) -> Result<()> {
        let done = self.runtime.block_on(self.client.batch_execute(sql));
        self.mapped(sql, done)
    }
    /// Ends the transaction. An error while the connection was lost means: outcome unknown.
    pub fn commit(&mut self) -> Result<()> {
        if self.begin.take().is_some() {
            return Ok(());
        }
        self.batch("COMMIT")
    }
    /// Takes everything back.
    pub fn roll_back(&mut self) {
        if self.begin.take().is_none() && self.trouble < Trouble::Lost && self.batch("ROLLBACK").is_err() {
            self.trouble = Trouble::Lost;
        }
    }
    /// Whether the connection is still there.
    pub fn is_lost(&self) -> bool {
        self.trouble == Trouble::Lost || self.client.is_closed()
    }
    fn mapped<T>(&mut self, what: &str, result: std::result::Result<T, tokio_postgres::Error>) -> Result<T> {
        result.map_err(|error| {
            let (error, trouble) = meaning(what, &error);
            self.trouble = self.trouble.max(trouble);
            error
        })
    }
    fn begun(&mut self) -> Result<()> {
        match self.begin.take() {
            Some(begin) => self.batch(begin),
            None => Ok(()),
        }
    }
    fn prepared(&mut self, key: usize, name: &str, sql: &str) -> Result<Statement> {
        self.begun()?;
        if let Some(statement) = self.prepared.get(&key) {
            return Ok(statement.clone());
        }
        let statement = self.runtime.block_on(self.client.prepare(sql));
        let statement = self.mapped(name, statement)?;
        self.prepared.insert(key, statement.clone());
        Ok(statement)
    }
    fn checked(params: &[Value<'_>]) -> Result<()> {
        params.iter().try_for_each(|value| if let Value::Text(text) = value { check_text(text) } else { Ok(()) })
    }
    fn rows(&mut self, stmt: &'static Stmt, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let statement = self.prepared(std::ptr::from_ref(stmt).addr(), stmt.name, stmt.postgres())?;
        let rows = self.runtime.block_on(self.client.query(&statement, params));
        let rows = self.mapped(stmt.name, rows)?;
        let read = rows.iter().map(read_row).collect::<std::result::Result<Vec<_>, _>>();
        self.mapped(stmt.name, read)
    }
    fn changed(&mut self, key: usize, name: &str, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<u64> {
        let statement = self.prepared(key, name, sql)?;
        self.wrote = true;
        let changed = self.runtime.block_on(self.client.execute(&statement, params));
        self.mapped(name, changed)
    }
    /// Prepares a statement, for the test that prepares all.
    #[cfg(test)]
    pub fn try_prepare(&mut self, name: &str, sql: &str) -> Result<()> {
        let prepared = self.runtime.block_on(self.client.prepare(sql));
        self.mapped(name, prepared).map(|_| ())
    }
    /// Runs refinery's migrations.
    pub fn migrate(&mut self, runner: &refinery::Runner) -> Result<()> {
        let done = self.runtime.block_on(runner.run_async(&mut self.client));
        done.map(|_| ()).map_err(|error| Error::Bug(format!("bringing the database up to date: {error}")))
    }
    /// One text of one row: a setting of the server.
    pub fn show(&mut self, sql: &str) -> Result<String> {
        let row = self.runtime.block_on(self.client.query_one(sql, &[]));
        let row = self.mapped(sql, row)?;
        let value = row.try_get::<_, String>(0);
        self.mapped(sql, value)
    }
}

fn all<'a>(params: &'a [Param<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|param| param as &(dyn ToSql + Sync)).collect()
}

impl Driver for PgDriver {
    fn run_for(&mut self, whom: RunFor<'_>) -> Result<()> {
        let set = match whom {
            RunFor::Organization(organization_id) => format!(
                "SELECT set_config('app.organization_id', {}, true), set_config('app.user_id', '', true), \
                 set_config('app.every_organization', '', true)",
                quoted(organization_id.as_str())
            ),
            RunFor::User(user_id) => format!("SELECT set_config('app.user_id', {}, true)", quoted(user_id.as_str())),
            RunFor::EveryOrganization => "SELECT set_config('app.every_organization', 'on', true)".to_owned(),
        };
        match self.begin.take() {
            Some(begin) => self.batch(&format!("{begin}; {set}")),
            None => self.batch(&set),
        }
    }
    fn query(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<Vec<Row>> {
        Self::checked(params)?;
        let params: Vec<Param<'_>> = params.iter().map(Param).collect();
        self.rows(stmt, &all(&params))
    }
    fn query_each(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<Vec<Row>> {
        Self::checked(params)?;
        Self::checked(list)?;
        let params: Vec<Param<'_>> = params.iter().map(Param).collect();
        let list = column(kind_of(list), list, 0, 1);
        let mut params = all(&params);
        params.push(&*list);
        self.rows(stmt, &params)
    }
    fn execute(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<u64> {
        Self::checked(params)?;
        let params: Vec<Param<'_>> = params.iter().map(Param).collect();
        self.changed(std::ptr::from_ref(stmt).addr(), stmt.name, stmt.postgres(), &all(&params))
    }
    fn execute_each(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<u64> {
        Self::checked(params)?;
        Self::checked(list)?;
        let params: Vec<Param<'_>> = params.iter().map(Param).collect();
        let list = column(kind_of(list), list, 0, 1);
        let mut params = all(&params);
        params.push(&*list);
        self.changed(std::ptr::from_ref(stmt).addr(), stmt.name, stmt.postgres(), &params)
    }
    fn execute_many(&mut self, bulk: &'static Bulk, values: &[Value<'_>]) -> Result<()> {
        Self::checked(values)?;
        let width = bulk.columns.len();
        let columns: Vec<_> =
            bulk.columns.iter().enumerate().map(|(i, (_, kind))| column(*kind, values, i, width)).collect();
        let params: Vec<&(dyn ToSql + Sync)> = columns.iter().map(|column| &**column).collect();
        self.changed(std::ptr::from_ref(bulk).addr(), bulk.name, bulk.postgres(), &params).map(|_| ())
    }
    fn now(&mut self) -> Result<Timestamp> {
        self.query(&NOW, &[])?.into_iter().next().map_or_else(|| Err(unavailable()), |mut row| row.at())
    }
    fn random(&mut self) -> Result<u64> {
        let row = self.query(&RANDOM, &[])?.into_iter().next();
        row.map_or_else(|| Err(unavailable()), |mut row| row.int().map(i64::cast_unsigned))
    }
}
