//! The state of the mail with a guest's pass, for every caller who may see the guest. Only the organiser may look
//! through the runs behind it.

use std::collections::BTreeMap;

use admit_core::ids::{EventId, GuestId};
use admit_core::job::RunState;
use admit_core::time::Timestamp;

use super::delivery::{KIND, SEND_EMAIL};
use crate::error::Result;
use crate::ports::Tx;
use crate::records::*;

/// Where the mail of a guest's pass is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailState {
    /// It went out.
    Sent,
    /// It is on its way, or waits to be tried again.
    Waiting,
    /// It did not go out, and will not by itself.
    NotSent,
}

impl MailState {
    /// The word it is told as.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Waiting => "waiting",
            Self::NotSent => "not_sent",
        }
    }
}

/// How the mail of a guest's pass stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailing {
    /// Where it is.
    pub state: MailState,
    /// Why it waits, or was not sent, in plain words; none while nothing is wrong.
    pub why: Option<String>,
    /// Since when; none where there never was a run.
    pub at: Option<Timestamp>,
}

/// The reason that a promoter is told where a step before the mail failed. The step's own words tell where the server
/// keeps things.
const NOT_MADE: &str = "the pass cannot be made just now: the organiser sees why";

/// The state of the mail to each of these guests, by the newest run about them. A guest with an address and no run is
/// left out. Such a guest has their code from elsewhere, or was added after the event was over. With `sees_runs` the
/// caller may look at the runs themselves.
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

/// Where the mail of a run is.
pub(super) fn state_of(run: &RunRecord) -> MailState {
    match run.state {
        RunState::Open => MailState::Waiting,
        // A run that is done and has something to say says why nothing was mailed.
        RunState::Done if run.problem.is_none() => MailState::Sent,
        RunState::Done | RunState::GaveUp => MailState::NotSent,
    }
}
