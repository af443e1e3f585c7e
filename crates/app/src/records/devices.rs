//! Devices, keys, pairing, logs and batches.

use admit_core::fraud::Arrivals;
use admit_core::ids::{BatchId, DeviceId, EventId, GateId, KeyId, LogId, ScanId};
use admit_core::scan::Digest;
use admit_core::time::Timestamp;

/// A device's request to be paired (spec D11 way (b)). It belongs to no organisation until a member of one approves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingRequestRecord {
    /// SHA-256 of the token that the device's QR code shows.
    pub token_hash: [u8; 32],
    /// SHA-256 of the claim secret that the device shows to nobody.
    pub claim_hash: [u8; 32],
    /// The device's id, which it chose itself.
    pub device_id: DeviceId,
    /// The name that staff give to the device. It may be empty.
    pub name: String,
    /// One of `ipad`, `phone`, `desktop` and `terminal`.
    pub device_type: String,
    /// When the request expires.
    pub expires_at: Timestamp,
    /// When the request was made.
    pub created_at: Timestamp,
}

/// A pairing token (spec D11). The server makes one for an organiser's screen, for a key rotation, or for a device's
/// approved request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingTokenRecord {
    /// SHA-256 of the token's text.
    pub token_hash: [u8; 32],
    /// The event that devices are paired with.
    pub event_id: EventId,
    /// The gate that devices are assigned to.
    pub gate_id: GateId,
    /// The only device that may use the token, for a rotation or an approved request. Absent if any device may.
    pub device_id: Option<DeviceId>,
    /// How many devices may use the token.
    pub uses: u32,
    /// The devices that used the token, and when.
    pub used_by: Vec<(DeviceId, Timestamp)>,
    /// When the token expires.
    pub expires_at: Timestamp,
    /// When the token was created.
    pub created_at: Timestamp,
    /// SHA-256 of the claim secret that must come with the token. Absent unless the device asked by itself.
    pub claim_hash: Option<[u8; 32]>,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRecord {
    /// The device's id, which it chose itself.
    pub device_id: DeviceId,
    /// The device's name.
    pub name: String,
    /// One of `ipad`, `phone`, `desktop` and `terminal`.
    pub device_type: String,
    /// The event to which the device is assigned now.
    pub event_id: EventId,
    /// The gate to which the device is assigned now.
    pub gate_id: GateId,
    /// The state of the device's key.
    pub state: DeviceState,
    /// When the organiser revoked the device. Absent if nobody did.
    pub revoked_at: Option<Timestamp>,
    /// Since when an organiser believes the device lost. Absent if nobody does.
    pub lost_since: Option<Timestamp>,
    /// When the device was first paired.
    pub created_at: Timestamp,
    /// When another device last tried the pairing code by which this device was paired (spec D11 "second user
    /// alarmed"). Absent if none did.
    pub code_reused_at: Option<Timestamp>,
    /// When an organiser last looked for the device. Absent if nobody did.
    pub rung_at: Option<Timestamp>,
    /// The device's last report about itself.
    pub health: DeviceHealth,
}

/// The state of a device's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceState {
    /// The device may sync.
    Active,
    /// The device's uploads are stored and held (spec D19).
    Suspended,
    /// The organiser revoked the device (spec D10).
    Revoked,
}

impl DeviceState {
    /// The word under which the state is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Revoked => "revoked",
        }
    }
    /// Reads the word that [`DeviceState::as_str`] writes. `None` for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Active, Self::Suspended, Self::Revoked].into_iter().find(|state| state.as_str() == word)
    }
}

/// A device's last report about itself. It is no fact, and each report replaces the one before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceHealth {
    /// When the server last heard of the device. Absent if it never did.
    pub last_seen_at: Option<Timestamp>,
    /// When the device last sent a batch. Absent if it never did.
    pub last_sync_at: Option<Timestamp>,
    /// Number of scans that the device has not sent yet, by its own count.
    pub pending: u64,
    /// Battery level in percent. Absent if the device did not report it.
    pub battery: Option<u8>,
    /// The version of the device's app.
    pub app_version: String,
    /// The version of the device's list.
    pub manifest_version: u64,
    /// Server time minus the device's wall clock, in milliseconds. Absent if the device did not report it.
    pub clock_offset_ms: Option<i64>,
    /// Number of failed syncs in a row.
    pub failed_syncs: u32,
    /// The counts of new scans that the device sent in the present period. A period lasts an hour and begins with its
    /// first new scan.
    pub arrivals: Arrivals,
    /// The id of the newest measurements that the device sent and the server added to its metrics. Measurements with
    /// the same id are not added again.
    pub figures_id: Option<i64>,
}

