//! The one transaction that both backends drive. It implements every trait of `admit_app::ports::Tx` with the shared
//! SQL.

use std::collections::BTreeMap;
use std::sync::Arc;

use admit_app::error::{Error, Result};
use admit_app::ports::{ReadOp, WriteOp};
use admit_core::ids::{EventId, OrganizationId};
use admit_core::occupancy::Occupancy;
use admit_core::rule::{Epoch, EventBook};

use crate::block_index::{BlockName, Holds};
use crate::driver::{Asked, Bulk, Driver, RunFor, Stmt};
use crate::heads::{self, EventHead, OrganizationHead};
use crate::value::{Row, Value};

/// The data that a transaction keeps while it holds the heads of its events or reads a snapshot, and the rows that it
/// must store at its end. Writes that share a transaction pass this on from one to the next.
#[derive(Clone, Default)]
pub(crate) struct Held {
    pub heads: BTreeMap<EventId, EventHead>,
    /// The rules of events whose head this transaction holds.
    pub books: BTreeMap<EventId, Arc<EventBook>>,
    /// The numbers still to be added to each event's counters, and the serial to store with them.
    pub counters: BTreeMap<EventId, (Occupancy, u64)>,
    pub epoch: Option<Epoch>,
    /// The newest block of each event whose index this transaction uses. `None`: the event has no such block.
    pub newest_blocks: BTreeMap<(EventId, Holds), Option<BlockName>>,
}

/// A transaction that is limited to one organisation. After a failed statement nothing of the transaction is stored,
/// even if the operation ignores the error. PostgreSQL itself behaves so, and this type makes SQLite behave so too.
pub struct SqlTx<'a, D: Driver> {
    driver: &'a mut D,
    pub(crate) organization_id: OrganizationId,
    writes: bool,
    pub(crate) held: Held,
    pub(crate) organization_head: Option<OrganizationHead>,
    /// The number of blocks that this write has stored. The next block gets it as its number within the serial.
    pub(crate) blocks_stored: i64,
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
    /// A transaction that begins with the knowledge `held`.
    pub(crate) fn new(driver: &'a mut D, organization_id: &OrganizationId, writes: bool, held: Held) -> Self {
        let organization_id = organization_id.clone();
        Self { driver, organization_id, writes, held, organization_head: None, blocks_stored: 0, failed: None }
    }
}

