//! Pairing by way (b): the device shows a token, and an organiser approves it (spec D11, S1 §8.1 steps 1–4).

use admit_app::records::{DeviceState, Role};
use admit_core::limits::PAIRING_REQUESTS;

use super::*;

/// spec D11 (b): the server answers 202 until an organiser approves, and 200 once.
#[test]
fn d11_b_a_device_asks_waits_is_approved_and_paired_once() {
    let world = World::new();
    let ticket = ask(&world, "p");
    assert!(ticket.pairing_token.len() >= "admit_pt_".len() + 32, "128 bits");
    for _ in 0..2 {
        assert!(
            matches!(claim(&world, &ticket, "p"), Ok(Claimed::Waiting { expires_at }) if expires_at == at(5 * MINUTE))
        );
    }
    let shown = now(devices::show_request(&world.app, &world.owner, &ticket.pairing_token)).unwrap();
    assert_eq!(
        (shown.device_id, shown.name.as_str(), shown.known, shown.approved),
        (id("p"), "Side door", None, false)
    );
    assert_eq!(wrong_field(approve(&world, &ticket, false)), "event_id", "a new device stands nowhere yet");
    let approved = approve(&world, &ticket, true).unwrap();
    assert_eq!((approved.event_id, approved.gate_id), (world.event.clone(), gate("main")));
    let paired = claimed(&world, &ticket, "p");
    assert_eq!(device(&world, "p").name, "Side door", "as it called itself");
    caller(&world, &paired.api_key).unwrap();
    assert_eq!(code(claim(&world, &ticket, "p")), "pairing_token_used");
    assert_eq!(world.ledger()[world.ledger().len() - 3..], ["pairing_approved", "device_paired", "pairing_refused"]);
    world.is_consistent();
}

/// spec D11 (b): the QR code shows only the token. Without the claim secret the token is answered as unknown (404).
#[test]
fn d11_b_a_photographed_token_opens_nothing_before_or_after_the_approval() {
    let world = World::new();
    let ticket = ask(&world, "p");
    let stolen = PairingTicket { claim_secret: "admit_pc_guess".into(), ..ticket.clone() };
    let tries = |world: &World| {
        assert_eq!(code(pair(world, &ticket.pairing_token, "p", None)), "no pairing_token");
        assert_eq!(code(claim(world, &stolen, "p")), "no pairing_token");
        assert_eq!(code(claim(world, &stolen, "thief")), "no pairing_token");
    };
    tries(&world);
    assert_eq!(code(claim(&world, &ticket, "other")), "no pairing_token", "the request is one device's");
    approve(&world, &ticket, true).unwrap();
    tries(&world);
    assert_eq!(world.ledger().iter().filter(|action| *action == "pairing_refused").count(), 3, "on record");
    claimed(&world, &ticket, "p");
    world.is_consistent();
}

/// spec D11: an unknown token is answered 404, a used or expired one 410.
#[test]
fn d11_b_a_request_is_over_after_five_minutes() {
    let world = World::new();
    let ticket = ask(&world, "p");
    world.pass(5 * MINUTE);
    assert_eq!(code(claim(&world, &ticket, "p")), "pairing_token_expired");
    assert_eq!(code(approve(&world, &ticket, true)), "pairing_token_expired");
    let unknown = PairingTicket { pairing_token: "admit_pt_unknown".into(), ..ticket };
    assert_eq!(code(claim(&world, &unknown, "p")), "no pairing_token");
    assert_eq!(code(approve(&world, &unknown, true)), "no pairing_request");
    // The request is approved in the last second. The device still has five minutes to fetch its key.
    let late = ask(&world, "q");
    world.pass(5 * MINUTE - 1);
    approve(&world, &late, true).unwrap();
    world.pass(4 * MINUTE);
    claimed(&world, &late, "q");
    world.is_consistent();
}

/// spec D11 (b): a device whose answer was lost can ask again before the key's first use.
#[test]
fn d11_b_a_lost_answer_is_asked_for_again() {
    let world = World::new();
    let ticket = ask(&world, "p");
    approve(&world, &ticket, true).unwrap();
    let (lost, second) = (claimed(&world, &ticket, "p"), claimed(&world, &ticket, "p"));
    assert_eq!(code(caller(&world, &lost.api_key)), "unknown_key");
    caller(&world, &second.api_key).unwrap();
    world.is_consistent();
}

