//! Shows a verdict on a terminal: a coloured band over the whole width, with the words in it.

use admit_core::decide::Screen;

use super::clean::clean;
use super::told::{Kind, Told};
use super::words::face;

/// The properties of the terminal.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Whether to use colours and clear the screen.
    pub colour: bool,
    /// The width of the terminal, in characters.
    pub width: usize,
}

/// The colours of a verdict, such as black on green: of the colours that every terminal has, the nearest to the
/// phone's.
fn colours(told: &Told) -> &'static str {
    match (told.kind, face(&told.verdict)) {
        (Kind::Same | Kind::Sample, _) | (_, None) => "1;30;47",
        (Kind::Admit, _) => "1;30;42",
        (_, Some(Screen::AlreadyIn)) => "1;30;43",
        (_, Some(Screen::AdmitParty | Screen::Full | Screen::Check)) => "1;37;44",
        (_, Some(Screen::NotInList | Screen::NotATicket)) => "1;37;45",
        _ => "1;37;41",
    }
}

/// A mark for a person who does not see the colour.
fn mark(told: &Told) -> &'static str {
    match told.kind {
        Kind::Admit => "✔",
        Kind::Refuse => "✘",
        Kind::Same | Kind::Sample => "•",
    }
}

/// The text of the verdict with its control sequences.
pub fn draw(told: &Told, look: Look) -> String {
    let mut lines = vec![String::new(), format!("{}  {}", mark(told), clean(&told.words.headline)), String::new()];
    lines.extend(told.words.party.clone());
    lines.extend(told.words.flag.as_deref().map(clean));
    lines.extend(told.verdict.name.as_deref().map(clean));
    lines.extend(told.zone.as_deref().map(clean));
    lines.extend(told.verdict.fields.iter().map(|field| format!("{}: {}", clean(&field.label), clean(&field.value))));
    lines.extend(told.verdict.note.as_deref().map(clean));
    lines.extend(told.words.lines.iter().map(|line| clean(line)));
    lines.extend(Some(told.words.next.clone()).filter(|next| !next.is_empty()));
    if told.kind == Kind::Sample {
        lines.push("The sample code: nobody goes in by it.".to_owned());
    }
    if told.verdict.list_expired {
        lines.push("Past the event's end".to_owned());
    }
    lines.push(String::new());
    let footer = footer(told);
    if look.colour {
        let colours = colours(told);
        let band: String = lines.iter().map(|line| format!("\x1b[{colours}m  {line}\x1b[K\x1b[0m\r\n")).collect();
        return format!("\x1b[2J\x1b[H{band}\r\n  {footer}\r\n");
    }
    let rule = "=".repeat(look.width.clamp(20, 60));
    let band: String = lines.iter().map(|line| format!("  {line}").trim_end().to_owned() + "\n").collect();
    format!("{rule}\n{band}  {footer}\n{rule}\n")
}

/// The state of this device towards the server, in the phone's words.
fn footer(told: &Told) -> String {
    let stands = if told.online { "Online" } else { "Offline" };
    let mut parts = vec![clean(&told.gate)];
    parts.extend(told.record().map(str::to_owned));
    parts.push(stands.to_owned());
    parts.push(format!("{} to send", told.unsent));
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::super::words::tests::verdict;
    use super::super::words::words_of;
    use super::*;

    fn told(name: &str) -> Told {
        let mut verdict = verdict(Screen::Admit);
        (verdict.opened, verdict.count, verdict.name) = (true, 1, Some(name.to_owned()));
        Told {
            kind: Kind::Admit,
            words: words_of(&verdict, None),
            verdict,
            question: None,
            event: "Night".to_owned(),
            gate: "North".to_owned(),
            zone: Some("general".to_owned()),
            online: false,
            unsent: 3,
        }
    }

    #[test]
    fn a_verdict_fills_the_screen_and_a_hostile_name_changes_nothing_of_it() {
        let drawn = draw(&told("Eve\u{1b}[2J\u{1b}[31mAdmit"), Look { colour: true, width: 80 });
        assert!(drawn.starts_with("\x1b[2J\x1b[H") && drawn.contains("\x1b[1;30;42m  ✔  Admit\x1b[K"), "{drawn:?}");
        assert!(drawn.contains("  Eve\u{fffd}[2J\u{fffd}[31mAdmit\x1b[K"), "{drawn:?}");
        assert!(drawn.contains("North · Stored, will sync · Offline · 3 to send"), "{drawn:?}");
        let plain = draw(&told("Eve\u{1b}[2J"), Look { colour: false, width: 80 });
        assert!(!plain.contains('\u{1b}') && plain.contains("  ✔  Admit\n"), "{plain}");
    }
}
