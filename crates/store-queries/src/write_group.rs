//! Writes that share one transaction.

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

/// Runs an operation between the backend's begin and commit: locks the heads of its events, runs it, writes the heads
/// back. If one of these steps fails, the backend rolls back.
pub fn run_write<D: Driver>(driver: &mut D, scope: &Scope, op: &mut WriteOp) -> Result<()> {
    let mut group = WriteGroup::begin(driver, &[scope])?;
    group.run(driver, scope, op)?;
    group.end(driver)
}

/// Runs an operation like [`run_write`], as one of several writes in a transaction while nobody else may write. The
/// rules of events that earlier writes read are kept in `books` and not read again.
pub fn run_write_after<D: Driver>(driver: &mut D, books: &mut Books, scope: &Scope, op: &mut WriteOp) -> Result<()> {
    let mut group = WriteGroup::begin(driver, &[scope])?;
    // The books are taken out. If the operation fails, its changes to them are rolled back, so nothing is known of
    // them.
    group.held.books = books.take(&scope.organization_id, &scope.events);
    group.run(driver, scope, op)?;
    let read = group.held.books.clone();
    group.end(driver)?;
    books.put(&scope.organization_id, &read);
    Ok(())
}

/// The rules of events as this transaction read them. They are valid while no other transaction may write. They are
/// dropped at the end of the transaction.
#[derive(Debug, Default)]
pub struct Books(BTreeMap<(OrganizationId, EventId), Arc<EventBook>>);

impl Books {
    /// Forgets all rules. The backend calls this after anything but a use case's write ran, since that may have changed
    /// rules.
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

/// Writes of the same organisation and events that share a transaction. The heads are locked once and written back
/// once.
pub struct WriteGroup {
    organization_id: OrganizationId,
    held: Held,
}

impl WriteGroup {
    /// Locks the heads, and prefetches what the operations will read.
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
    /// Runs one of the group's operations. If it fails and changed nothing, the group's other operations are not
    /// affected.
    pub fn run<D: Driver>(&mut self, driver: &mut D, scope: &Scope, op: &mut WriteOp) -> Result<()> {
        if scope.events.is_empty() {
            driver.drop_prefetched(); // No head keeps other nodes out.
        }
        self.held = SqlTx::new(driver, &self.organization_id, true, self.held.clone()).run(&scope.events, op)?;
        Ok(())
    }
    /// Writes what the operations kept back. The backend commits afterwards.
    pub fn end<D: Driver>(self, driver: &mut D) -> Result<()> {
        SqlTx::new(driver, &self.organization_id, true, self.held).store_held()
    }
}
