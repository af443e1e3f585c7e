//! `docs/faults.md` and `docs/promises.md`: each fault and each promise names the tests that show it. The README has
//! one line per promise and links the page.

use super::named::Named;
use super::table::{Proof, Row, cells};
use std::collections::BTreeSet;

/// The path of the page of faults and bad inputs, one row per fault.
pub const FAULTS: &str = "docs/faults.md";
/// The path of the page of promises and their tests.
pub const PROMISES: &str = "docs/promises.md";
/// The path of the README, which also lists the promises.
pub const README: &str = "README.md";
/// The heading in `docs/promises.md` under which the promises are.
const HEADING: &str = "# What Admit promises";
/// The heading in the README under which each promise has a line.
const README_HEADING: &str = "## What Admit promises";
/// The prefix of links in `docs/promises.md` to files from the repository's root.
const TO_ROOT: &str = "../";
const FAULT_ROWS: usize = 40;
const PROMISE_ROWS: usize = 8;
/// The words that replace a missing test, before the reason.
const OPEN: [&str; 2] = ["not built yet: ", "not proven yet: "];

/// Reads the rows of `docs/faults.md` and the faults of that page: (line, how to fix it).
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

/// Reads the promises of `docs/promises.md` and the faults of that page: (line, how to fix it).
pub fn promises(text: &str, read: &dyn Fn(&str) -> Option<String>) -> (Vec<Row>, Vec<(usize, String)>) {
    let (mut rows, mut found) = (Vec::new(), Vec::new());
    for (line, item) in items(text, HEADING) {
        let number = item.split_once(". ").map_or("", |(number, _)| number);
        let mut tests = links(&item);
        for test in &mut tests {
            match test.path.strip_prefix(TO_ROOT) {
                Some(path) => test.path = path.to_owned(),
                None => found.push((line, format!("the link to {} leads nowhere: begin it with {TO_ROOT}", test.path))),
            }
        }
        if tests.is_empty() && !item.contains(OPEN[1]) {
            found.push((line, format!("promise {number} names no test: [`name`](file), or `{}why`", OPEN[1])));
        }
        rows.push(Row {
            line,
            reference: format!("promise {number}"),
            proof: Proof::Tests,
            tests,
            figures: Vec::new(),
        });
    }
    checked(&rows, ("promise", PROMISE_ROWS), read, &mut found);
    (rows, found)
}

/// Finds the faults of the README: it must have a line per promise, and link `docs/promises.md`.
pub fn readme(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    if !text.contains(&format!("]({PROMISES})")) {
        found.push((0, format!("does not link {PROMISES}: a promise stands beside its tests")));
    }
    let has =
        |number: &usize| items(text, README_HEADING).iter().any(|(_, item)| item.starts_with(&format!("{number}. ")));
    let gone = (1..=PROMISE_ROWS).filter(|number| !has(number));
    found.extend(gone.map(|number| (0, format!("promise {number} has no line under `{README_HEADING}`"))));
    found
}

/// The numbered items under a heading, each with the number of its first line.
fn items(text: &str, heading: &str) -> Vec<(usize, String)> {
    let mut items: Vec<(usize, String)> = Vec::new();
    let section = text.lines().enumerate().skip_while(|(_, line)| *line != heading).skip(1);
    for (index, line) in section.take_while(|(_, line)| !line.starts_with("## ")) {
        match (line.split_once(". "), items.last_mut()) {
            (Some((number, _)), _) if number.parse::<usize>().is_ok() => items.push((index + 1, line.to_owned())),
            // Indented lines continue the promise above.
            (_, Some((_, item))) if line.starts_with("   ") => {
                item.push(' ');
                item.push_str(line.trim());
            }
            _ => {}
        }
    }
    items
}

/// Adds a fault for each number that is missing, repeated or too high, and for each named test that does not exist.
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
    Ok(Row { line, reference: format!("fault {number}"), proof: Proof::Tests, tests, figures: Vec::new() })
}

/// The tests that are linked as ``[`name`](file)``.
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
        let good = "[`it_holds`](../a.rs),\n   [`it holds:\n   always`](../web/a.test.ts)";
        let whole = |eighth: &str| {
            let items: String = (1..PROMISE_ROWS).map(|n| item(n, good)).collect();
            format!("1. No promise.\n\n{HEADING}\n\n{items}{}\n## Next\n\n9. No promise.\n", item(8, eighth))
        };
        let wrong = |text: &str| promises(text, &read).1.into_iter().map(|(_, why)| why).collect::<Vec<_>>();
        assert_eq!(wrong(&whole(good)), [""; 0]);
        assert_eq!(promises(&whole(good), &read).0[7].tests.len(), 2);
        assert_eq!(wrong(&whole("not proven yet: no such phone here")), [""; 0]);
        assert_eq!(wrong(&whole("[`it_fell`](../a.rs)")), ["there is no test `it_fell` in a.rs"]);
        assert_eq!(wrong(&whole("[`it_holds`](a.rs)")), ["the link to a.rs leads nowhere: begin it with ../"]);
        assert_eq!(wrong(&whole("[the tests](../a.rs)")).len(), 1);
        assert_eq!(wrong("# Head\n").len(), PROMISE_ROWS);
    }

    #[test]
    fn the_readme_has_every_promise_and_links_their_page() {
        let items: String = (1..=PROMISE_ROWS).map(|n| format!("{n}. A promise.\n")).collect();
        let good =
            format!("# Head\n\n{README_HEADING}\n\n{items}\n[Tests](docs/promises.md)\n\n## Next\n\n1. No promise.\n");
        let wrong = |text: &str| readme(text).into_iter().map(|(_, why)| why).collect::<Vec<_>>();
        assert_eq!(wrong(&good), [""; 0]);
        let unlinked = good.replace("docs/promises.md", "docs/faults.md");
        assert_eq!(wrong(&unlinked), ["does not link docs/promises.md: a promise stands beside its tests"]);
        let lost = good.replace("8. A promise.\n", "");
        assert_eq!(wrong(&lost), ["promise 8 has no line under `## What Admit promises`"]);
    }
}
