//! Splits the bytes of a reader into codes. CR, LF or Tab ends a code.

use std::time::Instant;

/// A message from a reader.
#[derive(Debug)]
pub enum Reading {
    /// A code, with the moment when it was read.
    Code(String, Instant),
    /// The input has ended.
    End,
}

/// The most bytes of a line, more than any code has. The rest of a longer line is dropped, and the engine says
/// that it is no code of Admit.
const LONGEST: usize = 4_096;

/// The part of the present code that was read so far.
#[derive(Debug, Default)]
pub struct Lines {
    open: Vec<u8>,
}

impl Lines {
    /// Adds bytes, and gives the codes that they end.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut codes = Vec::new();
        for byte in bytes {
            match byte {
                b'\r' | b'\n' | b'\t' => codes.extend(self.end()),
                _ if self.open.len() < LONGEST => self.open.push(*byte),
                _ => {}
            }
        }
        codes
    }

    /// The unfinished code at the end of the input; `None` if there is none.
    pub fn end(&mut self) -> Option<String> {
        let bytes = std::mem::take(&mut self.open);
        (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_ends_with_its_line_however_the_bytes_come() {
        let mut lines = Lines::default();
        assert!(lines.take(b"TICK").is_empty());
        assert_eq!(lines.take(b"ET-1\r\nTICKET-2\n\n\nTICKET-3\rTI"), ["TICKET-1", "TICKET-2", "TICKET-3"]);
        assert_eq!(lines.take(b"CKET-4\t"), ["TICKET-4"]);
        assert_eq!(lines.end(), None);
        assert!(lines.take("Grüße".as_bytes()).is_empty());
        assert_eq!(lines.end().as_deref(), Some("Grüße"));
        assert_eq!(lines.take(b"\xff\xfe\n"), ["\u{fffd}\u{fffd}"]);
    }

    #[test]
    fn an_endless_line_does_not_fill_the_memory() {
        let mut lines = Lines::default();
        for _ in 0..1_000 {
            lines.take(&[b'x'; 1_000]);
        }
        assert_eq!(lines.take(b"\n")[0].len(), LONGEST);
        assert_eq!(lines.take(b"next\n"), ["next"]);
    }
}
