//! Lists a ledger's lines, newest first.

use admit_core::access::Action;
use admit_core::ids::EventId;

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, read};
use crate::records::{AuditRecord, Listed, Page};

/// A page of an event's ledger, or of the organisation's own ledger if no event is named. If `action` is given, the
/// page has only lines of that action.
pub async fn list(
    app: &App,
    caller: &UserCaller,
    event_id: Option<EventId>,
    action: Option<&'static str>,
    page: Page,
) -> Result<Listed<AuditRecord>> {
    caller.must(Action::ReadAudit)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        if let Some(event_id) = &event_id
            && tx.event(event_id)?.is_none()
        {
            return Err(Error::not_found("event"));
        }
        tx.audit(event_id.as_ref(), action, &page)
    })
    .await
}
