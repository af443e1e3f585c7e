//! Lists the guest lists of an event.

use admit_core::access::Action;
use admit_core::ids::EventId;

use super::promoter_scope;
use crate::caller::UserCaller;
use crate::error::Result;
use crate::events;
use crate::ports::{App, read};
use crate::records::GuestListRecord;

/// Guest lists, oldest first. A promoter sees only their own.
pub async fn list(app: &App, caller: &UserCaller, event_id: EventId) -> Result<Vec<GuestListRecord>> {
    caller.must(Action::ReadEvents)?;
    let by = caller.clone();
    read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        Ok(tx.guest_lists(&event_id)?.into_iter().filter(|list| promoter_scope::is_own_list(&by, list)).collect())
    })
    .await
}
