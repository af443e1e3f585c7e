//! `decide` as a table, in the order of S1 §9.1 and the checks that S1 lacks, and the map from (outcome, reason) to a
//! screen.

use admit_core::decide::{Advice, LastEntry, Question, Reason, Screen, Standing, Verdict, decide, screen};
use admit_core::event::{Days, EventRules, EventStatus, Limits, ReEntry, ZoneLimits};
use admit_core::gate::{Direction, EntryRule, GateRules};
use admit_core::scan::{Outcome, ScanKind};
use admit_core::ticket::{TicketRules, TicketStatus};

use crate::case::{at, device, gate};

/// Everything that one decision depends on. It begins as a good ticket at a good gate.
#[derive(Clone)]
struct Door {
    event: EventRules,
    ticket: Option<TicketRules>,
    standing: Standing,
    gate_id: &'static str,
    gate: Option<GateRules>,
    kind: ScanKind,
    time: &'static str,
    area_inside: u32,
}

fn door() -> Door {
    Door {
        event: EventRules {
            name: "Fest".into(),
            starts_at: at("18:00"),
            ends_at: at("26:00"),
            status: EventStatus::Live,
            re_entry: ReEntry::Never,
            min_gap_seconds: 300,
            staff_pin: None,
            opened_at: None,
            days: Days::default(),
            limits: ZoneLimits::default(),
            walk_ins: None,
        },
        ticket: Some(TicketRules {
            status: TicketStatus::Active,
            entry_limit: 2,
            gate_ids: vec![],
            zone: "general".into(),
            valid_from: Some(at("18:00")),
            expires_at: Some(at("22:00")),
        }),
        standing: Standing::default(),
        gate_id: "north",
        gate: Some(GateRules {
            name: "North".into(),
            zones: vec!["general".into()],
            direction: Direction::In,
            capacity: Some(100),
            names_on_devices: false,
            walk_ins: false,
            entry_rules: vec![EntryRule::CheckTicketValid, EntryRule::CheckNotDuplicate],
        }),
        kind: ScanKind::Entry,
        time: "19:00",
        area_inside: 0,
    }
}

impl Door {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
    fn ticket(self, change: impl FnOnce(&mut TicketRules)) -> Self {
        self.with(|door| change(door.ticket.as_mut().unwrap()))
    }
    fn say(&self) -> Verdict {
        decide(Question {
            event: &self.event,
            ticket: self.ticket.as_ref(),
            standing: &self.standing,
            gate_id: &gate(self.gate_id),
            gate: self.gate.as_ref(),
            at: at(self.time),
            kind: self.kind,
            area_inside: self.area_inside,
        })
    }
}

// Each of these functions makes one fault, in the order in which S1 §9.1 checks for them.
fn unknown(door: Door) -> Door {
    door.with(|door| door.ticket = None)
}
fn status(door: Door) -> Door {
    door.ticket(|ticket| ticket.status = TicketStatus::Refunded)
}
fn wrong_gate(door: Door) -> Door {
    door.ticket(|ticket| ticket.gate_ids = vec![gate("south")])
}
fn used_up(door: Door) -> Door {
    door.with(|door| (door.standing.used, door.standing.spent) = (2, 2))
}
fn too_late(door: Door) -> Door {
    door.with(|door| door.time = "22:00")
}

#[test]
fn the_first_fault_in_order_is_the_one_that_is_named() {
    type Fault = fn(Door) -> Door;
    let table: [(Fault, Outcome, Reason); 5] = [
        (unknown, Outcome::Invalid, Reason::UnknownCode),
        (status, Outcome::Invalid, Reason::TicketRefunded),
        (wrong_gate, Outcome::GateAccessDenied, Reason::WrongGate),
        (used_up, Outcome::Duplicate, Reason::AlreadyScanned),
        (too_late, Outcome::Expired, Reason::Expired),
    ];
    for first in 0..table.len() {
        // The door has this fault and every later one: the result names the earliest. `unknown` is made last, as it
        // removes the ticket.
        let faulty = (first..table.len())
            .rev()
            .fold(door(), |door, i| if i > 0 || door.ticket.is_some() { table[i].0(door) } else { door });
        let (_, outcome, reason) = table[first];
        let said = faulty.say();
        assert_eq!((said.outcome, said.reason, said.may_admit), (outcome, Some(reason), 0));
    }
    let good = door().say();
    assert_eq!((good.outcome, good.reason, good.may_admit), (Outcome::Valid, None, 2));
}

#[test]
fn each_status_has_its_reason() {
    for (set, reason) in [
        (TicketStatus::Active, None),
        (TicketStatus::Voided, Some(Reason::TicketVoided)),
        (TicketStatus::Refunded, Some(Reason::TicketRefunded)),
        (TicketStatus::Used, Some(Reason::TicketAlreadyUsed)),
    ] {
        assert_eq!(door().ticket(|ticket| ticket.status = set).say().reason, reason);
    }
}

