//! The binary's messages on standard error beside its log.

use std::fmt::Display;
use std::io::Write as _;

/// Says a line. That it can't be written, on a full disk for example, ends nobody, as `eprintln` would.
pub fn say(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "admit: {text}");
}
