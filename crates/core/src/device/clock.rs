//! The scanner's clock (spec §4 Time): server time from four-timestamp exchanges, carried on by the monotonic clock,
//! with an interval that always contains the true time.
//!
//! A phone's wall clock may be wrong or set at any time. Its monotonic clock never runs back, but stops while the phone
//! sleeps (trust §2). So each input advances the estimate by the monotonic clock. If the wall clock ran ahead of the
//! monotonic clock, the phone slept or somebody set the clock. Nobody can tell which, so the interval grows to hold
//! both.

use crate::limits;
use crate::time::Timestamp;
use crate::wire::engine::Now;
use crate::wire::journal::Entry;

/// The estimate of the true time at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The best estimate, in milliseconds since 1970.
    pub at_ms: i64,
    /// The true time lies at most this far before or after `at_ms`, in milliseconds.
    pub uncertainty_ms: u64,
}

/// The time of a scan, as the device signs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The signed time.
    pub at: Timestamp,
    /// The true time lies at most this far before or after `at`, in milliseconds.
    pub uncertainty_ms: u64,
    /// Whether the device's clock was set back so far that the scan's time is not after that of the scan before it in
    /// the log. For a smaller step back the device uses a time just after that scan.
    pub corrected: bool,
}

/// A clock anchor: a reading of the wall clock together with the estimate of true time. The device journals it, and the
/// next session starts from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// The wall clock, in milliseconds since 1970.
    pub wall_ms: i64,
    /// The estimate of true time at the moment of the reading, in milliseconds since 1970.
    pub at_ms: i64,
    /// The true time lies at most this far before or after the estimate, in milliseconds.
    pub uncertainty_ms: u64,
}

/// The timestamps of one exchange with the server's clock, in milliseconds. The fourth timestamp, when the answer
/// arrived, is missing here: it is the time of the input that brings the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The monotonic clock when the request left.
    pub sent_mono_ms: i64,
    /// The server's clock when the request came in.
    pub received_ms: i64,
    /// The server's clock when the answer left.
    pub answered_ms: i64,
    /// The value of [`Clock::gaps_ms`] when the request was made. If the value has changed since, the phone slept or
    /// its clock was set, and the exchange measured nothing.
    pub gaps_ms: i64,
}

impl Anchor {
    /// The anchor's row in the journal.
    pub fn entry(self) -> Entry {
        Entry::Clock { wall_ms: self.wall_ms, at_ms: self.at_ms, uncertainty_ms: self.uncertainty_ms }
    }
}

const NS: u64 = 1_000_000;
/// The rounding error of four timestamps in whole milliseconds.
const ROUNDING_MS: i64 = 2;
/// The lowest value of `hidden_ms`, the sum of small gaps between the two clocks. Rounding may take the sum a little
/// below zero. A lower sum would hide a later sleep.
const HIDDEN_FLOOR_MS: i64 = -5;

#[derive(Debug, Clone, Copy)]
struct Carried {
    wall_ms: i64,
    mono_ms: i64,
    at_ms: i64,
    uncertainty_ns: u64,
    /// Sum of the gaps between wall clock and monotonic clock that are too small to count as a step. The uncertainty of
    /// the estimated time grows by this sum too.
    hidden_ms: i64,
}

/// The clock of one session.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    before: Option<Anchor>,
    carried: Option<Carried>,
    gaps_ms: i64,
    exchanged: bool,
    /// Whether the wall clock was set or the phone slept, and no anchor records it yet.
    jumped: bool,
}

impl Clock {
    /// Takes the newest anchor of earlier sessions, while the journal is read.
    pub fn remember(&mut self, anchor: Anchor) {
        self.before = Some(anchor);
    }

    /// Takes the clock readings of an input. Every input calls this first.
    pub fn observe(&mut self, now: &Now) {
        let Some(carried) = &mut self.carried else {
            self.carried = Some(self.begin(now));
            return;
        };
        let mono = now.mono_ms.saturating_sub(carried.mono_ms).max(0);
        let wall = now.wall_ms.saturating_sub(carried.wall_ms);
        let gap = wall.saturating_sub(mono);
        let tolerance = limits::CLOCK_STEP_MS + mono.saturating_mul(limits::CLOCK_SLEW_PPM) / 1_000_000;
        carried.uncertainty_ns = carried.uncertainty_ns.saturating_add(drift_ns(mono));
        self.jumped |= gap.abs() > tolerance && gap.abs() >= limits::CLOCK_JOURNAL_MS;
        if gap > tolerance {
            self.gaps_ms = self.gaps_ms.saturating_add(gap);
            let slept = gap <= limits::CLOCK_SLEEP_MS;
            carried.at_ms = carried.at_ms.saturating_add(if slept { wall } else { mono });
            let wider = gap.min(limits::CLOCK_GAP_MS).unsigned_abs();
            carried.uncertainty_ns = carried.uncertainty_ns.saturating_add(wider.saturating_mul(NS));
        } else {
            carried.at_ms = carried.at_ms.saturating_add(mono);
            if gap < -tolerance && gap <= -limits::CLOCK_JOURNAL_MS {
                // The wall clock was set back, and the phone may have slept. So an exchange across this moment measures
                // nothing.
                self.gaps_ms = self.gaps_ms.saturating_add(gap.saturating_abs());
            }
            if gap >= -tolerance {
                carried.hidden_ms = carried.hidden_ms.saturating_add(gap).max(HIDDEN_FLOOR_MS);
            }
        }
        carried.wall_ms = now.wall_ms;
        carried.mono_ms = carried.mono_ms.max(now.mono_ms);
    }

