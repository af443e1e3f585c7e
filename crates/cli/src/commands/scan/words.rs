//! A verdict in words. The words are those of the phone's screen (`web/scanner/src/state/words.ts`,
//! `web/shared/words/scanner`); a test compares the two.

use admit_core::decide::Screen;
use admit_core::event::ZoneClock;
use admit_core::scan::ScanKind;
use admit_core::time::Timestamp;
use admit_core::wire::engine::{DecidedBy, LastEntryView, VerdictView};

/// The words for a verdict: what happened, why, and what to do next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// The verdict in a few words.
    pub headline: String,
    /// `2 of 4`: persons let in of a party. If the verdict asks staff how many go in: how many may still go in. `None`
    /// for one person.
    pub party: Option<String>,
    /// The organiser's flag for staff; `None` if there is none, or if the headline shows it.
    pub flag: Option<String>,
    /// The reasons, one per line.
    pub lines: Vec<String>,
    /// The next act for staff; empty if the guest simply goes in.
    pub next: String,
}

/// Whether the verdict asks how many go in.
pub fn asks_count(verdict: &VerdictView) -> bool {
    verdict.scan_id.is_some()
        && !verdict.opened
        && verdict.kind == ScanKind::Entry
        && verdict.may_admit > 0
        && matches!(verdict.screen, Screen::AdmitParty | Screen::Full | Screen::Check)
}

/// The screen to show for a verdict. A verdict that asks staff how many enter has a screen of its own until they
/// answer. `None` if they answered that nobody enters.
pub fn face(verdict: &VerdictView) -> Option<Screen> {
    match verdict.screen {
        Screen::SameTicket | Screen::Exit => Some(verdict.screen),
        _ if asks_count(verdict) => Some(verdict.screen),
        _ if verdict.opened => Some(Screen::Admit),
        Screen::Admit | Screen::AdmitParty | Screen::Full | Screen::Check => None,
        screen => Some(screen),
    }
}

/// The words for a verdict, with times by the event's clock.
pub fn words_of(verdict: &VerdictView, clock: Option<&ZoneClock>) -> Words {
    let face = face(verdict);
    let flag = verdict.flag.as_deref().filter(|_| face != Some(Screen::Check)).map(flag);
    Words { party: party(verdict, face), flag, ..said(verdict, face, clock) }
}

fn party(verdict: &VerdictView, face: Option<Screen>) -> Option<String> {
    if verdict.entry_limit <= 1 {
        return None;
    }
    if asks_count(verdict) {
        return Some(format!("{} left", verdict.may_admit));
    }
    (face == Some(Screen::Admit)).then(|| format!("{} of {}", verdict.already_in + verdict.count, verdict.entry_limit))
}

fn words(headline: impl Into<String>, lines: Vec<String>, next: &str) -> Words {
    Words { headline: headline.into(), lines, next: next.to_owned(), ..Words::default() }
}

const TO_TICKET_DESK: &str = "Send the guest to the ticket desk.";
const ASK_SUPERVISOR: &str = "Ask a supervisor.";

fn said(verdict: &VerdictView, face: Option<Screen>, clock: Option<&ZoneClock>) -> Words {
    let line = |text: &str| vec![text.to_owned()];
    match face {
        None => words("Nobody went in", line("Recorded. The ticket stays good."), ""),
        Some(Screen::Admit) => {
            let by_staff = if verdict.overridden { line("Let in by staff") } else { Vec::new() };
            words(admit(verdict.count), by_staff, "")
        }
        Some(Screen::AdmitParty) => words("How many?", remaining(verdict), ""),
        Some(Screen::Exit) => words("Exit recorded", persons(verdict.count), ""),
        Some(Screen::AlreadyIn) => words("Already in", collision(verdict, clock), ASK_SUPERVISOR),
        Some(Screen::Check) => {
            let headline = verdict.flag.as_deref().map_or_else(|| "Check the guest".to_owned(), check_flag);
            words(headline, remaining(verdict), "Look first, then decide.")
        }
        Some(Screen::Refuse) => words("Do not admit", vec![cause(verdict.reason.as_deref())], TO_TICKET_DESK),
        Some(Screen::WrongPlace) => wrong_place(&verdict.right_gates),
        Some(Screen::WrongTime) => wrong_time(verdict, clock),
        Some(Screen::Ended) => words(
            "The event has ended",
            line("Guests who leave can still be scanned out."),
            "Ask a supervisor before you let anybody in.",
        ),
        Some(Screen::NotInList) => not_in_list(verdict, clock),
        Some(Screen::NotATicket) => {
            words("Not one of our codes", line("This is no ticket of any event here."), "Ask for the ticket.")
        }
        Some(Screen::Full) => words("Area full", vec![full_why(verdict)], "Let people in only as others leave."),
        Some(Screen::SameTicket) => {
            let ago = span(verdict.same_ticket_ms.unwrap_or(0));
            words(format!("Same ticket, {ago} ago"), line("On this device."), "")
        }
    }
}

