//! The contracts about derived rows: states, verdicts, counters, changes.

use admit_core::occupancy::{GateFlow, Occupancy, Recount, WithoutTicket};
use admit_core::reduce::{EffectiveScan, Entry, ScanVerdict, TicketState};
use admit_core::scan::{Digest, Headcount, Outcome, PersonClass, ScanKind};

use super::fixture::{TestStore, at, code, id, look, on_event, ticket, with_event, with_tickets};
use crate::error::{Error, Result};
use crate::ports::{TicketFilter, Tx};
use crate::records::{Flows, MinuteFlow, Page, StateRecord, TicketRecord};

/// A subject's state in which one person is inside.
pub fn state(subject: &str, serial: u64) -> StateRecord {
    let entry = Entry {
        at: at(1_500_000_000),
        uncertainty_ms: 40,
        device_id: id("d1"),
        scan_id: id("s1"),
        gate_id: id("north"),
        within: 1,
        over: 0,
    };
    let effective = EffectiveScan {
        device_id: id("d1"),
        scan_id: id("s1"),
        at: at(1_500_000_000),
        uncertainty_ms: 40,
        implausible: false,
        kind: ScanKind::Entry,
        count: 1,
        opened: true,
        gate_id: id("north"),
        s2: false,
        claim: true,
    };
    StateRecord {
        subject_key: subject.into(),
        state: TicketState { within: 1, inside_within: 1, entries: vec![entry], ..TicketState::default() },
        effective: vec![effective],
        occupancy: counters(1, &[("north", 1, 0)]),
        serial,
    }
}
/// Every state of the event that has scans, in order of subject.
pub fn all_states(tx: &mut dyn Tx) -> Result<Vec<StateRecord>> {
    let subjects = tx.subjects_with_states(&id("e"))?;
    tx.states(&id("e"), &subjects)
}
/// A verdict of a scan that let one person in.
pub fn verdict(scan_id: &str, ticket: &str) -> ScanVerdict {
    ScanVerdict {
        device_id: id("d1"),
        scan_id: id(scan_id),
        digest: Some(Digest(code(ticket).0)),
        at: at(1_500_000_000),
        implausible: false,
        gate_id: id("north"),
        kind: ScanKind::Entry,
        left_out: None,
        outcome: Outcome::Valid,
        reason: None,
        opened: true,
        count: 1,
        within: 1,
        over: 0,
        exited: 0,
        exited_over: 0,
        conflict: false,
        conflict_reason: None,
        admitted_in_error: false,
        refused_in_error: false,
        basis_mismatch: false,
        headcount: None,
    }
}
fn counters(sign: i64, gates: &[(&str, i64, i64)]) -> Occupancy {
    Occupancy {
        inside: sign * 3,
        inside_over: sign * 5,
        entered: sign * 4,
        over: sign,
        exited: sign,
        subjects: sign * 2,
        walk_ins: sign * 6,
        without_ticket: WithoutTicket { staff: sign * 7, crew: sign * -8, child: sign * 9, other: sign * 10 },
        gates: gates
            .iter()
            .map(|(gate, entered, exited)| {
                (id(gate), GateFlow { entered: *entered, exited: *exited, without_ticket: 2 * *exited })
            })
            .collect(),
    }
}

