//! The event: what is scanned for, when, and how often a ticket lets its persons in (spec §3).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::time::Timestamp;
use crate::words::words;

words! {
    /// Where an event stands in its life.
    EventStatus {
        /// Being prepared: its scans are practice and count nothing.
        Draft = "draft",
        /// Doors may open.
        Live = "live",
        /// Over; late scans are still taken (spec D17).
        Ended = "ended",
        /// Put away.
        Archived = "archived",
    }
    /// How often the persons of a ticket may enter (spec D7).
    ReEntry {
        /// Each person once.
        Never = "never",
        /// Again once `min_gap_seconds` have passed.
        AfterGap = "after_gap",
        /// Again once they have left through an exit.
        AfterExit = "after_exit",
        /// Each person once a day; when a day begins is said by [`Days`] (door.md "Limits").
        Daily = "daily",
    }
}

impl EventStatus {
    /// Whether it is over, put away or not.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Ended | Self::Archived)
    }
}

/// The instants at which an event's days begin, in order. The server makes them of the event's zone and of the hour its
/// days begin at; a day of a change of clocks has 23 or 25 hours, and nothing here knows a zone. Cheap to copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Days(Arc<[Timestamp]>);

impl Days {
    /// From instants in any order.
    pub fn new(mut begin: Vec<Timestamp>) -> Self {
        begin.sort_unstable();
        begin.dedup();
        Self(begin.into())
    }
    /// Whether nothing is daily.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The instants.
    pub fn begin(&self) -> &[Timestamp] {
        &self.0
    }
    /// When the day of a moment began; `None` before the first of them.
    pub fn begun(&self, at: Timestamp) -> Option<Timestamp> {
        self.of(at).checked_sub(1).map(|place| self.0[place])
    }
    /// Which day a moment lies in: how many have begun by then.
    pub fn of(&self, at: Timestamp) -> usize {
        self.0.partition_point(|begin| *begin <= at)
    }
}

impl Default for Days {
    fn default() -> Self {
        Self(Arc::from([]))
    }
}

words! {
    /// Kinds of codes that tickets of other systems carry and that cameras read beside QR, where the event says so.
    BarcodeKind {
        /// Code 128.
        Code128 = "code_128",
        /// PDF417.
        Pdf417 = "pdf_417",
        /// Aztec codes.
        Aztec = "aztec",
        /// Data Matrix.
        DataMatrix = "data_matrix",
        /// EAN-13.
        Ean13 = "ean_13",
        /// Codabar codes.
        Codabar = "codabar",
    }
}

/// From a moment on the clocks of a zone are so far ahead of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// The first moment it holds at; the first of a clock's offsets holds before that too.
    pub from: Timestamp,
    /// Local time − UTC, in seconds.
    pub offset_s: i32,
}

/// The clocks of the event's zone, for every time that a device shows. The server makes the offsets of the zone's rules, so
/// that a phone without the zone's data, or in another zone, shows the same (door.md "Time on screens").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneClock {
    /// IANA name, such as `Europe/Berlin`.
    pub zone: String,
    /// Offsets in the order of their moments, at least one.
    pub offsets: Vec<Offset>,
}

/// The event's settings for its devices that decide nothing about a ticket. They are no rule of [`EventRules`], and
/// `decide` never sees them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DoorSettings {
    /// The event's clocks; absent where they are not known.
    pub clock: Option<ZoneClock>,
    /// Which of a guest's fields a verdict shows, by name, in this order; with names only (door.md "Names and fields at the door").
    pub verdict_fields: Vec<String>,
    /// Kinds of codes that cameras read beside QR, each once; a phone's own setting may add others.
    pub barcode_kinds: Vec<BarcodeKind>,
    /// How staff call each zone: the name of its first entry type.
    pub zone_names: ZoneNames,
}

/// Names of zones, by zone.
pub type ZoneNames = BTreeMap<String, String>;

/// How often the persons of a zone's tickets may enter, where that is not what the event says (door.md "Limits").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Re-entry mode; the event's where absent.
    pub re_entry: Option<ReEntry>,
    /// A ticket's limit holds at each gate by itself. Not with `after_exit`: who is inside is inside, by whichever gate.
    pub per_gate: bool,
    /// Persons that a ticket lets in in all, whatever the mode.
    pub uses: Option<u32>,
}

/// The limits of zones that have their own. Cheap to copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ZoneLimits(Arc<BTreeMap<String, Limits>>);

impl ZoneLimits {
    /// Of zones by their names; one that says nothing is left out.
    pub fn new(mut zones: BTreeMap<String, Limits>) -> Self {
        zones.retain(|_, limits| *limits != Limits::default());
        Self(zones.into())
    }
    /// Whether no zone has limits of its own.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// By zone.
    pub fn zones(&self) -> &BTreeMap<String, Limits> {
        &self.0
    }
}

/// How a ticket's entries are measured: the event's mode, or that of its zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// Re-entry mode.
    pub re_entry: ReEntry,
    /// The limit holds at each gate by itself.
    pub per_gate: bool,
    /// Persons let in in all.
    pub uses: Option<u32>,
}

/// The PIN that lets staff override a refusal, as devices carry it (spec D18).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaffPin {
    /// Random salt.
    pub salt: [u8; 16],
    /// PBKDF2-SHA256 of the digits.
    pub hash: [u8; 32],
    /// PBKDF2 rounds.
    pub iterations: u32,
}

/// An event's ruled fields at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRules {
    /// Display name.
    pub name: String,
    /// When the event starts.
    pub starts_at: Timestamp,
    /// When the event ends.
    pub ends_at: Timestamp,
    /// The event's status.
    pub status: EventStatus,
    /// Re-entry mode.
    pub re_entry: ReEntry,
    /// Gap of `after_gap`, in seconds.
    pub min_gap_seconds: u32,
    /// The staff PIN, where one is set.
    pub staff_pin: Option<StaffPin>,
    /// When its doors opened: the commit that made it live first.
    pub opened_at: Option<Timestamp>,
    /// When its days begin; empty where nothing is daily.
    pub days: Days,
    /// Limits of zones that have their own.
    pub limits: ZoneLimits,
    /// Persons whom staff may add at the doors in all; absent: no number.
    pub walk_ins: Option<u32>,
}

impl EventRules {
    /// How entries of a ticket of this zone are measured; of an unknown ticket as the event says.
    pub fn measure(&self, zone: Option<&str>) -> Measure {
        let own = zone.and_then(|zone| self.limits.0.get(zone)).copied().unwrap_or_default();
        let re_entry = own.re_entry.unwrap_or(self.re_entry);
        Measure { re_entry, per_gate: own.per_gate && re_entry != ReEntry::AfterExit, uses: own.uses }
    }
}
