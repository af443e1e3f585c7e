//! Events: what is scanned for.

pub mod create;
pub mod list;
pub mod show;
pub mod update;

pub use create::{NewEvent, create};
pub use list::list;
pub use show::show;
pub use update::{EventPatch, update};

use admit_core::event::StaffPin;
use admit_core::ids::EventId;
use admit_core::limits::PIN_ITERATIONS;
use admit_core::sign::pin_hash;

use crate::draw::Draw;
use crate::error::{Error, Result};
use crate::ports::Tx;
use crate::records::EventRecord;

/// One event, or `NotFound`.
pub fn require(tx: &mut dyn Tx, event_id: &EventId) -> Result<EventRecord> {
    tx.event(event_id)?.ok_or_else(|| Error::not_found("event"))
}

/// A PIN as devices carry it (spec D18). Takes some milliseconds of a core.
fn staff_pin(digits: &str, draw: &mut Draw) -> StaffPin {
    let mut salt = [0; 16];
    salt.copy_from_slice(&draw.bytes()[..16]);
    StaffPin { salt, hash: pin_hash(digits, &salt, PIN_ITERATIONS), iterations: PIN_ITERATIONS }
}
