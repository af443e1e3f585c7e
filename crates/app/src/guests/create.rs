//! A new guest, and with them a ticket.

use admit_core::ids::{EntryTypeId, EventId};

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::App;
use crate::records::*;
use crate::tickets::{self, NewGuest, NewTicket};

/// Makes a guest with a ticket of their own for the whole party. Without entry type: the event's first.
pub async fn create(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    new: NewGuest,
    entry_type_id: Option<EntryTypeId>,
) -> Result<(GuestRecord, TicketRecord)> {
    let ticket = NewTicket { guest: Some(new), entry_type_id, ..NewTicket::default() };
    let made = tickets::create(app, caller, event_id, vec![ticket], false).await;
    let made = made.map_err(without_prefix)?;
    match made.into_iter().next() {
        Some((ticket, Some(guest))) => Ok((guest, ticket)),
        _ => Err(Error::Bug("a guest was to be made and was not".into())),
    }
}

/// The request is the guest: `guest.name` is `name` to its sender.
fn without_prefix(error: Error) -> Error {
    let Error::Invalid { code, mut errors } = error else { return error };
    for error in &mut errors {
        if let Some(own) = error.path.strip_prefix("guest.") {
            error.path = own.to_owned();
        } else if error.path == "entry_limit" {
            "party_size".clone_into(&mut error.path);
        }
    }
    errors.dedup();
    Error::Invalid { code, errors }
}
