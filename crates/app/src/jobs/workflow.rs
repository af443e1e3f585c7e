//! The trait of a workflow, and the steps that it uses.

use std::future::Future;

use admit_core::ids::EventId;
use admit_core::job::RunState;
use admit_core::limits::JOB_LEASE_MS;
use admit_core::time::Timestamp;
use futures_util::future::BoxFuture;

use crate::error::{Error, Result};
use crate::ports::{App, Pace, Scope, Tx, write};
use crate::records::{RunRecord, StepRecord, TakenRun};
use crate::seeded_ids::SeededIds;

/// Why a run did not reach its end this time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setback {
    /// The step failed now and is tried again later. The reason is in words for the organiser.
    Again(String),
    /// This server lacks what the step needs, such as a setting. The step waits for it, however long, and no try is
    /// counted. The text names the missing thing, in words for the organiser.
    NotSetUp(String),
    /// The mail lane is stopped. The run waits for it, at most until this time. No try is counted. The reason is stored
    /// with the mail lane, not with the run.
    Parked(Timestamp),
    /// Another try makes no sense. The reason is in words for the organiser.
    GiveUp(String),
    /// Another process took the run since. From now on, nothing that this process does for the run is stored.
    Taken,
}

/// The return type of steps and workflows.
pub type StepResult<T> = std::result::Result<T, Setback>;

impl From<Error> for Setback {
    fn from(error: Error) -> Self {
        match error {
            // A request that is wrong now stays wrong.
            Error::Invalid { .. }
            | Error::Unauthenticated { .. }
            | Error::Denied { .. }
            | Error::NotFound { .. }
            | Error::Gone { .. }
            | Error::Conflict { .. }
            | Error::Unprocessable { .. } => Self::GiveUp(error.to_string()),
            Error::Later { .. } | Error::Bug(_) => Self::Again(error.to_string()),
        }
    }
}

/// A workflow: its steps in order, for one run.
pub trait Workflow: Send + Sync {
    /// The word under which the workflow's runs are stored.
    fn kind(&self) -> &'static str;
    /// Goes through the steps of a run. Its decisions may depend only on results of `steps`, which are the same at each
    /// try.
    fn run<'a>(&'a self, steps: &'a mut Steps) -> BoxFuture<'a, StepResult<()>>;
}

/// The workflows that this process knows.
#[derive(Default)]
pub struct Workflows {
    known: Vec<Box<dyn Workflow>>,
}

impl Workflows {
    /// Adds a workflow.
    pub fn with(mut self, workflow: impl Workflow + 'static) -> Self {
        self.known.push(Box::new(workflow));
        self
    }
    /// The workflow of this kind. `None` if this process does not know it.
    pub fn find(&self, kind: &str) -> Option<&dyn Workflow> {
        self.known.iter().find(|workflow| workflow.kind() == kind).map(|workflow| &**workflow)
    }
}

/// A new run, to be stored with [`crate::ports::TxJobs::insert_runs`].
pub fn fresh(
    seeded: &mut SeededIds,
    kind: &'static str,
    event_id: &EventId,
    subject: &str,
    input: String,
    now: Timestamp,
) -> RunRecord {
    RunRecord {
        run_id: seeded.row_id(now),
        kind: kind.to_owned(),
        event_id: event_id.clone(),
        subject: subject.to_owned(),
        input,
        state: RunState::Open,
        tries: 0,
        step: None,
        problem: None,
        next_at: Some(now),
        created_at: now,
        updated_at: now,
    }
}

/// The scope with the lowest priority, since scans at the door come before steps.
pub(super) fn patient(scope: Scope) -> Scope {
    Scope { pace: Pace::Patient, ..scope }
}

/// A run that was taken, with the results of its steps so far.
pub struct Steps {
    pub(crate) app: App,
    pub(crate) taken: TakenRun,
    pub(crate) run: RunRecord,
    pub(crate) done: Vec<StepRecord>,
    /// Steps that this process has done and the store does not have yet. They are stored together with the run's next
    /// step, or with its end.
    pub(crate) unstored: Vec<StepRecord>,
    /// The name of the step under way, or of the last one.
    pub(crate) at: &'static str,
    /// The remark that the run gets once it is done. Absent if there is none.
    pub(crate) said: Option<String>,
    /// Number of steps passed so far.
    passed: usize,
}

