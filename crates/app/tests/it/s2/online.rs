//! Tests of `POST /api/scans` (S2 §2, spec §5): the server's verdict at the head, and claims with their finals.

use admit_app::ports::{Scope, write};
use admit_app::records::{DeviceRecord, DeviceState};
use admit_core::barcode::BarcodeHash;
use admit_core::limits::UNKNOWN_CODES_PER_MINUTE;
use admit_core::scan::*;
use admit_core::sign::{ApiKey, sign_v2};
use admit_core::wire::scanning::ScanV2;

use super::*;
use crate::scanning::{scan_of, signed};

/// A claim as the scanner journals it: the server was asked and has not answered.
fn claim(world: &World, phone: &Phone<'_>, id: &str, seq: u64, code: &str, at: Timestamp) -> Scan {
    Scan { stage: Stage::Claim, opened: false, ..scan_of(world, phone, id, seq, code, at) }
}

fn outcome(judged: Result<JudgedScan, Error>) -> (String, Option<String>) {
    let answer = verdict(&judged.unwrap());
    (answer.outcome.to_string(), answer.reason.map(|reason| reason.as_str().to_owned()))
}

fn said(outcome: &str, reason: &str) -> (String, Option<String>) {
    (outcome.to_owned(), Some(reason.to_owned()))
}

/// S2 §2 "Try online POST /api/scans": the server stores the scan and answers with everything that the screen shows.
#[test]
fn s2_2_an_online_scan_is_stored_and_judged() {
    let world = World::new();
    let ids = world.tickets(&["3KQR-7F92-4M1X"]);
    let (p, q) = (world.phone("p", "main"), world.phone("q", "main"));
    let first = verdict(&ask(&world, &p, "s1", "3KQR7F924M1X", at(0)).unwrap());
    assert_eq!((first.outcome, first.reason, first.may_admit), (Outcome::Valid, None, 1));
    assert_eq!((first.ticket_id.as_ref(), first.scan_id.as_str()), (Some(&ids[0]), "s1"));
    assert_eq!((first.last_scan_at, first.last_gate_id.as_ref()), (None, None));
    assert_eq!((first.cursor.serial, first.server_time), (head(&world), at(0)));
    let second = verdict(&ask(&world, &q, "s2", "3KQR-7F92-4M1X", at(5_000)).unwrap());
    assert_eq!((second.outcome, second.may_admit), (Outcome::Duplicate, 0));
    assert_eq!(second.reason.unwrap().as_str(), "already_scanned");
    assert_eq!((second.last_scan_at, second.last_gate_id), (Some(at(0)), Some(gate("main"))));
    assert_eq!((world.occupancy().inside, stored(&world).len()), (1, 2));
    let judged = stored(&world).into_iter().map(|row| row.fact.judged.unwrap().outcome).collect::<Vec<_>>();
    assert_eq!(judged, [Outcome::Duplicate, Outcome::Valid], "the answer is stored with the scan");
    assert_eq!(last_line(&world).0, "scan_judged");
    world.is_consistent();
}

/// A retry gets the original verdict, whatever happened since.
#[test]
fn a_retry_gets_the_original_answer_and_changes_nothing() {
    let world = World::new();
    let ids = world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let first = ask(&world, &phone, "s", "A", at(0)).unwrap();
    set_status(&world, &ids[0], TicketStatus::Voided);
    set_event(&world, EventStatus::Ended);
    let before = head(&world);
    let again = ask(&world, &phone, "s", "A", at(0)).unwrap();
    assert_eq!((again.repeated, &again.body, head(&world)), (true, &first.body, before));
    world.is_consistent();
}

/// Spec D2: a scan id that is sent online and again in a batch is one scan. The delivery that says "opened" wins.
#[test]
fn a_scan_asked_online_and_sent_again_in_a_batch_is_one_scan() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    ask(&world, &phone, "s1", "A", at(0)).unwrap();
    let answer = sync(&world, &phone, "b1", &[("s1", "A", at(0))]);
    assert_eq!((errors(&answer), world.occupancy().inside, stored(&world).len()), (vec![], 1, 1));
    // The server refused the scan, as another gate had let the ticket in. Staff let the guest in all the same and
    // uploaded that.
    let other = world.phone("q", "main");
    ask(&world, &other, "x", "B", at(0)).unwrap();
    world.pass(HOUR);
    assert_eq!(outcome(ask(&world, &phone, "s2", "B", at(400_000))), said("duplicate", "already_scanned"));
    assert_eq!(world.occupancy().inside_over, 0);
    sync(&world, &phone, "b2", &[("s2", "B", at(400_000))]);
    assert_eq!((world.occupancy().inside_over, world.open()), (1, vec!["double_entry".to_owned()]));
    world.is_consistent();
}

