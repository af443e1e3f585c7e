//! Which entry types an event has.

use admit_core::access::Action;
use admit_core::ids::EventId;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::events;
use crate::ports::{App, read};
use crate::records::EntryTypeRecord;

/// Entry types in their order.
pub async fn list(app: &App, caller: &UserCaller, event_id: EventId) -> Result<Vec<EntryTypeRecord>> {
    caller.must(Action::ReadEvents)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        tx.entry_types(&event_id)
    })
    .await
}
