//! Tickets and guests.

use std::collections::BTreeMap;

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{EntryTypeId, EventId, GuestId, GuestListId, TicketId, UserId};
use admit_core::short_code::ShortCode;
use admit_core::ticket::TicketRules;
use admit_core::time::Timestamp;

/// A guest's own fields, such as company or table: values by field name.
pub type Fields = BTreeMap<String, String>;

/// A guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestRecord {
    /// The guest's id.
    pub guest_id: GuestId,
    /// The event that the guest is expected at.
    pub event_id: EventId,
    /// The guest's ticket. Absent if the guest has none.
    pub ticket_id: Option<TicketId>,
    /// The guest list that the guest is on. Absent if the guest is on none.
    pub guest_list_id: Option<GuestListId>,
    /// The guest's entry type. Absent if there is none.
    pub entry_type_id: Option<EntryTypeId>,
    /// The guest's name.
    pub name: String,
    /// The guest's e-mail address. Absent if none is known.
    pub email: Option<String>,
    /// The guest's phone number. Absent if none is known.
    pub phone: Option<String>,
    /// Number of persons, with the guest.
    pub party_size: u32,
    /// The note for the door. Absent if there is none.
    pub note: Option<String>,
    /// The flag for the door. Absent if there is none.
    pub flag: Option<String>,
    /// The organiser's other fields of the guest, at most [`FIELDS`](admit_core::limits::FIELDS).
    pub fields: Fields,
    /// The organiser's own id of the guest. Absent if there is none.
    pub external_id: Option<String>,
    /// When the guest was created.
    pub created_at: Timestamp,
    /// When the guest was last changed.
    pub updated_at: Timestamp,
    /// When the guest's personal data was erased. Absent if it was not.
    pub erased_at: Option<Timestamp>,
}

/// Guests of one guest list and one entry type, counted by state. All members but `persons` and `expected` count
/// guests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuestCount {
    /// The guest list. Absent for guests on none.
    pub guest_list_id: Option<GuestListId>,
    /// The entry type. Absent for guests without one.
    pub entry_type_id: Option<EntryTypeId>,
    /// Number of all these guests.
    pub guests: u64,
    /// Number of persons: the sum of the party sizes.
    pub persons: u64,
    /// Persons of guests whose ticket is neither voided nor refunded.
    pub expected: u64,
    /// Guests with somebody of their party inside now.
    pub inside: u64,
    /// Guests with somebody of their party let in so far.
    pub came: u64,
    /// Guests with nobody let in, whose ticket is neither voided nor refunded.
    pub not_come: u64,
    /// Guests whose ticket is voided or refunded.
    pub voided: u64,
}

/// The number of tickets that a text finds, for each filter of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TicketCounts {
    /// All tickets that the text finds.
    pub all: u64,
    /// Active tickets with nobody let in.
    pub to_come: u64,
    /// Tickets with somebody let in so far.
    pub came: u64,
    /// Tickets that are voided.
    pub voided: u64,
    /// Tickets that are refunded.
    pub refunded: u64,
}

/// Guests whose newest pass was not delivered yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnsentPasses {
    /// Guests whose pass run gave up.
    pub refused: u64,
    /// Guests whose pass run is under way or waits for its next try.
    pub waiting: u64,
}

/// A ticket: its identity and the newest values of its rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketRecord {
    /// The ticket's id.
    pub ticket_id: TicketId,
    /// The event of the ticket.
    pub event_id: EventId,
    /// The newest values of the ticket's rules.
    pub rules: TicketRules,
    /// The text of the ticket's barcode. Absent if the server has only its hash, as after some imports.
    pub barcode: Option<String>,
    /// Whether the server made the barcode, so that the ticket has a pass. A guest whose code came from another system
    /// gets no pass, whatever the code looks like.
    pub drawn: bool,
    /// Every hash that the ticket ever had, oldest first.
    pub barcode_hashes: Vec<BarcodeHash>,
    /// The identity of the row in repeated imports (spec §5), unique per event. Absent if no import made the ticket.
    pub import_key: Option<String>,
    /// The number of the order that the ticket belongs to, at most 64 characters. Tickets of one order share it. Absent
    /// if there is none.
    pub order_id: Option<String>,
    /// The guest who holds the ticket. Absent if there is none.
    pub guest_id: Option<GuestId>,
    /// The serial of the last change of the ticket's rules or codes.
    pub rules_serial: u64,
    /// When the ticket was created.
    pub created_at: Timestamp,
}

impl GuestRecord {
    /// The guest without e-mail and phone, for callers who may only look.
    pub fn without_contacts(self) -> Self {
        Self { email: None, phone: None, ..self }
    }
}

impl TicketRecord {
    /// The end of the ticket's code, by which people tell two tickets apart: at most half of it and at most four
    /// characters. `None` if the code's text is unknown.
    pub fn code_end(&self) -> Option<String> {
        let code: Vec<char> = self.barcode.as_deref()?.chars().collect();
        let shown = (code.len() / 2).min(4);
        Some(code[code.len() - shown..].iter().collect()).filter(|end: &String| !end.is_empty())
    }
    /// The short code of the ticket's newest code. `None` if it has no code.
    pub fn short_code(&self) -> Option<String> {
        self.barcode_hashes.last().map(|hash| ShortCode::of(hash).to_string())
    }
}

/// An import that changed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRecord {
    /// The import's id.
    pub import_id: String,
    /// The event of the import.
    pub event_id: EventId,
    /// The serial of the write in its event.
    pub serial: u64,
    /// The user who imported.
    pub user_id: UserId,
    /// The file's name. Absent if unknown.
    pub file_name: Option<String>,
    /// Number of tickets that the import created.
    pub created: u64,
    /// Number of tickets and guests that the import changed.
    pub updated: u64,
    /// When the file was imported.
    pub imported_at: Timestamp,
    /// When the import was undone. Absent if it was not.
    pub undone_at: Option<Timestamp>,
    /// The data that undoing the import needs. Only the use case writes and reads it.
    pub kept: String,
}
