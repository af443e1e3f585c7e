//! The contracts about devices, keys, pairing, logs and batches.

use std::collections::BTreeMap;

use admit_core::fraud::Arrivals;
use admit_core::reduce::{LeftOut, ScanVerdict};
use admit_core::scan::Scan;

use super::fixture::{
    TestStore, at, conflict, event, hash, id, look, make_event, new_scan, on_event, scan, scope, with_event,
    with_organization, with_scans,
};
use crate::error::{Error, Result};
use crate::ports::write;
use crate::records::{
    BatchRecord, CredentialKind, DeviceHealth, DeviceKeyRecord, DeviceRecord, DeviceState, LogRecord, NewScan,
    PairingRequestRecord, PairingTokenRecord, RejectedRecord, WaitingScan,
};

/// A device of event `e`.
pub fn device(name: &str, created_at: i64) -> DeviceRecord {
    DeviceRecord {
        device_id: id(name),
        name: name.to_uppercase(),
        device_type: "phone".into(),
        event_id: id("e"),
        gate_id: id("north"),
        state: DeviceState::Active,
        revoked_at: None,
        lost_since: None,
        created_at: at(created_at),
        code_reused_at: Some(at(created_at + 1)),
        rung_at: Some(at(created_at + 2)),
        health: DeviceHealth::default(),
    }
}

/// `device`, `devices`, `device_keys` and `device_key` return every field as `insert_device`, `update_device`,
/// `put_health`, `insert_device_key` and `update_device_key` stored it. `credential` finds the device by a key's hash,
/// also after the key was revoked. `put_health` fails with `NotFound` for an unknown device, and `insert_device` with
/// `device_exists` for a known id.
pub async fn a_device_and_its_keys_come_back(store: TestStore) {
    with_event(&store).await;
    let key = |name: &str, byte: u8| DeviceKeyRecord {
        key_id: id(name),
        device_id: id("d1"),
        token_hash: hash(byte),
        sealed_scan_key: vec![byte; 60],
        created_at: at(i64::from(byte)),
        first_used_at: None,
        revoked_at: None,
        replaced_at: Some(at(i64::from(byte) + 70)),
        paired_by: Some(hash(byte + 90)),
    };
    let (first, second) = (key("k-b", 1), key("k-a", 2));
    let keys = [first.clone(), second.clone()];
    on_event(&store, move |tx| {
        tx.insert_device(&device("d1", 20))?;
        tx.insert_device(&device("d0", 30))?;
        keys.iter().try_for_each(|key| tx.insert_device_key(key))
    })
    .await
    .unwrap();
    let health = DeviceHealth {
        last_seen_at: Some(at(5)),
        last_sync_at: None,
        pending: 7,
        battery: Some(80),
        app_version: "1.2".into(),
        manifest_version: 3,
        clock_offset_ms: Some(-40),
        failed_syncs: 2,
        arrivals: Arrivals { since: Some(at(4)), scans: 40, failed: 3 },
        figures_id: Some(-6),
    };
    let revoked = DeviceRecord {
        state: DeviceState::Revoked,
        revoked_at: Some(at(9)),
        lost_since: Some(at(8)),
        health: health.clone(),
        ..device("d1", 20)
    };
    let used = DeviceKeyRecord { first_used_at: Some(at(6)), revoked_at: Some(at(9)), ..first.clone() };
    let (stored, stored_key) = (DeviceRecord { health: DeviceHealth::default(), ..revoked.clone() }, used.clone());
    on_event(&store, move |tx| {
        tx.put_health(&id("d1"), &health)?;
        tx.update_device(&stored)?;
        tx.update_device_key(&stored_key)
    })
    .await
    .unwrap();
    assert_eq!(look(&store, |tx| tx.device(&id("d1"))).await, Some(revoked.clone()));
    assert_eq!(look(&store, |tx| tx.devices(&id("e"))).await, [revoked, device("d0", 30)]);
    assert_eq!(look(&store, |tx| tx.device_keys(&id("d1"))).await, [used.clone(), second]);
    assert_eq!(look(&store, |tx| tx.device_key(&id("k-b"))).await, Some(used));
    let opened = store.credential(hash(1)).await.unwrap().unwrap();
    assert_eq!((opened.kind, opened.holder.as_str()), (CredentialKind::DeviceKey, "d1"));
    let missing = on_event(&store, |tx| tx.put_health(&id("d9"), &DeviceHealth::default())).await;
    assert_eq!(missing, Err(Error::NotFound { what: "device" }));
    assert_eq!(conflict(on_event(&store, |tx| tx.insert_device(&device("d1", 1))).await), "device_exists");
}

