//! Shows a ticket's code. A person who has the code can be let in, so the ledger names who looked.

use admit_core::access::{Action, can};
use admit_core::ids::TicketId;
use serde_json::json;

use super::show::{opened_by, seen};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Scope, Tx, read, write};
use crate::records::TicketRecord;

/// The code and the pass of a ticket.
#[derive(Debug, Clone)]
pub struct ShownCode {
    /// The ticket, with its code.
    pub ticket: TicketRecord,
    /// The token of the ticket's pass. Absent if it has no page.
    pub pass: Option<String>,
}

/// The code of a ticket and the token of its pass. A promoter sees them only for guests of their own lists. The call
/// adds a line to the ledger before it returns the code.
pub async fn show_code(app: &App, caller: &UserCaller, ticket_id: TicketId) -> Result<ShownCode> {
    caller.must_any(&[Action::ManageGuests, Action::ManageOwnGuests])?;
    let by = caller.clone();
    let ticket = read(&*app.store, &caller.organization_id, move |tx| foreign(tx, &by, &ticket_id)).await?;
    let by = caller.clone();
    let (event_id, id) = (ticket.event_id.clone(), ticket.ticket_id.clone());
    write(&*app.store, Scope::event(&caller.organization_id, &ticket.event_id), move |tx| {
        tx.stamp(&event_id)?;
        tx.append_audit(line::of(&by, Some(&event_id), "ticket_code_shown", ("Ticket", id.as_str()), json!({})))
    })
    .await?;
    let pass = opened_by(app, &ticket).await?;
    Ok(ShownCode { ticket, pass })
}

/// The ticket, if the caller may see its code. To a promoter, a ticket of a guest on somebody else's list does not
/// exist.
fn foreign(tx: &mut dyn Tx, caller: &UserCaller, ticket_id: &TicketId) -> Result<TicketRecord> {
    let unknown = || Error::not_found("ticket");
    let ticket = tx.ticket(ticket_id)?.ok_or_else(unknown)?;
    if !can(caller.role, Action::ManageGuests) {
        let guest_id = ticket.guest_id.as_ref().ok_or_else(unknown)?;
        seen(tx, caller, guest_id).map_err(|_| unknown())?;
    }
    Ok(ticket)
}
