//! Changes a guest list: its name and its promoter.

use std::collections::BTreeMap;

use admit_core::access::Action;
use admit_core::ids::{EventId, GuestListId, UserId};
use admit_core::limits::PAGE_MAX;
use admit_core::normalize::for_identity;
use serde_json::{Map, Value, json};

use super::promoter_scope::{must_be_a_member, one_of_a_name};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::events;
use crate::ports::{App, Scope, Tx, write};
use crate::records::GuestListRecord;

/// The fields to change. `None` leaves a field unchanged.
#[derive(Debug, Clone, Default)]
pub struct GuestListPatch {
    /// The new name; absent: unchanged.
    pub name: Option<String>,
    /// The promoter who keeps the list; absent: unchanged. With `Some(None)` the organiser keeps it.
    pub promoter_id: Option<Option<UserId>>,
}

/// Changes a guest list. From then on the new promoter sees the list and may put guests on it, and the former promoter
/// may not. A patch that changes nothing writes nothing. Fails with `guest_list_exists`.
pub async fn update(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    guest_list_id: GuestListId,
    patch: GuestListPatch,
) -> Result<GuestListRecord> {
    caller.must(Action::ManageEvents)?;
    // 1. Check.
    let mut checks = Checks::default();
    let name = patch.name.map(|name| checks.name("name", &name));
    checks.finish()?;
    let by = caller.clone();
    let promoter_id = patch.promoter_id;
    write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        // 2. Compute what changes.
        events::require(tx, &event_id)?;
        let lists = tx.guest_lists(&event_id)?;
        let before = lists.into_iter().find(|list| list.guest_list_id == guest_list_id);
        let before = before.ok_or_else(|| Error::not_found("guest_list"))?;
        let after = GuestListRecord {
            name: name.clone().unwrap_or_else(|| before.name.clone()),
            promoter_id: promoter_id.clone().unwrap_or_else(|| before.promoter_id.clone()),
            ..before.clone()
        };
        if after == before {
            return Ok(after);
        }
        if after.name != before.name {
            one_of_a_name(tx, &after)?;
        }
        if after.promoter_id != before.promoter_id {
            must_be_a_member(tx, after.promoter_id.as_ref())?;
        }
        // 3. Store the list and one line.
        tx.stamp(&event_id)?;
        tx.update_guest_list(&after)?;
        let mut said = Map::new();
        if after.name != before.name {
            said.insert("name".to_owned(), json!({ "from": before.name, "to": after.name }));
        }
        if after.promoter_id != before.promoter_id {
            let id = |list: &GuestListRecord| json!(list.promoter_id.as_ref().map(UserId::as_str));
            said.insert("promoter_id".to_owned(), json!({ "from": id(&before), "to": id(&after) }));
        }
        let entity = (ENTITY, guest_list_id.as_str());
        tx.append_audit(line::of(&by, Some(&event_id), UPDATED, entity, said.into()))?;
        Ok(after)
    })
    .await
}

/// The entity type and the action of the ledger lines about a changed guest list. These lines give the list's former
/// names.
const ENTITY: &str = "GuestList";
const UPDATED: &str = "guest_list_updated";

/// The lists by their former names, normalised by `for_identity`. If several lists had a name, the result is the list
/// that gave it up last.
pub(crate) fn former_names(
    tx: &mut dyn Tx,
    event_id: &EventId,
    lists: &[GuestListRecord],
) -> Result<BTreeMap<String, GuestListId>> {
    let mut given_up: BTreeMap<String, (u64, GuestListId)> = BTreeMap::new();
    for list in lists {
        for line in tx.audit_of(event_id, (ENTITY, list.guest_list_id.as_str()), PAGE_MAX)? {
            let changes: Value = serde_json::from_str(&line.line.changes).unwrap_or_default();
            let Some(name) = changes["name"]["from"].as_str().filter(|_| line.line.action == UPDATED) else { continue };
            let last = given_up.entry(for_identity(name)).or_insert_with(|| (line.n, list.guest_list_id.clone()));
            if last.0 < line.n {
                *last = (line.n, list.guest_list_id.clone());
            }
        }
    }
    Ok(given_up.into_iter().map(|(name, (_, id))| (name, id)).collect())
}