/// `pairing_token` returns the token with the devices that used it, as `update_pairing_token` stored them. `credential`
/// finds the token's event by the hash of the token.
pub async fn a_pairing_token_remembers_who_used_it(store: TestStore) {
    with_event(&store).await;
    let token = PairingTokenRecord {
        token_hash: hash(3),
        event_id: id("e"),
        gate_id: id("north"),
        device_id: None,
        uses: 2,
        used_by: vec![],
        expires_at: at(300_000),
        created_at: at(0),
        claim_hash: Some(hash(4)),
    };
    let stored = token.clone();
    on_event(&store, move |tx| tx.insert_pairing_token(&stored)).await.unwrap();
    let used = PairingTokenRecord { used_by: vec![(id("d1"), at(1)), (id("d2"), at(2))], ..token };
    let stored = used.clone();
    let before = on_event(&store, move |tx| {
        let before = tx.pairing_token(&hash(3))?;
        tx.update_pairing_token(&stored)?;
        Ok(before.map(|token| token.used_by.len()))
    })
    .await
    .unwrap();
    assert_eq!(before, Some(0));
    assert_eq!(look(&store, |tx| tx.pairing_token(&hash(3))).await, Some(used));
    let opened = store.credential(hash(3)).await.unwrap().unwrap();
    assert_eq!((opened.kind, opened.holder.as_str()), (CredentialKind::PairingToken, "e"));
    assert_eq!(opened.expires_at, Some(at(300_000)));
}

/// `put_log` replaces the whole row of a log. `log` returns one log, and `logs` those of an event. For another device
/// `log` returns `None`.
pub async fn logs_are_overwritten(store: TestStore) {
    with_event(&store).await;
    let log = LogRecord {
        device_id: id("d1"),
        log_id: id("log1"),
        event_id: id("e"),
        head: 9,
        received: vec![(1, 3), (5, 9)],
        closed_at: None,
    };
    let other = LogRecord { log_id: id("log0"), received: vec![], ..log.clone() };
    let stored = [log.clone(), other.clone()];
    on_event(&store, move |tx| stored.iter().try_for_each(|log| tx.put_log(log))).await.unwrap();
    let closed = LogRecord { head: 10, received: vec![(1, 10)], closed_at: Some(at(4)), ..log };
    let stored = closed.clone();
    on_event(&store, move |tx| tx.put_log(&stored)).await.unwrap();
    assert_eq!(look(&store, |tx| tx.log(&id("d1"), &id("log1"))).await, Some(closed.clone()));
    assert_eq!(look(&store, |tx| tx.logs(&id("e"))).await, [other, closed]);
    assert_eq!(look(&store, |tx| tx.log(&id("d2"), &id("log1"))).await, None);
}

/// Writes of two events about one device run one after the other once they called `device`. So no `put_health` or
/// `put_log` overwrites a value that another write changed after this one read it.
pub async fn a_device_and_its_log_are_changed_by_one_at_a_time(store: TestStore) {
    with_event(&store).await;
    make_event(&store, "o", event("f", 1)).await;
    on_event(&store, |tx| {
        tx.insert_device(&device("d1", 1))?;
        tx.put_log(&LogRecord {
            device_id: id("d1"),
            log_id: id("l1"),
            event_id: id("e"),
            head: 0,
            received: vec![],
            closed_at: None,
        })
    })
    .await
    .unwrap();
    let writes = (0..60).map(|n| {
        let event = if n % 2 == 0 { "e" } else { "f" };
        write(&*store, scope("o", event), |tx| {
            let device = tx.device(&id("d1"))?.ok_or(Error::NotFound { what: "device" })?;
            let failed_syncs = device.health.failed_syncs + 1;
            tx.put_health(&device.device_id, &DeviceHealth { failed_syncs, ..device.health })?;
            let log = tx.log(&id("d1"), &id("l1"))?.ok_or(Error::NotFound { what: "log" })?;
            tx.put_log(&LogRecord { head: log.head + 1, ..log })
        })
    });
    let results = futures_util::future::join_all(writes).await;
    assert_eq!(results.into_iter().filter(Result::is_err).count(), 0);
    let told = look(&store, |tx| Ok((tx.device(&id("d1"))?, tx.log(&id("d1"), &id("l1"))?))).await;
    let (device, log) = told;
    assert_eq!(device.map(|device| device.health.failed_syncs), Some(60));
    assert_eq!(log.map(|log| log.head), Some(60));
}

