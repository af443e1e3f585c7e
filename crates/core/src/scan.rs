//! The scan: a record of what happened at a door. A device writes it once and it is never changed (spec §1, §4).

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::barcode::BarcodeHash;
use crate::ids::{DeviceId, EventId, GateId, KeyId, LogId, ScanId, TicketId, uuid_v5};
use crate::rule::Epoch;
use crate::ticket::{TicketRules, TicketStatus};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// The effect of a scan on the counts.
    ScanKind {
        /// Persons go in.
        Entry = "entry",
        /// Persons go out.
        Exit = "exit",
        /// The scan undoes another scan (spec D9).
        Revert = "revert",
        /// Staff counted people who have no ticket (decision 037).
        Headcount = "headcount",
    }
    /// The classes of people whom staff count without a ticket.
    PersonClass {
        /// People who work for the venue or the organiser.
        Staff = "staff",
        /// People who belong to the production.
        Crew = "crew",
        /// Children who need no ticket.
        Child = "child",
        /// Anybody else without a ticket.
        Other = "other",
    }
    /// The two stages of a scan. A scan about which the device asks the server first is journalled twice under one id
    /// (spec §5).
    Stage {
        /// The device asked the server and had not decided yet.
        Claim = "claim",
        /// The device decided. The scan holds the verdict that was shown at the door.
        Final = "final",
    }
    /// How the device came to the ticket.
    Method {
        /// A camera or a reader read a code.
        Qr = "qr",
        /// A person picked the ticket by hand.
        Manual = "manual",
        /// A file brought the scan.
        Import = "import",
    }
    /// The outcome that the screen showed (S1 §6.2).
    Outcome {
        /// The guest may go in.
        Valid = "valid",
        /// All persons of the ticket are in already.
        Duplicate = "duplicate",
        /// The ticket is unknown, or its status forbids entry.
        Invalid = "invalid",
        /// The ticket does not admit at this gate.
        GateAccessDenied = "gate_access_denied",
        /// The scan lies before or after the ticket's window, or after the event's end.
        Expired = "expired",
    }
    /// The wire form in which the scan came.
    Form {
        /// S1's form.
        V1 = "v1",
        /// Our own form, in which a signature covers all fields.
        V2 = "v2",
        /// S2's form.
        S2 = "s2",
    }
    /// The best proof of authorship among all deliveries of a scan.
    SignatureState {
        /// The scan's signature verified, whichever device delivered it.
        Verified = "verified",
        /// A scan in S2's form, sent with a device key that is in force, or a scan that the server made for a signed-in
        /// member. It counts like a verified one.
        Bearer = "bearer",
        /// Neither a signature nor a key proves which device made the scan. It counts nothing until a person accepts
        /// it.
        Unverified = "unverified",
    }
}

/// The record that staff set a refusal aside with the PIN (spec D18).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The name of the person who set the refusal aside.
    pub by: String,
    /// The reason that the person gave.
    pub reason: String,
}

/// A guest whom staff added at the door (decision 036). The scan is the guest's entry. The server makes the ticket from
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkIn {
    /// The ticket's zone.
    pub zone: String,
    /// Persons the ticket admits.
    pub party: u32,
    /// The digest of the guest's name, by [`WalkIn::digest_of`]. The store keeps the name and its salt apart from the
    /// scan. Erasing the guest deletes the name and the salt. The signature of the scan covers only the digest, so it
    /// still verifies.
    pub name_digest: [u8; 32],
}

impl WalkIn {
    /// The id of the ticket made from a walk-in's scan. It is computed from the scan, so there is one ticket per scan
    /// in whatever order facts arrive.
    pub fn ticket_id(event_id: &EventId, device_id: &DeviceId, scan_id: &ScanId) -> Option<TicketId> {
        let parts = ["admit.walk-in", event_id.as_str(), device_id.as_str(), scan_id.as_str()];
        TicketId::new(uuid_v5(&parts)).ok()
    }
    /// SHA-256 of the salt followed by the name.
    pub fn digest_of(salt: &[u8; 16], name: &str) -> [u8; 32] {
        Sha256::new().chain_update(salt).chain_update(name.as_bytes()).finalize().into()
    }
    /// The first rules of the walk-in's ticket.
    pub fn rules(&self) -> TicketRules {
        TicketRules {
            status: TicketStatus::Active,
            entry_limit: self.party,
            gate_ids: Vec::new(),
            zone: self.zone.clone(),
            valid_from: None,
            expires_at: None,
        }
    }
}

/// A count of people by staff at a gate (decision 037). It admits nobody and changes no ticket's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Headcount {
    /// People without a ticket came in, or went out.
    Change {
        /// The class of the people counted.
        class: PersonClass,
        /// Persons who came in, or below zero, persons who went out. Never 0.
        delta: i32,
    },
    /// Staff counted everybody in the area behind the gate, with a ticket or without.
    Recount {
        /// Persons inside at the time of the scan.
        inside: u32,
    },
}

