//! The one transaction both backends drive: every noun of `admit_app::ports::Tx`, in SQL they share.

use std::collections::BTreeMap;
use std::sync::Arc;

use admit_app::error::{Error, Result};
use admit_app::ports::{ReadOp, Tx, WriteOp};
use admit_core::ids::{EventId, OrganizationId};
use admit_core::occupancy::Occupancy;
use admit_core::rule::{Epoch, EventBook};

use crate::driver::{Asked, Bulk, Driver, RunFor, Stmt};
use crate::heads::{self, EventHead, OrganizationHead};
use crate::value::{Row, Value};

/// The knowledge of a transaction that holds the heads of its events, or reads a snapshot; and the rows that it has
/// still to store when it ends. Writes that share a transaction hand it on from one to the next.
#[derive(Clone, Default)]
pub(crate) struct Held {
    pub heads: BTreeMap<EventId, EventHead>,
    /// Rules of events whose head is held.
    pub books: BTreeMap<EventId, Arc<EventBook>>,
    /// The sums still to be added to counters, and the serial at which they are added.
    pub counters: BTreeMap<EventId, (Occupancy, u64)>,
    pub epoch: Option<Epoch>,
}

/// A transaction scoped to an organisation. A statement that fails ends it: whatever the operation makes of the error,
/// nothing of the transaction is kept (PostgreSQL can only do so; SQLite then does the same).
pub struct SqlTx<'a, D: Driver> {
    driver: &'a mut D,
    pub(crate) organization_id: OrganizationId,
    writes: bool,
    pub(crate) held: Held,
    pub(crate) organization_head: Option<OrganizationHead>,
    /// Scans stored so far by this write: their order within its serial.
    pub(crate) scans_stored: i64,
    failed: Option<Error>,
}

/// Runs an operation on the backend's read snapshot.
pub fn run_read<D: Driver>(driver: &mut D, organization_id: &OrganizationId, op: ReadOp) -> Result<()> {
    driver.run_for(RunFor::Organization(organization_id))?;
    let mut tx = SqlTx::new(driver, organization_id, false, Held::default());
    let result = op(&mut tx);
    tx.failed.take().map_or(result, Err)
}

impl<'a, D: Driver> SqlTx<'a, D> {
    /// One that knows what is held.
    pub(crate) fn new(driver: &'a mut D, organization_id: &OrganizationId, writes: bool, held: Held) -> Self {
        let organization_id = organization_id.clone();
        Self { driver, organization_id, writes, held, organization_head: None, scans_stored: 0, failed: None }
    }
}

