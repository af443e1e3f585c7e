//! Rotating a device's key (spec §5 `rotate-key`, trust fault 34).

use admit_core::limits::KEY_OVERLAP_MS;

use super::*;

fn rotate(world: &World, name: &str) -> Result<String, Error> {
    now(devices::rotate_key(&world.app, &world.owner, id(name))).map(|made| made.pairing_token)
}

/// spec §5 `rotate-key`: `/pair` gives the pending key. Its first use starts the overlap, in which old and new key are
/// accepted. After the overlap the old key is refused (trust fault 34).
#[test]
fn rotate_key_the_new_keys_first_use_starts_the_old_ones_overlap() {
    let world = World::new();
    let old = pair(&world, &token(&world, None), "p", None).unwrap();
    caller(&world, &old.api_key).unwrap();
    let pending = pair(&world, &rotate(&world, "p").unwrap(), "p", Some(&old.api_key)).unwrap();
    world.pass(10 * KEY_OVERLAP_MS);
    caller(&world, &old.api_key).expect("a pending key ends nothing, however long it waits");
    caller(&world, &pending.api_key).unwrap();
    world.pass(KEY_OVERLAP_MS - 1);
    for key in [&old, &pending] {
        caller(&world, &key.api_key).unwrap();
    }
    world.pass(1);
    assert_eq!(code(caller(&world, &old.api_key)), "unknown_key");
    caller(&world, &pending.api_key).unwrap();
    world.is_consistent();
}

/// spec §5 `rotate-key`, D4: scans queued under the old key still verify long after its overlap.
#[test]
fn rotate_key_with_a_full_queue_every_scan_stays_proven() {
    let world = World::new();
    let codes: Vec<String> = (1..=600).map(|n| format!("T{n}")).collect();
    world.tickets(&codes.iter().map(String::as_str).collect::<Vec<_>>());
    let phone = world.phone("p", "main");
    let old = keys(&world, "p")[0].key_id.clone();
    let key =
        |n: usize, (id, text): (&KeyId, &str)| item(&world, &phone, n as u64 + 1, &codes[n], at(n as i64), (id, text));
    let mut queue: Vec<Value> = (0..500).map(|n| key(n, (&old, &phone.caller.api_key))).collect();
    let new = pair(&world, &rotate(&world, "p").unwrap(), "p", Some(&phone.caller.api_key)).unwrap();
    let by = caller(&world, &new.api_key).unwrap();
    queue.extend((500..600).map(|n| key(n, (&new.key_id, &new.api_key))));
    world.pass(2 * KEY_OVERLAP_MS);
    upload(&world, &by, "b", &queue).unwrap();
    assert_eq!((world.occupancy().inside, world.open()), (600, Vec::new()));
    assert_eq!(lacking(&world, &phone, 600), Vec::new());
    world.is_consistent();
}

/// spec D6, §5 `rotate-key`: S1's scans verify only under their own bearer token. The overlap lets an old client send
/// its queue under the old key.
#[test]
fn rotate_key_an_s1_client_sends_its_old_queue_under_the_old_key_in_the_overlap() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    caller(&world, &phone.caller.api_key).unwrap();
    let new = pair(&world, &rotate(&world, "p").unwrap(), "p", Some(&phone.caller.api_key)).unwrap();
    caller(&world, &new.api_key).unwrap();
    caller(&world, &phone.caller.api_key).unwrap();
    phone.scan("s1", "A", "valid", at(0));
    assert_eq!((world.occupancy().inside, world.open()), (1, Vec::new()));
    world.is_consistent();
}

/// spec D6, D11: an S1 client with a full queue is moved to another gate and pairs with its own key. It uploads the
/// queue under that key until the overlap ends. A device that was approved without a key has no overlap.
#[test]
fn d11_a_client_that_pairs_again_with_its_own_key_sends_its_old_queue_in_the_overlap() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    caller(&world, &phone.caller.api_key).unwrap();
    let new = pair(&world, &token(&world, None), "p", Some(&phone.caller.api_key)).unwrap();
    caller(&world, &new.api_key).unwrap();
    world.pass(KEY_OVERLAP_MS - 1);
    caller(&world, &phone.caller.api_key).unwrap();
    phone.scan("s1", "A", "valid", at(0));
    assert_eq!((world.occupancy().inside, world.open()), (1, Vec::new()), "proven");
    world.pass(1);
    assert_eq!(code(caller(&world, &phone.caller.api_key)), "unknown_key");
    caller(&world, &new.api_key).unwrap();
    world.is_consistent();
}

