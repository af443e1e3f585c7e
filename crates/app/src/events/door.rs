//! The event's settings for its devices that are not rules (decision 040).

use admit_core::event::{DoorSettings, Offset, ZoneClock, ZoneNames};
use admit_core::limits;
use admit_core::rule::{Change, EventChange};
use admit_core::time::Timestamp;
use jiff::tz::TimeZone;

use crate::records::{EntryTypeRecord, EventRecord};

/// The settings that devices get. They are computed from the event's record alone. So comparing the settings of two
/// records shows whether devices need new ones.
pub fn settings(event: &EventRecord) -> DoorSettings {
    let zone = TimeZone::get(&event.time_zone).unwrap_or(TimeZone::UTC);
    DoorSettings {
        clock: clock(&event.time_zone, &zone, event.starts_at, event.ends_at),
        verdict_fields: event.at_door.verdict_fields.clone(),
        barcode_kinds: event.at_door.barcode_kinds.clone(),
        ..DoorSettings::default()
    }
}

/// The name that staff use for each zone: the name of the first of `types` that has the zone. `types` are in the order
/// of the event's entry types.
pub fn zone_names<'a>(types: impl IntoIterator<Item = &'a EntryTypeRecord>) -> Change {
    let mut names = ZoneNames::new();
    for one in types {
        names.entry(one.zone.clone()).or_insert_with(|| one.name.clone());
    }
    Change::Event(EventChange::ZoneNames(names))
}

/// The time zone's offsets from [`limits::CLOCK_MARGIN_MS`] before a start until the same time after an end. `None`
/// beyond the years that the time zone's data covers.
fn clock(name: &str, zone: &TimeZone, starts_at: Timestamp, ends_at: Timestamp) -> Option<ZoneClock> {
    let first = starts_at.plus_ms(-limits::CLOCK_MARGIN_MS);
    let last = ends_at.plus_ms(limits::CLOCK_MARGIN_MS).ms();
    let moment = jiff::Timestamp::from_millisecond(first.ms()).ok()?;
    let mut offsets = vec![Offset { from: first, offset_s: zone.to_offset(moment).seconds() }];
    for change in zone.following(moment).take_while(|change| change.timestamp().as_millisecond() <= last) {
        let offset_s = change.offset().seconds();
        // Some changes concern only the name of the zone's time, such as CET.
        if offsets.last().is_some_and(|before| before.offset_s == offset_s) {
            continue;
        }
        if offsets.len() == limits::OFFSETS {
            break;
        }
        offsets.push(Offset { from: Timestamp::from_ms(change.timestamp().as_millisecond()).ok()?, offset_s });
    }
    Some(ZoneClock { zone: name.to_owned(), offsets })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(zone: &str, from: &str, to: &str) -> Vec<(String, i32)> {
        let (starts_at, ends_at) = (Timestamp::parse(from).unwrap(), Timestamp::parse(to).unwrap());
        let data = jiff::tz::TimeZoneDatabase::bundled().get(zone).unwrap();
        let clock = clock(zone, &data, starts_at, ends_at).unwrap();
        assert_eq!(clock.zone, zone);
        clock.offsets.iter().map(|one| (one.from.to_string(), one.offset_s)).collect()
    }

    #[test]
    fn a_clock_tells_the_changes_of_its_zone_around_the_event() {
        let summer = told("Europe/Berlin", "2026-07-03T16:00:00Z", "2026-07-04T02:00:00Z");
        assert_eq!(summer, [("2026-05-04T16:00:00Z".to_owned(), 7_200)]);
        let night = told("Europe/Berlin", "2026-10-24T20:00:00Z", "2026-10-25T05:00:00Z");
        let wanted = [("2026-08-25T20:00:00Z", 7_200), ("2026-10-25T01:00:00Z", 3_600)];
        assert_eq!(night, wanted.map(|(from, offset)| (from.to_owned(), offset)));
    }

    #[test]
    fn offsets_of_less_than_an_hour_and_behind_utc_are_told_in_seconds() {
        assert_eq!(told("Asia/Kathmandu", "2026-07-03T16:00:00Z", "2026-07-04T02:00:00Z")[0].1, 20_700);
        assert_eq!(told("America/St_Johns", "2026-01-03T16:00:00Z", "2026-01-04T02:00:00Z")[0].1, -12_600);
    }

    #[test]
    fn a_clock_has_an_end_however_long_its_event_is() {
        let made = told("Europe/Berlin", "2026-01-01T00:00:00Z", "2126-01-01T00:00:00Z");
        assert_eq!(made.len(), limits::OFFSETS);
    }
}
