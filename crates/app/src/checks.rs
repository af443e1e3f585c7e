//! Checks of what people send. All wrong fields are reported at once.

use admit_core::ids::GateId;
use admit_core::limits::{
    FIELD_NAME_CHARS, FIELD_VALUE_CHARS, FIELDS, ID_CHARS, NAME_CHARS, NOTE_CHARS, PARTY, RETENTION_DAYS, SET_ITEMS,
    VERDICT_FIELDS,
};
use admit_core::time::Timestamp;

use crate::error::{Error, FieldError, Result};
use crate::records::Fields;

/// Longest zone, in characters.
const ZONE_CHARS: usize = 64;
/// Longest e-mail address, in characters (RFC 5321's path limit).
pub(crate) const EMAIL_CHARS: usize = 254;
/// Longest phone number as written, in characters.
const PHONE_CHARS: usize = 40;
/// Longest flag for the door, in characters: it must fit a verdict screen.
const FLAG_CHARS: usize = 80;
/// Longest number of an order, in characters (decision 035).
const ORDER_CHARS: usize = 64;
/// Longest name of a time zone, in characters.
const TIME_ZONE_CHARS: usize = 64;
/// Shortest password, in characters. Length protects better than unusual characters.
const PASSWORD_CHARS: usize = 10;
/// How many characters of a password are judged. Judging more characters takes long and finds no further weakness.
const PASSWORD_JUDGED: usize = 64;
/// The lowest accepted score of a password: more than a million guesses, by zxcvbn's estimate.
const PASSWORD_SCORE: zxcvbn::Score = zxcvbn::Score::Two;
/// Longest password, in bytes. The bound keeps hashing from overloading the server.
const PASSWORD_BYTES: usize = 1_024;

/// The wrong fields found so far.
#[derive(Debug, Default)]
pub struct Checks {
    errors: Vec<FieldError>,
}

/// `field` under `parent`: `guest` and `name` are `guest.name`, `[3]` and `name` are `[3].name`.
pub fn path(parent: &str, field: &str) -> String {
    if parent.is_empty() { field.to_owned() } else { format!("{parent}.{field}") }
}

impl Checks {
    /// Adds a wrong field. `message` completes a sentence that begins with the field's name: "must be 1 or more", "is
    /// not a gate of this event". A form writes the label of its input before `message` instead of the field's name.
    pub fn fail(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.errors.push(FieldError { path: path.into(), message: message.into() });
    }
    /// The wrong fields so far.
    pub fn errors(&self) -> &[FieldError] {
        &self.errors
    }
    /// Fails with all wrong fields as one error, if there are any.
    pub fn finish(self) -> Result<()> {
        if self.errors.is_empty() {
            Ok(())
        } else {
            Err(Error::Invalid { code: "invalid_request", errors: self.errors })
        }
    }

