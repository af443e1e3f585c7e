//! Finds the meaning of each column of a file: as the user said, as the recognised export has it, otherwise guessed
//! from the header and the cells.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use admit_core::normalize::for_identity;
use admit_table::Line;

use super::cells;
use super::column::Column;
use super::exports::Export;
use super::frame::Sheet;
use super::mapping::{IGNORE, Mapping, field_word};
use super::vocabulary::{folded, is_vague_code, meaning};
use crate::error::{Error, FieldError, Result};

/// How the meaning of a column was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The user said it.
    Said,
    /// The file is a recognised export that has this column.
    Export,
    /// It was guessed from the header or the cells.
    Guess,
    /// No meaning was found, so the column is not read.
    Nothing,
}

/// One column of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The column's header, as written.
    pub header: String,
    /// The column's meaning. Absent if it is not read.
    pub becomes: Option<Column>,
    /// How the meaning was found.
    pub by: By,
    /// The name of the guest's field. Absent for other columns.
    pub label: Option<String>,
}

impl Seen {
    /// The column's meaning, as the word that stands for it in a [`Mapping`]. `None` if the import does not read the
    /// column.
    pub fn word(&self) -> Option<String> {
        let column = self.becomes?;
        Some(self.label.as_deref().map_or_else(|| column.name().to_owned(), field_word))
    }
}

/// The places of all columns whose meaning is known.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    places: BTreeMap<Column, usize>,
    /// The guests' own fields: their names and places.
    fields: Vec<(String, usize)>,
    /// Whether the row came from a webhook and not from a file. Such a row has neither guards (as in `'0030611`)
    /// nor words that mean an empty cell.
    is_own: bool,
    /// Every column of the file, in order.
    pub seen: Vec<Seen>,
    /// The system whose export the file is. Absent if it is no known export.
    pub export: Option<&'static Export>,
    /// Whether the file gives one row id to several persons. Such an id is a company's or a family's, and identifies
    /// nobody.
    pub ids_are_shared: bool,
    /// Whether different persons share an order and position.
    pub positions_are_shared: bool,
    /// The length of the codes before a spreadsheet removed leading zeros from some. Absent if it removed none.
    pub code_length: Option<usize>,
}

impl Columns {
    /// Reads a header. Fails if the user gave two columns the same meaning, or if no column tells which ticket or guest
    /// a row is.
    pub fn of(sheet: &Sheet, mapping: &Mapping) -> Result<Self> {
        let names: Vec<String> = sheet.header.iter().map(|header| folded(header)).collect();
        let mut out = Self { export: Export::of(&names), ..Self::default() };
        out.seen = sheet
            .header
            .iter()
            .map(|header| Seen { header: header.clone(), becomes: None, by: By::Nothing, label: None })
            .collect();
        out.take_what_is_said(mapping)?;
        out.take_what_the_export_has(&names);
        out.guess(sheet, &names);
        out.look_at_values(sheet);
        out.must_name_rows(sheet)?;
        Ok(out)
    }

