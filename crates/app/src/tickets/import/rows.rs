//! Reads and checks one row of a file: what the organiser wants of a ticket and its guest.

use std::borrow::Cow;

use admit_core::ids::{EntryTypeId, GateId, GuestListId};
use admit_core::limits::{FIELD_VALUE_CHARS, FIELDS};
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;
use admit_table::Line;
use jiff::tz::TimeZone;

use super::cells;
use super::column::Column;
use super::columns::Columns;
use super::destination::Destination;
use super::frame::{Sheet, is_total};
use super::identity::{self, Identity, OtherKey};
use super::lists::Lists;
use super::mapping::{EmptyWords, Mapping};
use super::questions::Question;
use super::status;
use super::times::{self, DateOrder, Edge};
use super::types::{Meant, Types};
use crate::checks::Checks;
use crate::records::Fields;
use crate::tickets::create::{Known, checked_barcode};

/// A cell of a row: missing from the file, empty, or a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell<T> {
    /// The file lacks the column, so the stored value stays.
    Absent,
    /// The cell is empty.
    Empty,
    /// The cell has this value.
    Value(T),
}

impl<T: Clone> Cell<T> {
    /// The new value of an optional field. An empty cell clears it.
    pub fn or_clear(&self, before: &Option<T>) -> Option<T> {
        match self {
            Self::Absent => before.clone(),
            Self::Empty => None,
            Self::Value(value) => Some(value.clone()),
        }
    }
    /// The new value of a field that always has one. If the cell is empty, the field keeps the value `before`.
    pub fn or_keep(&self, before: &T) -> T {
        match self {
            Self::Value(value) => value.clone(),
            _ => before.clone(),
        }
    }
}

/// The ticket and guest that a row asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Line of the file.
    pub line: u64,
    /// The key of the ticket.
    pub identity: Identity,
    /// Other keys under which the ticket may be stored.
    pub other_keys: Vec<OtherKey>,
    /// The number of the order.
    pub order_id: Cell<String>,
    /// The text of the code in its canonical form. Absent if the row has none.
    pub barcode: Option<String>,
    /// The ticket's status.
    pub status: Cell<TicketStatus>,
    /// The status word, as in the file. Absent if the row has none.
    pub status_word: Option<String>,
    /// The number of persons.
    pub party_size: Cell<u32>,
    /// The zone: the row's own, otherwise that of its entry type.
    pub zone: Cell<String>,
    /// The entry type.
    pub entry_type_id: Cell<EntryTypeId>,
    /// The name, as in the file, of an entry type that the event lacks and does not get, such as a T-shirt. Absent if
    /// there is none.
    pub unknown_type: Option<String>,
    /// The gates that admit the ticket.
    pub gate_ids: Cell<Vec<GateId>>,
    /// The first moment at which the ticket admits.
    pub valid_from: Cell<Timestamp>,
    /// The first moment at which the ticket no longer admits.
    pub expires_at: Cell<Timestamp>,
    /// The guest. Absent if the row says nothing about one.
    pub guest: Option<WantedGuest>,
}

impl Wanted {
    /// Whether the row says that the ticket admits nobody.
    pub fn is_out(&self) -> bool {
        matches!(self.status, Cell::Value(TicketStatus::Voided | TicketStatus::Refunded))
    }
}

/// The guest that a row asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedGuest {
    /// The guest's name. If the row has none, the e-mail or the organiser's own id.
    pub name: String,
    /// The guest's e-mail.
    pub email: Cell<String>,
    /// The guest's phone number.
    pub phone: Cell<String>,
    /// The note about the guest.
    pub note: Cell<String>,
    /// The flag for staff at the door.
    pub flag: Cell<String>,
    /// Fields by name, in the order of the file's columns. A field without a value is removed.
    pub fields: Vec<(String, Option<String>)>,
    /// The id that the source gives the guest.
    pub external_id: Cell<String>,
    /// The guest list, by name.
    pub guest_list: Cell<String>,
}

