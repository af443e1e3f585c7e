//! The contracts about webhook endpoints, messages and rows.

use admit_core::sign::token_hash;
use admit_core::wire::webhooks::WebhookColumns;

use super::fixture::{TestStore, at, conflict, hash, id, look, on_event, with_event, with_organization};
use crate::error::Error;
use crate::ports::{Scope, Tx, read, write};
use crate::records::{CredentialKind, WebhookEndpointRecord, WebhookHealth, WebhookMessageRecord, WebhookRowRecord};

fn endpoint(name: &str, created_at: i64) -> WebhookEndpointRecord {
    WebhookEndpointRecord {
        endpoint_id: format!("endpoint-{name}"),
        event_id: id("e"),
        name: name.into(),
        columns: WebhookColumns { name: Some("full name".into()), phone: None, ..WebhookColumns::default() },
        sealed_secret: vec![1, 2, 3],
        former: None,
        created_at: at(created_at),
        disabled_at: None,
        health: WebhookHealth::default(),
    }
}
fn message(webhook_id: &str, received_at: i64) -> WebhookMessageRecord {
    WebhookMessageRecord {
        endpoint_id: "endpoint-a".into(),
        webhook_id: webhook_id.into(),
        digest: hash(7),
        answer: r#"{"status":"created"}"#.into(),
        received_at: at(received_at),
    }
}
async fn with_endpoints(store: &TestStore, names: &'static [&'static str]) {
    with_event(store).await;
    on_event(store, move |tx| {
        for (place, name) in (1..).zip(names) {
            tx.insert_webhook_endpoint(&endpoint(name, place * 1_000))?;
        }
        Ok(())
    })
    .await
    .unwrap();
}

/// `webhook_endpoint` and `webhook_endpoints` return an endpoint as `insert_webhook_endpoint` and
/// `update_webhook_endpoint` stored it. `credential` finds its organisation by the hash of its id. A second insert
/// fails with `webhook_endpoint_exists`, and an update of an unknown one with `NotFound`.
pub async fn an_endpoint_comes_back_and_is_found_by_its_id(store: TestStore) {
    with_endpoints(&store, &["a", "b"]).await;
    assert_eq!(look(&store, |tx| tx.webhook_endpoints()).await, [endpoint("b", 2_000), endpoint("a", 1_000)]);
    let changed = WebhookEndpointRecord {
        name: "changed".into(),
        columns: WebhookColumns::default(),
        sealed_secret: vec![4],
        former: Some((vec![1, 2, 3], at(9_000))),
        disabled_at: Some(at(8_000)),
        ..endpoint("a", 1_000)
    };
    let stored = changed.clone();
    on_event(&store, move |tx| tx.update_webhook_endpoint(&stored)).await.unwrap();
    assert_eq!(look(&store, |tx| tx.webhook_endpoint("endpoint-a")).await, Some(changed));
    assert_eq!(look(&store, |tx| tx.webhook_endpoint("endpoint-c")).await, None);
    let found = store.credential(token_hash("endpoint-a")).await.unwrap().unwrap();
    assert_eq!((found.kind, found.organization_id), (CredentialKind::WebhookEndpoint, id("o")));
    assert_eq!(found.holder, "endpoint-a");
    let again = on_event(&store, |tx| tx.insert_webhook_endpoint(&endpoint("a", 1))).await;
    assert_eq!(conflict(again), "webhook_endpoint_exists");
    let nobodys = on_event(&store, |tx| tx.update_webhook_endpoint(&endpoint("c", 1))).await;
    assert_eq!(nobodys, Err(Error::NotFound { what: "webhook_endpoint" }));
}

/// `note_webhook_received` and `note_webhook_refused` store the health of an endpoint. `update_webhook_endpoint` does
/// not overwrite it.
pub async fn an_endpoints_health_is_its_own(store: TestStore) {
    with_endpoints(&store, &["a"]).await;
    on_event(&store, |tx| {
        tx.note_webhook_received("endpoint-a", at(5_000))?;
        tx.note_webhook_refused("endpoint-a", at(6_000), "record.email is wrong")?;
        tx.update_webhook_endpoint(&endpoint("a", 1_000))
    })
    .await
    .unwrap();
    let health = WebhookHealth {
        received_at: Some(at(5_000)),
        refused_at: Some(at(6_000)),
        problem: Some("record.email is wrong".into()),
    };
    assert_eq!(look(&store, |tx| tx.webhook_endpoint("endpoint-a")).await.unwrap().health, health);
}

