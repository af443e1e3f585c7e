//! Reads CSV and similar files: any delimiter, quoted cells, and the line ends of every system.

use crate::encoding::{self, Encoding};
use crate::limits::{Limits, Meter, Refused};
use crate::rows::{Format, Line, Rows};

/// The characters that may stand between cells, the more likely ones first.
const DELIMITERS: [u8; 8] = [b',', b';', b'\t', b'|', b'^', b'~', 0x1f, b':'];
/// Number of bytes of a file that are read to find its delimiter.
const SAMPLE_BYTES: usize = 64 * 1024;
/// Number of rows in these bytes that are used to find the delimiter.
const SAMPLE_ROWS: usize = 60;

/// Reads a text file.
pub(crate) fn read(bytes: &[u8], limits: &Limits, hint: Option<Encoding>) -> Result<Rows, Refused> {
    let (text, encoding) = encoding::decode(bytes, hint)?;
    let (directive, told, start) = directive(&text);
    let body = &text[start..];
    let delimiter = told.unwrap_or_else(|| detect(body));
    let first_line = 1 + line_breaks(text[..start].as_bytes());
    every_quote_ends(body, delimiter, first_line)?;
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(body.as_bytes());
    let mut place = Place { text: body.as_bytes(), byte: 0, line: first_line };
    let mut meter = Meter::new(limits);
    let mut lines = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| Refused::new(format!("is not CSV: {error}")))? {
        let number = place.line_of(record.position().map_or(0, csv::Position::byte));
        meter.width(number, record.len())?;
        meter.cells(record.len(), record.as_slice().len())?;
        let cells: Vec<String> = record.iter().map(|cell| cell.trim().to_owned()).collect();
        let line = Line { number, cells };
        if !line.is_blank() {
            meter.row()?;
            lines.push(line);
        }
    }
    let delimiter = char::from(delimiter);
    Ok(Rows { format: Format::Delimited { encoding, delimiter }, directive, lines })
}

/// Reads a first line that only tells a spreadsheet the delimiter, such as `sep=;`. Returns the line, the delimiter,
/// and the index at which the next line begins.
fn directive(text: &str) -> (Option<String>, Option<u8>, usize) {
    let first = text.split(['\r', '\n']).next().unwrap_or_default();
    let bare = first.trim_matches('"');
    let value = bare.get(..4).filter(|head| head.eq_ignore_ascii_case("sep=")).map(|_| &bare[4..]);
    match value.map(str::as_bytes) {
        Some(&[delimiter]) if delimiter.is_ascii() && !delimiter.is_ascii_alphanumeric() => {
            let mut start = first.len();
            start += usize::from(text[start..].starts_with('\r'));
            start += usize::from(text[start..].starts_with('\n'));
            (Some(bare.to_owned()), Some(delimiter), start)
        }
        _ => (None, None, 0),
    }
}

