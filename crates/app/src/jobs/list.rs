//! Lists and shows runs.

use admit_core::access::Action;
use admit_core::ids::EventId;

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, RunFilter, Tx, read};
use crate::records::{Listed, Page, RunRecord, StepRecord};

/// A page of runs, newest first. `NotFound` if the event does not exist.
pub async fn list(app: &App, caller: &UserCaller, filter: RunFilter, page: Page) -> Result<Listed<RunRecord>> {
    caller.must(Action::ReadGuests)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        if let Some(event_id) = &filter.event_id {
            tx.event(event_id)?.ok_or_else(|| Error::not_found("event"))?;
        }
        tx.runs(&filter, &page)
    })
    .await
}

/// One run of an event, with its steps that are done.
pub async fn show(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    run_id: String,
) -> Result<(RunRecord, Vec<StepRecord>)> {
    caller.must(Action::ReadGuests)?;
    read(&*app.store, &caller.organization_id, move |tx| Ok((find(tx, &event_id, &run_id)?, tx.run_steps(&run_id)?)))
        .await
}

/// Finds a run of this event. Fails with `NotFound` if there is none.
pub(super) fn find(tx: &mut dyn Tx, event_id: &EventId, run_id: &str) -> Result<RunRecord> {
    let run = tx.run(run_id)?.filter(|run| run.event_id == *event_id);
    run.ok_or_else(|| Error::not_found("run"))
}
