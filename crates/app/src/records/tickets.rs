//! Tickets and guests.

use std::collections::BTreeMap;

use admit_core::barcode::BarcodeHash;
use admit_core::ids::*;
use admit_core::short_code::ShortCode;
use admit_core::ticket::TicketRules;
use admit_core::time::Timestamp;

/// A guest's own fields, such as their company or table: values by the fields' names.
pub type Fields = BTreeMap<String, String>;

/// A guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestRecord {
    /// The guest's id.
    pub guest_id: GuestId,
    /// The event that the guest is expected at.
    pub event_id: EventId,
    /// Their ticket.
    pub ticket_id: Option<TicketId>,
    /// List they are on.
    pub guest_list_id: Option<GuestListId>,
    /// Entry type.
    pub entry_type_id: Option<EntryTypeId>,
    /// The guest's name.
    pub name: String,
    /// E-mail.
    pub email: Option<String>,
    /// The guest's phone number; absent where none is known.
    pub phone: Option<String>,
    /// Party size.
    pub party_size: u32,
    /// Note for the door.
    pub note: Option<String>,
    /// Flag for the door.
    pub flag: Option<String>,
    /// The organiser's other fields of the guest, at most [`FIELDS`](admit_core::limits::FIELDS).
    pub fields: Fields,
    /// The organiser's own id or order number.
    pub external_id: Option<String>,
    /// When made.
    pub created_at: Timestamp,
    /// When changed.
    pub updated_at: Timestamp,
    /// When their personal data was erased.
    pub erased_at: Option<Timestamp>,
}

/// Guests of one list and one entry type, counted by where they stand. All but `persons` are guests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuestCount {
    /// Their guest list.
    pub guest_list_id: Option<GuestListId>,
    /// Their entry type.
    pub entry_type_id: Option<EntryTypeId>,
    /// All of them.
    pub guests: u64,
    /// Persons: the sum of their party sizes.
    pub persons: u64,
    /// Persons of those whose ticket is neither voided nor refunded.
    pub expected: u64,
    /// With somebody inside now.
    pub inside: u64,
    /// With somebody let in, ever.
    pub came: u64,
    /// With nobody let in, whose ticket is neither voided nor refunded.
    pub not_come: u64,
    /// Guests whose ticket is voided or refunded.
    pub voided: u64,
}

/// Tickets that a text finds, counted as a list of them is narrowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TicketCounts {
    /// All of them.
    pub all: u64,
    /// Active, with nobody let in.
    pub to_come: u64,
    /// With somebody let in, ever.
    pub came: u64,
    /// Tickets that are voided.
    pub voided: u64,
    /// Tickets that are refunded.
    pub refunded: u64,
}

/// Guests whose newest pass is not done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnsentPasses {
    /// Given up.
    pub refused: u64,
    /// On its way, or to be tried again.
    pub waiting: u64,
}

/// A ticket: identity, its rules' newest values and where they stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketRecord {
    /// The ticket's id.
    pub ticket_id: TicketId,
    /// The event of the ticket.
    pub event_id: EventId,
    /// Newest values.
    pub rules: TicketRules,
    /// The barcode we made or were given, as text where we may know it (an import may bring only hashes).
    pub barcode: Option<String>,
    /// Its barcode was made here, so it has a pass. A guest with a code of their own has that from where it was made,
    /// whatever it looks like.
    pub drawn: bool,
    /// Every hash this ticket ever held, first to newest.
    pub barcode_hashes: Vec<BarcodeHash>,
    /// Row identity for repeated imports (spec §5): unique per event.
    pub import_key: Option<String>,
    /// The number of the purchase this ticket belongs to, at most 64 characters. Tickets of one order share it.
    pub order_id: Option<String>,
    /// The guest who holds the ticket; absent where it has none.
    pub guest_id: Option<GuestId>,
    /// Serial of the last change of its rules or codes.
    pub rules_serial: u64,
    /// When made.
    pub created_at: Timestamp,
}

impl GuestRecord {
    /// As somebody sees them who only looks.
    pub fn without_contacts(self) -> Self {
        Self { email: None, phone: None, ..self }
    }
}

impl TicketRecord {
    /// The end of its code, by which people tell two apart: half of it, four characters at most.
    pub fn code_end(&self) -> Option<String> {
        let code: Vec<char> = self.barcode.as_deref()?.chars().collect();
        let shown = (code.len() / 2).min(4);
        Some(code[code.len() - shown..].iter().collect()).filter(|end: &String| !end.is_empty())
    }
    /// Its newest code as people read it out.
    pub fn short_code(&self) -> Option<String> {
        self.barcode_hashes.last().map(|hash| ShortCode::of(hash).to_string())
    }
}

/// An import that wrote something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRecord {
    /// The import's id.
    pub import_id: String,
    /// The event of the import.
    pub event_id: EventId,
    /// The write's place in the event's order.
    pub serial: u64,
    /// The user who imported.
    pub user_id: UserId,
    /// The name of the file; absent where it is not known.
    pub file_name: Option<String>,
    /// Tickets that it made.
    pub created: u64,
    /// Tickets and guests that it changed.
    pub updated: u64,
    /// When the file was imported.
    pub imported_at: Timestamp,
    /// When it was undone.
    pub undone_at: Option<Timestamp>,
    /// The data that undoing the import needs, as the use case wrote it.
    pub kept: String,
}
