//! The output of a command when it is done: lines for people, or one JSON object for programs.

use std::fmt::Display;

use clap::Args;
use serde_json::Value;

/// How the outcome is printed. Errors are always text on standard error, and the exit code shows that there is one.
#[derive(Debug, Clone, Copy, Args)]
pub struct Outcome {
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

impl Outcome {
    /// Prints `text`, or `value` with `--json`.
    pub fn print(self, text: impl Display, value: &Value) {
        self.line(text);
        self.object(value);
    }
    /// Prints a line, but nothing with `--json`.
    pub fn line(self, text: impl Display) {
        if !self.json {
            println!("{text}");
        }
    }
    /// Prints the object, but only with `--json`.
    pub fn object(self, value: &Value) {
        if self.json {
            println!("{value}");
        }
    }
}