    /// The columns of a row that a webhook sent, by Admit's own names for columns.
    pub fn of_own(header: &[&'static str]) -> Self {
        let mut out = Self { is_own: true, ..Self::default() };
        for (place, name) in header.iter().enumerate() {
            let becomes = Column::of_name(name);
            out.places.extend(becomes.map(|column| (column, place)));
            out.seen.push(Seen { header: (*name).to_owned(), becomes, by: By::Said, label: None });
        }
        out
    }

    fn take_what_is_said(&mut self, mapping: &Mapping) -> Result<()> {
        let mut errors = Vec::new();
        for place in 0..self.seen.len() {
            let Some(said) = mapping.column(place, &self.seen[place].header) else { continue };
            self.seen[place].by = By::Said;
            let Some(column) = said else { continue };
            if column == Column::Field {
                self.take_field(mapping, place, &mut errors);
                continue;
            }
            if let Some(first) = self.places.insert(column, place) {
                let message = format!("is two columns: {} and {}", self.seen[first].header, self.seen[place].header);
                errors.push(FieldError { path: format!("mapping.columns.{}", column.name()), message });
            }
            self.seen[place].becomes = Some(column);
        }
        let known = |header: &String| match header.strip_prefix('#').and_then(|number| number.parse::<usize>().ok()) {
            Some(number) => (1..=self.seen.len()).contains(&number),
            None => self.seen.iter().any(|one| one.header == *header),
        };
        for header in mapping.columns.keys().filter(|header| !known(header)) {
            let message = format!("is no column of this file, which has: {}", self.header_text());
            errors.push(FieldError { path: format!("mapping.columns.{header}"), message });
        }
        if errors.is_empty() { Ok(()) } else { Err(Error::Invalid { code: "invalid_request", errors }) }
    }

    fn take_field(&mut self, mapping: &Mapping, place: usize, errors: &mut Vec<FieldError>) {
        let label = mapping.label(place, &self.seen[place].header);
        if self.fields.iter().any(|(other, _)| *other == label) {
            errors.push(FieldError {
                path: format!("mapping.columns.{}", self.seen[place].header),
                message: format!("is the second field with the name {label}: give it another, as in field:{label} 2"),
            });
        }
        self.seen[place].becomes = Some(Column::Field);
        self.seen[place].label = Some(label.clone());
        self.fields.push((label, place));
    }

    fn take_what_the_export_has(&mut self, names: &[String]) {
        let Some(export) = self.export else { return };
        for (place, name) in names.iter().enumerate() {
            let Some(column) = export.meaning(name).filter(|_| self.seen[place].by == By::Nothing) else { continue };
            self.seen[place].by = By::Export;
            if let Some(column) = column.filter(|column| !self.places.contains_key(column)) {
                self.put(column, place, By::Export);
            }
        }
    }

    /// Guesses the meaning of the columns that neither the user nor the export explains. It compares the words of each
    /// header, exact matches first.
    fn guess(&mut self, sheet: &Sheet, names: &[String]) {
        let mut guesses: Vec<(bool, usize, Column)> = Vec::new();
        for (place, name) in names.iter().enumerate() {
            if self.seen[place].by == By::Nothing
                && let Some(column) = meaning(name)
            {
                let is_exact = name == &folded(column.name());
                guesses.push((!is_exact, place, column));
            }
        }
        guesses.sort_unstable();
        for (is_other, place, column) in guesses {
            let is_exact = !is_other;
            let cells =
                || sheet.lines.iter().filter_map(move |line| line.cells.get(place)).filter(|cell| !cell.is_empty());
            let column = match column {
                // If persons share the column's values, it belongs to a company or a family. If a single code stands
                // twice, that is a mistake: it is reported with its lines, and all other guests keep their codes.
                Column::Barcode if is_vague_code(&names[place]) && is_of_groups(sheet, place, self) => {
                    Column::ExternalId
                }
                Column::EntryType if is_free_text(cells()) => continue,
                // The cells hold what a form writes for persons who did not sign in.
                Column::Name | Column::Email if is_anonymous(cells()) => continue,
                // The cells number the lines, and another file counts from one too.
                Column::ExternalId if !is_exact && counts_up(cells()) => continue,
                // Words like "ticket" may head a number of persons or a code.
                Column::PartySize if cells().next().is_some() && !cells().any(|cell| is_number(cell)) => continue,
                column => column,
            };
            if !self.places.contains_key(&column) {
                self.put(column, place, By::Guess);
            }
        }
        self.guess_by_content(sheet);
        self.tell_names_apart();
    }

    /// Finds a column of e-mail addresses by its cells, whatever its header is.
    fn guess_by_content(&mut self, sheet: &Sheet) {
        if self.has(Column::Email) {
            return;
        }
        let is_address = |cell: &str| {
            cell.split_once('@')
                .is_some_and(|(name, host)| !name.is_empty() && host.contains('.') && !cell.contains(' '))
        };
        let place = (0..self.seen.len()).filter(|place| self.seen[*place].by == By::Nothing).find(|place| {
            let mut cells = sheet
                .lines
                .iter()
                .filter_map(|line| line.cells.get(*place))
                .filter(|cell| !cell.is_empty())
                .take(50)
                .peekable();
            cells.peek().is_some() && cells.all(|cell| is_address(cell))
        });
        if let Some(place) = place {
            self.put(Column::Email, place, By::Guess);
        }
    }

    /// Tells name columns apart: "Nom" beside "Prénom" is the family name, and "name" beside "lastname" the first name.
    fn tell_names_apart(&mut self) {
        use Column::{FirstName, LastName, Name};
        let (first, last) = (self.places.contains_key(&FirstName), self.places.contains_key(&LastName));
        let Some(place) = self.places.get(&Name).copied().filter(|place| self.seen[*place].by == By::Guess) else {
            return;
        };
        let column = match (first, last) {
            (true, false) => LastName,
            (false, true) => FirstName,
            _ => return,
        };
        self.places.remove(&Name);
        self.put(column, place, By::Guess);
    }

    fn look_at_values(&mut self, sheet: &Sheet) {
        if let Some(place) = self.places.get(&Column::ExternalId).copied() {
            self.ids_are_shared = is_shared(sheet, place, self);
        }
        if self.has(Column::OrderId) && self.has(Column::Position) {
            let both = |line: &Line| {
                let (order, position) = (self.get(line, Column::OrderId), self.get(line, Column::Position));
                if order.is_empty() || position.is_empty() { String::new() } else { format!("{order}\u{1f}{position}") }
            };
            self.positions_are_shared = stands_for_different_persons(sheet, self, both);
        }
        if self.has(Column::Barcode) {
            let codes: Vec<Cow<'_, str>> = sheet.lines.iter().map(|line| self.get(line, Column::Barcode)).collect();
            self.code_length = cells::length_with_zeros(codes.iter().map(AsRef::as_ref));
        }
    }

    fn must_name_rows(&self, sheet: &Sheet) -> Result<()> {
        use Column::{Barcode, Email, ExternalId, FirstName, LastName, Name, OrderId, Position};
        let mut errors = Vec::new();
        if ![Barcode, Name, FirstName, LastName, Email, ExternalId, OrderId].iter().any(|column| self.has(*column)) {
            let message = "must name the columns, among them barcode, name, email, external_id or order_id; it has: ";
            errors.push(FieldError { path: "header".into(), message: format!("{message}{}", sheet.header.join(", ")) });
        }
        if self.export.is_some_and(|export| export.name == "pretix") && !self.has(Barcode) && !self.has(Position) {
            let message = "is of a pretix check-in list without the tickets' secrets: export it with the secrets";
            errors.push(FieldError { path: "header".into(), message: message.into() });
        }
        if errors.is_empty() { Ok(()) } else { Err(Error::Invalid { code: "invalid_request", errors }) }
    }

    fn put(&mut self, column: Column, place: usize, by: By) {
        self.places.insert(column, place);
        self.seen[place].becomes = Some(column);
        self.seen[place].by = by;
    }
    fn header_text(&self) -> String {
        self.seen.iter().map(|one| one.header.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Ignores the columns that a promoter's file may not set. The status column stays: it sets no status, but a row
    /// whose guest declined is left out.
    pub fn keep_promoters(&mut self) {
        use Column::{Barcode, EntryType, ExpiresAt, Flag, GateIds, GuestList, ValidFrom, Zone};
        // An entry type sets the zone too.
        for column in [Barcode, Zone, EntryType, GateIds, GuestList, ValidFrom, ExpiresAt, Flag] {
            if let Some(place) = self.places.remove(&column) {
                self.seen[place].becomes = None;
            }
        }
        // A field such as a wristband's colour lets staff open doors, as a flag does.
        for (_, place) in std::mem::take(&mut self.fields) {
            self.seen[place].becomes = None;
        }
    }
    /// The user's answers about columns, by the number of the column (`#1`), in the form that a [`Mapping`] has.
    pub fn said(&self) -> BTreeMap<String, String> {
        let said = self.seen.iter().enumerate().filter(|(_, one)| one.by == By::Said);
        let word = |one: &Seen| one.word().unwrap_or_else(|| IGNORE.to_owned());
        said.map(|(place, one)| (format!("#{}", place + 1), word(one))).collect()
    }
    /// Headers of the columns that are not read.
    pub fn ignored(&self) -> Vec<String> {
        let unread = self.seen.iter().filter(|one| one.becomes.is_none() && !one.header.is_empty());
        unread.map(|one| one.header.clone()).collect()
    }
    /// Whether the file has this column.
    pub fn has(&self, column: Column) -> bool {
        let other = column == Column::Email && self.places.contains_key(&Column::OtherEmail);
        other || self.places.contains_key(&column)
    }
    /// Every column that the file has.
    pub fn all(&self) -> impl Iterator<Item = Column> {
        self.places.keys().copied()
    }
    /// The guest's own fields in a row: name and value. The value is empty if the row has none.
    pub fn fields<'a>(&'a self, line: &'a Line) -> impl Iterator<Item = (&'a str, Cow<'a, str>)> {
        let cell = |place: usize| line.cells.get(place).map_or("", |cell| cell.as_str());
        self.fields.iter().map(move |(label, place)| (label.as_str(), self.cell(Column::Field, cell(*place))))
    }
    /// Whether a row has text in this column itself.
    pub fn has_own(&self, line: &Line, column: Column) -> bool {
        !self.cell(column, self.raw(line, column)).is_empty()
    }
    /// The text of a row's cell, by the meaning of its column. Empty if the row or the file lacks it.
    pub fn get<'a>(&self, line: &'a Line, column: Column) -> Cow<'a, str> {
        let own = self.cell(column, self.raw(line, column));
        if column == Column::Email && own.is_empty() {
            return self.cell(Column::OtherEmail, self.raw(line, Column::OtherEmail));
        }
        own
    }
    fn cell<'a>(&self, column: Column, raw: &'a str) -> Cow<'a, str> {
        if self.is_own { cells::plain(column, raw) } else { cells::text(column, raw) }
    }
    fn raw<'a>(&self, line: &'a Line, column: Column) -> &'a str {
        self.places.get(&column).and_then(|place| line.cells.get(*place)).map_or("", |cell| cell.as_str())
    }
    /// Whether the row has more cells than the header has columns.
    pub fn too_wide(&self, line: &Line) -> bool {
        line.cells.iter().rposition(|cell| !cell.is_empty()).is_some_and(|last| last >= self.seen.len())
    }
    /// The text that distinguishes two persons of a file: name and e-mail.
    fn person(&self, line: &Line) -> String {
        let name =
            [Column::Name, Column::FirstName, Column::LastName].map(|column| for_identity(&self.get(line, column)));
        format!("{}\u{1f}{}", name.join(" "), self.get(line, Column::Email).to_lowercase())
    }
}

