//! Repeats a measurement and chooses the number that represents it.

use std::time::Instant;

/// The median; of an even number of values the lower of the middle two. 0 if there are no values.
pub fn median(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

/// The smallest value that at least the share `share` (0 to 1) of all values does not exceed. 0 if there are no
/// values.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// Runs `work` once to warm up, then `runs` times. Gives the milliseconds of each counted run.
pub fn times_ms<T>(runs: usize, mut work: impl FnMut() -> T) -> Vec<f64> {
    std::hint::black_box(work());
    (0..runs)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(work());
            start.elapsed().as_secs_f64() * 1_000.0
        })
        .collect()
}

/// Runs two functions alternately, so that a slow moment of the machine affects both. Gives the median milliseconds of
/// each.
pub fn by_turns_ms<A, B>(runs: usize, mut first: impl FnMut() -> A, mut second: impl FnMut() -> B) -> (f64, f64) {
    let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
    for _ in 0..=runs {
        firsts.push(times_ms_once(&mut first));
        seconds.push(times_ms_once(&mut second));
    }
    // The first round only warms up.
    (median(&firsts[1..]), median(&seconds[1..]))
}

fn times_ms_once<T>(work: &mut impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed().as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(median(&values), 3.0);
        assert_eq!(percentile(&values, 0.99), 5.0);
        assert_eq!(percentile(&values, 0.0), 1.0);
        assert_eq!(median(&[1.0, 2.0]), 1.0);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn the_warm_up_does_not_count() {
        let mut runs = 0;
        assert_eq!(times_ms(3, || runs += 1).len(), 3);
        assert_eq!(runs, 4);
    }
}
