//! Statements about derived rows: states of subjects with their verdicts, and the counters of who is inside.

use std::collections::BTreeMap;

use admit_app::error::{Error, Result};
use admit_app::ports::{TxStates, TxWaiting};
use admit_app::records::{MinuteFlow, StateRecord, WaitingScan};
use admit_core::ids::{DeviceId, EventId};
use admit_core::judgement::{self, Judgement};
use admit_core::occupancy::{GateFlow, Occupancy, Recount, WithoutTicket};
use admit_core::reduce::{LeftOut, ScanVerdict};
use admit_core::scan::Digest;
use admit_core::time::Timestamp;

use crate::driver::{Asked, Driver, bulks, statements};
use crate::tx::SqlTx;
use crate::value::{Row, Value};

macro_rules! state_columns {
    () => {
        "s.subject, s.digest, s.serial, s.judgement"
    };
}
pub(crate) use state_columns;
/// The number of columns of [`state_columns`].
const COLUMNS: usize = 4;
/// The number of columns of [`PUT_STATES`].
const COLUMNS_STORED: usize = 12;
const MINUTE_MS: i64 = 60_000;

/// States of subjects that have at least one scan.
macro_rules! standing {
    ($columns:expr, $where:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM states s WHERE s.organization_id = $1 AND s.event_id = $2 AND s.scans > 0",
            $where
        )
    };
}

