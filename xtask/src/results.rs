//! The results of all tests of a run, from cargo and from vitest.

use crate::exec;
use crate::proof::{Row, Test};
use anyhow::{Context, Result};
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The most lines of a failure's message that the end of a run repeats. Many people read only the end of a log.
const LINES: usize = 16;
/// The most characters of a failure's message that the end of a run repeats.
const LETTERS: usize = 2_000;

/// The result of a test. If a test ran several times, the worst result counts. The worst result is the first variant.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It failed.
    Failed,
    /// It was left out.
    Skipped,
    /// It held.
    Passed,
}

/// One test that ran.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
struct Ran {
    /// The file from which the test's program is built: `crates/core/src/lib.rs`, `crates/core/tests/laws/main.rs`,
    /// `web/e2e/a.test.ts`.
    file: String,
    /// The test's name with its modules, or its title.
    test: String,
    result: Outcome,
    /// The first lines of the failure's message. Empty for cargo's tests, because cargo prints the messages at its end.
    #[serde(skip)]
    why: String,
}

/// The state of reading cargo's output.
#[derive(Debug, Default)]
pub struct Place {
    /// The file of the program that runs.
    file: String,
    /// The name of a test that cargo printed without its result, because the test's own output came in between. The
    /// result is on a later line.
    begun: Option<String>,
}

/// The results of all tests of a run.
#[derive(Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Results {
    tests: Vec<Ran>,
}

