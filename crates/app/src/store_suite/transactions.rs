//! The contracts about begin, commit, write groups and failures, on which use cases rely (law 6).

use admit_core::event::EventStatus;
use futures_util::future::join_all;

use super::fixture::{
    TestStore, at, code, conflict, event, id, look, make_event, new_scan, on_event, page, scan, scope, ticket,
    with_event, with_tickets,
};
use crate::error::{Error, Result};
use crate::ports::{Pace, Scope, read, write};
use crate::records::{EventRecord, NewAudit, Stamp, TicketRecord};

/// If the operation of a `write` returns an error, nothing of it is stored, and it takes no serial.
pub async fn a_failed_operation_leaves_nothing(store: TestStore) {
    with_event(&store).await;
    let result = on_event(&store, |tx| {
        tx.stamp(&id("e"))?;
        tx.insert_tickets(&[ticket("e", "t1")])?;
        tx.update_event(&EventRecord { status: EventStatus::Ended, ..event("e", 3_000) })?;
        Err::<(), _>(Error::denied("no", "not today"))
    })
    .await;
    assert!(matches!(result, Err(Error::Denied { code: "no", .. })), "{result:?}");
    assert_eq!(look(&store, |tx| tx.ticket(&id("t1"))).await, None);
    assert_eq!(look(&store, |tx| tx.event(&id("e"))).await, Some(event("e", 3_000)));
    assert_eq!(look(&store, |tx| tx.head(&id("e"))).await.serial, 0);
}

/// If several operations share a commit, the store keeps the successful ones and gives them serials without holes, even
/// if others fail.
pub async fn others_of_its_group_are_kept(store: TestStore) {
    with_event(&store).await;
    with_tickets(&store, &["taken"]).await;
    let writes = (0..40).map(|n| {
        let store = store.clone();
        async move {
            on_event(&store, move |tx| {
                let stamp = tx.stamp(&id("e"))?;
                let mut new = ticket("e", &format!("t{n:02}"));
                if n % 4 == 0 {
                    new.barcode_hashes = vec![code("taken")];
                }
                tx.insert_tickets(&[new])?;
                if n % 4 == 1 { Err(Error::not_found("luck")) } else { Ok(stamp.serial) }
            })
            .await
        }
    });
    let results: Vec<Result<u64>> = join_all(writes).await;
    let mut serials = Vec::new();
    for (n, result) in results.into_iter().enumerate() {
        match n % 4 {
            0 => assert_eq!(conflict(result), "barcode_taken"),
            1 => assert_eq!(result, Err(Error::NotFound { what: "luck" })),
            _ => serials.push(result.unwrap()),
        }
        let kept = look(&store, move |tx| tx.ticket(&id(&format!("t{n:02}")))).await.is_some();
        assert_eq!(kept, n % 4 > 1, "operation {n}");
    }
    serials.sort_unstable();
    assert_eq!(serials, (1..=20).collect::<Vec<u64>>());
}

/// After a statement failed, every further call of the operation fails. `write` returns the first error and stores
/// nothing, even if the operation returns `Ok`.
pub async fn an_operation_that_goes_on_after_a_failure_is_not_kept(store: TestStore) {
    with_event(&store).await;
    with_tickets(&store, &["taken"]).await;
    let result = on_event(&store, |tx| {
        tx.insert_gate(&id("e"), &id("north"), at(1))?;
        let clash = tx.insert_tickets(&[TicketRecord { barcode_hashes: vec![code("taken")], ..ticket("e", "t1") }]);
        assert!(clash.is_err());
        assert!(tx.insert_gate(&id("e"), &id("south"), at(1)).is_err(), "the transaction is over");
        Ok(())
    })
    .await;
    assert_eq!(conflict(result), "barcode_taken");
    assert_eq!(look(&store, |tx| tx.gate_ids(&id("e"))).await, []);
}

/// If an operation panics, `write` returns `Bug` and stores nothing of it. The next write succeeds.
pub async fn a_panic_ends_only_its_operation(store: TestStore) {
    with_event(&store).await;
    let result = on_event(&store, |tx| {
        tx.insert_gate(&id("e"), &id("north"), at(1))?;
        if true {
            panic!("planted by the contract");
        }
        Ok(())
    })
    .await;
    assert!(matches!(result, Err(Error::Bug(_))), "{result:?}");
    assert_eq!(look(&store, |tx| tx.gate_ids(&id("e"))).await, []);
    on_event(&store, |tx| tx.insert_gate(&id("e"), &id("south"), at(1))).await.unwrap();
}

