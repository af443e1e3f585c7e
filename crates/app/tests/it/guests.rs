//! Guests: creating them with a ticket, changing and finding them, and a promoter's own guests.

use admit_app::caller::UserCaller;
use admit_app::entry_types::{self, NewEntryType};
use admit_app::events::{self, EventPatch};
use admit_app::guest_lists::{self, GuestListPatch, NewGuestList};
use admit_app::guests::What;
use admit_app::guests::{self, GuestPatch, GuestState, Shown, Wanted};
use admit_app::records::{Fields, GuestRecord, Page, Role};
use admit_app::tickets::{self, HowToImport, NewGuest, NewTicket};
use admit_core::event::EventStatus;
use admit_core::ids::{GuestListId, UserId};
use admit_core::ticket::TicketStatus;

use crate::world::*;

fn named(name: &str) -> NewGuest {
    NewGuest { name: name.into(), ..NewGuest::default() }
}

fn create(world: &World, new: NewGuest) -> GuestRecord {
    now(guests::create(&world.app, &world.owner, world.event.clone(), new, None, None)).unwrap().0
}

#[test]
fn a_guest_comes_with_a_ticket_for_the_whole_party() {
    let world = World::new();
    let new = NewGuest { party_size: Some(3), email: Some("A@B.example".into()), ..named("Ana") };
    let (guest, ticket) = now(guests::create(&world.app, &world.owner, world.event.clone(), new, None, None)).unwrap();
    assert_eq!(guest.ticket_id.as_ref(), Some(&ticket.ticket_id));
    assert_eq!((guest.party_size, ticket.rules.entry_limit), (3, 3));
    assert_eq!(guest.email.as_deref(), Some("a@b.example"));
    let wrong = |new| wrong_field(now(guests::create(&world.app, &world.owner, world.event.clone(), new, None, None)));
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
        now(admit_app::audits::list(&world.app, &world.owner, Some(world.event.clone()), None, whole_page())).unwrap();
    assert!(lines.items[0].line.changes.contains("name") && !lines.items[0].line.changes.contains("Secret"));
}

#[test]
fn where_a_guest_stands_follows_from_the_scans() {
    let world = World::new();
    let came = create(&world, named("Came"));
    create(&world, named("Away"));
    let code = world.ticket(came.ticket_id.as_ref().unwrap()).0.barcode.unwrap();
    let statuses = || {
        let page =
            now(guests::list(&world.app, &world.owner, world.event.clone(), Wanted::default(), whole_page())).unwrap();
        let mut out: Vec<String> =
            page.items.iter().map(|one| format!("{} {}", one.guest.name, guests::list::status(one))).collect();
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
        let filter = Wanted { text: Some(text.into()), ..Wanted::default() };
        let page = guests::list(&world.app, &world.owner, world.event.clone(), filter, whole_page());
        now(page).unwrap().items.into_iter().map(|one| one.guest.name).collect::<Vec<_>>()
    };
    assert_eq!(find("BRÂNZĂ"), ["Amélie Brânză"]);
    assert_eq!(find("amelie"), ["Amélie Brânză"], "accents make no difference");
    assert_eq!(find("Ámelie"), ["Amélie Brânză"], "on either side");
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
        now(guests::create(&world.app, &promoter, world.event.clone(), new, None, None))
    };
    let mine = add(Some(&own), "Mine").unwrap().0;
    assert_eq!(wrong_field(add(Some(&house), "X")), "guest_list_id");
    assert_eq!(code(add(None, "X")), "forbidden");
    let foreign = create(&world, NewGuest { guest_list_id: Some(house.clone()), ..named("Theirs") });
    let change = |guest: &GuestRecord, patch| now(guests::update(&world.app, &promoter, guest.guest_id.clone(), patch));
    let rename = || GuestPatch { name: Some("New name".into()), ..GuestPatch::default() };
    assert_eq!(change(&mine, rename()).unwrap().name, "New name");
    assert_eq!(code(change(&foreign, rename())), "no guest");
    let away = GuestPatch { guest_list_id: Some(Some(house)), ..GuestPatch::default() };
    assert_eq!(wrong_field(change(&mine, away)), "guest_list_id");
    let seen = now(guests::list(&world.app, &promoter, world.event.clone(), Wanted::default(), whole_page())).unwrap();
    assert_eq!(seen.items.into_iter().map(|one| one.guest.name).collect::<Vec<_>>(), ["New name"]);
    for role in [Role::Door, Role::Viewer] {
        let member = world.member(role);
        assert_eq!(code(now(guests::update(&world.app, &member, mine.guest_id.clone(), rename()))), "forbidden");
    }
}