fn admit(persons: u32) -> String {
    if persons > 1 { format!("Admit {persons}") } else { "Admit".to_owned() }
}

fn persons(count: u32) -> Vec<String> {
    if count > 1 { vec![format!("{count} persons")] } else { Vec::new() }
}

fn remaining(verdict: &VerdictView) -> Vec<String> {
    if verdict.already_in > 0 { vec![format!("{} already in", verdict.already_in)] } else { Vec::new() }
}

fn full_why(verdict: &VerdictView) -> String {
    match verdict.places_left.unwrap_or(0) {
        0 => "Hold the queue.".to_owned(),
        1 => format!("1 place left, {} asked.", verdict.may_admit),
        places => format!("{places} places left, {} asked.", verdict.may_admit),
    }
}

fn cause(reason: Option<&str>) -> String {
    match reason {
        Some("ticket_voided") => "This ticket was cancelled.".to_owned(),
        Some("ticket_refunded") => "This ticket was refunded.".to_owned(),
        Some("ticket_already_used") => "This ticket is marked as used.".to_owned(),
        other => other.unwrap_or_default().replace('_', " "),
    }
}

fn collision(verdict: &VerdictView, clock: Option<&ZoneClock>) -> Vec<String> {
    let mut lines = Vec::new();
    if verdict.entry_limit > 1 {
        lines.push(format!("All {} of the party are in.", verdict.entry_limit));
    }
    if let Some(last) = &verdict.last_entry {
        let ago = span(verdict.at.since(last.at));
        lines.push(format!("{}, {}, {ago} ago", last.gate, time(last.at, verdict.at, clock)));
        lines.push(format!("Scanned on {}", which_device(last)));
    }
    let why = match verdict.reason.as_deref() {
        Some("too_soon") => "Coming back is allowed, but not yet.",
        Some("already_today") => "One entry a day: the next one is tomorrow.",
        Some("already_at_gate") => "This ticket lets in once at each gate.",
        Some("uses_spent") => "All entries of this ticket are used.",
        _ => return lines,
    };
    lines.push(why.to_owned());
    lines
}

fn which_device(last: &LastEntryView) -> String {
    if last.own {
        return "this device".to_owned();
    }
    if !last.device.is_empty() {
        return last.device.clone();
    }
    let id = last.device_id.as_ref().map(|id| id.as_str().chars().take(8).collect::<String>());
    id.map_or_else(|| "another device".to_owned(), |id| format!("device {id}"))
}

fn wrong_place(gates: &[String]) -> Words {
    let Some((first, others)) = gates.split_first() else {
        return words(
            "Wrong gate",
            Vec::new(),
            "No gate of this list takes this ticket. Send the guest to the ticket desk.",
        );
    };
    let also: Vec<&str> = others.iter().take(3).map(String::as_str).collect();
    let lines = if also.is_empty() { Vec::new() } else { vec![format!("Also good: {}", also.join(", "))] };
    words(format!("Wrong gate: go to {first}"), lines, "")
}

