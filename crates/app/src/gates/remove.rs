//! Removes a gate that nothing uses.

use admit_core::access::Action;
use admit_core::ids::{EventId, GateId};
use admit_core::rule::{Change, Effective, GateChange};
use serde_json::json;

use super::find;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::ports::{App, Scope, Tx, write};
use crate::records::{DeviceRecord, DeviceState};
use crate::rules::{announce, put};

/// Removes a gate. Its rules stay, since they are facts. One more rule says that the gate admits no zone from now on.
/// So a device that still has a pairing code for the gate lets nobody in. Fails with `gate_in_use` while devices are
/// paired to it, tickets are limited to it, or people were scanned at it. The message says which.
pub async fn remove(app: &App, caller: &UserCaller, event_id: EventId, gate_id: GateId) -> Result<()> {
    caller.must(Action::ManageEvents)?;
    let now = app.clock.now();
    let seeded = app.seeded_ids();
    let by = caller.clone();
    let id = event_id.clone();
    let brought = write(&*app.store, Scope::event(&caller.organization_id, &event_id), move |tx| {
        let mut seeded = seeded.clone();
        // 1. Find what uses the gate.
        events::require(tx, &id)?;
        let gate = find::require(tx, &id, &gate_id)?;
        if let Some(why) = used_by(tx, &id, &gate_id)? {
            let message = format!("the gate {} is in use: {why}", gate.rules.name);
            return Err(Error::conflict("gate_in_use", message));
        }
        // 2. Remove the gate, store the rule, and write the line.
        let stamp = tx.stamp(&id)?;
        tx.delete_gate(&id, &gate_id)?;
        let change = Change::Gate(gate_id.clone(), GateChange::Zones(Vec::new()));
        let changes = vec![(Effective::At(stamp.effective_at), change)];
        let brought = put(tx, &id, stamp, changes, &Default::default(), now, &mut seeded)?;
        let said = json!({ "name": gate.rules.name });
        tx.append_audit(line::of(&by, Some(&id), "gate_removed", ("Gate", gate_id.as_str()), said))?;
        Ok(brought)
    })
    .await?;
    announce(app, &caller.organization_id, &event_id, &brought);
    Ok(())
}

/// Names the devices, tickets and scans that stop the gate's removal, in words that say what to do. `None` if nothing
/// uses the gate.
fn used_by(tx: &mut dyn Tx, event_id: &EventId, gate_id: &GateId) -> Result<Option<String>> {
    let at_it =
        |one: &&DeviceRecord| one.event_id == *event_id && one.gate_id == *gate_id && one.state != DeviceState::Revoked;
    let devices = tx.devices(event_id)?.iter().filter(at_it).count();
    let tickets = tx.count_tickets_of_gate(event_id, gate_id)?;
    let scanned = tx.gate_has_flow(event_id, gate_id)?;
    let mut uses = Vec::new();
    if devices > 0 {
        let (word, them) = if devices == 1 { ("device scans", "it") } else { ("devices scan", "them") };
        uses.push(format!("{devices} paired {word} at it (move or revoke {them})"));
    }
    if tickets > 0 {
        let word = if tickets == 1 { "ticket is" } else { "tickets are" };
        uses.push(format!("{tickets} {word} limited to it (give other gates)"));
    }
    if scanned {
        uses.push("people were scanned at it (its figures would be lost)".to_owned());
    }
    Ok((!uses.is_empty()).then(|| uses.join("; ")))
}
