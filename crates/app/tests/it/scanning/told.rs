//! Traces of a batch in addition to its scans: its row, the incidents about it, and the hints after the commit.

use std::sync::{Arc, Mutex};

use admit_app::ports::Topic;
use admit_app::recent::{Recent, RecentScan};

use super::*;

/// `good` readable scans in Admit's own form, and `bad` unreadable ones.
fn items(world: &World, phone: &Phone<'_>, good: u64, bad: u64) -> Vec<Value> {
    let item = |n: u64| signed(phone, &scan_of(world, phone, &format!("s{n}"), n, "A", at(n as i64)));
    let unreadable = |mut item: Value| {
        item["outcome"] = json!("perhaps");
        item
    };
    (1..=good).map(item).chain((good + 1..=good + bad).map(|n| unreadable(item(n)))).collect()
}
fn topics(world: &World) -> Vec<Topic> {
    world.heard.take().into_iter().map(|hint| hint.topic).collect()
}

#[test]
fn a_batchs_row_and_its_message_count_what_was_sent_stored_and_refused() {
    for (good, bad, status) in [(3, 0, "completed"), (2, 1, "partial_success")] {
        let world = World::new();
        let phone = world.phone("p", "main");
        world.heard.take();
        send(&world, &phone, "b", &items(&world, &phone, good, bad)).unwrap();
        let device = phone.caller.device_id.clone();
        let row = read(&*world.app.store, &world.owner.organization_id, move |tx| {
            tx.batch(&device, "sync", &"b".parse().unwrap())
        });
        let row = now(row).unwrap().unwrap();
        let counts = (u64::from(row.batch_size), u64::from(row.processed_count), u64::from(row.error_count));
        assert_eq!((counts, row.status.as_str()), ((3, good, bad), status));
        let said = topics(&world).into_iter().find_map(|topic| match topic {
            Topic::Batch(message) => Some(serde_json::from_str::<Value>(&message).unwrap()),
            _ => None,
        });
        let said = said.expect("a message of the batch");
        assert_eq!(
            (&said["status"], &said["processed_count"], &said["error_count"]),
            (&json!(status), &json!(good), &json!(bad))
        );
    }
}

/// S2 §7.1: a batch is suspicious if more than half of it is in error. Unreadable items count as errors.
#[test]
fn more_than_half_of_a_batch_unreadable_is_suspicious_and_half_is_not() {
    for (good, bad, suspicious) in [(1, 1, false), (2, 2, false), (1, 2, true), (3, 1, false)] {
        let world = World::new();
        world.tickets(&["A"]);
        let phone = world.phone("p", "main");
        send(&world, &phone, "b", &items(&world, &phone, good, bad)).unwrap();
        let flagged = world.open().iter().any(|kind| kind == "high_error_rate");
        assert_eq!(flagged, suspicious, "{bad} of {}", good + bad);
    }
}

#[test]
fn whoever_watches_hears_of_what_a_revoked_device_brought() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    now(admit_app::devices::revoke(&world.app, &world.owner, phone.caller.device_id.clone(), None)).unwrap();
    world.heard.take();
    assert_eq!(code(phone.upload("b", "s", "A", "valid", at(0))), "device_revoked");
    assert!(topics(&world).contains(&Topic::Incidents), "it waits for a person");
    assert_eq!(code(phone.upload("b", "s", "A", "valid", at(0))), "device_revoked");
    assert_eq!(topics(&world), [], "nothing new came");
}

#[derive(Default)]
struct Noted(Mutex<Vec<String>>);
impl Recent for Noted {
    fn note(&self, _: &OrganizationId, _: &EventId, scans: Vec<RecentScan>) {
        self.0.lock().unwrap().extend(scans.into_iter().map(|scan| scan.scan_id.to_string()));
    }
}

#[test]
fn what_was_let_in_is_remembered_once_and_a_repeat_is_nothing_new() {
    let mut world = World::new();
    world.tickets(&["A", "B"]);
    let noted = Arc::new(Noted::default());
    world.app.recent = noted.clone();
    let phone = world.phone("p", "main");
    for _ in 0..2 {
        phone.upload("b", "s", "A", "valid", at(0)).unwrap();
        assert_eq!(*noted.0.lock().unwrap(), ["s"]);
    }
    phone.upload("c", "t", "B", "invalid", at(0)).unwrap();
    assert_eq!(*noted.0.lock().unwrap(), ["s"], "who was refused is not in");
}