/// `devices` lists a device in the event to which it is assigned, and in each event where it has a log. `logs` lists
/// its logs in the same events. The missing scans may belong to either event.
pub async fn a_device_is_listed_where_it_is_and_where_its_log_is(store: TestStore) {
    with_event(&store).await;
    make_event(&store, "o", event("f", 1)).await;
    let log = |event: &str, log_id: &str| LogRecord {
        device_id: id("d1"),
        log_id: id(log_id),
        event_id: id(event),
        head: 9,
        received: vec![(1, 2)],
        closed_at: None,
    };
    let (here, there) = (log("e", "l1"), DeviceRecord { event_id: id("f"), ..device("d1", 1) });
    let stored = (there.clone(), here.clone());
    on_event(&store, move |tx| {
        tx.insert_device(&stored.0)?;
        tx.put_log(&stored.1)
    })
    .await
    .unwrap();
    for event in ["e", "f"] {
        assert_eq!(look(&store, move |tx| tx.devices(&id(event))).await, std::slice::from_ref(&there), "{event}");
        assert_eq!(look(&store, move |tx| tx.logs(&id(event))).await, std::slice::from_ref(&here), "{event}");
    }
    assert!(look(&store, |tx| tx.devices(&id("g"))).await.is_empty());
    assert!(look(&store, |tx| tx.logs(&id("g"))).await.is_empty());
}

/// `contents_at` returns the digests at each of the given places of a log. Scans of other logs don't count.
pub async fn a_place_of_a_log_has_all_its_contents(store: TestStore) {
    with_event(&store).await;
    let at_place = |scan_id: &str, seq: u64| Scan { seq: Some(seq), ..scan("e", scan_id, "t1") };
    let other_log = Scan { log_id: Some(id("log2")), ..at_place("s9", 1) };
    with_scans(&store, vec![at_place("s1", 1), at_place("s2", 2), at_place("s3", 2), other_log]).await;
    let found = look(&store, |tx| tx.contents_at(&id("d1"), &id("log1"), &[1, 2, 3])).await;
    assert_eq!(
        found.into_iter().map(|(seq, contents)| (seq, contents.len())).collect::<Vec<_>>(),
        [(1, 1), (2, 2), (3, 0)]
    );
    assert!(look(&store, |tx| tx.contents_at(&id("d1"), &id("log1"), &[])).await.is_empty());
}

/// `insert_batch` stores a batch once per device and endpoint. A second call with the same id fails with
/// `batch_exists`. `batch` returns it with the answer that its repeats get. `insert_rejected` stores items that nobody
/// can read, with or without a place in a log.
pub async fn a_batch_is_stored_once(store: TestStore) {
    with_event(&store).await;
    let batch = BatchRecord {
        batch_id: id("b1"),
        device_id: id("d1"),
        endpoint: "sync".into(),
        event_id: id("e"),
        digest: hash(9),
        answer: "{\"processed\": [\"é\"]}".into(),
        status: "completed".into(),
        batch_size: 3,
        processed_count: 2,
        error_count: 1,
        offset_seconds: -2,
        serial: 1,
        synced_at: at(77),
    };
    let elsewhere = BatchRecord { endpoint: "scans_sync".into(), ..batch.clone() };
    let other_device = BatchRecord { device_id: id("d2"), ..batch.clone() };
    for stored in [batch.clone(), elsewhere, other_device] {
        on_event(&store, move |tx| tx.insert_batch(&stored)).await.unwrap();
    }
    assert_eq!(look(&store, |tx| tx.batch(&id("d1"), "sync", &id("b1"))).await, Some(batch.clone()));
    assert_eq!(look(&store, |tx| tx.batch(&id("d3"), "sync", &id("b1"))).await, None);
    let again = BatchRecord { digest: hash(8), ..batch.clone() };
    assert_eq!(conflict(on_event(&store, move |tx| tx.insert_batch(&again)).await), "batch_exists");
    let lost = RejectedRecord {
        device_id: id("d1"),
        scan_id: None,
        log: Some((id("log1"), 4)),
        reason: "not a scan".into(),
        body: "{\"scan_id\": 5}".into(),
        received_at: at(1),
    };
    let twice = [lost.clone(), RejectedRecord { log: None, scan_id: Some("weird id".into()), ..lost }];
    on_event(&store, move |tx| tx.insert_rejected(&id("e"), &twice)).await.unwrap();
}

