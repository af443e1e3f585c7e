//! The result of each test of a run, from cargo and from vitest.

use super::named::Named;
use super::table::{Proof, Row};
use crate::exec;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// The kinds of rows in the last line's counts, and whether a kind is named if its count is 0.
const KINDS: [(&str, bool); 8] = [
    ("proven by tests", true),
    ("measured", true),
    ("decided otherwise", true),
    ("later", false),
    ("unproven", true),
    ("failed", true),
    ("skipped", false),
    ("not run", true),
];

/// One test that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ran {
    /// The main file of its test program: `crates/core/src/lib.rs`, `crates/core/tests/laws/main.rs`,
    /// `web/e2e/a.test.ts`.
    root: String,
    /// The test's name with its modules, or the title of a web test.
    name: String,
    /// The result: `passed`, `failed` or `skipped`.
    result: String,
}

/// All tests that ran.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Results {
    ran: Vec<Ran>,
}

/// The lines that cargo printed while it ran tests. Names of programs come by standard error, their tests by standard
/// output. Programs run one after the other, so the n-th name belongs to the n-th group of lines.
#[derive(Debug, Default)]
pub struct CargoLines {
    programs: Vec<String>,
    groups: Vec<Vec<(String, String)>>,
}

impl CargoLines {
    /// Reads a line of standard error, such as `Running tests/it/main.rs (target/proof/deps/it-0a1b)` or `Doc-tests
    /// x`.
    pub fn error_line(&mut self, line: &str) {
        let line = line.trim();
        if let Some((_, program)) = line.strip_prefix("Running ").and_then(|rest| rest.rsplit_once('(')) {
            self.programs.push(program.trim_end_matches(')').to_owned());
        } else if line.starts_with("Doc-tests ") {
            self.programs.push(String::new());
        }
    }

    /// Reads a line of standard output, such as `running 3 tests` or `test the::name ... ok`.
    pub fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        if matches!(words[..], ["running", number, "test" | "tests"] if number.parse::<u64>().is_ok()) {
            self.groups.push(Vec::new());
        }
        let Some((name, result)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) else { return };
        let result = match result.split([' ', ',']).next() {
            Some("ok") => "passed",
            Some("ignored") => "skipped",
            _ => "failed",
        };
        let name = name.trim_end_matches(" - should panic");
        if let Some(group) = self.groups.last_mut() {
            group.push((name.to_owned(), result.to_owned()));
        }
    }
}

impl Results {
    /// Adds the tests that cargo ran. `roots` maps each test program to its main file.
    pub fn cargo(&mut self, lines: CargoLines, roots: &BTreeMap<String, String>) -> Result<()> {
        let CargoLines { programs, groups } = lines;
        if programs.len() != groups.len() {
            bail!("{} test programs were started and {} reported", programs.len(), groups.len());
        }
        for (program, group) in programs.iter().zip(groups).filter(|(program, _)| !program.is_empty()) {
            let root = roots.get(program).with_context(|| format!("nobody built {program}"))?;
            self.ran.extend(group.into_iter().map(|(name, result)| Ran { root: root.clone(), name, result }));
        }
        Ok(())
    }

    /// Adds a vitest report in JSON.
    pub fn vitest(&mut self, text: &str) -> Result<()> {
        let report: Value = serde_json::from_str(text).context("the report of vitest is not JSON")?;
        let home = exec::root();
        for file in report["testResults"].as_array().into_iter().flatten() {
            let path = PathBuf::from(file["name"].as_str().unwrap_or_default());
            let root = path.strip_prefix(&home).unwrap_or(&path).display().to_string();
            for test in file["assertionResults"].as_array().into_iter().flatten() {
                let result = match test["status"].as_str() {
                    Some("passed") => "passed",
                    Some("failed") => "failed",
                    _ => "skipped",
                };
                let name = test["title"].as_str().unwrap_or_default().to_owned();
                self.ran.push(Ran { root: root.clone(), name, result: result.to_owned() });
            }
        }
        Ok(())
    }

    /// The failed Rust tests. Failed web tests are in vitest's own report, with their reasons.
    pub fn failed_in_rust(&self) -> Vec<String> {
        let failed = self.ran.iter().filter(|ran| ran.result == "failed" && !ran.root.ends_with(".test.ts"));
        failed.map(|ran| format!("{}: {}", ran.root, ran.name)).collect()
    }

    /// Whether there is no result.
    pub fn is_empty(&self) -> bool {
        self.ran.is_empty()
    }

    /// Writes the results to `target/test-results.json`.
    pub fn keep(&self) -> Result<()> {
        let all: Vec<Value> =
            self.ran.iter().map(|ran| json!({"file": ran.root, "test": ran.name, "result": ran.result})).collect();
        let text = serde_json::to_string_pretty(&json!({ "tests": all }))?;
        fs::write(file(), text).with_context(|| format!("could not write {}", file().display()))
    }

