//! Retries runs when a person asks for it.

use admit_core::access::Action;
use admit_core::ids::EventId;
use admit_core::job::RunState;
use admit_core::limits::RUNS_RETRIED;
use serde_json::json;

use super::list::find;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, RunFilter, Scope, write};
use crate::records::{Page, RunRecord};

/// Makes a run that gave up, or that waits, due at once, and resets its number of tries. Steps that are done stay done,
/// and a step under way is not disturbed. A run that is done cannot be retried: 409 `run_done`.
pub async fn retry(app: &App, caller: &UserCaller, event_id: EventId, run_id: String) -> Result<RunRecord> {
    caller.must(Action::ManageGuests)?;
    let (by, now) = (caller.clone(), app.clock.now());
    let run = write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        let run = find(tx, &event_id, &run_id)?;
        if run.state == RunState::Done {
            return Err(done());
        }
        let again = RunRecord { state: RunState::Open, tries: 0, next_at: Some(now), updated_at: now, ..run };
        // The run may have ended at this very moment.
        if !tx.update_run(&again)? {
            return Err(done());
        }
        tx.hurry_run(&run_id)?;
        tx.append_audit(line::of(&by, None, "run_retried", ("Run", &run_id), json!({ "kind": again.kind })))?;
        Ok(again)
    })
    .await?;
    try_mail(app).await;
    Ok(run)
}

/// Retries all runs of an event that gave up, each as [`retry`] does. Returns how many there were.
///
/// 1. Go through these runs from the newest to the oldest, several per transaction, each with its audit line. A run
///    that gives up again meanwhile is not retried twice.
pub async fn retry_all(app: &App, caller: &UserCaller, event_id: EventId) -> Result<usize> {
    caller.must(Action::ManageGuests)?;
    let (mut retried, mut cursor) = (0, None);
    loop {
        let (by, now, event_id) = (caller.clone(), app.clock.now(), event_id.clone());
        let page = Page { limit: RUNS_RETRIED, cursor: cursor.take() };
        let (many, next) = write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
            tx.event(&event_id)?.ok_or_else(|| Error::not_found("event"))?;
            let gave_up = Some(RunState::GaveUp);
            let filter = RunFilter { event_id: Some(event_id.clone()), state: gave_up, ..RunFilter::default() };
            let listed = tx.runs(&filter, &page)?;
            let mut many = 0;
            for run in &listed.items {
                let again =
                    RunRecord { state: RunState::Open, tries: 0, next_at: Some(now), updated_at: now, ..run.clone() };
                // The run may have been retried by hand, and ended, at this very moment.
                if !tx.update_run(&again)? {
                    continue;
                }
                many += 1;
                tx.hurry_run(&run.run_id)?;
                let entity = ("Run", run.run_id.as_str());
                tx.append_audit(line::of(&by, None, "run_retried", entity, json!({ "kind": run.kind })))?;
            }
            Ok((many, listed.next_cursor))
        })
        .await?;
        try_mail(app).await;
        retried += many;
        cursor = next;
        if cursor.is_none() {
            return Ok(retried);
        }
    }
}

/// Probes a stopped mail lane now, since the person who retries may have repaired the mail server. If the store cannot
/// do this now, the lane is probed when its pause is over.
async fn try_mail(app: &App) {
    let _ = app.store.hurry_mail().await;
    app.job_wakeup.wake();
}

fn done() -> Error {
    Error::conflict("run_done", "every step of this run is done; nothing is left to try")
}
