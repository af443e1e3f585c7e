//! The bytes in which a store keeps the reducer's result for a subject.
//!
//! The bytes begin with [`VERSION`] and the names: each id that the result mentions, once. Then come the state, the
//! counters, the scans that count, and the verdicts. A number is a varint of 7 bits per byte, the lowest first. A
//! signed number is zigzag-encoded (0, −1, 1, −2, …). A time is its distance to the time written before it. A word of a
//! closed vocabulary is written as its index there, so vocabularies may only grow at their end. Equal judgements give
//! equal bytes.

use std::collections::BTreeMap;

use crate::decide::Reason;
use crate::ids::{DeviceId, GateId, ScanId, uuid_of_bytes, uuid_to_bytes};
use crate::occupancy::{GateFlow, Occupancy, WithoutTicket};
use crate::reduce::{ConflictReason, EffectiveScan, Entry, LeftOut, ScanVerdict, TicketState};
use crate::scan::{Digest, Headcount, Outcome, PersonClass, ScanKind};
use crate::time::Timestamp;

/// The version of the format, which is the first byte.
pub const VERSION: u8 = 1;

/// Why bytes cannot be read as a judgement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgementError {
    /// The first byte names this version, which this code does not know.
    #[error("a subject's state is of version {0}; this version reads {VERSION}")]
    Version(u8),
    /// The part with this name cannot be read.
    #[error("a subject's state is damaged: {0}")]
    Damaged(&'static str),
}

type Result<T> = std::result::Result<T, JudgementError>;

/// The reducer's result for a subject, without its causes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    /// The subject's state.
    pub state: TicketState,
    /// The subject's part in the event's counters.
    pub occupancy: Occupancy,
    /// The scans that count, in the reducer's order.
    pub effective: Vec<EffectiveScan>,
    /// One verdict per scan, in the reducer's order.
    pub verdicts: Vec<ScanVerdict>,
}

/// Writes a judgement as bytes.
pub fn to_bytes(
    state: &TicketState,
    occupancy: &Occupancy,
    effective: &[EffectiveScan],
    verdicts: &[ScanVerdict],
) -> Vec<u8> {
    let mut to = Writer::default();
    to.state(state);
    to.occupancy(occupancy);
    to.unsigned(effective.len() as u64);
    effective.iter().for_each(|scan| to.effective(scan));
    to.unsigned(verdicts.len() as u64);
    verdicts.iter().for_each(|verdict| to.verdict(verdict));
    to.finish()
}

/// Reads the bytes that [`to_bytes`] wrote.
pub fn from_bytes(bytes: &[u8]) -> Result<Judgement> {
    let mut from = Reader::open(bytes)?;
    let judgement = Judgement {
        state: from.state()?,
        occupancy: from.occupancy()?,
        effective: from.list(Reader::effective)?,
        verdicts: from.list(Reader::verdict)?,
    };
    if from.left.is_empty() { Ok(judgement) } else { Err(JudgementError::Damaged("goes on behind its end")) }
}

/// Writes the body, and collects the names that are put before it.
#[derive(Default)]
struct Writer<'a> {
    body: Vec<u8>,
    names: Vec<&'a str>,
    at_ms: i64,
}

