//! A file's rows, before anybody knows what they mean.

use crate::encoding::Encoding;

/// A row of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The line of the file in which the row begins, from 1. In a workbook, the number of the row.
    pub number: u64,
    /// The cells as written, without white space around them.
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
    /// Text with a delimiter between cells: CSV, TSV, or a table pasted from a spreadsheet.
    Delimited {
        /// The encoding of the text.
        encoding: Encoding,
        /// The character between cells.
        delimiter: char,
    },
    /// An XLSX workbook.
    Workbook {
        /// The sheet that was read.
        sheet: String,
        /// The other visible sheets, which were not read.
        others: Vec<String>,
    },
}

/// A file's rows, in order, without blank ones. Which of them is the header is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// The format of the file.
    pub format: Format,
    /// A first line that only tells a spreadsheet the delimiter, such as `sep=;`. Absent if there is none.
    pub directive: Option<String>,
    /// The rows.
    pub lines: Vec<Line>,
}

/// The caller's knowledge about a file beyond its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// The file's encoding. Absent means that it is detected.
    pub encoding: Option<Encoding>,
    /// The sheet to read. Absent means the first visible one with rows.
    pub sheet: Option<String>,
}