/// Within a `read`, each method that writes, and `stamp`, fails with `Bug` and changes nothing.
pub async fn a_read_cannot_write(store: TestStore) {
    with_event(&store).await;
    let wrote = read(&*store, &id("o"), |tx| tx.insert_gate(&id("e"), &id("north"), at(1))).await;
    assert!(matches!(wrote, Err(Error::Bug(_))), "{wrote:?}");
    let stamped = read(&*store, &id("o"), |tx| tx.stamp(&id("e"))).await;
    assert!(matches!(stamped, Err(Error::Bug(_))), "{stamped:?}");
    assert_eq!(look(&store, |tx| tx.gate_ids(&id("e"))).await, []);
}

/// Within one `read`, all methods return the state of the same commit, here `head` and `occupancy`.
pub async fn a_read_sees_one_moment(store: TestStore) {
    with_event(&store).await;
    let writes = (0..30).map(|_| {
        let store = store.clone();
        async move {
            on_event(&store, |tx| {
                let stamp = tx.stamp(&id("e"))?;
                let one = admit_core::occupancy::Occupancy { inside: 1, ..Default::default() };
                tx.add_occupancy(&id("e"), &one, stamp.serial)
            })
            .await
            .unwrap();
            look(&store, |tx| Ok((tx.head(&id("e"))?.serial, tx.occupancy(&id("e"))?.inside))).await
        }
    });
    for (serial, inside) in join_all(writes).await {
        assert_eq!(serial as i64, inside);
    }
}

/// Concurrent writes commit in the order of their serials. The serials have no holes, and each `effective_at` is later
/// than the one before. This holds for every [`Pace`] of a write, and for writes of one event, two or none.
pub async fn concurrent_writes_commit_in_order(store: TestStore) {
    with_event(&store).await;
    make_event(&store, "o", event("f", 1)).await;
    let writes = (0..60_u64).map(|n| {
        let store = store.clone();
        async move {
            let mut scope = match n % 5 {
                0 => Scope::organization(&id("o")),
                1 => Scope { events: vec![id("f"), id("e")], ..scope("o", "e") },
                _ => scope("o", "e"),
            };
            scope.pace = [Pace::Urgent, Pace::Patient, Pace::Usual][n as usize % 7 % 3];
            let no_event = scope.events.is_empty();
            write(&*store, scope, move |tx| {
                if no_event {
                    let line = NewAudit {
                        event_id: None,
                        user_id: None,
                        device_id: None,
                        action: "counted",
                        entity_type: "Number",
                        entity_id: n.to_string(),
                        changes: "{}".into(),
                        metadata: "{}".into(),
                    };
                    tx.append_audit(line)?;
                    return Ok(None);
                }
                let stamp = tx.stamp(&id("e"))?;
                tx.insert_scans(&[new_scan(scan("e", &format!("s{n}"), "t1"), stamp.serial)])?;
                Ok(Some(stamp))
            })
            .await
            .unwrap()
        }
    });
    let mut stamps: Vec<Stamp> = join_all(writes).await.into_iter().flatten().collect();
    stamps.sort_by_key(|stamp| stamp.serial);
    assert_eq!(stamps.iter().map(|stamp| stamp.serial).collect::<Vec<_>>(), (1..=48).collect::<Vec<u64>>());
    assert!(stamps.windows(2).all(|pair| pair[0].effective_at < pair[1].effective_at));
    let lines = look(&store, |tx| tx.audit_from(None, 1, 100)).await;
    assert_eq!(lines.iter().map(|line| line.n).collect::<Vec<_>>(), (1..=12).collect::<Vec<u64>>());
    let listed = look(&store, |tx| tx.scans(&id("e"), &Default::default(), &page(100))).await;
    let serials: Vec<u64> = listed.items.iter().map(|row| row.serial).collect();
    assert_eq!(serials, (1..=48).rev().collect::<Vec<u64>>());
}
