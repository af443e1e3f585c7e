//! Which events there are.

use admit_core::access::Action;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::ports::{App, read};
use crate::records::{EventRecord, Listed, Page};

/// A page of events, newest first.
pub async fn list(app: &App, caller: &UserCaller, page: Page) -> Result<Listed<EventRecord>> {
    caller.must(Action::ReadEvents)?;
    read(&*app.store, &caller.organization_id, move |tx| tx.events(&page)).await
}
