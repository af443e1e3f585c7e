//! Statements about derived data: states of subjects with their verdicts, and the counters of who is inside.

use std::collections::BTreeMap;

use admit_app::error::{Error, Result};
use admit_app::ports::{TxStates, TxWaiting};
use admit_app::records::{MinuteFlow, StateRecord, WaitingScan};
use admit_core::ids::{DeviceId, EventId, TicketId};
use admit_core::incident::Subject;
use admit_core::judgement::{self, Judgement};
use admit_core::occupancy::{GateFlow, Occupancy, Recount, WithoutTicket};
use admit_core::reduce::{LeftOut, ScanVerdict};
use admit_core::scan::Digest;
use admit_core::time::Timestamp;

use crate::driver::{Asked, Driver, bulks, statements};
use crate::state_blocks::Stored;
use crate::state_codec::{Entry, Standing};
use crate::tx::SqlTx;
use crate::value::{Row, Value};

const MINUTE_MS: i64 = 60_000;

statements! {
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

/// A state as a block holds it.
fn entry((state, verdicts): &(StateRecord, Vec<ScanVerdict>)) -> Entry {
    let StateRecord { subject_key, state, effective, occupancy, serial: _ } = state;
    let times = || verdicts.iter().map(|verdict| verdict.at.ms());
    let (Some(first_at), Some(last_at)) = (times().min(), times().max()) else {
        // A state without scans counts nowhere. Only those who follow the event's changes must learn of it.
        return Entry { subject: subject_key.clone(), standing: Standing::default(), judgement: Vec::new() };
    };
    let standing = Standing {
        scans: verdicts.len() as u64,
        persons: state.persons(),
        inside: state.inside(),
        entered_at: state.entries.last().map(|entry| entry.at.ms()),
        first_at,
        last_at,
    };
    let judgement = judgement::to_bytes(state, occupancy, effective, verdicts);
    Entry { subject: subject_key.clone(), standing, judgement }
}
/// A stored state with the verdicts of its scans. `None` if it has no scans.
fn judged(stored: Stored) -> Result<Option<(StateRecord, Vec<ScanVerdict>)>> {
    let Stored { serial, entry: Entry { subject, standing, judgement } } = stored;
    if standing.scans == 0 {
        return Ok(None);
    }
    let judgement = judgement::from_bytes(&judgement).map_err(|error| Error::Bug(error.to_string()))?;
    let Judgement { state, occupancy, effective, verdicts } = judgement;
    Ok(Some((StateRecord { subject_key: subject, state, effective, occupancy, serial }, verdicts)))
}

impl<D: Driver> SqlTx<'_, D> {
    /// The states of the given subjects that have scans, each with its verdicts, by subject.
    pub(crate) fn load_states(
        &mut self,
        event_id: &EventId,
        subjects: &[String],
    ) -> Result<BTreeMap<String, (StateRecord, Vec<ScanVerdict>)>> {
        let found = self.newest_states(event_id, subjects)?.into_values().map(judged).collect::<Result<Vec<_>>>()?;
        Ok(found.into_iter().flatten().map(|found| (found.0.subject_key.clone(), found)).collect())
    }
    /// The states of tickets that have scans, by ticket.
    pub(crate) fn states_of_tickets<'t>(
        &mut self,
        event_id: &EventId,
        tickets: impl Iterator<Item = &'t TicketId>,
    ) -> Result<BTreeMap<TicketId, StateRecord>> {
        let subjects: Vec<String> = tickets.map(|ticket_id| Subject::Ticket(ticket_id.clone()).key()).collect();
        let found = self.load_states(event_id, &subjects)?.into_values();
        let of_ticket = |(state, _): (StateRecord, _)| match Subject::from_key(&state.subject_key) {
            Some(Subject::Ticket(ticket_id)) => Some((ticket_id, state)),
            _ => None,
        };
        Ok(found.filter_map(of_ticket).collect())
    }
    /// The verdicts of the given subjects, in the order of scans. A subject without verdicts is absent.
    pub(crate) fn load_verdicts(
        &mut self,
        event_id: &EventId,
        subjects: &[String],
    ) -> Result<BTreeMap<String, Vec<ScanVerdict>>> {
        let found = self.load_states(event_id, subjects)?.into_iter();
        Ok(found.map(|(subject, (_, verdicts))| (subject, verdicts)).collect())
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
        let (from_ms, to_ms) = (from.ms(), to.ms());
        let overlaps = |one: &Standing| {
            if inside {
                one.last_at >= from_ms && one.first_at <= to_ms
            } else {
                one.first_at < from_ms || one.last_at > to_ms
            }
        };
        let mut found: Vec<(String, Standing)> = self.standings(event_id)?.into_iter().collect();
        found.retain(|(_, standing)| overlaps(standing));
        // A subject whose first and last scan lie around the range may have none in it.
        let sure = |one: &Standing| !inside || one.first_at >= from_ms || one.last_at <= to_ms;
        let doubtful: Vec<String> =
            found.iter().filter(|(_, standing)| !sure(standing)).map(|(subject, _)| subject.clone()).collect();
        let verdicts = self.load_verdicts(event_id, &doubtful)?;
        let between = |subject: &String| {
            verdicts.get(subject).is_some_and(|found| found.iter().any(|verdict| (from..=to).contains(&verdict.at)))
        };
        found.retain(|(subject, standing)| sure(standing) || between(subject));
        let mut subjects: Vec<String> = found.into_iter().map(|(subject, _)| subject).collect();
        subjects.sort();
        Ok(subjects)
    }
    fn count_subjects_before(&mut self, event_id: &EventId, before: Timestamp) -> Result<u64> {
        let standings = self.standings(event_id)?;
        Ok(standings.values().filter(|standing| standing.first_at < before.ms()).count() as u64)
    }
    fn states(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<StateRecord>> {
        Ok(self.load_states(event_id, subjects)?.into_values().map(|(state, _)| state).collect())
    }
    fn judged_states(
        &mut self,
        event_id: &EventId,
        subjects: &[String],
    ) -> Result<Vec<(StateRecord, Vec<ScanVerdict>)>> {
        Ok(self.load_states(event_id, subjects)?.into_values().collect())
    }
    fn subjects_with_states(&mut self, event_id: &EventId) -> Result<Vec<String>> {
        Self::subjects_with_states(self, event_id)
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
        let (mut entries, mut waiting): (BTreeMap<u64, Vec<Entry>>, _) = (BTreeMap::new(), Vec::new());
        for judged in states {
            let (state, verdicts) = judged;
            entries.entry(state.serial).or_default().push(entry(judged));
            for verdict in verdicts.iter().filter(|verdict| verdict.left_out == Some(LeftOut::Unverified)) {
                let no_digest =
                    || Error::Bug(format!("{} is left out, and nothing says which content", verdict.scan_id));
                let digest = verdict.digest.as_ref().ok_or_else(no_digest)?;
                waiting.extend([
                    (&id).into(),
                    event_id.into(),
                    (&state.subject_key).into(),
                    (&verdict.device_id).into(),
                    (&verdict.scan_id).into(),
                    digest.into(),
                ]);
            }
        }
        for (serial, entries) in entries {
            self.append_states(event_id, serial, entries)?;
        }
        self.queue_many(&INSERT_WAITING, &waiting)
    }
    fn delete_states_before(&mut self, event_id: &EventId, serial: u64) -> Result<()> {
        Self::delete_states_before(self, event_id, serial)
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
