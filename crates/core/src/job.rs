//! Work that must follow a commit and survives a crash: the state of a run, and how long a failed step waits.

use crate::limits::{JOB_NOT_SET_UP_MS, JOB_RETRY_FIRST_MS, JOB_RETRY_MAX_MS};
use crate::words::words;

words! {
    /// The state of a run.
    RunState {
        /// The run is under way, or waits for its next try.
        Open = "open",
        /// Every step of the run is done.
        Done = "done",
        /// The run was tried as often as allowed, or another try makes no sense. A person decides.
        GaveUp = "gave_up",
    }
}

/// How long a step waits after its `tries`-th failure, in milliseconds. The wait doubles, up to [`JOB_RETRY_MAX_MS`].
/// `random` adds up to a tenth, so that steps that failed together are not tried together.
pub fn backoff_ms(tries: u32, random: u8) -> i64 {
    let doublings = tries.saturating_sub(1).min(32);
    let wait = JOB_RETRY_FIRST_MS.saturating_mul(1_i64 << doublings).min(JOB_RETRY_MAX_MS);
    spread(wait, random)
}

/// How long a run waits if the server lacks a setting for it, in milliseconds. The wait equals the run's age, within
/// the bounds of [`JOB_NOT_SET_UP_MS`], and `random` adds up to a tenth. Tries of such a run are not counted, so the
/// wait depends on its age.
pub fn not_set_up_ms(age_ms: i64, random: u8) -> i64 {
    let (least, most) = JOB_NOT_SET_UP_MS;
    spread(age_ms.clamp(least, most), random)
}

fn spread(wait: i64, random: u8) -> i64 {
    wait + wait * i64::from(random) / 2_560
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::JOB_TRIES;

    #[test]
    fn waits_double_up_to_the_longest() {
        let waits: Vec<i64> = (1..=12).map(|tries| backoff_ms(tries, 0) / 1_000).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
        assert_eq!(backoff_ms(u32::MAX, 0), JOB_RETRY_MAX_MS);
        assert_eq!((backoff_ms(1, 255), backoff_ms(0, 0)), (1_099, 1_000));
    }

    #[test]
    fn what_lacks_a_setting_is_looked_at_every_one_to_five_minutes() {
        let seconds = |age_ms| not_set_up_ms(age_ms, 0) / 1_000;
        let ages = [i64::MIN, 0, 60_001, 120_000, 300_000, i64::MAX];
        assert_eq!(ages.map(seconds), [60, 60, 60, 120, 300, 300]);
        assert_eq!(not_set_up_ms(i64::MAX, 255), 329_882);
    }

    #[test]
    fn a_step_is_tried_for_about_a_day() {
        let hours = (1..JOB_TRIES).map(|tries| backoff_ms(tries, 0)).sum::<i64>() / 3_600_000;
        assert!((22..=26).contains(&hours), "{hours}");
    }
}
