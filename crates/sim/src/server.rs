//! The server as the world sees it: requests in, answers out, an organiser's acts, and what a checker may look at.
//! Level 0 is bare fact sets ([`crate::model_server`]); level 1 the real use cases.

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

/// A request on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; absent where the request has none.
    pub body: Option<String>,
}

impl Request {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
    /// The path without its query.
    pub fn route(&self) -> &str {
        self.path.split('?').next().unwrap_or(&self.path)
    }
    /// A parameter of the query, percent-decoded.
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

/// An answer on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The server answered.
    Answer(Response),
    /// A long poll with nothing new: ask again until its time is over.
    Hold,
}

/// An act of an organiser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Makes a pairing token for a gate.
    Token(GateId),
    /// Approves the code that a phone shows (spec D11 way (b)).
    Approve {
        /// The code.
        code: String,
        /// Where the phone is to scan.
        gate_id: GateId,
    },
    /// Changes a rule, from now on or from the start.
    Rule {
        /// The change.
        change: Change,
        /// For every scan, whenever taken.
        from_start: bool,
    },
    /// Imports a ticket.
    Import {
        /// The ticket's id.
        ticket_id: TicketId,
        /// Its code.
        code: String,
        /// First rules.
        rules: TicketRules,
    },
    /// Decides about a scan, which resolves the incident it was seen in.
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

/// A log as the server has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogTruth {
    /// Highest `seq` heard of.
    pub head: u64,
    /// Received, rejected items among them.
    pub received: BTreeSet<u64>,
    /// The places of the log that the server calls missing.
    pub missing: Vec<(u64, u64)>,
}

/// Where an incident stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentTruth {
    /// The digest of the incident's last cause.
    pub digest: [u8; 32],
    /// Waiting for a person.
    pub open: bool,
    /// The cause holds.
    pub holds: bool,
    /// The digest that a person resolved.
    pub resolved: Option<[u8; 32]>,
}

/// Everything an organisation's event holds, for the checkers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Truth {
    /// Every stored content with its subject; deliveries merged.
    pub facts: Vec<Resolved>,
    /// Rules of event, gates and devices, and the epochs.
    pub book: EventBook,
    /// Rules of tickets.
    pub ticket_rules: Vec<Rule>,
    /// The reviews of the event.
    pub reviews: Vec<Review>,
    /// Derived state, as stored; causes aside, which incidents hold.
    pub derived: BTreeMap<Subject, Reduced>,
    /// The faults that the server itself finds in its derived rows.
    pub differences: Vec<String>,
    /// Open and closed incidents of scans.
    pub incidents: BTreeMap<(Subject, IncidentKind), IncidentTruth>,
    /// The logs of the devices.
    pub logs: BTreeMap<(DeviceId, LogId), LogTruth>,
    /// Revoked devices.
    pub revoked: BTreeSet<DeviceId>,
    /// Head of the audit chain after each serial from 0.
    pub audit: Vec<[u8; 32]>,
    /// The faults of the event's ledger: changes without a line or with several, a chain that does not verify.
    pub ledger_faults: Vec<String>,
    /// The epoch now.
    pub epoch: Option<Epoch>,
    /// The event's head.
    pub serial: u64,
}

/// The scans that a person may look at and decide about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reviewable {
    /// Every stored content.
    pub scans: Vec<(DeviceId, ScanId, Digest)>,
    /// Incidents that wait for somebody.
    pub open: Vec<(Subject, IncidentKind)>,
}

/// The findings after a server that died inside a transaction had started again (I6).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deaths {
    /// How often somebody looked.
    pub looked: u64,
    /// The things that were there in part, and the organisation of each.
    pub torn: Vec<(u64, String)>,
}

/// A server under test.
pub trait Server {
    /// Takes a request at true time `now_ms`.
    fn handle(&mut self, now_ms: i64, request: &Request) -> Reply;
    /// An organiser's act in organisation `org`. Gives a pairing token where one is made, and the device that was revoked;
    /// nothing where the organisation has no such device.
    fn act(&mut self, now_ms: i64, org: u64, act: &Act) -> Option<String>;
    /// The process is killed and started again.
    fn kill(&mut self);
    /// Its own faults end.
    fn heal(&mut self) {}
    /// Takes a backup.
    fn backup(&mut self);
    /// Goes back to the last backup: by the proper command, which begins an epoch, or by copying files.
    fn restore(&mut self, now_ms: i64, proper: bool);
    /// Epochs begun so far, oldest first, the one it was made with aside.
    fn begun(&self) -> &[Epoch];
    /// Begins an epoch: somebody else's device found a roll-back out.
    fn begin(&mut self, epoch: Epoch);
    /// The scans that the organisation's people may decide about.
    fn reviewable(&self, org: u64) -> Reviewable;
    /// The content of an organisation.
    fn truth(&self, org: u64) -> Truth;
    /// Every row of every table, where there are tables.
    fn contents(&self) -> Contents {
        Contents::default()
    }
    /// The work that its deaths left half done.
    fn deaths(&self) -> Deaths {
        Deaths::default()
    }
    /// Rare paths reached inside the server.
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
