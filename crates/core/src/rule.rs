//! Rules as facts: a field's value from a moment on (spec §3 "Rules are facts too").
//!
//! A rule is never changed or removed. A later rule outranks it. Which rules hold at a scan depends on the scan's own
//! time and on what its device knew, never on when the scan arrived.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::barcode::unhex;
use crate::event::{Days, DoorSettings, EventRules, EventStatus, ReEntry, StaffPin, ZoneLimits, ZoneNames};
use crate::gate::{Direction, GateRules};
use crate::ids::{DeviceId, EventId, GateId, TicketId};
use crate::ticket::{TicketRules, TicketStatus};
use crate::time::Timestamp;

/// The moment from which a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effective {
    /// The rule holds for every scan, whenever it was taken.
    Start,
    /// The rule holds for scans at or after this moment.
    At(Timestamp),
}

/// One changed field and its new value, with the thing it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A change of a ticket.
    Ticket(TicketId, TicketChange),
    /// A change of a gate.
    Gate(GateId, GateChange),
    /// A change of the event.
    Event(EventChange),
    /// A change of a device.
    Device(DeviceId, DeviceChange),
}

/// A ticket's field and its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TicketChange {
    /// All values of a new ticket, set together. They hold for every scan, also for scans before the ticket was made.
    First(TicketRules),
    /// The ticket's new status.
    Status(TicketStatus),
    /// Persons that the ticket admits.
    EntryLimit(u32),
    /// The gates that admit the ticket.
    GateIds(Vec<GateId>),
    /// The ticket's zone.
    Zone(String),
    /// The window `[valid_from, expires_at)` in which the ticket admits.
    Window {
        /// The first moment at which the ticket admits. Absent if there is no such bound.
        valid_from: Option<Timestamp>,
        /// The first moment at which the ticket no longer admits. Absent if there is no such bound.
        expires_at: Option<Timestamp>,
    },
}

/// A gate's field and its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateChange {
    /// All values of a new gate, set together. They hold for every scan, also for scans before the gate was made.
    First(GateRules),
    /// Display name.
    Name(String),
    /// The zones that the gate admits.
    Zones(Vec<String>),
    /// The direction in which the gate is used.
    Direction(Direction),
    /// The most persons in the gate's area. Absent if there is no limit.
    Capacity(Option<u32>),
    /// Whether devices at the gate may carry guest names.
    NamesOnDevices(bool),
    /// Whether staff at the gate may add guests.
    WalkIns(bool),
}

/// An event's field and its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventChange {
    /// All values of a new event, set together. They hold for every scan, also for scans before the event was made.
    First(EventRules),
    /// Display name.
    Name(String),
    /// When the event starts. The newest value holds for all scans.
    StartsAt(Timestamp),
    /// When the event ends. The newest value holds for all scans.
    EndsAt(Timestamp),
    /// The event's new status.
    Status(EventStatus),
    /// Re-entry mode of the event.
    ReEntry(ReEntry),
    /// Seconds that must pass before re-entry in the mode `after_gap`.
    MinGapSeconds(u32),
    /// The staff PIN. Absent if it is removed.
    StaffPin(Option<StaffPin>),
    /// When doors opened. The newest value holds for all scans.
    OpenedAt(Option<Timestamp>),
    /// When the event's days begin. The newest value holds for all scans.
    Days(Days),
    /// The limits of all zones that have their own. The value replaces the one before.
    Limits(ZoneLimits),
    /// The most persons without a ticket whom staff may add at all doors together. Absent if there is no limit.
    WalkIns(Option<u32>),
    /// All settings for devices that have no effect on decisions. The value replaces the one before.
    Door(DoorSettings),
    /// The names that staff use for zones, all of them. The value replaces the one before.
    ZoneNames(ZoneNames),
}

/// A device's field and its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceChange {
    /// The event and gate at which the device scans.
    Assignment {
        /// The event that the device is assigned to.
        event_id: EventId,
        /// The gate that the device is assigned to.
        gate_id: GateId,
    },
    /// The moment since which an organiser believes the device lost. Its scans from then on are unverified until a
    /// person reviews them (spec D10). Absent once the device is found.
    LostSince(Option<Timestamp>),
}

