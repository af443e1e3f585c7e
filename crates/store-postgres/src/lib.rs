//! The PostgreSQL store: plain threads, each with its own connection, that run one lane at a time.
//!
//! Modules are listed in reading order; a file imports only from those above it (law 12).

mod options;
mod tls;
mod params;
mod prefetch;
mod rows;
mod driver;
mod connect;
mod lanes;
pub mod outbox;
pub mod moving;
pub mod scratch;
#[cfg(feature = "testing")]
pub mod testing;

use std::sync::{Arc, Mutex, PoisonError};

use admit_app::error::{Error, Result};
use admit_app::ports::{Pace, Prefetch, ReadOp, Scope, Store, WriteOp};
use admit_app::records::{
    CredentialRecord, MailLaneRecord, OrganizationRecord, PairingRequestRecord, TakenRun, UserRecord,
};
use admit_core::ids::{EventId, OrganizationId};
use admit_core::rule::Epoch;
use admit_core::time::Timestamp;
use admit_store_queries::driver::Driver as _;
use admit_store_queries::spans::WriteSpans;
use admit_store_queries::{directory, job_queue, mail_lane, pairing_requests};
use futures_util::future::{BoxFuture, FutureExt, ready};
use tokio::sync::oneshot;

use driver::{PgDriver, unavailable};
use lanes::{Connection, Job, ServerOp, Threads, Work};
pub use options::{ClockHook, CommitFault, CommitHook, Options, StatementFault, StatementHook};

/// The PostgreSQL store. A clone is another handle to the same store.
#[derive(Clone)]
pub struct Postgres {
    mode: Arc<Mode>,
}

enum Mode {
    /// Every operation runs on the calling thread, on one of two connections.
    Inline { writes: Box<Mutex<Connection>>, reads: Box<Mutex<Connection>> },
    /// Operations run on the store's own threads.
    Threads(Threads),
}

impl Postgres {
    /// Connects, and checks that the server keeps what it acknowledges and separates organisations. Then it brings the
    /// schema up to date (one node at a time) and starts the threads. The argument `url` is a URL or `host=… user=…
    /// dbname=…`. This call blocks: make it from a thread that may block, not from inside an async runtime.
    pub fn open(url: &str, options: Options) -> Result<Self> {
        let address = connect::address(url)?;
        // A runtime must not be driven from inside another runtime's thread, so a new thread does it.
        let prepared = std::thread::scope(|scope| scope.spawn(|| connect::prepare(&address, &options)).join());
        prepared.unwrap_or_else(|_| Err(Error::Bug("preparing the database panicked".into())))?;
        let options = Arc::new(options);
        let mode = if options.inline {
            let connection =
                |reads| Box::new(Mutex::new(Connection::new(address.clone(), Arc::clone(&options), reads)));
            Mode::Inline { writes: connection(false), reads: connection(true) }
        } else {
            Mode::Threads(Threads::start(&address, &options)?)
        };
        Ok(Self { mode: Arc::new(mode) })
    }

    /// Acts as if the process of an inline store ([`Options::inline`]) died and started again. Its connections are
    /// closed, and the server rolls back open transactions. Does nothing to other stores.
    pub fn crash(&self) {
        if let Mode::Inline { writes, reads } = &*self.mode {
            for connection in [writes, reads] {
                connection.lock().unwrap_or_else(PoisonError::into_inner).cut();
            }
        }
    }