#[test]
fn gate_ids_if_any_decide_alone_else_the_gates_zones_must_hold_the_tickets() {
    let outcome = |door: Door| door.say().outcome;
    let listed = door().ticket(|ticket| (ticket.gate_ids, ticket.zone) = (vec![gate("north")], "vip".into()));
    assert_eq!(outcome(listed.clone()), Outcome::Valid, "its zone does not matter");
    assert_eq!(outcome(listed.with(|door| door.gate = None)), Outcome::Valid, "nor that the gate is unknown here");
    assert_eq!(outcome(door().ticket(|ticket| ticket.zone = "vip".into())), Outcome::GateAccessDenied);
    assert_eq!(outcome(door().with(|door| door.gate = None)), Outcome::GateAccessDenied);
    let no_zone = door().with(|door| door.gate.as_mut().unwrap().zones.clear());
    assert_eq!(outcome(no_zone), Outcome::GateAccessDenied);
}

#[test]
fn a_duplicate_says_where_when_and_which_device() {
    let last = LastEntry { at: at("18:30"), gate_id: gate("south"), device_id: device("b") };
    let said = door()
        .with(|door| door.standing = Standing { used: 2, spent: 2, inside: 2, last_entry: Some(last.clone()) })
        .say();
    assert_eq!((said.outcome, said.last_entry), (Outcome::Duplicate, Some(last)));
}

#[test]
fn with_a_gap_the_reason_is_that_it_has_not_passed() {
    let gap = used_up(door().with(|door| door.event.re_entry = ReEntry::AfterGap));
    assert_eq!(gap.say().reason, Some(Reason::TooSoon));
}

#[test]
fn valid_says_how_many_persons_are_still_free() {
    for (used, free) in [(0, 2), (1, 1)] {
        assert_eq!(door().with(|door| door.standing.used = used).say().may_admit, free);
    }
    let beyond = door().with(|door| door.standing.used = 7).say();
    assert_eq!((beyond.outcome, beyond.may_admit), (Outcome::Duplicate, 0));
}

#[test]
fn the_window_is_open_at_its_end_and_absent_bounds_bind_nothing() {
    for (time, reason) in
        [("17:59:59", Some(Reason::NotYetValid)), ("18:00", None), ("21:59:59", None), ("22:00", Some(Reason::Expired))]
    {
        assert_eq!(door().with(|door| door.time = time).say().reason, reason, "{time}");
    }
    let open = door().ticket(|ticket| (ticket.valid_from, ticket.expires_at) = (None, None));
    for time in ["0:00", "99:00"] {
        assert_eq!(open.clone().with(|door| door.time = time).say().outcome, Outcome::Valid);
    }
}

/// Decision 034: the check whether the event is over comes after those of code and status, and before that of the gate.
/// Exits still work.
#[test]
fn an_event_that_is_over_lets_nobody_in_and_everybody_out() {
    for status_of in [EventStatus::Ended, EventStatus::Archived] {
        let ended = || door().with(|door| door.event.status = status_of);
        let said = ended().say();
        assert_eq!((said.outcome, said.reason, said.may_admit), (Outcome::Expired, Some(Reason::EventEnded), 0));
        assert_eq!(unknown(ended()).say().reason, Some(Reason::UnknownCode));
        assert_eq!(status(ended()).say().reason, Some(Reason::TicketRefunded));
        assert_eq!(wrong_gate(used_up(ended())).say().reason, Some(Reason::EventEnded));
        let leaving = ended().with(|door| (door.kind, door.standing.inside) = (ScanKind::Exit, 1)).say();
        assert_eq!((leaving.outcome, leaving.may_admit), (Outcome::Valid, 1));
    }
    let draft = door().with(|door| door.event.status = EventStatus::Draft).say();
    assert_eq!((draft.outcome, draft.may_admit), (Outcome::Valid, 2), "practice shows what the night will");
}

#[test]
fn the_reason_of_a_duplicate_says_what_was_used_up() {
    for (mode, reason) in [
        (ReEntry::Never, Reason::AlreadyScanned),
        (ReEntry::AfterExit, Reason::AlreadyScanned),
        (ReEntry::AfterGap, Reason::TooSoon),
        (ReEntry::Daily, Reason::AlreadyToday),
    ] {
        assert_eq!(used_up(door()).with(|door| door.event.re_entry = mode).say().reason, Some(reason), "{mode}");
    }
    let with =
        |limits: Limits| door().with(|door| door.event.limits = ZoneLimits::new([("general".into(), limits)].into()));
    let at_gate = used_up(with(Limits { per_gate: true, ..Limits::default() }));
    assert_eq!(at_gate.say().reason, Some(Reason::AlreadyAtGate));
    let spent = |uses| used_up(with(Limits { uses: Some(uses), ..Limits::default() }));
    assert_eq!((spent(2).say().reason, spent(3).say().reason), (Some(Reason::UsesSpent), Some(Reason::AlreadyScanned)));
    let one_left = with(Limits { uses: Some(3), ..Limits::default() }).with(|door| door.standing.spent = 2);
    assert_eq!(one_left.say().may_admit, 1, "of two who are asked for, the ticket has one entry left");
}

