//! Reads dates and times as people's files have them. Without an offset they are in the event's time zone. The file's
//! own dates show whether the day or the month comes first.

use admit_core::normalize::for_search;
use admit_core::time::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

pub use crate::local_time::Edge;
use crate::local_time::in_zone;

/// Which of the first two numbers of `11/12/2026` is the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// The day is first: `28/11/2026`.
    DayFirst,
    /// The month is first: `11/28/2026`.
    MonthFirst,
}

/// Reads a cell. A time without an offset is one on the clocks of `zone`. If the clocks skip its hour, the result is
/// the end of that hour. If the hour comes twice, `edge` decides: a beginning is the first, an end the second (decision
/// 034).
pub fn read(text: &str, zone: &TimeZone, order: Option<DateOrder>, edge: Edge) -> Result<Timestamp, String> {
    if let Some(at) = with_offset(text) {
        return Ok(at);
    }
    let (date, time) = local(text, order.unwrap_or(DateOrder::DayFirst)).ok_or_else(|| {
        format!("'{text}' is not a date or time that is known. Write 2026-11-28 19:30 or 28.11.2026 19:30")
    })?;
    let at = match (time, edge) {
        (Some(time), _) => date.to_datetime(time),
        (None, Edge::Beginning) => date.to_datetime(Time::midnight()),
        (None, Edge::End) => {
            let next = date.tomorrow().map_err(|error| error.to_string())?;
            next.to_datetime(Time::midnight())
        }
    };
    // The end of a day is the beginning of the next one.
    let edge = if time.is_none() { Edge::Beginning } else { edge };
    in_zone(at, zone, edge).ok_or_else(|| format!("'{text}' is too far away"))
}

/// The order of day and month that a file's dates show. `Err` with an example if they don't show it. `Ok(None)` if no
/// date needs it.
pub fn order_of<'a>(cells: impl Iterator<Item = &'a str>) -> Result<Option<DateOrder>, String> {
    let (mut day_first, mut month_first, mut unclear) = (false, false, None);
    for cell in cells {
        let Some((first, second)) = slashed(cell) else { continue };
        day_first |= first > 12;
        month_first |= second > 12;
        if first <= 12 && second <= 12 && first != second {
            unclear.get_or_insert_with(|| cell.to_owned());
        }
    }
    match (day_first, month_first, unclear) {
        (true, false, _) => Ok(Some(DateOrder::DayFirst)),
        (false, true, _) => Ok(Some(DateOrder::MonthFirst)),
        (_, _, Some(example)) => Err(example),
        _ => Ok(None),
    }
}

/// The first two numbers of a date whose order differs by country: `11/12/2026`, `11-12-26`. `None` for other texts.
fn slashed(cell: &str) -> Option<(u8, u8)> {
    let date = cell.split([' ', 'T', ',']).next()?;
    let mut parts = date.split(['/', '-']);
    let number = |text: &str| text.parse::<u8>().ok().filter(|_| text.len() <= 2);
    let (first, second, year) = (number(parts.next()?)?, number(parts.next()?)?, parts.next()?);
    let is_year = matches!(year.len(), 2 | 4) && year.bytes().all(|byte| byte.is_ascii_digit());
    (is_year && parts.next().is_none()).then_some((first, second))
}

fn with_offset(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let body = text.strip_suffix(" UTC").map(|body| format!("{body}Z")).unwrap_or_else(|| text.to_owned());
    let at = body.find(['T', 't', ' '])?;
    // Find where the time ends and its offset begins: `Z`, `+00`, `+0000`, `-03:00`.
    let (date, time) = (&body[..at], body[at + 1..].trim());
    let cut = time.find(['Z', 'z', '+', '-'])?;
    let (clock, offset) = (time[..cut].trim(), &time[cut..]);
    let offset = match offset.as_bytes() {
        [b'Z' | b'z'] => "Z".to_owned(),
        [sign, a, b] => format!("{}{}{}:00", char::from(*sign), char::from(*a), char::from(*b)),
        [sign, a, b, c, d] => {
            let [sign, a, b, c, d] = [sign, a, b, c, d].map(|byte| char::from(*byte));
            format!("{sign}{a}{b}:{c}{d}")
        }
        _ => offset.to_owned(),
    };
    let clock = if clock.len() == 5 { format!("{clock}:00") } else { clock.to_owned() };
    Timestamp::parse(&format!("{date}T{clock}{offset}")).ok()
}

