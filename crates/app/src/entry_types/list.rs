//! Lists the entry types of an event.

use admit_core::access::Action;
use admit_core::event::{Limits, ZoneLimits};
use admit_core::ids::EventId;
use admit_core::rule::When;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::events;
use crate::ports::{App, Tx, read};
use crate::records::EntryTypeRecord;

/// An entry type with the limits of its zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryType {
    /// The entry type.
    pub record: EntryTypeRecord,
    /// How often persons of this type may enter, as far as it differs from the event's rule.
    pub limits: Limits,
}

/// All entry types, in their order.
pub async fn list(app: &App, caller: &UserCaller, event_id: EventId) -> Result<Vec<EntryType>> {
    caller.must(Action::ReadEvents)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        let limits = newest_limits(tx, &event_id)?;
        let of_zone = |record: EntryTypeRecord| EntryType {
            limits: limits.zones().get(&record.zone).copied().unwrap_or_default(),
            record,
        };
        Ok(tx.entry_types(&event_id)?.into_iter().map(of_zone).collect())
    })
    .await
}

/// The limits of an event's zones, as they hold now.
pub(super) fn newest_limits(tx: &mut dyn Tx, event_id: &EventId) -> Result<ZoneLimits> {
    let event = tx.load_rules(event_id, &[])?.book.event(When::Newest);
    Ok(event.map(|event| event.limits).unwrap_or_default())
}
