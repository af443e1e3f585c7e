//! Tests of `POST /api/scans/sync` (S2 §3–§7): what the server stores, answers and refuses.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use admit_app::devices;
use admit_app::recent::{Recent, RecentScan};
use admit_core::gate::Direction;

use super::*;

/// S2 §4: the server stores one row per scan, its states and the batch's row. It writes a ledger line with S2's fields,
/// and answers with S2's members.
#[test]
fn s2_4_a_batch_leaves_scans_states_a_row_and_a_line() {
    let world = World::new();
    let ids = world.tickets(&["3KQR-7F92-4M1X", "2JPX-3HK8-5N2Y"]);
    let phone = world.phone("p", "main");
    let scans =
        [("s1", "3KQR-7F92-4M1X", at(0)), ("s2", "2JPX-3HK8-5N2Y", at(60_000)), ("s3", "FAKE-FAKE-FAKE", at(1))];
    let answer = sync(&world, &phone, "b", &scans);
    assert_eq!((&answer["batch_id"], &answer["status"]), (&json!("b"), &json!("partial_success")));
    assert_eq!((&answer["processed_count"], &answer["error_count"]), (&json!(2), &json!(1)));
    let summary = json!({
        "total_scans": 3, "new_scans": 2, "duplicate_scans": 0, "missing_tickets": 1, "invalid_tickets": 0,
    });
    assert_eq!(answer["summary"], summary);
    assert_eq!(answer["timestamp_range"], json!([at(0).to_string(), at(60_000).to_string()]));
    assert_eq!(answer["timestamp"], json!(world.app.clock.now().to_string()));
    assert!(answer["sync_duration_seconds"].is_number());
    assert_eq!(answer["errors"][0]["ticket_code"], "FAKE-FAKE-FAKE");
    let rows = stored(&world);
    assert_eq!(rows.len(), 3, "every scan is stored, also what has an error");
    assert!(rows.iter().all(|row| row.fact.scan.form.as_str() == "s2" && row.fact.scan.opened));
    // S2 §4's scan record has the scan's id, ticket, gate, time and device.
    let row = rows.iter().find(|row| row.fact.scan.scan_id.as_str() == "s2").unwrap();
    let scan = &row.fact.scan;
    assert_eq!((scan.device_id.as_str(), scan.gate_id.as_str(), &scan.event_id), ("p", "main", &world.event));
    assert_eq!(
        (scan.at, row.fact.received_at),
        (at(60_000), world.app.clock.now()),
        "its own time, and that of its receipt"
    );
    assert_eq!(row.subject_key, format!("ticket:{}", ids[1]));
    let verdict = row.verdict.as_ref().unwrap();
    assert_eq!((verdict.outcome.as_str(), verdict.within, verdict.over), ("valid", 1, 0), "admitted");
    // The names are looked up by these ids. Another organisation sees no row.
    let (stranger, _) = world.other();
    let foreign = scans::list::list(&world.app, &stranger, world.event.clone(), Default::default(), whole_page());
    assert_eq!(code(now(foreign).map(drop)), "no event");
    let state = world.ticket(&ids[0]).2.unwrap();
    assert_eq!(
        (state.state.within, state.state.entries[0].at, state.state.entries[0].gate_id.as_str()),
        (1, at(0), "main")
    );
    let (action, changes, metadata) = last_line(&world);
    assert_eq!(action, "batch_sync_completed");
    let expected = [
        ("batch_id", json!("b")),
        ("device_id", json!("p")),
        ("batch_size", json!(3)),
        ("processed_count", json!(2)),
        ("error_count", json!(1)),
        ("duplicates", json!(0)),
        ("missing_tickets", json!(1)),
        ("invalid_tickets", json!(0)),
    ];
    for (field, value) in expected {
        assert_eq!(changes[field], value, "{field}");
    }
    assert_eq!(metadata["batch_created_at"], json!(world.app.clock.now().to_string()));
    assert!(metadata["sync_duration_seconds"].is_number());
    let lines = admit_app::audits::list(&world.app, &world.owner, Some(world.event.clone()), None, whole_page());
    let entry = now(lines).unwrap().items.remove(0);
    let line = &entry.line;
    // A device sent the batch, not a person: S2's `user_id` is null then.
    assert_eq!((&line.user_id, line.device_id.as_ref()), (&None, Some(&phone.caller.device_id)));
    assert_eq!((line.entity_type.as_str(), line.entity_id.as_str()), ("BatchSync", "b"));
    assert_eq!(line.event_id.as_ref(), Some(&world.event));
    // The line's time keeps the order of the ledger: of two lines in one millisecond, the second is one later.
    assert!((0..1_000).contains(&entry.at.since(world.app.clock.now())), "{}", entry.at);
    let (organization, device) = (world.owner.organization_id.clone(), phone.caller.device_id.clone());
    let row = now(read(&*world.app.store, &organization, move |tx| {
        tx.batch(&device, "scans_sync", &"b".parse::<BatchId>().unwrap())
    }));
    let row = row.unwrap().unwrap();
    assert_eq!((row.batch_size, row.processed_count, row.error_count), (3, 2, 1));
    assert_eq!(row.status, "partial_success");
    world.is_consistent();
}

