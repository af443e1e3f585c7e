//! The embedded store: SQLite with one thread that writes and several that read. For the simulator everything runs on
//! the calling thread.
//!
//! Modules are listed in reading order; a file imports only from those above it (law 12).

mod options;
mod driver;
mod connect;
pub mod journal;
mod memory;
mod group;
mod queue;
mod threads;
pub mod moving;
#[cfg(feature = "testing")]
pub mod testing;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use admit_app::error::{Error, Result};
use admit_app::ports::{Pace, ReadOp, Scope, Store, WriteOp};
use admit_app::records::{
    CredentialRecord, MailLaneRecord, OrganizationRecord, PairingRequestRecord, TakenRun, UserRecord,
};
use admit_core::ids::{EventId, OrganizationId};
use admit_core::rule::Epoch;
use admit_core::time::Timestamp;
use admit_store_queries::block_index::BlockIndex;
use admit_store_queries::contents::Contents;
use admit_store_queries::spans::WriteSpans;
use admit_store_queries::{Books, directory, job_queue, mail_lane, pairing_requests};
use futures_util::future::{BoxFuture, FutureExt, ready};
use rusqlite::Connection;
use tokio::sync::oneshot;

use driver::{SqliteDriver, meaning, unavailable};
use group::{Job, ServerOp, Work, Writer};
use memory::Memory;
pub use options::{ClockHook, CommitFault, CommitHook, Options, StatementFault, StatementHook, StopHook};
use threads::Threads;

/// The embedded store. A clone is another handle to the same store.
#[derive(Clone)]
pub struct Sqlite {
    inner: Arc<Inner>,
}

struct Inner {
    options: Options,
    path: Option<PathBuf>,
    mode: Mode,
}

enum Mode {
    /// Every operation runs on the calling thread.
    Inline(Box<Mutex<Writer>>),
    /// Operations run on the store's own threads.
    Threads(Threads),
}