/// `put_states` replaces state and verdicts of a subject. `states` and `verdicts` return the newest, and
/// nothing for a subject whose state has no scans. `resolve_codes` returns whether the ticket of a code has scans.
/// `changed_tickets` returns each ticket at the serial of its newest state, and `update_tickets` does not change that.
pub async fn states_are_replaced_whole(store: TestStore) {
    with_event(&store).await;
    with_tickets(&store, &["t1", "t2"]).await;
    let unknown = admit_core::incident::Subject::Unknown(code("late")).key();
    let subjects = ["ticket:t1".to_owned(), unknown.clone()];
    let first = [
        (state("ticket:t1", 4), vec![verdict("s2", "a"), verdict("s1", "b")]),
        (state(&unknown, 4), vec![verdict("s3", "c")]),
    ];
    let stored = first.clone();
    on_event(&store, move |tx| tx.insert_states(&id("e"), &stored)).await.unwrap();
    let asked = subjects.clone();
    let codes = look(&store, |tx| tx.resolve_codes(&id("e"), &[code("t2"), code("late"), code("t1")])).await;
    let mut found: Vec<_> = codes.into_iter().map(|one| (one.ticket_id, one.scanned)).collect();
    found.sort();
    assert_eq!(found, [(id("t1"), true), (id("t2"), false)]);
    assert_eq!(look(&store, move |tx| tx.states(&id("e"), &asked)).await, [first[0].0.clone(), first[1].0.clone()]);
    let order = |verdicts: Vec<ScanVerdict>| verdicts.into_iter().map(|v| v.scan_id.to_string()).collect::<Vec<_>>();
    assert_eq!(order(look(&store, |tx| tx.verdicts(&id("e"), "ticket:t1")).await), ["s2", "s1"]);
    assert_eq!(changed(&store, (0, None), 9, 9).await, [("t1".to_owned(), 4)]);
    // The code is given to t1. Its scan moves there, and the state of the unknown code goes.
    let gone = StateRecord { state: TicketState::default(), effective: vec![], ..state(&unknown, 5) };
    let second = [(state("ticket:t1", 5), vec![verdict("s3", "c"), verdict("s1", "b")]), (gone, vec![])];
    let stored = second.clone();
    on_event(&store, move |tx| tx.put_states(&id("e"), &stored)).await.unwrap();
    assert_eq!(look(&store, all_states).await, [second[0].0.clone()]);
    assert_eq!(look(&store, |tx| tx.verdicts(&id("e"), "ticket:t1")).await, second[0].1);
    assert_eq!(look(&store, move |tx| tx.verdicts(&id("e"), &unknown)).await, []);
    assert_eq!(changed(&store, (0, None), 9, 9).await, [("t1".to_owned(), 5)]);
    // A person's change of the ticket leaves the state of its scans unchanged.
    on_event(&store, |tx| tx.update_tickets(&[ticket("e", "t1")])).await.unwrap();
    assert_eq!(changed(&store, (0, None), 9, 9).await, [("t1".to_owned(), 5)]);
    a_ticket_loses_its_last_scan(&store).await;
}

/// `put_states` with a state without scans makes `states`, `judged_states`, `verdicts` and `tickets` return none
/// for the ticket. `changed_tickets` still returns the ticket, since phones that counted the scan must learn of it.
async fn a_ticket_loses_its_last_scan(store: &TestStore) {
    let gone = StateRecord { state: TicketState::default(), effective: vec![], ..state("ticket:t1", 6) };
    on_event(store, move |tx| tx.put_states(&id("e"), &[(gone.clone(), vec![])])).await.unwrap();
    let key = ["ticket:t1".to_owned()];
    assert_eq!(look(store, all_states).await, []);
    assert_eq!(look(store, move |tx| tx.judged_states(&id("e"), &key)).await, []);
    assert_eq!(look(store, |tx| tx.verdicts(&id("e"), "ticket:t1")).await, []);
    let codes = look(store, |tx| tx.resolve_codes(&id("e"), &[code("t1")])).await;
    assert!(codes.iter().all(|one| !one.scanned));
    let page = Page { limit: 9, cursor: None };
    let listed = look(store, move |tx| tx.tickets(&id("e"), &TicketFilter::default(), &page)).await;
    assert!(listed.items.len() == 2 && listed.items.iter().all(|(_, _, state)| state.is_none()));
    assert_eq!(changed(store, (5, None), 9, 9).await, [("t1".to_owned(), 6)]);
    // The ticket may be scanned again.
    let again = [(state("ticket:t1", 7), vec![verdict("s9", "z")])];
    let stored = again.clone();
    on_event(store, move |tx| tx.insert_states(&id("e"), &stored)).await.unwrap();
    let key = ["ticket:t1".to_owned()];
    assert_eq!(look(store, move |tx| tx.judged_states(&id("e"), &key)).await, again);
}

