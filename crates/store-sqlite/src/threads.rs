//! One thread that writes, a few that read, one that folds the journal back.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use admit_app::error::{Error, Result};
use admit_app::ports::Pace;
use rusqlite::Connection;

use crate::connect;
use crate::driver::{SqliteDriver, meaning, unavailable};
use crate::group::{Job, Work, Writer, read_with};
use crate::options::Options;

/// Waiting operations folded into one transaction (architecture §4).
const GROUP: usize = admit_core::limits::LANE_REQUESTS;
/// Of those that may wait, so many by themselves: whoever comes next waits for them.
const PATIENT: usize = 12;
/// And so many beside others, which wait for them too.
const PATIENT_BESIDE: usize = 2;
/// How often the journal is folded back, if anything was written.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
/// Most operations that wait; further ones are told to come again.
pub(crate) const QUEUE: usize = 10_000;
/// SQLite's virtual machine steps between two looks at a reader's age.
const STEPS: i32 = 10_000;

#[derive(Default)]
struct Waiting {
    urgent: VecDeque<Job>,
    usual: VecDeque<Job>,
    patient: VecDeque<Job>,
    closing: bool,
}

impl Waiting {
    fn len(&self) -> usize {
        self.urgent.len() + self.usual.len() + self.patient.len()
    }
    /// Up to `most` jobs that share a transaction. Patient ones wait for all others, a few of them apart: they neither
    /// starve nor keep anybody waiting for long.
    fn next(&mut self, most: usize) -> Vec<Job> {
        let mut jobs = Vec::new();
        while jobs.len() < most
            && let Some(job) = self.urgent.pop_front().or_else(|| self.usual.pop_front())
        {
            jobs.push(job);
        }
        let few = if jobs.is_empty() { PATIENT } else { PATIENT_BESIDE };
        let few = few.min(self.patient.len()).min(most - jobs.len());
        jobs.extend(self.patient.drain(..few));
        jobs
    }
}

/// Jobs on their way to a thread.
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    bell: Condvar,
}

impl Queue {
    fn new() -> Arc<Self> {
        Arc::new(Self { waiting: Mutex::new(Waiting::default()), bell: Condvar::new() })
    }
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Hands a job over; refused when too many wait or the store is closing.
    pub fn push(&self, job: Job, pace: Pace) {
        let mut waiting = self.lock();
        if waiting.closing || waiting.len() >= QUEUE {
            drop(waiting);
            job.answer(Err(unavailable()));
            return;
        }
        match pace {
            Pace::Urgent => waiting.urgent.push_back(job),
            Pace::Usual => waiting.usual.push_back(job),
            Pace::Patient => waiting.patient.push_back(job),
        }
        drop(waiting);
        self.bell.notify_one();
    }
    /// Up to `most` jobs, urgent ones first; waits for one. `None` when closing and nothing is left.
    fn take(&self, most: usize) -> Option<Vec<Job>> {
        let mut waiting = self.lock();
        loop {
            let jobs = waiting.next(most);
            if !jobs.is_empty() {
                return Some(jobs);
            }
            if waiting.closing {
                return None;
            }
            waiting = self.bell.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
    fn close(&self) {
        self.lock().closing = true;
        self.bell.notify_all();
    }
}

/// The threads of an open store; dropping them finishes what waits.
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
    /// Starts the threads. Without a file (in memory) the writer reads too.
    pub fn start(mut writer: Writer, path: Option<&Path>) -> Result<Self> {
        let writes = Queue::new();
        let mut threads =
            Self { reads: Arc::clone(&writes), writes, closing: Arc::new(AtomicBool::new(false)), handles: Vec::new() };
        let options = writer.options.clone();
        let dirty = Arc::new(AtomicBool::new(false));
        let (queue, written) = (Arc::clone(&threads.writes), Arc::clone(&dirty));
        threads.handles.push(spawn("admit-store-write", move || {
            while let Some(jobs) = queue.take(GROUP) {
                writer.run(jobs);
                written.store(true, Ordering::Relaxed);
            }
        })?);
        let Some(path) = path else { return Ok(threads) };
        threads.reads = Queue::new();
        for n in 0..options.readers.max(1) {
            let mut reader = Reader::open(path, &options)?;
            let queue = Arc::clone(&threads.reads);
            threads.handles.push(spawn(&format!("admit-store-read-{n}"), move || {
                while let Some(jobs) = queue.take(1) {
                    jobs.into_iter().for_each(|job| reader.run(job));
                }
            })?);
        }
        let (conn, closing) = (connect::checkpointer(path)?, Arc::clone(&threads.closing));
        threads.handles.push(spawn("admit-store-fold", move || fold_journal(&conn, &closing, &dirty))?);
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
            // The last owner may be a thread of ours that just answered its caller: it cannot wait for itself.
            if handle.thread().id() != std::thread::current().id() {
                let _ = handle.join();
            }
        }
    }
}

