//! Writes that share a transaction.

use std::collections::BTreeMap;
use std::sync::Arc;

use admit_app::error::{Error, Result};
use admit_app::ports::{Prefetch, Scope, WriteOp};
use admit_core::ids::{EventId, OrganizationId};
use admit_core::rule::EventBook;

use crate::driver::{Driver, RunFor};
use crate::heads;
use crate::prefetch;
use crate::tx::{Held, SqlTx};

/// Runs an operation between the backend's begin and commit: takes the heads of its events, runs it, writes the heads
/// back. The backend rolls back when this fails.
pub fn run_write<D: Driver>(driver: &mut D, scope: &Scope, op: &mut WriteOp) -> Result<()> {
    let mut group = WriteGroup::begin(driver, &[scope])?;
    group.run(driver, scope, op)?;
    group.end(driver)
}

/// The same, one write after another of a transaction of which nobody else may write: what those before read of events'
/// rules need not be read again.
pub fn run_write_after<D: Driver>(driver: &mut D, books: &mut Books, scope: &Scope, op: &mut WriteOp) -> Result<()> {
    let mut group = WriteGroup::begin(driver, &[scope])?;
    // Taken out: if the operation fails, what it did to them is taken back, and nothing is known of them.
    group.held.books = books.take(&scope.organization_id, &scope.events);
    group.run(driver, scope, op)?;
    let read = group.held.books.clone();
    group.end(driver)?;
    books.put(&scope.organization_id, &read);
    Ok(())
}

/// Rules of events as this transaction read them. For as long as nobody else may write; to be forgotten when it ends.
#[derive(Debug, Default)]
pub struct Books(BTreeMap<(OrganizationId, EventId), Arc<EventBook>>);

impl Books {
    /// Something other than a use case's write came between.
    pub fn forget(&mut self) {
        self.0.clear();
    }
    fn take(&mut self, organization_id: &OrganizationId, events: &[EventId]) -> BTreeMap<EventId, Arc<EventBook>> {
        let key = |event_id: &EventId| (organization_id.clone(), event_id.clone());
        events.iter().filter_map(|event_id| Some((event_id.clone(), self.0.remove(&key(event_id))?))).collect()
    }
    fn put(&mut self, organization_id: &OrganizationId, books: &BTreeMap<EventId, Arc<EventBook>>) {
        let key = |event_id: &EventId| (organization_id.clone(), event_id.clone());
        self.0.extend(books.iter().map(|(event_id, book)| (key(event_id), Arc::clone(book))));
    }
}

/// Writes of the same organisation and events that share a transaction: the heads are taken once and written back once.
pub struct WriteGroup {
    organization_id: OrganizationId,
    held: Held,
}

impl WriteGroup {
    /// Takes the heads, and looks at what the operations will need.
    pub fn begin<D: Driver>(driver: &mut D, scopes: &[&Scope]) -> Result<Self> {
        let first = scopes.first().ok_or_else(|| Error::Bug("a transaction of nobody".into()))?;
        let organization_id = first.organization_id.clone();
        driver.run_for(RunFor::Organization(&organization_id))?;
        let wanted: Vec<&Prefetch> = scopes.iter().map(|scope| &scope.prefetch).collect();
        prefetch::prefetch_writes(driver, &organization_id, &first.events, &wanted);
        let heads = heads::lock(driver, &organization_id, &first.events)?;
        prefetch::prefetch_tickets(driver, &organization_id, &first.events, &wanted)?;
        driver.send_prefetch()?;
        Ok(Self { organization_id, held: Held { heads, ..Held::default() } })
    }
    /// Runs one of the operations. If it fails and changed nothing, the others are untouched.
    pub fn run<D: Driver>(&mut self, driver: &mut D, scope: &Scope, op: &mut WriteOp) -> Result<()> {
        if scope.events.is_empty() {
            driver.drop_prefetched(); // No head keeps other nodes out.
        }
        self.held = SqlTx::new(driver, &self.organization_id, true, self.held.clone()).run(&scope.events, op)?;
        Ok(())
    }
    /// Stores what was held back. The backend commits.
    pub fn end<D: Driver>(self, driver: &mut D) -> Result<()> {
        SqlTx::new(driver, &self.organization_id, true, self.held).store_held()
    }
}