/// A rule: a field's value from a moment on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The serial of the write that stored the rule. All rules of a transaction share it.
    pub serial: u64,
    /// The rule's number within its transaction.
    pub ordinal: u32,
    /// The moment from which the rule holds.
    pub effective_at: Effective,
    /// The changed field and its new value.
    pub change: Change,
}

/// The server's epoch. A new one begins at every restore. So a serial that the restore threw away is never mistaken for
/// one that was given out since (spec §3). Epochs are ordered by the moment of the restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch {
    /// When the epoch began, in milliseconds since 1970.
    pub restored_at_ms: i64,
    /// A random part that distinguishes two epochs begun in the same millisecond.
    pub random: u64,
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.restored_at_ms, self.random)
    }
}

/// The error for a text that is not an epoch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be an epoch as the server gave it")]
pub struct EpochError;

impl FromStr for Epoch {
    type Err = EpochError;
    fn from_str(text: &str) -> Result<Self, EpochError> {
        let (ms, random) = text.split_once('-').ok_or(EpochError)?;
        let restored_at_ms = whole(ms).and_then(|ms| i64::try_from(ms).ok()).ok_or(EpochError)?;
        let random = unhex(random).map(u64::from_be_bytes).ok_or(EpochError)?;
        Ok(Self { restored_at_ms, random })
    }
}

/// Reads a whole number that is written exactly as Admit writes it: only digits, and no leading zero.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain)
}

/// The epochs of a ledger so far, each with the event's head serial when the epoch began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Epochs(Vec<(Epoch, u64)>);

impl Epochs {
    /// Takes pairs of an epoch and the event's head serial when it began, in any order.
    pub fn new(mut list: Vec<(Epoch, u64)>) -> Self {
        list.sort();
        Self(list)
    }
    /// Whether the ledger went through this epoch.
    pub fn contains(&self, epoch: Epoch) -> bool {
        self.0.iter().any(|(known, _)| *known == epoch)
    }
    /// The highest serial of *this* ledger that a device knew, given that it claims serial `claimed` of `epoch`.
    /// Serials after the beginning of the next epoch don't count, since the restore threw them away. The result is 0
    /// for an epoch that this ledger never had.
    pub fn known(&self, epoch: Option<Epoch>, claimed: u64) -> u64 {
        let Some(at) = epoch.and_then(|epoch| self.0.iter().position(|(known, _)| *known == epoch)) else { return 0 };
        self.0[at + 1..].iter().map(|(_, base)| *base).min().map_or(claimed, |base| claimed.min(base))
    }
}

/// The values of one field over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History<T>(Vec<Held<T>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Held<T> {
    place: (u64, u32),
    effective_at: Effective,
    value: T,
}

impl<T> Default for History<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> History<T> {
    fn add(&mut self, rule: &Rule, value: T) {
        let place = (rule.serial, rule.ordinal);
        match self.0.binary_search_by_key(&place, |held| held.place) {
            Ok(_) => {}
            Err(at) => self.0.insert(at, Held { place, effective_at: rule.effective_at, value }),
        }
    }
    /// The value for a scan at time `at`, whose device knew everything up to serial `known`. Of the rules that apply,
    /// the one with the highest serial wins. `None` only if no rule applies.
    pub fn at(&self, at: Timestamp, known: u64) -> Option<&T> {
        let applies = |held: &&Held<T>| {
            held.place.0 <= known
                || match held.effective_at {
                    Effective::Start => true,
                    Effective::At(from) => from <= at,
                }
        };
        self.0.iter().rev().find(applies).map(|held| &held.value)
    }
    /// The value for a device that knew exactly the rules up to serial `known`. `None` if there was no rule yet.
    pub fn known(&self, known: u64) -> Option<&T> {
        self.0.iter().rev().find(|held| held.place.0 <= known).map(|held| &held.value)
    }
    /// The newest value. `None` if no rule was ever stored.
    pub fn newest(&self) -> Option<&T> {
        self.0.last().map(|held| &held.value)
    }
}

/// The rules of one ticket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TicketBook {
    status: History<TicketStatus>,
    entry_limit: History<u32>,
    gate_ids: History<Vec<GateId>>,
    zone: History<String>,
    window: History<(Option<Timestamp>, Option<Timestamp>)>,
}

