//! Computes when an event's days begin (decision 034), from its zone, the hour at which they begin, and its times.

use admit_core::event::{Days, ReEntry, ZoneLimits};
use admit_core::limits;
use admit_core::time::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

use crate::local_time::{Edge, in_zone};
use crate::records::{ClockTime, EventRecord};

/// When the days of an event begin. Empty if neither the event nor any of its zones is daily.
pub fn days(event: &EventRecord, limits: &ZoneLimits) -> Days {
    let daily = Some(ReEntry::Daily);
    if Some(event.re_entry) != daily && limits.zones().values().all(|zone| zone.re_entry != daily) {
        return Days::default();
    }
    let zone = TimeZone::get(&event.time_zone).unwrap_or(TimeZone::UTC);
    days_around(event.starts_at, event.ends_at, &zone, event.day_starts_at)
}

/// The beginnings of days from a day before a start to a day after an end. If the clocks skip the hour at which a day
/// begins, it begins when the skipped hour ends. If that hour comes twice, the day begins with the first.
fn days_around(starts_at: Timestamp, ends_at: Timestamp, zone: &TimeZone, day_starts_at: ClockTime) -> Days {
    let (first, last) = (starts_at.plus_ms(-DAY_MS), ends_at.plus_ms(DAY_MS));
    let Ok(moment) = jiff::Timestamp::from_millisecond(first.ms()) else { return Days::default() };
    let before = moment.to_zoned(zone.clone()).date().yesterday().ok();
    let dates = std::iter::successors(before, |date| date.tomorrow().ok());
    let time = Time::midnight() + jiff::Span::new().minutes(i64::from(day_starts_at.minutes()));
    let begin_of = |date: Date| in_zone(date.to_datetime(time), zone, Edge::Beginning);
    let begins = dates.map_while(begin_of).take_while(|begin| *begin <= last).filter(|begin| *begin >= first);
    Days::new(begins.take(limits::DAYS).collect::<Vec<Timestamp>>())
}

const DAY_MS: i64 = 86_400_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn begins(zone: &str, day_starts_at: &str, from: &str, to: &str) -> Vec<String> {
        let (starts_at, ends_at) = (Timestamp::parse(from).unwrap(), Timestamp::parse(to).unwrap());
        let zone = jiff::tz::TimeZoneDatabase::bundled().get(zone).unwrap();
        let days = days_around(starts_at, ends_at, &zone, day_starts_at.parse().unwrap());
        days.begin().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn days_begin_at_the_hour_of_the_events_zone_from_a_day_before_to_a_day_after() {
        let made = begins("Europe/Berlin", "06:00", "2026-07-03T10:00:00Z", "2026-07-05T20:00:00Z");
        let expected = ["03", "04", "05", "06"].map(|day| format!("2026-07-{day}T04:00:00Z"));
        assert_eq!(made, expected);
    }

    #[test]
    fn a_change_of_clocks_makes_a_day_of_23_or_25_hours() {
        let spring = begins("Europe/Berlin", "06:00", "2027-03-28T10:00:00Z", "2027-03-28T20:00:00Z");
        assert_eq!(spring, ["2027-03-28T04:00:00Z", "2027-03-29T04:00:00Z"]);
        let skipped = begins("Europe/Berlin", "02:30", "2027-03-28T10:00:00Z", "2027-03-28T20:00:00Z");
        assert_eq!(skipped[0], "2027-03-28T01:00:00Z", "an hour that the clocks skip: its end");
        let twice = begins("Europe/Berlin", "02:30", "2027-10-31T10:00:00Z", "2027-10-31T20:00:00Z");
        assert_eq!(twice[0], "2027-10-31T00:30:00Z", "an hour that comes twice: the first");
    }

    #[test]
    fn no_event_has_more_than_four_hundred_days() {
        let made = begins("UTC", "00:00", "2026-01-01T00:00:00Z", "2029-01-01T00:00:00Z");
        assert_eq!(made.len(), limits::DAYS);
    }
}
