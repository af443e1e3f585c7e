//! A time of day on an event's clocks.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A time on an event's clocks, to the minute. Its text form is `06:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ClockTime {
    /// Minutes since midnight, below 1,440.
    minutes: u16,
}

/// The error for a text that is no [`ClockTime`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a time of day such as 06:00")]
pub struct ClockTimeError;

impl ClockTime {
    /// When a day begins unless the organiser chose otherwise, 06:00. Late guests still belong to the night before.
    pub const DAY_STARTS: Self = Self { minutes: 6 * 60 };

    /// The time so many minutes after midnight. `None` from 1,440 on.
    pub fn of_minutes(minutes: u16) -> Option<Self> {
        (minutes < 24 * 60).then_some(Self { minutes })
    }
    /// Minutes since midnight.
    pub fn minutes(self) -> u16 {
        self.minutes
    }
}

impl fmt::Display for ClockTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.minutes / 60, self.minutes % 60)
    }
}

impl FromStr for ClockTime {
    type Err = ClockTimeError;
    fn from_str(text: &str) -> Result<Self, ClockTimeError> {
        let number = |digits: &str| -> Option<u16> {
            (digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
        };
        let (hours, minutes) = text.split_once(':').ok_or(ClockTimeError)?;
        let (hours, minutes) = number(hours).zip(number(minutes)).ok_or(ClockTimeError)?;
        if minutes > 59 {
            return Err(ClockTimeError);
        }
        Self::of_minutes(hours * 60 + minutes).ok_or(ClockTimeError)
    }
}

impl From<ClockTime> for String {
    fn from(time: ClockTime) -> Self {
        time.to_string()
    }
}
impl TryFrom<String> for ClockTime {
    type Error = ClockTimeError;
    fn try_from(text: String) -> Result<Self, ClockTimeError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_reads_as_it_is_written_and_nothing_else_is_one() {
        for text in ["00:00", "06:00", "23:59"] {
            assert_eq!(text.parse::<ClockTime>().unwrap().to_string(), text);
        }
        for text in ["24:00", "06:60", "6:00", "06", "06:0", "+6:00", "06:00:00", ""] {
            assert_eq!(text.parse::<ClockTime>(), Err(ClockTimeError), "{text}");
        }
    }
}