/// A promoter, the promoter's own list, and a list of the organiser.
fn promoter_with_lists(world: &World) -> (UserCaller, GuestListId, GuestListId) {
    let promoter = world.member(Role::Promoter);
    let list = |name: &str, promoter_id| {
        let new = NewGuestList { name: name.into(), promoter_id };
        now(guest_lists::create(&world.app, &world.owner, world.event.clone(), new)).unwrap().guest_list_id
    };
    let own = list("Own", Some(promoter.user_id.clone()));
    (promoter, own, list("House", None))
}

#[test]
fn a_promoter_voids_a_guest_of_their_own_list_and_takes_it_back() {
    let world = World::new();
    let (promoter, own, house) = promoter_with_lists(&world);
    let mine = create(&world, NewGuest { guest_list_id: Some(own), ..named("Mine") });
    let foreign = create(&world, NewGuest { guest_list_id: Some(house), ..named("Theirs") });
    let set = |guest: &GuestRecord, status| {
        let patch = GuestPatch { ticket_status: Some(status), ..GuestPatch::default() };
        now(guests::update(&world.app, &promoter, guest.guest_id.clone(), patch))
    };
    let status = |guest: &GuestRecord| world.ticket(guest.ticket_id.as_ref().unwrap()).0.rules.status;
    assert_eq!(code(set(&foreign, TicketStatus::Voided)), "no guest");
    set(&mine, TicketStatus::Voided).unwrap();
    assert_eq!((status(&mine), status(&foreign)), (TicketStatus::Voided, TicketStatus::Active));
    let ledger = world.ledger();
    set(&mine, TicketStatus::Voided).unwrap();
    assert_eq!(world.ledger(), ledger, "a repeat leaves no trace");
    set(&mine, TicketStatus::Active).unwrap();
    assert_eq!(status(&mine), TicketStatus::Active);
    world.is_consistent();
}

/// If the organiser voided or refunded a ticket, no promoter can make it valid again.
#[test]
fn a_promoter_takes_back_no_status_that_the_organiser_gave() {
    let world = World::new();
    let (promoter, own, _) = promoter_with_lists(&world);
    let guest = create(&world, NewGuest { guest_list_id: Some(own.clone()), ..named("Gone") });
    let set = |by: &UserCaller, status| {
        let patch = GuestPatch { ticket_status: Some(status), ..GuestPatch::default() };
        now(guests::update(&world.app, by, guest.guest_id.clone(), patch))
    };
    for organisers in [TicketStatus::Voided, TicketStatus::Refunded, TicketStatus::Used] {
        set(&world.owner, organisers).unwrap();
        for wanted in TicketStatus::ALL.iter().filter(|wanted| **wanted != organisers) {
            assert_eq!(wrong_field(set(&promoter, *wanted)), "ticket_status", "{organisers} to {wanted}");
        }
        set(&promoter, organisers).unwrap();
    }
    set(&world.owner, TicketStatus::Active).unwrap();
    for organisers in [TicketStatus::Refunded, TicketStatus::Used] {
        assert_eq!(wrong_field(set(&promoter, organisers)), "ticket_status");
    }
    // The promoter's own void is replaced by the organiser's, which the promoter cannot take back.
    set(&promoter, TicketStatus::Voided).unwrap();
    set(&world.owner, TicketStatus::Active).unwrap();
    set(&world.owner, TicketStatus::Voided).unwrap();
    assert_eq!(wrong_field(set(&promoter, TicketStatus::Active)), "ticket_status");
    // A void in a file counts as the act of the person who imported the file.
    for file in [
        &b"barcode,name,status,guest_list\nV-1,Unpaid,paid,Own\n"[..],
        b"barcode,name,status,guest_list\nV-1,Unpaid,void,Own\n",
    ] {
        now(tickets::import(&world.app, &world.owner, world.event.clone(), file, HowToImport::default())).unwrap();
    }
    let page = guests::list(&world.app, &promoter, world.event.clone(), Wanted::default(), whole_page());
    let unpaid = now(page).unwrap().items.into_iter().find(|one| one.guest.name == "Unpaid").unwrap().guest.guest_id;
    let good = GuestPatch { ticket_status: Some(TicketStatus::Active), ..GuestPatch::default() };
    assert_eq!(wrong_field(now(guests::update(&world.app, &promoter, unpaid, good))), "ticket_status");
    world.is_consistent();
}

