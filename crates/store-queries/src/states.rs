//! Derived: subjects' states, scans' verdicts, who is inside.

use std::collections::BTreeMap;

use admit_app::error::{Error, Result};
use admit_app::records::*;
use admit_core::ids::{EventId, TicketId};
use admit_core::incident::Subject;
use admit_core::occupancy::{GateFlow, Occupancy};
use admit_core::reduce::{LeftOut, ScanVerdict};
use admit_core::scan::ScanKind;
use admit_core::time::Timestamp;
use admit_core::wire::stored;

use crate::driver::{Asked, Driver, bulks, statements};
use crate::tx::SqlTx;
use crate::value::{Row, Value};

macro_rules! state_columns {
    () => {
        "s.subject, s.state, s.effective, s.occupancy, s.digest, s.serial"
    };
}
pub(crate) use state_columns;
/// Columns of [`state_columns`].
const COLUMNS: usize = 6;

statements! {
    /// States of subjects.
    STATES = concat!("SELECT ", state_columns!(), " FROM states s WHERE s.organization_id = $1 AND s.event_id = $2 AND s.subject IN ($3)");
    /// All states, by subject.
    ALL_STATES = concat!("SELECT ", state_columns!(), " FROM states s WHERE s.organization_id = $1 AND s.event_id = $2 ORDER BY s.subject");
    /// Removes states.
    DELETE_STATES = "DELETE FROM states WHERE organization_id = $1 AND event_id = $2 AND subject IN ($3)";
    /// Verdicts of a subject, in order.
    VERDICTS = "SELECT verdict FROM verdicts WHERE organization_id = $1 AND event_id = $2 AND subject = $3 ORDER BY place";
    /// Removes the verdicts of subjects.
    DELETE_VERDICTS = "DELETE FROM verdicts WHERE organization_id = $1 AND event_id = $2 AND subject IN ($3)";
    /// Notes a change by scans on tickets.
    MARK_TICKETS = "UPDATE tickets SET state_serial = $3 WHERE organization_id = $1 AND event_id = $2 AND ticket_id IN ($4)";
    /// Subjects with a scan outside [$3, $4].
    SUBJECTS_OUTSIDE = "SELECT DISTINCT subject FROM verdicts WHERE organization_id = $1 AND event_id = $2 AND (at < $3 OR at > $4)";
    /// Subjects with a scan inside [$3, $4].
    SUBJECTS_INSIDE = "SELECT DISTINCT subject FROM verdicts WHERE organization_id = $1 AND event_id = $2 AND at >= $3 AND at <= $4";
    /// Persons by gate and minute.
    FLOW = "SELECT at / 60000 AS minute, gate_id, CAST(SUM(entered) AS BIGINT), CAST(SUM(exited) AS BIGINT), CAST(SUM(refused) AS BIGINT)
        FROM verdicts WHERE organization_id = $1 AND event_id = $2 AND at >= $3
        GROUP BY at / 60000, gate_id ORDER BY minute, gate_id";
    /// An event's counters.
    OCCUPANCY = "SELECT inside, inside_over, entered, over, exited, subjects FROM occupancy WHERE organization_id = $1 AND event_id = $2";
    /// Counters by gate.
    OCCUPANCY_GATES = "SELECT gate_id, entered, exited FROM occupancy_gates WHERE organization_id = $1 AND event_id = $2";
    /// Adds to an event's counters.
    ADD_OCCUPANCY = "INSERT INTO occupancy (organization_id, event_id, serial, inside, inside_over, entered, over, exited, subjects)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (organization_id, event_id) DO UPDATE SET serial = excluded.serial,
        inside = occupancy.inside + excluded.inside,
        inside_over = occupancy.inside_over + excluded.inside_over, entered = occupancy.entered + excluded.entered,
        over = occupancy.over + excluded.over, exited = occupancy.exited + excluded.exited,
        subjects = occupancy.subjects + excluded.subjects";
    /// Forgets an event's counters.
    DELETE_OCCUPANCY = "DELETE FROM occupancy WHERE organization_id = $1 AND event_id = $2";
    /// Forgets an event's counters by gate.
    DELETE_OCCUPANCY_GATES = "DELETE FROM occupancy_gates WHERE organization_id = $1 AND event_id = $2";
}
bulks! {
    /// Stores states.
    PUT_STATES = "states" {
        organization_id: Text, event_id: Text, subject: Text, serial: Int, persons: Int, digest: Blob, occupancy: Text,
        state: Text, effective: Text,
    }, "ON CONFLICT (organization_id, event_id, subject) DO UPDATE SET serial = excluded.serial, persons = excluded.persons,
        digest = excluded.digest, occupancy = excluded.occupancy, state = excluded.state, effective = excluded.effective";
    /// Stores verdicts. A scan moves to another subject when its code is given to a ticket.
    PUT_VERDICTS = "verdicts" {
        organization_id: Text, scan_id: Text, device_id: Text, digest: Blob, event_id: Text, subject: Text, place: Int, at: Int,
        gate_id: Text, outcome: Text, conflict: Bool, waits: Bool, entered: Int, exited: Int, refused: Int, verdict: Text,
    }, "ON CONFLICT (organization_id, scan_id, device_id, digest) DO UPDATE SET subject = excluded.subject,
        place = excluded.place, at = excluded.at, gate_id = excluded.gate_id, outcome = excluded.outcome,
        conflict = excluded.conflict, waits = excluded.waits, entered = excluded.entered, exited = excluded.exited, refused = excluded.refused,
        verdict = excluded.verdict";
    /// Adds to counters by gate.
    ADD_OCCUPANCY_GATES = "occupancy_gates" { organization_id: Text, event_id: Text, gate_id: Text, entered: Int, exited: Int },
        "ON CONFLICT (organization_id, event_id, gate_id) DO UPDATE SET entered = occupancy_gates.entered + excluded.entered,
        exited = occupancy_gates.exited + excluded.exited";
}

