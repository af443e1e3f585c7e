//! Importing and exporting CSV: the same file twice changes nothing, and every wrong field is told by its line.

use admit_app::entry_types::{self, NewEntryType};
use admit_app::guest_lists;
use admit_app::ports::TicketFilter;
use admit_app::tickets::{self, HowToImport, ImportReport, Listing, TicketPatch};
use admit_core::ticket::TicketStatus;

use crate::world::*;

fn run(world: &World, file: &str, dry_run: bool) -> Result<ImportReport, admit_app::error::Error> {
    now(tickets::import(
        &world.app,
        &world.owner,
        world.event.clone(),
        file.as_bytes(),
        HowToImport { dry_run, ..HowToImport::default() },
    ))
}

/// (created, updated, unchanged, wrong fields as `line:field`).
fn counts(world: &World, file: &str) -> (usize, usize, usize, Vec<String>) {
    let report = run(world, file, false).unwrap();
    let errors = report.errors.iter().map(|error| format!("{}:{}", error.line, error.field)).collect();
    (report.created, report.updated, report.unchanged, errors)
}

fn all(world: &World) -> Vec<Listing> {
    let page = tickets::list(&world.app, &world.owner, world.event.clone(), TicketFilter::default(), whole_page());
    now(page).unwrap().items
}

fn by_code(world: &World, code: &str) -> Listing {
    all(world).into_iter().find(|(ticket, ..)| ticket.barcode.as_deref() == Some(code)).unwrap()
}

const FILE: &str = "Barcode;Name;E-Mail;Party Size;Gates;Guest List;Status;Note\r\n\
    A-1;\"Brânză; Amélie\";AMELIE@example.org;2;main|out;Friends;active;\"two\r\nlines\"\r\n\
    A-2;Noah;;;;;cancelled;\r\n";

#[test]
fn a_file_becomes_tickets_and_guests_and_the_same_file_again_changes_nothing() {
    let world = World::new();
    assert_eq!(counts(&world, FILE), (2, 0, 0, vec![]));
    let (ticket, guest, _) = by_code(&world, "A-1");
    let guest = guest.unwrap();
    assert_eq!((guest.name.as_str(), guest.email.as_deref()), ("Brânză; Amélie", Some("amelie@example.org")));
    assert_eq!((guest.party_size, ticket.rules.entry_limit), (2, 2));
    assert_eq!(ticket.rules.gate_ids, [gate("main"), gate("out")]);
    assert_eq!(guest.note.as_deref(), Some("two\r\nlines"));
    let lists = now(guest_lists::list(&world.app, &world.owner, world.event.clone())).unwrap();
    assert_eq!(guest.guest_list_id.as_ref(), Some(&lists[0].guest_list_id));
    assert_eq!(by_code(&world, "A-2").0.rules.status, TicketStatus::Voided);
    let (before, ledger) = (all(&world), world.ledger());
    world.pass(HOUR);
    assert_eq!(counts(&world, FILE), (0, 0, 2, vec![]));
    assert_eq!((all(&world), world.ledger()), (before, ledger), "no row, no line");
    world.is_consistent();
}

#[test]
fn a_dry_run_says_what_would_happen_and_writes_nothing() {
    let world = World::new();
    let ledger = world.ledger();
    let report = run(&world, &FILE.replace("Noah", " "), true).unwrap();
    assert_eq!((report.created, report.dry_run), (2, true));
    assert_eq!((all(&world).len(), world.ledger()), (0, ledger));
}

#[test]
fn changed_rows_change_their_ticket_from_now_on() {
    let world = World::new();
    counts(&world, FILE);
    world.phone("p", "main").scan("s1", "A-1", "valid", at(0));
    world.pass(HOUR);
    let changed = FILE.replace("active", "refunded").replace("Noah", "Noah Smith");
    assert_eq!(counts(&world, &changed), (0, 2, 0, vec![]));
    assert_eq!(by_code(&world, "A-1").0.rules.status, TicketStatus::Refunded);
    assert_eq!(by_code(&world, "A-2").1.unwrap().name, "Noah Smith");
    assert_eq!(world.open(), Vec::<String>::new(), "let in before it was refunded");
    assert_eq!(world.ledger().iter().filter(|action| *action == "tickets_imported").count(), 2);
    world.is_consistent();
}

#[test]
fn columns_that_a_file_lacks_stay_and_empty_cells_clear_what_may_be_empty() {
    let world = World::new();
    counts(&world, "barcode,name,email,party_size,note\nA,Ana,a@b.example,3,hello\n");
    assert_eq!(counts(&world, "barcode,name,note,party_size\nA,Ana,,\n"), (0, 1, 0, vec![]));
    let (ticket, guest, _) = by_code(&world, "A");
    let guest = guest.unwrap();
    assert_eq!((guest.note, guest.email.as_deref(), ticket.rules.entry_limit), (None, Some("a@b.example"), 3));
    // A hand-made void stays, unless the file says otherwise.
    let void = TicketPatch { status: Some(TicketStatus::Voided), ..TicketPatch::default() };
    now(tickets::update(&world.app, &world.owner, ticket.ticket_id, void)).unwrap();
    assert_eq!(counts(&world, "barcode,name,status\nA,Ana,\n"), (0, 0, 1, vec![]));
    assert_eq!(by_code(&world, "A").0.rules.status, TicketStatus::Voided);
}