impl Headcount {
    /// The id that stands in place of a ticket id for a headcount's scan. It is computed from the scan, so each
    /// headcount is a subject of its own. No ticket ever has this id.
    pub fn subject_id(event_id: &EventId, device_id: &DeviceId, scan_id: &ScanId) -> Option<TicketId> {
        let parts = ["admit.headcount", event_id.as_str(), device_id.as_str(), scan_id.as_str()];
        TicketId::new(uuid_v5(&parts)).ok()
    }
    /// The value of the scan's `count`: the persons who came or went. A recount has 1, so that an undo can take it
    /// back.
    pub fn persons(&self) -> u32 {
        match self {
            Self::Change { delta, .. } => delta.unsigned_abs(),
            Self::Recount { .. } => 1,
        }
    }
    /// The part of the headcount that an undo leaves, if `persons` stay counted. `None` if nothing stays.
    pub fn of_which(self, persons: u32) -> Option<Self> {
        match self {
            _ if persons == 0 => None,
            Self::Change { class, delta } => {
                let stays = i32::try_from(persons).unwrap_or(i32::MAX).min(delta.saturating_abs());
                Some(Self::Change { class, delta: stays * delta.signum() })
            }
            Self::Recount { .. } => Some(self),
        }
    }
}

/// The device's clocks at the scan, in raw form. The server keeps them so that a later version can compute the scan's
/// time again by a better method (spec §4 Time).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockEvidence {
    /// The wall clock, in milliseconds since 1970.
    pub wall_ms: i64,
    /// The session's monotonic clock, in milliseconds.
    pub mono_ms: i64,
    /// The session to which the monotonic clock belongs.
    pub session_id: String,
    /// Whether the device's clock was set back so far that the scan's time is not after that of the scan before it in
    /// the log. For a smaller step back the device uses a time just after that scan.
    pub corrected: bool,
}

/// The device's knowledge of the ticket when it decided. The server repeats the device's decision from this knowledge,
/// to check it (invariant I25).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Basis {
    /// Persons that already counted against the limit.
    pub within: u32,
    /// Persons inside, within the limit.
    pub inside: u32,
    /// Persons let in so far within the limit.
    pub spent: u32,
    /// When the last entry was. Absent if the device knew of none.
    pub last_entry_at: Option<Timestamp>,
    /// The ticket's status in the device's list. Absent if the list did not have the ticket.
    pub status: Option<TicketStatus>,
}

/// A scan, with every field of spec §4 "Scan, v2 fields". In S1's and S2's forms, fields that the form lacks are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The form in which the scan came.
    pub form: Form,
    /// The scan's id, unique within its device.
    pub scan_id: ScanId,
    /// The device that made the scan.
    pub device_id: DeviceId,
    /// The log of the device that made the scan. Absent in S1's and S2's forms.
    pub log_id: Option<LogId>,
    /// The scan's place in the log, from 1. Absent in S1's and S2's forms.
    pub seq: Option<u64>,
    /// The first 16 bytes of the content digest of the scan before it in the log. Zeros for the first scan.
    pub prev: Option<[u8; 16]>,
    /// The key of the scan's signature.
    pub key_id: Option<KeyId>,
    /// The event that the scan belongs to.
    pub event_id: EventId,
    /// The gate at which the scan was made.
    pub gate_id: GateId,
    /// Entry, exit, revert or headcount.
    pub kind: ScanKind,
    /// Whether the scan is a claim or final.
    pub stage: Stage,
    /// How the device came to the ticket.
    pub method: Method,
    /// The hash of the code as it matched in the list.
    pub barcode_hash: Option<BarcodeHash>,
    /// The hash of the code as it was read.
    pub raw_hash: Option<BarcodeHash>,
    /// The ticket that the device found for the code. Absent if it found none.
    pub ticket_id: Option<TicketId>,
    /// Number of persons of the scan.
    pub count: u32,
    /// The outcome that the screen showed.
    pub outcome: Outcome,
    /// Whether the door opened.
    pub opened: bool,
    /// Whether the scan was taken while the device's list said `draft`. Such a scan counts nothing unless a person
    /// accepts it (decision 034).
    pub practice: bool,
    /// Who set a refusal aside, and why. Absent if nobody did.
    pub override_: Option<Override>,
    /// The guest whom staff added with this scan. Absent if the scan added none.
    pub walk_in: Option<WalkIn>,
    /// The people whom staff counted. Absent unless the kind is `headcount`.
    pub headcount: Option<Headcount>,
    /// The name of the person who operated the device. Absent if nobody signed on.
    pub operator: Option<String>,
    /// For a revert: the author of the scan to undo. Absent otherwise.
    pub target_device: Option<DeviceId>,
    /// For a revert: the id of the scan to undo. Absent otherwise.
    pub target_scan_id: Option<ScanId>,
    /// For a revert: the number of persons of the undone scan that stay counted.
    pub keep: u32,
    /// The scan's time. Admit's own form (v2) signs it. In S1's form (v1) and S2's form it is the time as sent, before
    /// any offset is added.
    pub at: Timestamp,
    /// The true time lies at most this far before or after `at`, in milliseconds.
    pub uncertainty_ms: u64,
    /// The device's raw clocks. Absent in S1's and S2's forms.
    pub clock: Option<ClockEvidence>,
    /// The epoch to which `manifest_version` and `cursor` belong.
    pub epoch: Option<Epoch>,
    /// The version of the device's list.
    pub manifest_version: u64,
    /// The serial of the device's `changes` cursor.
    pub cursor: u64,
    /// The device's knowledge of the ticket. Absent if it did not decide by a ticket, as for an undo or a headcount.
    pub basis: Option<Basis>,
}

