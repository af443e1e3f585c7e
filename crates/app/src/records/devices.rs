//! Devices, keys, pairing, logs and batches.

use admit_core::fraud::Arrivals;
use admit_core::ids::*;
use admit_core::scan::Digest;
use admit_core::time::Timestamp;

/// A device's request to be paired (spec D11 way (b)). It is of no organisation until one approves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingRequestRecord {
    /// SHA-256 of the token its QR shows.
    pub token_hash: [u8; 32],
    /// SHA-256 of the claim secret it keeps to itself.
    pub claim_hash: [u8; 32],
    /// The device, as it named itself.
    pub device_id: DeviceId,
    /// How staff call it; may be empty.
    pub name: String,
    /// `ipad | phone | desktop | terminal`.
    pub device_type: String,
    /// Its end.
    pub expires_at: Timestamp,
    /// When made.
    pub created_at: Timestamp,
}

/// A pairing token (spec D11): of the organiser's screen, of a rotation, or of a device's own approved request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingTokenRecord {
    /// SHA-256 of its text.
    pub token_hash: [u8; 32],
    /// Event it pairs to.
    pub event_id: EventId,
    /// Gate it pairs to.
    pub gate_id: GateId,
    /// The one device it is for: of a rotation, or of an approved request.
    pub device_id: Option<DeviceId>,
    /// How many devices may use it.
    pub uses: u32,
    /// Devices that did, and when.
    pub used_by: Vec<(DeviceId, Timestamp)>,
    /// Its end.
    pub expires_at: Timestamp,
    /// When made.
    pub created_at: Timestamp,
    /// SHA-256 of the claim secret that must come with it, where the device asked for itself.
    pub claim_hash: Option<[u8; 32]>,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRecord {
    /// Id, chosen by the device.
    pub device_id: DeviceId,
    /// The device's name.
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
    /// When somebody else last tried the code this device was paired with (spec D11 "second user alarmed").
    pub code_reused_at: Option<Timestamp>,
    /// When an organiser last looked for it.
    pub rung_at: Option<Timestamp>,
    /// The device's last report about itself.
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

/// A device's report about itself. It is not a fact, and is overwritten.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceHealth {
    /// Last heard.
    pub last_seen_at: Option<Timestamp>,
    /// Last batch.
    pub last_sync_at: Option<Timestamp>,
    /// Scans it says it has not sent.
    pub pending: u64,
    /// Battery level in percent; absent where the device did not tell it.
    pub battery: Option<u8>,
    /// App version.
    pub app_version: String,
    /// Version of its list.
    pub manifest_version: u64,
    /// Server clock − its wall clock, milliseconds.
    pub clock_offset_ms: Option<i64>,
    /// Failed syncs in a row.
    pub failed_syncs: u32,
    /// The scans that the device was recently first to bring.
    pub arrivals: Arrivals,
    /// Id of the figures that were counted last: the same again are not.
    pub figures_id: Option<i64>,
}

/// A device's key (spec D4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceKeyRecord {
    /// Names the key.
    pub key_id: KeyId,
    /// The device that the key belongs to.
    pub device_id: DeviceId,
    /// SHA-256 of its text.
    pub token_hash: [u8; 32],
    /// `scan_key`, sealed with the server's secret.
    pub sealed_scan_key: Vec<u8>,
    /// When made.
    pub created_at: Timestamp,
    /// First use.
    pub first_used_at: Option<Timestamp>,
    /// When the organiser withdrew it with its device: what it signed and was not received before waits for review.
    pub revoked_at: Option<Timestamp>,
    /// From when on another key of the device stands in its place, later than now during a rotation's overlap. It opens
    /// nothing from then on; what it signed goes on being proven by it.
    pub replaced_at: Option<Timestamp>,
    /// SHA-256 of the pairing token it was given for.
    pub paired_by: Option<[u8; 32]>,
}

/// A device's log (spec §3 "Log").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// The device that the log belongs to.
    pub device_id: DeviceId,
    /// The log's id.
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

/// A scan that counts nothing until a person accepts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingScan {
    /// The scan's id.
    pub scan_id: ScanId,
    /// The content that was taken of it.
    pub digest: Digest,
    /// The key of the subject that the scan is about.
    pub subject_key: String,
}

/// A stored batch (S2's BatchSync plus S1's SyncBatch).
#[derive(Debug, Clone, PartialEq)]
pub struct BatchRecord {
    /// Batch id, unique per device and endpoint.
    pub batch_id: BatchId,
    /// The device that carried the batch.
    pub device_id: DeviceId,
    /// `sync` (`/api/scanning/sync`) or `scans_sync` (`/api/scans/sync`).
    pub endpoint: String,
    /// The event of the batch.
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
    /// The serial of the batch's write.
    pub serial: u64,
    /// When it committed.
    pub synced_at: Timestamp,
}

/// An item a batch lost for good: its bytes are kept (spec §5 "rejected").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedRecord {
    /// The device that carried the item.
    pub device_id: DeviceId,
    /// Its id, if it could be read.
    pub scan_id: Option<String>,
    /// Its log place, if it could be read.
    pub log: Option<(LogId, u64)>,
    /// The reason of the refusal.
    pub reason: String,
    /// The item as sent.
    pub body: String,
    /// When the item was received.
    pub received_at: Timestamp,
}
