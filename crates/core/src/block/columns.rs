//! Columns of a block: which scans have a value, and the values in as few bytes as they need.
//!
//! A column's first byte is `presence + 4 × manner`. Presence 0: no scan has a value, and the column ends here.
//! Presence 1: all scans have one. Presence 2: a bitmap follows, with the first scan in the lowest bit. Numbers are
//! varints of 7 bits per byte, the lowest first. Signed numbers are zigzag-encoded (0, −1, 1, −2, …).
//!
//! | manner | of numbers | of texts | of byte strings |
//! |---|---|---|---|
//! | 0 same | one number | one text | one string |
//! | 1 each | differences, each to the number before | texts | strings |
//! | 2 | steps: the first number and the one difference | names: how many, the texts, a byte for each value | |
//! | 3 | | UUIDs, 16 bytes each | |
//!
//! A text that is a UUID in Admit's form is written as 0 and 16 bytes, any other text as its length + 1 and its UTF-8.

use std::vec::IntoIter;

use crate::ids::{uuid_of_bytes, uuid_to_bytes};
use crate::limits::BLOCK_SCANS;

/// The first byte of a block: its version.
pub const VERSION: u8 = 1;
/// Why bytes cannot be read as a block, or scans cannot be written as one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// The first byte names this version, which this code does not know.
    #[error("a block of scans is of version {0}; this version reads {VERSION}")]
    Version(u8),
    /// The part with this name cannot be read.
    #[error("a block of scans is damaged: {0}")]
    Damaged(&'static str),
    /// The number of scans to write is 0, or larger than a block's.
    #[error("a block holds 1 to {BLOCK_SCANS} scans, not {0}")]
    Size(usize),
}

const NONE: u8 = 0;
const ALL: u8 = 1;
const SOME: u8 = 2;
const PRESENCES: u8 = 4;

const SAME: u8 = 0;
const EACH: u8 = 1;
/// Numbers with the same difference from each to the next.
const STEPS: u8 = 2;
/// Texts with few different values.
const NAMES: u8 = 2;
/// Texts that are all UUIDs.
const UUIDS: u8 = 3;

fn folded(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}
fn unfolded(value: u64) -> i64 {
    ((value >> 1) as i64) ^ -((value & 1) as i64)
}

/// Writes the columns of a block.
pub(super) struct Writer {
    out: Vec<u8>,
    scans: usize,
}

