//! Time as a number: milliseconds since the Unix epoch, UTC. No `now()` here (law 1).

use std::fmt;

/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// Why a text is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be an RFC 3339 time such as 2026-06-07T19:30:00Z, between the years 1970 and 9999")]
pub struct TimeError;

/// 9999-12-30T22:00:00Z: above it some offset has no RFC 3339 form, so that `jiff` writes none.
const MAX_MS: i64 = 253_402_207_200_000;

impl Timestamp {
    /// The beginning of time: what "holds from the start" means.
    pub const START: Timestamp = Timestamp(0);

    /// From milliseconds since the Unix epoch. Fails outside the years 1970–9999.
    pub fn from_ms(ms: i64) -> Result<Self, TimeError> {
        if (0..=MAX_MS).contains(&ms) { Ok(Self(ms)) } else { Err(TimeError) }
    }
    /// Like [`Timestamp::from_ms`], taking the nearest moment that has a form: for arithmetic, never for input.
    pub const fn clamped(ms: i64) -> Self {
        Self(if ms < 0 {
            0
        } else if ms > MAX_MS {
            MAX_MS
        } else {
            ms
        })
    }
    /// Milliseconds since the Unix epoch.
    pub const fn ms(self) -> i64 {
        self.0
    }
    /// This moment moved by `ms` milliseconds, kept within the years that have a form.
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self::clamped(self.0.saturating_add(ms))
    }
    /// `self − other` in milliseconds.
    pub const fn since(self, other: Timestamp) -> i64 {
        self.0 - other.0
    }
    /// Reads RFC 3339 with any offset; finer than a millisecond is cut off.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        let moment: jiff::Timestamp = text.parse().map_err(|_| TimeError)?;
        Self::from_ms(moment.as_millisecond())
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339, UTC, milliseconds only where there are any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) => write!(f, "{moment}"),
            Err(_) => write!(f, "{}", self.0),
        }
    }
}
impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_reads_back_as_written() {
        for text in ["2025-12-07T19:30:00Z", "2025-12-07T19:30:00.25Z", "1970-01-01T00:00:00Z"] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            Timestamp::parse("2025-12-07T21:30:00+02:00").unwrap(),
            Timestamp::parse("2025-12-07T19:30:00Z").unwrap()
        );
    }

    #[test]
    fn the_first_and_the_last_moment_have_a_form() {
        for moment in [Timestamp::START, Timestamp::clamped(i64::MAX)] {
            assert_eq!(Timestamp::parse(&moment.to_string()), Ok(moment));
        }
        assert!(Timestamp::from_ms(Timestamp::clamped(i64::MAX).ms() + 1).is_err());
    }

    #[test]
    fn what_has_no_form_is_refused() {
        for text in ["", "yesterday", "2025-12-07", "2025-12-07T19:30:00", "1969-12-31T23:59:59Z"] {
            assert_eq!(Timestamp::parse(text), Err(TimeError), "{text}");
        }
    }
}
