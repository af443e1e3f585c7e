//! Measures how fast a store takes in scans: it runs the statements of a batch without the checks and decisions of the
//! use case.

use admit_core::occupancy::Occupancy;
use admit_core::scan::Scan;
use futures_util::future::join_all;

use super::fixture::{TestStore, code, hash, id, new_scan, on_event, scan, with_event, with_tickets};
use super::states::{state, verdict};
use crate::error::Result;
use crate::ports::Tx;
use crate::records::{BatchRecord, NewAudit, NewScan};

/// The statements of one batch: look up, insert, resolve, states, counters, audit, answer.
fn ingest(tx: &mut dyn Tx, batch: usize, size: usize) -> Result<()> {
    let event_id = id("e");
    let names: Vec<String> = (0..size).map(|n| format!("t{batch}-{n}")).collect();
    let scans: Vec<Scan> = names.iter().map(|name| scan("e", &format!("scan-{name}"), name)).collect();
    let scan_ids: Vec<_> = scans.iter().map(|scan| scan.scan_id.clone()).collect();
    tx.batch(&id("d1"), "sync", &id(&format!("batch-{batch}")))?;
    tx.device(&id("d1"))?;
    tx.stored_ids(&event_id, &scan_ids)?;
    let stamp = tx.stamp(&event_id)?;
    let hashes: Vec<_> = names.iter().map(|name| code(name)).collect();
    tx.resolve_codes(&event_id, &hashes)?;
    let new: Vec<NewScan> = scans.into_iter().map(|scan| new_scan(scan, stamp.serial)).collect();
    tx.insert_scans(&new)?;
    let subjects: Vec<String> = names.iter().map(|name| format!("ticket:{name}")).collect();
    let tickets: Vec<_> = names.iter().map(|name| id(name)).collect();
    tx.load_rules(&event_id, &tickets)?;
    tx.reviews(&event_id, &subjects)?;
    let facts = tx.facts(&event_id, &subjects)?;
    assert_eq!(facts.len(), size);
    tx.states(&event_id, &subjects)?;
    let states: Vec<_> = subjects
        .iter()
        .zip(&names)
        .map(|(subject, name)| (state(subject, stamp.serial), vec![verdict(&format!("scan-{name}"), name)]))
        .collect();
    tx.put_states(&event_id, &states)?;
    tx.incidents_of(&event_id, &subjects)?;
    tx.add_occupancy(&event_id, &Occupancy { inside: size as i64, ..Occupancy::default() }, stamp.serial)?;
    tx.append_audit(NewAudit {
        event_id: Some(event_id.clone()),
        user_id: None,
        device_id: Some(id("d1")),
        action: "batch_sync_completed",
        entity_type: "BatchSync",
        entity_id: format!("batch-{batch}"),
        changes: "{}".into(),
        metadata: "{}".into(),
    })?;
    tx.insert_batch(&BatchRecord {
        batch_id: id(&format!("batch-{batch}")),
        device_id: id("d1"),
        endpoint: "sync".into(),
        event_id,
        digest: hash(1),
        answer: "{}".into(),
        status: "completed".into(),
        batch_size: size as u32,
        processed_count: size as u32,
        error_count: 0,
        offset_seconds: 0,
        serial: stamp.serial,
        synced_at: stamp.effective_at,
    })
}

/// Stores `batches` × `size` scans of as many tickets, with `at_once` batches sent to the store at a time. Returns the
/// number of scans, to be divided by the time. The tickets are created first, and `ready` is called before the measured
/// part.
pub async fn intake(store: TestStore, batches: usize, size: usize, at_once: usize, ready: impl FnOnce()) -> usize {
    with_event(&store).await;
    for batch in 0..batches {
        let names: Vec<String> = (0..size).map(|n| format!("t{batch}-{n}")).collect();
        let refs: Vec<&str> = names.iter().map(String::as_str).collect();
        with_tickets(&store, &refs).await;
    }
    ready();
    let numbers: Vec<usize> = (0..batches).collect();
    for group in numbers.chunks(at_once) {
        let writes = group.iter().map(|batch| {
            let batch = *batch;
            on_event(&store, move |tx| ingest(tx, batch, size))
        });
        join_all(writes).await.into_iter().collect::<Result<Vec<()>>>().unwrap();
    }
    batches * size
}