impl WantedGuest {
    /// The guest's own fields after the import: the stored ones, with the values that the file has. A field without a
    /// column in the file stays.
    pub fn with_fields(&self, stored: &Fields) -> Fields {
        let mut fields = stored.clone();
        for (name, value) in &self.fields {
            match value {
                Some(value) => drop(fields.insert(name.clone(), value.clone())),
                None => drop(fields.remove(name)),
            }
        }
        fields
    }
}

/// The meaning of a row without wrong fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The row asks for a ticket or a guest.
    Row(Box<Wanted>),
    /// The row is left out.
    LeftOut(LeftOut),
    /// The row waits for the answer to this question.
    Asked(Question),
}

/// Why a row without wrong fields is left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// Its status, in this word of the file, admits nobody.
    Status(String),
    /// The row adds up the rows above it.
    Total,
    /// Its ticket was given to nobody yet.
    Unassigned,
    /// Its product, with this name, is no entry type of the event.
    Type(String),
    /// The row has no code, and the user said that such rows are left out.
    NoCode,
    /// It has no persons.
    Nobody,
}

/// The input for reading rows.
pub struct Reading<'a> {
    /// The file's table.
    pub sheet: &'a Sheet,
    /// The meanings of the file's columns.
    pub columns: &'a Columns,
    /// The user's answers about the file.
    pub mapping: &'a Mapping,
    /// The destination of the rows.
    pub into: &'a Destination,
    /// The guest lists by name.
    pub lists: &'a Lists,
    /// The entry types by name.
    pub types: &'a Types,
    /// The event's entry types, gates and lists.
    pub known: &'a Known,
    /// The event's time zone.
    pub zone: &'a TimeZone,
    /// The order of day and month in the file's dates. `Err` with an example if the dates leave it open.
    pub dates: Result<Option<DateOrder>, String>,
}