impl<'a> Writer<'a> {
    fn finish(self) -> Vec<u8> {
        let mut out = Writer { body: Vec::with_capacity(self.body.len() + 64), ..Writer::default() };
        out.body.push(VERSION);
        out.unsigned(self.names.len() as u64);
        self.names.iter().for_each(|name| out.text(name));
        out.body.extend(self.body);
        out.body
    }
    fn unsigned(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.body.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.body.push(value as u8);
    }
    fn signed(&mut self, value: i64) {
        self.unsigned(((value << 1) ^ (value >> 63)) as u64);
    }
    fn at(&mut self, at: Timestamp) {
        self.signed(at.ms().wrapping_sub(self.at_ms));
        self.at_ms = at.ms();
    }
    /// Writes a text: a UUID in Admit's form as 0 and 16 bytes, any other text as its length + 1 and its UTF-8.
    fn text(&mut self, text: &str) {
        match uuid_to_bytes(text) {
            Some(uuid) => {
                self.body.push(0);
                self.body.extend(uuid);
            }
            None => {
                self.unsigned(text.len() as u64 + 1);
                self.body.extend(text.as_bytes());
            }
        }
    }
    fn name(&mut self, name: &'a str) {
        let place = self.names.iter().position(|one| *one == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        self.unsigned(place as u64);
    }
    fn word<T: PartialEq>(&mut self, all: &[T], word: &T) {
        self.unsigned(all.iter().position(|one| one == word).unwrap_or_default() as u64);
    }
    /// Writes a word, or for `None` the index after the vocabulary's end.
    fn word_or_none<T: PartialEq>(&mut self, all: &[T], word: Option<&T>) {
        match word {
            Some(word) => self.word(all, word),
            None => self.unsigned(all.len() as u64),
        }
    }
    fn flags(&mut self, flags: &[bool]) {
        self.unsigned(flags.iter().enumerate().fold(0, |bits, (n, flag)| bits | u64::from(*flag) << n));
    }
    fn state(&mut self, state: &'a TicketState) {
        let TicketState { within, over, inside_within, inside_over, exited, entries } = state;
        [within, over, inside_within, inside_over, exited].into_iter().for_each(|one| self.unsigned(u64::from(*one)));
        self.unsigned(entries.len() as u64);
        for Entry { at, uncertainty_ms, device_id, scan_id, gate_id, within, over } in entries {
            self.at(*at);
            self.unsigned(*uncertainty_ms);
            [device_id.as_str(), scan_id.as_str(), gate_id.as_str()].into_iter().for_each(|id| self.name(id));
            [within, over].into_iter().for_each(|one| self.unsigned(u64::from(*one)));
        }
    }
    fn occupancy(&mut self, occupancy: &'a Occupancy) {
        let Occupancy { inside, inside_over, entered, over, exited, subjects, walk_ins, without_ticket, gates } =
            occupancy;
        let WithoutTicket { staff, crew, child, other } = without_ticket;
        [inside, inside_over, entered, over, exited, subjects, walk_ins, staff, crew, child, other]
            .into_iter()
            .for_each(|one| self.signed(*one));
        self.unsigned(gates.len() as u64);
        for (gate_id, GateFlow { entered, exited, without_ticket }) in gates {
            self.name(gate_id.as_str());
            [entered, exited, without_ticket].into_iter().for_each(|one| self.signed(*one));
        }
    }
    fn effective(&mut self, scan: &'a EffectiveScan) {
        let EffectiveScan {
            device_id,
            scan_id,
            at,
            uncertainty_ms,
            implausible,
            kind,
            count,
            opened,
            gate_id,
            s2,
            claim,
        } = scan;
        [device_id.as_str(), scan_id.as_str(), gate_id.as_str()].into_iter().for_each(|id| self.name(id));
        self.at(*at);
        self.unsigned(*uncertainty_ms);
        self.word(ScanKind::ALL, kind);
        self.unsigned(u64::from(*count));
        self.flags(&[*implausible, *opened, *s2, *claim]);
    }
    fn verdict(&mut self, verdict: &'a ScanVerdict) {
        let ScanVerdict {
            device_id,
            scan_id,
            digest,
            at,
            implausible,
            gate_id,
            kind,
            left_out,
            outcome,
            reason,
            opened,
            count,
            within,
            over,
            exited,
            exited_over,
            conflict,
            conflict_reason,
            admitted_in_error,
            refused_in_error,
            basis_mismatch,
            headcount,
        } = verdict;
        [device_id.as_str(), scan_id.as_str(), gate_id.as_str()].into_iter().for_each(|id| self.name(id));
        self.at(*at);
        self.word(ScanKind::ALL, kind);
        self.word(Outcome::ALL, outcome);
        self.word_or_none(LeftOut::ALL, left_out.as_ref());
        self.word_or_none(Reason::ALL, reason.as_ref());
        self.word_or_none(ConflictReason::ALL, conflict_reason.as_ref());
        let in_error = [*admitted_in_error, *refused_in_error, *basis_mismatch];
        self.flags(&[&[*implausible, *opened, *conflict, digest.is_some()], &in_error[..]].concat());
        self.body.extend(digest.iter().flat_map(|digest| digest.0));
        [count, within, over, exited, exited_over].into_iter().for_each(|one| self.unsigned(u64::from(*one)));
        match headcount {
            None => self.unsigned(NO_HEADCOUNT),
            Some(Headcount::Recount { inside }) => {
                self.unsigned(RECOUNT);
                self.unsigned(u64::from(*inside));
            }
            Some(Headcount::Change { class, delta }) => {
                self.word(PersonClass::ALL, class);
                self.signed(i64::from(*delta));
            }
        }
    }
}

/// The number that stands for a recount in place of a headcount's [`PersonClass`]: the first after the classes.
/// [`NO_HEADCOUNT`], the next number, means that the verdict has no headcount.
const RECOUNT: u64 = PersonClass::ALL.len() as u64;
const NO_HEADCOUNT: u64 = RECOUNT + 1;

struct Reader<'a> {
    left: &'a [u8],
    names: Vec<String>,
    at_ms: i64,
}

