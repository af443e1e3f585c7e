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
//! | … | of [`write`]: the columns of [`kept`], and [`CHECK_BYTES`] of SHA-256 over everything before and the scans' digests |
//!
//! Each column begins with a byte that says which scans have a value, and how the values are written: see [`columns`].
//! Equal scans give equal bytes on every machine. A block that is read back equals what was written, whatever the
//! fields hold. Bytes that no scan gives are an error, never a panic or a guess.

mod columns;
mod scan;
mod kept;

use sha2::{Digest as _, Sha256};

pub use self::columns::{BlockError, VERSION};
use self::columns::{Reader, Writer};
pub use self::kept::Kept;
use crate::limits::BLOCK_SCANS;
use crate::scan::Scan;

/// Bytes of the checksum at a block's end, which detects damage.
pub const CHECK_BYTES: usize = 8;

/// Writes the content of one scan, without what the server keeps in addition.
pub fn scan_to_bytes(scan: &Scan) -> Vec<u8> {
    let mut to = Writer::new(1);
    scan::put(&mut to, std::slice::from_ref(scan).iter());
    to.finish()
}

/// Reads the bytes that [`scan_to_bytes`] wrote.
pub fn scan_from_bytes(bytes: &[u8]) -> Result<Scan, BlockError> {
    let mut from = Reader::open(bytes)?;
    let mut scans = scan::take(&mut from)?;
    from.end()?;
    scans.pop().filter(|_| scans.is_empty()).ok_or(BlockError::Damaged("holds more than one scan"))
}

/// Writes scans as the server keeps them. Fails if there are none, or more than a block holds.
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

/// Reads the bytes that [`write`] wrote. Each digest is computed again. A block that differs from what was written is
/// an error.
pub fn read(bytes: &[u8]) -> Result<Vec<Kept>, BlockError> {
    let (columns, written) = bytes.split_last_chunk().ok_or(BlockError::Damaged("too short"))?;
    let mut from = Reader::open(columns)?;
    let scans = scan::take(&mut from)?;
    let kept = kept::take(&mut from, scans)?;
    from.end()?;
    if check(columns, &kept) == *written { Ok(kept) } else { Err(BlockError::Damaged("is not what was written")) }
}

/// The checksum of a block, over its columns and the digests of its scans.
fn check(columns: &[u8], kept: &[Kept]) -> [u8; CHECK_BYTES] {
    let sum = kept.iter().fold(Sha256::new_with_prefix(columns), |sum, one| sum.chain_update(one.fact.digest.0));
    let mut check = [0; CHECK_BYTES];
    check.copy_from_slice(&sum.finalize()[..CHECK_BYTES]);
    check
}