/// `batches_after` returns the uploads of an event after a serial, in order of their serials, at most `limit`. It
/// returns the uploads of all devices or of one. Scans that a device asked about online are no uploads.
pub async fn batches_come_in_the_events_order(store: TestStore) {
    with_event(&store).await;
    let batch = |name: &str, device: &str, endpoint: &str, serial: u64| BatchRecord {
        batch_id: id(name),
        device_id: id(device),
        endpoint: endpoint.into(),
        event_id: id("e"),
        digest: hash(9),
        answer: "{}".into(),
        status: "completed".into(),
        batch_size: 1,
        processed_count: 1,
        error_count: 0,
        offset_seconds: 0,
        serial,
        synced_at: at(77),
    };
    let elsewhere = BatchRecord { event_id: id("e2"), ..batch("elsewhere", "d1", "sync", 3) };
    let all = [
        batch("b", "d2", "sync", 4),
        batch("b", "d1", "sync", 2),
        batch("asked", "d1", "scans", 3),
        batch("c", "d1", "scans_sync", 5),
        elsewhere,
    ];
    for stored in all {
        on_event(&store, move |tx| tx.insert_batch(&stored)).await.unwrap();
    }
    let found = |device: Option<&'static str>, serial: u64, limit: usize| {
        let store = &store;
        async move {
            let rows = look(store, move |tx| {
                let device = device.map(id);
                tx.batches_after(&id("e"), device.as_ref(), serial, limit)
            });
            rows.await.iter().map(|row| (row.serial, row.device_id.to_string())).collect::<Vec<_>>()
        }
    };
    let of = |rows: &[(u64, &str)]| rows.iter().map(|(n, device)| (*n, (*device).to_owned())).collect::<Vec<_>>();
    assert_eq!(found(None, 0, 10).await, of(&[(2, "d1"), (4, "d2"), (5, "d1")]));
    assert_eq!(found(None, 2, 1).await, of(&[(4, "d2")]));
    assert_eq!(found(Some("d1"), 0, 10).await, of(&[(2, "d1"), (5, "d1")]));
    assert_eq!(found(Some("d1"), 2, 10).await, of(&[(5, "d1")]));
    assert_eq!(found(Some("d2"), 4, 10).await, of(&[]));
}

/// `count_quarantined` counts the withheld scans of a device, and its items that nobody can read. `rejected_bodies`
/// returns which of the given texts are stored as such items of the device.
pub async fn quarantine_is_counted(store: TestStore) {
    with_event(&store).await;
    on_event(&store, |tx| {
        let mut late = new_scan(scan("e", "s1", "t1"), 1);
        late.fact.withheld = true;
        tx.insert_scans(&[late, new_scan(scan("e", "s2", "t1"), 1)])
    })
    .await
    .unwrap();
    assert_eq!(look(&store, |tx| tx.count_quarantined(&id("d1"))).await, 1);
    assert_eq!(look(&store, |tx| tx.count_quarantined(&id("d2"))).await, 0);
    // Items that nobody can read count too, and are recognised by their bytes.
    let rejected = |device: &str, body: &str| RejectedRecord {
        device_id: id(device),
        scan_id: None,
        log: None,
        reason: "count: must be 1".into(),
        body: body.into(),
        received_at: at(3),
    };
    let items = [rejected("d1", "{\"a\":1}"), rejected("d1", "{}"), rejected("d2", "{\"b\":1}")];
    on_event(&store, move |tx| tx.insert_rejected(&id("e"), &items)).await.unwrap();
    assert_eq!(look(&store, |tx| tx.count_quarantined(&id("d1"))).await, 3);
    assert_eq!(look(&store, |tx| tx.count_quarantined(&id("d2"))).await, 1);
    let asked = ["{}".to_owned(), "{\"b\":1}".to_owned(), "none".to_owned()];
    assert_eq!(look(&store, move |tx| tx.rejected_bodies(&id("d1"), &asked)).await, ["{}"]);
}

