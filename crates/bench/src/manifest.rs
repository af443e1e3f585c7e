//! Measures the list as the server builds it: the time to build it, its bytes, and the bytes of a small change.

use std::io::Write;

use admit_core::manifest::{compact_part, content_hash, delta_part, large_part};
use admit_core::wire::manifest::ManifestTicket;
use anyhow::Result;

use crate::list::List;
use crate::row::{Row, Target, number};
use crate::run::Run;
use crate::sample::by_turns_ms;

/// The bytes of one code in raw form: a hash and a ticket's id.
const BARE_CODE_BYTES: usize = 32 + 16;
/// The largest allowed size of the compact form of 20,000 tickets as it is sent, in kB.
const COMPACT_KB: f64 = 700.0;

/// Builds and compresses a list of 20,000 tickets.
pub fn measure(run: &Run) -> Result<Vec<Row>> {
    let tickets = 20_000;
    let list = List::new(tickets)?;
    let codes = list.codes();
    let input = list.input(&codes);
    let built = large_part(&input)?;
    let serialise = || {
        let mut bytes = Vec::with_capacity(built.bytes.len());
        for code in &codes {
            let written =
                serde_json::to_writer(&mut bytes, &ManifestTicket::of(code.hash, code.ticket_id, code.rules, None));
            if written.is_err() {
                break;
            }
            bytes.push(b',');
        }
        bytes
    };
    let (ours, bare) = by_turns_ms(run.runs(15), || large_part(&input), serialise);
    let of = format!("{} tickets", number(tickets as f64));
    let build = Row::new(
        format!("list, build, {of}"),
        ours,
        "ms",
        Target::None,
        format!("sort, hash, JSON of {of}; limit: bare serialising of the same rows"),
    )
    .beside(bare, Target::None);

    let kilobytes = |bytes: usize| bytes as f64 / 1_000.0;
    let floor = kilobytes(tickets * BARE_CODE_BYTES);
    let size = |form: &str, bytes: usize, target: Target| {
        let input = format!("the large part of {of}; limit: {BARE_CODE_BYTES} raw bytes a ticket");
        Row::new(format!("list, {form}"), kilobytes(bytes), "kB", Target::None, input).beside(floor, target)
    };
    let sorted = changed(&list, 100);
    let compact = compact_part(&input)?;
    let hash = content_hash(std::iter::empty());
    let delta = delta_part(&list.input(&sorted), 6, &[], hash)?;
    Ok(vec![
        build,
        size("JSON", built.bytes.len(), Target::None),
        size("gzip", gzip(&built.bytes)?, Target::None),
        size("zstd", zstd::bulk::compress(&built.bytes, 3)?.len(), Target::AtMost(1_250.0)),
        size("br", br(&built.bytes)?, Target::None),
        size("compact form", compact.bytes.len(), Target::None),
        size("compact form, zstd", zstd::bulk::compress(&compact.bytes, 3)?.len(), Target::AtMost(COMPACT_KB)),
        Row::new(
            "list, zstd of 100 changed tickets",
            kilobytes(zstd::bulk::compress(&delta.bytes, 3)?.len()),
            "kB",
            Target::None,
            "the large part of a delta; limit: 48 raw bytes a ticket",
        )
        .beside(kilobytes(100 * BARE_CODE_BYTES), Target::AtMost(10.0)),
    ])
}

/// The first `count` tickets of the list, as if an import had changed them.
fn changed(list: &List, count: usize) -> Vec<admit_core::manifest::Code<'_>> {
    let mut codes = list.codes();
    codes.truncate(count);
    codes
}

/// The size with gzip at level 6, which the server uses.
fn gzip(bytes: &[u8]) -> Result<usize> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}

/// The size with brotli at level 5, which costs about as much time as gzip.
fn br(bytes: &[u8]) -> Result<usize> {
    let mut encoder = brotli::CompressorWriter::new(Vec::new(), 64 * 1024, 5, 22);
    encoder.write_all(bytes)?;
    Ok(encoder.into_inner().len())
}
