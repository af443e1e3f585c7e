//! Group commit: waiting operations share one transaction and one commit, each in its own savepoint.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use admit_app::error::{Error, Result};
use admit_app::ports::{ReadOp, Scope, WriteOp};
use admit_core::ids::OrganizationId;
use admit_store_queries::block_index::BlockIndex;
use admit_store_queries::spans::WriteSpans;
use admit_store_queries::{Books, run_read, run_write_after};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::driver::{Harm, SqliteDriver, meaning, storage_full, unavailable};
use crate::memory::Memory;
use crate::options::{CommitFault, Options};

/// One or two statements about the whole server, outside any organisation.
pub(crate) type ServerOp = Box<dyn FnMut(&mut SqliteDriver<'_>) -> Result<()> + Send>;

/// The work of a job.
pub(crate) enum Work {
    /// A use case's write.
    Write(Box<Scope>, WriteOp),
    /// A use case's read.
    Read(OrganizationId, ReadOp),
    /// A write about the whole server.
    Server(ServerOp),
    /// A read about the whole server.
    Look(ServerOp),
}

/// A waiting operation, with the channel for its answer.
pub(crate) struct Job {
    pub work: Work,
    pub spans: WriteSpans,
    pub reply: oneshot::Sender<Result<()>>,
}

impl Job {
    /// Sends the answer. If the caller has given up, nothing happens.
    pub fn answer(self, result: Result<()>) {
        // The spans end before the caller goes on, because the caller's span must not end before these.
        drop(self.spans);
        let _ = self.reply.send(result);
    }
}

/// The connection that writes.
pub(crate) struct Writer {
    pub conn: Connection,
    /// The database in memory that this connection writes to, if the simulator may copy and replace its content. `None`
    /// for every other store.
    pub memory: Option<Memory>,
    pub options: Options,
    /// Whether the store has stopped itself.
    pub stopped: bool,
    /// The rules of events that the running transaction has read.
    pub books: Books,
    /// Where the scans of the events stand. The readers use the same.
    pub index: BlockIndex,
}

/// The result of one operation inside the group's transaction.
enum Ran {
    /// The operation was kept, or rolled back alone. The group's other operations are not affected.
    Answer(Result<()>),
    /// SQLite rolled back the whole transaction, so no operation of the group is kept.
    AllLost(Error),
}

/// How long operations may join one transaction (ARCHITECTURE.md §4).
const FOLDING: Duration = Duration::from_millis(20);

impl Writer {
    /// Runs jobs in one transaction while operations may join it, and answers each job after the commit. The next
    /// transaction runs the jobs that are then still in `jobs`.
    pub fn run(&mut self, jobs: &mut impl Iterator<Item = Job>) {
        if self.stopped {
            jobs.for_each(|job| job.answer(Err(unavailable())));
        } else {
            self.transaction(jobs);
        }
    }

    /// Runs one operation in a transaction of its own. The simulator uses this.
    pub fn run_one(&mut self, mut work: Work) -> Result<()> {
        if self.stopped {
            return Err(unavailable());
        }
        if matches!(work, Work::Read(..) | Work::Look(_)) {
            return self.read(work);
        }
        self.books.forget();
        self.statement("BEGIN IMMEDIATE")?;
        match self.attempt(&mut work) {
            Ok(()) => {
                let mut results = [Ok(())];
                self.commit(&mut results);
                let [result] = results;
                result
            }
            Err(error) => {
                self.roll_back();
                Err(error)
            }
        }
    }

    fn transaction(&mut self, waiting: &mut impl Iterator<Item = Job>) {
        let begun = Instant::now();
        self.books.forget();
        let (mut jobs, mut results) = (Vec::new(), Vec::new());
        let start = self.statement("BEGIN IMMEDIATE");
        for mut job in waiting.by_ref() {
            if let Err(error) = &start {
                job.answer(Err(error.clone()));
                return;
            }
            if matches!(job.work, Work::Read(..) | Work::Look(_)) {
                // Only a store in memory reads on the writer's connection. Such a read sees what the group did so far,
                // so it waits for the commit like the writes.
                let result = self.read_inside(&mut job.work);
                results.push(result);
                jobs.push(job);
                continue;
            }
            job.spans.transaction();
            let ran = if jobs.is_empty() { self.alone(&mut job.work) } else { self.in_savepoint(&mut job.work) };
            job.spans.done();
            match ran {
                Ran::Answer(result) => {
                    results.push(result);
                    jobs.push(job);
                }
                Ran::AllLost(error) => {
                    let lost = if error == storage_full() { storage_full() } else { unavailable() };
                    job.answer(Err(error));
                    for (job, result) in jobs.into_iter().zip(results) {
                        job.answer(result.and(Err(lost.clone())));
                    }
                    return;
                }
            }
            if begun.elapsed() > FOLDING {
                break;
            }
        }
        let group = jobs.len();
        jobs.iter_mut().for_each(|job| job.spans.commit(group));
        self.commit(&mut results);
        for (job, result) in jobs.into_iter().zip(results) {
            job.answer(result);
        }
    }

    /// Runs the first operation of a group without a savepoint, because a savepoint would copy every page that changes.
    /// If the operation fails, the whole transaction is rolled back. That loses nothing else, because the transaction
    /// has no other operation yet.
    fn alone(&mut self, work: &mut Work) -> Ran {
        match self.attempt(work) {
            Ok(()) if self.conn.is_autocommit() => self.ended(unavailable()),
            Ok(()) => Ran::Answer(Ok(())),
            Err(error) => {
                if self.conn.is_autocommit() || self.stopped {
                    return self.ended(error);
                }
                self.roll_back();
                self.books.forget();
                match self.statement("BEGIN IMMEDIATE") {
                    Ok(()) => Ran::Answer(Err(error)),
                    Err(_) => self.ended(error),
                }
            }
        }
    }

    fn in_savepoint(&mut self, work: &mut Work) -> Ran {
        if let Err(error) = self.statement("SAVEPOINT op") {
            return self.ended(error);
        }
        match self.attempt(work) {
            Ok(()) => match self.statement("RELEASE op") {
                Ok(()) => Ran::Answer(Ok(())),
                Err(error) => self.ended(error),
            },
            Err(error) => {
                // After FULL, IOERR or NOMEM, SQLite may have rolled back everything by itself.
                if self.conn.is_autocommit() || self.stopped {
                    return self.ended(error);
                }
                match self.statement("ROLLBACK TO op").and_then(|()| self.statement("RELEASE op")) {
                    Ok(()) => Ran::Answer(Err(error)),
                    Err(_) => self.ended(error),
                }
            }
        }
    }
    fn ended(&mut self, error: Error) -> Ran {
        self.roll_back();
        Ran::AllLost(error)
    }

    /// Runs one write. A panic of the operation becomes an error.
    fn attempt(&mut self, work: &mut Work) -> Result<()> {
        let mut driver = SqliteDriver::new(&self.conn, &self.options, &self.index, true, None);
        let result = catch_unwind(AssertUnwindSafe(|| match work {
            Work::Write(scope, op) => run_write_after(&mut driver, &mut self.books, scope, op),
            Work::Server(op) | Work::Look(op) => {
                // The operation may begin an epoch, and every book contains the epoch.
                self.books.forget();
                op(&mut driver)
            }
            Work::Read(..) => Err(Error::Bug("a read among the writes".into())),
        }));
        let harm = driver.harm;
        self.note(harm);
        result.unwrap_or_else(|_| Err(Error::Bug("an operation panicked".into())))
    }
    fn read(&mut self, mut work: Work) -> Result<()> {
        self.statement("BEGIN DEFERRED")?;
        let result = self.read_inside(&mut work);
        self.roll_back();
        result
    }
    fn read_inside(&mut self, work: &mut Work) -> Result<()> {
        let mut driver = SqliteDriver::new(&self.conn, &self.options, &self.index, false, None);
        let result = catch_unwind(AssertUnwindSafe(|| read_with(&mut driver, work)));
        let harm = driver.harm;
        self.note(harm);
        result.unwrap_or_else(|_| Err(Error::Bug("an operation panicked".into())))
    }

    /// Commits, and sets the commit's result for each operation that succeeded.
    fn commit(&mut self, results: &mut [Result<()>]) {
        let fault = self.options.before_commit.as_ref().map_or(CommitFault::Proceed, |hook| hook());
        let committed = match fault {
            _ if self.stopped => Err(unavailable()),
            CommitFault::Lose => Err(unavailable()),
            CommitFault::Proceed | CommitFault::LostAck => self.commit_now(),
        };
        let answered = if fault == CommitFault::LostAck { committed.and(Err(unavailable())) } else { committed };
        if let Err(error) = answered {
            self.roll_back();
            for result in results.iter_mut().filter(|result| result.is_ok()) {
                *result = Err(error.clone());
            }
        }
    }
    fn commit_now(&mut self) -> Result<()> {
        let Err(error) = run_prepared(&self.conn, "COMMIT") else { return Ok(()) };
        let (error, harm) = meaning("COMMIT", &error);
        // A full disk or a locked file leaves the transaction open, so it certainly did not commit. After any other
        // error at a commit the result is unknown (trust §2): the store stops, and the next start reads what was
        // committed.
        let known = harm == Harm::Full || matches!(error, Error::Later { code: "store_busy", .. });
        self.note(if known { harm } else { Harm::Fatal });
        if known { Err(error) } else { Err(unavailable()) }
    }
    fn statement(&mut self, sql: &'static str) -> Result<()> {
        let Err(error) = run_prepared(&self.conn, sql) else { return Ok(()) };
        let (error, harm) = meaning(sql, &error);
        self.note(harm);
        Err(error)
    }
    fn roll_back(&mut self) {
        if !self.conn.is_autocommit()
            && let Err(error) = run_prepared(&self.conn, "ROLLBACK")
        {
            tracing::error!(%error, "rolling back failed");
            self.note(Harm::Fatal);
        }
    }
    fn note(&mut self, harm: Harm) {
        if harm < Harm::Fatal || self.stopped {
            return;
        }
        self.stopped = true;
        tracing::error!("the database is failing: the store stopped, nothing more is acknowledged");
        if let Some(hook) = &self.options.on_stop {
            hook("the database is failing");
        }
    }
}

/// Runs a prepared statement that begins or ends a transaction. Every operation needs such statements. Parsing them
/// each time would take a tenth of a small operation's time.
pub(crate) fn run_prepared(conn: &Connection, sql: &'static str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.raw_execute().map(|_| ())
}

/// Runs a read inside the connection's transaction.
pub(crate) fn read_with(driver: &mut SqliteDriver<'_>, work: &mut Work) -> Result<()> {
    match work {
        Work::Read(organization_id, op) => {
            // A read runs once, so its closure is moved out of its box.
            let taken = std::mem::replace(op, Box::new(|_| Err(Error::Bug("a read ran twice".into()))));
            run_read(driver, organization_id, taken)
        }
        Work::Look(op) => op(driver),
        Work::Write(..) | Work::Server(_) => Err(Error::Bug("a write among the reads".into())),
    }
}
