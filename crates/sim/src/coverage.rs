//! Which rare paths a run went through (trust I28): what is never reached is never tested.

use std::collections::BTreeMap;

/// Names and how often.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<&'static str, u64>);

impl Coverage {
    /// It happened.
    pub fn hit(&mut self, name: &'static str) {
        *self.0.entry(name).or_default() += 1;
    }
    /// It happened if so.
    pub fn hit_if(&mut self, happened: bool, name: &'static str) {
        if happened {
            self.hit(name);
        }
    }
    /// Adds another run's.
    pub fn add(&mut self, other: &Self) {
        for (name, n) in &other.0 {
            *self.0.entry(name).or_default() += n;
        }
    }
    /// How often.
    pub fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }
    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(name, n)| (*name, *n))
    }
}

/// The situations that a long enough run must have reached.
pub const MUST_REACH: &[&str] = &[
    "ack lost after commit",
    "answer lost on the way",
    "answer cut short",
    "append failed",
    "asked before the door opened",
    "batch refused whole",
    "batch repeated",
    "batch id reused",
    "cached body lost",
    "captive portal",
    "clock set back",
    "clock set forward",
    "code shown again",
    "crash with an append under way",
    "crash with unsent scans",
    "decided alone after asking",
    "doors opened",
    "entry moved to another scan",
    "epoch changed",
    "equal times",
    "event ended",
    "forged scan",
    "forked log",
    "old list replayed",
    "incident reopened",
    "late import of a scanned code",
    "let in by an expired list",
    "new key with unsent scans",
    "override",
    "party in parts",
    "people without a ticket counted",
    "phone out of reach",
    "poison item",
    "refused after the end",
    "refused until tomorrow",
    "request arrived twice",
    "request lost on the way",
    "restore",
    "revert",
    "revoked with unsent scans",
    "rollback found by a witness",
    "rule changed between scan and arrival",
    "rule changed for a scanned ticket",
    "scan excluded",
    "scan in practice",
    "scan set apart",
    "server killed",
    "server overruled the phone",
    "shown by the server's word",
    "sleep",
    "storage put back to before a scan",
    "storage cleared with unsent scans",
    "upload turned away",
];

/// Those of them that happen inside a server, where only level 0 looks.
pub const INSIDE: &[&str] = &[
    "entry moved to another scan",
    "incident reopened",
    "late import of a scanned code",
    "rule changed between scan and arrival",
    "server overruled the phone",
];

/// The situations that a server with a store must have lived through too, and the office behind its doors.
pub const WITH_A_STORE: &[&str] = &[
    "died inside a transaction",
    "mail stopped for all",
    "mail taken, answer lost",
    "picture kept, answer lost",
    "run taken by another",
    "server said later",
    "webhook id with another body",
    "webhook repeated",
    "worker died with a run",
];
