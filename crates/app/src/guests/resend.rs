//! Sending a guest's pass again.

use admit_core::access::{Action, can};
use admit_core::ids::GuestId;
use admit_core::pass::is_token;
use serde_json::json;

use super::update::{find, hidden};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::guest_lists;
use crate::passes::{self, Why};
use crate::ports::{App, Scope, read, write};
use crate::records::*;

/// Puts a guest's pass on its way again; for one that has neither e-mail nor phone the pass is made and nothing mailed. A
/// promoter does so for guests of their own lists. Fails with `code_of_another` where the guest's code was not made here,
/// and with `event_over`.
pub async fn resend(app: &App, caller: &UserCaller, guest_id: GuestId) -> Result<RunRecord> {
    if !can(caller.role, Action::ManageGuests) {
        caller.must(Action::ManageOwnGuests)?;
    }
    let (now, draw) = (app.clock.now(), app.draw());
    // 1. The guest's event: its head must be known before the write begins.
    let id = guest_id.clone();
    let event_id = read(&*app.store, &caller.organization_id, move |tx| find(tx, &id)).await?.event_id;
    let by = caller.clone();
    let run = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let mut draw = draw.clone();
        // 2. May it be?
        let guest = find(tx, &guest_id)?;
        guest_lists::must_fill(tx, &by, &guest.event_id, guest.guest_list_id.as_ref(), "guest_list_id")
            .map_err(hidden)?;
        let event = events::require(tx, &guest.event_id)?;
        let ticket = match &guest.ticket_id {
            Some(ticket_id) => tx.ticket(ticket_id)?,
            None => None,
        };
        if !ticket.and_then(|ticket| ticket.barcode).is_some_and(|code| is_token(&code)) {
            return Err(passes::no_pass());
        }
        // 3. The run, one line.
        tx.stamp(&event.event_id)?;
        if !passes::enqueue(tx, &event, &[(guest.guest_id.to_string(), Why::Resend)], now, &mut draw)? {
            return Err(Error::conflict("event_over", "the event is over: passes are not sent any more"));
        }
        let said = json!({ "has_email": guest.email.is_some() });
        let entity = ("Guest", guest_id.as_str());
        tx.append_audit(line::of(&by, Some(&event.event_id), "pass_resent", entity, said))?;
        newest(tx, &guest)
    })
    .await?;
    app.bell.ring();
    Ok(run)
}

/// The run that was just made.
fn newest(tx: &mut dyn crate::ports::Tx, guest: &GuestRecord) -> Result<RunRecord> {
    let filter = crate::ports::RunFilter { subject: Some(guest.guest_id.to_string()), ..Default::default() };
    let runs = tx.runs(&filter, &Page { limit: 1, cursor: None })?;
    runs.items.into_iter().next().ok_or_else(|| Error::Bug("a run was made and is not there".into()))
}