/// Spec §3: the server judges by the rules at the head, including rules made after the scan's own time.
#[test]
fn it_is_judged_by_the_rules_at_the_head() {
    let world = World::new();
    let ids = world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    world.pass(60_000);
    set_status(&world, &ids[0], TicketStatus::Voided);
    assert_eq!(outcome(ask(&world, &phone, "s1", "A", at(0))), said("invalid", "ticket_voided"));
    let asked = signed(&phone, &claim(&world, &phone, "s2", 1, "A", at(0)));
    assert_eq!(outcome(ask_body(&phone, &asked, &world)), said("invalid", "ticket_voided"));
    assert_eq!((world.occupancy().inside, world.open()), (0, vec![]), "refused rightly, by what held at the head");
    world.is_consistent();
}

/// A claim without a final counts as opened only if the server answered valid. A final takes precedence, whichever of
/// the two arrives first.
#[test]
fn a_claim_stands_until_its_final_says_what_happened() {
    for (with_final, opened, expected) in [(false, false, 1), (true, true, 1), (true, false, 0)] {
        for final_first in [false, true] {
            let world = World::new();
            world.tickets(&["A"]);
            let phone = world.phone("p", "main");
            let asked = claim(&world, &phone, "s", 1, "A", at(0));
            let last = Scan { stage: Stage::Final, seq: Some(2), opened, ..asked.clone() };
            let upload = || {
                if with_final {
                    crate::scanning::send(&world, &phone, "b", &[signed(&phone, &last)]).unwrap();
                }
            };
            if final_first {
                upload();
            }
            let judged = ask_body(&phone, &signed(&phone, &asked), &world);
            assert_eq!(verdict(&judged.unwrap()).outcome, Outcome::Valid, "its own final is no entry before it");
            if !final_first {
                upload();
            }
            assert_eq!((world.occupancy().inside, world.open()), (expected, vec![]), "{with_final} {opened}");
            world.is_consistent();
        }
    }
}

/// The claim first reaches the server in a batch, without an answer. Then the device asks about it.
#[test]
fn a_claim_that_was_uploaded_before_it_is_asked_is_judged_all_the_same() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let asked = signed(&phone, &claim(&world, &phone, "s", 1, "A", at(0)));
    crate::scanning::send(&world, &phone, "b", std::slice::from_ref(&asked)).unwrap();
    assert_eq!(world.occupancy().inside, 0, "nobody answered it");
    assert_eq!(verdict(&ask_body(&phone, &asked, &world).unwrap()).outcome, Outcome::Valid);
    assert_eq!((world.occupancy().inside, stored(&world).len()), (1, 1));
    world.is_consistent();
}

#[test]
fn two_devices_asking_about_one_ticket_admit_one() {
    let world = World::new();
    world.tickets(&["A"]);
    let (p, q) = (world.phone("p", "main"), world.phone("q", "main"));
    let ask_both = [(&p, "s1"), (&q, "s2")].map(|(phone, id)| {
        let asked = signed(phone, &claim(&world, phone, id, 1, "A", at(0)));
        verdict(&ask_body(phone, &asked, &world).unwrap()).outcome
    });
    assert_eq!(ask_both, [Outcome::Valid, Outcome::Duplicate]);
    assert_eq!((world.occupancy().inside, world.occupancy().inside_over), (1, 0));
    world.is_consistent();
}