/// Folds the journal back into the file from a connection of its own, so that no write waits for it.
fn fold_journal(conn: &Connection, closing: &AtomicBool, dirty: &AtomicBool) {
    while !closing.load(Ordering::Relaxed) {
        std::thread::park_timeout(CHECKPOINT_EVERY);
        if dirty.swap(false, Ordering::Relaxed)
            && let Err(error) = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
        {
            // The writer finds out for itself whether the disk is failing.
            tracing::warn!(%error, "folding the journal back");
        }
    }
}

/// A connection that reads.
struct Reader {
    conn: Connection,
    path: PathBuf,
    options: Options,
    /// When the running read must end, in milliseconds since `epoch`; `i64::MAX` for none.
    deadline: Arc<AtomicI64>,
    epoch: Instant,
}

impl Reader {
    fn open(path: &Path, options: &Options) -> Result<Self> {
        let (deadline, epoch) = (Arc::new(AtomicI64::new(i64::MAX)), Instant::now());
        let mut conn = connect::reader(path)?;
        let watched = Arc::clone(&deadline);
        let old = move || epoch.elapsed().as_millis() as i64 > watched.load(Ordering::Relaxed);
        conn.progress_handler(STEPS, Some(old)).map_err(|error| meaning("progress handler", &error).0)?;
        Ok(Self { conn, path: path.to_owned(), options: options.clone(), deadline, epoch })
    }
    fn run(&mut self, mut job: Job) {
        let limit = self.options.reader_limit;
        let until = self.epoch.elapsed() + limit;
        self.deadline.store(i64::try_from(until.as_millis()).unwrap_or(i64::MAX), Ordering::Relaxed);
        let result = self.snapshot(&mut job.work);
        self.deadline.store(i64::MAX, Ordering::Relaxed);
        if !self.conn.is_autocommit() && self.conn.execute_batch("ROLLBACK").is_err() {
            // A connection that cannot even end its snapshot is replaced.
            match Self::open(&self.path, &self.options) {
                Ok(fresh) => *self = fresh,
                Err(error) => tracing::error!(%error, "reopening a read connection"),
            }
        }
        job.answer(result);
    }
    fn snapshot(&mut self, work: &mut Work) -> Result<()> {
        self.conn.execute_batch("BEGIN DEFERRED").map_err(|error| meaning("BEGIN", &error).0)?;
        let deadline = Instant::now().checked_add(self.options.reader_limit);
        let mut driver = SqliteDriver::new(&self.conn, &self.options, false, deadline);
        let result = catch_unwind(AssertUnwindSafe(|| read_with(&mut driver, work)));
        result.unwrap_or_else(|_| Err(Error::Bug("an operation panicked".into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    /// Jobs that say by an error which they are.
    fn waiting(urgent: usize, usual: usize, patient: usize) -> Waiting {
        let jobs = |name: &'static str, count: usize| {
            let job = || Job {
                work: Work::Look(Box::new(move |_| Err(Error::not_found(name)))),
                reply: oneshot::channel().0,
            };
            (0..count).map(|_| job()).collect::<VecDeque<Job>>()
        };
        Waiting {
            urgent: jobs("urgent", urgent),
            usual: jobs("usual", usual),
            patient: jobs("patient", patient),
            closing: false,
        }
    }
    /// How many of each are left after a turn.
    fn left(waiting: &mut Waiting, most: usize) -> [usize; 3] {
        let before = waiting.len();
        assert_eq!(before - waiting.next(most).len(), waiting.len());
        [waiting.urgent.len(), waiting.usual.len(), waiting.patient.len()]
    }

    #[test]
    fn what_may_wait_waits_and_is_not_starved() {
        let mut many = waiting(3, 5, 40);
        assert_eq!(left(&mut many, 2), [1, 5, 40], "urgent ones first");
        assert_eq!(left(&mut many, 4), [0, 2, 40], "then in the order of coming");
        assert_eq!(left(&mut many, 50), [0, 0, 38], "a few beside others");
        assert_eq!(left(&mut many, 50), [0, 0, 26], "and not many by themselves: whoever comes next waits for them");
        assert_eq!(left(&mut waiting(0, 0, 1), 50), [0, 0, 0]);
        assert_eq!(left(&mut waiting(0, 0, 0), 50), [0, 0, 0]);
    }
}
