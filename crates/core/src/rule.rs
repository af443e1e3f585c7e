//! Rules as facts: a field's value from a moment on (spec §3 "Rules are facts too").
//!
//! A rule is never changed or removed; a later one outranks it. Which rules hold at a scan is a question of the scan's
//! own time and of what its device already knew, never of when the scan arrived.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::barcode::unhex;
use crate::event::{Days, DoorSettings, EventRules, EventStatus, ReEntry, StaffPin, ZoneLimits, ZoneNames};
use crate::gate::{Direction, GateRules};
use crate::ids::{DeviceId, EventId, GateId, TicketId};
use crate::ticket::{TicketRules, TicketStatus};
use crate::time::Timestamp;

/// From when a rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effective {
    /// For every scan, whenever taken.
    Start,
    /// For scans at or after this moment.
    At(Timestamp),
}

/// One changed value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Of a ticket.
    Ticket(TicketId, TicketChange),
    /// Of a gate.
    Gate(GateId, GateChange),
    /// Of the event.
    Event(EventChange),
    /// Of a device.
    Device(DeviceId, DeviceChange),
}

/// A ticket's field and its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TicketChange {
    /// All first values at once; they hold from the start.
    First(TicketRules),
    /// The ticket's new status.
    Status(TicketStatus),
    /// Persons admitted.
    EntryLimit(u32),
    /// The gates that admit the ticket.
    GateIds(Vec<GateId>),
    /// The ticket's zone.
    Zone(String),
    /// Window `[valid_from, expires_at)`.
    Window {
        /// Good from.
        valid_from: Option<Timestamp>,
        /// Good until, exclusive.
        expires_at: Option<Timestamp>,
    },
}

/// A gate's field and its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateChange {
    /// All first values at once; they hold from the start.
    First(GateRules),
    /// Display name.
    Name(String),
    /// The zones that the gate admits.
    Zones(Vec<String>),
    /// The direction in which the gate is used.
    Direction(Direction),
    /// The most persons in the gate's area; absent where it has no limit.
    Capacity(Option<u32>),
    /// Guest names on devices.
    NamesOnDevices(bool),
    /// Guests added at the door.
    WalkIns(bool),
}

/// An event's field and its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventChange {
    /// All first values at once; they hold from the start.
    First(EventRules),
    /// Display name.
    Name(String),
    /// Start; the newest value holds for all scans.
    StartsAt(Timestamp),
    /// End; the newest value holds for all scans.
    EndsAt(Timestamp),
    /// The event's new status.
    Status(EventStatus),
    /// Re-entry mode.
    ReEntry(ReEntry),
    /// Gap of `after_gap`, seconds.
    MinGapSeconds(u32),
    /// Staff PIN.
    StaffPin(Option<StaffPin>),
    /// When its doors opened; the newest value holds for all scans.
    OpenedAt(Option<Timestamp>),
    /// When its days begin; the newest value holds for all scans.
    Days(Days),
    /// Limits of zones, all of them.
    Limits(ZoneLimits),
    /// Persons whom staff may add at the doors.
    WalkIns(Option<u32>),
    /// All of the event's settings for devices that are no rules.
    Door(DoorSettings),
    /// How staff call each zone, all of them.
    ZoneNames(ZoneNames),
}

/// A device's field and its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceChange {
    /// Where it scans.
    Assignment {
        /// The event that the device is assigned to.
        event_id: EventId,
        /// The gate that the device is assigned to.
        gate_id: GateId,
    },
    /// Since when it is thought lost: scans from then on are unverified until reviewed (spec D10).
    LostSince(Option<Timestamp>),
}

/// A rule: a field's value from a moment on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Place in the event's one order; shared by all rules of a transaction.
    pub serial: u64,
    /// Place within the transaction.
    pub ordinal: u32,
    /// From when it holds.
    pub effective_at: Effective,
    /// The change itself.
    pub change: Change,
}

/// The server's epoch: begun at every restore, so that serials of a lost future are never mistaken for today's
/// (spec §3). Ordered by the moment of the restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch {
    /// When it began, milliseconds since 1970.
    pub restored_at_ms: i64,
    /// Random part.
    pub random: u64,
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.restored_at_ms, self.random)
    }
}

/// Why a text is not an epoch.
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

/// A whole number exactly as it is written: digits alone, no zero before others.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain)
}

/// The epochs a ledger has been through, and the event's head serial when each began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Epochs(Vec<(Epoch, u64)>);

impl Epochs {
    /// From (epoch, the event's head serial when it began), in any order.
    pub fn new(mut list: Vec<(Epoch, u64)>) -> Self {
        list.sort();
        Self(list)
    }
    /// Whether the ledger went through this epoch.
    pub fn contains(&self, epoch: Epoch) -> bool {
        self.0.iter().any(|(known, _)| *known == epoch)
    }
    /// The highest serial of *this* ledger that a device knew which had seen `claimed` in `epoch`: what a lost future
    /// added after the next epoch's beginning was never ours. An epoch that we never had vouches for nothing.
    pub fn known(&self, epoch: Option<Epoch>, claimed: u64) -> u64 {
        let Some(at) = epoch.and_then(|epoch| self.0.iter().position(|(known, _)| *known == epoch)) else { return 0 };
        self.0[at + 1..].iter().map(|(_, base)| *base).min().map_or(claimed, |base| claimed.min(base))
    }
}

