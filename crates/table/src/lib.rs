//! Tables as people's files have them: what spreadsheets and ticketing systems write, read into rows of text.
//!
//! Pure: bytes in, rows out. No cell is interpreted here. The caller knows what a column means, and so what a damaged code
//! or a date is. Reading order: `limits`, `encoding`, `rows`, `delimited` (CSV and its kin), `workbook` (XLSX), `write`.

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

/// Reads a file. XLSX is known by its first bytes, everything else is text. Fails, naming the line where it can, for bytes
/// that are neither, for more than `limits`, and for a file without any row.
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
