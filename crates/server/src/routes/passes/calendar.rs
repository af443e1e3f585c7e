//! The event of a pass as a calendar file (RFC 5545): time, place, and the address of the pass.

use admit_app::passes::Pass;
use admit_core::time::Timestamp;

/// Makes the file. `url` is the address of the pass, `now` the time of creation.
pub fn calendar(pass: &Pass, url: &str, now: Timestamp) -> String {
    let event = &pass.event;
    let uid = format!("{}@admit", pass.ticket.ticket_id);
    entry(&uid, [now, event.starts_at, event.ends_at], [&event.name, &event.venue, url])
}

fn entry(uid: &str, [now, starts_at, ends_at]: [Timestamp; 3], [name, venue, url]: [&str; 3]) -> String {
    let lines = [
        "BEGIN:VCALENDAR".to_owned(),
        "VERSION:2.0".to_owned(),
        "PRODID:-//Admit//Pass//EN".to_owned(),
        "BEGIN:VEVENT".to_owned(),
        format!("UID:{uid}"),
        format!("DTSTAMP:{}", stamp(now)),
        format!("DTSTART:{}", stamp(starts_at)),
        format!("DTEND:{}", stamp(ends_at)),
        format!("SUMMARY:{}", text(name)),
        format!("LOCATION:{}", text(venue)),
        format!("DESCRIPTION:{}", text(url)),
        "END:VEVENT".to_owned(),
        "END:VCALENDAR".to_owned(),
    ];
    lines.iter().map(|line| folded(line)).collect()
}

/// A time as `20261127T193000Z`: whole seconds in UTC.
fn stamp(at: Timestamp) -> String {
    let whole = Timestamp::clamped(at.ms() - at.ms().rem_euclid(1_000));
    whole.to_string().replace(['-', ':'], "")
}

/// Escapes a value, so that it ends neither its line nor its property.
fn text(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' | ';' | ',' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Splits a line after at most 75 octets, never within a character. The next line begins with a space.
fn folded(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 8);
    let mut octets = 0;
    for c in line.chars() {
        if octets + c.len_utf8() > 75 {
            out.push_str("\r\n ");
            octets = 1;
        }
        out.push(c);
        octets += c.len_utf8();
    }
    out.push_str("\r\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_entry_whose_texts_stay_in_their_lines() {
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let times = [at("2026-11-01T08:00:00.250Z"), at("2026-11-27T19:30:00Z"), at("2026-11-28T01:00:00Z")];
        let file = entry(
            "t1@admit",
            times,
            ["Gala; late, loud\r\nEND:VEVENT", "Old Harbour", "https://t.example/passes?token=x"],
        );
        let expected = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Admit//Pass//EN\r\nBEGIN:VEVENT\r\nUID:t1@admit\r\n\
            DTSTAMP:20261101T080000Z\r\nDTSTART:20261127T193000Z\r\nDTEND:20261128T010000Z\r\n\
            SUMMARY:Gala\\; late\\, loud\\nEND:VEVENT\r\nLOCATION:Old Harbour\r\n\
            DESCRIPTION:https://t.example/passes?token=x\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
        assert_eq!(file, expected);
    }

    #[test]
    fn a_long_line_is_folded_between_characters() {
        let line = format!("SUMMARY:{}", "ö".repeat(100));
        let file = folded(&line);
        assert!(file.lines().all(|one| one.len() <= 75), "{file}");
        assert_eq!(file.replace("\r\n ", ""), format!("{line}\r\n"));
    }
}
