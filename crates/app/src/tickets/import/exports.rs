//! Exports of other ticketing systems, recognised by their headers: columns that mean something else there than here.
//!
//! Where each header stands written is cited in `docs/samples/README.md`.

use super::column::Column;

/// Somebody else's export.
#[derive(Debug)]
pub struct Export {
    /// What it is called.
    pub name: &'static str,
    /// Headers that it has (letters and digits, lower case); of each group one.
    signs: &'static [&'static [&'static str]],
    /// What its headers mean; `None` for one that means nothing here, whatever it is called like.
    columns: &'static [(&'static str, Option<Column>)],
}

impl Export {
    /// Which system wrote this header (every name folded), if any that we know.
    pub fn of(header: &[String]) -> Option<&'static Self> {
        let has = |name: &&str| header.iter().any(|one| one == name);
        EXPORTS.iter().find(|export| export.signs.iter().all(|group| group.iter().any(has)))
    }
    /// What a header (folded) means in this export; `None` where it means what it always does.
    pub fn meaning(&self, header: &str) -> Option<Option<Column>> {
        self.columns.iter().find(|(name, _)| *name == header).map(|(_, column)| *column)
    }
}

const EXPORTS: &[Export] = &[
    // "Check-in list" and "Order data", positions. Its codes are the tickets' secrets.
    Export {
        name: "pretix",
        signs: &[
            &["ordercode"],
            &["attendeename"],
            &["product"],
            &["secret", "ticketsecret", "checkedin", "positionid"],
        ],
        columns: &[
            ("ordercode", Some(Column::OrderId)),
            ("positionid", Some(Column::Position)),
            ("secret", Some(Column::Barcode)),
            ("ticketsecret", Some(Column::Barcode)),
            ("attendeename", Some(Column::Name)),
            ("attendeeemail", Some(Column::Email)),
            ("email", Some(Column::OtherEmail)),
            ("phonenumber", Some(Column::Phone)),
            ("product", Some(Column::EntryType)),
            // Of an address, and of a seat.
            ("state", None),
            ("zone", None),
            ("seatzone", None),
            ("price", None),
            ("paid", None),
            ("blocked", None),
            // In the event's own way of writing times.
            ("validfrom", None),
            ("validuntil", None),
        ],
    },
    // "Attendee Summary". Its codes are there only where the organiser chose the column.
    Export {
        name: "Eventbrite",
        signs: &[&["order", "orderno", "orderid"], &["tickettype"], &["attendeestatus", "attendee"], &["firstname"]],
        columns: &[
            ("order", Some(Column::OrderId)),
            ("orderno", Some(Column::OrderId)),
            ("orderid", Some(Column::OrderId)),
            ("attendee", Some(Column::Position)),
            ("barcode", Some(Column::Barcode)),
            ("attendeestatus", Some(Column::Status)),
            ("quantity", Some(Column::PartySize)),
            ("qty", Some(Column::PartySize)),
            ("tickettype", Some(Column::EntryType)),
            ("buyeremail", Some(Column::OtherEmail)),
            ("cellphone", Some(Column::Phone)),
            ("mobilephone", Some(Column::Phone)),
            ("status", None),
            ("type", None),
            ("group", None),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn name(header: &str) -> Option<&'static str> {
        let folded: Vec<String> = header.split(',').map(super::super::column::folded).collect();
        Export::of(&folded).map(|export| export.name)
    }

    #[test]
    fn an_export_is_known_by_its_headers_and_ours_are_none() {
        for (header, export) in [
            ("Order code,Attendee name,Product,Price,Checked in,Secret,E-mail", Some("pretix")),
            ("Event slug,Order code,Position ID,Status,Email,Product,Attendee name", Some("pretix")),
            ("Order #,Order Date,First Name,Last Name,Email,Quantity,Ticket Type,Attendee #", Some("Eventbrite")),
            ("Order no.,Order Date,First Name,Surname,Email,Ticket Type,Attendee Status", Some("Eventbrite")),
            ("barcode,name,email,party_size", None),
            ("order,first name,ticket type", None),
        ] {
            assert_eq!(name(header), export, "{header}");
        }
    }
}
