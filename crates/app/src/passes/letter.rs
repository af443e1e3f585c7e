//! Writes the mail that brings a pass, as text and as HTML, by templates. The mail contains the QR code, the code's
//! public address, and a calendar file. Names and places that people wrote are included as plain text only.

use admit_core::pass;
use admit_core::time::Timestamp;

use super::calendar::{self, Entry};
use crate::error::Result;
use crate::mail_templates::{MailValues, RenderedMail, render_mail};
use crate::ports::{Enclosure, Letter, Mailbox};
use crate::records::{
    EventRecord, GuestRecord, LetterheadRecord, MailKind, MailTemplateRecord, OrganizationRecord, TicketRecord,
};
use crate::words::{plain, when};

/// The content id of the picture inside the mail.
const PICTURE: &str = "pass-qr-code";

/// The facts from which a mail is written.
pub(super) struct Facts<'a> {
    pub organization: &'a OrganizationRecord,
    pub letterhead: &'a LetterheadRecord,
    pub templates: &'a MailTemplateRecord,
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
pub(super) fn write(facts: Facts<'_>) -> Result<Letter> {
    let domain = facts.sender.email.rsplit('@').next().unwrap_or("localhost").to_owned();
    let url = pass::url(facts.base, facts.token);
    let values = values(&facts, &url);
    let calendar = calendar::file(&Entry {
        uid: &format!("{}@{domain}", facts.ticket.ticket_id),
        sequence: facts.earlier,
        written_at: facts.now,
        starts_at: facts.event.starts_at,
        ends_at: facts.event.ends_at,
        summary: &format!("{} ({})", values.event, values.organization),
        place: &facts.event.venue,
        url: &url,
    });
    let RenderedMail { subject, text, html, problems } = render_mail(MailKind::Pass, facts.templates, &values)?;
    for (part, problem) in problems {
        let (organization_id, part) = (&facts.organization.organization_id, part.as_str());
        let (line, reason) = (problem.line.unwrap_or_default(), problem.reason);
        tracing::warn!(%organization_id, part, line, reason, "an own template of a mail failed: the default took its place");
    }
    Ok(Letter {
        message_id: format!("{}@{domain}", facts.key.replace(':', ".")),
        from: Mailbox { name: values.organization, email: facts.sender.email.clone() },
        reply_to: facts.letterhead.reply_to.as_ref().map(|email| Mailbox { name: String::new(), email: email.clone() }),
        to: Mailbox { name: values.guest, email: facts.email.to_owned() },
        subject,
        at: facts.now,
        text,
        html,
        picture: (
            PICTURE.to_owned(),
            Enclosure { name: "pass.png".to_owned(), media_type: "image/png", bytes: facts.png },
        ),
        attachment: Enclosure {
            name: "event.ics".to_owned(),
            media_type: "text/calendar; charset=utf-8; method=PUBLISH",
            bytes: calendar.into_bytes(),
        },
    })
}

fn values(facts: &Facts<'_>, url: &str) -> MailValues {
    let event = plain(&facts.event.name);
    let own_subject = facts.letterhead.subject.as_ref().map(|own| plain(&own.replace("{event}", &event)));
    MailValues {
        organization: plain(&facts.organization.name),
        guest: plain(&facts.guest.name),
        place: plain(&facts.event.venue),
        date: when(facts.event.starts_at, &facts.event.time_zone),
        party: facts.ticket.rules.entry_limit,
        short_code: facts.ticket.short_code().unwrap_or_default(),
        pass_url: url.to_owned(),
        picture: format!("cid:{PICTURE}"),
        picture_url: facts.picture_url.to_owned(),
        color: facts.letterhead.color.clone().unwrap_or_else(|| LetterheadRecord::COLOR.to_owned()),
        subject: own_subject.unwrap_or_default(),
        changed: facts.is_change,
        event,
    }
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
        by_templates(name, letterhead, &MailTemplateRecord::default(), is_change)
    }

    fn by_templates(
        name: &str,
        letterhead: &LetterheadRecord,
        templates: &MailTemplateRecord,
        is_change: bool,
    ) -> Letter {
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
            templates,
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
        .unwrap()
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
        assert_eq!((letter.attachment.name.as_str(), letter.picture.1.name.as_str()), ("event.ics", "pass.png"));
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
        assert!(first.html.contains("background:#ffee00;color:#14211d"));
        assert_eq!(first.reply_to.map(|one| one.email).as_deref(), Some("office@club.example"));
        let changed = letter("Ana", &own, true);
        assert_eq!(changed.subject, "Changed: your pass for Night Ana", "an update says so");
        assert!(changed.text.contains("your code is the same"));
    }
    #[test]
    fn the_default_text_is_word_for_word() {
        let letter = letter("Ana", &LetterheadRecord::default(), true);
        let text = "Night Ana\nClub Ana\n\nHello Ana,\n\n\
            Something about the event or your party changed. This is how it stands now; your code is the same.\n\n\
            This is your check-in code. Open it and show it at the door:\nhttps://t.example/passes?token=tok\n\n\
            If it can't be read, say \nParty of 3\nSunday, 7 June 2026, 19:30 (Lisbon time)\nHarbour Ana\n\n\
            The code alone, as a picture:\nhttps://t.example/qr-codes/tok.png\n\n\
            Whoever has this link has your place: do not pass it on.\n";
        assert_eq!(letter.text, text);
    }

    #[test]
    fn own_templates_make_the_mail_and_one_that_fails_loses_none() {
        let own = MailTemplateRecord {
            subject: Some("{{ guest }}\nBcc: all@x.example".into()),
            text: Some("{{ guest.name }}".into()),
            html: Some("<p title=\"{{ guest }}\">{{ guest }} <a href=\"{{ pass_url }}\">in</a></p>".into()),
        };
        let letter = by_templates(NASTY, &LetterheadRecord::default(), &own, false);
        assert!(letter.subject.starts_with("<img") && !letter.subject.contains(['\r', '\n']), "{:?}", letter.subject);
        assert!(letter.html.starts_with("<p title=\"&lt;img src=x onerror=alert(1)&gt;"), "{}", letter.html);
        assert!(letter.text.contains("This is your check-in code"), "the default took its place");
    }
}
