//! Scans as bytes: the one canonical encoding of what a device signed and the server stores.
//!
//! A block holds 1 to [`BLOCK_SCANS`](crate::limits::BLOCK_SCANS) scans. Each field is a column over all scans, and a
//! value that all scans share is written once. A single scan is a block of one.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | [`VERSION`] |
//! | 1 | number of scans |
//! | … | the columns of [`scan`], in its order |
//! | … | only in a block that [`write`] made: the columns of [`kept`], [`CHECK_BYTES`] of SHA-256 over the scans' digests, and [`CHECK_BYTES`] of SHA-256 over everything before |
//!
//! Each column begins with a byte that says which scans have a value, and how the values are written: see [`columns`].
//! Equal scans give equal bytes on every machine. A block that is read back equals what was written, whatever the
//! fields hold. Bytes that are not the encoding of scans are an error, never a panic or a guess.

mod columns;
mod scan;
mod kept;

use sha2::{Digest as _, Sha256};

pub use self::columns::{BlockError, VERSION};
use self::columns::{Reader, Writer};
pub use self::kept::Kept;
use crate::limits::BLOCK_SCANS;
use crate::scan::Scan;
use crate::sign::content_digest;

/// Bytes of each of the two checksums at a block's end. The first, over the scans' digests, proves that the scans are
/// read as they were written. The second, over all bytes before it, detects damage.
pub const CHECK_BYTES: usize = 8;

/// Writes the content of one scan, without what the server keeps in addition.
pub fn scan_to_bytes(scan: &Scan) -> Vec<u8> {
    let mut to = Writer::new(1);
    scan::put(&mut to, std::slice::from_ref(scan).iter(), std::iter::once(content_digest(scan)));
    to.finish()
}

/// Reads the bytes that [`scan_to_bytes`] wrote.
pub fn scan_from_bytes(bytes: &[u8]) -> Result<Scan, BlockError> {
    let mut from = Reader::open(bytes)?;
    let mut scans = scan::take(&mut from, 1)?.scans;
    from.end()?;
    scans.pop().filter(|_| scans.is_empty()).ok_or(BlockError::Damaged("holds more than one scan"))
}

/// Writes scans as the server keeps them. Fails if there are none, or more than a block holds.
pub fn write(scans: &[Kept]) -> Result<Vec<u8>, BlockError> {
    if scans.is_empty() || scans.len() > BLOCK_SCANS {
        return Err(BlockError::Size(scans.len()));
    }
    let mut to = Writer::new(scans.len());
    scan::put(&mut to, scans.iter().map(|one| &one.fact.scan), scans.iter().map(|one| one.fact.digest));
    kept::put(&mut to, scans);
    let mut bytes = to.finish();
    bytes.extend(check(&digests(scans)));
    bytes.extend(check(&bytes));
    Ok(bytes)
}

/// Reads the bytes that [`write`] wrote. Each digest is computed again. A block that differs from what was written is
/// an error.
pub fn read(bytes: &[u8]) -> Result<Vec<Kept>, BlockError> {
    let (kept, written) = read_where(bytes, |_| true)?;
    let kept: Vec<Kept> = kept.into_iter().map(|(_, kept)| kept).collect();
    if check(&digests(&kept)) == written { Ok(kept) } else { Err(BlockError::Damaged("is not what was written")) }
}

/// Reads the scans at the wanted indices, each with its index. The digests of the others are not computed, which saves
/// most of the time. A damaged block is an error.
pub fn read_some(bytes: &[u8], wanted: impl Fn(usize) -> bool) -> Result<Vec<(usize, Kept)>, BlockError> {
    Ok(read_where(bytes, wanted)?.0)
}

/// Reads the scans without their `prev`, which takes the least time.
pub fn read_unchained(bytes: &[u8]) -> Result<Vec<Scan>, BlockError> {
    let kept = bytes.len().checked_sub(2 * CHECK_BYTES).ok_or(BlockError::Damaged("too short"))?;
    Ok(scan::take(&mut Reader::open(&bytes[..kept])?, 0)?.scans)
}

/// The wanted scans with their indices, and the checksum of all digests.
#[allow(clippy::type_complexity, reason = "the parts of a block")]
fn read_where(
    bytes: &[u8],
    wanted: impl Fn(usize) -> bool,
) -> Result<(Vec<(usize, Kept)>, [u8; CHECK_BYTES]), BlockError> {
    let too_short = BlockError::Damaged("too short");
    let (checked, written) = bytes.split_last_chunk().ok_or(too_short.clone())?;
    let (columns, digests) = checked.split_last_chunk().ok_or(too_short)?;
    let mut from = Reader::open(columns)?;
    if check(checked) != *written {
        return Err(BlockError::Damaged("is not what was written"));
    }
    let last = (0..BLOCK_SCANS).rev().find(|index| wanted(*index));
    let taken = scan::take(&mut from, last.map_or(0, |last| last + 1))?;
    let kept = kept::take(&mut from, taken, wanted)?;
    from.end()?;
    Ok((kept, *digests))
}

/// The digests of scans, one after the other.
fn digests(kept: &[Kept]) -> Vec<u8> {
    kept.iter().flat_map(|one| one.fact.digest.0).collect()
}
/// A checksum of bytes: the beginning of their SHA-256.
fn check(bytes: &[u8]) -> [u8; CHECK_BYTES] {
    let mut check = [0; CHECK_BYTES];
    check.copy_from_slice(&Sha256::digest(bytes)[..CHECK_BYTES]);
    check
}
