//! The timing of requests to the server. Each kind of request has its own lane, and a lane has at most one request
//! under way (S1 §4.4, spec §5).

use crate::limits;

/// The timing of one kind of request.
#[derive(Debug, Clone, Default)]
pub struct Lane {
    /// The monotonic time of the next try, set by the lane's interval or after a failure.
    next_at: i64,
    /// The server asked for no request before this time (`Retry-After`). Nothing shortens this wait.
    not_before: i64,
    /// Failures in a row.
    failures: u32,
    /// The random number of the last failure, 0–1,000. It sets how much the waits of this lane differ from those of
    /// other devices.
    jitter: u32,
    /// The request under way. Absent if there is none.
    request: Option<u64>,
    /// Whether one more request must follow at once. Something happened during the request under way that its answer
    /// cannot include.
    again: bool,
}

impl Lane {
    /// Whether a request is under way.
    pub fn busy(&self) -> bool {
        self.request.is_some()
    }
    /// The request under way. `None` if there is none.
    pub fn request(&self) -> Option<u64> {
        self.request
    }
    /// Failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }
    /// The monotonic clock of the next allowed try.
    pub fn due_at(&self) -> i64 {
        self.next_at.max(self.not_before)
    }
    /// Notes that a request left.
    pub fn sent(&mut self, request: u64) {
        self.request = Some(request);
    }
    /// Notes a successful answer. The next request is due in `after_ms`.
    pub fn done(&mut self, now_ms: i64, after_ms: i64) {
        let after_ms = if self.again { after_ms.min(0) } else { after_ms };
        *self = Self { next_at: now_ms.saturating_add(after_ms), ..Self::default() };
    }
    /// Notes a failure. The waits are 1, 2, 4, 8, 16 s, then always [`limits::RETRY_MAX_MS`], each shortened by up to a
    /// quarter. `jitter` is any random number, and sets how much.
    pub fn failed(&mut self, now_ms: i64, jitter: u32) {
        let doublings = self.failures.min(limits::RETRY_ROUND);
        let wait = (limits::RETRY_FIRST_MS << doublings).min(limits::RETRY_MAX_MS);
        // Up to a quarter of the wait is taken off. So the longest wait is never exceeded, and many devices spread out.
        self.jitter = jitter % 1_001;
        let off = wait / 4 * i64::from(self.jitter) / 1_000;
        self.request = None;
        self.failures = self.failures.saturating_add(1);
        let wait_ms = if std::mem::take(&mut self.again) { 0 } else { wait - off };
        self.next_at = now_ms.saturating_add(wait_ms);
    }
    /// Waits at least `for_ms`, even if something asks for a try.
    pub fn hold(&mut self, now_ms: i64, for_ms: i64) {
        self.not_before = now_ms.saturating_add(for_ms.clamp(0, limits::POISON_EVERY_MS));
    }
    /// Waits as long as the server said, even if something asks for a try. A random extra wait follows, which grows
    /// with each failure in a row. Otherwise devices that were turned away at one moment would return at one moment,
    /// and be turned away again.
    pub fn turned_away(&mut self, now_ms: i64, for_ms: i64) {
        let longest = limits::RETRY_SPREAD_MS.saturating_mul(i64::from(self.failures.min(limits::RETRY_ROUND)));
        let spread = (for_ms / 4).min(longest) * i64::from(self.jitter) / 1_000;
        self.hold(now_ms, for_ms.saturating_add(spread));
    }
    /// Waits at least `for_ms`. [`Lane::hurry`] may shorten this wait.
    pub fn pause(&mut self, now_ms: i64, for_ms: i64) {
        self.next_at = self.next_at.max(now_ms.saturating_add(for_ms));
    }
    /// Forgets the request under way and returns it. The next try comes as soon as it is due.
    pub fn drop_request(&mut self) -> Option<u64> {
        self.request.take()
    }
    /// Ends the lane's own wait, because there is news. A wait that the server asked for stays.
    pub fn hurry(&mut self, now_ms: i64) {
        self.next_at = self.next_at.min(now_ms);
    }
    /// Like [`hurry`](Self::hurry), after the network returned or staff asked. If a request is under way, one more
    /// follows it. The first may have left without a network, or the server may have answered it too early to see what
    /// staff ask about.
    pub fn ask_again(&mut self, now_ms: i64) {
        self.hurry(now_ms);
        self.again |= self.busy();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_is_under_way_until_it_is_answered_or_failed_or_forgotten() {
        let mut lane = Lane::default();
        assert_eq!((lane.busy(), lane.request(), lane.drop_request()), (false, None, None));
        let ends: [fn(&mut Lane); 3] = [
            |lane| lane.done(0, 0),
            |lane| lane.failed(0, 0),
            |lane| assert_eq!(lane.drop_request(), Some(7), "which one it was"),
        ];
        for end in ends {
            lane.sent(7);
            assert_eq!((lane.busy(), lane.request()), (true, Some(7)));
            end(&mut lane);
            assert_eq!((lane.busy(), lane.request()), (false, None));
        }
    }

    #[test]
    fn a_failure_waits_1_2_4_8_16_and_then_30_s_and_up_to_a_quarter_less() {
        for (jitter, waits) in [
            (0, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]),
            (500, [875, 1_750, 3_500, 7_000, 14_000, 26_250, 26_250, 26_250]),
            (1_000, [750, 1_500, 3_000, 6_000, 12_000, 22_500, 22_500, 22_500]),
        ] {
            let mut lane = Lane::default();
            for wait in waits {
                lane.failed(100_000, jitter);
                assert_eq!(lane.due_at(), 100_000 + wait, "jitter {jitter}, failure {}", lane.failures());
            }
        }
    }

    #[test]
    fn who_asks_while_a_request_is_under_way_gets_one_more_at_once() {
        let ends: [fn(&mut Lane); 2] = [|lane| lane.done(100, 30_000), |lane| lane.failed(100, 0)];
        for end in ends {
            let mut lane = Lane::default();
            lane.sent(7);
            lane.ask_again(50);
            end(&mut lane);
            assert_eq!(lane.due_at(), 100);
            lane.sent(8);
            end(&mut lane);
            assert!(lane.due_at() > 100, "one more, not one after another");
            lane.ask_again(60);
            assert_eq!(lane.due_at(), 60, "nothing is under way");
        }
    }

    #[test]
    fn who_is_turned_away_comes_up_to_a_quarter_later_and_no_more_than_a_second_for_each_failure() {
        // The wait is as the server said. The extra wait is the smaller of a quarter and a second per failure, times
        // the jitter.
        for (failures, jitter, said_ms, waits_ms) in [
            (1, 0, 60_000, 60_000),
            (1, 1_000, 2_000, 2_500),
            (1, 500, 2_000, 2_250),
            (1, 1_000, 60_000, 61_000),
            (3, 1_000, 60_000, 63_000),
            (3, 1_000, 8_000, 10_000),
            (9, 1_000, 60_000, 65_000),
        ] {
            let mut lane = Lane::default();
            (0..failures).for_each(|_| lane.failed(-100_000, jitter));
            lane.turned_away(0, said_ms);
            assert_eq!(lane.due_at(), waits_ms, "{failures} failures, jitter {jitter}, told {said_ms}");
            lane.hurry(0);
            assert_eq!(lane.due_at(), waits_ms, "whatever else is asked");
        }
    }
}
