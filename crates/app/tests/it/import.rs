//! Importing and exporting CSV. Importing a file twice changes nothing, and every wrong field is reported with its
//! line.

use admit_app::entry_types::{self, NewEntryType};
use admit_app::guest_lists;
use admit_app::tickets::{self, HowToImport, ImportReport, Listing, Mapping, TicketPatch};
use admit_core::event::BarcodeKind;
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

/// Imports `file`; returns (created, updated, unchanged, wrong fields as `line:field`).
fn counts(world: &World, file: &str) -> (usize, usize, usize, Vec<String>) {
    let report = run(world, file, false).unwrap();
    let errors = report.errors.iter().map(|error| format!("{}:{}", error.line, error.field)).collect();
    (report.created, report.updated, report.unchanged, errors)
}

fn code_of<T: std::fmt::Debug>(result: Result<T, admit_app::error::Error>) -> String {
    code(result)
}

fn all(world: &World) -> Vec<Listing> {
    let page = tickets::list(&world.app, &world.owner, world.event.clone(), tickets::Wanted::default(), whole_page());
    now(page).unwrap().items
}

fn by_code(world: &World, code: &str) -> Listing {
    all(world).into_iter().find(|(ticket, ..)| ticket.barcode.as_deref() == Some(code)).unwrap()
}

const FILE: &str = "Barcode;Name;E-Mail;Party Size;Gates;Guest List;Status;Note\r\n\
    A-1;\"Brânză; Amélie\";AMELIE@example.org;2;main|out;Friends;active;\"two\r\nlines\"\r\n\
    A-2;Noah;;;;;paid;\r\n";

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
    assert_eq!(by_code(&world, "A-2").0.rules.status, TicketStatus::Active);
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
    // A ticket that a person voided stays void, unless the file says otherwise.
    let void = TicketPatch { status: Some(TicketStatus::Voided), ..TicketPatch::default() };
    now(tickets::update(&world.app, &world.owner, ticket.ticket_id, void)).unwrap();
    assert_eq!(counts(&world, "barcode,name,status\nA,Ana,\n"), (0, 0, 1, vec![]));
    assert_eq!(by_code(&world, "A").0.rules.status, TicketStatus::Voided);
}

/// The import refuses a line whose code stands on another line already, and names the line. The other guests keep their
/// codes.
#[test]
fn a_code_that_stands_twice_is_told_with_its_line_and_the_others_keep_theirs() {
    let world = World::new();
    let mut file = "Name;E-mail;Code\n".to_owned();
    for n in 0..100 {
        file.push_str(&format!("Guest {n};g{n}@example.org;K{n:06}\n"));
    }
    file.push_str("Somebody Else;else@example.org;K000001\n");
    let report = run(&world, &file, false).unwrap();
    assert_eq!(report.columns[2].becomes.as_deref(), Some("barcode"));
    assert_eq!(report.created, 100);
    assert_eq!(report.errors.iter().map(|error| error.line).collect::<Vec<_>>(), [102], "{:?}", report.errors);
    assert_eq!(by_code(&world, "K000042").1.unwrap().name, "Guest 42");
    assert_eq!(by_code(&world, "K000001").1.unwrap().name, "Guest 1");
}

#[test]
fn codes_that_are_all_ean_13_suggest_that_cameras_read_it_and_change_nothing() {
    let world = World::new();
    let kinds = |file: &str| run(&world, file, true).unwrap().barcode_kinds;
    assert_eq!(kinds("barcode,name\n4006381333931,Ana\n9780306406157,Bo\n,Cy\n"), [BarcodeKind::Ean13]);
    assert_eq!(kinds("barcode,name\n4006381333931,Ana\n9780306406158,Bo\n"), [], "a digit that checks nothing");
    assert_eq!(kinds("name\nAna\n"), []);
    run(&world, "barcode,name\n4006381333931,Ana\n", false).unwrap();
    let event = now(admit_app::events::show(&world.app, &world.owner, world.event.clone())).unwrap();
    assert_eq!(event.at_door.barcode_kinds, [], "it is a person who says so");
}

