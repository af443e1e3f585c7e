//! Carries out a run that was taken, until it ends or a step fails.

use std::panic::AssertUnwindSafe;

use admit_core::job::{RunState, backoff_ms, not_set_up_ms};
use admit_core::limits::{JOB_LEASE_MS, JOB_PROBLEM_CHARS, JOB_TRIES};
use futures_util::FutureExt as _;

use super::workflow::{Setback, Steps, Workflows, patient};
use crate::error::Result;
use crate::ports::{App, Prefetch, Scope, read_prefetching, write};
use crate::records::{RunRecord, TakenRun};

/// How carrying out a run ended this time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Every step is done.
    Done,
    /// A step failed. It is tried again after this many milliseconds.
    Waits(i64),
    /// The run waits for the mail lane.
    Parked,
    /// A step failed and is not tried again. A person decides.
    GaveUp,
    /// Somebody else has the run, or there is none. Nothing was changed.
    NotOurs,
}

/// Carries out a taken run.
///
/// 1. Read the run and the steps that are done.
/// 2. Go through the steps of its workflow. Steps that are done return their stored result.
/// 3. Store how the run ended, and the result of its last step, under the fence of this taking.
///
/// An error means that the store did not answer. The run is taken again when its lease ends.
pub async fn carry_out(app: &App, workflows: &Workflows, taken: TakenRun) -> Result<Ended> {
    let run_id = taken.run_id.clone();
    let prefetch = Prefetch { runs: vec![run_id.clone()], ..Prefetch::default() };
    let found = read_prefetching(&*app.store, &taken.organization_id, prefetch, move |tx| {
        let Some(run) = tx.run(&run_id)? else { return Ok(None) };
        Ok(Some((run, tx.run_steps(&run_id)?)))
    })
    .await?;
    let Some((run, done)) = found.filter(|(run, _)| run.state == RunState::Open) else { return Ok(Ended::NotOurs) };
    let Some(workflow) = workflows.find(&run.kind) else {
        // A newer version made the run. It waits for a process that knows its workflow, and no try is counted.
        let mut steps = Steps::new(app, taken, run, done);
        steps.at = "start";
        return end(steps, Err(Setback::NotSetUp("this version does not know this workflow".into()))).await;
    };
    let mut steps = Steps::new(app, taken, run, done);
    let ran = AssertUnwindSafe(workflow.run(&mut steps)).catch_unwind().await;
    let ran = ran.unwrap_or_else(|_| Err(Setback::Again("the step failed in a way it should not".into())));
    end(steps, ran).await
}

async fn end(steps: Steps, ran: std::result::Result<(), Setback>) -> Result<Ended> {
    let Steps { app, taken, run: before, unstored, at, said, .. } = steps;
    let now = app.clock.now();
    let mut run = RunRecord { updated_at: now, ..before };
    let failed = if run.step.as_deref() == Some(at) { run.tries } else { 0 };
    let mut parked_until = None;
    let ended = match ran {
        Err(Setback::Taken) => return Ok(Ended::NotOurs),
        Ok(()) => {
            let problem = said.as_deref().map(short);
            run = RunRecord { state: RunState::Done, tries: 0, step: None, problem, next_at: None, ..run };
            Ended::Done
        }
        Err(Setback::NotSetUp(why)) => {
            run.tries = failed;
            run.problem = Some(short(&why));
            run.step = Some(at.to_owned());
            let wait_ms = not_set_up_ms(now.since(run.created_at), app.ids.random()[0]);
            run.next_at = Some(now.plus_ms(wait_ms));
            Ended::Waits(wait_ms)
        }
        Err(Setback::Parked(until)) => {
            (run.tries, run.problem, run.next_at) = (failed, None, None);
            run.step = Some(at.to_owned());
            parked_until = Some(until);
            Ended::Parked
        }
        Err(Setback::Again(why)) => {
            run.tries = failed.saturating_add(1);
            run.problem = Some(short(&why));
            run.step = Some(at.to_owned());
            if run.tries < JOB_TRIES {
                let wait_ms = backoff_ms(run.tries, app.ids.random()[0]);
                run.next_at = Some(now.plus_ms(wait_ms));
                Ended::Waits(wait_ms)
            } else {
                Ended::GaveUp
            }
        }
        Err(Setback::GiveUp(why)) => {
            run.tries = failed.saturating_add(1);
            run.problem = Some(short(&why));
            run.step = Some(at.to_owned());
            Ended::GaveUp
        }
    };
    if ended == Ended::GaveUp {
        run.state = RunState::GaveUp;
        run.next_at = None;
    }
    let (fence, wanted) = (taken.fence, ended.clone());
    let held = write(&*app.store, patient(Scope::organization(&taken.organization_id)), move |tx| {
        if !tx.hold_run(&run.run_id, fence, JOB_LEASE_MS)? {
            return Ok(false);
        }
        unstored.iter().try_for_each(|step| tx.insert_step(step))?;
        tx.update_run(&run)?;
        match wanted {
            Ended::Done => tx.dequeue_run(&run.run_id)?,
            Ended::Waits(wait_ms) => tx.release_run(&run.run_id, Some(wait_ms))?,
            Ended::Parked => tx.park_run(&run.run_id, parked_until.unwrap_or(now))?,
            Ended::GaveUp | Ended::NotOurs => tx.release_run(&run.run_id, None)?,
        }
        Ok(true)
    })
    .await?;
    Ok(if held { ended } else { Ended::NotOurs })
}

/// The failure's text without line breaks, cut to [`JOB_PROBLEM_CHARS`] characters.
fn short(why: &str) -> String {
    why.chars().map(|c| if c.is_control() { ' ' } else { c }).take(JOB_PROBLEM_CHARS).collect()
}
