//! What a column of a file may mean, and the names it goes by.

/// What a column means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Column {
    /// The ticket's code.
    Barcode,
    /// The guest's name.
    Name,
    /// Its first part, where it comes in two.
    FirstName,
    /// Its second part.
    LastName,
    /// E-mail.
    Email,
    /// E-mail of whoever paid, where the guest's own is empty.
    OtherEmail,
    /// Phone.
    Phone,
    /// Persons.
    PartySize,
    /// Zone.
    Zone,
    /// Entry type, by name.
    EntryType,
    /// Gates.
    GateIds,
    /// Guest list, by name.
    GuestList,
    /// Order number.
    OrderId,
    /// Place within the order.
    Position,
    /// The organiser's own id.
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
}

impl Column {
    /// Its own name, which errors use.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(column, ..)| *column == self).map_or("", |(_, name, _)| name)
    }
}

/// Every column, its name, and other names it goes by (letters and digits only, lower case).
const NAMES: &[(Column, &str, &[&str])] = &[
    (Column::Barcode, "barcode", &["code", "ticketcode", "qr", "qrcode", "token", "ticketbarcode", "serial"]),
    (
        Column::Name,
        "name",
        &["guest", "guestname", "fullname", "attendee", "attendeename", "holder", "ticketholder", "nom"],
    ),
    (Column::FirstName, "first_name", &["givenname", "forename", "vorname", "prenom", "attendeefirstname"]),
    (Column::LastName, "last_name", &["surname", "familyname", "nachname", "attendeelastname"]),
    (Column::Email, "email", &["emailaddress", "mail", "attendeeemail", "guestemail", "courriel"]),
    (Column::OtherEmail, "other_email", &["orderemail", "buyeremail"]),
    (Column::Phone, "phone", &["phonenumber", "mobile", "mobilephone", "tel", "telephone", "cell", "telefon"]),
    (
        Column::PartySize,
        "party_size",
        &[
            "party",
            "persons",
            "people",
            "pax",
            "guests",
            "admits",
            "quantity",
            "qty",
            "groupsize",
            "entrylimit",
            "count",
        ],
    ),
    (Column::Zone, "zone", &["area", "section", "accesszone"]),
    (Column::EntryType, "entry_type", &["tickettype", "type", "category", "product", "ticketname"]),
    (Column::GateIds, "gate_ids", &["gates", "gate", "gateid", "entrance", "entrances"]),
    (Column::GuestList, "guest_list", &["list", "listname", "guestlistname"]),
    (
        Column::OrderId,
        "order_id",
        &["order", "ordernumber", "orderno", "ordercode", "bookingid", "booking", "reference"],
    ),
    (Column::Position, "position", &["pos", "orderposition", "positionid", "item", "lineitem"]),
    (Column::ExternalId, "external_id", &["id", "guestid", "attendeeid", "externalref", "ref"]),
    (Column::ValidFrom, "valid_from", &["notbefore", "startsat", "validfromdate"]),
    (Column::ExpiresAt, "expires_at", &["validuntil", "validto", "expires", "expiry", "notafter", "endsat"]),
    (Column::Status, "status", &["state", "ticketstatus"]),
    (Column::Note, "note", &["notes", "comment", "comments", "remark", "remarks"]),
    (Column::Flag, "flag", &["doorflag", "alert"]),
];

/// Letters and digits, lower case.
pub(super) fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// What a column of this name means.
pub(super) fn meaning(header: &str) -> Option<Column> {
    let header = folded(header);
    let same = |name: &str| folded(name) == header;
    NAMES
        .iter()
        .find(|(_, name, others)| same(name) || others.iter().any(|other| same(other)))
        .map(|(column, ..)| *column)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_name_means_one_column() {
        let mut seen = BTreeMap::new();
        for (column, name, others) in NAMES {
            for name in std::iter::once(name).chain(others.iter()) {
                assert_eq!(seen.insert(folded(name), *column), None, "{name}");
            }
        }
    }

    #[test]
    fn names_are_folded_and_the_usual_others_known() {
        for (header, column) in [
            ("E-Mail", Column::Email),
            ("Party Size", Column::PartySize),
            ("ORDER_NUMBER", Column::OrderId),
            ("Ticket type", Column::EntryType),
            ("Vorname", Column::FirstName),
        ] {
            assert_eq!(meaning(header), Some(column), "{header}");
        }
        assert_eq!(meaning("shoe size"), None);
    }
}