    /// Reads the results of the last run. They are empty if no run has left any.
    pub fn kept() -> Result<Results> {
        let Ok(text) = fs::read_to_string(file()) else { return Ok(Results::default()) };
        let kept: Value = serde_json::from_str(&text).with_context(|| format!("{} is not JSON", file().display()))?;
        let word = |test: &Value, name: &str| test[name].as_str().unwrap_or_default().to_owned();
        let tests = kept["tests"].as_array().into_iter().flatten();
        let ran = |test| Ran { root: word(test, "file"), name: word(test, "test"), result: word(test, "result") };
        Ok(Results { ran: tests.map(ran).collect() })
    }

    /// The worst result of one named test among all its runs; `None` if it did not run.
    fn one(&self, test: &Named) -> Option<&str> {
        let last = |name: &str| name.rsplit("::").next().unwrap_or_default() == test.name;
        let found: Vec<&Ran> = if test.path.ends_with(".test.ts") {
            self.ran.iter().filter(|ran| ran.root == test.path && ran.name == test.name).collect()
        } else {
            let all = self.ran.iter().filter(|ran| last(&ran.name));
            let all: Vec<(&Ran, String)> = all.filter_map(|ran| Some((ran, modules(test, &ran.root)?))).collect();
            // Two modules of one program may have a test of the same name, and a macro may add modules around a test.
            let exact = all.iter().filter(|(ran, modules)| ran.name.starts_with(modules.as_str()));
            let exact: Vec<&Ran> = exact.map(|(ran, _)| *ran).collect();
            if exact.is_empty() { all.into_iter().map(|(ran, _)| ran).collect() } else { exact }
        };
        let worst = ["failed", "skipped", "passed"];
        worst.into_iter().find(|result| found.iter().any(|ran| ran.result == *result))
    }

    /// The worst result of a row's tests; `None` if the row names none.
    fn worst(&self, row: &Row) -> Option<&'static str> {
        let results: Vec<&str> = row.tests.iter().map(|test| self.one(test).unwrap_or("not run")).collect();
        ["failed", "not run", "skipped", "passed"].into_iter().find(|result| results.contains(result))
    }

    /// The last column of the list: each row's result by its reference.
    pub fn of(&self, rows: &[Row]) -> BTreeMap<String, String> {
        let result = |row: &Row| {
            let beside = |kind: &str| match self.worst(row) {
                Some(worst) => format!("{kind}, {worst}"),
                None => kind.to_owned(),
            };
            match row.proof {
                Proof::Tests => self.worst(row).unwrap_or_default().to_owned(),
                Proof::Measured => beside("measured"),
                Proof::Decided => beside("decided otherwise"),
                Proof::Later => "later".to_owned(),
                Proof::Unproven => "unproven".to_owned(),
            }
        };
        rows.iter().map(|row| (row.reference.clone(), result(row))).collect()
    }

    /// The last line of a run, in which each row counts once. A row with a test that did not pass counts as that
    /// result.
    pub fn count(&self, rows: &[Row]) -> String {
        let kind = |row: &Row| match (row.proof, self.worst(row)) {
            (Proof::Later, _) => "later",
            (Proof::Unproven, _) => "unproven",
            (_, Some(bad)) if bad != "passed" => bad,
            (Proof::Tests, _) => "proven by tests",
            (Proof::Measured, _) => "measured",
            (Proof::Decided, _) => "decided otherwise",
        };
        let kinds: Vec<&str> = rows.iter().map(kind).collect();
        let mut line = format!("conformance: {} rows", rows.len());
        for (name, always) in KINDS {
            let count = kinds.iter().filter(|kind| **kind == name).count();
            if always || count > 0 {
                line += &format!(", {count} {name}");
            }
        }
        line
    }

    /// The tests that rows name and that did not run, one line per test.
    pub fn never_ran(&self, rows: &[Row]) -> Vec<String> {
        let tests = rows.iter().flat_map(|row| row.tests.iter().map(move |test| (row, test)));
        let never = tests.filter(|(_, test)| self.one(test).is_none());
        never.map(|(row, test)| format!("  {}: {}: {}", row.reference, test.path, test.name)).collect()
    }
}

fn file() -> PathBuf {
    exec::root().join("target/test-results.json")
}

