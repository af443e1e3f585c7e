//! Lists the gates of an event.

use admit_core::access::Action;
use admit_core::ids::EventId;

use super::find::{self, Gate};
use crate::caller::UserCaller;
use crate::error::Result;
use crate::events;
use crate::ports::{App, read};

/// Gates in order of id.
pub async fn list(app: &App, caller: &UserCaller, event_id: EventId) -> Result<Vec<Gate>> {
    caller.must(Action::ReadEvents)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        find::all(tx, &event_id)
    })
    .await
}
