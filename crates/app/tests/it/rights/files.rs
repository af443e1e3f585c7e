//! A person imports a saved log. A journal can be saved as a file (spec D10), and a scan's signature verifies whichever
//! device delivers it (D4).

use admit_app::devices::ImportedLog;

use super::*;

fn file(items: &[Value]) -> Vec<u8> {
    items.iter().map(|item| format!("{item}\n")).collect::<String>().into_bytes()
}

fn import(world: &World, file: &[u8], accept: bool) -> ImportedLog {
    now(devices::import_log(&world.app, &world.owner, world.event.clone(), file, accept)).unwrap()
}

fn scans(world: &World, phone: &Phone<'_>, codes: &[&str]) -> Vec<Value> {
    let one = |(n, code): (usize, &&str)| {
        signed(phone, &scan_of(world, phone, &format!("s{}", n + 1), n as u64 + 1, code, at(n as i64)))
    };
    codes.iter().enumerate().map(one).collect()
}

/// spec D4, D10: signatures of v2 scans verify whichever device carries them. The file of an active device counts at
/// once and fills its log. The same file again changes nothing.
#[test]
fn d10_the_file_of_an_active_device_counts_at_once_and_only_once() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    let saved = file(&scans(&world, &phone, &["A", "B"]));
    assert_eq!(import(&world, &saved, false), ImportedLog { stored: 2, ..ImportedLog::default() });
    assert_eq!((world.occupancy().inside, world.open()), (2, Vec::new()));
    assert_eq!(lacking(&world, &phone, 2), Vec::new());
    let ledger = world.ledger();
    assert_eq!(import(&world, &saved, false), ImportedLog { known: 2, ..ImportedLog::default() });
    assert_eq!(world.ledger(), ledger);
    world.is_consistent();
}

/// spec D10: scans of a revoked device that arrive after the revocation are unverified, whichever device carries them.
/// The import of its file offers one act to accept them.
#[test]
fn d10_the_file_of_a_revoked_device_waits_and_the_same_act_may_count_it() {
    let world = World::new();
    world.tickets(&["A", "B", "C"]);
    let phone = world.phone("p", "main");
    let items = scans(&world, &phone, &["A", "B", "C"]);
    send(&world, &phone, "b1", &items[..1]).unwrap();
    revoke(&world, "p", None);
    let saved = file(&items);
    let first = import(&world, &saved, false);
    assert_eq!((first.stored, first.known, first.waiting, first.counted), (2, 1, 2, 0));
    assert_eq!(world.occupancy().inside, 1, "received before its revocation");
    assert_eq!(lacking(&world, &phone, 3), Vec::new(), "nothing of its log is missing any more");
    let accepted = import(&world, &saved, true);
    assert_eq!((accepted.known, accepted.counted, accepted.waiting), (3, 2, 0));
    assert_eq!((world.occupancy().inside, world.open()), (3, Vec::new()));
    let ledger = world.ledger();
    import(&world, &saved, true);
    assert_eq!(world.ledger(), ledger);
    world.is_consistent();
}

/// spec D10: accepting a file counts the scans of that file, and no other waiting scan of the device.
#[test]
fn d10_accepting_a_file_counts_no_other_scan() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    revoke(&world, "p", None);
    let items = scans(&world, &phone, &["A", "B"]);
    assert!(send(&world, &phone, "b1", &items[..1]).is_err());
    assert_eq!(import(&world, &file(&items[1..]), true).counted, 1);
    assert_eq!((world.occupancy().inside, world.open()), (1, vec!["unverified_scan".to_owned()]));
    world.is_consistent();
}

/// spec D10, D19: a file of a suspended device waits, as its uploads do.
#[test]
fn d19_the_file_of_a_suspended_device_is_held_too() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    super::suspension::suspend(&world, &phone);
    assert_eq!(import(&world, &file(&scans(&world, &phone, &["A"])), false).waiting, 1);
    assert_eq!(world.occupancy().inside, 0);
    now(devices::resume(&world.app, &world.owner, id("p"))).unwrap();
    assert_eq!(world.occupancy().inside, 1);
    world.is_consistent();
}

/// spec D10: the answer names bad lines by their place, and the others are imported. A scan that no key of the device
/// signed stays in the review queue.
#[test]
fn d10_wrong_lines_are_told_and_left_out() {
    let world = World::new();
    world.tickets(&["A", "B", "C"]);
    let (phone, other) = (world.phone("p", "main"), world.phone("q", "main"));
    let good = scans(&world, &phone, &["A"]).remove(0);
    let forged = signed(&other, &scan_of(&world, &phone, "s2", 2, "B", at(0)));
    let mut foreign = scan_of(&world, &phone, "s3", 3, "C", at(0));
    foreign.device_id = id("nobody");
    let foreign = signed(&phone, &foreign);
    let mut elsewhere = scan_of(&world, &phone, "s4", 4, "C", at(0));
    elsewhere.event_id = "another".parse().unwrap();
    let elsewhere = signed(&phone, &elsewhere);
    let text = format!("\u{feff}{good}\r\n\r\n{{\"scan_id\": 5}}\r\n{forged}\r\n{foreign}\r\n{elsewhere}\r\n");
    let done = import(&world, text.as_bytes(), true);
    assert_eq!((done.stored, done.counted, done.unproven, done.wrong_lines), (2, 0, 1, 3));
    assert_eq!(done.errors.iter().map(|wrong| wrong.line).collect::<Vec<_>>(), [3, 5, 6]);
    assert!(done.errors[1].message.contains("nobody") && done.errors[2].message.contains("another"));
    assert_eq!((world.occupancy().inside, world.open()), (1, vec!["unverified_scan".to_owned()]));
    world.is_consistent();
}

/// access: only a person who manages devices may import, and only one who reviews may accept. An event of another
/// organisation is answered as unknown.
#[test]
fn d10_an_import_needs_the_right_and_an_event_of_ours() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let saved = file(&scans(&world, &phone, &["A"]));
    let (other, _) = world.other();
    let by = |caller: &admit_app::caller::UserCaller| {
        now(devices::import_log(&world.app, caller, world.event.clone(), &saved, false))
    };
    assert_eq!(code(by(&world.member(admit_app::records::Role::Door))), "forbidden");
    assert_eq!(code(by(&other)), "no event");
    let empty = devices::import_log(&world.app, &world.owner, world.event.clone(), b"\n\n", false);
    assert_eq!(wrong_field(now(empty)), "");
    let binary = devices::import_log(&world.app, &world.owner, world.event.clone(), &[0xff, 0xfe], false);
    assert_eq!(wrong_field(now(binary)), "");
}
