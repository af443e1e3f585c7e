//! The swarm configuration. Each seed draws which faults its world has and how frequent they are. So rare combinations
//! occur that an average configuration would never meet.

use std::fmt;

use admit_core::event::{Days, Limits, ReEntry, ZoneLimits};
use admit_core::limits;
use admit_core::time::Timestamp;

use crate::regressions;
use crate::rng::Rng;

/// The true time at the beginning of every world: 2026-06-07T16:00:00Z.
pub const BEGINNING_MS: i64 = 1_780_848_000_000;
/// A quiet time that is longer than anything under way, in milliseconds.
pub const LONG_REST_MS: i64 = 150_000;
const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// [`BEGINNING_MS`] in minutes since midnight.
const BEGINNING_MINUTE: u16 = 16 * 60;
/// The re-entry modes in the worlds of older regression seeds.
const EARLIER_MODES: &[ReEntry] = &[ReEntry::Never, ReEntry::AfterGap, ReEntry::AfterExit];
/// The number of small worlds per thousand.
const SMALL: u32 = 960;

/// The properties of one seed's world. Chances are per thousand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The number of organisations with colliding ids: 1 or 2.
    pub orgs: u64,
    /// The number of Admit's own devices in each organisation.
    pub devices: u64,
    /// The number of S1 clients in each organisation. They have no engine and send the form v1.
    pub legacy: u64,
    /// The number of tickets sold before the doors open.
    pub tickets: u64,
    /// The most persons of a party.
    pub party: u32,
    /// When the doors open, in milliseconds after the world's beginning. Until then the event is a draft, and scans are
    /// practice.
    pub opens_ms: Option<i64>,
    /// When an organiser ends the event while people still come, in milliseconds after the world's beginning; `None`:
    /// nobody ends it early.
    pub ended_ms: Option<i64>,
    /// When the days of `daily` begin, in minutes after midnight UTC.
    pub day_starts_minute: u16,
    /// Whether the limit of a ticket holds at each gate separately.
    pub per_gate: bool,
    /// The most persons that a ticket admits in all; `None` without such a limit.
    pub uses: Option<u32>,
    /// The re-entry modes that occur in this world.
    pub modes: &'static [ReEntry],
    /// The re-entry mode at the start.
    pub re_entry: ReEntry,
    /// The event's `min_gap_seconds`.
    pub gap_seconds: u32,
    /// The number of persons who come to a door while the faults last.
    pub visits: u64,
    /// The length of the time with faults, in milliseconds.
    pub chaos_ms: i64,
    /// All times are multiples of this number of milliseconds, so that ties occur.
    pub quantum_ms: i64,
    /// Chance that a request or its answer is lost.
    pub drop: u32,
    /// Chance that a request arrives twice.
    pub duplicate: u32,
    /// Chance that an answer is cut short.
    pub truncate: u32,
    /// Chance that a captive portal answers 200 with its own page.
    pub captive: u32,
    /// The longest travel time of a message, in milliseconds.
    pub delay_ms: i64,
    /// Chance every 20 seconds that a device's network goes off for a while.
    pub offline: u32,
    /// Chance every 20 seconds that a device's app is killed.
    pub crash: u32,
    /// Chance every 20 seconds that a device's owner clears its storage.
    pub clear: u32,
    /// Chance that an append fails.
    pub disk_full: u32,
    /// Chance that cached bodies are lost in a crash.
    pub cache_lost: u32,
    /// Chance every 20 seconds that a device sleeps.
    pub sleep: u32,
    /// Chance every 20 seconds that a device's wall clock is set.
    pub clock_step: u32,
    /// The largest initial error of a wall clock, in milliseconds.
    pub clock_offset_ms: i64,
    /// The largest error of the clocks' speed, in parts per million, in either direction.
    pub drift_ppm: i64,
    /// Chance every 20 seconds that an organiser changes a rule.
    pub rules: u32,
    /// Chance every 20 seconds that an organiser reviews a scan.
    pub reviews: u32,
    /// Chance every 20 seconds that an organiser revokes a device.
    pub revoke: u32,
    /// Chance every 20 seconds that a stranger sends a forged scan.
    pub forge: u32,
    /// How often the server is restored from a backup.
    pub restores: u64,
    /// Whether one of the restores copies the database's files back without `admit restore`, so that no new epoch
    /// begins.
    pub improper: bool,
    /// Chance per minute that the server process is killed.
    pub server_crash: u32,
    /// The number of kills of the server in addition to those by `server_crash`. A small world lasts about a minute, so
    /// `server_crash` alone rarely kills its server.
    pub kills: u64,
    /// Chance that a person shows the same code at the same phone again within seconds, whether they were let in or
    /// not.
    pub again: u32,
    /// Chance that an upload is turned away while other requests get through.
    pub busy: u32,
    /// The persons that the area behind each gate holds; `None` without a limit.
    pub capacity: Option<u32>,
    /// Chance that a person comes at the same moment as the person before, to any phone.
    pub together: u32,
    /// When the lists expire, in milliseconds after the world's beginning; `None` if they expire after the world's end.
    pub expires_ms: Option<i64>,
    /// Chance that a scan's item is damaged each time it travels to the server.
    pub poison: u32,
    /// Chance that a proxy refuses every batch with a certain scan while the faults last.
    pub refuse_whole: u32,
    /// Chance every 20 seconds that a device is given a new key.
    pub rotate: u32,
    /// Chance every 20 seconds that a device's storage is put back to an older copy.
    pub put_back: u32,
    /// Chance that a visitor has no ticket and is added by staff.
    pub walk_ins: u32,
    /// How many guests may be added; `None` without a number.
    pub walk_ins_number: Option<u32>,
    /// Chance that staff count people without a ticket, or everybody inside.
    pub headcounts: u32,
    /// The number of tickets in one booking; 0: no ticket belongs to one.
    pub booking: u64,
    /// The quiet time after which an organisation with nothing under way is at rest, in milliseconds.
    pub rest_ms: i64,
}

