//! The possible meanings of a file's column.

/// The meaning of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Column {
    /// The ticket's code.
    Barcode,
    /// The guest's whole name.
    Name,
    /// Its first part, where it comes in two.
    FirstName,
    /// The family name, where it comes in two.
    LastName,
    /// E-mail.
    Email,
    /// E-mail of the buyer, used where the guest's own is empty.
    OtherEmail,
    /// The guest's phone number.
    Phone,
    /// The number of persons.
    PartySize,
    /// The ticket's zone.
    Zone,
    /// Entry type, by name.
    EntryType,
    /// The gates that admit the ticket.
    GateIds,
    /// Guest list, by name.
    GuestList,
    /// Order number.
    OrderId,
    /// Place within the order.
    Position,
    /// The source's own id of the row.
    ExternalId,
    /// Good from.
    ValidFrom,
    /// Good until.
    ExpiresAt,
    /// Administrative status.
    Status,
    /// Note for the door.
    Note,
    /// Flag for the door.
    Flag,
    /// A field of the guest, named by the header or by a person; a file may have several.
    Field,
}

impl Column {
    /// Every column with its own name, which mappings and errors use.
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

    /// Its own name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(column, _)| *column == self).map_or("", |(_, name)| name)
    }
    /// The column of a name, as [`Column::name`] gives it.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, one)| *one == name).map(|(column, _)| *column)
    }
    /// Whether its cells are part of a person's name.
    pub fn is_name(self) -> bool {
        matches!(self, Self::Name | Self::FirstName | Self::LastName)
    }
    /// Whether its cells are codes or ids, whose every character counts.
    pub fn is_code(self) -> bool {
        matches!(self, Self::Barcode | Self::OrderId | Self::Position | Self::ExternalId)
    }
    /// Whether its cells are times.
    pub fn is_time(self) -> bool {
        matches!(self, Self::ValidFrom | Self::ExpiresAt)
    }
}
