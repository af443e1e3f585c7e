//! Lists events.

use std::collections::BTreeMap;

use admit_core::access::Action;
use admit_core::ids::EventId;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::ports::{App, read};
use crate::records::{EventFigures, EventRecord, Listed, Page};

/// An event with its figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEvent {
    /// The event.
    pub event: EventRecord,
    /// The event's figures.
    pub figures: EventFigures,
}

/// A page of events with their figures, newest first.
pub async fn list(app: &App, caller: &UserCaller, page: Page) -> Result<Listed<ListedEvent>> {
    caller.must(Action::ReadEvents)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        let listed = tx.events(&page)?;
        let ids: Vec<EventId> = listed.items.iter().map(|event| event.event_id.clone()).collect();
        let figures = tx.event_figures(&ids)?.into_iter().map(|one| (one.event_id.clone(), one));
        let mut figures: BTreeMap<EventId, EventFigures> = figures.collect();
        let items = listed.items.into_iter().filter_map(|event| {
            let figures = figures.remove(&event.event_id)?;
            Some(ListedEvent { event, figures })
        });
        Ok(Listed { items: items.collect(), next_cursor: listed.next_cursor })
    })
    .await
}
