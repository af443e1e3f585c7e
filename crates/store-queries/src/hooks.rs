//! The hooks through which the simulator injects faults into a store and sets its clock. Both backends call the same
//! hooks at the same places, so one seed gives the same run on either.

use std::sync::Arc;

use admit_app::error::Error;

/// The effect of the commit hook on a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitFault {
    /// No fault: the commit runs normally.
    Proceed,
    /// The transaction is rolled back before its commit, and the caller gets an error.
    Lose,
    /// The commit succeeds, but the caller gets an error as if the answer was lost.
    LostAck,
}

/// The effect of the statement hook on a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementFault {
    /// No fault: the statement runs normally.
    Proceed,
    /// The process dies before this statement. The transaction is rolled back and the caller gets an error. The
    /// simulator then lets the store crash.
    Crash,
    /// The process dies before this statement, and the writes so far stay. No real store does this. It proves that the
    /// check for partial writes finds them. Only the embedded store does it; PostgreSQL treats it as
    /// [`StatementFault::Crash`].
    Torn,
}

/// The error that an injected fault returns. It is the same on both backends, so a seed runs the same on both. Errors
/// of real faults are not: each backend asks the client for another pause before the retry.
pub fn planted() -> Error {
    Error::Later { code: "store_unavailable", retry_after_ms: 5_000 }
}

/// Gives the database's clock, in milliseconds since 1970.
pub type ClockHook = Arc<dyn Fn() -> i64 + Send + Sync>;
/// Is called before every commit of a write.
pub type CommitHook = Arc<dyn Fn() -> CommitFault + Send + Sync>;
/// Is called before every statement of a write, with the statement's name.
pub type StatementHook = Arc<dyn Fn(&'static str) -> StatementFault + Send + Sync>;
