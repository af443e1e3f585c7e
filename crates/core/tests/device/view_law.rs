//! A property of the device's view (spec §4). The view of a ticket at a cursor has two parts. One is the server's sum
//! (the prefix) and its list of scans at that cursor. The other is the device's own scans that have no receipt with a
//! serial at or below it. The view uses the device's rules. The test compares it with `reduce` over generated
//! histories.

use std::collections::BTreeSet;

use admit_core::barcode::BarcodeHash;
use admit_core::event::{Days, EventRules, EventStatus, ReEntry, ZoneLimits};
use admit_core::ids::{DeviceId, EventId, GateId, ScanId, TicketId};
use admit_core::incident::Subject;
use admit_core::reduce::{Resolved, Rules, TicketState, reduce};
use admit_core::rule::{Change, Effective, EventBook, EventChange, Rule, TicketBook, TicketChange};
use admit_core::scan::{Fact, Form, Method, Outcome, Scan, ScanKind, SignatureState, Stage};
use admit_core::sign::content_digest;
use admit_core::time::Timestamp;
use admit_core::view::{Served, fold_view};
use proptest::prelude::*;

use super::phone::EVENING;

/// One scan of a history. Author 0 is this device.
#[derive(Debug, Clone)]
struct Told {
    author: u8,
    at_s: i64,
    kind: ScanKind,
    claim: bool,
    opened: bool,
    count: u32,
    target: usize,
    keep: u32,
    practice: bool,
}

fn told() -> impl Strategy<Value = Told> {
    let kind = prop_oneof![6 => Just(ScanKind::Entry), 2 => Just(ScanKind::Exit), 2 => Just(ScanKind::Revert)];
    // There are few moments, so that equal times are common. Some lie far outside the event.
    let at_s = prop_oneof![12 => 0_i64..40, 1 => Just(90 * 3_600_i64)];
    let stage = (prop::bool::weighted(0.1), prop::bool::weighted(0.8), prop::bool::weighted(0.1));
    (0_u8..3, at_s, kind, stage, 1_u32..4, 0_usize..12, 0_u32..3).prop_map(
        |(author, at_s, kind, (claim, opened, practice), count, target, keep)| Told {
            author,
            at_s: at_s * 60,
            kind,
            claim,
            opened,
            count,
            target,
            keep,
            practice,
        },
    )
}

fn device(author: u8) -> DeviceId {
    DeviceId::new(format!("device-{author}")).unwrap()
}

fn facts(history: &[Told]) -> Vec<Fact> {
    let id = |n: usize| ScanId::new(format!("scan-{n}")).unwrap();
    let scan = |(n, told): (usize, &Told)| Scan {
        form: Form::V2,
        scan_id: id(n),
        device_id: device(told.author),
        log_id: None,
        seq: None,
        prev: None,
        key_id: None,
        event_id: EventId::new("event").unwrap(),
        gate_id: GateId::new("north").unwrap(),
        kind: told.kind,
        stage: if told.claim { Stage::Claim } else { Stage::Final },
        method: Method::Qr,
        barcode_hash: Some(BarcodeHash::of("P-4")),
        raw_hash: None,
        ticket_id: None,
        count: told.count,
        outcome: Outcome::Valid,
        opened: told.opened,
        override_: None,
        walk_in: None,
        headcount: None,
        operator: None,
        target_device: (told.kind == ScanKind::Revert).then(|| device(history[told.target % history.len()].author)),
        target_scan_id: (told.kind == ScanKind::Revert).then(|| id(told.target % history.len())),
        keep: told.keep,
        at: Timestamp::clamped(EVENING + told.at_s * 1_000),
        uncertainty_ms: 10,
        clock: None,
        epoch: None,
        manifest_version: 0,
        cursor: 0,
        practice: told.practice,
        basis: None,
    };
    let fact = |scan: Scan| Fact {
        digest: content_digest(&scan),
        signature: SignatureState::Verified,
        withheld: false,
        offset_seconds: 0,
        received_at: scan.at,
        judged: None,
        scan,
    };
    history.iter().enumerate().map(scan).map(fact).collect()
}