/// Finds the delimiter: the one that gives the most rows of the same width, and among equals the most columns.
fn detect(text: &str) -> u8 {
    let mut end = text.len().min(SAMPLE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let sample = &text.as_bytes()[..end];
    let score = |delimiter: u8| {
        let counts = delimiters_by_row(sample, delimiter);
        let (mut usual, mut rows) = (0, 0);
        for count in counts.iter().copied().filter(|count| *count > 0) {
            let same = counts.iter().filter(|one| **one == count).count();
            if (same, count) > (rows, usual) {
                (usual, rows) = (count, same);
            }
        }
        // A comma in every third name must not win over the semicolon of each row. Neither must a colon in every time.
        let with_any = counts.iter().filter(|count| **count > 0).count();
        (with_any + rows, usual)
    };
    let best = DELIMITERS.iter().enumerate().max_by_key(|(place, delimiter)| (score(**delimiter), usize::MAX - place));
    best.map_or(b',', |(_, delimiter)| *delimiter)
}

/// Number of delimiters outside of quotes, for each of the first rows that has any text.
fn delimiters_by_row(sample: &[u8], delimiter: u8) -> Vec<usize> {
    let (mut counts, mut count, mut has_text) = (Vec::new(), 0, false);
    let mut cells = Cells::new(sample, delimiter);
    while let Some(mark) = cells.next() {
        match mark {
            Mark::Delimiter => count += 1,
            Mark::Text => has_text = true,
            Mark::LineEnd => {
                if has_text || count > 0 {
                    counts.push(count);
                }
                if counts.len() == SAMPLE_ROWS {
                    return counts;
                }
                (count, has_text) = (0, false);
            }
        }
    }
    if (has_text || count > 0) && (counts.is_empty() || !cells.in_quotes()) {
        counts.push(count);
    }
    counts
}

fn every_quote_ends(text: &str, delimiter: u8, first_line: u64) -> Result<(), Refused> {
    let mut cells = Cells::new(text.as_bytes(), delimiter);
    while cells.next().is_some() {}
    match cells.opened {
        Some(line) => Err(Refused::new(format!("has a quote in line {} that never ends", first_line + line - 1))),
        None => Ok(()),
    }
}

/// The kind of a byte outside of quotes.
enum Mark {
    Delimiter,
    LineEnd,
    Text,
}

/// Walks over a text, and returns what stands outside of quotes.
struct Cells<'a> {
    bytes: std::iter::Peekable<std::iter::Copied<std::slice::Iter<'a, u8>>>,
    delimiter: u8,
    at_start: bool,
    line: u64,
    /// The line in which the open quote began. Absent outside of quotes.
    opened: Option<u64>,
}

impl<'a> Cells<'a> {
    fn new(text: &'a [u8], delimiter: u8) -> Self {
        Self { bytes: text.iter().copied().peekable(), delimiter, at_start: true, line: 1, opened: None }
    }
    fn in_quotes(&self) -> bool {
        self.opened.is_some()
    }
    fn next(&mut self) -> Option<Mark> {
        loop {
            let byte = self.bytes.next()?;
            let ends_line = byte == b'\n' || byte == b'\r' && self.bytes.peek() != Some(&b'\n');
            self.line += u64::from(ends_line);
            if self.opened.is_some() {
                if byte == b'"' && self.bytes.next_if_eq(&b'"').is_none() {
                    self.opened = None;
                }
                continue;
            }
            if byte == b'"' && self.at_start {
                self.opened = Some(self.line);
                self.at_start = false;
                continue;
            }
            self.at_start = byte == self.delimiter || ends_line;
            if byte == self.delimiter {
                return Some(Mark::Delimiter);
            } else if ends_line {
                return Some(Mark::LineEnd);
            } else if !byte.is_ascii_whitespace() {
                return Some(Mark::Text);
            }
        }
    }
}

/// Finds the line in which a byte stands. Callers must ask for bytes in rising order.
struct Place<'a> {
    text: &'a [u8],
    byte: usize,
    line: u64,
}

impl Place<'_> {
    /// The line of the record that begins at `byte`. Line breaks before the record, which the reader skips, don't
    /// belong to it.
    fn line_of(&mut self, byte: u64) -> u64 {
        let start = usize::try_from(byte).unwrap_or(usize::MAX).min(self.text.len());
        let breaks = self.text[start..].iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        let passed = &self.text[self.byte.min(start)..start + breaks];
        self.line += line_breaks(passed);
        self.byte = start + breaks;
        self.line
    }
}

