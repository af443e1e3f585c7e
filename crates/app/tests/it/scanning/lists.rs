//! Lists, changes and epochs, as a device learns of them.

use admit_app::changes::{self, ChangesCommand};
use admit_app::epochs;
use admit_app::manifests::{self, FetchCommand, FetchedManifest};
use admit_core::sign::check_body_signature;
use admit_core::wire::scanning::{ChangesAnswer, Cursor, Witness};

use super::*;

fn poll(world: &World, phone: &Phone<'_>, cursor: Option<Cursor>, version: u64) -> ChangesAnswer {
    let command = ChangesCommand { cursor, manifest_version: version };
    now(changes::poll(&world.app, &phone.caller, &world.event, command)).unwrap().answer
}

fn fetch(world: &World, phone: &Phone<'_>, if_none_match: Option<String>) -> FetchedManifest {
    let command = FetchCommand { if_none_match, ..FetchCommand::default() };
    now(manifests::fetch(&world.app, &phone.caller, &world.event, command)).unwrap()
}

#[test]
fn many_tickets_of_one_serial_come_page_by_page_each_once() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let codes: Vec<String> = (0..2_500).map(|code| format!("code-{code}")).collect();
    let mut made = world.tickets(&codes.iter().map(String::as_str).collect::<Vec<_>>());
    made.sort();
    let (mut cursor, mut pages, mut seen) = (None, 0, Vec::new());
    loop {
        let answer = poll(&world, &phone, cursor, 0);
        assert!(answer.items.len() <= 1_000);
        seen.extend(answer.items.into_iter().map(|item| item.ticket_id));
        pages += 1;
        cursor = Some(answer.cursor);
        if !answer.more {
            break;
        }
    }
    seen.sort();
    assert_eq!((pages, seen), (3, made));
    let version = head(&world);
    assert!(poll(&world, &phone, None, version).items.is_empty(), "the list has them");
}

#[test]
fn a_cursor_of_another_epoch_or_beyond_the_head_must_begin_anew() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let place = poll(&world, &phone, None, 0).cursor;
    assert!(!poll(&world, &phone, Some(place.clone()), 0).resync);
    assert!(poll(&world, &phone, Some(Cursor::at(place.epoch, place.serial + 1)), 0).resync);
    now(epochs::begin(&world.app, place.epoch)).unwrap();
    assert!(poll(&world, &phone, Some(place), 0).resync);
}

#[test]
fn a_list_is_signed_twice_and_known_again_by_its_tag() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let FetchedManifest::Body { etag, large, tail, signature, .. } = fetch(&world, &phone, None) else {
        panic!("a list")
    };
    let body = [large.bytes.as_slice(), &tail].concat();
    assert!(check_body_signature(&phone.caller.api_key, &body, &signature));
    assert!(!check_body_signature("another key", &body, &signature));
    let parsed: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(parsed["tickets"].as_array().unwrap().len(), 1);
    assert!(matches!(fetch(&world, &phone, Some(etag.clone())), FetchedManifest::NotModified { .. }));
    let FetchedManifest::Body { large: again, .. } = fetch(&world, &phone, None) else { panic!("a list") };
    assert_eq!(again.bytes, large.bytes);
    world.tickets(&["B"]);
    assert!(matches!(fetch(&world, &phone, Some(etag)), FetchedManifest::Body { .. }));
}

#[test]
fn a_witness_of_a_lost_future_begins_a_later_epoch_and_nothing_else_does() {
    let world = World::new();
    let (organization, image) = (world.owner.organization_id.clone(), world.store.copy());
    let before = now(world.app.store.epoch()).unwrap();
    world.tickets(&["A"]);
    let witness = now(epochs::witness(&world.app, &organization, &world.event)).unwrap();
    let check = |witness: &Witness| {
        now(epochs::check_witness(&world.app, &organization, witness)).unwrap();
        now(world.app.store.epoch()).unwrap()
    };
    assert_eq!(check(&witness), before, "the ledger has it");
    assert_eq!(check(&Witness { serial: 999, ..witness.clone() }), before, "not ours");
    // A device that came from another organisation brings that organisation's witness, which proves nothing here.
    let (other, event) = world.other();
    let foreign = now(epochs::witness(&world.app, &other.organization_id, &event)).unwrap();
    assert_eq!(check(&foreign), before);
    // The server is rolled back twice. The second new epoch is later than the first, although this server forgot the
    // first.
    world.store.put_back(&image);
    let second = check(&witness);
    assert!(second > before);
    assert_eq!(check(&witness), second, "once is enough");
    let of_second = now(epochs::witness(&world.app, &organization, &world.event)).unwrap();
    world.store.put_back(&image);
    let third = check(&of_second);
    assert!(third.restored_at_ms > second.restored_at_ms);
    assert_eq!(check(&of_second), third, "the other devices of the lost epoch begin no further one");
}

