//! From the clocks of a zone to moments (door.md "Limits").

use admit_core::time::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

/// Which end of a window a time is: a date alone is the day's beginning or its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The first moment.
    Beginning,
    /// The first moment that is no longer in it.
    End,
}

/// The moment at which the clocks of a zone show this. In an hour that they skip it is the hour's end. In an hour that comes
/// twice a beginning is the first, an end the second. `None` beyond the years of [`Timestamp`].
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
