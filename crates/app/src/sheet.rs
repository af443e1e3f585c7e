//! Tables as files: reading CSV the way people's spreadsheets write it, and writing it so that none of them takes a cell
//! for a formula.

use admit_core::limits::{IMPORT_CELLS, IMPORT_COLUMNS};

use crate::error::{Error, Result};

/// A row of a file: where it begins, and its cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Line of the file, from 1.
    pub number: u64,
    /// Cells, without a formula guard.
    pub cells: Vec<String>,
}

/// A file's header and rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    /// Names of the columns as written.
    pub header: Vec<String>,
    /// Rows; those without any text are left out.
    pub lines: Vec<Line>,
}

/// Reads a CSV file: UTF-8 with or without its mark, comma, semicolon or tab, CRLF or LF, quoted line breaks. Fails,
/// naming the line, for another encoding, a quote without its end, more than `most` rows, or a file without a header.
pub fn read(bytes: &[u8], most: usize) -> Result<Sheet> {
    let text = utf8(bytes)?;
    let delimiter = delimiter(text)?;
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(text.as_bytes());
    let (mut header, mut lines, mut held) = (None, Vec::new(), 0);
    let mut place = Place { text: text.as_bytes(), byte: 0, line: 1 };
    for record in reader.records() {
        let record = record.map_err(|error| Error::invalid("body", format!("is not CSV: {error}")))?;
        let number = place.line_of(record.position().map_or(0, csv::Position::byte));
        if record.len() > IMPORT_COLUMNS {
            let message = format!("has {} columns in line {number}: at most {IMPORT_COLUMNS} are read", record.len());
            return Err(Error::invalid("body", message));
        }
        held += record.len();
        if held > IMPORT_CELLS {
            let message = format!("has more than {IMPORT_CELLS} cells: split the file, or leave out columns");
            return Err(Error::invalid("body", message));
        }
        let cells: Vec<String> = record.iter().map(|cell| unguarded(cell.trim()).to_owned()).collect();
        if cells.iter().all(String::is_empty) {
            continue;
        }
        if header.is_none() {
            header = Some(cells);
            continue;
        }
        if lines.len() == most {
            return Err(Error::invalid("body", format!("has more than {most} rows: split the file")));
        }
        lines.push(Line { number, cells });
    }
    let header = header.ok_or_else(|| Error::invalid("body", "is empty: its first line must name the columns"))?;
    Ok(Sheet { header, lines })
}

/// Which line a byte stands in, for bytes asked in rising order.
struct Place<'a> {
    text: &'a [u8],
    byte: usize,
    line: u64,
}

impl Place<'_> {
    /// The line of the record that begins at `byte`: the line breaks that the reader passes over before it are not its.
    fn line_of(&mut self, byte: u64) -> u64 {
        let start = usize::try_from(byte).unwrap_or(usize::MAX).min(self.text.len());
        let breaks = self.text[start..].iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        let passed = &self.text[self.byte.min(start)..start + breaks];
        self.line += line_breaks(passed);
        self.byte = start + breaks;
        self.line
    }
}

/// LF, CRLF, and the CR alone that spreadsheets of old Macs end their lines with: it ends a row to the reader too.
fn line_breaks(bytes: &[u8]) -> u64 {
    let ends = |(at, byte): (usize, &u8)| *byte == b'\n' || *byte == b'\r' && bytes.get(at + 1) != Some(&b'\n');
    bytes.iter().enumerate().filter(|it| ends(*it)).count() as u64
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Error::invalid("body", "is UTF-16: save the file as \"CSV UTF-8\""));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => Err(Error::invalid("body", "holds NUL bytes: it is not a text file")),
        Ok(text) => Ok(text),
        Err(error) => {
            let line = 1 + line_breaks(&bytes[..error.valid_up_to()]);
            let message = format!(
                "is not UTF-8 in line {line} (it looks like Latin-1 or Windows-1252): save the file as \"CSV UTF-8\""
            );
            Err(Error::invalid("body", message))
        }
    }
}

/// The delimiter that the first line uses most, outside quotes; on the way, that every quote ends.
fn delimiter(text: &str) -> Result<u8> {
    let candidates = [b',', b';', b'\t'];
    let mut counts = [0_usize; 3];
    let mut in_header = true;
    let mut seen_text = false;
    let mut line = 1_u64;
    let mut opened: Option<u64> = None;
    let mut field_start = true;
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        let ends_line = byte == b'\n' || byte == b'\r' && bytes.peek() != Some(&b'\n');
        line += u64::from(ends_line);
        if opened.is_some() {
            if byte == b'"' && bytes.next_if_eq(&b'"').is_none() {
                opened = None;
            }
            continue;
        }
        match byte {
            b'"' if field_start => opened = Some(line),
            _ if ends_line => in_header &= !seen_text,
            _ => {}
        }
        let found = candidates.iter().position(|one| *one == byte);
        if in_header && let Some(found) = found {
            counts[found] += 1;
        }
        seen_text |= !byte.is_ascii_whitespace();
        field_start = found.is_some() || ends_line;
    }
    if let Some(line) = opened {
        return Err(Error::invalid("body", format!("has a quote in line {line} that never ends")));
    }
    let best = (0..3).max_by_key(|i| (counts[*i], usize::MAX - i)).unwrap_or(0);
    Ok(candidates[best])
}

