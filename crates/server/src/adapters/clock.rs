//! The machine's clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use admit_app::ports::Clock;
use admit_core::time::Timestamp;

/// The system's wall clock, and a monotonic one that starts with the process.
#[derive(Debug, Clone)]
pub struct SystemClock {
    started: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { started: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::clamped(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
    fn monotonic_ms(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}