fn damaged(what: &'static str) -> JudgementError {
    JudgementError::Damaged(what)
}

impl<'a> Reader<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self> {
        let left = match bytes {
            [VERSION, left @ ..] => left,
            [version, ..] => return Err(JudgementError::Version(*version)),
            [] => return Err(damaged("empty")),
        };
        let mut reader = Self { left, names: Vec::new(), at_ms: 0 };
        reader.names = reader.list(Self::text)?;
        Ok(reader)
    }
    /// Reads a list that begins with its length. The length is not trusted: memory is reserved only for bytes that are
    /// there.
    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.unsigned()?;
        let mut out = Vec::with_capacity(usize::try_from(count).unwrap_or(usize::MAX).min(self.left.len() / 4));
        for _ in 0..count {
            out.push(read(self)?);
        }
        Ok(out)
    }
    fn raw<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        let (bytes, left) = self.left.split_first_chunk().ok_or(damaged(what))?;
        self.left = left;
        Ok(*bytes)
    }
    fn unsigned(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.raw("a number")?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(damaged("a number"))
    }
    fn signed(&mut self) -> Result<i64> {
        let value = self.unsigned()?;
        Ok(((value >> 1) as i64) ^ -((value & 1) as i64))
    }
    fn persons(&mut self) -> Result<u32> {
        u32::try_from(self.unsigned()?).map_err(|_| damaged("persons"))
    }
    fn at(&mut self) -> Result<Timestamp> {
        self.at_ms = self.at_ms.wrapping_add(self.signed()?);
        Timestamp::from_ms(self.at_ms).map_err(|_| damaged("a time"))
    }
    fn text(&mut self) -> Result<String> {
        let Some(length) = self.unsigned()?.checked_sub(1) else { return Ok(uuid_of_bytes(self.raw("an id")?)) };
        let length = usize::try_from(length).map_err(|_| damaged("an id"))?;
        let (bytes, left) = self.left.split_at_checked(length).ok_or(damaged("an id"))?;
        self.left = left;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| damaged("an id"))
    }
    fn id<T>(&mut self, make: impl Fn(String) -> Option<T>) -> Result<T> {
        let place = usize::try_from(self.unsigned()?).unwrap_or(usize::MAX);
        self.names.get(place).cloned().and_then(make).ok_or(damaged("an id"))
    }
    fn scan(&mut self) -> Result<(DeviceId, ScanId, GateId)> {
        Ok((
            self.id(|id| DeviceId::new(id).ok())?,
            self.id(|id| ScanId::new(id).ok())?,
            self.id(|id| GateId::new(id).ok())?,
        ))
    }
    fn word_or_none<T: Copy>(&mut self, all: &[T]) -> Result<Option<T>> {
        let place = usize::try_from(self.unsigned()?).unwrap_or(usize::MAX);
        if place > all.len() { Err(damaged("a word")) } else { Ok(all.get(place).copied()) }
    }
    fn word<T: Copy>(&mut self, all: &[T]) -> Result<T> {
        self.word_or_none(all)?.ok_or(damaged("a word"))
    }
    fn flags<const N: usize>(&mut self) -> Result<[bool; N]> {
        let bits = self.unsigned()?;
        if bits >> N != 0 {
            return Err(damaged("flags"));
        }
        Ok(std::array::from_fn(|n| bits >> n & 1 == 1))
    }
    fn state(&mut self) -> Result<TicketState> {
        Ok(TicketState {
            within: self.persons()?,
            over: self.persons()?,
            inside_within: self.persons()?,
            inside_over: self.persons()?,
            exited: self.persons()?,
            entries: self.list(Self::entry)?,
        })
    }
    fn entry(&mut self) -> Result<Entry> {
        let (at, uncertainty_ms) = (self.at()?, self.unsigned()?);
        let (device_id, scan_id, gate_id) = self.scan()?;
        let (within, over) = (self.persons()?, self.persons()?);
        Ok(Entry { at, uncertainty_ms, device_id, scan_id, gate_id, within, over })
    }
    fn occupancy(&mut self) -> Result<Occupancy> {
        Ok(Occupancy {
            inside: self.signed()?,
            inside_over: self.signed()?,
            entered: self.signed()?,
            over: self.signed()?,
            exited: self.signed()?,
            subjects: self.signed()?,
            walk_ins: self.signed()?,
            without_ticket: WithoutTicket {
                staff: self.signed()?,
                crew: self.signed()?,
                child: self.signed()?,
                other: self.signed()?,
            },
            gates: self.list(Self::gate)?.into_iter().collect::<BTreeMap<_, _>>(),
        })
    }
    fn gate(&mut self) -> Result<(GateId, GateFlow)> {
        let gate_id = self.id(|id| GateId::new(id).ok())?;
        Ok((gate_id, GateFlow { entered: self.signed()?, exited: self.signed()?, without_ticket: self.signed()? }))
    }
    fn effective(&mut self) -> Result<EffectiveScan> {
        let (device_id, scan_id, gate_id) = self.scan()?;
        let (at, uncertainty_ms) = (self.at()?, self.unsigned()?);
        let (kind, count) = (self.word(ScanKind::ALL)?, self.persons()?);
        let [implausible, opened, s2, claim] = self.flags()?;
        Ok(EffectiveScan {
            device_id,
            scan_id,
            at,
            uncertainty_ms,
            implausible,
            kind,
            count,
            opened,
            gate_id,
            s2,
            claim,
        })
    }
    fn verdict(&mut self) -> Result<ScanVerdict> {
        let (device_id, scan_id, gate_id) = self.scan()?;
        let at = self.at()?;
        let (kind, outcome) = (self.word(ScanKind::ALL)?, self.word(Outcome::ALL)?);
        let left_out = self.word_or_none(LeftOut::ALL)?;
        let (reason, conflict_reason) = (self.word_or_none(Reason::ALL)?, self.word_or_none(ConflictReason::ALL)?);
        let [implausible, opened, conflict, has_digest, admitted_in_error, refused_in_error, basis_mismatch] =
            self.flags()?;
        let digest = has_digest.then(|| self.raw("a digest").map(Digest)).transpose()?;
        Ok(ScanVerdict {
            device_id,
            scan_id,
            digest,
            at,
            implausible,
            gate_id,
            kind,
            left_out,
            outcome,
            reason,
            opened,
            count: self.persons()?,
            within: self.persons()?,
            over: self.persons()?,
            exited: self.persons()?,
            exited_over: self.persons()?,
            conflict,
            conflict_reason,
            admitted_in_error,
            refused_in_error,
            basis_mismatch,
            headcount: self.headcount()?,
        })
    }
    fn headcount(&mut self) -> Result<Option<Headcount>> {
        match self.unsigned()? {
            NO_HEADCOUNT => Ok(None),
            RECOUNT => Ok(Some(Headcount::Recount { inside: self.persons()? })),
            place => {
                let class = usize::try_from(place).ok().and_then(|place| PersonClass::ALL.get(place));
                let class = *class.ok_or(damaged("a headcount"))?;
                let delta = self.signed()?.try_into().map_err(|_| damaged("a headcount"))?;
                Ok(Some(Headcount::Change { class, delta }))
            }
        }
    }
}