/// A phone whose clock is a few seconds slow asks about a ticket. By that clock the last entry lies in the future, so
/// the re-entry gap has not passed.
#[test]
fn a_slow_clock_finds_no_gap_behind_the_last_entry() {
    let world = World::new();
    let patch = EventPatch { re_entry: Some(admit_core::event::ReEntry::AfterGap), ..EventPatch::default() };
    now(events::update(&world.app, &world.owner, world.event.clone(), patch)).unwrap();
    world.tickets(&["A"]);
    world.pass(60_000);
    let (p, q) = (world.phone("p", "main"), world.phone("q", "main"));
    ask(&world, &p, "s1", "A", at(60_000)).unwrap();
    assert_eq!(outcome(ask(&world, &q, "s2", "A", at(55_000))), said("duplicate", "too_soon"));
    assert_eq!(world.occupancy().entered, 1);
}

#[test]
fn what_is_no_question_is_refused_and_not_stored() {
    let world = World::new();
    world.tickets(&["A"]);
    let (phone, other) = (world.phone("p", "main"), world.phone("q", "main"));
    let asked = claim(&world, &phone, "s", 1, "A", at(0));
    let read = |body: &Value| OnlineRequest::read(body.to_string().as_bytes()).map(|_| ()).unwrap_err().path;
    assert_eq!(read(&signed(&phone, &Scan { stage: Stage::Final, ..asked.clone() })), "stage");
    let undo = Scan {
        kind: ScanKind::Revert,
        target_device: Some(phone.caller.device_id.clone()),
        target_scan_id: Some("s".parse().unwrap()),
        ..asked.clone()
    };
    assert_eq!(read(&signed(&phone, &undo)), "kind");
    // The claim is signed with another key, or is of a device other than the key's.
    let key = ApiKey::parse(&other.caller.api_key).unwrap().scan_key();
    let forged = serde_json::to_value(ScanV2::of(&asked, &sign_v2(&key, &asked)).unwrap()).unwrap();
    assert_eq!(wrong_field(ask_body(&phone, &forged, &world)), "signature");
    assert_eq!(code(ask_body(&other, &signed(&phone, &asked), &world)), "device_mismatch");
    // To the device, an unknown event is one that it is not assigned to.
    let elsewhere = Scan { event_id: "elsewhere".parse().unwrap(), ..asked };
    assert_eq!(code(ask_body(&phone, &signed(&phone, &elsewhere), &world)), "device_not_assigned");
    assert!(stored(&world).is_empty());
    world.is_consistent();
}

/// Spec §5 "Rate limit": unknown codes are limited per item. After that known codes are refused as well, as the
/// difference would tell which codes are known.
#[test]
fn too_many_unknown_codes_are_answered_429_until_a_minute_has_passed() {
    let world = World::new();
    world.tickets(&["A"]);
    let (phone, other) = (world.phone("p", "main"), world.phone("q", "main"));
    let alarms = || world.open().iter().filter(|kind| *kind == "high_error_rate").count();
    for n in 0..UNKNOWN_CODES_PER_MINUTE {
        assert_eq!(alarms(), 0, "{n} unknown codes are no alarm");
        assert_eq!(
            outcome(ask(&world, &phone, &format!("s{n}"), &format!("NO-{n}"), at(0))),
            said("invalid", "unknown_code")
        );
    }
    assert_eq!(alarms(), 1, "a person is told of whoever may be guessing");
    world.pass(20_000);
    for code in ["NO-X", "A"] {
        let refused = ask(&world, &phone, "x", code, at(0)).unwrap_err();
        assert_eq!(refused, Error::Later { code: "rate_limited", retry_after_ms: 40_000 });
    }
    assert_eq!(stored(&world).len() as u32, UNKNOWN_CODES_PER_MINUTE);
    assert!(ask(&world, &phone, "s0", "NO-0", at(0)).unwrap().repeated, "a retry is no guess");
    ask(&world, &other, "y", "A", at(0)).unwrap();
    world.pass(40_000);
    ask(&world, &phone, "x", "A", at(0)).unwrap();
    world.is_consistent();
}

/// Spec §5 "Rate limit": a device that guesses on as fast as the allowance returns raises one alert per minute, not one
/// per guess.
#[test]
fn whoever_goes_on_guessing_is_put_before_a_person_once_a_minute() {
    let world = World::new();
    let phone = world.phone("p", "main");
    for n in 0..160 {
        let _ = ask(&world, &phone, &format!("s{n}"), &format!("NO-{n}"), at(0));
        world.pass(1_500);
    }
    let alarms = world.open().iter().filter(|kind| *kind == "high_error_rate").count();
    assert!((2..=4).contains(&alarms), "{alarms} in four minutes");
    world.is_consistent();
}