/// A date, and the time after it if there is one. `None` if the text is no date.
fn local(text: &str, order: DateOrder) -> Option<(Date, Option<Time>)> {
    let text = text.trim();
    let (date, rest) = split_date(text)?;
    let date = date_of(date, order)?;
    let rest = rest.trim_matches(|c: char| c.is_whitespace() || matches!(c, 'T' | 't' | ','));
    if rest.is_empty() {
        return Some((date, None));
    }
    Some((date, Some(time_of(rest)?)))
}

/// Splits a text where the date ends: before the first part that holds a colon, or an hour with `AM`, `Uhr` or `h`.
fn split_date(text: &str) -> Option<(&str, &str)> {
    if let Some(colon) = text.find(':') {
        let start = text[..colon].trim_end().rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
        return Some((text.get(..start)?.trim_end_matches(['T', 't', ' ', ',']), text.get(start..)?));
    }
    Some((text, ""))
}

fn date_of(text: &str, order: DateOrder) -> Option<Date> {
    let text = text.trim().trim_end_matches(',');
    if text.chars().any(char::is_alphabetic) {
        return date_in_words(text);
    }
    let separator = text.chars().find(|c| !c.is_ascii_digit())?;
    let parts: Vec<&str> = text.split(separator).map(str::trim).filter(|part| !part.is_empty()).collect();
    let [a, b, c] = parts[..] else { return None };
    let number = |text: &str| text.parse::<i16>().ok();
    let (a_number, b_number, c_number) = (number(a)?, number(b)?, number(c)?);
    let (year, month, day) = match separator {
        _ if a.len() == 4 => (a_number, b_number, c_number),
        '.' => (year(c, c_number), b_number, a_number),
        '/' | '-' if order == DateOrder::DayFirst => (year(c, c_number), b_number, a_number),
        '/' | '-' => (year(c, c_number), a_number, b_number),
        _ => return None,
    };
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

fn year(text: &str, number: i16) -> i16 {
    if text.len() == 2 { 2000 + number } else { number }
}

/// A date with the month in words: `28 Nov 2026`, `Sat, 28. November 2026`, `November 28, 2026`, `28 de noviembre de
/// 2026`.
fn date_in_words(text: &str) -> Option<Date> {
    let plain = for_search(text);
    let words = plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let (mut day, mut month, mut year) = (None, None, None);
    for word in words {
        let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
        match digits.len() {
            4 if year.is_none() => year = digits.parse::<i16>().ok(),
            1 | 2 if day.is_none() => day = digits.parse::<i8>().ok(),
            0 if month.is_none() => month = month_of(word),
            _ => {}
        }
    }
    Date::new(year?, month?, day?).ok()
}

fn month_of(word: &str) -> Option<i8> {
    const MONTHS: [&[&str]; 12] = [
        &["jan", "ene", "gen"],
        &["feb", "fev"],
        &["mar", "maa", "mrt", "mrz"],
        &["apr", "avr", "abr"],
        &["may", "mai", "mag", "mei"],
        &["jun", "juin", "giu"],
        &["jul", "juil", "lug"],
        &["aug", "aou", "ago"],
        &["sep", "set"],
        &["oct", "okt", "ott", "out"],
        &["nov"],
        &["dec", "dez", "dic"],
    ];
    // `juin` and `juillet` share their first three letters.
    if word.starts_with("juil") {
        return Some(7);
    }
    let found = MONTHS.iter().position(|names| word.len() >= 3 && names.iter().any(|name| word.starts_with(name)))?;
    i8::try_from(found + 1).ok()
}

fn time_of(text: &str) -> Option<Time> {
    let lower = text.trim().to_ascii_lowercase();
    let is_pm = lower.ends_with("pm") || lower.ends_with("p.m.");
    let is_am = lower.ends_with("am") || lower.ends_with("a.m.");
    let clock = lower.trim_end_matches(|c: char| !c.is_ascii_digit());
    let clock = clock.split('.').next()?;
    let parts: Vec<i8> = clock.split(':').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
    let (hour, minute, second) = match parts[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let hour = match (is_am, is_pm, hour) {
        (true, _, 12) => 0,
        (_, true, 1..=11) => hour + 12,
        _ => hour,
    };
    Time::new(hour, minute, second, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn berlin() -> TimeZone {
        jiff::tz::TimeZoneDatabase::bundled().get("Europe/Berlin").unwrap()
    }
    fn beginning(text: &str) -> String {
        read(text, &berlin(), None, Edge::Beginning).map_or_else(|error| error, |at| at.to_string())
    }
    fn end(text: &str) -> String {
        read(text, &berlin(), None, Edge::End).map_or_else(|error| error, |at| at.to_string())
    }

    #[test]
    fn a_date_alone_is_the_whole_day_in_the_events_zone() {
        for text in [
            "2026-11-28",
            "28.11.2026",
            "28.11.26",
            "28/11/2026",
            "2026/11/28",
            "28 Nov 2026",
            "Sat, 28. November 2026",
            "November 28, 2026",
            "28 de noviembre de 2026",
            "28 novembre 2026",
        ] {
            assert_eq!(
                (beginning(text).as_str(), end(text).as_str()),
                ("2026-11-27T23:00:00Z", "2026-11-28T23:00:00Z"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_time_without_an_offset_is_the_events_own() {
        for text in [
            "28.11.2026 10:00",
            "2026-11-28T10:00",
            "2026-11-28 10:00:00",
            "28/11/2026, 10:00",
            "28 Nov 2026 10:00 AM",
            "2026-11-28T10:00:00+01:00",
            "2026-11-28 09:00:00+00",
            "2026-11-28T09:00:00Z",
            "2026-11-28 09:00:00.000+0000",
            "2026-11-28 09:00 UTC",
        ] {
            assert_eq!(beginning(text), "2026-11-28T09:00:00Z", "{text}");
        }
        assert_eq!(end("Nov 28, 2026 11:30 PM"), "2026-11-28T22:30:00Z");
        assert_eq!(end("28/11/2026 12:15 am"), "2026-11-27T23:15:00Z");
        for wrong in ["soon", "2026-13-01", "31.02.2026", "2026-11-28 25:00", "19:30", ""] {
            assert!(beginning(wrong).contains("is not a date"), "{wrong}");
        }
    }

    #[test]
    fn hours_that_clocks_skip_or_repeat_are_as_door_md_says() {
        assert_eq!(beginning("2027-03-28 02:30"), "2027-03-28T01:00:00Z");
        assert_eq!(end("2027-03-28 02:30"), "2027-03-28T01:00:00Z");
        assert_eq!(beginning("2027-10-31 02:30"), "2027-10-31T00:30:00Z");
        assert_eq!(end("2027-10-31 02:30"), "2027-10-31T01:30:00Z");
    }

    #[test]
    fn day_or_month_first_is_what_the_files_own_dates_say() {
        let order = |cells: &[&str]| order_of(cells.iter().copied());
        assert_eq!(order(&["01/02/2026", "28/11/2026 19:30"]), Ok(Some(DateOrder::DayFirst)));
        assert_eq!(order(&["01/02/26", "11/28/26"]), Ok(Some(DateOrder::MonthFirst)));
        assert_eq!(order(&["11/11/2026", "2026-01-02", "1.2.2026"]), Ok(None), "nothing to ask");
        assert_eq!(order(&["28/11/2026", "11/28/2026", "01/02/2026"]), Err("01/02/2026".into()));
        assert_eq!(order(&["01/02/2026"]), Err("01/02/2026".into()));
        let american = read("11/28/2026", &berlin(), Some(DateOrder::MonthFirst), Edge::Beginning).unwrap();
        assert_eq!(american.to_string(), "2026-11-27T23:00:00Z");
    }
}