impl Steps {
    pub(crate) fn new(app: &App, taken: TakenRun, run: RunRecord, done: Vec<StepRecord>) -> Self {
        Self { app: app.clone(), taken, run, done, unstored: Vec::new(), at: "", said: None, passed: 0 }
    }
    /// The ports and shared parts of the use cases.
    pub fn app(&self) -> &App {
        &self.app
    }
    /// The run that is being carried out.
    pub fn run(&self) -> &RunRecord {
        &self.run
    }
    /// The organisation of the run.
    pub fn organization_id(&self) -> &admit_core::ids::OrganizationId {
        &self.taken.organization_id
    }
    /// Sets a remark that the list shows beside a run that is done, such as why nothing was mailed. It must depend only
    /// on results of steps, so that it is the same at each try.
    pub fn say(&mut self, words: impl Into<String>) {
        self.said = Some(words.into());
    }
    /// Makes `name` the step under way. Returns its stored result if the step is done.
    fn given(&mut self, name: &'static str) -> Option<Vec<u8>> {
        self.at = name;
        self.passed += 1;
        self.done.iter().find(|step| step.name == name).map(|step| step.output.clone())
    }
    fn record(&self, name: &'static str, output: Vec<u8>, began_at: Timestamp) -> StepRecord {
        let failed = if self.run.step.as_deref() == Some(name) { self.run.tries } else { 0 };
        StepRecord {
            run_id: self.run.run_id.clone(),
            name: name.to_owned(),
            place: u32::try_from(self.passed).unwrap_or(u32::MAX),
            output,
            tries: failed.saturating_add(1),
            began_at,
            done_at: self.app.clock.now(),
        }
    }
    /// A step that reaches outside. If it is done, it returns the stored result. Otherwise it calls `work` with a key
    /// that is the same at every try, and stores the result.
    pub async fn work<F, W>(&mut self, name: &'static str, work: F) -> StepResult<Vec<u8>>
    where
        F: FnOnce(String) -> W,
        W: Future<Output = StepResult<Vec<u8>>>,
    {
        let output = self.work_last(name, work).await?;
        if self.unstored.is_empty() {
            return Ok(output);
        }
        let (fence, run_id) = (self.taken.fence, self.run.run_id.clone());
        let steps = std::mem::take(&mut self.unstored);
        let held = write(&*self.app.store, patient(Scope::organization(&self.taken.organization_id)), move |tx| {
            let held = tx.hold_run(&run_id, fence, JOB_LEASE_MS)?;
            if held {
                steps.iter().try_for_each(|step| tx.insert_step(step))?;
            }
            Ok(held)
        });
        if held.await? { Ok(output) } else { Err(Setback::Taken) }
    }
    /// Like [`Steps::work`], for a run's last step. Its result is stored in the transaction that ends the run.
    pub async fn work_last<F, W>(&mut self, name: &'static str, work: F) -> StepResult<Vec<u8>>
    where
        F: FnOnce(String) -> W,
        W: Future<Output = StepResult<Vec<u8>>>,
    {
        if let Some(given) = self.given(name) {
            return Ok(given);
        }
        let began_at = self.app.clock.now();
        let output = work(format!("{}:{name}", self.run.run_id)).await?;
        let step = self.record(name, output.clone(), began_at);
        self.unstored.push(step.clone());
        self.done.push(step);
        Ok(output)
    }
    /// A step that only writes. `op` returns the step's output, and a value that the caller needs after the commit.
    /// This value is `None` if the step was done before. The step and its writes commit together.
    pub async fn write<R, F>(&mut self, name: &'static str, scope: Scope, op: F) -> StepResult<(Vec<u8>, Option<R>)>
    where
        R: Send + 'static,
        F: FnMut(&mut dyn Tx) -> Result<(Vec<u8>, R)> + Send + 'static,
    {
        if let Some(given) = self.given(name) {
            return Ok((given, None));
        }
        let began_at = self.app.clock.now();
        let mut op = op;
        let (fence, mut step) = (self.taken.fence, self.record(name, Vec::new(), began_at));
        let earlier = std::mem::take(&mut self.unstored);
        let stored = write(&*self.app.store, patient(scope), move |tx| {
            if !tx.hold_run(&step.run_id, fence, JOB_LEASE_MS)? {
                return Ok(None);
            }
            let (output, after) = op(tx)?;
            step.output = output;
            earlier.iter().try_for_each(|step| tx.insert_step(step))?;
            tx.insert_step(&step)?;
            Ok(Some((step.clone(), after)))
        })
        .await?;
        let (step, after) = stored.ok_or(Setback::Taken)?;
        let output = step.output.clone();
        self.done.push(step);
        Ok((output, Some(after)))
    }
}
