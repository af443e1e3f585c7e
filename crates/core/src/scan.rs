//! The scan: what happened at a door. Written once by a device, never changed (spec §1, §4).

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::barcode::BarcodeHash;
use crate::ids::{DeviceId, EventId, GateId, KeyId, LogId, ScanId, TicketId, uuid_v5};
use crate::rule::Epoch;
use crate::ticket::{TicketRules, TicketStatus};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// The effect of a scan.
    ScanKind {
        /// Persons go in.
        Entry = "entry",
        /// Persons go out.
        Exit = "exit",
        /// Undoes another scan (spec D9).
        Revert = "revert",
        /// Staff counted people who have no ticket (door.md "People without a ticket").
        Headcount = "headcount",
    }
    /// Whom staff count without a ticket.
    PersonClass {
        /// People who work for the venue or the organiser.
        Staff = "staff",
        /// People who belong to the production.
        Crew = "crew",
        /// Children who need no ticket.
        Child = "child",
        /// Anybody else.
        Other = "other",
    }
    /// A scan asked of the server first is journalled twice under one id (spec §5).
    Stage {
        /// Asked, not yet decided.
        Claim = "claim",
        /// Decided: the verdict that was shown at the door.
        Final = "final",
    }
    /// How the code was read.
    Method {
        /// From a code.
        Qr = "qr",
        /// Picked by a person.
        Manual = "manual",
        /// Brought by a file.
        Import = "import",
    }
    /// The outcome that the screen showed (S1 §6.2).
    Outcome {
        /// The guest may go in.
        Valid = "valid",
        /// Already in.
        Duplicate = "duplicate",
        /// Unknown, or its status forbids.
        Invalid = "invalid",
        /// Not at this gate.
        GateAccessDenied = "gate_access_denied",
        /// Outside its window, on either side.
        Expired = "expired",
    }
    /// Which wire form brought the scan.
    Form {
        /// S1's.
        V1 = "v1",
        /// Ours, signed whole.
        V2 = "v2",
        /// S2's.
        S2 = "s2",
    }
    /// The best proof of authorship over a scan's deliveries.
    SignatureState {
        /// Its signature verified, whichever device carried it.
        Verified = "verified",
        /// S2's form under a live key, or made by the server for a signed-in member: counts like verified.
        Bearer = "bearer",
        /// Neither: counts nothing until a person accepts it.
        Unverified = "unverified",
    }
}

/// A refusal set aside by staff with the PIN (spec D18).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The name of the person who set the refusal aside.
    pub by: String,
    /// The reason that the person gave.
    pub reason: String,
}

/// A guest whom staff added at the door (door.md "Walk-ins"). The scan is their entry, and their ticket is made from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkIn {
    /// The ticket's zone.
    pub zone: String,
    /// Persons the ticket admits.
    pub party: u32,
    /// [`WalkIn::digest_of`] the guest's name. The name and its salt are kept apart from the scan. Erasing the guest
    /// takes both away, and every signature still verifies.
    pub name_digest: [u8; 32],
}

impl WalkIn {
    /// The id of the ticket made from a scan: a function of the scan, so it exists once, in whatever order facts come.
    pub fn ticket_id(event_id: &EventId, device_id: &DeviceId, scan_id: &ScanId) -> Option<TicketId> {
        let parts = ["admit.walk-in", event_id.as_str(), device_id.as_str(), scan_id.as_str()];
        TicketId::new(uuid_v5(&parts)).ok()
    }
    /// SHA-256 of the salt and the name behind it.
    pub fn digest_of(salt: &[u8; 16], name: &str) -> [u8; 32] {
        Sha256::new().chain_update(salt).chain_update(name.as_bytes()).finalize().into()
    }
    /// The first rules of its ticket.
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

/// A count of people by staff at a gate (door.md "People without a ticket"). It admits nobody and moves no ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Headcount {
    /// People without a ticket came in, or went out.
    Change {
        /// The class of the people counted.
        class: PersonClass,
        /// Persons who came in; below zero, who went out. Never 0.
        delta: i32,
    },
    /// Staff counted everybody in the area behind the gate, with a ticket or without.
    Recount {
        /// Persons inside then.
        inside: u32,
    },
}

