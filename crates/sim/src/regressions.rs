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

/// Whether a seed was kept before the faults `again` and `busy` existed. With these faults the seed would draw another
/// world.
pub fn before_later_faults(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# With again and busy"));
    EARLIER.contains(&seed)
}

/// Whether a seed was kept while worlds with several organisations still had faults in the work that the server does
/// for all organisations at once.
pub fn before_sparing(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Spared"));
    EARLIER.contains(&seed)
}

/// Whether a seed was kept before most worlds were small, and before the faults that were added at that time.
pub fn before_small_worlds(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Small"));
    EARLIER.contains(&seed)
}

/// Whether a seed was kept before the server was killed more often, died more often inside transactions, and batches
/// were refused whole.
pub fn before_kills(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Kills"));
    EARLIER.contains(&seed)
}

/// Whether a seed was kept before drafts, ended events and days existed.
pub fn before_doors(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Doors"));
    EARLIER.contains(&seed)
}

/// Whether a seed was kept before guests were added at the doors and the tickets of one order (a booking) were admitted
/// together.
pub fn before_guests(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Guests"));
    EARLIER.contains(&seed)
}

/// Whether a seed was kept before people without a ticket were counted.
pub fn before_headcounts(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Headcounts"));
    EARLIER.contains(&seed)
}

/// The seeds above the comment with this beginning.
fn above(comment: &str) -> BTreeSet<u64> {
    let lines = REGRESSIONS.lines().take_while(|line| !line.starts_with(comment));
    lines.filter_map(|line| line.split_whitespace().nth(1)?.parse().ok()).collect()
}
