//! Sends a guest's pass again.

use admit_core::access::{Action, can};
use admit_core::ids::GuestId;
use admit_core::job::RunState;
use admit_core::limits::RESEND_MS;
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;
use serde_json::json;

use super::update::{find, hidden};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::guest_lists;
use crate::passes::{self, DeliveryReason};
use crate::ports::{App, Scope, Tx, read, write};
use crate::records::{GuestRecord, NewAudit, RunRecord};

/// Enqueues a guest's pass again. For a guest with neither e-mail nor phone, the pass is made and nothing is mailed. A
/// promoter may do this for guests of their own lists. If the guest's newest run is under way or waits, that run is
/// returned and tried at once. It mails the guest with the data of that time. Fails with `code_of_another` if the
/// guest's code came from another system, with `ticket_not_active`, with `event_over`, and with `rate_limited` if it
/// was asked for a moment ago.
pub async fn resend(app: &App, caller: &UserCaller, guest_id: GuestId) -> Result<RunRecord> {
    if !can(caller.role, Action::ManageGuests) {
        caller.must(Action::ManageOwnGuests)?;
    }
    let (now, seeded) = (app.clock.now(), app.seeded_ids());
    // 1. Find the guest's event, since its head must be known before the write begins.
    let id = guest_id.clone();
    let event_id = read(&*app.store, &caller.organization_id, move |tx| find(tx, &id)).await?.event_id;
    let by = caller.clone();
    let run = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let mut seeded = seeded.clone();
        // 2. Check whether the pass may be sent.
        let guest = find(tx, &guest_id)?;
        guest_lists::must_fill(tx, &by, &guest.event_id, guest.guest_list_id.as_ref(), "guest_list_id")
            .map_err(hidden)?;
        let event = events::require(tx, &guest.event_id)?;
        let ticket = match &guest.ticket_id {
            Some(ticket_id) => tx.ticket(ticket_id)?,
            None => None,
        };
        let ticket = ticket.filter(|ticket| ticket.drawn).ok_or_else(passes::no_pass)?;
        if ticket.rules.status != TicketStatus::Active {
            let message = "the ticket is not good: its guest is sent nothing until it is made good again";
            return Err(Error::conflict("ticket_not_active", message));
        }
        if passes::is_over(&event) {
            return Err(Error::conflict("event_over", "the event is over: passes are not sent any more"));
        }
        // 3. Retry the open run, or make a new one. Write one line.
        let newest_run = newest(tx, &guest)?;
        newest_run.iter().try_for_each(|run| not_too_often(run, now))?;
        let open = newest_run.filter(|run| run.state == RunState::Open);
        if let Some(run) = open.as_ref().filter(|run| now.since(run.updated_at) < RESEND_MS) {
            // The run was made, tried or asked for a moment ago, so nothing changes.
            return Ok(run.clone());
        }
        tx.stamp(&event.event_id)?;
        if let Some(run) = open {
            let again = RunRecord { tries: 0, next_at: Some(now), updated_at: now, ..run };
            if tx.update_run(&again)? {
                tx.hurry_run(&again.run_id)?;
                tx.append_audit(said(&by, &guest))?;
                return Ok(again);
            }
        }
        passes::enqueue(tx, &event, &[(guest.guest_id.to_string(), DeliveryReason::Resend)], now, &mut seeded)?;
        tx.append_audit(said(&by, &guest))?;
        newest(tx, &guest)?.ok_or_else(|| Error::Bug("a run was made and is not there".into()))
    })
    .await?;
    app.job_wakeup.wake();
    Ok(run)
}

/// The ledger's line about a pass that a member sends again.
fn said(by: &UserCaller, guest: &GuestRecord) -> NewAudit {
    let said = json!({ "has_email": guest.email.is_some() });
    line::of(by, Some(&guest.event_id), "pass_resent", ("Guest", guest.guest_id.as_str()), said)
}

/// The newest run about the guest. `None` if there is none.
fn newest(tx: &mut dyn Tx, guest: &GuestRecord) -> Result<Option<RunRecord>> {
    let subject = [guest.guest_id.to_string()];
    Ok(tx.newest_runs(&guest.event_id, passes::KIND, &subject)?.into_iter().next())
}

/// Fails if a pass was sent again a moment ago, so that a held button or a looping program fills no inbox. The time
/// counts from the end of that run by the server's clock, since a stamp of the event may lie ahead of that clock.
fn not_too_often(newest: &RunRecord, now: Timestamp) -> Result<()> {
    let age_ms = now.since(newest.updated_at).max(0);
    if newest.state == RunState::Done && passes::reason_of(newest) == DeliveryReason::Resend && age_ms < RESEND_MS {
        return Err(Error::Later { code: "rate_limited", retry_after_ms: RESEND_MS - age_ms });
    }
    Ok(())
}