impl<D: Driver> SqlTx<'_, D> {
    /// Runs an operation that writes; the end of it is what the next one in this transaction may know.
    pub(crate) fn run(mut self, events: &[EventId], op: &mut WriteOp) -> Result<Held> {
        self.held.heads.values_mut().for_each(|head| head.stamp = None);
        let result = op(&mut self);
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        result?;
        self.finish(events)
    }
    fn finish(mut self, events: &[EventId]) -> Result<Held> {
        let mut held = std::mem::take(&mut self.held);
        // An event that this operation made is none that the next one holds.
        let made = held.heads.extract_if(.., |event_id, _| !events.contains(event_id));
        for (event_id, head) in made.filter(|(_, head)| head.changed) {
            heads::write(self.driver, &self.organization_id, &event_id, &head)?;
        }
        held.books.retain(|event_id, _| events.contains(event_id));
        if let Some(head) = &self.organization_head {
            heads::write_organization(self.driver, &self.organization_id, head)?;
        }
        Ok(held)
    }
    /// The end of the transaction: stores what was held back.
    pub(crate) fn store_held(mut self) -> Result<()> {
        self.store_counters()?;
        for (event_id, head) in self.held.heads.iter().filter(|(_, head)| head.changed) {
            heads::write(self.driver, &self.organization_id, event_id, head)?;
        }
        Ok(())
    }

    /// Runs `work` on the driver; remembers its error, and answers it from then on.
    pub(crate) fn with<T>(&mut self, work: impl FnOnce(&mut D, &OrganizationId) -> Result<T>) -> Result<T> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        work(self.driver, &self.organization_id).inspect_err(|error| self.failed = Some(error.clone()))
    }
    /// The same for a change: refused on a read snapshot.
    pub(crate) fn change<T>(&mut self, work: impl FnOnce(&mut D, &OrganizationId) -> Result<T>) -> Result<T> {
        if !self.writes {
            return Err(Error::Bug("a read was asked to write".into()));
        }
        self.with(work)
    }
    pub(crate) fn query(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<Vec<Row>> {
        self.with(|driver, _| driver.query(stmt, params))
    }
    /// The only row, read by `read`.
    pub(crate) fn one<T>(
        &mut self,
        stmt: &'static Stmt,
        params: &[Value<'_>],
        read: impl FnOnce(&mut Row) -> Result<T>,
    ) -> Result<Option<T>> {
        self.query(stmt, params)?.into_iter().next().map(|mut row| read(&mut row)).transpose()
    }
    /// The only row about `item`, read by `read`.
    pub(crate) fn one_of<T>(
        &mut self,
        stmt: &'static Stmt,
        params: &[Value<'_>],
        item: Value<'_>,
        read: impl FnOnce(&mut Row) -> Result<T>,
    ) -> Result<Option<T>> {
        let rows = self.with(|driver, _| driver.query_each(stmt, params, &[item]))?;
        rows.into_iter().next().map(|mut row| read(&mut row)).transpose()
    }
    /// Every row, read by `read`.
    pub(crate) fn all<T>(
        &mut self,
        stmt: &'static Stmt,
        params: &[Value<'_>],
        read: impl FnMut(&mut Row) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut read = read;
        self.query(stmt, params)?.into_iter().map(|mut row| read(&mut row)).collect()
    }
    /// Every row of a statement with a list, read by `read`; nothing is asked for an empty list.
    pub(crate) fn each<T>(
        &mut self,
        stmt: &'static Stmt,
        params: &[Value<'_>],
        list: &[Value<'_>],
        read: impl FnMut(&mut Row) -> Result<T>,
    ) -> Result<Vec<T>> {
        if list.is_empty() {
            return Ok(Vec::new());
        }
        let mut read = read;
        let rows = self.with(|driver, _| driver.query_each(stmt, params, list))?;
        rows.into_iter().map(|mut row| read(&mut row)).collect()
    }
    /// The rows of several questions at once; an empty list has none, and is not asked.
    pub(crate) fn ask<const N: usize>(&mut self, asked: [Asked<'_>; N]) -> Result<[Vec<Row>; N]> {
        let real = |asked: &Asked<'_>| asked.list.is_none_or(|list| !list.is_empty());
        let questions: Vec<Asked<'_>> = asked.iter().filter(|asked| real(asked)).copied().collect();
        let mut answers = self.with(|driver, _| driver.ask(&questions))?.into_iter();
        Ok(asked.map(|asked| if real(&asked) { answers.next().unwrap_or_default() } else { Vec::new() }))
    }
    /// Prefetches the questions that will probably come next: see [`Driver::prefetch`].
    pub(crate) fn prefetch(&mut self, asked: &[Asked<'_>]) {
        self.driver.prefetch(asked);
    }
    pub(crate) fn execute(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<u64> {
        self.change(|driver, _| driver.execute(stmt, params))
    }
    pub(crate) fn execute_many(&mut self, bulk: &'static Bulk, values: &[Value<'_>]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        self.change(|driver, _| driver.execute_many(bulk, values))
    }

    /// A change that can only fail by a fault of ours, and then fails the commit at the latest: see
    /// [`Driver::queue_change`]. Never one whose conflict a use case answers by name.
    pub(crate) fn queue(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<()> {
        self.change(|driver, _| driver.queue_change(stmt, params))
    }
    /// The same with a list.
    pub(crate) fn queue_each(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<()> {
        if list.is_empty() {
            return Ok(());
        }
        self.change(|driver, _| driver.execute_each_later(stmt, params, list))
    }
    /// The same for many rows.
    pub(crate) fn queue_many(&mut self, bulk: &'static Bulk, values: &[Value<'_>]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        self.change(|driver, _| driver.execute_many_later(bulk, values))
    }

    /// Whether this is a write, not a read snapshot.
    pub(crate) fn writes(&self) -> bool {
        self.writes
    }
    /// The present epoch, asked once a transaction.
    pub(crate) fn present_epoch(&mut self) -> Result<Epoch> {
        if let Some(epoch) = self.held.epoch {
            return Ok(epoch);
        }
        let epoch = self.with(|driver, _| heads::present_epoch(driver))?;
        let epoch = epoch.ok_or_else(|| Error::Bug("the store has no epoch".into()))?;
        self.held.epoch = Some(epoch);
        Ok(epoch)
    }
    /// An event's head: the one this write holds, or, on events outside its scope, the committed one.
    pub(crate) fn event_head(&mut self, event_id: &EventId) -> Result<EventHead> {
        if let Some(head) = self.held.heads.get(event_id) {
            return Ok(head.clone());
        }
        let head = self.with(|driver, organization_id| heads::read(driver, organization_id, event_id))?;
        let head = head.ok_or(Error::NotFound { what: "event" })?;
        if !self.writes {
            self.held.heads.insert(event_id.clone(), head.clone()); // A snapshot stands still.
        }
        Ok(head)
    }
    /// The head of an event of this write's scope.
    pub(crate) fn held_head(&mut self, event_id: &EventId) -> Result<&mut EventHead> {
        if !self.writes {
            return Err(Error::Bug("a read was asked to write".into()));
        }
        if !self.held.heads.contains_key(event_id) {
            // Not held: either there is no such event, or the use case forgot to name it in its scope.
            self.event_head(event_id)?;
            return Err(Error::Bug(format!("event {event_id} is not in this write's scope")));
        }
        self.held.heads.get_mut(event_id).ok_or(Error::NotFound { what: "event" })
    }
}

impl<D: Driver> Tx for SqlTx<'_, D> {
    fn organization_id(&self) -> &OrganizationId {
        &self.organization_id
    }
}
