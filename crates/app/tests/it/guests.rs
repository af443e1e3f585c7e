//! Guests: made with a ticket, changed, found; a promoter's own.

use admit_app::events::{self, EventPatch};
use admit_app::guest_lists::{self, NewGuestList};
use admit_app::guests::{self, GuestPatch};
use admit_app::records::{GuestRecord, Role};
use admit_app::tickets::NewGuest;
use admit_core::event::EventStatus;

use crate::world::*;

fn named(name: &str) -> NewGuest {
    NewGuest { name: name.into(), ..NewGuest::default() }
}

fn create(world: &World, new: NewGuest) -> GuestRecord {
    now(guests::create(&world.app, &world.owner, world.event.clone(), new, None)).unwrap().0
}

#[test]
fn a_guest_comes_with_a_ticket_for_the_whole_party() {
    let world = World::new();
    let new = NewGuest { party_size: Some(3), email: Some("A@B.example".into()), ..named("Ana") };
    let (guest, ticket) = now(guests::create(&world.app, &world.owner, world.event.clone(), new, None)).unwrap();
    assert_eq!(guest.ticket_id.as_ref(), Some(&ticket.ticket_id));
    assert_eq!((guest.party_size, ticket.rules.entry_limit), (3, 3));
    assert_eq!(guest.email.as_deref(), Some("a@b.example"));
    let wrong = |new| wrong_field(now(guests::create(&world.app, &world.owner, world.event.clone(), new, None)));
    assert_eq!(wrong(named(" ")), "name");
    assert_eq!(wrong(NewGuest { party_size: Some(0), ..named("A") }), "party_size");
    assert_eq!(wrong(NewGuest { phone: Some("call me".into()), ..named("A") }), "phone");
    world.is_consistent();
}

#[test]
fn a_party_that_grows_takes_its_ticket_along() {
    let world = World::new();
    let guest = create(&world, named("Ana"));
    let change = |patch| now(guests::update(&world.app, &world.owner, guest.guest_id.clone(), patch));
    world.pass(1_000);
    let grown =
        change(GuestPatch { party_size: Some(2), note: Some(Some("hi".into())), ..GuestPatch::default() }).unwrap();
    assert_eq!((grown.party_size, grown.note.as_deref(), grown.updated_at), (2, Some("hi"), at(1_000)));
    assert_eq!(world.ticket(guest.ticket_id.as_ref().unwrap()).0.rules.entry_limit, 2);
    let ledger = world.ledger();
    assert_eq!(change(GuestPatch { party_size: Some(2), ..GuestPatch::default() }).unwrap(), grown);
    assert_eq!(world.ledger(), ledger);
    assert_eq!(change(GuestPatch { note: Some(None), ..GuestPatch::default() }).unwrap().note, None);
    assert_eq!(wrong_field(change(GuestPatch { email: Some(Some("x".into())), ..GuestPatch::default() })), "email");
    world.is_consistent();
}

#[test]
fn the_ledger_tells_which_field_of_a_guest_changed_but_not_what_it_says() {
    let world = World::new();
    let guest = create(&world, named("Ana"));
    let patch = GuestPatch { name: Some("Secret".into()), phone: Some(Some("555".into())), ..GuestPatch::default() };
    now(guests::update(&world.app, &world.owner, guest.guest_id, patch)).unwrap();
    let lines =
        now(admit_app::audits::list(&world.app, &world.owner, Some(world.event.clone()), whole_page())).unwrap();
    assert!(lines.items[0].line.changes.contains("name") && !lines.items[0].line.changes.contains("Secret"));
}

#[test]
fn where_a_guest_stands_follows_from_the_scans() {
    let world = World::new();
    let came = create(&world, named("Came"));
    create(&world, named("Away"));
    let code = world.ticket(came.ticket_id.as_ref().unwrap()).0.barcode.unwrap();
    let statuses = || {
        let page = now(guests::list(&world.app, &world.owner, world.event.clone(), None, whole_page())).unwrap();
        let mut out: Vec<String> =
            page.items.iter().map(|one| format!("{} {}", one.0.name, guests::list::status(one))).collect();
        out.sort();
        out
    };
    assert_eq!(statuses(), ["Away pending", "Came pending"]);
    let phone = world.phone("p", "main");
    let ended = EventPatch { status: Some(EventStatus::Ended), ..EventPatch::default() };
    now(events::update(&world.app, &world.owner, world.event.clone(), ended)).unwrap();
    assert_eq!(statuses(), ["Away no_show", "Came no_show"]);
    phone.scan("s1", &code, "valid", at(-1_000));
    assert_eq!(statuses(), ["Away no_show", "Came checked_in"], "a late scan corrects it");
}

#[test]
fn guests_are_found_by_parts_of_their_names() {
    let world = World::new();
    for name in ["Amélie Brânză", "Noah O'Connor", "山田 太郎"] {
        create(&world, named(name));
    }
    let find = |text: &str| {
        let page = guests::list(&world.app, &world.owner, world.event.clone(), Some(text.into()), whole_page());
        now(page).unwrap().items.into_iter().map(|one| one.0.name).collect::<Vec<_>>()
    };
    assert_eq!(find("BRÂNZĂ"), ["Amélie Brânză"]);
    assert_eq!(find("o'con"), ["Noah O'Connor"]);
    assert_eq!(find("太"), ["山田 太郎"]);
    assert_eq!(find("zzz"), Vec::<String>::new());
}

#[test]
fn a_promoter_fills_their_own_list_and_no_other() {
    let world = World::new();
    let promoter = world.member(Role::Promoter);
    let list = |name: &str, promoter_id| {
        let new = NewGuestList { name: name.into(), promoter_id };
        now(guest_lists::create(&world.app, &world.owner, world.event.clone(), new)).unwrap().guest_list_id
    };
    let own = list("Own", Some(promoter.user_id.clone()));
    let house = list("House", None);
    let add = |list: Option<&admit_core::ids::GuestListId>, name: &str| {
        let new = NewGuest { guest_list_id: list.cloned(), ..named(name) };
        now(guests::create(&world.app, &promoter, world.event.clone(), new, None))
    };
    let mine = add(Some(&own), "Mine").unwrap().0;
    assert_eq!(wrong_field(add(Some(&house), "X")), "guest_list_id");
    assert_eq!(code(add(None, "X")), "forbidden");
    let theirs = create(&world, NewGuest { guest_list_id: Some(house.clone()), ..named("Theirs") });
    let change = |guest: &GuestRecord, patch| now(guests::update(&world.app, &promoter, guest.guest_id.clone(), patch));
    let rename = || GuestPatch { name: Some("New name".into()), ..GuestPatch::default() };
    assert_eq!(change(&mine, rename()).unwrap().name, "New name");
    assert_eq!(code(change(&theirs, rename())), "no guest");
    let away = GuestPatch { guest_list_id: Some(Some(house)), ..GuestPatch::default() };
    assert_eq!(wrong_field(change(&mine, away)), "guest_list_id");
    let seen = now(guests::list(&world.app, &promoter, world.event.clone(), None, whole_page())).unwrap();
    assert_eq!(seen.items.into_iter().map(|one| one.0.name).collect::<Vec<_>>(), ["New name"]);
    for role in [Role::Door, Role::Viewer] {
        let member = world.member(role);
        assert_eq!(code(now(guests::update(&world.app, &member, mine.guest_id.clone(), rename()))), "forbidden");
    }
}
