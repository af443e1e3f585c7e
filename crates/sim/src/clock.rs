//! A device's clocks: what a phone reads while true time passes.

use crate::rng::Rng;

/// The wall and monotonic clocks of one phone.
#[derive(Debug, Clone)]
pub struct PhoneClock {
    /// Wall clock minus true time at the last change, in milliseconds.
    offset_ms: i64,
    /// The error of the clock's speed, in parts per million.
    drift_ppm: i64,
    /// The true time of the last change, in milliseconds.
    since_ms: i64,
    /// The true time when the app started, plus the time that the phone slept since then. The monotonic clock counts
    /// from here.
    started_ms: i64,
}

impl PhoneClock {
    /// Makes a phone's clock at true time `now_ms`.
    pub fn new(rng: &mut Rng, now_ms: i64, most_offset_ms: i64, most_drift_ppm: i64) -> Self {
        Self {
            offset_ms: rng.between(-most_offset_ms, most_offset_ms),
            drift_ppm: rng.between(-most_drift_ppm, most_drift_ppm),
            since_ms: now_ms,
            started_ms: now_ms,
        }
    }
    fn drifted(&self, ms: i64) -> i64 {
        ms + ms * self.drift_ppm / 1_000_000
    }
    /// The reading of the wall clock at true time `now_ms`.
    pub fn wall_ms(&self, now_ms: i64) -> i64 {
        self.since_ms + self.offset_ms + self.drifted(now_ms - self.since_ms)
    }
    /// The reading of the session's monotonic clock at true time `now_ms`.
    pub fn mono_ms(&self, now_ms: i64) -> i64 {
        self.drifted(now_ms - self.started_ms)
    }
    /// The true time when the monotonic clock will read `mono_ms`, or shortly after.
    pub fn true_at_mono(&self, mono_ms: i64) -> i64 {
        let guess = self.started_ms + mono_ms - mono_ms * self.drift_ppm / 1_000_000;
        (guess - 2..=guess + 2).find(|at| self.mono_ms(*at) >= mono_ms).unwrap_or(guess + 3)
    }
    /// Starts the app: a new session, whose monotonic clock begins at zero.
    pub fn restart(&mut self, now_ms: i64) {
        self.started_ms = now_ms;
    }
    /// Sets the wall clock forward by `by_ms` milliseconds, or back.
    pub fn step(&mut self, now_ms: i64, by_ms: i64) {
        self.offset_ms = self.wall_ms(now_ms) - now_ms + by_ms;
        self.since_ms = now_ms;
    }
    /// Lets the phone sleep for `ms` milliseconds, in which its monotonic clock stands still (trust §2).
    pub fn slept(&mut self, ms: i64) {
        self.started_ms += ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_stops_in_sleep_and_starts_anew_with_the_app_while_the_wall_goes_on() {
        let mut clock = PhoneClock { offset_ms: 500, drift_ppm: 0, since_ms: 1_000, started_ms: 1_000 };
        assert_eq!((clock.wall_ms(2_000), clock.mono_ms(2_000)), (2_500, 1_000));
        clock.slept(400);
        assert_eq!((clock.wall_ms(2_400), clock.mono_ms(2_400)), (2_900, 1_000));
        clock.step(2_400, -10_000);
        assert_eq!((clock.wall_ms(2_500), clock.mono_ms(2_500)), (-7_000, 1_100));
        clock.restart(3_000);
        assert_eq!((clock.wall_ms(3_000), clock.mono_ms(3_000)), (-6_500, 0));
    }

    #[test]
    fn a_wake_comes_when_the_phones_own_clock_says_so() {
        for drift_ppm in [-150, 0, 150] {
            let clock = PhoneClock { offset_ms: 0, drift_ppm, since_ms: 0, started_ms: 0 };
            for mono in [0, 1, 999, 30_000, 3_600_000] {
                let at = clock.true_at_mono(mono);
                assert!(clock.mono_ms(at) >= mono && clock.mono_ms(at - 2) <= mono, "{drift_ppm} {mono} {at}");
            }
        }
    }
}
