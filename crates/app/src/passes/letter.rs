//! Writes the mail that brings a pass, as text and as HTML. It contains the QR code, the code's public address, and a
//! calendar file. Names and places that people wrote are included as plain text only.

use admit_core::pass;
use admit_core::time::Timestamp;

use super::calendar::{self, Entry};
use super::words::{escaped, plain, when};
use crate::ports::{Enclosure, Letter, Mailbox};
use crate::records::{EventRecord, GuestRecord, LetterheadRecord, OrganizationRecord, TicketRecord};

/// The content id of the picture inside the mail.
const PICTURE: &str = "pass-qr-code";

/// The facts from which a mail is written.
pub(super) struct Facts<'a> {
    pub organization: &'a OrganizationRecord,
    pub letterhead: &'a LetterheadRecord,
    pub event: &'a EventRecord,
    pub guest: &'a GuestRecord,
    pub email: &'a str,
    pub ticket: &'a TicketRecord,
    pub token: &'a str,
    /// The server's own address.
    pub base: &'a str,
    /// The public address of the picture.
    pub picture_url: &'a str,
    pub png: Vec<u8>,
    /// Number of mails that this guest got before about this ticket.
    pub earlier: usize,
    /// Whether something changed that an earlier mail contained.
    pub is_change: bool,
    pub sender: &'a Mailbox,
    /// The key of the mail, which is the same at every try (`run:step`).
    pub key: &'a str,
    pub now: Timestamp,
}

/// Writes the mail.
pub(super) fn write(facts: Facts<'_>) -> Letter {
    let domain = facts.sender.email.rsplit('@').next().unwrap_or("localhost").to_owned();
    let organization = plain(&facts.organization.name);
    let event = plain(&facts.event.name);
    let url = pass::url(facts.base, facts.token);
    let standard =
        if facts.is_change { format!("Changed: your pass for {event}") } else { format!("Your pass for {event}") };
    let subject = match &facts.letterhead.subject {
        Some(own) if !facts.is_change => plain(&own.replace("{event}", &event)),
        _ => standard,
    };
    let summary = format!("{event} ({organization})");
    let calendar = calendar::file(&Entry {
        uid: &format!("{}@{domain}", facts.ticket.ticket_id),
        sequence: facts.earlier,
        written_at: facts.now,
        starts_at: facts.event.starts_at,
        ends_at: facts.event.ends_at,
        summary: &summary,
        place: &facts.event.venue,
        url: &url,
    });
    Letter {
        message_id: format!("{}@{domain}", facts.key.replace(':', ".")),
        from: Mailbox { name: organization, email: facts.sender.email.clone() },
        reply_to: facts.letterhead.reply_to.as_ref().map(|email| Mailbox { name: String::new(), email: email.clone() }),
        to: Mailbox { name: plain(&facts.guest.name), email: facts.email.to_owned() },
        subject,
        at: facts.now,
        text: text(&facts, &url),
        html: html(&facts, &url),
        picture: (
            PICTURE.to_owned(),
            Enclosure { name: "pass.png".to_owned(), media_type: "image/png", bytes: facts.png },
        ),
        attachment: Enclosure {
            name: "event.ics".to_owned(),
            media_type: "text/calendar; charset=utf-8; method=PUBLISH",
            bytes: calendar.into_bytes(),
        },
    }
}

const CHANGED: &str =
    "Something about the event or your party changed. This is how it stands now; your code is the same.";

fn text(facts: &Facts<'_>, url: &str) -> String {
    let mut lines = vec![plain(&facts.event.name), plain(&facts.organization.name), String::new()];
    lines.push(format!("Hello {},", plain(&facts.guest.name)));
    lines.push(String::new());
    if facts.is_change {
        lines.extend([CHANGED.to_owned(), String::new()]);
    }
    lines.push("This is your check-in code. Open it and show it at the door:".to_owned());
    lines.extend([url.to_owned(), String::new()]);
    lines.push(format!("If it can't be read, say {}", facts.ticket.short_code().unwrap_or_default()));
    lines.push(format!("Party of {}", facts.ticket.rules.entry_limit));
    lines.push(when(facts.event.starts_at, &facts.event.time_zone));
    let place = plain(&facts.event.venue);
    if !place.is_empty() {
        lines.push(place);
    }
    lines.push(String::new());
    lines.push("The code alone, as a picture:".to_owned());
    lines.extend([facts.picture_url.to_owned(), String::new()]);
    lines.push("Whoever has this link has your place: do not pass it on.".to_owned());
    lines.join("\n") + "\n"
}

