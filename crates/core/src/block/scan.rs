//! The columns of a scan's content, in the order of [`put`].
//!
//! A word of a closed vocabulary is written as its index there, so vocabularies may only grow at their end. Numbers
//! that are close to each other are written as differences: `wall_ms` minus `at`, `mono_ms` minus `wall_ms`,
//! `last_entry_at` minus `at`.

use super::columns::{BlockError, Column, Reader, Writer};
use crate::barcode::BarcodeHash;
use crate::ids::{DeviceId, KeyId, LogId, ScanId, TicketId};
use crate::rule::Epoch;
use crate::scan::{
    Basis, ClockEvidence, Digest, Form, Headcount, Method, Outcome, Override, PersonClass, Scan, ScanKind, Stage,
    WalkIn,
};
use crate::sign::{content_digest, prev_of};
use crate::ticket::TicketStatus;
use crate::time::Timestamp;

/// The ways to write a hash of a scan. [`ABSENT`]: the scan has none. [`BESIDE`]: the reader takes it from elsewhere,
/// `raw_hash` from `barcode_hash`, and `prev` from the digest of the scan before. [`OWN`]: the block has its bytes.
const ABSENT: i64 = 0;
const BESIDE: i64 = 1;
const OWN: i64 = 2;

/// The index of a word in its vocabulary.
pub(super) fn place<T: PartialEq>(all: &[T], word: T) -> i64 {
    all.iter().position(|one| *one == word).unwrap_or_default() as i64
}
/// The word at an index. Fails if there is none.
pub(super) fn word<T: Copy>(all: &[T], place: Option<i64>, what: &'static str) -> Result<T, BlockError> {
    let place = place.and_then(|place| usize::try_from(place).ok());
    place.and_then(|place| all.get(place)).copied().ok_or(BlockError::Damaged(what))
}
/// Converts a number to the type of its field. Fails if it does not fit.
pub(super) fn fits<T: TryFrom<i64>>(value: i64, what: &'static str) -> Result<T, BlockError> {
    T::try_from(value).map_err(|_| BlockError::Damaged(what))
}
pub(super) fn flag(value: Option<i64>, what: &'static str) -> Result<bool, BlockError> {
    match value {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        _ => Err(BlockError::Damaged(what)),
    }
}

/// A headcount as two numbers: its kind (a class of people who came or went, or a recount) and its number of people.
fn parts(headcount: &Headcount) -> (i64, i64) {
    match headcount {
        Headcount::Change { class, delta } => (place(PersonClass::ALL, *class), i64::from(*delta)),
        Headcount::Recount { inside } => (RECOUNT, i64::from(*inside)),
    }
}
/// The index after those of every class. It stands for a recount.
const RECOUNT: i64 = PersonClass::ALL.len() as i64;

fn headcount(what: i64, number: i64) -> Result<Headcount, BlockError> {
    if what == RECOUNT {
        return Ok(Headcount::Recount { inside: fits(number, "headcount")? });
    }
    let class = word(PersonClass::ALL, Some(what), "headcount")?;
    Ok(Headcount::Change { class, delta: fits(number, "headcount")? })
}

/// Writes the columns of all fields.
pub(super) fn put<'a>(
    to: &mut Writer,
    scans: impl Iterator<Item = &'a Scan> + Clone,
    digests: impl Iterator<Item = Digest>,
) {
    let all = || scans.clone();
    to.numbers(all().map(|one| place(Form::ALL, one.form)));
    to.numbers(all().map(|one| place(ScanKind::ALL, one.kind)));
    to.numbers(all().map(|one| place(Stage::ALL, one.stage)));
    to.numbers(all().map(|one| place(Method::ALL, one.method)));
    to.numbers(all().map(|one| place(Outcome::ALL, one.outcome)));
    to.numbers(all().map(|one| i64::from(one.opened)));
    to.numbers(all().map(|one| i64::from(one.practice)));
    to.texts(all().map(|one| one.scan_id.as_str()));
    to.texts(all().map(|one| one.device_id.as_str()));
    to.some_texts(all().map(|one| one.log_id.as_ref().map(LogId::as_str)));
    to.some_numbers(all().map(|one| one.seq.map(|seq| seq as i64)));
    to.some_texts(all().map(|one| one.key_id.as_ref().map(KeyId::as_str)));
    to.texts(all().map(|one| one.event_id.as_str()));
    to.texts(all().map(|one| one.gate_id.as_str()));
    put_codes(to, scans.clone());
    to.numbers(all().map(|one| i64::from(one.count)));
    put_staff(to, scans.clone());
    to.numbers(all().map(|one| one.at.ms()));
    to.numbers(all().map(|one| one.uncertainty_ms as i64));
    put_clocks(to, scans.clone());
    to.some_numbers(all().map(|one| one.epoch.map(|epoch| epoch.restored_at_ms)));
    to.some_numbers(all().map(|one| one.epoch.map(|epoch| epoch.random as i64)));
    to.numbers(all().map(|one| one.manifest_version as i64));
    to.numbers(all().map(|one| one.cursor as i64));
    put_basis(to, scans.clone());
    put_chain(to, scans, digests);
}

