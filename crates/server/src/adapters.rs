//! The ports' concrete parts that need no network: clock, randomness, hints within one process, the sync limit.

pub mod clock;
pub mod random;
pub mod hints_local;
pub mod sync_limit;