statements! {
    /// The states of the given subjects.
    STATES = standing!(state_columns!(), " AND s.subject IN ($3)"), by 0 of ["states"];
    /// All states of an event, by subject.
    ALL_STATES = standing!(state_columns!(), " ORDER BY s.subject");
    /// The verdicts of the given subjects, in the order of scans.
    VERDICTS = standing!("s.subject, s.judgement", " AND s.subject IN ($3)");
    /// Subjects with a scan outside of the time range [$3, $4].
    SUBJECTS_OUTSIDE = "SELECT s.subject FROM states s WHERE s.organization_id = $1 AND s.event_id = $2 AND (s.first_at < $3 OR s.last_at > $4)";
    /// Subjects that may have a scan in the time range [$3, $4]. The second column is true if their first or last scan
    /// is in it.
    SUBJECTS_INSIDE = "SELECT s.subject, s.first_at >= $3 OR s.last_at <= $4 FROM states s
        WHERE s.organization_id = $1 AND s.event_id = $2 AND s.last_at >= $3 AND s.first_at <= $4";
    /// How many subjects have a scan before $3.
    COUNT_SUBJECTS_BEFORE = "SELECT COUNT(*) FROM states s WHERE s.organization_id = $1 AND s.event_id = $2 AND s.first_at < $3";
    /// Deletes the rows of `waiting` of the given subjects: scans that wait for a person's decision.
    DELETE_WAITING = "DELETE FROM waiting WHERE organization_id = $1 AND event_id = $2 AND subject IN ($3)";
    /// Deletes all rows of `waiting` of an event.
    CLEAR_WAITING = "DELETE FROM waiting WHERE organization_id = $1 AND event_id = $2";
    /// Every scan of an event that waits for a person's decision.
    ALL_WAITING = "SELECT device_id, scan_id, digest, subject FROM waiting WHERE organization_id = $1 AND event_id = $2";
    /// Recounts of an event.
    RECOUNTS = "SELECT subject, device_id, scan_id, gate_id, at, inside FROM recounts WHERE organization_id = $1 AND event_id = $2
        ORDER BY subject, device_id, scan_id";
    /// Deletes the recounts of the given subjects.
    DELETE_RECOUNTS = "DELETE FROM recounts WHERE organization_id = $1 AND event_id = $2 AND subject IN ($3)";
    /// Deletes all recounts of an event.
    CLEAR_RECOUNTS = "DELETE FROM recounts WHERE organization_id = $1 AND event_id = $2";
    /// Persons who entered, left or were refused, by gate and minute.
    FLOW = "SELECT minute, gate_id, entered, exited, refused, without_ticket FROM flow
        WHERE organization_id = $1 AND event_id = $2 AND minute >= $3 AND (entered <> 0 OR exited <> 0 OR refused <> 0 OR without_ticket <> 0)
        ORDER BY minute, gate_id";
    /// Deletes all rows of an event's flow.
    DELETE_FLOW = "DELETE FROM flow WHERE organization_id = $1 AND event_id = $2";
    /// The counters of an event.
    OCCUPANCY = "SELECT inside, inside_over, entered, over, exited, subjects, walk_ins, staff, crew, child, other FROM occupancy WHERE organization_id = $1 AND event_id = $2";
    /// The counters of an event by gate.
    OCCUPANCY_GATES = "SELECT gate_id, entered, exited, without_ticket FROM occupancy_gates WHERE organization_id = $1 AND event_id = $2";
    /// Adds to an event's counters.
    ADD_OCCUPANCY = "INSERT INTO occupancy (organization_id, event_id, serial, inside, inside_over, entered, over, exited, subjects,
        walk_ins, staff, crew, child, other) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (organization_id, event_id) DO UPDATE SET serial = excluded.serial,
        inside = occupancy.inside + excluded.inside,
        inside_over = occupancy.inside_over + excluded.inside_over, entered = occupancy.entered + excluded.entered,
        over = occupancy.over + excluded.over, exited = occupancy.exited + excluded.exited,
        subjects = occupancy.subjects + excluded.subjects, walk_ins = occupancy.walk_ins + excluded.walk_ins,
        staff = occupancy.staff + excluded.staff, crew = occupancy.crew + excluded.crew,
        child = occupancy.child + excluded.child, other = occupancy.other + excluded.other";
    /// Deletes an event's counters.
    DELETE_OCCUPANCY = "DELETE FROM occupancy WHERE organization_id = $1 AND event_id = $2";
    /// Deletes an event's counters by gate.
    DELETE_OCCUPANCY_GATES = "DELETE FROM occupancy_gates WHERE organization_id = $1 AND event_id = $2";
}
bulks! {
    /// Stores states, and overwrites the former states of the same subjects.
    PUT_STATES = "states" {
        organization_id: Text, event_id: Text, subject: Text, serial: Int, scans: Int, persons: Int, inside: Int, entered_at: Int,
        first_at: Int, last_at: Int, digest: Blob, judgement: Blob,
    }, "ON CONFLICT (organization_id, event_id, subject) DO UPDATE SET serial = excluded.serial, scans = excluded.scans,
        persons = excluded.persons, inside = excluded.inside, entered_at = excluded.entered_at, first_at = excluded.first_at, last_at = excluded.last_at,
        digest = excluded.digest, judgement = excluded.judgement";
    /// Stores which scans wait for a person's decision.
    INSERT_WAITING = "waiting" {
        organization_id: Text, event_id: Text, subject: Text, device_id: Text, scan_id: Text, digest: Blob,
    };
    /// Adds numbers to the flow, by gate and minute.
    ADD_FLOW = "flow" {
        organization_id: Text, event_id: Text, minute: Int, gate_id: Text, entered: Int, exited: Int, refused: Int,
        without_ticket: Int,
    }, "ON CONFLICT (organization_id, event_id, minute, gate_id) DO UPDATE SET entered = flow.entered + excluded.entered,
        exited = flow.exited + excluded.exited, refused = flow.refused + excluded.refused,
        without_ticket = flow.without_ticket + excluded.without_ticket";
    /// Adds numbers to the counters by gate.
    ADD_OCCUPANCY_GATES = "occupancy_gates" {
        organization_id: Text, event_id: Text, gate_id: Text, entered: Int, exited: Int, without_ticket: Int,
    }, "ON CONFLICT (organization_id, event_id, gate_id) DO UPDATE SET entered = occupancy_gates.entered + excluded.entered,
        exited = occupancy_gates.exited + excluded.exited,
        without_ticket = occupancy_gates.without_ticket + excluded.without_ticket";
    /// Stores recounts.
    PUT_RECOUNTS = "recounts" {
        organization_id: Text, event_id: Text, subject: Text, device_id: Text, scan_id: Text, gate_id: Text, at: Int, inside: Int,
    };
}

fn read_state(row: &mut Row) -> Result<StateRecord> {
    Ok(read_judged(row)?.0)
}
/// Reads a state from a row that an outer join may leave empty. `None`: the subject has no state.
pub(crate) fn read_joined(row: &mut Row) -> Result<Option<StateRecord>> {
    row.joined(COLUMNS, read_state)
}
/// Reads a state together with the verdicts of its scans.
fn read_judged(row: &mut Row) -> Result<(StateRecord, Vec<ScanVerdict>)> {
    let (subject_key, digest, serial) = (row.text()?, row.hash()?, row.count()?);
    let Judgement { state, occupancy, effective, verdicts } = read_judgement(row)?;
    Ok((StateRecord { subject_key, state, effective, occupancy, digest, serial }, verdicts))
}
fn read_judgement(row: &mut Row) -> Result<Judgement> {
    judgement::from_bytes(&row.blob()?).map_err(|error| Error::Bug(error.to_string()))
}

