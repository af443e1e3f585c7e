//! Ids of new tickets and guests.

use admit_core::ids::{GuestId, TicketId};
use admit_core::time::Timestamp;

use crate::draw::Draw;
use crate::error::{Error, Result};

/// A new ticket's id.
pub(crate) fn ticket_id(draw: &mut Draw, now: Timestamp) -> Result<TicketId> {
    TicketId::new(draw.row_id(now)).map_err(|error| Error::Bug(error.to_string()))
}

/// A new guest's id.
pub(crate) fn guest_id(draw: &mut Draw, now: Timestamp) -> Result<GuestId> {
    GuestId::new(draw.row_id(now)).map_err(|error| Error::Bug(error.to_string()))
}
