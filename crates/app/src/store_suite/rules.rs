//! The contracts about rules as facts.

use admit_core::event::{Days, EventRules, EventStatus, ReEntry, StaffPin, ZoneLimits};
use admit_core::gate::{Direction, EntryRule, GateRules};
use admit_core::rule::{Change, DeviceChange, Effective, EventBook, EventChange, GateChange, Rule, TicketChange, When};
use admit_core::ticket::TicketStatus;

use super::fixture::{
    TestStore, at, event, hash, id, look, make_event, on_event, scope, ticket, with_event, with_organization,
};
use crate::error::{Error, Result};
use crate::ports::{Tx, write};

fn rules_at(serial: u64, changes: Vec<(Effective, Change)>) -> Vec<Rule> {
    let rule = |(ordinal, (effective_at, change)): (usize, (Effective, Change))| Rule {
        serial,
        ordinal: ordinal as u32,
        effective_at,
        change,
    };
    changes.into_iter().enumerate().map(rule).collect()
}
fn put(tx: &mut dyn Tx, changes: Vec<(Effective, Change)>) -> Result<Vec<Rule>> {
    let stamp = tx.stamp(&id("e"))?;
    let rules = rules_at(stamp.serial, changes);
    tx.insert_rules(&id("e"), &rules)?;
    Ok(rules)
}
fn every_kind() -> Vec<(Effective, Change)> {
    let event = EventRules {
        name: "Fête".into(),
        starts_at: at(1_000),
        ends_at: at(2_000),
        status: EventStatus::Draft,
        re_entry: ReEntry::AfterGap,
        min_gap_seconds: 60,
        staff_pin: Some(StaffPin { salt: [1; 16], hash: hash(2), iterations: 3 }),
        opened_at: None,
        days: Days::default(),
        limits: ZoneLimits::default(),
        walk_ins: None,
    };
    let gate = GateRules {
        name: "North".into(),
        zones: vec!["vip".into(), "general".into()],
        direction: Direction::Both,
        capacity: Some(20),
        names_on_devices: true,
        walk_ins: false,
        entry_rules: EntryRule::ALL.to_vec(),
    };
    vec![
        (Effective::Start, Change::Event(EventChange::First(event))),
        (Effective::Start, Change::Gate(id("north"), GateChange::First(gate))),
        (Effective::Start, Change::Ticket(id("t1"), TicketChange::First(ticket("e", "t1").rules))),
        (Effective::Start, Change::Ticket(id("t2"), TicketChange::First(ticket("e", "t2").rules))),
        (
            Effective::At(at(5)),
            Change::Device(id("d1"), DeviceChange::Assignment { event_id: id("e"), gate_id: id("north") }),
        ),
        (Effective::At(at(6)), Change::Device(id("d1"), DeviceChange::LostSince(Some(at(7))))),
        (Effective::At(at(8)), Change::Ticket(id("t1"), TicketChange::Status(TicketStatus::Refunded))),
    ]
}

/// `load_rules` returns the rules as `insert_rules` stored them: those of the event in its `EventBook`, and those of
/// the given tickets.
pub async fn rules_come_back_as_they_were_made(store: TestStore) {
    with_event(&store).await;
    let rules = on_event(&store, |tx| put(tx, every_kind())).await.unwrap();
    let loaded = look(&store, |tx| tx.load_rules(&id("e"), &[id("t1"), id("missing")])).await;
    let of_t1: Vec<Rule> = rules
        .iter()
        .filter(|rule| matches!(&rule.change, Change::Ticket(ticket_id, _) if ticket_id.as_str() == "t1"))
        .cloned()
        .collect();
    assert_eq!(loaded.tickets, of_t1);
    let expected = EventBook::new(&rules, loaded.book.epochs.clone());
    assert_eq!(*loaded.book, expected);
    assert!(loaded.book.event(When::Newest).is_some() && loaded.book.gate(&id("north"), When::Newest).is_some());
}

/// `rules_serial` returns the serial of the newest rule, which is the list's version. `event_rules_serial` returns that
/// of the newest rule of the event, its gates or its devices. `reducer_version` returns the number that
/// `set_reducer_version` stored, and 0 before the first call.
pub async fn versions_follow_what_changed(store: TestStore) {
    with_event(&store).await;
    let versions = |store: TestStore| async move {
        look(&store, |tx| Ok((tx.rules_serial(&id("e"))?, tx.event_rules_serial(&id("e"))?))).await
    };
    assert_eq!(versions(store.clone()).await, (0, 0));
    on_event(&store, |tx| put(tx, every_kind()).map(|_| ())).await.unwrap();
    assert_eq!(versions(store.clone()).await, (1, 1));
    on_event(&store, |tx| tx.stamp(&id("e")).map(|_| ())).await.unwrap();
    assert_eq!(versions(store.clone()).await, (1, 1));
    let void = || vec![(Effective::Start, Change::Ticket(id("t1"), TicketChange::Status(TicketStatus::Voided)))];
    on_event(&store, move |tx| put(tx, void()).map(|_| ())).await.unwrap();
    assert_eq!(versions(store.clone()).await, (3, 1));
    let rename = || vec![(Effective::Start, Change::Gate(id("north"), GateChange::Name("N".into())))];
    on_event(&store, move |tx| put(tx, rename()).map(|_| ())).await.unwrap();
    assert_eq!(versions(store.clone()).await, (4, 4));
    assert_eq!(look(&store, |tx| tx.reducer_version(&id("e"))).await, 0);
    on_event(&store, |tx| tx.set_reducer_version(&id("e"), 7)).await.unwrap();
    assert_eq!(look(&store, |tx| tx.reducer_version(&id("e"))).await, 7);
}