/// spec §5 `rotate-key`: the token is bound to that device. If the answer is lost, the device asks again, and the old
/// key stays valid.
#[test]
fn rotate_key_the_token_is_one_devices_and_a_lost_answer_is_repeated() {
    let world = World::new();
    let old = pair(&world, &token(&world, None), "p", None).unwrap();
    caller(&world, &old.api_key).unwrap();
    let token = rotate(&world, "p").unwrap();
    assert_eq!(code(pair(&world, &token, "thief", None)), "pairing_token_used");
    assert_eq!(device(&world, "p").code_reused_at, Some(at(0)));
    let lost = pair(&world, &token, "p", Some(&old.api_key)).unwrap();
    let new = pair(&world, &token, "p", Some(&old.api_key)).unwrap();
    assert_eq!(code(caller(&world, &lost.api_key)), "unknown_key");
    caller(&world, &old.api_key).unwrap();
    caller(&world, &new.api_key).unwrap();
    assert_eq!(code(pair(&world, &token, "p", Some(&new.api_key))), "pairing_token_used");
    world.is_consistent();
}

/// spec §5 `rotate-key`: a second rotation ends the pending key of the first one, never the key in use.
#[test]
fn rotate_key_twice_leaves_one_pending_key() {
    let world = World::new();
    let old = pair(&world, &token(&world, None), "p", None).unwrap();
    caller(&world, &old.api_key).unwrap();
    let first = pair(&world, &rotate(&world, "p").unwrap(), "p", Some(&old.api_key)).unwrap();
    let second = pair(&world, &rotate(&world, "p").unwrap(), "p", Some(&old.api_key)).unwrap();
    assert_eq!(code(caller(&world, &first.api_key)), "unknown_key");
    for key in [&old, &second] {
        caller(&world, &key.api_key).unwrap();
    }
    world.is_consistent();
}

/// spec §5 `rotate-key`, D10: a revoked device gets no new key by rotation. A device of another organisation is
/// answered as unknown.
#[test]
fn rotate_key_is_for_devices_of_ours_that_are_not_revoked() {
    let world = World::new();
    world.phone("p", "main");
    let (other, _) = world.other();
    assert_eq!(code(now(devices::rotate_key(&world.app, &other, id("p")))), "no device");
    revoke(&world, "p", None);
    assert_eq!(code(rotate(&world, "p")), "device_revoked");
}

/// spec D10, §5 `rotate-key`: a revocation during a rotation withdraws both keys.
#[test]
fn d10_a_revocation_ends_the_pending_key_too() {
    let world = World::new();
    let old = pair(&world, &token(&world, None), "p", None).unwrap();
    caller(&world, &old.api_key).unwrap();
    let pending = pair(&world, &rotate(&world, "p").unwrap(), "p", Some(&old.api_key)).unwrap();
    revoke(&world, "p", None);
    for key in [&old, &pending] {
        let by = paired_caller(key);
        assert_eq!(kept(upload(&world, &by, "b", &[]), "device_revoked"), serde_json::json!([]));
    }
}

/// spec D11, §5 `rotate-key`: a key proves nothing after it was rotated out.
#[test]
fn d11_a_rotated_out_key_pairs_nothing() {
    let world = World::new();
    let old = pair(&world, &token(&world, None), "p", None).unwrap();
    caller(&world, &old.api_key).unwrap();
    let new = pair(&world, &rotate(&world, "p").unwrap(), "p", Some(&old.api_key)).unwrap();
    caller(&world, &new.api_key).unwrap();
    world.pass(KEY_OVERLAP_MS);
    assert_eq!(code(pair(&world, &token(&world, None), "p", Some(&old.api_key))), "device_id_taken");
    caller(&world, &new.api_key).unwrap();
}
