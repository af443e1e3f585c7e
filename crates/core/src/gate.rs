//! The gate: which zones it admits, and in which direction people go (spec §3).

use std::borrow::Borrow;

use crate::ids::GateId;
use crate::words::words;

words! {
    /// The direction in which people go through a gate.
    Direction {
        /// People go in: scans are entries.
        In = "in",
        /// People go out: scans are exits.
        Out = "out",
        /// The operator of each device chooses whether its scans are entries or exits.
        Both = "both",
    }
    /// The two entry rules of a gate in S1.
    EntryRule {
        /// The gate checks the ticket's status and window.
        CheckTicketValid = "check_ticket_valid",
        /// The gate checks the ticket's entry limit.
        CheckNotDuplicate = "check_not_duplicate",
    }
}

/// A gate's fields that are rules, with their values at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRules {
    /// Display name.
    pub name: String,
    /// Zones whose tickets the gate admits.
    pub zones: Vec<String>,
    /// The direction in which people go.
    pub direction: Direction,
    /// The most persons in the gate's area, S1's `max_concurrent`. A full area only gives staff advice, and no verdict
    /// is refused for it. Absent if there is no limit.
    pub capacity: Option<u32>,
    /// Whether devices at this gate may carry guest names.
    pub names_on_devices: bool,
    /// Whether staff at this gate may add guests who have no ticket.
    pub walk_ins: bool,
    /// The checks that the gate makes. By default it makes every check. The checks are fixed when the gate is created.
    pub entry_rules: Vec<EntryRule>,
}

/// Whether two gates lead to the same area, so that a person who goes in by one fills it for both (S1 §5.2
/// `max_concurrent`). They do if they are the same gate or share a zone. `rules` gives the rules of a gate of the
/// event.
pub fn same_area<G: Borrow<GateRules>>(one: &GateId, other: &GateId, rules: impl Fn(&GateId) -> Option<G>) -> bool {
    let (Some(one_rules), Some(other_rules)) = (rules(one), rules(other)) else { return one == other };
    one == other || one_rules.borrow().zones.iter().any(|zone| other_rules.borrow().zones.contains(zone))
}
