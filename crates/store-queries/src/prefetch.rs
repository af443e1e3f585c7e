//! Turns the keys that operations name into queries: see [`admit_app::ports::Prefetch`]. Only PostgreSQL prefetches.
//! SQLite has no round trip to save.

use admit_app::error::Result;
use admit_app::ports::{Prefetch, Tx};
use admit_core::ids::{EventId, OrganizationId, TicketId};

use crate::batches::LOG;
use crate::blocks::NEWEST_BLOCK;
use crate::devices::{DEVICE, KEYS, READ_DEVICE, READ_KEYS};
use crate::driver::{Asked, Driver, Stmt};
use crate::events::{ASSIGNMENTS, EVENT, EVENT_RULES, KINDS, TICKET_RULES};
use crate::heads::{EVENT_EPOCHS, PRESENT_EPOCH};
use crate::incidents::INCIDENTS_OF;
use crate::jobs::{RUN, RUN_STEPS};
use crate::scans::ANY_REVIEW;
use crate::state_blocks::NEWEST_STATES;
use crate::tickets::FIND_CODES;
use crate::tx::SqlTx;
use crate::value::Value;

type Lists<'a> = [(&'static Stmt, Vec<Value<'a>>)];

fn announce<D: Driver>(driver: &mut D, params: &[Value<'_>], lists: &Lists<'_>) {
    let lists = lists.iter().filter(|(_, list)| !list.is_empty());
    let asked: Vec<Asked<'_>> = lists.map(|(stmt, list)| Asked { stmt, params, list: Some(list) }).collect();
    driver.prefetch(&asked);
}
/// The values that `of` picks from every scope, as one sorted list without repeats. It is sorted because rows are
/// locked in this order.
fn all<'a, T, V: 'a>(scopes: &[&'a Prefetch], of: T) -> Vec<Value<'a>>
where
    T: Fn(&'a Prefetch) -> &'a Vec<V>,
    &'a V: Into<Value<'a>>,
{
    let mut list: Vec<Value<'a>> = scopes.iter().flat_map(|one| of(one).iter().map(Into::into)).collect();
    list.sort();
    list.dedup();
    list
}

/// Prefetches the newest blocks of each event whose stored scans the operations look up.
fn prefetch_newest<D: Driver>(driver: &mut D, organization_id: &OrganizationId, scopes: &[&Prefetch]) {
    for event_id in all(scopes, |one| &one.scans) {
        let key = [organization_id.into(), event_id];
        driver.prefetch(&[&NEWEST_BLOCK, &NEWEST_STATES].map(|stmt| Asked { stmt, params: &key, list: None }));
    }
}

/// Prefetches for operations that only read, all in one round trip.
pub fn prefetch_reads<D: Driver>(driver: &mut D, organization_id: &OrganizationId, scopes: &[&Prefetch]) -> Result<()> {
    let devices = all(scopes, |one| &one.devices);
    let lists =
        [(&READ_DEVICE, devices.clone()), (&READ_KEYS, devices), (&ASSIGNMENTS, all(scopes, |one| &one.assignments))];
    announce(driver, &[organization_id.into()], &lists);
    prefetch_newest(driver, organization_id, scopes);
    for run_id in all(scopes, |one| &one.runs) {
        let key = [organization_id.into(), run_id];
        driver.prefetch(&[&RUN, &RUN_STEPS].map(|stmt| Asked { stmt, params: &key, list: None }));
    }
    driver.send_prefetch()
}

/// Prefetches for operations that write, together with the query that locks the heads.
pub(crate) fn prefetch_writes<D: Driver>(
    driver: &mut D,
    organization_id: &OrganizationId,
    events: &[EventId],
    scopes: &[&Prefetch],
) {
    let devices = all(scopes, |one| &one.devices);
    announce(driver, &[organization_id.into()], &[(&DEVICE, devices.clone()), (&KEYS, devices)]);
    prefetch_newest(driver, organization_id, scopes);
    let ([event_id], codes) = (events, all(scopes, |one| &one.codes)) else { return };
    if codes.is_empty() {
        return;
    }
    let (key, kinds) = ([organization_id.into(), event_id.into()], KINDS.map(Value::from));
    driver.prefetch(&[
        Asked { stmt: &PRESENT_EPOCH, params: &[], list: None },
        Asked { stmt: &EVENT, params: &key, list: None },
        Asked { stmt: &EVENT_EPOCHS, params: &key, list: None },
        Asked { stmt: &EVENT_RULES, params: &key, list: Some(&kinds) },
        Asked { stmt: &FIND_CODES, params: &key, list: Some(&codes) },
    ]);
}

/// Prefetches the rules of the tickets that have the given codes. Operations that write need these rules.
pub(crate) fn prefetch_tickets<D: Driver>(
    driver: &mut D,
    organization_id: &OrganizationId,
    events: &[EventId],
    scopes: &[&Prefetch],
) -> Result<()> {
    let ([event_id], codes) = (events, all(scopes, |one| &one.codes)) else { return Ok(()) };
    if codes.is_empty() || !driver.prefetches() {
        return Ok(());
    }
    let key = [organization_id.into(), event_id.into()];
    let mut tickets: Vec<TicketId> = Vec::new();
    for mut row in driver.aside(|driver| driver.query_each(&FIND_CODES, &key, &codes))? {
        row.hash()?;
        tickets.push(row.parsed()?);
    }
    let tickets: Vec<Value<'_>> = tickets.iter().map(Value::from).collect();
    announce(driver, &key, &[(&TICKET_RULES, tickets)]);
    Ok(())
}

impl<D: Driver> Tx for SqlTx<'_, D> {
    fn organization_id(&self) -> &OrganizationId {
        &self.organization_id
    }
    fn prefetch(&mut self, event_id: &EventId, wanted: &Prefetch) -> Result<()> {
        if !self.with(|driver, _| Ok(driver.prefetches()))? {
            return Ok(());
        }
        let id = self.organization_id.clone();
        let (organization, key) = ([(&id).into()], [(&id).into(), event_id.into()]);
        let devices: Vec<Value<'_>> = wanted.devices.iter().map(Value::from).collect();
        if !devices.is_empty() {
            self.prefetch_queries(&[
                Asked { stmt: &DEVICE, params: &organization, list: Some(&devices) },
                Asked { stmt: &KEYS, params: &organization, list: Some(&devices) },
                Asked { stmt: &PRESENT_EPOCH, params: &[], list: None },
                Asked { stmt: &EVENT, params: &key, list: None },
            ]);
        }
        if let Some((device_id, log_id)) = &wanted.log {
            let key = [(&id).into(), device_id.into(), log_id.into()];
            self.prefetch_queries(&[Asked { stmt: &LOG, params: &key, list: None }]);
        }
        if !wanted.subjects.is_empty() {
            let subjects: Vec<Value<'_>> = wanted.subjects.iter().map(Value::from).collect();
            self.prefetch_queries(&[
                Asked { stmt: &ANY_REVIEW, params: &key, list: None },
                Asked { stmt: &INCIDENTS_OF, params: &key, list: Some(&subjects) },
            ]);
            self.prefetch_states(event_id, &wanted.subjects)?;
        }
        Ok(())
    }
}
