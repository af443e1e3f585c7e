//! The driver of a backend. The one `SqlTx` sends its statements through it. All SQL is in this crate, none in a
//! backend.

use std::sync::OnceLock;

use admit_app::error::Result;
use admit_core::ids::{OrganizationId, UserId};
use admit_core::time::Timestamp;

use crate::block_index::BlockIndex;
use crate::value::{Kind, Row, Value};

/// A statement. Parameters are `$1`, `$2`, …; the text is the same in both backends unless `postgres` says otherwise.
///
/// A list is written `IN ($n)` and is the last parameter, so `n` is the highest number: SQLite runs the statement once
/// for each item, PostgreSQL once with `= ANY($n)`.
#[derive(Debug)]
pub struct Stmt {
    /// The statement's name, for error messages and the simulator's hooks.
    pub name: &'static str,
    /// The SQL text, for both backends unless `postgres` has another.
    pub sql: &'static str,
    /// The SQL text for PostgreSQL. `None`: the same as `sql`.
    pub postgres: Option<&'static str>,
    /// Which column of a row names the list item that the row answers. `None`: the statement has no such column.
    pub by: Option<By>,
    /// The texts as each backend needs them, made at first use.
    pub made: Made,
}

/// Which column of each row repeats the list item that the row answers. By this column, the store can send many queries
/// about one item each as one query with a list.
#[derive(Debug, Clone, Copy)]
pub struct By {
    /// The column's place in the row, counted from 0.
    pub column: usize,
    /// Tables of which each row has a list item's value. If a [`Bulk`] changes rows of such a table, only the
    /// prefetched answers about the items in its rows are discarded.
    pub tables: &'static [&'static str],
}

/// The texts of a statement as the backends need them. Each is made at first use.
#[derive(Debug)]
pub struct Made {
    sqlite: OnceLock<String>,
    postgres: OnceLock<String>,
    tables: OnceLock<Vec<&'static str>>,
    distinct: OnceLock<Vec<usize>>,
}

impl Made {
    /// No text is made yet.
    pub const fn new() -> Self {
        Self { sqlite: OnceLock::new(), postgres: OnceLock::new(), tables: OnceLock::new(), distinct: OnceLock::new() }
    }
}
impl Default for Made {
    fn default() -> Self {
        Self::new()
    }
}

