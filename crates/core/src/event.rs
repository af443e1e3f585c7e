//! The event: its name, time and status, and the rules by which a ticket lets its persons in (spec §3).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::time::Timestamp;
use crate::words::words;

words! {
    /// The stage of an event's life.
    EventStatus {
        /// The event is being prepared. Its scans are practice and count nothing.
        Draft = "draft",
        /// The event is open for scanning.
        Live = "live",
        /// The event is over. The server still accepts late scans (spec D17).
        Ended = "ended",
        /// The event is over and hidden from the list of current events.
        Archived = "archived",
    }
    /// How often the persons of a ticket may enter (spec D7).
    ReEntry {
        /// Each person enters once.
        Never = "never",
        /// A person may enter again once `min_gap_seconds` have passed.
        AfterGap = "after_gap",
        /// A person may enter again after leaving through an exit.
        AfterExit = "after_exit",
        /// Each person enters once per day. [`Days`] says when a day begins (decision 034).
        Daily = "daily",
    }
}

impl EventStatus {
    /// Whether the event is over, whether it is archived or not.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Ended | Self::Archived)
    }
}

/// The instants at which an event's days begin, in order. Clones share them. The server computes them from the event's
/// zone and the hour at which its days begin. A day on which clocks change has 23 or 25 hours, and this crate has no
/// data of time zones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Days(Arc<[Timestamp]>);

impl Days {
    /// Makes the days of instants in any order.
    pub fn new(mut begin: Vec<Timestamp>) -> Self {
        begin.sort_unstable();
        begin.dedup();
        Self(begin.into())
    }
    /// Whether there are no days, because nothing of the event is daily.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The instants at which days begin, in order.
    pub fn begin(&self) -> &[Timestamp] {
        &self.0
    }
    /// When the day of a moment began. `None` if the moment lies before the first day.
    pub fn begun(&self, at: Timestamp) -> Option<Timestamp> {
        self.of(at).checked_sub(1).map(|place| self.0[place])
    }
    /// The number of the day in which a moment lies: how many days have begun by then, 0 before the first.
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
    /// Kinds of barcodes on tickets of other systems. Cameras read them in addition to QR if the event's settings name
    /// them.
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

/// How far local clocks are ahead of UTC from one moment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// The moment from which clocks in the event's time zone have this offset. The first offset also holds before its
    /// moment.
    pub from: Timestamp,
    /// Local time − UTC, in seconds.
    pub offset_s: i32,
}

/// The clock of the event's time zone, used for every time that a device shows. The server computes the offsets. So a
/// phone that lacks the time zone's data, or is in another one, shows the same time (decision 040).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneClock {
    /// IANA name, such as `Europe/Berlin`.
    pub zone: String,
    /// Offsets in the order of their moments. There is at least one.
    pub offsets: Vec<Offset>,
}

/// The event's settings for devices that have no effect on decisions about tickets. They are not part of
/// [`EventRules`], and `decide` never sees them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DoorSettings {
    /// The event's clock. Absent if the server did not say.
    pub clock: Option<ZoneClock>,
    /// Names of the guest's fields that a verdict shows, in this order. Only devices that hold guests' names show them
    /// (decision 040).
    pub verdict_fields: Vec<String>,
    /// Kinds of codes that cameras read in addition to QR, each once. A phone's own setting may add others.
    pub barcode_kinds: Vec<BarcodeKind>,
    /// The name that staff use for each zone: the name of the zone's first entry type.
    pub zone_names: ZoneNames,
}

/// The display name of each zone, by zone id.
pub type ZoneNames = BTreeMap<String, String>;

/// How often the persons of a zone's tickets may enter, as far as it differs from the event's rule (decision 034).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Re-entry mode of the zone. Absent if the event's mode holds.
    pub re_entry: Option<ReEntry>,
    /// Whether a ticket's limit holds at each gate separately. It has no effect with `after_exit`, since a person who
    /// is inside counts as inside whichever gate they used.
    pub per_gate: bool,
    /// Persons that a ticket lets in altogether, in any mode. Absent if there is no such limit.
    pub uses: Option<u32>,
}

/// The limits of those zones that have their own. Clones share one map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ZoneLimits(Arc<BTreeMap<String, Limits>>);

impl ZoneLimits {
    /// Takes limits by zone. Zones whose limits are all default are left out.
    pub fn new(mut zones: BTreeMap<String, Limits>) -> Self {
        zones.retain(|_, limits| *limits != Limits::default());
        Self(zones.into())
    }
    /// Whether no zone has limits of its own.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The limits by zone.
    pub fn zones(&self) -> &BTreeMap<String, Limits> {
        &self.0
    }
}

/// How a ticket's entries are measured, by the event's rules or by those of the ticket's zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// The re-entry mode in force.
    pub re_entry: ReEntry,
    /// Whether the limit holds at each gate separately.
    pub per_gate: bool,
    /// Persons that a ticket lets in altogether. Absent if there is no such limit.
    pub uses: Option<u32>,
}

/// The PIN by which staff override a refusal, as a salted hash, which is the form in the devices' lists (spec D18).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaffPin {
    /// The random salt of the hash.
    pub salt: [u8; 16],
    /// PBKDF2-SHA256 of the PIN's digits.
    pub hash: [u8; 32],
    /// Number of PBKDF2 rounds.
    pub iterations: u32,
}

/// The event's fields that are rules, with their values at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRules {
    /// Display name of the event.
    pub name: String,
    /// When the event starts.
    pub starts_at: Timestamp,
    /// When the event ends.
    pub ends_at: Timestamp,
    /// The event's status.
    pub status: EventStatus,
    /// Re-entry mode of the event.
    pub re_entry: ReEntry,
    /// Seconds that must pass before re-entry in the mode `after_gap`.
    pub min_gap_seconds: u32,
    /// The staff PIN. Absent if none is set.
    pub staff_pin: Option<StaffPin>,
    /// When doors opened: the time of the commit that first made the event live. Absent before that.
    pub opened_at: Option<Timestamp>,
    /// When the event's days begin. Empty if nothing is daily.
    pub days: Days,
    /// Limits of those zones that have their own.
    pub limits: ZoneLimits,
    /// Persons whom staff may add at the doors altogether. Absent if there is no limit.
    pub walk_ins: Option<u32>,
}

impl EventRules {
    /// How entries of a ticket in this zone are measured. With `None`, for an unknown ticket, the event's own rules
    /// hold.
    pub fn measure(&self, zone: Option<&str>) -> Measure {
        let own = zone.and_then(|zone| self.limits.0.get(zone)).copied().unwrap_or_default();
        let re_entry = own.re_entry.unwrap_or(self.re_entry);
        Measure { re_entry, per_gate: own.per_gate && re_entry != ReEntry::AfterExit, uses: own.uses }
    }
}