impl Reading<'_> {
    /// Reads one row. Wrong fields are named by their column. `None` if a field is wrong.
    pub fn read(&self, line: &Line, checks: &mut Checks) -> Option<Found> {
        let row = Row { line, columns: self.columns };
        if self.columns.too_wide(line) {
            checks
                .fail("line", "has more cells than the header has columns: a text with a delimiter in it needs quotes");
            return None;
        }
        if self.into.is_file {
            if self.sheet.is_near_the_end(line)
                && is_total(line)
                && !row.has(Column::Barcode)
                && !row.has(Column::Email)
            {
                return Some(Found::LeftOut(LeftOut::Total));
            }
            row.whole(checks);
            if !checks.errors().is_empty() {
                return None;
            }
        }
        let name = match self.name(&row) {
            Ok(name) => name,
            Err(question) => return Some(Found::Asked(question)),
        };
        let is_nobody = name.is_none() && !row.has_own_email();
        if is_nobody && self.columns.export.is_some_and(|export| export.unassigned_stay_out) {
            return Some(Found::LeftOut(LeftOut::Unassigned));
        }
        if let Err(example) = &self.dates
            && [Column::ValidFrom, Column::ExpiresAt].iter().any(|column| row.has(*column))
        {
            return Some(Found::Asked(Question::DateOrder(example.clone())));
        }
        let persons_more = self.columns.export.map_or(0, |export| export.persons_more);
        if self.into.is_file
            && persons_more == 0
            && row.text(Column::PartySize).is_some_and(|text| matches!(&*text, "0" | "0.0" | "0,0"))
        {
            return Some(Found::LeftOut(LeftOut::Nobody));
        }
        let status = match self.status(&row, checks) {
            Ok(status) => status,
            Err(question) => return Some(Found::Asked(question)),
        };
        self.wanted(&row, name, status, checks)
    }

    fn wanted(
        &self,
        row: &Row<'_>,
        name: Option<String>,
        status: Cell<TicketStatus>,
        checks: &mut Checks,
    ) -> Option<Found> {
        let barcode = row.text(Column::Barcode).map(|text| checked_barcode(checks, "barcode", &text));
        let guest = guest(row, name.as_deref(), checks);
        let list = match row.text(Column::GuestList) {
            Some(named) => self.lists.id(&named),
            None => self.into.list.as_ref().map(|list| &list.guest_list_id),
        };
        let named = self.named(row, name.as_deref(), list);
        named.check(checks);
        let (identity, other_keys) = named.identity(barcode.as_deref(), &self.into.scope(), checks)?;
        let (zone, entry_type_id) = self.zone(row, checks);
        let entry_type = row.text(Column::EntryType);
        let meant = entry_type.as_deref().map(|text| self.types.meant(text));
        if let (Some(Meant::LeftOut), Some(text)) = (meant, &entry_type) {
            return Some(Found::LeftOut(LeftOut::Type(text.to_string())));
        }
        let wanted = Wanted {
            line: row.line.number,
            identity,
            other_keys,
            order_id: row.cell(Column::OrderId, checks, |text, checks| checks.order_id("order_id", Some(text))),
            barcode,
            status,
            status_word: row.text(Column::Status).map(Cow::into_owned),
            party_size: row.cell(Column::PartySize, checks, |text, checks| self.party(text, checks)),
            zone,
            entry_type_id,
            unknown_type: entry_type.filter(|_| meant == Some(Meant::First)).map(Cow::into_owned),
            gate_ids: row.cell(Column::GateIds, checks, |text, checks| gates(text, self.known, checks)),
            valid_from: row.cell(Column::ValidFrom, checks, |text, checks| self.time("valid_from", text, checks)),
            expires_at: row.cell(Column::ExpiresAt, checks, |text, checks| self.time("expires_at", text, checks)),
            guest,
        };
        if let (Cell::Value(from), Cell::Value(until)) = (&wanted.valid_from, &wanted.expires_at) {
            checks.window("expires_at", Some(*from), Some(*until));
        }
        checks.errors().is_empty().then(|| Found::Row(Box::new(wanted)))
    }

    /// The guest's name. If the file has a first name and a family name, they are joined. The user is asked about a
    /// word that databases write for an empty cell.
    fn name(&self, row: &Row<'_>) -> Result<Option<String>, Question> {
        let part = |column: Column| {
            let Some(text) = row.text(column) else { return Ok(None) };
            match self.mapping.empty_words_in_names {
                _ if !self.into.is_file || !cells::is_empty_word(&text) => Ok(Some(text)),
                Some(EmptyWords::Name) => Ok(Some(text)),
                Some(EmptyWords::Empty) => Ok(None),
                // A dash is no name.
                None if text.chars().all(|c| !c.is_alphabetic()) => Ok(None),
                None => Err(Question::EmptyWordInName(text.into_owned())),
            }
        };
        let (whole, first, last) = (part(Column::Name)?, part(Column::FirstName)?, part(Column::LastName)?);
        let joined = joined(first.as_deref(), last.as_deref());
        Ok(whole.map(Cow::into_owned).or(joined))
    }

    /// The status that the cell's word means. An unknown word admits nobody: in a file it becomes a question to the
    /// user, and otherwise the field is wrong.
    fn status(&self, row: &Row<'_>, checks: &mut Checks) -> Result<Cell<TicketStatus>, Question> {
        let Some(text) = row.text(Column::Status) else {
            let has = self.columns.has(Column::Status);
            return Ok(if has { Cell::Empty } else { Cell::Absent });
        };
        let word = status::folded(&text);
        let foreign = self.columns.export.and_then(|export| export.status(&word));
        match self.mapping.status(&word).or(foreign).or_else(|| status::of_word(&word)) {
            Some(status) => Ok(Cell::Value(status)),
            None if self.into.is_file => Err(Question::Status(text.into_owned())),
            None => {
                checks.fail("status", "must be one of: active, used, voided, refunded");
                Ok(Cell::Empty)
            }
        }
    }

    fn named<'b>(&self, row: &'b Row<'_>, name: Option<&'b str>, list: Option<&'b GuestListId>) -> identity::Named<'b> {
        identity::Named {
            list,
            name,
            email: row.text(Column::Email).map(|text| text.to_lowercase()),
            id: row.text(Column::ExternalId),
            order: row.text(Column::OrderId),
            position: row.text(Column::Position),
            id_is_shared: self.columns.ids_are_shared,
            position_is_shared: self.columns.positions_are_shared,
            is_export: self.columns.export.is_some(),
        }
    }

    /// The zone and the entry type. A row may name either or both. A zone in the row outranks the zone of the row's
    /// type.
    fn zone(&self, row: &Row<'_>, checks: &mut Checks) -> (Cell<String>, Cell<EntryTypeId>) {
        let named = row.cell(Column::Zone, checks, |text, checks| Some(checks.zone("zone", text)));
        let mut entry_type = Cell::Absent;
        if let Some(text) = row.text(Column::EntryType) {
            match self.types.meant(&text) {
                Meant::One(one) => entry_type = Cell::Value(one),
                Meant::First | Meant::LeftOut => {}
                Meant::Nothing => {
                    let known = self.types.listed();
                    checks.fail("entry_type", format!("{text} is not an entry type of this event, which has: {known}"));
                }
            }
        }
        match (named, entry_type) {
            (Cell::Value(zone), Cell::Value(one)) => (Cell::Value(zone), Cell::Value(one.entry_type_id.clone())),
            (Cell::Value(zone), _) => {
                let one = self.types.of_zone(&zone);
                (Cell::Value(zone), one.map_or(Cell::Empty, |one| Cell::Value(one.entry_type_id.clone())))
            }
            (_, Cell::Value(one)) => (Cell::Value(one.zone.clone()), Cell::Value(one.entry_type_id.clone())),
            (zone, _) => (zone, Cell::Absent),
        }
    }

    /// The number of persons: `2`, or `2.0` from a program that writes every column as numbers.
    fn party(&self, text: &str, checks: &mut Checks) -> Option<u32> {
        let whole = text.strip_suffix(".0").or_else(|| text.strip_suffix(",0")).unwrap_or(text);
        let more = self.columns.export.map_or(0, |export| export.persons_more);
        match whole.parse::<u32>() {
            Ok(persons) => Some(checks.party("party_size", persons.saturating_add(more))),
            Err(_) => refused(checks, "party_size", &format!("must be a whole number of persons, not {text}")),
        }
    }

    fn time(&self, field: &str, text: &str, checks: &mut Checks) -> Option<Timestamp> {
        let edge = if field == "valid_from" { Edge::Beginning } else { Edge::End };
        let order = self.dates.as_ref().ok().copied().flatten();
        match times::read(text, self.zone, order, edge) {
            Ok(at) => Some(at),
            Err(message) => refused(checks, field, &message),
        }
    }
}

