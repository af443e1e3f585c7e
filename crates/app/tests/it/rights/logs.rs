//! Logs whose missing scans nobody will hand over any more (spec §3 "Log").

use admit_app::devices::list::LogListing;
use serde_json::json;

use super::*;

fn beat(world: &World, phone: &Phone<'_>, log: &str, head: u64) {
    let body = json!({ "log_id": log, "head": head, "pending": head, "manifest_version": 1 });
    now(devices::heartbeat(&world.app, &phone.caller, serde_json::from_value(body).unwrap())).unwrap();
}

fn logs(world: &World) -> Vec<LogListing> {
    now(devices::list(&world.app, &world.owner, world.event.clone())).unwrap().remove(0).logs
}

fn close(world: &World, log: &str) -> Result<(), Error> {
    now(devices::close_log(&world.app, &world.owner, id("p"), log.parse().unwrap())).map(|_| ())
}

/// spec §3 "Log": a device whose storage was cleared begins a new log. The old log stays listed until a person closes
/// it, and its gap stays on record.
#[test]
fn s3_log_the_old_log_of_a_cleared_phone_is_listed_until_a_person_closes_it() {
    let world = World::new();
    let phone = world.phone("p", "main");
    beat(&world, &phone, "old", 5);
    beat(&world, &phone, "new", 1);
    assert_eq!(logs(&world).iter().map(|one| one.missing_count).collect::<Vec<_>>(), [1, 5]);
    close(&world, "old").unwrap();
    let old = &logs(&world)[1];
    assert_eq!((old.log.closed_at, old.missing_count), (Some(at(0)), 5));
    assert_eq!(world.ledger().last().unwrap(), "log_closed");
    let ledger = world.ledger();
    close(&world, "old").unwrap();
    assert_eq!(world.ledger(), ledger);
    world.is_consistent();
}

/// spec §3 "Log": a closed log that reports again was not abandoned, so it is open again. A head that is not higher
/// changes nothing.
#[test]
fn s3_log_a_closed_log_that_speaks_again_is_open_again() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    beat(&world, &phone, "log", 2);
    close(&world, "log").unwrap();
    beat(&world, &phone, "log", 2);
    assert!(logs(&world)[0].log.closed_at.is_some());
    send(&world, &phone, "b", &[signed(&phone, &scan_of(&world, &phone, "s1", 1, "A", at(0)))]).unwrap();
    assert_eq!(logs(&world)[0].log.closed_at, None);
    close(&world, "log").unwrap();
    beat(&world, &phone, "log", 3);
    assert_eq!(logs(&world)[0].log.closed_at, None);
}

/// spec §3 "Log": only a person who manages devices of the same organisation may close a log.
#[test]
fn s3_log_closing_needs_the_right_and_a_log_of_ours() {
    let world = World::new();
    let phone = world.phone("p", "main");
    beat(&world, &phone, "log", 2);
    let by = |caller: &admit_app::caller::UserCaller| {
        now(devices::close_log(&world.app, caller, id("p"), "log".parse().unwrap()))
    };
    assert_eq!(code(by(&world.member(admit_app::records::Role::Viewer))), "forbidden");
    assert_eq!(code(by(&world.other().0)), "no log");
    assert_eq!(code(close(&world, "unknown")), "no log");
}
