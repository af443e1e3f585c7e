//! Counts the persons in the area behind a gate. The count starts at a recount or at the beginning of a day, and uses
//! the exact millisecond of that moment.

use admit_core::event::EventRules;
use admit_core::gate::GateRules;
use admit_core::ids::{EventId, GateId};
use admit_core::occupancy::{AreaBase, GateFlow, Occupancy, Recount};
use admit_core::rule::When;
use admit_core::time::Timestamp;

use crate::error::Result;
use crate::gates::Gate;
use crate::ports::Tx;

const MINUTE_MS: i64 = 60_000;

/// The rows from which an event's areas are counted, read in one snapshot.
pub(crate) struct Areas<'a> {
    /// The event's counters.
    pub all: Occupancy,
    gates: &'a [Gate],
    event: Option<EventRules>,
    recounts: Vec<Recount>,
    now: Timestamp,
}

/// A recount that holds, with the count before and after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AreaRecount {
    /// The gates that lead only to this area.
    pub gate_ids: Vec<GateId>,
    /// The recount.
    pub recount: Recount,
    /// Persons inside at the recount's time by scans and headcounts alone, without this recount or an earlier one.
    pub counted: i64,
    /// Persons inside now.
    pub now: i64,
}

impl<'a> Areas<'a> {
    /// Reads the rows from which areas are counted.
    pub fn of(tx: &mut dyn Tx, event_id: &EventId, gates: &'a [Gate], now: Timestamp) -> Result<Self> {
        let all = tx.occupancy(event_id)?;
        let event = tx.load_rules(event_id, &[])?.book.event(When::Newest);
        let recounts = tx.recounts(event_id)?.into_iter().map(|(_, recount)| recount).collect();
        Ok(Self { all, gates, event, recounts, now })
    }

    fn rules(&self, gate_id: &GateId) -> Option<&'a GateRules> {
        self.gates.iter().find(|gate| gate.gate_id == *gate_id).map(|gate| &gate.rules)
    }

    /// Persons in the area that a gate leads to. `None` if the gate has no capacity.
    pub fn inside(&self, tx: &mut dyn Tx, event_id: &EventId, gate_id: &GateId) -> Result<Option<u32>> {
        let rules = |gate_id: &GateId| self.rules(gate_id);
        let base = self.all.area_base(gate_id, rules, self.event.as_ref(), self.now, &self.recounts);
        let since = self.since(tx, event_id, base)?;
        Ok(since.area_inside(base.persons, gate_id, rules))
    }

    /// The recounts that hold now, newest first.
    pub fn recounts(&self, tx: &mut dyn Tx, event_id: &EventId) -> Result<Vec<AreaRecount>> {
        let rules = |gate_id: &GateId| self.rules(gate_id);
        let newest = |gate: &Gate| Recount::newest(&self.recounts, &gate.gate_id, rules);
        let mut areas: Vec<(&Recount, Vec<&GateId>)> = Vec::new();
        for (gate, recount) in self.gates.iter().filter_map(|gate| Some((gate, newest(gate)?))) {
            match areas.iter_mut().find(|(other, _)| *other == recount) {
                Some((_, gate_ids)) => gate_ids.push(&gate.gate_id),
                None => areas.push((recount, vec![&gate.gate_id])),
            }
        }
        let mut out = Vec::with_capacity(areas.len());
        for (recount, gate_ids) in areas {
            let base = AreaBase { until: Some(recount.at), persons: i64::from(recount.inside) };
            let since = self.since(tx, event_id, base)?;
            let persons = |all: &Occupancy| all.area_persons(0, gate_ids[0], rules);
            let (now, all) = (persons(&since), persons(&self.all));
            let gate_ids = gate_ids.into_iter().cloned().collect();
            out.push(AreaRecount { gate_ids, counted: all - now, now: base.persons + now, recount: recount.clone() });
        }
        out.sort_by_key(|area| std::cmp::Reverse(area.recount.at));
        Ok(out)
    }

    /// Persons through each gate after the moment `base`, at which an area's count starts. For whole minutes after it,
    /// the store has sums. For the rest of the minute in which it lies, this reads the scans themselves.
    fn since(&self, tx: &mut dyn Tx, event_id: &EventId, base: AreaBase) -> Result<Occupancy> {
        let Some(until) = base.until else { return Ok(self.all.clone()) };
        let first = Timestamp::clamped(until.ms().saturating_add(1));
        let mut out = Occupancy::default();
        let mut whole = Timestamp::clamped(first.ms() - first.ms().rem_euclid(MINUTE_MS));
        if whole < first {
            whole = whole.plus_ms(MINUTE_MS);
            let last = whole.plus_ms(-1);
            let subjects = tx.subjects_by_time(event_id, first, last, true)?;
            for (_, verdicts) in tx.judged_states(event_id, &subjects)? {
                for verdict in verdicts.iter().filter(|verdict| (first..=last).contains(&verdict.at)) {
                    out.add_flow(&verdict.gate_id, GateFlow::of(verdict));
                }
            }
        }
        for minute in tx.flow(event_id, whole)?.into_iter().filter(|minute| minute.at >= whole) {
            out.add_flow(&minute.gate_id, minute.persons());
        }
        Ok(out)
    }
}
