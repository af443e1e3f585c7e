//! The contracts about events, heads, serials, ledgers, epochs, gates and lists.

use admit_core::audit::GENESIS;
use admit_core::event::EventStatus;
use admit_core::rule::Epoch;
use admit_core::time::Timestamp;

use super::fixture::{
    TestStore, at, conflict, event, id, look, make_event, on_event, page, scope, with_event, with_organization,
};
use crate::error::Error;
use crate::ports::{Scope, read, write};
use crate::records::{EntryTypeRecord, EventRecord, GuestListRecord, LedgerEnd, NewAudit, Page, Stamp};

fn line(event_id: Option<&str>, entity_id: &str) -> NewAudit {
    NewAudit {
        event_id: event_id.map(id),
        user_id: Some(id("o-owner")),
        device_id: None,
        action: "ticket_voided",
        entity_type: "Ticket",
        entity_id: entity_id.into(),
        changes: "{\"status\":\"voided\"}".into(),
        metadata: "{}".into(),
    }
}

/// `events` returns the newest events first, page by page. `event` returns an event as `update_event` left it, and
/// `None` for an unknown id. `insert_event` fails with `event_exists` for an id that exists. A cursor that `events` did
/// not return fails with `Invalid`.
pub async fn events_are_listed_newest_first(store: TestStore) {
    with_organization(&store, "o").await;
    for (name, created_at) in [("a", 10), ("b", 30), ("c", 20), ("d", 20)] {
        make_event(&store, "o", event(name, created_at)).await;
    }
    let mut names = Vec::new();
    let mut next = page(3);
    loop {
        let listed = {
            let asked = next.clone();
            look(&store, move |tx| tx.events(&asked)).await
        };
        names.extend(listed.items.iter().map(|event| event.event_id.to_string()));
        let Some(cursor) = listed.next_cursor else { break };
        next.cursor = Some(cursor);
    }
    assert_eq!(names, ["b", "d", "c", "a"]);
    let changed = EventRecord { name: "Renamed".into(), status: EventStatus::Ended, capacity: None, ..event("a", 10) };
    let stored = changed.clone();
    write(&*store, scope("o", "a"), move |tx| tx.update_event(&stored)).await.unwrap();
    assert_eq!(look(&store, |tx| tx.event(&id("a"))).await, Some(changed));
    assert_eq!(look(&store, |tx| tx.event(&id("zzz"))).await, None);
    let again = write(&*store, Scope::organization(&id("o")), |tx| tx.insert_event(&event("a", 1))).await;
    assert_eq!(conflict(again), "event_exists");
    let cursor = Page { limit: 1, cursor: Some("nonsense".into()) };
    let result = read(&*store, &id("o"), move |tx| tx.events(&cursor)).await;
    assert!(matches!(result, Err(Error::Invalid { .. })), "{result:?}");
}

/// `stamp` gives a write one serial. Further calls in the same write return the same stamp. `head` then has that
/// serial, and the ledger's head is unchanged. For an unknown event `head` fails with `NotFound`.
pub async fn a_write_takes_one_place(store: TestStore) {
    with_event(&store).await;
    let (first, again, head) = on_event(&store, |tx| {
        let first = tx.stamp(&id("e"))?;
        Ok((first, tx.stamp(&id("e"))?, tx.head(&id("e"))?))
    })
    .await
    .unwrap();
    assert_eq!(first, again);
    assert_eq!((first.serial, head.serial), (1, 1));
    let head = look(&store, |tx| tx.head(&id("e"))).await;
    assert_eq!((head.serial, head.audit_head), (1, GENESIS));
    assert_eq!(head.epoch, store.epoch().await.unwrap());
    let result = read(&*store, &id("o"), |tx| tx.head(&id("nowhere"))).await;
    assert_eq!(result, Err(Error::NotFound { what: "event" }));
}

/// A write without a stamp, such as one with `insert_gate` alone, leaves the event's serial as it is.
pub async fn a_write_without_a_change_takes_no_place(store: TestStore) {
    with_event(&store).await;
    on_event(&store, |tx| tx.insert_gate(&id("e"), &id("north"), at(1))).await.unwrap();
    assert_eq!(look(&store, |tx| tx.head(&id("e"))).await.serial, 0);
}