#[test]
fn one_guest_is_shown_with_their_ticket_to_who_may_see_them() {
    let world = World::new();
    let (promoter, own, house) = promoter_with_lists(&world);
    let mine = create(&world, NewGuest { guest_list_id: Some(own), party_size: Some(2), ..named("Mine") });
    let foreign = create(&world, NewGuest { guest_list_id: Some(house), ..named("Theirs") });
    let Shown { listing, ticket, .. } = now(guests::show(&world.app, &promoter, mine.guest_id.clone())).unwrap();
    assert_eq!((listing.guest.name.as_str(), ticket.unwrap().rules.entry_limit), ("Mine", 2));
    assert_eq!(guests::list::status(&listing), "pending");
    assert_eq!(code(now(guests::show(&world.app, &promoter, foreign.guest_id.clone()))), "no guest");
    assert_eq!(code(now(guests::timeline(&world.app, &promoter, foreign.guest_id.clone()))), "no guest");
    assert!(now(guests::show(&world.app, &world.member(Role::Viewer), foreign.guest_id.clone())).is_ok());
    assert_eq!(code(now(guests::show(&world.app, &world.member(Role::Door), foreign.guest_id))), "forbidden");
}

#[test]
fn a_guests_timeline_tells_who_added_and_changed_them_and_what_happened_at_the_doors() {
    let world = World::new();
    let guest = create(&world, NewGuest { party_size: Some(2), ..named("Ana") });
    world.pass(1_000);
    let patch = GuestPatch { party_size: Some(3), note: Some(Some("Table 4".into())), ..GuestPatch::default() };
    now(guests::update(&world.app, &world.owner, guest.guest_id.clone(), patch)).unwrap();
    let barcode = world.ticket(guest.ticket_id.as_ref().unwrap()).0.barcode.unwrap();
    let phone = world.phone("p", "main");
    phone.scan("s1", &barcode, "valid", at(2_000));
    phone.scan("s2", &barcode, "expired", at(3_000));
    let moments = now(guests::timeline(&world.app, &world.owner, guest.guest_id.clone())).unwrap();
    let told: Vec<&What> = moments.iter().map(|moment| &moment.what).collect();
    let changed = What::Changed { fields: vec!["note".into(), "party_size".into()] };
    assert_eq!(told, [&What::Refused { outcome: "expired".into() }, &What::Entered, &changed, &What::Added]);
    assert_eq!((moments[1].persons, moments[1].device.as_deref(), moments[1].counts), (1, Some("p"), true));
    assert!(moments[1].gate.is_some() && moments[2].by.is_some() && moments[3].by.is_some());
    assert_eq!(moments[3].at, at(0));
}

#[test]
fn guests_are_listed_by_list_and_by_whether_they_came() {
    let world = World::new();
    let (_, own, _) = promoter_with_lists(&world);
    let came = create(&world, NewGuest { guest_list_id: Some(own.clone()), ..named("Came") });
    create(&world, NewGuest { guest_list_id: Some(own.clone()), ..named("Away") });
    create(&world, named("Elsewhere"));
    let barcode = world.ticket(came.ticket_id.as_ref().unwrap()).0.barcode.unwrap();
    world.phone("p", "main").scan("s1", &barcode, "valid", at(1_000));
    let find = |filter: Wanted| {
        let page = now(guests::list(&world.app, &world.owner, world.event.clone(), filter, whole_page())).unwrap();
        let mut names: Vec<String> = page.items.into_iter().map(|one| one.guest.name).collect();
        names.sort();
        names
    };
    let on_list = Wanted { guest_list_id: Some(own), ..Wanted::default() };
    assert_eq!(find(on_list.clone()), ["Away", "Came"]);
    let standing = |state| Wanted { state: Some(state), ..Wanted::default() };
    assert_eq!(find(Wanted { state: Some(GuestState::Came), ..on_list }), ["Came"]);
    assert_eq!(find(standing(GuestState::Inside)), ["Came"]);
    assert_eq!(find(standing(GuestState::ToCome)), ["Away", "Elsewhere"]);
    assert_eq!(find(standing(GuestState::NoShow)), Vec::<String>::new(), "the event is not over");
    let ended = EventPatch { status: Some(EventStatus::Ended), ..EventPatch::default() };
    now(events::update(&world.app, &world.owner, world.event.clone(), ended)).unwrap();
    assert_eq!(find(standing(GuestState::NoShow)), ["Away", "Elsewhere"]);
    assert_eq!(find(standing(GuestState::ToCome)), Vec::<String>::new(), "the event is over");
}