fn wrong_time(verdict: &VerdictView, clock: Option<&ZoneClock>) -> Words {
    if verdict.reason.as_deref() == Some("not_yet_valid") {
        let from = verdict.valid_from.map(|at| format!("Valid from {}", day(at, clock)));
        return words("Too early", from.into_iter().collect(), "Ask the guest to come back then.");
    }
    let until = verdict.expires_at.map(|at| format!("Was valid until {}", day(at, clock)));
    words("Too late", until.into_iter().collect(), TO_TICKET_DESK)
}

fn not_in_list(verdict: &VerdictView, clock: Option<&ZoneClock>) -> Words {
    if verdict.decided_by == DecidedBy::Server {
        return words(
            "Unknown ticket",
            vec!["The server does not know this ticket either.".to_owned()],
            TO_TICKET_DESK,
        );
    }
    let made = verdict.list_at.map(|at| format!(", {}", time(at, verdict.at, clock))).unwrap_or_default();
    let why = format!("Not in this device's list (version {}{made}).", verdict.manifest_version);
    words("Unknown ticket", vec![why], "A ticket sold since then is not here. Ask a supervisor.")
}

/// Words for things that people show at a door. If the organiser's flag is such a word, the screen puts "Check" before
/// it.
const THINGS: [&str; 9] =
    ["age", "passport", "photo", "badge", "name", "wristband", "voucher", "membership", "student"];
/// Beginnings of flags that are a request already.
const REQUESTS: [&str; 13] =
    ["check", "ask", "look", "see", "verify", "call", "give", "show", "stop", "tell", "take", "bring", "do not"];

fn is_thing(text: &str) -> bool {
    let cased = |c: char| c.is_uppercase() || c.is_lowercase();
    if (2..=4).contains(&text.chars().count()) && text.chars().all(cased) {
        return true;
    }
    let lower = text.to_lowercase();
    THINGS.iter().any(|thing| {
        let rest = lower.strip_prefix(thing).map(|rest| rest.strip_prefix(' ').unwrap_or(rest));
        rest.is_some_and(|rest| matches!(rest, "" | "id" | "card" | "pass"))
    })
}

fn is_request(text: &str) -> bool {
    let lower = text.to_lowercase();
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    REQUESTS.iter().any(|request| lower.strip_prefix(request).is_some_and(|rest| !rest.starts_with(word)))
}

/// An organiser's flag as a request to staff: "ID" becomes "Check ID".
fn flag(text: &str) -> String {
    if !is_thing(text) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            format!("Check {}{second}{}", first.to_lowercase(), letters.as_str())
        }
        _ => format!("Check {text}"),
    }
}

/// A flag as a headline, which always begins as a request.
fn check_flag(text: &str) -> String {
    if is_thing(text) || is_request(text) { flag(text) } else { format!("Check: {text}") }
}

/// A duration as staff say it: `4 s`, `12 min`, `2 h 5 min`.
fn span(ms: i64) -> String {
    let seconds = (ms.max(0) + 500) / 1000;
    if seconds < 60 {
        return format!("{seconds} s");
    }
    let minutes = seconds / 60;
    if minutes < 60 {
        return format!("{minutes} min");
    }
    let hours = minutes / 60;
    if minutes % 60 == 0 || hours >= 48 { format!("{hours} h") } else { format!("{hours} h {} min", minutes % 60) }
}

/// A moment in the event's local time.
fn local(at: Timestamp, clock: Option<&ZoneClock>) -> jiff::Zoned {
    let offsets = clock.map(|clock| clock.offsets.as_slice()).unwrap_or_default();
    let begun = offsets.iter().rfind(|offset| offset.from <= at).or(offsets.first());
    let ms = at.ms() + i64::from(begun.map_or(0, |offset| offset.offset_s)) * 1000;
    jiff::Timestamp::from_millisecond(ms).unwrap_or_default().to_zoned(jiff::tz::TimeZone::UTC)
}

/// A day and time such as `Sun 7 June, 19:30`, by the event's clock.
fn day(at: Timestamp, clock: Option<&ZoneClock>) -> String {
    local(at, clock).strftime("%a %-d %B, %H:%M").to_string()
}