/// Joins a first and a family name in their usual order, with the family name last. If both are in Han, Hangul or kana,
/// the family name comes first, without a space.
fn joined(first: Option<&str>, last: Option<&str>) -> Option<String> {
    let is_east_asian = |text: &str| {
        text.chars().all(|c| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'))
    };
    match (first, last) {
        (Some(first), Some(last)) if is_east_asian(first) && is_east_asian(last) => Some(format!("{last}{first}")),
        (Some(first), Some(last)) => Some(format!("{first} {last}")),
        (one, other) => one.or(other).map(str::to_owned),
    }
}

/// A line of a file, with the meanings of its columns.
struct Row<'a> {
    line: &'a Line,
    columns: &'a Columns,
}

impl Row<'_> {
    fn has(&self, column: Column) -> bool {
        !self.columns.get(self.line, column).is_empty()
    }
    /// Whether the row has the guest's own address, and not only the buyer's.
    fn has_own_email(&self) -> bool {
        self.columns.has_own(self.line, Column::Email)
    }
    fn text(&self, column: Column) -> Option<Cow<'_, str>> {
        Some(self.columns.get(self.line, column)).filter(|text| !text.is_empty())
    }
    fn cell<T>(
        &self,
        column: Column,
        checks: &mut Checks,
        read: impl FnOnce(&str, &mut Checks) -> Option<T>,
    ) -> Cell<T> {
        match self.text(column) {
            _ if !self.columns.has(column) => Cell::Absent,
            None => Cell::Empty,
            Some(text) => read(&text, checks).map_or(Cell::Empty, Cell::Value),
        }
    }
    /// The guest's own fields. Each value is one line, as a verdict shows it. The file may have more such columns than
    /// a guest may have fields: an export has a column for each field that any guest uses.
    fn fields(&self, checks: &mut Checks) -> Vec<(String, Option<String>)> {
        let read = |(label, text): (&str, Cow<'_, str>)| {
            let words: Vec<&str> = text.split_whitespace().collect();
            let value = checks.line(label, &words.join(" "), 0, FIELD_VALUE_CHARS);
            (label.to_owned(), Some(value).filter(|value| !value.is_empty()))
        };
        let fields: Vec<_> = self.columns.fields(self.line).map(read).collect();
        let filled = fields.iter().filter(|(_, value)| value.is_some()).count();
        if filled > FIELDS {
            checks.fail("field", format!("has {filled} fields; a guest has at most {FIELDS}"));
        }
        fields
    }
    /// Reports the cells that a spreadsheet damaged.
    fn whole(&self, checks: &mut Checks) {
        for column in self.columns.all() {
            let text = self.columns.get(self.line, column);
            if let Some(message) = cells::damage(column, &text) {
                checks.fail(column.name(), message);
            }
        }
        let code = self.columns.get(self.line, Column::Barcode);
        let length = self.columns.code_length.filter(|length| !code.is_empty() && code.len() < *length);
        if let Some(length) = length {
            let message = format!(
                "this code was damaged by a spreadsheet: {code} has {} digits where the others have {length}. It lost the zeros it began with: export the column as text",
                code.len()
            );
            checks.fail("barcode", message);
        }
    }
}