#[test]
fn a_row_is_known_by_barcode_else_external_id_else_order_and_position_else_list_name_and_email() {
    let world = World::new();
    let file = "barcode,external_id,order_id,position,guest_list,name,email\n\
        B1,X,O,1,,Ana,\n\
        ,X,O,1,,Bo,\n\
        ,,O,1,,Cy,\n\
        ,,O,2,,Cy,\n\
        ,,,,Friends,Di,d@x.example\n\
        ,,,,Family,Di,d@x.example\n\
        ,,,,Friends,Di,e@x.example\n";
    assert_eq!(counts(&world, file), (7, 0, 0, vec![]));
    assert_eq!(counts(&world, file), (0, 0, 7, vec![]));
    let folded = file.replace("Friends,Di,d@x", "friends,  DI,D@x");
    assert_eq!(counts(&world, &folded), (0, 1, 6, vec![]), "found in spite of its spelling, and spelt anew");
    assert_eq!(all(&world).len(), 7);
}

#[test]
fn a_row_that_repeats_another_is_told_with_the_first_ones_line() {
    let world = World::new();
    let file = "barcode,external_id,name\nA,,\n,7,Ana\nA,,\n,7,Bo\n,,Cy\n,,cy\n";
    let report = run(&world, file, false).unwrap();
    let told: Vec<String> =
        report.errors.iter().map(|one| format!("{}:{} {}", one.line, one.field, one.message)).collect();
    assert_eq!(report.created, 3);
    assert!(told[0].starts_with("4:barcode is the same as in line 2"), "{told:?}");
    assert!(told[1].starts_with("5:external_id is the same as in line 3"), "{told:?}");
    assert!(told[2].starts_with("7:name is the same guest as in line 6"), "{told:?}");
}

#[test]
fn wrong_fields_are_told_by_line_and_column_and_the_other_rows_go_in() {
    let world = World::new();
    let file = "barcode,name,email,phone,party_size,gate_ids,valid_from,expires_at,status,entry_type\n\
        good,Ana,,,,,,,,\n\
        b,Bo,not-an-email,,,,,,,\n\
        c,Cy,,call me,,,,,,\n\
        d,Di,,,none,,,,,\n\
        e,Ed,,,0,,,,,\n\
        f,Fi,,,,nowhere,,,,\n\
        g,Gi,,,,,tomorrow,,,\n\
        h,Hy,,,,,2026-06-07T20:00:00Z,2026-06-07T19:00:00Z,,\n\
        i,Iz,,,,,,,lost,\n\
        j,Jo,,,,,,,,Gold\n\
        k,Ky,,,,,,,,,too,many\n";
    let expected = [
        "3:email",
        "4:phone",
        "5:party_size",
        "6:party_size",
        "7:gate_ids[0]",
        "8:valid_from",
        "9:expires_at",
        "10:status",
        "11:entry_type",
        "12:line",
    ];
    assert_eq!(counts(&world, file), (1, 0, 0, expected.map(str::to_owned).to_vec()));
    assert_eq!(all(&world).len(), 1);
    world.is_consistent();
}

/// The database finds rows by these: what is too long for its index must not take the good rows of the file along.
#[test]
fn ids_that_are_too_long_are_told_by_their_line() {
    let world = World::new();
    let (long, longest) = ("x".repeat(129), "é".repeat(128));
    let file = format!(
        "external_id,order_id,position,name\n{long},,,\n,{long},1,Bo\n,O,{long},Cy\n7,O,{long},Di\n,{longest},{longest},Ed\n\
        {longest},,,\n,O,\"two\nlines\",Fi\n"
    );
    let errors = ["2:external_id", "3:order_id", "4:position", "5:position", "8:position"];
    assert_eq!(counts(&world, &file), (2, 0, 0, errors.map(str::to_owned).to_vec()));
    assert_eq!(counts(&world, &format!("external_id\n{longest}\n")), (0, 0, 1, vec![]));
    world.is_consistent();
}

#[test]
fn a_file_that_cannot_be_read_is_refused_whole() {
    let world = World::new();
    let refused = |file: &[u8]| {
        wrong_field(now(tickets::import(&world.app, &world.owner, world.event.clone(), file, HowToImport::default())))
    };
    assert_eq!(refused(b""), "body");
    assert_eq!(refused(b"name\nJos\xe9\n"), "body", "Latin-1");
    assert_eq!(refused(b"name\n\"never ends\n"), "body");
    assert_eq!(refused(b"shoe size,colour\n42,red\n"), "header");
    assert_eq!(refused(b"name,Guest name\nA,B\n"), "header.name");
    let report = run(&world, "name,shoe size\nAna,42\n", false).unwrap();
    assert_eq!((report.created, report.ignored_columns), (1, vec!["shoe size".to_owned()]));
}

