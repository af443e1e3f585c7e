//! Changes an entry type's name, and how often its persons may enter, if that differs from the event's rule (decision
//! 034).

use std::collections::{BTreeMap, BTreeSet};

use admit_core::access::Action;
use admit_core::event::{Limits, ReEntry, ZoneLimits};
use admit_core::ids::{EntryTypeId, EventId};
use admit_core::limits::PARTY;
use admit_core::rule::{Change, Effective, EventChange};
use serde_json::json;

use super::list::{EntryType, newest_limits};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::events::{self, days, door};
use crate::ports::{App, Scope, write};
use crate::records::EventRecord;
use crate::rules::{all_subjects, announce, put};

/// The fields to change. `None` leaves a field unchanged, and `Some(None)` removes a limit.
#[derive(Debug, Clone, Default)]
pub struct EntryTypePatch {
    /// The new name, which must be unique in the event.
    pub name: Option<String>,
    /// The new re-entry mode. With `Some(None)` the event's mode holds.
    pub re_entry: Option<Option<ReEntry>>,
    /// Whether a ticket's limit holds at each gate separately.
    pub per_gate: Option<bool>,
    /// Persons that a ticket lets in altogether.
    pub uses: Option<Option<u32>>,
}

/// Changes an entry type. Its limits belong to its zone. Entry types that share a zone share these limits, since a
/// ticket has a zone and no type. The limits hold from this write on. Fails with `entry_type_exists`. A patch that
/// changes nothing writes nothing.
pub async fn update(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    entry_type_id: EntryTypeId,
    patch: EntryTypePatch,
) -> Result<EntryType> {
    caller.must(Action::ManageEvents)?;
    let (now, seeded) = (app.clock.now(), app.seeded_ids());
    let mut checks = Checks::default();
    let name = patch.name.as_deref().map(|name| checks.name("name", name));
    checks.finish()?;
    let (by, id) = (caller.clone(), event_id.clone());
    let (changed, brought) = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let mut seeded = seeded.clone();
        let event = events::require(tx, &id)?;
        let mut types = tx.entry_types(&id)?;
        let found = types.iter_mut().find(|one| one.entry_type_id == entry_type_id);
        let found = found.ok_or_else(|| Error::not_found("entry type"))?;
        let new_name = name.clone().filter(|name| *name != found.name);
        if let Some(name) = &new_name {
            tx.rename_entry_type(&entry_type_id, name)?;
            found.name.clone_from(name);
        }
        let record = found.clone();
        let before = newest_limits(tx, &id)?;
        let own = before.zones().get(&record.zone).copied().unwrap_or_default();
        let limits = patched(own, &patch, event.re_entry)?;
        if limits == own && new_name.is_none() {
            return Ok((EntryType { record, limits }, None));
        }
        let mut changes = Vec::new();
        // The name of a zone has no effect on decisions.
        let mut subjects = BTreeSet::new();
        if new_name.is_some() {
            changes.push(door::zone_names(&types));
        }
        if limits != own {
            changes.extend(limit_changes(&event, &before, &record.zone, limits));
            subjects = all_subjects(tx, &id)?;
        }
        let stamp = tx.stamp(&id)?;
        let changes = changes.into_iter().map(|change| (Effective::At(stamp.effective_at), change)).collect();
        let brought = put(tx, &id, stamp, changes, &subjects, now, &mut seeded)?;
        let said = json!({
            "name": record.name, "zone": record.zone, "re_entry": limits.re_entry, "per_gate": limits.per_gate,
            "uses": limits.uses,
        });
        let entity = ("EntryType", record.entry_type_id.as_str());
        tx.append_audit(line::of(&by, Some(&id), "entry_type_updated", entity, said))?;
        Ok((EntryType { record, limits }, Some(brought)))
    })
    .await?;
    if let Some(brought) = brought {
        announce(app, &caller.organization_id, &event_id, &brought);
    }
    Ok(changed)
}

/// The rule changes that follow from a zone's new limits. When the first zone becomes `daily`, or the last `daily` zone
/// gets another mode, the event's days change too.
fn limit_changes(event: &EventRecord, before: &ZoneLimits, zone: &str, limits: Limits) -> Vec<Change> {
    let mut zones: BTreeMap<String, Limits> = before.zones().clone();
    zones.insert(zone.to_owned(), limits);
    let after = ZoneLimits::new(zones);
    let begin = days(event, &after);
    let mut changes = vec![Change::Event(EventChange::Limits(after))];
    if begin != days(event, before) {
        changes.push(Change::Event(EventChange::Days(begin)));
    }
    changes
}

/// The new limits. Fails if a number is out of bounds, or if two limits contradict each other.
fn patched(own: Limits, patch: &EntryTypePatch, of_event: ReEntry) -> Result<Limits> {
    let limits = Limits {
        re_entry: patch.re_entry.unwrap_or(own.re_entry),
        per_gate: patch.per_gate.unwrap_or(own.per_gate),
        uses: patch.uses.unwrap_or(own.uses),
    };
    let mut checks = Checks::default();
    if limits.uses.is_some_and(|uses| !(1..=PARTY).contains(&uses)) {
        checks.fail("uses", format!("must be 1 to {PARTY}, or null for no such limit"));
    }
    if limits.per_gate && limits.re_entry.unwrap_or(of_event) == ReEntry::AfterExit {
        checks.fail("per_gate", "must be false where people come back after an exit scan: who is inside is inside");
    }
    checks.finish()?;
    Ok(limits)
}
