//! Statements about heads. An event's head is the row that orders all writes of the event. An organisation's head is
//! the end of its own ledger.

use std::collections::BTreeMap;

use admit_app::error::{Error, Result};
use admit_app::records::{LedgerEnd, Stamp};
use admit_core::ids::{EventId, OrganizationId};
use admit_core::rule::Epoch;
use admit_core::time::Timestamp;

use crate::driver::{Driver, statements};
use crate::value::{Row, Value};

statements! {
    /// Heads of events, locked in order of id until the end of the transaction.
    LOCK_HEADS = "SELECT event_id, serial, last_effective_ms, audit_n, audit_head, rules_serial, event_rules_serial, reducer_version
        FROM event_heads WHERE organization_id = $1 AND event_id IN ($2)",
        postgres = "SELECT event_id, serial, last_effective_ms, audit_n, audit_head, rules_serial, event_rules_serial, reducer_version
        FROM event_heads WHERE organization_id = $1 AND event_id IN ($2) ORDER BY event_id FOR UPDATE";
    /// The head of one event, read without a lock.
    READ_HEAD = "SELECT event_id, serial, last_effective_ms, audit_n, audit_head, rules_serial, event_rules_serial, reducer_version
        FROM event_heads WHERE organization_id = $1 AND event_id = $2";
    /// A new event's head.
    INSERT_HEAD = "INSERT INTO event_heads (organization_id, event_id, serial, last_effective_ms, audit_n, audit_head,
        rules_serial, event_rules_serial, reducer_version) VALUES ($1, $2, 0, 0, 0, $3, 0, 0, 0)";
    /// Writes a head back.
    UPDATE_HEAD = "UPDATE event_heads SET serial = $3, last_effective_ms = $4, audit_n = $5, audit_head = $6,
        rules_serial = $7, event_rules_serial = $8, reducer_version = $9
        WHERE organization_id = $1 AND event_id = $2";
    /// The head of the organisation's own ledger, locked until the end of the transaction.
    LOCK_ORGANIZATION = "SELECT audit_n, audit_head, last_at FROM organization_heads WHERE organization_id = $1",
        postgres = "SELECT audit_n, audit_head, last_at FROM organization_heads WHERE organization_id = $1 FOR UPDATE";
    /// The head of the organisation's own ledger, read without a lock.
    READ_ORGANIZATION = "SELECT audit_n, audit_head, last_at FROM organization_heads WHERE organization_id = $1";
    /// The ends of all event ledgers that were written to since a moment.
    LEDGER_ENDS = "SELECT event_id, audit_n, audit_head FROM event_heads
        WHERE organization_id = $1 AND last_effective_ms >= $2 AND audit_n > 0 ORDER BY event_id";
    /// A new organisation's head.
    INSERT_ORGANIZATION_HEAD = "INSERT INTO organization_heads (organization_id, audit_n, audit_head, last_at) VALUES ($1, 0, $2, 0)";
    /// Writes the head of an organisation's ledger back.
    UPDATE_ORGANIZATION_HEAD = "UPDATE organization_heads SET audit_n = $2, audit_head = $3, last_at = $4 WHERE organization_id = $1";
    /// The newest epoch.
    PRESENT_EPOCH = "SELECT restored_at_ms, random FROM epochs ORDER BY restored_at_ms DESC, random DESC LIMIT 1";
    /// Begins an epoch.
    INSERT_EPOCH = "INSERT INTO epochs (restored_at_ms, random) VALUES ($1, $2)";
    /// The epochs that an event's ledger went through, each with the serial at which it began.
    EVENT_EPOCHS = "SELECT restored_at_ms, random, base_serial FROM event_epochs WHERE organization_id = $1 AND event_id = $2";
    /// Records the serial of an event at which an epoch began.
    INSERT_EVENT_EPOCH = "INSERT INTO event_epochs (organization_id, event_id, restored_at_ms, random, base_serial) VALUES ($1, $2, $3, $4, $5)";
}

/// An event's head in this transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventHead {
    pub serial: u64,
    pub last_effective_ms: i64,
    pub audit_n: u64,
    pub audit_head: [u8; 32],
    pub rules_serial: u64,
    pub event_rules_serial: u64,
    pub reducer_version: u32,
    /// The serial and the moment that this write took. `None`: the write has no serial yet.
    pub stamp: Option<Stamp>,
    /// Whether the head differs from the stored row, so that it must be written.
    pub changed: bool,
}

impl EventHead {
    /// The head of an event without any write so far.
    pub fn new() -> Self {
        Self {
            serial: 0,
            last_effective_ms: 0,
            audit_n: 0,
            audit_head: [0; 32],
            rules_serial: 0,
            event_rules_serial: 0,
            reducer_version: 0,
            stamp: None,
            changed: false,
        }
    }
    fn read(row: &mut Row) -> Result<(EventId, Self)> {
        let event_id = row.parsed()?;
        let head = Self {
            serial: row.count()?,
            last_effective_ms: row.int()?,
            audit_n: row.count()?,
            audit_head: row.hash()?,
            rules_serial: row.count()?,
            event_rules_serial: row.count()?,
            reducer_version: row.count()?,
            stamp: None,
            changed: false,
        };
        Ok((event_id, head))
    }
    /// Gives this write its serial and time, the stamp. Later calls in the same write return the same stamp.
    pub fn stamp(&mut self, now: impl FnOnce() -> Result<Timestamp>) -> Result<Stamp> {
        if let Some(stamp) = self.stamp {
            return Ok(stamp);
        }
        let at = now()?.ms().max(self.last_effective_ms.saturating_add(1));
        let stamp = Stamp { serial: self.serial + 1, effective_at: Timestamp::clamped(at) };
        (self.serial, self.last_effective_ms) = (stamp.serial, at);
        (self.stamp, self.changed) = (Some(stamp), true);
        Ok(stamp)
    }
}

