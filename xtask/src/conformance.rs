//! `docs/conformance.md`: every section, invariant, table row and edge case of the two protocol documents, with the
//! test that proves it. People edit its rows; the last column comes from the last test run.
//!
//! A row without a test, a figure or a decision fails the build, and so does a row that says "later". A named test or
//! figure that doesn't exist fails it too. The same rules check `docs/faults.md` and `docs/promises.md`, which the
//! README must link.

mod named;
mod table;
mod figures;
mod promises;
mod results;

pub use results::{CargoLines, Results};

use crate::exec;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use table::{Proof, Row, Table};

/// The path of the list of conformance.
pub const LIST: &str = "docs/conformance.md";

/// The numbered sections of S1 and S2. Each must have at least one row.
const SECTIONS: &[(&str, &[&str])] = &[
    (
        "S1",
        &[
            "1.1", "2.1", "2.2", "2.3", "2.4", "3.1", "3.2", "4.1", "4.2", "4.3", "4.4", "5.1", "5.2", "6.1", "6.2",
            "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "8.1", "8.2", "9.1", "9.2", "10.1", "10.2", "11.1", "12.1",
            "13.1", "13.2", "13.3",
        ],
    ),
    ("S2", &["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14"]),
];
/// The number of steps in S2 §5, counted from 1. Each step must have a row.
const STEPS: usize = 29;

/// Finds the faults of the list: (line, how to fix it). `read` gives a repository file's text by its path.
pub fn faults(text: &str, read: &dyn Fn(&str) -> Option<String>) -> Vec<(usize, String)> {
    let (table, mut found) = Table::read(text);
    let measured = read(figures::FIGURES).map(|page| figures::read(&page).0).unwrap_or_default();
    let mut seen = BTreeSet::new();
    for row in &table.rows {
        if !seen.insert(row.reference.as_str()) {
            found.push((row.line, format!("`{}` has two rows", row.reference)));
        }
        if row.proof == Proof::Later {
            found.push((row.line, format!("`{}` says `later`: name a test, a figure or a decision", row.reference)));
        }
        for test in &row.tests {
            if let Err(why) = test.exists(read) {
                found.push((row.line, why));
            }
        }
        let unknown = row.figures.iter().filter(|figure| !measured.contains_key(*figure));
        found
            .extend(unknown.map(|figure| (row.line, format!("there is no figure `{figure}` in {}", figures::FIGURES))));
    }
    found.extend(missing_sections(&table.rows).into_iter().map(|name| (0, format!("{name} has no row"))));
    let unproven = table.rows.iter().filter(|row| row.proof == Proof::Unproven).count();
    match table.allowed {
        None => found.push((0, "needs a line `Unproven rows allowed: N`".to_owned())),
        Some((line, allowed)) if unproven > allowed => {
            found.push((line, format!("{unproven} rows are unproven, {allowed} are allowed: name the tests")));
        }
        Some((line, allowed)) if unproven < allowed => {
            found.push((line, format!("only {unproven} rows are unproven: lower the number, it may only fall")));
        }
        Some(_) => {}
    }
    found
}

fn missing_sections(rows: &[Row]) -> Vec<String> {
    let numbered = SECTIONS.iter().flat_map(|(source, numbers)| numbers.iter().map(move |n| format!("{source} §{n}")));
    let steps = (1..=STEPS).map(|step| format!("S2 §5 step {step}"));
    let has = |name: &str| {
        rows.iter().any(|row| {
            row.reference
                .strip_prefix(name)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
        })
    };
    numbered.chain(steps).filter(|name| !has(name)).collect()
}

