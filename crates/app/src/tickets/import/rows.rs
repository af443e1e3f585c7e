//! One row of a file, checked: what the organiser wants of a ticket and its guest.

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{EntryTypeId, GateId, GuestListId};
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;

use super::column::Column;
use super::columns::Columns;
use super::destination::Destination;
use super::lists::Lists;
use crate::checks::{Checks, folded};
use crate::records::EntryTypeRecord;
use crate::sheet::Line;
use crate::tickets::create::{Known, checked_barcode};
use crate::tickets::keys;

/// A wrong field of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    /// Line of the file, from 1.
    pub line: u64,
    /// Column by its own name, such as `party_size`.
    pub field: String,
    /// What is wrong and what would be right.
    pub message: String,
}

/// What a row names its ticket by (spec §5 "row identity").
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Identity {
    /// Its code.
    Code(BarcodeHash),
    /// Its import key: external id, else order and position, else guest list, name and e-mail.
    Key(String),
}

/// A field of a row: absent from the file, or empty, or a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell<T> {
    /// The file lacks the column: whatever is stored stays.
    Absent,
    /// The cell is empty.
    Empty,
    /// A value.
    Value(T),
}

impl<T: Clone> Cell<T> {
    /// For an optional field: an empty cell clears it.
    pub fn or_clear(&self, before: &Option<T>) -> Option<T> {
        match self {
            Self::Absent => before.clone(),
            Self::Empty => None,
            Self::Value(value) => Some(value.clone()),
        }
    }
    /// For a field that always has a value: an empty cell leaves it.
    pub fn or_keep(&self, before: &T) -> T {
        match self {
            Self::Value(value) => value.clone(),
            _ => before.clone(),
        }
    }
}

/// What a row wants.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Line of the file.
    pub line: u64,
    /// Which ticket.
    pub identity: Identity,
    /// The key it had if it came without its code: by order and position. A later export may bring codes to tickets that
    /// came without.
    pub other_key: Option<String>,
    /// Its code as text.
    pub barcode: Option<String>,
    /// Status.
    pub status: Cell<TicketStatus>,
    /// Persons.
    pub party_size: Cell<u32>,
    /// Zone, its own or its entry type's.
    pub zone: Cell<String>,
    /// Entry type.
    pub entry_type_id: Cell<EntryTypeId>,
    /// What somebody else's export calls the product, where the event has no entry type of that name: a T-shirt, perhaps.
    pub unknown_type: Option<String>,
    /// Gates.
    pub gate_ids: Cell<Vec<GateId>>,
    /// Good from.
    pub valid_from: Cell<Timestamp>,
    /// Good until.
    pub expires_at: Cell<Timestamp>,
    /// The guest, where the row says anything about one.
    pub guest: Option<WantedGuest>,
}

/// What a row wants of a guest.
#[derive(Debug, Clone)]
pub struct WantedGuest {
    /// Name; the e-mail or the organiser's own id where the row has none.
    pub name: String,
    /// E-mail.
    pub email: Cell<String>,
    /// Phone.
    pub phone: Cell<String>,
    /// Note.
    pub note: Cell<String>,
    /// Flag.
    pub flag: Cell<String>,
    /// External id, else order number.
    pub external_id: Cell<String>,
    /// Guest list, by name.
    pub guest_list: Cell<String>,
}