/// spec D11 (b), trust promise 7: a request belongs to no organisation until one approves it. After that no other
/// organisation can use it.
#[test]
fn d11_b_a_request_is_the_organisations_that_approved_it() {
    let world = World::new();
    let (other, their_event) = world.other();
    let ticket = ask(&world, "p");
    approve(&world, &ticket, true).unwrap();
    let foreign = Some((their_event.clone(), gate("main")));
    let approved = devices::approve_pairing(&world.app, &other, &ticket.pairing_token, foreign, false);
    assert_eq!(code(now(approved)), "no pairing_request");
    let seen = devices::show_request(&world.app, &other, &ticket.pairing_token);
    assert_eq!(code(now(seen)), "no pairing_request");
    assert_eq!(claimed(&world, &ticket, "p").organization_id, world.owner.organization_id);
    // An organisation cannot approve for another organisation's event either.
    let ticket = ask(&world, "q");
    let foreign = Some((their_event, gate("main")));
    let wrong = devices::approve_pairing(&world.app, &world.owner, &ticket.pairing_token, foreign, false);
    assert_eq!(wrong_field(now(wrong)), "event_id");
    world.is_consistent();
}

/// spec D11 (b): only a member with the right can approve a request. A second approval changes nothing.
#[test]
fn d11_b_approving_needs_the_right_and_twice_is_once() {
    let world = World::new();
    let ticket = ask(&world, "p");
    let place = || Some((world.event.clone(), gate("main")));
    for role in [Role::Door, Role::Viewer, Role::Promoter] {
        let member = world.member(role);
        let approved = devices::approve_pairing(&world.app, &member, &ticket.pairing_token, place(), false);
        assert_eq!(code(now(approved)), "forbidden");
    }
    approve(&world, &ticket, true).unwrap();
    let ledger = world.ledger();
    approve(&world, &ticket, true).unwrap();
    let out = Some((world.event.clone(), gate("out")));
    let elsewhere = devices::approve_pairing(&world.app, &world.owner, &ticket.pairing_token, out, false);
    assert_eq!(code(now(elsewhere)), "already_approved");
    assert_eq!(world.ledger(), ledger);
}

/// spec D11: a known active `device_id` needs its own key or approval. A phone whose pairing answer was lost has no
/// key, so every new token is 409 for it. After approval it pairs as the same device.
#[test]
fn d11_b_a_phone_whose_pairing_answer_was_lost_is_let_in_by_approval() {
    let world = World::new();
    pair(&world, &token(&world, None), "p", None).unwrap();
    world.pass(10 * MINUTE);
    assert_eq!(code(pair(&world, &token(&world, None), "p", None)), "device_id_taken");
    let ticket = ask(&world, "p");
    approve(&world, &ticket, false).expect("it goes back to where it stood");
    let paired = claimed(&world, &ticket, "p");
    assert_eq!((paired.gate_id.clone(), device(&world, "p").name), (gate("main"), "Side door".to_owned()));
    caller(&world, &paired.api_key).unwrap();
    world.is_consistent();
}

/// spec D11, §3 "Log": a phone whose storage survived is paired again by approval. Its log is intact and `seq` goes on.
/// The server still proves scans that were queued under the lost key.
#[test]
fn d11_b_a_phone_that_lost_its_key_goes_on_with_its_log() {
    let world = World::new();
    world.tickets(&["A", "B", "C"]);
    let phone = world.phone("p", "main");
    let before = keys(&world, "p")[0].key_id.clone();
    send(&world, &phone, "b1", &[signed(&phone, &scan_of(&world, &phone, "s1", 1, "A", at(0)))]).unwrap();
    let queued = item(&world, &phone, 2, "B", at(1), (&before, &phone.caller.api_key));
    let ticket = ask(&world, "p");
    approve(&world, &ticket, false).unwrap();
    let paired = claimed(&world, &ticket, "p");
    let by = caller(&world, &paired.api_key).unwrap();
    let fresh = item(&world, &phone, 3, "C", at(2), (&paired.key_id, &paired.api_key));
    upload(&world, &by, "b2", &[queued, fresh]).unwrap();
    assert_eq!((world.occupancy().inside, world.open()), (3, Vec::new()));
    assert_eq!(lacking(&world, &phone, 3), Vec::new());
    world.is_consistent();
}

