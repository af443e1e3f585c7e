//! The progress of a long command, on standard error. Nothing is shown if that is no terminal, or with `--json`.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const BAR: &str = "{msg:32} [{bar:30}] {human_pos}/{human_len} {elapsed}";
const SPINNER: &str = "{spinner} {msg} {elapsed}";
/// The time between two frames of a spinner.
const TURN: Duration = Duration::from_millis(120);

/// A line that is redrawn, and removed at the end.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar with this many steps.
    pub fn bar(steps: u64, what: impl Into<String>, quiet: bool) -> Self {
        Self::styled(ProgressBar::with_draw_target(Some(steps), target(quiet)), BAR, what)
    }
    /// A spinner for work of unknown length.
    pub fn spinner(what: impl Into<String>, quiet: bool) -> Self {
        let progress = Self::styled(ProgressBar::with_draw_target(None, target(quiet)), SPINNER, what);
        if !progress.0.is_hidden() {
            progress.0.enable_steady_tick(TURN);
        }
        progress
    }
    fn styled(bar: ProgressBar, template: &str, what: impl Into<String>) -> Self {
        // Both templates are constants. If one were invalid, the library's own style would be used.
        let bar = match ProgressStyle::with_template(template) {
            Ok(style) => bar.with_style(style.progress_chars("=> ")),
            Err(_) => bar,
        };
        Self(bar.with_message(what.into()))
    }
    /// Adds finished steps.
    pub fn add(&self, steps: u64) {
        self.0.inc(steps);
    }
    /// Prints other output without disturbing the line.
    pub fn aside(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }
    /// Sets the name of the present step.
    pub fn say(&self, what: impl Into<String>) {
        self.0.set_message(what.into());
    }
}

/// Removes the line, so that it does not stay above an error message.
impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn target(quiet: bool) -> ProgressDrawTarget {
    if quiet || !std::io::stderr().is_terminal() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lines_can_be_drawn_and_are_silent_where_they_should_be() {
        for template in [BAR, SPINNER] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
        let quiet = Progress::bar(3, "copying", true);
        quiet.add(2);
        quiet.say("checking");
        assert!(quiet.0.is_hidden() && quiet.0.position() == 2);
    }
}
