//! Many phones that reach the server again in the same second (docs/faults.md, 40).

use admit_core::wire::engine::Input;

use super::phone::Phone;
use super::server::{Reply, Server};

const SYNC: &str = "/api/scanning/sync";

#[test]
fn who_was_told_the_same_retry_after_does_not_come_back_at_the_same_moment() {
    let mut back = Vec::new();
    for seed in 1..=50 {
        let mut phone = Phone::ready(seed, &mut Server::new());
        phone.requests.clear();
        phone.scan("unknown");
        let sent = phone.take(SYNC);
        phone.answer(&sent, &Reply::problem(503, "store_unavailable").with("retry-after", 20));
        let told = phone.mono_ms;
        while !phone.asks(SYNC) {
            phone.requests.clear();
            phone.pass(20);
        }
        back.push(phone.mono_ms - told);
    }
    let (soonest, latest) = (back.iter().min().unwrap(), back.iter().max().unwrap());
    assert!(*soonest >= 20_000, "not before: {back:?}");
    assert!(*latest <= 21_020, "nor much later: {back:?}");
    assert!(latest - soonest >= 500, "spread: {back:?}");
}

/// A phone with a server of its own behind the crowded one, and the time when it may ask again.
struct One {
    phone: Phone,
    server: Server,
    not_before: i64,
}

#[test]
fn of_250_phones_that_come_back_in_the_same_second_none_waits_two_minutes() {
    const PHONES: u64 = 250;
    const SCANS: usize = 8;
    const STEP_MS: i64 = 250;
    /// Uploads taken per step, and the `Retry-After` that other phones get.
    const TAKEN: usize = 5;
    const RETRY_AFTER_S: i64 = 5;
    let mut crowd: Vec<One> = (1..=PHONES)
        .map(|seed| {
            let mut server = Server::new();
            let mut phone = Phone::ready(seed, &mut server);
            for n in 0..SCANS {
                phone.scan(&format!("unknown {n}"));
                phone.offline();
            }
            phone.pass_offline(60_000);
            phone.input(Input::Online);
            One { phone, server, not_before: 0 }
        })
        .collect();
    let (mut waited, mut turned_away) = (0, 0);
    while crowd.iter().any(|one| one.phone.view().unsent > 0) {
        assert!(
            waited <= 120_000,
            "{} still hold scans",
            crowd.iter().filter(|one| one.phone.view().unsent > 0).count()
        );
        let mut room = TAKEN;
        for one in &mut crowd {
            while let Some(at) = one.phone.requests.iter().position(|sent| sent.is(SYNC)) {
                let sent = one.phone.requests.remove(at);
                assert!(one.phone.mono_ms >= one.not_before, "the server said when");
                if room == 0 {
                    turned_away += 1;
                    one.not_before = one.phone.mono_ms + RETRY_AFTER_S * 1_000;
                    let busy = Reply::problem(503, "store_unavailable").with("retry-after", RETRY_AFTER_S);
                    one.phone.answer(&sent, &busy);
                    continue;
                }
                room -= 1;
                let reply = one.server.answer(&sent, one.phone.at_ms).unwrap();
                one.phone.answer(&sent, &reply);
            }
            one.phone.requests.clear();
            one.phone.pass(STEP_MS);
        }
        waited += STEP_MS;
    }
    assert!(turned_away > PHONES, "nobody had to wait: nothing was shown");
    assert!(crowd.iter().all(|one| one.server.ids().len() == SCANS), "and nothing is lost");
}
