//! What a backend does for the one `SqlTx`: run statements. All SQL is in this crate, none of it in a backend.

use std::sync::OnceLock;

use admit_app::error::Result;
use admit_core::ids::{OrganizationId, UserId};
use admit_core::time::Timestamp;

use crate::value::{Kind, Row, Value};

/// A statement. Parameters are `$1`, `$2`, …; the text is the same in both backends unless `postgres` says otherwise.
///
/// A list is written `IN ($n)`, with the highest number: SQLite runs the statement once for each item, PostgreSQL once
/// with `= ANY($n)`.
#[derive(Debug)]
pub struct Stmt {
    /// Its name, for errors and hooks.
    pub name: &'static str,
    /// The text.
    pub sql: &'static str,
    /// The text where PostgreSQL needs another.
    pub postgres: Option<&'static str>,
    /// The text as a backend takes it, made once.
    pub made: Made,
}

/// A statement's texts as the backends take them, made when first needed.
#[derive(Debug)]
pub struct Made {
    sqlite: OnceLock<String>,
    postgres: OnceLock<String>,
}

impl Made {
    /// Not made yet.
    pub const fn new() -> Self {
        Self { sqlite: OnceLock::new(), postgres: OnceLock::new() }
    }
}
impl Default for Made {
    fn default() -> Self {
        Self::new()
    }
}

impl Stmt {
    /// As SQLite takes it: numbered parameters are `?1` there (`$1` would be a name, numbered by its appearance).
    pub fn sqlite(&'static self) -> &'static str {
        self.made.sqlite.get_or_init(|| self.sql.replace('$', "?"))
    }
    /// As PostgreSQL takes it.
    pub fn postgres(&'static self) -> &'static str {
        self.made.postgres.get_or_init(|| self.postgres.unwrap_or(self.sql).replace("IN ($", "= ANY($"))
    }
}

/// An insert of many rows: SQLite runs it prepared in a loop, PostgreSQL once over whole columns (UNNEST).
#[derive(Debug)]
pub struct Bulk {
    /// Its name, for errors and hooks.
    pub name: &'static str,
    /// Table.
    pub table: &'static str,
    /// Columns with their kinds, in the order of each row's values.
    pub columns: &'static [(&'static str, Kind)],
    /// What follows the values: empty, or `ON CONFLICT …`.
    pub tail: &'static str,
    /// The text as a backend takes it, made once.
    pub made: Made,
}

impl Bulk {
    fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }
    /// One row, as SQLite takes it.
    pub fn sqlite(&'static self) -> &'static str {
        self.made.sqlite.get_or_init(|| {
            let marks = vec!["?"; self.columns.len()].join(", ");
            format!("INSERT INTO {} ({}) VALUES ({marks}) {}", self.table, self.names(), self.tail)
        })
    }
    /// All rows, a parameter for each column, as PostgreSQL takes it.
    pub fn postgres(&'static self) -> &'static str {
        self.made.postgres.get_or_init(|| {
            let array = |(i, (_, kind)): (usize, &(&str, Kind))| {
                let kind = match kind {
                    Kind::Int => "bigint",
                    Kind::Text => "text",
                    Kind::Blob => "bytea",
                    Kind::Bool => "boolean",
                };
                format!("${}::{kind}[]", i + 1)
            };
            let arrays = self.columns.iter().enumerate().map(array).collect::<Vec<_>>().join(", ");
            format!("INSERT INTO {} ({}) SELECT * FROM UNNEST({arrays}) {}", self.table, self.names(), self.tail)
        })
    }
}

/// For whom the statements of this transaction run, where the database enforces it (row level security).
#[derive(Debug, Clone, Copy)]
pub enum RunFor<'a> {
    /// One organisation: every use case.
    Organization(&'a OrganizationId),
    /// One user's memberships in any organisation: sign-in.
    User(&'a UserId),
    /// The ids of all organisations: `rebuild`, backups, a new epoch.
    EveryOrganization,
}

/// A question to the database: a statement with its parameters, and its list if it has one.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The statement.
    pub stmt: &'static Stmt,
    /// Its parameters but for the list.
    pub params: &'a [Value<'a>],
    /// Its last parameter, where that is a list.
    pub list: Option<&'a [Value<'a>]>,
}

