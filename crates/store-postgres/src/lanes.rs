//! One lane per event groups waiting operations into one transaction (ARCHITECTURE.md §4). Reads have connections
//! of their own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use admit_app::error::{Error, Result};
use admit_app::ports::{Pace, Prefetch, ReadOp, Scope, WriteOp};
use admit_core::ids::OrganizationId;
use admit_store_queries::directory::prefetch_credentials;
use admit_store_queries::driver::{Driver as _, RunFor};
use admit_store_queries::spans::WriteSpans;
use admit_store_queries::{WriteGroup, prefetch, run_read, run_write};
use tokio::sync::oneshot;

use crate::connect;
use crate::driver::{PgDriver, Trouble, busy, unavailable};
use crate::options::Options;
use crate::tls::Address;

/// The most operations in one transaction.
const GROUP: usize = admit_core::limits::LANE_REQUESTS;
/// How long operations may join one transaction.
const FOLDING: Duration = Duration::from_millis(20);
/// The most operations that wait. Further ones are refused with a request to retry.
pub(crate) const QUEUE: usize = 10_000;
/// How often an operation is run again after a conflict with another transaction.
const TRIES: usize = 5;
/// Pause before a new attempt to connect.
const RECONNECT: Duration = Duration::from_millis(250);

/// One or two statements about the whole server, outside any organisation.
pub(crate) type ServerOp = Box<dyn FnMut(&mut PgDriver) -> Result<()> + Send>;

/// The work of a job.
pub(crate) enum Work {
    /// A use case's write.
    Write(Scope, WriteOp),
    /// A use case's read, with the data that it will probably read. The operation is `None` once it has begun.
    Read(OrganizationId, Prefetch, Option<ReadOp>),
    /// A write about the whole server.
    Server(ServerOp),
    /// A read about the whole server.
    Look(ServerOp),
    /// A look-up of the credential with this SHA-256.
    Credential([u8; 32], ServerOp),
}

/// A waiting operation, with the channel for its answer.
pub(crate) struct Job {
    pub work: Work,
    pub spans: WriteSpans,
    pub reply: oneshot::Sender<Result<()>>,
}

impl Job {
    fn answer(self, result: Result<()>) {
        // The spans end before the caller goes on, because the caller's span must not end before these.
        drop(self.spans);
        let _ = self.reply.send(result);
    }
    /// The lane of this job. Writes of the same organisation and events share a lane, and all writes about the whole
    /// server share one. Reads with a prefetch share a lane if they are of the same organisation, since they are short.
    /// Look-ups of credentials share the lane of writes about the whole server. Every other read has a lane of its own.
    fn lane(&self, n: u64) -> (String, u64) {
        match &self.work {
            Work::Write(scope, _) => {
                let mut key = scope.organization_id.to_string();
                for event_id in &scope.events {
                    key.push(' ');
                    key.push_str(event_id.as_str());
                }
                (key, 0)
            }
            Work::Read(organization_id, prefetch, _) if *prefetch != Prefetch::default() => {
                (organization_id.to_string(), 0)
            }
            Work::Server(_) | Work::Credential(..) => (String::new(), 0),
            Work::Read(..) | Work::Look(_) => (String::new(), n),
        }
    }
}

#[derive(Default)]
struct Lane {
    urgent: VecDeque<Job>,
    bulk: VecDeque<Job>,
    busy: bool,
}

#[derive(Default)]
struct Waiting {
    lanes: BTreeMap<(String, u64), Lane>,
    /// Lanes with work that no thread runs, in the order in which they got the work.
    ready: VecDeque<(String, u64)>,
    count: usize,
    numbered: u64,
    closing: bool,
}