fn state_values<'a>(
    organization_id: Value<'a>,
    event_id: &'a EventId,
    state: &'a StateRecord,
    verdicts: &[ScanVerdict],
) -> [Value<'a>; COLUMNS_STORED] {
    let times = || verdicts.iter().map(|verdict| verdict.at);
    // A state without scans counts nowhere. Statements that count look only at the number of persons.
    let entries = if verdicts.is_empty() { &[][..] } else { &state.state.entries[..] };
    let (persons, inside) = if verdicts.is_empty() { (0, 0) } else { (state.state.persons(), state.state.inside()) };
    [
        organization_id,
        event_id.into(),
        (&state.subject_key).into(),
        state.serial.into(),
        (verdicts.len() as u64).into(),
        persons.into(),
        inside.into(),
        entries.last().map(|entry| entry.at).into(),
        times().min().map_or(i64::MAX, Timestamp::ms).into(),
        times().max().map_or(-1, Timestamp::ms).into(),
        (&state.digest).into(),
        judgement::to_bytes(&state.state, &state.occupancy, &state.effective, verdicts).into(),
    ]
}

impl<D: Driver> SqlTx<'_, D> {
    /// The verdicts of the given subjects, in the order of scans. A subject without verdicts is absent.
    pub(crate) fn load_verdicts(
        &mut self,
        event_id: &EventId,
        subjects: &[String],
    ) -> Result<BTreeMap<String, Vec<ScanVerdict>>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = subjects.iter().map(Value::from).collect();
        let found = self.each(&VERDICTS, &[(&id).into(), event_id.into()], &list, |row| {
            Ok((row.text()?, read_judgement(row)?.verdicts))
        })?;
        Ok(found.into_iter().collect())
    }
    /// Writes the numbers to the counters that are still to be added.
    pub(crate) fn store_counters(&mut self) -> Result<()> {
        for (event_id, (delta, serial)) in std::mem::take(&mut self.held.counters) {
            self.store_delta(&event_id, &delta, serial)?;
        }
        Ok(())
    }
    fn store_delta(&mut self, event_id: &EventId, delta: &Occupancy, serial: u64) -> Result<()> {
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
            delta.walk_ins.into(),
            delta.without_ticket.staff.into(),
            delta.without_ticket.crew.into(),
            delta.without_ticket.child.into(),
            delta.without_ticket.other.into(),
        ];
        self.queue(&ADD_OCCUPANCY, &values)?;
        let mut gates: Vec<Value<'_>> = Vec::new();
        for (gate_id, flow) in &delta.gates {
            gates.extend([(&id).into(), event_id.into(), gate_id.into()]);
            gates.extend([flow.entered.into(), flow.exited.into(), flow.without_ticket.into()]);
        }
        self.queue_many(&ADD_OCCUPANCY_GATES, &gates)
    }
}

