//! The gate: which zones it admits and which way it leads (spec §3).

use std::borrow::Borrow;

use crate::ids::GateId;
use crate::words::words;

words! {
    /// Which way a gate leads.
    Direction {
        /// Scans are entries.
        In = "in",
        /// Scans are exits.
        Out = "out",
        /// The operator chooses.
        Both = "both",
    }
    /// S1's two entry rules of a gate.
    EntryRule {
        /// Status and window of the ticket are checked.
        CheckTicketValid = "check_ticket_valid",
        /// The entry limit is checked.
        CheckNotDuplicate = "check_not_duplicate",
    }
}

/// A gate's ruled fields at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRules {
    /// Display name.
    pub name: String,
    /// Zones it admits.
    pub zones: Vec<String>,
    /// Which way it leads.
    pub direction: Direction,
    /// S1's `max_concurrent`; advice only.
    pub capacity: Option<u32>,
    /// Whether devices here may carry guest names.
    pub names_on_devices: bool,
    /// Whether staff here may add guests who have no ticket.
    pub walk_ins: bool,
    /// Which checks it makes; both by default. Fixed when the gate is made.
    pub entry_rules: Vec<EntryRule>,
}

/// Whether two gates lead to the same area, so that a person who goes in by one fills it for both (S1 §5.2
/// `max_concurrent`). Two gates do if they are the same gate or share a zone. `rules` tells an event's gates.
pub fn same_area<G: Borrow<GateRules>>(one: &GateId, other: &GateId, rules: impl Fn(&GateId) -> Option<G>) -> bool {
    let (Some(one_rules), Some(other_rules)) = (rules(one), rules(other)) else { return one == other };
    one == other || one_rules.borrow().zones.iter().any(|zone| other_rules.borrow().zones.contains(zone))
}
