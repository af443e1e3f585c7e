//! Guests and bookings in the form that the screen needs: what a search found, and the other tickets of a booking.

use serde::{Deserialize, Serialize};

use crate::decide::Screen;
use crate::ids::{ScanId, TicketId};

/// A guest that a search found, with the state of the ticket as this device knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundGuest {
    /// The guest's ticket.
    pub ticket_id: TicketId,
    /// The guest's name.
    pub name: String,
    /// Number of persons expected, with the guest.
    pub party_size: u32,
    /// The note for the door. Absent if there is none.
    pub note: Option<String>,
    /// The check that staff must make, such as an ID. Absent if there is none.
    pub flag: Option<String>,
    /// The ticket's zone. Absent if the list does not have the ticket.
    pub zone: Option<String>,
    /// Persons of this ticket who are in already.
    pub already_in: u32,
    /// Persons of this ticket who may go in (or out) now.
    pub may_admit: u32,
    /// Why nobody may go in, one word of [`crate::decide::Reason`]. Absent if somebody may.
    pub reason: Option<String>,
    /// Number of other tickets of this booking in the list.
    #[serde(default)]
    pub booking: u32,
    /// Whether the search did not find this guest, but another guest of the same booking. This guest then stands in the
    /// result after that other guest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_booking: bool,
}

/// The data with which the screen adds guests at this gate (decision 036).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalkInsView {
    /// Zones that the gate admits.
    pub zones: Vec<String>,
    /// Persons added at all doors, as far as this device knows.
    pub added: u32,
    /// The most persons that may be added. Absent if there is no limit.
    pub number: Option<u32>,
    /// For how many more persons the area behind the gate has room. Absent if the gate has no capacity, or the count is
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places_left: Option<u32>,
}

/// The other tickets of a scanned ticket's booking (decision 035), as far as this device knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booking {
    /// Tickets whose remaining persons may all go in at once, in order of name and ticket. "Admit the others" offers
    /// these.
    pub others: Vec<BookingTicket>,
    /// Number of tickets that are in already.
    pub already_in: u32,
    /// Number of the booking's other tickets that need a scan of their own: this gate refuses them, or staff must check
    /// something.
    pub by_themselves: u32,
    /// For how many more persons the area has room. Absent unless these are fewer than the persons who could go in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places_left: Option<u32>,
    /// The result for each ticket that was let in together. Empty before that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub became: Vec<BookingTicket>,
}

/// A ticket of a booking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookingTicket {
    /// The ticket's id.
    pub ticket_id: TicketId,
    /// The guest's name. Absent if this gate may not know it.
    pub name: Option<String>,
    /// The ticket's zone.
    pub zone: String,
    /// Persons who may go in. In a result, persons who went in.
    pub persons: u32,
    /// The ticket's scan. Absent until it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan_id: Option<ScanId>,
    /// The screen of the ticket's scan. Absent until it was scanned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen: Option<Screen>,
}
