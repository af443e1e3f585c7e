//! A batch is stored once and as a whole, byte for byte. An error in one item affects only that item.

use admit_app::ports::{Scope, write};
use admit_app::{audits, tickets};
use admit_core::reduce::REDUCER_VERSION;
use serde_json::json;

use super::*;

#[test]
fn a_repeat_gets_the_same_bytes_and_changes_nothing() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let first = phone.upload("b", "s", "A", "valid", at(0)).unwrap();
    let (before, ledger) = (head(&world), world.ledger());
    world.pass(60_000);
    let again = phone.upload("b", "s", "A", "valid", at(0)).unwrap();
    assert_eq!((first.repeated, again.repeated, &first.body), (false, true, &again.body));
    assert_eq!((head(&world), world.ledger()), (before, ledger));
    // In another batch the scan is acknowledged again, and is no second entry.
    let other = phone.upload("c", "s", "A", "valid", at(0)).unwrap();
    assert_eq!(said(&other).processed, said(&first).processed);
    assert_eq!((world.occupancy().inside, world.open()), (1, vec![]));
    world.is_consistent();
}

#[test]
fn a_batch_id_with_other_content_is_refused_and_only_the_ledger_tells() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    phone.upload("b", "s", "A", "valid", at(0)).unwrap();
    let before = world.occupancy();
    assert_eq!(code(phone.upload("b", "t", "B", "valid", at(0))), "batch_id_reused");
    assert_eq!((world.occupancy(), world.ledger().last().unwrap().as_str()), (before, "batch_id_reused"));
    world.is_consistent();
}

/// Law 8: an older node must not undo what a newer one found. It refuses the upload, and the phone keeps its scans and
/// sends them again.
#[test]
fn a_node_with_an_older_reducer_than_the_event_takes_nothing_in() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let reduced_by = |version: u32| {
        let event = world.event.clone();
        let scope = Scope::event(&world.owner.organization_id, &event);
        now(write(&*world.app.store, scope, move |tx| tx.set_reducer_version(&event, version))).unwrap();
    };
    reduced_by(REDUCER_VERSION + 1);
    assert_eq!(code(phone.upload("b", "s", "A", "valid", at(0))), "node_outdated");
    assert_eq!((world.occupancy().inside, world.open()), (0, vec![]));
    reduced_by(REDUCER_VERSION);
    phone.upload("b", "s", "A", "valid", at(0)).unwrap();
    world.is_consistent();
}

#[test]
fn a_body_of_another_device_is_refused_whole_and_put_on_record() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let before = head(&world);
    let item = signed(&phone, &scan_of(&world, &phone, "s", 1, "A", at(0)));
    let body = json!({ "device_id": "q", "sync_batch_id": "b", "format": 2, "scans": [item] });
    assert_eq!(code(send_body(&world, &phone, &body)), "device_mismatch");
    assert_eq!((head(&world), world.occupancy().inside), (before, 0), "not even its own scan is taken in");
    assert_eq!(lacking(&world, &phone, 1), [(1, 1)]);
    let page = now(audits::list(&world.app, &world.owner, None, None, whole_page())).unwrap();
    assert_eq!(page.items[0].line.action, "device_mismatch");
}

#[test]
fn an_envelope_has_limits() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let with = |name: &str, value: Value| {
        let mut body = json!({ "device_id": "p", "sync_batch_id": "b", "scans": [] });
        body[name] = value;
        send_body(&world, &phone, &body)
    };
    assert_eq!(wrong_field(with("scans", json!(vec![json!({}); 51]))), "scans");
    assert_eq!(wrong_field(with("format", json!(3))), "format");
    assert_eq!(wrong_field(with("head", json!(1))), "head");
    for hours in [-25, 25] {
        let made = at(hours * HOUR).to_string();
        assert_eq!(code(with("batch_created_at", json!(made))), "batch_too_old");
    }
    with("batch_created_at", json!(at(-23 * HOUR).to_string())).unwrap();
}

