//! The figures that a device measured, as its heartbeat carries them (S1 §10.2, S2 §11).

use serde::{Deserialize, Serialize};

use crate::wire::problem::FieldError;

/// Ranges of time that a device counts in: the last ends at 2^24 ms, some four and a half hours.
pub const MOST_BUCKETS: usize = 25;

/// The figures that a device measured since the last heartbeat that was answered (S1 §10.2, S2 §11).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Figures {
    /// Names this set of figures within the device: a heartbeat that is sent again carries the same, and counts once.
    pub id: i64,
    /// From reading a code to the verdict on the screen, milliseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Vec<u64>>))]
    pub scan_ms: Vec<Observed>,
    /// From a scan to the receipt that names it, milliseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Vec<u64>>))]
    pub sync_ms: Vec<Observed>,
    /// How long ago the device knew its list to be the newest, milliseconds; absent without a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_age_ms: Option<u64>,
}

/// `[upper bound, count]`: so many observations of at most so many milliseconds, and of more than half of that. The bound is a
/// power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed(pub u64, pub u32);

impl Observed {
    /// The range that so many milliseconds fall into; whatever is longer than the last bound falls into the last range.
    pub const fn bucket(ms: u64) -> usize {
        let bits = (u64::BITS - ms.saturating_sub(1).leading_zeros()) as usize;
        if bits < MOST_BUCKETS { bits } else { MOST_BUCKETS - 1 }
    }
}

impl Figures {
    /// Refuses what no device of ours sends, with the field's path.
    pub fn check(&self) -> Result<(), FieldError> {
        for (path, observed) in [("figures.scan_ms", &self.scan_ms), ("figures.sync_ms", &self.sync_ms)] {
            if observed.len() > MOST_BUCKETS {
                return Err(FieldError::new(path, format!("must have at most {MOST_BUCKETS} pairs")));
            }
            let known = |Observed(bound, _): &Observed| bound.is_power_of_two() && *bound < 1 << MOST_BUCKETS;
            if !observed.iter().all(known) {
                let most = MOST_BUCKETS - 1;
                return Err(FieldError::new(path, format!("must have powers of two up to 2^{most} as upper bounds")));
            }
        }
        Ok(())
    }
}
