//! Rows as the store keeps them, in the domain's words. Plain data: no rules here.

use admit_core::barcode::BarcodeHash;
use admit_core::event::{EventStatus, ReEntry};
use admit_core::ids::*;
use admit_core::incident::{IncidentKind, Severity};
use admit_core::occupancy::Occupancy;
use admit_core::reduce::{EffectiveScan, ScanVerdict, TicketState};
use admit_core::rule::{Epoch, EventBook, Rule};
use admit_core::scan::{Digest, Fact};
use admit_core::ticket::TicketRules;
use admit_core::time::Timestamp;

pub use admit_core::access::Role;

/// An organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrganizationRecord {
    /// Id.
    pub organization_id: OrganizationId,
    /// Name.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A person who signs in; the e-mail is unique over all organisations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRecord {
    /// Id.
    pub user_id: UserId,
    /// Sign-in e-mail, lower case.
    pub email: String,
    /// Name.
    pub name: String,
    /// argon2id, PHC text.
    pub password_hash: String,
    /// When made.
    pub created_at: Timestamp,
}

/// A user's part in an organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRecord {
    /// Who.
    pub user_id: UserId,
    /// Sign-in e-mail.
    pub email: String,
    /// Name.
    pub name: String,
    /// Role.
    pub role: Role,
    /// Since when.
    pub created_at: Timestamp,
}

/// What a secret opens. Found by the secret's SHA-256 alone: one of the three tables without a tenant policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialRecord {
    /// SHA-256 of the secret's text.
    pub token_hash: [u8; 32],
    /// Organisation it opens.
    pub organization_id: OrganizationId,
    /// What it is.
    pub kind: CredentialKind,
    /// User (session, API token), device (key) or event (pairing token) it stands for.
    pub holder: String,
    /// After this it is over; `None` = never.
    pub expires_at: Option<Timestamp>,
    /// When made.
    pub created_at: Timestamp,
}

/// Kinds of secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialKind {
    /// A browser's session.
    Session,
    /// A user's API token.
    ApiToken,
    /// A device's API key.
    DeviceKey,
    /// A pairing token.
    PairingToken,
}

impl CredentialKind {
    /// The word it is stored as.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::ApiToken => "api_token",
            Self::DeviceKey => "device_key",
            Self::PairingToken => "pairing_token",
        }
    }
    /// Reads [`CredentialKind::as_str`].
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Session, Self::ApiToken, Self::DeviceKey, Self::PairingToken]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// An API token as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiTokenRecord {
    /// Id.
    pub api_token_id: String,
    /// Name.
    pub name: String,
    /// Whose.
    pub user_id: UserId,
    /// SHA-256 of its text.
    pub token_hash: [u8; 32],
    /// When made.
    pub created_at: Timestamp,
    /// When withdrawn.
    pub revoked_at: Option<Timestamp>,
}

/// A pairing token (spec D11 way (a)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingTokenRecord {
    /// SHA-256 of its text.
    pub token_hash: [u8; 32],
    /// Event it pairs to.
    pub event_id: EventId,
    /// Gate it pairs to.
    pub gate_id: GateId,
    /// A rotation's token is bound to this device.
    pub device_id: Option<DeviceId>,
    /// How many devices may use it.
    pub uses: u32,
    /// Devices that did, and when.
    pub used_by: Vec<(DeviceId, Timestamp)>,
    /// Its end.
    pub expires_at: Timestamp,
    /// When made.
    pub created_at: Timestamp,
}

/// An event: identity, and its rules' newest values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    /// Id.
    pub event_id: EventId,
    /// Name.
    pub name: String,
    /// Place.
    pub venue: String,
    /// IANA time zone.
    pub time_zone: String,
    /// Start.
    pub starts_at: Timestamp,
    /// End.
    pub ends_at: Timestamp,
    /// Status.
    pub status: EventStatus,
    /// Re-entry mode.
    pub re_entry: ReEntry,
    /// Gap of `after_gap`, seconds.
    pub min_gap_seconds: u32,
    /// A staff PIN is set.
    pub has_pin: bool,
    /// Persons expected at once; for the live page.
    pub capacity: Option<u32>,
    /// When made.
    pub created_at: Timestamp,
}

/// An entry type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryTypeRecord {
    /// Id.
    pub entry_type_id: EntryTypeId,
    /// Event.
    pub event_id: EventId,
    /// Name.
    pub name: String,
    /// Zone its tickets get.
    pub zone: String,
    /// Place in the order; the first is the default.
    pub position: i64,
}

/// A guest list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestListRecord {
    /// Id.
    pub guest_list_id: GuestListId,
    /// Event.
    pub event_id: EventId,
    /// Name.
    pub name: String,
    /// Whose.
    pub promoter_id: Option<UserId>,
    /// When made.
    pub created_at: Timestamp,
}

