//! Time as a number: milliseconds since the Unix epoch, in UTC. This module has no `now()`, since this crate reads no
//! clock (law 1).

use std::fmt;

/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// The error for a text that is no time, or for a time outside the years 1970–9999.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be an RFC 3339 time such as 2026-06-07T19:30:00Z, between the years 1970 and 9999")]
pub struct TimeError;

/// 9999-12-30T22:00:00Z. With some offset, a later moment has no RFC 3339 form.
const MAX_MS: i64 = 253_402_207_200_000;

impl Timestamp {
    /// The earliest moment. A rule that "holds from the start" holds from here.
    pub const START: Timestamp = Timestamp(0);

    /// From milliseconds since the Unix epoch. Fails outside the years 1970–9999.
    pub fn from_ms(ms: i64) -> Result<Self, TimeError> {
        if (0..=MAX_MS).contains(&ms) { Ok(Self(ms)) } else { Err(TimeError) }
    }
    /// Like [`Timestamp::from_ms`], but takes the nearest moment in range. Use it for arithmetic, never for input.
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
    /// This moment moved by `ms` milliseconds, kept within the years 1970–9999.
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self::clamped(self.0.saturating_add(ms))
    }
    /// `self − other` in milliseconds.
    pub const fn since(self, other: Timestamp) -> i64 {
        self.0 - other.0
    }
    /// Reads RFC 3339 with any offset. Digits finer than a millisecond are cut off.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        rfc3339(text.as_bytes()).ok_or(TimeError).and_then(Self::from_ms)
    }
}

impl fmt::Display for Timestamp {
    /// Writes RFC 3339 in UTC, with milliseconds only if they are not zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, in_day) = (self.0.div_euclid(DAY_MS), self.0.rem_euclid(DAY_MS));
        let (year, month, day) = date_of(days);
        // Times are written by the million, so each part is put into its place and the formatter is called once.
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let parts = [
            (0, 4, year),
            (5, 2, month),
            (8, 2, day),
            (11, 2, in_day / 3_600_000),
            (14, 2, in_day / 60_000 % 60),
            (17, 2, in_day / 1_000 % 60),
            (20, 3, in_day % 1_000),
        ];
        for (from, digits, value) in parts {
            let mut rest = value.unsigned_abs();
            for place in text[from..from + digits].iter_mut().rev() {
                *place = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
        let zeros = text[20..23].iter().rev().take_while(|digit| **digit == b'0').count();
        let length = if zeros == 3 { 19 } else { 23 - zeros };
        text[length] = b'Z';
        f.write_str(std::str::from_utf8(&text[..=length]).map_err(|_| fmt::Error)?)
    }
}

const DAY_MS: i64 = 86_400_000;

/// Year, month and day of a day counted from 1970-01-01. The calculation lets years begin in March, so that the leap
/// day is the last day of a year.
fn date_of(days: i64) -> (i64, i64, i64) {
    let since = days + 719_468;
    let (era, day_of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// The inverse of [`date_of`].
fn days_to(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Milliseconds since 1970 of an RFC 3339 time. A leap second counts as the second before it.
fn rfc3339(text: &[u8]) -> Option<i64> {
    let number = |from: usize, digits: usize| {
        let digits = text.get(from..from + digits)?;
        digits.iter().try_fold(0_i64, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
    };
    let is = |at: usize, any: &[u8]| text.get(at).is_some_and(|byte| any.contains(byte));
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    let separated = is(4, b"-") && is(7, b"-") && is(10, b"Tt ") && is(13, b":") && is(16, b":");
    let days = days_to(year, month, day);
    if !separated || hour > 23 || minute > 59 || second > 60 || date_of(days) != (year, month, day) {
        return None;
    }
    let mut at = 19;
    let mut ms = 0;
    if is(19, b".,") {
        let digits = text[20..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let places = [100, 10, 1].into_iter().take(digits).enumerate();
        ms = places.filter_map(|(place, worth)| Some(number(20 + place, 1)? * worth)).sum();
        at = if digits == 0 { return None } else { 20 + digits };
    }
    let (offset_minutes, end) = if is(at, b"Zz") {
        (0, at + 1)
    } else {
        let (hours, minutes) = (number(at + 1, 2)?, number(at + 4, 2)?);
        if !is(at, b"+-") || !is(at + 3, b":") || hours > 23 || minutes > 59 {
            return None;
        }
        ((hours * 60 + minutes) * if is(at, b"-") { -1 } else { 1 }, at + 6)
    };
    let in_day = (hour * 3_600 + minute * 60 + second.min(59)) * 1_000 + ms;
    (end == text.len()).then(|| days * DAY_MS + in_day - offset_minutes * 60_000)
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
    fn every_day_has_the_date_that_follows_the_one_before() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..=(MAX_MS / DAY_MS) {
            assert_eq!((date_of(days), days_to(year, month, day)), ((year, month, day), days));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
        assert_eq!(year, 9999);
    }

    #[test]
    fn finer_parts_offsets_and_leap_seconds_are_read() {
        for (text, ms) in [
            ("1970-01-01T00:00:00.1239999Z", 123),
            ("1970-01-01t00:00:01,5z", 1_500),
            ("1970-01-01 05:30:00+05:30", 0),
            ("1969-12-31T23:59:00-00:01", 0),
            ("1972-06-30T23:59:60Z", 78_796_799_000),
            ("2000-02-29T12:00:00.007Z", 951_825_600_007),
        ] {
            assert_eq!(Timestamp::parse(text).map(Timestamp::ms), Ok(ms), "{text}");
        }
        assert_eq!(Timestamp::clamped(951_825_600_007).to_string(), "2000-02-29T12:00:00.007Z");
        assert_eq!(Timestamp::clamped(951_825_600_070).to_string(), "2000-02-29T12:00:00.07Z");
    }

    #[test]
    fn what_has_no_form_is_refused() {
        for text in [
            "",
            "yesterday",
            "2025-12-07",
            "2025-12-07T19:30:00",
            "1969-12-31T23:59:59Z",
            "2025-02-29T00:00:00Z",
            "2025-13-01T00:00:00Z",
            "2025-12-00T00:00:00Z",
            "2025-12-07T24:00:00Z",
            "2025-12-07T19:60:00Z",
            "2025-12-07T19:30:00.Z",
            "2025-12-07T19:30:00+2:00",
            "2025-12-07T19:30:00+02:00x",
            "2025-12-07T19:30:00Zz",
            "2025-12-07T19:30:0\u{663}Z",
            "20251207T193000Z",
        ] {
            assert_eq!(Timestamp::parse(text), Err(TimeError), "{text}");
        }
    }
}
