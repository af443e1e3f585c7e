//! Every code of an event in a few flat arrays. A device looks up codes here.
//!
//! A code is stored as the first 16 bytes of its hash. If the hashes of two codes begin with the same 16 bytes, every
//! function that sees both codes fails. Tickets with the same rules share one class. With a million codes, a code takes
//! about 70 bytes and a look-up well under 2 µs.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::barcode::{BarcodeHash, hex};
use crate::short_code::ShortCode;
use crate::sign::Encoder;
use crate::ticket::{Group, TicketRules};

/// The first 16 bytes of a barcode hash.
pub type Prefix = [u8; 16];

/// Why codes cannot be made into an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// Two codes share the first 16 bytes of their hashes, so they cannot be told apart.
    #[error("two codes begin with the same 16 bytes: {}", hex(.0))]
    DuplicatePrefix(Prefix),
    /// The ticket ids together exceed 4 GiB of text, or the tickets have too many different sets of rules (classes).
    #[error("the list is too long for this device")]
    TooLarge,
}

/// The entry of a code in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'a> {
    /// The first 16 bytes of the code's hash.
    pub prefix: Prefix,
    /// The id of the code's ticket.
    pub ticket_id: &'a str,
    /// The ticket's rules.
    pub rules: &'a TicketRules,
    /// The ticket's booking. Absent if it has none.
    pub group: Option<Group>,
}

/// A code that a delta brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upsert {
    /// The first 16 bytes of the code's hash.
    pub prefix: Prefix,
    /// The id of the code's ticket.
    pub ticket_id: String,
    /// The ticket's rules.
    pub rules: TicketRules,
    /// The ticket's booking. Absent if it has none.
    pub group: Option<Group>,
}

impl Upsert {
    pub(super) fn record(&self) -> Found<'_> {
        Found { prefix: self.prefix, ticket_id: &self.ticket_id, rules: &self.rules, group: self.group }
    }
}

/// The rules that many tickets share, and the bytes that identify them.
#[derive(Debug, Clone)]
struct Class {
    rules: TicketRules,
    bytes: Vec<u8>,
}

/// Every code of an event, sorted by hash.
#[derive(Debug, Clone)]
pub struct Index {
    prefixes: Vec<Prefix>,
    /// The class of each code, as an index into `classes`.
    class_of: Vec<u32>,
    /// All ticket ids in one text. The id of code i ends at `id_ends[i]`.
    ids: String,
    id_ends: Vec<u32>,
    /// Pairs (hash of the ticket id, index of the code), sorted. They find the codes of a ticket.
    by_ticket: Vec<(u32, u32)>,
    /// The booking of each code. Empty if no code has one.
    group_of: Vec<Option<Group>>,
    /// Pairs (booking, index of the code), sorted. They find the codes of a booking.
    by_group: Vec<(Group, u32)>,
    classes: Vec<Class>,
    /// For each value of a hash's first byte: the hash over all codes whose hash begins with it.
    buckets: Vec<[u8; 32]>,
}

impl Default for Index {
    fn default() -> Self {
        Builder::default().finish_sorted(None)
    }
}

