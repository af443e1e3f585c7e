//! When to ask the server again: one lane a kind of request, one request a lane at a time (S1 §4.4, spec §5).

use crate::limits;

/// One kind of request.
#[derive(Debug, Clone, Default)]
pub struct Lane {
    /// Monotonic clock of the next try, by the lane's own rhythm or after a failure.
    next_at: i64,
    /// The server said: not before this (`Retry-After`). Nothing cuts it short.
    not_before: i64,
    /// Failures in a row.
    failures: u32,
    /// What the last failure drew, 0–1,000: how much of each spread it is.
    jitter: u32,
    /// The request under way.
    request: Option<u64>,
}

impl Lane {
    /// Whether a request is under way.
    pub fn busy(&self) -> bool {
        self.request.is_some()
    }
    /// The request under way.
    pub fn request(&self) -> Option<u64> {
        self.request
    }
    /// Failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }
    /// When it may try next.
    pub fn due_at(&self) -> i64 {
        self.next_at.max(self.not_before)
    }
    /// A request left.
    pub fn sent(&mut self, request: u64) {
        self.request = Some(request);
    }
    /// It was answered as hoped; the next is due `after_ms` from now.
    pub fn done(&mut self, now_ms: i64, after_ms: i64) {
        *self = Self { next_at: now_ms.saturating_add(after_ms), ..Self::default() };
    }
    /// It was not answered as hoped: 1, 2, 4, 8, 16 s, then the longest wait, for ever; `jitter` is any number.
    pub fn failed(&mut self, now_ms: i64, jitter: u32) {
        let wait = if self.failures < limits::RETRY_ROUND {
            (limits::RETRY_FIRST_MS << self.failures).min(limits::RETRY_MAX_MS)
        } else {
            limits::RETRY_MAX_MS
        };
        // A quarter off, or less: the longest wait stays the longest, and a crowd of devices spreads out.
        self.jitter = jitter % 1_001;
        let off = wait / 4 * i64::from(self.jitter) / 1_000;
        self.request = None;
        self.failures = self.failures.saturating_add(1);
        self.next_at = now_ms.saturating_add(wait - off);
    }
    /// Wait at least so long, whatever else is asked.
    pub fn hold(&mut self, now_ms: i64, for_ms: i64) {
        self.not_before = now_ms.saturating_add(for_ms.clamp(0, limits::POISON_EVERY_MS));
    }
    /// Wait as long as the server said, whatever else is asked, and then a little, the more often it was said: a crowd
    /// that was turned away at one moment would otherwise come back at one moment, and be turned away again.
    pub fn turned_away(&mut self, now_ms: i64, for_ms: i64) {
        let longest = limits::RETRY_SPREAD_MS.saturating_mul(i64::from(self.failures.min(limits::RETRY_ROUND)));
        let spread = (for_ms / 4).min(longest) * i64::from(self.jitter) / 1_000;
        self.hold(now_ms, for_ms.saturating_add(spread));
    }
    /// Wait at least so long, unless something says that it is worth a try.
    pub fn pause(&mut self, now_ms: i64, for_ms: i64) {
        self.next_at = self.next_at.max(now_ms.saturating_add(for_ms));
    }
    /// Forget the request under way and try as soon as due.
    pub fn drop_request(&mut self) -> Option<u64> {
        self.request.take()
    }
    /// The network is back, or staff asked: no more waiting of our own.
    pub fn hurry(&mut self, now_ms: i64) {
        self.next_at = self.next_at.min(now_ms);
    }
}