impl Sqlite {
    /// Opens the database in a file, creates it if it is missing, and brings its schema up to date. Fails when a
    /// durability setting does not take effect, when a newer version wrote the file, or when the file cannot be
    /// opened.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::start(Some(path.as_ref()), options)
    }
    /// Makes a new database in memory, for tests and the simulator.
    pub fn memory(options: Options) -> Result<Self> {
        Self::start(None, options)
    }
    /// Makes a database in memory with the content of an image from [`Sqlite::snapshot`]. All seeds of the simulator
    /// begin with the same empty tables, and copying these is faster than creating them.
    pub fn memory_of(image: &[u8], options: Options) -> Result<Self> {
        let mut memory = Memory::empty()?;
        memory.put(image)?;
        let conn = connect::in_memory(memory.connect()?, true, &options)?;
        Self::start_on(conn, Some(memory), None, options)
    }
    fn start(path: Option<&Path>, options: Options) -> Result<Self> {
        if path.is_none() && options.inline {
            let memory = Memory::empty()?;
            let conn = connect::in_memory(memory.connect()?, false, &options)?;
            return Self::start_on(conn, Some(memory), None, options);
        }
        Self::start_on(connect::writer(path, &options)?, None, path, options)
    }
    fn start_on(conn: Connection, memory: Option<Memory>, path: Option<&Path>, options: Options) -> Result<Self> {
        let index = BlockIndex::default();
        let writer = Writer { conn, memory, options: options.clone(), stopped: false, books: Books::default(), index };
        let mode = if options.inline {
            Mode::Inline(Box::new(Mutex::new(writer)))
        } else {
            Mode::Threads(Threads::start(writer, path)?)
        };
        Ok(Self { inner: Arc::new(Inner { options, path: path.map(Path::to_owned), mode }) })
    }

    /// An image of the committed content of an inline store ([`Options::inline`]) in memory. Fails on other stores; use
    /// [`Sqlite::backup`] there.
    pub fn snapshot(&self) -> Result<Vec<u8>> {
        let mut writer = self.inline()?;
        let image = writer.conn.serialize(rusqlite::MAIN_DB).map_err(|error| meaning("snapshot", &error).0)?;
        Ok(image.to_vec())
    }
    /// Replaces the content of an inline store by an image of [`Sqlite::snapshot`]. With this the simulator restores
    /// backups, and resets the store for the next seed. Statements stay prepared.
    pub fn restore(&self, image: &[u8]) -> Result<()> {
        let mut writer = self.inline()?;
        let memory = writer.memory.as_mut();
        memory.ok_or_else(|| Error::Bug("images are of a database in memory".into()))?.put(image)?;
        writer.stopped = false;
        Ok(())
    }
    /// Acts as if the process of an inline store ([`Options::inline`]) died and started again. Open transactions are
    /// rolled back, caches are empty, and a store that stopped itself runs again.
    pub fn crash(&self) -> Result<()> {
        let mut writer = self.inline()?;
        let memory = writer.memory.as_ref();
        let conn = memory.ok_or_else(|| Error::Bug("only a database in memory survives its connection".into()))?;
        writer.conn = connect::in_memory(conn.connect()?, true, &self.inner.options)?;
        writer.stopped = false;
        writer.index = BlockIndex::default();
        writer.index = BlockIndex::default();
        Ok(())
    }
    /// Acts like [`Sqlite::crash`], but keeps the connection with its prepared statements. Afterwards the database
    /// holds only the committed content.
    pub fn start_again(&self) -> Result<()> {
        let mut writer = self.inline()?;
        writer.stopped = false;
        writer.index = BlockIndex::default();
        Ok(())
    }
    /// Every row of every table of an inline store in memory.
    pub fn contents(&self) -> Result<Contents> {
        let writer = self.inline()?;
        driver::contents(&writer.conn).map_err(|error| meaning("reading everything", &error).0)
    }
    fn inline(&self) -> Result<MutexGuard<'_, Writer>> {
        match &self.inner.mode {
            Mode::Inline(writer) => {
                let writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
                if self.inner.path.is_some() || !writer.conn.is_autocommit() {
                    return Err(Error::Bug("images are of a database in memory, between transactions".into()));
                }
                Ok(writer)
            }
            Mode::Threads(_) => Err(Error::Bug("only an inline store has images".into())),
        }
    }

    /// Copies the committed content into a new file, which is on the disk when the call returns. Others may read and
    /// write meanwhile. The call blocks, so make it from a thread that may block.
    pub fn backup(&self, to: &Path) -> Result<()> {
        let path = self.inner.path.as_ref();
        let path = path.ok_or_else(|| Error::Bug("a database in memory has no backup".into()))?;
        Self::backup_of(path, to)
    }

    /// Copies a database that another process may have open, like [`Sqlite::backup`]. It migrates nothing and writes
    /// only the copy.
    pub fn backup_of(path: &Path, to: &Path) -> Result<()> {
        let failed = |error: std::io::Error| Error::Bug(format!("writing the backup: {error}"));
        let target = to.to_str().ok_or_else(|| Error::invalid("path", "must be UTF-8"))?;
        if to.exists() {
            return Err(Error::invalid("path", "must not exist yet"));
        }
        let conn = connect::checkpointer(path)?;
        connect::make_private(to)?;
        conn.execute("VACUUM INTO ?1", [target]).map_err(|error| meaning("backup", &error).0)?;
        std::fs::File::open(to).and_then(|file| file.sync_all()).map_err(failed)?;
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
    }

    /// Damage in the file of a database, as at most twenty lines; empty if the file is whole. It reads the whole file.
    pub fn damage_of(path: &Path) -> Result<Vec<String>> {
        let conn = connect::checkpointer(path)?;
        let lines = conn.prepare("PRAGMA integrity_check(20)").and_then(|mut statement| {
            statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()
        });
        let lines = lines.map_err(|error| Error::Bug(format!("checking the database: {error}")))?;
        // One row of the answer may hold several lines.
        Ok(lines.iter().flat_map(|line| line.lines()).filter(|line| *line != "ok").map(str::to_owned).collect())
    }
    /// A setting in the file of a database that another process may have open; `None` if it is not set. It migrates
    /// nothing.
    pub fn setting_of(path: &Path, name: &str) -> Result<Option<String>> {
        let conn = connect::checkpointer(path)?;
        let options = Options::default();
        let mut driver = SqliteDriver::new(&conn, &options, &BlockIndex::default(), false, None);
        directory::setting(&mut driver, name)
    }

    fn run(&self, work: Work, pace: Pace) -> BoxFuture<'static, Result<()>> {
        match &self.inner.mode {
            // The operation runs now, not when the future is polled. So in both modes a caller that gives up cancels
            // nothing.
            Mode::Inline(writer) => ready(writer.lock().unwrap_or_else(PoisonError::into_inner).run_one(work)).boxed(),
            Mode::Threads(threads) => {
                let (reply, answer) = oneshot::channel();
                let reads = matches!(work, Work::Read(..) | Work::Look(_));
                let queue = if reads { &threads.reads } else { &threads.writes };
                let spans = if matches!(work, Work::Write(..)) { WriteSpans::begin() } else { WriteSpans::default() };
                queue.push(Job { work, spans, reply }, pace);
                answer.map(|answer| answer.unwrap_or_else(|_| Err(unavailable()))).boxed()
            }
        }
    }
    /// Runs one or two statements about the whole server, and gives their result.
    fn server<T: Send + 'static>(
        &self,
        writes: bool,
        op: impl FnMut(&mut SqliteDriver<'_>) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'static, Result<T>> {
        self.server_at(Pace::Urgent, writes, op)
    }
    fn server_at<T: Send + 'static>(
        &self,
        pace: Pace,
        writes: bool,
        mut op: impl FnMut(&mut SqliteDriver<'_>) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'static, Result<T>> {
        let slot = Arc::new(Mutex::new(None));
        let into = Arc::clone(&slot);
        let op: ServerOp = Box::new(move |driver| {
            let value = op(driver)?;
            *into.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
            Ok(())
        });
        let done = self.run(if writes { Work::Server(op) } else { Work::Look(op) }, pace);
        done.map(move |result| {
            result?;
            let value = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            value.ok_or_else(|| Error::Bug("the store said done without running the operation".into()))
        })
        .boxed()
    }
}

impl Store for Sqlite {
    fn write_op(&self, scope: Scope, op: WriteOp) -> BoxFuture<'static, Result<()>> {
        let pace = scope.pace;
        self.run(Work::Write(Box::new(scope), op), pace)
    }
    fn read_op(&self, organization_id: OrganizationId, op: ReadOp) -> BoxFuture<'static, Result<()>> {
        self.run(Work::Read(organization_id, op), Pace::Usual)
    }
    fn credential(&self, token_hash: [u8; 32]) -> BoxFuture<'static, Result<Option<CredentialRecord>>> {
        self.server(false, move |driver| directory::credential(driver, &token_hash))
    }
    fn sign_in(&self, email: String) -> BoxFuture<'static, Result<Option<(UserRecord, Vec<OrganizationId>)>>> {
        self.server(false, move |driver| directory::sign_in(driver, &email))
    }
    fn all_events(&self) -> BoxFuture<'static, Result<Vec<(OrganizationId, EventId)>>> {
        self.server(false, |driver| directory::all_events(driver))
    }
    fn organizations(&self) -> BoxFuture<'static, Result<Vec<OrganizationId>>> {
        self.server(false, |driver| directory::organizations(driver))
    }
    fn insert_pairing_request(
        &self,
        request: PairingRequestRecord,
        forget_before: Timestamp,
        most: u64,
    ) -> BoxFuture<'static, Result<bool>> {
        self.server(true, move |driver| pairing_requests::insert(driver, &request, forget_before, most))
    }
    fn pairing_request(&self, token_hash: [u8; 32]) -> BoxFuture<'static, Result<Option<PairingRequestRecord>>> {
        self.server(false, move |driver| pairing_requests::find(driver, &token_hash))
    }
    fn create_organization(
        &self,
        organization: OrganizationRecord,
        owner: UserRecord,
    ) -> BoxFuture<'static, Result<()>> {
        self.server(true, move |driver| directory::create_organization(driver, &organization, &owner))
    }
    fn epoch(&self) -> BoxFuture<'static, Result<Epoch>> {
        self.server(false, |driver| {
            directory::epoch(driver)?.ok_or_else(|| Error::Bug("the store has no epoch".into()))
        })
    }
    fn begin_epoch(&self, seen: Epoch, next: Epoch) -> BoxFuture<'static, Result<()>> {
        self.server(true, move |driver| directory::begin_epoch(driver, seen, next))
    }
    fn setting(&self, name: String) -> BoxFuture<'static, Result<Option<String>>> {
        self.server(false, move |driver| directory::setting(driver, &name))
    }
    fn settle(&self, name: String, value: String) -> BoxFuture<'static, Result<String>> {
        self.server(true, move |driver| directory::settle(driver, &name, &value))
    }
    fn take_runs(&self, holder: String, lease_ms: i64, limit: usize) -> BoxFuture<'static, Result<Vec<TakenRun>>> {
        self.server_at(Pace::Usual, true, move |driver| job_queue::take(driver, &holder, lease_ms, limit))
    }
    fn renew_runs(&self, holder: String, run_ids: Vec<String>, lease_ms: i64) -> BoxFuture<'static, Result<()>> {
        self.server_at(Pace::Usual, true, move |driver| job_queue::renew(driver, &holder, &run_ids, lease_ms))
    }
    fn free_runs(&self, holder: String) -> BoxFuture<'static, Result<u64>> {
        self.server(true, move |driver| job_queue::free(driver, &holder))
    }
    fn next_run_in(&self) -> BoxFuture<'static, Result<Option<i64>>> {
        self.server(false, |driver| job_queue::next_in(driver))
    }
    fn mail_lane(&self) -> BoxFuture<'static, Result<Option<MailLaneRecord>>> {
        self.server(false, |driver| mail_lane::find(driver))
    }
    fn stop_mail(&self, run_id: String, reason: String, random: u8) -> BoxFuture<'static, Result<()>> {
        self.server(true, move |driver| mail_lane::stop(driver, &run_id, &reason, random))
    }
    fn resume_mail(&self) -> BoxFuture<'static, Result<()>> {
        self.server(true, |driver| mail_lane::resume(driver))
    }
    fn hurry_mail(&self) -> BoxFuture<'static, Result<()>> {
        self.server(true, |driver| mail_lane::hurry(driver))
    }
    fn now(&self) -> BoxFuture<'static, Result<Timestamp>> {
        ready(Ok(driver::now(&self.inner.options))).boxed()
    }
}

#[cfg(test)]
mod tests;