/// A column becomes a guest field where a person chose so. The field keeps the value that a file gave last.
#[test]
fn columns_become_fields_of_guests_and_undoing_the_import_takes_them_back() {
    let world = World::new();
    let import = |file: &str, columns: &str| {
        let mapping = Mapping::parse(&format!(r##"{{"columns":{{{columns}}}}}"##))?;
        let how = HowToImport { mapping: Some(mapping), ..HowToImport::default() };
        now(tickets::import(&world.app, &world.owner, world.event.clone(), file.as_bytes(), how))
    };
    let fields = |code: &str| {
        let fields = by_code(&world, code).1.unwrap().fields;
        fields.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    let both = r#""Firma":"field","Tisch":"field:Table""#;
    let file = "barcode,name,Firma,Tisch,Essen\nA,Ana,\"ACME\nGmbH\",7,vegan\nB,Bo,,9,\n";
    let report = import(file, both).unwrap();
    let words: Vec<_> = report.columns.iter().map(|column| column.becomes.clone().unwrap_or_default()).collect();
    assert_eq!(words, ["barcode", "name", "field:Firma", "field:Table", ""], "no column is guessed to be a field");
    assert_eq!((fields("A").as_str(), fields("B").as_str()), ("Firma=ACME GmbH Table=7", "Table=9"));
    assert_eq!(import(file, both).unwrap().unchanged, 2);
    // An empty cell clears its field. A field whose column the file lacks stays.
    let changed = import("barcode,name,Tisch\nA,Ana,8\nB,Bo,\n", r#""Tisch":"field:Table""#).unwrap();
    assert_eq!((changed.updated, fields("A").as_str(), fields("B").as_str()), (2, "Firma=ACME GmbH Table=8", ""));
    now(tickets::import::undo(&world.app, &world.owner, world.event.clone(), changed.import_id.unwrap())).unwrap();
    assert_eq!((fields("A").as_str(), fields("B").as_str()), ("Firma=ACME GmbH Table=7", "Table=9"));

    let wrong = |columns: &str| wrong_field(import(file, columns));
    assert_eq!(wrong(r#""Firma":"field:Table","Tisch":"field:Table""#), "mapping.columns.Tisch", "one name for two");
    let nine: Vec<String> = (1..=9).map(|n| format!("f{n}")).collect();
    let header = format!("barcode,name,{}\nA,Ana,{}\n", nine.join(","), nine.join(","));
    let all =
        |count: usize| nine[..count].iter().map(|name| format!(r#""{name}":"field""#)).collect::<Vec<_>>().join(",");
    let report = import(&header, &all(9)).unwrap();
    assert_eq!((report.updated, report.errors[0].field.as_str()), (0, "field"), "nine filled cells");
    let own = format!(
        "barcode,name,{}\nC,Cy,{}\n",
        nine.iter().map(|name| format!("field:{name}")).collect::<Vec<_>>().join(","),
        nine[..8].join(",") + ","
    );
    assert_eq!(import(&own, "").unwrap().created, 1, "an export has a column for each name that any guest uses");
    // Eight new fields and the two stored ones are too many for one guest.
    let report = import(&header, &all(8)).unwrap();
    assert_eq!((report.updated, report.errors[0].field.as_str()), (0, "field"));
    world.is_consistent();
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
    let mapping = Mapping::parse(r#"{"missing_codes":"make"}"#).unwrap();
    let how = HowToImport { mapping: Some(mapping), ..HowToImport::default() };
    let made = now(tickets::import(&world.app, &world.owner, world.event.clone(), file.as_bytes(), how)).unwrap();
    assert_eq!((made.created, made.asked), (7, 0));
    assert_eq!(counts(&world, file), (0, 0, 7, vec![]));
    let folded = file.replace("Friends,Di,d@x", "friends,  DI,D@x");
    assert_eq!(counts(&world, &folded), (0, 1, 6, vec![]), "found in spite of its spelling, and spelt anew");
    assert_eq!(all(&world).len(), 7);
}

#[test]
fn a_row_that_repeats_another_is_told_with_the_first_ones_line() {
    let world = World::new();
    let file = "external_id,name,party_size\n7,Ana,1\n7,ana,2\n,Cy,1\n,cy,1\n,CY,3\n";
    let report = run(&world, file, false).unwrap();
    let told: Vec<String> =
        report.errors.iter().map(|one| format!("{}:{} {}", one.line, one.field, one.message)).collect();
    assert_eq!((report.created, report.joined), (2, 1), "{told:?}");
    assert!(told[0].starts_with("3:external_id is the same as in line 2, with another party_size"), "{told:?}");
    assert!(told[1].starts_with("6:name is the same guest as in line 4, with another party_size"), "{told:?}");
    let codes = run(&world, "barcode,name\nA,\nA,\nA,Ana\n", false).unwrap();
    assert_eq!((codes.created, codes.joined, codes.errors[0].field.as_str()), (1, 1, "barcode"));
}

#[test]
fn wrong_fields_are_told_by_line_and_column_and_the_other_rows_go_in() {
    let world = World::new();
    let file = "barcode,name,email,phone,party_size,gate_ids,valid_from,expires_at,status,entry_type\n\
        good,Ana,,,,,,,,\n\
        b,Bo,not-an-email,,,,,,,\n\
        c,Cy,,call me,,,,,,\n\
        d,Di,,,many,,,,,\n\
        e,Ed,,,10001,,,,,\n\
        f,Fi,,,,nowhere,,,,\n\
        g,Gi,,,,,tomorrow,,,\n\
        h,Hy,,,,,2026-06-07T20:00:00Z,2026-06-07T19:00:00Z,,\n\
        i,Iz,,,,,,,lost,\n\
        2.38E+13,Jo,,,,,,,,\n\
        k,Ky,,,,,,,,,too,many\n";
    let expected = [
        "3:email",
        "4:phone",
        "5:party_size",
        "6:party_size",
        "7:gate_ids[0]",
        "8:valid_from",
        "9:expires_at",
        "11:barcode",
        "12:line",
    ];
    assert_eq!(counts(&world, file), (1, 0, 0, expected.map(str::to_owned).to_vec()));
    assert_eq!(all(&world).len(), 1);
    world.is_consistent();
}

/// The database finds rows by an index on these ids. An id that is too long for it must not make the file's good rows
/// fail.
#[test]
fn ids_that_are_too_long_are_told_by_their_line() {
    let world = World::new();
    let (long, longest) = ("x".repeat(129), "é".repeat(128));
    let file = format!(
        "external_id,order_id,position,name\n{long},,,\n,{long},1,Bo\n,O,{long},Cy\n7,O,{long},Di\n,{longest},{longest},Ed\n\
        {longest},,,\n,O,\"two\nlines\",Fi\n"
    );
    let errors = ["2:external_id", "3:order_id", "4:position", "5:position", "6:order_id", "8:position"];
    assert_eq!(counts(&world, &file), (1, 0, 0, errors.map(str::to_owned).to_vec()));
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
    assert_eq!(refused(b"name\n\"never ends\n"), "body");
    assert_eq!(refused(b"shoe size,colour\n42,red\n"), "header");
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
fn an_export_has_the_fields_of_guests_and_their_bookings_and_imported_again_changes_nothing() {
    let world = World::new();
    let mapping = Mapping::parse(r#"{"columns":{"Firma":"field","Tisch":"field:Table"}}"#).unwrap();
    let how = HowToImport { mapping: Some(mapping), ..HowToImport::default() };
    let file = "barcode,name,order_id,Firma,Tisch\nA,Ana,ORDER-7,ACME,\nB,Bo,ORDER-7,,9\nC,Cy,,,\n";
    now(tickets::import(&world.app, &world.owner, world.event.clone(), file.as_bytes(), how)).unwrap();
    let exported = now(tickets::export(&world.app, &world.owner, world.event.clone())).unwrap();
    let text = String::from_utf8(exported.clone()).unwrap();
    let ends = |start: &str| {
        let line = text.lines().map(|line| line.trim_start_matches('\u{feff}')).find(|line| line.starts_with(start));
        line.unwrap().split(',').rev().take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(ends("barcode,"), ["field:Table", "field:Firma"]);
    assert_eq!(
        (ends("A,"), ends("B,"), ends("C,")),
        (vec!["".into(), "ACME".into()], vec!["9".into(), "".into()], vec![String::new(); 2])
    );
    let before = all(&world);
    world.pass(HOUR);
    let again = HowToImport::default();
    let report = now(tickets::import(&world.app, &world.owner, world.event.clone(), &exported, again)).unwrap();
    assert_eq!((report.created, report.updated, report.unchanged, report.errors), (0, 0, 3, vec![]));
    assert_eq!(all(&world), before);
    let elsewhere = World::new();
    now(tickets::import(&elsewhere.app, &elsewhere.owner, elsewhere.event.clone(), &exported, HowToImport::default()))
        .unwrap();
    let bo = by_code(&elsewhere, "B");
    assert_eq!((bo.1.unwrap().fields["Table"].as_str(), bo.0.order_id.as_deref()), ("9", Some("ORDER-7")));
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

#[test]
fn what_a_file_leaves_open_is_asked_and_its_rows_wait() {
    let world = World::new();
    let file = "barcode,name,status,valid_from\nA,Ana,paid,\n,Bo,paid,\nC,Null,paid,\nD,Di,transferred,\nE,Ed,paid,11/12/2026\n";
    let report = run(&world, file, true).unwrap();
    let mut asked: Vec<(&str, u64)> = report.questions.iter().map(|one| (one.kind, one.line)).collect();
    asked.sort();
    assert_eq!(asked, [("day_first", 6), ("empty_words_in_names", 4), ("missing_codes", 3), ("status", 5)]);
    assert_eq!((report.created, report.asked, report.wrong_lines), (1, 4, 0));
    let answers = r#"{"missing_codes":"make","empty_words_in_names":"name","statuses":{"transferred":"active"},"day_first":false}"#;
    let how = HowToImport { mapping: Some(Mapping::parse(answers).unwrap()), ..HowToImport::default() };
    let done = now(tickets::import(&world.app, &world.owner, world.event.clone(), file.as_bytes(), how)).unwrap();
    assert_eq!((done.created, done.asked), (5, 0));
    assert_eq!(by_code(&world, "C").1.unwrap().name, "Null");
    assert_eq!(by_code(&world, "E").0.rules.valid_from.unwrap().to_string(), "2026-11-12T00:00:00Z");
    world.is_consistent();
}

#[test]
fn an_import_is_undone_as_a_whole_and_comes_back_with_its_codes() {
    let world = World::new();
    counts(&world, "external_id,name,party_size\nX,Ana,1\n");
    world.pass(HOUR);
    let file = "external_id,name,party_size\nX,Ana Silva,4\nY,Bo,2\n";
    let report = run(&world, file, false).unwrap();
    assert_eq!((report.created, report.updated), (1, 1));
    let code = all(&world).into_iter().find(|(_, guest, _)| guest.as_ref().unwrap().name == "Bo").unwrap().0.barcode;
    let undo = |id: &str| now(tickets::import::undo(&world.app, &world.owner, world.event.clone(), id.to_owned()));
    world.pass(HOUR);
    let id = report.import_id.unwrap();
    let undone = undo(&id).unwrap();
    assert_eq!((undone.withdrawn, undone.restored, undone.kept), (1, 1, 0));
    let left = all(&world);
    let (ticket, guest, _) = &left[0];
    assert_eq!((left.len(), guest.as_ref().unwrap().name.as_str(), ticket.rules.entry_limit), (1, "Ana", 1));
    assert_eq!(code_of(undo(&id)), "import_undone");
    world.phone("p", "main").scan("s1", code.as_deref().unwrap(), "invalid", at(2 * HOUR));
    let again = run(&world, file, false).unwrap();
    assert_eq!((again.created, again.updated), (1, 1));
    let bo = all(&world).into_iter().find(|(_, guest, _)| guest.as_ref().unwrap().name == "Bo").unwrap().0;
    assert_eq!((bo.barcode, bo.rules.status), (code, TicketStatus::Active));
    assert_eq!(code_of(undo(&again.import_id.unwrap())), "import_in_use");
    world.is_consistent();
}

#[test]
fn a_booking_that_an_import_changed_is_the_one_before_once_it_is_undone() {
    let world = World::new();
    counts(&world, "barcode,name,order_id\nA,Ana,ORDER-1\n");
    world.pass(HOUR);
    let report = run(&world, "barcode,name,order_id\nA,Ana,ORDER-2\n", false).unwrap();
    assert_eq!(by_code(&world, "A").0.order_id.as_deref(), Some("ORDER-2"));
    let of_import = by_code(&world, "A").0.rules_serial;
    world.pass(HOUR);
    now(tickets::import::undo(&world.app, &world.owner, world.event.clone(), report.import_id.unwrap())).unwrap();
    let ticket = by_code(&world, "A").0;
    assert_eq!(ticket.order_id.as_deref(), Some("ORDER-1"));
    assert!(ticket.rules_serial > of_import, "phones get a new list");
    world.is_consistent();
}

#[test]
fn what_somebody_changed_after_an_import_stays_when_it_is_undone() {
    let world = World::new();
    counts(&world, "barcode,name\nA,Ana\nB,Bo\n");
    world.pass(HOUR);
    let report = run(&world, "barcode,name\nA,Ana Silva\nB,Bo Ek\n", false).unwrap();
    world.pass(HOUR);
    let more = TicketPatch { entry_limit: Some(3), ..TicketPatch::default() };
    now(tickets::update(&world.app, &world.owner, by_code(&world, "A").0.ticket_id, more)).unwrap();
    let id = report.import_id.unwrap();
    let undone = now(tickets::import::undo(&world.app, &world.owner, world.event.clone(), id)).unwrap();
    assert_eq!((undone.withdrawn, undone.restored, undone.kept), (0, 1, 1));
    let name = |code: &str| by_code(&world, code).1.unwrap().name;
    assert_eq!((name("A"), name("B")), ("Ana Silva".to_owned(), "Bo".to_owned()));
    world.is_consistent();
}

#[test]
fn the_same_person_in_another_file_is_found_by_what_both_say() {
    let world = World::new();
    // A company's number identifies no person. A file without it still finds its guests.
    counts(&world, "id,name,email\nC5,Ana,a@x.example\nC5,Bo,b@x.example\n");
    assert_eq!(counts(&world, "id,name,email\nC5,Ana,a@x.example\n"), (0, 0, 1, vec![]));
    assert_eq!(all(&world).len(), 2);
    // Line numbers are no ids: another file counts from one, too.
    counts(&world, "id,name\n1,Cy\n2,Di\n");
    counts(&world, "id,name\n1,Ed\n2,Fi\n");
    assert_eq!(all(&world).len(), 6);
    // Two orders of one person are two tickets.
    counts(&world, "order,name,email\nO1,Gi,g@x.example\nO2,Gi,g@x.example\n");
    assert_eq!(all(&world).len(), 8);
}
