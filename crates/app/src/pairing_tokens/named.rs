//! Makes names for devices: the gate's name and the lowest free number, such as "Main entrance 3".

use std::collections::BTreeSet;

use admit_core::normalize::for_identity;

/// The first such name for a gate that no device has.
pub(crate) fn next_name<'a>(gate: &str, taken: impl IntoIterator<Item = &'a str>) -> String {
    let taken: BTreeSet<String> = taken.into_iter().map(for_identity).collect();
    let name = |number: u64| format!("{gate} {number}");
    // One number more than there are names is enough.
    (1..=taken.len() as u64 + 1).map(name).find(|name| !taken.contains(&for_identity(name))).unwrap_or_else(|| name(1))
}

/// Whether a name is one that [`next_name`] makes for this gate.
pub(crate) fn made_here(gate: &str, name: &str) -> bool {
    let number = name.strip_prefix(gate).and_then(|rest| rest.strip_prefix(' '));
    number.is_some_and(|number| number.parse::<u64>().is_ok_and(|number| number > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_number_is_taken() {
        assert_eq!(next_name("Main entrance", []), "Main entrance 1");
        assert_eq!(next_name("North", ["North 1", "north  3", "South 2"]), "North 2");
        assert_eq!(next_name("North", ["North 1", "NORTH 2"]), "North 3");
    }

    #[test]
    fn a_name_that_staff_chose_is_told_from_one_that_was_made() {
        for (name, made) in
            [("North 1", true), ("North 12", true), ("North 0", false), ("North", false), ("North a", false)]
        {
            assert_eq!(made_here("North", name), made, "{name}");
        }
    }
}
