//! Counts the passed and failed tests of cargo and vitest.

use anyhow::{Context, Result};
use std::fmt;

/// The counts so far.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    skipped: u64,
}

impl Tally {
    /// Adds a line such as `test result: ok. 12 passed; 0 failed; 1 ignored; …`; any other line is ignored.
    pub fn cargo_line(&mut self, line: &str) {
        let Some(counts) = line.trim().strip_prefix("test result: ") else { return };
        let words: Vec<&str> = counts.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            if let Ok(count) = pair[0].parse::<u64>() {
                match pair[1] {
                    "passed" => self.passed += count,
                    "failed" => self.failed += count,
                    "ignored" => self.skipped += count,
                    _ => {}
                }
            }
        }
    }

    /// Adds a vitest report in JSON.
    pub fn vitest_report(&mut self, text: &str) -> Result<()> {
        let report: serde_json::Value = serde_json::from_str(text).context("the report of vitest is not JSON")?;
        let count = |name: &str| report[name].as_u64().with_context(|| format!("the report of vitest has no {name}"));
        self.passed += count("numPassedTests")?;
        self.failed += count("numFailedTests")?;
        self.skipped += count("numPendingTests")? + count("numTodoTests")?;
        Ok(())
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_every_runner_are_summed() {
        let mut tally = Tally::default();
        tally.cargo_line("running 3 tests");
        tally.cargo_line(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s",
        );
        tally.cargo_line("test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out");
        let report =
            r#"{"numPassedTests":10,"numFailedTests":1,"numPendingTests":2,"numTodoTests":0,"numTotalTests":13}"#;
        assert!(tally.vitest_report(report).is_ok());
        assert_eq!(tally.to_string(), "14 passed, 3 failed, 3 skipped");
    }

    #[test]
    fn nothing_skipped_is_not_mentioned() {
        assert_eq!(Tally { passed: 1, failed: 0, skipped: 0 }.to_string(), "1 passed, 0 failed");
    }

    #[test]
    fn a_report_without_counts_is_an_error() {
        assert!(Tally::default().vitest_report("{}").is_err());
        assert!(Tally::default().vitest_report("").is_err());
    }
}
