//! Sends a letter through the mail server, or waits with all other letters while the mail lane is stopped.

use admit_core::access::Action;
use admit_core::time::Timestamp;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::jobs::{Setback, StepResult};
use crate::ports::{App, Letter, Mail, NO_MAIL_SERVER, Unsent};
use crate::records::MailLaneRecord;

/// Why a letter may be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// The mail lane is open.
    Open,
    /// The mail lane is stopped, and this letter is the probe. It finds out whether the mail server accepts letters
    /// again.
    Probe,
}

/// Whether a run's letter may be sent now. `None` while the lane is stopped. `stopped` tells whether the lane was
/// stopped when the run was taken.
pub(super) async fn turn(app: &App, run_id: &str, stopped: bool) -> Result<Option<Turn>> {
    if !stopped && !app.mail_lane.is_stopped() {
        return Ok(Some(Turn::Open));
    }
    let lane = app.store.mail_lane().await?;
    app.mail_lane.set_stopped(lane.is_some());
    Ok(match lane {
        None => Some(Turn::Open),
        Some(lane) if lane.probe.as_deref() == Some(run_id) => Some(Turn::Probe),
        Some(_) => None,
    })
}

/// Sends a run's letter. If the mail server refuses the account or every letter, the lane is stopped. The run then
/// waits with all other letters, at most until `until`.
pub(super) async fn send(
    app: &App,
    mail: &dyn Mail,
    (run_id, turn): (&str, Turn),
    letter: Letter,
    until: Timestamp,
) -> StepResult<()> {
    match mail.send(letter).await {
        Ok(()) => {
            app.mail_lane.taken(run_id);
            // The letter is sent. If the store fails now, the letter must not be sent again, so the error is ignored.
            // Another probe will open the lane.
            if turn == Turn::Probe && app.store.resume_mail().await.is_ok() {
                app.mail_lane.set_stopped(false);
                app.job_wakeup.wake();
            }
            Ok(())
        }
        Err(Unsent::Stopped(why)) if !app.mail_lane.is_letters_own(run_id) => Err(stop(app, run_id, why, until).await?),
        Err(unsent) => {
            pass_on(app, turn).await;
            Err(match unsent {
                Unsent::Stopped(why) | Unsent::Later(why) => Setback::Again(why),
                Unsent::Never(why) => Setback::GiveUp(why),
            })
        }
    }
}

/// Notes that a letter could not be sent for a reason that concerns this letter alone. If the letter was the mail
/// lane's probe, another letter becomes the probe at once.
pub(super) async fn pass_on(app: &App, turn: Turn) {
    if turn == Turn::Probe {
        let _ = app.store.hurry_mail().await;
    }
}

/// Stops the lane because no mail server is set up.
pub(super) async fn not_set_up(app: &App, run_id: &str, until: Timestamp) -> Result<Setback> {
    stop(app, run_id, NO_MAIL_SERVER.to_owned(), until).await
}

async fn stop(app: &App, run_id: &str, why: String, until: Timestamp) -> Result<Setback> {
    app.store.stop_mail(run_id.to_owned(), why, app.ids.random()[0]).await?;
    app.mail_lane.set_stopped(true);
    Ok(Setback::Parked(until))
}

/// Why no mail goes out now, for callers who may see the runs. `None` if mail goes out.
pub async fn mail_health(app: &App, caller: &UserCaller) -> Result<Option<MailLaneRecord>> {
    caller.must(Action::ReadGuests)?;
    app.store.mail_lane().await
}