/// A guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestRecord {
    /// Id.
    pub guest_id: GuestId,
    /// Event.
    pub event_id: EventId,
    /// Their ticket.
    pub ticket_id: Option<TicketId>,
    /// List they are on.
    pub guest_list_id: Option<GuestListId>,
    /// Entry type.
    pub entry_type_id: Option<EntryTypeId>,
    /// Name.
    pub name: String,
    /// E-mail.
    pub email: Option<String>,
    /// Phone.
    pub phone: Option<String>,
    /// Party size.
    pub party_size: u32,
    /// Note for the door.
    pub note: Option<String>,
    /// Flag for the door.
    pub flag: Option<String>,
    /// The organiser's own id or order number.
    pub external_id: Option<String>,
    /// When made.
    pub created_at: Timestamp,
    /// When changed.
    pub updated_at: Timestamp,
}

/// A ticket: identity, its rules' newest values and where they stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketRecord {
    /// Id.
    pub ticket_id: TicketId,
    /// Event.
    pub event_id: EventId,
    /// Newest values.
    pub rules: TicketRules,
    /// The barcode we made or were given, as text where we may know it (an import may bring only hashes).
    pub barcode: Option<String>,
    /// Every hash this ticket ever held, first to newest.
    pub barcode_hashes: Vec<BarcodeHash>,
    /// Row identity for repeated imports (spec §5): unique per event.
    pub import_key: Option<String>,
    /// Holder.
    pub guest_id: Option<GuestId>,
    /// Serial of the last change of its rules or codes.
    pub rules_serial: u64,
    /// Serial of the last change of its state by scans, 0 if none.
    pub state_serial: u64,
    /// When made.
    pub created_at: Timestamp,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRecord {
    /// Id, chosen by the device.
    pub device_id: DeviceId,
    /// Name.
    pub name: String,
    /// `ipad | phone | desktop | terminal`.
    pub device_type: String,
    /// Event it scans for now.
    pub event_id: EventId,
    /// Gate it scans at now.
    pub gate_id: GateId,
    /// Where its key stands.
    pub state: DeviceState,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// Since when it is thought lost.
    pub lost_since: Option<Timestamp>,
    /// When paired.
    pub created_at: Timestamp,
    /// What it last told about itself.
    pub health: DeviceHealth,
}

/// Where a device's key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceState {
    /// May sync.
    Active,
    /// Uploads are stored and held (spec D19).
    Suspended,
    /// Withdrawn (spec D10).
    Revoked,
}

impl DeviceState {
    /// The word it is stored as.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Revoked => "revoked",
        }
    }
    /// Reads [`DeviceState::as_str`].
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Active, Self::Suspended, Self::Revoked].into_iter().find(|state| state.as_str() == word)
    }
}

/// What a device told about itself; not a fact, overwritten.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceHealth {
    /// Last heard.
    pub last_seen_at: Option<Timestamp>,
    /// Last batch.
    pub last_sync_at: Option<Timestamp>,
    /// Scans it says it has not sent.
    pub pending: u64,
    /// Percent.
    pub battery: Option<u8>,
    /// App version.
    pub app_version: String,
    /// Version of its list.
    pub manifest_version: u64,
    /// Server clock − its wall clock, milliseconds.
    pub clock_offset_ms: Option<i64>,
    /// Failed syncs in a row.
    pub failed_syncs: u32,
}

/// A device's key (spec D4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceKeyRecord {
    /// Names the key.
    pub key_id: KeyId,
    /// Device.
    pub device_id: DeviceId,
    /// SHA-256 of its text.
    pub token_hash: [u8; 32],
    /// `scan_key`, sealed with the server's secret.
    pub sealed_scan_key: Vec<u8>,
    /// When made.
    pub created_at: Timestamp,
    /// First use.
    pub first_used_at: Option<Timestamp>,
    /// When withdrawn or replaced.
    pub revoked_at: Option<Timestamp>,
}

/// A device's log (spec §3 "Log").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// Device.
    pub device_id: DeviceId,
    /// Log.
    pub log_id: LogId,
    /// Event of its newest scan.
    pub event_id: EventId,
    /// Highest `seq` the device spoke of.
    pub head: u64,
    /// `seq` numbers received, as ascending ranges `[from, to]`.
    pub received: Vec<(u64, u64)>,
    /// Closed by a person.
    pub closed_at: Option<Timestamp>,
}

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
    /// The signature as sent, kept as evidence.
    pub signature: Option<String>,
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
    /// What it is about, as the key of [`admit_core::incident::Subject`].
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
    /// State.
    pub state: TicketState,
    /// Scans that count, in order.
    pub effective: Vec<EffectiveScan>,
    /// What it adds to the counters.
    pub occupancy: Occupancy,
    /// SHA-256 over everything the reducer said: equal means nothing changed.
    pub digest: [u8; 32],
    /// Serial of the last change.
    pub serial: u64,
}