type Judged = (StateRecord, Vec<ScanVerdict>);

fn many(serial: u64, subjects: std::ops::Range<usize>, verdicts: usize) -> Vec<Judged> {
    let of = |n: usize| {
        let verdicts = (0..verdicts).map(|scan| verdict(&format!("s{n}-{scan}"), "a")).collect();
        (state(&format!("ticket:t{n:03}"), serial), verdicts)
    };
    subjects.map(of).collect()
}
async fn all_judged(store: &TestStore) -> Vec<Judged> {
    look(store, |tx| {
        let subjects = tx.subjects_with_states(&id("e"))?;
        tx.judged_states(&id("e"), &subjects)
    })
    .await
}

/// `judged_states` returns the newest state of each of many subjects, also if a state has hundreds of verdicts and a
/// later state of the subject has few. `delete_states_before` deletes what earlier writes stored.
pub async fn the_newest_of_many_states_is_found(store: TestStore) {
    with_event(&store).await;
    let mut expected: Vec<Judged> = Vec::new();
    for (serial, subjects, verdicts) in [(1, 0..200, 1), (2, 50..90, 400), (3, 60..100, 2), (4, 10..20, 0)] {
        let states = many(serial, subjects, verdicts);
        expected.retain(|(old, _)| states.iter().all(|(new, _)| new.subject_key != old.subject_key));
        expected.extend(states.iter().filter(|(_, verdicts)| !verdicts.is_empty()).cloned());
        expected.sort_by(|(one, _), (other, _)| one.subject_key.cmp(&other.subject_key));
        on_event(&store, move |tx| tx.put_states(&id("e"), &states)).await.unwrap();
        assert_eq!(all_judged(&store).await, expected, "after write {serial}");
    }
    assert_eq!(look(&store, |tx| tx.subjects_with_states(&id("e"))).await.len(), 200);
    let anew = many(5, 30..40, 300);
    let stored = anew.clone();
    let seen = on_event(&store, move |tx| {
        tx.put_states(&id("e"), &stored)?;
        tx.delete_states_before(&id("e"), 5)?;
        let subjects = tx.subjects_with_states(&id("e"))?;
        tx.judged_states(&id("e"), &subjects)
    });
    assert_eq!(seen.await.unwrap(), anew);
    assert_eq!(all_judged(&store).await, anew);
    on_event(&store, |tx| tx.delete_states_before(&id("e"), 6)).await.unwrap();
    assert_eq!(all_judged(&store).await, []);
    let last = many(6, 0..3, 1);
    let stored = last.clone();
    on_event(&store, move |tx| tx.insert_states(&id("e"), &stored)).await.unwrap();
    assert_eq!(all_judged(&store).await, last);
}

/// A write that fails after it stored and read states leaves the former states valid. It hides no state of the next
/// write, which takes the same serial.
pub async fn states_of_a_failed_write_are_not_found(store: TestStore) {
    with_event(&store).await;
    let mut kept = many(1, 0..30, 1);
    let stored = kept.clone();
    on_event(&store, move |tx| tx.put_states(&id("e"), &stored)).await.unwrap();
    for serial in 2..5 {
        let failed: Result<()> = on_event(&store, move |tx| {
            let lost = many(serial, 10..40, 2);
            tx.put_states(&id("e"), &lost)?;
            assert_eq!(tx.judged_states(&id("e"), &["ticket:t035".to_owned()])?.len(), 1);
            Err(Error::not_found("the end"))
        })
        .await;
        assert!(failed.is_err());
        assert_eq!(all_judged(&store).await, kept);
        let new = many(serial, 0..5, serial as usize);
        kept.splice(0..5, new.clone());
        on_event(&store, move |tx| tx.put_states(&id("e"), &new)).await.unwrap();
        assert_eq!(all_judged(&store).await, kept);
    }
}