/// A device's key (spec D4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceKeyRecord {
    /// The key's id.
    pub key_id: KeyId,
    /// The device that the key belongs to.
    pub device_id: DeviceId,
    /// SHA-256 of the key's text.
    pub token_hash: [u8; 32],
    /// The key's `scan_key`, sealed with the server's secret.
    pub sealed_scan_key: Vec<u8>,
    /// When the key was created.
    pub created_at: Timestamp,
    /// When the key was first used. Absent if it never was.
    pub first_used_at: Option<Timestamp>,
    /// When the organiser revoked the key with its device. Scans that the key signed, and that the server receives only
    /// after this time, wait for review. Absent if the key is not revoked.
    pub revoked_at: Option<Timestamp>,
    /// When another key of the device replaces this one. After a rotation this time lies up to an hour in the future.
    /// From this time on the key gives no access, but still proves what it signed. Absent if none replaces it.
    pub replaced_at: Option<Timestamp>,
    /// SHA-256 of the pairing token for which the server gave the key.
    pub paired_by: Option<[u8; 32]>,
}

/// A device's log (spec §3 "Log").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// The device that the log belongs to.
    pub device_id: DeviceId,
    /// The log's id.
    pub log_id: LogId,
    /// The event of the log's newest scan.
    pub event_id: EventId,
    /// The highest `seq` that the device has reported.
    pub head: u64,
    /// The `seq` numbers that the server received, as ascending ranges `[from, to]`.
    pub received: Vec<(u64, u64)>,
    /// When a person closed the log. Absent if nobody did.
    pub closed_at: Option<Timestamp>,
}

/// A scan that counts nothing until a person accepts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingScan {
    /// The scan's id.
    pub scan_id: ScanId,
    /// The digest of the content that was taken.
    pub digest: Digest,
    /// The key of the subject that the scan is about.
    pub subject_key: String,
}

/// A stored batch (S2's BatchSync and S1's SyncBatch).
#[derive(Debug, Clone, PartialEq)]
pub struct BatchRecord {
    /// The batch's id, unique per device and endpoint.
    pub batch_id: BatchId,
    /// The device that sent the batch.
    pub device_id: DeviceId,
    /// `sync` (`/api/scanning/sync`) or `scans_sync` (`/api/scans/sync`).
    pub endpoint: String,
    /// The event of the batch.
    pub event_id: EventId,
    /// The digest over device, endpoint and the sorted (scan id, content digest) pairs (spec D2).
    pub digest: [u8; 32],
    /// The answer. A repeated batch gets exactly these bytes.
    pub answer: String,
    /// One of `completed` and `partial_success`.
    pub status: String,
    /// Number of scans in the batch.
    pub batch_size: u32,
    /// Number of scans that the batch stored.
    pub processed_count: u32,
    /// Number of scans that were refused.
    pub error_count: u32,
    /// The offset of a v1 batch, in seconds.
    pub offset_seconds: i64,
    /// The serial of the batch's write.
    pub serial: u64,
    /// When the batch committed.
    pub synced_at: Timestamp,
}

/// An item of a batch that was refused and will not be taken later. Its bytes are kept (spec §5 "rejected").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedRecord {
    /// The device that sent the item.
    pub device_id: DeviceId,
    /// The scan's id. Absent if it could not be read.
    pub scan_id: Option<String>,
    /// The scan's log and `seq`. Absent if they could not be read.
    pub log: Option<(LogId, u64)>,
    /// The reason of the refusal.
    pub reason: String,
    /// The item as it was sent.
    pub body: String,
    /// When the item was received.
    pub received_at: Timestamp,
}
