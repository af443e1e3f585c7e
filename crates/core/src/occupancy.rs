//! Counts who is inside. Each subject contributes some persons to the counters of its event (spec §3). When the subject
//! changes, the store adds the difference between its new and its old contribution to the counters.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use crate::event::{EventRules, ReEntry};
use crate::gate::{GateRules, same_area};
use crate::ids::{DeviceId, GateId, ScanId};
use crate::reduce::{Reduced, ScanVerdict};
use crate::scan::{Headcount, PersonClass};
use crate::time::Timestamp;

/// Persons through one gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GateFlow {
    /// Persons let in.
    pub entered: i64,
    /// Persons let out.
    pub exited: i64,
    /// People without a ticket whom staff counted at this gate: those who came in less those who went out.
    pub without_ticket: i64,
}

impl GateFlow {
    /// The part that one scan has in its gate's flow.
    pub fn of(verdict: &ScanVerdict) -> Self {
        let without_ticket = match verdict.headcount {
            Some(Headcount::Change { delta, .. }) => i64::from(delta),
            Some(Headcount::Recount { .. }) | None => 0,
        };
        let entered = i64::from(verdict.within) + i64::from(verdict.over);
        Self { entered, exited: i64::from(verdict.exited), without_ticket }
    }
    /// Persons by which the gate's flow fills the area behind it.
    fn inside(&self) -> i64 {
        self.entered - self.exited + self.without_ticket
    }
}

/// People without a ticket, as staff counted them: those who came in less those who went out (decision 037). The
/// counters of tickets do not include them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WithoutTicket {
    /// Persons who work for the venue or the organiser.
    pub staff: i64,
    /// Persons who belong to the production.
    pub crew: i64,
    /// Children who need no ticket.
    pub child: i64,
    /// Other persons without a ticket.
    pub other: i64,
}

impl WithoutTicket {
    /// The sum of all classes.
    pub fn total(&self) -> i64 {
        self.staff + self.crew + self.child + self.other
    }
    /// Whether every class stands at 0.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
    /// Adds `delta` persons of a class.
    pub fn count(&mut self, class: PersonClass, delta: i64) {
        let of_class = match class {
            PersonClass::Staff => &mut self.staff,
            PersonClass::Crew => &mut self.crew,
            PersonClass::Child => &mut self.child,
            PersonClass::Other => &mut self.other,
        };
        *of_class += delta;
    }
    fn add(&mut self, other: &Self, sign: i64) {
        self.staff += sign * other.staff;
        self.crew += sign * other.crew;
        self.child += sign * other.child;
        self.other += sign * other.other;
    }
}

/// A recount that was not undone and that the reducer counts. In a recount staff count everybody in the area behind a
/// gate, with a ticket or without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recount {
    /// The gate at which staff counted.
    pub gate_id: GateId,
    /// When the recount was made.
    pub at: Timestamp,
    /// The device that recorded the recount.
    pub device_id: DeviceId,
    /// The id of the recount's scan.
    pub scan_id: ScanId,
    /// Persons inside at the time of the recount.
    pub inside: u32,
}

impl Recount {
    /// The recounts among one subject's verdicts that still count.
    pub fn of(verdicts: &[ScanVerdict]) -> Vec<Self> {
        let recount = |verdict: &ScanVerdict| match verdict.headcount? {
            Headcount::Recount { inside } => Some(Self {
                gate_id: verdict.gate_id.clone(),
                at: verdict.at,
                device_id: verdict.device_id.clone(),
                scan_id: verdict.scan_id.clone(),
                inside,
            }),
            Headcount::Change { .. } => None,
        };
        verdicts.iter().filter_map(recount).collect()
    }
    /// The recount in force for the area behind a gate: the newest by (time, device, scan) of those made at gates that
    /// admit the same zones. A gate without a zone has an area of its own. `None` if there is no such recount.
    pub fn newest<'a, G: Borrow<GateRules>>(
        recounts: &'a [Self],
        gate_id: &GateId,
        rules: impl Fn(&GateId) -> Option<G>,
    ) -> Option<&'a Self> {
        let zones = |gate_id: &GateId| -> BTreeSet<String> {
            rules(gate_id).map(|gate| gate.borrow().zones.iter().cloned().collect()).unwrap_or_default()
        };
        let own = zones(gate_id);
        let holds = |one: &&Self| one.gate_id == *gate_id || !own.is_empty() && zones(&one.gate_id) == own;
        let place = |one: &&Self| (one.at, one.device_id.clone(), one.scan_id.clone());
        recounts.iter().filter(holds).max_by_key(place)
    }
}

