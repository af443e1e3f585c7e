//! Pairing by way (a): the organiser's screen shows a token (spec D11, S1 §8.1).

use super::*;

/// spec D11 (a): a token is for a single use or for N uses.
#[test]
fn d11_a_token_of_three_uses_pairs_three_devices_and_a_repeat_takes_none() {
    let world = World::new();
    let token = token(&world, Some(3));
    for name in ["p", "q", "q", "q", "r"] {
        pair(&world, &token, name, None).unwrap();
    }
    assert_eq!(code(pair(&world, &token, "s", None)), "pairing_token_used");
    assert_eq!(now(devices::list(&world.app, &world.owner, world.event.clone())).unwrap().len(), 3);
    world.is_consistent();
}

/// spec D11 (a): a token is valid for five minutes (S1 §8.1 step 1).
#[test]
fn d11_a_token_is_over_after_five_minutes_for_who_comes_first_then() {
    let world = World::new();
    let token = token(&world, Some(2));
    pair(&world, &token, "p", None).unwrap();
    world.pass(5 * MINUTE);
    assert_eq!(code(pair(&world, &token, "q", None)), "pairing_token_expired");
    world.is_consistent();
}

/// spec D11: a device may repeat its pairing within five minutes, before the key's first use. It gets a fresh key, and
/// the former key ends.
#[test]
fn d11_a_repeat_is_good_for_five_minutes_and_until_the_keys_first_use() {
    let world = World::new();
    let first_token = token(&world, None);
    let first = pair(&world, &first_token, "p", None).unwrap();
    world.pass(4 * MINUTE);
    let second = pair(&world, &first_token, "p", None).unwrap();
    assert_eq!(code(caller(&world, &first.api_key)), "unknown_key");
    world.pass(2 * MINUTE);
    assert_eq!(code(pair(&world, &first_token, "p", None)), "pairing_token_used", "the minutes count from the first");
    caller(&world, &second.api_key).unwrap();
    world.is_consistent();
}

/// spec D11: a repeat uses the same token. It cannot end a key that another token gave.
#[test]
fn d11_an_old_token_does_not_kill_the_key_of_a_newer_one() {
    let world = World::new();
    let (old, new) = (token(&world, None), token(&world, None));
    let first = pair(&world, &old, "p", None).unwrap();
    let second = pair(&world, &new, "p", Some(&first.api_key)).unwrap();
    assert_eq!(code(pair(&world, &old, "p", None)), "pairing_token_used");
    caller(&world, &second.api_key).unwrap();
    world.is_consistent();
}

/// spec D11: an unknown token is answered 404, and a second user of a token raises an alarm. S1 §8.1 step 4; trust
/// fault 39.
#[test]
fn d11_the_second_user_of_a_code_fails_and_staff_see_whose_code_it_was() {
    let world = World::new();
    let token = token(&world, None);
    let first = pair(&world, &token, "p", None).unwrap();
    assert_eq!(device(&world, "p").code_reused_at, None);
    world.pass(MINUTE);
    assert_eq!(code(pair(&world, &token, "thief", None)), "pairing_token_used");
    assert_eq!(device(&world, "p").code_reused_at, Some(at(MINUTE)));
    assert_eq!(world.ledger().last().unwrap(), "pairing_refused");
    caller(&world, &first.api_key).expect("the first device stays");
    assert_eq!(code(pair(&world, "admit_pt_unknown", "q", None)), "no pairing_token");
    // Pairing the device again ends the alarm.
    pair(&world, &super::token(&world, None), "p", Some(&first.api_key)).unwrap();
    assert_eq!(device(&world, "p").code_reused_at, None);
    world.is_consistent();
}

/// A phone may scan its own old code by accident, which is no attack. Everybody can read its id on it, so the id alone
/// proves nothing.
#[test]
fn a_device_that_shows_its_own_used_code_raises_no_alarm_if_it_proves_itself() {
    let world = World::new();
    let (old, new) = (token(&world, None), token(&world, None));
    let first = pair(&world, &old, "p", None).unwrap();
    let second = pair(&world, &new, "p", Some(&first.api_key)).unwrap();
    let before = world.ledger();
    for code_shown in [&old, &new] {
        world.pass(6 * MINUTE);
        assert_eq!(code(pair(&world, code_shown, "p", Some(&second.api_key))), "pairing_token_used");
        assert_eq!((device(&world, "p").code_reused_at, world.ledger()), (None, before.clone()));
    }
    // A caller without a key, or with another device's key, may be anybody.
    let other = pair(&world, &token(&world, None), "q", None).unwrap();
    for (minute, key) in [None, Some(other.api_key.as_str()), Some("admit_dk_made_up")].into_iter().enumerate() {
        world.pass(MINUTE);
        assert_eq!(code(pair(&world, &old, "p", key)), "pairing_token_used");
        assert_eq!(device(&world, "p").code_reused_at, Some(at((13 + minute as i64) * MINUTE)));
    }
    // Another device with a valid key of its own is not the owner of the code.
    world.pass(MINUTE);
    assert_eq!(code(pair(&world, &old, "q", Some(&other.api_key))), "pairing_token_used");
    assert_eq!(device(&world, "p").code_reused_at, Some(at(16 * MINUTE)));
    world.is_consistent();
}

/// Without this limit a person who once saw a code could fill the ledger with entries, without signing in.
#[test]
fn a_code_used_again_and_again_is_put_on_record_once_a_minute() {
    let world = World::new();
    let token = token(&world, None);
    pair(&world, &token, "p", None).unwrap();
    let refusals = || world.ledger().iter().filter(|action| *action == "pairing_refused").count();
    for _ in 0..50 {
        assert_eq!(code(pair(&world, &token, "thief", None)), "pairing_token_used");
    }
    assert_eq!(refusals(), 1);
    world.pass(MINUTE);
    assert_eq!(code(pair(&world, &token, "thief", None)), "pairing_token_used");
    assert_eq!(refusals(), 2);
    world.is_consistent();
}

/// spec D11: a known active `device_id` needs its own key or approval, else 409. Its key stays valid until the new one
/// is used, so a lost answer locks no device out. It stays valid an hour more for scans that only its bearer token
/// proves.
#[test]
fn d11_a_known_device_pairs_again_with_its_own_key_and_keeps_it_until_the_new_one_is_used() {
    let world = World::new();
    let first = pair(&world, &token(&world, None), "p", None).unwrap();
    caller(&world, &first.api_key).unwrap();
    assert_eq!(code(pair(&world, &token(&world, None), "p", None)), "device_id_taken");
    let second = pair(&world, &token(&world, None), "p", Some(&first.api_key)).unwrap();
    caller(&world, &first.api_key).expect("the answer may be lost");
    caller(&world, &second.api_key).unwrap();
    caller(&world, &first.api_key).expect("the overlap");
    world.pass(admit_core::limits::KEY_OVERLAP_MS);
    assert_eq!(code(caller(&world, &first.api_key)), "unknown_key");
    world.is_consistent();
}

/// S1 §8.1 steps 5 and 6: pairing makes the device and gives it a key with organisation, event and gate. S1 §8.1 step
/// 8: the device may sync.
#[test]
fn s1_8_1_a_paired_device_is_on_record_and_may_sync() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let record = device(&world, "p");
    assert_eq!((record.event_id, record.gate_id), (world.event.clone(), gate("main")));
    phone.scan("s1", "A", "valid", at(0));
    assert_eq!(world.occupancy().inside, 1);
    world.is_consistent();
}
