//! Reads tables as people's files have them, from spreadsheets and ticketing systems, into rows of text.
//!
//! The functions are pure: bytes in, rows out. No cell is interpreted here. The caller knows what a column means, and
//! so what a damaged code or a date is. Reading order: `limits`, `encoding`, `rows`, `delimited` (CSV and similar),
//! `workbook` (XLSX), `write`.

mod limits;
mod encoding;
mod rows;
mod delimited;
mod workbook;
mod write;

pub use encoding::Encoding;
pub use limits::{Limits, Refused};
pub use rows::{Format, Hints, Line, Rows};
pub use write::{Writer, unguarded};

/// Reads a file. XLSX is recognised by its first bytes, and everything else is read as text. Fails for bytes that are
/// neither, for a file beyond `limits`, and for a file without any row. The error names the line if it can.
pub fn read(bytes: &[u8], limits: &Limits, hints: &Hints) -> Result<Rows, Refused> {
    let rows = if workbook::is_zip(bytes) {
        workbook::read(bytes, limits, hints.sheet.as_deref())?
    } else {
        workbook::refuse_others(bytes)?;
        delimited::read(bytes, limits, hints.encoding)?
    };
    if rows.lines.is_empty() {
        return Err(Refused::new("is empty: its first line must name the columns"));
    }
    Ok(rows)
}