/// A time as `19:42` if it is today, else with its date; by the event's clock.
pub fn time(at: Timestamp, now: Timestamp, clock: Option<&ZoneClock>) -> String {
    let (then, now) = (local(at, clock), local(now, clock));
    if then.date() == now.date() { then.strftime("%H:%M").to_string() } else { day(at, clock) }
}

#[cfg(test)]
pub mod tests {
    use admit_core::event::Offset;
    use admit_core::scan::Outcome;

    use super::*;

    const PHONE: &str = include_str!("../../../../../web/shared/words/scanner/en/verdict.ts");

    /// A verdict that refuses an ordinary ticket of the list.
    pub fn verdict(screen: Screen) -> VerdictView {
        VerdictView {
            screen,
            scan_id: admit_core::ids::ScanId::new("6f9619ff-8b86-4d01-b42d-00cf4fc964ff").ok(),
            kind: ScanKind::Entry,
            outcome: Outcome::Valid,
            reason: None,
            opened: false,
            count: 0,
            may_admit: 0,
            entry_limit: 1,
            already_in: 0,
            ticket_id: None,
            short_code: "K7QF-2M9D".to_owned(),
            zone: None,
            name: None,
            note: None,
            flag: None,
            fields: Vec::new(),
            right_gates: Vec::new(),
            valid_from: None,
            expires_at: None,
            last_entry: None,
            at: at("2026-06-07T17:42:10Z"),
            decided_by: DecidedBy::Device,
            list_expired: false,
            manifest_version: 7,
            list_at: None,
            can_override: false,
            overridden: false,
            can_undo: false,
            same_ticket_ms: None,
            practice: false,
            places_left: None,
            booking: None,
        }
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn berlin() -> ZoneClock {
        let offsets = vec![
            Offset { from: at("2026-03-29T01:00:00Z"), offset_s: 7_200 },
            Offset { from: at("2026-10-25T01:00:00Z"), offset_s: 3_600 },
        ];
        ZoneClock { zone: "Europe/Berlin".to_owned(), offsets }
    }

    #[test]
    fn a_verdict_says_what_the_phone_says() {
        let all = |verdict: &VerdictView| {
            let said = words_of(verdict, Some(&berlin()));
            let all = [vec![said.headline], said.party.into_iter().collect(), said.flag.into_iter().collect()];
            let mut all = all.concat();
            all.extend(said.lines);
            all.extend(Some(said.next).filter(|next| !next.is_empty()));
            all.join(" / ")
        };
        let of = |screen, change: fn(&mut VerdictView)| {
            let mut verdict = verdict(screen);
            change(&mut verdict);
            all(&verdict)
        };
        assert_eq!(of(Screen::Admit, |v| (v.opened, v.count) = (true, 1)), "Admit");
        let party = of(Screen::Admit, |v| (v.opened, v.count, v.entry_limit, v.already_in) = (true, 2, 4, 1));
        assert_eq!(party, "Admit 2 / 3 of 4");
        assert_eq!(of(Screen::Admit, |_| {}), "Nobody went in / Recorded. The ticket stays good.");
        let how_many = of(Screen::AdmitParty, |v| (v.may_admit, v.entry_limit, v.already_in) = (3, 4, 1));
        assert_eq!(how_many, "How many? / 3 left / 1 already in");
        let full = of(Screen::Full, |v| (v.may_admit, v.places_left) = (3, Some(1)));
        assert_eq!(full, "Area full / 1 place left, 3 asked. / Let people in only as others leave.");
        let in_already = of(Screen::AlreadyIn, |v| {
            let (gate, device) = ("North".to_owned(), String::new());
            let at = Timestamp::parse("2026-06-07T17:30:00Z").unwrap();
            v.last_entry = Some(LastEntryView { at, gate, device_id: None, device, own: false });
        });
        assert_eq!(in_already, "Already in / North, 19:30, 12 min ago / Scanned on another device / Ask a supervisor.");
        let elsewhere = of(Screen::WrongPlace, |v| v.right_gates = vec!["South".into(), "East".into()]);
        assert_eq!(elsewhere, "Wrong gate: go to South / Also good: East");
        let early = of(Screen::WrongTime, |v| {
            v.reason = Some("not_yet_valid".into());
            v.valid_from = Timestamp::parse("2026-11-01T08:00:00Z").ok();
        });
        assert_eq!(early, "Too early / Valid from Sun 1 November, 09:00 / Ask the guest to come back then.");
        let unknown = of(Screen::NotInList, |v| v.list_at = Timestamp::parse("2026-06-07T10:00:00Z").ok());
        assert!(unknown.starts_with("Unknown ticket / Not in this device's list (version 7, 12:00). / "), "{unknown}");
        assert_eq!(
            of(Screen::SameTicket, |v| v.same_ticket_ms = Some(4_200)),
            "Same ticket, 4 s ago / On this device."
        );
        let voided = of(Screen::Refuse, |v| v.reason = Some("ticket_voided".into()));
        assert_eq!(voided, "Do not admit / This ticket was cancelled. / Send the guest to the ticket desk.");
    }

    #[test]
    fn a_flag_is_asked_as_the_phone_asks_it() {
        let cases = [
            ("ID", "Check ID", "Check ID"),
            ("Passport", "Check passport", "Check passport"),
            ("Student card", "Check student card", "Check student card"),
            ("Ask for Mia", "Ask for Mia", "Ask for Mia"),
            ("Wheelchair", "Wheelchair", "Check: Wheelchair"),
        ];
        for (text, line, headline) in cases {
            assert_eq!((flag(text), check_flag(text)), (line.to_owned(), headline.to_owned()));
        }
    }

    #[test]
    fn spans_are_as_on_the_phone() {
        let spans = [(0, "0 s"), (59_400, "59 s"), (60_000, "1 min"), (7_500_000, "2 h 5 min"), (7_200_000, "2 h")];
        for (ms, text) in spans {
            assert_eq!(span(ms), text);
        }
    }

    /// Finds every text of this file that is in quotes and is a sentence or a headline, and looks for it in the
    /// phone's catalogue.
    #[test]
    fn the_phones_catalogue_has_each_text() {
        let texts = [
            "Nobody went in",
            "Recorded. The ticket stays good.",
            "Let in by staff",
            "How many?",
            "Exit recorded",
            "Already in",
            ASK_SUPERVISOR,
            TO_TICKET_DESK,
            "Check the guest",
            "Look first, then decide.",
            "Do not admit",
            "The event has ended",
            "Guests who leave can still be scanned out.",
            "Ask a supervisor before you let anybody in.",
            "Not one of our codes",
            "This is no ticket of any event here.",
            "Ask for the ticket.",
            "Area full",
            "Let people in only as others leave.",
            "Same ticket, ${",
            "On this device.",
            "Admit ${",
            " persons`",
            " already in`",
            "Hold the queue.",
            " left, ${",
            "This ticket was cancelled.",
            "This ticket was refunded.",
            "This ticket is marked as used.",
            "All ${party} of the party are in.",
            "Scanned on ${",
            "Coming back is allowed, but not yet.",
            "One entry a day: the next one is tomorrow.",
            "This ticket lets in once at each gate.",
            "All entries of this ticket are used.",
            "this device",
            "another device",
            "Wrong gate",
            "Wrong gate: go to ${",
            "Also good: ${",
            "No gate of this list takes this ticket. Send the guest to the ticket desk.",
            "Too early",
            "Too late",
            "Valid from ${",
            "Was valid until ${",
            "Ask the guest to come back then.",
            "Unknown ticket",
            "The server does not know this ticket either.",
            "Not in this device's list (version ${",
            "A ticket sold since then is not here. Ask a supervisor.",
            "Stored, will sync",
            "Confirmed",
            "Practice · nothing counts",
            "Past the event's end",
        ];
        for text in texts {
            assert!(PHONE.contains(text), "the phone does not say {text:?}");
        }
        for request in REQUESTS.iter().chain(&THINGS) {
            assert!(PHONE.contains(request), "the phone does not know {request:?}");
        }
    }
}