/// S2 §5 step 10: the batch's `device_id` must be the id of the device that sends it (`device.id == device_id`).
#[test]
fn s2_5_10_a_batch_that_names_another_device_is_refused_whole() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let mut other = body(&world, &phone, "b", &[("s", "A", at(0))]);
    other["device_id"] = json!("q");
    assert_eq!(code(send(&world, &phone, &other)), "device_mismatch");
    assert!(stored(&world).is_empty());
}

/// S2 §3 "Device is active", §5 step 10; spec D19: the server stores and holds a suspended device's batch. First and
/// repeated answers name its scans. After the device is resumed, the answer to a repeat is the receipt.
#[test]
fn s2_5_10_a_suspended_devices_batch_is_held_and_named() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    for _ in 0..admit_core::limits::FAILED_SYNCS {
        now(devices::failed_sync(&world.app, &phone.caller, "batch_id_reused")).unwrap();
    }
    let batch = body(&world, &phone, "b", &[("s", "A", at(0)), ("t", "B", at(0))]);
    let mut before = None;
    for _ in 0..2 {
        let Err(Error::Denied { code: "device_suspended", details, .. }) = send(&world, &phone, &batch) else {
            panic!("held")
        };
        assert_eq!(*details.unwrap(), json!({ "kept": ["s", "t"], "rejected": [] }));
        assert_eq!((stored(&world).len(), world.occupancy().inside), (2, 0), "stored, and nobody is counted");
        let now = (head(&world), world.ledger());
        assert_eq!(*before.get_or_insert_with(|| now.clone()), now, "a repeat changes nothing");
    }
    now(devices::resume(&world.app, &world.owner, phone.caller.device_id.clone())).unwrap();
    assert_eq!(world.occupancy().inside, 2);
    let answer = send(&world, &phone, &batch).unwrap();
    assert_eq!((answer.repeated, &said(&answer)["processed_count"]), (true, &json!(2)));
    world.is_consistent();
}

/// S2 §3 "Device is active", §5 step 10; spec D10: the server counts no scan of a revoked device and names what it
/// keeps. The same batch again changes nothing.
#[test]
fn s2_5_10_a_revoked_devices_batch_is_kept_and_counts_nothing() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    sync(&world, &phone, "before", &[("s", "A", at(0))]);
    now(devices::revoke(&world.app, &world.owner, phone.caller.device_id.clone(), None)).unwrap();
    let kept = |batch: &Value| {
        let Err(Error::Denied { code: "device_revoked", details, .. }) = send(&world, &phone, batch) else {
            panic!("refused")
        };
        *details.unwrap()
    };
    let late = body(&world, &phone, "b", &[("s", "A", at(0)), ("t", "B", at(0))]);
    assert_eq!(kept(&late), json!({ "kept": ["s", "t"], "rejected": [], "quota_left": 19_999 }));
    assert_eq!((stored(&world).len(), world.occupancy().inside), (2, 1));
    assert_eq!(world.open(), ["unverified_scan"]);
    let before = (head(&world), world.ledger());
    assert_eq!(kept(&late), json!({ "kept": ["s", "t"], "rejected": [], "quota_left": 19_999 }));
    // A batch that was answered before gets the same refusal: the revocation is checked first.
    let known = body(&world, &phone, "before", &[("s", "A", at(0))]);
    assert_eq!(kept(&known), json!({ "kept": ["s"], "rejected": [], "quota_left": 19_999 }));
    assert_eq!((head(&world), world.ledger()), before);
    world.is_consistent();
}

