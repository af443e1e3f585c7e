//! The trace of a run: every input, effect, request and answer, hashed into one number. The same seed gives the same
//! number (I27).

use std::fmt::Write as _;

/// A running hash (FNV-1a, 64 bit), and the lines themselves if they are kept.
#[derive(Debug, Clone)]
pub struct Trace {
    hash: u64,
    lines: Option<Vec<String>>,
    buffer: String,
}

impl Trace {
    /// An empty trace. With `keep` it also keeps the lines.
    pub fn new(keep: bool) -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, lines: keep.then(Vec::new), buffer: String::new() }
    }
    /// Adds a line.
    pub fn line(&mut self, at_ms: i64, line: std::fmt::Arguments<'_>) {
        self.buffer.clear();
        // Writing to a string cannot fail.
        let _ = write!(self.buffer, "{at_ms:>9} {line}");
        for byte in self.buffer.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if let Some(lines) = &mut self.lines {
            lines.push(self.buffer.clone());
        }
    }
    /// The hash of all lines so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }
    /// The lines; empty if they were not kept.
    pub fn into_lines(self) -> Vec<String> {
        self.lines.unwrap_or_default()
    }
}

/// A short number for bytes in a trace line.
pub fn short(bytes: &[u8]) -> u32 {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    (hash ^ (hash >> 32)) as u32
}