    /// Checks a name: 1–200 characters without control characters. Outer white space is cut off.
    pub fn name(&mut self, path: &str, text: &str) -> String {
        self.line(path, text, 1, NAME_CHARS)
    }
    /// Checks one line of text: `min` to `max` characters. Outer white space is cut off.
    pub fn line(&mut self, path: &str, text: &str, min: usize, max: usize) -> String {
        let text = text.trim();
        let chars = text.chars().count();
        if chars < min || chars > max {
            self.fail(path, format!("must have {min} to {max} characters, not {chars}"));
        } else if text.chars().any(char::is_control) {
            self.fail(path, "must not hold control characters");
        }
        text.to_owned()
    }
    /// Checks a note: at most 2,000 characters, with line breaks. `None` if it is empty.
    pub fn note(&mut self, path: &str, text: Option<&str>) -> Option<String> {
        let text = text?.trim();
        if text.chars().count() > NOTE_CHARS {
            self.fail(path, format!("must have at most {NOTE_CHARS} characters"));
        } else if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            self.fail(path, "must not hold control characters");
        }
        some_text(text)
    }
    /// Checks a flag for the door: a few words, such as `check ID`. `None` if it is empty.
    pub fn flag(&mut self, path: &str, text: Option<&str>) -> Option<String> {
        let text = self.line(path, text?, 0, FLAG_CHARS);
        some_text(&text)
    }
    /// Checks the fields of a guest: at most 8. A name has 1–24 characters, a value is one line of at most 200. Returns
    /// the fields without empty ones.
    pub fn fields(&mut self, path: &str, fields: &Fields) -> Fields {
        let mut out = Fields::new();
        for (name, value) in fields {
            let at = format!("{path}.{name}");
            let (name, value) =
                (self.line(&at, name, 1, FIELD_NAME_CHARS), self.line(&at, value, 0, FIELD_VALUE_CHARS));
            if !value.is_empty() {
                out.insert(name, value);
            }
        }
        if out.len() > FIELDS {
            self.fail(path, format!("must have at most {FIELDS} fields, not {}", out.len()));
        }
        out
    }
    /// Checks names of guest fields that a verdict shows: at most 3, each once.
    pub fn verdict_fields(&mut self, path: &str, names: &[String]) -> Vec<String> {
        if names.len() > VERDICT_FIELDS {
            self.fail(path, format!("must have at most {VERDICT_FIELDS} items, not {}", names.len()));
        }
        let mut out: Vec<String> = Vec::new();
        for (i, name) in names.iter().enumerate() {
            let name = self.line(&format!("{path}[{i}]"), name, 1, FIELD_NAME_CHARS);
            if out.contains(&name) {
                self.fail(format!("{path}[{i}]"), "stands there twice");
            }
            out.push(name);
        }
        out
    }
    /// Checks the organiser's own id: one line. `None` if it is empty.
    pub fn external_id(&mut self, path: &str, text: Option<&str>) -> Option<String> {
        let text = self.line(path, text?, 0, ID_CHARS);
        some_text(&text)
    }
    /// Checks the number of an order: one line of at most 64 characters. `None` if it is empty.
    pub fn order_id(&mut self, path: &str, text: Option<&str>) -> Option<String> {
        let text = self.line(path, text?, 0, ORDER_CHARS);
        some_text(&text)
    }
    /// Checks an e-mail address: one @ with something before and after it, and no spaces. Returns it in lower case.
    pub fn email(&mut self, path: &str, text: &str) -> String {
        let text = text.trim().to_lowercase();
        let good = text.split_once('@').is_some_and(|(local, domain)| {
            !local.is_empty()
                && !domain.is_empty()
                && !domain.contains('@')
                && !domain.starts_with('.')
                && !domain.ends_with('.')
        });
        if !good || text.chars().count() > EMAIL_CHARS || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            self.fail(path, "must be an e-mail address such as ana@example.org");
        }
        text
    }
    /// Checks an optional e-mail address. `None` if it is empty.
    pub fn optional_email(&mut self, path: &str, text: Option<&str>) -> Option<String> {
        let text = text?.trim();
        (!text.is_empty()).then(|| self.email(path, text))
    }
    /// Checks a phone number as people write it. `None` if it is empty.
    pub fn phone(&mut self, path: &str, text: Option<&str>) -> Option<String> {
        let text = self.line(path, text?, 0, PHONE_CHARS);
        if text.chars().any(|c| !(c.is_ascii_digit() || " +-()./#*,;xextEXT".contains(c))) {
            self.fail(path, "must be a phone number such as +49 30 1234567");
        }
        some_text(&text)
    }
    /// Checks a password: it has 10 characters or more, and is hard to guess. `known` are words about its owner, such
    /// as the owner's name. A password made of these words is easy to guess.
    pub fn password(&mut self, path: &str, text: &str, known: &[&str]) {
        if text.chars().count() < PASSWORD_CHARS || text.len() > PASSWORD_BYTES {
            self.fail(
                path,
                format!("must have {PASSWORD_CHARS} characters or more, and at most {PASSWORD_BYTES} bytes"),
            );
            return;
        }
        let beginning: String = text.chars().take(PASSWORD_JUDGED).collect();
        let known: Vec<&str> = known.iter().copied().chain(["admit"]).collect();
        if zxcvbn::zxcvbn(&beginning, &known).score() < PASSWORD_SCORE {
            self.fail(
                path,
                "is among the first that anybody would try: take three or four words that don't belong together",
            );
        }
    }
    /// Checks a number of persons: 1–10,000.
    pub fn party(&mut self, path: &str, persons: u32) -> u32 {
        if !(1..=PARTY).contains(&persons) {
            self.fail(path, format!("must be 1 to {PARTY}, not {persons}"));
        }
        persons
    }
    /// Checks an optional number of persons that fit somewhere: 1 or more.
    pub fn capacity(&mut self, path: &str, persons: Option<u32>) -> Option<u32> {
        if persons == Some(0) {
            self.fail(path, "must be 1 or more, or null for no limit");
        }
        persons
    }
    /// Checks how many days after an event guests' personal data is kept: 1 to 3,650. If it is absent, the data is kept
    /// as long as the event.
    pub fn retention_days(&mut self, path: &str, days: Option<u32>) -> Option<u32> {
        if days.is_some_and(|days| !(1..=RETENTION_DAYS).contains(&days)) {
            self.fail(path, format!("must be 1 to {RETENTION_DAYS} days, or null to keep guests' data"));
        }
        days
    }
    /// Checks a zone: a word or two, such as `general`.
    pub fn zone(&mut self, path: &str, text: &str) -> String {
        self.line(path, text, 1, ZONE_CHARS)
    }
    /// Checks zones: at most 64. Returns each once.
    pub fn zones(&mut self, path: &str, zones: &[String]) -> Vec<String> {
        self.set_size(path, zones.len());
        let mut out: Vec<String> = Vec::new();
        for (i, zone) in zones.iter().enumerate() {
            let zone = self.zone(&format!("{path}[{i}]"), zone);
            if !out.contains(&zone) {
                out.push(zone);
            }
        }
        out
    }
    /// Checks gates, which must be among `known`: at most 64. Returns each once.
    pub fn gate_ids(&mut self, path: &str, gate_ids: &[GateId], known: &[GateId]) -> Vec<GateId> {
        self.set_size(path, gate_ids.len());
        let mut out: Vec<GateId> = Vec::new();
        for (i, gate_id) in gate_ids.iter().enumerate() {
            if !known.contains(gate_id) {
                self.fail(format!("{path}[{i}]"), format!("is not a gate of this event: {}", listed(known)));
            } else if !out.contains(gate_id) {
                out.push(gate_id.clone());
            }
        }
        out
    }
    /// Checks the slug of a new gate: lower-case letters, digits and single dashes between them.
    pub fn gate_slug(&mut self, path: &str, gate_id: &GateId) {
        let text = gate_id.as_str();
        let good = text.len() <= 64
            && text.split('-').all(|part| {
                !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            });
        if !good {
            self.fail(
                path,
                "must be lower-case letters and digits, with single dashes between them, such as north-main",
            );
        }
    }
    /// Checks a time zone of the built-in IANA database: `UTC` or `Area/Place`. Returns it as the database writes it,
    /// so that browsers, phones and mail know the same name.
    pub fn time_zone(&mut self, path: &str, text: &str) -> String {
        let text = text.trim();
        let named = text == "UTC" || text.contains('/') && text.len() <= TIME_ZONE_CHARS;
        let found = named.then(|| jiff::tz::TimeZoneDatabase::bundled().get(text).ok()).flatten();
        if let Some(name) = found.as_ref().and_then(jiff::tz::TimeZone::iana_name) {
            return name.to_owned();
        }
        self.fail(path, "must be an IANA time zone such as Europe/Berlin, or UTC");
        text.to_owned()
    }
    /// Checks a staff PIN: 4–8 digits (spec D18).
    pub fn pin(&mut self, path: &str, digits: &str) {
        if !(4..=8).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_digit()) {
            self.fail(path, "must be 4 to 8 digits");
        }
    }
    /// Checks a window: its end must lie after its beginning.
    pub fn window(&mut self, path: &str, from: Option<Timestamp>, until: Option<Timestamp>) {
        if let (Some(from), Some(until)) = (from, until)
            && until <= from
        {
            self.fail(path, format!("must be after {from}"));
        }
    }
    fn set_size(&mut self, path: &str, items: usize) {
        if items > SET_ITEMS {
            self.fail(path, format!("must have at most {SET_ITEMS} items, not {items}"));
        }
    }
}