fn read_state(row: &mut Row) -> Result<StateRecord> {
    Ok(StateRecord {
        subject_key: row.text()?,
        state: row.json("state")?,
        effective: row.json("effective scans")?,
        occupancy: row.json("occupancy")?,
        digest: row.hash()?,
        serial: row.count()?,
    })
}
/// A state that was joined to another row, if there is one.
pub(crate) fn read_joined(row: &mut Row) -> Result<Option<StateRecord>> {
    row.joined(COLUMNS, read_state)
}
fn verdict_values<'a>(
    organization_id: Value<'a>,
    event_id: &'a EventId,
    subject: &'a str,
    place: usize,
    verdict: &'a ScanVerdict,
) -> [Value<'a>; 16] {
    let entered = i64::from(verdict.within) + i64::from(verdict.over);
    let refused = !verdict.opened && verdict.kind != ScanKind::Revert;
    [
        organization_id,
        (&verdict.scan_id).into(),
        (&verdict.device_id).into(),
        (&verdict.digest).into(),
        event_id.into(),
        subject.into(),
        Value::Int(place as i64),
        verdict.at.into(),
        (&verdict.gate_id).into(),
        verdict.outcome.as_str().into(),
        verdict.conflict.into(),
        (verdict.left_out == Some(LeftOut::Unverified)).into(),
        entered.into(),
        verdict.exited.into(),
        i64::from(refused).into(),
        stored::to_text(verdict).into(),
    ]
}

