//! A new entry type, last in the order.

use admit_core::access::Action;
use admit_core::ids::{EntryTypeId, EventId};
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::events;
use crate::ports::{App, Scope, write};
use crate::records::EntryTypeRecord;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct NewEntryType {
    /// Name.
    pub name: String,
    /// Zone its tickets get.
    pub zone: String,
}

/// Makes an entry type. Fails with `entry_type_exists`.
pub async fn create(app: &App, caller: &UserCaller, event_id: EventId, new: NewEntryType) -> Result<EntryTypeRecord> {
    caller.must(Action::ManageEvents)?;
    let now = app.clock.now();
    let mut checks = Checks::default();
    let name = checks.name("name", &new.name);
    let zone = checks.zone("zone", &new.zone);
    checks.finish()?;
    let entry_type_id = EntryTypeId::new(app.draw().row_id(now)).map_err(|error| Error::Bug(error.to_string()))?;
    let by = caller.clone();
    write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        events::require(tx, &event_id)?;
        tx.stamp(&event_id)?;
        let position = tx.entry_types(&event_id)?.last().map_or(0, |last| last.position + 1);
        let entry_type = EntryTypeRecord {
            entry_type_id: entry_type_id.clone(),
            event_id: event_id.clone(),
            name: name.clone(),
            zone: zone.clone(),
            position,
        };
        tx.insert_entry_type(&entry_type)?;
        let said = json!({ "name": name, "zone": zone });
        tx.append_audit(line::of(
            &by,
            Some(&event_id),
            "entry_type_created",
            ("EntryType", entry_type_id.as_str()),
            said,
        ))?;
        Ok(entry_type)
    })
    .await
}