struct World {
    event: EventBook,
    ticket: TicketBook,
    rules: EventRules,
}

fn world(re_entry: ReEntry, limit: u32) -> World {
    let rules = EventRules {
        name: "e".into(),
        starts_at: Timestamp::clamped(EVENING),
        ends_at: Timestamp::clamped(EVENING + 6 * 3_600_000),
        status: EventStatus::Live,
        re_entry,
        min_gap_seconds: 600,
        staff_pin: None,
        opened_at: None,
        days: Days::default(),
        limits: ZoneLimits::default(),
        walk_ins: None,
    };
    let change = TicketChange::First(super::server::ticket(limit));
    let id = TicketId::new("t").unwrap();
    let rule = |change| Rule { serial: 1, ordinal: 0, effective_at: Effective::Start, change };
    let mut ticket = TicketBook::default();
    ticket.add(&rule(Change::Ticket(id, change.clone())), &change);
    let event = EventBook::new(&[rule(Change::Event(EventChange::First(rules.clone())))], Default::default());
    World { event, ticket, rules }
}

fn reduced(world: &World, facts: &[Fact]) -> admit_core::reduce::Reduced {
    let subject = Subject::Ticket(TicketId::new("t").unwrap());
    let resolved: Vec<Resolved> = facts.iter().map(|fact| (subject.clone(), fact.clone())).collect();
    reduce(&subject, Rules { event: &world.event, ticket: Some(&world.ticket), newest: true }, &[], &resolved)
}

