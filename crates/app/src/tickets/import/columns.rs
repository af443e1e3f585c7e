//! Where each column of a file stands: names are folded, the usual other names and the exports of others are known.

use std::collections::BTreeMap;

use super::column::{Column, folded, meaning};
use super::exports::Export;
use crate::error::{Error, FieldError, Result};
use crate::sheet::{Line, Sheet};

/// Where each known column stands.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    places: BTreeMap<Column, usize>,
    width: usize,
    /// Columns of the file that mean nothing here, as written.
    pub ignored: Vec<String>,
    /// Whose export it is, where it is one we know.
    pub export: Option<&'static Export>,
}

impl Columns {
    /// Reads a header. Fails when two columns mean the same, or none says which ticket or guest a row is.
    pub fn of(sheet: &Sheet) -> Result<Self> {
        let names: Vec<String> = sheet.header.iter().map(|header| folded(header)).collect();
        let mut out = Self { width: sheet.header.len(), export: Export::of(&names), ..Self::default() };
        let mut errors = Vec::new();
        for (place, header) in sheet.header.iter().enumerate() {
            let theirs = out.export.and_then(|export| export.meaning(&names[place]));
            let Some(column) = theirs.unwrap_or_else(|| meaning(header)) else {
                out.ignored.extend((!header.is_empty()).then(|| header.clone()));
                continue;
            };
            if let Some(first) = out.places.insert(column, place) {
                let (path, message) = (
                    format!("header.{}", column.name()),
                    format!("is there twice: as {} and as {header}", sheet.header[first]),
                );
                errors.push(FieldError { path, message });
            }
        }
        use Column::{Barcode, Email, ExternalId, LastName, Name, OrderId, Position};
        if ![Barcode, Name, LastName, Email, ExternalId, OrderId].iter().any(|column| out.has(*column)) {
            let message = "must name the columns, among them barcode, name, email, external_id or order_id; it has: ";
            errors.push(FieldError { path: "header".into(), message: format!("{message}{}", sheet.header.join(", ")) });
        }
        if out.export.is_some_and(|export| export.name == "pretix") && !out.has(Barcode) && !out.has(Position) {
            let message = "is of a pretix check-in list without the tickets' secrets: export it with the secrets";
            errors.push(FieldError { path: "header".into(), message: message.into() });
        }
        if errors.is_empty() { Ok(out) } else { Err(Error::Invalid { code: "invalid_request", errors }) }
    }
    /// Leaves out what a promoter's file may not say, as if it were not there.
    pub fn keep_promoters(&mut self, sheet: &Sheet) {
        use Column::{Barcode, EntryType, ExpiresAt, Flag, GateIds, GuestList, Status, ValidFrom, Zone};
        // An entry type is a zone by another name.
        for column in [Barcode, Zone, EntryType, GateIds, GuestList, ValidFrom, ExpiresAt, Status, Flag] {
            if let Some(place) = self.places.remove(&column) {
                self.ignored.extend(sheet.header.get(place).cloned());
            }
        }
    }
    /// Whether the file has the column.
    pub fn has(&self, column: Column) -> bool {
        let other = column == Column::Email && self.places.contains_key(&Column::OtherEmail);
        other || self.places.contains_key(&column)
    }
    /// The cell of a row, empty where the row or the file lacks it.
    pub fn get<'a>(&self, line: &'a Line, column: Column) -> &'a str {
        let own = self.cell(line, column);
        if column == Column::Email && own.is_empty() { self.cell(line, Column::OtherEmail) } else { own }
    }
    fn cell<'a>(&self, line: &'a Line, column: Column) -> &'a str {
        self.places.get(&column).and_then(|place| line.cells.get(*place)).map_or("", |cell| cell.trim())
    }
    /// Whether the row has more cells than the header has columns.
    pub fn too_wide(&self, line: &Line) -> bool {
        line.cells.iter().rposition(|cell| !cell.is_empty()).is_some_and(|last| last >= self.width)
    }
}