#[test]
fn a_promoters_file_fills_their_own_list_and_touches_nobody_elses_guests() {
    let world = World::new();
    let (promoter, own, house) = promoter_with_lists(&world);
    let foreign = NewGuest { guest_list_id: Some(house.clone()), ..named("Theirs") };
    create(&world, foreign);
    let house_file = b"external_id,name\nX-1,Of the house\n";
    let into = |list: &GuestListId| HowToImport { guest_list_id: Some(list.clone()), ..HowToImport::default() };
    now(tickets::import(&world.app, &world.owner, world.event.clone(), house_file, into(&house))).unwrap();
    let import = |file: &str, list: &GuestListId| {
        now(tickets::import(&world.app, &promoter, world.event.clone(), file.as_bytes(), into(list)))
    };
    let vip = NewEntryType { name: "VIP".into(), zone: "vip".into() };
    now(entry_types::create(&world.app, &world.owner, world.event.clone(), vip)).unwrap();
    let file = "external_id,name,party_size,status,zone,guest_list,entry_type\n\
        P-1,Amélie,2,used,vip,House,VIP\nX-1,Mine now,1,,,,\n,Bo,,,,,VIP\n";
    let report = import(file, &own).unwrap();
    assert_eq!((report.created, report.wrong_lines), (3, 0), "what ids others have is not told: {report:?}");
    assert_eq!(report.ignored_columns, ["zone", "guest_list", "entry_type"]);
    let page = guests::list(&world.app, &promoter, world.event.clone(), Wanted::default(), whole_page());
    for one in now(page).unwrap().items {
        let zone = world.ticket(one.guest.ticket_id.as_ref().unwrap()).0.rules.zone;
        assert_eq!(zone, "general", "a type is a zone by another name");
    }
    let again = import(file, &own).unwrap();
    assert_eq!((again.created, again.updated, again.unchanged), (0, 0, 3), "the same file twice changes nothing");
    let seen = now(guests::list(&world.app, &promoter, world.event.clone(), Wanted::default(), whole_page()));
    let mut names: Vec<String> = seen.unwrap().items.into_iter().map(|one| one.guest.name).collect();
    names.sort();
    assert_eq!(names, ["Amélie", "Bo", "Mine now"]);
    assert_eq!(wrong_field(import(file, &house)), "guest_list_id");
    let nameless = import("external_id\nP-9\n", &own).unwrap();
    assert_eq!((nameless.created, nameless.errors[0].field.as_str()), (0, "name"));
}