impl Config {
    /// Draws the configuration of a seed.
    pub fn draw(seed: u64) -> Self {
        let rng = &mut Rng::of(seed, "config", 0);
        // Each fault is off in half of the worlds, because one fault may hide the effect of another.
        fn fault(rng: &mut Rng, most: u32) -> u32 {
            if rng.per_mille(500) { 0 } else { rng.below(u64::from(most)) as u32 + 1 }
        }
        let mut config = Self {
            orgs: 1 + rng.below(2),
            devices: 1 + rng.below(4),
            legacy: rng.below(2),
            tickets: 2 + rng.below(7),
            party: *rng.pick(&[1, 1, 2, 4]),
            opens_ms: None,
            ended_ms: None,
            day_starts_minute: 6 * 60,
            per_gate: false,
            uses: None,
            modes: EARLIER_MODES,
            re_entry: *rng.pick(EARLIER_MODES),
            gap_seconds: *rng.pick(&[0, 10, 60, 300]),
            visits: 6 + rng.below(30),
            chaos_ms: rng.between(60, 400) * 1_000,
            quantum_ms: *rng.pick(&[1, 1, 1, 1, 1_000, 5_000]),
            drop: fault(rng, 300),
            duplicate: fault(rng, 150),
            truncate: fault(rng, 100),
            captive: fault(rng, 150),
            delay_ms: *rng.pick(&[40, 400, 5_000, 30_000]),
            offline: fault(rng, 400),
            crash: fault(rng, 300),
            clear: fault(rng, 40),
            disk_full: fault(rng, 60),
            cache_lost: fault(rng, 500),
            sleep: fault(rng, 200),
            clock_step: fault(rng, 300),
            clock_offset_ms: *rng.pick(&[0, 2_000, 90_000, 86_400_000]),
            drift_ppm: *rng.pick(&[0, 20, 150]),
            rules: fault(rng, 700),
            reviews: fault(rng, 300),
            revoke: fault(rng, 60),
            forge: fault(rng, 200),
            restores: if rng.per_mille(700) { 0 } else { 1 + rng.below(2) },
            improper: rng.per_mille(500),
            server_crash: fault(rng, 200),
            kills: 0,
            again: fault(rng, 500),
            busy: fault(rng, 500),
            capacity: if rng.per_mille(500) { None } else { Some(1 + rng.below(8) as u32) },
            together: 0,
            expires_ms: None,
            poison: 0,
            refuse_whole: 0,
            rotate: 0,
            put_back: 0,
            walk_ins: 0,
            walk_ins_number: None,
            headcounts: 0,
            booking: 0,
            rest_ms: LONG_REST_MS,
        };
        // A regression seed from before these faults existed keeps its former world.
        if regressions::before_later_faults(seed) {
            (config.again, config.busy, config.capacity) = (0, 0, None);
        }
        if !regressions::before_small_worlds(seed) {
            config.draw_later(&mut Rng::of(seed, "config, later", 0));
        }
        if !regressions::before_kills(seed) {
            config.draw_last(&mut Rng::of(seed, "config, kills", 0));
        }
        if !regressions::before_doors(seed) {
            config.draw_doors(&mut Rng::of(seed, "config, doors", 0));
        }
        if !regressions::before_guests(seed) {
            config.draw_guests(&mut Rng::of(seed, "config, guests", 0));
        }
        if !regressions::before_headcounts(seed) {
            let rng = &mut Rng::of(seed, "config, headcounts", 0);
            config.headcounts = if rng.per_mille(300) { 20 + rng.below(200) as u32 } else { 0 };
        }
        config
    }