/// spec D11, D10: only an organiser's approval admits a revoked phone again. Scans signed under the withdrawn key and
/// received now still wait for a person. Scans signed from now on count.
#[test]
fn d11_b_a_revoked_phone_is_let_in_again_and_its_old_queue_waits() {
    let world = World::new();
    world.tickets(&["A", "B", "C"]);
    let phone = world.phone("p", "main");
    let old = keys(&world, "p")[0].key_id.clone();
    send(&world, &phone, "b1", &[signed(&phone, &scan_of(&world, &phone, "s1", 1, "A", at(0)))]).unwrap();
    revoke(&world, "p", None);
    assert_eq!(code(pair(&world, &token(&world, None), "p", Some(&phone.caller.api_key))), "device_id_taken");
    let ticket = ask(&world, "p");
    approve(&world, &ticket, false).unwrap();
    let paired = claimed(&world, &ticket, "p");
    assert_eq!((device(&world, "p").state, device(&world, "p").revoked_at), (DeviceState::Active, None));
    assert_eq!(code(caller(&world, &phone.caller.api_key)), "unknown_key", "the withdrawn key is no key any more");
    let by = caller(&world, &paired.api_key).unwrap();
    let queued = item(&world, &phone, 2, "B", at(1), (&old, &phone.caller.api_key));
    let fresh = item(&world, &phone, 3, "C", at(2), (&paired.key_id, &paired.api_key));
    upload(&world, &by, "b2", &[queued, fresh]).unwrap();
    assert_eq!((world.occupancy().inside, world.open()), (2, vec!["unverified_scan".to_owned()]));
    let counted = now(devices::accept(&world.app, &world.owner, id("p"))).unwrap();
    assert_eq!((counted.counted, counted.waiting), (1, 0));
    assert_eq!((world.occupancy().inside, world.open()), (3, Vec::new()));
    world.is_consistent();
}

/// spec D10: a later revocation ends an approval.
#[test]
fn d10_a_device_revoked_after_its_approval_stays_out() {
    let world = World::new();
    world.phone("p", "main");
    let ticket = ask(&world, "p");
    approve(&world, &ticket, false).unwrap();
    world.pass(1);
    revoke(&world, "p", None);
    assert_eq!(code(claim(&world, &ticket, "p")), "device_id_taken");
    world.is_consistent();
}

/// S1 §13.1, spec D10 `lost_since`: a device marked lost comes back only if a person says that it is found. Scans made
/// while it was away stay in quarantine. Scans from now on count, and the log stays as it was.
#[test]
fn s1_13_1_a_lost_device_that_is_found_again_counts_from_then_on() {
    let world = World::new();
    world.tickets(&["A", "B", "C"]);
    let phone = world.phone("p", "main");
    world.pass(2 * MINUTE);
    send(&world, &phone, "b1", &[signed(&phone, &scan_of(&world, &phone, "s1", 1, "A", at(0)))]).unwrap();
    send(&world, &phone, "b2", &[signed(&phone, &scan_of(&world, &phone, "s2", 2, "B", at(MINUTE)))]).unwrap();
    world.pass(10 * MINUTE);
    revoke(&world, "p", Some(at(MINUTE)));
    assert_eq!((world.occupancy().inside, world.open()), (1, vec!["unverified_scan".to_owned()]));
    world.pass(MINUTE);
    let ticket = ask(&world, "p");
    assert_eq!(code(approve(&world, &ticket, false)), "device_lost", "nobody said that it is found");
    approve_found(&world, &ticket).unwrap();
    assert_eq!(device(&world, "p").state, DeviceState::Revoked, "until it fetches its key");
    assert_eq!(device(&world, "p").lost_since, None);
    let paired = claimed(&world, &ticket, "p");
    let by = caller(&world, &paired.api_key).unwrap();
    world.pass(MINUTE);
    let fresh = item(&world, &phone, 3, "C", at(14 * MINUTE), (&paired.key_id, &paired.api_key));
    upload(&world, &by, "b3", &[fresh]).unwrap();
    assert_eq!((world.occupancy().inside, world.open()), (2, vec!["unverified_scan".to_owned()]), "B waits, C counts");
    // The device is lost a second time. Scans from the first time away still wait, too.
    world.pass(10 * MINUTE);
    revoke(&world, "p", Some(at(14 * MINUTE)));
    assert_eq!(world.occupancy().inside, 1, "A alone");
    revoke(&world, "p", Some(at(15 * MINUTE)));
    assert_eq!(world.occupancy().inside, 2, "a correction: C was scanned before it was lost, B while it was away");
    let counted = now(devices::accept(&world.app, &world.owner, id("p"))).unwrap();
    assert_eq!((counted.counted, world.occupancy().inside), (1, 3));
    world.is_consistent();
}

/// spec D11 (b): the sender of a request is unknown. So the server limits how many it keeps, and soon forgets them.
#[test]
fn d11_b_requests_are_bounded_and_forgotten() {
    let world = World::new();
    for n in 0..PAIRING_REQUESTS {
        ask(&world, &format!("p{n}"));
    }
    let wish = || RequestPairing { device_id: id("one-more"), name: None, device_type: None };
    assert_eq!(code(now(devices::request_pairing(&world.app, wish()))), "too_many_pairing_requests");
    pair(&world, &token(&world, None), "q", None).expect("the other way stays open");
    world.pass(10 * MINUTE + 1);
    now(devices::request_pairing(&world.app, wish())).unwrap();
}
