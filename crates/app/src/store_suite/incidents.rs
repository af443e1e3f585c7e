//! The contracts about incidents.

use admit_core::incident::IncidentKind;
use admit_core::occupancy::Occupancy;
use admit_core::ticket::TicketStatus;

use super::fixture::{
    TestStore, at, event, hash, id, look, make_event, on_event, page, ticket, with_event, with_tickets,
};
use crate::ports::IncidentFilter;
use crate::records::{IncidentRecord, IncidentStatus, Page, Resolution};

fn incident(name: &str, subject: &str, kind: IncidentKind, opened_at: i64) -> IncidentRecord {
    IncidentRecord {
        incident_id: id(name),
        event_id: id("e"),
        kind,
        severity: kind.severity(),
        subject_key: subject.into(),
        digest: hash(1),
        cause: "{\"kind\":\"…\"}".into(),
        status: IncidentStatus::Open,
        resolved_digest: None,
        resolution: None,
        opened_at: at(opened_at),
        updated_at: at(opened_at),
        serial: 1,
    }
}

/// `put_incidents` stores one incident per subject and kind. A second call overwrites it, and it keeps its first id.
/// `incident`, `incidents_of` and `all_incidents` return it.
pub async fn an_incident_is_one_per_subject_and_kind(store: TestStore) {
    with_event(&store).await;
    let open = incident("i1", "ticket:t1", IncidentKind::DoubleEntry, 10);
    let other_kind = incident("i2", "ticket:t1", IncidentKind::FutureTime, 10);
    let stored = [open.clone(), other_kind.clone()];
    on_event(&store, move |tx| tx.put_incidents(&stored)).await.unwrap();
    let resolution =
        Resolution { user_id: id("o-owner"), decision: "exclude".into(), note: "a child".into(), at: at(20) };
    let resolved = IncidentRecord {
        status: IncidentStatus::Resolved,
        resolved_digest: Some(hash(1)),
        resolution: Some(resolution),
        updated_at: at(20),
        serial: 2,
        ..open.clone()
    };
    let stored = IncidentRecord { incident_id: id("another"), ..resolved.clone() };
    on_event(&store, move |tx| tx.put_incidents(std::slice::from_ref(&stored))).await.unwrap();
    assert_eq!(look(&store, |tx| tx.incident(&id("i1"))).await, Some(resolved.clone()));
    assert_eq!(look(&store, |tx| tx.incident(&id("another"))).await, None);
    let asked = ["ticket:t1".to_owned(), "ticket:none".to_owned()];
    let found = look(&store, move |tx| tx.incidents_of(&id("e"), &asked)).await;
    assert_eq!(found, [resolved.clone(), other_kind.clone()]);
    assert_eq!(look(&store, |tx| tx.all_incidents(&id("e"))).await, [resolved, other_kind]);
}

/// `incidents` returns the incidents newest first, by status and kind. With `queued` it leaves out the kinds that are
/// only counted. `count_open_incidents` counts the open ones of every kind.
pub async fn incidents_are_listed_by_status(store: TestStore) {
    with_event(&store).await;
    let cleared =
        IncidentRecord { status: IncidentStatus::Cleared, ..incident("i3", "ticket:c", IncidentKind::DoubleEntry, 30) };
    let all = [
        incident("i1", "ticket:a", IncidentKind::DoubleEntry, 10),
        incident("i2", "ticket:b", IncidentKind::DuplicateScan, 20),
        cleared,
        incident("i4", "ticket:d", IncidentKind::DoubleEntry, 20),
    ];
    on_event(&store, move |tx| tx.put_incidents(&all)).await.unwrap();
    let open = Some(IncidentStatus::Open);
    for (status, queued, limit, expected) in [
        (None, false, 9, vec!["i3", "i4", "i2", "i1"]),
        (open, true, 9, vec!["i4", "i1"]),
        (open, false, 9, vec!["i4", "i2", "i1"]),
        (open, false, 2, vec!["i4", "i2"]),
        (Some(IncidentStatus::Resolved), false, 9, vec![]),
    ] {
        let filter = IncidentFilter { status, queued, decided: false, kind: None };
        let listed = look(&store, move |tx| tx.incidents(&id("e"), filter, &page(limit))).await;
        let names: Vec<&str> = listed.items.iter().map(|incident| incident.incident_id.as_str()).collect();
        assert_eq!(names, expected, "{status:?} {queued}");
        assert_eq!(listed.next_cursor.is_some(), limit == 2);
    }
    let of_kind = IncidentFilter { kind: Some(IncidentKind::DuplicateScan), ..IncidentFilter::default() };
    let listed = look(&store, move |tx| tx.incidents(&id("e"), of_kind, &page(9))).await;
    assert_eq!(listed.items.iter().map(|one| one.incident_id.as_str()).collect::<Vec<_>>(), ["i2"]);
    let counts = look(&store, |tx| tx.count_open_incidents(&id("e"))).await;
    assert_eq!(counts, [(IncidentKind::DoubleEntry, 2), (IncidentKind::DuplicateScan, 1)]);
}