/// Reads one row; wrong fields are named by their column.
pub fn read(
    line: &Line,
    columns: &Columns,
    (into, lists): (&Destination, &Lists),
    known: &Known,
    checks: &mut Checks,
) -> Option<Wanted> {
    let row = Row { line, columns };
    if columns.too_wide(line) {
        checks.fail("line", "has more cells than the header has columns: a text with a delimiter in it needs quotes");
        return None;
    }
    let barcode = row.text(Column::Barcode).map(str::to_owned);
    if let Some(text) = &barcode {
        checked_barcode(checks, "barcode", text);
    }
    ids(&row, checks);
    let name = row.full_name();
    let guest = guest(&row, name.as_deref(), checks);
    let identity = identity(&row, barcode.as_deref(), name.as_deref(), (into, lists), checks)?;
    let (zone, entry_type_id) = zone(&row, known, checks);
    let wanted = Wanted {
        line: line.number,
        identity,
        other_key: order_key(&row).filter(|_| barcode.is_some()),
        barcode,
        status: row.cell(Column::Status, checks, status),
        party_size: row.cell(Column::PartySize, checks, |text, checks| match text.parse::<u32>() {
            Ok(persons) => Some(checks.party("party_size", persons)),
            Err(_) => refused(checks, "party_size", "must be a whole number of persons"),
        }),
        zone,
        entry_type_id,
        unknown_type: unknown_type(&row, known).map(str::to_owned),
        gate_ids: row.cell(Column::GateIds, checks, |text, checks| gates(text, known, checks)),
        valid_from: row.cell(Column::ValidFrom, checks, |text, checks| time("valid_from", text, checks)),
        expires_at: row.cell(Column::ExpiresAt, checks, |text, checks| time("expires_at", text, checks)),
        guest,
    };
    if let (Cell::Value(from), Cell::Value(until)) = (&wanted.valid_from, &wanted.expires_at) {
        checks.window("expires_at", Some(*from), Some(*until));
    }
    checks.errors().is_empty().then_some(wanted)
}

struct Row<'a> {
    line: &'a Line,
    columns: &'a Columns,
}

impl<'a> Row<'a> {
    fn text(&self, column: Column) -> Option<&'a str> {
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
            Some(text) => read(text, checks).map_or(Cell::Empty, Cell::Value),
        }
    }
    fn full_name(&self) -> Option<String> {
        let parts = [self.text(Column::FirstName), self.text(Column::LastName)];
        let joined = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        self.text(Column::Name).map(str::to_owned).or_else(|| (!joined.is_empty()).then_some(joined))
    }
}

fn refused<T>(checks: &mut Checks, field: &str, message: &str) -> Option<T> {
    checks.fail(field, message);
    None
}

/// Barcode, else external id, else order and position, else (guest list, folded name, e-mail).
fn identity(
    row: &Row<'_>,
    barcode: Option<&str>,
    name: Option<&str>,
    (into, lists): (&Destination, &Lists),
    checks: &mut Checks,
) -> Option<Identity> {
    if let Some(text) = barcode {
        return Some(Identity::Code(BarcodeHash::of(text)));
    }
    let list = match row.text(Column::GuestList) {
        Some(named) => lists.id(named),
        None => into.list.as_ref().map(|list| &list.guest_list_id),
    };
    key(row, name, list, checks).map(|key| Identity::Key(into.scope().key(&key)))
}

/// What keys are made of, also in rows without a guest: what is longer than an id may be fits no index of the database.
fn ids(row: &Row<'_>, checks: &mut Checks) {
    for column in [Column::ExternalId, Column::OrderId, Column::Position] {
        checks.external_id(column.name(), row.text(column));
    }
}

fn order_key(row: &Row<'_>) -> Option<String> {
    Some(format!("order:{}/{}", row.text(Column::OrderId)?, row.text(Column::Position)?))
}

/// The key of a row without a code, as the organiser's own files have it.
fn key(row: &Row<'_>, name: Option<&str>, list: Option<&GuestListId>, checks: &mut Checks) -> Option<String> {
    if let Some(id) = row.text(Column::ExternalId) {
        return Some(keys::of_external_id(id));
    }
    if let Some(key) = order_key(row) {
        return Some(key);
    }
    let email = row.text(Column::Email).map(str::to_lowercase);
    if name.is_none() && email.is_none() {
        checks.fail("line", "needs a barcode, an external_id, an order_id with position, or a name");
        return None;
    }
    Some(keys::of_name(list, name.unwrap_or_default(), &email.unwrap_or_default()))
}