/// S2 §5 step 11, edge case "Timezone/clock skew"; spec D13: a wrong send time refuses the envelope. A scan's time
/// never does.
#[test]
fn s2_5_11_a_batch_made_over_a_day_off_is_refused_and_its_scans_come_in_a_new_one() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let mut old = body(&world, &phone, "b", &[("s", "A", at(-30 * HOUR))]);
    for ms in [24 * HOUR + 1_000, -24 * HOUR - 1_000] {
        old["batch_created_at"] = json!(at(ms).to_string());
        assert_eq!(code(send(&world, &phone, &old)), "batch_too_old");
    }
    assert!(stored(&world).is_empty());
    old["batch_created_at"] = json!(at(24 * HOUR).to_string());
    send(&world, &phone, &old).unwrap();
    assert_eq!(stored(&world).len(), 1, "a scan is never discarded for its time");
}

/// S2 §4 "Duplicate Batch", §5 step 12, edge case "Duplicate batch": a repeated batch gets its stored answer.
#[test]
fn s2_5_12_a_repeat_gets_the_stored_answer_with_s2s_message_and_changes_nothing() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let batch = body(&world, &phone, "b", &[("s", "A", at(0))]);
    let first = send(&world, &phone, &batch).unwrap();
    let before = (head(&world), world.ledger());
    world.pass(60_000);
    let repeats = [send(&world, &phone, &batch).unwrap(), send(&world, &phone, &batch).unwrap()];
    assert_eq!(repeats[0].body, repeats[1].body, "byte for byte among repeats");
    assert!(repeats.iter().all(|one| one.repeated));
    let mut again = said(&repeats[0]);
    assert_eq!(again["message"], "Batch already synced (idempotent)");
    again.as_object_mut().unwrap().remove("message");
    assert_eq!(again, said(&first));
    assert_eq!((head(&world), world.ledger()), before);
    // The same scans with another send time and in another order are the same batch.
    let mut other = body(&world, &phone, "b", &[("s", "A", at(0))]);
    other["batch_created_at"] = json!(at(90_000).to_string());
    assert!(send(&world, &phone, &other).unwrap().repeated);
    world.is_consistent();
}

/// S2 §10 "409 Conflict"; spec D2: other scans under a known batch id are refused.
#[test]
fn s2_10_409_a_batch_id_with_other_content_changes_nothing_but_the_ledger() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    sync(&world, &phone, "b", &[("s", "A", at(0))]);
    let before = world.occupancy();
    let other = body(&world, &phone, "b", &[("t", "B", at(0))]);
    assert_eq!(code(send(&world, &phone, &other)), "batch_id_reused");
    assert_eq!((world.occupancy(), stored(&world).len(), last_line(&world).0.as_str()), (before, 1, "batch_id_reused"));
    world.is_consistent();
}

#[derive(Default)]
struct Noted(Mutex<Vec<RecentScan>>);
impl Recent for Noted {
    fn note(&self, _: &OrganizationId, _: &EventId, scans: Vec<RecentScan>) {
        self.0.lock().unwrap().extend(scans);
    }
}

/// S2 §5 steps 13, 14, 22, 23; spec D15: caches are updated after the commit, and only the database decides.
#[test]
fn s2_5_13_14_the_caches_are_told_what_opened_and_decide_nothing() {
    let answer = |cache: Option<Arc<Noted>>| {
        let mut world = World::new();
        if let Some(cache) = cache {
            world.app.recent = cache;
        }
        world.tickets(&["A"]);
        let (p, q) = (world.phone("p", "main"), world.phone("q", "main"));
        sync(&world, &p, "b", &[("s", "A", at(0))]);
        let again = sync(&world, &q, "c", &[("t", "A", at(60_000))]);
        (errors(&again), world.occupancy())
    };
    let noted = Arc::new(Noted::default());
    assert_eq!(answer(Some(noted.clone())), answer(None), "the same answers with and without");
    let noted = noted.0.lock().unwrap();
    assert_eq!(noted.iter().map(|scan| scan.scan_id.as_str()).collect::<Vec<_>>(), ["s", "t"]);
}

