//! Shows one event.

use admit_core::access::Action;
use admit_core::ids::EventId;

use super::find;
use crate::caller::UserCaller;
use crate::error::Result;
use crate::ports::{App, read};
use crate::records::EventRecord;

/// The newest values of an event.
pub async fn show(app: &App, caller: &UserCaller, event_id: EventId) -> Result<EventRecord> {
    caller.must(Action::ReadEvents)?;
    read(&*app.store, &caller.organization_id, move |tx| find::require(tx, &event_id)).await
}
