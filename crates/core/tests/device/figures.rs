//! The figures that a phone measures and its heartbeat carries (S1 §10.2, S2 §11).

use admit_core::wire::engine::Input;
use admit_core::wire::scanning::{Figures, HeartbeatRequest, MOST_BUCKETS, Observed};

use super::phone::{Phone, Sent};
use super::server::Server;

fn figures(sent: &Sent) -> Figures {
    let beat: HeartbeatRequest = serde_json::from_str(sent.body.as_ref().unwrap()).unwrap();
    beat.figures.expect("figures")
}

/// The figures in every heartbeat that left, in order.
fn told(phone: &Phone) -> Vec<Figures> {
    phone.log.iter().filter(|sent| sent.path.contains("/heartbeat")).map(figures).collect()
}

fn counted(observed: &[Observed]) -> u32 {
    observed.iter().map(|Observed(_, count)| count).sum()
}

#[test]
fn a_time_falls_into_the_range_whose_bound_is_the_next_power_of_two() {
    for (ms, bound) in [(0, 1), (1, 1), (2, 2), (3, 4), (4, 4), (200, 256), (256, 256), (257, 512), (1 << 24, 1 << 24)]
    {
        assert_eq!(1_u64 << Observed::bucket(ms), bound, "{ms} ms");
    }
    assert_eq!(Observed::bucket(u64::MAX), MOST_BUCKETS - 1);
}

#[test]
fn s1_10_2_a_heartbeat_tells_how_long_verdicts_took_and_scans_waited() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.offline();
    phone.flushes = false;
    phone.input(Input::code("A-1"));
    phone.pass_offline(40);
    phone.flushes = true;
    phone.flush_one();
    phone.pass_offline(9_000);
    phone.pass_online(&mut server, 31_000);
    let told = told(&phone);
    let scans: Vec<Observed> = told.iter().flat_map(|one| one.scan_ms.clone()).collect();
    assert_eq!(scans, [Observed(64, 1)], "40 ms from the code to the flushed row");
    let waited: Vec<Observed> = told.iter().flat_map(|one| one.sync_ms.clone()).collect();
    assert_eq!(counted(&waited), 1, "{waited:?}");
    assert!(waited[0].0 >= 8_192, "it waited nine seconds for a network: {waited:?}");
    assert!(told.last().unwrap().list_age_ms.is_some_and(|age| age <= 31_000));
}

#[test]
fn a_heartbeat_without_an_answer_is_told_again_as_it_was_and_what_came_meanwhile_follows() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.pass_online(&mut server, 31_000);
    phone.offline();
    let before = told(&phone).len();
    phone.scan("A-1");
    phone.pass_offline(31_000);
    phone.scan("A-2");
    phone.pass_offline(31_000);
    phone.pass_online(&mut server, 70_000);
    let told = told(&phone).split_off(before);
    let first = told.iter().find(|one| counted(&one.scan_ms) > 0).expect("the scan was told").clone();
    let again: Vec<&Figures> = told.iter().filter(|one| one.id == first.id).collect();
    assert!(again.len() > 1, "it was sent more than once: {told:?}");
    assert!(again.iter().all(|one| one.scan_ms == first.scan_ms), "{again:?}");
    let ids: std::collections::BTreeMap<i64, u32> = told.iter().map(|one| (one.id, counted(&one.scan_ms))).collect();
    assert_eq!(ids.values().sum::<u32>(), 2, "each verdict counts once: {told:?}");
}

#[test]
fn a_scan_that_the_server_was_asked_about_waited_once() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.quick = true;
    phone.pass_online(&mut server, 31_000);
    phone.input(Input::code("A-1"));
    phone.settle(&mut server);
    assert_eq!(phone.scans().len(), 2, "a claim and its final");
    phone.pass_online(&mut server, 62_000);
    let waited: Vec<Observed> = told(&phone).iter().flat_map(|one| one.sync_ms.clone()).collect();
    assert_eq!(counted(&waited), 1, "{waited:?}");
}

#[test]
fn a_code_that_led_to_no_verdict_is_no_measurement() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.flushes = false;
    phone.input(Input::code("A-1"));
    phone.fail_one("quota");
    phone.flushes = true;
    phone.pass_online(&mut server, 62_000);
    assert_eq!(told(&phone).iter().map(|one| counted(&one.scan_ms)).sum::<u32>(), 0);
}
