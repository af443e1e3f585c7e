//! Scans as bytes: the one canonical encoding of what a device signed and the server stores.
//!
//! A block holds 1 to [`BLOCK_SCANS`](crate::limits::BLOCK_SCANS) scans field by field: each field is a column, and what a
//! column's scans have in common stands once. A scan alone is a block of one.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | [`VERSION`] |
//! | 1 | number of scans |
//! | … | the columns of [`scan`], in its order |
//! | … | of [`write`]: the columns of [`kept`], and [`CHECK_BYTES`] of SHA-256 over everything before and the scans' digests |
//!
//! Each column begins with a byte that says which of its scans have a value, and how the values are written: see
//! [`columns`]. Equal scans give equal bytes, on every machine. A block that is read back equals what was written,
//! whatever the fields say. Bytes that no scan gives are an error, never a panic or a guess.

mod columns;
mod scan;
mod kept;

use sha2::{Digest as _, Sha256};

pub use self::columns::{BlockError, VERSION};
use self::columns::{Reader, Writer};
pub use self::kept::Kept;
use crate::limits::BLOCK_SCANS;
use crate::scan::Scan;

/// Bytes at a block's end by which damage is noticed.
pub const CHECK_BYTES: usize = 8;

/// A scan's content alone.
pub fn scan_to_bytes(scan: &Scan) -> Vec<u8> {
    let mut to = Writer::new(1);
    scan::put(&mut to, std::slice::from_ref(scan).iter());
    to.finish()
}

/// Reads [`scan_to_bytes`] back.
pub fn scan_from_bytes(bytes: &[u8]) -> Result<Scan, BlockError> {
    let mut from = Reader::open(bytes)?;
    let mut scans = scan::take(&mut from)?;
    from.end()?;
    scans.pop().filter(|_| scans.is_empty()).ok_or(BlockError::Damaged("holds more than one scan"))
}

/// Scans as the server keeps them. Fails where they are none, or more than a block holds.
pub fn write(scans: &[Kept]) -> Result<Vec<u8>, BlockError> {
    if scans.is_empty() || scans.len() > BLOCK_SCANS {
        return Err(BlockError::Size(scans.len()));
    }
    let mut to = Writer::new(scans.len());
    scan::put(&mut to, scans.iter().map(|one| &one.fact.scan));
    kept::put(&mut to, scans);
    let mut bytes = to.finish();
    bytes.extend(check(&bytes, scans));
    Ok(bytes)
}

/// Reads [`write`] back. Each digest is computed anew; a block whose contents are not those that were written is damaged.
pub fn read(bytes: &[u8]) -> Result<Vec<Kept>, BlockError> {
    let (columns, written) = bytes.split_last_chunk().ok_or(BlockError::Damaged("too short"))?;
    let mut from = Reader::open(columns)?;
    let scans = scan::take(&mut from)?;
    let kept = kept::take(&mut from, scans)?;
    from.end()?;
    if check(columns, &kept) == *written { Ok(kept) } else { Err(BlockError::Damaged("is not what was written")) }
}

/// The checksum of a block: its bytes are those that were written, and its scans have the digests that they had then.
fn check(columns: &[u8], kept: &[Kept]) -> [u8; CHECK_BYTES] {
    let sum = kept.iter().fold(Sha256::new_with_prefix(columns), |sum, one| sum.chain_update(one.fact.digest.0));
    let mut check = [0; CHECK_BYTES];
    check.copy_from_slice(&sum.finalize()[..CHECK_BYTES]);
    check
}
