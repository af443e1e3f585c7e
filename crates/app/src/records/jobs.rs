//! Runs of workflows and their steps.

use admit_core::ids::{EventId, OrganizationId};
use admit_core::job::RunState;
use admit_core::time::Timestamp;

/// A run: one workflow for one subject. The results of its steps are stored with the steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// The run's id.
    pub run_id: String,
    /// The kind of workflow.
    pub kind: String,
    /// The event of the run.
    pub event_id: EventId,
    /// The subject of the run: a guest's id.
    pub subject: String,
    /// The input of the run. Only its workflow writes and reads it.
    pub input: String,
    /// The state of the run.
    pub state: RunState,
    /// Failed tries of the present step.
    pub tries: u32,
    /// The name of the present step. Absent until a step failed.
    pub step: Option<String>,
    /// Why the present step last failed. If the run is done: a remark about its result. Absent if there is nothing to
    /// say.
    pub problem: Option<String>,
    /// When the present step is tried again, as known when the run was last stored. Absent if it is not tried again by
    /// itself.
    pub next_at: Option<Timestamp>,
    /// When the run was created.
    pub created_at: Timestamp,
    /// When the run's state last changed.
    pub updated_at: Timestamp,
}

/// A step that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRecord {
    /// The run that the step belongs to.
    pub run_id: String,
    /// The step's name, unique within the run.
    pub name: String,
    /// The step's place in the run, counted from 1.
    pub place: u32,
    /// The step's result. Every later try of the run uses it.
    pub output: Vec<u8>,
    /// Number of tries of the step, with the successful one.
    pub tries: u32,
    /// When the successful try began.
    pub began_at: Timestamp,
    /// When the step was done.
    pub done_at: Timestamp,
}

/// A run that a worker took to carry it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenRun {
    /// The organisation of the run.
    pub organization_id: OrganizationId,
    /// The run's id.
    pub run_id: String,
    /// The number of this taking, the fence. The run's steps may be stored only under it.
    pub fence: u64,
    /// Whether the mail lane was stopped when the run was taken.
    pub mail_stopped: bool,
}

/// A stopped mail lane: the mail server refuses the account or every letter, so all letters wait. The whole server has
/// one such row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailLaneRecord {
    /// Since when the lane is stopped.
    pub since: Timestamp,
    /// The mail server's last refusal, in plain words.
    pub reason: String,
    /// When the next letter is tried as a probe. While a probe is under way: when another letter becomes the probe.
    pub next_at: Timestamp,
    /// Number of pauses so far. Each is longer than the one before.
    pub pauses: u32,
    /// The run whose letter is the probe under way. Absent if none is.
    pub probe: Option<String>,
}
