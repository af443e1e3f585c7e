//! The sync limit: an exact bound on the syncs in *any* window of 60 s (spec §5 "Rate limit").
//!
//! The limit is a sliding log, not a token bucket: "10 in any 60 s" holds wherever the minute begins. Memory or Redis
//! keeps the times of the syncs that were allowed, and this module decides.

/// Length of the window, in milliseconds.
pub const WINDOW_MS: i64 = 60_000;

/// The decision on one sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateDecision {
    /// Allow the sync and add its time to the log.
    Allowed,
    /// Answer 429 and don't add the sync to the log.
    Refused {
        /// The value of `Retry-After` in seconds, rounded up, at least 1.
        retry_after_seconds: u64,
    },
}

/// Decides on a sync at `now_ms`. `taken_ms` holds the times of the allowed syncs in any order. `limit` is the highest
/// number of syncs in any 60 s. A time in the future (a clock set back) counts as in the window. A limit of 0 refuses
/// all.
pub fn decide_rate(taken_ms: &[i64], now_ms: i64, limit: u32) -> RateDecision {
    let mut recent: Vec<i64> = taken_ms.iter().copied().filter(|at| at.saturating_add(WINDOW_MS) > now_ms).collect();
    recent.sort_unstable();
    let limit = limit as usize;
    if recent.len() < limit {
        return RateDecision::Allowed;
    }
    // There is room again once all but `limit − 1` entries of the log have left the window.
    let leaves = recent.len().checked_sub(limit.max(1)).map_or(now_ms, |at| recent[at]);
    let wait_ms = leaves.saturating_add(WINDOW_MS).saturating_sub(now_ms).clamp(1, WINDOW_MS);
    RateDecision::Refused { retry_after_seconds: (wait_ms as u64).div_ceil(1_000) }
}

/// The log of one device, in memory.
#[derive(Debug, Clone, Default)]
pub struct SlidingLog {
    taken_ms: Vec<i64>,
}

impl SlidingLog {
    /// Decides on a sync, and notes its time if the sync is allowed.
    pub fn take(&mut self, now_ms: i64, limit: u32) -> RateDecision {
        self.taken_ms.retain(|at| at.saturating_add(WINDOW_MS) > now_ms);
        let decision = decide_rate(&self.taken_ms, now_ms, limit);
        if decision == RateDecision::Allowed {
            self.taken_ms.push(now_ms);
        }
        decision
    }
    /// Removes the entry of `at_ms` again, because another log refused that sync.
    pub fn give_back(&mut self, at_ms: i64) {
        if let Some(place) = self.taken_ms.iter().rposition(|at| *at == at_ms) {
            self.taken_ms.remove(place);
        }
    }
    /// Whether no sync of the last 60 s is noted here, so that the caller may drop this log.
    pub fn is_idle(&self, now_ms: i64) -> bool {
        self.taken_ms.iter().all(|at| at.saturating_add(WINDOW_MS) <= now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(seconds: u64) -> RateDecision {
        RateDecision::Refused { retry_after_seconds: seconds }
    }

    #[test]
    fn ten_go_through_and_the_eleventh_waits_for_the_oldest_to_leave() {
        let mut log = SlidingLog::default();
        for i in 0..10 {
            assert_eq!(log.take(i * 1_000, 10), RateDecision::Allowed);
        }
        assert_eq!(log.take(10_000, 10), refused(50));
        assert_eq!(log.take(59_001, 10), refused(1), "rounded up");
        assert_eq!(log.take(59_999, 10), refused(1));
        assert_eq!(log.take(60_000, 10), RateDecision::Allowed, "the first left the window");
        assert_eq!(log.take(60_000, 10), refused(1), "the second has not");
    }

    #[test]
    fn what_is_given_back_makes_room_again() {
        let mut log = SlidingLog::default();
        assert_eq!(log.take(5, 1), RateDecision::Allowed);
        log.give_back(4);
        assert_eq!(log.take(6, 1), refused(60), "nothing was noted at 4");
        log.give_back(5);
        assert_eq!(log.take(6, 1), RateDecision::Allowed);
    }

    #[test]
    fn no_sixty_seconds_ever_hold_more_than_the_limit() {
        let mut log = SlidingLog::default();
        let mut through = Vec::new();
        let (mut at, mut step) = (0_i64, 7_u64);
        while at < 600_000 {
            if log.take(at, 10) == RateDecision::Allowed {
                through.push(at);
            }
            step = step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            at += (step >> 40) as i64 % 4_000;
        }
        for window in through.windows(11) {
            assert!(window[10] - window[0] >= WINDOW_MS, "{window:?}");
        }
        assert!(through.len() >= 90, "and the limit is used up: {}", through.len());
    }

    #[test]
    fn whoever_waits_as_told_gets_through() {
        let taken: Vec<i64> = (0..10).map(|i| i * 777).collect();
        for now in [7_000, 20_123, 59_999] {
            let RateDecision::Refused { retry_after_seconds } = decide_rate(&taken, now, 10) else { panic!("{now}") };
            assert_eq!(decide_rate(&taken, now + retry_after_seconds as i64 * 1_000, 10), RateDecision::Allowed);
        }
    }

    #[test]
    fn odd_clocks_and_limits_have_an_answer() {
        assert_eq!(decide_rate(&[], 0, 0), refused(60));
        assert_eq!(decide_rate(&[500_000; 10], 0, 10), refused(60), "the clock was set back: at most a window");
        assert_eq!(decide_rate(&[i64::MAX], i64::MIN, 1), refused(60));
        assert!(SlidingLog::default().is_idle(0));
    }
}
