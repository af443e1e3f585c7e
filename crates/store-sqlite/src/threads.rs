//! The threads of the store: one that writes, several that read, one that copies the journal back into the file.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use admit_app::error::{Error, Result};
use admit_store_queries::block_index::BlockIndex;
use rusqlite::Connection;

use crate::connect;
use crate::driver::{SqliteDriver, meaning};
use crate::group::{Job, Work, Writer, read_with, run_prepared};
use crate::options::Options;
use crate::queue::Queue;

/// How often the journal is copied back into the file, if anything was written.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
/// Steps of SQLite's virtual machine between two checks of a read's age.
const STEPS: i32 = 10_000;

/// The threads of an open store. Dropping it finishes the waiting jobs.
pub(crate) struct Threads {
    pub writes: Arc<Queue>,
    pub reads: Arc<Queue>,
    closing: Arc<AtomicBool>,
    handles: Vec<JoinHandle<()>>,
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map_err(|error| Error::Bug(format!("starting a thread: {error}")))
}

impl Threads {
    /// Starts the threads. For a store in memory (no path) the writer reads too.
    pub fn start(mut writer: Writer, path: Option<&Path>) -> Result<Self> {
        let writes = Queue::new();
        let mut threads =
            Self { reads: Arc::clone(&writes), writes, closing: Arc::new(AtomicBool::new(false)), handles: Vec::new() };
        let (options, index) = (writer.options.clone(), writer.index.clone());
        let (dirty, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (queue, written, rest) = (Arc::clone(&threads.writes), Arc::clone(&dirty), Arc::clone(&asked));
        threads.handles.push(spawn("admit-store-write", move || {
            while let Some(mut turn) = queue.turn() {
                writer.run(&mut turn);
                written.store(true, Ordering::Relaxed);
                if rest.swap(false, Ordering::Relaxed) && !writer.stopped {
                    connect::fold(&writer.conn);
                }
            }
        })?);
        let Some(path) = path else { return Ok(threads) };
        threads.reads = Queue::new();
        for n in 0..options.readers.max(1) {
            let mut reader = Reader::open(path, &options, &index)?;
            let queue = Arc::clone(&threads.reads);
            threads.handles.push(spawn(&format!("admit-store-read-{n}"), move || {
                while let Some(job) = queue.take() {
                    reader.run(job);
                }
            })?);
        }
        let (conn, closing) = (connect::checkpointer(path)?, Arc::clone(&threads.closing));
        let pages = options.journal_pages;
        threads.handles.push(spawn("admit-store-fold", move || fold_journal(&conn, pages, &closing, &dirty, &asked))?);
        Ok(threads)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        self.writes.close();
        self.reads.close();
        for handle in self.handles.drain(..) {
            handle.thread().unpark();
            // The last owner may be one of these threads that has just answered its caller. It cannot wait for itself.
            if handle.thread().id() != std::thread::current().id() {
                let _ = handle.join();
            }
        }
    }
}

/// Copies SQLite's write-ahead log into the database file again and again, until `closing` is set. It uses a connection
/// of its own, so that no write waits for it. If writes never pause, the log grows during a copy. If the log had more
/// than `long` pages, `asked` tells the writer to copy the remaining pages.
fn fold_journal(conn: &Connection, long: i64, closing: &AtomicBool, dirty: &AtomicBool, asked: &AtomicBool) {
    while !closing.load(Ordering::Relaxed) {
        std::thread::park_timeout(CHECKPOINT_EVERY);
        if dirty.swap(false, Ordering::Relaxed) && connect::fold(conn) > long {
            // A second copy takes what was written meanwhile, so that the writer has less left to copy. All writes wait
            // while it copies.
            connect::fold(conn);
            asked.store(true, Ordering::Relaxed);
        }
    }
}

/// A connection that reads.
struct Reader {
    conn: Connection,
    path: PathBuf,
    options: Options,
    index: BlockIndex,
    /// When the running read must have ended, in milliseconds since this connection was opened. `i64::MAX` if no read
    /// runs.
    deadline: Arc<AtomicI64>,
    epoch: Instant,
}

impl Reader {
    fn open(path: &Path, options: &Options, index: &BlockIndex) -> Result<Self> {
        let (deadline, epoch) = (Arc::new(AtomicI64::new(i64::MAX)), Instant::now());
        let mut conn = connect::reader(path)?;
        let watched = Arc::clone(&deadline);
        let old = move || epoch.elapsed().as_millis() as i64 > watched.load(Ordering::Relaxed);
        conn.progress_handler(STEPS, Some(old)).map_err(|error| meaning("progress handler", &error).0)?;
        Ok(Self { conn, path: path.to_owned(), options: options.clone(), index: index.clone(), deadline, epoch })
    }
    fn run(&mut self, mut job: Job) {
        let limit = self.options.reader_limit;
        let until = self.epoch.elapsed() + limit;
        self.deadline.store(i64::try_from(until.as_millis()).unwrap_or(i64::MAX), Ordering::Relaxed);
        let result = self.snapshot(&mut job.work);
        self.deadline.store(i64::MAX, Ordering::Relaxed);
        if !self.conn.is_autocommit() && run_prepared(&self.conn, "ROLLBACK").is_err() {
            // A connection that cannot end its snapshot is replaced by a new one.
            match Self::open(&self.path, &self.options, &self.index) {
                Ok(fresh) => *self = fresh,
                Err(error) => tracing::error!(%error, "reopening a read connection"),
            }
        }
        job.answer(result);
    }
    fn snapshot(&mut self, work: &mut Work) -> Result<()> {
        run_prepared(&self.conn, "BEGIN DEFERRED").map_err(|error| meaning("BEGIN", &error).0)?;
        let deadline = Instant::now().checked_add(self.options.reader_limit);
        let mut driver = SqliteDriver::new(&self.conn, &self.options, &self.index, false, deadline);
        let result = catch_unwind(AssertUnwindSafe(|| read_with(&mut driver, work)));
        result.unwrap_or_else(|_| Err(Error::Bug("an operation panicked".into())))
    }
}
