//! Runs statements on one PostgreSQL connection from a plain thread, and translates its errors.

use std::collections::HashMap;
use std::error::Error as _;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use admit_app::error::{Error, Result};
use admit_core::time::Timestamp;
use admit_store_queries::block_index::BlockIndex;
use admit_store_queries::constraints::conflict;
use admit_store_queries::driver::{Asked, Bulk, Driver, Made, RunFor, Stmt};
use admit_store_queries::hooks::planted;
use admit_store_queries::value::{Row, Value, check_text};
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Statement};

use crate::options::{CommitFault, Options, StatementFault};
use crate::params::{Owned, Param, all, column, kind_of, owned, owned_all, owned_column};
use crate::prefetch::{Ahead, Prefetched};
use crate::rows::{ROWS, Rows};

/// The worst fault on the connection so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trouble {
    /// No fault.
    None,
    /// A statement failed: the transaction can only be rolled back.
    Statement,
    /// Two transactions conflicted (a deadlock or a serialization failure). The operation may run again.
    Again,
    /// The connection is gone.
    Lost,
}

/// The error while the database cannot be reached, or when the result of a commit is unknown.
pub(crate) fn unavailable() -> Error {
    Error::Later { code: "store_unavailable", retry_after_ms: 2_000 }
}
/// The error when too many operations wait, or another transaction holds a lock for too long.
pub(crate) fn busy() -> Error {
    Error::Later { code: "store_busy", retry_after_ms: 1_000 }
}

/// The meaning of a PostgreSQL error for the caller and for the connection. `what` names the failed statement.
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
    // Class 57P: the server is stopping, starting, or closed our session. Class 08: the connection is broken.
    if code.code().starts_with("57P") || code.code().starts_with("08") {
        tracing::warn!(what, %error, "the database server ended the connection");
        return (unavailable(), Trouble::Lost);
    }
    (Error::Bug(format!("{what}: {}: {}", code.code(), db.message())), Trouble::Statement)
}

/// A statement that was sent and whose answer was not read yet.
struct Sent {
    name: &'static str,
    answer: Pin<Box<dyn Future<Output = std::result::Result<(), tokio_postgres::Error>> + Send>>,
}

/// A connection with the runtime that drives it. Everything happens on the calling thread.
///
/// Changes whose result nobody needs before the commit are sent without waiting. The server answers in order, so their
/// answers are read with those of the next statement that waits. All of them are read before the commit is reported.
pub(crate) struct PgDriver {
    options: Arc<Options>,
    index: BlockIndex,
    runtime: Runtime,
    pub(crate) client: Arc<Client>,
    prepared: HashMap<usize, Statement>,
    /// `BEGIN …`, which is sent together with the first statement. `None`: it was sent.
    begin: Option<&'static str>,
    /// Whether `BEGIN` waits until [`Driver::run_for`] is called. Statements before that call run outside a
    /// transaction.
    bare: bool,
    /// Whether statements call the simulator's hook: true for writes.
    pub hooked: bool,
    sent: Vec<Sent>,
    /// Bulk changes that wait for more rows of their kind. They are sent before any other statement.
    rows: Vec<Rows>,
    /// The statement that last told the server for which organisation or user this transaction runs.
    set: Option<String>,
    /// The database's clock as this transaction read it last.
    asked_at: Option<Timestamp>,
    prefetched: Prefetched,
    /// The worst fault in this transaction.
    pub trouble: Trouble,
    /// Whether the running operation changed anything.
    pub wrote: bool,
}

static NOW: Stmt = Stmt {
    name: "NOW",
    sql: "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)",
    postgres: None,
    by: None,
    made: Made::new(),
};
static RANDOM: Stmt = Stmt {
    name: "RANDOM",
    sql: "SELECT ('x' || substr(md5(gen_random_uuid()::text), 1, 16))::bit(64)::bigint",
    postgres: None,
    by: None,
    made: Made::new(),
};