/// `add_occupancy` adds a difference to the counters of an event. When a gate's numbers of persons in and out are both
/// 0 again, `occupancy` no longer lists the gate. `set_occupancy` replaces all counters.
pub async fn counters_change_by_their_difference(store: TestStore) {
    with_event(&store).await;
    assert_eq!(look(&store, |tx| tx.occupancy(&id("e"))).await, Occupancy::default());
    for delta in [
        counters(1, &[("north", 2, 0), ("south", 1, 1)]),
        counters(1, &[("north", 5, 0)]),
        counters(-1, &[("south", -1, -1)]),
    ] {
        on_event(&store, move |tx| tx.add_occupancy(&id("e"), &delta, 1)).await.unwrap();
    }
    assert_eq!(look(&store, |tx| tx.occupancy(&id("e"))).await, counters(1, &[("north", 7, 0)]));
    let rebuilt = counters(2, &[("west", 1, 0)]);
    let stored = rebuilt.clone();
    on_event(&store, move |tx| tx.set_occupancy(&id("e"), &stored, 2)).await.unwrap();
    assert_eq!(look(&store, |tx| tx.occupancy(&id("e"))).await, rebuilt);
}

const MINUTE: i64 = 60_000;

fn flow(minute: i64, gate: &str, entered: i64, exited: i64, refused: i64) -> MinuteFlow {
    MinuteFlow { at: at(minute * MINUTE), gate_id: id(gate), entered, exited, refused, without_ticket: 0 }
}

/// `add_flow` adds differences to the counts of each gate and minute. `flow` returns the minutes from a moment on,
/// without those whose counts are all 0 again. `set_flow` replaces all of them.
pub async fn flow_counts_by_minute_and_gate(store: TestStore) {
    with_event(&store).await;
    let out = ScanVerdict { kind: ScanKind::Exit, within: 0, exited: 2, ..verdict("s3", "c") };
    let shut = ScanVerdict { opened: false, within: 0, at: at(MINUTE * 10 + 59_999), ..verdict("s2", "b") };
    let revert = ScanVerdict { kind: ScanKind::Revert, ..shut.clone() };
    let verdicts = vec![
        ScanVerdict { at: at(MINUTE * 10), over: 2, ..verdict("s1", "a") },
        shut,
        revert,
        ScanVerdict { at: at(MINUTE * 11), ..out },
        ScanVerdict { at: at(MINUTE * 10 + 1), gate_id: id("south"), ..verdict("s4", "d") },
        ScanVerdict { at: at(MINUTE * 9), ..verdict("s5", "e") },
    ];
    let change = async |now: &[ScanVerdict], before: &[ScanVerdict]| {
        let mut flows = Flows::default();
        flows.add(now, 1);
        flows.add(before, -1);
        let delta = flows.minutes();
        on_event(&store, move |tx| tx.add_flow(&id("e"), &delta)).await.unwrap();
    };
    let found = async || look(&store, move |tx| tx.flow(&id("e"), at(MINUTE * 10))).await;
    change(&verdicts, &[]).await;
    assert_eq!(found().await, [flow(10, "north", 3, 0, 1), flow(10, "south", 1, 0, 0), flow(11, "north", 0, 2, 0)]);
    change(&[], &verdicts[4..]).await;
    change(&verdicts[3..4], &[]).await;
    assert_eq!(found().await, [flow(10, "north", 3, 0, 1), flow(11, "north", 0, 4, 0)], "nothing is left of one");
    assert_eq!(look(&store, |tx| tx.flow(&id("e"), at(0))).await.len(), 2);
    on_event(&store, |tx| tx.set_flow(&id("e"), &[flow(12, "west", 1, 2, 3)])).await.unwrap();
    assert_eq!(look(&store, |tx| tx.flow(&id("e"), at(0))).await, [flow(12, "west", 1, 2, 3)]);
}

