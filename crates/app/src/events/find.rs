//! Finds an event.

use admit_core::ids::EventId;

use crate::error::{Error, Result};
use crate::ports::Tx;
use crate::records::EventRecord;

/// One event. Fails with `NotFound` if there is none.
pub fn require(tx: &mut dyn Tx, event_id: &EventId) -> Result<EventRecord> {
    tx.event(event_id)?.ok_or_else(|| Error::not_found("event"))
}