/// S2 §5 step 15, edge case "Ticket not found"; spec D12: a code is looked up with and without dashes, once, when the
/// scan first arrives.
#[test]
fn s2_5_15_a_code_is_found_by_its_spellings_and_else_not_found() {
    let world = World::new();
    world.tickets(&["3KQR-7F92-4M1X", "2JPX3HK85N2Y"]);
    let phone = world.phone("p", "main");
    let scans = [("s1", "3KQR7F924M1X", at(0)), ("s2", "2JPX-3HK8-5N2Y", at(1)), ("s3", "NONE-NONE-NONE", at(2))];
    let answer = sync(&world, &phone, "b", &scans);
    assert_eq!(errors(&answer), pairs(&[("s3", "ticket_not_found")]));
    assert_eq!(world.occupancy().inside, 3, "somebody walked in on the unknown code too");
    assert_eq!(world.open(), ["admitted_in_error"]);
    // The code is sold afterwards, in another spelling. The scan sent again still has the same content.
    world.tickets(&["NONENONENONE"]);
    let again = sync(&world, &phone, "c", &[("s3", "NONE-NONE-NONE", at(2))]);
    assert_eq!(errors(&again), pairs(&[("s3", "ticket_not_found")]), "resolved once, at first ingest");
    assert_eq!(stored(&world).len(), 3);
    assert!(world.open().contains(&"admitted_in_error".to_owned()));
    world.is_consistent();
}

/// S2 §5 step 16, edge case "Ticket already used": each ticket status has its own reason.
#[test]
fn s2_5_16_the_status_that_forbids_is_the_reason() {
    let world = World::new();
    let ids = world.tickets(&["A", "B", "C", "D"]);
    for (ticket, status) in ids.iter().zip([TicketStatus::Used, TicketStatus::Voided, TicketStatus::Refunded]) {
        set_status(&world, ticket, status);
    }
    let phone = world.phone("p", "main");
    world.pass(60_000);
    let scans = [("s1", "A", at(50_000)), ("s2", "B", at(50_000)), ("s3", "C", at(50_000)), ("s4", "D", at(50_000))];
    let answer = sync(&world, &phone, "b", &scans);
    let expected = [("s1", "ticket_already_used"), ("s2", "ticket_voided"), ("s3", "ticket_refunded")];
    assert_eq!(errors(&answer), pairs(&expected));
    assert_eq!(answer["summary"]["invalid_tickets"], 3);
    assert_eq!(answer["status"], "partial_success");
    assert_eq!(world.occupancy().inside, 4, "who walked in walked in");
    world.is_consistent();
}

/// S2 §6 "Duplicate in batch", §7 "Timestamp Precedence": the earliest scan wins, whatever the order in the batch.
#[test]
fn s2_7_the_first_scan_of_a_ticket_wins_and_the_second_says_when() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    world.pass(HOUR);
    let answer = sync(&world, &phone, "b", &[("late", "A", at(120_000)), ("early", "A", at(0))]);
    assert_eq!(errors(&answer), pairs(&[("late", "already_scanned")]));
    assert_eq!(answer["errors"][0]["last_scan_at"], json!(at(0).to_string()));
    assert_eq!(answer["summary"]["duplicate_scans"], 1);
    assert_eq!(answer["status"], "completed", "nothing but already_scanned");
    assert_eq!((world.occupancy().inside, world.open()), (1, vec![]), "a double read of the same device");
    // A scan at another gate means that one more person came in.
    let other = world.phone("q", "main");
    let answer = sync(&world, &other, "c", &[("third", "A", at(200_000))]);
    assert_eq!(errors(&answer), pairs(&[("third", "already_scanned")]));
    assert_eq!((world.occupancy().inside_over, world.open()), (1, vec!["double_entry".to_owned()]));
    world.is_consistent();
}

/// S2 §6 "Scans out of order": scans in any order, split into any batches, give the same result.
#[test]
fn s2_6_scans_out_of_order_end_the_same() {
    let scans = [("s1", "A", at(0)), ("s2", "B", at(1_000)), ("s3", "A", at(400_000)), ("s4", "C", at(3_000))];
    let whole = |order: &[usize], cut: usize| {
        let world = World::new();
        world.tickets(&["A", "B", "C"]);
        let phone = world.phone("p", "main");
        let sent: Vec<_> = order.iter().map(|place| scans[*place]).collect();
        let (first, second) = sent.split_at(cut);
        for (name, part) in [("b1", first), ("b2", second)] {
            if !part.is_empty() {
                sync(&world, &phone, name, part);
            }
        }
        world.is_consistent();
        (world.occupancy(), world.open())
    };
    let expected = whole(&[0, 1, 2, 3], 4);
    for (order, cut) in [([3, 2, 1, 0], 4), ([2, 0, 3, 1], 1), ([1, 3, 0, 2], 2), ([0, 2, 1, 3], 3)] {
        assert_eq!(whole(&order, cut), expected);
    }
}