/// The head of the organisation's own ledger, as this transaction holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrganizationHead {
    pub audit_n: u64,
    pub audit_head: [u8; 32],
    pub last_at: i64,
}

pub(crate) fn lock<D: Driver>(
    driver: &mut D,
    organization_id: &OrganizationId,
    events: &[EventId],
) -> Result<BTreeMap<EventId, EventHead>> {
    if events.is_empty() {
        return Ok(BTreeMap::new());
    }
    let list: Vec<Value<'_>> = events.iter().map(Value::from).collect();
    // A write takes its serial right after the lock, with the clock read when the heads are held.
    driver.prefetch_now();
    let rows = driver.query_each(&LOCK_HEADS, &[organization_id.into()], &list)?;
    rows.into_iter().map(|mut row| EventHead::read(&mut row)).collect()
}

pub(crate) fn read<D: Driver>(
    driver: &mut D,
    organization_id: &OrganizationId,
    event_id: &EventId,
) -> Result<Option<EventHead>> {
    let rows = driver.query(&READ_HEAD, &[organization_id.into(), event_id.into()])?;
    rows.into_iter().next().map(|mut row| EventHead::read(&mut row).map(|(_, head)| head)).transpose()
}

pub(crate) fn write<D: Driver>(
    driver: &mut D,
    organization_id: &OrganizationId,
    event_id: &EventId,
    head: &EventHead,
) -> Result<()> {
    let values = [
        organization_id.into(),
        event_id.into(),
        head.serial.into(),
        head.last_effective_ms.into(),
        head.audit_n.into(),
        (&head.audit_head).into(),
        head.rules_serial.into(),
        head.event_rules_serial.into(),
        head.reducer_version.into(),
    ];
    driver.queue_change(&UPDATE_HEAD, &values)
}

pub(crate) fn lock_organization<D: Driver>(
    driver: &mut D,
    organization_id: &OrganizationId,
) -> Result<OrganizationHead> {
    organization(driver.query(&LOCK_ORGANIZATION, &[organization_id.into()])?)
}

pub(crate) fn read_organization<D: Driver>(
    driver: &mut D,
    organization_id: &OrganizationId,
) -> Result<OrganizationHead> {
    organization(driver.query(&READ_ORGANIZATION, &[organization_id.into()])?)
}

fn organization(rows: Vec<Row>) -> Result<OrganizationHead> {
    let mut row = rows.into_iter().next().ok_or(Error::NotFound { what: "organization" })?;
    Ok(OrganizationHead { audit_n: row.count()?, audit_head: row.hash()?, last_at: row.int()? })
}

pub(crate) fn ledger_ends<D: Driver>(
    driver: &mut D,
    organization_id: &OrganizationId,
    since: Timestamp,
) -> Result<Vec<(EventId, LedgerEnd)>> {
    let rows = driver.query(&LEDGER_ENDS, &[organization_id.into(), since.into()])?;
    let read = |mut row: Row| Ok((row.parsed()?, LedgerEnd { n: row.count()?, head: row.hash()? }));
    rows.into_iter().map(read).collect()
}

pub(crate) fn write_organization<D: Driver>(
    driver: &mut D,
    organization_id: &OrganizationId,
    head: &OrganizationHead,
) -> Result<()> {
    let values = [organization_id.into(), head.audit_n.into(), (&head.audit_head).into(), head.last_at.into()];
    driver.queue_change(&UPDATE_ORGANIZATION_HEAD, &values)
}

/// The newest epoch of the server; `None` if none has begun.
pub(crate) fn present_epoch<D: Driver>(driver: &mut D) -> Result<Option<Epoch>> {
    let rows = driver.query(&PRESENT_EPOCH, &[])?;
    rows.into_iter().next().map(|mut row| read_epoch(&mut row)).transpose()
}

/// An epoch from its two columns. The random part is stored as the signed number with the same bits.
pub(crate) fn read_epoch(row: &mut Row) -> Result<Epoch> {
    Ok(Epoch { restored_at_ms: row.int()?, random: row.int()?.cast_unsigned() })
}

pub(crate) fn insert_epoch<D: Driver>(driver: &mut D, epoch: Epoch) -> Result<()> {
    let values = [epoch.restored_at_ms.into(), epoch.random.cast_signed().into()];
    driver.execute(&INSERT_EPOCH, &values).map(|_| ())
}

pub(crate) fn insert_event_epoch<D: Driver>(
    driver: &mut D,
    organization_id: &OrganizationId,
    event_id: &EventId,
    epoch: Epoch,
    base: u64,
) -> Result<()> {
    let values = [
        organization_id.into(),
        event_id.into(),
        epoch.restored_at_ms.into(),
        epoch.random.cast_signed().into(),
        base.into(),
    ];
    driver.execute(&INSERT_EVENT_EPOCH, &values).map(|_| ())
}
