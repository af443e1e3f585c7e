//! Creates a guest list.

use admit_core::access::Action;
use admit_core::ids::{EventId, GuestListId, UserId};
use serde_json::json;

use super::promoter_scope::{must_be_a_member, one_of_a_name};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::events;
use crate::ports::{App, Scope, write};
use crate::records::GuestListRecord;

/// The guest list to create.
#[derive(Debug, Clone)]
pub struct NewGuestList {
    /// The list's name.
    pub name: String,
    /// The promoter who keeps the list. Absent if the organiser keeps it.
    pub promoter_id: Option<UserId>,
}

/// Creates a guest list. Fails with `guest_list_exists`.
pub async fn create(app: &App, caller: &UserCaller, event_id: EventId, new: NewGuestList) -> Result<GuestListRecord> {
    caller.must(Action::ManageEvents)?;
    let now = app.clock.now();
    let mut checks = Checks::default();
    let name = checks.name("name", &new.name);
    checks.finish()?;
    let guest_list_id =
        GuestListId::new(app.seeded_ids().row_id(now)).map_err(|error| Error::Bug(error.to_string()))?;
    let list = GuestListRecord {
        guest_list_id,
        event_id: event_id.clone(),
        name,
        promoter_id: new.promoter_id,
        created_at: now,
    };
    let by = caller.clone();
    write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        events::require(tx, &event_id)?;
        must_be_a_member(tx, list.promoter_id.as_ref())?;
        one_of_a_name(tx, &list)?;
        tx.stamp(&event_id)?;
        tx.insert_guest_list(&list)?;
        let said = json!({ "name": list.name, "promoter_id": list.promoter_id.as_ref().map(UserId::as_str) });
        let entity = ("GuestList", list.guest_list_id.as_str());
        tx.append_audit(line::of(&by, Some(&event_id), "guest_list_created", entity, said))?;
        Ok(list.clone())
    })
    .await
}
