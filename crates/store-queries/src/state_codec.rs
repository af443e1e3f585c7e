//! States of subjects as bytes: the blocks in which they are stored.
//!
//! A block holds the states of some subjects after one write. It consists of [`VERSION`], the compressed states
//! ([`crate::compressed`]), and the first [`CHECK_BYTES`] bytes of the SHA-256 of everything before. The compressed
//! part holds the number of states, then the subject and the [`Standing`] of each state, then the length of each
//! judgement ([`admit_core::judgement`]; 0 if it is stored in a row of its own), then the judgements. A number is a
//! varint of 7 bits per byte, the lowest first; a signed number is zigzag-encoded. Equal states give equal bytes.

use admit_app::error::{Error, Result};
use admit_core::barcode::BarcodeHash;
use admit_core::ids::{TicketId, uuid_of_bytes, uuid_to_bytes};
use admit_core::incident::Subject;
use sha2::{Digest as _, Sha256};

use crate::compressed;

/// The version of the format, which is the first byte.
const VERSION: u8 = 1;
/// Bytes of the check at a block's end, which detects damage.
pub const CHECK_BYTES: usize = 8;
/// How a ticket begins whose id is a UUID.
const TICKET: u64 = 0;
/// How an unknown code begins.
const UNKNOWN: u64 = 1;
/// The first number of a ticket's subject if its id is no UUID: this number plus the length of the id.
const OTHER_TICKET: u64 = 2;

/// The part of a state that lists, counts and searches need. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// The number of scans. 0: the subject lost its last scan to another subject, for example because a ticket got the
    /// scan's code.
    pub scans: u64,
    /// Persons let in so far.
    pub persons: u32,
    /// Persons inside now.
    pub inside: u32,
    /// Time of the newest entry. `None`: nobody was let in.
    pub entered_at: Option<i64>,
    /// Time of the earliest scan; 0 without scans.
    pub first_at: i64,
    /// Time of the latest scan; 0 without scans.
    pub last_at: i64,
}

/// A state as a block holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key of the subject.
    pub subject: String,
    /// The part of the state that lists need.
    pub standing: Standing,
    /// The judgement. Empty: it is stored elsewhere.
    pub judgement: Vec<u8>,
}

impl Entry {
    /// The state without its judgement.
    pub(crate) fn head(&self) -> Head {
        Head { subject: self.subject.clone(), standing: self.standing }
    }
}

/// A state of a block, without its judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub subject: String,
    pub standing: Standing,
}

fn damaged(what: &str) -> Error {
    Error::Bug(format!("a block of states is damaged: {what}"))
}

/// The check of a block: the first [`CHECK_BYTES`] bytes of the SHA-256 of all bytes before it.
fn check(bytes: &[u8]) -> [u8; CHECK_BYTES] {
    Sha256::digest(bytes).first_chunk().copied().unwrap_or_default()
}

/// Writes states as a block. Fails if an entry's key is not the key of a ticket or a code.
pub fn write(entries: &[Entry]) -> Result<Vec<u8>> {
    let mut plain = Vec::with_capacity(entries.len() * 160);
    unsigned(&mut plain, entries.len() as u64);
    let mut before = 0;
    for Entry { subject, standing, .. } in entries {
        put_subject(&mut plain, subject)?;
        put_standing(&mut plain, standing, &mut before);
    }
    entries.iter().for_each(|entry| unsigned(&mut plain, entry.judgement.len() as u64));
    entries.iter().for_each(|entry| plain.extend(&entry.judgement));
    let packed = compressed::pack(&plain).map_err(|error| Error::Bug(format!("compressing states: {error}")))?;
    let mut block = [&[VERSION], &packed[..]].concat();
    block.extend(check(&block));
    Ok(block)
}

/// Reads the bytes that [`write`] wrote. Fails if the block is damaged.
pub fn read(block: &[u8]) -> Result<Vec<Entry>> {
    let plain = unpack(block)?;
    let mut from = Reader(&plain);
    let heads = from.heads()?;
    let lengths: Vec<u64> = heads.iter().map(|_| from.unsigned()).collect::<Result<_>>()?;
    let mut entries = Vec::with_capacity(heads.len());
    for (Head { subject, standing }, length) in heads.into_iter().zip(lengths) {
        let judgement = from.raw(usize::try_from(length).unwrap_or(usize::MAX))?.to_vec();
        entries.push(Entry { subject, standing, judgement });
    }
    if from.0.is_empty() { Ok(entries) } else { Err(damaged("it goes on behind its end")) }
}

/// Reads only the subjects and their standings.
pub(crate) fn read_heads(block: &[u8]) -> Result<Vec<Head>> {
    Reader(&unpack(block)?).heads()
}

fn unpack(block: &[u8]) -> Result<Vec<u8>> {
    let Some((written, found)) = block.split_last_chunk() else { return Err(damaged("it is too short")) };
    if check(written) != *found {
        return Err(damaged("it is not what was written"));
    }
    let Some((&VERSION, packed)) = written.split_first() else { return Err(damaged("its version")) };
    compressed::unpack(packed).map_err(|_| damaged("its compressed part"))
}

