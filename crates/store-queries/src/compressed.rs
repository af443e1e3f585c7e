//! Values that are stored compressed: the length of the plain bytes in 4 bytes with the lowest first, and a zstd frame.

use std::cell::RefCell;
use std::io::{Error, ErrorKind, Result};

use zstd::bulk::{Compressor, Decompressor};

/// The level of compression. It is the fastest: what repeats are ids, names of fields and equal small numbers.
const LEVEL: i32 = 1;
/// The most plain bytes. A value that claims to have more is damaged.
const MOST_BYTES: usize = 64 << 20;

// To make one takes longer than to compress a small value.
thread_local! {
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses bytes. Fails for more than 64 MB.
pub(crate) fn pack(plain: &[u8]) -> Result<Vec<u8>> {
    let size = u32::try_from(plain.len()).ok().filter(|_| plain.len() <= MOST_BYTES);
    let size = size.ok_or_else(|| Error::new(ErrorKind::InvalidInput, "too large"))?;
    let packed = COMPRESSOR.with_borrow_mut(|kept| {
        let compressor = match kept {
            Some(compressor) => compressor,
            None => kept.insert(Compressor::new(LEVEL)?),
        };
        compressor.compress(plain)
    });
    Ok([&size.to_le_bytes()[..], &packed?].concat())
}

/// Gives the bytes that [`pack`] compressed. Fails for any other bytes.
pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>> {
    let damaged = || Error::new(ErrorKind::InvalidData, "damaged");
    let (size, frame) = packed.split_first_chunk().ok_or_else(damaged)?;
    let size = u32::from_le_bytes(*size) as usize;
    if size > MOST_BYTES {
        return Err(damaged());
    }
    let plain = DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::new()?),
        };
        decompressor.decompress(frame, size)
    })?;
    if plain.len() == size { Ok(plain) } else { Err(damaged()) }
}
