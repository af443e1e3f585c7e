//! The default templates, and the values that a template may name.

use std::collections::BTreeMap;

use admit_core::time::Timestamp;
use minijinja::value::Value;

use crate::records::{LetterheadRecord, MailKind, MailPart};
use crate::words::{plain, when};

/// The template of a part for which the organisation wrote none.
pub fn default_template(kind: MailKind, part: MailPart) -> &'static str {
    match (kind, part) {
        (MailKind::Pass, MailPart::Subject) => include_str!("templates/pass/subject.txt").trim_ascii_end(),
        (MailKind::Pass, MailPart::Text) => include_str!("templates/pass/body.txt"),
        (MailKind::Pass, MailPart::Html) => include_str!("templates/pass/body.html"),
    }
}

/// The values of a mail. Texts that people wrote went through [`plain`]: each is one line, without marks that change
/// the direction of the text.
#[derive(Debug, Clone)]
pub(crate) struct MailValues {
    /// The event's name.
    pub event: String,
    /// The organisation's name.
    pub organization: String,
    /// The guest's name.
    pub guest: String,
    /// The event's place. Empty if none is known.
    pub place: String,
    /// The beginning of the event, in its time zone.
    pub date: String,
    /// Persons that the pass lets in.
    pub party: u32,
    /// The code as people read it out.
    pub short_code: String,
    /// The address of the pass.
    pub pass_url: String,
    /// The address of the picture that goes with the mail.
    pub picture: String,
    /// The public address of the picture.
    pub picture_url: String,
    /// The letterhead's colour, `#rrggbb`.
    pub color: String,
    /// The letterhead's subject, with the event's name filled in. Empty if the letterhead has none.
    pub subject: String,
    /// Whether something that an earlier mail contained has changed.
    pub changed: bool,
}

/// A name that a template may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The name.
    pub name: &'static str,
    /// The meaning, in words for the organiser.
    pub about: &'static str,
}

impl MailValues {
    /// Every name that a template may use, with its meaning and its value. No other list of names exists.
    fn entries(&self) -> [(Variable, Value); 14] {
        let text = |name, about, text: &str| (Variable { name, about }, Value::from(text));
        [
            text("event", "the event's name", &self.event),
            text("organization", "your organisation's name", &self.organization),
            text("guest", "the guest's name", &self.guest),
            text("place", "the event's place; empty where it has none", &self.place),
            text("date", "day and time of the beginning, in the event's time zone", &self.date),
            (Variable { name: "party", about: "how many persons the pass lets in" }, Value::from(self.party)),
            text("short_code", "the code to say where it can't be read", &self.short_code),
            text("pass_url", "the link of the pass; both bodies must show it", &self.pass_url),
            text("picture", "the code's picture, as the `src` of an `<img>`", &self.picture),
            text("picture_url", "the public address of the code's picture", &self.picture_url),
            text("color", "the letterhead's colour", &self.color),
            text("text_color", "black or white, whichever reads better on `color`", readable_on(&self.color)),
            text("subject", "the letterhead's subject; empty where it has none", &self.subject),
            (
                Variable { name: "changed", about: "true where the event or the party changed since an earlier mail" },
                Value::from(self.changed),
            ),
        ]
    }
    /// The values by name, as the template engine takes them.
    pub(super) fn context(&self) -> Value {
        Value::from(self.entries().into_iter().map(|(one, value)| (one.name, value)).collect::<BTreeMap<_, _>>())
    }
    /// The values of a made-up pass of an organisation, for checks and previews.
    pub(super) fn sample(organization: &str, letterhead: &LetterheadRecord, changed: bool) -> Self {
        let event = "Summer Night";
        Self {
            event: event.to_owned(),
            organization: plain(organization),
            guest: "Ana Silva".to_owned(),
            place: "Harbour Hall, Quay 4".to_owned(),
            date: when(Timestamp::clamped(1_780_855_200_000), "Europe/Lisbon"),
            party: 2,
            short_code: "K7QF-2M9D".to_owned(),
            pass_url: "https://tickets.example.org/passes?token=sample".to_owned(),
            picture: "cid:sample".to_owned(),
            picture_url: "https://tickets.example.org/qr-codes/sample.png".to_owned(),
            color: letterhead.color.clone().unwrap_or_else(|| LetterheadRecord::COLOR.to_owned()),
            subject: letterhead.subject.as_deref().map(|own| plain(&own.replace("{event}", event))).unwrap_or_default(),
            changed,
        }
    }
}

/// The names that a kind's templates may use.
pub fn variables(kind: MailKind) -> Vec<Variable> {
    match kind {
        MailKind::Pass => {
            let sample = MailValues::sample("", &LetterheadRecord::default(), false);
            sample.entries().into_iter().map(|(one, _)| one).collect()
        }
    }
}

/// The text colour that is easier to read on a background `#rrggbb`: black or white. The brightness is a weighted sum
/// of red, green and blue.
fn readable_on(color: &str) -> &'static str {
    let part = |at: usize| color.get(at..at + 2).and_then(|two| u32::from_str_radix(two, 16).ok()).unwrap_or(0);
    let light = (part(1) * 299 + part(3) * 587 + part(5) * 114) / 1_000;
    if light > 150 { "#14211d" } else { "#ffffff" }
}
