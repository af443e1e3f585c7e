//! The reader of codes: when it was last used, and how its keyboard is set.

use super::session::Session;
use crate::limits;

/// The reader of codes.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The monotonic clock when a code was last read.
    used_at: Option<i64>,
    /// Whether the other keyboard layout of the hardware reader is tried first, because the last ticket was found by
    /// it.
    other_layout: bool,
}

impl Reader {
    /// Takes note that a code was read, or that staff admitted somebody by hand.
    pub fn used(&mut self, session: &Session) {
        self.used_at = Some(session.mono());
    }
    /// Whether a code was read lately. Only then does the device send pings, which measure the round trip.
    pub fn in_use(&self, session: &Session) -> bool {
        self.used_at.is_some_and(|at| session.mono() - at < limits::IN_USE_MS)
    }
    /// Whether the other keyboard layout is tried first.
    pub fn tries_other_first(&self) -> bool {
        self.other_layout
    }
    /// Takes note by which keyboard layout the last ticket was found.
    pub fn found_by(&mut self, other_layout: bool) {
        self.other_layout = other_layout;
    }
}
