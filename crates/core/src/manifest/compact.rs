//! The compact form of a list (spec §5): the same codes in half the bytes, for phones that ask for it by `Accept:
//! application/vnd.admit.manifest`.
//!
//! | bytes | what |
//! |---|---|
//! | 16 | [`MAGIC`] |
//! | 4 + n | length, and the JSON form's members before `tickets`, followed by `classes`, `codes` (and, of a delta, `since` and `tombstones`) |
//! | codes × 16 | the first bytes of each code's hash, rising |
//! | codes × 1, 2 or 4 | each code's place among `classes`; as few bytes as that many classes need |
//! | codes × … | each code's ticket: 0 and the 16 bytes of a UUID, or a length 1–128 and so many characters |
//! | 0 or codes × 6 | only if the members before `tickets` say `groups`: each code's booking, zeros for none |
//! | tombstones × 16 | of a delta: the first bytes of each hash that is gone |
//! | 4 + n | length, and the JSON form's members made for each request |
//! | 32 | HMAC-SHA256 under the API key's text over everything before |
//!
//! Numbers are big-endian. All values of a column stand together because they compress better in this order.
//! `content_hash` equals that of the JSON form, since the codes are the same.

use std::collections::BTreeMap;

use super::build::{Code, Input, Large, head, sorted};
use super::index::{BucketHasher, Builder, IndexError, Prefix, Upsert, class_bytes};
use crate::barcode::{BarcodeHash, hex};
use crate::ids::{TicketId, uuid_of_bytes, uuid_to_bytes};
use crate::sign::{Authenticator, V1_PREFIX};
use crate::ticket::{Group, TicketRules};
use crate::wire::manifest::{CompactCounts, ManifestHead, ManifestTail};
use crate::wire::problem::{self, FieldError};
use crate::wire::stored::to_text;

/// The first bytes of a compact list. No JSON begins with them.
pub const MAGIC: &[u8; 16] = b"admit.compact.1\n";
/// The media type of the compact form, in `Accept` and in `Content-Type`.
pub const MEDIA_TYPE: &str = "application/vnd.admit.manifest";

/// The bytes of a code that belongs to no booking.
const NO_GROUP: [u8; Group::BYTES] = [0; Group::BYTES];
/// Bytes of the signature at the end.
const MAC_BYTES: usize = 32;

/// Whether a body has the compact form.
pub fn is_compact(body: &[u8]) -> bool {
    body.starts_with(MAGIC)
}

/// Builds the large part of a whole list: everything before the members made for each request. Fails if two codes have
/// hashes with the same first bytes, as in the JSON form.
pub fn compact_part(input: &Input<'_>) -> Result<Large, IndexError> {
    let codes = sorted(input.codes)?;
    let mut hasher = BucketHasher::new();
    let mut class = Vec::new();
    for code in &codes {
        class_bytes(code.rules, &mut class);
        hasher.add(&code.hash.prefix(), code.ticket_id.as_str(), &class, code.group);
    }
    put(input, &codes, None, hasher.content_hash())
}

/// Builds the large part of a delta, with the arguments of [`super::build::delta_part`].
pub fn compact_delta_part(
    input: &Input<'_>,
    since: u64,
    tombstones: &[BarcodeHash],
    content_hash: [u8; 32],
) -> Result<Large, IndexError> {
    let mut gone: Vec<Prefix> = tombstones.iter().map(BarcodeHash::prefix).collect();
    gone.sort_unstable();
    put(input, &sorted(input.codes)?, Some((since, &gone)), content_hash)
}

/// Makes the part of the body that follows `large`. It belongs to one device and ends in the signature. Also gives the
/// value of `X-Signature` for the whole body.
pub fn compact_tail(large: &[u8], tail: &ManifestTail, api_key: &str) -> (Vec<u8>, String) {
    let mut rest = Vec::with_capacity(512);
    put_text(&mut rest, to_text(tail).as_bytes());
    let mut common = Authenticator::new(api_key.as_bytes());
    common.update(large);
    common.update(&rest);
    let own = common.clone().finish();
    common.update(&own);
    rest.extend_from_slice(&own);
    (rest, common.signature())
}

