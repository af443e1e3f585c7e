//! Makes text of guests and organisers harmless on a terminal. Such text must not move the cursor, change colours or
//! reverse the direction of the line.

/// The most characters of one text that are shown.
const LONGEST: usize = 200;

/// The text on one line. Each character that controls a terminal is replaced by a mark, and a long text is cut.
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

/// Whether a character controls a terminal, changes the direction of text or begins a line. The joiners U+200C and
/// U+200D are allowed, because Persian and Hindi names need them.
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
