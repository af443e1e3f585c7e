//! The venue of every world: its gates, its staff PIN, and the rules of its tickets.

use admit_core::gate::Direction;
use admit_core::ticket::{TicketRules, TicketStatus};

/// The digits of the staff PIN of every event.
pub(crate) const PIN: &str = "2468";

/// The gates of every event.
pub(crate) const GATES: [(&str, Direction); 4] =
    [("north", Direction::In), ("south", Direction::In), ("both", Direction::Both), ("out", Direction::Out)];

/// The rules of a valid ticket of the zone `general` for `entry_limit` persons.
pub(crate) fn ticket_rules(entry_limit: u32) -> TicketRules {
    TicketRules {
        status: TicketStatus::Active,
        entry_limit,
        gate_ids: vec![],
        zone: "general".into(),
        valid_from: None,
        expires_at: None,
    }
}