fn put_codes<'a>(to: &mut Writer, scans: impl Iterator<Item = &'a Scan> + Clone) {
    let raw = |one: &'a Scan| match &one.raw_hash {
        None => ABSENT,
        same if *same == one.barcode_hash => BESIDE,
        Some(_) => OWN,
    };
    to.some_bytes(scans.clone().map(|one| one.barcode_hash.as_ref().map(|hash| &hash.0)));
    to.numbers(scans.clone().map(raw));
    to.some_bytes(scans.clone().map(|one| one.raw_hash.as_ref().filter(|_| raw(one) == OWN).map(|hash| &hash.0)));
    to.some_texts(scans.map(|one| one.ticket_id.as_ref().map(TicketId::as_str)));
}

/// Writes the columns of what staff said or did.
fn put_staff<'a>(to: &mut Writer, scans: impl Iterator<Item = &'a Scan> + Clone) {
    let all = || scans.clone();
    to.some_texts(all().map(|one| one.override_.as_ref().map(|set_aside| set_aside.by.as_str())));
    to.some_texts(all().map(|one| one.override_.as_ref().map(|set_aside| set_aside.reason.as_str())));
    to.some_texts(all().map(|one| one.walk_in.as_ref().map(|walk_in| walk_in.zone.as_str())));
    to.some_numbers(all().map(|one| one.walk_in.as_ref().map(|walk_in| i64::from(walk_in.party))));
    to.some_bytes(all().map(|one| one.walk_in.as_ref().map(|walk_in| &walk_in.name_digest)));
    to.some_numbers(all().map(|one| one.headcount.as_ref().map(|headcount| parts(headcount).0)));
    to.some_numbers(all().map(|one| one.headcount.as_ref().map(|headcount| parts(headcount).1)));
    to.some_texts(all().map(|one| one.operator.as_deref()));
    to.some_texts(all().map(|one| one.target_device.as_ref().map(DeviceId::as_str)));
    to.some_texts(all().map(|one| one.target_scan_id.as_ref().map(ScanId::as_str)));
    to.numbers(all().map(|one| i64::from(one.keep)));
}

fn put_clocks<'a>(to: &mut Writer, scans: impl Iterator<Item = &'a Scan> + Clone) {
    let of = |read: fn(&ClockEvidence, &Scan) -> i64| {
        scans.clone().map(move |one| one.clock.as_ref().map(|clock| read(clock, one)))
    };
    to.some_numbers(of(|clock, scan| clock.wall_ms.wrapping_sub(scan.at.ms())));
    to.some_numbers(of(|clock, _| clock.mono_ms.wrapping_sub(clock.wall_ms)));
    to.some_texts(scans.clone().map(|one| one.clock.as_ref().map(|clock| clock.session_id.as_str())));
    to.some_numbers(of(|clock, _| i64::from(clock.corrected)));
}

fn put_basis<'a>(to: &mut Writer, scans: impl Iterator<Item = &'a Scan> + Clone) {
    let all = || scans.clone();
    to.some_numbers(all().map(|one| one.basis.as_ref().map(|basis| i64::from(basis.within))));
    to.some_numbers(all().map(|one| one.basis.as_ref().map(|basis| i64::from(basis.inside))));
    to.some_numbers(all().map(|one| one.basis.as_ref().map(|basis| i64::from(basis.spent))));
    let last = |one: &Scan| one.basis.as_ref()?.last_entry_at.map(|at| at.ms().wrapping_sub(one.at.ms()));
    to.some_numbers(all().map(last));
    let status = |one: &Scan| one.basis.as_ref()?.status.map(|status| place(TicketStatus::ALL, status));
    to.some_numbers(all().map(status));
}

