//! Creates a gate. Its first values also hold for the time before.

use admit_core::access::Action;
use admit_core::gate::{Direction, EntryRule, GateRules};
use admit_core::ids::{EventId, GateId};
use admit_core::rule::{Change, Effective, GateChange};
use serde_json::json;

use super::find::{Gate, one_of_a_name};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::Result;
use crate::events;
use crate::ports::{App, Scope, write};
use crate::rules::{all_subjects, announce, put};

/// The gate to create.
#[derive(Debug, Clone)]
pub struct NewGate {
    /// The gate's id, a slug.
    pub gate_id: GateId,
    /// The gate's name. Absent means the slug.
    pub name: Option<String>,
    /// Zones that the gate admits. Absent means the zones of the event's entry types.
    pub zones: Option<Vec<String>>,
    /// The direction in which people go. Absent means `in`.
    pub direction: Option<Direction>,
    /// Most persons in the gate's area. Absent means no limit.
    pub capacity: Option<u32>,
    /// Whether devices at the gate may carry guest names. Absent means yes, so that a first scan shows a name.
    pub names_on_devices: Option<bool>,
    /// Whether staff may add guests at the gate. Absent means no.
    pub walk_ins: Option<bool>,
    /// The checks that the gate makes. Absent means both that exist: the ticket is valid, and the scan is no duplicate.
    /// They cannot be changed later.
    pub entry_rules: Option<Vec<EntryRule>>,
}

/// Creates a gate. Fails with `gate_exists`, and with a field error of `name` if another gate has the name. Scans that
/// named the gate before it existed are judged again, since its first values also hold for the time before.
pub async fn create(app: &App, caller: &UserCaller, event_id: EventId, new: NewGate) -> Result<Gate> {
    caller.must(Action::ManageEvents)?;
    let now = app.clock.now();
    let seeded = app.seeded_ids();
    // 1. Check.
    let mut checks = Checks::default();
    checks.gate_slug("id", &new.gate_id);
    let name = checks.name("name", new.name.as_deref().unwrap_or(new.gate_id.as_str()));
    let zones = new.zones.as_ref().map(|zones| checks.zones("zones", zones));
    let capacity = checks.capacity("capacity", new.capacity);
    checks.finish()?;
    let mut entry_rules = new.entry_rules.clone().unwrap_or_else(|| EntryRule::ALL.to_vec());
    entry_rules.sort();
    entry_rules.dedup();
    let by = caller.clone();
    let id = event_id.clone();
    let (gate, brought) = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let mut seeded = seeded.clone();
        events::require(tx, &id)?;
        if !tx.gate_ids(&id)?.contains(&new.gate_id) {
            // If the gate's id is taken, the insert below fails with that error.
            one_of_a_name(tx, &id, &new.gate_id, &name)?;
        }
        let rules = GateRules {
            name: name.clone(),
            zones: match &zones {
                Some(zones) => zones.clone(),
                None => zones_of_types(tx, &id)?,
            },
            direction: new.direction.unwrap_or(Direction::In),
            capacity,
            names_on_devices: new.names_on_devices.unwrap_or(true),
            walk_ins: new.walk_ins.unwrap_or(false),
            entry_rules: entry_rules.clone(),
        };
        // 2. Store the gate and its rule, judge again the scans that may name it, and write the line.
        let stamp = tx.stamp(&id)?;
        tx.insert_gate(&id, &new.gate_id, now)?;
        let change = Change::Gate(new.gate_id.clone(), GateChange::First(rules.clone()));
        let subjects = all_subjects(tx, &id)?;
        let brought = put(tx, &id, stamp, vec![(Effective::Start, change)], &subjects, now, &mut seeded)?;
        let said = json!({ "name": rules.name, "zones": rules.zones, "direction": rules.direction.as_str() });
        tx.append_audit(line::of(&by, Some(&id), "gate_created", ("Gate", new.gate_id.as_str()), said))?;
        Ok((Gate { gate_id: new.gate_id.clone(), rules }, brought))
    })
    .await?;
    announce(app, &caller.organization_id, &event_id, &brought);
    Ok(gate)
}

fn zones_of_types(tx: &mut dyn crate::ports::Tx, event_id: &EventId) -> Result<Vec<String>> {
    let mut zones: Vec<String> = Vec::new();
    for entry_type in tx.entry_types(event_id)? {
        if !zones.contains(&entry_type.zone) {
            zones.push(entry_type.zone);
        }
    }
    Ok(zones)
}