impl Headcount {
    /// The id that a headcount's scan has in place of a ticket. It is a function of the scan, so each headcount
    /// stands by itself, in whatever order facts come. No ticket ever has this id.
    pub fn subject_id(event_id: &EventId, device_id: &DeviceId, scan_id: &ScanId) -> Option<TicketId> {
        let parts = ["admit.headcount", event_id.as_str(), device_id.as_str(), scan_id.as_str()];
        TicketId::new(uuid_v5(&parts)).ok()
    }
    /// Persons that the scan's `count` says: those who came or went; 1 for a recount, so that an undo can take it back.
    pub fn persons(&self) -> u32 {
        match self {
            Self::Change { delta, .. } => delta.unsigned_abs(),
            Self::Recount { .. } => 1,
        }
    }
    /// The part of the headcount that an undo leaves. The argument `persons` is how many stay counted.
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

/// The device's clocks at the scan: raw evidence, kept so that a better rule can recompute (spec §4 Time).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockEvidence {
    /// Wall clock, milliseconds since 1970.
    pub wall_ms: i64,
    /// Monotonic clock of the session, milliseconds.
    pub mono_ms: i64,
    /// The session the monotonic clock belongs to.
    pub session_id: String,
    /// The time was set back by more than can be slewed: it may not rise along `seq` here.
    pub corrected: bool,
}

/// The device's knowledge of the ticket when it decided. The server repeats the decision from it (I25).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Basis {
    /// Persons already counted against the limit.
    pub within: u32,
    /// Persons inside within the limit.
    pub inside: u32,
    /// Persons ever let in within the limit.
    pub spent: u32,
    /// When the last entry was.
    pub last_entry_at: Option<Timestamp>,
    /// The ticket's status in the device's list.
    pub status: Option<TicketStatus>,
}

/// A scan: every field of spec §4 "Scan, v2 fields". Of other forms the fields they lack are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// Which form it came in.
    pub form: Form,
    /// Its id within the device.
    pub scan_id: ScanId,
    /// Its author.
    pub device_id: DeviceId,
    /// The author's log.
    pub log_id: Option<LogId>,
    /// Place in the log, from 1.
    pub seq: Option<u64>,
    /// First 16 bytes of the content digest of the scan before; zeros for the first.
    pub prev: Option<[u8; 16]>,
    /// Key of the signature.
    pub key_id: Option<KeyId>,
    /// The event that the scan belongs to.
    pub event_id: EventId,
    /// The gate at which the scan was made.
    pub gate_id: GateId,
    /// Entry, exit, revert or headcount.
    pub kind: ScanKind,
    /// Claim or final.
    pub stage: Stage,
    /// How it was read.
    pub method: Method,
    /// Hash of the code as matched in the list.
    pub barcode_hash: Option<BarcodeHash>,
    /// Hash of the code as read.
    pub raw_hash: Option<BarcodeHash>,
    /// The ticket the device took it for.
    pub ticket_id: Option<TicketId>,
    /// Number of persons.
    pub count: u32,
    /// The outcome that the screen showed.
    pub outcome: Outcome,
    /// Whether the door opened.
    pub opened: bool,
    /// Taken while the device's list said draft: it counts nothing, unless a person accepts it (door.md "Event status").
    pub practice: bool,
    /// Staff set the refusal aside.
    pub override_: Option<Override>,
    /// The guest whom staff added with this scan.
    pub walk_in: Option<WalkIn>,
    /// Staff's count of people; absent in all kinds but `headcount`.
    pub headcount: Option<Headcount>,
    /// The name of the person who operated the device; absent where nobody signed on.
    pub operator: Option<String>,
    /// Revert: author of the scan to undo.
    pub target_device: Option<DeviceId>,
    /// Revert: id of the scan to undo.
    pub target_scan_id: Option<ScanId>,
    /// Revert: persons that stay counted.
    pub keep: u32,
    /// Signed time (v2), or the time as sent (v1, S2: before its offset).
    pub at: Timestamp,
    /// Half-width of the interval the true time lies in, milliseconds.
    pub uncertainty_ms: u64,
    /// Raw clocks.
    pub clock: Option<ClockEvidence>,
    /// The epoch the next two fields belong to.
    pub epoch: Option<Epoch>,
    /// Version of the device's list.
    pub manifest_version: u64,
    /// Changes cursor of the device.
    pub cursor: u64,
    /// The device's knowledge of the ticket; absent where it decided nothing by it, as for an undo or a headcount.
    pub basis: Option<Basis>,
}