/// The mail as HTML, for light and dark screens. With pictures off, the link and the text remain. Mail programs support
/// style sheets poorly, so each element carries its own style.
fn html(facts: &Facts<'_>, url: &str) -> String {
    let color = facts.letterhead.color.as_deref().unwrap_or(LetterheadRecord::COLOR);
    let on_color = on(color);
    let (event, organization, guest) =
        (escaped(&facts.event.name), escaped(&facts.organization.name), escaped(&facts.guest.name));
    let (url, picture_url) = (escaped(url), escaped(facts.picture_url));
    let date = escaped(&when(facts.event.starts_at, &facts.event.time_zone));
    let place = escaped(&facts.event.venue);
    let place = if place.is_empty() { place } else { format!("<br><bdi>{place}</bdi>") };
    let changed = if facts.is_change { format!("<p style=\"margin:0 0 16px\">{CHANGED}</p>") } else { String::new() };
    let (party, short) = (facts.ticket.rules.entry_limit, facts.ticket.short_code().unwrap_or_default());
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"color-scheme\" content=\"light dark\">\
         <meta name=\"supported-color-schemes\" content=\"light dark\"><title>{event}</title><style>\
         :root{{color-scheme:light dark}}@media(prefers-color-scheme:dark){{\
         .page{{background:#0f172a!important;color:#e2e8f0!important}}.quiet{{color:#cbd5e1!important}}\
         .link{{color:#93c5fd!important}}}}</style></head>\
         <body class=\"page\" style=\"margin:0;background:#ffffff;color:#0f172a;\
         font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',sans-serif;font-size:16px;line-height:1.5\">\
         <div role=\"main\" style=\"max-width:560px;margin:0 auto\">\
         <div style=\"background:{color};color:{on_color};padding:30px 20px;text-align:center\">\
         <h1 style=\"margin:0;font-size:26px\"><bdi>{event}</bdi></h1>\
         <p style=\"margin:10px 0 0\"><bdi>{organization}</bdi></p></div>\
         <div style=\"padding:20px;text-align:center\">\
         <p style=\"margin:0 0 16px\">Hello <bdi>{guest}</bdi>,</p>{changed}\
         <h2 style=\"margin:0 0 8px;font-size:20px\">Your check-in code</h2>\
         <p style=\"margin:0 0 16px\">Show this code at the door:</p>\
         <img src=\"cid:{PICTURE}\" width=\"260\" height=\"260\" alt=\"QR code of your pass. If you see no picture, open your \
         pass by the link below.\" style=\"background:#ffffff;color:#0f172a;border:4px solid {color};border-radius:8px;\
         width:260px;height:260px\">\
         <p class=\"quiet\" style=\"margin:8px 0 0;color:#475569;font-size:14px\">If it can't be read, say <b>{short}</b></p>\
         <p style=\"margin:20px 0\"><a class=\"link\" href=\"{url}\" style=\"color:#1d4ed8;font-weight:bold\">Open your \
         pass</a></p>\
         <p class=\"quiet\" style=\"margin:0;color:#475569\">Party of {party} &bull; {date}{place}</p>\
         <p class=\"quiet\" style=\"margin:20px 0 0;color:#475569;font-size:14px\">No picture? <a class=\"link\" \
         href=\"{picture_url}\" style=\"color:#1d4ed8\">See the code alone</a>. Whoever has it has your place: do not pass it \
         on.</p></div></div></body></html>"
    )
}

