//! Changes a gate. For each changed field the server stores a rule that holds from this write on.

use std::collections::BTreeSet;

use admit_core::access::Action;
use admit_core::gate::{Direction, GateRules};
use admit_core::ids::{EventId, GateId};
use admit_core::rule::{Change, Effective, GateChange};
use serde_json::{Map, Value, json};

use super::find::{self, Gate};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::Result;
use crate::events;
use crate::ports::{App, Scope, write};
use crate::rules::{all_subjects, announce, put};

/// The fields to change. `None` leaves a field unchanged.
#[derive(Debug, Clone, Default)]
pub struct GatePatch {
    /// The new name; absent: unchanged.
    pub name: Option<String>,
    /// Zones that the gate admits; absent: unchanged.
    pub zones: Option<Vec<String>>,
    /// The new direction; absent: unchanged.
    pub direction: Option<Direction>,
    /// Most persons in the gate's area; absent: unchanged. `Some(None)` means no limit.
    pub capacity: Option<Option<u32>>,
    /// Whether devices at the gate may carry guest names; absent: unchanged.
    pub names_on_devices: Option<bool>,
    /// Whether staff may add guests at the gate; absent: unchanged.
    pub walk_ins: Option<bool>,
}

/// Changes a gate. A patch that changes nothing writes nothing. Fails with a field error of `name` if another gate has
/// the name.
pub async fn update(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    gate_id: GateId,
    patch: GatePatch,
) -> Result<Gate> {
    caller.must(Action::ManageEvents)?;
    let now = app.clock.now();
    let seeded = app.seeded_ids();
    // 1. Check.
    let mut checks = Checks::default();
    let patch = GatePatch {
        name: patch.name.map(|text| checks.name("name", &text)),
        zones: patch.zones.map(|zones| checks.zones("zones", &zones)),
        capacity: patch.capacity.map(|capacity| checks.capacity("capacity", capacity)),
        ..patch
    };
    checks.finish()?;
    let by = caller.clone();
    let id = event_id.clone();
    let (gate, brought) = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let mut seeded = seeded.clone();
        // 2. Compute what changed.
        events::require(tx, &id)?;
        let before = find::require(tx, &id, &gate_id)?;
        let after = applied(&before.rules, &patch);
        if after.name != before.rules.name {
            find::one_of_a_name(tx, &id, &gate_id, &after.name)?;
        }
        let (changes, said) = differences(&before.rules, &after);
        if changes.is_empty() {
            return Ok((before, None));
        }
        // 3. Store the rules, and judge the scans they touch. Only zones and direction have an effect on decisions.
        let stamp = tx.stamp(&id)?;
        let decides = after.zones != before.rules.zones || after.direction != before.rules.direction;
        let subjects = if decides { all_subjects(tx, &id)? } else { BTreeSet::new() };
        let when = Effective::At(stamp.effective_at);
        let changes = changes.into_iter().map(|change| (when, Change::Gate(gate_id.clone(), change))).collect();
        let brought = put(tx, &id, stamp, changes, &subjects, now, &mut seeded)?;
        tx.append_audit(line::of(&by, Some(&id), "gate_updated", ("Gate", gate_id.as_str()), Value::Object(said)))?;
        Ok((Gate { gate_id: gate_id.clone(), rules: after }, Some(brought)))
    })
    .await?;
    if let Some(brought) = brought {
        announce(app, &caller.organization_id, &event_id, &brought);
    }
    Ok(gate)
}

fn applied(before: &GateRules, patch: &GatePatch) -> GateRules {
    GateRules {
        name: patch.name.clone().unwrap_or_else(|| before.name.clone()),
        zones: patch.zones.clone().unwrap_or_else(|| before.zones.clone()),
        direction: patch.direction.unwrap_or(before.direction),
        capacity: patch.capacity.unwrap_or(before.capacity),
        names_on_devices: patch.names_on_devices.unwrap_or(before.names_on_devices),
        walk_ins: patch.walk_ins.unwrap_or(before.walk_ins),
        entry_rules: before.entry_rules.clone(),
    }
}

fn differences(before: &GateRules, after: &GateRules) -> (Vec<GateChange>, Map<String, Value>) {
    let mut changes = Vec::new();
    let mut said = Map::new();
    let mut say = |field: &str, from: Value, to: Value, change: GateChange| {
        if from != to {
            said.insert(field.to_owned(), json!({ "from": from, "to": to }));
            changes.push(change);
        }
    };
    say("name", json!(before.name), json!(after.name), GateChange::Name(after.name.clone()));
    say("zones", json!(before.zones), json!(after.zones), GateChange::Zones(after.zones.clone()));
    let words = (before.direction.as_str(), after.direction.as_str());
    say("direction", json!(words.0), json!(words.1), GateChange::Direction(after.direction));
    say("capacity", json!(before.capacity), json!(after.capacity), GateChange::Capacity(after.capacity));
    let names = (before.names_on_devices, after.names_on_devices);
    say("names_on_devices", json!(names.0), json!(names.1), GateChange::NamesOnDevices(names.1));
    let walk_ins = (before.walk_ins, after.walk_ins);
    say("walk_ins", json!(walk_ins.0), json!(walk_ins.1), GateChange::WalkIns(walk_ins.1));
    (changes, said)
}
