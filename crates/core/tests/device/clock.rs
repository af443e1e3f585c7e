//! The clock's interval contains the true time, whatever the phone's clocks do (spec §4 Time; trust faults 8–10).

use admit_core::device::clock::{Anchor, Clock, Exchange};
use admit_core::scan::Scan;
use admit_core::time::Timestamp;
use admit_core::wire::engine::Now;

use super::phone::{EVENING, Phone};
use super::server::Server;

/// A phone's wall clock and monotonic clock, simulated around a true time.
struct Clocks {
    clock: Clock,
    at_ms: i64,
    wall_off_ms: i64,
    mono_ms: i64,
}

impl Clocks {
    fn new(wall_off_ms: i64) -> Self {
        let mut clocks = Self { clock: Clock::default(), at_ms: EVENING, wall_off_ms, mono_ms: 5_000 };
        clocks.observe();
        clocks
    }
    fn observe(&mut self) {
        let now = Now { wall_ms: self.at_ms + self.wall_off_ms, mono_ms: self.mono_ms, random: [0; 32] };
        self.clock.observe(&now);
    }
    fn pass(&mut self, ms: i64) {
        self.at_ms += ms;
        self.mono_ms += ms;
        self.observe();
    }
    fn sleep(&mut self, ms: i64) {
        self.at_ms += ms;
        self.observe();
    }
    /// An exchange whose request took `out_ms` and whose answer took `back_ms`.
    fn exchange(&mut self, out_ms: i64, back_ms: i64) -> Option<Anchor> {
        let (sent_mono_ms, gaps_ms) = (self.mono_ms, self.clock.gaps_ms());
        self.pass(out_ms);
        let served = self.at_ms;
        self.pass(back_ms);
        self.clock.exchange(Exchange { sent_mono_ms, received_ms: served, answered_ms: served, gaps_ms })
    }
    fn honest(&self) -> bool {
        let reading = self.clock.read();
        reading.at_ms.abs_diff(self.at_ms) <= reading.uncertainty_ms
    }
    fn uncertainty(&self) -> u64 {
        self.clock.read().uncertainty_ms
    }
}

#[test]
fn an_exchange_gives_true_time_within_half_its_round() {
    for (out, back) in [(0, 0), (20, 20), (5, 395), (400, 0)] {
        let mut clocks = Clocks::new(-3_600_000);
        assert!(clocks.exchange(out, back).is_some());
        assert!(clocks.honest(), "{out} + {back}");
        assert!(clocks.uncertainty() <= (out + back) as u64 / 2 + 3);
        assert_eq!(clocks.clock.offset_ms().map(|ms| (ms - 3_600_000).abs() < 300), Some(true));
    }
}

#[test]
fn the_interval_grows_with_the_drift_and_stays_honest_between_exchanges() {
    let mut clocks = Clocks::new(0);
    clocks.exchange(20, 20);
    for _ in 0..600 {
        clocks.at_ms += 1_000;
        clocks.mono_ms += 1_000;
        if clocks.mono_ms % 10_000 == 0 {
            clocks.mono_ms += 1; // 100 ppm fast
        }
        clocks.observe();
    }
    assert!(clocks.honest());
    assert!((60..300).contains(&clocks.uncertainty()), "{}", clocks.uncertainty());
}

#[test]
fn a_wall_clock_set_back_changes_nothing() {
    let mut clocks = Clocks::new(0);
    clocks.exchange(10, 10);
    clocks.wall_off_ms = -7_200_000;
    clocks.pass(1_000);
    assert!(clocks.honest() && clocks.uncertainty() < 50);
}

#[test]
fn a_sleep_is_carried_by_the_wall_clock_and_the_interval_says_so() {
    let mut clocks = Clocks::new(500);
    clocks.exchange(10, 10);
    clocks.sleep(2_400_000);
    assert!(clocks.clock.read().at_ms.abs_diff(clocks.at_ms) < 50, "centred on what most likely happened");
    assert!(clocks.uncertainty() >= 2_400_000, "never a false narrow interval");
    // A step of the wall clock looks the same to the phone. The true time lies within the same interval.
    let mut stepped = Clocks::new(0);
    stepped.exchange(10, 10);
    stepped.wall_off_ms = 2_400_000;
    stepped.pass(10);
    assert!(stepped.honest());
}

#[test]
fn a_wall_clock_a_year_ahead_is_not_believed() {
    let mut clocks = Clocks::new(0);
    clocks.exchange(10, 10);
    clocks.wall_off_ms = 365 * 86_400_000;
    clocks.pass(1_000);
    assert!(clocks.honest());
    assert!(clocks.clock.read().at_ms.abs_diff(clocks.at_ms) < 50, "the monotonic clock carries on");
}