/// `flow` returns the people without a ticket of a minute in `without_ticket`. A recount is not among them.
pub async fn people_without_a_ticket_are_counted_by_minute_too(store: TestStore) {
    with_event(&store).await;
    let crew = |delta| Some(Headcount::Change { class: PersonClass::Crew, delta });
    let counted = |scan_id: &str, minute: i64, headcount| ScanVerdict {
        kind: ScanKind::Headcount,
        at: at(MINUTE * minute),
        within: 0,
        headcount,
        ..verdict(scan_id, "a")
    };
    let recount = Some(Headcount::Recount { inside: 412 });
    let verdicts = [counted("s1", 10, crew(5)), counted("s2", 10, crew(-2)), counted("s3", 11, recount)];
    let mut flows = Flows::default();
    flows.add(&verdicts, 1);
    let delta = flows.minutes();
    on_event(&store, move |tx| tx.add_flow(&id("e"), &delta)).await.unwrap();
    let found = look(&store, |tx| tx.flow(&id("e"), at(0))).await;
    assert_eq!(found, [MinuteFlow { without_ticket: 3, ..flow(10, "north", 0, 0, 0) }]);
}

/// `put_recounts` replaces all recounts of each given subject. `recounts` returns them in order of the subject, and
/// `clear_recounts` deletes those of the event.
pub async fn recounts_are_replaced_by_subject(store: TestStore) {
    with_event(&store).await;
    let recount = |scan_id: &str, inside: u32| Recount {
        gate_id: id("north"),
        at: at(1_500_000_000),
        device_id: id("d1"),
        scan_id: id(scan_id),
        inside,
    };
    let first = [("ticket:b".to_owned(), vec![recount("s2", 7)]), ("ticket:a".to_owned(), vec![recount("s1", 412)])];
    on_event(&store, move |tx| tx.put_recounts(&id("e"), &first)).await.unwrap();
    let stored = || look(&store, |tx| tx.recounts(&id("e")));
    assert_eq!(stored().await, [("ticket:a".into(), recount("s1", 412)), ("ticket:b".into(), recount("s2", 7))]);
    let second = [("ticket:a".to_owned(), vec![recount("s1", 1_000_000)]), ("ticket:b".to_owned(), vec![])];
    on_event(&store, move |tx| tx.put_recounts(&id("e"), &second)).await.unwrap();
    assert_eq!(stored().await, [("ticket:a".into(), recount("s1", 1_000_000))]);
    on_event(&store, move |tx| tx.clear_recounts(&id("e"))).await.unwrap();
    assert_eq!(stored().await, []);
}

/// `subjects_by_time` returns the subjects that have a scan within two moments, or outside of them.
/// `count_subjects_before` counts the subjects that have a scan before a moment. Neither counts a state without scans.
pub async fn subjects_are_found_by_time(store: TestStore) {
    with_event(&store).await;
    let scanned = |times: &[i64]| {
        let verdicts = times.iter().map(|ms| ScanVerdict { at: at(*ms), ..verdict(&format!("s{ms}"), "a") });
        verdicts.collect::<Vec<_>>()
    };
    let states = vec![
        (state("ticket:early", 1), scanned(&[1])),
        (state("ticket:t1", 1), scanned(&[MINUTE * 9, MINUTE * 11, MINUTE * 10])),
        (StateRecord { effective: vec![], ..state("ticket:gone", 1) }, vec![]),
    ];
    on_event(&store, move |tx| tx.put_states(&id("e"), &states)).await.unwrap();
    for (from, to, inside, subjects) in [
        (0, 5, true, vec!["ticket:early"]),
        (0, 5, false, vec!["ticket:t1"]),
        (MINUTE * 10, MINUTE * 10, true, vec!["ticket:t1"]),
        (MINUTE * 10 + 1, MINUTE * 11 - 1, true, vec![]),
        (1, MINUTE * 11, false, vec![]),
        (2, MINUTE * 11, false, vec!["ticket:early"]),
    ] {
        let found = look(&store, move |tx| tx.subjects_by_time(&id("e"), at(from), at(to), inside)).await;
        assert_eq!(found, subjects, "{from}..{to} {inside}");
    }
    for (before, count) in [(1, 0), (2, 1), (MINUTE * 9, 1), (MINUTE * 9 + 1, 2), (i64::MAX, 2)] {
        let found = look(&store, move |tx| tx.count_subjects_before(&id("e"), at(before))).await;
        assert_eq!(found, count, "before {before}: a state without scans is none");
    }
}