pub(crate) fn read_row(row: &tokio_postgres::Row) -> std::result::Result<Row, tokio_postgres::Error> {
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

/// Escapes text for a quoted part of a statement. Identifiers are printable ASCII, so only the quote needs care.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl PgDriver {
    /// A driver for a connection that `runtime` drives.
    pub fn new(runtime: Runtime, client: Client, index: BlockIndex) -> Self {
        Self {
            index,
            options: Arc::default(),
            runtime,
            client: Arc::new(client),
            prepared: HashMap::new(),
            begin: None,
            bare: false,
            hooked: false,
            sent: Vec::new(),
            rows: Vec::new(),
            set: None,
            asked_at: None,
            prefetched: Prefetched::default(),
            trouble: Trouble::None,
            wrote: false,
        }
    }
    /// The driver with the clock and the fault hooks of these options.
    pub fn with(self, options: &Arc<Options>) -> Self {
        Self { options: Arc::clone(options), ..self }
    }
    /// Begins a transaction. `BEGIN` reaches the server with the first statement.
    pub fn begin(&mut self, how: &'static str) {
        // Only the end of an earlier read can be unanswered here, and nobody needs that answer.
        self.sent.clear();
        self.rows.clear();
        self.begin = Some(how);
        (self.set, self.asked_at) = (None, None);
        self.prefetched = Prefetched::default();
        self.bare = false;
        self.trouble = Trouble::None;
        self.wrote = false;
    }
    /// Like [`PgDriver::begin`], but only `run_for` begins the transaction. Statements before it run without one.
    pub fn begin_bare(&mut self, how: &'static str) {
        self.begin(how);
        self.bare = true;
    }
    /// Runs SQL text without parameters.
    pub fn batch(&mut self, sql: &str) -> Result<()> {
        let client = Arc::clone(&self.client);
        self.asked(sql, client.batch_execute(sql))
    }
    /// Commits the transaction. After an error with a lost connection the result is unknown.
    pub fn commit(&mut self) -> Result<()> {
        match self.options.before_commit.as_ref().map_or(CommitFault::Proceed, |hook| hook()) {
            CommitFault::Proceed => self.commit_now(),
            CommitFault::Lose => Err(planted()),
            CommitFault::LostAck => {
                self.commit_now()?;
                self.trouble = Trouble::Lost;
                Err(planted())
            }
        }
    }
    fn commit_now(&mut self) -> Result<()> {
        self.send_rows()?;
        if self.begin.take().is_some() {
            return Ok(());
        }
        // If an earlier statement failed, the server turns this COMMIT into a rollback without an error.
        self.batch("COMMIT")
    }
    /// Ends a read. `COMMIT` is sent, but its answer is not waited for.
    pub fn release(&mut self) {
        if self.begin.take().is_none() && self.trouble < Trouble::Lost {
            self.send_text("COMMIT", "COMMIT".to_owned());
            self.runtime.block_on(tokio::task::yield_now());
        }
    }
    /// Rolls the transaction back.
    pub fn roll_back(&mut self) {
        // A failed statement that was sent is rolled back with the others.
        self.rows.clear();
        let _ = self.settle();
        if self.begin.take().is_none() && self.trouble < Trouble::Lost && self.batch("ROLLBACK").is_err() {
            self.trouble = Trouble::Lost;
        }
    }
    /// Whether the connection is lost.
    pub fn is_lost(&self) -> bool {
        self.trouble == Trouble::Lost || self.client.is_closed()
    }
    /// Sends a statement without waiting for its answer.
    fn send(
        &mut self,
        name: &'static str,
        answer: impl Future<Output = std::result::Result<(), tokio_postgres::Error>> + Send + 'static,
    ) {
        let mut answer: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(answer);
        // The future is polled once, so that the statement is sent in its order. It is polled again for its answer.
        let told = self.runtime.block_on(once(answer.as_mut()));
        let answer = match told {
            Poll::Pending => answer,
            Poll::Ready(told) => Box::pin(std::future::ready(told)),
        };
        self.sent.push(Sent { name, answer });
    }
    pub(crate) fn send_text(&mut self, name: &'static str, sql: String) {
        let client = Arc::clone(&self.client);
        self.send(name, async move { client.batch_execute(&sql).await });
    }
    fn send_change(&mut self, stmt: &'static Stmt, params: Vec<Owned>) -> Result<()> {
        self.send_rows()?;
        self.wrote = true;
        self.prefetched.changed(stmt.postgres());
        self.send_statement(std::ptr::from_ref(stmt).addr(), stmt.name, stmt.postgres(), params)
    }
    fn send_statement(&mut self, key: usize, name: &'static str, sql: &str, params: Vec<Owned>) -> Result<()> {
        let statement = self.prepared(key, name, sql)?;
        let client = Arc::clone(&self.client);
        self.send(name, async move { client.execute_raw(&statement, params).await.map(|_| ()) });
        Ok(())
    }
    /// Sends the collected bulk changes.
    fn send_rows(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        rows.into_iter().try_for_each(|Rows { bulk, values }| self.send_bulk(bulk, &values))
    }
    fn send_bulk(&mut self, bulk: &'static Bulk, values: &[Value<'_>]) -> Result<()> {
        let width = bulk.columns.len();
        let columns = bulk.columns.iter().enumerate();
        let params = columns.map(|(i, (_, kind))| owned_column(*kind, values, i, width)).collect();
        self.send_statement(std::ptr::from_ref(bulk).addr(), bulk.name, bulk.postgres(), params)
    }
    /// Waits for all statements that were sent. Gives the first error.
    pub fn settle(&mut self) -> Result<()> {
        let mut first = Ok(());
        for Sent { name, answer } in std::mem::take(&mut self.sent) {
            let answer = self.runtime.block_on(answer);
            if first.is_ok() {
                first = self.noted(name, answer);
            }
        }
        first
    }
    /// Sends a query and waits for its answer. Gives the first error, of this query or of one sent before.
    ///
    /// The server answers in the order of sending. The connection buffers two pieces of an answer, and reads no third
    /// piece until the caller takes one. So this function sends the query first, and then reads the answers to earlier
    /// statements.
    pub(crate) fn asked<T>(
        &mut self,
        what: &str,
        answer: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        let mut answer = pin!(answer);
        let told = match self.runtime.block_on(once(answer.as_mut())) {
            Poll::Ready(told) => {
                self.settle()?;
                told
            }
            Poll::Pending => {
                let before = self.settle();
                let told = self.runtime.block_on(answer);
                before?;
                told
            }
        };
        self.noted(what, told)
    }
    pub(crate) fn noted<T>(&mut self, what: &str, result: std::result::Result<T, tokio_postgres::Error>) -> Result<T> {
        result.map_err(|error| {
            let (error, trouble) = meaning(what, &error);
            self.trouble = self.trouble.max(trouble);
            error
        })
    }
    fn enter(&self, name: &'static str) -> Result<()> {
        let hook = self.options.before_statement.as_ref().filter(|_| self.hooked);
        if hook.is_some_and(|hook| hook(name) != StatementFault::Proceed) { Err(planted()) } else { Ok(()) }
    }
    fn begun(&mut self) {
        if let Some(begin) = self.begin.take_if(|_| !self.bare) {
            self.send_text("BEGIN", begin.to_owned());
        }
    }
    fn prepared(&mut self, key: usize, name: &str, sql: &str) -> Result<Statement> {
        self.begun();
        if let Some(statement) = self.prepared.get(&key) {
            return Ok(statement.clone());
        }
        let client = Arc::clone(&self.client);
        let statement = self.asked(name, client.prepare(sql))?;
        self.prepared.insert(key, statement.clone());
        Ok(statement)
    }
    fn checked(params: &[Value<'_>]) -> Result<()> {
        params.iter().try_for_each(|value| if let Value::Text(text) = value { check_text(text) } else { Ok(()) })
    }
    /// Sends queries together with the prefetched ones. All are sent before the first is answered.
    fn exchange(&mut self, asked: &[(&'static Stmt, Vec<Box<dyn ToSql + Sync + '_>>)]) -> Result<Vec<Vec<Row>>> {
        if asked.is_empty() { Ok(Vec::new()) } else { self.exchange_all(asked) }
    }
    fn exchange_all(&mut self, asked: &[(&'static Stmt, Vec<Box<dyn ToSql + Sync + '_>>)]) -> Result<Vec<Vec<Row>>> {
        self.send_rows()?;
        let ahead = self.prefetched.unasked();
        if asked.is_empty() && ahead.is_empty() {
            return Ok(Vec::new());
        }
        let mut questions: Vec<(&'static Stmt, Statement, Vec<&(dyn ToSql + Sync)>)> = Vec::new();
        for (stmt, params) in asked {
            let statement = self.statement(stmt)?;
            questions.push((stmt, statement, params.iter().map(|value| &**value).collect()));
        }
        for Ahead { stmt, params, .. } in &ahead {
            let statement = self.statement(stmt)?;
            questions.push((stmt, statement, params.iter().map(|value| value as &(dyn ToSql + Sync)).collect()));
        }
        let client = Arc::clone(&self.client);
        let answers = join_all(questions.iter().map(|(_, statement, params)| client.query(statement, params)));
        let answers = self.asked("ASK", answers.map(Ok))?;
        let mut all = Vec::with_capacity(questions.len());
        for ((stmt, ..), rows) in questions.iter().zip(answers) {
            let rows = self.noted(stmt.name, rows)?;
            let read = rows.iter().map(read_row).collect::<std::result::Result<Vec<_>, _>>();
            all.push(self.noted(stmt.name, read)?);
        }
        let known = all.split_off(asked.len());
        for (ahead, rows) in ahead.into_iter().zip(known) {
            self.prefetched.answered(ahead, rows);
        }
        Ok(all)
    }
    fn statement(&mut self, stmt: &'static Stmt) -> Result<Statement> {
        self.prepared(std::ptr::from_ref(stmt).addr(), stmt.name, stmt.postgres())
    }
    fn changed(&mut self, key: usize, name: &str, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<u64> {
        self.send_rows()?;
        let statement = self.prepared(key, name, sql)?;
        self.wrote = true;
        self.prefetched.changed(sql);
        let client = Arc::clone(&self.client);
        self.asked(name, client.execute(&statement, params))
    }
    /// Prepares a statement. A test calls it for every statement.
    #[cfg(test)]
    pub fn try_prepare(&mut self, name: &str, sql: &str) -> Result<Statement> {
        let client = Arc::clone(&self.client);
        self.asked(name, client.prepare(sql))
    }
    /// Runs refinery's migrations.
    pub fn migrate(&mut self, runner: &refinery::Runner) -> Result<()> {
        self.settle()?;
        let client = Arc::get_mut(&mut self.client).ok_or_else(|| Error::Bug("the connection is in use".into()))?;
        let done = self.runtime.block_on(runner.run_async(client));
        done.map(|_| ())
            .map_err(|error| Error::Bug(format!("bringing the database up to date: {}", with_causes(&error))))
    }
    /// The text in the only row and column that a query returns, such as a setting of the server.
    pub fn show(&mut self, sql: &str) -> Result<String> {
        let client = Arc::clone(&self.client);
        let row = self.asked(sql, client.query_one(sql, &[]))?;
        self.noted(sql, row.try_get::<_, String>(0))
    }
}

/// Polls the future of a query once. This sends the query in its order; a later poll takes the answer.
async fn once<F: Future + ?Sized>(mut asked: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(asked.as_mut().poll(context))).await
}

impl Driver for PgDriver {
    fn block_index(&self) -> &BlockIndex {
        &self.index
    }
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
        // Most operations of one transaction belong to the same organisation, so the value is often set already.
        if self.begin.is_none() && self.set.as_ref() == Some(&set) {
            return Ok(());
        }
        self.send_rows()?;
        self.prefetched = Prefetched::default();
        let text = match self.begin.take() {
            Some(begin) => format!("{begin}; {set}"),
            None => set.clone(),
        };
        self.set = Some(set);
        self.send_text("RUN FOR", text);
        Ok(())
    }
    fn query(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<Vec<Row>> {
        let rows = self.ask(&[Asked { stmt, params, list: None }])?;
        Ok(rows.into_iter().next().unwrap_or_default())
    }
    fn query_each(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<Vec<Row>> {
        let rows = self.ask(&[Asked { stmt, params, list: Some(list) }])?;
        Ok(rows.into_iter().next().unwrap_or_default())
    }
    fn ask(&mut self, asked: &[Asked<'_>]) -> Result<Vec<Vec<Row>>> {
        let (mut known, mut open) = (Vec::with_capacity(asked.len()), Vec::with_capacity(asked.len()));
        for question @ Asked { stmt, params, list } in asked {
            self.enter(stmt.name)?;
            Self::checked(params)?;
            Self::checked(list.unwrap_or_default())?;
            let rows = self.prefetched.known(question);
            if rows.is_none() {
                let mut own: Vec<Box<dyn ToSql + Sync + '_>> = Vec::with_capacity(params.len() + 1);
                own.extend(params.iter().map(|value| Box::new(Param(value)) as Box<dyn ToSql + Sync + '_>));
                own.extend(list.map(|list| column(kind_of(list), list, 0, 1)));
                open.push((*stmt, own));
            }
            known.push(rows);
        }
        let mut answers = self.exchange(&open)?.into_iter();
        Ok(known.into_iter().map(|rows| rows.or_else(|| answers.next()).unwrap_or_default()).collect())
    }
    fn prefetch(&mut self, asked: &[Asked<'_>]) {
        asked.iter().for_each(|asked| self.prefetched.add(asked));
    }
    fn prefetches(&self) -> bool {
        true
    }
    fn send_prefetch(&mut self) -> Result<()> {
        self.exchange_all(&[]).map(|_| ())
    }
    fn drop_prefetched(&mut self) {
        self.prefetched = Prefetched::default();
    }
    fn aside<R>(&mut self, of: impl FnOnce(&mut Self) -> R) -> R {
        let hooked = std::mem::replace(&mut self.hooked, false);
        let result = of(self);
        self.hooked = hooked;
        result
    }
    fn prefetch_now(&mut self) {
        if self.options.clock.is_none() {
            self.prefetched.add(&Asked { stmt: &NOW, params: &[], list: None });
        }
    }
    fn execute(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<u64> {
        self.enter(stmt.name)?;
        Self::checked(params)?;
        let params: Vec<Param<'_>> = params.iter().map(Param).collect();
        self.changed(std::ptr::from_ref(stmt).addr(), stmt.name, stmt.postgres(), &all(&params))
    }
    fn execute_each(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<u64> {
        self.enter(stmt.name)?;
        Self::checked(params)?;
        Self::checked(list)?;
        let params: Vec<Param<'_>> = params.iter().map(Param).collect();
        let list = column(kind_of(list), list, 0, 1);
        let mut params = all(&params);
        params.push(&*list);
        self.changed(std::ptr::from_ref(stmt).addr(), stmt.name, stmt.postgres(), &params)
    }
    fn execute_many(&mut self, bulk: &'static Bulk, values: &[Value<'_>]) -> Result<()> {
        self.enter(bulk.name)?;
        Self::checked(values)?;
        let width = bulk.columns.len();
        let columns: Vec<_> =
            bulk.columns.iter().enumerate().map(|(i, (_, kind))| column(*kind, values, i, width)).collect();
        let params: Vec<&(dyn ToSql + Sync)> = columns.iter().map(|column| &**column).collect();
        self.changed(std::ptr::from_ref(bulk).addr(), bulk.name, bulk.postgres(), &params).map(|_| ())
    }
    fn queue_change(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<()> {
        self.enter(stmt.name)?;
        Self::checked(params)?;
        self.send_change(stmt, owned_all(params, None))
    }
    fn execute_each_later(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<()> {
        self.enter(stmt.name)?;
        Self::checked(params)?;
        Self::checked(list)?;
        self.send_change(stmt, owned_all(params, Some(list)))
    }
    fn execute_many_later(&mut self, bulk: &'static Bulk, values: &[Value<'_>]) -> Result<()> {
        self.enter(bulk.name)?;
        Self::checked(values)?;
        self.wrote = true;
        self.prefetched.changed_rows(bulk, values);
        if values.len() > ROWS * bulk.columns.len() {
            self.send_rows()?;
            return self.send_bulk(bulk, values);
        }
        let owned = values.iter().map(owned);
        // Rows join only the newest change of their table, because two kinds of changes must keep their order.
        match self.rows.iter_mut().rfind(|rows| rows.bulk.table == bulk.table) {
            Some(rows) if std::ptr::eq(rows.bulk, bulk) && rows.take(values) => rows.values.extend(owned),
            _ => self.rows.push(Rows { bulk, values: owned.collect() }),
        }
        Ok(())
    }
    fn now(&mut self) -> Result<Timestamp> {
        if let Some(clock) = &self.options.clock {
            return Ok(Timestamp::clamped(clock()));
        }
        let rows = match self.prefetched.known(&Asked { stmt: &NOW, params: &[], list: None }) {
            Some(rows) => rows,
            None => self.exchange(&[(&NOW, Vec::new())])?.pop().unwrap_or_default(),
        };
        let now = rows.into_iter().next().map_or_else(|| Err(unavailable()), |mut row| row.at())?;
        self.asked_at = Some(now);
        Ok(now)
    }
    fn about_now(&mut self) -> Result<Timestamp> {
        self.asked_at.map_or_else(|| self.now(), Ok)
    }
    fn random(&mut self) -> Result<u64> {
        let row = self.exchange(&[(&RANDOM, Vec::new())])?.into_iter().flatten().next();
        row.map_or_else(|| Err(unavailable()), |mut row| row.int().map(i64::cast_unsigned))
    }
}

/// The text of an error with its causes. refinery's own text is only `db error`; the server's message is in a cause.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