impl Writer {
    /// Begins a block of this many scans.
    pub(super) fn new(scans: usize) -> Self {
        let mut out = Vec::with_capacity(256 + 128 * scans);
        // There are at most `BLOCK_SCANS`, so one byte holds their number.
        out.extend([VERSION, scans as u8]);
        Self { out, scans }
    }
    pub(super) fn finish(self) -> Vec<u8> {
        self.out
    }
    /// Writes bytes whose number the reader knows.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }
    /// Writes a column of numbers in which every scan has a value.
    pub(super) fn numbers(&mut self, values: impl Iterator<Item = i64> + Clone) {
        self.some_numbers(values.map(Some));
    }
    /// Writes a column of numbers in which scans may lack a value.
    pub(super) fn some_numbers(&mut self, values: impl Iterator<Item = Option<i64>> + Clone) {
        let present = values.clone().flatten();
        let Some(first) = present.clone().next() else { return self.out.push(NONE) };
        if self.scans == 1 {
            self.out.push(ALL + PRESENCES * SAME);
            return self.varint(folded(first));
        }
        let differences = present.clone().zip(present.clone().skip(1)).map(|(a, b)| b.wrapping_sub(a));
        let step = differences.clone().next().unwrap_or_default();
        let manner = match differences.clone().all(|one| one == step) {
            true if step == 0 => SAME,
            true => STEPS,
            false => EACH,
        };
        self.begin(manner, values.map(|one| one.is_some()));
        self.varint(folded(first));
        match manner {
            EACH => differences.for_each(|one| self.varint(folded(one))),
            STEPS => self.varint(folded(step)),
            _ => {}
        }
    }
    /// Writes a column of texts in which every scan has a value.
    pub(super) fn texts<'a>(&mut self, values: impl Iterator<Item = &'a str> + Clone) {
        self.some_texts(values.map(Some));
    }
    /// Writes a column of texts in which scans may lack a value.
    pub(super) fn some_texts<'a>(&mut self, values: impl Iterator<Item = Option<&'a str>> + Clone) {
        let present = values.clone().flatten();
        let Some(first) = present.clone().next() else { return self.out.push(NONE) };
        let has = values.map(|one| one.is_some());
        if self.scans == 1 || present.clone().all(|one| one == first) {
            self.begin(SAME, has);
            return self.text(first);
        }
        let mut names: Vec<&str> = Vec::with_capacity(self.scans);
        present.clone().for_each(|one| {
            if !names.contains(&one) {
                names.push(one);
            }
        });
        if names.len() * 2 <= present.clone().count() {
            self.begin(NAMES, has);
            self.varint(names.len() as u64);
            names.iter().for_each(|name| self.text(name));
            // There are fewer names than scans, so one byte holds the index of each.
            let places = present.map(|one| names.iter().position(|name| *name == one).unwrap_or_default() as u8);
            self.out.extend(places);
        } else if present.clone().all(|one| uuid_to_bytes(one).is_some()) {
            self.begin(UUIDS, has);
            present.filter_map(uuid_to_bytes).for_each(|uuid| self.raw(&uuid));
        } else {
            self.begin(EACH, has);
            present.for_each(|one| self.text(one));
        }
    }
    /// Writes a column of byte strings of one length, which scans may lack.
    pub(super) fn some_bytes<'a, const N: usize>(&mut self, values: impl Iterator<Item = Option<&'a [u8; N]>> + Clone) {
        let present = values.clone().flatten();
        let Some(first) = present.clone().next() else { return self.out.push(NONE) };
        let is_same = self.scans == 1 || present.clone().all(|one| one == first);
        self.begin(if is_same { SAME } else { EACH }, values.map(|one| one.is_some()));
        if is_same {
            self.raw(first);
        } else {
            present.for_each(|one| self.raw(one));
        }
    }
    fn begin(&mut self, manner: u8, has: impl Iterator<Item = bool> + Clone) {
        let is_all = has.clone().all(|one| one);
        self.out.push(if is_all { ALL } else { SOME } + PRESENCES * manner);
        if !is_all {
            let bits = has.enumerate().fold(0_u64, |bits, (n, one)| bits | u64::from(one) << n);
            self.out.extend_from_slice(&bits.to_le_bytes()[..self.scans.div_ceil(8)]);
        }
    }
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.out.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }
    fn text(&mut self, text: &str) {
        if let Some(uuid) = uuid_to_bytes(text) {
            self.out.push(0);
            self.raw(&uuid);
        } else {
            self.varint(text.len() as u64 + 1);
            self.raw(text.as_bytes());
        }
    }
}

/// Reads the columns of a block. The argument `what` names the column in an error.
pub(super) struct Reader<'a> {
    left: &'a [u8],
    scans: usize,
}

/// The values of a column: one entry per scan, `None` for a scan without a value. The first entry is stored separately,
/// so that a block of one scan needs no allocation per column.
pub(super) struct Column<T> {
    first: Option<Option<T>>,
    rest: IntoIter<Option<T>>,
}

impl<T> Iterator for Column<T> {
    type Item = Option<T>;
    fn next(&mut self) -> Option<Option<T>> {
        self.first.take().or_else(|| self.rest.next())
    }
}

type Taken<T> = Result<Column<T>, BlockError>;

