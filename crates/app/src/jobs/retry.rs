//! Trying again by hand.

use admit_core::access::Action;
use admit_core::ids::EventId;
use admit_core::job::RunState;
use serde_json::json;

use super::list::find;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Scope, write};
use crate::records::*;

/// Has a run that gave up, or that waits, tried at once, with all its tries again. Steps that are done stay done; a step
/// under way is left alone. A run that is done is no run to try: 409 `run_done`.
pub async fn retry(app: &App, caller: &UserCaller, event_id: EventId, run_id: String) -> Result<RunRecord> {
    caller.must(Action::ManageGuests)?;
    let (by, now) = (caller.clone(), app.clock.now());
    let run = write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        let run = find(tx, &event_id, &run_id)?;
        if run.state == RunState::Done {
            return Err(done());
        }
        let again = RunRecord { state: RunState::Open, tries: 0, next_at: Some(now), updated_at: now, ..run };
        // It may have ended this very moment.
        if !tx.update_run(&again)? {
            return Err(done());
        }
        tx.hurry_run(&run_id)?;
        tx.append_audit(line::of(&by, None, "run_retried", ("Run", &run_id), json!({ "kind": again.kind })))?;
        Ok(again)
    })
    .await?;
    app.bell.ring();
    Ok(run)
}

fn done() -> Error {
    Error::conflict("run_done", "every step of this run is done; nothing is left to try")
}
