//! The driver of a backend, for the one `SqlTx`: it runs statements. All SQL is in this crate, none of it in a
//! backend.

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
    /// Where each row says which item of the list it answers.
    pub by: Option<By>,
    /// The text as a backend takes it, made once.
    pub made: Made,
}

/// The column that ties a row to an item of its question's list. With it, questions about one item each can be asked
/// as one.
#[derive(Debug, Clone, Copy)]
pub struct By {
    /// The column that repeats the item.
    pub column: usize,
    /// Tables whose changes name what they change by such an item: one that does not name it leaves its answer as it is.
    pub tables: &'static [&'static str],
}

/// A statement's texts as the backends take them, made when first needed.
#[derive(Debug)]
pub struct Made {
    sqlite: OnceLock<String>,
    postgres: OnceLock<String>,
    tables: OnceLock<Vec<&'static str>>,
    distinct: OnceLock<Vec<usize>>,
}

impl Made {
    /// Not made yet.
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
    /// As SQLite takes it: numbered parameters are `?1` there (`$1` would be a name, numbered by its appearance).
    pub fn sqlite(&'static self) -> &'static str {
        self.made.sqlite.get_or_init(|| self.sql.replace('$', "?"))
    }
    /// As PostgreSQL takes it.
    pub fn postgres(&'static self) -> &'static str {
        self.made.postgres.get_or_init(|| self.postgres.unwrap_or(self.sql).replace("IN ($", "= ANY($"))
    }
    /// Whether it looks at a table, as PostgreSQL takes it: named behind `FROM` or `JOIN`, or further on in such a list.
    /// A column may be called like another table.
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

/// A change of many rows: SQLite runs it prepared in a loop, PostgreSQL once over whole columns (UNNEST).
#[derive(Debug)]
pub struct Bulk {
    /// Its name, for errors and hooks.
    pub name: &'static str,
    /// The table's name.
    pub table: &'static str,
    /// Columns with their kinds, in the order of each row's values.
    pub columns: &'static [(&'static str, Kind)],
    /// How many of the columns find the row that the others overwrite, the last of them among rows that are the same in
    /// those before; 0: it is an insert.
    pub found_by: usize,
    /// The text after the values of an insert: empty, or `ON CONFLICT …`.
    pub tail: &'static str,
    /// The text as a backend takes it, made once.
    pub made: Made,
}

impl Bulk {
    fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }
    /// `each` of the columns that are overwritten, and of those the row is found by.
    fn update(&self, each: impl Fn(usize, &str) -> String) -> (String, String) {
        let texts: Vec<String> = self.columns.iter().enumerate().map(|(i, (name, _))| each(i, name)).collect();
        let (found_by, written) = texts.split_at(self.found_by);
        (written.join(", "), found_by.join(" AND "))
    }
    /// One row, as SQLite takes it.
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
    /// All rows, a parameter for each column, as PostgreSQL takes it.
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
    /// Not a join with the rows: a planner that has no figures of an organisation yet takes it for empty, and would look
    /// through all of its table.
    fn update_by_list(&self, array: impl Fn(usize) -> String) -> String {
        let last = self.found_by - 1;
        let (key, keys) = (self.columns[last].0, array(last));
        let (set, _) = self.update(|i, name| format!("{name} = ({})[array_position({keys}, {key})]", array(i)));
        let same = |i: usize, name: &str| format!("{name} = ({})[1]", array(i));
        let (_, found) = self.update(|i, name| if i == last { format!("{name} = ANY({keys})") } else { same(i, name) });
        format!("UPDATE {} SET {set} WHERE {found}", self.table)
    }
    /// Whether rows may be changed by one statement: those that overwrite are found by one list.
    pub fn together(&self, one: &[Value<'_>], other: &[Value<'_>]) -> bool {
        (1..self.found_by).all(|place| one[place - 1] == other[place - 1])
    }
    /// Columns in which no two rows of one statement may have the same values. The second row would change what the
    /// first did, and PostgreSQL refuses that or loses one of them. Empty where equal rows do no harm.
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
    fn prefetch(&mut self, _asked: &[Asked<'_>]) {}
    /// The same of the database's clock.
    fn prefetch_now(&mut self) {}
    /// Whether it makes use of what is prefetched.
    fn prefetches(&self) -> bool {
        false
    }
    /// Asks now what was prefetched and not asked yet.
    fn send_prefetch(&mut self) -> Result<()> {
        Ok(())
    }
    /// Nothing that is prefetched is to be answered from what came back: nothing keeps others from changing it.
    fn drop_prefetched(&mut self) {}
    /// Does what no operation asked for: the simulator's hook does not hear of it, and counts the same on both backends.
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
    /// Inserts rows; `values` holds them one after the other.
    fn execute_many(&mut self, bulk: &'static Bulk, values: &[Value<'_>]) -> Result<()>;
    /// [`Driver::execute`] for a change that can only fail by a fault of ours: the backend may learn of it as late as at
    /// the commit, which then fails. It saves waiting for the server's answer.
    fn queue_change(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<()> {
        self.execute(stmt, params).map(|_| ())
    }
    /// [`Driver::execute_each`], as late.
    fn execute_each_later(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<()> {
        self.execute_each(stmt, params, list).map(|_| ())
    }
    /// [`Driver::execute_many`], as late; and together with the same change of others, so that of two that are made so
    /// and concern different tables either may come first.
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
/// Declares bulk changes as statics, and `BULKS` with all of them. `NAME = "table" { … } found by 2` overwrites the other
/// columns of the row that the first two find.
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