/// Writes `prev`, which is the hash of the scan before in the log. If the block has that scan just before this one,
/// only the mark [`BESIDE`] is written, and the reader computes the hash.
fn put_chain<'a>(
    to: &mut Writer,
    scans: impl Iterator<Item = &'a Scan> + Clone,
    digests: impl Iterator<Item = Digest>,
) {
    let mut before: Option<Digest> = None;
    let mut chain = Vec::with_capacity(crate::limits::BLOCK_SCANS);
    for (scan, digest) in scans.clone().zip(digests) {
        chain.push(match (scan.prev, before) {
            (None, _) => ABSENT,
            (Some(prev), Some(before)) if prev == prev_of(&before) => BESIDE,
            (Some(_), _) => OWN,
        });
        before = Some(digest);
    }
    to.numbers(chain.iter().copied());
    let own = scans.zip(&chain).map(|(scan, chain)| scan.prev.as_ref().filter(|_| *chain == OWN));
    to.some_bytes(own);
}

/// Scans, and the digests that were computed on the way.
pub(super) struct Taken {
    pub scans: Vec<Scan>,
    pub digests: Vec<Option<Digest>>,
}

/// Reads the columns of all fields, but `prev` only of the first `whole` scans. The reader must compute each `prev`
/// from the scan before. Callers that need no later scan save that time.
pub(super) fn take(from: &mut Reader<'_>, whole: usize) -> Result<Taken, BlockError> {
    let mut scans = take_heads(from)?;
    take_codes(from, &mut scans)?;
    set(&mut scans, from.numbers("count")?, |scan| &mut scan.count, |count| fits(need(count, "count")?, "count"))?;
    take_staff(from, &mut scans)?;
    set(&mut scans, from.numbers("at")?, |scan| &mut scan.at, |ms| at(need(ms, "at")?, "at"))?;
    let what = "uncertainty_ms";
    set(&mut scans, from.numbers(what)?, |scan| &mut scan.uncertainty_ms, |ms| Ok(need(ms, what)? as u64))?;
    take_clocks(from, &mut scans)?;
    let what = "epoch";
    fill(&mut scans, both(from.numbers(what)?, from.numbers(what)?, what), |scan, parts| {
        scan.epoch = parts?.map(|(restored_at_ms, random)| Epoch { restored_at_ms, random: random as u64 });
        Ok(())
    })?;
    let what = "manifest_version";
    set(&mut scans, from.numbers(what)?, |scan| &mut scan.manifest_version, |one| Ok(need(one, what)? as u64))?;
    set(&mut scans, from.numbers("cursor")?, |scan| &mut scan.cursor, |one| Ok(need(one, "cursor")? as u64))?;
    take_basis(from, &mut scans)?;
    let digests = take_chain(from, &mut scans, whole)?;
    Ok(Taken { scans, digests })
}

/// Gives each scan its value of a column, by a function that sets it.
fn fill<T>(
    scans: &mut [Scan],
    mut values: impl Iterator<Item = T>,
    mut set: impl FnMut(&mut Scan, T) -> Result<(), BlockError>,
) -> Result<(), BlockError> {
    scans.iter_mut().zip(&mut values).try_for_each(|(scan, value)| set(scan, value))
}
/// Gives each scan its value of a column, for a field that is computed from the value alone.
fn set<T, F>(
    scans: &mut [Scan],
    values: Column<T>,
    field: impl Fn(&mut Scan) -> &mut F,
    read: impl Fn(Option<T>) -> Result<F, BlockError>,
) -> Result<(), BlockError> {
    fill(scans, values, |scan, value| {
        *field(scan) = read(value)?;
        Ok(())
    })
}
/// Joins two columns whose values belong together. Fails if a scan has only one of the two.
fn both<A, B>(
    a: impl Iterator<Item = Option<A>>,
    b: impl Iterator<Item = Option<B>>,
    what: &'static str,
) -> impl Iterator<Item = Result<Option<(A, B)>, BlockError>> {
    a.zip(b).map(move |pair| match pair {
        (Some(a), Some(b)) => Ok(Some((a, b))),
        (None, None) => Ok(None),
        _ => Err(BlockError::Damaged(what)),
    })
}
/// The value of a field that every scan has. Fails if it is absent.
pub(super) fn need<T>(value: Option<T>, what: &'static str) -> Result<T, BlockError> {
    value.ok_or(BlockError::Damaged(what))
}
fn id<T: TryFrom<String>>(text: Option<String>, what: &'static str) -> Result<T, BlockError> {
    need(some_id(text, what)?, what)
}
fn some_id<T: TryFrom<String>>(text: Option<String>, what: &'static str) -> Result<Option<T>, BlockError> {
    text.map(|text| text.try_into().map_err(|_| BlockError::Damaged(what))).transpose()
}
pub(super) fn at(ms: i64, what: &'static str) -> Result<Timestamp, BlockError> {
    Timestamp::from_ms(ms).map_err(|_| BlockError::Damaged(what))
}