/// Spec §5 "Rate limit" counts items. A claim and its final are one scan of one code. Another code under the same id is
/// a guess.
#[test]
fn a_claim_and_its_final_use_up_one_of_the_allowance() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let left = || {
        let (org, ms) = (&world.owner.organization_id, world.app.clock.monotonic_ms());
        UNKNOWN_CODES_PER_MINUTE - world.app.unknown_codes.left(org, &phone.caller.device_id, ms)
    };
    let upload = |batch: &str, scan: &Scan| {
        let items = [signed(&phone, scan)];
        crate::scanning::send(&world, &phone, batch, &items).unwrap();
    };
    ask_body(&phone, &signed(&phone, &claim(&world, &phone, "s", 1, "NO-1", at(0))), &world).unwrap();
    assert_eq!(left(), 1);
    upload("b1", &scan_of(&world, &phone, "s", 2, "NO-1", at(0)));
    assert_eq!(left(), 1, "its final");
    upload("b2", &scan_of(&world, &phone, "s", 3, "NO-2", at(0)));
    assert_eq!(left(), 2, "another code");
    let both = [claim(&world, &phone, "t", 4, "NO-3", at(0)), scan_of(&world, &phone, "t", 5, "NO-3", at(0))];
    let both = both.map(|scan| signed(&phone, &scan));
    crate::scanning::send(&world, &phone, "b3", &both).unwrap();
    assert_eq!(left(), 3, "both in one upload");
    world.is_consistent();
}

/// Spec D10, D19: the server judges no scan for a device that is revoked or suspended.
#[test]
fn a_revoked_or_suspended_device_is_told_so_and_nothing_is_stored() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    for (state, expected) in [(DeviceState::Suspended, "device_suspended"), (DeviceState::Revoked, "device_revoked")] {
        let (id, scope) = (phone.caller.device_id.clone(), Scope::organization(&world.owner.organization_id));
        let op = write(&*world.app.store, scope, move |tx| {
            let device = tx.device(&id)?.unwrap();
            tx.update_device(&DeviceRecord { state, ..device })
        });
        now(op).unwrap();
        assert_eq!(code(ask(&world, &phone, "s", "A", at(0))), expected);
    }
    assert!(stored(&world).is_empty());
}

/// Spec D17: the scan's own time decides.
#[test]
fn a_scan_of_an_event_that_was_not_live_is_422() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    world.pass(HOUR);
    set_event(&world, EventStatus::Ended);
    world.pass(HOUR);
    assert_eq!(code(ask(&world, &phone, "s1", "A", at(2 * HOUR))), "event_not_live");
    assert_eq!(outcome(ask(&world, &phone, "s2", "B", at(0))).0, "valid");
}

/// Spec §4: at an exit gate S2's scans are exits.
#[test]
fn at_a_gate_that_leads_out_it_is_an_exit() {
    let world = World::new();
    world.tickets(&["A"]);
    let (inward, outward) = (world.phone("p", "main"), world.phone("q", "out"));
    ask(&world, &inward, "s", "A", at(0)).unwrap();
    let answer = verdict(&ask(&world, &outward, "t", "A", at(1_000)).unwrap());
    assert_eq!((answer.outcome, answer.may_admit), (Outcome::Valid, 1));
    assert_eq!((world.occupancy().inside, world.occupancy().exited), (0, 1));
    world.is_consistent();
}

/// A code that is not sold yet is invalid on the screen. When it is sold, the stored scan is found by the code's hash.
#[test]
fn an_unknown_code_is_stored_by_its_hash() {
    let world = World::new();
    let phone = world.phone("p", "main");
    assert_eq!(outcome(ask(&world, &phone, "s", "LATE-LATE-LATE", at(0))), said("invalid", "unknown_code"));
    let row = stored(&world).remove(0);
    assert_eq!(row.fact.scan.barcode_hash, Some(BarcodeHash::of("LATE-LATE-LATE")));
    world.tickets(&["LATE-LATE-LATE"]);
    assert_eq!((world.occupancy().inside, world.open()), (0, vec!["refused_in_error".to_owned()]));
    world.is_consistent();
}