/// The rules of one gate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateBook {
    name: History<String>,
    zones: History<Vec<String>>,
    direction: History<Direction>,
    capacity: History<Option<u32>>,
    names_on_devices: History<bool>,
    walk_ins: History<bool>,
    entry_rules: History<Vec<crate::gate::EntryRule>>,
}

/// The rules of one device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceBook {
    /// The event and the gate that the device is assigned to.
    pub assignment: History<(EventId, GateId)>,
    /// The moment since which the device is believed lost.
    pub lost_since: History<Option<Timestamp>>,
}

impl DeviceBook {
    /// Whether the device was reported lost for the time of a scan: after its loss and before it was found again. The
    /// device's own knowledge plays no part, since a thief's device need not know what the server knows.
    pub fn is_lost_at(&self, at: Timestamp) -> bool {
        self.lost_since.at(at, 0).is_some_and(|since| since.is_some_and(|since| at >= since))
    }
    /// Like [`DeviceBook::is_lost_at`], but by the newest rule alone, as a device judges everything (`Rules::newest`).
    pub fn is_lost_by_the_newest(&self, at: Timestamp) -> bool {
        self.lost_since.newest().is_some_and(|since| since.is_some_and(|since| at >= since))
    }
    /// When the device was last found again. `None` if it never was. If the device is reported lost a second time, the
    /// new report holds only for scans from this moment on. Scans from the time of the first loss still wait for a
    /// person.
    pub fn found_at(&self) -> Option<Timestamp> {
        let found = self.lost_since.0.iter().rev().find(|held| held.value.is_none())?;
        if let Effective::At(at) = found.effective_at { Some(at) } else { None }
    }
}

/// Which rules the caller asks for: those in force at a scan, those that a device knew, or the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The rules at a scan's time, for a device that knew everything up to a serial.
    Scan {
        /// The scan's time.
        at: Timestamp,
        /// The highest serial that the scan's device knew.
        known: u64,
    },
    /// Exactly the rules up to this serial, as a device knew them.
    Known(u64),
    /// The newest values.
    Newest,
}

fn get<T>(history: &History<T>, when: When) -> Option<&T> {
    match when {
        When::Scan { at, known } => history.at(at, known),
        When::Known(known) => history.known(known),
        When::Newest => history.newest(),
    }
}

impl TicketBook {
    /// The book of a ticket that was made at a door. Its rules hold for every scan, and count as known to every device.
    pub fn made_at_door(ticket_id: &TicketId, rules: TicketRules) -> Self {
        let first = TicketChange::First(rules);
        let change = Change::Ticket(ticket_id.clone(), first.clone());
        let mut book = Self::default();
        book.add(&Rule { serial: 0, ordinal: 0, effective_at: Effective::Start, change }, &first);
        book
    }
    /// Adds a rule about this ticket. Adding a rule twice changes nothing.
    pub fn add(&mut self, rule: &Rule, change: &TicketChange) {
        match change {
            TicketChange::First(first) => {
                self.status.add(rule, first.status);
                self.entry_limit.add(rule, first.entry_limit);
                self.gate_ids.add(rule, first.gate_ids.clone());
                self.zone.add(rule, first.zone.clone());
                self.window.add(rule, (first.valid_from, first.expires_at));
            }
            TicketChange::Status(status) => self.status.add(rule, *status),
            TicketChange::EntryLimit(limit) => self.entry_limit.add(rule, *limit),
            TicketChange::GateIds(gate_ids) => self.gate_ids.add(rule, gate_ids.clone()),
            TicketChange::Zone(zone) => self.zone.add(rule, zone.clone()),
            TicketChange::Window { valid_from, expires_at } => self.window.add(rule, (*valid_from, *expires_at)),
        }
    }
    /// The ticket's values by the rules that `when` names. `None` if the ticket did not exist yet. Only [`When::Known`]
    /// can give `None`.
    pub fn get(&self, when: When) -> Option<TicketRules> {
        let (valid_from, expires_at) = *get(&self.window, when)?;
        Some(TicketRules {
            status: *get(&self.status, when)?,
            entry_limit: *get(&self.entry_limit, when)?,
            gate_ids: get(&self.gate_ids, when)?.clone(),
            zone: get(&self.zone, when)?.clone(),
            valid_from,
            expires_at,
        })
    }
    /// The serial of the rule that set the ticket's status, among the rules that `when` names. An `admitted_in_error`
    /// incident names it.
    pub fn status_serial(&self, when: When) -> Option<u64> {
        let status = get(&self.status, when)? as *const TicketStatus;
        self.status.0.iter().find(|held| std::ptr::eq(&held.value, status)).map(|held| held.place.0)
    }
}

