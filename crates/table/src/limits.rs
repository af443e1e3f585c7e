//! Bounds how much of a file is read, and says why a file is refused.

/// The bounds for one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most rows, with the header and the rows above it.
    pub rows: usize,
    /// The most columns.
    pub columns: usize,
    /// Most cells in all rows together.
    pub cells: usize,
    /// Most bytes of text in all cells together. Also the most bytes that the parts of a workbook may have when they
    /// are inflated.
    pub bytes: usize,
}

/// Why a file cannot be read, in words that follow "The file".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

impl Refused {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Counts what was read so far, and compares it with the bounds.
#[derive(Debug)]
pub(crate) struct Meter<'a> {
    limits: &'a Limits,
    rows: usize,
    cells: usize,
    bytes: usize,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(limits: &'a Limits) -> Self {
        Self { limits, rows: 0, cells: 0, bytes: 0 }
    }
    /// Counts a row that is kept. Fails beyond the bound.
    pub(crate) fn row(&mut self) -> Result<(), Refused> {
        self.rows += 1;
        let most = self.limits.rows;
        if self.rows > most {
            return Err(Refused::new(format!("has more than {most} rows: split the file")));
        }
        Ok(())
    }
    /// Fails if a line has more columns than the bound.
    pub(crate) fn width(&self, line: u64, columns: usize) -> Result<(), Refused> {
        let most = self.limits.columns;
        if columns > most {
            return Err(Refused::new(format!("has {columns} columns in line {line}: at most {most} are read")));
        }
        Ok(())
    }
    /// Adds this many cells, with this many bytes of text, to the counts. Fails if a count is then beyond its limit.
    pub(crate) fn cells(&mut self, count: usize, bytes: usize) -> Result<(), Refused> {
        let Limits { cells, bytes: most_bytes, .. } = *self.limits;
        self.cells += count;
        if self.cells > cells {
            return Err(Refused::new(format!("has more than {cells} cells: split the file, or leave out columns")));
        }
        self.bytes += bytes;
        if self.bytes > most_bytes {
            let message = format!("holds more than {} MB of text: split the file", most_bytes / 1_000_000);
            return Err(Refused::new(message));
        }
        Ok(())
    }
}
