//! Guests and bookings as the screen needs them: what a search found, and the other tickets of a booking.

use serde::{Deserialize, Serialize};

use crate::decide::Screen;
use crate::ids::{ScanId, TicketId};

/// A guest that a search found, and how they stand by what this device knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundGuest {
    /// The ticket they hold.
    pub ticket_id: TicketId,
    /// The guest's name.
    pub name: String,
    /// Persons expected with them, themselves among them.
    pub party_size: u32,
    /// Note for the door.
    pub note: Option<String>,
    /// The check that staff are to make, such as an ID; absent where there is none.
    pub flag: Option<String>,
    /// The ticket's zone, where the list has it.
    pub zone: Option<String>,
    /// Persons of theirs in already.
    pub already_in: u32,
    /// Persons who may go in (or out) now.
    pub may_admit: u32,
    /// Why nobody may, one word of [`crate::decide::Reason`].
    pub reason: Option<String>,
    /// Other tickets of their booking in the list.
    #[serde(default)]
    pub booking: u32,
    /// The search did not find this guest, but one of the same booking: shown behind them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_booking: bool,
}

/// The guests that staff at this gate may add (door.md "Walk-ins").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalkInsView {
    /// Zones that the gate admits.
    pub zones: Vec<String>,
    /// Persons added at all doors, by what this device knows.
    pub added: u32,
    /// How many may be; absent: no number.
    pub number: Option<u32>,
    /// Places left in the area behind the gate, where it has a capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places_left: Option<u32>,
}

/// The other tickets of a scanned ticket's booking (door.md "Bookings"), by what this device knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booking {
    /// Tickets of which all persons left may go in at once, by name and ticket: what "Admit the others" offers.
    pub others: Vec<BookingTicket>,
    /// Tickets that are in already.
    pub already_in: u32,
    /// Tickets that need a scan of their own: they are refused here, or staff are to check something.
    pub by_themselves: u32,
    /// How many more the area holds, where the others are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places_left: Option<u32>,
    /// The result of each ticket that was let in with the others; empty before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub became: Vec<BookingTicket>,
}

/// A ticket of a booking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookingTicket {
    /// The ticket's id.
    pub ticket_id: TicketId,
    /// Its guest, where this gate may know it.
    pub name: Option<String>,
    /// The ticket's zone.
    pub zone: String,
    /// Persons: who may go in, or, of what it became, who went in.
    pub persons: u32,
    /// Its scan, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan_id: Option<ScanId>,
    /// The screen that its scan showed; absent until it was scanned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen: Option<Screen>,
}