/// The number of persons in an area at a certain time. The count of the area starts from it, and adds those who went in
/// later, less those who went out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AreaBase {
    /// The time of the number. `persons` includes everybody who went through a gate at this time or before. `None` if
    /// the count starts with an empty area before the first scan.
    pub until: Option<Timestamp>,
    /// Persons inside at that time.
    pub persons: i64,
}

/// The counters of an event, or one subject's part in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Persons inside now, within their tickets' limits. Together with `inside_over` this gives the range of persons
    /// inside. Only a person can tell how many of those beyond the limits are really there.
    pub inside: i64,
    /// Persons inside now beyond their tickets' limits.
    pub inside_over: i64,
    /// Persons let in so far within their tickets' limits. `entered` plus `over` is the number of all persons let in.
    pub entered: i64,
    /// Persons let in so far beyond their tickets' limits.
    pub over: i64,
    /// Persons let out so far.
    pub exited: i64,
    /// Tickets (or unknown codes) with at least one person let in.
    pub subjects: i64,
    /// Persons let in by being added at a door as walk-ins.
    pub walk_ins: i64,
    /// People without a ticket inside now, as staff counted them. Of the other counters, only those of the gates
    /// include these people.
    pub without_ticket: WithoutTicket,
    /// The flow through each gate.
    pub gates: BTreeMap<GateId, GateFlow>,
}

impl Occupancy {
    /// The part that one subject has in the counters.
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
            without_ticket: WithoutTicket::default(),
            gates: BTreeMap::new(),
        };
        for verdict in &reduced.verdicts {
            if let Some(Headcount::Change { class, delta }) = verdict.headcount {
                out.without_ticket.count(class, i64::from(delta));
            }
            let flow = GateFlow::of(verdict);
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
        self.without_ticket.add(&other.without_ticket, sign);
        for (gate_id, flow) in &other.gates {
            self.gate(gate_id, *flow, sign);
        }
    }

    /// Persons in the area that a gate leads to: `base`, plus those who went in by every gate of the area, less those
    /// who came out. `None` if the gate has no capacity, or is not among the `rules`.
    pub fn area_inside<G: Borrow<GateRules>>(
        &self,
        base: i64,
        gate_id: &GateId,
        rules: impl Fn(&GateId) -> Option<G>,
    ) -> Option<u32> {
        rules(gate_id)?.borrow().capacity?;
        Some(u32::try_from(self.area_persons(base, gate_id, rules).max(0)).unwrap_or(u32::MAX))
    }

    /// Like [`Occupancy::area_inside`], for a gate with or without a capacity. The result is below zero if more persons
    /// came out than went in.
    pub fn area_persons<G: Borrow<GateRules>>(
        &self,
        base: i64,
        gate_id: &GateId,
        rules: impl Fn(&GateId) -> Option<G>,
    ) -> i64 {
        let flows = self.gates.iter().filter(|(other, _)| same_area(gate_id, other, &rules)).map(|(_, flow)| flow);
        base + flows.map(GateFlow::inside).sum::<i64>()
    }

    /// The number with which the count of the area behind a gate starts. It is the newest recount there, or an empty
    /// area when the day begins, whichever is later. A day begins with an empty area only if the event is daily and no
    /// scan ever let anybody out of the area. In such an event, yesterday's guests went home without a scan (decision
    /// 034).
    pub fn area_base<G: Borrow<GateRules>>(
        &self,
        gate_id: &GateId,
        rules: impl Fn(&GateId) -> Option<G>,
        event: Option<&EventRules>,
        now: Timestamp,
        recounts: &[Recount],
    ) -> AreaBase {
        let has_exits = self.gates.iter().any(|(other, flow)| flow.exited > 0 && same_area(gate_id, other, &rules));
        let daily = event.filter(|event| event.re_entry == ReEntry::Daily && !has_exits);
        let begun = daily.and_then(|event| event.days.begun(now)).map(|begun| begun.plus_ms(-1));
        match Recount::newest(recounts, gate_id, rules) {
            Some(recount) if Some(recount.at) > begun => {
                AreaBase { until: Some(recount.at), persons: i64::from(recount.inside) }
            }
            _ => AreaBase { until: begun, persons: 0 },
        }
    }

    /// Adds persons who passed one gate to the counters of that gate. The caller itself changes the totals of the
    /// event.
    pub fn add_flow(&mut self, gate_id: &GateId, flow: GateFlow) {
        self.gate(gate_id, flow, 1);
    }

    fn gate(&mut self, gate_id: &GateId, flow: GateFlow, sign: i64) {
        let held = self.gates.entry(gate_id.clone()).or_default();
        held.entered += sign * flow.entered;
        held.exited += sign * flow.exited;
        held.without_ticket += sign * flow.without_ticket;
        if *held == GateFlow::default() {
            self.gates.remove(gate_id);
        }
    }
}
