//! Finds where a table begins and ends within a file: titles stand above its header, totals below its rows.

use admit_table::{Format, Line, Rows};

use super::status;
use super::vocabulary::{folded, meaning};

/// Number of first rows in which a header is looked for.
const HEADER_ROWS: usize = 30;
/// Number of last rows in which a total may stand.
const TOTAL_ROWS: usize = 3;

/// A file's table: its header, its rows, and the text around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    /// The format of the file.
    pub format: Format,
    /// The rows above the header, one text per row.
    pub preamble: Vec<String>,
    /// Names of the columns, as written.
    pub header: Vec<String>,
    /// The rows. Rows without any text are left out.
    pub lines: Vec<Line>,
}

impl Sheet {
    /// Finds the table in a file's rows. The header is the first row that names a column and is not much narrower than
    /// the rows below it.
    pub fn of(rows: Rows) -> Self {
        let Rows { format, directive, mut lines } = rows;
        let width = lines.iter().take(HEADER_ROWS).map(filled).max().unwrap_or_default();
        let is_header = |line: &Line| {
            let known = line.cells.iter().filter(|cell| meaning(&folded(cell)).is_some()).count();
            known > 0 && filled(line) * 2 >= width
        };
        let place = lines.iter().take(HEADER_ROWS).position(is_header).unwrap_or_default();
        let above: Vec<Line> = lines.drain(..place).collect();
        let text =
            |line: &Line| line.cells.iter().filter(|cell| !cell.is_empty()).cloned().collect::<Vec<_>>().join(" ");
        let preamble = directive.into_iter().chain(above.iter().map(text)).collect();
        let mut lines = lines.into_iter();
        let header = lines.next().map(|line| line.cells).unwrap_or_default();
        Self { format, preamble, header, lines: lines.collect() }
    }

    /// A table with one row that did not come from a file.
    pub fn of_one(header: Vec<String>, cells: Vec<String>) -> Self {
        let encoding = admit_table::Encoding::Utf8;
        let format = Format::Delimited { encoding, delimiter: ',' };
        Self { format, preamble: Vec::new(), header, lines: vec![Line { number: 1, cells }] }
    }

    /// Whether a row is among the last ones, where a total may stand.
    pub fn is_near_the_end(&self, line: &Line) -> bool {
        let place = self.lines.len().saturating_sub(TOTAL_ROWS);
        self.lines.get(place).is_some_and(|first| line.number >= first.number)
    }
}

fn filled(line: &Line) -> usize {
    line.cells.iter().filter(|cell| !cell.is_empty()).count()
}

/// Whether a row is a total of the rows above it: its first text is a word such as "Total", alone or before a number.
pub fn is_total(line: &Line) -> bool {
    let Some(first) = line.cells.iter().find(|cell| !cell.is_empty()) else { return false };
    let words = status::folded(first);
    let words = words.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ');
    TOTALS.contains(&words)
}

const TOTALS: &[&str] = &[
    "total",
    "totals",
    "grand total",
    "sub total",
    "subtotal",
    "sum",
    "total guests",
    "total general",
    "summe",
    "gesamt",
    "gesamtsumme",
    "insgesamt",
    "zwischensumme",
    "gesamtanzahl",
    "anzahl gesamt",
    "totaux",
    "sous total",
    "somme",
    "totale",
    "totale generale",
    "somma",
    "suma",
    "soma",
    "total geral",
    "totaal",
    "subtotaal",
    "som",
    "gesamtzahl",
];

#[cfg(test)]
mod tests {
    use admit_table::{Hints, Limits, read};

    use super::*;

    fn sheet(text: &str) -> Sheet {
        let limits = Limits { rows: 100, columns: 50, cells: 1_000, bytes: 100_000 };
        Sheet::of(read(text.as_bytes(), &limits, &Hints::default()).unwrap())
    }

    #[test]
    fn titles_above_the_header_are_no_rows() {
        let read = sheet("Guest list export 27.11.2026,,\n,,\nname,email,party_size\nAna,a@b,2\n");
        assert_eq!(read.preamble, ["Guest list export 27.11.2026"]);
        assert_eq!((read.header.len(), read.lines.len(), read.lines[0].number), (3, 1, 4));
        let read = sheet("sep=;\nGuests\nSat 28 Nov;Old Harbour\nName;Vorname;E-Mail\nBrandt;Anke;a@b\n");
        assert_eq!(read.preamble, ["sep=;", "Guests", "Sat 28 Nov Old Harbour"]);
        assert_eq!(read.lines.len(), 1);
        assert_eq!(sheet("name\nAna\n").preamble, [""; 0]);
        assert_eq!(sheet("foo,bar\n1,2\n").header, ["foo", "bar"], "where nothing is known the first row is it");
    }

    #[test]
    fn a_row_that_adds_up_is_known_by_its_first_word() {
        let line = |cells: &[&str]| Line { number: 9, cells: cells.iter().map(|cell| (*cell).to_owned()).collect() };
        for total in ["Total", "TOTAL:", "Summe 3", "Totale generale", "Sous-total"] {
            assert!(is_total(&line(&["", total, "", "3"])), "{total}");
        }
        for name in ["Total Recall", "Ana Total", "Summer", "3"] {
            assert!(!is_total(&line(&["", name, "", "3"])), "{name}");
        }
    }
}
