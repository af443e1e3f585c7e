//! `docs/faults.md` and the promises of the README: each fault and each promise names the tests that show it.

use super::named::Named;
use super::table::{Proof, Row, cells};
use std::collections::BTreeSet;

/// The faults and bad inputs, a row each.
pub const FAULTS: &str = "docs/faults.md";
/// The page with the promises.
pub const README: &str = "README.md";
/// The part of the README that promises.
const HEADING: &str = "## What Admit promises";
const FAULT_ROWS: usize = 40;
const PROMISES: usize = 8;
/// What stands where a test is missing, with its reason.
const OPEN: [&str; 2] = ["not built yet: ", "not proven yet: "];

/// The rows of `docs/faults.md`, and what is wrong with the page: (line, what to do about it).
pub fn faults(text: &str, read: &dyn Fn(&str) -> Option<String>) -> (Vec<Row>, Vec<(usize, String)>) {
    let (mut rows, mut found) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate().filter(|(_, line)| is_fault(line)) {
        match fault(index + 1, line) {
            Ok(row) => rows.push(row),
            Err(why) => found.push((index + 1, why)),
        }
    }
    checked(&rows, ("fault", FAULT_ROWS), read, &mut found);
    (rows, found)
}

/// The promises of the README, and what is wrong with them.
pub fn promises(text: &str, read: &dyn Fn(&str) -> Option<String>) -> (Vec<Row>, Vec<(usize, String)>) {
    let mut items: Vec<(usize, String)> = Vec::new();
    let section = text.lines().enumerate().skip_while(|(_, line)| *line != HEADING).skip(1);
    for (index, line) in section.take_while(|(_, line)| !line.starts_with("## ")) {
        match (line.split_once(". "), items.last_mut()) {
            (Some((number, _)), _) if number.parse::<usize>().is_ok() => items.push((index + 1, line.to_owned())),
            // A promise goes on in lines that are set in.
            (_, Some((_, item))) if line.starts_with("   ") => {
                item.push(' ');
                item.push_str(line.trim());
            }
            _ => {}
        }
    }
    let (mut rows, mut found) = (Vec::new(), Vec::new());
    for (line, item) in items {
        let number = item.split_once(". ").map_or("", |(number, _)| number);
        let tests = links(&item);
        if tests.is_empty() && !item.contains(OPEN[1]) {
            found.push((line, format!("promise {number} names no test: [`name`](file), or `{}why`", OPEN[1])));
        }
        rows.push(Row { line, reference: format!("promise {number}"), proof: Proof::Tests, tests });
    }
    checked(&rows, ("promise", PROMISES), read, &mut found);
    (rows, found)
}

/// That each number is there once, and each test in its file.
fn checked(
    rows: &[Row],
    (word, count): (&str, usize),
    read: &dyn Fn(&str) -> Option<String>,
    found: &mut Vec<(usize, String)>,
) {
    let mut seen = BTreeSet::new();
    for row in rows {
        if !seen.insert(row.reference.as_str()) {
            found.push((row.line, format!("{} is there twice", row.reference)));
        }
        found.extend(row.tests.iter().filter_map(|test| test.exists(read).err()).map(|why| (row.line, why)));
    }
    let wanted: Vec<String> = (1..=count).map(|number| format!("{word} {number}")).collect();
    found.extend(wanted.iter().filter(|one| !seen.contains(one.as_str())).map(|one| (0, format!("{one} is missing"))));
    let more = rows.iter().filter(|row| !wanted.contains(&row.reference));
    found.extend(more.map(|row| (row.line, format!("there is no {}", row.reference))));
}

fn is_fault(line: &str) -> bool {
    line.strip_prefix("| ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn fault(line: usize, text: &str) -> Result<Row, String> {
    let [number, what, required, proof] = cells(text)[..] else {
        return Err("a fault has four cells: its number, what happens, what must come of it, the tests".to_owned());
    };
    if what.is_empty() || required.is_empty() {
        return Err(format!("fault {number} does not say what happens and what must come of it"));
    }
    let mut tests = Vec::new();
    for piece in proof.split("<br>").map(str::trim) {
        let open = OPEN.iter().any(|open| piece.strip_prefix(open).is_some_and(|why| !why.trim().is_empty()));
        match piece.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).and_then(Named::read) {
            Some(test) => tests.push(test),
            None if open => {}
            None => return Err(format!("fault {number} needs a test, or `{}why`", OPEN[0])),
        }
    }
    Ok(Row { line, reference: format!("fault {number}"), proof: Proof::Tests, tests })
}

