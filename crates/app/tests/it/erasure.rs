//! A guest's personal data is erased, on the guest's wish or once the event's retention time is over. It is erased in
//! the store, in what undoing an import would restore, and on phones. Counted persons stay counted.

use admit_app::caller::DeviceCaller;
use admit_app::events::{self, EventPatch};
use admit_app::gates::{self, GatePatch};
use admit_app::guests::{self, GuestPatch, What};
use admit_app::manifests::{self, FetchNamesCommand, FetchedManifest};
use admit_app::ports::read;
use admit_app::records::{GuestRecord, Role};
use admit_app::tickets::{self, HowToImport};
use admit_core::event::EventStatus;

use crate::world::*;

const FILE: &str = "barcode,name,email,phone,note,field:Company,external_id\n\
    C-1,Ana Alba,ana@guests.example,+4917012345,vegan,Alba GmbH,row-1\n\
    C-2,Bo Berg,bo@guests.example,,,,row-2\n";
/// All texts in the file that identify a person.
const PERSONAL: [&str; 6] = ["Ana Alba", "ana@guests", "+4917012345", "vegan", "Alba GmbH", "row-1"];

fn import(world: &World, file: &str) -> tickets::ImportReport {
    let how = HowToImport::default();
    now(tickets::import(&world.app, &world.owner, world.event.clone(), file.as_bytes(), how)).unwrap()
}

fn guest_of(world: &World, code: &str) -> GuestRecord {
    let page = tickets::list(&world.app, &world.owner, world.event.clone(), tickets::Wanted::default(), whole_page());
    let found = now(page).unwrap().items.into_iter().find(|(ticket, ..)| ticket.barcode.as_deref() == Some(code));
    found.unwrap().1.unwrap()
}

/// All that the store keeps outside the facts, as text.
fn everything(world: &World) -> String {
    let page = tickets::list(&world.app, &world.owner, world.event.clone(), tickets::Wanted::default(), whole_page());
    let tickets = now(page).unwrap().items;
    let event = world.event.clone();
    let kept = now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.imports_with_kept(&event)));
    let ledger = now(admit_app::audits::list(&world.app, &world.owner, Some(world.event.clone()), None, whole_page()));
    format!("{tickets:?} {:?} {:?}", kept.unwrap(), ledger.unwrap().items)
}

#[test]
fn of_a_guest_who_is_erased_nothing_personal_stays_and_what_was_counted_does() {
    let world = World::new();
    import(&world, FILE);
    // A second file changes the guest. An undo of that import would set the first file's values back.
    import(&world, &FILE.replace("vegan", "vegan, table 4"));
    let phone = world.phone("p", "main");
    phone.scan("s1", "C-1", "valid", at(0));
    let guest = guest_of(&world, "C-1");
    assert!(PERSONAL.iter().all(|text| everything(&world).contains(text)));
    let before = world.occupancy();
    let erased = now(guests::erase(&world.app, &world.owner, guest.guest_id.clone())).unwrap();
    assert!(erased.erased_at.is_some());
    for text in PERSONAL {
        assert!(!everything(&world).contains(text), "{text} is still there");
    }
    assert!(everything(&world).contains("Bo Berg"), "the others stay");
    assert_eq!((world.occupancy(), world.ledger().last().unwrap().as_str()), (before, "guest_erased"));
    let story = now(guests::timeline(&world.app, &world.owner, guest.guest_id.clone())).unwrap();
    assert!(story.iter().any(|moment| moment.what == What::Erased));
    // A second erasure changes nothing.
    let ledger = world.ledger();
    now(guests::erase(&world.app, &world.owner, guest.guest_id)).unwrap();
    assert_eq!(world.ledger(), ledger);
    // The ticket still admits, as before the erasure.
    phone.scan("s2", "C-1", "duplicate", at(1_000));
    world.is_consistent();
}

#[test]
fn nothing_brings_erased_data_back_by_accident() {
    let world = World::new();
    let first = import(&world, FILE);
    let second = import(&world, &FILE.replace("Ana Alba", "Ana A. Alba"));
    let guest = guest_of(&world, "C-1");
    now(guests::erase(&world.app, &world.owner, guest.guest_id.clone())).unwrap();
    // The same file is imported again. It still names the erased guest.
    import(&world, FILE);
    assert_eq!((guest_of(&world, "C-1").name.as_str(), guest_of(&world, "C-2").name.as_str()), ("", "Bo Berg"));
    // A colleague with an outdated page tries to set the name again.
    let patch = GuestPatch { name: Some("Ana Alba".into()), ..GuestPatch::default() };
    let changed = guests::update(&world.app, &world.owner, guest.guest_id.clone(), patch);
    assert_eq!(code(now(changed)), "guest_erased");
    let party = GuestPatch { party_size: Some(3), ..GuestPatch::default() };
    assert_eq!(now(guests::update(&world.app, &world.owner, guest.guest_id, party)).unwrap().party_size, 3);
    // Both imports are undone, the newest first.
    for report in [second, first] {
        let id = report.import_id.unwrap();
        let undone = tickets::import::undo(&world.app, &world.owner, world.event.clone(), id);
        now(undone).unwrap();
    }
    assert!(PERSONAL.iter().all(|text| !everything(&world).contains(text)));
    world.is_consistent();
}

