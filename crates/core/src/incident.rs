//! Incidents: findings that a person must look at (spec §3 "Incident").
//!
//! A cause is a pure function of the reducer's result, or of a log, or of a device. Its digest names exactly what was
//! found. An incident stays resolved only while its cause has the digest that a person resolved.

use sha2::{Digest as _, Sha256};

use crate::barcode::BarcodeHash;
use crate::decide::Reason;
use crate::ids::{BatchId, DeviceId, GateId, LogId, ScanId, TicketId};
use crate::scan::Digest;
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// Kinds of incidents.
    IncidentKind {
        /// Persons beyond the limit were let in.
        DoubleEntry = "double_entry",
        /// Someone was let in on a ticket the rules refuse.
        AdmittedInError = "admitted_in_error",
        /// Someone was let in after the event had ended.
        AdmittedAfterEnd = "admitted_after_end",
        /// A practice scan opened a door after the event's doors had opened: its device did not know that yet.
        PracticeAfterOpen = "practice_after_open",
        /// Staff added a guest beyond the number that the event allows, or at a gate where none may be added.
        WalkInsOver = "walk_ins_over",
        /// Someone was refused on a ticket the rules admit.
        RefusedInError = "refused_in_error",
        /// A scan whose authorship is not proven waits for a decision.
        UnverifiedScan = "unverified_scan",
        /// A scan's time lies more than a day outside the event.
        ImplausibleTime = "implausible_time",
        /// A scan's time lies after its receipt.
        FutureTime = "future_time",
        /// A scan's signed time lies after its arrival at the server, by more than the uncertainty that the device
        /// claimed.
        ClockSuspect = "clock_suspect",
        /// One scan id stands for two contents.
        ScanIdReused = "scan_id_reused",
        /// Two scans claim one place in a log.
        LogForked = "log_forked",
        /// More persons left than were inside.
        ExitWithoutEntry = "exit_without_entry",
        /// A ticket was scanned again, and the door stayed shut. Such scans are counted and never wait in the review
        /// queue.
        DuplicateScan = "duplicate_scan",
        /// S2 §7: more than half of a batch failed.
        HighErrorRate = "high_error_rate",
        /// S2 §8: the newest scan of a batch was over 8 h old when the batch arrived.
        DelayedBatch = "delayed_batch",
        /// S2 §7: a batch has an abnormal number of scans.
        AbnormalBatch = "abnormal_batch",
        /// S2 §7: five syncs of a device failed in a row.
        RepeatedFailures = "repeated_failures",
    }
    /// How urgent an incident is.
    Severity {
        /// A person may look at it some time.
        Low = "low",
        /// A person should look at it.
        Medium = "medium",
        /// A person should look at it today.
        High = "high",
        /// A person should look at it now.
        Critical = "critical",
    }
    /// The part that a scan has in a cause.
    Role {
        /// The scan let persons in within the ticket's limit. A later scan let in persons beyond it.
        Entry = "entry",
        /// The scan let persons in beyond the limit.
        DoubleEntry = "double_entry",
        /// The cause is about this scan.
        Subject = "subject",
    }
}

impl IncidentKind {
    /// How urgent incidents of this kind are (S1 §5.2, spec D3).
    pub fn severity(self) -> Severity {
        match self {
            Self::DoubleEntry => Severity::Critical,
            Self::AdmittedInError | Self::UnverifiedScan | Self::ScanIdReused | Self::LogForked => Severity::High,
            Self::RefusedInError | Self::ImplausibleTime | Self::FutureTime | Self::HighErrorRate => Severity::Medium,
            Self::AbnormalBatch | Self::RepeatedFailures | Self::PracticeAfterOpen => Severity::Medium,
            Self::AdmittedAfterEnd | Self::WalkInsOver => Severity::Low,
            Self::ClockSuspect | Self::ExitWithoutEntry | Self::DuplicateScan | Self::DelayedBatch => Severity::Low,
        }
    }
    /// Whether incidents of this kind wait in the review queue. Only `duplicate_scan` does not: it is just counted.
    pub fn queued(self) -> bool {
        self != Self::DuplicateScan
    }
}

