//! The review queue.

use admit_core::access::Action;
use admit_core::ids::{EventId, IncidentId};

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::ports::{App, read};
use crate::records::*;

/// A page of incidents, newest first. Kinds that never wait in the queue are left out.
pub async fn list(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    status: Option<IncidentStatus>,
    page: Page,
) -> Result<Listed<IncidentRecord>> {
    caller.must(Action::ReadScans)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        tx.incidents(&event_id, status, true, &page)
    })
    .await
}

/// One incident.
pub async fn show(app: &App, caller: &UserCaller, incident_id: IncidentId) -> Result<IncidentRecord> {
    caller.must(Action::ReadScans)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        tx.incident(&incident_id)?.ok_or_else(|| Error::not_found("incident"))
    })
    .await
}
