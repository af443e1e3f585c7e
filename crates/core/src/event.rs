//! The event: what is scanned for, when, and how often a ticket lets its persons in (spec §3).

use crate::time::Timestamp;
use crate::words::words;

words! {
    /// Where an event stands in its life.
    EventStatus {
        /// Being prepared; not scanned yet.
        Draft = "draft",
        /// Doors may open.
        Live = "live",
        /// Over; late scans are still taken (spec D17).
        Ended = "ended",
        /// Put away.
        Archived = "archived",
    }
    /// How often the persons of a ticket may enter (spec D7).
    ReEntry {
        /// Each person once.
        Never = "never",
        /// Again once `min_gap_seconds` have passed.
        AfterGap = "after_gap",
        /// Again once they have left through an exit.
        AfterExit = "after_exit",
    }
}

impl EventStatus {
    /// Whether it is over, put away or not.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Ended | Self::Archived)
    }
}

/// The PIN that lets staff override a refusal, as devices carry it (spec D18).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaffPin {
    /// Random salt.
    pub salt: [u8; 16],
    /// PBKDF2-SHA256 of the digits.
    pub hash: [u8; 32],
    /// PBKDF2 rounds.
    pub iterations: u32,
}

/// An event's ruled fields at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRules {
    /// Display name.
    pub name: String,
    /// Start.
    pub starts_at: Timestamp,
    /// End.
    pub ends_at: Timestamp,
    /// Status.
    pub status: EventStatus,
    /// Re-entry mode.
    pub re_entry: ReEntry,
    /// Gap of `after_gap`, in seconds.
    pub min_gap_seconds: u32,
    /// The staff PIN, where one is set.
    pub staff_pin: Option<StaffPin>,
}
