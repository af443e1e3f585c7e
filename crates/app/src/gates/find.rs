//! Finds gates with their newest values.

use admit_core::gate::GateRules;
use admit_core::ids::{EventId, GateId};
use admit_core::normalize::for_identity;
use admit_core::rule::When;

use crate::error::{Error, Result};
use crate::ports::Tx;

/// A gate with its newest values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// The gate's id, a slug.
    pub gate_id: GateId,
    /// The newest values of the gate's rules.
    pub rules: GateRules,
}

/// All gates of an event with their newest values, in order of id.
pub fn all(tx: &mut dyn Tx, event_id: &EventId) -> Result<Vec<Gate>> {
    let book = tx.load_rules(event_id, &[])?.book;
    let gate_ids = tx.gate_ids(event_id)?;
    gate_ids
        .into_iter()
        .map(|gate_id| match book.gate(&gate_id, When::Newest) {
            Some(rules) => Ok(Gate { gate_id, rules }),
            None => Err(Error::Bug(format!("gate {gate_id} has no rules"))),
        })
        .collect()
}

/// Checks that no other gate of the event has this name, since staff pick gates by name. Fails with a field error of
/// `name`. Names that differ only in case or spaces count as the same name.
pub(super) fn one_of_a_name(tx: &mut dyn Tx, event_id: &EventId, gate_id: &GateId, name: &str) -> Result<()> {
    let gates = all(tx, event_id)?;
    let same =
        gates.iter().find(|gate| gate.gate_id != *gate_id && for_identity(&gate.rules.name) == for_identity(name));
    match same {
        Some(gate) => {
            let why = format!("is the name of the gate {} already: choose another", gate.gate_id);
            Err(Error::invalid("name", why))
        }
        None => Ok(()),
    }
}

/// One gate. Fails with `NotFound` if there is none.
pub fn require(tx: &mut dyn Tx, event_id: &EventId, gate_id: &GateId) -> Result<Gate> {
    all(tx, event_id)?.into_iter().find(|gate| gate.gate_id == *gate_id).ok_or_else(|| Error::not_found("gate"))
}
