//! Derived: states, verdicts, counters, changes.

use admit_core::occupancy::{GateFlow, Occupancy};
use admit_core::reduce::{EffectiveScan, Entry, ScanVerdict, TicketState};
use admit_core::scan::{Digest, Outcome, ScanKind};

use super::fixture::*;
use crate::records::*;

/// A subject's state in which one person is in.
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
        digest: hash(serial as u8),
        serial,
    }
}
/// A verdict of a scan that let one person in.
pub fn verdict(scan_id: &str, ticket: &str) -> ScanVerdict {
    ScanVerdict {
        device_id: id("d1"),
        scan_id: id(scan_id),
        digest: Digest(code(ticket).0),
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
        gates: gates
            .iter()
            .map(|(gate, entered, exited)| (id(gate), GateFlow { entered: *entered, exited: *exited }))
            .collect(),
    }
}

/// States and verdicts are replaced whole; a state without scans is removed; tickets note the change.
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
    assert_eq!(look(&store, |tx| tx.ticket(&id("t1"))).await.unwrap().state_serial, 4);
    // The code is given to t1: its scan moves there, the unknown code's state goes.
    let gone = StateRecord { state: TicketState::default(), effective: vec![], ..state(&unknown, 5) };
    let second = [(state("ticket:t1", 5), vec![verdict("s3", "c"), verdict("s1", "b")]), (gone, vec![])];
    let stored = second.clone();
    on_event(&store, move |tx| tx.put_states(&id("e"), &stored)).await.unwrap();
    assert_eq!(look(&store, |tx| tx.all_states(&id("e"))).await, [second[0].0.clone()]);
    assert_eq!(look(&store, |tx| tx.verdicts(&id("e"), "ticket:t1")).await, second[0].1);
    assert_eq!(look(&store, move |tx| tx.verdicts(&id("e"), &unknown)).await, []);
    assert_eq!(look(&store, |tx| tx.ticket(&id("t1"))).await.unwrap().state_serial, 5);
    assert_eq!(look(&store, |tx| tx.ticket(&id("t2"))).await.unwrap().state_serial, 0);
    // An update of the ticket by a person leaves what scans say of it.
    on_event(&store, |tx| tx.update_tickets(&[ticket("e", "t1")])).await.unwrap();
    assert_eq!(look(&store, |tx| tx.ticket(&id("t1"))).await.unwrap().state_serial, 5);
}

/// Counters change by their difference; a gate whose flow was taken back has none.
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

/// Flow counts persons by minute and gate; subjects are found by the time of their scans.
pub async fn flow_counts_by_minute_and_gate(store: TestStore) {
    with_event(&store).await;
    let minute = 60_000;
    let out = ScanVerdict { kind: ScanKind::Exit, within: 0, exited: 2, ..verdict("s3", "c") };
    let shut = ScanVerdict { opened: false, within: 0, at: at(minute * 10 + 59_999), ..verdict("s2", "b") };
    let verdicts = vec![
        ScanVerdict { at: at(minute * 10), over: 2, ..verdict("s1", "a") },
        shut,
        ScanVerdict { at: at(minute * 11), ..out },
        ScanVerdict { at: at(minute * 10 + 1), gate_id: id("south"), ..verdict("s4", "d") },
        ScanVerdict { at: at(minute * 9), ..verdict("s5", "e") },
    ];
    on_event(&store, move |tx| {
        let early = [(state("ticket:early", 1), vec![ScanVerdict { at: at(1), ..verdict("s6", "f") }])];
        tx.put_states(&id("e"), &early)?;
        tx.put_states(&id("e"), &[(state("ticket:t1", 1), verdicts.clone())])
    })
    .await
    .unwrap();
    let flow = |m: i64, gate: &str, entered: i64, exited: i64, refused: i64| MinuteFlow {
        at: at(m * minute),
        gate_id: id(gate),
        entered,
        exited,
        refused,
    };
    let found = look(&store, move |tx| tx.flow(&id("e"), at(minute * 10))).await;
    assert_eq!(found, [flow(10, "north", 3, 0, 1), flow(10, "south", 1, 0, 0), flow(11, "north", 0, 2, 0)]);
    for (from, to, inside, subjects) in [
        (0, 5, true, vec!["ticket:early"]),
        (0, 5, false, vec!["ticket:t1"]),
        (minute * 10, minute * 10, true, vec!["ticket:t1"]),
        (1, minute * 11, false, vec![]),
    ] {
        let found = look(&store, move |tx| tx.subjects_by_time(&id("e"), at(from), at(to), inside)).await;
        assert_eq!(found, subjects, "{from}..{to} {inside}");
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

/// Changed tickets are paged in order of (serial, ticket), each once, at its newest change.
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

/// Rules that a device's list already holds are no change; scans after its cursor are.
pub async fn rules_a_device_has_are_no_change(store: TestStore) {
    with_event(&store).await;
    with_changes(&store, &[("a", 6, 5), ("b", 6, 0), ("c", 9, 3), ("d", 9, 8)]).await;
    let own = |list: &[(&str, u64)]| list.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect::<Vec<_>>();
    assert_eq!(changed(&store, (2, None), 9, 99).await, own(&[("c", 3), ("a", 5), ("d", 8)]));
    assert_eq!(changed(&store, (2, None), 6, 99).await, own(&[("a", 5), ("c", 9), ("d", 9)]));
    assert_eq!(changed(&store, (5, None), 9, 99).await, own(&[("d", 8)]));
}