/// A promoter who guesses the organiser's external ids must not get the organiser's guests onto their own list.
#[test]
fn a_promoters_ids_are_their_lists_own_and_never_the_organisers() {
    let world = World::new();
    let (promoter, own, _) = promoter_with_lists(&world);
    let by_promoter = |file: &str| {
        let how = HowToImport { guest_list_id: Some(own.clone()), ..HowToImport::default() };
        let report = now(tickets::import(&world.app, &promoter, world.event.clone(), file.as_bytes(), how)).unwrap();
        (report.created, report.updated, report.unchanged, report.wrong_lines)
    };
    let by_owner = |file: &str| {
        let how = HowToImport::default();
        let report = now(tickets::import(&world.app, &world.owner, world.event.clone(), file.as_bytes(), how)).unwrap();
        (report.created, report.updated, report.unchanged, report.wrong_lines)
    };
    let foreign = "external_id,order_id,position,name\n17,,,Friend\n,O-1,1,Friend two\n";
    assert_eq!(by_promoter(foreign), (2, 0, 0, 0));
    let guest = NewGuest { external_id: Some("18".into()), guest_list_id: Some(own.clone()), ..named("Friend three") };
    let made = now(guests::create(&world.app, &promoter, world.event.clone(), guest, None, None)).unwrap().0;
    let real = "external_id,order_id,position,name,email\n17,,,Real,r@x.example\n18,,,Real two,r2@x.example\n\
        ,O-1,1,Real three,r3@x.example\n";
    assert_eq!(by_owner(real), (3, 0, 0, 0));
    let renumbered = GuestPatch { external_id: Some(Some("19".into())), ..GuestPatch::default() };
    now(guests::update(&world.app, &promoter, made.guest_id, renumbered)).unwrap();
    assert_eq!(by_owner("external_id,name\n19,Real four\n"), (1, 0, 0, 0));
    // The organiser's file and the promoter's file each find their own guests again.
    assert_eq!((by_promoter(foreign), by_owner(real)), ((0, 0, 2, 0), (0, 0, 3, 0)));
    assert_eq!(by_promoter("external_id,name\n19,Friend three\n"), (0, 0, 1, 0));
    let page = guests::list(&world.app, &promoter, world.event.clone(), Wanted::default(), whole_page());
    let mut names: Vec<String> = now(page).unwrap().items.into_iter().map(|one| one.guest.name).collect();
    names.sort();
    assert_eq!(names, ["Friend", "Friend three", "Friend two"]);
    // If the organiser puts a guest onto this list, the guest is the same one for both.
    assert_eq!(by_owner("external_id,name,guest_list\n40,Shared,Own\n"), (1, 0, 0, 0));
    assert_eq!(by_promoter("external_id,name\n40,Shared\n"), (0, 0, 1, 0));
    // The promoter cannot change that guest's external id, as the organiser's next file finds the guest by it.
    let page = guests::list(&world.app, &promoter, world.event.clone(), Wanted::default(), whole_page());
    let shared = now(page).unwrap().items.into_iter().find(|one| one.guest.name == "Shared").unwrap().guest.guest_id;
    for id in [Some("41".to_owned()), None] {
        let renumbered = GuestPatch { external_id: Some(id), ..GuestPatch::default() };
        assert_eq!(wrong_field(now(guests::update(&world.app, &promoter, shared.clone(), renumbered))), "external_id");
    }
    assert_eq!(by_owner("external_id,name,guest_list\n40,Shared,Own\n"), (0, 0, 1, 0));
}

/// A promoter moves a guest between two lists of their own. The next file finds the guest there once, and nothing else
/// changes.
#[test]
fn a_guest_who_goes_onto_another_list_is_known_there() {
    let world = World::new();
    let (promoter, first, _) = promoter_with_lists(&world);
    let second = NewGuestList { name: "Late".into(), promoter_id: Some(promoter.user_id.clone()) };
    let second = now(guest_lists::create(&world.app, &world.owner, world.event.clone(), second)).unwrap().guest_list_id;
    let import = |list: &GuestListId, file: &str| {
        let how = HowToImport { guest_list_id: Some(list.clone()), ..HowToImport::default() };
        let report = now(tickets::import(&world.app, &promoter, world.event.clone(), file.as_bytes(), how)).unwrap();
        (report.created, report.updated, report.unchanged, report.wrong_lines)
    };
    let on = |list: &GuestListId| -> Vec<GuestRecord> {
        let filter = Wanted { guest_list_id: Some(list.clone()), ..Wanted::default() };
        let page = now(guests::list(&world.app, &promoter, world.event.clone(), filter, whole_page())).unwrap();
        page.items.into_iter().map(|one| one.guest).collect()
    };
    let by = |who: &UserCaller, guest: &GuestRecord, list: &GuestListId| {
        let patch = GuestPatch { guest_list_id: Some(Some(list.clone())), ..GuestPatch::default() };
        now(guests::update(&world.app, who, guest.guest_id.clone(), patch))
    };
    let file = "external_id,order_id,position,name,email\n7,,,Seven,\n,O-1,1,Order,\n,,,Named,n@x.example\n";
    assert_eq!(import(&first, file), (3, 0, 0, 0));
    let entry_types: Vec<_> = on(&first).iter().map(|guest| guest.entry_type_id.clone()).collect();
    for guest in on(&first) {
        by(&promoter, &guest, &second).unwrap();
    }
    assert_eq!(on(&first), []);
    assert_eq!(on(&second).iter().map(|guest| guest.entry_type_id.clone()).collect::<Vec<_>>(), entry_types);
    assert_eq!(import(&second, file), (0, 0, 3, 0), "the new list's file finds them");
    // The ids of the old list are free again. A guest whose id is taken on the other list cannot be moved there.
    assert_eq!(import(&first, "external_id,name\n7,Another seven\n"), (1, 0, 0, 0));
    let another = on(&first).remove(0);
    assert_eq!(wrong_field(by(&promoter, &another, &second)), "guest_list_id");
    assert_eq!(on(&first), [another]);
    // Guests from the organiser's file keep the ids by which the organiser's files find them.
    let owners = "external_id,name,guest_list\n40,Shared,Own\n";
    let owner = |file: &str| {
        let how = HowToImport::default();
        now(tickets::import(&world.app, &world.owner, world.event.clone(), file.as_bytes(), how)).unwrap()
    };
    assert_eq!(owner(owners).created, 1);
    let shared = on(&first).into_iter().find(|guest| guest.name == "Shared").unwrap();
    by(&promoter, &shared, &second).unwrap();
    assert_eq!(import(&second, "external_id,name\n40,Shared\n"), (0, 0, 1, 0));
    assert_eq!((owner(owners).created, on(&second).len()), (0, 3), "it goes back to the list its file names");
    world.is_consistent();
}