#[test]
fn a_malformed_item_is_refused_alone_and_fills_its_place_in_the_log() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let good = signed(&phone, &scan_of(&world, &phone, "s1", 1, "A", at(0)));
    let mut bad = signed(&phone, &scan_of(&world, &phone, "s2", 2, "A", at(1)));
    bad["outcome"] = json!("perhaps");
    let answer = said(&send(&world, &phone, "b", &[good, bad]).unwrap());
    assert_eq!(answer.processed, ["s1".parse().unwrap()]);
    let refused = &answer.rejected[0];
    assert_eq!((refused.scan_id.as_deref(), refused.index, refused.kept), (Some("s2"), 1, true));
    assert!(refused.reason.contains("outcome"), "{}", refused.reason);
    assert_eq!(lacking(&world, &phone, 4), [(3, 4)]);
    world.is_consistent();
}

#[test]
fn one_batch_of_ours_is_of_one_event() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let one = scan_of(&world, &phone, "s1", 1, "A", at(0));
    let two = Scan { event_id: "elsewhere".parse().unwrap(), scan_id: "s2".parse().unwrap(), ..one.clone() };
    let items = [signed(&phone, &one), signed(&phone, &two)];
    assert_eq!(code(send(&world, &phone, "b", &items)), "mixed_events");
    assert_eq!(code(send(&world, &phone, "c", &items[1..])), "no event");
    assert_eq!(world.occupancy(), Default::default());
}

#[test]
fn a_scan_of_an_event_the_device_has_left_counts_there_and_the_cursor_is_the_present_ones() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let item = signed(&phone, &scan_of(&world, &phone, "s1", 1, "A", at(0)));
    let second = now(admit_app::events::create(&world.app, &world.owner, new_event("Second"))).unwrap().event_id;
    let side = new_gate("side", admit_core::gate::Direction::In, &["general"]);
    now(admit_app::gates::create(&world.app, &world.owner, second.clone(), side)).unwrap();
    let token = admit_app::pairing_tokens::create(&world.app, &world.owner, second.clone(), gate("side"), None);
    let command = admit_app::devices::PairCommand {
        pairing_token: now(token).unwrap().pairing_token,
        device_id: phone.caller.device_id.clone(),
        name: None,
        device_type: None,
        api_key: Some(phone.caller.api_key.clone()),
    };
    let api_key = now(admit_app::devices::pair(&world.app, command)).unwrap().api_key;
    let caller = now(admit_app::devices::authenticate(&world.app, &api_key)).unwrap();
    let body = json!({ "device_id": "p", "sync_batch_id": "b", "format": 2, "scans": [item] });
    let request = serde_json::from_str(&body.to_string()).unwrap();
    let answer = said(&now(scans::ingest_batch(&world.app, &caller, request)).unwrap());
    let place = now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.head(&second))).unwrap();
    assert_eq!((answer.cursor.serial, world.occupancy().inside), (place.serial, 1));
    assert_ne!(place.serial, head(&world), "or the test tells nothing");
    world.is_consistent();
}

#[test]
fn a_signature_is_the_authors_whoever_carries_it() {
    let world = World::new();
    world.tickets(&["A", "B", "C"]);
    let (author, relay) = (world.phone("p", "main"), world.phone("q", "main"));
    let scan = |id, seq, code| scan_of(&world, &author, id, seq, code, at(seq as i64));
    // Another device carries the scan: it counts, fills the author's log, and is no reused id.
    send(&world, &relay, "b1", &[signed(&author, &scan("s1", 1, "A"))]).unwrap();
    assert_eq!((world.occupancy().inside, world.open()), (1, vec![]));
    assert_eq!(lacking(&world, &author, 3), [(2, 3)]);
    // The scan is signed with the carrier's key: it is kept, counts nobody, and fills no log.
    send(&world, &relay, "b2", &[signed(&relay, &scan("s2", 2, "B"))]).unwrap();
    assert_eq!((world.occupancy().inside, world.open()), (1, vec!["unverified_scan".to_owned()]));
    assert_eq!(lacking(&world, &author, 3), [(2, 3)], "nobody hides another's gap");
    // The author uploads the same content with a valid signature.
    send(&world, &author, "b3", &[signed(&author, &scan("s2", 2, "B"))]).unwrap();
    assert_eq!((world.occupancy().inside, world.open()), (2, vec![]));
    assert_eq!(lacking(&world, &author, 3), [(3, 3)]);
    world.is_consistent();
}

