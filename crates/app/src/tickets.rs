//! Tickets, and the guests that hold them.

pub mod create;
pub mod export;
pub mod import;
pub mod list;
mod put;
pub mod update;

pub use create::{NewGuest, NewTicket, create};
pub use export::export;
pub use import::{ImportReport, import};
pub use list::{Listing, list, show};
pub use update::{TicketPatch, update};

pub(crate) use put::{Fresh, put_new};
pub(crate) use update::{apply, must_hold};

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
