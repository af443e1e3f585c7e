//! The running app and the moment of the input at hand: who runs, what the clocks say, and what time it probably is.

use super::clock::{Anchor, Clock, Exchange, Stamp};
use crate::scan::ClockEvidence;
use crate::time::Timestamp;
use crate::wire::engine::Now;
use crate::wire::scanning::DeviceType;

/// The session of the app, from its start to its end.
#[derive(Debug, Default)]
pub(super) struct Session {
    id: String,
    app_version: String,
    device_type: Option<DeviceType>,
    battery: Option<u8>,
    now: Option<Now>,
    clock: Clock,
}

impl Session {
    /// Begins the session.
    pub fn begin(&mut self, id: String, app_version: String, device_type: Option<DeviceType>) {
        (self.id, self.app_version, self.device_type) = (id, app_version, device_type);
    }
    /// Whether the session has begun.
    pub fn has_begun(&self) -> bool {
        !self.id.is_empty()
    }
    /// The app's version. `None` if the app named none.
    pub fn app_version(&self) -> Option<String> {
        Some(self.app_version.clone()).filter(|version| !version.is_empty())
    }
    /// The kind of device. `None` if the app named none that this version knows.
    pub fn device_type(&self) -> Option<DeviceType> {
        self.device_type
    }
    /// The charge of the battery in percent. `None` if the app has not told it.
    pub fn battery(&self) -> Option<u8> {
        self.battery
    }
    /// Takes the charge of the battery in percent.
    pub fn charged(&mut self, percent: u8) {
        self.battery = Some(percent.min(100));
    }

    /// Takes the readings of the input at hand.
    pub fn take(&mut self, now: Now) {
        self.now = Some(now);
    }
    /// Begins the estimate of the time at start, from the newest anchor of earlier sessions.
    pub fn begin_clock(&mut self, anchor: Option<Anchor>) {
        if let Some(anchor) = anchor {
            self.clock.remember(anchor);
        }
        self.observe();
    }
    /// Advances the estimate of the time to the input at hand. Returns how much the gaps between wall clock and
    /// monotonic clock grew, in milliseconds.
    pub fn observe(&mut self) -> i64 {
        let before = self.clock.gaps_ms();
        if let Some(now) = &self.now {
            self.clock.observe(now);
        }
        self.clock.gaps_ms() - before
    }
    /// The anchor to journal after a jump of the wall clock ([`Clock::jumped`]).
    pub fn jumped(&mut self) -> Option<Anchor> {
        self.clock.jumped()
    }
    /// Takes an exchange with the server's clock ([`Clock::exchange`]).
    pub fn exchange(&mut self, exchange: Exchange) -> Option<Anchor> {
        self.clock.exchange(exchange)
    }

    /// The monotonic clock, in milliseconds.
    pub fn mono(&self) -> i64 {
        self.now.map_or(0, |now| now.mono_ms)
    }
    /// The wall clock, in milliseconds since 1970.
    pub fn wall_ms(&self) -> i64 {
        self.now.map_or(0, |now| now.wall_ms)
    }
    /// The estimated time, in milliseconds since 1970.
    pub fn at_ms(&self) -> i64 {
        self.clock.read().at_ms
    }
    /// The estimate of the time.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
    /// The time of a scan that follows one at `last` in its log ([`Clock::stamp`]).
    pub fn stamp(&self, last: Option<Timestamp>) -> Stamp {
        self.clock.stamp(last)
    }
    /// The evidence of a scan's time. `None` before the first input.
    pub fn evidence(&self, stamp: &Stamp) -> Option<ClockEvidence> {
        let now = self.now?;
        Some(ClockEvidence {
            wall_ms: now.wall_ms,
            mono_ms: now.mono_ms,
            session_id: self.id.clone(),
            corrected: stamp.corrected,
        })
    }
}