#[test]
fn double_entry_is_the_same_in_either_order() {
    let both = |late_first: bool| {
        let world = World::new();
        world.tickets(&["A"]);
        let (p, q) = (world.phone("p", "main"), world.phone("q", "main"));
        let early = || p.upload("b1", "early", "A", "valid", at(0)).unwrap();
        let late = || q.upload("b2", "late", "A", "valid", at(60_000)).unwrap();
        let last = if late_first { (late(), early()).1 } else { (early(), late()).1 };
        let conflicts = said(&last).conflicts;
        assert_eq!(conflicts.len(), 1);
        assert_eq!(conflicts[0].result.as_str(), "DOUBLE_ENTRY");
        assert_eq!(conflicts[0].scan_id.as_str(), if late_first { "early" } else { "late" });
        let of = |scans: &[admit_core::wire::scanning::ConflictScan]| scans[0].scan_id.to_string();
        assert_eq!(of(&conflicts[0].entry_scans), "early", "what happened at the door decides");
        assert_eq!(of(&conflicts[0].double_entry_scans), "late");
        world.is_consistent();
        (world.occupancy(), world.incident("double_entry").digest)
    };
    assert_eq!(both(false), both(true));
}

#[test]
fn a_ticket_made_late_takes_the_scans_of_its_code() {
    let world = World::new();
    let phone = world.phone("p", "main");
    phone.scan("s", "A", "valid", at(0));
    assert_eq!(world.open(), ["admitted_in_error"]);
    world.tickets(&["A"]);
    assert_eq!((world.open(), world.occupancy().inside), (vec![], 1));
    assert_eq!(world.incident("admitted_in_error").status.as_str(), "cleared");
    world.is_consistent();
}

#[test]
fn a_void_after_the_scan_is_no_mistake_and_one_before_it_is() {
    for (voided_ms, expected) in [(HOUR, vec![]), (-HOUR, vec!["admitted_in_error".to_owned()])] {
        let world = World::new();
        let ids = world.tickets(&["A"]);
        let phone = world.phone("p", "main");
        world.pass(2 * HOUR);
        let patch = tickets::TicketPatch {
            status: Some(admit_core::ticket::TicketStatus::Voided),
            ..tickets::TicketPatch::default()
        };
        now(tickets::update(&world.app, &world.owner, ids[0].clone(), patch)).unwrap();
        world.pass(2 * HOUR);
        phone.scan("s", "A", "valid", at(2 * HOUR - voided_ms));
        assert_eq!((world.occupancy().inside, world.open()), (1, expected));
        world.is_consistent();
    }
}

#[test]
fn one_id_on_two_devices_and_two_scans_in_one_place_are_findings() {
    let world = World::new();
    world.tickets(&["A", "B", "C"]);
    let (p, q) = (world.phone("p", "main"), world.phone("q", "main"));
    send(&world, &p, "b", &[signed(&p, &scan_of(&world, &p, "same", 1, "A", at(0)))]).unwrap();
    send(&world, &q, "b", &[signed(&q, &scan_of(&world, &q, "same", 1, "B", at(0)))]).unwrap();
    assert_eq!((world.open(), world.occupancy().inside), (vec!["scan_id_reused".to_owned()], 2));
    send(&world, &p, "c", &[signed(&p, &scan_of(&world, &p, "fork", 1, "C", at(1)))]).unwrap();
    assert_eq!((world.open().len(), world.occupancy().inside), (2, 3));
    assert_eq!(world.incident("log_forked").status.as_str(), "open");
    world.is_consistent();
}

