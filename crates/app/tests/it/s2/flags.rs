//! S2 §7 "Suspicious Patterns Flagged" and §8 "Fraud Detection" as incidents, each once per batch.

use super::*;

fn flags(world: &World) -> Vec<String> {
    let mut open = world.open();
    open.retain(|kind| ["high_error_rate", "delayed_batch", "abnormal_batch", "future_time"].contains(&kind.as_str()));
    open
}

/// S2 §7.1, §8.1: a batch is flagged if more than half of its scans are errors.
#[test]
fn s2_7_1_a_batch_with_more_than_half_in_error_is_flagged() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    sync(&world, &phone, "half", &[("s1", "A", at(0)), ("s2", "X", at(0))]);
    assert_eq!(flags(&world), [""; 0], "half is not more than half");
    sync(&world, &phone, "most", &[("s3", "B", at(0)), ("s4", "Y", at(0)), ("s5", "Z", at(0))]);
    assert_eq!(flags(&world), ["high_error_rate"]);
    assert_eq!(world.incident("high_error_rate").subject_key, "batch:p:most");
    // A repeated batch is no second batch. A flag that a person answered stays answered.
    send(&world, &phone, &body(&world, &phone, "most", &[("s3", "B", at(0)), ("s4", "Y", at(0)), ("s5", "Z", at(0))]))
        .unwrap();
    assert_eq!(flags(&world), ["high_error_rate"]);
    world.is_consistent();
}

/// S2 §7.2, §8.2: the age of a batch counts from its newest scan to its receipt.
#[test]
fn s2_7_2_a_batch_submitted_over_eight_hours_after_its_newest_scan_is_flagged() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    world.pass(9 * HOUR);
    sync(&world, &phone, "b1", &[("s1", "A", at(0)), ("s2", "B", at(2 * HOUR))]);
    assert_eq!(flags(&world), [""; 0], "the newest is 7 h old");
    world.pass(2 * HOUR);
    sync(&world, &phone, "b2", &[("s1", "A", at(0)), ("s2", "B", at(2 * HOUR))]);
    assert_eq!(flags(&world), [""; 0], "known scans, offered again, came in time");
    sync(&world, &phone, "b3", &[("s3", "A", at(0))]);
    assert_eq!(flags(&world), ["delayed_batch"]);
    world.is_consistent();
}

/// S2 §7.2 for S1's endpoint: both endpoints share one ingest (spec D1).
#[test]
fn s2_7_2_holds_for_batches_of_s1s_form_too() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    world.pass(9 * HOUR);
    phone.upload("b", "s", "A", "valid", at(0)).unwrap();
    assert_eq!(flags(&world), ["delayed_batch"]);
    world.is_consistent();
}

/// S2 §7.1 and §7.3 for scans in S1's form and Admit's own, whose batches are small: all batches of a device within an
/// hour are added up.
#[test]
fn s2_7_a_device_that_brings_mostly_unknown_codes_in_small_batches_is_flagged_once() {
    let world = World::new();
    let codes: Vec<String> = (0..9).map(|n| format!("A{n}")).collect();
    world.tickets(&codes.iter().map(String::as_str).collect::<Vec<_>>());
    let phone = world.phone("p", "main");
    for (n, code) in codes.iter().enumerate() {
        phone.upload(&format!("good-{n}"), &format!("g{n}"), code, "valid", at(0)).unwrap();
    }
    for n in 0..10 {
        phone.upload(&format!("bad-{n}"), &format!("x{n}"), &format!("NO-{n}"), "invalid", at(0)).unwrap();
    }
    assert_eq!(flags(&world), [""; 0], "nineteen say nothing yet");
    for n in 10..14 {
        phone.upload(&format!("bad-{n}"), &format!("x{n}"), &format!("NO-{n}"), "invalid", at(0)).unwrap();
    }
    assert_eq!(flags(&world), ["high_error_rate"]);
    assert_eq!(world.incident("high_error_rate").subject_key, "batch:p:bad-10");
    // A scan that is sent again, or read twice, is no further failure.
    let other = world.phone("q", "main");
    for n in 0..25 {
        other.upload(&format!("twice-{n}"), &format!("t{n}"), "A0", "valid", at(n * 1_000)).unwrap();
    }
    assert_eq!(flags(&world), ["high_error_rate"]);
    world.is_consistent();
}