/// The jobs that wait for a connection.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    wakeup: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Adds a job. It is refused when too many wait or the store is closing.
    pub fn push(&self, job: Job, pace: Pace) {
        let mut guard = self.lock();
        let waiting = &mut *guard;
        if waiting.closing || waiting.count >= QUEUE {
            drop(guard);
            job.answer(Err(busy()));
            return;
        }
        waiting.numbered += 1;
        waiting.count += 1;
        let key = job.lane(waiting.numbered);
        let lane = waiting.lanes.entry(key.clone()).or_default();
        let idle = !lane.busy && lane.urgent.is_empty() && lane.bulk.is_empty();
        match pace {
            Pace::Urgent => lane.urgent.push_back(job),
            // Patient jobs belong to no event, so they have lanes of their own.
            Pace::Usual | Pace::Patient => lane.bulk.push_back(job),
        }
        if idle {
            waiting.ready.push_back(key);
            drop(guard);
            self.wakeup.notify_one();
        }
    }
    /// The waiting jobs of a lane, urgent ones first. Blocks until there are some. `None`: the store is closing and no
    /// job is left.
    fn take(&self) -> Option<((String, u64), Vec<Job>)> {
        let mut guard = self.lock();
        loop {
            let waiting = &mut *guard;
            if let Some(key) = waiting.ready.pop_front() {
                let mut jobs = Vec::new();
                if let Some(lane) = waiting.lanes.get_mut(&key) {
                    lane.busy = true;
                    while jobs.len() < GROUP {
                        let next = lane.urgent.pop_front();
                        let Some(job) = next.or_else(|| lane.bulk.pop_front()) else { break };
                        jobs.push(job);
                    }
                }
                waiting.count -= jobs.len();
                return Some((key, jobs));
            }
            if waiting.closing {
                return None;
            }
            guard = self.wakeup.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }
    /// Marks a lane as free again.
    fn done(&self, key: (String, u64)) {
        let mut guard = self.lock();
        let waiting = &mut *guard;
        let Some(lane) = waiting.lanes.get_mut(&key) else { return };
        lane.busy = false;
        if lane.urgent.is_empty() && lane.bulk.is_empty() {
            waiting.lanes.remove(&key);
        } else {
            waiting.ready.push_back(key);
            drop(guard);
            self.wakeup.notify_one();
        }
    }
    fn close(&self) {
        self.lock().closing = true;
        self.wakeup.notify_all();
    }
}

/// The threads of an open store, each with its connection. Dropping it finishes the waiting jobs.
pub(crate) struct Threads {
    pub writes: Arc<Queue>,
    pub reads: Arc<Queue>,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Starts the threads. Each connects when it first has work.
    pub fn start(address: &Address, options: &Arc<Options>) -> Result<Self> {
        let mut threads = Self { writes: Arc::default(), reads: Arc::default(), handles: Vec::new() };
        for (queue, count, reads) in
            [(&threads.writes, options.writers, false), (&threads.reads, options.readers, true)]
        {
            for n in 0..count.max(1) {
                let (queue, address, options) = (Arc::clone(queue), address.clone(), Arc::clone(options));
                let name = format!("admit-pg-{}-{n}", if reads { "read" } else { "write" });
                let work = move || {
                    let mut connection = Connection::new(address, options, reads);
                    while let Some((key, jobs)) = queue.take() {
                        connection.run(jobs);
                        queue.done(key);
                    }
                };
                let handle = std::thread::Builder::new().name(name).spawn(work);
                threads.handles.push(handle.map_err(|error| Error::Bug(format!("starting a thread: {error}")))?);
            }
        }
        Ok(threads)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.writes.close();
        self.reads.close();
        for handle in self.handles.drain(..) {
            // The last owner may be one of these threads that has just answered its caller. It cannot wait for itself.
            if handle.thread().id() != std::thread::current().id() {
                let _ = handle.join();
            }
        }
    }
}

/// The connection of one thread. It is made again whenever it is lost.
pub(crate) struct Connection {
    address: Address,
    options: Arc<Options>,
    reads: bool,
    driver: Option<PgDriver>,
    /// The number of transactions begun, and the number at which plans are made again.
    begun: u64,
    replan: u64,
}

/// A connection makes its plans again after its first, second, fourth, eighth … transaction, and later after every 512
/// transactions. Plans made while the tables were small read too much once the tables have grown.
const REPLAN_EVERY: u64 = 512;

/// Begins a snapshot: all reads in it see the same moment.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// The result of one try of an operation.
enum Ran {
    /// The operation has this result.
    Answer(Result<()>),
    /// The operation is certainly not committed, and another try may succeed.
    Again(Error),
}

impl Connection {
    /// A connection that connects when it first has work.
    pub fn new(address: Address, options: Arc<Options>, reads: bool) -> Self {
        Self { address, options, reads, driver: None, begun: 0, replan: 1 }
    }
    /// Closes the connection. The server rolls back an open transaction.
    pub fn cut(&mut self) {
        self.driver = None;
    }
    fn run(&mut self, mut jobs: Vec<Job>) {
        while jobs.len() > 1 {
            let (alone, left) = if self.reads { self.read_together(jobs) } else { self.together(jobs) };
            self.run_each(alone);
            jobs = left;
        }
        self.run_each(jobs);
    }
    /// Runs jobs one after the other. If the server cannot be reached for one job, all later jobs get the same error at
    /// once. If each of them tried to reach the server itself, the last job would wait for minutes.
    fn run_each(&mut self, jobs: Vec<Job>) {
        let mut gone = false;
        for mut job in jobs {
            let result = if gone { Err(unavailable()) } else { self.singly(&mut job.work, &mut job.spans) };
            gone = result == Err(unavailable()) && self.driver.as_ref().is_none_or(PgDriver::is_lost);
            job.answer(result);
        }
    }