/// `stamp` returns the serial before plus 1, and a later `effective_at` than before. A write that fails takes no
/// serial.
pub async fn places_have_no_holes_and_time_never_goes_back(store: TestStore) {
    with_event(&store).await;
    let mut last = Stamp { serial: 0, effective_at: at(0) };
    for round in 0..20 {
        let failing = round % 3 == 1;
        let result = on_event(&store, move |tx| {
            let stamp = tx.stamp(&id("e"))?;
            if failing { Err(Error::not_found("luck")) } else { Ok(stamp) }
        })
        .await;
        if failing {
            assert_eq!(result, Err(Error::NotFound { what: "luck" }));
            continue;
        }
        let stamp = result.unwrap();
        assert_eq!(stamp.serial, last.serial + 1);
        assert!(stamp.effective_at > last.effective_at, "{stamp:?} after {last:?}");
        last = stamp;
    }
    assert_eq!(look(&store, |tx| tx.head(&id("e"))).await.serial, last.serial);
}

/// `append_audit` numbers the lines of a ledger from 1, and gives each the serial of its write. Each line's head is
/// `chain` of the head before and the line. `audit_from` returns the lines oldest first, and `audit` newest first, page
/// by page, also of one action alone.
pub async fn a_ledger_is_one_chain(store: TestStore) {
    with_event(&store).await;
    for name in ["t1", "t2"] {
        on_event(&store, move |tx| {
            tx.append_audit(line(Some("e"), name))?;
            tx.append_audit(line(Some("e"), &format!("{name}-more")))
        })
        .await
        .unwrap();
    }
    let lines = look(&store, |tx| tx.audit_from(Some(&id("e")), 1, 100)).await;
    let places: Vec<(u64, u64, &str)> =
        lines.iter().map(|line| (line.n, line.serial, line.line.entity_id.as_str())).collect();
    assert_eq!(places, [(1, 1, "t1"), (2, 1, "t1-more"), (3, 2, "t2"), (4, 2, "t2-more")]);
    let mut prev = GENESIS;
    for line in &lines {
        let entry = admit_core::audit::AuditEntry {
            serial: line.serial,
            n: line.n,
            at: line.at,
            actor: "user:o-owner",
            action: &line.line.action,
            entity_type: &line.line.entity_type,
            entity_id: &line.line.entity_id,
            changes: &line.line.changes,
            metadata: &line.line.metadata,
        };
        prev = admit_core::audit::chain(prev, &entry);
        assert_eq!(line.head, prev, "line {}", line.n);
    }
    assert_eq!(look(&store, |tx| tx.head(&id("e"))).await.audit_head, prev);
    let newest = look(&store, |tx| tx.audit(Some(&id("e")), None, &page(3))).await;
    assert_eq!(newest.items.iter().map(|line| line.n).collect::<Vec<_>>(), [4, 3, 2]);
    let rest = Page { limit: 3, cursor: newest.next_cursor };
    let rest = look(&store, move |tx| tx.audit(Some(&id("e")), None, &rest)).await;
    assert_eq!((rest.items.len(), rest.items[0].n, rest.next_cursor), (1, 1, None));
    let other = NewAudit { action: "ticket_restored", ..line(Some("e"), "t1") };
    on_event(&store, move |tx| tx.append_audit(other.clone())).await.unwrap();
    for (action, places) in [("ticket_voided", vec![4, 3]), ("ticket_restored", vec![5]), ("nothing_of_it", vec![])] {
        let some = look(&store, move |tx| tx.audit(Some(&id("e")), Some(action), &page(2))).await;
        assert_eq!(some.items.iter().map(|line| line.n).collect::<Vec<_>>(), places, "{action}");
        assert_eq!(some.next_cursor.is_some(), action == "ticket_voided", "{action}");
    }
}

/// `append_audit` without an event writes to the organisation's own ledger. `audit_from` returns only the lines of the
/// ledger that it is asked for.
pub async fn the_organization_has_its_own_ledger(store: TestStore) {
    with_event(&store).await;
    for name in ["m1", "m2"] {
        write(&*store, Scope::organization(&id("o")), move |tx| tx.append_audit(line(None, name))).await.unwrap();
    }
    on_event(&store, |tx| tx.append_audit(line(Some("e"), "t"))).await.unwrap();
    let lines = look(&store, |tx| tx.audit_from(None, 2, 100)).await;
    assert_eq!(lines.len(), 1);
    assert_eq!((lines[0].n, lines[0].serial, lines[0].line.entity_id.as_str()), (2, 2, "m2"));
    assert_eq!(look(&store, |tx| tx.audit_from(Some(&id("e")), 1, 100)).await.len(), 1);
}