    /// Begins a session. The wall clock alone carries the estimate over from the last anchor. Without an anchor the
    /// wall clock itself is the estimate.
    fn begin(&self, now: &Now) -> Carried {
        let (at_ms, uncertainty_ms) = match self.before {
            None => (now.wall_ms, limits::CLOCK_UNKNOWN_MS),
            Some(before) => {
                let wall = now.wall_ms.saturating_sub(before.wall_ms);
                // A wall clock that went back does not tell how long the app was closed.
                let lost = wall.min(0).saturating_neg().min(limits::CLOCK_GAP_MS).unsigned_abs();
                let drift = drift_ns(wall.max(0)) / NS;
                let uncertainty = before.uncertainty_ms + limits::CLOCK_RESTART_MS + lost + drift;
                (before.at_ms.saturating_add(wall.max(0)), uncertainty)
            }
        };
        Carried {
            wall_ms: now.wall_ms,
            mono_ms: now.mono_ms,
            at_ms,
            uncertainty_ns: uncertainty_ms.saturating_mul(NS),
            hidden_ms: 0,
        }
    }

    /// The anchor to journal after a jump of the wall clock. It is returned once per jump. Without it, the next session
    /// would start from the older anchor. It would then take a clock that somebody set forward for elapsed time, and
    /// would lose the uncertainty of a long sleep.
    pub fn jumped(&mut self) -> Option<Anchor> {
        let carried = self.carried.filter(|_| std::mem::take(&mut self.jumped))?;
        let Reading { at_ms, uncertainty_ms } = self.read();
        Some(Anchor { wall_ms: carried.wall_ms, at_ms, uncertainty_ms })
    }

    /// Sum of the sizes of all gaps between wall clock and monotonic clock so far, forward and back. The caller returns
    /// it in an [`Exchange`].
    pub fn gaps_ms(&self) -> i64 {
        self.gaps_ms
    }

    /// Whether this session has had an exchange.
    pub fn exchanged(&self) -> bool {
        self.exchanged
    }

    /// Takes an exchange whose answer came with the present input. Returns the anchor to journal if the exchange is
    /// more exact than the estimate, or contradicts it. `None` otherwise, and if the exchange measured nothing, since
    /// the phone slept or a timestamp is impossible.
    pub fn exchange(&mut self, exchange: Exchange) -> Option<Anchor> {
        let reading = self.read();
        let gaps = self.gaps_ms;
        let carried = self.carried.as_mut()?;
        let round = carried.mono_ms.checked_sub(exchange.sent_mono_ms)?;
        let served = exchange.answered_ms.checked_sub(exchange.received_ms)?;
        let possible = round >= 0 && served >= 0 && served <= round + ROUNDING_MS && exchange.received_ms > 0;
        if gaps != exchange.gaps_ms || !possible {
            return None;
        }
        let at_ms = exchange.answered_ms.checked_add((round - served) / 2)?;
        // The clock that measured the round trip may run fast or slow.
        let drift = i64::try_from(drift_ns(round).div_ceil(NS)).unwrap_or(i64::MAX);
        let uncertainty_ms = ((round - served).max(0) / 2).saturating_add(ROUNDING_MS + drift).unsigned_abs();
        self.exchanged = true;
        let apart = at_ms.abs_diff(reading.at_ms) > uncertainty_ms.saturating_add(reading.uncertainty_ms);
        if uncertainty_ms > reading.uncertainty_ms && !apart {
            return None;
        }
        carried.at_ms = at_ms;
        carried.uncertainty_ns = uncertainty_ms.saturating_mul(NS);
        carried.hidden_ms = 0;
        Some(Anchor { wall_ms: carried.wall_ms, at_ms, uncertainty_ms })
    }

    /// The estimate of true time at the present input.
    pub fn read(&self) -> Reading {
        let Some(carried) = self.carried else { return Reading { at_ms: 0, uncertainty_ms: limits::CLOCK_UNKNOWN_MS } };
        let hidden = carried.hidden_ms.max(0).unsigned_abs();
        let uncertainty_ms = carried.uncertainty_ns.div_ceil(NS).saturating_add(hidden);
        Reading { at_ms: carried.at_ms, uncertainty_ms }
    }

    /// The estimate minus the wall clock, in milliseconds. `None` before the first input.
    pub fn offset_ms(&self) -> Option<i64> {
        self.carried.map(|carried| carried.at_ms.saturating_sub(carried.wall_ms))
    }

    /// The time of the scan that follows one at `last` in its log. If the clock was put back by at most
    /// [`limits::SLEW_MS`], the scan gets one millisecond after `last`. If it was put back further, the scan gets the
    /// clock's earlier time and is flagged.
    pub fn stamp(&self, last: Option<Timestamp>) -> Stamp {
        let Reading { at_ms, uncertainty_ms } = self.read();
        let at = Timestamp::clamped(at_ms);
        match last {
            Some(last) if at <= last && last.since(at) <= limits::SLEW_MS => {
                let slewed = last.plus_ms(1);
                let moved = slewed.since(at).unsigned_abs();
                Stamp { at: slewed, uncertainty_ms: uncertainty_ms.saturating_add(moved), corrected: false }
            }
            Some(last) if at <= last => Stamp { at, uncertainty_ms, corrected: true },
            _ => Stamp { at, uncertainty_ms, corrected: false },
        }
    }
}

fn drift_ns(elapsed_ms: i64) -> u64 {
    // One millisecond at one part per million is one nanosecond.
    elapsed_ms.max(0).unsigned_abs().saturating_mul(limits::CLOCK_DRIFT_PPM)
}