fn mode() -> impl Strategy<Value = ReEntry> {
    prop_oneof![Just(ReEntry::Never), Just(ReEntry::AfterGap), Just(ReEntry::AfterExit)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// If the server lists every scan, and sums none up in a prefix, the phone's view is exactly the server's state
    /// over the union of both logs. It does not matter which scans the server has already.
    #[test]
    fn a_devices_view_is_the_servers_state_over_what_both_have(
        history in prop::collection::vec(told(), 1..12),
        mode in mode(),
        limit in 1_u32..5,
        at_server in prop::collection::vec(any::<bool>(), 12),
        acknowledged in prop::collection::vec(any::<bool>(), 12),
    ) {
        let world = world(mode, limit);
        let facts = facts(&history);
        // The server has all scans of other devices that matter here, and some of this device's.
        let server: Vec<Fact> =
            facts.iter().enumerate().filter(|(n, _)| at_server[*n]).map(|(_, fact)| fact.clone()).collect();
        let served = reduced(&world, &server);
        // Own scans without a receipt: either the server lacks them, or its answer was lost.
        let own: Vec<&Scan> = facts
            .iter()
            .enumerate()
            .filter(|(n, fact)| fact.scan.device_id == device(0) && !(at_server[*n] && acknowledged[*n]))
            .map(|(_, fact)| &fact.scan)
            .collect();
        // Own scans that were reverted on the server by another device. The server does not list them, so without a
        // receipt the device cannot know. Until then only this device counts such a scan.
        let unlisted: BTreeSet<&ScanId> = own
            .iter()
            .filter(|scan| server.iter().any(|fact| fact.scan.scan_id == scan.scan_id))
            .filter(|scan| !served.effective.iter().any(|it| it.scan_id == scan.scan_id))
            .map(|scan| &scan.scan_id)
            .collect();
        prop_assume!(unlisted.iter().all(|id| own.iter().any(|scan| {
            scan.scan_id == **id && (!scan.opened || scan.stage == Stage::Claim || scan.kind == ScanKind::Revert)
        })));
        // A revert whose target is missing affects later scans only where the device has both of them.
        let lone = |fact: &Fact| {
            let target = &fact.scan.target_scan_id;
            fact.scan.kind == ScanKind::Revert
                && own.iter().any(|scan| Some(&scan.scan_id) == target.as_ref())
                && !own.iter().any(|scan| scan.scan_id == fact.scan.scan_id)
        };
        prop_assume!(!server.iter().any(lone));
        let union: Vec<Fact> = facts
            .iter()
            .filter(|fact| {
                server.iter().any(|held| held.scan.scan_id == fact.scan.scan_id)
                    || own.iter().any(|scan| scan.scan_id == fact.scan.scan_id)
            })
            .cloned()
            .collect();
        let expected = reduced(&world, &union).state;
        let ticket = super::server::ticket(limit);
        let none = TicketState::default();
        let served = Served { prefix: &none, scans: &served.effective };
        let seen = fold_view(&world.rules, Some(&ticket), served, &own);
        prop_assert_eq!(seen, expected);
    }

    /// If the server sums older scans up in a prefix, the phone's view still equals the server's state for own scans
    /// later than the prefix. Older own scans count right after the prefix.
    #[test]
    fn a_folded_prefix_changes_nothing_for_scans_after_it(
        history in prop::collection::vec(told(), 2..12),
        mode in mode(),
        limit in 1_u32..5,
        cut in 0_usize..8,
    ) {
        let world = world(mode, limit);
        let facts: Vec<Fact> = facts(&history).into_iter().filter(|fact| fact.scan.kind != ScanKind::Revert).collect();
        let (own, server): (Vec<Fact>, Vec<Fact>) =
            facts.iter().cloned().partition(|fact| fact.scan.device_id == device(0));
        let served = reduced(&world, &server);
        let cut = cut.min(served.effective.len());
        let old: Vec<Fact> = server
            .iter()
            .filter(|fact| served.effective[..cut].iter().any(|it| it.scan_id == fact.scan.scan_id))
            .cloned()
            .collect();
        let prefix = reduced(&world, &old).state;
        let ticket = super::server::ticket(limit);
        let end = served.effective[..cut].last().map(|it| (it.implausible, it.at, it.device_id.clone(), it.scan_id.clone()));
        let implausible = |at| admit_core::reduce::implausible(Some(&world.rules), at);
        let after = own.iter().all(|fact| {
            let scan = &fact.scan;
            let place = (implausible(scan.at), scan.at, scan.device_id.clone(), scan.scan_id.clone());
            end.as_ref().is_none_or(|end| place > *end)
        });
        let own: Vec<&Scan> = own.iter().map(|fact| &fact.scan).collect();
        let seen = fold_view(&world.rules, Some(&ticket), Served { prefix: &prefix, scans: &served.effective[cut..] }, &own);
        if after {
            prop_assert_eq!(&seen, &reduced(&world, &facts).state);
        }
        // No person is lost or invented in any case. The event is live, so no practice scan lets anybody in.
        let persons: u32 = facts
            .iter()
            .filter(|fact| fact.scan.kind == ScanKind::Entry && fact.opened() && !fact.scan.practice)
            .map(|fact| fact.scan.count)
            .sum();
        prop_assert_eq!(seen.persons(), persons);
    }
}

#[test]
fn an_own_scan_with_a_receipt_at_or_below_the_cursor_is_the_servers_alone() {
    let mut server = super::server::Server::new();
    let mut phone = super::phone::Phone::ready(1, &mut server);
    phone.scan("A-1");
    let rows = |phone: &super::phone::Phone| phone.scans().len();
    phone.pass_online(&mut server, 7_000);
    // A person excludes the scan: it does not count any more, and the server does not list it any more.
    server.stored.clear();
    server.serial += 1;
    server.changed.insert(TicketId::new("t-A-1").unwrap(), server.serial);
    let id = TicketId::new("t-A-1").unwrap();
    server.rules.push(Rule {
        serial: server.serial,
        ordinal: 0,
        effective_at: Effective::Start,
        change: Change::Ticket(id, TicketChange::EntryLimit(1)),
    });
    server.version = server.serial;
    phone.pass_online(&mut server, 3_000);
    phone.pass(61_000);
    assert_eq!(phone.screen("A-1"), admit_core::decide::Screen::Admit, "{} scans", rows(&phone));
}
