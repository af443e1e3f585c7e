//! Looking at runs.

use admit_core::access::Action;

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, RunFilter, read};
use crate::records::*;

/// A page of runs, newest first.
pub async fn list(app: &App, caller: &UserCaller, filter: RunFilter, page: Page) -> Result<Listed<RunRecord>> {
    caller.must(Action::ReadGuests)?;
    read(&*app.store, &caller.organization_id, move |tx| tx.runs(&filter, &page)).await
}

/// One run with its steps that are done.
pub async fn show(app: &App, caller: &UserCaller, run_id: String) -> Result<(RunRecord, Vec<StepRecord>)> {
    caller.must(Action::ReadGuests)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        let run = tx.run(&run_id)?.ok_or_else(|| Error::not_found("workflow"))?;
        Ok((run, tx.run_steps(&run_id)?))
    })
    .await
}
