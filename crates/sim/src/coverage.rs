//! Counts the rare paths that a run reached (I31). A path that is never reached is never tested.

use std::collections::BTreeMap;

/// The number of times that each named path was reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<&'static str, u64>);

impl Coverage {
    /// Counts a path.
    pub fn hit(&mut self, name: &'static str) {
        *self.0.entry(name).or_default() += 1;
    }
    /// Counts a path if `happened`.
    pub fn hit_if(&mut self, happened: bool, name: &'static str) {
        if happened {
            self.hit(name);
        }
    }
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        for (name, n) in &other.0 {
            *self.0.entry(name).or_default() += n;
        }
    }
    /// How often a path was reached.
    pub fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }
    /// All paths with their counts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(name, n)| (*name, *n))
    }
}

/// The paths that a long run must reach.
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

/// The paths of [`MUST_REACH`] that happen inside a server and are seen only at level 0.
pub const INSIDE: &[&str] = &[
    "entry moved to another scan",
    "incident reopened",
    "late import of a scanned code",
    "rule changed between scan and arrival",
    "server overruled the phone",
];

/// Further paths that a run with a store must reach. They include those of `real_server/office.rs`, which simulates
/// webhooks and mail.
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