/// Finds the faults of all the pages: (page, line, how to fix it).
pub fn all_faults(read: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, usize, String)> {
    let pages: [(&'static str, Check); 5] = [
        (LIST, |text, read| faults(text, read)),
        (figures::FIGURES, |text, read| {
            figures::faults(text, &read(LIST).map(|list| Table::read(&list).0.rows).unwrap_or_default())
        }),
        (promises::FAULTS, |text, read| promises::faults(text, read).1),
        (promises::PROMISES, |text, read| promises::promises(text, read).1),
        (promises::README, |text, _| promises::readme(text)),
    ];
    let mut found = Vec::new();
    for (page, check) in pages {
        match read(page) {
            Some(text) => found.extend(check(&text, read).into_iter().map(|(line, why)| (page, line, why))),
            None => found.push((page, 0, "is missing".to_owned())),
        }
    }
    found
}

/// A check that finds the faults of a page's text.
type Check = fn(&str, Reader) -> Vec<(usize, String)>;
/// Gives a repository file's text by its path, or `None` if there is no such file.
type Reader<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The rows of `docs/faults.md` and of `docs/promises.md`.
fn other_rows() -> Vec<Row> {
    let text = |page| of_root(page).unwrap_or_default();
    let mut rows = promises::faults(&text(promises::FAULTS), &of_root).0;
    rows.extend(promises::promises(&text(promises::PROMISES), &of_root).0);
    rows
}

fn of_root(path: &str) -> Option<String> {
    fs::read_to_string(exec::root().join(path)).ok()
}

/// `cargo xtask conformance [--check | --write]` checks the list and counts its rows by the last test run. `--write`
/// also writes that run's results into the list.
pub fn command(args: &[String]) -> Result<()> {
    let text = list()?;
    let found = all_faults(&of_root);
    for (page, line, message) in &found {
        eprintln!("{page}:{line}: {message}");
    }
    if !found.is_empty() {
        bail!("{} fault{} in what is said to be proven", found.len(), if found.len() == 1 { "" } else { "s" });
    }
    let results = Results::kept()?;
    let (table, _) = Table::read(&text);
    println!("{}", results.count(&table.rows));
    match args.first().map(String::as_str) {
        None | Some("--check") => Ok(()),
        Some("--write") if results.is_empty() => bail!("there are no results: `make test` leaves them"),
        Some("--write") => {
            Ok(fs::write(exec::root().join(LIST), table::with_results(&text, &results.of(&table.rows)))?)
        }
        Some(other) => bail!("`conformance` takes --check or --write, not `{other}`"),
    }
}

/// Ends a test run: keeps its results, writes the list with them to `target/conformance.md`, and prints the counts.
/// After a whole run, a named test that did not run is an error, because its file may be in no module.
pub fn report(results: &Results, whole: bool) -> Result<()> {
    results.keep()?;
    let text = list()?;
    let (table, _) = Table::read(&text);
    let column = results.of(&table.rows);
    fs::write(exec::root().join("target/conformance.md"), table::with_results(&text, &column))?;
    println!("{}", results.count(&table.rows));
    let mut never = results.never_ran(&table.rows);
    never.extend(results.never_ran(&other_rows()));
    if whole && !never.is_empty() {
        bail!("tests are named as proof and did not run:\n{}", never.join("\n"));
    }
    Ok(())
}

fn list() -> Result<String> {
    fs::read_to_string(exec::root().join(LIST)).with_context(|| format!("there is no {LIST}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "#[test]\nfn it_holds() {}\n";

    fn read(path: &str) -> Option<String> {
        (path == "crates/core/src/a.rs").then(|| SOURCE.to_owned())
    }

    /// A list with a row for every section, so that only the rows given here can have faults.
    fn whole(allowed: usize, rows: &str) -> String {
        let mut text = format!(
            "Unproven rows allowed: {allowed}\n\n| Row | What it says | Decided | Proof | Result |\n|---|---|---|---|---|\n"
        );
        let numbered = SECTIONS.iter().flat_map(|(source, all)| all.iter().map(move |n| format!("{source} §{n}")));
        for name in numbered.chain((1..=STEPS).map(|step| format!("S2 §5 step {step}"))) {
            text.push_str(&format!("| {name} | says | | `crates/core/src/a.rs: it_holds` | |\n"));
        }
        text.push_str(rows);
        text
    }

    fn messages(text: &str) -> Vec<String> {
        faults(text, &read).into_iter().map(|(_, message)| message).collect()
    }

    #[test]
    fn a_list_whose_tests_all_exist_is_good() {
        assert_eq!(messages(&whole(0, "")), Vec::<String>::new());
    }

    #[test]
    fn a_test_that_is_not_there_is_found() {
        let gone = "| S1 §1.1 b | says | | `crates/core/src/a.rs: it_is_gone` | |\n";
        assert_eq!(messages(&whole(0, gone)), ["there is no test `it_is_gone` in crates/core/src/a.rs"]);
        let file = "| S1 §1.1 b | says | | `crates/core/src/b.rs: it_holds` | |\n";
        assert_eq!(messages(&whole(0, file)), ["there is no crates/core/src/b.rs"]);
    }

    #[test]
    fn a_row_without_any_proof_is_found() {
        for cell in ["", "see the code", "decided", "later", "`crates/core/src/a.rs`"] {
            assert_eq!(messages(&whole(0, &format!("| S1 §1.1 b | says | | {cell} | |\n"))).len(), 1, "{cell}");
        }
        assert_eq!(messages(&whole(0, "| S1 §1.1 b | says | D16 | decided | |\n")), Vec::<String>::new());
        for cell in ["later: issue 4", "`crates/core/src/a.rs: it_holds`<br>later: spec §7"] {
            let found = messages(&whole(0, &format!("| S1 §1.1 b | says | | {cell} | |\n")));
            assert_eq!(found, ["`S1 §1.1 b` says `later`: name a test, a figure or a decision"]);
        }
    }

    #[test]
    fn a_figure_that_is_not_there_is_found() {
        let list = whole(0, "| S1 §1.1 b | says | | measured: ingest, 50 of v1 | |\n");
        let page = "| ingest, 50 of v1 | 6 scans/s | 2 s | two cores | `make bench` |\n";
        let with = |page: &'static str| {
            move |path: &str| if path == figures::FIGURES { Some(page.to_owned()) } else { read(path) }
        };
        assert_eq!(faults(&list, &with(page)), []);
        for page in ["", "| ingest, 50 of v2 | 6 scans/s | 2 s | two cores | `make bench` |\n"] {
            let found: Vec<_> = faults(&list, &with(page)).into_iter().map(|(_, why)| why).collect();
            assert_eq!(found, ["there is no figure `ingest, 50 of v1` in docs/figures.md"]);
        }
    }

    #[test]
    fn a_section_without_a_row_and_a_row_twice_are_found() {
        let text = whole(0, "").replace("| S1 §4.4 |", "| S1 §4.40 |");
        assert_eq!(messages(&text), ["S1 §4.4 has no row"]);
        let text = whole(0, "").replace("| S2 §5 step 2 |", "| S2 §5 step 29 |");
        assert_eq!(messages(&text), ["`S2 §5 step 29` has two rows", "S2 §5 step 2 has no row"]);
    }

    #[test]
    fn the_number_of_unproven_rows_may_only_fall() {
        let row = "| S1 §1.1 b | says | | unproven | |\n";
        assert!(messages(&whole(1, row)).is_empty());
        assert_eq!(messages(&whole(0, row)).len(), 1);
        assert_eq!(messages(&whole(2, row)).len(), 1);
        assert_eq!(messages(&whole(0, "").replace("Unproven rows allowed", "Rows")).len(), 1);
    }
}