/// The modules of a test within a program, each followed by `::`. `None` if the test belongs to another program.
fn modules(test: &Named, root: &str) -> Option<String> {
    if test.of_suite() {
        return (root.starts_with("crates/store-") && root.contains("/tests/")).then(String::new);
    }
    if test.path == root {
        return Some(String::new());
    }
    // Modules of `src/lib.rs` and `tests/it/main.rs` are in the same folder; those of `tests/it.rs` are in
    // `tests/it/`.
    let folder = match root.strip_suffix("/main.rs").or_else(|| root.strip_suffix("/lib.rs")) {
        Some(folder) => folder,
        None => root.strip_suffix(".rs")?,
    };
    let inside = test.path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    Some(inside.split('/').map(|module| format!("{module}::")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: &str, name: &str) -> Named {
        Named { path: path.to_owned(), name: name.to_owned() }
    }

    fn lines(errors: &str, output: &str) -> CargoLines {
        let mut lines = CargoLines::default();
        errors.lines().for_each(|line| lines.error_line(line));
        output.lines().for_each(|line| lines.line(line));
        lines
    }

    fn results() -> Results {
        let errors = "   Compiling a\n     Running unittests src/lib.rs (target/proof/deps/core-1)\n\
                      \u{20}    Running tests/it/main.rs (target/proof/deps/it-2)\n   Doc-tests core\n";
        let output = "\nrunning 2 tests\ntest rate::tests::it_holds ... ok\ntest sign::tests::it_holds ... FAILED\n\n\
                      test result: FAILED. 1 passed; 1 failed;\n\nrunning 2 tests\ntest scans::sync::twice ... ok\n\
                      test scans::panics - should panic ... ok\n\nrunning 0 tests\n";
        let roots = [
            ("target/proof/deps/core-1".to_owned(), "crates/core/src/lib.rs".to_owned()),
            ("target/proof/deps/it-2".to_owned(), "crates/app/tests/it/main.rs".to_owned()),
        ];
        let mut results = Results::default();
        assert!(results.cargo(lines(errors, output), &BTreeMap::from(roots)).is_ok());
        results
    }

    #[test]
    fn a_test_is_found_in_the_program_and_module_of_its_file() {
        let results = results();
        assert_eq!(results.one(&named("crates/core/src/rate.rs", "it_holds")), Some("passed"));
        assert_eq!(results.one(&named("crates/core/src/sign.rs", "it_holds")), Some("failed"));
        assert_eq!(results.one(&named("crates/app/tests/it/scans/sync.rs", "twice")), Some("passed"));
        assert_eq!(results.one(&named("crates/app/tests/it/scans.rs", "panics")), Some("passed"));
        assert_eq!(results.one(&named("crates/server/tests/it/scans/sync.rs", "twice")), None);
        assert_eq!(results.one(&named("crates/core/src/rate.rs", "twice")), None);
    }

    #[test]
    fn programs_that_never_reported_are_an_error() {
        let errors = "Running tests/it/main.rs (a)\nRunning tests/it/main.rs (b)\n";
        assert!(Results::default().cargo(lines(errors, "running 1 test\n"), &BTreeMap::new()).is_err());
    }

    #[test]
    fn the_worst_of_all_runs_counts() {
        let mut results = Results::default();
        for (root, result) in
            [("crates/store-a/tests/contract.rs", "passed"), ("crates/store-b/tests/contract.rs", "failed")]
        {
            let name = "in_memory::scans::kept".to_owned();
            results.ran.push(Ran { root: root.to_owned(), name, result: result.to_owned() });
        }
        assert_eq!(results.one(&named("crates/app/src/store_suite/scans.rs", "kept")), Some("failed"));
    }

    #[test]
    fn a_report_of_vitest_names_its_files_from_the_root() {
        let file = exec::root().join("web/e2e/story.test.ts");
        let report = json!({"testResults": [{"name": file, "assertionResults": [
            {"title": "the story", "status": "passed"}, {"title": "another", "status": "pending"},
        ]}]});
        let mut results = Results::default();
        assert!(results.vitest(&report.to_string()).is_ok());
        assert_eq!(results.one(&named("web/e2e/story.test.ts", "the story")), Some("passed"));
        assert_eq!(results.one(&named("web/e2e/story.test.ts", "another")), Some("skipped"));
        assert!(results.vitest("").is_err());
    }

    #[test]
    fn rows_are_counted_by_what_became_of_their_tests() {
        let row = |reference: &str, proof, tests| {
            let reference = reference.to_owned();
            Row { line: 1, reference, proof, tests, figures: Vec::new() }
        };
        let good = vec![named("crates/core/src/rate.rs", "it_holds")];
        let bad = vec![good[0].clone(), named("crates/core/src/sign.rs", "it_holds")];
        let gone = vec![named("crates/core/src/rate.rs", "gone")];
        let mut rows = vec![
            row("S1 §1", Proof::Tests, good.clone()),
            row("S1 §2", Proof::Tests, bad.clone()),
            row("S1 §3", Proof::Tests, gone),
            row("S1 §4", Proof::Later, Vec::new()),
            row("S1 §5", Proof::Decided, Vec::new()),
            row("S1 §6", Proof::Measured, Vec::new()),
            row("S1 §7", Proof::Measured, good),
            row("S1 §8", Proof::Decided, bad),
        ];
        let results = results();
        let line = "conformance: 8 rows, 1 proven by tests, 2 measured, 1 decided otherwise, 1 later, 0 unproven, 2 failed, \
                    1 not run";
        assert_eq!(results.count(&rows), line);
        assert_eq!(results.of(&rows)["S1 §6"], "measured");
        assert_eq!(results.of(&rows)["S1 §7"], "measured, passed");
        assert_eq!(results.of(&rows)["S1 §8"], "decided otherwise, failed");
        assert_eq!(results.of(&rows)["S1 §2"], "failed");
        assert_eq!(results.never_ran(&rows), ["  S1 §3: crates/core/src/rate.rs: gone"]);
        rows.truncate(1);
        let line =
            "conformance: 1 rows, 1 proven by tests, 0 measured, 0 decided otherwise, 0 unproven, 0 failed, 0 not run";
        assert_eq!(results.count(&rows), line);
    }
}