/// A connection inside a transaction.
pub trait Driver {
    /// From here on, for whom. The first statement of every transaction.
    fn run_for(&mut self, whom: RunFor<'_>) -> Result<()>;
    /// Runs a statement and gives its rows.
    fn query(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<Vec<Row>>;
    /// Runs a statement whose last parameter is a list, and gives its rows in any order.
    fn query_each(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<Vec<Row>>;
    /// Runs statements of which none needs another's answer; gives the rows of each. One exchange where that is dear.
    fn ask(&mut self, asked: &[Asked<'_>]) -> Result<Vec<Vec<Row>>> {
        let one = |asked: &Asked<'_>| match asked.list {
            Some(list) => self.query_each(asked.stmt, asked.params, list),
            None => self.query(asked.stmt, asked.params),
        };
        asked.iter().map(one).collect()
    }
    /// Says what this transaction will probably ask next. Where an exchange is dear it goes along with the next question,
    /// and is answered from what came back then, unless its table was changed meanwhile. Never another answer, only a
    /// sooner one.
    fn foresee(&mut self, _asked: &[Asked<'_>]) {}
    /// The same of the database's clock.
    fn foresee_now(&mut self) {}
    /// Runs a statement; gives the number of rows it changed.
    fn execute(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<u64>;
    /// Runs a statement whose last parameter is a list.
    fn execute_each(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<u64>;
    /// Inserts rows; `values` holds them one after the other.
    fn execute_many(&mut self, bulk: &'static Bulk, values: &[Value<'_>]) -> Result<()>;
    /// [`Driver::execute`] for a change that can only fail by a fault of ours: the backend may learn of it as late as at
    /// the commit, which then fails. It saves waiting for the server's answer.
    fn execute_later(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<()> {
        self.execute(stmt, params).map(|_| ())
    }
    /// [`Driver::execute_each`], as late.
    fn execute_each_later(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<()> {
        self.execute_each(stmt, params, list).map(|_| ())
    }
    /// [`Driver::execute_many`], as late.
    fn execute_many_later(&mut self, bulk: &'static Bulk, values: &[Value<'_>]) -> Result<()> {
        self.execute_many(bulk, values)
    }
    /// The database's clock.
    fn now(&mut self) -> Result<Timestamp>;
    /// The same, as exact as a lease needs it: the clock at some moment of this transaction, asked once where an exchange
    /// is dear.
    fn about_now(&mut self) -> Result<Timestamp> {
        self.now()
    }
    /// A number for the first epoch, from the database's own randomness unless it was told one.
    fn random(&mut self) -> Result<u64>;
}

/// Declares statements as statics, and `STATEMENTS` with all of them for the test that prepares each.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:expr $(, postgres = $postgres:expr)?;)*) => {
        $($(#[$doc])* pub static $name: $crate::driver::Stmt = $crate::driver::Stmt {
            name: stringify!($name),
            sql: $sql,
            postgres: statements!(@other $($postgres)?),
            made: $crate::driver::Made::new(),
        };)*
        /// Every statement of this noun.
        pub static STATEMENTS: &[&$crate::driver::Stmt] = &[$(&$name),*];
    };
    (@other) => { None };
    (@other $postgres:expr) => { Some($postgres) };
}
/// Declares bulk inserts as statics, and `BULKS` with all of them.
macro_rules! bulks {
    ($($(#[$doc:meta])* $name:ident = $table:literal { $($column:ident: $kind:ident),* $(,)? } $(, $tail:expr)?;)*) => {
        $($(#[$doc])* pub static $name: $crate::driver::Bulk = $crate::driver::Bulk {
            name: stringify!($name),
            table: $table,
            columns: &[$((stringify!($column), $crate::value::Kind::$kind)),*],
            tail: bulks!(@tail $($tail)?),
            made: $crate::driver::Made::new(),
        };)*
        /// Every bulk insert of this noun.
        pub static BULKS: &[&$crate::driver::Bulk] = &[$(&$name),*];
    };
    (@tail) => { "" };
    (@tail $tail:expr) => { $tail };
}
pub(crate) use {bulks, statements};