    fn driver(&mut self) -> Result<&mut PgDriver> {
        if self.driver.as_ref().is_some_and(PgDriver::is_lost) {
            self.driver = None;
        }
        match &mut self.driver {
            Some(driver) => {
                self.begun += 1;
                if self.begun >= self.replan {
                    self.replan += self.replan.min(REPLAN_EVERY);
                    driver.batch("DISCARD PLANS")?;
                }
                Ok(driver)
            }
            empty => {
                let driver = if self.reads { connect::reader(&self.address) } else { connect::writer(&self.address) };
                Ok(empty.insert(driver?.with(&self.options)))
            }
        }
    }

    /// Runs jobs in one transaction. Gives back the jobs that must run singly (all of them, if one failed after it
    /// wrote), and the jobs that were left when the time for grouping was over.
    fn together(&mut self, jobs: Vec<Job>) -> (Vec<Job>, Vec<Job>) {
        let Ok(driver) = self.driver() else { return (jobs, Vec::new()) };
        let begun = Instant::now();
        driver.begin("BEGIN");
        driver.hooked = true;
        let Ok(mut fold) = guarded(|| fold_of(driver, &jobs)) else {
            driver.roll_back();
            return (jobs, Vec::new());
        };
        let (mut done, mut waiting) = (Vec::new(), VecDeque::from(jobs));
        while let Some(mut job) = waiting.pop_front() {
            driver.wrote = false;
            job.spans.transaction();
            let result = attempt(driver, fold.as_mut(), &mut job.work);
            job.spans.done();
            // A failed operation that changed nothing does not affect the others. Any other failure rolls all of them
            // back.
            if result.is_err() && (driver.wrote || driver.trouble > Trouble::None) {
                driver.roll_back();
                waiting.push_front(job);
                let ran = done.into_iter().map(|(job, _)| job);
                return (ran.chain(waiting).collect(), Vec::new());
            }
            done.push((job, result));
            if begun.elapsed() > FOLDING {
                break;
            }
        }
        let stored = guarded(|| fold.map_or(Ok(()), |fold| fold.end(driver)));
        let group = done.len();
        done.iter_mut().for_each(|(job, _)| job.spans.commit(group));
        let committed = stored.and_then(|()| driver.commit());
        if committed.is_err() && driver.trouble < Trouble::Lost {
            // The server refused the commit, so nothing is stored. Each operation may try alone.
            driver.roll_back();
            return (done.into_iter().map(|(job, _)| job).collect(), waiting.into());
        }
        for (job, result) in done {
            // If the connection is lost at the commit, its result is unknown. Clients send again, and unique keys
            // prevent a second row.
            job.answer(result.and_then(|()| committed.clone()));
        }
        (Vec::new(), waiting.into())
    }
    /// Runs reads of the same kind on one snapshot, taken after all of them were requested. Gives back jobs as
    /// [`Connection::together`] does.
    fn read_together(&mut self, jobs: Vec<Job>) -> (Vec<Job>, Vec<Job>) {
        let Ok(driver) = self.driver() else { return (jobs, Vec::new()) };
        driver.hooked = false;
        if guarded(|| prefetch_reads(driver, &jobs)).is_err() {
            driver.roll_back();
            return (jobs, Vec::new());
        }
        let mut waiting = VecDeque::from(jobs);
        while let Some(mut job) = waiting.pop_front() {
            let result = attempt_read(driver, &mut job.work);
            let given_away = matches!(job.work, Work::Read(_, _, None));
            if driver.trouble > Trouble::None {
                driver.roll_back();
                // A read's closure is consumed when it begins. So that read has its answer, and the others run again.
                if given_away {
                    job.answer(result);
                } else {
                    waiting.push_front(job);
                }
                return (waiting.into(), Vec::new());
            }
            job.answer(result);
        }
        driver.release();
        (Vec::new(), Vec::new())
    }