fn some_text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// The known gates, as an error lists them.
pub fn listed(known: &[GateId]) -> String {
    if known.is_empty() {
        return "it has none yet".to_owned();
    }
    let mut names: Vec<&str> = known.iter().take(20).map(GateId::as_str).collect();
    if known.len() > names.len() {
        names.push("…");
    }
    format!("it has {}", names.join(", "))
}

/// The form of a name by which guest lists, entry types and guests are found.
pub use admit_core::normalize::for_identity as folded;

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(check: impl FnOnce(&mut Checks)) -> bool {
        let mut checks = Checks::default();
        check(&mut checks);
        !checks.errors().is_empty()
    }

    #[test]
    fn a_password_is_long_and_not_the_first_that_anybody_tries() {
        let known = ["ines.marquez@harbour.example", "Inés Márquez", "Old Harbour"];
        for bad in ["short", "password123", "qwertyuiop", "1234567890", "aaaaaaaaaaaa", "admitadmit", "Old Harbour"] {
            assert!(wrong(|c| c.password("password", bad, &known)), "{bad}");
        }
        for good in ["correct horse battery", "kestrel-vanilla-orbit", "Wz7!kq0-Pd2v", "ворона поёт утром"]
        {
            assert!(!wrong(|c| c.password("password", good, &known)), "{good}");
        }
        // No kind of character is asked for (ASVS 6.2.5), and 64 characters and more are taken (6.2.9).
        let phrase = "kestrel vanilla orbit ".repeat(20);
        assert!(!wrong(|c| c.password("password", &phrase[..64], &known)));
        assert!(!wrong(|c| c.password("password", &phrase, &known)));
        assert!(
            wrong(|c| c.password("password", &"a long one ".repeat(100), &[])),
            "hashing must not become a load attack"
        );
    }

    #[test]
    fn a_time_zone_is_one_of_the_iana_database() {
        for good in ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+3", "America/Port-au-Prince"] {
            assert!(!wrong(|c| drop(c.time_zone("time_zone", good))), "{good}");
        }
        let known_form = ["Mars/Olympus", "Europe/Berlinn", "Etc/Unknown"];
        let no_form = ["", "Berlin", "Europe/", "Europe/Ber lin", "../etc/passwd", "+02:00", "Europe/Berlin/x/y"];
        for bad in known_form.into_iter().chain(no_form) {
            assert!(wrong(|c| drop(c.time_zone("time_zone", bad))), "{bad}");
        }
        assert_eq!(Checks::default().time_zone("time_zone", "europe/berlin"), "Europe/Berlin");
    }

    #[test]
    fn fields_have_short_names_and_values_and_are_few() {
        let fields = |all: &[(&str, &str)]| -> Fields {
            all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let mut checks = Checks::default();
        let kept = checks.fields("fields", &fields(&[(" Table ", " 7 "), ("Company", " ")]));
        assert_eq!((kept, checks.errors().len()), (fields(&[("Table", "7")]), 0));
        for bad in [fields(&[(&"x".repeat(25), "1")]), fields(&[("x", &"y".repeat(201))]), fields(&[("", "1")])] {
            assert!(wrong(|c| drop(c.fields("fields", &bad))), "{bad:?}");
        }
        let many: Fields = (0..9).map(|i| (format!("f{i}"), "1".to_owned())).collect();
        assert!(wrong(|c| drop(c.fields("fields", &many))));
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert!(!wrong(|c| drop(c.verdict_fields("verdict_fields", &names(&["Table", "Company"])))));
        for bad in [names(&["a", "b", "c", "d"]), names(&["a", " a "]), names(&[""]), names(&["x".repeat(25).as_str()])]
        {
            assert!(wrong(|c| drop(c.verdict_fields("verdict_fields", &bad))), "{bad:?}");
        }
    }

    #[test]
    fn a_gate_slug_is_plain() {
        for good in ["north-main", "a", "gate-2", "vip_1"] {
            assert!(!wrong(|c| c.gate_slug("gate_id", &GateId::new(good).unwrap())), "{good}");
        }
        for bad in ["North", "-a", "a-", "a--b", "a/b", "ä"] {
            assert!(
                GateId::new(bad).is_err() || wrong(|c| c.gate_slug("gate_id", &GateId::new(bad).unwrap())),
                "{bad}"
            );
        }
    }

    #[test]
    fn an_email_has_something_on_both_sides_of_one_at() {
        for good in ["a@b", "Ana.Maria+1@example.org"] {
            assert!(!wrong(|c| drop(c.email("email", good))), "{good}");
        }
        for bad in ["", "a", "@b", "a@", "a@b@c", "a b@c", "a@.b", "a\r\n@b"] {
            assert!(wrong(|c| drop(c.email("email", bad))), "{bad:?}");
        }
    }

    #[test]
    fn a_pin_is_four_to_eight_digits() {
        for (digits, good) in
            [("1234", true), ("12345678", true), ("123", false), ("123456789", false), ("12a4", false), ("١٢٣٤", false)]
        {
            assert_eq!(!wrong(|c| c.pin("staff_pin", digits)), good, "{digits}");
        }
    }

    #[test]
    fn every_wrong_field_is_named_at_once() {
        let mut checks = Checks::default();
        checks.name("name", " ");
        checks.party("guest.party_size", 0);
        let Err(Error::Invalid { errors, .. }) = checks.finish() else { panic!("two fields are wrong") };
        assert_eq!(errors.iter().map(|e| e.path.as_str()).collect::<Vec<_>>(), ["name", "guest.party_size"]);
    }
}
