//! The calendar file that a mail carries (RFC 5545).

use admit_core::time::Timestamp;

use crate::words::plain;

/// The content of a calendar entry.
pub(super) struct Entry<'a> {
    /// The id of the entry. It is the same in every mail about one ticket, so that calendars replace the entry they
    /// have.
    pub uid: &'a str,
    /// The number of this mail among those about the ticket, from 0.
    pub sequence: usize,
    pub written_at: Timestamp,
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
    pub summary: &'a str,
    pub place: &'a str,
    pub url: &'a str,
}

pub(super) fn file(entry: &Entry<'_>) -> String {
    let lines = [
        "BEGIN:VCALENDAR".to_owned(),
        "VERSION:2.0".to_owned(),
        "PRODID:-//Admit//Pass//EN".to_owned(),
        "METHOD:PUBLISH".to_owned(),
        "BEGIN:VEVENT".to_owned(),
        format!("UID:{}", text(entry.uid)),
        format!("SEQUENCE:{}", entry.sequence),
        format!("DTSTAMP:{}", moment(entry.written_at)),
        format!("DTSTART:{}", moment(entry.starts_at)),
        format!("DTEND:{}", moment(entry.ends_at)),
        format!("SUMMARY:{}", text(entry.summary)),
        format!("LOCATION:{}", text(entry.place)),
        format!("URL:{}", entry.url),
        "END:VEVENT".to_owned(),
        "END:VCALENDAR".to_owned(),
    ];
    lines.iter().map(|line| folded(line)).collect()
}

/// A time in the form `20260607T183000Z`.
fn moment(at: Timestamp) -> String {
    at.to_string().chars().take(19).filter(char::is_ascii_alphanumeric).chain(['Z']).collect()
}

fn text(text: &str) -> String {
    plain(text).replace('\\', "\\\\").replace(';', "\\;").replace(',', "\\,")
}

/// Folds a long line as RFC 5545 requires: into lines of at most 75 bytes, of which all but the first begin with a
/// space.
fn folded(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 8);
    let mut bytes = 0;
    for c in line.chars() {
        if bytes + c.len_utf8() > 75 {
            out.push_str("\r\n ");
            bytes = 1;
        }
        out.push(c);
        bytes += c.len_utf8();
    }
    out.push_str("\r\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_folded_and_marks_are_escaped() {
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let summary = format!("A, b; c\\ {}\r\nATTACH:x", "ü".repeat(80));
        let made = file(&Entry {
            uid: "t-1@x.example",
            sequence: 2,
            written_at: at("2026-06-01T08:00:00.123Z"),
            starts_at: at("2026-06-07T18:30:00Z"),
            ends_at: at("2026-06-08T02:00:00Z"),
            summary: &summary,
            place: "Quay 4, Harbour",
            url: "https://x.example/passes?token=t",
        });
        assert!(made.lines().all(|line| line.len() <= 75));
        assert!(made.split("\r\n").all(|line| !line.contains('\n')));
        let whole = made.replace("\r\n ", "");
        for line in [
            "DTSTAMP:20260601T080000Z",
            "DTSTART:20260607T183000Z",
            "DTEND:20260608T020000Z",
            "LOCATION:Quay 4\\, Harbour",
            "SEQUENCE:2",
        ] {
            assert!(whole.lines().any(|one| one == line), "{line} in {whole}");
        }
        assert!(whole.contains("SUMMARY:A\\, b\\; c\\\\ üü"));
        assert!(!whole.lines().any(|line| line.starts_with("ATTACH")), "a line break in a name begins no line");
    }
}