#[test]
fn many_small_sleeps_are_not_overlooked() {
    let mut clocks = Clocks::new(0);
    clocks.exchange(10, 10);
    for _ in 0..100 {
        clocks.sleep(30);
        clocks.pass(1_000);
    }
    assert!(clocks.honest(), "3 s lost in pieces: ± {}", clocks.uncertainty());
}

#[test]
fn a_long_way_measured_by_a_clock_that_runs_wrong_is_in_the_interval() {
    for (there, back) in [(0, 30_000), (30_000, 0)] {
        // Of 30 s this phone's clock counts 4.5 ms too little: 150 parts per million.
        let mut clock = Clock::default();
        let now = |mono_ms| Now { wall_ms: EVENING + mono_ms, mono_ms, random: [0; 32] };
        clock.observe(&now(0));
        clock.observe(&now(29_995));
        let served = EVENING + 100_000;
        let (received_ms, answered_ms) = (served, served);
        clock.exchange(Exchange { sent_mono_ms: 0, received_ms, answered_ms, gaps_ms: 0 }).unwrap();
        let (read, true_ms) = (clock.read(), served + back);
        let off = read.at_ms.abs_diff(true_ms);
        assert!(off <= read.uncertainty_ms, "{there} there, {back} back: {off} ms off, ± {}", read.uncertainty_ms);
    }
}

#[test]
fn an_exchange_during_which_the_phone_slept_measures_nothing() {
    let mut clocks = Clocks::new(0);
    let (sent_mono_ms, gaps_ms) = (clocks.mono_ms, clocks.clock.gaps_ms());
    let served = clocks.at_ms + 10;
    clocks.pass(20);
    clocks.sleep(600_000);
    let exchange = Exchange { sent_mono_ms, received_ms: served, answered_ms: served, gaps_ms };
    assert_eq!(clocks.clock.exchange(exchange), None);
    assert!(clocks.honest());
}

#[test]
fn an_exchange_across_a_clock_set_back_measures_nothing_and_a_new_one_is_asked_for() {
    let mut clocks = Clocks::new(600_000);
    let (sent_mono_ms, gaps_ms) = (clocks.mono_ms, clocks.clock.gaps_ms());
    let served = clocks.at_ms + 10;
    clocks.pass(20);
    // The phone slept for five minutes, and its wall clock was set back by ten.
    clocks.wall_off_ms -= 600_000;
    clocks.sleep(300_000);
    let exchange = Exchange { sent_mono_ms, received_ms: served, answered_ms: served, gaps_ms };
    assert_eq!(clocks.clock.exchange(exchange), None);
    assert!(clocks.clock.gaps_ms() > gaps_ms, "what makes the phone ask at once");
}

#[test]
fn a_worse_exchange_does_not_replace_a_better_one_unless_it_proves_it_wrong() {
    let mut clocks = Clocks::new(0);
    clocks.exchange(5, 5);
    assert!(clocks.exchange(2_000, 2_000).is_none());
    assert!(clocks.uncertainty() < 20);
    // An exchange with impossible time stamps is ignored.
    let exchange =
        Exchange { sent_mono_ms: clocks.mono_ms, received_ms: EVENING, answered_ms: EVENING + 9_000, gaps_ms: 0 };
    assert_eq!(clocks.clock.exchange(exchange), None);
}

#[test]
fn without_any_exchange_it_is_the_wall_clock_and_nothing_vouches_for_it() {
    for off in [90_000, -6 * 3_600_000, 3 * 24 * 3_600_000] {
        assert!(Clocks::new(off).honest(), "{off}");
    }
}

#[test]
fn a_new_session_carries_on_by_the_wall_clock_with_more_doubt() {
    let mut first = Clocks::new(-3_000);
    let anchor = first.exchange(10, 10).unwrap();
    let mut second = Clocks { clock: Clock::default(), at_ms: first.at_ms + 600_000, wall_off_ms: -3_000, mono_ms: 7 };
    second.clock.remember(anchor);
    second.observe();
    assert!(second.honest() && second.clock.read().at_ms.abs_diff(second.at_ms) < 50);
    assert!(second.uncertainty() >= 60_000);
    // The wall clock went back while the app was closed. The estimate of the true time must not go back.
    let mut third = Clocks { clock: Clock::default(), at_ms: first.at_ms + 1_000, wall_off_ms: -7_200_000, mono_ms: 7 };
    third.clock.remember(anchor);
    third.observe();
    assert!(third.honest() && third.clock.read().at_ms >= anchor.at_ms);
}