/// `organization_ledger_end` returns number and head of the last line of the organisation's own ledger.
/// `event_ledger_ends` returns the same for each event whose ledger was written to since a moment. `newest_audit`
/// returns the newest line with a given action in the organisation's own ledger, or `None`. `event_ledger_ends` returns
/// no ledger of another organisation.
pub async fn ledgers_tell_where_they_end(store: TestStore) {
    with_event(&store).await;
    make_event(&store, "o", event("f", 1)).await;
    make_event(&store, "o", event("silent", 1)).await;
    with_organization(&store, "p").await;
    let empty = look(&store, |tx| tx.organization_ledger_end()).await;
    assert_eq!(empty, LedgerEnd { n: 0, head: GENESIS });
    assert_eq!(look(&store, |tx| tx.newest_audit("ticket_voided")).await, None);
    for name in ["m1", "m2"] {
        write(&*store, Scope::organization(&id("o")), move |tx| tx.append_audit(line(None, name))).await.unwrap();
    }
    let own = look(&store, |tx| tx.audit_from(None, 1, 9)).await;
    assert_eq!(look(&store, |tx| tx.organization_ledger_end()).await, LedgerEnd { n: 2, head: own[1].head });
    assert_eq!(look(&store, |tx| tx.newest_audit("ticket_voided")).await, Some(own[1].clone()));
    assert_eq!(look(&store, |tx| tx.newest_audit("nothing_of_it")).await, None);
    on_event(&store, |tx| tx.append_audit(line(Some("e"), "t"))).await.unwrap();
    write(&*store, scope("o", "f"), |tx| tx.append_audit(line(Some("f"), "t"))).await.unwrap();
    let ends = look(&store, |tx| tx.event_ledger_ends(Timestamp::START)).await;
    let lines = look(&store, |tx| tx.audit_from(Some(&id("f")), 1, 9)).await;
    assert_eq!(ends.iter().map(|(event_id, end)| (event_id.as_str(), end.n)).collect::<Vec<_>>(), [("e", 1), ("f", 1)]);
    assert_eq!(ends[1].1.head, lines[0].head);
    let later = Timestamp::clamped(lines[0].at.ms() + 1);
    assert_eq!(look(&store, move |tx| tx.event_ledger_ends(later)).await, []);
    assert_eq!(read(&*store, &id("p"), |tx| tx.event_ledger_ends(Timestamp::START)).await.unwrap(), []);
}

/// `audit_head_at` returns the head of the event's ledger at a serial, also for a serial without a line. For a serial
/// above the event's head it returns `None`.
pub async fn a_witness_is_checked_against_what_the_ledger_said(store: TestStore) {
    with_event(&store).await;
    on_event(&store, |tx| tx.stamp(&id("e")).map(|_| ())).await.unwrap();
    on_event(&store, |tx| tx.append_audit(line(Some("e"), "t"))).await.unwrap();
    on_event(&store, |tx| tx.stamp(&id("e")).map(|_| ())).await.unwrap();
    let head = look(&store, |tx| tx.head(&id("e"))).await.audit_head;
    for (serial, said) in [(0, Some(GENESIS)), (1, Some(GENESIS)), (2, Some(head)), (3, Some(head)), (4, None)] {
        assert_eq!(look(&store, move |tx| tx.audit_head_at(&id("e"), serial)).await, said, "serial {serial}");
    }
}

/// `begin_epoch` stores the head of every event, of all organisations, as the base of the new epoch. A second call that
/// names the former epoch changes nothing and returns no error. An event that is created later belongs to the new epoch
/// from its first serial. `epochs` alone returns the same as `load_rules`.
pub async fn an_epoch_begins_once_and_notes_every_head(store: TestStore) {
    with_event(&store).await;
    with_organization(&store, "p").await;
    make_event(&store, "p", event("e", 1)).await;
    on_event(&store, |tx| tx.stamp(&id("e")).map(|_| ())).await.unwrap();
    let first = store.epoch().await.unwrap();
    let next = Epoch { restored_at_ms: first.restored_at_ms + 5_000, random: u64::MAX };
    store.begin_epoch(first, next).await.unwrap();
    let late = Epoch { restored_at_ms: next.restored_at_ms + 5_000, random: 1 };
    store.begin_epoch(first, late).await.unwrap();
    assert_eq!(store.epoch().await.unwrap(), next, "whoever saw the first epoch came too late");
    make_event(&store, "o", event("later", 1)).await;
    for (organization, name, base) in [("o", "e", 1), ("p", "e", 0)] {
        let rules = read(&*store, &id(organization), move |tx| tx.load_rules(&id(name), &[])).await.unwrap();
        assert_eq!(rules.book.epochs.known(Some(first), 99), base, "{organization}");
        assert_eq!(rules.book.epochs.known(Some(next), 99), 99, "{organization}");
        let alone = read(&*store, &id(organization), move |tx| tx.epochs(&id(name))).await.unwrap();
        assert_eq!(alone, rules.book.epochs, "{organization}");
    }
    let later = look(&store, |tx| tx.load_rules(&id("later"), &[])).await;
    assert_eq!(later.book.epochs.known(Some(next), 7), 7);
    assert_eq!(later.book.epochs.known(Some(first), 7), 0);
    let all = store.all_events().await.unwrap();
    assert_eq!(all, [(id("o"), id("e")), (id("o"), id("later")), (id("p"), id("e"))]);
}

