//! Creates a guest with a ticket.

use admit_core::ids::{EntryTypeId, EventId};

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::App;
use crate::records::{GuestRecord, TicketRecord};
use crate::tickets::{self, NewGuest, NewTicket, below};

/// Creates a guest with one ticket for the whole party. Without an entry type the guest gets the event's first.
/// `order_id` is the number of the order, at most 64 characters.
pub async fn create(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    new: NewGuest,
    entry_type_id: Option<EntryTypeId>,
    order_id: Option<String>,
) -> Result<(GuestRecord, TicketRecord)> {
    let ticket = NewTicket { guest: Some(new), entry_type_id, order_id, ..NewTicket::default() };
    match tickets::create_one(app, caller, event_id, ticket).await.map_err(own_fields)? {
        (ticket, Some(guest)) => Ok((guest, ticket)),
        _ => Err(Error::Bug("a guest was to be made and was not".into())),
    }
}

/// Converts an error about a new ticket to one about a new guest: `guest.name` becomes `name`, and `entry_limit`
/// becomes `party_size`.
fn own_fields(error: Error) -> Error {
    let (code, mut errors) = match below(error, "guest") {
        Error::Invalid { code, errors } => (code, errors),
        other => return other,
    };
    for error in errors.iter_mut().filter(|error| error.path == "entry_limit") {
        "party_size".clone_into(&mut error.path);
    }
    errors.dedup();
    Error::Invalid { code, errors }
}
