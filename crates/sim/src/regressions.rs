//! Regression seeds: seeds that once found a bug.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The regression seeds, which run first. Each line has a level and a seed; `#` begins a comment.
pub const REGRESSIONS: &str = include_str!("../regressions.txt");

/// The regression seeds of a level.
pub fn regressions(level: u8) -> Vec<u64> {
    let lines = REGRESSIONS.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let of: u8 = words.next()?.parse().ok()?;
            words.next()?.parse().ok().filter(|_| of == level)
        })
        .collect()
}

/// Whether this regression seed found its bug before the simulator had the faults `again` and `busy`. Its runs leave
/// these faults out, because with them the seed would draw another world.
pub fn before_later_faults(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# With again and busy"));
    EARLIER.contains(&seed)
}

/// Whether this regression seed found its bug when the simulator still injected faults into work that the server does
/// for all organisations at once. Its runs still get such faults.
pub fn before_sparing(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Spared"));
    EARLIER.contains(&seed)
}

/// Whether this regression seed found its bug before the simulator made most worlds small, and before it had the faults
/// that `Config::draw_later` draws. Its runs leave both out.
pub fn before_small_worlds(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Small"));
    EARLIER.contains(&seed)
}

/// Whether this regression seed found its bug before the simulator killed the server more often, let it die more often
/// inside transactions, and let a proxy refuse whole batches. Its runs have fewer kills and no such proxy.
pub fn before_kills(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Kills"));
    EARLIER.contains(&seed)
}

/// Whether this regression seed found its bug before the simulator had drafts, ended events and days. Its runs leave
/// these out.
pub fn before_doors(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Doors"));
    EARLIER.contains(&seed)
}

/// Whether this regression seed found its bug before the simulator could add guests at the doors and admit the tickets
/// of one order together. Its runs leave both out.
pub fn before_guests(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Guests"));
    EARLIER.contains(&seed)
}

/// Whether this regression seed found its bug before the simulator could count people without a ticket. Its runs count
/// none.
pub fn before_headcounts(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Headcounts"));
    EARLIER.contains(&seed)
}

/// The seeds above the comment with this beginning.
fn above(comment: &str) -> BTreeSet<u64> {
    let lines = REGRESSIONS.lines().take_while(|line| !line.starts_with(comment));
    lines.filter_map(|line| line.split_whitespace().nth(1)?.parse().ok()).collect()
}