impl GateBook {
    /// Adds a rule about this gate.
    pub fn add(&mut self, rule: &Rule, change: &GateChange) {
        match change {
            GateChange::First(first) => {
                self.name.add(rule, first.name.clone());
                self.zones.add(rule, first.zones.clone());
                self.direction.add(rule, first.direction);
                self.capacity.add(rule, first.capacity);
                self.names_on_devices.add(rule, first.names_on_devices);
                self.walk_ins.add(rule, first.walk_ins);
                self.entry_rules.add(rule, first.entry_rules.clone());
            }
            GateChange::Name(name) => self.name.add(rule, name.clone()),
            GateChange::Zones(zones) => self.zones.add(rule, zones.clone()),
            GateChange::Direction(direction) => self.direction.add(rule, *direction),
            GateChange::Capacity(capacity) => self.capacity.add(rule, *capacity),
            GateChange::NamesOnDevices(names) => self.names_on_devices.add(rule, *names),
            GateChange::WalkIns(may) => self.walk_ins.add(rule, *may),
        }
    }
    /// The gate's values by the rules that `when` names. `None` if the gate did not exist yet.
    pub fn get(&self, when: When) -> Option<GateRules> {
        Some(GateRules {
            name: get(&self.name, when)?.clone(),
            zones: get(&self.zones, when)?.clone(),
            direction: *get(&self.direction, when)?,
            capacity: *get(&self.capacity, when)?,
            names_on_devices: *get(&self.names_on_devices, when)?,
            walk_ins: *get(&self.walk_ins, when)?,
            entry_rules: get(&self.entry_rules, when)?.clone(),
        })
    }
}

/// The rules of an event, its gates and its devices. The reductions of all its tickets share them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventBook {
    name: History<String>,
    starts_at: History<Timestamp>,
    ends_at: History<Timestamp>,
    status: History<EventStatus>,
    re_entry: History<ReEntry>,
    min_gap_seconds: History<u32>,
    staff_pin: History<Option<StaffPin>>,
    opened_at: History<Option<Timestamp>>,
    days: History<Days>,
    limits: History<ZoneLimits>,
    walk_ins: History<Option<u32>>,
    door: History<DoorSettings>,
    zone_names: History<ZoneNames>,
    gates: BTreeMap<GateId, GateBook>,
    devices: BTreeMap<DeviceId, DeviceBook>,
    /// The epochs that the event's ledger has been through.
    pub epochs: Epochs,
}