/// `waiting_scans` returns the scans of a device in an event that wait for a person: those whose verdict says that they
/// are left out as unverified. `count_waiting` counts them by device, and `all_waiting_scans` returns them for the
/// whole event. After a verdict that counts the scan, none of the three has it.
pub async fn scans_that_wait_are_told_by_device(store: TestStore) {
    with_event(&store).await;
    let scans: Vec<NewScan> = ["s1", "s2", "s3"].map(|name| new_scan(scan("e", name, "t1"), 1)).into();
    let left_out = [Some(LeftOut::Unverified), None, Some(LeftOut::Excluded)];
    let verdicts: Vec<ScanVerdict> = scans
        .iter()
        .zip(left_out)
        .map(|(new, left_out)| {
            let scan_id = new.fact.scan.scan_id.as_str();
            ScanVerdict { digest: Some(new.fact.digest), left_out, ..super::states::verdict(scan_id, "t1") }
        })
        .collect();
    let waiting = WaitingScan { scan_id: id("s1"), digest: scans[0].fact.digest, subject_key: "ticket:t1".into() };
    on_event(&store, move |tx| {
        tx.insert_scans(&scans)?;
        tx.put_states(&id("e"), &[(super::states::state("ticket:t1", 1), verdicts.clone())])
    })
    .await
    .unwrap();
    assert_eq!(look(&store, |tx| tx.waiting_scans(&id("e"), &id("d1"))).await, [waiting]);
    assert_eq!(look(&store, |tx| tx.count_waiting()).await, BTreeMap::from([(id("d1"), 1)]));
    assert_eq!(look(&store, |tx| tx.waiting_scans(&id("e"), &id("d2"))).await, Vec::<WaitingScan>::new());
    assert_eq!(look(&store, |tx| tx.waiting_scans(&id("e2"), &id("d1"))).await, Vec::<WaitingScan>::new());
    let all = look(&store, |tx| tx.all_waiting_scans(&id("e"))).await;
    assert!(all.len() == 1 && all[0].0 == id("d1") && all[0].1.scan_id == id("s1"));
    // A person accepted the scan.
    let accepted = vec![(super::states::state("ticket:t1", 2), vec![super::states::verdict("s1", "t1")])];
    on_event(&store, move |tx| tx.put_states(&id("e"), &accepted)).await.unwrap();
    assert_eq!(look(&store, |tx| tx.waiting_scans(&id("e"), &id("d1"))).await, Vec::<WaitingScan>::new());
    assert_eq!(look(&store, |tx| tx.count_waiting()).await, BTreeMap::new());
}

/// `pairing_request` finds a request by the hash of its token, without an organisation. `insert_pairing_request` first
/// deletes the requests that expired before a moment. It then stores the new one and returns `true`, or returns `false`
/// if `most` requests wait already.
pub async fn a_pairing_request_is_found_by_its_token_and_forgotten(store: TestStore) {
    let request = |byte: u8, expires_at: i64| PairingRequestRecord {
        token_hash: hash(byte),
        claim_hash: hash(byte + 100),
        device_id: id(&format!("d{byte}")),
        name: "Side door é".into(),
        device_type: "phone".into(),
        expires_at: at(expires_at),
        created_at: at(5),
    };
    let insert = async |one, before, most| store.insert_pairing_request(one, at(before), most).await;
    assert_eq!(insert(request(1, 10), 0, 2).await, Ok(true));
    assert_eq!(insert(request(2, 20), 0, 2).await, Ok(true));
    assert_eq!(insert(request(3, 30), 10, 2).await, Ok(false), "two wait; one that ends at 10 is not before 10");
    assert_eq!(store.pairing_request(hash(1)).await, Ok(Some(request(1, 10))));
    assert_eq!(store.pairing_request(hash(3)).await, Ok(None));
    assert_eq!(insert(request(3, 30), 11, 2).await, Ok(true));
    assert_eq!(store.pairing_request(hash(1)).await, Ok(None));
    assert_eq!(store.pairing_request(hash(3)).await, Ok(Some(request(3, 30))));
}

/// `organizations` returns the id of every organisation of the server, also of one without an event.
pub async fn organizations_are_told_with_and_without_events(store: TestStore) {
    with_event(&store).await;
    with_organization(&store, "p").await;
    assert_eq!(store.organizations().await.unwrap(), [id("o"), id("p")]);
}