impl<D: Driver> TxStates for SqlTx<'_, D> {
    fn subjects_by_time(
        &mut self,
        event_id: &EventId,
        from: Timestamp,
        to: Timestamp,
        inside: bool,
    ) -> Result<Vec<String>> {
        let id = self.organization_id.clone();
        let key = [(&id).into(), event_id.into(), from.into(), to.into()];
        if !inside {
            let mut subjects = self.all(&SUBJECTS_OUTSIDE, &key, Row::text)?;
            subjects.sort();
            return Ok(subjects);
        }
        let found = self.all(&SUBJECTS_INSIDE, &key, |row| Ok((row.text()?, row.bool()?)))?;
        let doubtful: Vec<String> =
            found.iter().filter(|(_, sure)| !sure).map(|(subject, _)| subject.clone()).collect();
        let verdicts = self.load_verdicts(event_id, &doubtful)?;
        let between = |subject: &String| {
            verdicts.get(subject).is_some_and(|found| found.iter().any(|verdict| (from..=to).contains(&verdict.at)))
        };
        let real = found.into_iter().filter(|(subject, sure)| *sure || between(subject));
        let mut subjects: Vec<String> = real.map(|(subject, _)| subject).collect();
        subjects.sort();
        Ok(subjects)
    }
    fn count_subjects_before(&mut self, event_id: &EventId, before: Timestamp) -> Result<u64> {
        let id = self.organization_id.clone();
        let values = [(&id).into(), event_id.into(), before.into()];
        Ok(self.one(&COUNT_SUBJECTS_BEFORE, &values, Row::count)?.unwrap_or_default())
    }
    fn states(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<StateRecord>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = subjects.iter().map(Value::from).collect();
        let mut states = self.each(&STATES, &[(&id).into(), event_id.into()], &list, read_state)?;
        states.sort_by(|a, b| a.subject_key.cmp(&b.subject_key));
        states.dedup_by(|a, b| a.subject_key == b.subject_key);
        Ok(states)
    }
    fn judged_states(
        &mut self,
        event_id: &EventId,
        subjects: &[String],
    ) -> Result<Vec<(StateRecord, Vec<ScanVerdict>)>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = subjects.iter().map(Value::from).collect();
        let mut states = self.each(&STATES, &[(&id).into(), event_id.into()], &list, read_judged)?;
        states.sort_by(|(a, _), (b, _)| a.subject_key.cmp(&b.subject_key));
        states.dedup_by(|(a, _), (b, _)| a.subject_key == b.subject_key);
        Ok(states)
    }
    fn all_states(&mut self, event_id: &EventId) -> Result<Vec<StateRecord>> {
        let id = self.organization_id.clone();
        self.all(&ALL_STATES, &[(&id).into(), event_id.into()], read_state)
    }
    fn put_states(&mut self, event_id: &EventId, states: &[(StateRecord, Vec<ScanVerdict>)]) -> Result<()> {
        let id = self.organization_id.clone();
        let key = [(&id).into(), event_id.into()];
        let subjects: Vec<Value<'_>> = states.iter().map(|(state, _)| Value::from(&state.subject_key)).collect();
        self.queue_each(&DELETE_WAITING, &key, &subjects)?;
        self.insert_states(event_id, states)
    }
    fn insert_states(&mut self, event_id: &EventId, states: &[(StateRecord, Vec<ScanVerdict>)]) -> Result<()> {
        let id = self.organization_id.clone();
        let (mut rows, mut waiting) = (Vec::with_capacity(states.len() * COLUMNS_STORED), Vec::new());
        for (state, verdicts) in states {
            rows.extend(state_values((&id).into(), event_id, state, verdicts));
            for verdict in verdicts.iter().filter(|verdict| verdict.left_out == Some(LeftOut::Unverified)) {
                waiting.extend([
                    (&id).into(),
                    event_id.into(),
                    (&state.subject_key).into(),
                    (&verdict.device_id).into(),
                    (&verdict.scan_id).into(),
                    (&verdict.digest).into(),
                ]);
            }
        }
        self.queue_many(&PUT_STATES, &rows)?;
        self.queue_many(&INSERT_WAITING, &waiting)
    }
    fn add_occupancy(&mut self, event_id: &EventId, delta: &Occupancy, serial: u64) -> Result<()> {
        if !self.writes() {
            return Err(Error::Bug("a read was asked to write".into()));
        }
        let (held, at) = self.held.counters.entry(event_id.clone()).or_default();
        held.add(delta, 1);
        *at = serial;
        Ok(())
    }
    fn occupancy(&mut self, event_id: &EventId) -> Result<Occupancy> {
        self.store_counters()?;
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
                walk_ins: row.int()?,
                without_ticket: WithoutTicket {
                    staff: row.int()?,
                    crew: row.int()?,
                    child: row.int()?,
                    other: row.int()?,
                },
                gates: BTreeMap::new(),
            })
        };
        let totals: Option<Result<Occupancy>> = totals.into_iter().next().map(read_totals);
        let flow = |mut row: Row| {
            let gate_id = row.parsed()?;
            let (entered, exited, without_ticket) = (row.int()?, row.int()?, row.int()?);
            Ok((gate_id, GateFlow { entered, exited, without_ticket }))
        };
        let gates = gates.into_iter().map(flow).collect::<Result<Vec<_>>>()?;
        // A gate whose flow was all undone is a gate without flow, as in core.
        let gates = gates.into_iter().filter(|(_, flow)| *flow != GateFlow::default()).collect();
        Ok(Occupancy { gates, ..totals.transpose()?.unwrap_or_default() })
    }
    fn set_occupancy(&mut self, event_id: &EventId, occupancy: &Occupancy, serial: u64) -> Result<()> {
        let id = self.organization_id.clone();
        self.held.counters.remove(event_id);
        self.queue(&DELETE_OCCUPANCY, &[(&id).into(), event_id.into()])?;
        self.queue(&DELETE_OCCUPANCY_GATES, &[(&id).into(), event_id.into()])?;
        self.add_occupancy(event_id, occupancy, serial)
    }
    fn flow(&mut self, event_id: &EventId, since: Timestamp) -> Result<Vec<MinuteFlow>> {
        let id = self.organization_id.clone();
        self.all(&FLOW, &[(&id).into(), event_id.into(), (since.ms() / MINUTE_MS).into()], |row| {
            Ok(MinuteFlow {
                at: Timestamp::clamped(row.int()?.saturating_mul(MINUTE_MS)),
                gate_id: row.parsed()?,
                entered: row.int()?,
                exited: row.int()?,
                refused: row.int()?,
                without_ticket: row.int()?,
            })
        })
    }
    fn add_flow(&mut self, event_id: &EventId, delta: &[MinuteFlow]) -> Result<()> {
        let id = self.organization_id.clone();
        let mut values: Vec<Value<'_>> = Vec::with_capacity(delta.len() * 8);
        for MinuteFlow { at, gate_id, entered, exited, refused, without_ticket } in delta {
            let minute = (at.ms() / MINUTE_MS).into();
            let counts = [(*entered).into(), (*exited).into(), (*refused).into(), (*without_ticket).into()];
            values.extend([(&id).into(), event_id.into(), minute, gate_id.into()]);
            values.extend(counts);
        }
        self.queue_many(&ADD_FLOW, &values)
    }
    fn set_flow(&mut self, event_id: &EventId, flow: &[MinuteFlow]) -> Result<()> {
        let id = self.organization_id.clone();
        self.queue(&DELETE_FLOW, &[(&id).into(), event_id.into()])?;
        self.add_flow(event_id, flow)
    }
    fn recounts(&mut self, event_id: &EventId) -> Result<Vec<(String, Recount)>> {
        let id = self.organization_id.clone();
        self.all(&RECOUNTS, &[(&id).into(), event_id.into()], |row| {
            let (subject, device_id, scan_id) = (row.text()?, row.parsed()?, row.parsed()?);
            let recount = Recount { gate_id: row.parsed()?, at: row.at()?, device_id, scan_id, inside: row.count()? };
            Ok((subject, recount))
        })
    }
    fn put_recounts(&mut self, event_id: &EventId, recounts: &[(String, Vec<Recount>)]) -> Result<()> {
        let id = self.organization_id.clone();
        let key = [(&id).into(), event_id.into()];
        let subjects: Vec<Value<'_>> = recounts.iter().map(|(subject, _)| Value::from(subject)).collect();
        self.queue_each(&DELETE_RECOUNTS, &key, &subjects)?;
        let mut values: Vec<Value<'_>> = Vec::new();
        for (subject, recount) in recounts.iter().flat_map(|(subject, all)| all.iter().map(move |one| (subject, one))) {
            values.extend([(&id).into(), event_id.into(), subject.into(), (&recount.device_id).into()]);
            values.extend([
                (&recount.scan_id).into(),
                (&recount.gate_id).into(),
                recount.at.into(),
                recount.inside.into(),
            ]);
        }
        self.queue_many(&PUT_RECOUNTS, &values)
    }
    fn clear_recounts(&mut self, event_id: &EventId) -> Result<()> {
        let id = self.organization_id.clone();
        self.queue(&CLEAR_RECOUNTS, &[(&id).into(), event_id.into()])
    }
}

impl<D: Driver> TxWaiting for SqlTx<'_, D> {
    fn clear_waiting(&mut self, event_id: &EventId) -> Result<()> {
        let id = self.organization_id.clone();
        self.queue(&CLEAR_WAITING, &[(&id).into(), event_id.into()])
    }
    fn all_waiting_scans(&mut self, event_id: &EventId) -> Result<Vec<(DeviceId, WaitingScan)>> {
        let id = self.organization_id.clone();
        self.all(&ALL_WAITING, &[(&id).into(), event_id.into()], |row| {
            let (device_id, scan_id, digest) = (row.parsed()?, row.parsed()?, Digest(row.hash()?));
            Ok((device_id, WaitingScan { scan_id, digest, subject_key: row.text()? }))
        })
    }
}
