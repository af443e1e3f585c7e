//! Exports of other ticketing systems, recognised by their headers. Some of their columns and words mean something else
//! than the same words in a person's file. The source of each header is cited in `docs/samples/README.md`.

use admit_core::ticket::TicketStatus;

use super::column::Column;

/// An export of another system.
#[derive(Debug)]
pub struct Export {
    /// The name of the system.
    pub name: &'static str,
    /// The headers by which the export is recognised (letters and digits, lower case). The file has at least one of
    /// each group.
    signs: &'static [&'static [&'static str]],
    /// The possible names of the file's first column. Empty if the export is not recognised by its first column.
    first: &'static [&'static str],
    /// The export's headers, each with the meaning of its column. `None` if the column is not read, even if the words
    /// of the header suggest a meaning.
    columns: &'static [(&'static str, Option<Column>)],
    /// Status words that have another meaning in this system than elsewhere.
    statuses: &'static [(&'static str, TicketStatus)],
    /// Number added to the persons of a row, for systems that count only the guest's companions.
    pub persons_more: u32,
    /// Whether a row with neither a name nor an e-mail address is left out, because nobody has the ticket yet.
    pub unassigned_stay_out: bool,
}

impl Export {
    /// The system that wrote this header, whose names are in the form of [`folded`](super::vocabulary::folded). `None`
    /// if it is no known export.
    pub fn of(header: &[String]) -> Option<&'static Self> {
        let has = |name: &&str| header.iter().any(|one| one == name);
        let begins = |export: &&Self| {
            export.first.is_empty() || header.first().is_some_and(|one| export.first.contains(&one.as_str()))
        };
        EXPORTS.iter().filter(begins).find(|export| export.signs.iter().all(|group| group.iter().any(has)))
    }
    /// The meaning in this export of a header in the form of [`folded`](super::vocabulary::folded). `None` if the
    /// export gives it no meaning of its own. `Some(None)` if the column is not read.
    pub fn meaning(&self, header: &str) -> Option<Option<Column>> {
        self.columns.iter().find(|(name, _)| *name == header).map(|(_, column)| *column)
    }
    /// The meaning in this export of a status word in the form of [`folded`](super::status::folded). `None` if it has
    /// no meaning of its own.
    pub fn status(&self, word: &str) -> Option<TicketStatus> {
        self.statuses.iter().find(|(one, _)| *one == word).map(|(_, status)| *status)
    }
}

const NOTHING: Export = Export {
    name: "",
    signs: &[],
    first: &[],
    columns: &[],
    statuses: &[],
    persons_more: 0,
    unassigned_stay_out: false,
};