/// Reads the fields that every scan has. All other fields of the scans are still empty.
fn take_heads(from: &mut Reader<'_>) -> Result<Vec<Scan>, BlockError> {
    let (mut form, mut kind, mut stage) = (from.numbers("form")?, from.numbers("kind")?, from.numbers("stage")?);
    let (mut method, mut outcome) = (from.numbers("method")?, from.numbers("outcome")?);
    let (mut opened, mut practice) = (from.numbers("opened")?, from.numbers("practice")?);
    let (mut scan_id, mut device_id) = (from.texts("scan_id")?, from.texts("device_id")?);
    let (mut log_id, mut seq, mut key_id) = (from.texts("log_id")?, from.numbers("seq")?, from.texts("key_id")?);
    let (mut event_id, mut gate_id) = (from.texts("event_id")?, from.texts("gate_id")?);
    let head = |_| {
        Ok(Scan {
            form: word(Form::ALL, form.next().flatten(), "form")?,
            kind: word(ScanKind::ALL, kind.next().flatten(), "kind")?,
            stage: word(Stage::ALL, stage.next().flatten(), "stage")?,
            method: word(Method::ALL, method.next().flatten(), "method")?,
            outcome: word(Outcome::ALL, outcome.next().flatten(), "outcome")?,
            opened: flag(opened.next().flatten(), "opened")?,
            practice: flag(practice.next().flatten(), "practice")?,
            scan_id: id(scan_id.next().flatten(), "scan_id")?,
            device_id: id(device_id.next().flatten(), "device_id")?,
            log_id: some_id(log_id.next().flatten(), "log_id")?,
            seq: seq.next().flatten().map(|seq| seq as u64),
            key_id: some_id(key_id.next().flatten(), "key_id")?,
            event_id: id(event_id.next().flatten(), "event_id")?,
            gate_id: id(gate_id.next().flatten(), "gate_id")?,
            prev: None,
            barcode_hash: None,
            raw_hash: None,
            ticket_id: None,
            count: 0,
            override_: None,
            walk_in: None,
            headcount: None,
            operator: None,
            target_device: None,
            target_scan_id: None,
            keep: 0,
            at: Timestamp::START,
            uncertainty_ms: 0,
            clock: None,
            epoch: None,
            manifest_version: 0,
            cursor: 0,
            basis: None,
        })
    };
    (0..from.scans()).map(head).collect()
}

fn take_codes(from: &mut Reader<'_>, scans: &mut [Scan]) -> Result<(), BlockError> {
    let what = "raw_hash";
    set(scans, from.bytes("barcode_hash")?, |scan| &mut scan.barcode_hash, |hash| Ok(hash.map(BarcodeHash)))?;
    fill(scans, from.numbers(what)?.zip(from.bytes(what)?), |scan, (stands, own)| {
        scan.raw_hash = standing(stands, scan.barcode_hash, own.map(BarcodeHash), what)?;
        Ok(())
    })?;
    set(scans, from.texts("ticket_id")?, |scan| &mut scan.ticket_id, |text| some_id(text, "ticket_id"))
}
/// One hash of a scan. The mark `stands` says where it is: nowhere ([`ABSENT`]), in a value that the reader has
/// already, `beside` ([`BESIDE`]), or in the block, `own` ([`OWN`]).
fn standing<T>(
    stands: Option<i64>,
    beside: Option<T>,
    own: Option<T>,
    what: &'static str,
) -> Result<Option<T>, BlockError> {
    match (stands, beside, own) {
        (Some(ABSENT), _, None) => Ok(None),
        (Some(BESIDE), Some(beside), None) => Ok(Some(beside)),
        (Some(OWN), _, Some(own)) => Ok(Some(own)),
        _ => Err(BlockError::Damaged(what)),
    }
}