/// A page leaves out other lists' guests. The cursor to the next page must not reveal them.
#[test]
fn a_promoters_page_tells_nothing_of_other_lists_guests() {
    let world = World::new();
    let (promoter, own, house) = promoter_with_lists(&world);
    for name in ["Secret one", "Secret two"] {
        let email = Some("secret@house.example".into());
        create(&world, NewGuest { guest_list_id: Some(house.clone()), email, ..named(name) });
    }
    let second = NewGuestList { name: "Second".into(), promoter_id: Some(promoter.user_id.clone()) };
    now(guest_lists::create(&world.app, &world.owner, world.event.clone(), second)).unwrap();
    let nobodys = UserCaller { role: Role::Promoter, ..world.member(Role::Viewer) };
    create(&world, NewGuest { guest_list_id: Some(own), ..named("Mine") });
    for (who, text, found) in
        [(&promoter, Some("secret"), 0), (&nobodys, Some("secret"), 0), (&nobodys, None, 0), (&promoter, None, 1)]
    {
        let filter = Wanted { text: text.map(str::to_owned), ..Wanted::default() };
        let page = Page { limit: 1, cursor: None };
        let listed = now(guests::list(&world.app, who, world.event.clone(), filter, page)).unwrap();
        assert_eq!((listed.items.len(), listed.next_cursor), (found, None), "{text:?}");
        let counts = guests::count(&world.app, who, world.event.clone(), text.map(str::to_owned));
        assert_eq!(now(counts).unwrap().all, found as u64, "{text:?}");
    }
}

#[test]
fn a_guest_made_by_hand_is_found_by_their_id() {
    let world = World::new();
    let import = |file: &str| {
        let how = HowToImport::default();
        let report = now(tickets::import(&world.app, &world.owner, world.event.clone(), file.as_bytes(), how)).unwrap();
        (report.created, report.updated, report.unchanged)
    };
    let with_id = |name: &str, id: &str| NewGuest { external_id: Some(id.into()), ..named(name) };
    let vip = create(&world, with_id("Vip", "1042"));
    assert_eq!(import("external_id,name\n1042,Vip of the CRM\n"), (0, 1, 0));
    let again = guests::create(&world.app, &world.owner, world.event.clone(), with_id("Other", "1042"), None, None);
    assert_eq!(wrong_field(now(again)), "external_id");
    let twins = ["a", "b"].map(|name| NewTicket { guest: Some(with_id(name, "7")), ..NewTicket::default() });
    let made = tickets::create(&world.app, &world.owner, world.event.clone(), twins.to_vec());
    assert_eq!(wrong_field(now(made)), "[1].guest.external_id");
    // From then on a file finds the guest by the new id. An id that another guest has is refused.
    let renumber = |guest: &GuestRecord, id: Option<&str>| {
        let patch = GuestPatch { external_id: Some(id.map(str::to_owned)), ..GuestPatch::default() };
        now(guests::update(&world.app, &world.owner, guest.guest_id.clone(), patch))
    };
    renumber(&vip, Some("2000")).unwrap();
    assert_eq!(import("external_id,name\n2000,Vip of the CRM\n1042,New\n"), (1, 0, 1));
    assert_eq!(wrong_field(renumber(&vip, Some("1042"))), "external_id");
    renumber(&vip, None).unwrap();
    let nameless = create(&world, named("No id yet"));
    renumber(&nameless, Some("2000")).unwrap();
    assert_eq!(import("external_id,name\n2000,No id yet\n"), (0, 0, 1));
    // Several tickets that have codes of their own may share one order id.
    let coded = ["C-1", "C-2"].map(|code| NewTicket {
        barcode: Some(code.into()),
        guest: Some(with_id("Ana", "order 7")),
        ..NewTicket::default()
    });
    now(tickets::create(&world.app, &world.owner, world.event.clone(), coded.to_vec())).unwrap();
    world.is_consistent();
}

