//! Finds where a device was assigned at a moment, since S1's and S2's scans name no event (spec §4: "event = the
//! device's assignment at that time").

use std::collections::{BTreeMap, BTreeSet};

use admit_core::ids::{DeviceId, EventId, GateId, ScanId};
use admit_core::rule::{Change, DeviceChange, Effective, Rule};
use admit_core::scan::{Digest, Form};
use admit_core::time::Timestamp;

use super::decode::{Batch, Item};
use crate::error::Result;
use crate::ports::Tx;
use crate::records::DeviceRecord;

/// A device's assignments over time, in all events. Serials of two events cannot be compared, so moments order them.
#[derive(Debug, Clone)]
pub struct Assignments {
    list: Vec<(Effective, EventId, GateId)>,
}

impl Assignments {
    /// Reads a device's assignments. If none is stored, its present assignment holds for all time.
    pub fn read(tx: &mut dyn Tx, device: &DeviceRecord) -> Result<Self> {
        Ok(Self::of(&tx.assignments(&device.device_id)?, device))
    }
    fn of(rules: &[Rule], device: &DeviceRecord) -> Self {
        let mut list: Vec<(Effective, EventId, GateId, u64, u32)> = rules
            .iter()
            .filter_map(|rule| match &rule.change {
                Change::Device(_, DeviceChange::Assignment { event_id, gate_id }) => {
                    Some((rule.effective_at, event_id.clone(), gate_id.clone(), rule.serial, rule.ordinal))
                }
                _ => None,
            })
            .collect();
        list.sort_by(|a, b| (a.0, &a.1, a.3, a.4).cmp(&(b.0, &b.1, b.3, b.4)));
        let mut list: Vec<_> = list.into_iter().map(|(from, event, gate, ..)| (from, event, gate)).collect();
        if list.is_empty() {
            list.push((Effective::Start, device.event_id.clone(), device.gate_id.clone()));
        }
        Self { list }
    }
    /// The event and gate to which the device was assigned at a moment. For a moment before the first assignment, the
    /// result is that of the first assignment.
    pub fn at(&self, at: Timestamp) -> (&EventId, &GateId) {
        let holds = |from: &Effective| match from {
            Effective::Start => true,
            Effective::At(from) => *from <= at,
        };
        let found = self.list.iter().rev().find(|(from, ..)| holds(from)).unwrap_or(&self.list[0]);
        (&found.1, &found.2)
    }
    /// Whether the device was ever assigned to more than one event.
    pub fn moved(&self) -> bool {
        self.list.iter().any(|(_, event_id, _)| *event_id != self.list[0].1)
    }
}

/// Sets the event of each scan whose form names none, by the device's assignment at the scan's time. A content that is
/// stored already keeps its event, whatever clock offset this delivery brings.
pub fn place(tx: &mut dyn Tx, batch: &mut Batch, assignments: &Assignments) -> Result<()> {
    let stored =
        if assignments.moved() { stored_at(tx, &batch.device_id, &batch.items, assignments)? } else { BTreeMap::new() };
    for item in batch.items.iter_mut().filter(|item| item.fact.scan.form != Form::V2) {
        let known = stored.get(&(item.fact.scan.scan_id.clone(), item.fact.digest));
        let at = item.fact.at();
        item.fact.scan.event_id = known.unwrap_or(assignments.at(at).0).clone();
    }
    Ok(())
}

fn stored_at(
    tx: &mut dyn Tx,
    device_id: &DeviceId,
    items: &[Item],
    assignments: &Assignments,
) -> Result<BTreeMap<(ScanId, Digest), EventId>> {
    let ids: BTreeSet<ScanId> = items.iter().map(|item| item.fact.scan.scan_id.clone()).collect();
    let ids: Vec<ScanId> = ids.into_iter().collect();
    let events: BTreeSet<&EventId> = assignments.list.iter().map(|(_, event_id, _)| event_id).collect();
    let mut found = BTreeMap::new();
    for event_id in events {
        let known = tx.stored_ids(event_id, &ids)?.into_iter().map(|one| one.known);
        let own = known.filter(|one| one.device_id == *device_id);
        found.extend(own.map(|one| ((one.scan_id, one.digest), one.event_id)));
    }
    Ok(found)
}

/// Splits a batch into batches of one event each. The first of them is the home: the present event if the batch touches
/// it, otherwise the first event that it touches. Parts without a scan (refused items, the head of the log) stay with
/// the home.
pub fn split(mut batch: Batch, present: &EventId) -> Vec<Batch> {
    let mut by_event: BTreeMap<EventId, Vec<Item>> = BTreeMap::new();
    for item in std::mem::take(&mut batch.items) {
        by_event.entry(item.fact.scan.event_id.clone()).or_default().push(item);
    }
    batch.event_id = match by_event.keys().next() {
        Some(first) if !by_event.contains_key(present) => first.clone(),
        _ => present.clone(),
    };
    batch.items = by_event.remove(&batch.event_id).unwrap_or_default();
    let others: Vec<Batch> = by_event.into_iter().map(|(event_id, items)| batch.another(event_id, items)).collect();
    std::iter::once(batch).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{DeviceHealth, DeviceState};

    fn rule(serial: u64, from: Effective, event: &str) -> Rule {
        let assignment =
            DeviceChange::Assignment { event_id: EventId::new(event).unwrap(), gate_id: GateId::new("g").unwrap() };
        let change = Change::Device(DeviceId::new("d").unwrap(), assignment);
        Rule { serial, ordinal: 0, effective_at: from, change }
    }
    fn device() -> DeviceRecord {
        DeviceRecord {
            device_id: DeviceId::new("d").unwrap(),
            name: "D".into(),
            device_type: "phone".into(),
            event_id: EventId::new("present").unwrap(),
            gate_id: GateId::new("g").unwrap(),
            state: DeviceState::Active,
            revoked_at: None,
            lost_since: None,
            created_at: Timestamp::clamped(0),
            code_reused_at: None,
            rung_at: None,
            health: DeviceHealth::default(),
        }
    }

    #[test]
    fn a_device_that_came_back_was_away_in_between() {
        let at = |ms| Effective::At(Timestamp::clamped(ms));
        let rules = [rule(9, at(200), "a"), rule(1, Effective::Start, "a"), rule(4, at(100), "b")];
        let assignments = Assignments::of(&rules, &device());
        for (ms, event) in [(0, "a"), (99, "a"), (100, "b"), (199, "b"), (200, "a")] {
            assert_eq!(assignments.at(Timestamp::clamped(ms)).0.as_str(), event, "{ms}");
        }
        assert!(assignments.moved());
    }

    #[test]
    fn without_any_on_record_the_present_one_holds() {
        let assignments = Assignments::of(&[], &device());
        assert_eq!(assignments.at(Timestamp::clamped(5)).0.as_str(), "present");
        assert!(!assignments.moved());
    }
}
