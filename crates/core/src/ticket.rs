//! The ticket: where it admits, how many persons, and when (spec §3).

use sha2::{Digest as _, Sha256};

use crate::barcode::hex;
use crate::ids::{EventId, GateId};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// A ticket's administrative status, set by people or import. Whether it was scanned is derived, never set.
    TicketStatus {
        /// The ticket may be used.
        Active = "active",
        /// A person declared the ticket used.
        Used = "used",
        /// A person or a file withdrew the ticket.
        Voided = "voided",
        /// The price of the ticket was returned.
        Refunded = "refunded",
    }
}

/// The booking of a ticket, in the form in which lists name it. Tickets of one order of one event share it. It does not
/// reveal the order's number (decision 035).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group(pub [u8; Group::BYTES]);

impl Group {
    /// Length of a group, in bytes.
    pub const BYTES: usize = 6;

    /// The booking of an order's tickets: the first [`Group::BYTES`] bytes of SHA-256(event id, 0, order id).
    pub fn of(event_id: &EventId, order_id: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(event_id.as_str());
        hash.update([0]);
        hash.update(order_id);
        let mut group = [0; Self::BYTES];
        group.copy_from_slice(&hash.finalize()[..Self::BYTES]);
        Self(group)
    }
}

impl std::fmt::Display for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// A ticket's fields that are rules, with their values at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketRules {
    /// The status that people or imports set.
    pub status: TicketStatus,
    /// Persons that the ticket admits (the party size).
    pub entry_limit: u32,
    /// The gates at which the ticket admits. If empty, every gate that admits the ticket's zone.
    pub gate_ids: Vec<GateId>,
    /// The zone that the ticket gives access to.
    pub zone: String,
    /// The first moment at which the ticket admits. Absent if there is no such bound.
    pub valid_from: Option<Timestamp>,
    /// The first moment at which the ticket no longer admits. Absent if there is no such bound.
    pub expires_at: Option<Timestamp>,
}
