//! Scans, and the results that follow from them.

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{BatchId, DeviceId, EventId, IncidentId, ScanId, TicketId, UserId};
use admit_core::incident::{IncidentKind, Severity};
use admit_core::occupancy::Occupancy;
use admit_core::reduce::{EffectiveScan, ScanVerdict, TicketState};
use admit_core::review::Review;
use admit_core::scan::{Digest, Fact, SignatureState};
use admit_core::time::Timestamp;
use admit_core::wire::scanning::Evidence;

/// A scan to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewScan {
    /// The fact: content, digest, signature state, time of receipt, the server's answer.
    pub fact: Fact,
    /// The serial of the write that brought the scan.
    pub serial: u64,
    /// The batch that brought the scan. Absent if no batch did.
    pub batch_id: Option<BatchId>,
    /// The device that sent the scan.
    pub carrier: DeviceId,
    /// Evidence that came with the scan in addition to its content.
    pub evidence: Evidence,
}

/// A later delivery of a known content that proves more than those before it.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDelivery {
    /// The fact with what this delivery proves.
    pub fact: Fact,
    /// The serial of the write that brought the delivery.
    pub serial: u64,
    /// The device that sent the delivery.
    pub carrier: DeviceId,
}

/// A stored scan as lists show it: its content, and the reducer's verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanRow {
    /// The fact with all its deliveries merged.
    pub fact: Fact,
    /// The subject of the scan, as the key of [`admit_core::incident::Subject`].
    pub subject_key: String,
    /// The verdict. Absent if this content was not taken.
    pub verdict: Option<ScanVerdict>,
    /// The serial of the write that brought the scan.
    pub serial: u64,
}

/// A subject's stored state.
#[derive(Debug, Clone, PartialEq)]
pub struct StateRecord {
    /// The key of the [`admit_core::incident::Subject`].
    pub subject_key: String,
    /// The ticket's state.
    pub state: TicketState,
    /// The scans that count, in the reducer's order.
    pub effective: Vec<EffectiveScan>,
    /// The subject's part in the event's counters.
    pub occupancy: Occupancy,
    /// The serial of the last change.
    pub serial: u64,
}

impl StateRecord {
    /// Whether both say the same of their subject, whenever each was stored.
    pub fn same_as(&self, other: &Self) -> bool {
        let Self { subject_key, state, effective, occupancy, serial: _ } = self;
        (subject_key, state, effective, occupancy)
            == (&other.subject_key, &other.state, &other.effective, &other.occupancy)
    }
}

/// An incident.
#[derive(Debug, Clone, PartialEq)]
pub struct IncidentRecord {
    /// The incident's id.
    pub incident_id: IncidentId,
    /// The event of the incident.
    pub event_id: EventId,
    /// The kind of incident.
    pub kind: IncidentKind,
    /// How grave the incident is.
    pub severity: Severity,
    /// The key of the [`admit_core::incident::CauseSubject`].
    pub subject_key: String,
    /// The digest of the cause that holds, or that held last.
    pub digest: [u8; 32],
    /// The cause as JSON (`wire::stored`).
    pub cause: String,
    /// The state of the incident.
    pub status: IncidentStatus,
    /// The digest of the cause that a person resolved. Absent if nobody did.
    pub resolved_digest: Option<[u8; 32]>,
    /// The person's answer, with its time and note. Absent while nobody answered.
    pub resolution: Option<Resolution>,
    /// When the incident was first found.
    pub opened_at: Timestamp,
    /// When the incident last changed.
    pub updated_at: Timestamp,
    /// The serial of the last change.
    pub serial: u64,
}

/// A person's answer to an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The user who answered.
    pub user_id: UserId,
    /// One of `accept`, `exclude`, `restore` and `note`.
    pub decision: String,
    /// The note that this user wrote.
    pub note: String,
    /// When the user answered.
    pub at: Timestamp,
}

/// A person's decision about a scan, with the person and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRecord {
    /// The subject that the scan's code resolves to now.
    pub subject_key: String,
    /// The decision.
    pub review: Review,
    /// The user who decided.
    pub user_id: UserId,
    /// The note that this user wrote.
    pub note: String,
    /// When the user decided.
    pub at: Timestamp,
}

/// The state of an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncidentStatus {
    /// The cause holds, and nobody resolved its present digest.
    Open,
    /// A person resolved the present digest.
    Resolved,
    /// The cause no longer holds.
    Cleared,
}

impl IncidentStatus {
    /// The word under which the state is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Resolved => "resolved",
            Self::Cleared => "cleared",
        }
    }
    /// Reads the word that [`IncidentStatus::as_str`] writes. `None` for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Open, Self::Resolved, Self::Cleared].into_iter().find(|status| status.as_str() == word)
    }
}

/// A stored scan under an id that comes again, with the same content or another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownScan {
    /// The device that made the scan.
    pub device_id: DeviceId,
    /// The scan's id.
    pub scan_id: ScanId,
    /// The event in which the scan was stored.
    pub event_id: EventId,
    /// The digest of the scan's content.
    pub digest: Digest,
    /// The subject that the scan's code resolves to now.
    pub subject_key: String,
}

/// A scan that any device stored under an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredId {
    /// The scan's content, author and subject.
    pub known: KnownScan,
    /// The best signature state among the deliveries.
    pub signature: SignatureState,
    /// The best offset among the deliveries, in seconds.
    pub offset_seconds: i64,
}

/// A code that some ticket ever held.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResolvedCode {
    /// The code.
    pub hash: BarcodeHash,
    /// The ticket that holds the code.
    pub ticket_id: TicketId,
    /// Whether the ticket has a stored state. Without one, no stored scan affects the judgement of the next scan
    /// (invariant I7).
    pub scanned: bool,
}