/// Black or white, whichever reads better on a colour `#rrggbb` (WCAG's luminance, simplified to its weights).
fn on(color: &str) -> &'static str {
    let part = |at: usize| color.get(at..at + 2).and_then(|two| u32::from_str_radix(two, 16).ok()).unwrap_or(0);
    let light = (part(1) * 299 + part(3) * 587 + part(5) * 114) / 1_000;
    if light > 150 { "#0f172a" } else { "#f8fafc" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{AtDoor, ClockTime, Fields};
    use admit_core::event::{EventStatus, ReEntry};
    use admit_core::ids::*;
    use admit_core::ticket::{TicketRules, TicketStatus};

    const NASTY: &str = "<img src=x onerror=alert(1)>\r\nBcc: all@x.example\u{202E}";

    fn letter(name: &str, letterhead: &LetterheadRecord, is_change: bool) -> Letter {
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let organization = OrganizationRecord {
            organization_id: OrganizationId::new("o").unwrap(),
            name: format!("Club {name}"),
            created_at: Timestamp::START,
        };
        let event = EventRecord {
            event_id: EventId::new("e").unwrap(),
            name: format!("Night {name}"),
            venue: format!("Harbour {name}"),
            time_zone: "Europe/Lisbon".into(),
            starts_at: at("2026-06-07T18:30:00Z"),
            ends_at: at("2026-06-08T02:00:00Z"),
            status: EventStatus::Live,
            re_entry: ReEntry::Never,
            min_gap_seconds: 300,
            day_starts_at: ClockTime::DAY_STARTS,
            has_pin: false,
            capacity: None,
            walk_ins: None,
            at_door: AtDoor::default(),
            retention_days: None,
            created_at: Timestamp::START,
        };
        let guest = GuestRecord {
            guest_id: GuestId::new("g").unwrap(),
            event_id: event.event_id.clone(),
            ticket_id: None,
            guest_list_id: None,
            entry_type_id: None,
            name: name.into(),
            email: None,
            phone: None,
            party_size: 3,
            note: Some("secret note".into()),
            flag: None,
            fields: Fields::new(),
            external_id: None,
            created_at: Timestamp::START,
            updated_at: Timestamp::START,
            erased_at: None,
        };
        let ticket = TicketRecord {
            ticket_id: TicketId::new("t").unwrap(),
            event_id: event.event_id.clone(),
            rules: TicketRules {
                status: TicketStatus::Active,
                entry_limit: 3,
                gate_ids: Vec::new(),
                zone: "general".into(),
                valid_from: None,
                expires_at: None,
            },
            barcode: None,
            drawn: false,
            barcode_hashes: Vec::new(),
            import_key: None,
            order_id: None,
            guest_id: None,
            rules_serial: 0,
            created_at: Timestamp::START,
        };
        write(Facts {
            organization: &organization,
            letterhead,
            event: &event,
            guest: &guest,
            email: "ana@x.example",
            ticket: &ticket,
            token: "tok",
            base: "https://t.example",
            picture_url: "https://t.example/qr-codes/tok.png",
            png: vec![1],
            earlier: 0,
            is_change,
            sender: &Mailbox { name: String::new(), email: "passes@club.example".into() },
            key: "run-1:send-email",
            now: at("2026-06-01T08:00:00Z"),
        })
    }

    #[test]
    fn it_says_what_a_guest_needs_in_both_forms() {
        let letter = letter("Ana", &LetterheadRecord::default(), false);
        for part in [
            "Ana",
            "Night Ana",
            "Club Ana",
            "Harbour Ana",
            "Party of 3",
            "Sunday, 7 June 2026, 19:30 (Lisbon time)",
            "https://t.example/passes?token=tok",
            "https://t.example/qr-codes/tok.png",
        ] {
            assert!(letter.text.contains(part), "{part} in {}", letter.text);
            assert!(letter.html.contains(part), "{part} in {}", letter.html);
        }
        assert!(letter.html.contains("src=\"cid:pass-qr-code\"") && letter.picture.0 == "pass-qr-code");
        assert_eq!(letter.message_id, "run-1.send-email@club.example");
        assert_eq!((letter.from.name.as_str(), letter.from.email.as_str()), ("Club Ana", "passes@club.example"));
        assert_eq!(letter.subject, "Your pass for Night Ana");
        assert!(!letter.text.contains("secret note") && !letter.html.contains("secret note"), "a note is for the door");
    }

    #[test]
    fn names_are_text_in_every_part_of_it() {
        let letter = letter(NASTY, &LetterheadRecord::default(), true);
        assert!(!letter.html.contains("<img src=x") && letter.html.contains("&lt;img src=x"));
        for line in [&letter.subject, &letter.from.name, &letter.to.name] {
            assert!(!line.contains(['\r', '\n', '\u{202E}']), "{line:?}");
        }
        let calendar = String::from_utf8(letter.attachment.bytes.clone()).unwrap();
        for text in [&letter.text, &letter.html, &calendar] {
            assert!(!text.lines().any(|line| line.trim_start().starts_with("Bcc:")), "{text}");
            assert!(!text.contains('\u{202E}'));
        }
    }

    #[test]
    fn an_organisation_has_its_own_colour_subject_and_address_for_answers() {
        let own = LetterheadRecord {
            color: Some("#ffee00".into()),
            subject: Some("{event}: you are in".into()),
            reply_to: Some("office@club.example".into()),
        };
        let first = letter("Ana", &own, false);
        assert_eq!(first.subject, "Night Ana: you are in");
        assert!(first.html.contains("background:#ffee00;color:#0f172a"));
        assert_eq!(first.reply_to.map(|one| one.email).as_deref(), Some("office@club.example"));
        let changed = letter("Ana", &own, true);
        assert_eq!(changed.subject, "Changed: your pass for Night Ana", "an update says so");
        assert!(changed.text.contains("your code is the same"));
    }
}
