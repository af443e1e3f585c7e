//! Scans and what follows from them.

use admit_core::barcode::BarcodeHash;
use admit_core::ids::*;
use admit_core::incident::{IncidentKind, Severity};
use admit_core::occupancy::Occupancy;
use admit_core::reduce::{EffectiveScan, ScanVerdict, TicketState};
use admit_core::review::Review;
use admit_core::scan::{Digest, Fact, SignatureState};
use admit_core::time::Timestamp;
use admit_core::wire::scanning::Evidence;

/// A scan about to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewScan {
    /// The fact: content, digest, signature state, receipt, judgement.
    pub fact: Fact,
    /// Serial it came in with.
    pub serial: u64,
    /// Batch that brought it.
    pub batch_id: Option<BatchId>,
    /// Device that carried it.
    pub carrier: DeviceId,
    /// The fields that came with the scan beside its content.
    pub evidence: Evidence,
}

/// A later delivery of a known content that proves more than the ones before.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDelivery {
    /// The fact with what this delivery proves.
    pub fact: Fact,
    /// Serial it came in with.
    pub serial: u64,
    /// Device that carried it.
    pub carrier: DeviceId,
}

/// A stored scan as lists show it: the content and what the reducer said.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanRow {
    /// The fact.
    pub fact: Fact,
    /// The subject of the scan, as the key of [`admit_core::incident::Subject`].
    pub subject_key: String,
    /// The verdict, absent for a content that was not taken.
    pub verdict: Option<ScanVerdict>,
    /// Serial it came in with.
    pub serial: u64,
}

/// A subject's stored state.
#[derive(Debug, Clone, PartialEq)]
pub struct StateRecord {
    /// Key of its [`admit_core::incident::Subject`].
    pub subject_key: String,
    /// The ticket's state.
    pub state: TicketState,
    /// Scans that count, in order.
    pub effective: Vec<EffectiveScan>,
    /// The subject's part in the event's counters.
    pub occupancy: Occupancy,
    /// SHA-256 over everything the reducer said: equal means nothing changed.
    pub digest: [u8; 32],
    /// Serial of the last change.
    pub serial: u64,
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
    /// Key of its [`admit_core::incident::CauseSubject`].
    pub subject_key: String,
    /// Digest of the cause that holds, or held last.
    pub digest: [u8; 32],
    /// The cause as JSON (`wire::stored`).
    pub cause: String,
    /// Where it stands.
    pub status: IncidentStatus,
    /// The digest a person resolved.
    pub resolved_digest: Option<[u8; 32]>,
    /// The person's answer, with its time and note; absent while nobody answered.
    pub resolution: Option<Resolution>,
    /// First seen.
    pub opened_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
    /// Serial of the last change.
    pub serial: u64,
}

/// A person's answer to an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The user who answered.
    pub user_id: UserId,
    /// `accept | exclude | restore | note`.
    pub decision: String,
    /// The note that they wrote.
    pub note: String,
    /// When they answered.
    pub at: Timestamp,
}

/// A person's decision about a scan, with who took it and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRecord {
    /// The subject of the scan, as it resolves now.
    pub subject_key: String,
    /// The decision.
    pub review: Review,
    /// The user who decided.
    pub user_id: UserId,
    /// The note that they wrote.
    pub note: String,
    /// When they decided.
    pub at: Timestamp,
}

/// Where an incident stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncidentStatus {
    /// The cause holds and nobody resolved this very digest.
    Open,
    /// A person resolved this very digest.
    Resolved,
    /// The cause is gone.
    Cleared,
}

impl IncidentStatus {
    /// The word it is stored as.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Resolved => "resolved",
            Self::Cleared => "cleared",
        }
    }
    /// Reads [`IncidentStatus::as_str`].
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Open, Self::Resolved, Self::Cleared].into_iter().find(|status| status.as_str() == word)
    }
}

/// Another content, or the same, under an id that is already stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownScan {
    /// The device that made the scan.
    pub device_id: DeviceId,
    /// The scan's id.
    pub scan_id: ScanId,
    /// Event it was stored in.
    pub event_id: EventId,
    /// The digest of the scan's content.
    pub digest: Digest,
    /// The subject of the scan, as it resolves now.
    pub subject_key: String,
}

/// A scan stored under an id, by whichever device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredId {
    /// Content, author, and what it is about.
    pub known: KnownScan,
    /// Best signature over its deliveries.
    pub signature: SignatureState,
    /// Best offset over its deliveries, seconds.
    pub offset_seconds: i64,
}

/// A code that some ticket ever held.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResolvedCode {
    /// The code.
    pub hash: BarcodeHash,
    /// The ticket that holds the code.
    pub ticket_id: TicketId,
    /// Whether the ticket has a state. Without one, no stored scan has a say in what the next one means (I7).
    pub scanned: bool,
}
