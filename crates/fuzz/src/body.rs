//! Fuzz target: a request's body before authentication. It may be compressed, or be no JSON at all.

use std::io::Write;

use serde_json::Value;

use crate::decode::{Coding, Depth, Refused, decode, document, most};

/// Runs the target. The first byte chooses what the other bytes are: a body as received, or a text that this function
/// first compresses, whole or in two parts.
pub fn body(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let coding = [Coding::Identity, Coding::Gzip, Coding::Zstd][usize::from(choice % 3)];
    if choice & 0x40 == 0 {
        came(coding, rest);
    } else {
        packed(coding, rest, usize::from(choice & 0x3f));
    }
    read(rest);
}

/// Checks the decoding of any bytes. The decoded body never exceeds the size limit. Decoding with the depth limit gives
/// the same result as without it, or refuses the body as too deep.
fn came(coding: Coding, bytes: &[u8]) {
    let flat = decode(coding, bytes, false);
    match &flat {
        Ok(decoded) => assert!(decoded.len() <= most(bytes.len()), "{} of {} bytes", decoded.len(), bytes.len()),
        Err(refused) => assert!(!refused.detail().is_empty(), "whoever sent it is told why"),
    }
    match decode(coding, bytes, true) {
        Err(Refused::TooDeep) => {}
        capped => assert_eq!(capped, flat, "only depth tells them apart"),
    }
}

/// Checks that a compressed text is read back unchanged, in however many gzip members or zstd frames it was sent.
fn packed(coding: Coding, text: &[u8], cut: usize) {
    let (first, second) = text.split_at(cut.min(text.len()));
    let sent = [pack(coding, first), pack(coding, second)].concat();
    assert_eq!(decode(coding, &sent, false).as_deref(), Ok(text));
    // The counted depth does not depend on where the text is cut.
    let mut depth = Depth::default();
    let in_two = depth.feed(first).and_then(|()| depth.feed(second));
    assert_eq!(decode(coding, &sent, true).map(|_| ()), in_two);
}

fn pack(coding: Coding, text: &[u8]) -> Vec<u8> {
    match coding {
        Coding::Identity => text.to_vec(),
        Coding::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory takes what is written")
        }
        Coding::Zstd => zstd::encode_all(text, 1).expect("memory takes what is written"),
    }
}

/// Checks the parsing of a JSON document. A document that is accepted has no NUL. If the counter of depth accepted its
/// text, its depth is at most the limit. A refusal has a message.
fn read(bytes: &[u8]) {
    let counted = Depth::default().feed(bytes);
    match document::<Value>(bytes) {
        Ok(value) => {
            assert!(!has_nul(&value), "a NUL was let through");
            let fits = levels(&value) <= admit_core::limits::BODY_DEPTH;
            // If a member is named twice, only one is kept. So the value may be less deep than the text.
            assert!(fits || counted.is_err(), "{} levels were counted as few", levels(&value));
        }
        Err(error) => assert!(!error.message.is_empty()),
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(members) => members.iter().any(|(key, value)| key.contains('\0') || has_nul(value)),
        _ => false,
    }
}

fn levels(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}

/// The first inputs. They use each content coding, for a body as received and for a text to compress. They include
/// nesting at the depth limit and one level beyond it.
pub fn seeds() -> Vec<Vec<u8>> {
    let with = |choice: u8, bytes: &[u8]| [&[choice], bytes].concat();
    let batch = br#"{"batch_id":"b","device_id":"d","scans":[{"scan_id":"s","note":"\"[\\"}]}"#;
    let deep = |levels: usize| [b"[".repeat(levels), b"]".repeat(levels)].concat();
    let skippable = [&0x184D_2A50_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), b"abc"].concat();
    let frames = [pack(Coding::Zstd, b"[1,"), skippable, pack(Coding::Zstd, b"2]")].concat();
    let members = [pack(Coding::Gzip, b"[1,"), pack(Coding::Gzip, b"2]")].concat();
    let bomb = pack(Coding::Gzip, &vec![b' '; 5 * 1024 * 1024]);
    vec![
        with(0, batch),
        with(0x40 | 9, batch),
        with(1, &members),
        with(0x40 | 10, batch),
        with(1, &bomb),
        with(2, &frames),
        with(0x40 | 11, batch),
        with(0, &deep(32)),
        with(0x40 | 13, &deep(33)),
        with(0, br#"{"name":"a\u0000b"}"#),
        with(0, b"\xff\xfe"),
        with(0, b" \n"),
    ]
}
