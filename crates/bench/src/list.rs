//! Makes a list of tickets that resembles a real event's. The same number of tickets always gives the same list.

use admit_core::barcode::BarcodeHash;
use admit_core::event::{Days, DoorSettings, EventRules, EventStatus, ReEntry, ZoneLimits};
use admit_core::gate::{Direction, EntryRule, GateRules};
use admit_core::ids::{EventId, GateId, OrganizationId, TicketId, uuid_v4};
use admit_core::manifest::{Code, Input};
use admit_core::ticket::{TicketRules, TicketStatus};
use admit_core::time::Timestamp;
use anyhow::Result;

/// The time at which all scans happen, in milliseconds since 1970. Only measurements about the clock use other times.
pub const NOON_MS: i64 = 1_780_000_000_000;
const HOUR_MS: i64 = 3_600_000;

/// A small generator of numbers that look random and repeat for the same seed (splitmix64).
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next_u64() % end.max(1) as u64) as usize
    }
    /// A UUID v4, as tokens and ids of the product are.
    pub fn uuid(&mut self) -> String {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.next_u64().to_le_bytes());
        bytes[8..].copy_from_slice(&self.next_u64().to_le_bytes());
        uuid_v4(bytes)
    }
}

/// One ticket of a [`List`].
#[derive(Debug, Clone)]
pub struct Ticket {
    /// The text of its code.
    pub text: String,
    /// The hash of the code's text.
    pub hash: BarcodeHash,
    /// The ticket's id.
    pub ticket_id: TicketId,
    /// The index of its rules in [`List::rules`].
    pub class: usize,
}

/// An event with its tickets, in memory.
#[derive(Debug, Clone)]
pub struct List {
    /// The organisation that the list belongs to.
    pub organization_id: OrganizationId,
    /// The event of the list.
    pub event_id: EventId,
    /// The event's rules.
    pub event: EventRules,
    /// The event's settings for devices that are not rules.
    pub door: DoorSettings,
    /// The event's only gate, with its rules.
    pub gates: Vec<(GateId, GateRules)>,
    /// The kinds of tickets. Nine of ten tickets have the first, which admits one person. The others are for parties or
    /// VIPs, are voided, or expire before the event ends.
    pub rules: Vec<TicketRules>,
    /// The tickets, in no order.
    pub tickets: Vec<Ticket>,
}

impl List {
    /// Makes an event with `count` tickets.
    pub fn new(count: usize) -> Result<List> {
        let mut random = Random(count as u64);
        let rules = classes();
        let tickets = (0..count).map(|_| {
            let text = random.uuid();
            let class = if random.below(10) == 0 { 1 + random.below(rules.len() - 1) } else { 0 };
            let ticket_id = TicketId::new(random.uuid())?;
            Ok(Ticket { hash: BarcodeHash::of(&text), text, ticket_id, class })
        });
        let tickets = tickets.collect::<Result<Vec<_>>>()?;
        Ok(List {
            organization_id: OrganizationId::new(random.uuid())?,
            event_id: EventId::new(random.uuid())?,
            event: EventRules {
                name: "A night to measure".to_owned(),
                starts_at: Timestamp::clamped(NOON_MS - 2 * HOUR_MS),
                ends_at: Timestamp::clamped(NOON_MS + 10 * HOUR_MS),
                status: EventStatus::Live,
                re_entry: ReEntry::Never,
                min_gap_seconds: 300,
                staff_pin: None,
                opened_at: None,
                days: Days::default(),
                limits: ZoneLimits::default(),
                walk_ins: None,
            },
            door: DoorSettings::default(),
            gates: vec![(GateId::new("north")?, gate())],
            rules,
            tickets,
        })
    }

    /// The tickets' codes, in the form that the builders of lists take.
    pub fn codes(&self) -> Vec<Code<'_>> {
        let code = |ticket: &'_ Ticket| (ticket.hash, ticket.class);
        let all = self.tickets.iter().map(|ticket| (code(ticket), &ticket.ticket_id));
        all.map(|((hash, class), ticket_id)| Code { hash, ticket_id, rules: &self.rules[class], group: None }).collect()
    }

    /// The input of the builders of lists.
    pub fn input<'a>(&'a self, codes: &'a [Code<'a>]) -> Input<'a> {
        let Self { organization_id, event_id, event, door, gates, .. } = self;
        Input { organization_id, event_id, event, door, version: 7, gates, codes }
    }
}

fn gate() -> GateRules {
    GateRules {
        name: "North".to_owned(),
        zones: vec!["general".to_owned(), "vip".to_owned()],
        direction: Direction::In,
        capacity: None,
        names_on_devices: false,
        walk_ins: false,
        entry_rules: EntryRule::ALL.to_vec(),
    }
}

fn classes() -> Vec<TicketRules> {
    let plain = TicketRules {
        status: TicketStatus::Active,
        entry_limit: 1,
        gate_ids: Vec::new(),
        zone: "general".to_owned(),
        valid_from: None,
        expires_at: None,
    };
    let party = |persons| TicketRules { entry_limit: persons, ..plain.clone() };
    vec![
        plain.clone(),
        party(2),
        party(4),
        TicketRules { zone: "vip".to_owned(), ..plain.clone() },
        TicketRules { status: TicketStatus::Voided, ..plain.clone() },
        TicketRules { expires_at: Some(Timestamp::clamped(NOON_MS + HOUR_MS)), ..plain.clone() },
    ]
}
