//! Figures that only a device can measure: how long a verdict took, and how long a scan waited for its receipt (S1
//! §10.2, S2 §11). The device counts how many measurements lie in each range of time. The figures contain no ticket or
//! person.

use crate::wire::engine::{Effect, Input};
use crate::wire::scanning::{Figures, MOST_BUCKETS, Observed};

/// The measurements since the last heartbeat that the server answered.
#[derive(Debug, Default)]
pub(super) struct Measured {
    scan: [u32; MOST_BUCKETS],
    sync: [u32; MOST_BUCKETS],
    /// The monotonic time at which the code was read whose verdict is not shown yet. Absent if there is no such code.
    read_at: Option<i64>,
    /// The figures in the heartbeat that is under way. Absent while none is. They stay unchanged until the heartbeat is
    /// answered. So a server recognises figures that it counted although its answer was lost.
    told: Option<Figures>,
}

impl Measured {
    /// Takes an input: a code or a guest begins the measurement of a verdict.
    pub fn input(&mut self, input: &Input, now_mono_ms: i64) {
        if matches!(input, Input::Code { .. } | Input::Guest { .. }) {
            self.read_at.get_or_insert(now_mono_ms);
        }
    }

    /// Takes an effect: a verdict that is shown ends the measurement that a code began. A refusal ends it without a
    /// result.
    pub fn effect(&mut self, effect: &Effect, now_mono_ms: i64) {
        let shown = matches!(effect, Effect::Show { .. });
        let ends = shown || matches!(effect, Effect::Refused { .. });
        if let Some(read_at) = self.read_at.take_if(|_| ends)
            && shown
        {
            count(&mut self.scan, now_mono_ms - read_at);
        }
    }

    /// Counts how long a scan waited until a receipt first named it, in milliseconds.
    pub fn receipt(&mut self, waited_ms: i64) {
        count(&mut self.sync, waited_ms);
    }

    /// The figures for the next heartbeat. Those of an unanswered heartbeat are repeated. Otherwise they are the
    /// measurements since the last answered heartbeat, under a new id.
    pub fn figures(&mut self, id: i64, list_age_ms: Option<u64>) -> Figures {
        let told = self.told.take().unwrap_or_else(|| Figures {
            id,
            scan_ms: observed(&mut self.scan),
            sync_ms: observed(&mut self.sync),
            list_age_ms: None,
        });
        self.told.insert(Figures { list_age_ms, ..told }).clone()
    }

    /// Drops the figures that the server has now counted, since it answered the heartbeat.
    pub fn answered(&mut self) {
        self.told = None;
    }
}

fn count(counts: &mut [u32; MOST_BUCKETS], ms: i64) {
    let bucket = Observed::bucket(ms.max(0).unsigned_abs());
    counts[bucket] = counts[bucket].saturating_add(1);
}

/// Takes the counts in their wire form, and sets them back to zero.
fn observed(counts: &mut [u32; MOST_BUCKETS]) -> Vec<Observed> {
    let taken = std::mem::replace(counts, [0; MOST_BUCKETS]);
    let some = taken.into_iter().enumerate().filter(|(_, count)| *count > 0);
    some.map(|(bucket, count)| Observed(1 << bucket, count)).collect()
}
