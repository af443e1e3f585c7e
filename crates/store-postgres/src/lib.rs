//! The PostgreSQL store: lanes of plain threads, each driving its own connection.
//!
//! Modules in reading order; a file imports only from those above it (law 12).

mod options;
mod tls;
mod params;
mod driver;
mod connect;
mod lanes;
#[cfg(feature = "testing")]
pub mod testing;

use std::sync::{Arc, Mutex, PoisonError};

use admit_app::error::{Error, Result};
use admit_app::ports::{ReadOp, Scope, Store, WriteOp};
use admit_app::records::{CredentialRecord, OrganizationRecord, PairingRequestRecord, UserRecord};
use admit_core::ids::{EventId, OrganizationId};
use admit_core::rule::Epoch;
use admit_core::time::Timestamp;
use admit_store_queries::driver::Driver as _;
use admit_store_queries::{directory, pairing_requests};
use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::oneshot;

use driver::{PgDriver, unavailable};
use lanes::{Job, ServerOp, Threads, Work};
pub use options::Options;

/// The PostgreSQL store. Cloning gives another handle to the same one.
#[derive(Clone)]
pub struct Postgres {
    threads: Arc<Threads>,
}

impl Postgres {
    /// Connects, checks that the server keeps what it acknowledges and keeps organisations apart, brings the schema up
    /// to date (one node at a time), and starts the lanes. `url` is a URL or `host=… user=… dbname=…`. Blocks: call it
    /// from a thread that may, not from inside an async runtime.
    pub fn open(url: &str, options: Options) -> Result<Self> {
        let address = connect::address(url)?;
        // A runtime must not be driven from inside another's thread, whoever the caller is.
        let prepared = std::thread::scope(|scope| scope.spawn(|| connect::prepare(&address, &options)).join());
        prepared.unwrap_or_else(|_| Err(Error::Bug("preparing the database panicked".into())))?;
        let threads = Threads::start(&address, options.writers, options.readers)?;
        Ok(Self { threads: Arc::new(threads) })
    }

    fn run(&self, work: Work, urgent: bool) -> BoxFuture<'static, Result<()>> {
        let (reply, answer) = oneshot::channel();
        let reads = matches!(work, Work::Read(..) | Work::Look(_));
        let queue = if reads { &self.threads.reads } else { &self.threads.writes };
        queue.push(Job { work, reply }, urgent);
        answer.map(|answer| answer.unwrap_or_else(|_| Err(unavailable()))).boxed()
    }
    /// Runs a statement or two of the whole server, and gives back what they answered.
    fn server<T: Send + 'static>(
        &self,
        writes: bool,
        mut op: impl FnMut(&mut PgDriver) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'static, Result<T>> {
        let slot = Arc::new(Mutex::new(None));
        let into = Arc::clone(&slot);
        let op: ServerOp = Box::new(move |driver| {
            let value = op(driver)?;
            *into.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
            Ok(())
        });
        let done = self.run(if writes { Work::Server(op) } else { Work::Look(op) }, true);
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
        let urgent = scope.urgent;
        self.run(Work::Write(scope, op), urgent)
    }
    fn read_op(&self, organization_id: OrganizationId, op: ReadOp) -> BoxFuture<'static, Result<()>> {
        self.run(Work::Read(organization_id, Some(op)), false)
    }
    fn credential(&self, token_hash: [u8; 32]) -> BoxFuture<'static, Result<Option<CredentialRecord>>> {
        self.server(false, move |driver| directory::credential(driver, &token_hash))
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
    fn now(&self) -> BoxFuture<'static, Result<Timestamp>> {
        self.server(false, |driver| driver.now())
    }
}

#[cfg(test)]
mod tests;