impl Scan {
    /// The highest serial its device knew, in its own epoch (spec §3 "Rules at a scan").
    pub fn known_serial(&self) -> u64 {
        self.manifest_version.max(self.cursor)
    }
}

/// SHA-256 of a scan's content (spec D2): see [`crate::sign::content_digest`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::barcode::hex(&self.0))
    }
}

/// The server's answer when it was asked before the door opened (spec §3: "that serial and the answer are stored").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    /// The event's head when it was judged.
    pub serial: u64,
    /// The answer.
    pub outcome: Outcome,
}

/// A scan as the server keeps it: the content, and what its deliveries together prove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The content.
    pub scan: Scan,
    /// Its digest.
    pub digest: Digest,
    /// Best over deliveries.
    pub signature: SignatureState,
    /// When it was first received its device was revoked or suspended, or had never been assigned to the event. So it
    /// waits for a person, whichever device carried it (spec D10).
    pub withheld: bool,
    /// v1: of several offsets seen the smallest by (|o|, o), seconds (spec §4 Time).
    pub offset_seconds: i64,
    /// When it was first received: used by causes that speak of receipt, never by the order.
    pub received_at: Timestamp,
    /// The server's answer, for a scan it was asked about.
    pub judged: Option<Judged>,
}

impl Fact {
    /// Canonical time: a function of the scan and its offset, never of its arrival (spec §4 Time).
    pub fn at(&self) -> Timestamp {
        match self.scan.form {
            Form::V1 => self.scan.at.plus_ms(self.offset_seconds.saturating_mul(1_000)),
            Form::V2 | Form::S2 => self.scan.at,
        }
    }
    /// Whether the door opened: a claim without its final opened iff the server said valid (spec §5).
    pub fn opened(&self) -> bool {
        match self.scan.stage {
            Stage::Claim => self.judged.is_some_and(|judged| judged.outcome == Outcome::Valid),
            Stage::Final => self.scan.opened,
        }
    }
    /// Whether it counts without a person's word: its authorship is proven, and nothing withholds it.
    pub fn proven(&self) -> bool {
        !self.withheld && self.signature != SignatureState::Unverified
    }
}

/// The smaller of two v1 offsets by (|o|, o): the one rule that makes several deliveries agree (spec §4 Time).
pub fn better_offset(a: i64, b: i64) -> i64 {
    if (a.unsigned_abs(), a) <= (b.unsigned_abs(), b) { a } else { b }
}

/// The number of persons that each reverted scan keeps: the least of every revert that names it, from any device
/// (spec D9).
pub fn keeps<'a>(scans: impl Iterator<Item = &'a Scan>) -> BTreeMap<(&'a DeviceId, &'a ScanId), u32> {
    let mut keeps = BTreeMap::new();
    for scan in scans.filter(|scan| scan.kind == ScanKind::Revert) {
        if let (Some(device), Some(id)) = (&scan.target_device, &scan.target_scan_id) {
            keeps.entry((device, id)).and_modify(|keep: &mut u32| *keep = scan.keep.min(*keep)).or_insert(scan.keep);
        }
    }
    keeps
}

/// Persons whom these scans let in, less those of scans that were undone, whatever the rules say of them.
pub fn persons_let_in<'a>(scans: impl Iterator<Item = &'a Scan> + Clone) -> u64 {
    let keeps = keeps(scans.clone());
    let entries = scans.filter(|scan| scan.kind == ScanKind::Entry && scan.opened);
    let kept =
        |scan: &Scan| keeps.get(&(&scan.device_id, &scan.scan_id)).map_or(scan.count, |keep| scan.count.min(*keep));
    entries.map(|scan| u64::from(kept(scan))).sum()
}