fn answered(at_ms: i64) -> Option<Resolution> {
    Some(Resolution { user_id: id("o-owner"), decision: "exclude".into(), note: "".into(), at: at(at_ms) })
}

/// With `decided`, `incidents` returns those that a person answered and that are not open again, whether their cause
/// holds or is gone. `count_decided_incidents` returns their number in an event.
pub async fn decided_incidents_are_told_apart(store: TestStore) {
    with_event(&store).await;
    let stands = |name: &str, subject: &str, status: IncidentStatus, is_answered: bool| IncidentRecord {
        status,
        resolution: answered(20).filter(|_| is_answered),
        ..incident(name, subject, IncidentKind::DoubleEntry, 10)
    };
    let all = [
        stands("i1", "ticket:a", IncidentStatus::Open, true),
        stands("i2", "ticket:b", IncidentStatus::Resolved, true),
        stands("i3", "ticket:c", IncidentStatus::Cleared, true),
        stands("i4", "ticket:d", IncidentStatus::Cleared, false),
        IncidentRecord { kind: IncidentKind::DuplicateScan, ..stands("i5", "ticket:e", IncidentStatus::Cleared, true) },
    ];
    on_event(&store, move |tx| tx.put_incidents(&all)).await.unwrap();
    for (status, expected) in [(None, vec!["i3", "i2"]), (Some(IncidentStatus::Resolved), vec!["i2"])] {
        let filter = IncidentFilter { status, queued: true, decided: true, kind: None };
        let listed = look(&store, move |tx| tx.incidents(&id("e"), filter, &page(9))).await;
        let names: Vec<&str> = listed.items.iter().map(|incident| incident.incident_id.as_str()).collect();
        assert_eq!(names, expected);
    }
    assert_eq!(look(&store, |tx| tx.count_decided_incidents(&id("e"))).await, 2);
    assert_eq!(look(&store, |tx| tx.count_decided_incidents(&id("f"))).await, 0, "of that event alone");
}

/// With `decided`, `incidents` orders by the time of the decision, the newest first, also across pages. People look for
/// the last decisions first.
pub async fn decided_incidents_come_by_when_they_were_decided(store: TestStore) {
    with_event(&store).await;
    let decided = |name: &str, opened_at: i64, decided_at: i64| IncidentRecord {
        status: IncidentStatus::Resolved,
        resolution: answered(decided_at),
        ..incident(name, &format!("ticket:{name}"), IncidentKind::DoubleEntry, opened_at)
    };
    let all = [
        decided("i1", 10, 90),
        decided("i2", 20, 60),
        decided("i3", 30, 70),
        decided("i4", 40, 70),
        decided("i5", 50, 80),
        incident("i6", "ticket:i6", IncidentKind::DoubleEntry, 60),
    ];
    on_event(&store, move |tx| tx.put_incidents(&all)).await.unwrap();
    let filter = IncidentFilter { status: None, queued: true, decided: true, kind: None };
    let (mut pages, mut cursor) = (Vec::new(), None);
    loop {
        let asked = Page { limit: 2, cursor };
        let listed = look(&store, move |tx| tx.incidents(&id("e"), filter, &asked)).await;
        pages.push(listed.items.iter().map(|one| one.incident_id.to_string()).collect::<Vec<_>>());
        let Some(next) = listed.next_cursor else { break };
        cursor = Some(next);
    }
    assert_eq!(pages, [vec!["i1", "i5"], vec!["i4", "i3"], vec!["i2"]]);
}

/// `event_figures` returns the figures of the given events, with zeros for an empty event, and of no other event.
pub async fn figures_of_events_are_told_together(store: TestStore) {
    with_event(&store).await;
    make_event(&store, "o", event("f", 1)).await;
    make_event(&store, "o", event("g", 1)).await;
    with_tickets(&store, &["t1", "t2"]).await;
    let mut void = ticket("e", "t3");
    void.rules.status = TicketStatus::Voided;
    on_event(&store, move |tx| {
        tx.insert_tickets(std::slice::from_ref(&void))?;
        let counters = Occupancy { entered: 3, over: 1, ..Occupancy::default() };
        tx.add_occupancy(&id("e"), &counters, 1)?;
        let open = incident("i1", "ticket:a", IncidentKind::DoubleEntry, 10);
        let counted = incident("i2", "ticket:a", IncidentKind::DuplicateScan, 10);
        tx.put_incidents(&[open, counted])
    })
    .await
    .unwrap();
    let figures = look(&store, |tx| tx.event_figures(&[id("f"), id("e")])).await;
    let told: Vec<_> = figures
        .iter()
        .map(|one| (one.event_id.as_str(), one.expected, one.admitted, one.over, one.open_incidents))
        .collect();
    assert_eq!(told, [("e", 4, 4, 1, 1), ("f", 0, 0, 0, 0)]);
    assert_eq!(look(&store, |tx| tx.event_figures(&[])).await, []);
}