/// If several writes share a transaction, `load_rules` in each write returns the rules that the successful writes
/// before it stored. A write that failed leaves no rule behind.
pub async fn each_write_reads_the_rules_of_those_before_it(store: TestStore) {
    with_event(&store).await;
    on_event(&store, |tx| put(tx, every_kind()).map(|_| ())).await.unwrap();
    let writes = (0..30).map(|n| {
        let store = store.clone();
        async move {
            on_event(&store, move |tx| {
                let name = |tx: &mut dyn Tx| {
                    let gate = tx.load_rules(&id("e"), &[])?.book.gate(&id("north"), When::Newest);
                    Ok::<_, Error>(gate.map(|gate| gate.name))
                };
                let before = name(tx)?;
                let renamed = format!("N{n}");
                if n % 3 > 0 {
                    let change = Change::Gate(id("north"), GateChange::Name(renamed.clone()));
                    let stamp = tx.stamp(&id("e"))?;
                    put(tx, vec![(Effective::At(stamp.effective_at), change)])?;
                    assert_eq!(name(tx)?, Some(renamed));
                }
                if n % 3 == 1 { Err(Error::not_found("it")) } else { Ok((tx.stamp(&id("e"))?.serial, n, before)) }
            })
            .await
        }
    });
    let done = futures_util::future::join_all(writes).await;
    let mut done: Vec<_> = done.into_iter().filter_map(Result::ok).collect();
    done.sort();
    assert_eq!(done.len(), 20, "every third failed, and kept nothing");
    let mut held = Some("North".to_owned());
    for (_, n, before) in done {
        assert_eq!(before, held, "{n}");
        if n % 3 == 2 {
            held = Some(format!("N{n}"));
        }
    }
}

/// `insert_rules` fails with `Bug` for a rule whose serial is not the one that `stamp` gave to the write.
pub async fn rules_need_the_writes_own_place(store: TestStore) {
    with_event(&store).await;
    let no_place = on_event(&store, |tx| tx.insert_rules(&id("e"), &rules_at(1, every_kind()))).await;
    assert!(matches!(no_place, Err(Error::Bug(_))), "{no_place:?}");
    let wrong = on_event(&store, |tx| {
        let stamp = tx.stamp(&id("e"))?;
        tx.insert_rules(&id("e"), &rules_at(stamp.serial + 1, every_kind()))
    })
    .await;
    assert!(matches!(wrong, Err(Error::Bug(_))), "{wrong:?}");
    assert_eq!(look(&store, |tx| tx.head(&id("e"))).await.serial, 0);
}

/// `assignments` returns the rules that assigned a device, of every event of its organisation, with their moments. It
/// returns no other rules, and none of another organisation.
pub async fn a_devices_assignments_come_from_every_event(store: TestStore) {
    with_event(&store).await;
    make_event(&store, "o", event("f", 4_000)).await;
    with_organization(&store, "other").await;
    make_event(&store, "other", event("e", 3_000)).await;
    let assign = |device: &str, event: &str| {
        let assignment = DeviceChange::Assignment { event_id: id(event), gate_id: id("north") };
        Change::Device(id(device), assignment)
    };
    let mut made = Vec::new();
    for (organization, name, effective_at, device) in [
        ("o", "e", Effective::Start, "d1"),
        ("o", "f", Effective::At(at(50)), "d1"),
        ("o", "f", Effective::Start, "d2"),
        ("other", "e", Effective::Start, "d1"),
    ] {
        let change = assign(device, name);
        let lost = Change::Device(id(device), DeviceChange::LostSince(None));
        let rules = write(&*store, scope(organization, name), move |tx| {
            let stamp = tx.stamp(&id(name))?;
            let rules = rules_at(stamp.serial, vec![(effective_at, change.clone()), (effective_at, lost.clone())]);
            tx.insert_rules(&id(name), &rules)?;
            Ok(rules)
        });
        made.push(rules.await.unwrap().remove(0));
    }
    let mut found = look(&store, |tx| tx.assignments(&id("d1"))).await;
    found.sort_by_key(|rule| rule.effective_at);
    assert_eq!(found, made[..2]);
    assert!(look(&store, |tx| tx.assignments(&id("d3"))).await.is_empty());
}