/// Whether some value of a column belongs to different persons.
fn is_shared(sheet: &Sheet, place: usize, columns: &Columns) -> bool {
    stands_for_different_persons(sheet, columns, |line| line.cells.get(place).cloned().unwrap_or_default())
}

fn stands_for_different_persons(sheet: &Sheet, columns: &Columns, value: impl Fn(&Line) -> String) -> bool {
    let mut holders: BTreeMap<String, String> = BTreeMap::new();
    sheet.lines.iter().any(|line| {
        let value = value(line);
        if value.is_empty() {
            return false;
        }
        let person = columns.person(line);
        holders.insert(value, person.clone()).is_some_and(|before| before != person)
    })
}

/// Whether more than one in ten filled lines of a column has a value that belongs to different persons.
fn is_of_groups(sheet: &Sheet, place: usize, columns: &Columns) -> bool {
    let mut holders: BTreeMap<&str, (usize, BTreeSet<String>)> = BTreeMap::new();
    for line in &sheet.lines {
        let Some(value) = line.cells.get(place).filter(|value| !value.is_empty()) else { continue };
        let (lines, persons) = holders.entry(value).or_default();
        *lines += 1;
        persons.insert(columns.person(line));
    }
    let all: usize = holders.values().map(|(lines, _)| lines).sum();
    let shared = holders.values().filter(|(_, persons)| persons.len() > 1);
    shared.map(|(lines, _)| lines).sum::<usize>() * 10 > all
}

/// Whether nearly every cell is different, as in sentences or names of people. A column of entry types has few kinds.
fn is_free_text<'a>(cells: impl Iterator<Item = &'a String>) -> bool {
    let (mut all, mut kinds) = (0, BTreeSet::new());
    for cell in cells {
        all += 1;
        kinds.insert(cell.as_str());
    }
    kinds.len() > 40 && kinds.len() * 2 > all
}

fn is_anonymous<'a>(cells: impl Iterator<Item = &'a String>) -> bool {
    let mut cells = cells.peekable();
    cells.peek().is_some()
        && cells.all(|cell| ["anonymous", "anonym", "anonyme"].iter().any(|word| cell.eq_ignore_ascii_case(word)))
}

/// Whether the cells are 1, 2, 3, … in the order of their lines.
fn counts_up<'a>(cells: impl Iterator<Item = &'a String>) -> bool {
    let numbers: Option<Vec<u64>> = cells.map(|cell| cell.parse().ok()).collect();
    numbers.is_some_and(|all| {
        all.len() > 1
            && all.first().is_some_and(|first| *first < 2)
            && all.windows(2).all(|pair| pair[1] == pair[0] + 1)
    })
}

fn is_number(cell: &str) -> bool {
    cell.trim().chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ' '))
}