/// Whether a spreadsheet would take a cell that begins so for a formula (trust.md §2).
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// Takes off the quote that [`guarded`] put on; reading back what was written gives the same text.
fn unguarded(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if is_formula(rest.trim_start_matches('\'')) => rest,
        _ => cell,
    }
}

/// A cell with a quote before it where a spreadsheet would take it for a formula.
fn guarded(cell: &str) -> std::borrow::Cow<'_, str> {
    if is_formula(cell.trim_start_matches('\'')) { format!("'{cell}").into() } else { cell.into() }
}

/// Writes a CSV file: UTF-8 with its mark (for spreadsheets), commas, CRLF (RFC 4180).
pub struct Writer(csv::Writer<Vec<u8>>);

impl Writer {
    /// A file that begins with these column names.
    pub fn new(header: &[&str]) -> Result<Self> {
        let mut out =
            Self(csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(b"\xef\xbb\xbf".to_vec()));
        out.row(header)?;
        Ok(out)
    }
    /// A row.
    pub fn row<T: AsRef<str>>(&mut self, cells: &[T]) -> Result<()> {
        let cells: Vec<_> = cells.iter().map(|cell| guarded(cell.as_ref())).collect();
        self.0.write_record(cells.iter().map(|cell| cell.as_bytes())).map_err(|error| Error::Bug(error.to_string()))
    }
    /// The file's bytes.
    pub fn finish(self) -> Result<Vec<u8>> {
        self.0.into_inner().map_err(|error| Error::Bug(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &[u8]) -> Vec<(u64, Vec<String>)> {
        read(text, 10).unwrap().lines.into_iter().map(|line| (line.number, line.cells)).collect()
    }
    fn message(text: &[u8]) -> String {
        read(text, 2).unwrap_err().to_string()
    }

    /// Found by `cargo xtask fuzz`: such rows were all told to be of line 1, and a quote without its end took the others.
    #[test]
    fn a_carriage_return_alone_ends_a_line_too() {
        let row = |number, name: &str| (number, vec![name.to_owned(), "1".to_owned()]);
        assert_eq!(cells(b"name,code\rAna,1\r\rBo,1\r"), [row(2, "Ana"), row(4, "Bo")]);
        assert_eq!(cells(b"name;code\rAna,Bo;1\r"), [row(2, "Ana,Bo")], "the delimiter is the first line's");
        assert!(message(b"name,code\rAna,1\r\"Bo,1\rCy,1\r").contains("a quote in line 3"));
    }

    #[test]
    fn what_spreadsheets_write_is_read() {
        let expected = vec![(2, vec!["Ana".to_owned(), "a@b".to_owned()])];
        assert_eq!(cells(b"name,email\nAna,a@b\n"), expected);
        assert_eq!(cells(b"\xef\xbb\xbfname;email\r\nAna;a@b\r\n"), expected, "BOM, semicolon, CRLF");
        assert_eq!(cells(b"name\temail\nAna\ta@b"), expected, "tab, no end of line");
        assert_eq!(cells(b"\"name, first\";email\nAna;a@b"), expected, "a comma inside quotes does not count");
    }

    #[test]
    fn a_row_is_named_by_the_line_it_begins_in() {
        let rows = cells(b"name,note\r\n\r\nAna,\"two\r\nlines, and \"\"quotes\"\"\"\r\n,\r\nBo,x\r\n");
        assert_eq!(rows[0].0, 3);
        assert_eq!(rows[0].1[1], "two\r\nlines, and \"quotes\"");
        assert_eq!((rows[1].0, rows[1].1[0].as_str()), (6, "Bo"), "a row without text is passed over");
    }

    #[test]
    fn what_cannot_be_read_is_refused_and_says_where_and_what_to_do() {
        assert!(message("name\nok\nJosé".replace('é', "\u{0}").as_bytes()).contains("NUL"));
        assert!(message(b"name\nok\nJos\xe9\n").contains("line 3"));
        assert!(message(b"name\nok\nJos\xe9\n").contains("CSV UTF-8"));
        assert!(message(b"\xff\xfen\0").contains("UTF-16"));
        assert!(message(b"name\n\"never\nends\n").contains("line 2"));
        assert!(message(b"name\n1\n2\n3\n").contains("more than 2 rows"));
        assert!(message(b" \n\n").contains("empty"));
        let full = format!(
            "name\n{}",
            format!("{}\n", "a,".repeat(IMPORT_COLUMNS - 1)).repeat(IMPORT_CELLS / IMPORT_COLUMNS + 1)
        );
        assert!(read(full.as_bytes(), 200_000).unwrap_err().to_string().contains("cells"));
        let wide = format!("name\nok\n{}", ",".repeat(IMPORT_COLUMNS));
        assert!(message(wide.as_bytes()).contains("513 columns in line 3"), "each cell takes many times its byte");
        assert!(read(wide.replacen(',', "", 1).as_bytes(), 2).is_ok());
    }

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
        let back: Vec<String> =
            read(&bytes, 20).unwrap().lines.into_iter().map(|mut line| line.cells.remove(0)).collect();
        assert_eq!(back, texts);
    }
}