/// A stored batch (S2's BatchSync plus S1's SyncBatch).
#[derive(Debug, Clone, PartialEq)]
pub struct BatchRecord {
    /// Batch id, unique per device and endpoint.
    pub batch_id: BatchId,
    /// Device.
    pub device_id: DeviceId,
    /// `sync` (`/api/scanning/sync`) or `scans_sync` (`/api/scans/sync`).
    pub endpoint: String,
    /// Event.
    pub event_id: EventId,
    /// Over device, endpoint and the sorted (scan id, content digest) pairs (spec D2).
    pub digest: [u8; 32],
    /// The answer, byte for byte what repeats get.
    pub answer: String,
    /// `completed` or `partial_success`.
    pub status: String,
    /// Scans in it.
    pub batch_size: u32,
    /// Scans stored by it.
    pub processed_count: u32,
    /// Scans refused.
    pub error_count: u32,
    /// v1's offset, seconds.
    pub offset_seconds: i64,
    /// Serial.
    pub serial: u64,
    /// When it committed.
    pub synced_at: Timestamp,
}

/// An item a batch lost for good: its bytes are kept (spec §5 "rejected").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedRecord {
    /// Device.
    pub device_id: DeviceId,
    /// Its id, if it could be read.
    pub scan_id: Option<String>,
    /// Its log place, if it could be read.
    pub log: Option<(LogId, u64)>,
    /// Why.
    pub reason: String,
    /// The item as sent.
    pub body: String,
    /// When.
    pub received_at: Timestamp,
}

/// An incident.
#[derive(Debug, Clone, PartialEq)]
pub struct IncidentRecord {
    /// Id.
    pub incident_id: IncidentId,
    /// Event.
    pub event_id: EventId,
    /// Kind.
    pub kind: IncidentKind,
    /// Severity.
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
    /// Who resolved it, when, and what they wrote.
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
    /// Who.
    pub user_id: UserId,
    /// `accept | exclude | restore | note`.
    pub decision: String,
    /// What they wrote.
    pub note: String,
    /// When.
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

/// A line of an audit ledger, about to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAudit {
    /// Ledger: an event's, or the organisation's when absent.
    pub event_id: Option<EventId>,
    /// User; absent for the system and devices.
    pub user_id: Option<UserId>,
    /// Device, where one acted.
    pub device_id: Option<DeviceId>,
    /// What was done, such as `batch_sync_completed`.
    pub action: &'static str,
    /// What it was done to, such as `BatchSync`.
    pub entity_type: &'static str,
    /// Its id.
    pub entity_id: String,
    /// What changed, JSON.
    pub changes: String,
    /// What else is worth keeping, JSON.
    pub metadata: String,
}

/// A line of an audit ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Place in its ledger, from 1.
    pub n: u64,
    /// Serial of the event's change; for the organisation's ledger equal to `n`.
    pub serial: u64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub line: NewAuditOwned,
    /// Chain head after it.
    pub head: [u8; 32],
}

/// [`NewAudit`] as read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuditOwned {
    /// Ledger.
    pub event_id: Option<EventId>,
    /// User.
    pub user_id: Option<UserId>,
    /// Device.
    pub device_id: Option<DeviceId>,
    /// Action.
    pub action: String,
    /// Entity type.
    pub entity_type: String,
    /// Entity id.
    pub entity_id: String,
    /// Changes, JSON.
    pub changes: String,
    /// Metadata, JSON.
    pub metadata: String,
}

/// An event's head: the one number that orders everything (architecture §4 "Event head").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Serial of the last committed change.
    pub serial: u64,
    /// Head of the event's audit chain.
    pub audit_head: [u8; 32],
    /// The server's epoch.
    pub epoch: Epoch,
}

/// A place taken in the event's order by a write (law 6: the store sets it).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Serial of this write.
    pub serial: u64,
    /// The one `effective_at` of this write's rules: max(database clock, last + 1 ms).
    pub effective_at: Timestamp,
}

/// The rules of an event as loaded for a fold.
#[derive(Debug, Clone, Default)]
pub struct LoadedRules {
    /// Event, gates, devices, epochs.
    pub book: EventBook,
    /// Rules of the asked tickets.
    pub tickets: Vec<Rule>,
}

/// Another content, or the same, under an id that is already stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownScan {
    /// Author.
    pub device_id: DeviceId,
    /// Scan.
    pub scan_id: ScanId,
    /// Content.
    pub digest: Digest,
    /// What it is about, as it resolves now.
    pub subject_key: String,
}

/// Persons through a gate in a minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinuteFlow {
    /// The minute's start.
    pub at: Timestamp,
    /// Gate.
    pub gate_id: GateId,
    /// Persons let in.
    pub entered: i64,
    /// Persons let out.
    pub exited: i64,
    /// Scans that stayed shut.
    pub refused: i64,
}

/// A page of a list: newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// At most so many.
    pub limit: usize,
    /// After this item, as a previous page named it.
    pub cursor: Option<String>,
}

/// Items and the cursor of the next page.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed<T> {
    /// Items.
    pub items: Vec<T>,
    /// Next page, if there is one.
    pub next_cursor: Option<String>,
}