impl<D: Driver> SqlTx<'_, D> {
    /// Runs an operation that writes. Gives the kept data that the next operation of the same transaction may use.
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
        // The next operation does not hold an event that this operation made.
        let made = held.heads.extract_if(.., |event_id, _| !events.contains(event_id));
        for (event_id, head) in made.filter(|(_, head)| head.changed) {
            heads::write(self.driver, &self.organization_id, &event_id, &head)?;
        }
        held.books.retain(|event_id, _| events.contains(event_id));
        held.newest_blocks.retain(|(event_id, _), _| events.contains(event_id));
        if let Some(head) = &self.organization_head {
            heads::write_organization(self.driver, &self.organization_id, head)?;
        }
        Ok(held)
    }
    /// Ends the transaction: writes the counters and heads that were kept back.
    pub(crate) fn store_held(mut self) -> Result<()> {
        self.store_counters()?;
        for (event_id, head) in self.held.heads.iter().filter(|(_, head)| head.changed) {
            heads::write(self.driver, &self.organization_id, event_id, head)?;
        }
        Ok(())
    }

    /// Runs `work` on the driver. After an error it returns that same error for all later calls.
    pub(crate) fn with<T>(&mut self, work: impl FnOnce(&mut D, &OrganizationId) -> Result<T>) -> Result<T> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        work(self.driver, &self.organization_id).inspect_err(|error| self.failed = Some(error.clone()))
    }
    /// Runs a change, like [`SqlTx::with`]. A transaction that only reads refuses it.
    pub(crate) fn change<T>(&mut self, work: impl FnOnce(&mut D, &OrganizationId) -> Result<T>) -> Result<T> {
        if !self.writes {
            return Err(Error::Bug("a read was asked to write".into()));
        }
        self.with(work)
    }
    pub(crate) fn query(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<Vec<Row>> {
        self.with(|driver, _| driver.query(stmt, params))
    }
    /// Reads the only row of a statement with `read`; `None` if there is no row.
    pub(crate) fn one<T>(
        &mut self,
        stmt: &'static Stmt,
        params: &[Value<'_>],
        read: impl FnOnce(&mut Row) -> Result<T>,
    ) -> Result<Option<T>> {
        self.query(stmt, params)?.into_iter().next().map(|mut row| read(&mut row)).transpose()
    }
    /// Reads the only row about `item` with `read`; `None` if there is no row.
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
    /// Reads every row of a statement with `read`.
    pub(crate) fn all<T>(
        &mut self,
        stmt: &'static Stmt,
        params: &[Value<'_>],
        read: impl FnMut(&mut Row) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut read = read;
        self.query(stmt, params)?.into_iter().map(|mut row| read(&mut row)).collect()
    }
    /// Reads every row of a statement with a list with `read`. Sends nothing for an empty list.
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
    /// Gives the rows of several queries that are sent together. A query with an empty list is not sent and has no
    /// rows.
    pub(crate) fn ask<const N: usize>(&mut self, asked: [Asked<'_>; N]) -> Result<[Vec<Row>; N]> {
        let real = |asked: &Asked<'_>| asked.list.is_none_or(|list| !list.is_empty());
        let questions: Vec<Asked<'_>> = asked.iter().filter(|asked| real(asked)).copied().collect();
        let mut answers = self.with(|driver, _| driver.ask(&questions))?.into_iter();
        Ok(asked.map(|asked| if real(&asked) { answers.next().unwrap_or_default() } else { Vec::new() }))
    }
    /// Prefetches queries that come next: see [`Driver::prefetch`].
    pub(crate) fn prefetch_queries(&mut self, asked: &[Asked<'_>]) {
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

    /// Runs a change that fails only because of a bug of ours; a failure shows at the commit at the latest
    /// ([`Driver::queue_change`]). Never use it for a change whose conflict a use case reports by a code, such as
    /// `email_taken`.
    pub(crate) fn queue(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<()> {
        self.change(|driver, _| driver.queue_change(stmt, params))
    }
    /// Runs a change with a list, like [`SqlTx::queue`].
    pub(crate) fn queue_each(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<()> {
        if list.is_empty() {
            return Ok(());
        }
        self.change(|driver, _| driver.execute_each_later(stmt, params, list))
    }
    /// Runs a bulk change, like [`SqlTx::queue`].
    pub(crate) fn queue_many(&mut self, bulk: &'static Bulk, values: &[Value<'_>]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        self.change(|driver, _| driver.execute_many_later(bulk, values))
    }

    /// Whether this transaction may write; false on a read snapshot.
    pub(crate) fn writes(&self) -> bool {
        self.writes
    }
    /// The newest epoch. The store asks for it once per transaction.
    pub(crate) fn present_epoch(&mut self) -> Result<Epoch> {
        if let Some(epoch) = self.held.epoch {
            return Ok(epoch);
        }
        let epoch = self.with(|driver, _| heads::present_epoch(driver))?;
        let epoch = epoch.ok_or_else(|| Error::Bug("the store has no epoch".into()))?;
        self.held.epoch = Some(epoch);
        Ok(epoch)
    }
    /// The head of an event: the locked one if this write holds it, else the committed one.
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
    /// The head of an event in this write's scope. Fails for an event outside the scope.
    pub(crate) fn held_head(&mut self, event_id: &EventId) -> Result<&mut EventHead> {
        if !self.writes {
            return Err(Error::Bug("a read was asked to write".into()));
        }
        if !self.held.heads.contains_key(event_id) {
            // The head is not held. Either there is no such event, or the use case did not name it in its scope.
            self.event_head(event_id)?;
            return Err(Error::Bug(format!("event {event_id} is not in this write's scope")));
        }
        self.held.heads.get_mut(event_id).ok_or(Error::NotFound { what: "event" })
    }
}