/// An answer to a device carries the head under which it was made. So the server need not read again for the witness.
#[test]
fn answers_tell_the_head_they_were_made_under() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let now_at = || {
        let event_id = world.event.clone();
        now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.head(&event_id))).unwrap()
    };
    let before = now_at();
    let at = world.app.clock.now();
    let batch = || phone.upload("b", "s", "A", "valid", at).unwrap();
    let first = batch();
    assert_ne!(first.head, Some(before));
    assert_eq!((first.head, batch().head), (Some(now_at()), None), "a repeat is answered from storage");
    let polled = now(changes::poll(&world.app, &phone.caller, &world.event, ChangesCommand::default())).unwrap();
    assert_eq!(polled.head, now_at());
    let beat = serde_json::json!({ "log_id": "log", "head": 0, "pending": 0, "manifest_version": 1 });
    let beat = admit_app::devices::heartbeat(&world.app, &phone.caller, serde_json::from_value(beat).unwrap());
    assert_eq!(now(beat).unwrap().head, now_at());
}

#[test]
fn what_changed_since_a_version_applied_to_it_is_the_whole_list() {
    use admit_core::manifest::verify::{Content, Expected, read};
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    let get = |since| {
        let command = FetchCommand { since, ..FetchCommand::default() };
        let made = now(manifests::fetch(&world.app, &phone.caller, &world.event, command)).unwrap();
        let FetchedManifest::Body { large, tail, signature, .. } = made else { panic!("a list") };
        let body = [large.bytes.as_slice(), &tail].concat();
        let expected = Expected { organization_id: &world.owner.organization_id, event_id: &world.event };
        read(&body, Some(&signature), &phone.caller.api_key, expected).unwrap()
    };
    let old = get(None);
    let version = old.version;
    let index = old.into_index(None).unwrap();
    world.tickets(&["C"]);
    let delta = get(Some(version));
    assert!(matches!(delta.content, Content::Delta { .. }));
    let full = get(None).into_index(None).unwrap();
    // Reading the delta checks that the result has the hash that the delta names.
    let applied = delta.into_index(Some((&index, version))).unwrap();
    assert_eq!((applied.content_hash(), applied.len()), (full.content_hash(), 3));
    assert!(matches!(get(Some(u64::MAX)).content, Content::Full(_)), "an unknown version: all of it");
    now(admit_app::devices::revoke(&world.app, &world.owner, phone.caller.device_id.clone(), None)).unwrap();
    let refused = manifests::fetch(&world.app, &phone.caller, &world.event, FetchCommand::default());
    assert_eq!(code(now(refused)), "device_revoked");
}

#[test]
fn a_number_given_again_after_a_rollback_is_another_list() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let image = world.store.copy();
    let tickets = |body: FetchedManifest| match body {
        FetchedManifest::Body { large, .. } => (large.version, large.bytes.clone()),
        FetchedManifest::NotModified { .. } => panic!("a list"),
    };
    world.tickets(&["A"]);
    let lost = tickets(fetch(&world, &phone, None));
    world.store.put_back(&image);
    // Another node notices the rollback. This process only sees that the epoch changed.
    let seen = now(world.app.store.epoch()).unwrap();
    let next = admit_core::rule::Epoch { restored_at_ms: seen.restored_at_ms + 1, random: 7 };
    now(world.app.store.begin_epoch(seen, next)).unwrap();
    world.tickets(&["B"]);
    let made = tickets(fetch(&world, &phone, None));
    assert_eq!(made.0, lost.0, "or the test tells nothing");
    assert_ne!(made.1, lost.1);
}

#[test]
fn a_much_scanned_ticket_comes_as_what_went_before_and_its_newest_scans() {
    let world = World::new();
    let ids = world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    for turn in 0..20 {
        phone.scan(&format!("s{turn:02}"), "A", "valid", at(turn * 1_000));
    }
    let answer = poll(&world, &phone, None, 0);
    let item = answer.items.iter().find(|item| item.ticket_id == ids[0]).unwrap();
    assert_eq!((item.scans.len(), item.scans[0].scan_id.as_str()), (16, "s04"));
    assert_eq!((item.prefix.within, item.prefix.over, item.prefix.entries.len()), (1, 3, 4));
    let state = world.ticket(&ids[0]).2.unwrap().state;
    assert_eq!(item.prefix.persons() + 16, state.persons());
}

/// A duplicate's answer names the device on which the ticket came first, by the name that staff gave it. This includes
/// a device that was moved since.
#[test]
fn changes_name_the_other_devices_whose_scans_they_tell() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let (asks, scans) = (world.phone("asks", "main"), world.phone("scans", "main"));
    assert_eq!(poll(&world, &asks, None, 0).devices, []);
    scans.scan("s1", "A", "valid", at(0));
    asks.scan("s2", "B", "valid", at(1));
    let named = |answer: ChangesAnswer| -> Vec<(String, String)> {
        answer.devices.into_iter().map(|device| (device.device_id.to_string(), device.name)).collect()
    };
    assert_eq!(named(poll(&world, &asks, None, 0)), [("scans".to_owned(), "scans".to_owned())], "its own it knows");
    now(admit_app::devices::revoke(&world.app, &world.owner, scans.caller.device_id.clone(), None)).unwrap();
    assert_eq!(named(poll(&world, &asks, None, 0)).len(), 1, "a revoked one keeps its name");
}