    /// The event's end: six hours after its beginning, or early enough that its lists expire in this world.
    pub fn ends_at(&self) -> Timestamp {
        let expires_ms = self.expires_ms.unwrap_or(6 * HOUR_MS + limits::MANIFEST_AFTER_END_MS);
        Timestamp::clamped(BEGINNING_MS + expires_ms - limits::MANIFEST_AFTER_END_MS)
    }
    /// The event's beginning.
    pub fn starts_at(&self) -> Timestamp {
        Timestamp::clamped(BEGINNING_MS).min(self.ends_at().plus_ms(-6 * HOUR_MS))
    }
    /// The time when its lists expire; `None` if that is after this world.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.expires_ms.map(|ms| Timestamp::clamped(BEGINNING_MS + ms))
    }

    /// Makes most worlds small: a world with few phones and minutes finds as many bugs in a quarter of the time. Also
    /// draws the chances that a scan is damaged on its way, that a device gets a new key and that a device's storage is
    /// put back to an older copy, and when the lists expire.
    fn draw_later(&mut self, rng: &mut Rng) {
        if rng.per_mille(SMALL) {
            self.orgs = 1 + u64::from(rng.per_mille(250));
            self.devices = 1 + rng.below(2);
            self.tickets = 1 + rng.below(3);
            self.visits = 3 + rng.below(8);
            self.chaos_ms = rng.between(30, 120) * 1_000;
        }
        self.rest_ms = 60_000;
        self.together = if self.quantum_ms > 1 { 600 } else { 0 };
        let mut fault = |most: u32| if rng.per_mille(700) { 0 } else { rng.below(u64::from(most)) as u32 + 1 };
        (self.poison, self.rotate, self.put_back) = (fault(300), fault(200), fault(60));
        self.expires_ms = rng.per_mille(200).then(|| rng.between(0, self.chaos_ms));
    }

    /// Draws the settings about doors: drafts that open, ends while people come, days.
    fn draw_doors(&mut self, rng: &mut Rng) {
        self.modes = ReEntry::ALL;
        let daily = rng.per_mille(250);
        // A day begins while people come.
        self.day_starts_minute = BEGINNING_MINUTE + rng.below(3) as u16;
        if daily {
            self.re_entry = ReEntry::Daily;
        }
        let within = |rng: &mut Rng, chaos_ms: i64| rng.between(0, chaos_ms);
        self.opens_ms = rng.per_mille(200).then(|| within(rng, self.chaos_ms));
        self.ended_ms = rng.per_mille(100).then(|| within(rng, self.chaos_ms));
        self.per_gate = self.re_entry != ReEntry::AfterExit && rng.per_mille(150);
        self.uses = rng.per_mille(150).then(|| 1 + rng.below(6) as u32);
    }
    /// Draws the settings of guests: guests added at the doors, bookings.
    fn draw_guests(&mut self, rng: &mut Rng) {
        if rng.per_mille(300) {
            self.walk_ins = 20 + rng.below(200) as u32;
            self.walk_ins_number = rng.per_mille(600).then(|| rng.below(6) as u32);
        }
        if rng.per_mille(300) {
            self.booking = 2 + rng.below(3);
        }
    }
    /// The order of the ticket with this number; `None` if it has none.
    pub fn order_of(&self, ticket: u64) -> Option<String> {
        (self.booking > 0).then(|| format!("ORDER-{}", ticket / self.booking))
    }
    /// The limits of the only zone.
    pub fn limits(&self) -> ZoneLimits {
        let limits = Limits { re_entry: None, per_gate: self.per_gate, uses: self.uses };
        ZoneLimits::new([("general".to_owned(), limits)].into())
    }
    /// The beginnings of days in a re-entry mode.
    pub fn days(&self, mode: ReEntry) -> Days {
        if mode != ReEntry::Daily {
            return Days::default();
        }
        let (from, to) = (self.starts_at().ms() - DAY_MS, self.ends_at().ms() + DAY_MS);
        let first = from - from.rem_euclid(DAY_MS) + i64::from(self.day_starts_minute) * 60_000;
        let begins = (0..).map(|day| first + day * DAY_MS).skip_while(|begin| *begin < from);
        Days::new(begins.take_while(|begin| *begin <= to).map(Timestamp::clamped).collect())
    }

    /// Draws the newest settings: more kills, batches that are refused whole.
    fn draw_last(&mut self, rng: &mut Rng) {
        let kills = rng.below(4);
        self.kills = if self.server_crash > 0 { kills } else { 0 };
        // A scan that was set apart waits for an hour, so such a world is long.
        self.refuse_whole = if rng.per_mille(40) { rng.below(300) as u32 + 1 } else { 0 };
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { orgs, devices, legacy, tickets, party, re_entry, visits, quantum_ms, .. } = self;
        write!(
            f,
            "{orgs} orgs x {devices}+{legacy} devices, {tickets} tickets to {party}, {re_entry}, {visits} visits"
        )?;
        write!(f, " in {} s", self.chaos_ms / 1_000)?;
        if *quantum_ms > 1 {
            write!(f, ", all moments multiples of {quantum_ms} ms")?;
        }
        if let Some(capacity) = self.capacity {
            write!(f, ", {capacity} an area")?;
        }
        if let Some(expires_ms) = self.expires_ms {
            write!(f, ", lists expire after {} s", expires_ms / 1_000)?;
        }
        let faults = [
            ("drop", self.drop),
            ("duplicate", self.duplicate),
            ("truncate", self.truncate),
            ("captive", self.captive),
            ("offline", self.offline),
            ("crash", self.crash),
            ("clear", self.clear),
            ("disk_full", self.disk_full),
            ("cache_lost", self.cache_lost),
            ("sleep", self.sleep),
            ("clock_step", self.clock_step),
            ("rules", self.rules),
            ("reviews", self.reviews),
            ("revoke", self.revoke),
            ("forge", self.forge),
            ("server_crash", self.server_crash),
            ("kills", self.kills as u32),
            ("again", self.again),
            ("busy", self.busy),
            ("poison", self.poison),
            ("refuse_whole", self.refuse_whole),
            ("rotate", self.rotate),
            ("put_back", self.put_back),
        ];
        for (name, chance) in faults.into_iter().filter(|(_, chance)| *chance > 0) {
            write!(f, ", {name} {chance}")?;
        }
        write!(f, ", delay {} ms, offset {} ms, drift {} ppm", self.delay_ms, self.clock_offset_ms, self.drift_ppm)?;
        if self.restores > 0 {
            write!(f, ", {} restores{}", self.restores, if self.improper { " without the command" } else { "" })?;
        }
        Ok(())
    }
}
