//! Runs of workflows and their steps.

use admit_core::ids::{EventId, OrganizationId};
use admit_core::job::RunState;
use admit_core::time::Timestamp;

/// A run: one workflow for one subject. The results of its steps are stored with the steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// The run's id.
    pub run_id: String,
    /// Which workflow.
    pub kind: String,
    /// The event of the run.
    pub event_id: EventId,
    /// The subject of the run: a guest's id.
    pub subject: String,
    /// The run's input, as its workflow writes and reads it.
    pub input: String,
    /// How it stands.
    pub state: RunState,
    /// Failed tries of the step it stands at.
    pub tries: u32,
    /// The step it stands at, once one failed.
    pub step: Option<String>,
    /// Why that step failed last. Of a run that is done: what there is to say about it.
    pub problem: Option<String>,
    /// When that step is tried again; a guess where it is not under way.
    pub next_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its standing last changed.
    pub updated_at: Timestamp,
}

/// A step that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRecord {
    /// The run that the step belongs to.
    pub run_id: String,
    /// Its name, unique in the run.
    pub name: String,
    /// Its place in the run, from 1.
    pub place: u32,
    /// The step's result. Every later try of the run goes on with it.
    pub output: Vec<u8>,
    /// Tries it took, the good one included.
    pub tries: u32,
    /// When the good try began.
    pub began_at: Timestamp,
    /// When it was done.
    pub done_at: Timestamp,
}

/// A run that somebody took to carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenRun {
    /// The organisation of the run.
    pub organization_id: OrganizationId,
    /// The run's id.
    pub run_id: String,
    /// Under this fence alone may its steps be stored.
    pub fence: u64,
    /// The mail lane was stopped when it was taken.
    pub mail_stopped: bool,
}

/// A stopped mail lane: the mail server refuses the account or itself, so all letters wait. One row, of the whole server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailLaneRecord {
    /// Since when.
    pub since: Timestamp,
    /// The mail server's last refusal, in plain words.
    pub reason: String,
    /// When one letter is tried, or, while a probe is under way, when the next one is.
    pub next_at: Timestamp,
    /// Pauses so far: each is longer than the one before.
    pub pauses: u32,
    /// Run whose letter is the probe that is under way.
    pub probe: Option<String>,
}
