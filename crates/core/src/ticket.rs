//! The ticket: what it admits to, how many, when (spec §3).

use sha2::{Digest as _, Sha256};

use crate::barcode::hex;
use crate::ids::{EventId, GateId};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// A ticket's administrative status, set by people or import. Whether it was scanned is derived, never set.
    TicketStatus {
        /// The ticket is good.
        Active = "active",
        /// Declared used by a person.
        Used = "used",
        /// A person or a file withdrew the ticket.
        Voided = "voided",
        /// Money returned.
        Refunded = "refunded",
    }
}

/// The booking that a ticket belongs to, as devices know it: tickets of one order of one event share it, and it tells
/// nobody the order's number (door.md "Bookings").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group(pub [u8; Group::BYTES]);

impl Group {
    /// Bytes of it.
    pub const BYTES: usize = 6;

    /// The group of an order's tickets: the first bytes of SHA-256(event id, 0, order id).
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

/// A ticket's ruled fields at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketRules {
    /// Administrative status.
    pub status: TicketStatus,
    /// Persons it admits (the party size).
    pub entry_limit: u32,
    /// The gates it admits at; empty = any gate whose zones hold its zone.
    pub gate_ids: Vec<GateId>,
    /// Its zone.
    pub zone: String,
    /// Good from; open when absent.
    pub valid_from: Option<Timestamp>,
    /// Good until, exclusive; open when absent.
    pub expires_at: Option<Timestamp>,
}