/// `insert_webhook_message` stores a message of an endpoint once. A second one with the same id fails with
/// `webhook_message_exists`; another endpoint may use the id. The method also deletes the messages of this endpoint
/// that are older than the given moment. `webhook_message` returns a stored message.
pub async fn a_message_is_remembered_until_it_is_forgotten(store: TestStore) {
    with_endpoints(&store, &["a", "b"]).await;
    for (webhook_id, received_at) in [("m1", 1_000), ("m2", 2_000)] {
        on_event(&store, move |tx| tx.insert_webhook_message(&message(webhook_id, received_at), at(0))).await.unwrap();
    }
    let elsewhere = WebhookMessageRecord { endpoint_id: "endpoint-b".into(), ..message("m1", 1_000) };
    on_event(&store, move |tx| tx.insert_webhook_message(&elsewhere, at(0))).await.unwrap();
    let again = WebhookMessageRecord { digest: hash(8), ..message("m1", 3_000) };
    let again = on_event(&store, move |tx| tx.insert_webhook_message(&again, at(0))).await;
    assert_eq!(conflict(again), "webhook_message_exists");
    assert_eq!(look(&store, |tx| tx.webhook_message("endpoint-a", "m1")).await, Some(message("m1", 1_000)));
    on_event(&store, |tx| tx.insert_webhook_message(&message("m3", 4_000), at(2_000))).await.unwrap();
    let known = look(&store, |tx| {
        let mut known = Vec::new();
        for (endpoint, id) in [("a", "m1"), ("a", "m2"), ("a", "m3"), ("b", "m1")] {
            known.push(tx.webhook_message(&format!("endpoint-{endpoint}"), id)?.is_some());
        }
        Ok(known)
    })
    .await;
    assert_eq!(known, [false, true, true, true], "what is as old as the bound stays; another endpoint's are its own");
}

/// `put_webhook_row` replaces the newest known change of a row. `webhook_row` returns that change, and `None` for an
/// unknown row.
pub async fn how_far_a_row_is_known_is_overwritten(store: TestStore) {
    with_endpoints(&store, &["a"]).await;
    let row = |sequence, changed_us, deleted_at: Option<i64>| WebhookRowRecord {
        endpoint_id: "endpoint-a".into(),
        external_id: "17".into(),
        sequence,
        changed_us,
        deleted_at: deleted_at.map(at),
        said: deleted_at.map(|_| ("name".to_owned(), "0123".to_owned())).into_iter().collect(),
    };
    for known in [row(None, None, None), row(Some(5), Some(1_780_860_600_123_456), None), row(Some(6), None, Some(9))] {
        let stored = known.clone();
        on_event(&store, move |tx| tx.put_webhook_row(&stored)).await.unwrap();
        assert_eq!(look(&store, |tx| tx.webhook_row("endpoint-a", "17")).await, Some(known));
    }
    assert_eq!(look(&store, |tx| tx.webhook_row("endpoint-a", "18")).await, None);
}

/// `other_webhook_of_row` returns the name of another endpoint of the event that sent a row with the same id. It
/// returns `None` if that endpoint is switched off.
pub async fn another_endpoints_row_is_found(store: TestStore) {
    with_endpoints(&store, &["a", "b"]).await;
    let row = WebhookRowRecord {
        endpoint_id: "endpoint-a".into(),
        external_id: "17".into(),
        sequence: None,
        changed_us: None,
        deleted_at: None,
        said: Default::default(),
    };
    on_event(&store, move |tx| tx.put_webhook_row(&row)).await.unwrap();
    let mut found = Vec::new();
    for (event, of, external_id) in [("e", "b", "17"), ("e", "a", "17"), ("e", "b", "18"), ("other", "b", "17")] {
        let name = move |tx: &mut dyn Tx| tx.other_webhook_of_row(&id(event), &format!("endpoint-{of}"), external_id);
        found.push(look(&store, name).await);
    }
    assert_eq!(found, [Some(endpoint("a", 1_000).name), None, None, None]);
    let off = WebhookEndpointRecord { disabled_at: Some(at(5)), ..endpoint("a", 1_000) };
    on_event(&store, move |tx| tx.update_webhook_endpoint(&off)).await.unwrap();
    assert_eq!(look(&store, |tx| tx.other_webhook_of_row(&id("e"), "endpoint-b", "17")).await, None);
}

/// `webhook_endpoints`, `webhook_endpoint` and `webhook_message` return nothing of another organisation.
/// `update_webhook_endpoint` fails with `NotFound` there.
pub async fn webhooks_of_two_organizations_do_not_meet(store: TestStore) {
    with_endpoints(&store, &["a"]).await;
    on_event(&store, |tx| tx.insert_webhook_message(&message("m1", 1_000), at(0))).await.unwrap();
    with_organization(&store, "p").await;
    let foreign = read(&*store, &id("p"), |tx| {
        Ok((tx.webhook_endpoints()?, tx.webhook_endpoint("endpoint-a")?, tx.webhook_message("endpoint-a", "m1")?))
    })
    .await;
    assert_eq!(foreign, Ok((Vec::new(), None, None)));
    let foreign = write(&*store, Scope::organization(&id("p")), |tx| {
        tx.note_webhook_refused("endpoint-a", at(1), "not theirs to say")?;
        tx.update_webhook_endpoint(&endpoint("a", 1))
    })
    .await;
    assert_eq!(foreign, Err(Error::NotFound { what: "webhook_endpoint" }));
    assert_eq!(look(&store, |tx| tx.webhook_endpoint("endpoint-a")).await, Some(endpoint("a", 1_000)));
}