    /// Runs one job in a transaction of its own. It is repeated after a conflict or a lost connection. It is not
    /// repeated if the result of its commit is unknown, or if a read's closure was consumed.
    pub fn singly(&mut self, work: &mut Work, spans: &mut WriteSpans) -> Result<()> {
        let mut last = unavailable();
        for round in 0..TRIES {
            if round > 0 && last == unavailable() {
                std::thread::sleep(RECONNECT);
            }
            match self.once(work, spans) {
                Ran::Answer(result) => return result,
                Ran::Again(error) => last = error,
            }
        }
        Err(last)
    }
    fn once(&mut self, work: &mut Work, spans: &mut WriteSpans) -> Ran {
        let reads = self.reads;
        let driver = match self.driver() {
            Ok(driver) => driver,
            Err(error @ Error::Later { .. }) => return Ran::Again(error),
            Err(error) => return Ran::Answer(Err(error)),
        };
        match work {
            Work::Look(_) | Work::Credential(..) => driver.begin_bare(SNAPSHOT),
            Work::Read(..) => driver.begin(SNAPSHOT),
            Work::Write(..) | Work::Server(_) => driver.begin("BEGIN"),
        }
        driver.hooked = !reads;
        spans.transaction();
        let error = match if reads { attempt_read(driver, work) } else { attempt(driver, None, work) } {
            Ok(()) if reads => {
                driver.release();
                return Ran::Answer(Ok(()));
            }
            Ok(()) => {
                spans.commit(1);
                match driver.commit() {
                    Ok(()) => return Ran::Answer(Ok(())),
                    // If the connection is lost at the commit, its result is unknown, so the job never runs again.
                    Err(error) if driver.trouble >= Trouble::Lost => return Ran::Answer(Err(error)),
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        spans.done();
        driver.roll_back();
        // A read's closure is consumed when it begins. Before that the read can run again.
        let again = driver.trouble >= Trouble::Again && !matches!(work, Work::Read(_, _, None));
        if again { Ran::Again(error) } else { Ran::Answer(Err(error)) }
    }
}

/// The write group for writes that share a transaction; `None` for writes about the whole server.
fn fold_of(driver: &mut PgDriver, jobs: &[Job]) -> Result<Option<WriteGroup>> {
    let scopes = jobs.iter().filter_map(|job| if let Work::Write(scope, _) = &job.work { Some(scope) } else { None });
    let scopes: Vec<&Scope> = scopes.collect();
    if scopes.is_empty() { Ok(None) } else { WriteGroup::begin(driver, &scopes).map(Some) }
}

/// Turns a panic into an error, so that the lane goes on.
fn guarded<R>(of: impl FnOnce() -> Result<R>) -> Result<R> {
    let result = catch_unwind(AssertUnwindSafe(of));
    result.unwrap_or_else(|_| Err(Error::Bug("a transaction panicked".into())))
}

/// Begins a snapshot for the reads of one lane, and prefetches what all of them read.
fn prefetch_reads(driver: &mut PgDriver, jobs: &[Job]) -> Result<()> {
    let organization_id = jobs.iter().find_map(|job| match &job.work {
        Work::Read(organization_id, ..) => Some(organization_id),
        _ => None,
    });
    let Some(organization_id) = organization_id else {
        let hash = |job: &Job| if let Work::Credential(hash, _) = &job.work { Some(*hash) } else { None };
        let hashes: BTreeSet<[u8; 32]> = jobs.iter().filter_map(hash).collect();
        driver.begin_bare(SNAPSHOT);
        prefetch_credentials(driver, &hashes.into_iter().collect::<Vec<_>>());
        return driver.send_prefetch();
    };
    let prefetch =
        jobs.iter().filter_map(|job| if let Work::Read(_, prefetch, _) = &job.work { Some(prefetch) } else { None });
    driver.begin(SNAPSHOT);
    driver.run_for(RunFor::Organization(organization_id))?;
    prefetch::prefetch_reads(driver, organization_id, &prefetch.collect::<Vec<_>>())
}

/// Runs one write inside the transaction. A panic of the operation becomes an error.
fn attempt(driver: &mut PgDriver, fold: Option<&mut WriteGroup>, work: &mut Work) -> Result<()> {
    let result = catch_unwind(AssertUnwindSafe(|| match (work, fold) {
        (Work::Write(scope, op), Some(fold)) => fold.run(driver, scope, op),
        (Work::Write(scope, op), None) => run_write(driver, scope, op),
        (Work::Server(op), _) => op(driver),
        _ => Err(Error::Bug("a read among the writes".into())),
    }));
    result.unwrap_or_else(|_| {
        driver.wrote = true;
        Err(Error::Bug("an operation panicked".into()))
    })
}

/// Runs one read inside the transaction. A panic of the operation becomes an error.
fn attempt_read(driver: &mut PgDriver, work: &mut Work) -> Result<()> {
    let result = catch_unwind(AssertUnwindSafe(|| match work {
        Work::Look(op) | Work::Credential(_, op) => op(driver),
        Work::Read(organization_id, prefetch, op) => {
            driver.run_for(RunFor::Organization(organization_id))?;
            prefetch::prefetch_reads(driver, organization_id, &[prefetch])?;
            // The closure is consumed next. `settle` first finds out whether an idle connection was lost; then a new
            // one is made.
            driver.settle()?;
            let op = op.take().ok_or_else(|| Error::Bug("a read ran twice".into()))?;
            run_read(driver, organization_id, op)
        }
        _ => Err(Error::Bug("a write among the reads".into())),
    }));
    result.unwrap_or_else(|_| Err(Error::Bug("an operation panicked".into())))
}