impl Results {
    /// Reads one line of cargo's output. `Running tests/it/main.rs (target/proof/deps/it-0a1b)` names a program, and
    /// `roots` has the file from which it is built. `Doc-tests admit_core` names a program too. `test the::name ... ok`
    /// is a result of the program that was named last.
    pub fn cargo_line(&mut self, line: &str, roots: &BTreeMap<String, String>, place: &mut Place) {
        let line = line.trim();
        if let Some((_, program)) = line.strip_prefix("Running ").and_then(|rest| rest.rsplit_once('(')) {
            let program = program.trim_end_matches(')');
            roots.get(program).map_or(program, String::as_str).clone_into(&mut place.file);
        } else if line.starts_with("Doc-tests ") {
            line.clone_into(&mut place.file);
        }
        // A test or a program that it started may write to the same terminal, before a line of cargo's or inside it.
        static BEGUN: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"\btest (\S+|\S+ - .*\(line \d+\))(?: - [a-z ]+)? \.\.\. (.*)").expect("a constant")
        });
        let words = match BEGUN.captures(line) {
            Some(begun) => {
                place.begun = Some(begun[1].to_owned());
                begun.get(2).map_or("", |words| words.as_str())
            }
            None => line,
        };
        let result = match words.split([' ', ',']).next() {
            Some("ok") => Outcome::Passed,
            Some("ignored") => Outcome::Skipped,
            Some("FAILED") => Outcome::Failed,
            _ => return,
        };
        let Some(test) = place.begun.take() else { return };
        self.tests.push(Ran { file: place.file.clone(), test, result, why: String::new() });
    }

    /// Adds a vitest report in JSON. A file that failed as a whole counts as one test.
    pub fn vitest(&mut self, text: &str) -> Result<()> {
        let report: Value = serde_json::from_str(text).context("the report of vitest is not JSON")?;
        let files = report["testResults"].as_array().context("the report of vitest has no testResults")?;
        for of_file in files {
            let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
            let path = text(of_file, "name");
            let file =
                Path::new(&path).strip_prefix(exec::root()).map_or(path.clone(), |path| path.display().to_string());
            let mut all = Vec::new();
            for test in of_file["assertionResults"].as_array().into_iter().flatten() {
                let result = match test["status"].as_str() {
                    Some("passed") => Outcome::Passed,
                    Some("failed") => Outcome::Failed,
                    _ => Outcome::Skipped,
                };
                let why = test["failureMessages"][0].as_str().unwrap_or_default();
                all.push(Ran { file: file.clone(), test: text(test, "title"), result, why: cut(why) });
            }
            if of_file["status"] == "failed" && !all.iter().any(|ran| ran.result == Outcome::Failed) {
                let why = cut(&text(of_file, "message"));
                all.push(Ran { file, test: String::new(), result: Outcome::Failed, why });
            }
            self.tests.append(&mut all);
        }
        Ok(())
    }

    /// Each failed test: its file, its name, and the first lines of its message.
    pub fn failures(&self) -> Vec<String> {
        let failed = self.tests.iter().filter(|ran| ran.result == Outcome::Failed);
        failed
            .map(|ran| {
                let name = if ran.test.is_empty() { String::new() } else { format!(": {}", ran.test) };
                format!("{}{name}{}", ran.file, ran.why)
            })
            .collect()
    }

    /// The number of tests with this result.
    pub fn count_of(&self, result: Outcome) -> usize {
        self.tests.iter().filter(|ran| ran.result == result).count()
    }

    /// Whether there are no results.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// Stores the results in `target/test-results.json`.
    pub fn keep(&self) -> Result<()> {
        fs::write(kept(), serde_json::to_string_pretty(self)?).with_context(|| format!("writing {}", kept().display()))
    }

    /// The results of the last run. Empty if there was none.
    pub fn kept() -> Result<Results> {
        let Ok(text) = fs::read_to_string(kept()) else { return Ok(Results::default()) };
        serde_json::from_str(&text).with_context(|| format!("{} is of another form", kept().display()))
    }

    /// The result of one test: the worst of all its runs.
    pub fn one(&self, test: &Test) -> Option<Outcome> {
        if test.path.ends_with(".test.ts") {
            let ran = self.tests.iter().filter(|ran| ran.file == test.path && ran.test == test.name);
            return ran.map(|ran| ran.result).min();
        }
        let ran = self.tests.iter().filter(|ran| ran.test.rsplit("::").next() == Some(&test.name));
        let ran: Vec<(&Ran, String)> = ran.filter_map(|ran| Some((ran, modules(test, &ran.file)?))).collect();
        // Two modules of one program may have a test of the same name; a macro may wrap modules of its own around it.
        let exact = ran.iter().filter(|(ran, modules)| ran.test.starts_with(modules.as_str()));
        exact.map(|(ran, _)| ran.result).min().or_else(|| ran.iter().map(|(ran, _)| ran.result).min())
    }

    /// The result of a row: the worst result of its tests, if it is no pass. Otherwise a row with a figure is
    /// `measured`, and a row without tests is `decided otherwise`.
    fn row(&self, row: &Row) -> &'static str {
        let results: Vec<Option<Outcome>> = row.tests.iter().map(|test| self.one(test)).collect();
        let has = |outcome| results.contains(&outcome);
        match () {
            () if has(Some(Outcome::Failed)) => "failed",
            () if has(None) => "not run",
            () if has(Some(Outcome::Skipped)) => "skipped",
            () if !row.figures.is_empty() => "measured",
            () if row.tests.is_empty() => "decided otherwise",
            () => "passed",
        }
    }

    /// The result of each row, by its name.
    pub fn of(&self, rows: &[Row]) -> BTreeMap<String, String> {
        rows.iter().map(|row| (row.reference.clone(), self.row(row).to_owned())).collect()
    }

    /// The line with the numbers of rows by result, for the end of a run. Each row counts once.
    pub fn count(&self, rows: &[Row]) -> String {
        let mut line = format!("conformance: {} rows", rows.len());
        for kind in ["passed", "measured", "decided otherwise", "failed", "skipped", "not run"] {
            let count = rows.iter().filter(|row| self.row(row) == kind).count();
            let name = if kind == "passed" { "proven by tests" } else { kind };
            line += &format!(", {count} {name}");
        }
        line
    }
}

fn cut(why: &str) -> String {
    let lines = why.lines().filter(|line| !line.trim().is_empty()).take(LINES);
    let text: String = lines.map(|line| format!("\n    {}", line.trim_end())).collect();
    text.chars().take(LETTERS).collect()
}

fn kept() -> PathBuf {
    exec::root().join("target/test-results.json")
}