/// A clock that was set by an exchange of zero length: ± 2 ms, for the rounding of both clocks.
fn exact() -> Clocks {
    let mut clocks = Clocks::new(0);
    clocks.exchange(0, 0).unwrap();
    assert_eq!((clocks.clock.read().at_ms, clocks.uncertainty()), (EVENING, 2));
    clocks
}

#[test]
fn a_gap_is_a_sleep_or_a_step_from_50_ms_and_what_a_system_may_slew_and_is_kept_from_a_second() {
    // An operating system may slew a wall clock by half a millisecond in 1 s, by 50 ms in 100 s, and by 1 s in 2,000 s.
    for (passed_ms, gap_ms, counts, kept) in [
        (1_000, 50, false, false),
        (1_000, 51, true, false),
        (1_000, 999, true, false),
        (1_000, 1_000, true, true),
        (1_000, -999, false, false),
        (1_000, -1_000, true, true),
        (100_000, 100, false, false),
        (100_000, 101, true, false),
        (2_000_000, 1_050, false, false),
        (2_000_000, 1_051, true, true),
        (2_000_000, -1_050, false, false),
        (2_000_000, -1_051, true, true),
    ] {
        let mut clocks = exact();
        clocks.wall_off_ms = gap_ms;
        clocks.pass(passed_ms);
        let said = (clocks.clock.gaps_ms(), clocks.clock.jumped().is_some());
        assert_eq!(said, (if counts { gap_ms.abs() } else { 0 }, kept), "{gap_ms} ms ahead after {passed_ms} ms");
        assert_eq!(clocks.clock.jumped(), None, "once");
    }
}

#[test]
fn a_new_session_doubts_by_a_minute_what_the_wall_clock_lost_and_the_drift_of_the_time_between() {
    let anchor = Anchor { wall_ms: EVENING, at_ms: EVENING, uncertainty_ms: 12 };
    for (closed_ms, at_ms, uncertainty_ms) in
        [(0, EVENING, 60_012), (3_600_000, EVENING + 3_600_000, 60_732), (-7_200_000, EVENING, 7_260_012)]
    {
        let mut clock = Clock::default();
        clock.remember(anchor);
        clock.observe(&Now { wall_ms: EVENING + closed_ms, mono_ms: 7, random: [0; 32] });
        let read = clock.read();
        assert_eq!((read.at_ms, read.uncertainty_ms), (at_ms, uncertainty_ms), "closed for {closed_ms} ms");
    }
}

#[test]
fn the_servers_own_time_is_taken_off_the_round() {
    // The exchange took 140 ms, of which the server took 100. So the way back took 20 ± 20 ms. Rounding adds 2 ms, and
    // the drift of the phone's own clock 1 ms.
    let mut clocks = Clocks::new(0);
    let sent_mono_ms = clocks.mono_ms;
    clocks.pass(140);
    let exchange =
        Exchange { sent_mono_ms, received_ms: 1_000_000, answered_ms: 1_000_100, gaps_ms: clocks.clock.gaps_ms() };
    let anchor = clocks.clock.exchange(exchange).unwrap();
    assert_eq!((anchor.at_ms, anchor.uncertainty_ms), (1_000_120, 23));
}

#[test]
fn stamps_that_no_clock_of_a_server_gives_measure_nothing() {
    let mut clocks = Clocks::new(0);
    assert!(!clocks.clock.exchanged());
    let measured = |clocks: &mut Clocks, received_ms, served_ms| {
        let (sent_mono_ms, answered_ms) = (clocks.mono_ms, received_ms + served_ms);
        clocks.clock.exchange(Exchange { sent_mono_ms, received_ms, answered_ms, gaps_ms: 0 }).is_some()
    };
    assert!(!measured(&mut clocks, 0, 0), "a clock that was never set");
    assert!(!measured(&mut clocks, EVENING, 3), "longer at the server than on the way");
    assert!(!measured(&mut clocks, EVENING, -1));
    assert!(!clocks.clock.exchanged(), "none of these was an exchange");
    assert!(measured(&mut clocks, EVENING, 2), "but both clocks are rounded");
    assert!(clocks.clock.exchanged());
}