fn take_staff(from: &mut Reader<'_>, scans: &mut [Scan]) -> Result<(), BlockError> {
    let what = "override";
    fill(scans, both(from.texts(what)?, from.texts(what)?, what), |scan, parts| {
        scan.override_ = parts?.map(|(by, reason)| Override { by, reason });
        Ok(())
    })?;
    let what = "walk_in";
    let ticket = both(from.texts(what)?, from.numbers(what)?, what);
    fill(scans, ticket.zip(from.bytes(what)?), |scan, (ticket, name_digest)| {
        scan.walk_in = match (ticket?, name_digest) {
            (Some((zone, party)), Some(name_digest)) => Some(WalkIn { zone, party: fits(party, what)?, name_digest }),
            (None, None) => None,
            _ => return Err(BlockError::Damaged(what)),
        };
        Ok(())
    })?;
    let what = "headcount";
    fill(scans, both(from.numbers(what)?, from.numbers(what)?, what), |scan, parts| {
        scan.headcount = parts?.map(|(kind, number)| headcount(kind, number)).transpose()?;
        Ok(())
    })?;
    set(scans, from.texts("operator")?, |scan| &mut scan.operator, Ok)?;
    set(scans, from.texts("target_device")?, |scan| &mut scan.target_device, |id| some_id(id, "target_device"))?;
    set(scans, from.texts("target_scan_id")?, |scan| &mut scan.target_scan_id, |id| some_id(id, "target_scan_id"))?;
    set(scans, from.numbers("keep")?, |scan| &mut scan.keep, |keep| fits(need(keep, "keep")?, "keep"))
}

fn take_clocks(from: &mut Reader<'_>, scans: &mut [Scan]) -> Result<(), BlockError> {
    let what = "clock";
    let times = both(from.numbers(what)?, from.numbers(what)?, what);
    let session = both(from.texts(what)?, from.numbers(what)?, what);
    fill(scans, times.zip(session), |scan, (times, session)| {
        scan.clock = match (times?, session?) {
            (Some((wall, mono)), Some((session_id, corrected))) => {
                let wall_ms = scan.at.ms().wrapping_add(wall);
                let corrected = flag(Some(corrected), what)?;
                Some(ClockEvidence { wall_ms, mono_ms: wall_ms.wrapping_add(mono), session_id, corrected })
            }
            (None, None) => None,
            _ => return Err(BlockError::Damaged(what)),
        };
        Ok(())
    })
}

fn take_basis(from: &mut Reader<'_>, scans: &mut [Scan]) -> Result<(), BlockError> {
    let what = "basis";
    let counts = from.numbers(what)?.zip(from.numbers(what)?).zip(from.numbers(what)?);
    let rest = from.numbers(what)?.zip(from.numbers(what)?);
    fill(scans, counts.zip(rest), |scan, (counts, (last, status))| {
        scan.basis = match (counts, last, status) {
            (((Some(within), Some(inside)), Some(spent)), last, status) => Some(Basis {
                within: fits(within, what)?,
                inside: fits(inside, what)?,
                spent: fits(spent, what)?,
                last_entry_at: last.map(|last| at(scan.at.ms().wrapping_add(last), what)).transpose()?,
                status: status.map(|status| word(TicketStatus::ALL, Some(status), what)).transpose()?,
            }),
            (((None, None), None), None, None) => None,
            _ => return Err(BlockError::Damaged(what)),
        };
        Ok(())
    })
}

/// Reads `prev` of the first `whole` scans. Returns the digests that it computed, for each scan one or `None`.
fn take_chain(from: &mut Reader<'_>, scans: &mut [Scan], whole: usize) -> Result<Vec<Option<Digest>>, BlockError> {
    let mut digests = vec![None; scans.len()];
    for (n, (stands, own)) in from.numbers("prev")?.zip(from.bytes("prev")?).enumerate().take(whole) {
        // The scan before is complete by now, with its own `prev`.
        let before = n.checked_sub(1).filter(|_| stands == Some(BESIDE));
        let digest = before.and_then(|n| scans.get(n)).map(content_digest);
        if let Some(at) = before.and_then(|n| digests.get_mut(n)) {
            *at = digest;
        }
        let prev = standing(stands, digest.map(|digest| prev_of(&digest)), own, "prev")?;
        if let Some(scan) = scans.get_mut(n) {
            scan.prev = prev;
        }
    }
    Ok(digests)
}