const EXPORTS: &[Export] = &[
    // The exports "Check-in list" and "Order data" (positions). The codes are what pretix calls the tickets' secrets.
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
            // In this export, these columns are parts of an address or of a seat, so they are not read.
            ("state", None),
            ("zone", None),
            ("seatzone", None),
            ("price", None),
            ("paid", None),
            ("blocked", None),
            // The event chooses the format of these times, so they are not read.
            ("validfrom", None),
            ("validuntil", None),
        ],
        ..NOTHING
    },
    // The report "Attendee Summary". It has codes only if the organiser chose that column.
    Export {
        name: "Eventbrite",
        signs: &[&["order", "orderno", "orderid"], &["tickettype"], &["attendeestatus", "attendee"], &["firstname"]],
        columns: &[
            ("order", Some(Column::OrderId)),
            ("orderno", Some(Column::OrderId)),
            ("orderid", Some(Column::OrderId)),
            ("attendee", Some(Column::Position)),
            ("attendeeno", Some(Column::Position)),
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
        ..NOTHING
    },
    // Eventbrite's newer report, with one row per ticket. Orders of several tickets have several rows.
    Export {
        name: "Eventbrite",
        signs: &[&["orderid", "orderno"], &["attendeefirstname", "buyerfirstname"], &["buyeremail"]],
        columns: &[
            ("orderid", Some(Column::OrderId)),
            ("orderno", Some(Column::OrderId)),
            ("attendeefirstname", Some(Column::FirstName)),
            ("attendeelastname", Some(Column::LastName)),
            ("attendeeemail", Some(Column::Email)),
            ("ticketquantity", Some(Column::PartySize)),
            ("buyeremail", Some(Column::OtherEmail)),
            ("buyerfirstname", None),
            ("buyerlastname", None),
            ("barcodenumber", Some(Column::Barcode)),
            ("tickettype", Some(Column::EntryType)),
            ("tickettier", None),
            ("ticketprice", None),
            ("ordertype", None),
            ("eventname", None),
            ("eventid", None),
            ("eventlocation", None),
        ],
        ..NOTHING
    },
    // The QR code holds the check-in address as it stands in the file.
    Export {
        name: "Luma",
        signs: &[&["apiid", "guestid"], &["approvalstatus"]],
        columns: &[
            ("apiid", Some(Column::ExternalId)),
            ("guestid", Some(Column::ExternalId)),
            ("name", Some(Column::Name)),
            ("firstname", Some(Column::FirstName)),
            ("lastname", Some(Column::LastName)),
            ("email", Some(Column::Email)),
            ("phonenumber", Some(Column::Phone)),
            ("approvalstatus", Some(Column::Status)),
            ("qrcodeurl", Some(Column::Barcode)),
            ("ticketname", Some(Column::EntryType)),
            ("tickettypeid", None),
            ("amount", None),
            ("currency", None),
            ("customsource", None),
            ("createdat", None),
            ("checkedinat", None),
        ],
        ..NOTHING
    },
    Export {
        name: "Tito",
        signs: &[&["ticketreference"], &["ticketfullname", "ticketfirstname"], &["orderreference"]],
        columns: &[
            ("number", None),
            ("ticket", Some(Column::EntryType)),
            ("ticketfullname", Some(Column::Name)),
            ("ticketfirstname", Some(Column::FirstName)),
            ("ticketlastname", Some(Column::LastName)),
            ("ticketemail", Some(Column::Email)),
            ("ticketphonenumber", Some(Column::Phone)),
            ("ticketcompanyname", None),
            ("event", None),
            ("voidstatus", Some(Column::Status)),
            ("price", None),
            ("ticketreference", Some(Column::Barcode)),
            ("tags", None),
            ("orderreference", Some(Column::OrderId)),
            ("ordername", None),
            ("orderemail", Some(Column::OtherEmail)),
            ("ordercompanyname", None),
            ("orderphonenumber", None),
        ],
        // The column asks whether the ticket is void.
        statuses: &[
            ("true", TicketStatus::Voided),
            ("yes", TicketStatus::Voided),
            ("void", TicketStatus::Voided),
            ("false", TicketStatus::Active),
            ("no", TicketStatus::Active),
        ],
        unassigned_stay_out: true,
        ..NOTHING
    },
    Export {
        name: "Hi.Events",
        signs: &[&["publicid"], &["shortid"], &["productname", "productid", "ticketname", "ticketid"]],
        columns: &[
            ("id", Some(Column::ExternalId)),
            ("firstname", Some(Column::FirstName)),
            ("lastname", Some(Column::LastName)),
            ("email", Some(Column::Email)),
            ("status", Some(Column::Status)),
            ("publicid", Some(Column::Barcode)),
            ("productname", Some(Column::EntryType)),
            ("ticketname", Some(Column::EntryType)),
            ("productid", None),
            ("ticketid", None),
            ("eventid", None),
            ("shortid", None),
            ("notes", Some(Column::Note)),
        ],
        ..NOTHING
    },
    Export {
        name: "Weezevent",
        signs: &[&["codebarres"], &["nomdutarif"]],
        columns: &[
            ("codebarres", Some(Column::Barcode)),
            ("nomdutarif", Some(Column::EntryType)),
            ("nom", Some(Column::LastName)),
            ("prenom", Some(Column::FirstName)),
            ("email", Some(Column::Email)),
            ("prix", None),
            ("societe", None),
        ],
        ..NOTHING
    },
    Export {
        name: "HelloAsso",
        signs: &[&["referencecommande"], &["numerodebillet"], &["nomparticipant", "nompayeur"]],
        columns: &[
            ("referencecommande", Some(Column::OrderId)),
            ("statutdelacommande", Some(Column::Status)),
            ("nomparticipant", Some(Column::LastName)),
            ("prenomparticipant", Some(Column::FirstName)),
            ("emailparticipant", Some(Column::Email)),
            ("nompayeur", None),
            ("prenompayeur", None),
            ("emailpayeur", Some(Column::OtherEmail)),
            ("billet", None),
            ("numerodebillet", Some(Column::Barcode)),
            ("tarif", Some(Column::EntryType)),
            ("montanttarif", None),
            ("raisonsociale", None),
        ],
        ..NOTHING
    },
    // A tab-separated export. It has neither codes nor addresses. "Guests" are persons in addition to the member.
    Export {
        name: "Meetup",
        signs: &[&["rsvpedon"], &["userid"], &["rsvp"]],
        columns: &[
            ("name", Some(Column::Name)),
            ("userid", Some(Column::ExternalId)),
            ("rsvp", Some(Column::Status)),
            ("guests", Some(Column::PartySize)),
            ("title", None),
            ("eventhost", None),
            ("attendance", None),
        ],
        persons_more: 1,
        ..NOTHING
    },
    // A row is a person's whole order. "Paid" is an amount, and "Type" the place of sale.
    Export {
        name: "Humanitix",
        signs: &[&["validtickets"], &["orderid"], &["longorderid", "yourearnings"]],
        columns: &[
            ("orderid", None),
            ("longorderid", Some(Column::ExternalId)),
            ("validtickets", Some(Column::PartySize)),
            ("paid", None),
            ("type", None),
            ("status", None),
            ("financialstatus", None),
            ("event", None),
            ("notes", Some(Column::Note)),
        ],
        ..NOTHING
    },
    // The export of orders. The header of its list of issued tickets is not published.
    Export {
        name: "Ticket Tailor",
        signs: &[&["ticketspurchased"], &["orderid"], &["ordercancelled"]],
        columns: &[
            ("orderid", Some(Column::ExternalId)),
            ("name", Some(Column::Name)),
            ("firstname", Some(Column::FirstName)),
            ("lastname", Some(Column::LastName)),
            ("ticketspurchased", Some(Column::PartySize)),
            ("ordercancelled", Some(Column::Status)),
            ("transactionid", None),
            ("eventname", None),
            ("orderitems", None),
        ],
        statuses: &[
            ("1", TicketStatus::Voided),
            ("yes", TicketStatus::Voided),
            ("true", TicketStatus::Voided),
            ("0", TicketStatus::Active),
            ("no", TicketStatus::Active),
            ("false", TicketStatus::Active),
        ],
        ..NOTHING
    },
    // The QR code holds the id and a signature that no file has, so new codes are made.
    Export {
        name: "alf.io",
        signs: &[&["reservationid"], &["locked"], &["category"]],
        columns: &[
            ("id", Some(Column::ExternalId)),
            ("category", Some(Column::EntryType)),
            ("event", None),
            ("reservationid", Some(Column::OrderId)),
            ("fullname", Some(Column::Name)),
            ("confirmation", None),
            ("reference", None),
        ],
        statuses: &[
            ("acquired", TicketStatus::Active),
            ("free", TicketStatus::Voided),
            ("to be paid", TicketStatus::Voided),
            ("invalidated", TicketStatus::Voided),
            ("released", TicketStatus::Voided),
            ("pre reserved", TicketStatus::Voided),
        ],
        ..NOTHING
    },
    // Each form counts its answers from one, so their numbers identify nobody.
    Export {
        name: "Microsoft Forms",
        signs: &[
            &["starttime", "startzeit", "heurededebut", "horadeinicio", "oradiinizio", "begintijd"],
            &[
                "completiontime",
                "fertigstellungszeit",
                "heuredefin",
                "horadefinalizacion",
                "oradicompletamento",
                "tijdvanvoltooien",
                "horadeconclusao",
            ],
        ],
        columns: &[
            ("id", None),
            ("starttime", None),
            ("totalpoints", None),
            ("quizfeedback", None),
            ("language", None),
        ],
        ..NOTHING
    },
    Export {
        name: "Google Forms",
        first: &[
            "timestamp",
            "zeitstempel",
            "horodateur",
            "marcatemporal",
            "informazionicronologiche",
            "tijdstempel",
            "carimbodedatahora",
        ],
        columns: &[("score", None), ("punkte", None), ("puntuacion", None), ("nomedeusuario", Some(Column::Email))],
        ..NOTHING
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn name(header: &str) -> Option<&'static str> {
        let folded: Vec<String> = header.split([',', ';']).map(super::super::vocabulary::folded).collect();
        Export::of(&folded).map(|export| export.name)
    }

    #[test]
    fn an_export_is_known_by_its_headers_and_ours_are_none() {
        for (header, export) in [
            ("Order code,Attendee name,Product,Price,Checked in,Secret,E-mail", Some("pretix")),
            ("Event slug,Order code,Position ID,Status,Email,Product,Attendee name", Some("pretix")),
            ("Order #,Order Date,First Name,Last Name,Email,Quantity,Ticket Type,Attendee #", Some("Eventbrite")),
            ("Order no.,Order Date,First Name,Surname,Email,Ticket Type,Attendee Status", Some("Eventbrite")),
            ("api_id,name,email,approval_status,qr_code_url", Some("Luma")),
            ("Ticket,Ticket Full Name,Ticket Reference,Order Reference", Some("Tito")),
            ("ID,First Name,Is Checked In,Product ID,Public ID,Short ID", Some("Hi.Events")),
            ("Code-barres;Nom du tarif;Nom;Prénom", Some("Weezevent")),
            ("Référence commande;Numéro de billet;Nom participant", Some("HelloAsso")),
            (
                "Order ID,Order date,Attendee first name,Attendee last name,Attendee email,Buyer email,Barcode number",
                Some("Eventbrite"),
            ),
            ("guest_id,name,email,approval_status,utm_source,qr_code_url", Some("Luma")),
            ("Name,User ID,Title,Event Host,RSVP,Guests,RSVPed on,Joined Group on", Some("Meetup")),
            ("Name,User ID,Title,Member ID,Location,Joined Group on", None),
            ("Order id,First name,Valid tickets,Your earnings,Status,Long order id", Some("Humanitix")),
            ("Order ID,Name,Email,Tickets purchased,Order cancelled", Some("Ticket Tailor")),
            ("ID,Category,Event,Status,ReservationID,Full Name,E-Mail,Locked", Some("alf.io")),
            ("Id;Startzeit;Fertigstellungszeit;E-Mail;Name", Some("Microsoft Forms")),
            ("Horodateur,Adresse e-mail,Votre nom", Some("Google Forms")),
            ("Name,Timestamp,Email", None),
            ("barcode,name,email,party_size", None),
            ("order,first name,ticket type", None),
        ] {
            assert_eq!(name(header), export, "{header}");
        }
    }
}
