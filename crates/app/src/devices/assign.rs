//! Stores a device's assignment as a rule, since S1's scans name no event (spec §3 "Rules are facts too").

use admit_core::ids::{DeviceId, EventId, GateId};
use admit_core::rule::{Change, DeviceChange, Effective, Rule};

use crate::error::Result;
use crate::ports::Tx;

/// Assigns a device to an event and gate from this write on. A device's first assignment also holds for the time before
/// it. An unchanged assignment makes no rule.
pub(super) fn assign(tx: &mut dyn Tx, device_id: &DeviceId, event_id: &EventId, gate_id: &GateId) -> Result<()> {
    let stamp = tx.stamp(event_id)?;
    // Assignments of all events count. The very first also holds for the time before it. Later ones hold from now on,
    // also in another event.
    let known = tx.assignments(device_id)?;
    let newest = known.iter().max_by_key(|rule| (rule.effective_at, rule.serial));
    let here = DeviceChange::Assignment { event_id: event_id.clone(), gate_id: gate_id.clone() };
    if newest.is_some_and(|rule| rule.change == Change::Device(device_id.clone(), here.clone())) {
        return Ok(()); // The assignment is unchanged, so there is no rule to store.
    }
    let first = newest.is_none();
    let rule = Rule {
        serial: stamp.serial,
        ordinal: 0,
        effective_at: if first { Effective::Start } else { Effective::At(stamp.effective_at) },
        change: Change::Device(device_id.clone(), here),
    };
    tx.insert_rules(event_id, &[rule])
}
