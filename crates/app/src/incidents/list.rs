//! Lists the review queue, and the incidents that were decided.

use std::collections::BTreeMap;

use admit_core::access::Action;
use admit_core::ids::{EventId, IncidentId, TicketId};
use admit_core::incident::{IncidentKind, Subject};

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::guests::{Holder, holders};
use crate::ports::{App, IncidentFilter, Tx, read};
use crate::records::{DecisionRecord, IncidentRecord, Listed, Page};
use crate::scans::reviews::in_force;

/// An incident, with the decisions about the scans of its ticket or code.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownIncident {
    /// The incident.
    pub incident: IncidentRecord,
    /// The decisions in force, oldest first. `restore` takes them back.
    pub decided: Vec<DecisionRecord>,
    /// The holder of the incident's ticket. Empty if the incident is about no ticket.
    pub holder: Holder,
}

/// A page of incidents, newest first. Decided ones are ordered by when they were decided. Kinds that never wait in the
/// queue are left out.
pub async fn list(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    filter: impl Into<IncidentFilter>,
    page: Page,
) -> Result<Listed<ShownIncident>> {
    caller.must(Action::ReadScans)?;
    let filter = IncidentFilter { queued: true, ..filter.into() };
    read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        let listed = tx.incidents(&event_id, filter, &page)?;
        Ok(Listed { items: shown(tx, &event_id, listed.items)?, next_cursor: listed.next_cursor })
    })
    .await
}

/// One incident.
pub async fn show(app: &App, caller: &UserCaller, incident_id: IncidentId) -> Result<ShownIncident> {
    caller.must(Action::ReadScans)?;
    read(&*app.store, &caller.organization_id, move |tx| show_in(tx, &incident_id)).await
}

pub(super) fn show_in(tx: &mut dyn Tx, incident_id: &IncidentId) -> Result<ShownIncident> {
    let incident = tx.incident(incident_id)?.ok_or_else(|| Error::not_found("incident"))?;
    let event_id = incident.event_id.clone();
    let shown = shown(tx, &event_id, vec![incident])?.pop();
    shown.ok_or_else(|| Error::Bug("one incident is one".into()))
}

/// The incidents of one event, with the decisions about their scans and the holders of their tickets, all read
/// together.
fn shown(tx: &mut dyn Tx, event_id: &EventId, incidents: Vec<IncidentRecord>) -> Result<Vec<ShownIncident>> {
    let keys = incidents.iter().map(|one| &one.subject_key).filter(|key| Subject::from_key(key).is_some());
    let mut keys: Vec<String> = keys.cloned().collect();
    keys.sort();
    keys.dedup();
    let mut decided: BTreeMap<String, Vec<DecisionRecord>> = BTreeMap::new();
    for one in in_force(tx, event_id, &keys)? {
        decided.entry(one.subject_key.clone()).or_default().push(one);
    }
    let ticket_of = |key: &str| Subject::from_key(key)?.ticket_id().cloned();
    let ticket_ids: Vec<TicketId> = keys.iter().filter_map(|key| ticket_of(key)).collect();
    let held = holders(tx, event_id, &ticket_ids)?;
    let show = |incident: IncidentRecord| {
        let decided = decided.get(&incident.subject_key).cloned().unwrap_or_default();
        let holder = ticket_of(&incident.subject_key).and_then(|id| held.get(&id)).cloned().unwrap_or_default();
        ShownIncident { incident, decided, holder }
    };
    Ok(incidents.into_iter().map(show).collect())
}

/// Numbers of incidents that wait for a person, and that were answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of open incidents.
    pub open: u64,
    /// Number of incidents that a person answered and that are not open again.
    pub decided: u64,
    /// Numbers of open incidents by kind. Kinds without any are left out.
    pub kinds: Vec<(IncidentKind, u64)>,
}

/// Counts the incidents in the review queue of an event.
pub async fn count(app: &App, caller: &UserCaller, event_id: EventId) -> Result<Counts> {
    caller.must(Action::ReadScans)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        let mut kinds = tx.count_open_incidents(&event_id)?;
        kinds.retain(|(kind, _)| kind.queued());
        let open = kinds.iter().map(|(_, count)| count).sum();
        Ok(Counts { open, decided: tx.count_decided_incidents(&event_id)?, kinds })
    })
    .await
}