impl EventBook {
    /// Builds the book from rules in any order. Rules about tickets are ignored.
    pub fn new<'a>(rules: impl IntoIterator<Item = &'a Rule>, epochs: Epochs) -> Self {
        let mut book = Self { epochs, ..Self::default() };
        for rule in rules {
            book.add(rule);
        }
        book
    }
    /// Adds a rule. Adding it twice changes nothing. A rule about a ticket is ignored, since a [`TicketBook`] holds it.
    pub fn add(&mut self, rule: &Rule) {
        match &rule.change {
            Change::Ticket(..) => {}
            Change::Gate(gate_id, change) => self.gates.entry(gate_id.clone()).or_default().add(rule, change),
            Change::Device(device_id, change) => {
                let device = self.devices.entry(device_id.clone()).or_default();
                match change {
                    DeviceChange::Assignment { event_id, gate_id } => {
                        device.assignment.add(rule, (event_id.clone(), gate_id.clone()));
                    }
                    DeviceChange::LostSince(since) => device.lost_since.add(rule, *since),
                }
            }
            Change::Event(change) => self.add_event(rule, change),
        }
    }
    fn add_event(&mut self, rule: &Rule, change: &EventChange) {
        match change {
            EventChange::First(first) => {
                self.name.add(rule, first.name.clone());
                self.starts_at.add(rule, first.starts_at);
                self.ends_at.add(rule, first.ends_at);
                self.status.add(rule, first.status);
                self.re_entry.add(rule, first.re_entry);
                self.min_gap_seconds.add(rule, first.min_gap_seconds);
                self.staff_pin.add(rule, first.staff_pin.clone());
                self.opened_at.add(rule, first.opened_at);
                self.days.add(rule, first.days.clone());
                self.limits.add(rule, first.limits.clone());
                self.walk_ins.add(rule, first.walk_ins);
            }
            EventChange::Name(name) => self.name.add(rule, name.clone()),
            EventChange::StartsAt(at) => self.starts_at.add(rule, *at),
            EventChange::EndsAt(at) => self.ends_at.add(rule, *at),
            EventChange::Status(status) => self.status.add(rule, *status),
            EventChange::ReEntry(mode) => self.re_entry.add(rule, *mode),
            EventChange::MinGapSeconds(gap) => self.min_gap_seconds.add(rule, *gap),
            EventChange::StaffPin(pin) => self.staff_pin.add(rule, pin.clone()),
            EventChange::OpenedAt(at) => self.opened_at.add(rule, *at),
            EventChange::Days(days) => self.days.add(rule, days.clone()),
            EventChange::Limits(limits) => self.limits.add(rule, limits.clone()),
            EventChange::WalkIns(number) => self.walk_ins.add(rule, *number),
            EventChange::Door(door) => self.door.add(rule, door.clone()),
            EventChange::ZoneNames(names) => self.zone_names.add(rule, names.clone()),
        }
    }
    /// The event's values at the moment that `when` names. Start, end, opening and days are the newest, except with
    /// [`When::Known`], which gives what a device knew. `None` if the event had no rules yet.
    pub fn event(&self, when: When) -> Option<EventRules> {
        let bounds = if let When::Scan { .. } = when { When::Newest } else { when };
        Some(EventRules {
            name: get(&self.name, when)?.clone(),
            starts_at: *get(&self.starts_at, bounds)?,
            ends_at: *get(&self.ends_at, bounds)?,
            status: *get(&self.status, when)?,
            re_entry: *get(&self.re_entry, when)?,
            min_gap_seconds: *get(&self.min_gap_seconds, when)?,
            staff_pin: get(&self.staff_pin, when)?.clone(),
            opened_at: *get(&self.opened_at, bounds)?,
            days: get(&self.days, bounds)?.clone(),
            limits: get(&self.limits, when)?.clone(),
            walk_ins: *get(&self.walk_ins, when)?,
        })
    }
    /// The event for a scan about which the server is asked. Its values are the newest, except for the status. The
    /// status is that at the scan's own time, as its device knew it; `knew` is a serial and its epoch. So a scan taken
    /// before the event was ended is judged as at a live event (spec D17).
    pub fn event_at_door(&self, at: Timestamp, knew: (Option<Epoch>, u64)) -> Option<EventRules> {
        let known = self.epochs.known(knew.0, knew.1);
        let event = self.event(When::Newest)?;
        let status = self.status(When::Scan { at, known }).unwrap_or(event.status);
        Some(EventRules { status, ..event })
    }
    /// The event's status for this question.
    pub fn status(&self, when: When) -> Option<EventStatus> {
        get(&self.status, when).copied()
    }
    /// The newest settings for devices that have no effect on decisions. Older ones are not needed, since nothing is
    /// judged by them.
    pub fn door(&self) -> DoorSettings {
        let door = self.door.newest().cloned().unwrap_or_default();
        DoorSettings { zone_names: self.zone_names.newest().cloned().unwrap_or_default(), ..door }
    }
    /// The serial of the change with which verdicts began to show their present guest fields. It is 0 if an organiser
    /// never chose any.
    pub fn verdict_fields_since(&self) -> u64 {
        let (mut since, mut shown) = (0, [].as_slice());
        for held in &self.door.0 {
            if held.value.verdict_fields != shown {
                (since, shown) = (held.place.0, &held.value.verdict_fields);
            }
        }
        since
    }
    /// A gate's values for this question. `None` if the gate is unknown.
    pub fn gate(&self, gate_id: &GateId, when: When) -> Option<GateRules> {
        self.gates.get(gate_id)?.get(when)
    }
    /// The ids of all gates, in order.
    pub fn gate_ids(&self) -> impl Iterator<Item = &GateId> {
        self.gates.keys()
    }
    /// The rules of a device. `None` if it has none.
    pub fn device(&self, device_id: &DeviceId) -> Option<&DeviceBook> {
        self.devices.get(device_id)
    }
}

#[cfg(test)]
mod tests;
