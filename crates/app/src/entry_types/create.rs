//! Creates an entry type, which is last in the order. An event's only gate keeps admitting every entry type.

use std::collections::BTreeSet;

use admit_core::access::Action;
use admit_core::ids::{EntryTypeId, EventId};
use admit_core::rule::{Change, Effective, GateChange};
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::events::{self, door};
use crate::gates;
use crate::ports::{App, Scope, Tx, write};
use crate::records::EntryTypeRecord;
use crate::rules::{all_subjects, announce, put};

/// The entry type to create.
#[derive(Debug, Clone)]
pub struct NewEntryType {
    /// The type's name.
    pub name: String,
    /// The zone that tickets of this type get.
    pub zone: String,
}

/// Creates an entry type. Fails with `entry_type_exists`. If the event has one gate, and that gate admits every entry
/// type so far, it admits the new one too. Otherwise a guest of the new type could never come in.
pub async fn create(app: &App, caller: &UserCaller, event_id: EventId, new: NewEntryType) -> Result<EntryTypeRecord> {
    caller.must(Action::ManageEvents)?;
    let now = app.clock.now();
    let seeded = app.seeded_ids();
    let mut checks = Checks::default();
    let name = checks.name("name", &new.name);
    let zone = checks.zone("zone", &new.zone);
    checks.finish()?;
    let entry_type_id =
        EntryTypeId::new(app.seeded_ids().row_id(now)).map_err(|error| Error::Bug(error.to_string()))?;
    let by = caller.clone();
    let id = event_id.clone();
    let (made, brought) = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let mut seeded = seeded.clone();
        events::require(tx, &id)?;
        let stamp = tx.stamp(&id)?;
        let types = tx.entry_types(&id)?;
        let position = types.last().map_or(0, |last| last.position + 1);
        let entry_type = EntryTypeRecord {
            entry_type_id: entry_type_id.clone(),
            event_id: id.clone(),
            name: name.clone(),
            zone: zone.clone(),
            position,
        };
        tx.insert_entry_type(&entry_type)?;
        let said = json!({ "name": name, "zone": zone });
        tx.append_audit(line::of(&by, Some(&id), "entry_type_created", ("EntryType", entry_type_id.as_str()), said))?;
        let opened = opened(tx, &id, &types, &zone)?;
        // The name of a zone has no effect on decisions.
        let subjects = if opened.is_some() { all_subjects(tx, &id)? } else { BTreeSet::new() };
        let names = door::zone_names(types.iter().chain([&entry_type]));
        let when = Effective::At(stamp.effective_at);
        let changes = opened.into_iter().chain([names]).map(|change| (when, change)).collect();
        let brought = put(tx, &id, stamp, changes, &subjects, now, &mut seeded)?;
        Ok((entry_type, brought))
    })
    .await?;
    announce(app, &caller.organization_id, &event_id, &brought);
    Ok(made)
}

/// The rule by which the event's only gate admits a new zone. `None` unless that gate admits the zones of all entry
/// types so far.
fn opened(tx: &mut dyn Tx, event_id: &EventId, types: &[EntryTypeRecord], zone: &String) -> Result<Option<Change>> {
    let all = gates::all(tx, event_id)?;
    let [only] = all.as_slice() else { return Ok(None) };
    let zones = &only.rules.zones;
    if zones.contains(zone) || types.iter().any(|one| !zones.contains(&one.zone)) {
        return Ok(None);
    }
    let zones = zones.iter().chain([zone]).cloned().collect();
    Ok(Some(Change::Gate(only.gate_id.clone(), GateChange::Zones(zones))))
}
