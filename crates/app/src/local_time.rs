//! Converts times on the clocks of a zone to moments (decision 034).

use admit_core::time::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

/// Whether a time is the beginning or the end of a period. A date without a time then means the beginning or the end of
/// that day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The first moment of the window.
    Beginning,
    /// The first moment after the window.
    End,
}

/// The moment at which the clocks of a time zone show this time. If the clocks skip the hour, the result is the end of
/// the skipped hour. If the hour comes twice, a beginning means the first one and an end the second. `None` beyond the
/// years of [`Timestamp`].
pub fn in_zone(at: DateTime, zone: &TimeZone, edge: Edge) -> Option<Timestamp> {
    let ambiguous = zone.to_ambiguous_timestamp(at);
    let found = match (ambiguous.offset(), edge) {
        (AmbiguousOffset::Gap { .. }, _) => {
            let after = ambiguous.later().ok()?;
            zone.preceding(after).next().map_or(after, |change| change.timestamp())
        }
        (_, Edge::Beginning) => ambiguous.earlier().ok()?,
        (_, Edge::End) => ambiguous.later().ok()?,
    };
    Timestamp::from_ms(found.as_millisecond()).ok()
}