#[test]
fn a_claim_and_its_final_are_one_scan_in_either_order_and_variants_are_kept() {
    let shown = |turned: bool| {
        let world = World::new();
        world.tickets(&["A", "B"]);
        let phone = world.phone("p", "main");
        // Each world has an epoch of its own, and the epoch is part of the content. So these scans name a fixed one.
        let epoch = Some(admit_core::rule::Epoch { restored_at_ms: 1, random: 1 });
        let last = Scan { epoch, ..scan_of(&world, &phone, "s1", 2, "A", at(5)) };
        let claim = Scan { stage: Stage::Claim, seq: Some(1), opened: false, at: at(0), ..last.clone() };
        let variant = Scan { barcode_hash: Some(BarcodeHash::of("B")), opened: false, ..last.clone() };
        let mut items = [claim, last, variant];
        if turned {
            items.reverse();
        }
        for (i, scan) in items.iter().enumerate() {
            send(&world, &phone, &format!("b{i}"), &[signed(&phone, scan)]).unwrap();
        }
        world.is_consistent();
        let page = admit_app::incidents::list(&world.app, &world.owner, world.event.clone(), None, whole_page());
        let found = now(page).unwrap().items.into_iter().map(|one| one.incident);
        let found = found.filter(|one| one.status == admit_app::records::IncidentStatus::Open);
        let found = found.map(|one| (one.kind.to_string(), one.digest)).collect::<std::collections::BTreeSet<_>>();
        assert!(found.iter().any(|(kind, _)| kind == "scan_id_reused"));
        (world.occupancy(), found)
    };
    assert_eq!(shown(false), shown(true));
    assert_eq!(shown(false).0.inside, 1);
}

/// Spec §5 "Rate limit": beyond the allowance of unknown codes the server stores every scan. The answer does not tell
/// any more which codes are unknown.
#[test]
fn an_upload_with_too_many_unknown_codes_is_stored_and_tells_no_finding_after_them() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let (p, q) = (world.phone("p", "main"), world.phone("q", "main"));
    p.scan("first", "A", "valid", at(0));
    p.scan("second", "B", "valid", at(0));
    let mut items = vec![signed(&q, &scan_of(&world, &q, "told", 1, "A", at(60_000)))];
    for n in 0..=u64::from(admit_core::limits::UNKNOWN_CODES_PER_MINUTE) {
        let code = format!("NO-{n}");
        items.push(signed(&q, &scan_of(&world, &q, &format!("u{n}"), n + 2, &code, at(60_000))));
    }
    items.push(signed(&q, &scan_of(&world, &q, "silent", 99, "B", at(60_000))));
    let answer = said(&send(&world, &q, "b", &items).unwrap());
    assert_eq!(answer.processed.len(), items.len(), "receipts for all of them");
    let named: Vec<&str> = answer.conflicts.iter().map(|one| one.scan_id.as_str()).collect();
    assert_eq!(named, ["told"]);
    assert_eq!(world.open().iter().filter(|kind| *kind == "double_entry").count(), 2, "the organiser sees both");
    world.is_consistent();
}

/// Spec §4 "Which ticket": the ticket that staff picked, if the code that was read was in no list. The code may have
/// been sold since.
#[test]
fn whom_staff_picked_is_counted_whoevers_the_code_is_that_was_read() {
    let world = World::new();
    let ids = world.tickets(&["PICKED", "OTHER"]);
    let phone = world.phone("p", "main");
    let scan = Scan {
        method: Method::Manual,
        barcode_hash: None,
        raw_hash: Some(BarcodeHash::of("OTHER")),
        ticket_id: Some(ids[0].clone()),
        ..scan_of(&world, &phone, "s1", 1, "PICKED", at(0))
    };
    assert_eq!(said(&send(&world, &phone, "b", &[signed(&phone, &scan)]).unwrap()).processed.len(), 1);
    let entries = |id: &TicketId| world.ticket(id).2.map_or(0, |held| held.state.persons());
    assert_eq!((entries(&ids[0]), entries(&ids[1]), world.occupancy().entered), (1, 0, 1));
    world.is_consistent();
    phone.scan("s2", "OTHER", "valid", at(1_000));
    assert_eq!(
        (entries(&ids[1]), world.open()),
        (1, Vec::<String>::new()),
        "whose code it is comes in without a doubt"
    );
    world.is_consistent();
}