fn unsigned(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

fn put_subject(to: &mut Vec<u8>, key: &str) -> Result<()> {
    match Subject::from_key(key) {
        Some(Subject::Ticket(ticket_id)) => match uuid_to_bytes(ticket_id.as_str()) {
            Some(uuid) => {
                unsigned(to, TICKET);
                to.extend(uuid);
            }
            None => {
                unsigned(to, OTHER_TICKET + ticket_id.as_str().len() as u64);
                to.extend(ticket_id.as_str().as_bytes());
            }
        },
        Some(Subject::Unknown(hash)) => {
            unsigned(to, UNKNOWN);
            to.extend(hash.0);
        }
        None => return Err(Error::Bug(format!("not a subject of scans: {key}"))),
    }
    Ok(())
}

/// Writes a standing. `first_at` is written as the difference from `first_at` of the standing that was written before.
fn put_standing(to: &mut Vec<u8>, standing: &Standing, before: &mut i64) {
    let Standing { scans, persons, inside, entered_at, first_at, last_at } = *standing;
    unsigned(to, scans);
    if scans == 0 {
        return;
    }
    unsigned(to, persons.into());
    unsigned(to, inside.into());
    unsigned(to, zigzag(first_at.wrapping_sub(*before)));
    unsigned(to, zigzag(last_at.wrapping_sub(first_at)));
    unsigned(to, entered_at.is_some().into());
    if let Some(entered_at) = entered_at {
        unsigned(to, zigzag(entered_at.wrapping_sub(last_at)));
    }
    *before = first_at;
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn raw(&mut self, length: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(|| damaged("it is too short"))?;
        self.0 = rest;
        Ok(bytes)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or_else(|| damaged("it is too short"))?;
        self.0 = rest;
        Ok(*bytes)
    }
    fn unsigned(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(damaged("a number"))
    }
    fn signed(&mut self) -> Result<i64> {
        let value = self.unsigned()?;
        Ok((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }
    fn persons(&mut self) -> Result<u32> {
        u32::try_from(self.unsigned()?).map_err(|_| damaged("persons"))
    }
    fn heads(&mut self) -> Result<Vec<Head>> {
        let (count, mut heads, mut before) = (self.unsigned()?, Vec::new(), 0);
        for _ in 0..count {
            heads.push(Head { subject: self.subject()?, standing: self.standing(&mut before)? });
        }
        Ok(heads)
    }
    fn subject(&mut self) -> Result<String> {
        let subject = match self.unsigned()? {
            TICKET => TicketId::new(uuid_of_bytes(self.array()?)).ok().map(Subject::Ticket),
            UNKNOWN => Some(Subject::Unknown(BarcodeHash(self.array()?))),
            longer => {
                let id = self.raw(usize::try_from(longer - OTHER_TICKET).unwrap_or(usize::MAX))?;
                std::str::from_utf8(id).ok().and_then(|id| TicketId::new(id).ok()).map(Subject::Ticket)
            }
        };
        subject.map(|subject| subject.key()).ok_or_else(|| damaged("a subject"))
    }
    fn standing(&mut self, before: &mut i64) -> Result<Standing> {
        let scans = self.unsigned()?;
        if scans == 0 {
            return Ok(Standing::default());
        }
        let (persons, inside) = (self.persons()?, self.persons()?);
        let first_at = before.wrapping_add(self.signed()?);
        let last_at = first_at.wrapping_add(self.signed()?);
        let entered_at = match self.unsigned()? {
            0 => None,
            _ => Some(last_at.wrapping_add(self.signed()?)),
        };
        *before = first_at;
        Ok(Standing { scans, persons, inside, entered_at, first_at, last_at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let uuid = "ticket:0192f3a4-5b6c-7d8e-9f01-23456789abcd";
        let unknown = Subject::Unknown(BarcodeHash([7; 32])).key();
        let at = 1_764_450_000_000;
        let in_once = Standing { scans: 1, persons: 1, inside: 1, entered_at: Some(at), first_at: at, last_at: at };
        let odd = Standing { scans: 3, entered_at: None, first_at: i64::MIN, last_at: i64::MAX, ..Standing::default() };
        [(uuid, in_once, vec![1, 2, 3]), ("ticket:T-1", Standing::default(), vec![]), (&unknown, odd, vec![9; 4_000])]
            .map(|(subject, standing, judgement)| Entry { subject: subject.to_owned(), standing, judgement })
            .into()
    }

    #[test]
    fn what_was_written_is_read() {
        let written = entries();
        let block = write(&written).unwrap();
        assert_eq!(read(&block).unwrap(), written);
        let heads = written.into_iter().map(|Entry { subject, standing, .. }| Head { subject, standing });
        assert_eq!(read_heads(&block).unwrap(), heads.collect::<Vec<_>>());
        assert!(block.len() < 200, "equal bytes are compressed: {}", block.len());
    }

    #[test]
    fn a_damaged_block_is_an_error() {
        let block = write(&entries()).unwrap();
        for length in 0..block.len() {
            assert!(read(&block[..length]).is_err(), "cut to {length} bytes");
        }
        for byte in 0..block.len() {
            let mut other = block.clone();
            other[byte] ^= 0x10;
            assert!(read(&other).is_err(), "byte {byte} is another");
        }
        assert!(read(&[&block[..], &[0]].concat()).is_err(), "a byte too many");
    }

    #[test]
    fn what_is_no_subject_of_scans_is_refused() {
        let entry = Entry { subject: "device:d1".into(), standing: Standing::default(), judgement: vec![] };
        assert!(write(&[entry]).is_err());
    }
}
