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
use crate::records::{EventRecord, GuestRecord, NewAudit, RunRecord, TicketRecord};

/// Enqueues a guest's pass again. For a guest with neither e-mail nor phone, the pass is made and nothing is mailed. A
/// promoter may do this for guests of their own lists. If the guest's newest run has not ended, the server returns that
/// run, and tries it at once unless it was tried less than a minute ago. The run then mails the guest the present data.
/// Fails with `code_of_another` if the guest's code came from another system, with `ticket_not_active`, with
/// `event_over`, and with `rate_limited` if the pass was sent again less than a minute ago.
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
        let next = next_step(ticket.as_ref(), newest(tx, &guest)?, now);
        if next == NextStep::CodeOfAnother {
            return Err(passes::no_pass());
        }
        if next == NextStep::NotActive {
            let message = "the ticket is not good: its guest is sent nothing until it is made good again";
            return Err(Error::conflict("ticket_not_active", message));
        }
        must_not_be_over(&event)?;
        // 3. Retry the open run, or make a new one. Write one line.
        match next {
            NextStep::JustSent { retry_after_ms } => return Err(Error::Later { code: "rate_limited", retry_after_ms }),
            NextStep::UnderWay(run) => return Ok(run),
            _ => {}
        }
        tx.stamp(&event.event_id)?;
        if let NextStep::Retry(run) = next
            && let Some(again) = retry(tx, run, now)?
        {
            tx.append_audit(said(&by, &guest))?;
            return Ok(again);
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

/// The step that follows a request to send a guest's pass again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NextStep {
    /// The server sends nothing, since the guest's code came from another system, or the guest has no ticket.
    CodeOfAnother,
    /// The server sends nothing, since the guest's ticket is not active.
    NotActive,
    /// The server sends nothing, since the pass was sent again a moment ago. So a held button or a looping program
    /// fills no inbox.
    JustSent {
        /// Time until it may be sent again, in milliseconds.
        retry_after_ms: i64,
    },
    /// The server makes no other run: this one was made, tried or asked for a moment ago, and mails the pass.
    UnderWay(RunRecord),
    /// This open run is tried at once.
    Retry(RunRecord),
    /// A new run.
    New,
}

/// Decides what a request to send a pass again leads to. `ticket` is the guest's ticket, `newest` the newest run about
/// the guest. The age of a run counts from its last change by the server's clock, since a stamp of the event may lie
/// ahead of that clock.
pub(super) fn next_step(ticket: Option<&TicketRecord>, newest: Option<RunRecord>, now: Timestamp) -> NextStep {
    let Some(ticket) = ticket.filter(|ticket| ticket.drawn) else { return NextStep::CodeOfAnother };
    if ticket.rules.status != TicketStatus::Active {
        return NextStep::NotActive;
    }
    let Some(run) = newest else { return NextStep::New };
    let age_ms = now.since(run.updated_at);
    match run.state {
        RunState::Open if age_ms < RESEND_MS => NextStep::UnderWay(run),
        RunState::Open => NextStep::Retry(run),
        RunState::Done if passes::reason_of(&run) == DeliveryReason::Resend && age_ms.max(0) < RESEND_MS => {
            NextStep::JustSent { retry_after_ms: RESEND_MS - age_ms.max(0) }
        }
        RunState::Done | RunState::GaveUp => NextStep::New,
    }
}

/// Makes an open run due at once, and resets its number of tries. `None` if the run ended at this very moment.
pub(super) fn retry(tx: &mut dyn Tx, run: RunRecord, now: Timestamp) -> Result<Option<RunRecord>> {
    let again = RunRecord { tries: 0, next_at: Some(now), updated_at: now, ..run };
    if !tx.update_run(&again)? {
        return Ok(None);
    }
    tx.hurry_run(&again.run_id)?;
    Ok(Some(again))
}

/// Fails if the event is over.
pub(super) fn must_not_be_over(event: &EventRecord) -> Result<()> {
    if passes::is_over(event) {
        return Err(Error::conflict("event_over", "the event is over: passes are not sent any more"));
    }
    Ok(())
}
