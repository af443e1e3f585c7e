//! Turns the keys of a reader into codes. It assumes the US keyboard layout, which readers are set to when they leave
//! the factory.

use super::lines::Lines;

/// The value of a key event when a key goes down. 0 means up, and 2 a repeat, which no reader sends on purpose.
const DOWN: i32 = 1;
const UP: i32 = 0;
const ENTER: [u16; 2] = [28, 96];
const TAB: u16 = 15;
const SHIFTS: [u16; 2] = [42, 54];
const CAPS_LOCK: u16 = 58;

/// For each range of keys in the kernel's numbering: the first key, and the characters without and with Shift.
const KEYS: &[(u16, &str, &str)] = &[
    (2, "1234567890-=", "!@#$%^&*()_+"),
    (16, "qwertyuiop[]", "QWERTYUIOP{}"),
    (30, "asdfghjkl;'`", "ASDFGHJKL:\"~"),
    (43, "\\zxcvbnm,./", "|ZXCVBNM<>?"),
    (55, "*", "*"),
    (57, " ", " "),
    (71, "789-456+1230.", "789-456+1230."),
    (98, "/", "/"),
];

/// The state of the keyboard, with the text typed since the last Enter.
#[derive(Debug, Default)]
pub struct Keys {
    /// Whether each of the two Shift keys is down.
    shifts: [bool; 2],
    caps: bool,
    lines: Lines,
}

impl Keys {
    /// Handles a key event. Gives the code if this key ends one.
    pub fn take(&mut self, key: u16, value: i32) -> Option<String> {
        if let Some(place) = SHIFTS.iter().position(|shift| *shift == key) {
            self.shifts[place] = value != UP;
        } else if value == DOWN {
            if ENTER.contains(&key) || key == TAB {
                return self.lines.end();
            }
            self.caps ^= key == CAPS_LOCK;
            if let Some(c) = self.typed(key) {
                self.lines.take(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        None
    }

    fn typed(&self, key: u16) -> Option<char> {
        let shifted = self.shifts.contains(&true);
        KEYS.iter().find_map(|(first, plain, with_shift)| {
            let place = usize::from(key.checked_sub(*first)?);
            let c = plain.chars().nth(place)?;
            let upper = shifted ^ (self.caps && c.is_ascii_alphabetic());
            if upper { with_shift.chars().nth(place) } else { Some(c) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Presses and releases keys by their numbers; `+` before a number holds Shift.
    fn press(keys: &mut Keys, typed: &str) -> Option<String> {
        let mut code = None;
        for word in typed.split(' ') {
            let (shift, key) = word.strip_prefix('+').map_or((false, word), |key| (true, key));
            let key = key.parse().unwrap();
            if shift {
                assert_eq!(keys.take(42, 1), None);
            }
            code = keys.take(key, 1);
            assert_eq!(keys.take(key, 0), None);
            if shift {
                assert_eq!(keys.take(42, 0), None);
            }
        }
        code
    }

    #[test]
    fn keys_of_a_us_keyboard_are_a_code() {
        let mut keys = Keys::default();
        assert_eq!(press(&mut keys, "+30 +32 +50 +23 +20 12 2 11 28").as_deref(), Some("ADMIT-10"));
        assert_eq!(press(&mut keys, "38 30 45 +39 53 53 +12 +3 +41 43 28").as_deref(), Some("lax://_@~\\"));
        assert_eq!(press(&mut keys, "79 80 81 82 96").as_deref(), Some("1230"));
        assert_eq!(press(&mut keys, "28"), None, "an Enter alone is no code");
        assert_eq!(press(&mut keys, "16 15").as_deref(), Some("q"), "Tab ends a code too");
    }

    #[test]
    fn shift_and_caps_lock_hold_as_on_a_keyboard_and_a_repeat_types_nothing() {
        let mut keys = Keys::default();
        assert_eq!(press(&mut keys, "58 30 2 +30 58 30 28").as_deref(), Some("A1aa"));
        keys.take(42, 1);
        keys.take(54, 1);
        keys.take(42, 0);
        keys.take(30, 1);
        keys.take(30, 2);
        keys.take(54, 0);
        assert_eq!(press(&mut keys, "30 28").as_deref(), Some("Aa"));
        // Esc, F1 and an arrow type nothing.
        assert_eq!(press(&mut keys, "1 59 103 30 28").as_deref(), Some("a"));
    }
}
