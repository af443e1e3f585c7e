//! Makes text of others harmless, and writes moments as people read them.

use admit_core::time::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// The text on one line, unable to change the direction of the text around it. Control characters become spaces, and
/// marks that change the text's direction are left out (docs/faults.md, row 36).
pub fn plain(text: &str) -> String {
    let turns =
        |c: char| matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200E}' | '\u{200F}' | '\u{061C}');
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let kept = text.chars().filter(|c| !turns(*c)).map(|c| if breaks(c) { ' ' } else { c });
    kept.collect::<String>().trim().to_owned()
}

/// [`plain`] text escaped for HTML, between tags and in quoted attributes.
pub fn escaped(text: &str) -> String {
    without_markup(&plain(text))
}

/// The text escaped for HTML. Line breaks stay.
pub(crate) fn without_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A moment in a zone of the IANA database, such as `Sunday, 7 June 2026, 20:00 (Lisbon time)`. UTC if the zone is
/// unknown.
pub fn when(at: Timestamp, zone: &str) -> String {
    let tz = TimeZoneDatabase::bundled().get(zone).unwrap_or(TimeZone::UTC);
    let zone = tz.iana_name().unwrap_or("UTC").to_owned();
    let name = match zone.rsplit('/').next() {
        Some(city) if city != zone => format!("{} time", city.replace('_', " ")),
        _ => zone,
    };
    let moment = jiff::Timestamp::from_millisecond(at.ms()).unwrap_or_default().to_zoned(tz);
    format!("{} ({name})", moment.strftime("%A, %-d %B %Y, %H:%M"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guests_name_is_no_markup_no_line_break_and_turns_nothing_around() {
        let escapes = [
            ("<img src=x onerror='a(1)'>", "&lt;img src=x onerror=&#39;a(1)&#39;&gt;"),
            ("Tom & \"Jerry\"", "Tom &amp; &quot;Jerry&quot;"),
        ];
        for (name, harmless) in escapes {
            assert_eq!(escaped(name), harmless);
        }
        assert_eq!(plain("Ana\r\nBcc: all@x.example"), "Ana  Bcc: all@x.example");
        assert_eq!(plain("\u{202E}gpj.exe\u{2066} \u{2028}x"), "gpj.exe  x");
        assert_eq!(plain("Đorđević 山田 👩‍👩‍👧"), "Đorđević 山田 👩‍👩‍👧", "names stay as they are");
    }

    #[test]
    fn a_moment_is_told_in_the_events_zone() {
        let at = Timestamp::parse("2026-06-07T18:30:00Z").unwrap();
        assert_eq!(when(at, "Europe/Lisbon"), "Sunday, 7 June 2026, 19:30 (Lisbon time)");
        assert_eq!(when(at, "Asia/Kolkata"), "Monday, 8 June 2026, 00:00 (Kolkata time)");
        assert_eq!(when(at, "Nowhere/Land"), "Sunday, 7 June 2026, 18:30 (UTC)");
    }
}
