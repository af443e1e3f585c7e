//! The figures that a device measured, in the form in which its heartbeat carries them (S1 §10.2, S2 §11).

use serde::{Deserialize, Serialize};

use crate::wire::problem::FieldError;

/// Number of ranges by which a device sorts and counts the durations that it measures. The last one ends at 2^24 ms,
/// about four and a half hours.
pub const MOST_BUCKETS: usize = 25;

/// The figures that a device measured since the last heartbeat that was answered (S1 §10.2, S2 §11).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Figures {
    /// An id of this set of figures within the device. A heartbeat that is sent again has the same id, and the server
    /// counts it once.
    pub id: i64,
    /// Times from reading a code to the verdict on the screen, in milliseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Vec<u64>>))]
    pub scan_ms: Vec<Observed>,
    /// Times from a scan to the receipt that names it, in milliseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Vec<u64>>))]
    pub sync_ms: Vec<Observed>,
    /// Milliseconds since the device last knew its list to be the newest. Absent if it has no list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_age_ms: Option<u64>,
}

/// `[upper bound, count]`: the number of observations of at most the bound, and of more than half of it, in
/// milliseconds. The bound is a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed(pub u64, pub u32);

impl Observed {
    /// The index of the range that holds this many milliseconds. Longer times fall into the last range.
    pub const fn bucket(ms: u64) -> usize {
        let bits = (u64::BITS - ms.saturating_sub(1).leading_zeros()) as usize;
        if bits < MOST_BUCKETS { bits } else { MOST_BUCKETS - 1 }
    }
}

impl Figures {
    /// Refuses figures that no device of Admit sends. The error names the field's path.
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