impl Scan {
    /// The highest serial that the scan's device knew, in the device's own epoch (spec §3 "Rules at a scan").
    pub fn known_serial(&self) -> u64 {
        self.manifest_version.max(self.cursor)
    }
}

/// SHA-256 of a scan's content (spec D2), as [`crate::sign::content_digest`] computes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::barcode::hex(&self.0))
    }
}

/// The server's answer to a device that asked about a scan before the door opened, with the serial of the rules that
/// the server knew (spec §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    /// The event's head serial when the server judged the scan.
    pub serial: u64,
    /// The outcome that the server answered.
    pub outcome: Outcome,
}

/// A scan as the server keeps it: its content, and what all its deliveries together prove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The scan's content.
    pub scan: Scan,
    /// The digest of the content.
    pub digest: Digest,
    /// The best proof of authorship among the deliveries.
    pub signature: SignatureState,
    /// Whether the scan waits for a person, whichever device delivered it (spec D10). It does if its device was
    /// revoked, suspended or never assigned to the event when the server first received it.
    pub withheld: bool,
    /// The offset of the clock of a v1 scan's device, in seconds. If deliveries bring several offsets, the one nearest
    /// to 0 holds, and of +n and −n it is −n (spec §4 Time).
    pub offset_seconds: i64,
    /// When the server first received the scan. Incidents about a clock that is ahead compare this time with the scan's
    /// own. The order of scans never depends on it.
    pub received_at: Timestamp,
    /// The server's answer, if the device asked about this scan. Absent otherwise.
    pub judged: Option<Judged>,
}

impl Fact {
    /// The canonical time, computed from the scan and its offset. The time of arrival plays no part (spec §4 Time).
    pub fn at(&self) -> Timestamp {
        match self.scan.form {
            Form::V1 => self.scan.at.plus_ms(self.offset_seconds.saturating_mul(1_000)),
            Form::V2 | Form::S2 => self.scan.at,
        }
    }
    /// Whether the door opened. A claim without its final opened the door only if the server answered `valid` (spec
    /// §5).
    pub fn opened(&self) -> bool {
        match self.scan.stage {
            Stage::Claim => self.judged.is_some_and(|judged| judged.outcome == Outcome::Valid),
            Stage::Final => self.scan.opened,
        }
    }
    /// Whether the scan counts without a person's decision: its authorship is proven, and nothing withholds it.
    pub fn proven(&self) -> bool {
        !self.withheld && self.signature != SignatureState::Unverified
    }
}

/// The one of two v1 offsets that is nearer to 0; of +n and −n it is −n. So the order in which deliveries of a scan
/// bring different offsets makes no difference (spec §4 Time).
pub fn better_offset(a: i64, b: i64) -> i64 {
    if (a.unsigned_abs(), a) <= (b.unsigned_abs(), b) { a } else { b }
}

/// How many persons of each reverted scan stay counted, by the scan's (device, id). If several reverts name one scan,
/// the smallest number holds, whichever device sent it (spec D9).
pub fn keeps<'a>(scans: impl Iterator<Item = &'a Scan>) -> BTreeMap<(&'a DeviceId, &'a ScanId), u32> {
    let mut keeps = BTreeMap::new();
    for scan in scans.filter(|scan| scan.kind == ScanKind::Revert) {
        if let (Some(device), Some(id)) = (&scan.target_device, &scan.target_scan_id) {
            keeps.entry((device, id)).and_modify(|keep: &mut u32| *keep = scan.keep.min(*keep)).or_insert(scan.keep);
        }
    }
    keeps
}

/// The number of persons that these scans let in, less those whom reverts removed again. The ticket's rules play no
/// part.
pub fn persons_let_in<'a>(scans: impl Iterator<Item = &'a Scan> + Clone) -> u64 {
    let keeps = keeps(scans.clone());
    let entries = scans.filter(|scan| scan.kind == ScanKind::Entry && scan.opened);
    let kept =
        |scan: &Scan| keeps.get(&(&scan.device_id, &scan.scan_id)).map_or(scan.count, |keep| scan.count.min(*keep));
    entries.map(|scan| u64::from(kept(scan))).sum()
}
