//! The server as the world sees it: requests and answers, an organiser's acts, and the content that checkers may read.
//! Level 0 is only fact sets ([`crate::model_server`]); level 1 has the real use cases.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::ids::{DeviceId, GateId, LogId, ScanId, TicketId};
use admit_core::incident::{IncidentKind, Subject};
use admit_core::reduce::{Reduced, Resolved};
use admit_core::review::{Decision, Review};
use admit_core::rule::{Change, Epoch, EventBook, Rule};
use admit_core::scan::Digest;
use admit_core::ticket::TicketRules;
use admit_store_queries::contents::Contents;

use crate::coverage::Coverage;

/// An HTTP request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; `None` without one.
    pub body: Option<String>,
}

impl Request {
    /// The value of a header; `None` without it.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
    /// The path without its query.
    pub fn route(&self) -> &str {
        self.path.split('?').next().unwrap_or(&self.path)
    }
    /// The value of a query parameter, percent-decoded; `None` without it.
    pub fn query(&self, name: &str) -> Option<String> {
        let (_, query) = self.path.split_once('?')?;
        let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
        let mut bytes = Vec::new();
        let mut rest = value.as_bytes();
        while let Some((first, tail)) = rest.split_first() {
            let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
            match (first, hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
                (b'%', Some(byte)) => {
                    bytes.push(byte);
                    rest = &tail[2..];
                }
                _ => {
                    bytes.push(*first);
                    rest = tail;
                }
            }
        }
        String::from_utf8(bytes).ok()
    }
}

/// An HTTP answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The server answered.
    Answer(Response),
    /// A long poll without changes. The caller asks again until the poll's time is over.
    Hold,
}

/// An act of an organiser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Makes a pairing token for a gate.
    Token(GateId),
    /// Approves the code that a phone shows (spec D11 way (b)).
    Approve {
        /// The code that the phone shows.
        code: String,
        /// The gate at which the phone is to scan.
        gate_id: GateId,
    },
    /// Changes a rule, from now on or from the start.
    Rule {
        /// The change.
        change: Change,
        /// Whether the rule also holds for all earlier scans.
        from_start: bool,
    },
    /// Imports a ticket.
    Import {
        /// The ticket's id.
        ticket_id: TicketId,
        /// The text of its code.
        code: String,
        /// The ticket's first rules.
        rules: TicketRules,
    },
    /// Decides about a scan, which resolves its incident.
    Review {
        /// The device that made the scan.
        device_id: DeviceId,
        /// The scan's id.
        scan_id: ScanId,
        /// The digest of the scan's content.
        digest: Digest,
        /// The person's decision.
        decision: Decision,
    },
    /// Resolves an incident with a note.
    Note(Subject, IncidentKind),
    /// Revokes a device.
    Revoke(DeviceId),
    /// Makes a pairing token that gives this device a new key.
    Rotate(DeviceId),
}

/// A log in the server's state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogTruth {
    /// The highest `seq` that the server knows of.
    pub head: u64,
    /// The received places, including those of rejected items.
    pub received: BTreeSet<u64>,
    /// The ranges that the server reports as missing.
    pub missing: Vec<(u64, u64)>,
}

/// The state of an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentTruth {
    /// The digest of the incident's last cause.
    pub digest: [u8; 32],
    /// Whether it waits for a person.
    pub open: bool,
    /// Whether its cause holds.
    pub holds: bool,
    /// The digest of the cause that a person resolved; `None` if nobody did.
    pub resolved: Option<[u8; 32]>,
}

/// Everything that an organisation's event holds, for the checkers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Truth {
    /// Every stored content with its subject, and with its deliveries merged.
    pub facts: Vec<Resolved>,
    /// The rules of event, gates and devices, and the epochs.
    pub book: EventBook,
    /// The rules of tickets.
    pub ticket_rules: Vec<Rule>,
    /// The reviews of the event.
    pub reviews: Vec<Review>,
    /// The stored derived state, without causes, which incidents hold.
    pub derived: BTreeMap<Subject, Reduced>,
    /// The faults that the server itself finds in its derived rows.
    pub differences: Vec<String>,
    /// Open and closed incidents about scans.
    pub incidents: BTreeMap<(Subject, IncidentKind), IncidentTruth>,
    /// The logs of the devices.
    pub logs: BTreeMap<(DeviceId, LogId), LogTruth>,
    /// Revoked devices.
    pub revoked: BTreeSet<DeviceId>,
    /// The hash at the end of the audit chain after each serial from 0.
    pub audit: Vec<[u8; 32]>,
    /// The faults of the event's ledger: a change without a line or with several, a chain that does not verify.
    pub ledger_faults: Vec<String>,
    /// The present epoch; `None` before the first.
    pub epoch: Option<Epoch>,
    /// The serial at the event's head.
    pub serial: u64,
}

/// The incidents that a person may review.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reviewable {
    /// Every stored content.
    pub scans: Vec<(DeviceId, ScanId, Digest)>,
    /// The incidents that wait for a person.
    pub open: Vec<(Subject, IncidentKind)>,
}

/// The findings after a server died inside a transaction and started again (I6).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deaths {
    /// The number of checks.
    pub looked: u64,
    /// The organisation and the description of each partly stored write.
    pub torn: Vec<(u64, String)>,
}

/// A server under test.
pub trait Server {
    /// Handles a request at true time `now_ms`.
    fn handle(&mut self, now_ms: i64, request: &Request) -> Reply;
    /// Carries out an organiser's act in organisation `org`. Gives the pairing token that was made, or the revoked
    /// device; `None` if the organisation has no device that the act could be about, or if the act gives nothing.
    fn act(&mut self, now_ms: i64, org: u64, act: &Act) -> Option<String>;
    /// Kills the process and starts it again.
    fn kill(&mut self);
    /// Ends the server's own faults.
    fn heal(&mut self) {}
    /// Takes a backup.
    fn backup(&mut self);
    /// Restores the last backup. `proper`: with `admit restore`, which begins an epoch; otherwise by copying files.
    fn restore(&mut self, now_ms: i64, proper: bool);
    /// The epochs that have begun so far, oldest first, without the initial one.
    fn begun(&self) -> &[Epoch];
    /// Begins a given epoch. To check I13, the simulator runs a seed with two organisations, and again with the first
    /// one alone. In the first run a device of the second organisation may prove a roll-back, and an epoch begins. An
    /// epoch belongs to the whole server, so the second run must begin the same one.
    fn begin(&mut self, epoch: Epoch);
    /// The incidents that the people of an organisation may review.
    fn reviewable(&self, org: u64) -> Reviewable;
    /// The content of an organisation.
    fn truth(&self, org: u64) -> Truth;
    /// Every row of every table; empty without tables.
    fn contents(&self) -> Contents {
        Contents::default()
    }
    /// The work that the server's deaths left half done.
    fn deaths(&self) -> Deaths {
        Deaths::default()
    }
    /// The rare paths reached inside the server.
    fn coverage(&self) -> &Coverage;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_percent_decoded() {
        let request =
            Request { method: "GET".into(), path: "/a?x=1&cursor=7%2Fab".into(), headers: vec![], body: None };
        assert_eq!((request.route(), request.query("cursor")), ("/a", Some("7/ab".to_owned())));
        assert_eq!(request.query("wait"), None);
    }
}