#[test]
fn a_list_is_given_to_another_promoter() {
    let world = World::new();
    let (promoter, own, _) = promoter_with_lists(&world);
    let mine = create(&world, NewGuest { guest_list_id: Some(own.clone()), ..named("Mine") });
    let other = UserCaller { role: Role::Promoter, ..world.member(Role::Viewer) };
    let change =
        |who: &UserCaller, patch| now(guest_lists::update(&world.app, who, world.event.clone(), own.clone(), patch));
    let give = |to: Option<UserId>| GuestListPatch { promoter_id: Some(to), ..GuestListPatch::default() };
    let sees = |who| now(guests::show(&world.app, who, mine.guest_id.clone())).is_ok();
    assert_eq!((sees(&promoter), sees(&other)), (true, false));
    assert_eq!(code(change(&promoter, give(None))), "forbidden");
    assert_eq!(
        change(&world.owner, give(Some(other.user_id.clone()))).unwrap().promoter_id,
        Some(other.user_id.clone())
    );
    assert_eq!((sees(&promoter), sees(&other)), (false, true));
    let ledger = world.ledger();
    change(&world.owner, give(Some(other.user_id.clone()))).unwrap();
    assert_eq!(world.ledger(), ledger, "nothing changed");
    assert_eq!(wrong_field(change(&world.owner, give(Some(UserId::new("stranger").unwrap())))), "promoter_id");
    let name = |name: &str| GuestListPatch { name: Some(name.into()), ..GuestListPatch::default() };
    assert_eq!(code(change(&world.owner, name("house"))), "guest_list_exists", "but for its case");
    assert_eq!(change(&world.owner, name("OWN")).unwrap().name, "OWN", "its own name, spelt anew");
    change(&world.owner, give(None)).unwrap();
    assert_eq!((sees(&promoter), sees(&other), sees(&world.owner)), (false, false, true));
    assert_eq!(world.ledger().iter().filter(|action| *action == "guest_list_updated").count(), 3);
    let nowhere = GuestListId::new("nowhere").unwrap();
    let unknown = guest_lists::update(&world.app, &world.owner, world.event.clone(), nowhere, give(None));
    assert_eq!(code(now(unknown)), "no guest_list");
}

#[test]
fn a_promoter_says_who_comes_and_nothing_of_where_when_and_by_which_code() {
    let world = World::new();
    let (promoter, own, _) = promoter_with_lists(&world);
    let guest = || NewGuest { guest_list_id: Some(own.clone()), ..named("Bo") };
    let field = |change: fn(&mut NewTicket)| {
        let mut ticket = NewTicket { guest: Some(guest()), ..NewTicket::default() };
        change(&mut ticket);
        wrong_field(now(tickets::create(&world.app, &promoter, world.event.clone(), vec![ticket])))
    };
    assert_eq!(field(|ticket| ticket.barcode = Some("MINE-1".into())), "[0].barcode");
    assert_eq!(field(|ticket| ticket.zone = Some("backstage".into())), "[0].zone");
    let types = now(entry_types::list(&world.app, &world.owner, world.event.clone())).unwrap();
    let named_type = NewTicket { entry_type_id: Some(types[0].record.entry_type_id.clone()), ..NewTicket::default() };
    let refused = NewTicket { guest: Some(guest()), ..named_type };
    let refused = tickets::create(&world.app, &promoter, world.event.clone(), vec![refused]);
    assert_eq!(wrong_field(now(refused)), "[0].entry_type_id", "a type is a zone by another name");
    assert_eq!(field(|ticket| ticket.gate_ids = vec![gate("main")]), "[0].gate_ids");
    assert_eq!(field(|ticket| ticket.status = Some(TicketStatus::Active)), "[0].status");
    assert_eq!(field(|ticket| ticket.valid_from = Some(at(0))), "[0].valid_from");
    assert_eq!(field(|ticket| ticket.expires_at = Some(at(9 * HOUR))), "[0].expires_at");
    assert_eq!(field(|ticket| ticket.order_id = Some("O-1".into())), "[0].order_id");
    assert_eq!(field(|ticket| ticket.guest.as_mut().unwrap().flag = Some("none".into())), "[0].guest.flag");
    let wristband = || Fields::from([("Wristband".to_owned(), "Gold".to_owned())]);
    let banded = |ticket: &mut NewTicket| {
        ticket.guest.as_mut().unwrap().fields = Fields::from([("Wristband".into(), "Gold".into())]);
    };
    assert_eq!(field(banded), "[0].guest.fields");
    let banded = create(&world, NewGuest { fields: wristband(), ..guest() });
    let fields = [("Wristband".to_owned(), Some("Platinum".to_owned()))].into();
    let refused =
        guests::update(&world.app, &promoter, banded.guest_id, GuestPatch { fields, ..GuestPatch::default() });
    assert_eq!(wrong_field(now(refused)), "fields");
    let flagged = create(&world, NewGuest { flag: Some("ID".into()), ..guest() });
    let unflag = GuestPatch { flag: Some(None), ..GuestPatch::default() };
    let refused = guests::update(&world.app, &promoter, flagged.guest_id.clone(), unflag);
    assert_eq!(wrong_field(now(refused)), "flag");
    let same = GuestPatch { flag: Some(Some("ID".into())), name: Some("Bo B".into()), ..GuestPatch::default() };
    now(guests::update(&world.app, &promoter, flagged.guest_id, same)).unwrap();
}

