//! The hooks through which a simulator plants faults in a store and sets its clock. They are the same for both
//! backends and are asked at the same places, so that one seed is one run on either.

use std::sync::Arc;

use admit_app::error::Error;

/// The effect of a planted fault on a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitFault {
    /// No fault.
    Proceed,
    /// The transaction is lost before its commit: rolled back, and answered as an error.
    Lose,
    /// The commit happens, its answer is lost: an error is answered.
    LostAck,
}

/// The effect of a planted fault on a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementFault {
    /// No fault.
    Proceed,
    /// The process dies before this statement: the transaction is rolled back, an error is answered. The simulator then
    /// lets the store crash.
    Crash,
    /// The same, and the transaction's writes so far stay: no store does this. It proves that the check for such
    /// writes finds them, in the embedded store; the other takes it for [`StatementFault::Crash`].
    Torn,
}

/// The answer to what a planted fault hit: the same of both backends, though each has its own pause before a client asks
/// again after a fault of its own.
pub fn planted() -> Error {
    Error::Later { code: "store_unavailable", retry_after_ms: 5_000 }
}

/// The database's clock: milliseconds since 1970.
pub type ClockHook = Arc<dyn Fn() -> i64 + Send + Sync>;
/// Asked before every commit of a write.
pub type CommitHook = Arc<dyn Fn() -> CommitFault + Send + Sync>;
/// Asked before every statement of a write, by the statement's name.
pub type StatementHook = Arc<dyn Fn(&'static str) -> StatementFault + Send + Sync>;
