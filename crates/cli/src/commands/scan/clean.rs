//! Text of guests and organisers on a terminal: none of it may move the cursor, change colours or turn the line around.

/// How many characters of one text are shown.
const LONGEST: usize = 200;

/// The text on one line, with a mark in the place of each character that would drive a terminal, cut where it is too long.
pub fn clean(text: &str) -> String {
    let plain = |c| match c {
        '\n' | '\r' | '\t' => ' ',
        c if drives(c) => '\u{fffd}',
        c => c,
    };
    let mut kept: String = text.chars().take(LONGEST).map(plain).collect();
    if text.chars().nth(LONGEST).is_some() {
        kept.push('…');
    }
    kept
}

/// Controls of both sets, and what changes the direction or begins a line of its own. Not the joiners U+200C and U+200D:
/// Persian and Hindi names are written with them.
fn drives(c: char) -> bool {
    let invisible = matches!(c,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}');
    c.is_control() || invisible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_drive_the_terminal() {
        let names = [
            ("Ana", "Ana"),
            ("Zoë Ångström 李小龙", "Zoë Ångström 李小龙"),
            ("\u{1b}[2J\u{1b}]0;Admit\u{7}", "\u{fffd}[2J\u{fffd}]0;Admit\u{fffd}"),
            ("a\r\nAdmit", "a  Admit"),
            ("علی\u{200c}رضا", "علی\u{200c}رضا"),
            ("\u{9b}31mred", "\u{fffd}31mred"),
            ("\u{202e}timdA", "\u{fffd}timdA"),
        ];
        for (name, shown) in names {
            assert_eq!(clean(name), shown);
        }
        assert_eq!(clean(&"x".repeat(500)).chars().count(), LONGEST + 1);
    }
}