impl Index {
    /// Builds an index from codes in any order. Fails if the hashes of two codes have the same prefix.
    pub fn from_records<'a>(records: impl IntoIterator<Item = Found<'a>>) -> Result<Self, IndexError> {
        let mut builder = Builder::default();
        for record in records {
            builder.push(record)?;
        }
        builder.finish()
    }

    /// Makes the index after a delta. Upserts replace or add codes, and tombstones remove them. A code that is in both
    /// is replaced. This index stays unchanged, so the device keeps it if the delta proves wrong.
    pub fn apply_delta<'a>(
        &self,
        upserts: impl IntoIterator<Item = Found<'a>>,
        tombstones: &[Prefix],
    ) -> Result<Self, IndexError> {
        let mut changed: Vec<_> = upserts.into_iter().collect();
        changed.sort_by_key(|record| record.prefix);
        if let Some(pair) = changed.windows(2).find(|pair| pair[0].prefix == pair[1].prefix) {
            return Err(IndexError::DuplicatePrefix(pair[0].prefix));
        }
        let mut gone: Vec<Prefix> = tombstones.to_vec();
        gone.sort_unstable();
        let mut touched = [false; 256];
        for prefix in changed.iter().map(|record| &record.prefix).chain(&gone) {
            touched[usize::from(prefix[0])] = true;
        }
        let mut builder = Builder::like(self);
        let mut upserts = changed.into_iter().peekable();
        for i in 0..self.len() {
            let prefix = self.prefixes[i];
            while let Some(new) = upserts.next_if(|new| new.prefix < prefix) {
                builder.push(new)?;
            }
            if let Some(new) = upserts.next_if(|new| new.prefix == prefix) {
                builder.push(new)?;
            } else if gone.binary_search(&prefix).is_err() {
                builder.push_class(prefix, self.ticket_id(i), self.class_of[i], self.group(i))?;
            }
        }
        for new in upserts {
            builder.push(new)?;
        }
        Ok(builder.finish_sorted(Some((&self.buckets, &touched))))
    }

    /// Number of codes.
    pub fn len(&self) -> usize {
        self.prefixes.len()
    }
    /// Whether the index has no codes.
    pub fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
    }
    /// Looks up a code. `None` if the index does not have it.
    pub fn find(&self, hash: &BarcodeHash) -> Option<Found<'_>> {
        self.at(place_of(&self.prefixes, &hash.prefix())?)
    }
    /// Finds the ticket that has a code with this short code. `None` if there is none, or if the codes of two tickets
    /// match.
    pub fn find_short(&self, short: ShortCode) -> Option<Found<'_>> {
        let from = self.prefixes.partition_point(|prefix| prefix[..] < short.0[..]);
        let mut found =
            (from..self.len()).take_while(|at| short.begins(&self.prefixes[*at])).filter_map(|at| self.at(at));
        let first = found.next()?;
        found.all(|other| other.ticket_id == first.ticket_id).then_some(first)
    }
    /// Finds a ticket by its id, with the first of its codes.
    pub fn by_ticket(&self, ticket_id: &str) -> Option<Found<'_>> {
        self.codes_of(ticket_id).next()
    }
    /// All codes of a ticket.
    pub fn codes_of(&self, ticket_id: &str) -> impl Iterator<Item = Found<'_>> {
        let key = short_hash(ticket_id);
        let from = self.by_ticket.partition_point(|(hash, _)| *hash < key);
        let same = self.by_ticket[from..].iter().take_while(move |(hash, _)| *hash == key);
        same.filter_map(|(_, at)| self.at(*at as usize)).filter(move |found| found.ticket_id == ticket_id)
    }
    /// All codes of a booking, in order of hash.
    pub fn codes_of_group(&self, group: Group) -> impl Iterator<Item = Found<'_>> {
        let from = self.by_group.partition_point(|(other, _)| *other < group);
        let same = self.by_group[from..].iter().take_while(move |(other, _)| *other == group);
        same.filter_map(|(_, at)| self.at(*at as usize))
    }
    /// All codes, in order of hash.
    pub fn iter(&self) -> impl Iterator<Item = Found<'_>> {
        (0..self.len()).filter_map(|at| self.at(at))
    }
    /// The hash that identifies a list of exactly these codes (spec §5). The codes are divided into 256 buckets by the
    /// first byte of their hash. This hash is over the hashes of the buckets.
    pub fn content_hash(&self) -> [u8; 32] {
        hash_of_buckets(&self.buckets)
    }

    fn at(&self, at: usize) -> Option<Found<'_>> {
        let class = self.classes.get(*self.class_of.get(at)? as usize)?;
        Some(Found {
            prefix: self.prefixes[at],
            ticket_id: self.ticket_id(at),
            rules: &class.rules,
            group: self.group(at),
        })
    }
    fn group(&self, at: usize) -> Option<Group> {
        self.group_of.get(at).copied().flatten()
    }
    fn ticket_id(&self, at: usize) -> &str {
        let from = if at == 0 { 0 } else { self.id_ends[at - 1] as usize };
        &self.ids[from..self.id_ends[at] as usize]
    }
}

/// How often [`place_of`] guesses before it falls back to binary search. A million hashes need four or five guesses.
/// Codes that crowd together need the fallback.
const GUESSES: usize = 8;

/// The index of a code among sorted ones. `None` if it is absent. Hashes are spread evenly, so a code's value gives an
/// estimate of its index. The code at that index tells how far the estimate is off. So this search reads memory a few
/// times. A binary search among a million codes reads it about twelve times.
fn place_of(codes: &[Prefix], wanted: &Prefix) -> Option<usize> {
    let value = |code: &Prefix| u32::from_be_bytes([code[0], code[1], code[2], code[3]]);
    let codes_within = |values: u32| ((u64::from(values) * codes.len() as u64) >> 32) as usize;
    let (mut from, mut to) = (0, codes.len());
    let mut guess = codes_within(value(wanted));
    for _ in 0..GUESSES {
        if from == to {
            return None;
        }
        let at = guess.clamp(from, to - 1);
        match codes[at].cmp(wanted) {
            Ordering::Equal => return Some(at),
            Ordering::Less => {
                from = at + 1;
                guess = from + codes_within(value(wanted) - value(&codes[at]));
            }
            Ordering::Greater => {
                to = at;
                guess = at.saturating_sub(1 + codes_within(value(&codes[at]) - value(wanted)));
            }
        }
    }
    codes[from..to].binary_search(wanted).ok().map(|at| from + at)
}