#[test]
fn a_worse_exchange_is_believed_if_its_interval_and_the_carried_one_do_not_meet_an_equal_one_always() {
    // After 20 ms of drift the estimate is exact to ± 3 ms. An exchange that takes 20 ms gives ± 13 ms. So at 16 ms
    // apart the two intervals still meet.
    for (apart_ms, taken) in [(16, false), (17, true), (-16, false), (-17, true)] {
        let mut clocks = exact();
        let sent_mono_ms = clocks.mono_ms;
        clocks.pass(20);
        let served = clocks.clock.read().at_ms - 10 + apart_ms;
        let exchange = Exchange { sent_mono_ms, received_ms: served, answered_ms: served, gaps_ms: 0 };
        assert_eq!(clocks.uncertainty(), 3);
        assert_eq!(clocks.clock.exchange(exchange).is_some(), taken, "{apart_ms}");
    }
    assert!(exact().exchange(0, 0).is_some());
}

#[test]
fn a_small_step_back_is_slewed_a_large_one_applied_and_flagged() {
    let mut clocks = Clocks::new(0);
    clocks.exchange(10, 10);
    let last = Timestamp::clamped(clocks.clock.read().at_ms + 1_500);
    let stamp = clocks.clock.stamp(Some(last));
    assert_eq!((stamp.at, stamp.corrected), (last.plus_ms(1), false));
    assert!(stamp.uncertainty_ms > 1_500, "the slew is in the interval");
    let far = Timestamp::clamped(clocks.clock.read().at_ms + 60_000);
    let stamp = clocks.clock.stamp(Some(far));
    assert_eq!((stamp.at.ms(), stamp.corrected), (clocks.clock.read().at_ms, true));
    let before = Timestamp::clamped(clocks.clock.read().at_ms - 1);
    let stamp = clocks.clock.stamp(Some(before));
    assert_eq!((stamp.at.ms(), stamp.corrected), (clocks.clock.read().at_ms, false), "time that went on is no step");
}

fn check_log(scans: &[Scan]) {
    for pair in scans.windows(2) {
        let corrected = pair[1].clock.as_ref().is_some_and(|clock| clock.corrected);
        assert!(pair[0].at < pair[1].at || corrected, "at rises along seq, or says that it was corrected");
    }
}

#[test]
fn scan_times_are_true_and_rise_under_a_clock_set_back_two_hours_and_over_a_restart() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.scan("A-1");
    phone.wall_off_ms = -7_200_000;
    phone.pass(10);
    for code in ["A-2", "A-3"] {
        phone.scan(code); // within one millisecond
    }
    phone.sleep(2_400_000);
    phone.scan("A-4");
    phone.start();
    phone.scan("A-5");
    phone.pass_online(&mut server, 7_000);
    phone.scan("A-6");
    let scans = phone.scans();
    check_log(&scans);
    assert_eq!(scans.len(), 6);
    assert!(scans[1].at.since(scans[0].at) < 100, "the monotonic clock orders them");
    assert!(scans[3].uncertainty_ms >= 2_400_000);
    assert_eq!(scans[1].clock.as_ref().unwrap().wall_ms, scans[1].at.ms() - 7_200_000, "the raw clocks are kept");
    assert!(scans[5].uncertainty_ms < 1_000, "the next exchange makes it narrow again");
}

#[test]
fn what_a_session_saw_of_a_clock_set_or_a_long_sleep_outlives_it() {
    for (set_by, slept) in [(7_200_000, 0), (-7_200_000, 0), (0, 2_400_000), (1_500, 0)] {
        let mut server = Server::new();
        let mut phone = Phone::ready(1, &mut server);
        phone.wall_off_ms += set_by;
        phone.sleep(slept);
        phone.pass_offline(30_000); // The engine sees the jump or the sleep, and gets no other input.
        phone.start();
        phone.scan("A-1");
        let scan = phone.scans().pop().unwrap();
        let off = scan.at.ms().abs_diff(phone.at_ms);
        assert!(off <= scan.uncertainty_ms, "set by {set_by}, slept {slept}: {off} ms off, ± {}", scan.uncertainty_ms);
    }
}

#[test]
fn the_clock_is_asked_first_at_pairing_and_about_every_ten_minutes() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let order: Vec<&str> = phone.log.iter().map(|sent| sent.path.as_str()).collect();
    let place = |path: &str| order.iter().position(|sent| sent.contains(path)).unwrap();
    assert!(place("/time") < place("/manifest"), "{order:?}");
    phone.pass_online(&mut server, 1_900_000);
    let asked = phone.log.iter().filter(|sent| sent.is("/api/scanning/time")).count();
    assert_eq!(asked, 4);
}