    fn run(&self, mut work: Work, pace: Pace) -> BoxFuture<'static, Result<()>> {
        let is_read = matches!(work, Work::Read(..) | Work::Look(_) | Work::Credential(..));
        match &*self.mode {
            // The operation runs now, not when the future is polled. So in both modes a caller that gives up cancels
            // nothing.
            Mode::Inline { writes, reads } => {
                let connection = if is_read { reads } else { writes };
                ready(
                    connection
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .singly(&mut work, &mut WriteSpans::default()),
                )
                .boxed()
            }
            Mode::Threads(threads) => {
                let (reply, answer) = oneshot::channel();
                let queue = if is_read { &threads.reads } else { &threads.writes };
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
        op: impl FnMut(&mut PgDriver) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'static, Result<T>> {
        self.server_work(if writes { Work::Server } else { Work::Look }, op)
    }
    fn server_work<T: Send + 'static>(
        &self,
        work: impl FnOnce(ServerOp) -> Work,
        mut op: impl FnMut(&mut PgDriver) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'static, Result<T>> {
        let slot = Arc::new(Mutex::new(None));
        let into = Arc::clone(&slot);
        let op: ServerOp = Box::new(move |driver| {
            let value = op(driver)?;
            *into.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
            Ok(())
        });
        let done = self.run(work(op), Pace::Urgent);
        done.map(move |result| {
            result?;
            let value = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            value.ok_or_else(|| Error::Bug("the store said done without running the operation".into()))
        })
        .boxed()
    }
}

impl Store for Postgres {
    fn write_op(&self, scope: Scope, op: WriteOp) -> BoxFuture<'static, Result<()>> {
        let pace = scope.pace;
        self.run(Work::Write(scope, op), pace)
    }
    fn read_op(&self, organization_id: OrganizationId, op: ReadOp) -> BoxFuture<'static, Result<()>> {
        self.read_prefetching(organization_id, Prefetch::default(), op)
    }
    fn read_prefetching(
        &self,
        organization_id: OrganizationId,
        prefetch: Prefetch,
        op: ReadOp,
    ) -> BoxFuture<'static, Result<()>> {
        self.run(Work::Read(organization_id, prefetch, Some(op)), Pace::Usual)
    }
    fn credential(&self, token_hash: [u8; 32]) -> BoxFuture<'static, Result<Option<CredentialRecord>>> {
        let work = move |op| Work::Credential(token_hash, op);
        self.server_work(work, move |driver| directory::credential(driver, &token_hash))
    }
    fn sign_in(&self, email: String) -> BoxFuture<'static, Result<Option<(UserRecord, Vec<OrganizationId>)>>> {
        self.server(false, move |driver| directory::sign_in(driver, &email))
    }
    fn all_events(&self) -> BoxFuture<'static, Result<Vec<(OrganizationId, EventId)>>> {
        self.server(false, directory::all_events)
    }
    fn organizations(&self) -> BoxFuture<'static, Result<Vec<OrganizationId>>> {
        self.server(false, directory::organizations)
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
        self.server(true, move |driver| job_queue::take(driver, &holder, lease_ms, limit))
    }
    fn renew_runs(&self, holder: String, run_ids: Vec<String>, lease_ms: i64) -> BoxFuture<'static, Result<()>> {
        self.server(true, move |driver| job_queue::renew(driver, &holder, &run_ids, lease_ms))
    }
    fn free_runs(&self, holder: String) -> BoxFuture<'static, Result<u64>> {
        self.server(true, move |driver| job_queue::free(driver, &holder))
    }
    fn next_run_in(&self) -> BoxFuture<'static, Result<Option<i64>>> {
        self.server(false, job_queue::next_in)
    }
    fn mail_lane(&self) -> BoxFuture<'static, Result<Option<MailLaneRecord>>> {
        self.server(false, mail_lane::find)
    }
    fn stop_mail(&self, run_id: String, reason: String, random: u8) -> BoxFuture<'static, Result<()>> {
        self.server(true, move |driver| mail_lane::stop(driver, &run_id, &reason, random))
    }
    fn resume_mail(&self) -> BoxFuture<'static, Result<()>> {
        self.server(true, mail_lane::resume)
    }
    fn hurry_mail(&self) -> BoxFuture<'static, Result<()>> {
        self.server(true, mail_lane::hurry)
    }
    fn now(&self) -> BoxFuture<'static, Result<Timestamp>> {
        self.server(false, |driver| driver.now())
    }
}

#[cfg(test)]
mod tests;