/// FNV-1a. It only spreads ticket ids over a sorted array, so a collision costs one comparison.
fn short_hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The canonical bytes of a class. They are the same for the JSON and the compact form of a list, and for any order of
/// a ticket's gates. The bytes replace the content of `buffer`, so that a million codes share one buffer.
pub(super) fn class_bytes(rules: &TicketRules, buffer: &mut Vec<u8>) {
    let mut gates: Vec<&str> = rules.gate_ids.iter().map(|id| id.as_str()).collect();
    gates.sort_unstable();
    gates.dedup();
    buffer.clear();
    let mut to = Encoder::behind(std::mem::take(buffer));
    to.text(rules.status.as_str());
    to.unsigned(u64::from(rules.entry_limit));
    to.unsigned(gates.len() as u64);
    for gate in gates {
        to.text(gate);
    }
    to.text(&rules.zone);
    to.option(rules.valid_from, |to, at| to.signed(at.ms()));
    to.option(rules.expires_at, |to, at| to.signed(at.ms()));
    *buffer = to.finish();
}

/// Hashes records bucket by bucket. The records must come sorted by prefix.
pub(super) struct BucketHasher {
    hash: Sha256,
    /// The hash of no records, which most buckets of a short list have.
    none: [u8; 32],
    empty: bool,
    bucket: usize,
    done: Vec<[u8; 32]>,
}

impl BucketHasher {
    pub(super) fn new() -> Self {
        let none = Sha256::digest([]).into();
        Self { hash: Sha256::new(), none, empty: true, bucket: 0, done: Vec::with_capacity(256) }
    }
    /// Adds a record: the prefix, then the ticket id, the class bytes and the booking (or nothing), each after its
    /// length in 4 bytes.
    pub(super) fn add(&mut self, prefix: &Prefix, ticket_id: &str, class: &[u8], group: Option<Group>) {
        while self.bucket < usize::from(prefix[0]) {
            self.close();
        }
        self.empty = false;
        self.hash.update(prefix);
        let group = group.as_ref().map_or(&[][..], |group| &group.0);
        for part in [ticket_id.as_bytes(), class, group] {
            self.hash.update((part.len() as u32).to_be_bytes());
            self.hash.update(part);
        }
    }
    fn close(&mut self) {
        self.done.push(if self.empty { self.none } else { self.hash.finalize_reset().into() });
        (self.empty, self.bucket) = (true, self.bucket + 1);
    }
    pub(super) fn content_hash(self) -> [u8; 32] {
        hash_of_buckets(&self.finish())
    }
    fn finish(mut self) -> Vec<[u8; 32]> {
        while self.bucket < 256 {
            self.close();
        }
        self.done
    }
}

fn hash_of_buckets(buckets: &[[u8; 32]]) -> [u8; 32] {
    let mut to = Encoder::with("admit.manifest.v1");
    for bucket in buckets {
        to.bytes(bucket);
    }
    to.sha256()
}

/// The content hash of codes that come sorted by hash, without building an index. The server uses it, and it equals
/// [`Index::content_hash`].
pub fn content_hash<'a>(sorted: impl IntoIterator<Item = Found<'a>>) -> [u8; 32] {
    let (mut hasher, mut class) = (BucketHasher::new(), Vec::new());
    for record in sorted {
        class_bytes(record.rules, &mut class);
        hasher.add(&record.prefix, record.ticket_id, &class, record.group);
    }
    hasher.content_hash()
}

/// Builds an index from codes that come one by one.
#[derive(Debug, Default)]
pub struct Builder {
    prefixes: Vec<Prefix>,
    class_of: Vec<u32>,
    ids: String,
    id_ends: Vec<u32>,
    group_of: Vec<Option<Group>>,
    classes: Vec<Class>,
    class_at: BTreeMap<Vec<u8>, u32>,
    buffer: Vec<u8>,
}