/// Number of line ends: LF, CRLF, or the single CR that old Macs' spreadsheets write. The reader ends a row at each of
/// them too.
fn line_breaks(bytes: &[u8]) -> u64 {
    let ends = |(at, byte): (usize, &u8)| *byte == b'\n' || *byte == b'\r' && bytes.get(at + 1) != Some(&b'\n');
    bytes.iter().enumerate().filter(|it| ends(*it)).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { rows: 10, columns: 512, cells: 10_000, bytes: 1_000_000 };

    fn rows(text: &[u8]) -> Vec<(u64, Vec<String>)> {
        read(text, &LIMITS, None).unwrap().lines.into_iter().map(|line| (line.number, line.cells)).collect()
    }
    fn delimiter(text: &str) -> char {
        match read(text.as_bytes(), &LIMITS, None).unwrap().format {
            Format::Delimited { delimiter, .. } => delimiter,
            Format::Workbook { .. } => unreachable!("text"),
        }
    }
    fn message(text: &[u8], rows: usize) -> String {
        read(text, &Limits { rows, ..LIMITS }, None).unwrap_err().0
    }
    fn row(number: u64, cells: &[&str]) -> (u64, Vec<String>) {
        (number, cells.iter().map(|cell| (*cell).to_owned()).collect())
    }

    #[test]
    fn the_delimiter_is_the_one_that_makes_a_table() {
        for (text, expected) in [
            ("name,email\nAna,a@b\n", ','),
            ("name;email\r\nAna;a@b\r\n", ';'),
            ("name\temail\nAna\ta@b", '\t'),
            ("name|email\nAna|a@b", '|'),
            ("name^email\nAna^a@b", '^'),
            ("\"name, first\";email\nAna;a@b", ';'),
            ("Guest list, 27 November\nname;email\nBotha, Ana;a@b\nTamm;t@b", ';'),
            ("name\nBotha, Ana\nTamm\nLi\nWu\n", ','),
            ("name;at\nAna;19:30:00\nBo;19:31:00", ';'),
            ("name", ','),
        ] {
            assert_eq!(delimiter(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_line_that_tells_the_delimiter_is_taken_at_its_word() {
        let read = read(b"\xef\xbb\xbfsep=;\r\nname;note\r\nAna;a,b,c\r\n", &LIMITS, None).unwrap();
        assert_eq!(read.directive.as_deref(), Some("sep=;"));
        assert_eq!((read.lines[0].number, read.lines[1].cells[1].as_str()), (2, "a,b,c"));
        assert_eq!(rows(b"\"sep=|\"\nname|x\nAna|1")[1], row(3, &["Ana", "1"]));
    }

    /// `cargo xtask fuzz` found this: every row that ends in CR alone was reported as line 1, and an open quote took in
    /// all rows after it.
    #[test]
    fn a_carriage_return_alone_ends_a_line_too() {
        assert_eq!(rows(b"name,code\rAna,1\r\rBo,1\r")[1..], [row(2, &["Ana", "1"]), row(4, &["Bo", "1"])]);
        assert!(message(b"name,code\rAna,1\r\"Bo,1\rCy,1\r", 9).contains("a quote in line 3"));
    }

    #[test]
    fn a_row_is_named_by_the_line_it_begins_in() {
        let rows = rows(b"name,note\r\n\r\nAna,\"two\r\nlines, and \"\"quotes\"\"\"\r\n,\r\nBo,x\r\n");
        assert_eq!(rows[1], row(3, &["Ana", "two\r\nlines, and \"quotes\""]));
        assert_eq!(rows[2], row(6, &["Bo", "x"]), "a row without text is passed over");
    }

    #[test]
    fn what_cannot_be_read_is_refused_and_says_where() {
        assert!(message(b"name\n\"never\nends\n", 9).contains("line 2"));
        assert!(message(b"name\n1\n2\n3\n", 3).contains("more than 3 rows"));
        let wide = format!("name\nok\n{}", ",".repeat(512));
        assert!(message(wide.as_bytes(), 9).contains("513 columns in line 3"));
        let full = "a,b,c,d\n".repeat(3_000);
        assert!(message(full.as_bytes(), 9_000).contains("10000 cells"));
        assert!(message("x".repeat(1_000_001).as_bytes(), 9).contains("MB of text"));
    }
}