/// `insert_gate`, `insert_entry_type`, `rename_entry_type` and `insert_guest_list` fail with a conflict if the event
/// has that name already. Another event may have it. `gate_ids` is ordered by id, `guest_lists` by time of creation and
/// id, `entry_types` by position.
pub async fn gates_and_lists_are_named_once(store: TestStore) {
    with_event(&store).await;
    make_event(&store, "o", event("f", 1)).await;
    let entry_type = |name: &str, position: i64| EntryTypeRecord {
        entry_type_id: id(&format!("et-{name}")),
        event_id: id("e"),
        name: name.into(),
        zone: "vip".into(),
        position,
    };
    let list = |name: &str| GuestListRecord {
        guest_list_id: id(&format!("gl-{name}")),
        event_id: id("e"),
        name: name.into(),
        promoter_id: Some(id("o-owner")),
        created_at: at(1),
    };
    let types = [entry_type("vip", 2), entry_type("general", 1)];
    let lists = [list("b"), list("a")];
    let (made_types, made_lists) = (types.clone(), lists.clone());
    on_event(&store, move |tx| {
        tx.insert_gate(&id("e"), &id("south"), at(1))?;
        tx.insert_gate(&id("e"), &id("north"), at(2))?;
        tx.insert_gate(&id("f"), &id("north"), at(2))?;
        made_types.iter().try_for_each(|entry_type| tx.insert_entry_type(entry_type))?;
        made_lists.iter().try_for_each(|list| tx.insert_guest_list(list))
    })
    .await
    .unwrap();
    assert_eq!(look(&store, |tx| tx.gate_ids(&id("e"))).await, [id("north"), id("south")]);
    let [vip, general] = types;
    assert_eq!(look(&store, |tx| tx.entry_types(&id("e"))).await, [general, vip]);
    let [b, a] = lists;
    assert_eq!(look(&store, |tx| tx.guest_lists(&id("e"))).await, [a, b]);
    let result = on_event(&store, |tx| tx.insert_gate(&id("e"), &id("north"), at(3))).await;
    assert_eq!(conflict(result), "gate_exists");
    let twin = EntryTypeRecord { entry_type_id: id("other"), ..entry_type("vip", 3) };
    assert_eq!(conflict(on_event(&store, move |tx| tx.insert_entry_type(&twin)).await), "entry_type_exists");
    assert_eq!(
        conflict(on_event(&store, |tx| tx.rename_entry_type(&id("et-vip"), "general")).await),
        "entry_type_exists"
    );
    on_event(&store, |tx| tx.rename_entry_type(&id("et-vip"), "Very important")).await.unwrap();
    assert_eq!(look(&store, |tx| tx.entry_types(&id("e"))).await[1].name, "Very important");
    let twin = GuestListRecord { guest_list_id: id("other"), ..list("a") };
    assert_eq!(conflict(on_event(&store, move |tx| tx.insert_guest_list(&twin)).await), "guest_list_exists");
}

/// `settle` stores a setting of the server only if there is none, and returns the stored value. `setting` returns that
/// value, and `None` before the first `settle`.
pub async fn a_setting_is_settled_once(store: TestStore) {
    assert_eq!(store.setting("probe".into()).await.unwrap(), None);
    assert_eq!(store.settle("probe".into(), "one".into()).await.unwrap(), "one");
    assert_eq!(store.settle("probe".into(), "two".into()).await.unwrap(), "one");
    assert_eq!(store.setting("probe".into()).await.unwrap().as_deref(), Some("one"));
}