impl Stmt {
    /// The text for SQLite, with parameters as `?1`. SQLite would take `$1` as a name and number it by its first
    /// appearance.
    pub fn sqlite(&'static self) -> &'static str {
        self.made.sqlite.get_or_init(|| self.sql.replace('$', "?"))
    }
    /// The text for PostgreSQL, with lists as `= ANY($n)`.
    pub fn postgres(&'static self) -> &'static str {
        self.made.postgres.get_or_init(|| self.postgres.unwrap_or(self.sql).replace("IN ($", "= ANY($"))
    }
    /// Whether the statement reads a table on PostgreSQL. It finds the table's name after `FROM`, after `JOIN`, or
    /// after a comma in a list of tables. Elsewhere the name may be that of a column.
    pub fn looks_at(&'static self, table: &str) -> bool {
        let tables = self.made.tables.get_or_init(|| {
            let words: Vec<&str> = self.postgres().split_whitespace().collect();
            let named = |pair: &[&'static str]| {
                let begins = matches!(pair[0], "FROM" | "JOIN") || pair[0].ends_with(',');
                begins.then(|| pair[1].trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
            };
            words.windows(2).filter_map(named).collect()
        });
        tables.contains(&table)
    }
}

/// A change of many rows. SQLite runs it once per row, prepared. PostgreSQL runs it once over whole columns
/// (`UNNEST`).
#[derive(Debug)]
pub struct Bulk {
    /// The change's name, for error messages and the simulator's hooks.
    pub name: &'static str,
    /// The table's name.
    pub table: &'static str,
    /// Columns with their kinds, in the order of each row's values.
    pub columns: &'static [(&'static str, Kind)],
    /// How many leading columns identify the row whose other columns are overwritten; 0: the change is an insert. The
    /// rows that one statement changes are equal in all of the identifying columns except the last.
    pub found_by: usize,
    /// The text after the values of an insert: empty, or `ON CONFLICT …`.
    pub tail: &'static str,
    /// The texts as each backend needs them, made at first use.
    pub made: Made,
}

impl Bulk {
    fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }
    /// The `SET` part and the `WHERE` part of an update. `each` writes one column, given its place and its name.
    fn update(&self, each: impl Fn(usize, &str) -> String) -> (String, String) {
        let texts: Vec<String> = self.columns.iter().enumerate().map(|(i, (name, _))| each(i, name)).collect();
        let (found_by, written) = texts.split_at(self.found_by);
        (written.join(", "), found_by.join(" AND "))
    }
    /// The text for SQLite, which changes one row.
    pub fn sqlite(&'static self) -> &'static str {
        self.made.sqlite.get_or_init(|| {
            if self.found_by > 0 {
                let (set, found) = self.update(|i, name| format!("{name} = ?{}", i + 1));
                return format!("UPDATE {} SET {set} WHERE {found}", self.table);
            }
            let marks = vec!["?"; self.columns.len()].join(", ");
            format!("INSERT INTO {} ({}) VALUES ({marks}) {}", self.table, self.names(), self.tail)
        })
    }
    /// The text for PostgreSQL, which changes all rows, with one array parameter per column.
    pub fn postgres(&'static self) -> &'static str {
        self.made.postgres.get_or_init(|| {
            let array = |i: usize| {
                let kind = match self.columns[i].1 {
                    Kind::Int => "bigint",
                    Kind::Text => "text",
                    Kind::Blob => "bytea",
                    Kind::Bool => "boolean",
                };
                format!("${}::{kind}[]", i + 1)
            };
            if self.found_by > 0 {
                return self.update_by_list(array);
            }
            let arrays = (0..self.columns.len()).map(array).collect::<Vec<_>>().join(", ");
            format!("INSERT INTO {} ({}) SELECT * FROM UNNEST({arrays}) {}", self.table, self.names(), self.tail)
        })
    }
    /// The text of an update for PostgreSQL. It does not join the table with the new rows. For a join, a planner
    /// without statistics about an organisation assumes that the organisation has no rows. PostgreSQL would then read
    /// the whole table.
    fn update_by_list(&self, array: impl Fn(usize) -> String) -> String {
        let last = self.found_by - 1;
        let (key, keys) = (self.columns[last].0, array(last));
        let (set, _) = self.update(|i, name| format!("{name} = ({})[array_position({keys}, {key})]", array(i)));
        let same = |i: usize, name: &str| format!("{name} = ({})[1]", array(i));
        let (_, found) = self.update(|i, name| if i == last { format!("{name} = ANY({keys})") } else { same(i, name) });
        format!("UPDATE {} SET {set} WHERE {found}", self.table)
    }
    /// Whether one statement may change both rows. An update needs equal values in all key columns except the last.
    pub fn together(&self, one: &[Value<'_>], other: &[Value<'_>]) -> bool {
        (1..self.found_by).all(|place| one[place - 1] == other[place - 1])
    }
    /// Columns in which no two rows of one statement may have the same values. Otherwise both would change one row of
    /// the table; PostgreSQL refuses that, or keeps only one of the changes. Empty if equal rows do no harm.
    pub fn distinct(&'static self) -> &'static [usize] {
        self.made.distinct.get_or_init(|| {
            let named = self.tail.split_once("ON CONFLICT (").and_then(|(_, rest)| rest.split_once(')'));
            let place = |wanted: &str| self.columns.iter().position(|(name, _)| *name == wanted.trim());
            match named {
                Some((names, _)) => names.split(',').filter_map(place).collect(),
                None => (0..self.found_by).collect(),
            }
        })
    }
}

/// Whose rows the statements of this transaction may see and change. PostgreSQL enforces this limit by row level
/// security.
#[derive(Debug, Clone, Copy)]
pub enum RunFor<'a> {
    /// One organisation. Every use case runs so.
    Organization(&'a OrganizationId),
    /// One user, whose memberships in any organisation are visible. Signing in runs so.
    User(&'a UserId),
    /// All organisations, of which only the ids are visible. `rebuild`, backups and the start of an epoch use this.
    EveryOrganization,
}

/// A query: a statement with its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The statement.
    pub stmt: &'static Stmt,
    /// The parameters, without the list.
    pub params: &'a [Value<'a>],
    /// The list, which is the last parameter. `None`: the statement has no list.
    pub list: Option<&'a [Value<'a>]>,
}

/// A connection inside a transaction.
pub trait Driver {
    /// Sets for whom the following statements of this transaction run.
    fn run_for(&mut self, whom: RunFor<'_>) -> Result<()>;
    /// Runs a statement and gives its rows.
    fn query(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<Vec<Row>>;
    /// Runs a statement whose last parameter is a list, and gives its rows in any order.
    fn query_each(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<Vec<Row>>;
    /// Runs queries that do not need each other's rows, and gives the rows of each. PostgreSQL sends them in one round
    /// trip.
    fn ask(&mut self, asked: &[Asked<'_>]) -> Result<Vec<Vec<Row>>> {
        let one = |asked: &Asked<'_>| match asked.list {
            Some(list) => self.query_each(asked.stmt, asked.params, list),
            None => self.query(asked.stmt, asked.params),
        };
        asked.iter().map(one).collect()
    }
    /// Names queries that this transaction will probably send next. PostgreSQL sends them together with the next query
    /// and keeps the rows. It answers from these rows later, unless their table was changed meanwhile. This affects
    /// speed only.
    fn prefetch(&mut self, _asked: &[Asked<'_>]) {}
    /// The index that says in which block each scan of the database's events is stored, as far as this process knows.
    fn block_index(&self) -> &BlockIndex;
    /// Prefetches the database's clock, like [`Driver::prefetch`].
    fn prefetch_now(&mut self) {}
    /// Whether this backend uses prefetched queries. SQLite does not: it has no round trip to save.
    fn prefetches(&self) -> bool {
        false
    }
    /// Sends the prefetched queries now that were not sent yet.
    fn send_prefetch(&mut self) -> Result<()> {
        Ok(())
    }
    /// Discards all prefetched rows. Needed where no lock prevents other transactions from changing the rows in the
    /// database.
    fn drop_prefetched(&mut self) {}
    /// Runs `of` without calling the simulator's statement hook. The store itself sends the statements of `of`, and
    /// their number differs between the backends. If the hook counted them, a seed would run differently on each
    /// backend.
    fn aside<R>(&mut self, of: impl FnOnce(&mut Self) -> R) -> R
    where
        Self: Sized,
    {
        of(self)
    }
    /// Runs a statement; gives the number of rows it changed.
    fn execute(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<u64>;
    /// Runs a statement whose last parameter is a list.
    fn execute_each(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<u64>;
    /// Runs a bulk change; `values` holds the values of one row after the other.
    fn execute_many(&mut self, bulk: &'static Bulk, values: &[Value<'_>]) -> Result<()>;
    /// Like [`Driver::execute`], for a change that fails only because of a bug of ours. The backend may report the
    /// failure as late as the commit, which then fails. So it need not wait for the database's answer before the next
    /// statement.
    fn queue_change(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<()> {
        self.execute(stmt, params).map(|_| ())
    }
    /// Like [`Driver::execute_each`], with the failure reported at the commit at the latest.
    fn execute_each_later(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<()> {
        self.execute_each(stmt, params, list).map(|_| ())
    }
    /// Like [`Driver::execute_many`], but the backend may report a failure as late as the commit. The backend may
    /// collect the rows of several calls with the same `bulk`, and send them together. Changes of one table keep their
    /// order. Changes of different tables may run in either order.
    fn execute_many_later(&mut self, bulk: &'static Bulk, values: &[Value<'_>]) -> Result<()> {
        self.execute_many(bulk, values)
    }
    /// The database's clock.
    fn now(&mut self) -> Result<Timestamp>;
    /// The database's clock at some moment of this transaction, which is exact enough for a lease. PostgreSQL asks
    /// once per transaction.
    fn about_now(&mut self) -> Result<Timestamp> {
        self.now()
    }
    /// A random number for the first epoch. It comes from the database, or from the simulator if the simulator set one.
    fn random(&mut self) -> Result<u64>;
}

/// Declares statements as statics, and `STATEMENTS` with all of them. A test prepares each of them.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:expr $(, postgres = $postgres:expr)? $(, by $column:literal of $tables:expr)?;)*) => {
        $($(#[$doc])* pub static $name: $crate::driver::Stmt = $crate::driver::Stmt {
            name: stringify!($name),
            sql: $sql,
            postgres: statements!(@other $($postgres)?),
            by: statements!(@by $($column, $tables)?),
            made: $crate::driver::Made::new(),
        };)*
        /// Every statement of this noun.
        pub static STATEMENTS: &[&$crate::driver::Stmt] = &[$(&$name),*];
    };
    (@other) => { None };
    (@other $postgres:expr) => { Some($postgres) };
    (@by) => { None };
    (@by $column:literal, $tables:expr) => { Some($crate::driver::By { column: $column, tables: &$tables }) };
}
/// Declares bulk changes as statics, and `BULKS` with all of them. `NAME = "table" { … } found by 2` overwrites the
/// other columns of the row that the first two columns identify.
macro_rules! bulks {
    ($($(#[$doc:meta])* $name:ident = $table:literal { $($column:ident: $kind:ident),* $(,)? } $(found by $found_by:literal)? $(, $tail:expr)?;)*) => {
        $($(#[$doc])* pub static $name: $crate::driver::Bulk = $crate::driver::Bulk {
            name: stringify!($name),
            table: $table,
            columns: &[$((stringify!($column), $crate::value::Kind::$kind)),*],
            found_by: 0 $(+ $found_by)?,
            tail: bulks!(@tail $($tail)?),
            made: $crate::driver::Made::new(),
        };)*
        /// Every bulk change of this noun.
        pub static BULKS: &[&$crate::driver::Bulk] = &[$(&$name),*];
    };
    (@tail) => { "" };
    (@tail $tail:expr) => { $tail };
}
pub(crate) use {bulks, statements};
