//! The contracts about separation: one organisation can neither affect nor observe another (trust §1).

use admit_core::occupancy::Occupancy;

use super::fixture::{
    TestStore, at, event, guest, hash, id, make_event, new_scan, page, scan, scope, ticket, with_event,
    with_organization,
};
use crate::error::Error;
use crate::ports::{ScanFilter, Store, TicketFilter, read, write};
use crate::records::{CredentialKind, CredentialRecord, EventRecord, NewScan, TicketRecord};

async fn fill(store: &dyn Store, organization: &'static str, scans: usize) {
    write(store, scope(organization, "e"), move |tx| {
        let stamp = tx.stamp(&id("e"))?;
        tx.insert_gate(&id("e"), &id("north"), at(1))?;
        tx.insert_tickets(&[ticket("e", "t1")])?;
        tx.insert_guests(&[guest("e", "t1", organization)])?;
        let facts: Vec<NewScan> =
            (0..scans).map(|n| new_scan(scan("e", &format!("s{n}"), "t1"), stamp.serial)).collect();
        tx.insert_scans(&facts)?;
        tx.put_states(
            &id("e"),
            &[(super::states::state("ticket:t1", stamp.serial), vec![super::states::verdict("s0", "t1")])],
        )?;
        tx.add_occupancy(&id("e"), &Occupancy { inside: scans as i64, ..Occupancy::default() }, stamp.serial)
    })
    .await
    .unwrap();
}

/// Two organisations use the same ids for everything. A write of one changes nothing that `scans`, `tickets`, `event`,
/// `facts`, `occupancy` and `head` return to the other.
pub async fn two_organizations_with_the_same_ids_do_not_meet(store: TestStore) {
    for organization in ["o", "p"] {
        with_organization(&store, organization).await;
        make_event(&store, organization, EventRecord { name: organization.into(), ..event("e", 1) }).await;
    }
    fill(&*store, "o", 2).await;
    fill(&*store, "p", 5).await;
    write(&*store, scope("p", "e"), |tx| {
        tx.stamp(&id("e"))?;
        tx.update_event(&EventRecord { name: "changed".into(), ..event("e", 1) })?;
        tx.update_tickets(&[TicketRecord { rules_serial: 77, ..ticket("e", "t1") }])?;
        tx.put_states(&id("e"), &[(super::states::state("ticket:t1", 2), vec![])])
    })
    .await
    .unwrap();
    let seen = read(&*store, &id("o"), |tx| {
        let scans = tx.scans(&id("e"), &ScanFilter::default(), &page(99))?.items.len();
        let tickets = tx.tickets(&id("e"), &TicketFilter::default(), &page(99))?.items;
        let name = tx.event(&id("e"))?.map(|event| event.name);
        let guests: Vec<String> = tickets.iter().filter_map(|row| row.1.as_ref()).map(|g| g.name.clone()).collect();
        let facts = tx.facts(&id("e"), &["ticket:t1".to_owned()])?.len();
        let inside = tx.occupancy(&id("e"))?.inside;
        Ok((scans, name, guests, tickets[0].0.rules_serial, facts, inside, tx.head(&id("e"))?.serial))
    })
    .await
    .unwrap();
    let guests: Vec<String> = Vec::new();
    assert_eq!(seen, (2, Some("o".to_owned()), guests, 1, 2, 2, 1));
    let other = read(&*store, &id("p"), |tx| {
        Ok((
            tx.facts(&id("e"), &["ticket:t1".to_owned()])?.len(),
            super::states::all_states(tx)?.len(),
            tx.head(&id("e"))?.serial,
        ))
    })
    .await
    .unwrap();
    assert_eq!(other, (5, 0, 2));
}

/// `stamp` and `update_event` fail with `NotFound` for an event of another organisation. `stamp` fails with `Bug` for
/// an event outside the write's scope, and `insert_credential` for a credential of another organisation.
pub async fn another_organizations_event_cannot_be_written(store: TestStore) {
    with_event(&store).await;
    with_organization(&store, "p").await;
    make_event(&store, "o", event("f", 1)).await;
    let foreign = write(&*store, scope("p", "e"), |tx| tx.stamp(&id("e"))).await;
    assert_eq!(foreign, Err(Error::NotFound { what: "event" }));
    let foreign = write(&*store, scope("p", "e"), |tx| tx.update_event(&event("e", 1))).await;
    assert_eq!(foreign, Err(Error::NotFound { what: "event" }));
    let outside = write(&*store, scope("o", "e"), |tx| tx.stamp(&id("f"))).await;
    assert!(matches!(outside, Err(Error::Bug(_))), "{outside:?}");
    let secret = CredentialRecord {
        token_hash: hash(1),
        organization_id: id("o"),
        kind: CredentialKind::Session,
        holder: "o-owner".into(),
        expires_at: None,
        created_at: at(1),
    };
    let forged = write(&*store, scope("p", "e"), move |tx| tx.insert_credential(&secret)).await;
    assert!(matches!(forged, Err(Error::Bug(_))), "{forged:?}");
}
