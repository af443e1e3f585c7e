//! Content encodings of answers: which one a client accepts, and lists that are compressed once for all devices.
//!
//! A list is a large part that every device gets, and a small tail of its own (spec §5). The large part is compressed
//! once. For zstd the tail is appended as a second frame. For gzip the tail belongs to the same member: the large part
//! ends in a full flush, so the tail can follow, and the checksum is combined. The body never has two gzip members,
//! because browsers drop the second.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use admit_app::cache::LargePart;
use admit_core::manifest::compact::MEDIA_TYPE;
use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use http::header::{ACCEPT, ACCEPT_ENCODING};
use http::{HeaderMap, HeaderName};

/// Marks an answer that is encoded already or must not be compressed. A handler adds it to the answer's extensions.
#[derive(Debug, Clone, Copy)]
pub struct AsItIs;

/// The zstd level for lists. Level 3 takes 13 ms for 20,000 tickets (2 cores); a higher one gains little.
const ZSTD_LEVEL: i32 = 3;
/// The largest number of compressed large parts in memory: enough for a few events with a few versions each.
const KEPT: usize = 16;

/// Whether a client accepts an encoding: the header names it with a weight other than 0.
pub fn accepts(headers: &HeaderMap, encoding: &str) -> bool {
    names(headers, &ACCEPT_ENCODING, encoding)
}

/// Whether a client asks for a list in the compact form. The header must name its media type; `*/*` is not enough.
pub fn takes_compact(headers: &HeaderMap) -> bool {
    names(headers, &ACCEPT, MEDIA_TYPE)
}

/// Whether a header has the item `word` with a weight other than 0.
fn names(headers: &HeaderMap, header: &HeaderName, word: &str) -> bool {
    let lines = headers.get_all(header).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|item| {
        let (name, weight) = item.split_once(';').map_or((item, ""), |(name, weight)| (name, weight));
        let zero = weight.trim().strip_prefix("q=").and_then(|q| q.trim().parse::<f32>().ok()) == Some(0.0);
        name.trim().eq_ignore_ascii_case(word) && !zero
    })
}

/// An encoding of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// zstd, as two frames.
    Zstd,
    /// gzip, as one member.
    Gzip,
    /// No encoding.
    Identity,
}

impl Encoding {
    /// The best encoding that a client accepts.
    pub fn of(headers: &HeaderMap) -> Self {
        if accepts(headers, "zstd") {
            Self::Zstd
        } else if accepts(headers, "gzip") {
            Self::Gzip
        } else {
            Self::Identity
        }
    }
    /// The value of `Content-Encoding`; `None` for no encoding.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Zstd => Some("zstd"),
            Self::Gzip => Some("gzip"),
            Self::Identity => None,
        }
    }
}

/// The large part compressed as the beginning of a gzip member.
#[derive(Debug)]
struct GzipPart {
    /// The gzip header and deflate blocks. They end at a byte boundary without a last block.
    bytes: Vec<u8>,
    /// The checksum of the large part.
    crc: Crc,
}

/// Compressed forms of large parts, kept as long as the parts themselves.
#[derive(Debug, Default)]
pub struct Squeezed {
    kept: Mutex<Vec<(Weak<LargePart>, Arc<GzipPart>)>>,
}

impl Squeezed {
    /// Encodes `large` followed by `tail`. It is slow the first time for each `large`, so don't call it on a thread
    /// that answers requests.
    pub fn join(&self, large: &Arc<LargePart>, tail: &[u8], encoding: Encoding) -> std::io::Result<Vec<u8>> {
        match encoding {
            Encoding::Identity => Ok([&large.bytes, tail].concat()),
            Encoding::Zstd => {
                let frame = match large.zstd.get() {
                    Some(frame) => frame,
                    None => {
                        let frame = zstd::bulk::compress(&large.bytes, ZSTD_LEVEL)?;
                        large.zstd.get_or_init(|| frame)
                    }
                };
                Ok([frame.as_slice(), &zstd::bulk::compress(tail, ZSTD_LEVEL)?].concat())
            }
            Encoding::Gzip => {
                let part = self.gzip(large)?;
                let (mut crc, mut of_tail) = (Crc::new(), Crc::new());
                of_tail.update(tail);
                crc.combine(&part.crc);
                crc.combine(&of_tail);
                let mut out = part.bytes.clone();
                deflate(&mut out, tail, FlushCompress::Finish)?;
                out.extend_from_slice(&crc.sum().to_le_bytes());
                out.extend_from_slice(&crc.amount().to_le_bytes());
                Ok(out)
            }
        }
    }

