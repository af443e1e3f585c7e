//! A file's rows before anybody says what they mean.

use crate::encoding::Encoding;

/// A row of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Line of the file where the row begins, from 1; in a workbook the number of its row.
    pub number: u64,
    /// Cells as written, without white space around them.
    pub cells: Vec<String>,
}

impl Line {
    /// Whether no cell has any text.
    pub fn is_blank(&self) -> bool {
        self.cells.iter().all(String::is_empty)
    }
}

/// The format of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// Text with a delimiter between cells: CSV, TSV, a table pasted from a spreadsheet.
    Delimited {
        /// How its letters were written.
        encoding: Encoding,
        /// The character between cells.
        delimiter: char,
    },
    /// An XLSX workbook.
    Workbook {
        /// The sheet that was read.
        sheet: String,
        /// Its other visible sheets, which were not.
        others: Vec<String>,
    },
}

/// A file's rows, in order, without blank ones. Nothing says yet which of them is the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// The format of the file.
    pub format: Format,
    /// A first line that only tells a spreadsheet the delimiter, such as `sep=;`.
    pub directive: Option<String>,
    /// The rows.
    pub lines: Vec<Line>,
}

/// A caller's better knowledge of a file than its bytes give.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// How its letters are written, where detection would guess wrong.
    pub encoding: Option<Encoding>,
    /// The sheet to read; the first visible one with rows otherwise.
    pub sheet: Option<String>,
}