impl Builder {
    /// A builder that starts with another index's classes, under the same numbers.
    fn like(index: &Index) -> Self {
        let class_at = index.classes.iter().zip(0..).map(|(class, at)| (class.bytes.clone(), at)).collect();
        let mut builder = Self { classes: index.classes.clone(), class_at, ..Self::default() };
        builder.prefixes.reserve(index.len());
        builder.class_of.reserve(index.len());
        builder.id_ends.reserve(index.len());
        builder.ids.reserve(index.ids.len());
        builder.group_of.reserve(index.group_of.len());
        builder
    }
    /// Adds a code.
    pub fn push(&mut self, record: Found<'_>) -> Result<(), IndexError> {
        let class = self.class(record.rules)?;
        self.push_class(record.prefix, record.ticket_id, class, record.group)
    }
    /// The number of a class. The class is added if it is new.
    pub(super) fn class(&mut self, rules: &TicketRules) -> Result<u32, IndexError> {
        class_bytes(rules, &mut self.buffer);
        if let Some(class) = self.class_at.get(&self.buffer) {
            return Ok(*class);
        }
        let class = u32::try_from(self.classes.len()).map_err(|_| IndexError::TooLarge)?;
        self.classes.push(Class { rules: rules.clone(), bytes: self.buffer.clone() });
        self.class_at.insert(self.buffer.clone(), class);
        Ok(class)
    }
    /// Adds a code whose class has its number already.
    pub(super) fn push_class(
        &mut self,
        prefix: Prefix,
        ticket_id: &str,
        class: u32,
        group: Option<Group>,
    ) -> Result<(), IndexError> {
        self.ids.push_str(ticket_id);
        self.id_ends.push(u32::try_from(self.ids.len()).map_err(|_| IndexError::TooLarge)?);
        self.prefixes.push(prefix);
        self.class_of.push(class);
        self.group_of.push(group);
        Ok(())
    }
    /// Makes the index. Fails if two codes share a prefix.
    pub fn finish(self) -> Result<Index, IndexError> {
        // A list usually comes sorted. Otherwise the columns are sorted here.
        let sorted = self.prefixes.is_sorted();
        let builder = if sorted { self } else { self.sorted() };
        match builder.prefixes.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(IndexError::DuplicatePrefix(pair[0])),
            None => Ok(builder.finish_sorted(None)),
        }
    }
    fn sorted(self) -> Self {
        let mut order: Vec<usize> = (0..self.prefixes.len()).collect();
        order.sort_by_key(|at| self.prefixes[*at]);
        let mut to = Self { ids: String::with_capacity(self.ids.len()), ..Self::default() };
        for at in order {
            let from = if at == 0 { 0 } else { self.id_ends[at - 1] as usize };
            to.ids.push_str(&self.ids[from..self.id_ends[at] as usize]);
            to.id_ends.push(to.ids.len() as u32);
            to.prefixes.push(self.prefixes[at]);
            to.class_of.push(self.class_of[at]);
            to.group_of.push(self.group_of[at]);
        }
        Self { classes: self.classes, class_at: self.class_at, ..to }
    }
    /// Makes the index from the arrays of this builder, which must be sorted and without duplicates. `known` gives the
    /// old bucket hashes and the buckets that changed. Only changed buckets are hashed again.
    fn finish_sorted(self, known: Option<(&[[u8; 32]], &[bool; 256])>) -> Index {
        let mut index = Index {
            prefixes: self.prefixes,
            class_of: self.class_of,
            ids: self.ids,
            id_ends: self.id_ends,
            by_ticket: Vec::new(),
            group_of: self.group_of,
            by_group: Vec::new(),
            classes: self.classes,
            buckets: Vec::new(),
        };
        index.by_ticket = (0..index.len()).map(|at| (short_hash(index.ticket_id(at)), at as u32)).collect();
        index.by_ticket.sort_unstable();
        let groups = index.group_of.iter().zip(0..).filter_map(|(group, at)| Some(((*group)?, at)));
        index.by_group = groups.collect();
        index.by_group.sort_unstable();
        if index.by_group.is_empty() {
            index.group_of = Vec::new();
        }
        let mut hasher = BucketHasher::new();
        for at in 0..index.len() {
            let prefix = &index.prefixes[at];
            if known.is_none_or(|(_, touched)| touched[usize::from(prefix[0])]) {
                let class = &index.classes[index.class_of[at] as usize].bytes;
                hasher.add(prefix, index.ticket_id(at), class, index.group(at));
            }
        }
        index.buckets = hasher.finish();
        if let Some((old, touched)) = known {
            for bucket in (0..256).filter(|bucket| !touched[*bucket]) {
                index.buckets[bucket] = old[bucket];
            }
        }
        index
    }
}
