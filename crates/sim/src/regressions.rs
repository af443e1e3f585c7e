//! Seeds that are kept, because they once found something.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Seeds that broke a promise once: run first, for ever. Level and seed a line, `#` begins a comment.
pub const REGRESSIONS: &str = include_str!("../regressions.txt");

/// The seeds of [`REGRESSIONS`] at a level.
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

/// Whether a seed of any level is kept from before there were the faults `again` and `busy`: with them it would be
/// another world.
pub fn before_later_faults(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# With again and busy"));
    EARLIER.contains(&seed)
}

/// Whether a seed is kept from before what the server does for every organisation was spared: the same.
pub fn before_sparing(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Spared"));
    EARLIER.contains(&seed)
}

/// Whether a seed is kept from before most worlds were small and there were the faults that came with them: the same.
pub fn before_small_worlds(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Small"));
    EARLIER.contains(&seed)
}

/// Whether a seed is kept from before the server was killed more often, died more often inside a transaction, and batches were
/// refused whole: the same.
pub fn before_kills(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Kills"));
    EARLIER.contains(&seed)
}

/// Whether a seed is kept from before there were drafts, ended events and days: the same.
pub fn before_doors(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Doors"));
    EARLIER.contains(&seed)
}

/// Whether a seed is kept from before guests were added at the doors and bookings let in at once: the same.
pub fn before_guests(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Guests"));
    EARLIER.contains(&seed)
}

/// Whether a seed is kept from before people without a ticket were counted: the same.
pub fn before_headcounts(seed: u64) -> bool {
    static EARLIER: LazyLock<BTreeSet<u64>> = LazyLock::new(|| above("# Headcounts"));
    EARLIER.contains(&seed)
}

/// The seeds above the comment that begins so.
fn above(comment: &str) -> BTreeSet<u64> {
    let lines = REGRESSIONS.lines().take_while(|line| !line.starts_with(comment));
    lines.filter_map(|line| line.split_whitespace().nth(1)?.parse().ok()).collect()
}