/// If a list is renamed, the next file still finds its guests, by the old name as well as by the new one.
#[test]
fn a_list_of_another_name_keeps_its_guests() {
    let world = World::new();
    let (promoter, own, _) = promoter_with_lists(&world);
    let import = |who: &UserCaller, list: Option<&GuestListId>, file: &str| {
        let how = HowToImport { guest_list_id: list.cloned(), ..HowToImport::default() };
        let report = now(tickets::import(&world.app, who, world.event.clone(), file.as_bytes(), how)).unwrap();
        (report.created, report.updated, report.unchanged, report.wrong_lines)
    };
    let rename = |list: &GuestListId, name: &str| {
        let patch = GuestListPatch { name: Some(name.into()), ..GuestListPatch::default() };
        now(guest_lists::update(&world.app, &world.owner, world.event.clone(), list.clone(), patch)).unwrap();
    };
    let lists = || now(guest_lists::list(&world.app, &world.owner, world.event.clone())).unwrap();
    let foreign = "name,email\nAna,a@x.example\nBo,\n";
    let house = "name,email\nCy,c@x.example\n";
    let named = "name,guest_list\nDi,Own\nEd,Press\n";
    assert_eq!(import(&promoter, Some(&own), foreign), (2, 0, 0, 0));
    assert_eq!(import(&world.owner, Some(&own), house), (1, 0, 0, 0));
    assert_eq!(import(&world.owner, None, named), (2, 0, 0, 0));
    let before = lists();
    rename(&own, "Family");
    rename(&before.iter().find(|list| list.name == "Press").unwrap().guest_list_id, "Media");
    // The same files are imported again, and then a file with the new names.
    assert_eq!(import(&promoter, Some(&own), foreign), (0, 0, 2, 0));
    assert_eq!(import(&world.owner, Some(&own), house), (0, 0, 1, 0));
    assert_eq!(import(&world.owner, None, "name,guest_list\nDi,family\nEd,MEDIA\n"), (0, 0, 2, 0));
    assert_eq!(import(&world.owner, None, named), (0, 0, 2, 0), "the old names mean the same lists");
    assert_eq!(lists().len(), before.len(), "and no list is made of them");
    // A guest whom a file adds under the list's old name is found by the promoter's file, too.
    assert_eq!(import(&world.owner, None, "name,guest_list\nFi,own\n"), (1, 0, 0, 0));
    assert_eq!(import(&promoter, Some(&own), "name\nFi\n"), (0, 0, 1, 0));
    // If another list gets the old name, the name means that list. Two lists can swap names without mixing their
    // guests.
    let second = NewGuestList { name: "Own".into(), promoter_id: None };
    let second = now(guest_lists::create(&world.app, &world.owner, world.event.clone(), second)).unwrap().guest_list_id;
    assert_eq!(import(&world.owner, None, "name,guest_list\nDi,Own\n"), (1, 0, 0, 0));
    for (list, name) in [(&second, "Swap"), (&own, "Own"), (&second, "Family")] {
        rename(list, name);
    }
    assert_eq!(import(&world.owner, None, "name,guest_list\nDi,Own\nDi,Family\nEd,Press\n"), (0, 0, 3, 0));
    assert_eq!(import(&promoter, Some(&own), foreign), (0, 0, 2, 0));
    world.is_consistent();
}
