//! Lists scans with the reducer's verdict on each.

use admit_core::access::Action;
use admit_core::ids::EventId;

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, ScanFilter, read};
use crate::records::{Listed, Page, ScanRow};

/// A page of scans, newest arrival first.
pub async fn list(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    filter: ScanFilter,
    page: Page,
) -> Result<Listed<ScanRow>> {
    caller.must(Action::ReadScans)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        tx.event(&event_id)?.ok_or_else(|| Error::not_found("event"))?;
        tx.scans(&event_id, &filter, &page)
    })
    .await
}