/// S2 §3 "Event is in :live status", edge case "Event ended"; spec D17: each scan is judged at its own time.
#[test]
fn s2_6_event_ended_refuses_only_batches_without_a_scan_of_its_live_time() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    world.pass(HOUR);
    set_event(&world, EventStatus::Ended);
    world.pass(HOUR);
    let before = (head(&world), stored(&world).len());
    let late = body(&world, &phone, "b1", &[("s1", "A", at(HOUR + 60_000))]);
    assert_eq!(code(send(&world, &phone, &late)), "event_not_live");
    assert_eq!((head(&world), stored(&world).len()), before, "the batch is not processed");
    let answer = sync(&world, &phone, "b2", &[("s1", "A", at(HOUR + 60_000)), ("s2", "B", at(HOUR - 60_000))]);
    assert_eq!((&answer["processed_count"], stored(&world).len()), (&json!(2), 2));
    // A repeat gets its answer, whatever the event's status is meanwhile.
    assert!(
        send(
            &world,
            &phone,
            &body(&world, &phone, "b2", &[("s1", "A", at(HOUR + 60_000)), ("s2", "B", at(HOUR - 60_000))])
        )
        .unwrap()
        .repeated
    );
    world.is_consistent();
}

/// S2 §3 "not archived"; spec D17: the scan's own time decides.
#[test]
fn s2_3_an_archived_event_takes_no_batch_of_its_archived_time() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    world.pass(HOUR);
    set_event(&world, EventStatus::Ended);
    set_event(&world, EventStatus::Archived);
    let late = body(&world, &phone, "b1", &[("s1", "A", at(HOUR + 60_000))]);
    assert_eq!(code(send(&world, &phone, &late)), "event_not_live");
    assert_eq!(code(ask(&world, &phone, "s1", "A", at(HOUR + 60_000))), "event_not_live");
    assert!(stored(&world).is_empty());
    assert_eq!(sync(&world, &phone, "b2", &[("s2", "A", at(HOUR - 60_000))])["processed_count"], 1);
    world.is_consistent();
}

/// S2 §3 "not draft": a draft event takes no batch.
#[test]
fn s2_3_a_draft_event_takes_no_batch() {
    let mut world = World::new();
    let draft = events::create(
        &world.app,
        &world.owner,
        admit_app::events::NewEvent { status: Some(EventStatus::Draft), ..new_event("Draft") },
    );
    world.event = now(draft).unwrap().event_id;
    let gate = new_gate("main", Direction::In, &["general"]);
    now(admit_app::gates::create(&world.app, &world.owner, world.event.clone(), gate)).unwrap();
    let phone = world.phone("p", "main");
    let batch = body(&world, &phone, "b", &[("s", "A", at(0))]);
    assert_eq!(code(send(&world, &phone, &batch)), "event_not_live");
    assert_eq!(code(ask(&world, &phone, "s", "A", at(0))), "event_not_live");
}

/// Spec §5: findings about gate and time window are incidents, not errors of the answer.
#[test]
fn a_wrong_gate_is_an_incident_and_no_error() {
    let world = World::new();
    world.tickets(&["A"]);
    let vip = new_gate("vip", Direction::In, &["vip"]);
    now(admit_app::gates::create(&world.app, &world.owner, world.event.clone(), vip)).unwrap();
    let phone = world.phone("p", "vip");
    let answer = sync(&world, &phone, "b", &[("s", "A", at(0))]);
    assert_eq!((errors(&answer), &answer["status"]), (vec![], &json!("completed")));
    assert_eq!(world.open(), ["admitted_in_error"]);
}

/// Spec §4: at an `out` gate S2's scans are exits. An exit is no duplicate of the entry.
#[test]
fn at_a_gate_that_leads_out_s2s_scans_are_exits() {
    let world = World::new();
    world.tickets(&["A"]);
    let (inward, outward) = (world.phone("p", "main"), world.phone("q", "out"));
    sync(&world, &inward, "b", &[("s", "A", at(0))]);
    let answer = sync(&world, &outward, "b", &[("t", "A", at(60_000))]);
    assert_eq!(errors(&answer), vec![]);
    assert_eq!((world.occupancy().inside, world.occupancy().exited), (0, 1));
    world.is_consistent();
}