/// A field's values over time.
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
    /// The value for a scan at `at` whose device knew everything up to serial `known`. Of the rules that apply,
    /// the one with the highest serial wins. `None` only where no rule was ever stored.
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
    /// The value a device had that knew exactly the rules up to serial `known`.
    pub fn known(&self, known: u64) -> Option<&T> {
        self.0.iter().rev().find(|held| held.place.0 <= known).map(|held| &held.value)
    }
    /// The newest value.
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
    /// Event and gate.
    pub assignment: History<(EventId, GateId)>,
    /// Since when it is thought lost.
    pub lost_since: History<Option<Timestamp>>,
}

impl DeviceBook {
    /// Whether the device was thought lost when it scanned at this moment: since its loss, until it was found again.
    /// The device's knowledge plays no part: a thief's device knows nothing that we asked for.
    pub fn is_lost_at(&self, at: Timestamp) -> bool {
        self.lost_since.at(at, 0).is_some_and(|since| since.is_some_and(|since| at >= since))
    }
    /// The same by its newest rule alone, as a device views everything (`Rules::newest`).
    pub fn is_lost_by_the_newest(&self, at: Timestamp) -> bool {
        self.lost_since.newest().is_some_and(|since| since.is_some_and(|since| at >= since))
    }
    /// When it was last found again. A statement about a later loss holds from then on only: scans of the time when
    /// it was away go on waiting for a person.
    pub fn found_at(&self) -> Option<Timestamp> {
        let found = self.lost_since.0.iter().rev().find(|held| held.value.is_none())?;
        if let Effective::At(at) = found.effective_at { Some(at) } else { None }
    }
}

/// Which rules are asked for: those at a scan, those a device knew, or the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At this time, for a device that knew everything up to this serial.
    Scan {
        /// The scan's time.
        at: Timestamp,
        /// Highest serial its device knew.
        known: u64,
    },
    /// Exactly what a device knew.
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
    /// The rules of a ticket that was made at a door: they hold from the start, and every device knew them.
    pub fn made_at_door(ticket_id: &TicketId, rules: TicketRules) -> Self {
        let first = TicketChange::First(rules);
        let change = Change::Ticket(ticket_id.clone(), first.clone());
        let mut book = Self::default();
        book.add(&Rule { serial: 0, ordinal: 0, effective_at: Effective::Start, change }, &first);
        book
    }
    /// Takes in a rule about this ticket. A rule taken in twice counts once.
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
    /// The values asked for; `None` where the ticket did not exist yet (only [`When::Known`] can say so).
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
    /// The serial of the rule that set the status in force for this question: what `admitted_in_error` names.
    pub fn status_serial(&self, when: When) -> Option<u64> {
        let status = get(&self.status, when)? as *const TicketStatus;
        self.status.0.iter().find(|held| std::ptr::eq(&held.value, status)).map(|held| held.place.0)
    }
}

impl GateBook {
    /// Takes in a rule about this gate.
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
    /// The values asked for.
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

/// The rules of an event, its gates and its devices: what every ticket's fold shares.
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
    /// The epochs of the ledger.
    pub epochs: Epochs,
}

impl EventBook {
    /// Builds the book from rules in any order; rules about tickets are passed over.
    pub fn new<'a>(rules: impl IntoIterator<Item = &'a Rule>, epochs: Epochs) -> Self {
        let mut book = Self { epochs, ..Self::default() };
        for rule in rules {
            book.add(rule);
        }
        book
    }
    /// Takes in a rule. A rule taken in twice counts once; one about a ticket is passed over.
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
    /// The event's values; start, end, opening and days are always the newest, except for what a device knew.
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
    /// The event for a scan that the server is asked about: the newest values, except for an end. An end counts
    /// by the scan's own time and by what its device knew, as a serial of an epoch. A person who stood at the
    /// door before the end stood at an open door (spec D17).
    pub fn event_at_door(&self, at: Timestamp, knew: (Option<Epoch>, u64)) -> Option<EventRules> {
        let known = self.epochs.known(knew.0, knew.1);
        let event = self.event(When::Newest)?;
        let status = self.status(When::Scan { at, known }).unwrap_or(event.status);
        Some(EventRules { status, ..event })
    }
    /// The event's status alone.
    pub fn status(&self, when: When) -> Option<EventStatus> {
        get(&self.status, when).copied()
    }
    /// The newest settings for devices that are no rules. No older ones are needed, since nothing is judged by them.
    pub fn door(&self) -> DoorSettings {
        let door = self.door.newest().cloned().unwrap_or_default();
        DoorSettings { zone_names: self.zone_names.newest().cloned().unwrap_or_default(), ..door }
    }
    /// The serial since which verdicts show the fields of guests that they show now; 0 where none was ever chosen.
    pub fn verdict_fields_since(&self) -> u64 {
        let (mut since, mut shown) = (0, [].as_slice());
        for held in &self.door.0 {
            if held.value.verdict_fields != shown {
                (since, shown) = (held.place.0, &held.value.verdict_fields);
            }
        }
        since
    }
    /// A gate's values.
    pub fn gate(&self, gate_id: &GateId, when: When) -> Option<GateRules> {
        self.gates.get(gate_id)?.get(when)
    }
    /// Every gate, in order of its id.
    pub fn gate_ids(&self) -> impl Iterator<Item = &GateId> {
        self.gates.keys()
    }
    /// A device's rules.
    pub fn device(&self, device_id: &DeviceId) -> Option<&DeviceBook> {
        self.devices.get(device_id)
    }
}

#[cfg(test)]
mod tests;