fn refused<T>(checks: &mut Checks, field: &str, message: &str) -> Option<T> {
    checks.fail(field, message);
    None
}

fn guest(row: &Row<'_>, name: Option<&str>, checks: &mut Checks) -> Option<WantedGuest> {
    let own_id = row.text(Column::ExternalId);
    let details = [Column::Phone, Column::Note, Column::Flag, Column::GuestList];
    let email = row.text(Column::Email);
    let number = own_id.clone().or_else(|| row.text(Column::OrderId));
    let id = number.as_deref().filter(|_| details.iter().any(|column| row.has(*column)));
    let Some(name) = name.or(email.as_deref()).or(id) else {
        if let Some(column) = details.into_iter().find(|column| row.has(*column)) {
            checks.fail("name", format!("is required where there is a {}", column.name()));
        }
        return None;
    };
    let external_id = match &own_id {
        Some(text) => Cell::Value(text.to_string()),
        None if row.columns.has(Column::ExternalId) => Cell::Empty,
        None => Cell::Absent,
    };
    Some(WantedGuest {
        name: checks.name("name", name),
        email: row.cell(Column::Email, checks, |text, checks| Some(checks.email("email", text))),
        phone: row.cell(Column::Phone, checks, |text, checks| checks.phone("phone", Some(text))),
        note: row.cell(Column::Note, checks, |text, checks| checks.note("note", Some(text))),
        flag: row.cell(Column::Flag, checks, |text, checks| checks.flag("flag", Some(text))),
        fields: row.fields(checks),
        external_id,
        guest_list: row.cell(Column::GuestList, checks, |text, checks| Some(checks.name("guest_list", text))),
    })
}

fn gates(text: &str, known: &Known, checks: &mut Checks) -> Option<Vec<GateId>> {
    let mut gate_ids = Vec::new();
    for part in text.split(['|', ',', ';', ' ', '\n', '\r']).filter(|part| !part.is_empty()) {
        match GateId::new(part) {
            Ok(gate_id) => gate_ids.push(gate_id),
            Err(error) => return refused(checks, "gate_ids", &error.to_string()),
        }
    }
    let before = checks.errors().len();
    let gate_ids = checks.gate_ids("gate_ids", &gate_ids, &known.gate_ids);
    (checks.errors().len() == before).then_some(gate_ids)
}