fn put(
    input: &Input<'_>,
    codes: &[Code<'_>],
    delta: Option<(u64, &[Prefix])>,
    content_hash: [u8; 32],
) -> Result<Large, IndexError> {
    let mut places: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
    let mut classes: Vec<&TicketRules> = Vec::new();
    let mut class_of = Vec::with_capacity(codes.len());
    let mut class = Vec::new();
    for code in codes {
        class_bytes(code.rules, &mut class);
        let place = match places.get(&class) {
            Some(place) => *place,
            None => {
                let place = u32::try_from(classes.len()).map_err(|_| IndexError::TooLarge)?;
                classes.push(code.rules);
                places.insert(class.clone(), place);
                place
            }
        };
        class_of.push(place);
    }
    let width = width(classes.len());
    let groups = codes.iter().any(|code| code.group.is_some());
    let counts = CompactCounts {
        classes: classes.into_iter().cloned().collect(),
        codes: codes.len() as u64,
        groups,
        since: delta.map(|(since, _)| since),
        tombstones: delta.map(|(_, gone)| gone.len() as u64),
    };
    let mut text = head(input, content_hash);
    // Two objects become one: the second object's opening brace becomes the comma between them.
    text.push(b',');
    text.extend_from_slice(&to_text(&counts).as_bytes()[1..]);
    let mut bytes = Vec::with_capacity(MAGIC.len() + text.len() + codes.len() * 40);
    bytes.extend_from_slice(MAGIC);
    put_text(&mut bytes, &text);
    bytes.extend(codes.iter().flat_map(|code| code.hash.prefix()));
    bytes.extend(class_of.iter().flat_map(|place| place.to_be_bytes().into_iter().skip(4 - width)));
    for code in codes {
        put_id(&mut bytes, code.ticket_id.as_str());
    }
    if groups {
        bytes.extend(codes.iter().flat_map(|code| code.group.map_or(NO_GROUP, |group| group.0)));
    }
    bytes.extend(delta.into_iter().flat_map(|(_, gone)| gone).flatten());
    Ok(Large { bytes, content_hash })
}

/// Bytes needed for the index of one of this many classes.
fn width(classes: usize) -> usize {
    match classes {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    }
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    // No head comes near 4 GiB: it has at most as many classes as a request has tickets.
    out.extend_from_slice(&(text.len() as u32).to_be_bytes());
    out.extend_from_slice(text);
}

fn put_id(out: &mut Vec<u8>, id: &str) {
    match uuid_to_bytes(id) {
        Some(bytes) => {
            out.push(0);
            out.extend_from_slice(&bytes);
        }
        None => {
            out.push(id.len() as u8); // 1 to 128 (spec D2).
            out.extend_from_slice(id.as_bytes());
        }
    }
}

// ------------------------------------------------------------------------------------------------------------ reading

/// A compact list, cut into its parts. No caller may trust the parts before it has verified the signature.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'a> {
    /// The bytes that the signature covers.
    pub signed: &'a [u8],
    mac: &'a [u8],
}

/// Cuts the signature off the end of a compact list. `None` if the body is too short to have one.
pub fn open(body: &[u8]) -> Option<Envelope<'_>> {
    let at = body.len().checked_sub(MAC_BYTES).filter(|at| *at >= MAGIC.len())?;
    let (signed, mac) = body.split_at(at);
    Some(Envelope { signed, mac })
}

impl Envelope<'_> {
    /// The signature, in the form of an `X-Signature` header.
    pub fn signature(&self) -> String {
        format!("{V1_PREFIX}{}", hex(self.mac))
    }
}

/// The codes of a compact list.
#[derive(Debug)]
pub enum Columns {
    /// All codes, ready to be made into an index.
    Full(Builder),
    /// The codes that changed since another version.
    Delta {
        /// The version from which the delta starts.
        since: u64,
        /// Codes that are new or changed.
        upserts: Vec<Upsert>,
        /// Prefixes of the codes that are gone.
        tombstones: Vec<Prefix>,
    },
}