async fn changed(store: &TestStore, after: (u64, Option<&str>), rules_after: u64, limit: usize) -> Vec<(String, u64)> {
    let (serial, ticket) = (after.0, after.1.map(str::to_owned));
    let found = look(store, move |tx| {
        let ticket = ticket.map(|ticket| id(&ticket));
        tx.changed_tickets(&id("e"), (serial, ticket.as_ref()), rules_after, limit)
    })
    .await;
    found.into_iter().map(|(ticket, at)| (ticket.ticket_id.to_string(), at)).collect()
}
async fn with_changes(store: &TestStore, tickets: &[(&str, u64, u64)]) {
    let records: Vec<TicketRecord> =
        tickets.iter().map(|(name, rules, _)| TicketRecord { rules_serial: *rules, ..ticket("e", name) }).collect();
    let states: Vec<(StateRecord, Vec<ScanVerdict>)> = tickets
        .iter()
        .filter(|(_, _, serial)| *serial > 0)
        .map(|(name, _, serial)| (state(&format!("ticket:{name}"), *serial), vec![verdict(name, name)]))
        .collect();
    on_event(store, move |tx| {
        tx.insert_tickets(&records)?;
        tx.put_states(&id("e"), &states)
    })
    .await
    .unwrap();
}

/// `changed_tickets` returns each changed ticket once, at its newest change, in order of serial and ticket. The pages
/// follow each other without a gap, also within one serial.
pub async fn changed_tickets_are_paged_in_order_of_change(store: TestStore) {
    with_event(&store).await;
    with_changes(&store, &[("a", 1, 5), ("b", 1, 0), ("c", 7, 3), ("d", 1, 5), ("f", 5, 5), ("g", 6, 0)]).await;
    let own = |list: &[(&str, u64)]| list.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect::<Vec<_>>();
    let all = own(&[("b", 1), ("a", 5), ("d", 5), ("f", 5), ("g", 6), ("c", 7)]);
    assert_eq!(changed(&store, (0, None), 0, 99).await, all);
    assert_eq!(changed(&store, (5, None), 0, 99).await, all[4..]);
    assert_eq!(changed(&store, (5, Some("a")), 0, 99).await, all[2..]);
    assert_eq!(changed(&store, (7, None), 0, 99).await, []);
    let (mut seen, mut after) = (Vec::new(), (0, None));
    loop {
        let page = changed(&store, (after.0, after.1.as_deref()), 0, 2).await;
        let Some((ticket, serial)) = page.last().cloned() else { break };
        after = (serial, Some(ticket));
        seen.extend(page);
    }
    assert_eq!(seen, all);
}

/// `changed_tickets` does not count a change of a ticket's rules up to `rules_after`, since the device's list has those
/// rules. It still returns the ticket for a scan after the cursor.
pub async fn rules_a_device_has_are_no_change(store: TestStore) {
    with_event(&store).await;
    with_changes(&store, &[("a", 6, 5), ("b", 6, 0), ("c", 9, 3), ("d", 9, 8)]).await;
    let own = |list: &[(&str, u64)]| list.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect::<Vec<_>>();
    assert_eq!(changed(&store, (2, None), 9, 99).await, own(&[("c", 3), ("a", 5), ("d", 8)]));
    assert_eq!(changed(&store, (2, None), 6, 99).await, own(&[("a", 5), ("c", 9), ("d", 9)]));
    assert_eq!(changed(&store, (5, None), 9, 99).await, own(&[("d", 8)]));
}