#[test]
fn an_exit_asks_only_unknown_status_and_gate() {
    let exit = || door().with(|door| door.kind = ScanKind::Exit);
    assert_eq!(unknown(exit()).say().reason, Some(Reason::UnknownCode));
    assert_eq!(status(exit()).say().reason, Some(Reason::TicketRefunded));
    assert_eq!(wrong_gate(exit()).say().reason, Some(Reason::WrongGate));
    let leaving = too_late(used_up(exit())).with(|door| door.standing.inside = 2).say();
    assert_eq!((leaving.outcome, leaving.may_admit), (Outcome::Valid, 2));
}

#[test]
fn a_gates_entry_rules_switch_their_checks_off() {
    let only = |rules: &[EntryRule]| {
        let rules = rules.to_vec();
        door().with(|door| door.gate.as_mut().unwrap().entry_rules = rules)
    };
    let no_duplicates = used_up(only(&[EntryRule::CheckTicketValid]));
    assert_eq!((no_duplicates.say().outcome, no_duplicates.say().may_admit), (Outcome::Valid, 2));
    assert_eq!(status(only(&[EntryRule::CheckNotDuplicate])).say().outcome, Outcome::Valid);
    assert_eq!(too_late(only(&[EntryRule::CheckNotDuplicate])).say().outcome, Outcome::Valid);
    assert_eq!(wrong_gate(only(&[])).say().outcome, Outcome::GateAccessDenied, "the gate itself is always asked");
}

#[test]
fn capacity_only_adds_advice() {
    // The ticket admits two. If there is room for one only, staff must hear so before the first goes in.
    for (inside, places_left) in [(98, None), (99, Some(1)), (100, Some(0)), (101, Some(0))] {
        let said = door().with(|door| door.area_inside = inside).say();
        let advice = places_left.map(|_| Advice::AreaFull);
        assert_eq!((said.outcome, said.advice, said.may_admit), (Outcome::Valid, advice, 2), "{inside}");
        assert_eq!(said.places_left, places_left, "{inside}");
    }
    assert_eq!(used_up(door()).with(|door| door.area_inside = 100).say().advice, None);
}

#[test]
fn every_outcome_and_reason_has_its_screen() {
    let verdict = |outcome, reason, advice| Verdict { outcome, reason, advice, ..Verdict::valid(1) };
    let (entry, exit) = (ScanKind::Entry, ScanKind::Exit);
    let full = Some(Advice::AreaFull);
    let table = [
        (Outcome::Valid, None, None, entry, false, false, Screen::Admit),
        (Outcome::Valid, None, None, entry, true, false, Screen::AdmitParty),
        (Outcome::Valid, None, None, entry, true, true, Screen::Check),
        (Outcome::Valid, None, full, entry, true, true, Screen::Full),
        (Outcome::Valid, None, None, exit, true, true, Screen::Exit),
        (Outcome::Duplicate, Some(Reason::AlreadyScanned), None, entry, false, false, Screen::AlreadyIn),
        (Outcome::Duplicate, Some(Reason::TooSoon), None, entry, true, true, Screen::AlreadyIn),
        (Outcome::GateAccessDenied, Some(Reason::WrongGate), None, entry, false, false, Screen::WrongPlace),
        (Outcome::GateAccessDenied, Some(Reason::WrongGate), None, exit, false, false, Screen::WrongPlace),
        (Outcome::Expired, Some(Reason::Expired), None, entry, false, false, Screen::WrongTime),
        (Outcome::Expired, Some(Reason::NotYetValid), None, entry, false, false, Screen::WrongTime),
        (Outcome::Expired, Some(Reason::EventEnded), None, entry, true, true, Screen::Ended),
        (Outcome::Duplicate, Some(Reason::UsesSpent), None, entry, false, false, Screen::AlreadyIn),
        (Outcome::Duplicate, Some(Reason::AlreadyAtGate), None, entry, false, false, Screen::AlreadyIn),
        (Outcome::Duplicate, Some(Reason::AlreadyToday), None, entry, false, false, Screen::AlreadyIn),
        (Outcome::Invalid, Some(Reason::UnknownCode), None, entry, false, true, Screen::NotInList),
        (Outcome::Invalid, Some(Reason::UnknownCode), None, exit, false, false, Screen::NotInList),
        (Outcome::Invalid, Some(Reason::TicketVoided), None, entry, false, false, Screen::Refuse),
        (Outcome::Invalid, Some(Reason::TicketRefunded), None, entry, true, true, Screen::Refuse),
        (Outcome::Invalid, Some(Reason::TicketAlreadyUsed), None, exit, false, false, Screen::Refuse),
    ];
    for (outcome, reason, advice, kind, party, flagged, expected) in table {
        let said = screen(&verdict(outcome, reason, advice), kind, party, flagged);
        assert_eq!(said, expected, "{outcome} {reason:?} {kind}");
    }
}
