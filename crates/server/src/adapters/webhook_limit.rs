//! Limits the messages of each webhook endpoint: a sliding log per endpoint, in the memory of this node.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use admit_app::error::{Error, Result};
use admit_core::rate::{RateDecision, SlidingLog};

/// The number of remembered endpoints from which idle ones are removed.
const SWEEP_FROM: usize = 1_024;

/// Counts the signed messages of every endpoint. Unsigned messages are not counted, or a stranger could use up the
/// limit.
#[derive(Debug)]
pub struct WebhookLimit {
    limit: u32,
    logs: Mutex<BTreeMap<String, SlidingLog>>,
}

impl WebhookLimit {
    /// A limit of `limit` messages per endpoint in any 60 s.
    pub fn new(limit: u32) -> Self {
        Self { limit, logs: Mutex::default() }
    }
    /// Allows a message, or fails with `rate_limited`. `now_ms` must come from a monotonic clock.
    pub fn take(&self, endpoint_id: &str, now_ms: i64) -> Result<()> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if logs.len() >= SWEEP_FROM {
            logs.retain(|_, log| !log.is_idle(now_ms));
        }
        match logs.entry(endpoint_id.to_owned()).or_default().take(now_ms, self.limit) {
            RateDecision::Allowed => Ok(()),
            RateDecision::Refused { retry_after_seconds } => {
                let retry_after_ms = i64::try_from(retry_after_seconds).unwrap_or(60).saturating_mul(1_000);
                Err(Error::Later { code: "rate_limited", retry_after_ms })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_an_endpoints_own() {
        let limit = WebhookLimit::new(1);
        assert_eq!(limit.take("a", 0), Ok(()));
        assert_eq!(limit.take("a", 1), Err(Error::Later { code: "rate_limited", retry_after_ms: 60_000 }));
        assert_eq!(limit.take("b", 1), Ok(()));
        assert_eq!(limit.take("a", 60_000), Ok(()));
    }
}