fn names(world: &World, caller: &DeviceCaller, since: Option<u64>) -> (bool, Vec<String>) {
    let command = FetchNamesCommand { since, ..FetchNamesCommand::default() };
    let fetched = manifests::fetch_names(&world.app, caller, &world.event, command);
    let FetchedManifest::Body { large, tail, .. } = now(fetched).unwrap() else { panic!("there are names") };
    let whole: Vec<u8> = [large.bytes.clone(), tail].concat();
    let text = String::from_utf8_lossy(&whole).into_owned();
    let found = ["Ana Alba", "Bo Berg"].into_iter().filter(|name| text.contains(name)).map(str::to_owned).collect();
    (large.version > 0, found)
}

#[test]
fn a_phone_that_asks_for_what_changed_gets_all_names_anew_without_the_erased_one() {
    let world = World::new();
    import(&world, FILE);
    let open = GatePatch { names_on_devices: Some(true), ..GatePatch::default() };
    now(gates::update(&world.app, &world.owner, world.event.clone(), gate("main"), open)).unwrap();
    let phone = world.phone("p", "main");
    assert_eq!(names(&world, &phone.caller, None).1, ["Ana Alba", "Bo Berg"]);
    let event = world.event.clone();
    let held = now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.names_serial(&event))).unwrap();
    now(guests::erase(&world.app, &world.owner, guest_of(&world, "C-1").guest_id)).unwrap();
    // A change would leave the erased name in the phone's copy. So the phone gets the whole names part, without that
    // name.
    assert_eq!(names(&world, &phone.caller, Some(held)).1, ["Bo Berg"]);
}

#[test]
fn an_event_forgets_its_guests_so_many_days_after_its_end() {
    let world = World::new();
    import(&world, FILE);
    world.phone("p", "main").scan("s1", "C-1", "valid", at(0));
    let patch = EventPatch { retention_days: Some(Some(30)), ..EventPatch::default() };
    let event = now(events::update(&world.app, &world.owner, world.event.clone(), patch)).unwrap();
    assert_eq!(event.retention_days, Some(30));
    let ended = EventPatch { status: Some(EventStatus::Ended), ..EventPatch::default() };
    now(events::update(&world.app, &world.owner, world.event.clone(), ended)).unwrap();
    let due_in = event.ends_at.since(world.app.clock.now()) + 30 * 24 * HOUR;
    world.pass(due_in - 1);
    assert_eq!(now(guests::erase_due(&world.app)).unwrap(), [], "a millisecond early");
    let before = world.occupancy();
    world.pass(1);
    assert_eq!(now(guests::erase_due(&world.app)).unwrap(), [(world.event.clone(), 2)]);
    for text in PERSONAL.iter().chain(&["Bo Berg", "bo@guests"]) {
        assert!(!everything(&world).contains(text), "{text} is still there");
    }
    assert_eq!((world.occupancy(), world.ledger().last().unwrap().as_str()), (before, "guests_erased"));
    assert_eq!(now(guests::erase_due(&world.app)).unwrap(), [], "once is enough");
    world.is_consistent();
}

#[test]
fn how_long_is_a_number_of_days_or_for_ever() {
    let world = World::new();
    for days in [0, 3_651] {
        let patch = EventPatch { retention_days: Some(Some(days)), ..EventPatch::default() };
        assert_eq!(code(now(events::update(&world.app, &world.owner, world.event.clone(), patch))), "invalid_request");
    }
    let ever = EventPatch { retention_days: Some(None), ..EventPatch::default() };
    assert_eq!(now(events::update(&world.app, &world.owner, world.event.clone(), ever)).unwrap().retention_days, None);
}

#[test]
fn a_guest_gets_a_copy_of_all_that_is_kept_and_only_a_manager_hands_it_out() {
    let world = World::new();
    import(&world, FILE);
    world.phone("p", "main").scan("s1", "C-1", "valid", at(0));
    let guest = guest_of(&world, "C-1");
    let copy = now(guests::copy(&world.app, &world.owner, guest.guest_id.clone())).unwrap();
    let text = format!("{copy:?}");
    assert!(PERSONAL.iter().all(|personal| text.contains(personal)), "{text}");
    assert!(copy.moments.iter().any(|moment| moment.what == What::Entered));
    assert_eq!(world.ledger().last().unwrap(), "guest_data_copied");
    for role in [Role::Viewer, Role::Promoter, Role::Door] {
        let other = world.member(role);
        assert_eq!(code(now(guests::copy(&world.app, &other, guest.guest_id.clone()))), "forbidden");
        assert_eq!(code(now(guests::erase(&world.app, &other, guest.guest_id.clone()))), "forbidden");
    }
}
