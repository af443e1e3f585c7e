//! When to ask the server again. Each kind of request has a lane of its own, and a lane has at most one request under
//! way (S1 §4.4, spec §5).

use crate::limits;

/// One kind of request.
#[derive(Debug, Clone, Default)]
pub struct Lane {
    /// Monotonic clock of the next try, by the lane's own rhythm or after a failure.
    next_at: i64,
    /// The server said: not before this (`Retry-After`). Nothing cuts it short.
    not_before: i64,
    /// Failures in a row.
    failures: u32,
    /// The random number of the last failure, 0–1,000: how much of each spread this lane uses.
    jitter: u32,
    /// The request under way.
    request: Option<u64>,
    /// Something was heard while it was under way that its answer cannot tell of: one more try follows at once.
    again: bool,
}

impl Lane {
    /// Whether a request is under way.
    pub fn busy(&self) -> bool {
        self.request.is_some()
    }
    /// The request under way.
    pub fn request(&self) -> Option<u64> {
        self.request
    }
    /// Failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }
    /// When it may try next.
    pub fn due_at(&self) -> i64 {
        self.next_at.max(self.not_before)
    }
    /// A request left.
    pub fn sent(&mut self, request: u64) {
        self.request = Some(request);
    }
    /// It was answered as hoped; the next is due `after_ms` from now.
    pub fn done(&mut self, now_ms: i64, after_ms: i64) {
        let after_ms = if self.again { after_ms.min(0) } else { after_ms };
        *self = Self { next_at: now_ms.saturating_add(after_ms), ..Self::default() };
    }
    /// It was not answered as hoped: 1, 2, 4, 8, 16 s, then the longest wait, for ever; `jitter` is any number.
    pub fn failed(&mut self, now_ms: i64, jitter: u32) {
        let doublings = self.failures.min(limits::RETRY_ROUND);
        let wait = (limits::RETRY_FIRST_MS << doublings).min(limits::RETRY_MAX_MS);
        // A quarter off, or less: the longest wait stays the longest, and a crowd of devices spreads out.
        self.jitter = jitter % 1_001;
        let off = wait / 4 * i64::from(self.jitter) / 1_000;
        self.request = None;
        self.failures = self.failures.saturating_add(1);
        let wait_ms = if std::mem::take(&mut self.again) { 0 } else { wait - off };
        self.next_at = now_ms.saturating_add(wait_ms);
    }
    /// Wait at least so long, whatever else is asked.
    pub fn hold(&mut self, now_ms: i64, for_ms: i64) {
        self.not_before = now_ms.saturating_add(for_ms.clamp(0, limits::POISON_EVERY_MS));
    }
    /// Waits as long as the server said, whatever else is asked. Then it waits a little longer, growing with each
    /// repetition. A crowd that was turned away at one moment would otherwise come back at one moment, and be
    /// turned away again.
    pub fn turned_away(&mut self, now_ms: i64, for_ms: i64) {
        let longest = limits::RETRY_SPREAD_MS.saturating_mul(i64::from(self.failures.min(limits::RETRY_ROUND)));
        let spread = (for_ms / 4).min(longest) * i64::from(self.jitter) / 1_000;
        self.hold(now_ms, for_ms.saturating_add(spread));
    }
    /// Wait at least so long, unless something says that it is worth a try.
    pub fn pause(&mut self, now_ms: i64, for_ms: i64) {
        self.next_at = self.next_at.max(now_ms.saturating_add(for_ms));
    }
    /// Forget the request under way and try as soon as due.
    pub fn drop_request(&mut self) -> Option<u64> {
        self.request.take()
    }
    /// There is news: no more waiting of our own.
    pub fn hurry(&mut self, now_ms: i64) {
        self.next_at = self.next_at.min(now_ms);
    }
    /// The network is back, or staff asked: as [`hurry`](Self::hurry), and a request that left before is followed by one
    /// more. It may have left without a network, and the server may have answered it before what staff ask about.
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
        // As long as the server said; then of the quarter, or of the seconds, as much as the failure drew.
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
