//! Who is inside: what each subject adds to an event's counters (spec §3, architecture §4 "Counters change by Δ").

use std::borrow::Borrow;
use std::collections::BTreeMap;

use crate::event::{EventRules, ReEntry};
use crate::gate::{GateRules, same_area};
use crate::ids::GateId;
use crate::reduce::Reduced;
use crate::time::Timestamp;

/// Persons through one gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GateFlow {
    /// Persons let in.
    pub entered: i64,
    /// Persons let out.
    pub exited: i64,
}

/// Counters of an event, or one subject's part in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Persons inside now, within their tickets' limits. With `inside_over` the honest range of who is inside: how many
    /// of those who came on top are really there only a person can tell.
    pub inside: i64,
    /// Persons inside now beyond their tickets' limits.
    pub inside_over: i64,
    /// Persons let in within their tickets' limits, ever. With `over`, all persons let in.
    pub entered: i64,
    /// Persons let in beyond their tickets' limits, ever.
    pub over: i64,
    /// Persons let out, ever.
    pub exited: i64,
    /// Tickets (or unknown codes) with at least one person let in.
    pub subjects: i64,
    /// Persons let in by being added at a door.
    pub walk_ins: i64,
    /// By gate.
    pub gates: BTreeMap<GateId, GateFlow>,
}

impl Occupancy {
    /// What one subject adds.
    pub fn of(reduced: &Reduced) -> Self {
        let state = &reduced.state;
        let mut out = Self {
            inside: i64::from(state.inside_within),
            inside_over: i64::from(state.inside_over),
            entered: i64::from(state.within),
            over: i64::from(state.over),
            exited: i64::from(state.exited),
            subjects: i64::from(state.persons() > 0),
            walk_ins: i64::from(reduced.walk_in_persons()),
            gates: BTreeMap::new(),
        };
        for verdict in &reduced.verdicts {
            let flow = GateFlow {
                entered: i64::from(verdict.within) + i64::from(verdict.over),
                exited: i64::from(verdict.exited),
            };
            if flow != GateFlow::default() {
                out.gate(&verdict.gate_id, flow, 1);
            }
        }
        out
    }

    /// Adds (`sign` 1) or takes away (`sign` −1) another's counters.
    pub fn add(&mut self, other: &Self, sign: i64) {
        self.inside += sign * other.inside;
        self.inside_over += sign * other.inside_over;
        self.entered += sign * other.entered;
        self.over += sign * other.over;
        self.exited += sign * other.exited;
        self.subjects += sign * other.subjects;
        self.walk_ins += sign * other.walk_ins;
        for (gate_id, flow) in &other.gates {
            self.gate(gate_id, *flow, sign);
        }
    }

    /// Persons in the area that a gate leads to: who went in less who came out by every gate of that area. `None` where the
    /// gate has no capacity to measure it by, or is not among the `rules`.
    pub fn area_inside<G: Borrow<GateRules>>(
        &self,
        gate_id: &GateId,
        rules: impl Fn(&GateId) -> Option<G>,
    ) -> Option<u32> {
        rules(gate_id)?.borrow().capacity?;
        let flows = self.gates.iter().filter(|(other, _)| same_area(gate_id, other, &rules)).map(|(_, flow)| flow);
        let inside: i64 = flows.map(|flow| flow.entered - flow.exited).sum();
        Some(u32::try_from(inside.max(0)).unwrap_or(u32::MAX))
    }

    /// Since when persons count in the area that a gate leads to; `None`: since ever. Where the event is daily, an area that
    /// nobody was ever scanned out of is empty when a day begins: yesterday's guests went home by themselves (door.md
    /// "Limits").
    pub fn area_counts_since<G: Borrow<GateRules>>(
        &self,
        gate_id: &GateId,
        rules: impl Fn(&GateId) -> Option<G>,
        event: Option<&EventRules>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let begun = event.filter(|event| event.re_entry == ReEntry::Daily)?.days.begun(now)?;
        let has_exits = self.gates.iter().any(|(other, flow)| flow.exited > 0 && same_area(gate_id, other, &rules));
        (!has_exits).then_some(begun)
    }

    /// Adds persons through a gate; the sum of those through all of them is somebody else's.
    pub fn add_flow(&mut self, gate_id: &GateId, flow: GateFlow) {
        self.gate(gate_id, flow, 1);
    }

    fn gate(&mut self, gate_id: &GateId, flow: GateFlow, sign: i64) {
        let held = self.gates.entry(gate_id.clone()).or_default();
        held.entered += sign * flow.entered;
        held.exited += sign * flow.exited;
        if *held == GateFlow::default() {
            self.gates.remove(gate_id);
        }
    }
}
