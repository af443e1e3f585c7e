//! The one transaction both backends drive: every noun of `admit_app::ports::Tx`, in SQL they share.

use std::collections::BTreeMap;

use admit_app::error::{Error, Result};
use admit_app::ports::{ReadOp, Scope, Tx, WriteOp};
use admit_core::ids::{EventId, OrganizationId};
use admit_core::rule::Epoch;

use crate::driver::{Asked, Bulk, Driver, RunFor, Stmt};
use crate::heads::{self, EventHead, OrganizationHead};
use crate::value::{Row, Value};

/// A transaction scoped to an organisation. A statement that fails ends it: whatever the operation makes of the error,
/// nothing of the transaction is kept (PostgreSQL can only do so; SQLite then does the same).
pub struct SqlTx<'a, D: Driver> {
    driver: &'a mut D,
    pub(crate) organization_id: OrganizationId,
    writes: bool,
    pub(crate) heads: BTreeMap<EventId, EventHead>,
    pub(crate) organization_head: Option<OrganizationHead>,
    epoch: Option<Epoch>,
    /// Scans stored so far by this write: their order within its serial.
    pub(crate) scans_stored: i64,
    failed: Option<Error>,
}

/// Runs an operation between the backend's begin and commit: takes the heads of its events, runs it, writes the heads
/// back. The backend rolls back when this fails.
pub fn run_write<D: Driver>(driver: &mut D, scope: &Scope, op: &mut WriteOp) -> Result<()> {
    driver.run_for(RunFor::Organization(&scope.organization_id))?;
    let heads = heads::lock(driver, &scope.organization_id, &scope.events)?;
    let mut tx = SqlTx {
        driver,
        organization_id: scope.organization_id.clone(),
        writes: true,
        heads,
        organization_head: None,
        epoch: None,
        scans_stored: 0,
        failed: None,
    };
    let result = op(&mut tx);
    if let Some(error) = tx.failed.take() {
        return Err(error);
    }
    result?;
    tx.finish()
}

/// Runs an operation on the backend's read snapshot.
pub fn run_read<D: Driver>(driver: &mut D, organization_id: &OrganizationId, op: ReadOp) -> Result<()> {
    driver.run_for(RunFor::Organization(organization_id))?;
    let mut tx = SqlTx {
        driver,
        organization_id: organization_id.clone(),
        writes: false,
        heads: BTreeMap::new(),
        organization_head: None,
        epoch: None,
        scans_stored: 0,
        failed: None,
    };
    let result = op(&mut tx);
    tx.failed.take().map_or(result, Err)
}

impl<D: Driver> SqlTx<'_, D> {
    fn finish(mut self) -> Result<()> {
        let heads = std::mem::take(&mut self.heads);
        for (event_id, head) in heads.iter().filter(|(_, head)| head.changed) {
            heads::write(self.driver, &self.organization_id, event_id, head)?;
        }
        if let Some(head) = &self.organization_head {
            heads::write_organization(self.driver, &self.organization_id, head)?;
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
    /// What will probably be asked next: see [`Driver::foresee`].
    pub(crate) fn foresee(&mut self, asked: &[Asked<'_>]) {
        self.driver.foresee(asked);
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
    /// [`Driver::execute_later`]. Never one whose conflict a use case answers by name.
    pub(crate) fn later(&mut self, stmt: &'static Stmt, params: &[Value<'_>]) -> Result<()> {
        self.change(|driver, _| driver.execute_later(stmt, params))
    }
    /// The same with a list.
    pub(crate) fn later_each(&mut self, stmt: &'static Stmt, params: &[Value<'_>], list: &[Value<'_>]) -> Result<()> {
        if list.is_empty() {
            return Ok(());
        }
        self.change(|driver, _| driver.execute_each_later(stmt, params, list))
    }
    /// The same for many rows.
    pub(crate) fn later_many(&mut self, bulk: &'static Bulk, values: &[Value<'_>]) -> Result<()> {
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
        if let Some(epoch) = self.epoch {
            return Ok(epoch);
        }
        let epoch = self.with(|driver, _| heads::present_epoch(driver))?;
        let epoch = epoch.ok_or_else(|| Error::Bug("the store has no epoch".into()))?;
        self.epoch = Some(epoch);
        Ok(epoch)
    }
    /// An event's head: the one this write holds, or, on events outside its scope, the committed one.
    pub(crate) fn event_head(&mut self, event_id: &EventId) -> Result<EventHead> {
        if let Some(head) = self.heads.get(event_id) {
            return Ok(head.clone());
        }
        let head = self.with(|driver, organization_id| heads::read(driver, organization_id, event_id))?;
        head.ok_or(Error::NotFound { what: "event" })
    }
    /// The head of an event of this write's scope.
    pub(crate) fn held_head(&mut self, event_id: &EventId) -> Result<&mut EventHead> {
        if !self.writes {
            return Err(Error::Bug("a read was asked to write".into()));
        }
        if !self.heads.contains_key(event_id) {
            // Not held: either there is no such event, or the use case forgot to name it in its scope.
            self.event_head(event_id)?;
            return Err(Error::Bug(format!("event {event_id} is not in this write's scope")));
        }
        self.heads.get_mut(event_id).ok_or(Error::NotFound { what: "event" })
    }
}

impl<D: Driver> Tx for SqlTx<'_, D> {
    fn organization_id(&self) -> &OrganizationId {
        &self.organization_id
    }
}
