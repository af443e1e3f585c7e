//! The ticket: what it admits to, how many, when (spec §3).

use crate::ids::GateId;
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// A ticket's administrative status, set by people or import. Whether it was scanned is derived, never set.
    TicketStatus {
        /// Good.
        Active = "active",
        /// Declared used by a person.
        Used = "used",
        /// Withdrawn.
        Voided = "voided",
        /// Money returned.
        Refunded = "refunded",
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