#[test]
fn a_row_names_its_zone_or_its_entry_type() {
    let world = World::new();
    let vip = NewEntryType { name: "Very Important".into(), zone: "vip".into() };
    let vip = now(entry_types::create(&world.app, &world.owner, world.event.clone(), vip)).unwrap();
    counts(&world, "barcode,name,zone,entry_type\nA,A,,\nB,B,vip,\nC,C,,very  important\nD,D,press,\n");
    let of = |code: &str| {
        let (ticket, guest, _) = by_code(&world, code);
        (ticket.rules.zone, guest.unwrap().entry_type_id == Some(vip.entry_type_id.clone()))
    };
    assert_eq!(of("A"), ("general".to_owned(), false));
    assert_eq!(of("B"), ("vip".to_owned(), true));
    assert_eq!(of("C"), ("vip".to_owned(), true));
    assert_eq!(of("D"), ("press".to_owned(), false));
    assert!(by_code(&world, "A").1.unwrap().entry_type_id.is_some(), "the event's first");
    assert!(by_code(&world, "D").1.unwrap().entry_type_id.is_none(), "no type has this zone");
}

#[test]
fn an_imported_ticket_finds_the_scan_that_came_before_it() {
    let world = World::new();
    world.phone("p", "main").scan("s1", "LATE", "valid", at(0));
    assert_eq!(counts(&world, "barcode,name\nLATE,Ana\nNEW,Bo\n"), (2, 0, 0, vec![]));
    assert_eq!(by_code(&world, "LATE").2.unwrap().state.within, 1);
    assert_eq!(world.open(), Vec::<String>::new());
    world.is_consistent();
}

#[test]
fn an_export_has_no_formulas_and_imported_again_changes_nothing() {
    let world = World::new();
    counts(
        &world,
        "barcode,name,email,phone,note,external_id,party_size,guest_list,valid_from\n\
        A,=HYPERLINK(1),a@b.example,+49 30 1,\"@x, \"\"y\"\"\",-7,2,+Friends,2026-06-07T19:00:00Z\n\
        -B,\"O'Neal\",,,,,1,,\n",
    );
    let file = now(tickets::export(&world.app, &world.owner, world.event.clone())).unwrap();
    let text = String::from_utf8(file.clone()).unwrap();
    assert!(text.contains("'=HYPERLINK(1)") && text.contains("'+49 30 1") && text.contains("'-7"), "{text}");
    assert!(!text.contains(",=") && !text.contains(",+") && !text.contains(",-") && !text.contains("\n-"), "{text}");
    let before = all(&world);
    world.pass(HOUR);
    let report =
        now(tickets::import(&world.app, &world.owner, world.event.clone(), &file, HowToImport::default())).unwrap();
    assert_eq!((report.created, report.updated, report.unchanged, report.errors), (0, 0, 2, vec![]));
    assert_eq!(all(&world), before);
}

#[test]
fn an_export_tells_entry_types_of_one_zone_apart() {
    let world = World::new();
    for (name, zone) in [("Press", "vip"), ("Artists", "vip"), ("artists ", "stage")] {
        let new = NewEntryType { name: name.into(), zone: zone.into() };
        let made = now(entry_types::create(&world.app, &world.owner, world.event.clone(), new));
        assert!(made.is_ok() || name.ends_with(' '), "{made:?}");
    }
    counts(&world, "barcode,name,entry_type\nP,Paul,Press\nA,Ann,Artists\n");
    let (before, file) = (all(&world), now(tickets::export(&world.app, &world.owner, world.event.clone())).unwrap());
    assert_ne!(by_code(&world, "P").1.unwrap().entry_type_id, by_code(&world, "A").1.unwrap().entry_type_id);
    world.pass(HOUR);
    assert_eq!(counts(&world, std::str::from_utf8(&file).unwrap()), (0, 0, 2, vec![]));
    assert_eq!(all(&world), before);
}

#[test]
fn one_ticket_named_in_two_ways_is_told_with_the_first_ones_line() {
    let world = World::new();
    counts(&world, "external_id,name\n7,Ana\n");
    let token = all(&world)[0].0.barcode.clone().unwrap();
    let file = format!("barcode,external_id,name\n{token},,Ana by code\n,7,Ana by id\n");
    assert_eq!(counts(&world, &file), (0, 1, 0, vec!["3:line".to_owned()]));
    assert_eq!(all(&world)[0].1.as_ref().unwrap().name, "Ana by code");
}

#[test]
fn twenty_thousand_rows_go_in_together() {
    let world = World::new();
    let mut file = "barcode,name,party_size\n".to_owned();
    for n in 0..20_000 {
        file.push_str(&format!("CODE-{n:05},Guest {n},{}\n", n % 4 + 1));
    }
    assert_eq!(counts(&world, &file).0, 20_000);
    assert_eq!(counts(&world, &file).2, 20_000);
    assert_eq!(world.ledger().last().unwrap(), "tickets_imported");
}