/// S2 §4 "Failure Cases": the batch is stored whole or not at all, wherever the process dies.
#[test]
fn s2_4_a_crash_at_any_statement_leaves_nothing_and_the_retry_everything() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    let batch = body(&world, &phone, "b", &[("s1", "A", at(0)), ("s2", "B", at(1)), ("s3", "X", at(2))]);
    let before = (head(&world), world.occupancy(), world.ledger());
    let mut crashes = 0;
    loop {
        world.dies_in.store(crashes, Ordering::SeqCst);
        let answer = send(&world, &phone, &batch);
        let died = world.dies_in.swap(-1, Ordering::SeqCst) == 0;
        if died {
            world.store.crash();
        }
        if let Ok(answer) = answer {
            assert_eq!(said(&answer)["error_count"], 1);
            break;
        }
        assert!(died, "nothing else refuses it");
        assert_eq!((head(&world), world.occupancy(), world.ledger()), before, "after {crashes} statements");
        assert!(stored(&world).is_empty());
        crashes += 1;
    }
    // If the process died between commit and answer, the batch is sent again, and is stored once.
    assert_eq!(said(&send(&world, &phone, &batch).unwrap())["error_count"], 1);
    assert_eq!(stored(&world).len(), 3);
    assert!(crashes > 10, "or nothing was tried: {crashes}");
    world.is_consistent();
}

/// S2 §9: the server takes 10,000 scans in one request.
#[test]
fn s2_9_ten_thousand_scans_are_one_batch() {
    let world = World::new();
    let codes: Vec<String> = (0..5_000).map(|n| format!("CODE-{n:05}")).collect();
    world.tickets(&codes.iter().map(String::as_str).collect::<Vec<_>>());
    let phone = world.phone("p", "main");
    let ids: Vec<String> = (0..10_000).map(|n| format!("s{n}")).collect();
    let scans: Vec<(&str, &str, Timestamp)> =
        (0..10_000).map(|n| (ids[n].as_str(), codes[n % 5_000].as_str(), at(n as i64))).collect();
    let answer = sync(&world, &phone, "b", &scans);
    assert_eq!((&answer["processed_count"], &answer["error_count"]), (&json!(5_000), &json!(5_000)));
    assert_eq!((world.occupancy().inside, world.open()), (5_000, vec!["abnormal_batch".to_owned()]));
    world.is_consistent();
}

/// Spec §5 "Rate limit": beyond the allowance of unknown codes the server stores and acknowledges every scan. The
/// answer does not tell any more which codes are unknown.
#[test]
fn uploads_with_more_unknown_codes_than_the_allowance_are_stored_and_not_told_apart() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    sync(&world, &phone, "b0", &[("s0", "A", at(0))]);
    let unknown: Vec<String> = (0..40).map(|n| format!("NO-{n}")).collect();
    let mut scans: Vec<(&str, &str, Timestamp)> =
        unknown.iter().map(|code| (code.as_str(), code.as_str(), at(1_000))).collect();
    scans.push(("twice", "A", at(2_000)));
    scans.push(("good", "B", at(2_000)));
    let answer = sync(&world, &phone, "b1", &scans);
    assert_eq!((&answer["error_count"], &answer["processed_count"]), (&json!(30), &json!(12)));
    assert!(errors(&answer).iter().all(|(_, reason)| reason == "ticket_not_found"), "the duplicate is not told either");
    assert_eq!(stored(&world).len(), 43, "stored, every one");
    assert_eq!(world.open().iter().filter(|kind| *kind == "admitted_in_error").count(), 40, "and judged");
    assert_eq!(last_line(&world).1["missing_tickets"], 40, "the ledger knows all");
    // The allowance concerns answers only: the repeat has the same answer, and the next minute a new allowance.
    assert_eq!(said(&send(&world, &phone, &body(&world, &phone, "b1", &scans)).unwrap())["error_count"], 30);
    world.pass(60_000);
    let answer = sync(&world, &phone, "b2", &[("x", "NO-X", at(0))]);
    assert_eq!(errors(&answer), pairs(&[("x", "ticket_not_found")]));
    world.is_consistent();
}
