//! Copies everything that the server keeps of one guest, for guests who ask for their data.

use admit_core::access::Action;
use admit_core::ids::GuestId;
use admit_core::limits::PAGE_MAX;
use serde_json::json;

use super::show::{Shown, show};
use super::timeline::{Moment, timeline};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::Result;
use crate::passes;
use crate::ports::{App, RunFilter, Scope, read, write};
use crate::records::{Page, RunRecord};

/// Everything that the server keeps of a guest.
#[derive(Debug, Clone)]
pub struct GuestCopy {
    /// The guest and the ticket, with their state.
    pub shown: Shown,
    /// The guest's history, newest first.
    pub moments: Vec<Moment>,
    /// The runs that mailed the guest's pass, newest first.
    pub runs: Vec<RunRecord>,
}

/// Copies everything about a guest. The copy contains the ticket's code, so the ledger gets a line.
pub async fn copy(app: &App, caller: &UserCaller, guest_id: GuestId) -> Result<GuestCopy> {
    caller.must(Action::ManageGuests)?;
    let shown = show(app, caller, guest_id.clone()).await?;
    let moments = timeline(app, caller, guest_id.clone()).await?;
    let event_id = shown.listing.guest.event_id.clone();
    let filter =
        RunFilter { event_id: Some(event_id.clone()), subject: Some(guest_id.to_string()), ..RunFilter::default() };
    let runs =
        read(&*app.store, &caller.organization_id, move |tx| tx.runs(&filter, &Page { limit: PAGE_MAX, cursor: None }));
    let runs = runs.await?.items.into_iter().filter(|run| run.kind == passes::KIND).collect();
    let by = caller.clone();
    write(&*app.store, Scope::event(&caller.organization_id, &event_id.clone()), move |tx| {
        tx.stamp(&event_id)?;
        tx.append_audit(line::of(&by, Some(&event_id), "guest_data_copied", ("Guest", guest_id.as_str()), json!({})))
    })
    .await?;
    Ok(GuestCopy { shown, moments, runs })
}