    fn gzip(&self, large: &Arc<LargePart>) -> std::io::Result<Arc<GzipPart>> {
        let find = |kept: &[(Weak<LargePart>, Arc<GzipPart>)]| {
            let same = |(part, _): &&(Weak<LargePart>, _)| part.upgrade().is_some_and(|part| Arc::ptr_eq(&part, large));
            kept.iter().find(same).map(|(_, gzip)| gzip.clone())
        };
        if let Some(found) = find(&self.kept.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(found);
        }
        // The gzip header: magic number, deflate, no flags, no time, no hint, unknown system.
        let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
        deflate(&mut bytes, &large.bytes, FlushCompress::Full)?;
        let mut crc = Crc::new();
        crc.update(&large.bytes);
        let part = Arc::new(GzipPart { bytes, crc });
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(part, _)| part.strong_count() > 0);
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((Arc::downgrade(large), part.clone()));
        Ok(part)
    }
}

/// Appends `bytes` as deflate blocks, with the given kind of flush.
fn deflate(out: &mut Vec<u8>, bytes: &[u8], flush: FlushCompress) -> std::io::Result<()> {
    let mut compress = Compress::new(Compression::default(), false);
    loop {
        let done = compress.total_in() as usize;
        out.reserve(bytes.len().saturating_sub(done) / 2 + 1024);
        let free = out.capacity() - out.len();
        let status = compress.compress_vec(&bytes[done..], out, flush).map_err(std::io::Error::other)?;
        let spare = out.capacity() > out.len();
        let taken = compress.total_in() as usize == bytes.len();
        // A flush is complete once all input was taken and output space was left.
        if status == Status::StreamEnd || flush == FlushCompress::Full && taken && spare && free > 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::sync::OnceLock;

    fn large(bytes: Vec<u8>) -> Arc<LargePart> {
        Arc::new(LargePart { bytes, content_hash: [0; 32], version: 1, codes: 0, zstd: OnceLock::new() })
    }

    #[test]
    fn both_encodings_give_back_the_large_part_and_the_tail() {
        let squeezed = Squeezed::default();
        for size in [0, 1, 1_000, 300_000] {
            let bytes: Vec<u8> = (0..size).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8 & 0x3f).collect();
            let part = large(bytes.clone());
            for tail in [&b"{\"tail\":1}"[..], b"another"] {
                let whole = [&bytes, tail].concat();
                let gzip = squeezed.join(&part, tail, Encoding::Gzip).unwrap();
                let mut plain = Vec::new();
                // This decoder reads one member. A second one would stay unread.
                flate2::read::GzDecoder::new(&gzip[..]).read_to_end(&mut plain).unwrap();
                assert_eq!(plain, whole, "gzip of {size}");
                let zstd = squeezed.join(&part, tail, Encoding::Zstd).unwrap();
                assert_eq!(zstd::decode_all(&zstd[..]).unwrap(), whole, "zstd of {size}");
                assert_eq!(squeezed.join(&part, tail, Encoding::Identity).unwrap(), whole);
            }
        }
    }

    #[test]
    fn a_part_is_squeezed_once() {
        let squeezed = Squeezed::default();
        let part = large(vec![7; 10_000]);
        let first = squeezed.gzip(&part).unwrap();
        assert!(Arc::ptr_eq(&first, &squeezed.gzip(&part).unwrap()));
        drop(part);
        squeezed.gzip(&large(vec![8; 10])).unwrap();
        assert_eq!(squeezed.kept.lock().unwrap().len(), 1, "what nobody serves any more is forgotten");
    }

    #[test]
    fn an_encoding_is_taken_when_it_is_named_and_not_refused() {
        let of = |line: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, line.parse().unwrap());
            Encoding::of(&headers)
        };
        assert_eq!(of("gzip, deflate, br, zstd"), Encoding::Zstd);
        assert_eq!(of("gzip;q=0.5"), Encoding::Gzip);
        assert_eq!(of("gzip;q=0, zstd; q=0.0"), Encoding::Identity);
        assert_eq!(of("br"), Encoding::Identity);
    }

    #[test]
    fn the_compact_form_is_for_those_who_name_it() {
        let takes = |line: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, line.parse().unwrap());
            takes_compact(&headers)
        };
        assert!(takes("application/vnd.admit.manifest"));
        assert!(takes("Application/vnd.admit.manifest;q=0.9, application/json"));
        for line in ["application/json", "*/*", "application/*", "application/vnd.admit.manifest;q=0"] {
            assert!(!takes(line), "{line}");
        }
    }
}
