//! The meanings that a file's column may have.

/// The meaning of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Column {
    /// The ticket's code.
    Barcode,
    /// The guest's whole name.
    Name,
    /// The guest's first name, in files that split the name.
    FirstName,
    /// The guest's family name, in files that split the name.
    LastName,
    /// The guest's e-mail.
    Email,
    /// The buyer's e-mail, used if the guest's own is empty.
    OtherEmail,
    /// The guest's phone number.
    Phone,
    /// The number of persons.
    PartySize,
    /// The ticket's zone.
    Zone,
    /// The entry type, by name.
    EntryType,
    /// The gates that admit the ticket.
    GateIds,
    /// The guest list, by name.
    GuestList,
    /// The number of the order.
    OrderId,
    /// The place of the ticket within the order.
    Position,
    /// The id that the source gives the row.
    ExternalId,
    /// The first moment at which the ticket admits.
    ValidFrom,
    /// The first moment at which the ticket no longer admits.
    ExpiresAt,
    /// The ticket's status.
    Status,
    /// The note for the door.
    Note,
    /// The flag for the door.
    Flag,
    /// One of the guest's own fields, named by the header or by the user. A file may have several.
    Field,
}

impl Column {
    /// Every column with its name, which mappings and errors use.
    pub const ALL: [(Self, &'static str); 21] = [
        (Self::Barcode, "barcode"),
        (Self::Name, "name"),
        (Self::FirstName, "first_name"),
        (Self::LastName, "last_name"),
        (Self::Email, "email"),
        (Self::OtherEmail, "other_email"),
        (Self::Phone, "phone"),
        (Self::PartySize, "party_size"),
        (Self::Zone, "zone"),
        (Self::EntryType, "entry_type"),
        (Self::GateIds, "gate_ids"),
        (Self::GuestList, "guest_list"),
        (Self::OrderId, "order_id"),
        (Self::Position, "position"),
        (Self::ExternalId, "external_id"),
        (Self::ValidFrom, "valid_from"),
        (Self::ExpiresAt, "expires_at"),
        (Self::Status, "status"),
        (Self::Note, "note"),
        (Self::Flag, "flag"),
        (Self::Field, "field"),
    ];

    /// The column's name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(column, _)| *column == self).map_or("", |(_, name)| name)
    }
    /// The column that has this name. `None` if there is none.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, one)| *one == name).map(|(column, _)| *column)
    }
    /// Whether the column's cells are part of a person's name.
    pub fn is_name(self) -> bool {
        matches!(self, Self::Name | Self::FirstName | Self::LastName)
    }
    /// Whether the column's cells are codes or ids, in which every character counts.
    pub fn is_code(self) -> bool {
        matches!(self, Self::Barcode | Self::OrderId | Self::Position | Self::ExternalId)
    }
    /// Whether the column's cells are times.
    pub fn is_time(self) -> bool {
        matches!(self, Self::ValidFrom | Self::ExpiresAt)
    }
}
