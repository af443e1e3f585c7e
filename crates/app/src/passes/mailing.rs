//! The state of the mail with a guest's pass, for every caller who may see the guest. Only the organiser may see the
//! runs behind it.

use std::collections::BTreeMap;

use admit_core::ids::{EventId, GuestId};
use admit_core::job::RunState;
use admit_core::time::Timestamp;

use super::delivery::{KIND, SEND_EMAIL};
use crate::error::Result;
use crate::ports::Tx;
use crate::records::{GuestRecord, RunRecord};

/// The state of the mail with a guest's pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailState {
    /// The mail was sent.
    Sent,
    /// The mail is under way, or waits for its next try.
    Waiting,
    /// The mail was not sent, and will not be by itself.
    NotSent,
}

impl MailState {
    /// The word for the state in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Waiting => "waiting",
            Self::NotSent => "not_sent",
        }
    }
}

/// The mail with a guest's pass: its state, the reason and the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailing {
    /// The state of the mail.
    pub state: MailState,
    /// Why the mail waits or was not sent, in plain words. Absent if nothing is wrong.
    pub why: Option<String>,
    /// Since when the mail is in this state. Absent if there was never a run.
    pub at: Option<Timestamp>,
}

/// The reason that a promoter sees when a step before the mail failed. The step's own text may tell where the server
/// stores things, which a promoter must not see.
const NOT_MADE: &str = "the pass cannot be made just now: the organiser sees why";

/// The state of the mail to each of these guests, by the guest's newest run. A guest with an address and no run is left
/// out: the code came from another system, or the guest was added after the event. `sees_runs` tells whether the caller
/// may see the runs. Only such a caller gets the reason why a step before the mail failed.
pub(crate) fn mailings<'a>(
    tx: &mut dyn Tx,
    event_id: &EventId,
    guests: impl Iterator<Item = &'a GuestRecord>,
    sees_runs: bool,
) -> Result<BTreeMap<GuestId, Mailing>> {
    let guests: Vec<&GuestRecord> = guests.collect();
    let subjects: Vec<String> = guests.iter().map(|guest| guest.guest_id.to_string()).collect();
    let newest = tx.newest_runs(event_id, KIND, &subjects)?;
    let newest: BTreeMap<&str, &RunRecord> = newest.iter().map(|run| (run.subject.as_str(), run)).collect();
    let told = guests.into_iter().filter_map(|guest| {
        let mailing = mailing(guest, newest.get(guest.guest_id.as_str()).copied(), sees_runs)?;
        Some((guest.guest_id.clone(), mailing))
    });
    Ok(told.collect())
}

fn mailing(guest: &GuestRecord, newest: Option<&RunRecord>, sees_runs: bool) -> Option<Mailing> {
    let Some(run) = newest else {
        let why = guest.email.is_none().then(|| "no e-mail address".to_owned())?;
        return Some(Mailing { state: MailState::NotSent, why: Some(why), at: None });
    };
    let state = state_of(run);
    let is_told = sees_runs || run.state == RunState::Done || run.step.as_deref() == Some(SEND_EMAIL);
    let why = run.problem.as_ref().map(|problem| if is_told { problem.clone() } else { NOT_MADE.to_owned() });
    Some(Mailing { state, why, at: Some(run.updated_at) })
}

/// The state of the mail that a run sends.
pub(super) fn state_of(run: &RunRecord) -> MailState {
    match run.state {
        RunState::Open => MailState::Waiting,
        // A run that is done and has a remark says in it why nothing was mailed.
        RunState::Done if run.problem.is_none() => MailState::Sent,
        RunState::Done | RunState::GaveUp => MailState::NotSent,
    }
}