/// The tests linked as ``[`name`](file)``.
fn links(text: &str) -> Vec<Named> {
    let link = |piece: &str| {
        let (name, rest) = piece.split_once("`](")?;
        let (path, _) = rest.split_once(')')?;
        Named::read(&format!("{path}: {name}"))
    };
    text.split("[`").skip(1).filter_map(link).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Option<String> {
        match path {
            "a.rs" => Some("#[test]\nfn it_holds() {}\n".to_owned()),
            "web/a.test.ts" => Some("test(\"it holds: always\", () => {});\n".to_owned()),
            _ => None,
        }
    }
    fn page(change: impl Fn(usize) -> Option<&'static str>) -> String {
        let row = |n: usize| format!("| {n} | what | must | {} |\n", change(n).unwrap_or("`a.rs: it_holds`"));
        (1..=FAULT_ROWS).map(row).collect()
    }
    fn wrong_with(text: &str) -> Vec<String> {
        faults(text, &read).1.into_iter().map(|(_, message)| message).collect()
    }

    #[test]
    fn every_fault_has_a_row_with_a_test_that_is_there() {
        let both = page(|n| (n == 7).then_some("`a.rs: it_holds`<br>`web/a.test.ts: it holds: always`"));
        assert_eq!(wrong_with(&both), [""; 0]);
        assert_eq!(faults(&both, &read).0[6].tests.len(), 2);
        let open = page(|n| (n == 7).then_some("not built yet: no such phone here"));
        assert_eq!(wrong_with(&open), [""; 0]);
        assert_eq!(
            wrong_with(&page(|n| (n == 7).then_some("`a.rs: it_fell`"))),
            ["there is no test `it_fell` in a.rs"]
        );
        for bare in ["", "not built yet: ", "not built yet", "see the code", "`a.rs`"] {
            assert_eq!(wrong_with(&page(|n| (n == 7).then_some(bare))).len(), 2, "{bare}: no proof, so no row either");
        }
    }

    #[test]
    fn a_fault_that_is_missing_twice_or_of_another_number_is_found() {
        let gone = page(|_| None).replace("| 40 | what", "| 41 | what");
        assert_eq!(wrong_with(&gone), ["fault 40 is missing", "there is no fault 41"]);
        let twice = page(|_| None).replace("| 40 | what", "| 39 | what");
        assert_eq!(wrong_with(&twice), ["fault 39 is there twice", "fault 40 is missing"]);
    }

    #[test]
    fn every_promise_links_a_test_that_is_there() {
        let item = |n: usize, link: &str| format!("{n}. A promise.\n   {link}\n");
        let good = "[`it_holds`](a.rs),\n   [`it holds:\n   always`](web/a.test.ts)";
        let whole = |eighth: &str| {
            let items: String = (1..PROMISES).map(|n| item(n, good)).collect();
            format!("# Head\n\n1. No promise.\n\n{HEADING}\n\n{items}{}\n## Next\n\n9. No promise.\n", item(8, eighth))
        };
        let wrong = |text: &str| promises(text, &read).1.into_iter().map(|(_, why)| why).collect::<Vec<_>>();
        assert_eq!(wrong(&whole(good)), [""; 0]);
        assert_eq!(promises(&whole(good), &read).0[7].tests.len(), 2);
        assert_eq!(wrong(&whole("not proven yet: no such phone here")), [""; 0]);
        assert_eq!(wrong(&whole("[`it_fell`](a.rs)")), ["there is no test `it_fell` in a.rs"]);
        assert_eq!(wrong(&whole("[the tests](a.rs)")).len(), 1);
        assert_eq!(wrong("# Head\n").len(), PROMISES);
    }
}