/// Why the columns of a compact list cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompactError {
    /// The bytes don't have the compact form.
    #[error(transparent)]
    Malformed(#[from] FieldError),
    /// The codes do not fit into an index.
    #[error(transparent)]
    Index(#[from] IndexError),
}

/// Reads the bytes that were signed.
pub fn read_signed(signed: &[u8]) -> Result<(ManifestHead, ManifestTail, Columns), CompactError> {
    let mut rest = signed.get(MAGIC.len()..).unwrap_or_default();
    let text = take_text(&mut rest, "head")?;
    let head: ManifestHead = problem::read(text)?;
    let counts: CompactCounts = problem::read(text)?;
    let codes = count(counts.codes, "codes")?;
    let prefixes = take_each::<16>(&mut rest, codes, "codes")?;
    let places = take(&mut rest, codes.checked_mul(width(counts.classes.len())), "codes")?;
    let mut ids = Vec::with_capacity(codes);
    for _ in 0..codes {
        ids.push(take_id(&mut rest)?);
    }
    let groups = match counts.groups {
        true => take_each::<{ Group::BYTES }>(&mut rest, codes, "groups")?,
        false => &[],
    };
    let group = |i: usize| groups.get(i).filter(|group| **group != NO_GROUP).map(|group| Group(*group));
    let place = |i: usize| {
        let width = width(counts.classes.len());
        let bytes = places.get(i * width..(i + 1) * width).unwrap_or_default();
        let place = bytes.iter().fold(0_usize, |place, byte| place << 8 | usize::from(*byte));
        (place < counts.classes.len()).then_some(place).ok_or_else(|| FieldError::new("classes", "one is missing"))
    };
    let columns = match (counts.since, counts.tombstones) {
        (None, None) => {
            let mut builder = Builder::default();
            let classes =
                counts.classes.iter().map(|rules| builder.class(rules)).collect::<Result<Vec<u32>, IndexError>>()?;
            for (i, (prefix, id)) in prefixes.iter().zip(&ids).enumerate() {
                builder.push_class(*prefix, id.as_str(), classes[place(i)?], group(i))?;
            }
            Columns::Full(builder)
        }
        (Some(since), Some(gone)) => {
            let tombstones = take_each::<16>(&mut rest, count(gone, "tombstones")?, "tombstones")?.to_vec();
            let mut upserts = Vec::with_capacity(codes);
            for (i, (prefix, id)) in prefixes.iter().zip(&ids).enumerate() {
                let (ticket_id, rules) = (id.as_str().to_owned(), counts.classes[place(i)?].clone());
                upserts.push(Upsert { prefix: *prefix, ticket_id, rules, group: group(i) });
            }
            Columns::Delta { since, upserts, tombstones }
        }
        _ => return Err(FieldError::new("since", "and tombstones stand together or not at all").into()),
    };
    let tail = problem::read(take_text(&mut rest, "tail")?)?;
    if !rest.is_empty() {
        return Err(FieldError::new("", "goes on behind its end").into());
    }
    Ok((head, tail, columns))
}

fn short(member: &str) -> FieldError {
    FieldError::new(member, "ends too early")
}

fn count(number: u64, member: &str) -> Result<usize, FieldError> {
    usize::try_from(number).map_err(|_| short(member))
}

fn take<'a>(rest: &mut &'a [u8], length: Option<usize>, member: &str) -> Result<&'a [u8], FieldError> {
    let (taken, behind) = length.and_then(|length| rest.split_at_checked(length)).ok_or_else(|| short(member))?;
    *rest = behind;
    Ok(taken)
}

fn take_each<'a, const N: usize>(rest: &mut &'a [u8], count: usize, member: &str) -> Result<&'a [[u8; N]], FieldError> {
    Ok(take(rest, count.checked_mul(N), member)?.as_chunks::<N>().0)
}

fn take_text<'a>(rest: &mut &'a [u8], member: &str) -> Result<&'a [u8], FieldError> {
    let length = take_each::<4>(rest, 1, member)?.iter().copied().map(u32::from_be_bytes).next();
    take(rest, length.and_then(|length| usize::try_from(length).ok()), member)
}

fn take_id(rest: &mut &[u8]) -> Result<TicketId, FieldError> {
    let member = "ticket_id";
    let length = take(rest, Some(1), member)?.first().copied().map(usize::from).unwrap_or_default();
    let text = if length == 0 {
        let bytes = take_each::<16>(rest, 1, member)?.first().copied().unwrap_or_default();
        uuid_of_bytes(bytes)
    } else {
        let text = std::str::from_utf8(take(rest, Some(length), member)?);
        text.map_err(|error| FieldError::new(member, error))?.to_owned()
    };
    TicketId::new(text).map_err(|error| FieldError::new(member, error))
}
