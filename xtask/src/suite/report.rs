//! Vitest's report on a run: the failures and their reasons.

use crate::exec;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

/// The number of lines of a failure's message that the end of a run repeats. Many people read only the end of a log.
const LINES: usize = 16;
const LETTERS: usize = 2_000;

/// Vitest's report in JSON.
#[derive(Debug)]
pub struct Report(Value);

impl Report {
    /// Reads the JSON that vitest wrote.
    pub fn read(text: &str) -> Result<Report> {
        serde_json::from_str(text).map(Report).context("the report of vitest is not JSON")
    }

    /// One entry per failure: the file, the title, and the first lines of the message.
    pub fn failures(&self) -> Vec<String> {
        let mut all = Vec::new();
        for file in self.files() {
            let place = place(file);
            let before = all.len();
            for test in tests(file).filter(|test| failed(test)) {
                let why = test["failureMessages"].as_array().into_iter().flatten().filter_map(Value::as_str).next();
                all.push(format!("{place}: {}{}", title(test), cut(why.unwrap_or_default())));
            }
            if file["status"] == "failed" && all.len() == before {
                all.push(format!("{place}{}", cut(file["message"].as_str().unwrap_or_default())));
            }
        }
        all
    }

    fn files(&self) -> impl Iterator<Item = &Value> {
        self.0["testResults"].as_array().into_iter().flatten()
    }
}

fn tests(file: &Value) -> impl Iterator<Item = &Value> {
    file["assertionResults"].as_array().into_iter().flatten()
}

fn failed(test: &Value) -> bool {
    test["status"] == "failed"
}

fn title(test: &Value) -> &str {
    test["title"].as_str().unwrap_or_default()
}

/// The test file's path from the repository's root: `web/e2e/story.test.ts`.
fn place(file: &Value) -> String {
    let path = Path::new(file["name"].as_str().unwrap_or_default());
    path.strip_prefix(exec::root()).unwrap_or(path).display().to_string()
}

fn cut(why: &str) -> String {
    let lines = why.lines().filter(|line| !line.trim().is_empty()).take(LINES);
    let text: String = lines.map(|line| format!("\n    {}", line.trim_end())).collect();
    text.chars().take(LETTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn file(name: &str, status: &str, results: &[(&str, &str)]) -> Value {
        let name = exec::root().join(name).display().to_string();
        let results = results.iter().map(|(title, status)| {
            json!({"title": title, "status": status, "failureMessages": if *status == "failed" { json!(["waited\nin vain"]) } else { json!([]) }})
        });
        json!({"name": name, "status": status, "message": "the hook", "assertionResults": results.collect::<Vec<_>>()})
    }

    fn report(files: &[Value]) -> Report {
        Report(json!({"testResults": files, "numPassedTests": 1, "numFailedTests": 1}))
    }

    #[test]
    fn a_failure_is_told_with_its_place_and_its_words() {
        let report = report(&[
            file("web/e2e/a.test.ts", "failed", &[("one", "passed"), ("two", "failed")]),
            file("web/e2e/b.test.ts", "failed", &[("three", "skipped")]),
            file("web/e2e/c.test.ts", "passed", &[("four", "passed")]),
        ]);
        let expected = ["web/e2e/a.test.ts: two\n    waited\n    in vain", "web/e2e/b.test.ts\n    the hook"];
        assert_eq!(report.failures(), expected);
    }
}