/// S2 §7.3 for clients whose batches hold at most fifty scans.
#[test]
fn s2_7_3_five_thousand_scans_of_a_device_within_an_hour_are_flagged_once() {
    let world = World::new();
    let codes: Vec<String> = (0..5_100).map(|n| format!("A{n}")).collect();
    world.tickets(&codes.iter().map(String::as_str).collect::<Vec<_>>());
    let (phone, slow) = (world.phone("p", "main"), world.phone("q", "out"));
    let ids: Vec<String> = (0..5_100).map(|n| format!("s{n}")).collect();
    let all: Vec<(&str, &str, Timestamp)> =
        ids.iter().zip(&codes).map(|(id, code)| (id.as_str(), code.as_str(), at(0))).collect();
    for (n, chunk) in all.chunks(50).enumerate() {
        phone.upload_all(&format!("b{n}"), chunk, 0).unwrap();
        if n == 98 {
            // The same scans are sent in a batch with another id: none of them is new.
            phone.upload_all("again", chunk, 0).unwrap();
            assert_eq!(flags(&world), [""; 0]);
        }
    }
    assert_eq!(flags(&world), ["abnormal_batch"]);
    assert_eq!(world.incident("abnormal_batch").subject_key, "batch:p:b99");
    slow.upload_all("few", &all[..50], 0).unwrap();
    assert_eq!(flags(&world), ["abnormal_batch"]);
    world.is_consistent();
}

/// S2 §7.3: a batch of 5,000 scans is flagged.
#[test]
fn s2_7_3_five_thousand_scans_in_one_batch_are_flagged() {
    let world = World::new();
    world.tickets(&["A"]);
    let phone = world.phone("p", "main");
    let ids: Vec<String> = (0..5_000).map(|n| format!("s{n}")).collect();
    let scans: Vec<(&str, &str, Timestamp)> = ids.iter().map(|id| (id.as_str(), "A", at(0))).collect();
    sync(&world, &phone, "small", &scans[..4_999]);
    assert!(!flags(&world).contains(&"abnormal_batch".to_owned()));
    sync(&world, &phone, "large", &scans);
    assert!(flags(&world).contains(&"abnormal_batch".to_owned()));
    assert_eq!(world.incident("abnormal_batch").subject_key, "batch:p:large");
}

/// S2 §8.3; spec §4: a scan is from the future if its time is more than 120 s after receipt.
#[test]
fn s2_8_3_a_scan_from_the_future_is_flagged_and_counts() {
    let world = World::new();
    world.tickets(&["A", "B"]);
    let phone = world.phone("p", "main");
    sync(&world, &phone, "b1", &[("s1", "A", at(120_000))]);
    assert_eq!(flags(&world), [""; 0]);
    sync(&world, &phone, "b2", &[("s2", "B", at(121_000))]);
    assert_eq!((flags(&world), world.occupancy().inside), (vec!["future_time".to_owned()], 2));
    world.is_consistent();
}

/// Background work waits while scans arrive, through whichever endpoint.
#[test]
fn scans_of_every_way_tell_that_the_doors_are_busy_for_a_while() {
    let world = World::new();
    world.tickets(&["A", "B", "C"]);
    let phone = world.phone("p", "main");
    let busy = || world.app.scan_activity.is_recent(world.app.clock.monotonic_ms());
    let ways: [(&str, &dyn Fn()); 3] = [
        ("the scanner's batch", &|| phone.scan("a", "A", "valid", at(0))),
        ("S2's batch", &|| drop(sync(&world, &phone, "b", &[("b", "B", at(0))]))),
        ("asked online", &|| drop(ask(&world, &phone, "c", "C", at(0)).unwrap())),
    ];
    for (way, scan) in ways {
        assert!(!busy(), "{way}: not yet");
        scan();
        assert!(busy(), "{way}");
        world.pass(admit_core::limits::DOORS_BUSY_MS);
    }
}
