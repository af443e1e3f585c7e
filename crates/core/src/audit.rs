//! The hash chain of the audit ledger. Each line's hash covers the line before, so nobody can remove or change a line
//! unnoticed (spec D14).

use crate::sign::Encoder;
use crate::time::Timestamp;

/// The head of a ledger that has no lines yet.
pub const GENESIS: [u8; 32] = [0; 32];

/// One line of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry<'a> {
    /// The event's serial of the change. In an organisation's ledger it equals `n`.
    pub serial: u64,
    /// The line's place in the ledger, counted from 1 without holes.
    pub n: u64,
    /// When the action happened.
    pub at: Timestamp,
    /// Who acted: `user:ID`, `device:ID`, both joined by a space, or `system`.
    pub actor: &'a str,
    /// The action's word, such as `batch_sync_completed`.
    pub action: &'a str,
    /// The kind of thing that the action was about, such as `BatchSync`.
    pub entity_type: &'a str,
    /// The id of the thing that the action was about.
    pub entity_id: &'a str,
    /// The changes as JSON text, hashed as it is stored.
    pub changes: &'a str,
    /// Other facts worth keeping, as JSON text, hashed as it is stored.
    pub metadata: &'a str,
}

/// The hash of a ledger's line: SHA-256 over `prev`, the hash of the line before, and every field of the line.
pub fn chain(prev: [u8; 32], entry: &AuditEntry<'_>) -> [u8; 32] {
    let mut to = Encoder::with("admit.audit.v1");
    to.bytes(&prev);
    to.unsigned(entry.serial);
    to.unsigned(entry.n);
    to.signed(entry.at.ms());
    for text in [entry.actor, entry.action, entry.entity_type, entry.entity_id, entry.changes, entry.metadata] {
        to.text(text);
    }
    to.sha256()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_and_every_line_before_is_in_the_head() {
        let line = AuditEntry {
            serial: 3,
            n: 2,
            at: Timestamp::clamped(1_000),
            actor: "user:u",
            action: "ticket_voided",
            entity_type: "Ticket",
            entity_id: "t",
            changes: "{}",
            metadata: "{}",
        };
        let head = chain(GENESIS, &line);
        let changed = [
            chain([1; 32], &line),
            chain(GENESIS, &AuditEntry { serial: 4, ..line.clone() }),
            chain(GENESIS, &AuditEntry { n: 3, ..line.clone() }),
            chain(GENESIS, &AuditEntry { at: Timestamp::clamped(1_001), ..line.clone() }),
            chain(GENESIS, &AuditEntry { actor: "user:v", ..line.clone() }),
            chain(GENESIS, &AuditEntry { action: "ticket_voidedT", entity_type: "icket", ..line.clone() }),
            chain(GENESIS, &AuditEntry { entity_id: "u", ..line.clone() }),
            chain(GENESIS, &AuditEntry { changes: "{ }", ..line.clone() }),
            chain(GENESIS, &AuditEntry { metadata: "[]", ..line.clone() }),
        ];
        for (i, other) in changed.iter().enumerate() {
            assert_ne!(head, *other, "case {i}");
        }
        assert_eq!(head, chain(GENESIS, &line.clone()));
    }
}