/// The subject of scans: a ticket, or a code that no ticket ever held (spec §4 "Which ticket").
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A ticket.
    Ticket(TicketId),
    /// A code that no ticket ever held, by its hash.
    Unknown(BarcodeHash),
}

impl Subject {
    /// The subject as one text, as stores keep it: `ticket:` and the ticket's id, or `unknown:` and the hash.
    pub fn key(&self) -> String {
        match self {
            Self::Ticket(ticket_id) => format!("ticket:{ticket_id}"),
            Self::Unknown(hash) => format!("unknown:{hash}"),
        }
    }
    /// Reads the text that [`Subject::key`] writes. `None` for any other text.
    pub fn from_key(key: &str) -> Option<Self> {
        if let Some(id) = key.strip_prefix("ticket:") {
            TicketId::new(id).ok().map(Self::Ticket)
        } else {
            key.strip_prefix("unknown:")?.parse().ok().map(Self::Unknown)
        }
    }
    /// The ticket's id. `None` if the subject is an unknown code.
    pub fn ticket_id(&self) -> Option<&TicketId> {
        match self {
            Self::Ticket(ticket_id) => Some(ticket_id),
            Self::Unknown(_) => None,
        }
    }
}

/// The subject of a cause.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CauseSubject {
    /// A ticket or an unknown code.
    Scans(Subject),
    /// A log of a device.
    Log(DeviceId, LogId),
    /// A device.
    Device(DeviceId),
    /// A scan id that several devices used.
    ScanId(ScanId),
    /// A batch of a device.
    Batch(DeviceId, BatchId),
}

impl CauseSubject {
    /// The subject as one text, as stores keep it.
    pub fn key(&self) -> String {
        match self {
            Self::Scans(subject) => subject.key(),
            Self::Log(device_id, log_id) => format!("log:{device_id}:{log_id}"),
            Self::Device(device_id) => format!("device:{device_id}"),
            Self::ScanId(scan_id) => format!("scan:{scan_id}"),
            Self::Batch(device_id, batch_id) => format!("batch:{device_id}:{batch_id}"),
        }
    }
}

/// A scan that has a part in a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CauseScan {
    /// The device that made the scan.
    pub device_id: DeviceId,
    /// The scan's id.
    pub scan_id: ScanId,
    /// The digest of the scan's content.
    pub digest: Digest,
    /// The scan's part in the cause.
    pub role: Role,
    /// The gate of the scan.
    pub gate_id: GateId,
    /// When the scan was made.
    pub at: Timestamp,
    /// The true time lies at most this far before or after `at`, in milliseconds.
    pub uncertainty_ms: u64,
    /// Persons of the scan within the limit.
    pub within: u32,
    /// Persons beyond the limit (entries), or persons who left without an entry (exits).
    pub over: u32,
    /// The server's reason, if the reason makes the cause. Absent otherwise.
    pub reason: Option<Reason>,
    /// The version of the list by which the device decided.
    pub manifest_version: u64,
}

/// A finding that a person must look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The kind of incident that the cause opens.
    pub kind: IncidentKind,
    /// The subject of the cause.
    pub subject: CauseSubject,
    /// The scans from which the cause follows, in the reducer's order.
    pub scans: Vec<CauseScan>,
    /// Whether nobody knows for sure which scan was first. That is so if the times of a scan that used up the limit and
    /// of a scan beyond it overlap within their uncertainties.
    pub order_uncertain: bool,
}

impl Cause {
    /// A digest of exactly what was found. A person's resolution holds for this finding and for no other.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        let mut put = |bytes: &[u8]| {
            hash.update((bytes.len() as u32).to_be_bytes());
            hash.update(bytes);
        };
        put(b"admit.cause.v1");
        put(self.kind.as_str().as_bytes());
        put(self.subject.key().as_bytes());
        put(&[u8::from(self.order_uncertain)]);
        for scan in &self.scans {
            put(scan.device_id.as_str().as_bytes());
            put(scan.scan_id.as_str().as_bytes());
            put(&scan.digest.0);
            put(scan.role.as_str().as_bytes());
            put(&scan.at.ms().to_be_bytes());
            put(&scan.within.to_be_bytes());
            put(&scan.over.to_be_bytes());
            put(scan.reason.map_or("", Reason::as_str).as_bytes());
        }
        hash.finalize().into()
    }
}