/// The modules that contain a test, with `::` after each. `None` if the program does not contain the test's file.
fn modules(test: &Test, root: &str) -> Option<String> {
    if test.of_suite() {
        return (root.starts_with("crates/store-") && root.contains("/tests/")).then(String::new);
    }
    if test.path == root {
        return Some(String::new());
    }
    // The modules of `src/lib.rs` and `tests/it/main.rs` are in the same folder as these. The modules of `tests/it.rs`
    // are in the folder `tests/it`.
    let folder = root.strip_suffix("/main.rs").or_else(|| root.strip_suffix("/lib.rs"));
    let folder = folder.or_else(|| root.strip_suffix(".rs"))?;
    let inside = test.path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    Some(inside.split('/').map(|module| format!("{module}::")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn test(path: &str, name: &str) -> Test {
        Test { path: path.to_owned(), name: name.to_owned() }
    }

    fn results() -> Results {
        let output = "   Compiling a\n     Running unittests src/lib.rs (target/proof/deps/core-1)\n\nrunning 4 tests\n\
                      test rate::tests::holds ... ok\ninitdb: test sign::tests::holds ... FAILED\ntest wrapped::kept ... ok\n\
                      test rate::tests::speaks ... admit: the reader is gone\nok\n\n\
                      \u{20}    Running tests/it/main.rs (target/proof/deps/it-2)\n\ntest scans::sync::twice ... ok\n\
                      test scans::panics - should panic ... ok\n   Doc-tests core\ntest a.rs - b (line 4) ... ignored\n";
        let root = |program: &str, root: &str| (format!("target/proof/deps/{program}"), root.to_owned());
        let roots = [root("core-1", "crates/core/src/lib.rs"), root("it-2", "crates/app/tests/it/main.rs")].into();
        let (mut results, mut place) = (Results::default(), Place::default());
        output.lines().for_each(|line| results.cargo_line(line, &roots, &mut place));
        results
    }

    #[test]
    fn a_test_is_found_in_the_program_and_module_of_its_file() {
        let results = results();
        for (path, name, expected) in [
            ("crates/core/src/rate.rs", "holds", Some(Outcome::Passed)),
            ("crates/core/src/rate.rs", "speaks", Some(Outcome::Passed)),
            ("crates/core/src/sign.rs", "holds", Some(Outcome::Failed)),
            ("crates/app/tests/it/scans/sync.rs", "twice", Some(Outcome::Passed)),
            ("crates/app/tests/it/scans.rs", "panics", Some(Outcome::Passed)),
            ("crates/core/src/kept.rs", "kept", Some(Outcome::Passed)),
            ("crates/server/tests/it/scans/sync.rs", "twice", None),
            ("crates/core/src/rate.rs", "twice", None),
        ] {
            assert_eq!(results.one(&test(path, name)), expected, "{path}: {name}");
        }
        let count = [Outcome::Passed, Outcome::Failed, Outcome::Skipped].map(|outcome| results.count_of(outcome));
        assert_eq!(count, [5, 1, 1]);
    }

    #[test]
    fn of_the_web_each_failure_is_told_with_its_place_and_its_words() {
        let file = |name: &str, status: &str, tests: Value| json!({"name": exec::root().join(name), "status": status, "message": "the hook", "assertionResults": tests});
        let one = |title: &str, status: &str| json!({"title": title, "status": status, "failureMessages": ["waited\n\nin vain"]});
        let report = json!({"testResults": [
            file("web/e2e/a.test.ts", "failed", json!([one("one", "passed"), one("two", "failed")])),
            file("web/e2e/b.test.ts", "failed", json!([one("three", "pending")])),
        ]});
        let mut results = results();
        results.vitest(&report.to_string()).unwrap();
        assert_eq!(results.one(&test("web/e2e/a.test.ts", "one")), Some(Outcome::Passed));
        assert_eq!(results.one(&test("web/e2e/b.test.ts", "three")), Some(Outcome::Skipped));
        let expected = [
            "crates/core/src/lib.rs: sign::tests::holds",
            "web/e2e/a.test.ts: two\n    waited\n    in vain",
            "web/e2e/b.test.ts\n    the hook",
        ];
        assert_eq!(results.failures(), expected);
        assert!(results.vitest("{}").is_err());
    }

    #[test]
    fn rows_are_counted_by_what_became_of_their_tests() {
        let (good, bad) = (test("crates/core/src/rate.rs", "holds"), test("crates/core/src/sign.rs", "holds"));
        let gone = test("crates/core/src/rate.rs", "gone");
        let row = |reference: &str, tests: &[&Test], figures: &[&str]| Row {
            reference: reference.to_owned(),
            tests: tests.iter().map(|test| (*test).clone()).collect(),
            figures: figures.iter().map(|figure| (*figure).to_owned()).collect(),
            page: String::new(),
            line: 1,
        };
        let rows = [
            row("1", &[&good], &[]),
            row("2", &[&good, &bad], &[]),
            row("3", &[&gone], &[]),
            row("4", &[], &[]),
            row("5", &[], &["ingest"]),
            row("6", &[&good], &["ingest"]),
        ];
        let line =
            "conformance: 6 rows, 1 proven by tests, 2 measured, 1 decided otherwise, 1 failed, 0 skipped, 1 not run";
        assert_eq!(results().count(&rows), line);
        let of = results().of(&rows);
        assert_eq!([&of["1"], &of["2"], &of["4"], &of["6"]], ["passed", "failed", "decided otherwise", "measured"]);
    }
}