fn guest(row: &Row<'_>, name: Option<&str>, checks: &mut Checks) -> Option<WantedGuest> {
    let own_id = row.text(Column::ExternalId).or_else(|| row.text(Column::OrderId));
    let details = [Column::Phone, Column::Note, Column::Flag, Column::GuestList];
    let said = name.or_else(|| row.text(Column::Email));
    let said = said.or_else(|| own_id.filter(|_| details.iter().any(|column| row.text(*column).is_some())));
    let Some(name) = said else {
        if let Some(column) = details.into_iter().find(|column| row.text(*column).is_some()) {
            checks.fail("name", format!("is required where there is a {}", column.name()));
        }
        return None;
    };
    let external_id = match own_id {
        Some(text) => Cell::Value(text.to_owned()),
        None if row.columns.has(Column::ExternalId) || row.columns.has(Column::OrderId) => Cell::Empty,
        None => Cell::Absent,
    };
    Some(WantedGuest {
        name: checks.name("name", name),
        email: row.cell(Column::Email, checks, |text, checks| Some(checks.email("email", text))),
        phone: row.cell(Column::Phone, checks, |text, checks| checks.phone("phone", Some(text))),
        note: row.cell(Column::Note, checks, |text, checks| checks.note("note", Some(text))),
        flag: row.cell(Column::Flag, checks, |text, checks| checks.flag("flag", Some(text))),
        external_id,
        guest_list: row.cell(Column::GuestList, checks, |text, checks| Some(checks.name("guest_list", text))),
    })
}

/// A row may name a zone, an entry type, or both; the zone it names wins over its type's.
fn zone(row: &Row<'_>, known: &Known, checks: &mut Checks) -> (Cell<String>, Cell<EntryTypeId>) {
    let named = row.cell(Column::Zone, checks, |text, checks| Some(checks.zone("zone", text)));
    let entry_type = match unknown_type(row, known) {
        Some(_) => Cell::Absent,
        None => row.cell(Column::EntryType, checks, |text, checks| entry_type(text, known, checks)),
    };
    let by_zone =
        |zone: &str| known.entry_types.iter().find(|one| one.zone == zone).map(|one| one.entry_type_id.clone());
    match (named, entry_type) {
        (Cell::Value(zone), Cell::Value(one)) => (Cell::Value(zone), Cell::Value(one.entry_type_id)),
        (Cell::Value(zone), _) => {
            let type_id = by_zone(&zone).map_or(Cell::Empty, Cell::Value);
            (Cell::Value(zone), type_id)
        }
        (_, Cell::Value(one)) => (Cell::Value(one.zone), Cell::Value(one.entry_type_id)),
        (zone, _) => (zone, Cell::Absent),
    }
}

/// What others call a product is no word of ours: only where the event has an entry type of that name does it count.
fn unknown_type<'a>(row: &Row<'a>, known: &Known) -> Option<&'a str> {
    row.columns.export?;
    row.text(Column::EntryType).filter(|text| !known.entry_types.iter().any(|one| is_type(one, text)))
}

fn entry_type(text: &str, known: &Known, checks: &mut Checks) -> Option<EntryTypeRecord> {
    let found = known.entry_types.iter().find(|one| is_type(one, text));
    if found.is_none() {
        let names: Vec<&str> = known.entry_types.iter().map(|one| one.name.as_str()).collect();
        checks.fail("entry_type", format!("is not an entry type of this event, which has: {}", names.join(", ")));
    }
    found.cloned()
}

fn is_type(one: &EntryTypeRecord, text: &str) -> bool {
    folded(&one.name) == folded(text) || one.entry_type_id.as_str() == text
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

fn time(field: &str, text: &str, checks: &mut Checks) -> Option<Timestamp> {
    match Timestamp::parse(text) {
        Ok(at) => Some(at),
        Err(error) => refused(checks, field, &error.to_string()),
    }
}

/// The status by its word or the usual others.
fn status(text: &str, checks: &mut Checks) -> Option<TicketStatus> {
    match folded(text).as_str() {
        "active" | "valid" | "ok" | "paid" | "confirmed" | "good" | "attending" | "checked in" => {
            Some(TicketStatus::Active)
        }
        "used" | "redeemed" => Some(TicketStatus::Used),
        // Who has not paid is not let in until a later file says that they have.
        "voided" | "void" | "cancelled" | "canceled" | "invalid" | "revoked" | "not attending" | "deleted"
        | "pending" | "unpaid" | "expired" | "overdue" => Some(TicketStatus::Voided),
        "refunded" | "refund" => Some(TicketStatus::Refunded),
        _ => refused(checks, "status", "must be one of: active, used, voided, refunded"),
    }
}