impl<D: Driver> SqlTx<'_, D> {
    pub(crate) fn load_states(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<StateRecord>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = subjects.iter().map(Value::from).collect();
        let mut states = self.each(&STATES, &[(&id).into(), event_id.into()], &list, read_state)?;
        states.sort_by(|a, b| a.subject_key.cmp(&b.subject_key));
        states.dedup_by(|a, b| a.subject_key == b.subject_key);
        Ok(states)
    }
    pub(crate) fn load_all_states(&mut self, event_id: &EventId) -> Result<Vec<StateRecord>> {
        let id = self.organization_id.clone();
        self.all(&ALL_STATES, &[(&id).into(), event_id.into()], read_state)
    }
    pub(crate) fn load_verdicts(&mut self, event_id: &EventId, subject: &str) -> Result<Vec<ScanVerdict>> {
        let id = self.organization_id.clone();
        self.all(&VERDICTS, &[(&id).into(), event_id.into(), subject.into()], |row| row.json("verdict"))
    }
    pub(crate) fn replace_states(
        &mut self,
        event_id: &EventId,
        states: &[(StateRecord, Vec<ScanVerdict>)],
    ) -> Result<()> {
        let id = self.organization_id.clone();
        let key = [(&id).into(), event_id.into()];
        let subjects: Vec<Value<'_>> = states.iter().map(|(state, _)| Value::from(&state.subject_key)).collect();
        self.later_each(&DELETE_VERDICTS, &key, &subjects)?;
        let gone = states.iter().filter(|(_, verdicts)| verdicts.is_empty());
        let gone: Vec<Value<'_>> = gone.map(|(state, _)| Value::from(&state.subject_key)).collect();
        self.later_each(&DELETE_STATES, &key, &gone)?;
        self.store_states(event_id, states)
    }
    /// States and verdicts where nothing stands in their way, and the mark on their tickets.
    pub(crate) fn store_states(
        &mut self,
        event_id: &EventId,
        states: &[(StateRecord, Vec<ScanVerdict>)],
    ) -> Result<()> {
        let id = self.organization_id.clone();
        let (mut rows, mut verdicts) = (Vec::new(), Vec::new());
        for (state, found) in states.iter().filter(|(_, verdicts)| !verdicts.is_empty()) {
            rows.extend([
                (&id).into(),
                event_id.into(),
                (&state.subject_key).into(),
                state.serial.into(),
                state.state.persons().into(),
                (&state.digest).into(),
                stored::to_text(&state.occupancy).into(),
                stored::to_text(&state.state).into(),
                stored::to_text(&state.effective).into(),
            ]);
            for (place, verdict) in found.iter().enumerate() {
                verdicts.extend(verdict_values((&id).into(), event_id, &state.subject_key, place, verdict));
            }
        }
        self.later_many(&PUT_STATES, &rows)?;
        self.later_many(&PUT_VERDICTS, &verdicts)?;
        self.mark_tickets(event_id, states.iter().map(|(state, _)| state))
    }
    fn mark_tickets<'s>(&mut self, event_id: &EventId, states: impl Iterator<Item = &'s StateRecord>) -> Result<()> {
        let id = self.organization_id.clone();
        let mut by_serial: BTreeMap<u64, Vec<TicketId>> = BTreeMap::new();
        for state in states {
            let subject = Subject::from_key(&state.subject_key);
            let subject =
                subject.ok_or_else(|| Error::Bug(format!("not a subject of scans: {}", state.subject_key)))?;
            if let Subject::Ticket(ticket_id) = subject {
                by_serial.entry(state.serial).or_default().push(ticket_id);
            }
        }
        for (serial, tickets) in by_serial {
            let list: Vec<Value<'_>> = tickets.iter().map(Value::from).collect();
            self.later_each(&MARK_TICKETS, &[(&id).into(), event_id.into(), serial.into()], &list)?;
        }
        Ok(())
    }
    pub(crate) fn load_subjects_by_time(
        &mut self,
        event_id: &EventId,
        from: Timestamp,
        to: Timestamp,
        inside: bool,
    ) -> Result<Vec<String>> {
        let id = self.organization_id.clone();
        let stmt = if inside { &SUBJECTS_INSIDE } else { &SUBJECTS_OUTSIDE };
        let mut subjects = self.all(stmt, &[(&id).into(), event_id.into(), from.into(), to.into()], Row::text)?;
        subjects.sort();
        Ok(subjects)
    }
    pub(crate) fn add_counters(&mut self, event_id: &EventId, delta: &Occupancy, serial: u64) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            event_id.into(),
            serial.into(),
            delta.inside.into(),
            delta.inside_over.into(),
            delta.entered.into(),
            delta.over.into(),
            delta.exited.into(),
            delta.subjects.into(),
        ];
        self.later(&ADD_OCCUPANCY, &values)?;
        let mut gates: Vec<Value<'_>> = Vec::new();
        for (gate_id, flow) in &delta.gates {
            gates.extend([(&id).into(), event_id.into(), gate_id.into(), flow.entered.into(), flow.exited.into()]);
        }
        self.later_many(&ADD_OCCUPANCY_GATES, &gates)
    }
    pub(crate) fn load_counters(&mut self, event_id: &EventId) -> Result<Occupancy> {
        let id = self.organization_id.clone();
        let key = [(&id).into(), event_id.into()];
        let [totals, gates] = self.ask([
            Asked { stmt: &OCCUPANCY, params: &key, list: None },
            Asked { stmt: &OCCUPANCY_GATES, params: &key, list: None },
        ])?;
        let read_totals = |mut row: Row| {
            Ok(Occupancy {
                inside: row.int()?,
                inside_over: row.int()?,
                entered: row.int()?,
                over: row.int()?,
                exited: row.int()?,
                subjects: row.int()?,
                gates: BTreeMap::new(),
            })
        };
        let totals: Option<Result<Occupancy>> = totals.into_iter().next().map(read_totals);
        let flow = |mut row: Row| Ok((row.parsed()?, GateFlow { entered: row.int()?, exited: row.int()? }));
        let gates = gates.into_iter().map(flow).collect::<Result<Vec<_>>>()?;
        // A gate whose flows were all taken back is a gate without flow, as in core.
        let gates = gates.into_iter().filter(|(_, flow)| *flow != GateFlow::default()).collect();
        Ok(Occupancy { gates, ..totals.transpose()?.unwrap_or_default() })
    }
    pub(crate) fn replace_counters(&mut self, event_id: &EventId, occupancy: &Occupancy, serial: u64) -> Result<()> {
        let id = self.organization_id.clone();
        self.later(&DELETE_OCCUPANCY, &[(&id).into(), event_id.into()])?;
        self.later(&DELETE_OCCUPANCY_GATES, &[(&id).into(), event_id.into()])?;
        self.add_counters(event_id, occupancy, serial)
    }
    pub(crate) fn load_flow(&mut self, event_id: &EventId, since: Timestamp) -> Result<Vec<MinuteFlow>> {
        let id = self.organization_id.clone();
        self.all(&FLOW, &[(&id).into(), event_id.into(), since.into()], |row| {
            Ok(MinuteFlow {
                at: Timestamp::clamped(row.int()?.saturating_mul(60_000)),
                gate_id: row.parsed()?,
                entered: row.int()?,
                exited: row.int()?,
                refused: row.int()?,
            })
        })
    }
}