impl<'a> Reader<'a> {
    /// Opens a block and reads its first two bytes.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, BlockError> {
        match bytes {
            [VERSION, scans, left @ ..] if (1..=BLOCK_SCANS).contains(&usize::from(*scans)) => {
                Ok(Self { left, scans: usize::from(*scans) })
            }
            [VERSION, ..] => Err(BlockError::Damaged("number of scans")),
            [version, ..] => Err(BlockError::Version(*version)),
            [] => Err(BlockError::Damaged("empty")),
        }
    }
    /// Number of scans in the block.
    pub(super) fn scans(&self) -> usize {
        self.scans
    }
    /// Ends the reading. Fails if bytes are left.
    pub(super) fn end(self) -> Result<(), BlockError> {
        if self.left.is_empty() { Ok(()) } else { Err(BlockError::Damaged("goes on behind its end")) }
    }
    /// Reads the next `N` bytes.
    pub(super) fn raw<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], BlockError> {
        let (bytes, left) = self.left.split_first_chunk().ok_or(BlockError::Damaged(what))?;
        self.left = left;
        Ok(*bytes)
    }
    /// Reads a column of numbers.
    pub(super) fn numbers(&mut self, what: &'static str) -> Taken<i64> {
        let (manner, has) = self.begin(what)?;
        if manner > STEPS {
            return Err(BlockError::Damaged(what));
        }
        if has == 0 {
            return self.filled(has, |_| Ok(0));
        }
        let mut next = unfolded(self.varint(what)?);
        let mut left = has.count_ones();
        let step = if manner == STEPS { unfolded(self.varint(what)?) } else { 0 };
        self.filled(has, |from| {
            let value = next;
            left -= 1;
            if left > 0 {
                let more = if manner == EACH { unfolded(from.varint(what)?) } else { step };
                next = value.wrapping_add(more);
            }
            Ok(value)
        })
    }
    /// Reads a column of texts.
    pub(super) fn texts(&mut self, what: &'static str) -> Taken<String> {
        let (manner, has) = self.begin(what)?;
        match manner {
            SAME if has != 0 => {
                let text = self.text(what)?;
                self.filled(has, |_| Ok(text.clone()))
            }
            SAME => self.filled(has, |from| from.text(what)),
            EACH => self.filled(has, |from| from.text(what)),
            NAMES => {
                let names = (0..self.varint(what)?.min(BLOCK_SCANS as u64)).map(|_| self.text(what));
                let names: Vec<String> = names.collect::<Result<_, _>>()?;
                self.filled(has, |from| {
                    let [place] = from.raw(what)?;
                    names.get(usize::from(place)).cloned().ok_or(BlockError::Damaged(what))
                })
            }
            UUIDS => self.filled(has, |from| Ok(uuid_of_bytes(from.raw(what)?))),
            _ => Err(BlockError::Damaged(what)),
        }
    }
    /// Reads a column of byte strings of one length.
    pub(super) fn bytes<const N: usize>(&mut self, what: &'static str) -> Taken<[u8; N]> {
        let (manner, has) = self.begin(what)?;
        match manner {
            SAME if has != 0 => {
                let bytes = self.raw(what)?;
                self.filled(has, |_| Ok(bytes))
            }
            SAME | EACH => self.filled(has, |from| from.raw(what)),
            _ => Err(BlockError::Damaged(what)),
        }
    }
    /// Reads the first byte of a column, and its bitmap. Returns the manner in which values are written, and a bit for
    /// each scan that has a value.
    fn begin(&mut self, what: &'static str) -> Result<(u8, u64), BlockError> {
        let [first] = self.raw(what)?;
        let every = u64::MAX >> (64 - self.scans);
        let has = match first % PRESENCES {
            NONE if first == NONE => 0,
            ALL => every,
            SOME => {
                let mut bits = [0; 8];
                let bytes = self.scans.div_ceil(8);
                let (bitmap, left) = self.left.split_at_checked(bytes).ok_or(BlockError::Damaged(what))?;
                bits[..bytes].copy_from_slice(bitmap);
                self.left = left;
                u64::from_le_bytes(bits)
            }
            _ => return Err(BlockError::Damaged(what)),
        };
        if has & !every == 0 { Ok((first / PRESENCES, has)) } else { Err(BlockError::Damaged(what)) }
    }
    fn filled<T>(&mut self, has: u64, mut value: impl FnMut(&mut Self) -> Result<T, BlockError>) -> Taken<T> {
        let scans = self.scans;
        let mut next = |n: usize| if has >> n & 1 == 1 { value(self).map(Some) } else { Ok(None) };
        let first = Some(next(0)?);
        let mut rest = Vec::new();
        if scans > 1 {
            rest.reserve_exact(scans - 1);
            for n in 1..scans {
                rest.push(next(n)?);
            }
        }
        Ok(Column { first, rest: rest.into_iter() })
    }
    fn varint(&mut self, what: &'static str) -> Result<u64, BlockError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.raw(what)?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(BlockError::Damaged(what))
    }
    fn text(&mut self, what: &'static str) -> Result<String, BlockError> {
        let damaged = || BlockError::Damaged(what);
        let Some(length) = self.varint(what)?.checked_sub(1) else { return Ok(uuid_of_bytes(self.raw(what)?)) };
        let length = usize::try_from(length).map_err(|_| damaged())?;
        let (bytes, left) = self.left.split_at_checked(length).ok_or_else(damaged)?;
        self.left = left;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| damaged())
    }
}
