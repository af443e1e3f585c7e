//! Draws the ids of new tickets and guests.

use admit_core::ids::{GuestId, TicketId};
use admit_core::time::Timestamp;

use crate::error::{Error, Result};
use crate::seeded_ids::SeededIds;

/// A new ticket's id.
pub(crate) fn ticket_id(seeded: &mut SeededIds, now: Timestamp) -> Result<TicketId> {
    TicketId::new(seeded.row_id(now)).map_err(|error| Error::Bug(error.to_string()))
}

/// A new guest's id.
pub(crate) fn guest_id(seeded: &mut SeededIds, now: Timestamp) -> Result<GuestId> {
    GuestId::new(seeded.row_id(now)).map_err(|error| Error::Bug(error.to_string()))
}
