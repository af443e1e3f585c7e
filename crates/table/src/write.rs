//! Writes CSV in which no spreadsheet takes a cell for a formula.

use std::io::Write;

use crate::limits::Refused;

/// Whether a spreadsheet would take a cell with this text for a formula.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// Removes the apostrophe that [`Writer`] put before a cell. A text that is written and read back is unchanged.
pub fn unguarded(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if is_formula(rest.trim_start_matches('\'')) => rest,
        _ => cell,
    }
}

/// The cell with an apostrophe before it, if a spreadsheet would otherwise take it for a formula.
fn guarded(cell: &str) -> std::borrow::Cow<'_, str> {
    if is_formula(cell.trim_start_matches('\'')) { format!("'{cell}").into() } else { cell.into() }
}

/// Writes a CSV file: UTF-8 with a byte-order mark (for spreadsheets), commas, CRLF (RFC 4180).
pub struct Writer<W: Write = Vec<u8>>(csv::Writer<W>);

impl Writer {
    /// Begins a file in memory with these column names.
    pub fn new(header: &[&str]) -> Result<Self, Refused> {
        Self::to(Vec::new(), header)
    }
}

impl<W: Write> Writer<W> {
    /// Begins a file with these column names in any writer, for files that should not be held in memory.
    pub fn to(mut out: W, header: &[&str]) -> Result<Self, Refused> {
        out.write_all(b"\xef\xbb\xbf").map_err(|error| Refused::new(error.to_string()))?;
        let mut out = Self(csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out));
        out.row(header)?;
        Ok(out)
    }
    /// Writes a row.
    pub fn row<T: AsRef<str>>(&mut self, cells: &[T]) -> Result<(), Refused> {
        let cells: Vec<_> = cells.iter().map(|cell| guarded(cell.as_ref())).collect();
        self.0.write_record(cells.iter().map(|cell| cell.as_bytes())).map_err(|error| Refused::new(error.to_string()))
    }
    /// Ends the file, and returns the writer with the file's bytes.
    pub fn finish(self) -> Result<W, Refused> {
        self.0.into_inner().map_err(|error| Refused::new(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    #[test]
    fn no_cell_is_a_formula_and_every_cell_reads_back() {
        let texts = [
            "=HYPERLINK(\"x\")",
            "+49 30 1",
            "-1",
            "@x",
            "'=x",
            "''=x",
            "plain",
            "it's",
            "'quoted'",
            "a,b",
            "two\nlines",
        ];
        let mut writer = Writer::new(&["text"]).unwrap();
        for text in texts {
            writer.row(&[text]).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let raw = String::from_utf8(bytes.clone()).unwrap();
        assert!(raw.contains("'=HYPERLINK") && !raw.contains("\n=") && !raw.contains("\n+") && !raw.contains("\n@"));
        let limits = Limits { rows: 20, columns: 9, cells: 99, bytes: 9_999 };
        let read = crate::delimited::read(&bytes, &limits, None).unwrap();
        let back: Vec<&str> = read.lines.iter().skip(1).map(|line| unguarded(&line.cells[0])).collect();
        assert_eq!(back, texts);
    }
}
